"""Broken lines: how a good line becomes unreadable, and the reason it must then be given."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from ingest.events import Reason

Spoiled = tuple[bytes, Reason]


def spoiled(line: bytes, rng: random.Random) -> Spoiled:
    """A good line (no line end) made unreadable, and why it is."""
    told: dict[str, Any] = json.loads(line)
    ways: list[Callable[[bytes, dict[str, Any], random.Random], Spoiled]] = [
        _truncated,
        _truncated,
        _not_utf8,
        _without_a_field,
        _bad_timestamp,
        _unknown_event,
        _bad_value,
        _far_future,
    ]
    if isinstance(told["ts"], str):
        ways.append(_without_zone)
    if "phase" in told:
        ways.append(_unknown_phase)
    return rng.choice(ways)(line, told, rng)


def _truncated(line: bytes, told: dict[str, Any], rng: random.Random) -> Spoiled:
    return line[: rng.randrange(12, len(line) - 1)], Reason.NOT_JSON


def _not_utf8(line: bytes, told: dict[str, Any], rng: random.Random) -> Spoiled:
    name = b'"event":"'
    return line.replace(name, name + b"\xff\xfe", 1), Reason.NOT_UTF8


def _without_a_field(line: bytes, told: dict[str, Any], rng: random.Random) -> Spoiled:
    missing = rng.choice(["ts", "event", "job_id"])
    return _line(
        {key: value for key, value in told.items() if key != missing}, Reason.MISSING_FIELD
    )


def _bad_timestamp(line: bytes, told: dict[str, Any], rng: random.Random) -> Spoiled:
    wrong = rng.choice(["2026-13-41T99:00:00Z", "yesterday evening", "12:30:00 UTC", "NaT"])
    return _line(told | {"ts": wrong}, Reason.BAD_TIMESTAMP)


def _without_zone(line: bytes, told: dict[str, Any], rng: random.Random) -> Spoiled:
    return _line(told | {"ts": told["ts"][:26]}, Reason.NO_TIME_ZONE)


def _unknown_event(line: bytes, told: dict[str, Any], rng: random.Random) -> Spoiled:
    return _line(told | {"event": told["event"] + "ed"}, Reason.UNKNOWN_EVENT)


def _unknown_phase(line: bytes, told: dict[str, Any], rng: random.Random) -> Spoiled:
    return _line(told | {"phase": told["phase"][:-1]}, Reason.UNKNOWN_PHASE)


def _bad_value(line: bytes, told: dict[str, Any], rng: random.Random) -> Spoiled:
    wrong: dict[str, Any] = {"gpus": "many"}
    if "attempt" in told:
        wrong = {"attempt": rng.choice(["second", 0, -3])}
    return _line(told | wrong, Reason.BAD_VALUE)


def _far_future(line: bytes, told: dict[str, Any], rng: random.Random) -> Spoiled:
    day = f"{rng.randrange(2090, 2200)}-01-{rng.randrange(10, 29)}"
    return _line(told | {"ts": f"{day}T00:00:00Z"}, Reason.FUTURE_TIME)


def _line(told: dict[str, Any], reason: Reason) -> Spoiled:
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode(), reason
