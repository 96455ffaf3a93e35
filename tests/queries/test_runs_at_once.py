"""Runs whose logs bear one name, and that ran at once, count once: an anomaly says so."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.ingest.test_torchelastic_runs import step
from tests.ingest.torchelastic_dumps import begins, starts, written
from tests.ingest.warehouses import differences
from tests.queries.engine import ingest, rows

BEGAN = datetime(2026, 3, 1, 10, tzinfo=UTC)
ANOMALIES = "select job_id, attempt, detail from anomalies where kind = 'runs_at_once' order by all"

Sightings = Sequence[tuple[int, int]]  # seconds since BEGAN, step


def sightings(start: int, first: int, *, pace: int = 10, count: int = 20) -> Sightings:
    """A step every `pace` seconds."""
    return [(start + pace * number, first + number) for number in range(1, count + 1)]


def write(
    path: Path, start: int, told: Iterable[tuple[int, int]], *, saves: Sequence[int] = ()
) -> Path:
    """A log of Megatron-LM that begins at `start`, with a save after each step of `saves`."""
    lines = [
        f"[after megatron is initialized] datetime: {at(start)}",
        f"[before the start of training step] datetime: {at(start + 1)}",
        *(line for seconds, step in told for line in _of_step(seconds, step, step in saves)),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def _of_step(seconds: int, step: int, is_saved: bool) -> Iterator[str]:
    yield (
        f" [{at(seconds)}] iteration {step:8}/   10000 | consumed samples: {256 * step:12} | "
        "elapsed time per iteration (ms): 2000.0 | learning rate: 1.0E-04 | lm loss: 7.4E+00 |"
    )
    if is_saved:
        yield f"[{at(seconds + 1)}.0] saving checkpoint at iteration {step:8} to /c in torch"
        yield f" [{at(seconds + 2)}.0] successfully saved checkpoint from iteration {step:8} to /c"


def at(seconds: int) -> str:
    return f"{BEGAN + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}"


def test_two_runs_of_one_name_at_once_are_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logs = [
        write(tmp_path / "exps/1153/train.log", 0, sightings(0, 100)),
        write(tmp_path / "exps/1154/train.log", 30, sightings(30, 700)),
    ]

    assert 0 == ingest(tmp_path / "warehouse", tmp_path / "exps")

    said = "logs of it told of step 701 and then of step 105 at 2026-03-01T10:00:50.000Z"
    assert [("exps", 1, said)] == rows(tmp_path / "warehouse", ANOMALIES)
    warning = caplog.text
    assert (
        f"job exps: logs of it told of step 701 and then of step 105 ({logs[0]} ... {logs[1]})"
        in warning
    )
    assert "[[identity]]" in warning
    for log in reversed(logs):
        ingest(tmp_path / "back", log)
    assert {} == differences(tmp_path / "warehouse", tmp_path / "back")


def test_a_name_in_a_warning_can_neither_end_its_line_nor_command_the_terminal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number, first in ((1, 100), (2, 700)):
        write(tmp_path / f"exps/a\n\x1b[31m/{number}/train.log", 0, sightings(0, first))

    ingest(tmp_path / "warehouse", tmp_path / "exps")

    [said] = [record.getMessage() for record in caplog.records]
    assert said.isprintable()
    assert said.startswith("job a\\n\\x1b[31m: logs of it told of step")


def test_runs_of_torchrun_are_told_of_by_what_their_trainers_say(tmp_path: Path) -> None:
    for run, others in (("exps", 700), ("nodes", 1)):
        for number, first in ((1, 1), (2, others)):
            said = [step(f"42:{10 + 5 * count}", first + count) for count in range(8)]
            lines = [*begins(0, run_id="none"), *starts(2), *said]
            written(tmp_path / "fleet" / run / f"node{number}", *lines)

    ingest(tmp_path / "warehouse", tmp_path / "fleet")

    [(job, attempt, detail)] = rows(tmp_path / "warehouse", ANOMALIES)
    assert ("exps", 1) == (job, attempt)
    assert detail.startswith("logs of it told of step 700 and then of step 3 ")


def test_a_rule_makes_them_two_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "ett.toml"
    settings.write_text("[[identity]]\npath = '/exps/(?P<job_id>[0-9]+)/'\n", encoding="utf-8")
    monkeypatch.setenv("ETT_CONFIG", str(settings))
    for number, first in (("1153", 100), ("1154", 700)):
        write(tmp_path / f"exps/{number}/train.log", 0, sightings(0, first))

    ingest(tmp_path / "warehouse", tmp_path / "exps")

    assert [] == rows(tmp_path / "warehouse", ANOMALIES)
    assert [("1153",), ("1154",)] == rows(
        tmp_path / "warehouse", "select job_id from jobs order by all"
    )


def test_what_is_one_run_is_not_told_of(tmp_path: Path) -> None:
    steps = sightings(0, 100, count=40)
    write(tmp_path / "fleet/ranks/0/train.log", 0, steps)
    write(tmp_path / "fleet/ranks/1/train.log", 2, [(second + 9, step) for second, step in steps])
    write(tmp_path / "fleet/again/1153/train.log", 0, steps)
    write(tmp_path / "fleet/again/1154/train.log", 900, sightings(900, 120))
    write(tmp_path / "fleet/pieces/train.log.1", 0, steps[:20])
    (tmp_path / "fleet/pieces/train.log").write_text(
        "".join(
            line
            for line in (tmp_path / "fleet/ranks/0/train.log").read_text().splitlines(True)[22:]
        )
    )

    ingest(tmp_path / "warehouse", tmp_path / "fleet")

    assert [] == rows(tmp_path / "warehouse", ANOMALIES)
    assert [("again", 2), ("pieces", 1), ("ranks", 1)] == rows(
        tmp_path / "warehouse",
        "select job_id, count(*) from attempts group by job_id order by all",
    )


def test_runs_are_told_of_where_steps_fall_back_by_ten_seconds_or_more(tmp_path: Path) -> None:
    told: dict[str, list[Sightings]] = {}
    rng = random.Random(20_261_125)
    for number in range(150):
        starts = [0, *(rng.randint(0, 12) for _ in range(rng.randint(1, 2)))]
        told[f"run-of-{number}"] = [
            sightings(start, rng.choice((0, 0, 0, 1)), pace=rng.choice((10, 10, 10, 11)))
            for start in starts
        ]
        for log, (start, one) in enumerate(zip(starts, told[f"run-of-{number}"], strict=True)):
            write(tmp_path / f"fleet/run-of-{number}/{log}/train.log", start, one)

    ingest(tmp_path / "warehouse", tmp_path / "fleet")

    expected = {name for name, logs in told.items() if falls_back(logs)}
    assert 30 < len(expected) < 120
    assert expected == {job for job, *_ in rows(tmp_path / "warehouse", ANOMALIES)}


def falls_back(logs: Iterable[Sightings]) -> bool:
    """The definition told again: some step lies below one that was told ten seconds before."""
    everything = [sighting for log in logs for sighting in log]
    return any(
        second >= before + 10 and step < reached
        for before, reached in everything
        for second, step in everything
    )
