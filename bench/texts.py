"""How fast text formats are read: MB a second of processor time, all threads together.

`python -m bench.texts`. `read`: lines to events, through each collector alone. `loaded`: lines to
rows in the loader's table, in a DuckDB in memory. The logs are made here, as programs write them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from zoneinfo import ZoneInfo

import duckdb

from ingest import dumps, rejects, text
from ingest.collectors.base import Block, Collector, Dump, Reading
from ingest.formats import recognise
from ingest.moment import Moment

MEGABYTES = 40
_BEGUN = datetime(2026, 3, 1, tzinfo=UTC)
_SCHEMA = Path(text.__file__).with_name("schema.sql")
_READING = Reading(None, ZoneInfo("UTC"))
_MOMENT = Moment(datetime(2030, 1, 1), 2**62, None)
_CHATTER = (
    "loading shard {n} of corpus from cache, 4096 documents, no repeats found in this one so far",
    "rank {n}: memory allocated 61234.5 MB, reserved 70112.0 MB, retries 0, fragments {n}",
    "tokenizer: merged {n} pairs, vocabulary 128256, unknown 0, special 12, longest piece 31",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make one log of each kind, or of those that are named; read it, load it, print a table."""
    parser = argparse.ArgumentParser(prog="bench.texts", description=__doc__)
    parser.add_argument("logs", nargs="*", metavar="LOG", help=f"of: {'; '.join(_LOGS)}")
    names = parser.parse_args(arguments).logs
    if unknown := sorted(set(names) - _LOGS.keys()):
        parser.error(f"{unknown[0]!r} is no log. Known: {'; '.join(_LOGS)}")
    print(f"{'text format':<34}{'read MB/s':>10}{'loaded MB/s':>12}{'events':>10}")
    with TemporaryDirectory(prefix="ett-bench-") as folder:
        for name in names or _LOGS:
            path = Path(folder, f"{name.replace(' ', '-')}.log")
            size = _write(path, _LOGS[name]())
            file = dumps.DumpFile(str(path), path, path.stat().st_size, "none")
            format = recognise(str(path), dumps.head(file))
            assert format is not None and format.collector is not None, path
            reading = _read(file, format.collector)
            loading, events = _load(file, format.collector)
            speeds = f"{size / 1e6 / reading:>10.0f}{size / 1e6 / loading:>12.0f}"
            print(f"{name:<34}{speeds}{events:>10,}", flush=True)
            path.unlink()
    return 0


def _write(path: Path, lines: Iterator[str]) -> int:
    size = 0
    with path.open("w", encoding="utf-8") as log:
        for line in lines:
            size += log.write(line + "\n")
            if size > MEGABYTES * 1_000_000:
                break
    return size


def _read(file: dumps.DumpFile, collector: Collector) -> float:
    def blocks() -> Iterator[Block]:
        return dumps.blocks(file, print, text.BYTES_AT_ONCE)

    dump = Dump(file.name, file.path, lambda: dumps.lines(file, print), blocks)
    read = collector.read_many or collector.read
    began = time.process_time()
    for _ in read(dump, _READING):
        pass
    return time.process_time() - began


def _load(file: dumps.DumpFile, collector: Collector) -> tuple[float, int]:
    with duckdb.connect() as connection:
        connection.execute(_SCHEMA.read_text())
        connection.execute("set threads = 1")  # others that wait for work would be counted too
        rejects.begin(connection)
        began = time.process_time()
        loaded = text.Rows(connection, "loaded")
        text.parse(text.Target(loaded, 1, 1), collector, file, _READING, _MOMENT)
        loaded.finish()
        seconds = time.process_time() - began
        found = connection.execute("select count(*) from loaded").fetchone()
        assert found is not None
        return seconds, int(found[0])


def _at(step: int) -> datetime:
    return _BEGUN + timedelta(seconds=step)


def _chatter(every: int, told: Callable[[int], str]) -> Iterator[str]:
    """`told` once among so many lines of chatter."""
    step = 0
    while True:
        step += 1
        yield told(step)
        for n in range(every):
            yield f"{_at(step):%Y-%m-%d %H:%M:%S},123 - {_CHATTER[n % 3].format(n=n)}"


def _torchtitan(step: int) -> str:
    return (
        f"{_at(step):%Y-%m-%d %H:%M:%S},123 - root - INFO - step: {step:>5}  loss:  4.1234  "
        f"memory: 60.12GiB(75.80%)  tps: 5,123  tflops: 310.22  mfu: 31.37%"
    )


def _megatron(step: int) -> str:
    return (
        f" [{_at(step):%Y-%m-%d %H:%M:%S}] iteration {step:>8}/ 9000000 | consumed samples: "
        f"{step * 512:>12} | elapsed time per iteration (ms): 998.1 | learning rate: 2.9E-04 | "
        "global batch size:   512 | lm loss: 2.411E+00 | loss scale: 1.0 | grad norm: 0.31 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


def _torchrun() -> Iterator[str]:
    for said in (
        "launcher/api.py:254] Starting elastic_operator with launch configs:",
        "launcher/api.py:254]   run_id                   : bench",
        "elastic/agent/server/api.py:525]   restart_count=0",
        "elastic/agent/server/api.py:533] [default] Starting worker group",
    ):
        yield f"I0301 00:00:01.123000 4242 torch/distributed/{said}"
    for line in _chatter(40, _torchtitan):
        yield f"[default0]:{line}"


def _sacct() -> Iterator[str]:
    yield (
        "JobIDRaw|JobID|JobName|User|Account|Partition|QOS|State|ExitCode|Submit|Start|End|"
        "AllocTRES"
    )
    job = 1_000
    while True:
        job += 1
        at = _at(job)
        start, end = at + timedelta(minutes=5), at + timedelta(hours=3)
        times = "|".join(f"{one:%Y-%m-%dT%H:%M:%S}" for one in (at, start, end))
        yield f"{job}|{job}|pretrain|ann|ads|gpu|normal|COMPLETED|0:0|{times}|gres/gpu=64,cpu=512"
        yield f"{job}.batch|{job}.batch|batch||ads|||COMPLETED|0:0|{times}|cpu=512"


def _slurm_json() -> Iterator[str]:
    yield from ("{", '  "meta": {"command": ["sacct", "--json"]},', '  "jobs": [')
    job = 1_000
    while True:
        job += 1
        at = int(_at(job).timestamp())
        text = json.dumps(_job(job, at), indent=2)
        yield from (f"    {line}" for line in text.splitlines()[:-1])
        yield "    },"


def _job(job: int, at: int) -> dict[str, object]:
    """A job and its batch step, with the fields that sacct writes."""
    code = {"status": "SUCCESS", "return_code": 0}
    cpu = {"seconds": 10_800, "microseconds": 0}
    when = {"elapsed": 10_500, "start": at + 300, "end": at + 10_800, "suspended": 0}
    state = {"current": "COMPLETED", "reason": "None"}
    tres = [
        {"type": "cpu", "name": None, "id": 1, "count": 512},
        {"type": "mem", "name": None, "id": 2, "count": 4_096_000},
        {"type": "node", "name": None, "id": 4, "count": 8},
        {"type": "gres", "name": "gpu", "id": 1001, "count": 64},
    ]
    step = {
        "time": {**when, "system": cpu, "total": cpu, "user": cpu},
        "exit_code": code,
        "nodes": {"count": 8, "range": "n[1-8]"},
        "tasks": {"count": 8},
        "pid": None,
        "CPU": {"requested_frequency": {"min": 0, "max": 0}, "governor": []},
        "kill_request_user": None,
        "state": "COMPLETED",
        "statistics": {"CPU": {"actual_frequency": 0}, "energy": {"consumed": 0}},
        "step": {"job_id": job, "het": {"component": None}, "id": "batch", "name": "batch"},
        "task": {"distribution": "Unknown"},
        "tres": {
            "requested": {"max": [], "min": [], "average": [], "total": []},
            "allocated": tres,
        },
    }
    return {
        "account": "ads",
        "comment": {"administrator": None, "job": None, "system": None},
        "allocation_nodes": 8,
        "array": {"job_id": 0, "limits": {"max": {"running": {"tasks": 0}}}, "task_id": None},
        "association": {"account": "ads", "cluster": "blue", "partition": None, "user": "ann"},
        "cluster": "blue",
        "constraints": "",
        "derived_exit_code": code,
        "time": {"eligible": at, "submission": at, "limit": 1_440, "system": cpu, **when},
        "exit_code": code,
        "flags": ["CLEAR_SCHEDULING", "STARTED_ON_BACKFILL"],
        "group": "ann",
        "het": {"job_id": 0, "job_offset": None},
        "job_id": job,
        "name": "pretrain",
        "mcs": {"label": ""},
        "nodes": "n[1-8]",
        "partition": "gpu",
        "priority": 4_294_901_758,
        "qos": "normal",
        "required": {"CPUs": 512, "memory": 4_096_000},
        "kill_request_user": None,
        "reservation": {"id": 0, "name": 0},
        "state": state,
        "steps": [step],
        "tres": {"allocated": tres, "requested": tres},
        "user": "ann",
        "wckey": {"wckey": "", "flags": []},
        "working_directory": "/home/ann/pretrain",
    }


def _one_logger() -> Iterator[str]:
    """A launch that logs the metrics of every iteration, with the spans around it."""
    span = "f5982655-c614-4bee-b73e-4c5460fce1a1"
    ids = iter(range(1, 1_000_000_000))

    def record(kind: str, **said: object) -> str:
        named = {"event": "span_id"}.get(kind, "id")
        body = {"type": kind, named: said.pop("id", span), **said, "count": next(ids), "pid": 7}
        return json.dumps(body, separators=(",", ":"))

    def event(name: str, at: int, **said: object) -> dict[str, object]:
        return {"name": name, "attributes": {**said, "timestamp_msec": at}}

    at = 1_772_323_200_000
    yield record("start", name="application", start_event=event("span_start", at))
    tag = {"session_tag": "bench", "rank": 0, "world_size": 64}
    yield record("event", event=event("one_logger_initialization", at, **tag))
    loop = event("span_start", at)
    yield record("start", id="loop", name="training_loop", attributes={}, start_event=loop)
    iteration = 0
    while True:
        iteration += 1
        at += 1_000
        ends = {"start_event": event("span_start", at), "stop_event": event("span_stop", at)}
        one = f"6ad72eee-cae9-4678-b8cc-{iteration:012}"
        attributes = {"duration_msec": 9}
        yield record("complete", id=one, name="data_loading", attributes=attributes, **ends)
        metrics = {
            "train_iterations_start": 0,
            "current_iteration": iteration,
            "num_iterations": 1,
            "interval": 1,
            "average_iteration_time": 998.1,
            "train_samples_start": 0,
            "num_train_samples": iteration * 512,
            "train_tokens": iteration * 2_097_152,
            "loss": 2.411,
        }
        yield record("event", event=event("training_metrics_update", at, **metrics))


def _goodput() -> Iterator[str]:
    """A job of steps with the data loading between them, and a save now and then."""
    job = '{"job_name": "bench", '
    yield job + '"job_start_time": 1772323200.0}'
    step, at = 0, 1_772_323_300.0
    while True:
        step, at = step + 1, at + 6.25
        yield f'{job}"step_count": {step}, "step_start_time": {at}}}'
        yield f'{job}"data_loading_start_time": {at}}}'
        yield f'{job}"data_loading_end_time": {at + 0.4}}}'
        if step % 500 == 0:
            yield (
                f'{job}"event_type": "save", "step": {step}, "synchronous": false, '
                f'"checkpoint_manager_blocking_start_time": {at + 1.5}, '
                '"checkpoint_manager_blocking_duration_secs": 2.5}'
            )


_LOGS: dict[str, Callable[[], Iterator[str]]] = {
    "training-log, 1 step in 40 lines": lambda: _chatter(40, _torchtitan),
    "training-log, torchtitan steps": lambda: _chatter(0, _torchtitan),
    "training-log, Megatron steps": lambda: _chatter(0, _megatron),
    "torchelastic, trainer beside it": _torchrun,
    "slurm-sacct": _sacct,
    "slurm-json": _slurm_json,
    "one-logger": _one_logger,
    "goodput": _goodput,
}

if __name__ == "__main__":
    sys.exit(main())
