"""What is mutated: whole dumps of every format, from the samples of the tests, and real ones.

Real dumps are read where ETT_REAL_LOGS names them; nothing of them is kept.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ingest.collectors.registry import COLLECTORS
from tests.ingest import test_goodput_collector as goodput
from tests.ingest import test_mlperf_collector as mlperf
from tests.ingest import test_one_logger_collector as one_logger
from tests.ingest import test_otlp_collector as otlp
from tests.ingest import test_slurm_json_collector as slurm_json
from tests.ingest import test_torchelastic_runs as torchelastic
from tests.ingest.trainer_logs import LOGS
from tests.oracle.fleets import random_fleet

Lines = list[bytes]

_SLURM = Path(__file__).parents[2] / "sample_data" / "dumps" / "slurm"
_MOST_BYTES = 2_000_000  # of one seed
NATIVE_LINES = 4_000


def written() -> dict[str, list[Lines]]:
    """Dumps that the tests make, and the ones of the sample, by format."""
    writer = one_logger.Writer(pid=1, rank=0, launch="a")
    other = one_logger.Writer(pid=1, rank=1, launch="b")
    jobs = [slurm_json.old(), slurm_json.new(job_id=13), slurm_json.old(job_id=14)]
    runs = [
        *goodput.launch(0),
        *goodput.steps(0, 15, 40, compiling=30),
        *goodput.custom("eval", 170, 190),
        goodput.end(200),
    ]
    spans = [
        otlp.spans(
            otlp.span("training", 0, 5, {"ett.step": 4}),
            otlp.span("checkpoint_save", 5, 6, error="x"),
        ),
        otlp.records(
            otlp.record(7, "progress", {"step": 3}), otlp.record(9, "exception", body="x")
        ),
    ]
    return {
        "slurm-sacct": [_lines(path) for path in sorted(_SLURM.glob("*/sacct*"))],
        "slurm-json": [
            json.dumps({"meta": slurm_json.META, "jobs": jobs}, indent=indent).encode().split(b"\n")
            for indent in (None, 1)
        ],
        "torchelastic": [torchelastic.WHOLE.split(b"\n")],
        "one-logger": [_encoded(*one_logger.a_run(writer)[:-3], *one_logger.a_run(other))],
        "goodput": [_encoded(*runs)],
        "otlp": [_encoded(*spans * 3)],
        "mlperf": [_encoded(*mlperf.RUN)],
        "training-log": [_encoded(*log.split("\n")) for log in LOGS.values()],
    }


def real() -> dict[str, list[Lines]]:
    """Real dumps by the format that takes them; none where no folder of them is named."""
    found: dict[str, list[Lines]] = {}
    folder = os.environ.get("ETT_REAL_LOGS")
    for path in sorted(Path(folder).rglob("*")) if folder else ():
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            continue
        lines = _lines(path)
        head = b"\n".join(lines)[:65_536]
        taken = [one.name for one in COLLECTORS if one.recognises(str(path), head)]
        if taken:
            found.setdefault(taken[0], []).append(lines)
    return found


def native(seed: int, lines: int = NATIVE_LINES) -> Lines:
    """Native events, no two of them alike."""
    return list(islice(_native(seed), lines))


def _native(seed: int) -> Iterator[bytes]:
    for fleet in range(40):
        for number, event in enumerate(random_fleet(seed * 100 + fleet, prefix=f"{fleet}-")):
            own = "description" if event["event"] == "change" else "host"
            yield json.dumps({**event, own: f"h{fleet}-{number}"}).encode()


def _lines(path: Path) -> Lines:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw)[:_MOST_BYTES].split(b"\n")


def _encoded(*lines: str) -> Lines:
    return [line.encode("utf-8", "surrogateescape") for line in lines]
