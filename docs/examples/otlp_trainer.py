"""A trainer that tells by OpenTelemetry what it does, complete: `python otlp_trainer.py FOLDER`.

    pip install opentelemetry-sdk opentelemetry-exporter-otlp-json-file

It needs no collector and no network: each rank appends to two files of its own, which
`make ingest LOGS=FOLDER` reads. With a collector, give OTLP exporters instead and let the
collector's file exporter write the files.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from pathlib import Path

from opentelemetry import context as contexts
from opentelemetry._logs import Logger, LogRecord
from opentelemetry.exporter.otlp.json.file import FileSpanExporter
from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Tracer, set_span_in_context

STEPS = 40
SAVE_EVERY = 20


class OwnIds(IdGenerator):
    """The SDK takes ids from the generator that `random.seed` sets back: whoever seeds it twice in
    a process gives two spans one id, and of the two one is kept.
    """

    def generate_span_id(self) -> int:
        return secrets.randbits(64) or 1

    def generate_trace_id(self) -> int:
        return secrets.randbits(128) or 1


class TellStarts(SpanProcessor):
    """A span is exported when it ends, and one that is killed never is. So tell its start at once:
    a record at the same time, of the same span, with the same attributes.
    """

    def __init__(self, logger: Logger) -> None:
        self._logger = logger

    def on_start(self, span: Span, parent_context: contexts.Context | None = None) -> None:
        self._logger.emit(
            LogRecord(
                timestamp=span.start_time,
                event_name="phase_start",
                attributes={"ett.span": span.name, **(span.attributes or {})},
                context=set_span_in_context(span),
            )
        )


def telemetry(
    folder: Path, rank: int
) -> tuple[Tracer, Logger, list[LoggerProvider | TracerProvider]]:
    """Who this process is, and where it tells. Simple processors write at once: what is still in
    the queue of a batch processor is lost when the process is killed.
    """
    resource = Resource.create(
        {
            "service.name": "trainer",
            "ett.job_id": os.environ.get("JOB_NAME", "otlp-example"),
            "ett.launch_id": os.environ.get("LAUNCH_ID", f"{time.time():.0f}"),  # of all ranks
            "ett.rank": rank,
            "ett.team": "research",
            "ett.workload": "exploration",
            "ett.gpus": 8,  # of the whole job
            **{
                f"slurm.{name}": os.environ[variable]
                for name, variable in (
                    ("job_id", "SLURM_JOB_ID"),
                    ("restart_count", "SLURM_RESTART_COUNT"),
                )
                if variable in os.environ
            },
        }
    )
    logs = LoggerProvider(resource)
    logs.add_log_record_processor(
        SimpleLogRecordProcessor(FileLogExporter(str(folder / f"records-{rank}.jsonl")))
    )
    logger = logs.get_logger("trainer")
    spans = TracerProvider(resource=resource, id_generator=OwnIds())
    spans.add_span_processor(TellStarts(logger))
    spans.add_span_processor(
        SimpleSpanProcessor(FileSpanExporter(str(folder / f"spans-{rank}.jsonl")))
    )
    return spans.get_tracer("trainer"), logger, [spans, logs]


def train(tracer: Tracer, logger: Logger, checkpoint: Path) -> None:
    """One launch. Spans are named like phases; `attempt` is the whole of it."""
    with tracer.start_as_current_span("attempt"):
        with tracer.start_as_current_span("trainer_init"):
            with tracer.start_as_current_span("process_group_init"):
                time.sleep(0.01)
            with tracer.start_as_current_span("train_module_creation"):
                time.sleep(0.01)
        step = 0
        if checkpoint.exists():
            step = int(checkpoint.read_text())
            with tracer.start_as_current_span(
                "checkpoint_load", attributes={"ett.step": step, "ett.resumed_from_step": step}
            ):
                time.sleep(0.01)
        with tracer.start_as_current_span("training"):
            while step < STEPS:
                step += 1
                time.sleep(0.002)
                if step % 5 == 0:  # seconds apart in a real loop
                    logger.emit(
                        LogRecord(
                            timestamp=time.time_ns(),
                            event_name="progress",
                            attributes={"ett.step": step, "ett.samples": step * 64},
                        )
                    )
                if step % SAVE_EVERY == 0:
                    with tracer.start_as_current_span(
                        "checkpoint_save", attributes={"ett.step": step, "ett.mode": "sync"}
                    ):
                        time.sleep(0.01)
                        checkpoint.write_text(str(step))
                if step == int(os.environ.get("FAIL_AT", "0")):
                    raise RuntimeError("CUDA error: an illegal memory access was encountered")
                if step == int(os.environ.get("KILL_AT", "0")):
                    os._exit(137)
        with tracer.start_as_current_span("shutdown"):
            time.sleep(0.005)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    tracer, logger, providers = telemetry(folder, rank=int(os.environ.get("RANK", "0")))
    try:
        train(tracer, logger, folder / "checkpoint.txt")
    finally:
        for provider in providers:
            provider.shutdown()


if __name__ == "__main__":
    main()
