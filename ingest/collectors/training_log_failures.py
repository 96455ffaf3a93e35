"""Failures and ends of one launch as events: the same failure of a thousand ranks a few times, of
several ends the one that says most. Judges no cause.
"""

from __future__ import annotations

import json
import re
from collections import Counter

from ingest.collectors.lines import Label
from ingest.collectors.training_log_signs import Sign
from ingest.events import Event, EventKind, Outcome

_MOST = 200
_MOST_OF_A_KIND = 20
_LONGEST_NUMBER = 18  # digits
_DIGITS = re.compile(r"\d+")
_PRECEDENCE = (Outcome.PREEMPTED, Outcome.TIMEOUT, Outcome.FAILED, Outcome.COMPLETED)


class Failures:
    """Counts the failures of a launch by kind: their first line without its digits."""

    def __init__(self) -> None:
        self._kinds: Counter[str] = Counter()

    def told(self, at_us: int | None, line_number: int, message: str, label: Label) -> Event | None:
        """A failure, unless it has no time or was told often enough."""
        kind = _DIGITS.sub("", message.partition("\n")[0][:200])
        self._kinds[kind] += 1
        is_known = self._kinds[kind] > _MOST_OF_A_KIND or self._kinds.total() > _MOST
        if at_us is None or is_known:
            return None
        failure: Event = {
            "at_us": at_us,
            "event": EventKind.FAILURE,
            "message": message,
            "attrs": json.dumps({"line": line_number}),
        }
        rank = label.local_rank if label.rank is None else label.rank
        if rank is not None:
            failure["rank"] = rank
        if label.host is not None:
            failure["host"] = label.host
        return failure


def says_more(end: Sign, known: Sign | None) -> bool:
    """Whether an end says more than the one that is known."""
    return known is None or _precedence(end) < _precedence(known)


def last_word(end: Sign | None, at_us: int) -> Event:
    """The end, where the log tells how it ended, else the last sign of life."""
    if end is None or end.outcome is None:
        return {"at_us": at_us, "event": EventKind.ALIVE}
    event: Event = {
        "at_us": at_us,
        "event": EventKind.ATTEMPT_END,
        "outcome": end.outcome,
        "attrs": json.dumps({"line": end.line_number}),
    }
    if end.outcome is not Outcome.COMPLETED:
        event["message"] = end.text
    return {**event, **_exit(end.told.get("exit_code", ""))}


def _precedence(end: Sign) -> int:
    outcome = end.outcome
    return _PRECEDENCE.index(outcome) if outcome in _PRECEDENCE else len(_PRECEDENCE)


def _exit(told: str) -> Event:
    try:
        code = int(told[:_LONGEST_NUMBER])
    except ValueError:
        return {}
    return {"signal": -code} if code < 0 else {"exit_code": code}
