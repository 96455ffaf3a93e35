"""Dumps of torchrun for tests: read from files, or written line by line as its releases do."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ingest import dumps
from ingest.collectors.base import Dump, Line, Reading
from ingest.collectors.torchelastic import TORCHELASTIC
from ingest.events import Event, Rejected

BEGUN = 1_795_153_297  # 2026-11-20T05:41:37Z


def told_of(
    path: Path, timezone: str = "UTC", cluster: str | None = None
) -> list[Event | Rejected]:
    """All that the collector says of a file."""
    ((file,), _) = dumps.find([str(path)], path.parent, path.parent / "warehouse")

    def lines() -> Iterator[Line]:
        return dumps.lines(file, lambda _: None)

    dump = Dump(str(path), path, lines)
    return list(TORCHELASTIC.read(dump, Reading(cluster, ZoneInfo(timezone))))


def events_of(path: Path, timezone: str = "UTC", cluster: str | None = None) -> list[Event]:
    """The events of a file of which no line is set aside."""
    told = told_of(path, timezone, cluster)
    assert not [item for item in told if isinstance(item, Rejected)]
    return [item for item in told if not isinstance(item, Rejected)]


def written(folder: Path, *lines: str, name: str = "torchrun.log") -> Path:
    """A file of lines, last changed a little after what is told in it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    os.utime(path, (BEGUN + 90_000, BEGUN + 90_000))
    return path


def glog(
    seconds: float, module: str, text: str, *, pid: int = 8489, level: str = "I", line: int = 7
) -> str:
    """A line of the agent's log as releases since 2.3 write it, in UTC."""
    at = datetime.fromtimestamp(BEGUN + seconds, UTC)
    clock = f"{at:%m%d %H:%M:%S}.{at.microsecond // 1000:03d}000"
    return f"{level}{clock} {pid} torch/distributed/{module}.py:{line}] {text}"


def begins(seconds: float, *, pid: int = 8489, run_id: str = "run-a") -> list[str]:
    """An agent sets out."""
    said = [
        "Starting elastic_operator with launch configs:",
        "  entrypoint               : train.py",
        f"  run_id                   : {run_id}",
        "  max_restarts             : 3",
        "",
    ]
    return [glog(seconds, "launcher/api", text, pid=pid) for text in said]


def starts(
    seconds: float,
    *,
    restart: int = 0,
    pid: int = 8489,
    ranks: str = "[0, 1]",
    agents: int = 1,
    waits: float = 1.0,
) -> list[str]:
    """The agents meet, and each starts its workers."""
    server = "elastic/agent/server/api"
    result = [
        "[default] Rendezvous complete for workers. Result:",
        f"  restart_count={restart}",
        "  master_addr=localhost",
        f"  group_world_size={agents}",
        f"  global_ranks={ranks}",
        "",
    ]
    return [
        glog(seconds - waits, server, "[default] Rendezvous'ing worker group", pid=pid),
        *(glog(seconds, server, text, pid=pid) for text in result),
        glog(seconds, server, "[default] Starting worker group", pid=pid),
    ]


def fails(
    seconds: float,
    code: int,
    *,
    local_rank: int = 0,
    left: int | None = None,
    of: int = 3,
    pid: int = 8489,
    stops: float = 0.0,
) -> list[str]:
    """The agent sees a worker die, and says so when it has stopped the others; it starts them
    anew if it says how often it may.
    """
    processes, server = "elastic/multiprocessing/api", "elastic/agent/server/api"
    died = (
        f"failed (exitcode: {code}) local_rank: {local_rank} (pid: {9000 + local_rank}) of binary: "
        "/usr/bin/python"
    )
    told = [
        glog(seconds - stops, processes, "Sending process 9100 closing signal SIGTERM", level="W"),
        glog(seconds, processes, died, level="E", pid=pid),
    ]
    if left is not None:
        again = (
            f"[default] Worker group FAILED. {left}/{of} attempts left; will restart worker group"
        )
        told.append(glog(seconds + 0.001, server, again, pid=pid))
    return told


def finishes(seconds: float, waits: float = 2.0, pid: int = 8489) -> list[str]:
    """All workers are done, and the agent waits for the other agents."""
    server = "elastic/agent/server/api"
    return [
        glog(
            seconds,
            server,
            "[default] worker group successfully finished. Waiting 300 seconds for other agents "
            "to finish.",
            pid=pid,
        ),
        glog(seconds, server, "Local worker group finished (WorkerState.SUCCEEDED).", pid=pid),
        glog(seconds + waits, server, "Done waiting for other agents. Elapsed: 2 s", pid=pid),
    ]


def raised(exception: str, label: str = "[default0]:[rank0]: ") -> list[str]:
    """A traceback as a worker's stderr shows it."""
    lines = [
        "Traceback (most recent call last):",
        '  File "train.py", line 3, in main',
        "    step()",
        exception,
    ]
    return [label + line for line in lines]


def table(*entries: tuple[int, int, str, str], run: str = "run-a_abcd1234/attempt_0") -> list[str]:
    """The agent's last words: (rank, exit code, time, what is said of it), the root last."""
    told = [
        "Traceback (most recent call last):",
        '  File "/venv/bin/torchrun", line 8, in <module>',
        '  File "/venv/lib/site-packages/torch/distributed/run.py", line 794, in main',
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "=" * 60,
        "train.py FAILED",
        "-" * 60,
        "Failures:",
    ]
    if len(entries) == 1:
        told.append("  <NO_OTHER_FAILURES>")
    for number, (rank, code, time, said) in enumerate(entries):
        if number == len(entries) - 1:
            told += ["-" * 60, "Root Cause (first observed failure):"]
        told += [
            f"[{number}]:",
            f"  time      : {time}",
            "  host      : node-7",
            f"  rank      : {rank} (local_rank: {rank % 8})",
            f"  exitcode  : {code} (pid: {9000 + rank % 8})",
            f"  error_file: /tmp/torchelastic_x/{run}/{rank % 8}/error.json",
            f"  traceback : {said}",
        ]
    return [*told, "=" * 60]


def record(
    state: str,
    seconds: float | None,
    *,
    source: str = "AGENT",
    restarts: int = 0,
    rank: int | None = None,
    group_rank: int | None = 0,
    lasted_ms: float | None = None,
    ran: int = 0,
    error: str | None = None,
    run_id: str = "run-a",
    host: str = "node-1",
) -> dict[str, Any]:
    """An event record, in the log record that told its time."""
    more: dict[str, Any] = {"group_world_size": 1, "entry_point": "python"}
    if source == "WORKER":
        more |= {"local_rank": [rank], "exit_code": [None]}
    event = {
        "name": f"torchelastic.worker.status.{state}",
        "source": source,
        "timestamp": 0,
        "metadata": {
            "run_id": run_id,
            "global_rank": rank,
            "group_rank": group_rank,
            "hostname": host,
            "state": state,
            "total_run_time": ran,
            "raw_error": error,
            "metadata": json.dumps(more),
            "agent_restarts": restarts,
            "duration_ms": lasted_ms,
        },
    }
    return event if seconds is None else {"logged_at": BEGUN + seconds, "event": event}


def recorded(*records: dict[str, Any]) -> list[str]:
    """Records as lines."""
    return [json.dumps(each) for each in records]


def launched(seconds: float, *, restarts: int = 0, **more: Any) -> list[dict[str, Any]]:
    """The records of a rendezvous of one second and of the two workers that start after it."""
    first = None if restarts == 0 else 0
    return [
        record(
            "RENDEZVOUS", seconds, restarts=restarts, group_rank=first, lasted_ms=1000.0, **more
        ),
        *(
            record("START", seconds + 0.02, source="WORKER", restarts=restarts, rank=rank, **more)
            for rank in (0, 1)
        ),
    ]


def error_file(exception: str, seconds: float, **more: Any) -> str:
    """What a worker leaves behind when it dies of an exception."""
    extra = {
        "py_callstack": f"Traceback (most recent call last):\n  ...\n{exception}\n",
        "timestamp": str(int(BEGUN + seconds)),
    }
    return json.dumps({"message": {"message": exception, "extraInfo": extra, **more}})


def checkpoint(function: str, event: str, seconds: float, uuid: str, **more: Any) -> dict[str, Any]:
    """A record of the distributed checkpoint's logger."""
    told = {
        "checkpoint_id": "/runs/a/checkpoints/step_000040",
        "uuid": uuid,
        "func_name": function,
        "global_rank": "0",
        "event": event,
        "time": round((BEGUN + seconds) * 1e9),
    }
    return {"asctime": BEGUN + seconds, "thread": "MainThread", "msg": told | more}


def since_begun(at_us: int) -> float:
    """Seconds after the time from which tests count."""
    return round(at_us / 1e6 - BEGUN, 3)


def lives(told: Iterable[Event]) -> list[tuple[float, str, int | None, str | None]]:
    """When attempts begin and end: (second, kind, generation, outcome)."""
    return [
        (
            since_begun(event["at_us"]),
            event["event"],
            event.get("run_generation"),
            event.get("outcome"),
        )
        for event in told
        if event["event"] in ("attempt_start", "attempt_end", "alive")
    ]
