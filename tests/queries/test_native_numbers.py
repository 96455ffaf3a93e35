"""A job that events call by the scheduler's number is that job, whether the scheduler's dump names
its cluster or not.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from ingest import keep
from tests.ingest.warehouses import differences
from tests.queries.engine import ingest, rows, write_dump

HEAD = "JobID|JobName|Account|State|Submit|Start|End|AllocTRES|Cluster"
# preempted, requeued, lost a node, requeued, done
ROWS = (
    ("PREEMPTED", "00:00", "01:00", "02:00"),
    ("NODE_FAIL", "02:00", "02:30", "04:00"),
    ("COMPLETED", "04:00", "04:10", "06:00"),
)
NUMBERS = """
    select
        attempt, outcome, gpus, started_at, first_batch_at, ended_at, wall_seconds,
        effective_seconds, unsaved_seconds, queue_seconds, tts_seconds, ttr_seconds,
        failure_domain, failure_category
    from attempts
    where job_id = ?
    order by attempt
"""


# of a job, of a task of an array and of a part of a job of several
JOB, TASK, PART = "17", "18_3", "19+1"
# the jobs of which the events name no cluster and the cluster, by their first digit
CLUSTER_OF_EVENTS: dict[str, tuple[int, dict[str, str]]] = {
    "unnamed": (1, {}),
    "named": (3, {"cluster": "c1"}),
}
# those whose rows go by another number than is shown: rows first, events first
ROWS_FIRST = {"58_3": "68", "59+1": "69"}
EVENTS_FIRST = {"78_3": "88", "79+1": "89"}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of jobs whose rows name no cluster, and of their events."""
    folder = tmp_path_factory.mktemp("plain")
    numbers = (JOB, TASK, PART)
    told = table(folder / "a.txt", "", *numbers), trained(folder / "a.jsonl", *numbers)
    ingest(folder / "warehouse", *told)
    return folder / "warehouse"


@pytest.fixture(scope="module")
def clustered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of such jobs on a cluster, in two commands, and of their events."""
    folder = tmp_path_factory.mktemp("clustered")
    numbers = {
        named: [number_of(place, like) for like in (JOB, TASK, PART)]
        for named, (place, _) in CLUSTER_OF_EVENTS.items()
    }
    ingest(
        folder / "warehouse",
        table(folder / "rows.txt", "c1", *numbers["unnamed"], *numbers["named"]),
        *(
            trained(folder / f"{named}.jsonl", *numbers[named], **cluster)
            for named, (_, cluster) in CLUSTER_OF_EVENTS.items()
        ),
        table(folder / "raw-first.txt", "c1", *ROWS_FIRST, raw=ROWS_FIRST),
        trained(folder / "events-first.jsonl", *EVENTS_FIRST),
    )
    ingest(
        folder / "warehouse",
        trained(folder / "then.jsonl", *ROWS_FIRST),
        table(folder / "raw-then.txt", "c1", *EVENTS_FIRST, raw=EVENTS_FIRST),
    )
    return folder / "warehouse"


def number_of(place: int, like: str) -> str:
    """A job, task or part as another, in the tens of that place."""
    return f"{place}{like[1:]}"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of an array, of a number of two clusters and of events under a name."""
    folder = tmp_path_factory.mktemp("mixed")
    array = folder / "sacct.txt"
    array.write_text(
        "JobID|JobIDRaw|State|Submit|Start|End|AllocTRES\n"
        "7_3|9|COMPLETED|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T11:00:00|gres/gpu=8\n"
        "7_4|7|COMPLETED|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T11:00:00|gres/gpu=8\n"
    )
    log = folder / "slurm-7_3.out"
    log.write_text(
        "".join(
            f"[titan] 2026-03-01 10:{minute}:00,000 - root - INFO - {said}\n"
            for minute, said in ((10, "Training starts at step 1"), (20, "step: 1  loss: 7.2"))
        )
    )
    ingest(
        folder / "warehouse",
        log,
        array,
        table(folder / "a.txt", "c1", "17", "18"),
        table(folder / "b.txt", "c2", "17"),
        trained(folder / "a.jsonl", "17", "pretrain"),
    )
    return folder / "warehouse"


def table(path: Path, cluster: str, *numbers: str, raw: Mapping[str, str] | None = None) -> Path:
    """What sacct tells of jobs that ran three times each."""
    lines = [
        f"{number}|x|t|{state}|2026-03-01T{submit}:00|2026-03-01T{start}:00|2026-03-01T{end}:00"
        f"|gres/gpu=8|{cluster}" + (f"|{raw[number]}" if raw else "")
        for number in numbers
        for state, submit, start, end in ROWS
    ]
    path.write_text("\n".join([HEAD + ("|JobIDRaw" if raw else ""), *lines]) + "\n")
    return path


def trained(path: Path, *jobs: str, **more: object) -> Path:
    """What their trainers tell as events: each attempt trains from ten minutes after its start."""
    events: list[dict[str, Any]] = []
    for attempt, (_, _, start, end) in enumerate(ROWS, 1):
        ten_later = f"{start[:3]}{int(start[3:]) + 10:02d}"
        told: list[dict[str, Any]] = [
            {"ts": at(start), "event": "attempt_start", **more},
            {
                "ts": at(ten_later),
                "end_ts": at(end),
                "event": "phase_start",
                "phase": "training",
                **more,
            },
        ]
        events += [{**event, "job_id": job, "attempt": attempt} for job in jobs for event in told]
    return write_dump(path, events)


def at(minute: str) -> str:
    return f"2026-03-01T{minute}:00Z"


def the_jobs(warehouse: Path, *numbers: str) -> list[tuple[Any, ...]]:
    """The jobs of these numbers or names, on whatever cluster."""
    return rows(
        warehouse,
        "select job_id, attempts from jobs where split_part(job_id, ':', -1) in ? order by all",
        [list(numbers)],
    )


@pytest.mark.parametrize("named", CLUSTER_OF_EVENTS)
@pytest.mark.parametrize("like", [JOB, TASK, PART])
def test_events_join_the_rows_of_a_cluster_and_tell_what_they_tell_without_one(
    plain: Path, clustered: Path, like: str, named: str
) -> None:
    place, _ = CLUSTER_OF_EVENTS[named]
    number = number_of(place, like)

    assert [(like, 3)] == the_jobs(plain, like)
    assert [(f"c1:{number}", 3)] == the_jobs(clustered, number)
    assert 6_000.0 == rows(clustered, NUMBERS, [f"c1:{number}"])[2][7]
    assert rows(plain, NUMBERS, [like]) == rows(clustered, NUMBERS, [f"c1:{number}"])


@pytest.mark.parametrize("like", [TASK, PART])
def test_the_number_that_sacct_shows_joins_rows_that_go_by_another(
    plain: Path, clustered: Path, like: str
) -> None:
    for place, raw in ((5, ROWS_FIRST), (7, EVENTS_FIRST)):
        number = number_of(place, like)
        job = f"c1:{raw[number]}"

        assert [(job, 3)] == the_jobs(clustered, number, raw[number])
        assert rows(plain, NUMBERS, [like]) == rows(clustered, NUMBERS, [job])


def test_the_output_of_an_arrays_task_is_of_its_rows(mixed: Path) -> None:
    assert [("7", 3600.0, False), ("9", 3600.0, True)] == rows(
        mixed,
        "select job_id, wall_seconds, is_instrumented from attempts "
        "where split_part(job_id, ':', -1) not in ('17', '18', 'pretrain') order by all",
    )


def test_a_cluster_that_the_reader_gives_joins_them_as_well(plain: Path, tmp_path: Path) -> None:
    told = [table(tmp_path / "a.txt", "", JOB), trained(tmp_path / "a.jsonl", JOB)]
    ingest(tmp_path / "given", "--cluster", "c1", *told)

    assert [("c1:17", 3)] == rows(
        tmp_path / "given", "select job_id, attempts from jobs order by all"
    )
    assert rows(plain, NUMBERS, [JOB]) == rows(tmp_path / "given", NUMBERS, ["c1:17"])


def test_they_join_in_any_order_and_by_a_rebuild(tmp_path: Path) -> None:
    """Each order is of a number of its own; commands of one kind have every order among them."""
    commands = ("rows", "events", "run", "rows", "events", "rows", "run")
    numbers = {str(17 + place): order for place, order in enumerate(permutations(commands[:3]))}
    comes = {number: places(order, commands) for number, order in numbers.items()}
    told = []
    for place, kind in enumerate(commands):
        now = [number for number in numbers if place in comes[number]]
        told.append(
            table(tmp_path / f"{place}.txt", "c1", *now)
            if kind == "rows"
            else trained(
                tmp_path / f"{place}.jsonl",
                *(number if kind == "events" else f"run-{number}" for number in now),
            )
        )
        ingest(tmp_path / "in turn", told[-1])
    ingest(tmp_path / "once", *told)

    assert {} == differences(tmp_path / "once", tmp_path / "in turn")
    assert [(f"c1:{number}", 3) for number in numbers] + [
        (f"run-{number}", 3) for number in numbers
    ] == rows(tmp_path / "once", "select job_id, attempts from jobs order by all")


def places(order: Sequence[str], commands: Sequence[str]) -> list[int]:
    """Where each of an order first comes in commands after the one before it."""
    found: list[int] = []
    for kind in order:
        found.append(commands.index(kind, found[-1] + 1 if found else 0))
    return found


def test_a_number_of_two_clusters_is_neither_where_the_events_name_none(mixed: Path) -> None:
    kinds = rows(mixed, "select job_id, kind from anomalies where kind = 'ambiguous_job'")

    assert [("17", 3), ("c1:17", 3), ("c2:17", 3)] == the_jobs(mixed, "17")
    assert {("17", "ambiguous_job")} == set(kinds)


@pytest.fixture(scope="module")
def of_two_clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("of-two-clusters")
    ingest(
        folder / "warehouse",
        *(table(folder / f"{cluster}.txt", cluster, "17") for cluster in ("c1", "c2")),
    )
    return folder / "warehouse"


@pytest.mark.parametrize("named", [(), ("--cluster", "c1")], ids=("none", "one"))
def test_a_number_of_two_clusters_that_is_joined_with_neither_is_warned_of(
    of_two_clusters: Path,
    named: tuple[str, ...],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    warehouse = shutil.copytree(of_two_clusters, tmp_path / "warehouse", symlinks=True)

    assert 0 == ingest(warehouse, trained(tmp_path / "a.jsonl", "17"), *named)
    said = (
        "job 17: the scheduler's job 17 is known on 2 clusters, such as c1 and c2. It is joined "
        "with none of them, and if it is one its time counts twice. Ingest what tells of it with "
        "--cluster"
    )
    assert (not named) == (said in caplog.text)


def test_a_name_that_is_no_number_is_a_job_of_its_own(mixed: Path) -> None:
    assert [("c1:18", 3), ("pretrain", 3)] == the_jobs(mixed, "18", "pretrain")


@pytest.fixture(scope="module")
def of_a_cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("of-a-cluster")
    ingest(folder / "warehouse", table(folder / "a.txt", "c1", "17"))
    return folder / "warehouse"


def test_rows_that_are_told_with_a_cluster_and_without_are_said_to_count_twice(
    of_a_cluster: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warehouse = shutil.copytree(of_a_cluster, tmp_path / "warehouse", symlinks=True)
    ingest(warehouse, table(tmp_path / "other.txt", "", "18"))
    unsaid = caplog.text
    ingest(warehouse, table(tmp_path / "b.txt", "", "17"))

    assert "told with its cluster" not in unsaid
    what = "the scheduler's job 17 is told with its cluster, c1, and without"
    assert what in caplog.text
    assert [("17", what), ("c1:17", what)] == rows(
        warehouse, "select job_id, detail from anomalies where kind = 'told_twice' order by all"
    )


def test_a_dry_run_says_what_would_count_twice_before_it_does(
    of_a_cluster: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warehouse = shutil.copytree(of_a_cluster, tmp_path / "warehouse", symlinks=True)
    ingest(warehouse, "--dry-run", table(tmp_path / "b.txt", "", "17"))

    assert "the scheduler's job 17 is told with its cluster, c1, and without" in caplog.text
    assert [("c1:17", 3)] == rows(warehouse, "select job_id, attempts from jobs order by all")


@dataclass(frozen=True, slots=True)
class Pruned:
    """A warehouse that forgot the events of its jobs, the jobs as it showed them then, and how a
    check of it ended after what came late.
    """

    warehouse: Path
    before: list[tuple[Any, ...]]
    checked: int


@pytest.fixture(scope="module")
def pruned(tmp_path_factory: pytest.TempPathFactory) -> Pruned:
    """17 was told by its rows first, 18 by its events; of 19 another cluster speaks later."""
    folder = tmp_path_factory.mktemp("pruned")
    warehouse = folder / "warehouse"
    first = table(folder / "a.txt", "c1", "17", "19"), trained(folder / "a.jsonl", "18")
    ingest(warehouse, "--as-of", "2026-03-20T00:00:00Z", *first)
    keep.main(["prune", "--before", "2026-03-10", "--warehouse", str(warehouse)])
    before = rows(warehouse, "select * from jobs order by all")
    ingest(
        warehouse,
        trained(folder / "b.jsonl", "17"),
        trained(folder / "c.jsonl", "19", cluster="c2"),
        table(folder / "b.txt", "c1", "18"),
    )
    return Pruned(warehouse, before, keep.main(["check", "--warehouse", str(warehouse)]))


@pytest.mark.parametrize("job", ["c1:17", "18"], ids=["scheduler", "events"])
def test_what_comes_too_late_for_the_pruned_job_of_its_number_doubles_no_time(
    pruned: Pruned, job: str
) -> None:
    number = job.rpartition(":")[2]
    shown = rows(
        pruned.warehouse,
        "select * from jobs where split_part(job_id, ':', -1) = ? order by all",
        [number],
    )
    late = rows(
        pruned.warehouse,
        "select job_id from anomalies where kind = 'late_for_pruned' "
        "and split_part(job_id, ':', -1) = ?",
        [number],
    )

    assert [row for row in pruned.before if row[0] == job] == shown
    assert [(job,)] == late
    assert 0 == pruned.checked


def test_a_number_on_another_cluster_than_the_pruned_one_is_a_job_of_its_own(
    pruned: Pruned,
) -> None:
    assert [("19", 3), ("c1:19", 3)] == the_jobs(pruned.warehouse, "19")
