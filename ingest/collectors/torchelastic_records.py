"""Torchrun's event records: JSON that a handler wrote, whatever it wrapped them in. A record's own
timestamp is mostly 0: then the log record's time counts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ingest.collectors import torchelastic_launches as launches
from ingest.collectors.json_values import part, sound, whole
from ingest.collectors.lines import Clock, split_time
from ingest.collectors.torchelastic_errors import error_in, signal_in, was_left_out
from ingest.collectors.torchelastic_failures import Failure
from ingest.collectors.torchelastic_launches import Launch, Stop
from ingest.collectors.torchelastic_runs import usable
from ingest.collectors.units import EARLIEST, LATEST, MILLISECOND_US, SECOND_US
from ingest.events import Event

_NAME = "torchelastic.worker.status."
_DEEPEST = 4
_MOST = 10**9  # restarts, ranks, exit codes
_MOST_STARTS = 64  # a torn line may hold many braces
_TIMES = (
    "logged_at", "asctime", "@timestamp", "timestamp", "time", "ts", "created", "datetime", "date",
)  # fmt: skip

_decoded = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Record:
    """One event record; `at_us` is None where neither it nor its log record tells a time.

    What a record measured `began_us`, and was told when it was over.
    """

    line: int
    at_us: int | None
    state: str
    is_agents: bool
    run_id: str | None
    host: str | None
    restarts: int | None
    rank: int | None
    group_rank: int | None
    is_alone: bool
    began_us: int | None
    ran_us: int | None
    code: int | None
    error: Any


def objects_in(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a line with the place where each begins, torn pieces passed over."""
    at = text.find("{")
    for _ in range(_MOST_STARTS):
        if at < 0:
            return
        try:
            found, end = _decoded(text, at)
            # half a character can only be written as an escape
            found = sound(found) if "\\u" in text else found
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(found, dict):
            yield at, found
        at = text.find("{", end)


def records_in(number: int, line: bytes, clock: Clock) -> list[Record]:
    """The event records of a line."""
    text = line.decode("utf-8", "replace")
    told = []
    for at, found in objects_in(text):
        written_us = _written_us(found, clock)
        if written_us is None and at:
            before = split_time(text[:at].encode().lstrip(b"[ "), clock)
            written_us = before.at_us if before else None
        for body in _bodies(found, 0):
            told.append(_record(number, body, written_us))
    return told


def begins(record: Record, launch: Launch | None) -> bool:
    """Whether a record is of a launch that the one before it is not: an agent that has met nobody
    yet has no place among the agents.
    """
    if launch is None:
        return True
    is_first = record.state == "RENDEZVOUS" and record.group_rank is None and not record.restarts
    return is_first and launch.is_under_way


def tell(record: Record, launch: Launch) -> Iterator[Event]:
    """What a record says of its launch. Beside the agent's log only what that does not tell."""
    at_us = record.at_us if record.at_us is not None else launch.seen_us
    launch.run_id = launch.run_id or record.run_id
    launch.is_alone = launch.is_alone or record.is_alone
    if not launch.is_logged and at_us is not None:
        launch.saw(at_us)
        yield from _progress(record, launch, at_us)
    if record.state == "FAILED":
        yield from _fail(record, launch, at_us)
    elif record.state == "TERMINATED" and launch.failed_us is None:
        launch.failed_us = at_us


def _progress(record: Record, launch: Launch, at_us: int) -> Iterator[Event]:
    match record.state:
        case "RENDEZVOUS":
            yield from _meet(record, launch, record.began_us or at_us)
        case "START" if launch.workers_us is None or launch.rendezvous_us is not None:
            launch.generation = record.restarts
            launch.rank = record.rank
            yield from launches.workers(launch, at_us)
        case "SUCCEEDED" if not record.is_agents:
            _know_begin(record, launch, at_us)
            launch.generation = record.restarts
            launch.finished_us = max(at_us, launch.finished_us or 0)
            launch.end_line = record.line
        case "SUCCEEDED":  # the agent ran to its end, whatever became of the workers
            launch.done_us = at_us
        case _:
            pass


def _meet(record: Record, launch: Launch, began_us: int) -> Iterator[Event]:
    if launch.workers_us is None and launch.rendezvous_us is None and record.group_rank is None:
        launch.began_us = began_us
    restarts = record.restarts
    if restarts is not None and launch.generation is not None and restarts > launch.generation:
        # no record says that the workers failed: that they are started anew does
        # (where only its time places this end, it has to lie before what begins then)
        launch.failed_us = launch.failed_us or began_us - launch.has_rejoined
        launch.end_line = record.line
    yield from launches.rendezvous(launch, began_us)
    launch.generation = restarts


def _fail(record: Record, launch: Launch, at_us: int | None) -> Iterator[Event]:
    if at_us is not None and not launch.is_logged:
        _know_begin(record, launch, at_us)
        launch.generation = record.restarts
    error = error_in(record.error)
    message = error.message if error else None
    if not record.is_agents:
        failure = Failure(
            line=record.line,
            at_us=error.at_us if error else None,
            rank=record.rank,
            code=record.code,
            message=message,
            host=record.host,
        )
        yield from launches.fail(launch, failure, at_us)
        return
    if launch.is_logged or at_us is None:
        return
    if was_left_out(message):
        launch.is_left_out = True
        return
    signal = signal_in(message)
    if signal is not None:
        said = None if message is None else message.partition("\n")[0]
        launches.halt(launch, Stop(at_us, record.line, signal, message=said))
    else:
        own = launches.agents_own(record.line, message or "the agent failed", at_us)
        yield from launches.fail(launch, own, at_us)


def _know_begin(record: Record, launch: Launch, at_us: int) -> None:
    """Older releases record only the end, and how many whole seconds the agent ran."""
    if launch.workers_us is None and launch.began_us is None and record.ran_us:
        launch.began_us = at_us - record.ran_us


def _to_millisecond(at_us: int | None) -> int | None:
    """As the agent's log cuts its times off, so that both tell the same of the same."""
    return None if at_us is None else at_us - at_us % MILLISECOND_US


def _bodies(found: dict[str, Any], depth: int) -> Iterator[dict[str, Any]]:
    """The records in an object: itself, or what a log record holds, as an object or as text."""
    name = found.get("name")
    if isinstance(name, str) and name.startswith(_NAME):
        yield found
        return
    if depth == _DEEPEST:
        return
    for value in found.values():
        if isinstance(value, str) and _NAME in value and len(value) < 1_000_000:
            for _, inner in objects_in(value):
                yield from _bodies(inner, depth + 1)
        elif isinstance(value, dict):
            yield from _bodies(value, depth + 1)


def _record(number: int, body: dict[str, Any], written_us: int | None) -> Record:
    told = part(body, "metadata")
    more = _object(told.get("metadata"))
    at_us = _micros(body.get("timestamp")) or written_us
    lasted, ran = _number(told.get("duration_ms")), _number(told.get("total_run_time"))
    lasted_us = round(lasted * 1000) if lasted is not None and 0 <= lasted < 1e10 else 0
    run_id, host = told.get("run_id"), told.get("hostname")
    return Record(
        line=number,
        at_us=_to_millisecond(at_us),
        state=str(body["name"]).removeprefix(_NAME),
        is_agents=body.get("source") == "AGENT",
        run_id=usable(str(run_id)) if run_id is not None else None,
        host=str(host)[:256] if host is not None else None,
        restarts=whole(told.get("agent_restarts"), _MOST),
        rank=whole(told.get("global_rank"), _MOST),
        group_rank=whole(told.get("group_rank"), _MOST),
        is_alone=whole(_only(more.get("group_world_size")), _MOST) == 1,
        began_us=_to_millisecond(None if at_us is None else at_us - lasted_us),
        ran_us=round(ran * SECOND_US) if ran is not None and 0 <= ran < 1e8 else None,
        code=_integer(_only(more.get("exit_code"))),
        error=told.get("raw_error"),
    )


def _object(text: object) -> dict[str, Any]:
    """Metadata are JSON in a text."""
    if isinstance(text, dict):
        return text
    if not isinstance(text, str):
        return {}
    try:
        found = sound(json.loads(text))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _only(value: object) -> object:
    """Numbers come in lists of one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _written_us(found: dict[str, Any], clock: Clock) -> int | None:
    for key in _TIMES:
        value = found.get(key)
        at_us = _micros(value)
        if at_us is None and isinstance(value, str) and len(value) < 64:
            time = split_time(value.encode() + b" ", clock)
            at_us = time.at_us if time else None
        if at_us is not None:
            return at_us
    return None


def _micros(value: object) -> int | None:
    """Unix time in seconds, milliseconds or nanoseconds, by its size; 0 is no time."""
    number = _number(value)
    if number is None:
        return None
    for per_second in (1, 1_000, 1_000_000, 1_000_000_000):
        if EARLIEST <= number / per_second < LATEST:
            exact = value if isinstance(value, int) else number
            return round(exact * SECOND_US / per_second)
    return None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _integer(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MOST:
        return None
    return value
