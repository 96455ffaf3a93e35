"""The dump formats that are read through a collector, in the order they are tried."""

from __future__ import annotations

from ingest.collectors.base import Collector
from ingest.collectors.goodput import GOODPUT
from ingest.collectors.mlperf import MLPERF
from ingest.collectors.one_logger import ONE_LOGGER
from ingest.collectors.otlp import OTLP
from ingest.collectors.slurm import SLURM_SACCT
from ingest.collectors.slurm_json import SLURM_JSON
from ingest.collectors.torchelastic import TORCHELASTIC
from ingest.collectors.training_log import TRAINING_LOG

COLLECTORS: tuple[Collector, ...] = (
    SLURM_SACCT,
    SLURM_JSON,
    MLPERF,
    ONE_LOGGER,
    GOODPUT,
    OTLP,
    TORCHELASTIC,
    TRAINING_LOG,
)
