"""The entries of ml-goodput-measurement's log, and of Orbax's checkpoint logger beside it, one a
line: as the recorder wrote them, or as Cloud Logging exports them (`jsonPayload`).

Knows no run and makes no events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ingest.collectors.json_values import (
    LONGEST_ID,
    Fields,
    instant_us,
    length_us,
    objects_in,
    part,
    text,
    whole,
)
from ingest.collectors.units import SECOND_US
from ingest.events import Reason, Rejected

_OPENING = re.compile(r'\{\s*"job_name"\s*:')


class What(StrEnum):
    """What an entry marks the start or the end of."""

    JOB = "job"
    STEP = "step"
    DEVICE_INIT = "device_init"
    REINIT = "reinit"
    PREPARATION = "preparation"
    DATA_LOADING = "data_loading"
    CUSTOM = "custom"


_TIMES: dict[str, tuple[What, bool]] = {
    "step_start_time": (What.STEP, True),
    "data_loading_start_time": (What.DATA_LOADING, True),
    "data_loading_end_time": (What.DATA_LOADING, False),
    "job_start_time": (What.JOB, True),
    "job_end_time": (What.JOB, False),
    "tpu_init_start_time": (What.DEVICE_INIT, True),
    "tpu_init_end_time": (What.DEVICE_INIT, False),
    "elastic_reinit_start_time": (What.REINIT, True),
    "elastic_reinit_end_time": (What.REINIT, False),
    "training_prep_start_time": (What.PREPARATION, True),
    "training_prep_end_time": (What.PREPARATION, False),
    "custom_badput_event_start_time": (What.CUSTOM, True),
    "custom_badput_event_end_time": (What.CUSTOM, False),
}
# they tell of hardware that is away, not of what the job does
_SILENT = frozenset({"elastic_wait_start_time", "elastic_wait_end_time"})
# operation -> the keys of its start and of its length: of the manager, else of what it calls
_OPERATIONS = {
    "save": ("checkpoint_manager_blocking", "checkpointer_blocking"),
    "restore": ("checkpoint_manager", "checkpointer"),
    "emergency_restore": ("checkpoint_manager", "checkpointer"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One mark of the recorder; `kind` names a custom event, `step` a step."""

    line_number: int
    job_id: str
    what: What
    is_start: bool
    at_us: int
    step: int = 0
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """A save or a restore of Orbax, as long as it blocked. `warned_us`: when the save learnt that
    the job will be preempted.
    """

    job_id: str
    is_save: bool
    at_us: int
    until_us: int
    step: int | None
    is_sync: bool
    warned_us: int | None


def entries_in(number: int, line: bytes) -> Iterator[Entry | Operation | Rejected]:
    """The entries of one line; a line of another kind has none."""
    if b'"job_name"' not in line:
        return
    for fields in objects_in(number, line, _OPENING):
        if isinstance(fields, Rejected):
            yield fields
            continue
        entry = _entry(number, part(fields, "jsonPayload") or fields)
        if isinstance(entry, tuple):
            yield Rejected(number, *entry, line.decode(errors="replace"))
        elif entry is not None:
            yield entry


def _entry(number: int, fields: Fields) -> Entry | Operation | tuple[Reason, str] | None:
    key = next((key for key in fields if key in _TIMES), None)
    operation = fields.get("event_type")
    if key is None and operation not in tuple(_OPERATIONS):
        is_unknown = any(key.endswith(("_start_time", "_end_time")) for key in fields)
        is_unknown = is_unknown and not _SILENT.intersection(fields)
        return (Reason.UNKNOWN_EVENT, "none of its times is known") if is_unknown else None
    job_id = text(fields.get("job_name"), LONGEST_ID)
    if job_id is None:
        return Reason.MISSING_FIELD, "job_name is no text"
    if key is None:
        return _operation(job_id, str(operation), fields)
    what, is_start = _TIMES[key]
    at_us = instant_us(fields[key], SECOND_US)
    if at_us is None:
        return Reason.BAD_TIMESTAMP, f"{key} is {fields[key]!r}"[:200]
    step = whole(fields.get("step_count")) if what == What.STEP else 0
    if step is None:
        return Reason.BAD_VALUE, f"step_count is {fields.get('step_count')!r}"[:200]
    kind = text(fields.get("custom_badput_event_type")) or "unknown"
    return Entry(
        number, job_id, what, is_start, at_us, step, kind.lower() if what == What.CUSTOM else ""
    )


def _operation(job_id: str, operation: str, fields: Fields) -> Operation | tuple[Reason, str]:
    for actor in _OPERATIONS[operation]:
        at_us = instant_us(fields.get(f"{actor}_start_time"), SECOND_US)
        lasted_us = length_us(fields.get(f"{actor}_duration_secs"))
        if at_us is not None and lasted_us is not None:
            return Operation(
                job_id,
                operation == "save",
                at_us,
                at_us + lasted_us,
                whole(fields.get("step")),
                fields.get("synchronous") is True,
                instant_us(fields.get("preemption_received_at"), SECOND_US),
            )
    return Reason.BAD_TIMESTAMP, f"a {operation} that tells no start and length"
