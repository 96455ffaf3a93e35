"""The dump formats that are read through a collector, in the order they are tried."""

from __future__ import annotations

from ingest.collectors.base import Collector
from ingest.collectors.mlperf import MLPERF
from ingest.collectors.slurm import SLURM_SACCT

COLLECTORS: tuple[Collector, ...] = (SLURM_SACCT, MLPERF)
