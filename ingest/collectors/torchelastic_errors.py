"""The error that a worker, or the agent, left in its error file or in an event record."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ingest.collectors.json_values import part, sound
from ingest.collectors.torchelastic_failures import LONGEST_MESSAGE
from ingest.collectors.units import EARLIEST, LATEST, SECOND_US

# what torchrun breaks off with where an agent was left out of the rendezvous up to its end: it died
# of nothing
_LEFT_OUT = "AttributeError: 'NoneType' object has no attribute 'is_failed'"
_NOTHING = frozenset({"", "<NONE>", "None"})
_SIGNAL = re.compile(r"SignalException: Process \d{1,18} got signal: (?:Signals\.)?(\d{1,3})")


@dataclass(frozen=True, slots=True)
class Error:
    """What was raised, its own line first, and when, in whole seconds."""

    message: str
    at_us: int | None
    code: int | None


def error_in(told: object) -> Error | None:
    """The error in an error file, as an object or as its text; in a bare traceback too."""
    if isinstance(told, str):
        try:
            told = sound(json.loads(told))
        except (ValueError, RecursionError):
            return _of_traceback(str(told))
    if not isinstance(told, dict):
        return None
    message = told.get("message")
    if isinstance(message, dict):
        more = part(message, "extraInfo")
        return _error(
            message.get("message"), more.get("py_callstack"), more.get("timestamp"),
            message.get("errorCode"),
        )  # fmt: skip
    return _error(message, None, told.get("timestamp"), told.get("errorCode"))


def signal_in(message: str | None) -> int | None:
    """The signal that the agent was sent, if that is what it died of."""
    found = _SIGNAL.search(message or "")
    return int(found[1]) if found else None


def was_left_out(message: str | None) -> bool:
    """Whether an agent broke off as the others had no place for it."""
    return message is not None and message.startswith(_LEFT_OUT)


def _error(message: object, callstack: object, timestamp: object, code: object) -> Error | None:
    if not isinstance(message, str) or message.strip() in _NOTHING:
        return None
    text = f"{message}\n{callstack}" if isinstance(callstack, str) else message
    if isinstance(code, bool) or not isinstance(code, int) or not 0 < abs(code) < 10**9:
        code = None
    return Error(text[:LONGEST_MESSAGE], _micros(timestamp), code)


def _of_traceback(text: str) -> Error | None:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or text.strip() in _NOTHING:
        return None
    last = next((line for line in reversed(lines) if not line[0].isspace()), lines[-1])
    return Error(f"{last}\n{text}"[:LONGEST_MESSAGE], None, None)


def _micros(timestamp: object) -> int | None:
    """Whole seconds since 1970, as a text mostly."""
    text = str(timestamp)
    seconds = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0
    return seconds * SECOND_US if EARLIEST <= seconds < LATEST else None
