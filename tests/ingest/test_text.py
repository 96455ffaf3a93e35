"""The loader's table of a text dump: the same rows, however its lines are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pytest

from ingest import rejects, text
from ingest.collectors.base import Collector, Dump, Reading
from ingest.collectors.goodput import GOODPUT
from ingest.collectors.slurm import SLURM_SACCT
from ingest.dumps import DumpFile
from ingest.errors import UnreadableDump
from ingest.events import Event, Reason, Rejected
from ingest.identity import IdentityRule
from ingest.moment import Moment

SCHEMA = Path(text.__file__).with_name("schema.sql")
RULES = (
    IdentityRule("path", r"(?P<team>ads)"),
    IdentityRule("job_id", r"(?P<job_id>pre)train"),
)


@pytest.mark.parametrize("rules", [(), RULES])
@pytest.mark.parametrize("cluster", [None, "blue"])
@pytest.mark.parametrize("collector", [SLURM_SACCT, GOODPUT])
def test_the_table_holds_what_is_told_line_by_line(
    collector: Collector,
    cluster: str | None,
    rules: tuple[IdentityRule, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text, "_FEWEST_BYTES", 0)
    monkeypatch.setattr(text, "_EVENTS_AT_ONCE", 30)
    monkeypatch.setattr(text, "_ROWS_A_TRANSACTION", 100)
    log = tmp_path / "ads.log"
    log.write_text("\n".join(sacct() if collector is SLURM_SACCT else goodput()))
    reading = Reading(cluster, ZoneInfo("UTC"), identity=rules)

    alone = loaded(replace(collector, read_many=None), log, reading)
    together = loaded(collector, log, reading)

    assert alone == together
    assert {"future_time"} == {reason for _, reason, _, _ in together[1]}


def test_small_dumps_are_inserted_together_and_one_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "_EVENTS_AT_ONCE", 500)
    inserted: list[int] = []
    append = text._append

    def noted(connection: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame) -> None:
        inserted.append(frame.height)
        append(connection, table, frame)

    monkeypatch.setattr(text, "_append", noted)
    with duckdb.connect() as connection:
        connection.execute(SCHEMA.read_text())
        rejects.begin(connection)
        rows = text.Rows(connection, "parsed")
        for number in range(1, 7):
            log = tmp_path / f"{number}.log"
            log.write_text("\n".join(sacct()))
            file = DumpFile(str(log), log, log.stat().st_size, "none")
            collector = {1: failing(100), 4: failing(500), 5: TELLS_NO_ROW}.get(number, SLURM_SACCT)
            moment = Moment(datetime(2026, 3, 1), 1_772_330_000_000_000, None)
            reading = Reading(f"c{number}", ZoneInfo("UTC"))
            with suppress(UnreadableDump):
                text.parse(text.Target(rows, number, 1), collector, file, reading, moment)
        assert rows.finish().keys() == {5}
        told = connection.execute(
            "select file_no, cluster, count(*) from parsed group by all order by all"
        ).fetchall()
        aside = connection.execute("select count(*) from rejects where file_no in (1, 4, 5)")
        assert (0,) == aside.fetchone()

    assert [(number, f"c{number}", told[0][2]) for number in (2, 3, 6)] == told
    assert 1 < len(inserted) < 6


def test_frames_of_dumps_that_have_a_column_of_another_type_are_inserted_each() -> None:
    told = {"at_us": [1], "event": ["alive"], "job_id": ["a"], "step": [3]}
    with duckdb.connect() as connection:
        connection.execute(SCHEMA.read_text())
        rows = text.Rows(connection, "parsed")
        for number, kind in enumerate((pl.Int64, pl.Int32), 1):
            frame = pl.DataFrame(told).with_columns(pl.col("step").cast(kind))
            rows.add(text.Origin(number, 1, None), [], [frame])
        assert not rows.finish()
        found = connection.execute("select file_no, step from parsed order by all").fetchall()

    assert [(1, 3), (2, 3)] == found


def too_large(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """Events of which one has a number that no column holds."""
    for event in SLURM_SACCT.read(dump, reading):
        yield event | {"gpus": 1 << 70} if isinstance(event, dict) else event


TELLS_NO_ROW = replace(SLURM_SACCT, read=too_large, read_many=None)


def failing(rejected: int) -> Collector:
    """A collector that sets so many lines aside behind some events, and fails."""

    def read(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
        yield from islice(SLURM_SACCT.read(dump, reading), 50)
        yield from (Rejected(line, Reason.NOT_JSON, "", "") for line in range(rejected))
        raise KeyError("end")

    return replace(SLURM_SACCT, read=read, read_many=None)


def loaded(
    collector: Collector, log: Path, reading: Reading
) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Rows with the columns in order of their names, and lines set aside; both sorted."""
    file = DumpFile(str(log), log, log.stat().st_size, "none")
    moment = Moment(datetime(2026, 3, 1), 1_772_330_000_000_000, None)
    with duckdb.connect() as connection:
        connection.execute(SCHEMA.read_text())
        rejects.begin(connection)
        parsed = text.Rows(connection, "parsed")
        text.parse(text.Target(parsed, 1, 1), collector, file, reading, moment)
        assert not parsed.finish()
        select = text.good_rows(connection, "parsed")
        names = sorted(row[0] for row in connection.execute(f"describe {select}").fetchall())
        rows = connection.execute(f"select {', '.join(names)} from ({select})").fetchall()
        aside = connection.execute(
            "select line_number, reason, detail, line from rejects order by all"
        ).fetchall()
    return sorted(rows, key=repr), aside


def sacct() -> Iterator[str]:
    yield "JobID|JobName|Account|State|ExitCode|Submit|Start|End|AllocTRES"
    for job in range(200):
        at = 1_772_323_200 + job * 60
        state = ("COMPLETED", "FAILED", "RUNNING")[job % 3]
        yield f"{job}|a|{'ads' * (job % 2)}|{state}|1:0|{at}|{at + 5}|{at + 50}|gres/gpu=8"
        yield f"{job}.batch|a||{state}|1:0|{at}|{at + 5}|{at + 50}|cpu=8"


def goodput() -> Iterator[str]:
    yield '{"job_name": "pretrain", "job_start_time": 1772323200}'
    for step in range(1_500):
        at = 1_772_323_300 + step * 6.25
        yield f'{{"job_name": "pretrain", "step_count": {step}, "step_start_time": {at}}}'
