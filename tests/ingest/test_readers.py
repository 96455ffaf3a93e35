"""Readers in other processes see one publication or the next, and never an error."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ingest import cli, plan, publish
from tests.ingest.forked import eager_ingest
from tests.ingest.warehouses import ROOT, life
from tests.queries.engine import ingest, rows, write_dump

# the second of them in a process of its own; each publishes what it has after every dump
INGESTS = 3
DUMPS = 4
# Each dump adds one job of 600 s on 8 GPUs, so that every view must tell the same number of jobs.
_READER = """
import json, sys, time
from pathlib import Path
import duckdb
from queries import published

warehouse, stop = Path(sys.argv[1]), Path(sys.argv[2])
seen, faults = [], []
while not stop.exists():
    began = time.monotonic()
    try:
        path = published(warehouse)
        with duckdb.connect(str(path), read_only=True) as reader:
            told = [
                reader.execute(sql).fetchone()[0]
                for sql in (
                    "select count(*) from jobs",
                    "select count(*) from attempts",
                    "select wall_us / 600000000 from team_day_totals "
                    "where team = 'fleet' and workload = 'all'",
                    "select sum(gpu_seconds) / 4800 from area_by_attempt",
                    "select wall_us / 600000000 from identity_by_day",
                    "select count(*) from ingested_files",
                )
            ]
            names = [name for (name,) in reader.execute("select file from detail_files").fetchall()]
            files = [str(warehouse / "detail" / name) for name in names]
            told.append(
                reader.execute(
                    "select count(distinct job_no) from read_parquet($files)", {"files": files}
                ).fetchone()[0]
            )
        seen.append(told[0])
        if len(set(told)) != 1:
            faults.append([path.name, told])
    except Exception as error:
        faults.append(repr(error))
    time.sleep(time.monotonic() - began)  # half of what is published finds it reading
print(json.dumps([seen, faults]))
"""


@pytest.mark.slow
def test_readers_never_see_a_half_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "BATCH_FILES", 1)
    monkeypatch.setattr(cli, "PUBLISH_EVERY_SECONDS", 0.0)
    monkeypatch.setattr(cli, "PUBLISHING_SHARE", 1.0)
    monkeypatch.setattr(publish, "_TIDY_EVERY", 4)  # some of so few publications, too
    warehouse, stop = tmp_path / "warehouse", tmp_path / "stop"
    first, *dumps = [
        write_dump(tmp_path / f"{number}.jsonl", life(f"job {number:02}"))
        for number in range(INGESTS * DUMPS + 1)
    ]
    ingest(warehouse, first)
    reader = subprocess.Popen(
        [sys.executable, "-c", _READER, str(warehouse), str(stop)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(1)
    for number in range(INGESTS):
        given = dumps[number * DUMPS : (number + 1) * DUMPS]
        if number == 1:
            other = eager_ingest(tmp_path / "said", warehouse, *given)
            other.join()
            assert 0 == other.exitcode
        else:
            assert 0 == ingest(warehouse, *given)
    stop.touch()
    seen, faults = json.loads(reader.communicate(timeout=60)[0])

    assert [] == faults
    assert seen == sorted(seen)
    assert len(set(seen)) > len(dumps) // 2
    assert [(len(dumps) + 1,)] == rows(warehouse, "select count(*) from jobs")
