"""A job that events call by the scheduler's number is that job, whether the scheduler's dump names
its cluster or not.
"""

from __future__ import annotations

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
    order by attempt
"""


def table(path: Path, job: str, cluster: str) -> Path:
    """What sacct tells of one job that ran three times."""
    lines = [
        f"{job}|x|t|{state}|2026-03-01T{submit}:00|2026-03-01T{start}:00|2026-03-01T{end}:00"
        f"|gres/gpu=8|{cluster}"
        for state, submit, start, end in ROWS
    ]
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    return path


def trained(path: Path, job: str, **more: object) -> Path:
    """What its trainers tell as events: each attempt trains from ten minutes after its start."""
    events: list[dict[str, Any]] = []
    for attempt, (_, _, start, end) in enumerate(ROWS, 1):
        ten_later = f"{start[:3]}{int(start[3:]) + 10:02d}"
        events += [
            {"ts": at(start), "event": "attempt_start", **more},
            {
                "ts": at(ten_later),
                "end_ts": at(end),
                "event": "phase_start",
                "phase": "training",
                **more,
            },
        ]
        for event in events[-2:]:
            event |= {"job_id": job, "attempt": attempt}
    return write_dump(path, events)


def at(minute: str) -> str:
    return f"2026-03-01T{minute}:00Z"


def the_job(warehouse: Path) -> list[tuple[Any, ...]]:
    return rows(warehouse, "select job_id, attempts from jobs order by all")


@pytest.mark.parametrize("number", ["17", "17_3", "17+1"])
@pytest.mark.parametrize("named", [{}, {"cluster": "c1"}], ids=["unnamed", "named"])
def test_events_join_the_rows_of_a_cluster_and_tell_what_they_tell_without_one(
    tmp_path: Path, number: str, named: dict[str, str]
) -> None:
    plain, clustered = tmp_path / "plain", tmp_path / "clustered"
    ingest(plain, table(tmp_path / "a.txt", number, ""), trained(tmp_path / "a.jsonl", number))
    ingest(
        clustered,
        table(tmp_path / "b.txt", number, "c1"),
        trained(tmp_path / "b.jsonl", number, **named),
    )

    assert [(number, 3)] == the_job(plain)
    assert [(f"c1:{number}", 3)] == the_job(clustered)
    assert 6_000.0 == rows(clustered, NUMBERS)[2][7]
    assert rows(plain, NUMBERS) == rows(clustered, NUMBERS)


@pytest.mark.parametrize("number", ["17_3", "17+1"])
def test_the_number_that_sacct_shows_joins_rows_that_go_by_another(
    tmp_path: Path, number: str
) -> None:
    rows_by_raw = tmp_path / "raw.txt"
    lines = table(tmp_path / "a.txt", number, "c1").read_text().splitlines()
    rows_by_raw.write_text(
        "\n".join(f"{line}|{'19' if at else 'JobIDRaw'}" for at, line in enumerate(lines))
    )
    told = [rows_by_raw, trained(tmp_path / "a.jsonl", number)]
    ingest(tmp_path / "plain", *told[1:], tmp_path / "a.txt")
    for order in permutations(told):
        warehouse = tmp_path / "-".join(path.stem for path in order)
        for dump in order:
            ingest(warehouse, dump)

        assert [("c1:19", 3)] == the_job(warehouse)
        assert rows(tmp_path / "plain", NUMBERS) == rows(warehouse, NUMBERS)


def test_the_output_of_an_arrays_task_is_of_its_rows(tmp_path: Path) -> None:
    told = tmp_path / "sacct.txt"
    told.write_text(
        "JobID|JobIDRaw|State|Submit|Start|End|AllocTRES\n"
        "17_3|19|COMPLETED|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T11:00:00|gres/gpu=8\n"
        "17_4|17|COMPLETED|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T11:00:00|gres/gpu=8\n"
    )
    log = tmp_path / "slurm-17_3.out"
    log.write_text(
        "".join(
            f"[titan] 2026-03-01 10:{minute}:00,000 - root - INFO - {said}\n"
            for minute, said in ((10, "Training starts at step 1"), (20, "step: 1  loss: 7.2"))
        )
    )
    ingest(tmp_path / "warehouse", log, told)

    assert [("17", 3600.0, False), ("19", 3600.0, True)] == rows(
        tmp_path / "warehouse",
        "select job_id, wall_seconds, is_instrumented from attempts order by all",
    )


def test_a_cluster_that_the_reader_gives_joins_them_as_well(tmp_path: Path) -> None:
    told = [table(tmp_path / "a.txt", "17", ""), trained(tmp_path / "a.jsonl", "17")]
    ingest(tmp_path / "given", "--cluster", "c1", *told)
    ingest(tmp_path / "plain", *told)

    assert [("c1:17", 3)] == the_job(tmp_path / "given")
    assert rows(tmp_path / "plain", NUMBERS) == rows(tmp_path / "given", NUMBERS)


def test_they_join_in_any_order_and_by_a_rebuild(tmp_path: Path) -> None:
    told = [
        table(tmp_path / "a.txt", "17", "c1"),
        trained(tmp_path / "a.jsonl", "17"),
        trained(tmp_path / "other.jsonl", "run-17"),
    ]
    ingest(tmp_path / "once", *told)
    for order in permutations(told):
        warehouse = tmp_path / "-".join(path.stem + path.suffix for path in order)
        for dump in order:
            ingest(warehouse, dump)

        assert {} == differences(tmp_path / "once", warehouse)
    assert [("c1:17", 3), ("run-17", 3)] == the_job(tmp_path / "once")


def test_a_number_of_two_clusters_is_neither_where_the_events_name_none(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    ingest(
        warehouse,
        table(tmp_path / "a.txt", "17", "c1"),
        table(tmp_path / "b.txt", "17", "c2"),
        trained(tmp_path / "a.jsonl", "17"),
    )
    kinds = rows(warehouse, "select job_id, kind from anomalies where kind = 'ambiguous_job'")

    assert [("17", 3), ("c1:17", 3), ("c2:17", 3)] == the_job(warehouse)
    assert {("17", "ambiguous_job")} == set(kinds)


def test_a_name_that_is_no_number_is_a_job_of_its_own(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    ingest(
        warehouse, table(tmp_path / "a.txt", "17", "c1"), trained(tmp_path / "a.jsonl", "pretrain")
    )

    assert [("c1:17", 3), ("pretrain", 3)] == the_job(warehouse)


def test_rows_that_are_told_with_a_cluster_and_without_are_said_to_count_twice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warehouse = tmp_path / "warehouse"
    ingest(warehouse, table(tmp_path / "a.txt", "17", "c1"))
    ingest(warehouse, table(tmp_path / "other.txt", "18", ""))
    unsaid = caplog.text
    ingest(warehouse, table(tmp_path / "b.txt", "17", ""))

    assert "told with its cluster" not in unsaid
    assert "the scheduler's job 17 is told with its cluster, c1, and without" in caplog.text


def test_a_dry_run_says_what_would_count_twice_before_it_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warehouse = tmp_path / "warehouse"
    ingest(warehouse, table(tmp_path / "a.txt", "17", "c1"))
    ingest(warehouse, "--dry-run", table(tmp_path / "b.txt", "17", ""))

    assert "the scheduler's job 17 is told with its cluster, c1, and without" in caplog.text
    assert [("c1:17", 3)] == the_job(warehouse)


def pruned(warehouse: Path, dump: Path) -> list[tuple[Any, ...]]:
    """What a warehouse that forgot the events of a dump shows of its jobs."""
    ingest(warehouse, "--as-of", "2026-03-20T00:00:00Z", dump)
    keep.main(["prune", "--before", "2026-03-10", "--warehouse", str(warehouse)])
    return rows(warehouse, "select * from jobs order by all")


@pytest.mark.parametrize("first", ["scheduler", "events"])
def test_what_comes_too_late_for_the_pruned_job_of_its_number_doubles_no_time(
    tmp_path: Path, first: str
) -> None:
    warehouse = tmp_path / "warehouse"
    told = [table(tmp_path / "a.txt", "17", "c1"), trained(tmp_path / "a.jsonl", "17")]
    if first == "events":
        told.reverse()
    before = pruned(warehouse, told[0])
    ingest(warehouse, told[1])
    late = rows(warehouse, "select job_id from anomalies where kind = 'late_for_pruned'")

    assert before == rows(warehouse, "select * from jobs order by all")
    assert [before[0][:1]] == late
    assert 0 == keep.main(["check", "--warehouse", str(warehouse)])


def test_a_number_on_another_cluster_than_the_pruned_one_is_a_job_of_its_own(
    tmp_path: Path,
) -> None:
    warehouse = tmp_path / "warehouse"
    pruned(warehouse, table(tmp_path / "a.txt", "17", "c1"))
    ingest(warehouse, trained(tmp_path / "a.jsonl", "17", cluster="c2"))

    assert [("17", 3), ("c1:17", 3)] == the_job(warehouse)
