"""What only shows in batches past a DuckDB row group of 122,880 rows, and in small ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest import facts, loader, plan
from ingest.dumps import DumpFile, Fingerprint, known
from ingest.formats import FORMATS
from ingest.ledger import Incoming
from ingest.settings import Settings
from ingest.warehouse import Storage
from tests.ingest.warehouses import differences, fleet
from tests.queries.engine import ingest, rows, write_dump

SAVES = 130_000
START = 1_772_323_200  # 2026-03-01T00:00:00Z


@pytest.mark.parametrize(("gib", "parts"), [(0.25, 16), (0.5, 8), (2, 2), (4, 1), (64, 1)])
def test_what_is_computed_at_once_follows_the_memory_limit(gib: float, parts: int) -> None:
    # 10 M events at once ran out of 512 MiB when as many were taken as 2 GiB have room for
    settings = Settings(storage=Storage(memory_bytes=int(gib * (1 << 30))))

    assert parts == facts._parts(facts._Extent(24_000_000, 0, 0), settings)


@pytest.mark.parametrize(("mib", "sizes"), [(256, [5, 5, 2]), (2048, [10, 2])])
def test_a_batch_is_as_large_as_memory_has_room_for(mib: int, sizes: list[int]) -> None:
    dump = DumpFile("a", Path("a"), 100 << 20, "none")
    given = [
        Incoming(dump, FORMATS["events"], Fingerprint(known("1"), None, {}, False), None)
        for _ in range(12)
    ]

    found = plan.batches(iter(given), mib << 20)

    assert sizes == [len(batch) for batch in found]


@pytest.mark.slow
def test_every_save_of_a_large_batch_reaches_the_published_file(tmp_path: Path) -> None:
    of_job = {"job_id": "long", "attempt": 1}
    end = START + 10 * SAVES + 10
    events = [
        {"ts": START, "event": "attempt_start", **of_job, "gpus": 8},
        {"ts": START, "end_ts": end, "event": "phase_start", "phase": "training", **of_job},
        {"ts": end, "event": "attempt_end", "outcome": "completed", **of_job},
        *(
            {
                "ts": START + 10 * number,
                "end_ts": START + 10 * number + 1,
                "event": "phase_start",
                "phase": "checkpoint_save",
                "step": number,
                **of_job,
            }
            for number in range(1, SAVES + 1)
        ),
    ]

    assert 0 == ingest(tmp_path / "warehouse", write_dump(tmp_path / "dump.jsonl", events))
    assert [(SAVES,)] == rows(tmp_path / "warehouse", "select checkpoint_saves from attempts")
    assert [(SAVES,)] == rows(tmp_path / "warehouse", "select count(*) from save_times")
    assert [(SAVES,)] == rows(
        tmp_path / "warehouse",
        "select sum(checkpoint_saves) from team_day where team = 'fleet' and workload = 'all'",
    )


def test_a_small_batch_gives_what_the_engine_gives_as_it_is_set_for_large_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = [write_dump(tmp_path / f"{seed}.jsonl", fleet(seed)) for seed in (81, 82)]
    for dump in dumps:
        ingest(tmp_path / "small", dump)
    monkeypatch.setattr(loader, "_SMALL_WAREHOUSE_BYTES", 0)
    for dump in dumps:
        ingest(tmp_path / "large", dump)

    assert {} == differences(tmp_path / "large", tmp_path / "small")
