"""Readers in other processes see one publication or the next, and never an error."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.ingest.warehouses import ROOT, command, life
from tests.queries.engine import ingest, rows, write_dump

INGESTS = 20
# Each dump adds one job of 600 s on 8 GPUs, so that every view must tell the same number of jobs.
_READER = """
import json, sys, time
from pathlib import Path
import duckdb
from queries import published

warehouse, stop = Path(sys.argv[1]), Path(sys.argv[2])
seen, faults = [], []
while not stop.exists():
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
    time.sleep(0.02)
print(json.dumps([seen, faults]))
"""


@pytest.mark.slow
def test_readers_never_see_a_half_state(tmp_path: Path) -> None:
    warehouse, stop = tmp_path / "warehouse", tmp_path / "stop"
    dumps = [
        write_dump(tmp_path / f"{number}.jsonl", life(f"job {number:02}"))
        for number in range(INGESTS + 1)
    ]
    ingest(warehouse, dumps[0])
    reader = subprocess.Popen(
        [sys.executable, "-c", _READER, str(warehouse), str(stop)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(1)
    for number, dump in enumerate(dumps[1:]):
        if number % 10 == 5:
            subprocess.run(command(warehouse, dump), cwd=ROOT, capture_output=True, check=True)
        else:
            ingest(warehouse, dump)
    stop.touch()
    seen, faults = json.loads(reader.communicate(timeout=60)[0])

    assert [] == faults
    assert seen == sorted(seen)
    assert len(set(seen)) > INGESTS // 2
    assert [(INGESTS + 1,)] == rows(warehouse, "select count(*) from jobs")
