"""Which jobs must be computed together: trainers, and the scheduler's jobs they may run under.

Only gathers what may be one job. What is joined, and how, is decided in `queries/staging`.
"""

from __future__ import annotations

import duckdb

# A cluster that is not named may be any; whether the number then is ambiguous is for the models.
# Trainers that state the same number meet though no row tells of it: what they tell counts twice.
_MEETINGS = """
    select links.job_no as trainer_no, jobs.job_no as scheduled_no
    from job_links as links
    inner join scheduler_jobs as jobs
        on links.scheduler_job = jobs.scheduler_job
        and links.job_no <> jobs.job_no
        and (links.cluster is null or jobs.cluster is null or links.cluster = jobs.cluster)
    union all
    select links.job_no, others.job_no
    from job_links as links
    inner join job_links as others
        on links.scheduler_job = others.scheduler_job and links.job_no < others.job_no
    where
        links.job_no in (select job_no from placed_jobs)
        and others.job_no in (select job_no from placed_jobs)
"""
_LOGS = "from (from files where format in ('training-log', 'torchelastic')) as logs"
# of what is told while the fresh logs are: no more of the history is looked at
_SAME_STEPS = f"""
    with told as (
        select distinct events.file_no, names.base_job_no, events.at_us, events.step
        from events
        inner join job_names_kept as names on events.job_no = names.job_no
        where
            events.event = 'progress'
            and events.file_no in (select file_no {_LOGS})
            and events.at_us between
            (select min(at_us) from events where file_no >= $1)
            and (select max(at_us) from events where file_no >= $1)
    ),
    counts as (select file_no, count(*) as steps from told group by file_no),
    pairs as (
        select
            fresh.file_no as fresh_no,
            other.file_no as other_no,
            count(*) as steps,
            min(fresh.base_job_no) as job_no,
            min(other.base_job_no) as other_job_no
        from told as fresh
        inner join told as other on fresh.at_us = other.at_us and fresh.step = other.step
        where
            fresh.file_no >= $1
            and fresh.file_no > other.file_no
            and fresh.base_job_no <> other.base_job_no
        group by all
    )
    select fresh.file, other.file, pairs.job_no, pairs.other_job_no
    from pairs
    inner join files as fresh on pairs.fresh_no = fresh.file_no
    inner join files as other on pairs.other_no = other.file_no
    inner join counts as fresh_counts on pairs.fresh_no = fresh_counts.file_no
    inner join counts as other_counts on pairs.other_no = other_counts.file_no
    where pairs.steps >= 5 and pairs.steps >= 0.9 * least(fresh_counts.steps, other_counts.steps)
    order by all
"""
_LEAVES_OPEN = (
    "run_key is not null or run_generation is not null or scheduler_job is not null "
    "or (attempt is null and event <> 'job')"
)
# A job whose name is a number may be the scheduler's, which may be known by its cluster as well.
_OWN_NUMBERS = """
    insert into job_links
    select told.job_no, job_keys.job_key, told.cluster
    from (
        select job_no, cluster from told_events where file_no >= $1 and row_key is null
        union all
        select job_no, null from plain_events where file_no >= $1
    ) as told
    inner join job_keys on told.job_no = job_keys.job_no
    where
        -- which rules most out without looking at more than the first letters
        job_keys.job_key >= '0' and job_keys.job_key < ':'
        and regexp_full_match(job_keys.job_key, '[0-9]+([_+][0-9]+)?')
    except select job_no, scheduler_job, cluster from job_links
"""

# Tasks of arrays and parts of het jobs have two numbers: rows go by JobIDRaw, and sbatch's output
# files and people by JobID. A cell with that text inside has its quotes escaped.
_SHOWN_NUMBERS = """
    insert into scheduler_jobs
    select told.job_no, told.shown, nullif(regexp_extract(job_keys.job_key, '^(.*):[^:]*$', 1), '')
    from (
        select
            job_no,
            regexp_extract(attrs, '"JobID": "([0-9]+[_+][0-9]+)"', 1) as shown
        from told_events
        where file_no >= $1 and row_key is not null and event = 'job'
    ) as told
    inner join job_keys on told.job_no = job_keys.job_no
    where told.shown <> ''
    except select job_no, scheduler_job, cluster from scheduler_jobs
"""


def note(connection: duckdb.DuckDBPyConnection, since_file_no: int) -> None:
    """Note what the dumps from this number on say of launches and of a scheduler's jobs.

    What is noted only grows: an event that is told anew names the same jobs.
    """
    chosen = [since_file_no]
    for table, leaves_open in (
        ("told_events", f"row_key is null and ({_LEAVES_OPEN})"),
        ("plain_events", "attempt is null and event <> 'job'"),
    ):
        connection.execute(
            f"insert into placed_jobs select distinct job_no from {table} "
            f"where file_no >= ? and job_no is not null and {leaves_open} "
            "and job_no not in (select job_no from placed_jobs)",
            chosen,
        )
    connection.execute(
        "insert into scheduler_jobs "
        "select job_no, regexp_extract(job_key, '[^:]*$'), "
        "nullif(regexp_extract(job_key, '^(.*):[^:]*$', 1), '') from job_keys where job_no in "
        "(select job_no from told_events where file_no >= ? and row_key is not null) "
        "and job_no not in (select job_no from scheduler_jobs)",
        chosen,
    )
    connection.execute(_SHOWN_NUMBERS, chosen)
    connection.execute(
        "insert into job_links select job_no, scheduler_job, cluster from told_events "
        "where file_no >= ? and job_no is not null and scheduler_job is not null "
        "except select job_no, scheduler_job, cluster from job_links",
        chosen,
    )
    connection.execute(_OWN_NUMBERS, chosen)


def told_twice(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str, int, int]]:
    """Jobs of `batch_jobs` that a scheduler's dumps tell under two names: both names are jobs then,
    and the time of one counts twice.

    Each with the kind of that, its number, what else names it, and the numbers of both jobs.
    `cluster`: told with this cluster, and without. `number`: told under this JobIDRaw, and under
    the number that is shown of the task. A pruned job whose number was given out again is another.
    """
    return connection.execute(
        "with fresh as (select job_no from job_keys "
        "where job_key in (select job_key from batch_jobs)), others as ("
        "select pruned.job_no from pruned_jobs as pruned inner join job_keys "
        "on pruned.job_no = job_keys.job_no and pruned.job_key <> job_keys.job_key), near as ("
        "select scheduler_jobs.*, job_no in (select job_no from fresh) as is_fresh "
        "from scheduler_jobs where scheduler_job in (select scheduler_job from scheduler_jobs "
        "where job_no in (select job_no from fresh)) "
        "and job_no not in (select job_no from others)), pairs as ("
        "select plain.scheduler_job as number, plain.job_no as plain_no, other.job_no as other_no, "
        "plain.cluster as plain_cluster, other.cluster from near as plain inner join near as other "
        "on plain.scheduler_job = other.scheduler_job and plain.job_no <> other.job_no "
        "where plain.is_fresh or other.is_fresh), names as (select job_no, "
        "regexp_extract(job_key, '[^:]*$') as number from job_keys "
        "where job_no in (select plain_no from pairs)) "
        "select 'cluster' as kind, number, cluster as other, plain_no, other_no from pairs "
        "where plain_cluster is null and cluster is not null union all "
        "select 'number', pairs.number, others.number, plain_no, other_no from pairs "
        "inner join names as plain on plain_no = plain.job_no "
        "inner join names as others on other_no = others.job_no "
        "where plain_cluster is not distinct from cluster "
        "and plain.number = pairs.number and others.number <> pairs.number order by all"
    ).fetchall()


def rows_told_twice(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, int]]:
    """Jobs of `batch_jobs`, by name and number, with a row that dumps tell with its Submit and
    without. It goes by its start then, is a row of its own, and its time counts twice.
    """
    return connection.execute(
        "with tellings as (select job_no, row_key, bool_or(phase = 'queue') as says_submit, "
        "min(case when event = 'attempt_start' then at_us end) as started_us from told_events "
        "where row_key is not null and row_state <> 'RESIZING' and job_no in (select job_no "
        "from job_keys where job_key in (select job_key from batch_jobs)) group by job_no, row_key"
        ") select distinct job_keys.job_key, plain.job_no from tellings as plain "
        "inner join tellings as submitted "
        "on plain.job_no = submitted.job_no and plain.started_us = submitted.started_us "
        "inner join job_keys on plain.job_no = job_keys.job_no "
        "where coalesce(not plain.says_submit, true) and submitted.says_submit "
        "and plain.row_key = cast(plain.started_us // 1000000 as varchar) order by all"
    ).fetchall()


def contradictions(
    connection: duckdb.DuckDBPyConnection, *kinds: str
) -> dict[str, tuple[int, str, str]]:
    """For each of these kinds of anomaly a job of `batch_jobs` of which the facts say it, if there
    is one: its number and name, and what they say. Of ambiguous jobs only those that clusters make
    so: under a name that jobs had at once each launch went to its own.
    """
    told = connection.execute(
        "select distinct on (facts.kind) facts.kind, facts.base_job_no, job_keys.job_key, "
        "facts.what from contradiction_facts_kept as facts "
        "inner join job_keys on facts.job_no = job_keys.job_no "
        "where facts.kind in (select unnest($1::varchar[])) and job_keys.job_key in "
        "(select job_key from batch_jobs) and "
        "not starts_with(facts.what, 'jobs of the scheduler ran at once') "
        "order by facts.kind, job_keys.job_key, facts.what",
        [kinds],
    ).fetchall()
    return {kind: (job_no, job_key, what) for kind, job_no, job_key, what in told}


def logs_of_steps(connection: duckdb.DuckDBPyConnection, job_no: int) -> tuple[str, str]:
    """The first and the last by name of the files that tell of a job's steps."""
    first, last = connection.execute(
        "select min(files.file), max(files.file) from events "
        "inner join files on events.file_no = files.file_no "
        "where events.job_no = $1 and events.event = 'progress'",
        [job_no],
    ).fetchall()[0]
    return first, last


def same_steps(
    connection: duckdb.DuckDBPyConnection, since_file_no: int
) -> list[tuple[str, str, int, int]]:
    """Logs from this number on that tell the steps of another one at the very times that it does,
    under the name of another job, each with that other one and the numbers of both jobs: what a
    trainer logs into a file of its own and what was kept of its output.
    """
    if not connection.execute(f"{_LOGS} where file_no >= $1 limit 1", [since_file_no]).fetchall():
        return []
    return connection.execute(_SAME_STEPS, [since_file_no]).fetchall()


def close(connection: duckdb.DuckDBPyConnection) -> None:
    """Add to `touched_jobs` every job that may be one with a touched one.

    `woven_jobs`: the touched jobs whose attempts the models put together, with the least job_no
    of those that must be computed together.
    """
    connection.execute("create or replace temp table meetings (one bigint, other bigint)")
    connection.execute(
        f"insert into meetings with met as ({_MEETINGS}) select trainer_no, scheduled_no from met "
        "union select scheduled_no, trainer_no from met"
    )
    while _changed(
        connection,
        "insert into touched_jobs select distinct other from meetings "
        "where one in (select job_no from touched_jobs) "
        "and other not in (select job_no from touched_jobs)",
    ):
        pass
    connection.execute("create or replace temp table woven_jobs (job_no bigint, group_no bigint)")
    connection.execute(
        "insert into woven_jobs select job_no, job_no from touched_jobs "
        "where job_no in (select job_no from placed_jobs union all select one from meetings)"
    )
    while _changed(
        connection,
        "update woven_jobs set group_no = near.group_no from ("
        "select meetings.one as job_no, min(others.group_no) as group_no from meetings "
        "inner join woven_jobs as others on meetings.other = others.job_no group by meetings.one"
        ") as near where woven_jobs.job_no = near.job_no and near.group_no < woven_jobs.group_no",
    ):
        pass
    connection.execute("drop table meetings")


def _changed(connection: duckdb.DuckDBPyConnection, statement: str) -> bool:
    row = connection.execute(statement).fetchone()
    return row is not None and int(row[0]) > 0
