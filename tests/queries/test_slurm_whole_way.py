"""Slurm dumps through `ett-ingest` to the published views, held against the accounting database."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise, permutations, product
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

import pytest

from ingest import keep
from tests.queries.engine import areas, ingest, rows, table, write_dump

DUMPS = Path(__file__).resolve().parents[2] / "sample_data" / "dumps" / "slurm"
QUIET = DUMPS / "snap2_quiet"
RUNNING = DUMPS / "snap1_running" / "sacct_D_P_admin.txt"
ADMIN = QUIET / "sacct_D_P_admin.txt"
EPOCH = QUIET / "sacct_D_X_P_epoch.txt"
LOS_ANGELES = QUIET / "sacct_D_X_P_TZ_LosAngeles.txt"

ZONE_OF_LOS_ANGELES = ("--timezone", "America/Los_Angeles")
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "sacct_D_P_admin.txt": (),
    "sacct_D_P_ALL.txt.gz": (),
    "sacct_D_X_P_epoch.txt": (),
    "sacct_D_X_P_TZ_LosAngeles.txt": ZONE_OF_LOS_ANGELES,
    "sacct_D_us_X.txt": (),
    # no column names the cluster, the raw id or the GPUs
    "sacct_D_p_trailing_pipe.txt": ("--cluster", "fleet"),
    "sacct_D_columns_truncated.txt": ("--cluster", "fleet"),
}
NARROW = ("sacct_D_p_trailing_pipe.txt", "sacct_D_columns_truncated.txt")
WIDE = tuple(dialect for dialect in ARGUMENTS if dialect not in NARROW)


@dataclass(frozen=True, slots=True)
class Difference:
    """What one job adds to the answer of the accounting database, and why that is right."""

    job: str
    account: str
    reason: str
    attempts: int = 0
    seconds: int = 0
    gpu_seconds: int = 0


MERGED = (
    Difference(
        "1018",
        "vision",
        "its RESIZING row and the row that follows start together: one attempt of 14 s and 8 GPUs; "
        "the database adds 6 s of 16 GPUs to it",
        attempts=-1,
        seconds=-6,
        gpu_seconds=-96,
    ),
    Difference(
        "1128",
        "nlp",
        "the prolog of its first row failed, so Start is End: it never ran",
        attempts=-1,
    ),
)
OUTSIDE_ROLLUPS = (
    Difference(
        "1099",
        "nlp",
        "it holds no GPU, so it is outside every rollup",
        attempts=-1,
        seconds=-5,
    ),
)
NEVER_RAN = ("fleet:1001", "fleet:1006")  # cancelled while it waited; its deadline struck before
LAST_ROW_NEVER_RAN = ("fleet:1016", "fleet:1023")

Load = Callable[..., Path]
Story = dict[int, list[str]]  # a table a command

TURNS = [(0, 1), (1, 0)]
TURNED = {(0, 1): "fleet", (1, 0): "turned"}
# of each kind of doubt an ingest names one job: those of two kinds may share it
TASKS = {told: command for command, told in enumerate(product(["fleet", ""], TURNS), 2)}
ROWS = {order: command for command, order in enumerate(TURNS, 2)}
AS_OF_700 = 6  # beside a dump that is new, a known one stays the older


@dataclass(frozen=True, slots=True)
class InTurn:
    """A warehouse as it was after each command, and what each command warned of."""

    warehouses: list[Path]
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class Retold:
    """Where a dump and a later one were ingested in some order, and the cluster of their jobs."""

    warehouse: Path
    cluster: str


@pytest.fixture(scope="module")
def dialects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A warehouse for each dialect of one history."""
    folder = tmp_path_factory.mktemp("dialects")
    for dialect, arguments in ARGUMENTS.items():
        assert 0 == ingest(folder / dialect, QUIET / dialect, *arguments)
    return {dialect: folder / dialect for dialect in ARGUMENTS}


@pytest.fixture(scope="module")
def quiet(dialects: dict[str, Path]) -> Path:
    """The warehouse of the usual dialect."""
    return dialects["sacct_D_P_admin.txt"]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Ingest tables, one command after another, into one warehouse."""

    def load(*tables: Sequence[str], arguments: Sequence[str] = ()) -> Path:
        for number, told in enumerate(tables):
            dump = tmp_path / f"sacct-{number}.txt"
            dump.write_text("\n".join(told) + "\n", encoding="utf-8")

            assert 0 == ingest(tmp_path / "warehouse", dump, *arguments)
        return tmp_path / "warehouse"

    return load


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of the snapshot that was taken while jobs ran."""
    folder = tmp_path_factory.mktemp("running")

    assert 0 == ingest(folder, RUNNING)
    return folder


@pytest.fixture(scope="module")
def on_clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One history on clusters of their own: in two snapshots, without duplicates, and in a zone
    that nobody said.
    """
    folder = tmp_path_factory.mktemp("on-clusters")
    dumps = written(
        folder / "dumps",
        on("together", RUNNING),
        on("together", ADMIN),
        newest("newest"),
        on("elsewhere", LOS_ANGELES),
    )

    assert 0 == ingest(folder / "warehouse", *dumps)
    return folder / "warehouse"


def newest(cluster: str) -> list[str]:
    """What `sacct` without -D prints: the newest row of each job."""
    of_job = {cells["JobIDRaw"]: cells | {"Cluster": cluster} for cells in job_rows()}
    header = list(next(iter(of_job.values())))
    return ["\x1f".join(cells) for cells in (header, *map(dict.values, of_job.values()))]


def copied(warehouse: Path, folder: Path) -> Path:
    """A warehouse to go on with: what it was told before is ingested once."""
    return shutil.copytree(warehouse, folder / "copied", symlinks=True)


REQUEUES = ("REQUEUED", "PREEMPTED", "NODE_FAIL", "SPECIAL_EXIT")
FINAL = ("COMPLETED", "FAILED", "CANCELLED by 7", "TIMEOUT", "OUT_OF_MEMORY", "BOOT_FAIL")
CANCELLED = ("CANCELLED by 2003", "CANCELLED by 0", "CANCELLED", "CANCELLED+")


@pytest.fixture(scope="module")
def in_turn(tmp_path_factory: pytest.TempPathFactory) -> InTurn:
    """A warehouse of what the real history does not have, each story in jobs of its own."""
    folder = tmp_path_factory.mktemp("in-turn")
    native = write_dump(
        folder / "events.jsonl",
        [{"ts": seconds_of(0), "event": "attempt_start", "job_id": "95", "cluster": "other"}],
    )
    heard = BufferingHandler(1_000)
    logging.getLogger("ingest").addHandler(heard)
    told = InTurn([], [])
    for command, dumps in sorted(dumps_of(stories(), folder).items()):
        heard.flush()
        beside = {1: [native], AS_OF_700: ["--as-of", f"{at(700).isoformat()}Z"]}.get(command, [])

        assert 0 == ingest(folder / "warehouse", *dumps, *beside)
        told.warehouses.append(copied(folder / "warehouse", folder / str(command)))
        told.warnings.append("\n".join(record.getMessage() for record in heard.buffer))
    logging.getLogger("ingest").removeHandler(heard)
    return told


@pytest.fixture(scope="module")
def made(in_turn: InTurn) -> Path:
    """A warehouse of rows that the real history does not have, of one command."""
    return in_turn.warehouses[0]


@pytest.fixture(scope="module", params=TURNS, ids=["in order", "late"])
def retold(request: pytest.FixtureRequest, in_turn: InTurn) -> Retold:
    """A dump and a later one, ingested one by one in both orders."""
    return Retold(in_turn.warehouses[1], TURNED[request.param])


# Every dialect against the accounting database


@pytest.mark.parametrize("dialect", ARGUMENTS)
def test_started_preempted_and_elapsed_are_those_of_the_accounting_database(
    dialect: str, dialects: dict[str, Path]
) -> None:
    told = table(
        dialects[dialect],
        "select team, count(*) as attempts, count(*) filter (where outcome = 'preempted') "
        "as preempted, sum(wall_seconds) as seconds from attempts group by team",
    )

    assert {
        account: {
            "attempts": golden["started_rows"] + added(MERGED, account, "attempts"),
            "preempted": golden["preempted_rows"],
            "seconds": golden["elapsed_s_sum"] + added(MERGED, account, "seconds"),
        }
        for account, golden in accounts().items()
    } == {row.pop("team"): row for row in told}


@pytest.mark.parametrize("dialect", WIDE)
def test_gpu_seconds_are_those_of_the_accounting_database(
    dialect: str, dialects: dict[str, Path]
) -> None:
    told = rows(
        dialects[dialect], "select team, sum(wall_seconds * gpus) from attempts group by team"
    )

    assert {
        account: golden["gpu_seconds"] + added(MERGED, account, "gpu_seconds")
        for account, golden in accounts().items()
    } == dict(told)


@pytest.mark.parametrize("dialect", NARROW)
def test_dialects_without_gpus_count_in_seconds_only(
    dialect: str, dialects: dict[str, Path]
) -> None:
    told = rows(
        dialects[dialect],
        "select team, wall_seconds, gpu_seconds from team_day where workload = 'all' "
        "and team <> 'fleet'",
    )

    assert {
        (account, golden["elapsed_s_sum"] + added(MERGED, account, "seconds"))
        for account, golden in accounts().items()
    } == {(team, seconds) for team, seconds, _ in told}
    assert {None} == {gpu_seconds or None for _, _, gpu_seconds in told}


@pytest.mark.parametrize("dialect", WIDE)
def test_the_day_of_a_team_is_the_database_without_the_job_that_has_no_gpu(
    dialect: str, dialects: dict[str, Path]
) -> None:
    told = table(
        dialects[dialect],
        "select team, attempts_ended as attempts, preempted, wall_seconds as seconds, gpu_seconds "
        "from team_day where workload = 'all' and team <> 'fleet'",
    )
    differences = MERGED + OUTSIDE_ROLLUPS

    assert {
        account: {
            "attempts": golden["started_rows"] + added(differences, account, "attempts"),
            "preempted": golden["preempted_rows"],
            "seconds": golden["elapsed_s_sum"] + added(differences, account, "seconds"),
            "gpu_seconds": golden["gpu_seconds"] + added(differences, account, "gpu_seconds"),
        }
        for account, golden in accounts().items()
    } == {row.pop("team"): row for row in told}


@pytest.mark.parametrize("dialect", ARGUMENTS)
def test_every_state_is_an_outcome(dialect: str, dialects: dict[str, Path]) -> None:
    states = visible()["by_state"]
    told = rows(dialects[dialect], "select outcome, count(*) from attempts group by outcome")

    assert {
        "completed": states["COMPLETED"],
        "preempted": states["PREEMPTED"],
        "timeout": states["TIMEOUT"],  # the DEADLINE of 1006 struck before it ran
        "cancelled": states["CANCELLED"] - 3,  # 1016 and 1023 in their last row, and 1001
        "failed": states["FAILED"]
        + states["NODE_FAIL"]
        + states["OUT_OF_MEMORY"]
        + states["REQUEUED"]
        - 1,  # the first row of 1128
    } == dict(told)


@pytest.mark.parametrize("dialect", ARGUMENTS)
def test_no_line_of_any_dialect_is_set_aside_and_nothing_is_contradicted(
    dialect: str, dialects: dict[str, Path]
) -> None:
    assert [(0, 0)] == rows(
        dialects[dialect],
        "select (select count(*) from rejected_lines), (select count(*) from anomalies)",
    )


@pytest.mark.parametrize("dialect", WIDE)
def test_dialects_of_one_history_give_the_same_attempts(
    dialect: str, dialects: dict[str, Path], quiet: Path
) -> None:
    # job 1007: without steps the database's own row says that it was out of memory;
    # job 1091: a pipe in its texts leaves open where they end
    columns = (
        "* exclude (message, job_name, failure_domain, failure_category, attribution, "
        "failure_rule, failure_evidence, failure_evidence_file)"
    )

    assert attempts(quiet, columns) == attempts(dialects[dialect], columns)


@pytest.mark.parametrize("dialect", NARROW)
def test_narrow_dialects_give_the_same_times_and_ends(
    dialect: str, dialects: dict[str, Path], quiet: Path
) -> None:
    select = (
        "select attempt, team, started_at, ended_at, outcome, wall_seconds, suspended_seconds "
        "from attempts order by all"
    )

    assert rows(quiet, select) == rows(dialects[dialect], select)


# Traps of sacct, by their numbers


def test_1_a_requeued_job_is_one_job_whose_attempts_are_numbered_from_1(quiet: Path) -> None:
    told = numbers_of(quiet)
    of_one_attempt = {"1018", "1023", "1128"}  # of their two rows one resizes or never ran

    assert {job: list(range(1, len(numbers) + 1)) for job, numbers in told.items()} == told
    assert visible()["jobs_with_more_than_one_row"] - len(of_one_attempt) == len(
        [job for job, numbers in told.items() if len(numbers) > 1]
    )
    assert visible()["distinct_jobs"] - len(NEVER_RAN) == len(told)


def test_1_three_preemptions_and_a_completion_are_four_attempts(quiet: Path) -> None:
    assert [
        (1, "preempted", 4),
        (2, "preempted", 9),
        (3, "preempted", 9),
        (4, "completed", 40),
    ] == rows(
        quiet,
        "select attempt, outcome, wall_seconds from attempts "
        "where job_id = 'fleet:1130' order by 1",
    )


def test_1_without_duplicates_only_the_last_attempt_of_each_job_shows(
    quiet: Path, on_clusters: Path
) -> None:
    told = [(of_fleet(job), number, how) for job, number, how in ends_on(on_clusters, "newest")]

    assert last_ends(quiet) == [(job, how) for job, _, how in told]
    assert {1} == {number for _, number, _ in told}


@pytest.mark.real
def test_1_the_dump_without_duplicates_gives_the_last_attempts(
    quiet: Path, of_windows: OfWindows
) -> None:
    told = ends_on(of_windows.begun, "newest")

    assert last_ends(quiet) == [(of_fleet(job), how) for job, _, how in told]
    assert attempts_on(of_windows.whole, "newest") == attempts_on(of_windows.windows, "newest")


def test_1_a_job_id_that_is_given_out_again_is_another_job(retold: Retold) -> None:
    job = f"{retold.cluster}:40"
    again = f"{job}@{seconds_of(9000)}"

    assert [
        (job, 1, "preempted", 1.0),
        (job, 2, "completed", 120.0),
        (again, 1, "preempted", 1.0),
        (again, 2, "failed", 120.0),
    ] == rows(
        retold.warehouse,
        "select job_id, attempt, outcome, queue_seconds from attempts "
        "where starts_with(job_id, ?) order by 1, 2",
        [job],
    )
    assert [(job, 2), (again, 2)] == rows(
        retold.warehouse,
        "select job_id, attempts from jobs where starts_with(job_id, ?) order by 1",
        [job],
    )


def test_1_a_job_whose_end_was_never_seen_does_not_go_on_in_a_job_that_got_its_id(
    retold: Retold,
) -> None:
    # a chain goes on only after a requeue; a row that seemed to run when it was last seen is none
    job = f"{retold.cluster}:66"

    assert [
        (job, 1, "running", "vision"),
        (f"{job}@{seconds_of(9000)}", 1, "completed", "nlp"),
    ] == rows(
        retold.warehouse,
        "select job_id, attempt, outcome, team from attempts where starts_with(job_id, ?) "
        "order by 1",
        [job],
    )


def test_1_a_chain_goes_on_after_a_requeue(made: Path) -> None:
    told = numbers_of(made)

    jobs = [f"fleet:{number}" for number in range(100, 100 + len(REQUEUES))]

    assert {job: [1, 2] for job in jobs} == {job: told[job] for job in jobs}


def test_1_a_chain_ends_with_any_other_end(made: Path) -> None:
    told = numbers_of(made)
    jobs = [f"fleet:{number}" for number in range(110, 110 + len(FINAL))]

    assert {job: [1] for job in jobs} == {job: told[job] for job in jobs}
    assert {f"{job}@{seconds_of(61)}" for job in jobs} == {
        job for job in told if job.endswith(f"@{seconds_of(61)}")
    }


def test_1_a_chain_goes_on_where_a_row_counts_a_restart(made: Path) -> None:
    # Slurm 25.11.3 and later leave the row of a job as it ended that is requeued afterwards
    told = numbers_of(made)

    assert {"fleet:120": [1, 2], "fleet:121": [1], f"fleet:121@{seconds_of(70)}": [1]} == {
        job: told[job] for job in told if job.startswith(("fleet:120", "fleet:121"))
    }


def test_2_requeued_says_no_cause_unless_its_exit_code_does(quiet: Path) -> None:
    assert [
        ("fleet:1011", "failed", 42, "unknown", "unclassified"),
        ("fleet:1024", "failed", 0, "scheduler", "requeued"),
        ("fleet:1090", "failed", 1, "unknown", "unclassified"),
    ] == rows(
        quiet,
        "select job_id, outcome, exit_code, failure_domain, failure_category from attempts "
        "where attempt = 1 and job_id in ('fleet:1011', 'fleet:1024', 'fleet:1090') order by 1",
    )


def test_3_the_zone_of_the_client_is_what_the_user_says(
    dialects: dict[str, Path], on_clusters: Path
) -> None:
    right = rows(dialects["sacct_D_X_P_epoch.txt"], "select started_at from attempts order by 1")
    wrong = rows(
        on_clusters, "select started_at from attempts where job_id ^@ 'elsewhere:' order by 1"
    )

    assert [(at + timedelta(hours=8),) for (at,) in wrong] == right


def test_3_unknown_is_not_yet_and_none_is_never(made: Path) -> None:
    assert [("fleet:50", "running", 500.0, 10.0)] == rows(
        made,
        "select job_id, outcome, wall_seconds, queue_seconds from attempts "
        "where job_id in ('fleet:50', 'fleet:51', 'fleet:52')",
    )


def test_4_the_newest_end_wins_even_where_it_moves_back(retold: Retold) -> None:
    assert [("cancelled", at(400), 390.0)] == rows(
        retold.warehouse,
        "select outcome, ended_at, wall_seconds from attempts where job_id = ?",
        [f"{retold.cluster}:60"],
    )


def test_4_a_later_dump_moves_the_end_of_a_job_that_still_runs(retold: Retold) -> None:
    assert [("running", at(910), 900.0)] == rows(
        retold.warehouse,
        "select outcome, ended_at, wall_seconds from attempts where job_id = ?",
        [f"{retold.cluster}:62"],
    )


def test_4_a_job_that_waited_has_waited_until_it_starts(retold: Retold) -> None:
    assert [(1, 100.0, 100.0)] == rows(
        retold.warehouse,
        "select attempt, queue_seconds, wall_seconds from attempts where job_id = ?",
        [f"{retold.cluster}:63"],
    )


def test_4_a_row_that_ended_does_not_run_again(retold: Retold) -> None:
    assert [("failed", at(300))] == rows(
        retold.warehouse,
        "select outcome, ended_at from attempts where job_id = ?",
        [f"{retold.cluster}:65"],
    )


def test_5_all_waiting_is_queue_the_hold_after_a_requeue_too(quiet: Path) -> None:
    told = rows(quiet, "select job_id, attempt, queue_seconds from attempts")

    assert waits_in_rows() == {(job, number): seconds for job, number, seconds in told}
    assert [] == rows(quiet, "from area_by_attempt where area <> 'uninstrumented'")


def test_6_a_start_before_submission_or_eligibility_waited_for_nothing(made: Path) -> None:
    assert [
        ("fleet:70", 1, 0.0),
        ("fleet:71", 1, 10.0),
        ("fleet:72", 1, 10.0),
        ("fleet:72", 2, 0.0),
    ] == rows(
        made,
        "select job_id, attempt, queue_seconds from attempts "
        "where job_id in ('fleet:70', 'fleet:71', 'fleet:72') order by 1, 2",
    )


def test_6_no_wait_of_the_real_history_is_negative(quiet: Path) -> None:
    assert [] == rows(quiet, "select job_id from attempts where queue_seconds < 0")


@pytest.mark.parametrize("dialect", WIDE)
def test_7_rows_that_never_ran_are_no_attempts(dialect: str, dialects: dict[str, Path]) -> None:
    told = numbers_of(dialects[dialect])

    assert set() == told.keys() & set(NEVER_RAN)
    # their last rows never ran, nor did the first of 1128
    assert ([1, 2, 3], [1], [1]) == tuple(told[f"fleet:{job}"] for job in (1016, 1023, 1128))


@pytest.mark.parametrize("dialect", ARGUMENTS)
def test_7_a_row_that_resizes_and_the_next_are_one_attempt(
    dialect: str, dialects: dict[str, Path]
) -> None:
    told = table(
        dialects[dialect],
        "select attempt, outcome, gpus, wall_seconds, ended_at from attempts "
        "where job_id = 'fleet:1018'",
    )

    assert [
        {
            "attempt": 1,
            "outcome": "completed",
            "gpus": None if dialect in NARROW else 8,
            "wall_seconds": 14.0,
            "ended_at": datetime(2026, 11, 20, 5, 19, 39),
        }
    ] == told


def test_7_a_job_may_resize_twice_in_a_table_that_has_no_submission(made: Path) -> None:
    assert [("42", 1, "timeout", 80.0)] == rows(
        made,
        "select job_id, attempt, outcome, wall_seconds from attempts "
        "where regexp_matches(job_id, '^(.*:)?42(@.*)?$')",
    )


def test_8_every_spelling_of_cancelled_is_cancelled(made: Path) -> None:
    assert [("cancelled", len(CANCELLED))] == rows(
        made,
        "select outcome, count(*) from attempts where job_id between 'fleet:80' and 'fleet:83' "
        "group by outcome",
    )


def test_10_steps_decide_nothing_but_that_a_failed_job_was_out_of_memory(quiet: Path) -> None:
    assert [
        ("fleet:1007", "failed", "host", "host_oom"),
        ("fleet:1008", "timeout", "scheduler", "time_limit"),  # its batch step is CANCELLED
        ("fleet:1017", "failed", "host", "host_oom"),
        ("fleet:1021", "failed", "host", "host_oom"),
        ("fleet:1134", "preempted", "scheduler", "preempted"),  # its steps are CANCELLED and FAILED
    ] == rows(
        quiet,
        "select job_id, outcome, failure_domain, failure_category from attempts where attempt = 1 "
        "and job_id in ('fleet:1007', 'fleet:1008', 'fleet:1017', 'fleet:1021', 'fleet:1134') "
        "order by 1",
    )


@pytest.mark.parametrize("dialect", WIDE)
def test_11_delimiters_and_line_breaks_in_texts_lose_no_job(
    dialect: str, dialects: dict[str, Path]
) -> None:
    assert [("fleet:1091", "completed", 3.0), ("fleet:1092", "completed", 3.0)] == rows(
        dialects[dialect],
        "select job_id, outcome, wall_seconds from attempts "
        "where job_id in ('fleet:1091', 'fleet:1092') order by 1",
    )


@pytest.mark.parametrize("dialect", ARGUMENTS)
def test_12_suspended_seconds_leave_wall_but_not_the_end(
    dialect: str, dialects: dict[str, Path]
) -> None:
    assert [(4.0, 10.0, timedelta(seconds=14))] == rows(
        dialects[dialect],
        "select wall_seconds, suspended_seconds, ended_at - started_at from attempts "
        "where job_id = 'fleet:1022'",
    )


def test_13_a_scheduler_alone_knows_no_training(quiet: Path) -> None:
    assert [(0,)] == rows(
        quiet,
        "select count(*) from attempts where is_instrumented or effective_seconds is not null "
        "or unsaved_seconds is not null or first_batch_at is not null or tts_seconds is not null "
        "or ttr_seconds is not null or checkpoint_saves is not null "
        "or uninstrumented_seconds <> wall_seconds",
    )
    assert [(0,)] == rows(
        quiet,
        "select count(*) from jobs where ett_ratio is not null or effective_seconds is not null "
        "or lost_gpu_seconds is not null",
    )


def test_13_the_ett_of_a_team_that_only_a_scheduler_knows_is_null_not_0(quiet: Path) -> None:
    for told in table(quiet, "from team_day") + table(
        quiet, "from window_of('fleet', 'all', date '2026-11-20', date '2026-11-20')"
    ):
        unknown = {
            name: told[name]
            for name in (
                "ett_ratio",
                "ett_gpu_ratio",
                "idleness_ratio",
                "failure_ratio",
                "effective_seconds",
                "effective_gpu_seconds",
                "unsaved_seconds",
                "lost_gpu_seconds",
            )
        }

        assert dict.fromkeys(unknown) == unknown
        assert told["wall_seconds"] == told["uninstrumented_seconds"]
        assert 0.0 == told["instrumented_ratio"]


def test_13_what_only_a_scheduler_knows_was_not_wasted_for_0_seconds(quiet: Path) -> None:
    # wasted = unsaved + saves + evaluation + data_wait + hang, none of which can be known
    assert {None} == {row["wasted_seconds"] for row in table(quiet, "from team_day")}


def test_14_dumps_of_other_zones_tell_the_same_jobs_where_the_zone_is_said(
    quiet: Path, tmp_path: Path
) -> None:
    warehouse = copied(quiet, tmp_path)

    # an epoch is of no zone
    assert 0 == ingest(warehouse, LOS_ANGELES, EPOCH, *ZONE_OF_LOS_ANGELES)

    assert attempts(quiet) == attempts(warehouse)


# Several dumps of one history


def test_jobs_that_run_are_running_until_the_dump_was_taken(running: Path) -> None:
    taken = datetime(2026, 11, 20, 5, 28, 21)

    assert [("fleet:1129", taken, 78.0), ("fleet:1134", taken, 54.0)] == rows(
        running,
        "select job_id, ended_at, wall_seconds from attempts where outcome = 'running' order by 1",
    )


def test_jobs_of_which_nothing_was_heard_for_long_are_lost(tmp_path: Path) -> None:
    assert 0 == ingest(tmp_path, RUNNING, "--as-of", "2026-11-20T11:28:20Z")
    assert [(2,)] == rows(tmp_path, "select count(*) from attempts where outcome = 'running'")

    assert 0 == ingest(tmp_path, RUNNING, "--as-of", "2026-11-20T11:28:21Z")
    assert [
        ("fleet:1129", 78.0, "unknown", "no_end_recorded"),
        ("fleet:1134", 54.0, "unknown", "no_end_recorded"),
    ] == rows(
        tmp_path,
        "select job_id, wall_seconds, failure_domain, failure_category from attempts "
        "where outcome = 'lost' order by 1",
    )


@pytest.mark.parametrize(
    ("first", "later"),
    [("running", ADMIN), ("quiet", RUNNING), ("quiet", ADMIN)],
    ids=["then", "back", "again"],
)
def test_a_snapshot_and_a_later_one_are_the_later_one(
    first: str, later: Path, quiet: Path, running: Path, tmp_path: Path
) -> None:
    warehouse = copied({"running": running, "quiet": quiet}[first], tmp_path)

    assert 0 == ingest(warehouse, later)

    assert attempts(quiet) == attempts(warehouse)
    assert serving(quiet) == serving(warehouse)


def test_two_snapshots_in_one_command_are_the_later_one(quiet: Path, on_clusters: Path) -> None:
    assert attempts_on(quiet, "fleet") == attempts_on(on_clusters, "together")


def test_a_known_dump_that_was_taken_later_is_believed_of_its_rows(in_turn: InTurn) -> None:
    """Of two ends of one row the one that was told last holds, also when only `--as-of` says so."""
    ends = "select outcome, ended_at from attempts where job_id = 'known:60'"

    assert [("completed", at(300))] == rows(in_turn.warehouses[1], ends)
    assert [("cancelled", at(400))] == rows(in_turn.warehouses[AS_OF_700], ends)


GIVEN = {
    (is_known, order): f"{'known' if is_known else 'new'}-{order[0]}"
    for is_known, order in product([True, False], TURNS)
}


@pytest.fixture(scope="module")
def as_of(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of clusters whose nightly dumps are given together, as of one moment."""
    folder = tmp_path_factory.mktemp("as-of")
    known, given = [], []
    for (is_known, order), cluster in GIVEN.items():
        dumps = written(folder / cluster, *corrected(cluster))
        given += [dumps[place] for place in order]
        known += [dumps[place] for place in order if is_known]
    old, _ = written(folder / "beside", *taken_back("beside"))

    assert 0 == ingest(folder / "warehouse", *known, old)
    taken = ("--as-of", f"{at(30_000).isoformat()}Z")
    assert 0 == ingest(folder / "warehouse", *taken, *given, folder / "beside")
    return folder / "warehouse"


def corrected(cluster: str) -> list[list[str]]:
    eight = {"AllocTRES": "gres/gpu=8", "Account": "vision", "Cluster": cluster}
    four = eight | {"AllocTRES": "gres/gpu=4", "Account": "Vision"}
    running = row(61, "RUNNING", 0, 10, None, elapsed=600, Cluster=cluster)
    return [
        sacct(row(60, "COMPLETED", 0, 10, 300, **eight)),
        sacct(row(60, "COMPLETED", 0, 10, 300, **four), running),
    ]


def taken_back(cluster: str) -> list[list[str]]:
    return [
        sacct(
            row(60, state, 0, 10, ended, Cluster=cluster),
            row(61, "COMPLETED", 0, 10, 1000 - ended, Cluster=cluster),
        )
        for state, ended in (("CANCELLED", 400), ("COMPLETED", 300))
    ]


@pytest.mark.parametrize("is_known", [True, False], ids=["known dumps", "new dumps"])
@pytest.mark.parametrize("order", TURNS)
def test_of_several_dumps_that_are_given_as_of_a_moment_the_newest_is_believed(
    as_of: Path, is_known: bool, order: tuple[int, int]
) -> None:
    """`--as-of` over a folder of nightly dumps makes none of them as new as the last."""
    cluster = GIVEN[is_known, order]

    assert [
        (f"{cluster}:60", "Vision", 4, "completed"),
        (f"{cluster}:61", "vision", 8, "lost"),
    ] == rows(
        as_of,
        "select job_id, team, gpus, outcome from attempts where starts_with(job_id, ?) order by 1",
        [cluster],
    )


def test_a_known_dump_that_is_given_as_of_a_moment_beside_a_new_one_stays_the_older(
    as_of: Path,
) -> None:
    assert [("completed", at(300))] == rows(
        as_of, "select outcome, ended_at from attempts where job_id = 'beside:60'"
    )


ORDERS_OF_FOUR = ("1234", "4321", "3142")


@dataclass(frozen=True, slots=True)
class OfWindows:
    """Warehouses of one history on several clusters: told as a whole, and in pieces."""

    whole: Path
    begun: Path  # after the first piece of each
    windows: Path


@pytest.fixture(scope="module")
def of_windows(real_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> OfWindows:
    """Each cluster is told in windows, in an order of its own; one, of which all that is told are
    the newest rows, then as a whole; and one as a whole and in windows at once.
    """
    folder = tmp_path_factory.mktemp("of-windows")
    windows = sorted((real_logs / "slurm" / "windows").glob("w_*.txt"))
    newest_rows = real_logs / "slurm" / "snap2_quiet" / "sacct_nodup_P_admin.txt"
    assert 4 == len(windows)
    beside = [
        [on("newest", newest_rows), *(on("beside", dump) for dump in (*windows, ADMIN))],
        [on("newest", ADMIN)],
        [],
        [],
    ]
    for place, more in enumerate(beside):
        told = [on(order, windows[int(order[place]) - 1]) for order in ORDERS_OF_FOUR]

        assert 0 == ingest(folder / "windows", *written(folder / str(place), *told, *more))
        if place == 0:
            begun = copied(folder / "windows", folder)
    whole = [on(cluster, ADMIN) for cluster in (*ORDERS_OF_FOUR, "newest", "beside")]

    assert 0 == ingest(folder / "whole", *written(folder / "dumps", *whole))
    return OfWindows(folder / "whole", begun, folder / "windows")


def on(cluster: str, dump: Path) -> list[str]:
    """The lines of a dump, on another cluster."""
    told = dump.read_text(encoding="utf-8").removesuffix("\n")
    return re.sub(r"\|fleet(?=\||$)", f"|{cluster}", told, flags=re.MULTILINE).split("\n")


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS_OF_FOUR)
def test_four_windows_in_any_order_are_the_whole_history(order: str, of_windows: OfWindows) -> None:
    told = attempts_on(of_windows.whole, order)

    # the windows print no step's memory and no comment, all else they do
    assert 100 < len(told)
    assert told == attempts_on(of_windows.windows, order)
    assert serving(of_windows.whole) == serving(of_windows.windows)


@pytest.mark.real
def test_windows_beside_the_whole_history_add_nothing(of_windows: OfWindows) -> None:
    told = attempts_on(of_windows.whole, "beside")

    assert 100 < len(told)
    assert told == attempts_on(of_windows.windows, "beside")


def test_windows_of_a_chain_number_its_attempts_when_its_beginning_arrives(
    in_turn: InTurn,
) -> None:
    assert [1] == numbers_of(in_turn.warehouses[0])["fleet:90"]
    assert [
        (1, "preempted", 10.0, 50.0),
        (2, "preempted", 120.0, 60.0),
        (3, "completed", 160.0, 100.0),
    ] == rows(
        in_turn.warehouses[2],
        "select attempt, outcome, queue_seconds, wall_seconds from attempts "
        "where job_id ^@ 'fleet:90' order by attempt",
    )


# A scheduler and a trainer that speak of one job

TRAINED: tuple[dict[str, Any], ...] = (
    {"ts": 20, "event": "phase_start", "phase": "trainer_init", "attempt": 1},
    {"ts": 50, "event": "phase_end", "phase": "trainer_init", "attempt": 1},
    {"ts": 50, "event": "phase_start", "phase": "training", "attempt": 1},
    {"ts": 600, "event": "phase_start", "phase": "checkpoint_save", "step": 10, "attempt": 1},
    {"ts": 610, "event": "phase_end", "phase": "checkpoint_save", "step": 10, "attempt": 1},
    # what the trainer sees of a preemption: it was told to stop
    {"ts": 990, "event": "attempt_end", "outcome": "failed", "exit_code": 143, "attempt": 1},
    {"ts": 1130, "event": "phase_start", "phase": "trainer_init", "attempt": 2},
    {"ts": 1160, "event": "phase_end", "phase": "trainer_init", "attempt": 2},
    {
        "ts": 1160,
        "event": "phase_start",
        "phase": "training",
        "attempt": 2,
        "resumed_from_step": 10,
    },
    {"ts": 1990, "event": "phase_end", "phase": "training", "attempt": 2},
)


# by the order of its two dumps, and by the trainer's word of its end
ORDERS = {"scheduler first": "95", "trainer first": "96", "together": "97"}
ENDS: dict[float, tuple[str, list[str]]] = {
    980: ("98", []),
    1000.9: ("99", []),
    1010: ("100", ["events_after_end", "several_ends"]),
}


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of Slurm without a Cluster column and of trainers, who name their jobs alike."""
    folder = tmp_path_factory.mktemp("described")
    scheduled = {
        job: (row(int(job), "PREEMPTED", 0, 10, 1000), row(int(job), "COMPLETED", 1001, 1120, 2000))
        for job in ORDERS.values()
    } | {job: (row(int(job), "COMPLETED", 0, 10, 1000),) for job, _ in ENDS.values()}
    trained = {job: TRAINED for job in ORDERS.values()} | {
        job: (
            *TRAINED[:3],
            {"ts": ends, "event": "attempt_end", "outcome": "completed", "attempt": 1},
        )
        for ends, (job, _) in ENDS.items()
    }
    scheduler_first = {ORDERS["scheduler first"], *(job for job, _ in ENDS.values())}
    trainer_first = {ORDERS["trainer first"]}
    commands = (
        (scheduled.keys() - trainer_first, trained.keys() - scheduler_first),
        (trainer_first, scheduler_first),
    )
    columns = [column for column in COLUMNS if column != "Cluster"]
    for number, (of_scheduler, of_trainer) in enumerate(commands):
        native = write_dump(
            folder / f"events-{number}.jsonl",
            [
                {**event, "ts": seconds_of(0) + event["ts"], "job_id": job}
                for job in sorted(of_trainer)
                for event in trained[job]
            ],
        )
        told = sacct(
            *(one for job in sorted(of_scheduler) for one in scheduled[job]), columns=columns
        )
        dump = folder / f"sacct-{number}.txt"
        dump.write_text("\n".join(told) + "\n", encoding="utf-8")

        assert 0 == ingest(folder / "warehouse", native, dump)
    return folder / "warehouse"


@pytest.mark.parametrize("order", ORDERS)
def test_a_scheduler_and_a_trainer_describe_one_job_together(order: str, described: Path) -> None:
    job = ORDERS[order]

    assert [
        (1, True, "preempted", "scheduler", "vision", 8, 10.0, 990.0, at(50)),
        (2, True, "completed", None, "vision", 8, 120.0, 880.0, at(1160)),
    ] == rows(
        described,
        "select attempt, is_instrumented, outcome, failure_domain, team, gpus, queue_seconds, "
        "wall_seconds, first_batch_at from attempts where job_id = ? order by attempt",
        [job],
    )
    # up to the save of step 10 it lasted; the trainer's own end, 10 s before Slurm's, ends nothing
    assert {
        "unaccounted": 10.0,
        "trainer_init": 30.0,
        "effective": 550.0,
        "checkpoint_save": 10.0,
        "unsaved": 390.0,
    } == areas(described, job, 1)
    assert {
        "unaccounted": 20.0,
        "trainer_init": 30.0,
        "effective": 830.0,
    } == areas(described, job, 2)
    assert [("sources_disagree", 1)] == rows(
        described,
        "select kind, count(*) from anomalies where kind in ('several_ends', 'sources_disagree') "
        "and job_id = ? group by 1",
        [job],
    )
    assert sorted([*ORDERS.values(), *(job for job, _ in ENDS.values())]) == [
        job for (job,) in rows(described, "select job_id from jobs order by 1")
    ]
    assert [("events",), ("slurm-sacct",)] == rows(
        described, "select source from sources order by 1"
    )


@pytest.mark.parametrize(("resumed", "unsaved"), [(53, 0.0), (50, 490.0)])
def test_what_a_job_saves_once_it_is_told_to_stop_is_not_lost_if_it_was_restored(
    tmp_path: Path, resumed: int, unsaved: float
) -> None:
    # Slurm ends the row when it sends SIGTERM, and kills what is left KillWait later
    told = sacct(row(7, "PREEMPTED", 0, 10, 1000), row(7, "COMPLETED", 1002, 1120, 2000))
    (tmp_path / "sacct.txt").write_text("\n".join(told) + "\n", encoding="utf-8")
    of = {"job_id": "7", "attempt": 1}
    save = {**of, "event": "phase_start", "phase": "checkpoint_save"}
    trained: list[dict[str, Any]] = [
        {**of, "ts": 10, "event": "phase_start", "phase": "training"},
        {**save, "ts": 500, "end_ts": seconds_of(510), "step": 50},
        {**save, "ts": 1001, "end_ts": seconds_of(1008), "step": 53},
        {**of, "attempt": 2, "ts": 1130, "event": "phase_start", "phase": "training"},
        {**of, "attempt": 2, "ts": 1130, "event": "alive", "resumed_from_step": resumed},
    ]
    native = write_dump(
        tmp_path / "events.jsonl", [{**e, "ts": seconds_of(0) + e["ts"]} for e in trained]
    )

    assert 0 == ingest(tmp_path / "warehouse", tmp_path / "sacct.txt", native)
    assert [(1000 - 10 - 10 - unsaved, unsaved, 10.0, 1), (870.0, 0.0, 0.0, 0)] == rows(
        tmp_path / "warehouse",
        "select effective_seconds, unsaved_seconds, checkpoint_save_seconds, checkpoint_saves "
        "from attempts order by attempt",
    )


@pytest.mark.parametrize("ends", ENDS)
def test_a_trainer_that_tells_the_outcome_of_the_row_contradicts_nothing(
    ends: float, described: Path
) -> None:
    job, kinds = ENDS[ends]

    assert kinds == [
        kind
        for (kind,) in rows(
            described,
            "select kind from anomalies where (kind like '%ends' or kind = 'events_after_end') "
            "and job_id = ? order by kind",
            [job],
        )
    ]


def test_a_job_of_a_cluster_is_not_the_job_of_that_number_elsewhere(in_turn: InTurn) -> None:
    assert {"95": [1], "fleet:95": [1]} == {
        job: numbers
        for job, numbers in numbers_of(in_turn.warehouses[1]).items()
        if job.endswith("95")
    }


def test_a_cluster_that_accounts_for_no_gpus_is_told_of(
    load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    here = [row(job, "COMPLETED", 0, 10, 100, AllocTRES="cpu=8,node=1") for job in (1, 2)]
    there = row(3, "COMPLETED", 0, 10, 100, Cluster="other")
    warehouse = load(sacct(*here))
    told = [capsys.readouterr().out]
    load(sacct(*here, there))
    told.append(capsys.readouterr().out)

    hint = "counts them: does AccountingStorageTRES in slurm.conf name gres/gpu?"
    assert [(f"none of 2 attempts on fleet has a GPU, and no ratio {hint}",)] == rows(
        warehouse, "select detail from anomalies where kind = 'no_gpus'"
    )
    assert [True, False] == [
        f"none of these jobs has a GPU, and no ratio {hint}" in said for said in told
    ]


ORDERS_OF_WINDOWS = list(permutations(range(3)))
CUT = {told: 20 + job for job, told in enumerate(product(("RUNNING", "FAILED"), ORDERS_OF_WINDOWS))}


@pytest.fixture(scope="module")
def windowed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of jobs that three windows cut, of each in another order of the windows."""
    folder = tmp_path_factory.mktemp("windowed")
    for place in range(3):
        windows = [
            [row(1, "COMPLETED", 5, 20, 30)],
            [row(2, "COMPLETED", 5, 1900, 1990)],
            [],  # sacct -T -S 9:33:20
        ]
        for (state, order), job in CUT.items():
            of_job = (
                row(job, state, 0, 10, 1000, elapsed=990),
                row(job, state, 0, 1000, 1999, elapsed=999),
                row(job, "FAILED", 0, 2000, 2500),
            )
            windows[order[place]].append(of_job[order[place]])
        dumps = [folder / f"sacct-{place}-{window}.txt" for window in range(3)]
        for dump, told in zip(dumps, windows, strict=True):
            dump.write_text("\n".join(sacct(*told)) + "\n", encoding="utf-8")

        assert 0 == ingest(folder / "warehouse", *dumps)
    return folder / "warehouse"


@pytest.mark.parametrize("order", ORDERS_OF_WINDOWS)
@pytest.mark.parametrize("state", ["RUNNING", "FAILED"])
def test_windows_that_cut_a_job_are_put_together_again(
    windowed: Path, state: str, order: tuple[int, ...]
) -> None:
    job = f"fleet:{CUT[state, order]}"

    assert [(job, 1, at(10), at(2500), 10.0, 2490.0)] == rows(
        windowed,
        "select job_id, attempt, started_at, ended_at, queue_seconds, wall_seconds from attempts "
        "where job_id = ?",
        [job],
    )
    assert [(job, 1, "start_was_cut")] == rows(
        windowed,
        "select job_id, attempt, kind from anomalies where job_id = ? "
        "or job_id in ('fleet:1', 'fleet:2') or job_id is null",
        [job],
    )


def test_a_start_that_moved_on_while_nodes_booted_was_not_cut(in_turn: InTurn) -> None:
    warehouse = in_turn.warehouses[1]

    assert [(at(200), 2300.0)] == rows(
        warehouse, "select started_at, wall_seconds from attempts where job_id ^@ 'booting:'"
    )
    assert [] == rows(warehouse, "from anomalies where job_id ^@ 'booting:' or job_id is null")


def test_a_try_that_was_requeued_in_the_hour_that_comes_twice_keeps_its_length_and_place(
    tmp_path: Path,
) -> None:
    # the second 02:20 of the night: what Elapsed says of Start it does not say of Submit
    dump = tmp_path / "sacct.txt"
    dump.write_text(
        "JobID|State|ExitCode|Submit|Start|End|Elapsed|AllocTRES\n"
        "7|PREEMPTED|0:15|2026-10-25T02:53:47|2026-10-25T02:53:47|2026-10-25T02:19:59|00:26:12"
        "|gres/gpu=8\n"
        "7|COMPLETED|0:0|2026-10-25T02:19:59|2026-10-25T02:20:00|2026-10-25T04:50:00|02:30:00"
        "|gres/gpu=8\n",
        encoding="utf-8",
    )

    assert 0 == ingest(tmp_path / "warehouse", dump, "--timezone", "Europe/Berlin")
    assert [
        (1, "00:53:47", "preempted", 1572.0, 0.0),
        (2, "01:20:00", "completed", 9000.0, 1.0),
    ] == rows(
        tmp_path / "warehouse",
        "select attempt, strftime(started_at, '%H:%M:%S'), outcome, wall_seconds, queue_seconds "
        "from attempts order by attempt",
    )


@pytest.mark.parametrize(
    ("started", "seen", "length"),
    [("00:40:00", "05:20:00", "11:00:00"), ("01:40:00", "04:20:00", "10:00:00")],
)
def test_what_ran_on_from_the_hour_that_comes_twice_is_as_long_as_its_end_says(
    started: str, seen: str, length: str, tmp_path: Path
) -> None:
    # no dump has a window; of a start at 02:40 a row that still runs does not tell which it is
    begun = "7|{}|0:0|2026-10-25T01:50:00|2026-10-25T02:40:00|{}|{}|gres/gpu=8"
    told = (("RUNNING", "Unknown", seen), ("COMPLETED", "2026-10-25T12:40:00", length))
    for number, cells in enumerate(told):
        (tmp_path / f"{number}.txt").write_text(
            f"JobID|State|ExitCode|Submit|Start|End|Elapsed|AllocTRES\n{begun.format(*cells)}\n",
            encoding="utf-8",
        )

    dumps = (tmp_path / "0.txt", tmp_path / "1.txt")
    assert 0 == ingest(tmp_path / "warehouse", *dumps, "--timezone", "Europe/Berlin")
    assert [(started, "11:40:00", 3600.0 * int(length[:2]))] == rows(
        tmp_path / "warehouse",
        "select strftime(started_at, '%H:%M:%S'), strftime(ended_at, '%H:%M:%S'), wall_seconds "
        "from attempts",
    )
    assert [] == rows(tmp_path / "warehouse", "from anomalies")


def test_jobs_of_one_number_that_ran_at_once_are_said_to_count_twice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # the second 02:30 of the night, which local time takes for the first: one row in two tellings
    header = "JobID|State|ExitCode|Submit|Start|End|AllocTRES"
    local = "7|COMPLETED|0:0|2026-10-25T02:30:00|2026-10-25T03:10:00|2026-10-25T09:00:00|gres/gpu=8"
    epoch = "7|COMPLETED|0:0|1792891800|1792894200|1792915200|gres/gpu=8"
    again = "8|COMPLETED|0:0|{0}|{0}|{1}|gres/gpu=8"
    touching = [again.format(1792900000, 1792900600), again.format(1792900600, 1792900900)]
    for name, told in {"local": [local], "epoch": [epoch, *touching]}.items():
        (tmp_path / name).write_text("\n".join([header, *told]) + "\n", encoding="utf-8")

    dumps = (tmp_path / "local", tmp_path / "epoch")
    assert 0 == ingest(tmp_path / "warehouse", *dumps, "--timezone", "Europe/Berlin")
    found = "it ran while another job of its number did at 2026-10-25T02:10:00.000Z"
    assert [("7", 1, found), ("7@1792891800", 1, found)] == rows(
        tmp_path / "warehouse",
        "select job_id, attempt, detail from anomalies where kind = 'number_at_once' order by all",
    )
    assert "job 7: it ran while another job of its number did. Both count. If" in caplog.text


def test_gpus_that_a_job_asked_for_and_slurm_did_not_count_are_unknown(made: Path) -> None:
    assert [("asked:1", None, None, 90.0), ("asked:2", None, "a100_1g.5gb", 90.0)] == rows(
        made,
        "select job_id, gpus, gpu_type, wall_seconds from attempts where job_id ^@ 'asked:' "
        "order by 1",
    )


# what a table is made of, and what is asked of a warehouse


def dumps_of(told: Sequence[Story], folder: Path) -> dict[int, list[Path]]:
    """The dumps of each command; a table that a story tells again is the dump that it was."""
    dumps = defaultdict(list)
    for number, story in enumerate(told):
        tables = list(story.values())
        paths = written(folder / f"dumps-{number}", *tables)
        for command, lines in story.items():
            dumps[command].append(paths[tables.index(lines)])
    return dumps


def written(folder: Path, *tables: Sequence[str]) -> list[Path]:
    folder.mkdir()
    dumps = [folder / f"sacct-{number}.txt" for number in range(len(tables))]
    for dump, told in zip(dumps, tables, strict=True):
        dump.write_text("\n".join(told) + "\n", encoding="utf-8")
    return dumps


def stories() -> list[Story]:
    """What is told in turn: each story in jobs, or on a cluster, of its own."""
    told = [{0: made_up()}, resized_twice(), asked_for(), taken_later(), chained(), booted()]
    told.append({0: sacct(row(95, "COMPLETED", 0, 10, 100))})
    for order, cluster in TURNED.items():
        told += [
            turned(retelling(cluster), order),
            turned(with_fewer_columns(jobs_with_fewer_columns(order)), order),
            turned(in_other_words(cluster), order),
        ]
    for (cluster, order), command in TASKS.items():
        told += [
            turned(with_and_without_raw_number(command, cluster), order, command),
            {0: sacct(task(31, 28, command, cluster))},
        ]
    for order, command in ROWS.items():
        told += [
            turned(with_and_without_submission(command), order, command),
            # one without it beside other jobs is as good as one with it
            {0: sacct(row(10 + command, "COMPLETED", 0, 60, 90, Cluster="submitted"))},
        ]
    return told


def turned(tables: Sequence[list[str]], order: tuple[int, int], command: int = 1) -> Story:
    """The one table in the first command and the other in a later one."""
    first, then = order
    return {0: tables[first], command: tables[then]}


def made_up() -> list[str]:
    told = [
        row(50, "RUNNING", 0, 10, None, elapsed=500),
        row(51, "PENDING", 0, None, None),
        row(52, "CANCELLED by 7", 0, None, 90, Start="None"),
        row(70, "COMPLETED", 100, 90, 200),
        row(71, "COMPLETED", 100, 110, 200, Eligible=stamp(150)),
        row(72, "PREEMPTED", 0, 10, 100),
        row(72, "COMPLETED", 101, 99, 200),
        *(row(job, state, 0, 10, 20) for job, state in enumerate(CANCELLED, 80)),
    ]
    for job, state in [*enumerate(REQUEUES, 100), *enumerate(FINAL, 110)]:
        told += [row(job, state, 0, 1, 60), row(job, "COMPLETED", 61, 180, 240)]
    counted = [
        row(job, state, submitted, submitted + 1, submitted + 60, Restarts=restarts, Comment=said)
        for job, restarts, said in ((120, "1", ""), (121, "0", '"Restarts": "2"'))
        for state, submitted, restarts in (("FAILED", 0, "0"), ("COMPLETED", 70, restarts))
    ]
    return [*sacct(*told), *sacct(*counted, columns=(*COLUMNS, "Restarts", "Comment"))]


def resized_twice() -> Story:
    told = [
        f"42|vision|RESIZING|{stamp(10)}|{stamp(20)}",
        f"42|vision|RESIZING|{stamp(10)}|{stamp(30)}",
        f"42|vision|TIMEOUT|{stamp(10)}|{stamp(90)}",
    ]
    return {0: ["JobID|Account|State|Start|End", *told]}


def asked_for() -> Story:
    none, asked = "cpu=8,node=1", "cpu=8,gres/gpu=8"
    untold = row(1, "COMPLETED", 0, 10, 100, AllocTRES=none, ReqTRES=asked, Cluster="asked")
    sliced = untold | {"JobID": "2", "JobIDRaw": "2", "ReqTRES": none}
    sliced["AllocTRES"] = "gres/gpu:a100_1g.5gb=1"
    return {0: sacct(untold, sliced, columns=(*COLUMNS, "ReqTRES"))}


def taken_later() -> Story:
    """The older dump once more, in a command of its own that says when it was taken."""
    older, newer = (
        sacct(
            row(60, state, 0, 10, ended, Cluster="known"),
            row(61, "COMPLETED", 0, 10, other, Cluster="known"),
        )
        for state, ended, other in (("CANCELLED", 400, 500), ("COMPLETED", 300, 600))
    )
    return {0: older, 1: newer, AS_OF_700: older}


def chained() -> Story:
    first = sacct(row(90, "PREEMPTED", 0, 10, 60))
    second = sacct(row(90, "PREEMPTED", 61, 180, 240))
    third = sacct(row(90, "COMPLETED", 241, 400, 500))
    return {0: third, 1: first, 2: second}


def booted() -> Story:
    booting = row(1, "RUNNING", 0, 10, None, elapsed=60, Cluster="booting")
    return {0: sacct(booting), 1: sacct(row(1, "COMPLETED", 0, 200, 2500, Cluster="booting"))}


def retelling(cluster: str) -> list[list[str]]:
    first = (
        row(40, "PREEMPTED", 0, 1, 60),
        row(40, "COMPLETED", 61, 180, 240),
        row(60, "RUNNING", 0, 10, None, elapsed=600),
        row(62, "RUNNING", 0, 10, None, elapsed=600),
        row(63, "PENDING", 0, None, None),
        row(65, "FAILED", 0, 10, 300),
        row(66, "RUNNING", 0, 10, None, elapsed=600),
    )
    later = (
        row(40, "PREEMPTED", 9000, 9001, 9060),
        row(40, "FAILED", 9061, 9180, 9240),
        # after a cold start of the controller
        row(60, "CANCELLED", 0, 10, 400),
        row(62, "RUNNING", 0, 10, None, elapsed=900),
        row(63, "COMPLETED", 0, 100, 200),
        row(65, "RUNNING", 0, 10, None, elapsed=900),
        row(66, "COMPLETED", 9000, 9001, 9100, User="bob", Account="nlp"),
    )
    return [sacct(*(cells | {"Cluster": cluster} for cells in told)) for told in (first, later)]


def jobs_with_fewer_columns(order: tuple[int, int]) -> tuple[str, str]:
    return ("200", "201") if order == (0, 1) else ("202", "203")


def with_fewer_columns(jobs: tuple[str, str]) -> list[list[str]]:
    runs, ran = jobs
    day = BEGAN.date()
    return [
        [
            "JobID|JobName|Account|State|Submit|Start|End|AllocTRES",
            f"{runs}|x|t|RUNNING|{day}T01:00:00|{day}T02:00:00|Unknown|gres/gpu=8",
            f"{ran}|x|t|COMPLETED|{day}T01:00:00|{day}T02:00:00|{day}T04:00:00|gres/gpu=8",
        ],
        [
            "JobID|JobName|State|Submit|Start|End",
            f"{runs}|x|COMPLETED|{day}T01:00:00|{day}T02:00:00|{day}T10:00:00",
            f"{ran}|y|COMPLETED|{day}T01:00:00|{day}T02:00:00|{day}T04:00:00",
        ],
    ]


def in_other_words(cluster: str) -> list[list[str]]:
    job = row(300, "FAILED", 0, 60, 90, ExitCode="0:125", Cluster=cluster)
    step = job | {"JobID": "300.0", "JobIDRaw": "300.0", "State": "OUT_OF_MEMORY"}
    others = [row(other, "COMPLETED", 0, 60, 99, Cluster=cluster) for other in (301, 309)]
    return [sacct(job | {"Account": "nlp"}, others[0]), sacct(job, step, others[1])]


def with_and_without_raw_number(command: int, cluster: str) -> list[list[str]]:
    told = task(30, 29, command, cluster)
    shown = [column for column in COLUMNS if column != "JobIDRaw"]
    return [sacct(told), sacct(told, columns=shown)]


def task(raw: int, shown: int, command: int, cluster: str) -> Cells:
    told = row(10 * raw + command, "COMPLETED", 0, 60, 90, Cluster=cluster)
    return told | {"JobID": f"{10 * shown + command}_3"}


def with_and_without_submission(command: int) -> list[list[str]]:
    told = row(command, "COMPLETED", 0, 60, 90, Cluster="submitted")
    without = [column for column in COLUMNS if column not in ("Submit", "Eligible")]
    return [sacct(told), sacct(told, columns=without)]


BEGAN = datetime(2026, 3, 2, 9, 0, 0)
COLUMNS = (
    "JobID", "JobIDRaw", "JobName", "User", "Account", "Partition", "QOS", "State", "ExitCode",
    "Submit", "Eligible", "Start", "End", "ElapsedRaw", "AllocTRES", "Cluster",
)  # fmt: skip
Cells = dict[str, str]


def row(
    job: int,
    state: str,
    submitted: int,
    started: int | None,
    ended: int | None,
    elapsed: int | None = None,
    **cells: str,
) -> Cells:
    """A row of one job; times in seconds after 09:00."""
    ran = 0 if started is None or ended is None else max(0, ended - started)
    return {
        "JobID": str(job),
        "JobIDRaw": str(job),
        "JobName": "train",
        "User": "alice",
        "Account": "vision",
        "Partition": "train",
        "QOS": "normal",
        "State": state,
        "ExitCode": "0:0",
        "Submit": stamp(submitted),
        "Eligible": stamp(submitted),
        "Start": stamp(started),
        "End": stamp(ended),
        "ElapsedRaw": str(ran if elapsed is None else elapsed),
        "AllocTRES": "cpu=8,gres/gpu=8,node=1",
        "Cluster": "fleet",
    } | cells


def sacct(*told: Cells, columns: Sequence[str] = COLUMNS) -> list[str]:
    return ["|".join(columns), *("|".join(cells[column] for column in columns) for cells in told)]


def at(second: int) -> datetime:
    return BEGAN + timedelta(seconds=second)


def stamp(second: int | None) -> str:
    return "Unknown" if second is None else at(second).isoformat()


def seconds_of(second: int) -> int:
    return int(at(second).replace(tzinfo=UTC).timestamp())


def attempts(
    warehouse: Path, columns: str = "* exclude (failure_evidence_file)"
) -> list[tuple[Any, ...]]:
    """Every attempt with all its columns but the name of the dump that told it first."""
    return rows(warehouse, f"select {columns} from attempts order by job_id, attempt")


def attempts_on(warehouse: Path, cluster: str) -> list[tuple[Any, ...]]:
    """Every attempt on a cluster, under the names that its jobs would have on the usual one."""
    return [
        (of_fleet(job), *told)
        for job, *told in rows(
            warehouse,
            "select job_id, * exclude (job_id, cluster, failure_evidence_file) from attempts "
            "where job_id ^@ ? order by job_id, attempt",
            [f"{cluster}:"],
        )
    ]


def of_fleet(job: str) -> str:
    _, _, number = job.partition(":")
    return f"fleet:{number}"


def ends_on(warehouse: Path, cluster: str) -> list[tuple[str, int, tuple[object, ...]]]:
    return [told for told in ends(warehouse) if told[0].startswith(f"{cluster}:")]


def serving(warehouse: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rollups, which must not remember in how many ingests they came about."""
    return {
        view: rows(warehouse, f"from {view} order by all")
        for view in ("jobs", "team_day", "area_by_team_day", "failures_by_team_day", "days")
    }


def numbers_of(warehouse: Path) -> dict[str, list[int]]:
    return dict(
        rows(warehouse, "select job_id, list(attempt order by attempt) from attempts group by 1")
    )


def ends(warehouse: Path) -> list[tuple[str, int, tuple[object, ...]]]:
    return [
        (job, number, tuple(how))
        for job, number, *how in rows(
            warehouse,
            "select job_id, attempt, outcome, started_at, ended_at, wall_seconds, gpus, team "
            "from attempts order by job_id, attempt",
        )
    ]


def last_ends(warehouse: Path) -> list[tuple[str, tuple[object, ...]]]:
    """How the last attempt of each job ended, where its last row ran."""
    last = {job: max(numbers) for job, numbers in numbers_of(warehouse).items()}
    return [
        (job, how)
        for job, number, how in ends(warehouse)
        if number == last[job] and job not in LAST_ROW_NEVER_RAN
    ]


def golden() -> dict[str, Any]:
    answers: dict[str, Any] = json.loads((QUIET / "golden_sql.json").read_text(encoding="utf-8"))
    return answers


def visible() -> dict[str, Any]:
    answers: dict[str, Any] = golden()["sacct_visible"]
    return answers


def accounts() -> dict[str, dict[str, Any]]:
    answers: dict[str, dict[str, Any]] = golden()["sacct_visible_by_account"]
    return answers


def added(differences: Iterable[Difference], account: str, measure: str) -> int:
    return sum(getattr(each, measure) for each in differences if each.account == account)


def job_rows() -> Iterator[Cells]:
    """The job rows as a delimiter that no text contains tells them, in the order of the table."""
    lines = (QUIET / "sacct_D_us_X.txt").read_text(encoding="utf-8").splitlines()
    names = lines[0].split("\x1f")
    waiting = ""
    for line in lines[1:]:
        waiting = f"{waiting}\n{line}" if waiting else line
        cells = waiting.split("\x1f")
        if len(cells) == len(names):
            yield dict(zip(names, cells, strict=True))
            waiting = ""


def waits_in_rows() -> dict[tuple[str, int], float]:
    """How long each attempt waited: since its submission, or since the end of the one before.

    A row that never ran waited for the next that did.
    """
    chains: dict[str, list[Cells]] = defaultdict(list)
    for cells in job_rows():
        chains[f"fleet:{cells['JobIDRaw']}"].append(cells)
    waits: dict[tuple[str, int], float] = {}
    for job, chain in chains.items():
        since, number = chain[0]["Submit"], 0
        for before, cells in pairwise([{}, *chain]):
            if before.get("State") != "RESIZING" and ran(cells):
                number += 1
                wait = datetime.fromisoformat(cells["Start"]) - datetime.fromisoformat(since)
                waits[job, number] = wait.total_seconds()
            if ran(cells):
                since = cells["End"]
    return waits


def ran(cells: Cells) -> bool:
    return cells["ElapsedRaw"] != "0" or cells["State"] == "FAILED"


@pytest.mark.real
def test_a_dialect_without_exit_codes_takes_none_from_the_table(
    real_logs: Path, quiet: Path, tmp_path: Path
) -> None:
    """`sacct --json` of old releases says success of every job; in either order the table stays."""
    told = real_logs / "slurm/snap2_quiet"
    table_of, document = told / "sacct_D_P_admin.txt", told / "sacct_D.json.gz"
    ends = "select job_id, attempt, outcome, exit_code, failure_category from attempts order by all"
    alone = rows(quiet, ends)
    before = copied(quiet, tmp_path)
    ingest(before, document)
    for dump in (document, table_of):
        ingest(tmp_path / "after", dump)

    assert ADMIN.read_bytes() == table_of.read_bytes()
    assert 100 < len(alone)
    assert alone == rows(before, ends) == rows(tmp_path / "after", ends)


@pytest.mark.parametrize("order", TURNS)
def test_what_a_later_dump_has_no_column_for_stays_as_it_was_told(
    in_turn: InTurn, order: tuple[int, int]
) -> None:
    jobs = jobs_with_fewer_columns(order)

    assert [(jobs[0], "t", 8, "x", "completed"), (jobs[1], "t", 8, "y", "completed")] == rows(
        in_turn.warehouses[1],
        "select job_id, team, gpus, job_name, outcome from attempts where job_id[:3] in ? "
        "order by all",
        [jobs],
    )


def told_twice(in_turn: InTurn, what: str) -> list[tuple[str]]:
    """The jobs of which readers are told so."""
    asked = "select job_id from anomalies where kind = 'told_twice' and detail = ?"
    return rows(in_turn.warehouses[-1], asked, [what])


@pytest.mark.parametrize("order", TURNS)
def test_rows_that_are_told_with_their_submission_and_without_are_said_to_count_twice(
    in_turn: InTurn, order: tuple[int, int]
) -> None:
    command = ROWS[order]

    assert "its Submit" not in in_turn.warnings[0]
    what = f"a row of the scheduler's job submitted:{command} is told with its Submit and without"
    assert what in in_turn.warnings[command]
    assert [(f"submitted:{command}",)] == told_twice(in_turn, what)


@pytest.mark.parametrize("order", TURNS)
@pytest.mark.parametrize("cluster", ["fleet", ""])
def test_tasks_that_are_told_with_their_raw_number_and_without_are_said_to_count_twice(
    in_turn: InTurn, order: tuple[int, int], cluster: str
) -> None:
    command = TASKS[cluster, order]

    assert "JobIDRaw" not in in_turn.warnings[0]
    what = f"the scheduler's job 29{command}_3 is told with its JobIDRaw, 30{command}, and without"
    assert what in in_turn.warnings[command]
    assert 2 == len(told_twice(in_turn, what))


@pytest.mark.parametrize("order", TURNS)
def test_dumps_of_one_moment_that_tell_a_row_in_other_words_may_come_in_any_order(
    in_turn: InTurn, order: tuple[int, int]
) -> None:
    assert [("vision", "host_oom", "OUT_OF_MEMORY in step 300.0")] == rows(
        in_turn.warehouses[1],
        "select team, failure_category, failure_evidence from attempts where job_id = ?",
        [f"{TURNED[order]}:300"],
    )


def test_a_dump_that_grows_beside_another_of_the_same_moment_stays_sound(tmp_path: Path) -> None:
    warehouse, dump = tmp_path / "warehouse", tmp_path / "admin.txt"
    taken = ("--as-of", "2026-11-20T05:37:38Z")
    lines = ADMIN.read_text().splitlines(keepends=True)
    dump.write_text("".join(lines[: len(lines) // 3]))
    ingest(warehouse, *taken, dump, EPOCH)
    dump.write_text("".join(lines))
    ingest(warehouse, *taken, dump)

    assert 0 == keep.main(["check", "--warehouse", str(warehouse)])
