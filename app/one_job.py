"""The pieces of Job: its selects, its numbers, why an attempt ended, its stages and spans.

Draws what is selected for one job; knows no window of days.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl
import streamlit as st

from app import alts, data, evidence, filters, money, parts, tiles, words
from app.attempt_areas import areas_of

MOST_SPANS: Final = 20_000

JOB: Final = "select * from jobs where job_id = ?"

LIKE: Final = """
select job_id
from jobs
where
    contains(lower(job_id), lower($1))
    or (
        abs(length(job_id) - length($1)) <= 3
        and jaro_winkler_similarity(job_id, $1) > 0.85
    )
order by jaro_winkler_similarity(job_id, $1) desc, job_id asc
limit 5
"""

STAGES: Final = """
select
    phase,
    stage,
    seconds
from stage_by_attempt
where
    job_id = $1
    and attempt = $2
order by seconds desc, phase asc, stage asc
"""

_NAMED: Final = "Rules on `path` in `ett.toml` (`[[identity]]`) say which they are"
# What a job's numbers are worth little for, by the kind of anomaly, and what helps.
DOUBTS: Final = {
    "begun_elsewhere": (
        "These may be several runs under one name. Here they are tries of one, and what an earlier "
        "one trained counts as unsaved unless it completed",
        _NAMED,
    ),
    "runs_at_once": (
        "These may be several runs under one name. Here they are one, and what they did at once "
        "counts once",
        _NAMED,
    ),
    "clusters_at_once": (
        "These may be runs of two clusters that share a name. Here they are one: what they did at "
        "once counts once, and the time between them as if it had run",
        "A job_id that names its cluster too keeps them apart",
    ),
    "outside_allocations": (
        "The times of a log, or of the scheduler's dump, may be of another zone. Here what each of "
        "them tells is an attempt of its own, and its time counts twice",
        "Ingest it with its --timezone into a new warehouse",
    ),
    "launch_over_allocations": (
        "These are several launches, of which no line tells where they begin. Here they are one, "
        "which counts in one allocation: in others what it trained is unaccounted, and its "
        "start-up may count as training",
        "Let each launch print `SLURM_RESTART_COUNT`, or what it resumes from, as it begins",
    ),
    "never_durable": (
        "The uploads of these saves may have ended well, and nobody told so. Here none can be "
        "restored from: what was trained before an interruption counts as unsaved, unless the next "
        "attempt says where it resumed",
        "Let the trainer tell the end of each upload",
    ),
    "buffered": (
        "What it printed waited in a buffer, so its log tells times that are too late. Here all "
        "time of the job is uninstrumented",
        "`python -u`, or `PYTHONUNBUFFERED=1` in its environment, writes each line at once",
    ),
    "left_branch": (
        "It may have gone on from the earlier save. Here it went on from the later one: what was "
        "trained in between counts as effective up to it, and what led to the earlier save may "
        "count as unsaved",
        "A job of its own for what begins anew keeps the two apart",
    ),
    "number_at_once": (
        "This may be a row that is told twice, whose time counts twice in the fleet, or a job of "
        "another cluster",
        "Dumps that name the cluster and tell Submit as Unix seconds keep them apart",
    ),
    "told_twice": (
        "It, or a row of it, may be told twice, and then its time counts twice in the fleet",
        "Ingest it once, or under one name (`--cluster`, rules on `path` in `ett.toml`), into a "
        "new warehouse",
    ),
    "told_otherwise": (
        "One of its logs was loaded twice, with other content. What it told at first stays, also "
        "where it tells that otherwise now",
        "If it is one log, packed or written anew, ingest it into a new warehouse",
    ),
    "counted_twice": (
        "This may be a run that another name tells of too, and whose time counts twice in the "
        "fleet",
        "The scheduler's dump (sacct) says whether it is",
    ),
}

DOUBTED: Final = """
select
    kind,
    detail
from anomalies
where job_id = $1 and list_contains($2, kind)
order by attempt, kind, detail
limit 3
"""

# $2 and $3: when the job's first attempt started and its last ended. Attempts lie by their end.
ATTEMPTS: Final = """
select
    attempt,
    outcome,
    failure_domain || '/' || failure_category as cause,
    attribution,
    message,
    gpus,
    started_at,
    first_batch_at,
    ended_at,
    wall_seconds,
    suspended_seconds,
    queue_seconds,
    tts_seconds,
    ttr_seconds,
    effective_seconds,
    unsaved_seconds,
    checkpoint_saves,
    lost_gpu_seconds,
    exit_code{evidence}
from attempts
where job_id = $1 and ended_at between $2 and $3
order by attempt
"""

# $2: attempt, $3 and $4: as $2 and $3 of ATTEMPTS
AREAS: Final = """
select columns('_seconds$'), columns('_recovery_us$')
from attempts
where job_id = $1 and attempt = $2 and ended_at between $3 and $4
"""

# $2 and $3: as of ATTEMPTS, $4: whether the GPUs of the job are known
SPENT: Final = r"""
select sum(columns('^(.*_seconds)$') * if($4, gpus, 1)) as '\1'
from attempts
where job_id = $1 and ended_at between $2 and $3
"""

_TEAM: Final = "from job_medians(?)"


def attempts_sql() -> str:
    """ATTEMPTS with the columns of evidence that this warehouse has."""
    return ATTEMPTS.format(evidence=evidence.select_list())


def doubts(job_id: str) -> None:
    """What the dumps say against the job's being one run, before any number of it."""
    for kind, detail in data.frame(DOUBTED, job_id, list(DOUBTS)).iter_rows():
        doubt, helps = DOUBTS[kind]
        st.warning(f"{doubt}: {words.prose(detail, 600)}. {helps} (anomaly `{kind}`).")


def gpus(job: Mapping[str, Any], attempts: pl.DataFrame) -> str:
    """How many GPUs it has: `64 to 512 GPUs, 64 at last` where its attempts differ."""
    each = attempts["gpus"].drop_nulls().to_list()
    if len(set(each)) < 2:
        return words.gpus(job["gpus"])
    return f"{words.count(min(each))} to {words.gpus(max(each))}, {words.count(each[-1])} at last"


def row(job: Mapping[str, Any], attempts: pl.DataFrame) -> None:
    """The five numbers of a row of `jobs`."""
    measures = words.glossary()
    try:
        team = data.row(_TEAM, job["team"])
    except data.ViewFailed:  # a file that an earlier release published
        team = {}
    tts, ttr = job["tts_seconds"], job["max_ttr_seconds"]
    # null: of unknown GPUs; missing: a file that an earlier release published
    by = "ett_ratio" if job.get("ett_gpu_ratio") is None else "ett_gpu_ratio"
    with st.grid(5, min_column_width=150, gap="small"):
        tiles.figure(
            measures[by],
            words.ratio(job[by]),
            _against(job[by], team.get("ett_p50_ratio"), team.get("jobs")),
            label="ETT",
        )
        tiles.figure(
            measures["lost_gpu_seconds"],
            words.hours(job["lost_gpu_seconds"]),
            "its GPUs are unknown"
            if job["gpu_seconds"] is None
            else money.beside(
                f"of {words.hours(job['gpu_seconds'])} GPU-hours", job["lost_gpu_seconds"]
            ),
        )
        tiles.figure(
            measures["tts_seconds"],
            words.duration(tts),
            "first batch of attempt 1" if tts is not None else _why_no_start(job, attempts),
        )
        tiles.figure(
            measures["max_ttr_seconds"],
            words.duration(ttr),
            _interruptions(job),
        )
        tiles.figure(
            measures["wall_seconds"],
            words.duration(job["wall_seconds"]),
            f"{words.many(job['attempts'], 'attempt')}, "
            f"{words.duration(job['queue_seconds'])} in queue",
        )


def _interruptions(job: Mapping[str, Any]) -> str:
    """How often it was interrupted, and why no time to recover is known where none is."""
    if not job["interruptions"]:
        return "never interrupted"
    told = words.many(job["interruptions"], "interruption")
    if job["max_ttr_seconds"] is not None:
        return told
    return f"{told}, {'not recovered from' if job['is_instrumented'] else words.NOT_MEASURED}"


def _why_no_start(job: Mapping[str, Any], attempts: pl.DataFrame) -> str:
    """Why no time to start is known. Of a job whose sources tell of no training, nothing is."""
    if not job["is_instrumented"] or attempts.is_empty():
        return words.NOT_MEASURED
    number, began_at, trained_at, outcome = attempts.select(
        "attempt", "started_at", "first_batch_at", "outcome"
    ).row(0)
    if number != 1:
        return "no dump tells of attempt 1"
    if trained_at is not None:
        return "first heard of in mid-run" if trained_at == began_at else words.NOT_MEASURED
    return f"attempt 1 {'has not trained yet' if outcome == 'running' else 'never trained'}"


def losses(job: Mapping[str, Any]) -> str:
    """What all attempts of a row of `jobs` lost to which area, in words; empty where nothing."""
    is_weighed = job["gpus"] is not None
    span = job["first_started_at"], job["last_ended_at"]
    spent = areas_of(data.row(SPENT, job["job_id"], *span, is_weighed))
    lost = spent.filter(pl.col("area").is_in(filters.LOST_AREAS)).sort("amount", descending=True)
    show = _gpu_hours if is_weighed else words.duration
    told = [(words.area(area), show(amount)) for area, amount in lost["area", "amount"].rows()]
    unit = ", in GPU-hours" if is_weighed else "; its GPUs are unknown"
    return f"Lost by all attempts{unit}: {alts.listed(told)}." if told else ""


def _gpu_hours(seconds: float) -> str:
    """GPU-hours of what took time: never none."""
    shown = words.hours(seconds)
    return "under 0.1" if words.is_nothing(shown) else shown


def untold(wall_seconds: float) -> str:
    """Why nothing is drawn of a job of which no detail is kept: of whatever took time there is
    some until its events are pruned.
    """
    if not wall_seconds:
        return "No timeline is kept for this job."
    return (
        "The events of this job were pruned, and with them its timeline and what was reported of "
        "it. Its numbers stay."
    )


def why(attempt: Mapping[str, Any], detail: pl.DataFrame, untold: str = "") -> None:
    """Why an attempt ended: outcome, cause, the rule that says so, and the line that it read.

    `untold`: why what was reported is not known.
    """
    known = [f"**{words.code(attempt['outcome'])}**"]
    if attempt["outcome"] == "running":
        # by what is known: its source may have been silent for weeks
        known.append(f"last heard of {words.instant(attempt['ended_at'])} UTC")
    if attempt["cause"]:
        known.append(f"cause {words.code(attempt['cause'])}")
        known.append(f"attributed to {words.code(attempt['attribution'])}")
    if attempt.get("failure_rule"):
        known.append(f"by rule {words.code(attempt['failure_rule'])}")
    if attempt["exit_code"] is not None:
        known.append(f"exit code {attempt['exit_code']}")
    st.markdown(" \u00b7 ".join(known))
    reported = _failures(detail, attempt["attempt"])
    first = reported["message"][0] if reported.height else None
    told = attempt.get("failure_evidence") or attempt["message"] or first
    if told:
        st.code(words.clipped(told, 2000), language=None, wrap_lines=True)
    if attempt.get("failure_evidence_file"):
        line = attempt.get("failure_evidence_line")
        where = f"{attempt['failure_evidence_file']}{'' if line is None else f':{line}'}"
        st.caption(words.code(where, 400))
    if reported.height == 1:
        [(at, _, rank, _, file)] = reported.rows()
        whose = "" if rank is None else f" by rank {rank}"
        where = "" if file is None else f", in {words.code(file)}"
        st.caption(f"Reported{whose} at {at:%H:%M:%S} UTC{where}.")
    elif reported.height:
        st.caption(f"{words.count(reported.height)} failures were reported, the earliest first.")
        st.dataframe(
            reported,
            hide_index=True,
            placeholder=words.UNKNOWN,
            alt=f"Failures that attempt {attempt['attempt']} reported, the earliest first",
            column_config={
                "reported_at": st.column_config.DatetimeColumn(
                    "reported, UTC", format="HH:mm:ss.SSS"
                ),
                "message": st.column_config.TextColumn("message", width="medium"),
                "file": st.column_config.TextColumn("dump"),
            },
        )
    elif untold:
        st.caption(untold)
    elif attempt["cause"] and not told:
        st.caption("No source reported a message for this end.")


def attempts_told(attempts: pl.DataFrame) -> list[tuple[str, str]]:
    """Attempts with how long they took, what of it was unsaved, and how they ended; rows of
    ATTEMPTS.
    """
    return [
        (
            f"attempt {attempt}",
            f"{words.duration(wall)} {outcome or 'no end known'}"
            + (f" with {words.duration(unsaved)} unsaved" if unsaved else ""),
        )
        for attempt, wall, outcome, unsaved in attempts.select(
            "attempt", "wall_seconds", "outcome", "unsaved_seconds"
        ).rows()
    ]


def timeline(detail: pl.DataFrame) -> pl.DataFrame:
    """The areas and saves of `data.detail`, with instants for its microseconds."""
    return (
        detail.filter(pl.col("kind").is_in(["area", "save"]))
        .with_columns(pl.from_epoch(pl.col("started_us", "ended_us"), time_unit="us"))
        .rename({"started_us": "started_at", "ended_us": "ended_at"})
    )


def stages(detail: pl.DataFrame, attempt: int, started_us: int) -> pl.DataFrame:
    """Seconds that each stage of an attempt was open in any rank, as `stage_by_attempt` has them.

    From the spans that this page has read anyway: that view lies in no order of jobs, and is read
    where there are none.
    """
    if detail.is_empty():
        return pl.DataFrame()
    reported = (
        detail.filter(
            (pl.col("attempt") == attempt)
            & (pl.col("kind") == "span")
            & pl.col("stage").is_not_null()
        )
        .with_columns(pl.col("started_us").clip(lower_bound=started_us))
        .filter(pl.col("ended_us") > pl.col("started_us"))
        .sort("started_us", "ended_us")
    )
    reach = pl.col("ended_us").cum_max().shift(1).over("name", "stage")
    return (
        reported.with_columns(
            open_us=pl.col("ended_us") - pl.max_horizontal(pl.col("started_us"), reach)
        )
        .group_by(phase="name", stage="stage")
        .agg(seconds=pl.col("open_us").clip(lower_bound=0).sum() / 1e6)
        .sort(-pl.col("seconds"), "phase", "stage")
    )


@st.fragment
def spans_expander(detail: pl.DataFrame, attempt: int, about: str, stem: str, untold: str) -> None:
    """The spans and failures of an attempt as they were reported, with the dump of each.

    A fragment: they are many, and written only once they are asked for.
    """
    held = st.expander(
        f"Spans of attempt {attempt}, and the dump each came from",
        key="spans",
        on_change="rerun",
    )
    if not held.open:
        return
    with held:
        if detail.is_empty():
            st.caption(untold)
            return
        told = _spans(detail, attempt)
        if told.height > MOST_SPANS:
            st.caption(f"The first {words.count(MOST_SPANS)} of {words.count(told.height)} spans.")
            told = told.head(MOST_SPANS)
        st.dataframe(
            told,
            hide_index=True,
            lazy=False,
            placeholder=words.UNKNOWN,
            alt=f"Spans of attempt {attempt}. {about}",
            column_config={
                "started_at": st.column_config.DatetimeColumn(
                    "started, UTC", format="D MMM HH:mm:ss.SSS"
                ),
                "seconds": st.column_config.NumberColumn("seconds", format="%.3f"),
                "file": st.column_config.TextColumn("dump", width="large"),
            },
        )
        parts.footer(
            stem=f"{stem}_{attempt}_spans", table=told, about=f"{about}, attempt {attempt}"
        )


def _spans(detail: pl.DataFrame, attempt: int) -> pl.DataFrame:
    return (
        detail.filter((pl.col("attempt") == attempt) & pl.col("kind").is_in(["span", "failure"]))
        .with_columns(
            started_at=pl.from_epoch("started_us", time_unit="us"),
            seconds=(pl.col("ended_us") - pl.col("started_us")) / 1e6,
        )
        .select("kind", "name", "stage", "rank", "started_at", "seconds", "detail", "file")
    )


def _against(ratio: float | None, median: float | None, jobs: int | None) -> str:
    if median is None:
        return "no job of its team has one"
    text = f"team median {words.ratio(median)} of {words.many(jobs, 'job')}"
    return text if ratio is None else f"{text}, {words.points(ratio - median)}"


def _failures(detail: pl.DataFrame, attempt: int) -> pl.DataFrame:
    if detail.is_empty():
        return pl.DataFrame()
    return (
        detail.filter((pl.col("attempt") == attempt) & (pl.col("kind") == "failure"))
        .sort("started_us")
        .select(
            reported_at=pl.from_epoch("started_us", time_unit="us"),
            message="detail",
            rank="rank",
            category="name",
            file="file",
        )
    )
