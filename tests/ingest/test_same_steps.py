"""One run that two logs tell of, each under a name of its own, is said to count twice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.queries.engine import hearing, ingest, rows

DOUBTS = "select job_id, kind, detail from anomalies where kind = 'told_twice' order by all"


def name_by_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = folder / "ett.toml"
    rules.write_text("[[identity]]\npath = '/(?P<job_id>run-[a-z])/'", encoding="utf-8")
    monkeypatch.setenv("ETT_CONFIG", str(rules))


def doubted(warehouse: Path) -> list[str]:
    return [job for (job,) in rows(warehouse, "select job_id from jobs order by all")]


def log(path: Path, steps: Iterable[tuple[int, int]], *more: str) -> Path:
    """What a trainer says of steps, each with the second of its line, behind `more`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    told = [
        f"2026-11-20 05:{second // 60:02d}:{second % 60:02d},000 INFO step {step}/999 | loss 2.5\n"
        for step, second in steps
    ]
    path.write_text("".join([*(f"{line}\n" for line in more), *told]), encoding="utf-8")
    return path


def test_a_log_and_the_output_of_one_run_are_said_to_count_twice(tmp_path: Path) -> None:
    steps = [(step, 5 * step) for step in range(20)]
    own = log(tmp_path / "run-a" / "train.log", steps)
    output = log(tmp_path / "out" / "48213.out", steps, "Loading modules")

    with hearing() as said:
        ingest(tmp_path / "warehouse", own)
        ingest(tmp_path / "warehouse", output)

    assert [f"{output} tells the steps of {own} at the same times"] == [
        one.split(",")[0] for one in said
    ]
    assert [
        (job, "told_twice", f"{output} tells the steps of {own} at the same times")
        for job in doubted(tmp_path / "warehouse")
    ] == rows(tmp_path / "warehouse", DOUBTS)
    assert 2 == len(doubted(tmp_path / "warehouse"))


def test_nothing_is_doubted_any_more_of_what_the_scheduler_says_is_one_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_by_folder(tmp_path, monkeypatch)
    steps = [(step, 5 * step) for step in range(20)]
    log(tmp_path / "logs" / "run-a" / "train.log", steps, "SLURM_JOB_ID=48213")
    log(tmp_path / "logs" / "run-b" / "train.log", steps, "SLURM_JOB_ID=48213")
    table = tmp_path / "sacct.txt"
    table.write_text(
        "JobID|State|Submit|Start|End|Elapsed|AllocTRES|Account\n"
        "48213|COMPLETED|2026-11-20T04:59:00|2026-11-20T04:59:30|2026-11-20T05:02:00|00:02:30|"
        "gres/gpu=8|a\n",
        encoding="utf-8",
    )

    ingest(tmp_path / "warehouse", tmp_path / "logs")
    before = {kind for _, kind, _ in rows(tmp_path / "warehouse", DOUBTS)}
    ingest(tmp_path / "warehouse", table)

    assert {"told_twice"} == before
    assert [("48213",)] == rows(tmp_path / "warehouse", "select job_id from jobs")
    assert [] == rows(tmp_path / "warehouse", DOUBTS)


def test_a_pair_of_logs_that_grow_is_said_once(tmp_path: Path) -> None:
    for many in (10, 20, 30):
        steps = [(step, 5 * step) for step in range(many)]
        log(tmp_path / "logs" / "run-a" / "train.log", steps)
        log(tmp_path / "logs" / "files" / "output.log", steps, "Loading modules")
        with hearing() as said:
            ingest(tmp_path / "warehouse", tmp_path / "logs")

        assert (many == 10) == bool(said)

    assert 2 == len(rows(tmp_path / "warehouse", DOUBTS))


def test_both_are_said_whichever_comes_with_the_other(tmp_path: Path) -> None:
    steps = [(step, 5 * step) for step in range(20)]
    log(tmp_path / "logs" / "run-a" / "train.log", steps)
    log(tmp_path / "logs" / "files" / "output.log", steps[:9], "Loading modules")

    with hearing() as said:
        ingest(tmp_path / "warehouse", tmp_path / "logs")

    [one] = said
    assert "train.log" in one and "output.log" in one


def test_both_count_once_where_a_rule_names_them_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_by_folder(tmp_path, monkeypatch)
    steps = [(step, 5 * step) for step in range(20)]
    log(tmp_path / "logs" / "run-a" / "train.log", steps)
    log(tmp_path / "logs" / "run-a" / "files" / "output.log", steps, "Loading modules")

    with hearing() as said:
        ingest(tmp_path / "warehouse", tmp_path / "logs")

    assert [] == said
    assert [("run-a", 95)] == rows(
        tmp_path / "warehouse", "select job_id, round(wall_seconds)::int from attempts"
    )


def test_runs_that_are_as_fast_as_one_another_are_no_more_than_that(tmp_path: Path) -> None:
    """Begun in one second, they are at the same step in the same second for a while."""
    log(tmp_path / "logs" / "run-a" / "train.log", [(step, 5 * step) for step in range(20)])
    log(
        tmp_path / "logs" / "run-b" / "train.log",
        [(step, 5 * step + step // 15) for step in range(20)],
    )

    with hearing() as said:
        ingest(tmp_path / "warehouse", tmp_path / "logs")

    assert [] == said
