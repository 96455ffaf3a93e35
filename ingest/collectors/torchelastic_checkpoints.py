"""Records of the distributed checkpoint's logger, and of its background process: what blocked the
trainer, what went on beside it, what was restored.

A save nests other calls of the logger; only whole saves and loads are told, each as one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ingest.collectors.lines import Clock, said, split_time
from ingest.collectors.torchelastic_records import objects_in
from ingest.collectors.units import EARLIEST, LATEST
from ingest.events import Event, EventKind, Phase, Reason, Rejected

_MOST_OPEN = 10_000
_WHOLE = re.compile(rb"[\"']func_name[\"']: ?[\"'](?:save|load|async_save)[\"']")
_AS_PYTHON = re.compile(r"\{'.*\}")
_LONGEST = 100_000
_STEP = re.compile(
    r"(?i)(?:global[_-]?step|step|iter(?:ation)?|ckpt|checkpoint|(?<![a-z])it)s?[._=-]?0*(\d{1,18})(?!\d)"
)
# a mount or a bucket of checkpoints, unless it is where the parts of one lie
_NUMBERED = re.compile(r"(?i)(?:ckpt|checkpoint)s?\d+")
_HOLDS_CHECKPOINTS = re.compile(r"(?i)ckpt|checkpoint|step|iter")
_BACKGROUND = re.compile(
    r"(?P<received>Received async checkpoint request with id=)(?P<id>\S+)"
    r"|(?P<done>Completed checkpoint save request for checkpoint_id=)"
    r"(?:\w{1,80}\(checkpoint_id='(?P<of>[^']{1,4096})'|(?P<bare>\S+))"
    r"|Checkpoint save failed for checkpoint_id=(?P<failed>\S+):"
)
_RANK = re.compile(rb"^\[(\d{1,7})\] ?")
_EARLIEST_NS, _LATEST_NS = EARLIEST * 10**9, LATEST * 10**9


@dataclass(frozen=True, slots=True)
class _Call:
    phase: Phase
    step: int | None
    rank: int | None
    is_async: bool


@dataclass(slots=True)
class Checkpoints:
    """The saves and loads that have begun and not ended."""

    _open: dict[str, _Call] = field(default_factory=dict)
    # the checkpoints that are saved in the background, each with the rank that does
    _async: set[tuple[str, int | None]] = field(default_factory=set)

    def hear(self, number: int, line: bytes, clock: Clock) -> Iterator[Event | Rejected]:
        """Take in a line that may hold records of saves or loads."""
        if _WHOLE.search(line) is None:
            return
        text = line.decode("utf-8", "replace")
        told = [found for found in _records(text)]
        if not told:
            yield Rejected(number, Reason.NOT_JSON, "a cut record of a checkpoint", text)
        for record, wrapper in told:
            at_us = _at_us(record, wrapper, text, clock)
            if at_us is None:
                yield Rejected(number, Reason.BAD_TIMESTAMP, "a checkpoint at no time", text)
            else:
                yield from self._tell(record, wrapper, text, at_us)

    def _tell(
        self, record: dict[str, Any], wrapper: dict[str, Any], text: str, at_us: int
    ) -> Iterator[Event]:
        name = _name(record)
        key = name or _whose(record, wrapper)
        if record.get("event") == "start":
            call = self._call(record, wrapper, text)
            if len(self._open) < _MOST_OPEN:
                self._open[key] = call
            yield _phase(call, at_us, EventKind.PHASE_START, name and f"{name}/start")
        elif (call_ended := self._open.pop(key, None)) is not None:
            end = _phase(call_ended, at_us, EventKind.PHASE_END, name and f"{name}/end")
            if record.get("event") != "end":
                end["ok"] = False
            elif call_ended.phase == Phase.CHECKPOINT_LOAD and call_ended.step is not None:
                end["resumed_from_step"] = call_ended.step
            yield end

    def _call(self, record: dict[str, Any], wrapper: dict[str, Any], text: str) -> _Call:
        name, checkpoint = record.get("func_name"), str(record.get("checkpoint_id"))
        rank = _rank(record.get("global_rank"))
        step = step_of(checkpoint)
        if name == "load":
            return _Call(Phase.CHECKPOINT_LOAD, step, rank, is_async=False)
        if name == "async_save":
            if len(self._async) < _MOST_OPEN:
                self._async.add((checkpoint, rank))
            return _Call(Phase.CHECKPOINT_SAVE, step, rank, is_async=True)
        is_known = (checkpoint, rank) in self._async
        self._async.discard((checkpoint, rank))
        if is_known or "AsyncCheckpoint" in f"{wrapper.get('thread')} {text[:1000]}":
            return _Call(Phase.CHECKPOINT_UPLOAD, step, rank, is_async=True)
        return _Call(Phase.CHECKPOINT_SAVE, step, rank, is_async=False)


def background(line: bytes, clock: Clock) -> Event | None:
    """What the process that saves in the background says of a checkpoint, as an upload."""
    told = said(line, clock)
    own = _RANK.match(told.text)
    if own is not None and told.at_us is None:
        told = said(told.text[own.end() :], clock)
    found = _BACKGROUND.search(told.text.decode("utf-8", "replace"))
    if found is None or told.at_us is None:
        return None
    checkpoint = found["id"] or found["of"] or found["bare"] or found["failed"]
    rank = int(own[1]) if own else told.label.rank
    call = _Call(Phase.CHECKPOINT_UPLOAD, step_of(checkpoint), rank, is_async=True)
    kind = EventKind.PHASE_START if found["received"] else EventKind.PHASE_END
    event = _phase(call, told.at_us, kind, None)
    if found["failed"]:
        event["ok"] = False
    return event


def step_of(checkpoint: str) -> int | None:
    """The step in a checkpoint's path, by a word before it, or where a folder is only a number: the
    last one, or one in a folder of checkpoints. Any other may be the number of a job.
    """
    parts = [part for part in checkpoint.replace("\\", "/").split("/") if part]
    for place, part in reversed(list(enumerate(parts))):
        found = list(_STEP.finditer(part))
        if found and (place >= len(parts) - 2 or not _NUMBERED.fullmatch(part)):
            return int(found[-1][1])
        is_number = part.isascii() and part.isdigit() and len(part) <= 18
        above = parts[place - 1] if place else ""
        if is_number and (place == len(parts) - 1 or _HOLDS_CHECKPOINTS.search(above)):
            return int(part)
    return None


def _records(text: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each record of a line with the object that a handler wrapped it in."""
    for _, found in objects_in(text):
        for body in (found, *found.values()):
            if isinstance(body, dict) and body.get("func_name") in ("save", "load", "async_save"):
                yield body, found
    python = _AS_PYTHON.search(text) if len(text) < _LONGEST else None
    if python is not None and "'func_name'" in python[0]:
        try:
            body = ast.literal_eval(python[0])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return
        if isinstance(body, dict):
            yield body, {}


def _at_us(record: dict[str, Any], wrapper: dict[str, Any], text: str, clock: Clock) -> int | None:
    told = record.get("time")
    if isinstance(told, int) and not isinstance(told, bool) and _EARLIEST_NS <= told < _LATEST_NS:
        return told // 1000
    written = split_time(text.encode().lstrip(), clock)
    return written.at_us if written else None


def _name(record: dict[str, Any]) -> str | None:
    uuid = record.get("uuid")
    return None if uuid is None else str(uuid)[:256]


def _whose(record: dict[str, Any], wrapper: dict[str, Any]) -> str:
    """The call that a record is of, where it carries no uuid, as in older releases."""
    told = *map(record.get, ("func_name", "checkpoint_id", "global_rank")), wrapper.get("thread")
    return repr(told)[:8192]


def _rank(told: object) -> int | None:
    text = str(told)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None


def _phase(call: _Call, at_us: int, kind: EventKind, name: str | None) -> Event:
    event: Event = {"at_us": at_us, "event": kind, "phase": call.phase}
    if name is not None:
        event["event_id"] = f"checkpoint {name}"
    if call.step is not None:
        event["step"] = call.step
    if call.rank is not None:
        event["rank"] = call.rank
    if call.phase != Phase.CHECKPOINT_LOAD:
        event["mode"] = "async" if call.is_async else "sync"
    return event
