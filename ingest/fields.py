"""The fields of a native event: what each may hold, and the SQL that reads it from text.

Names no file and touches no database.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingest.events import EventKind, Outcome, Phase

EARLIEST_US = (
    946_684_800_000_000  # 2000-01-01: no GPU trained before; a clock that says so is broken
)
LONGEST_MESSAGE = 65_536
LONGEST_ID = 256
LONGEST_TEXT = 4_096

CATEGORY = "[^/]+/[^/]+"  # domain/category: what has another slash would lose what follows it

# Past any count that can be meant, and small enough that sums of them never overflow.
MOST = 10_000_000
WHOLE_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    # field -> the least and the greatest value it may have
    "attempt": (1, None),
    "rank": (0, None),
    "step": (0, None),
    "recompiles": (0, MOST),
    "resumed_from_step": (0, None),
    "exit_code": (None, None),
    "signal": (None, None),
    "samples": (0, None),
    "gpus": (0, MOST),
}
TEXTS = {
    # field -> the longest it may be, in characters
    "job_id": LONGEST_ID,
    "event_id": LONGEST_ID,
    "host": LONGEST_TEXT,
    "allocation_id": LONGEST_TEXT,
    "stage": LONGEST_TEXT,
    "message": LONGEST_MESSAGE,
    "category": LONGEST_TEXT,
    "component": LONGEST_TEXT,
    "team": LONGEST_TEXT,
    "user": LONGEST_TEXT,
    "workload": LONGEST_TEXT,
    "model": LONGEST_TEXT,
    "cluster": LONGEST_TEXT,
    "gpu_type": LONGEST_TEXT,
    "priority": LONGEST_TEXT,
    "preempted_by": LONGEST_TEXT,
    "name": LONGEST_TEXT,
    "partition": LONGEST_TEXT,
    "description": LONGEST_MESSAGE,
}
CHOICES: dict[str, tuple[str, ...]] = {
    "mode": ("sync", "async"),
    "ok": ("true", "false"),
    "cache": ("hit", "miss"),
    "outcome": tuple(Outcome),
}
ENUMS = {
    "event": "event_kind",
    "phase": "phase_name",
    "mode": "save_mode",
    "cache": "cache_result",
    "outcome": "outcome_name",
}
FIELDS = ("ts", "end_ts", "event", "phase", *TEXTS, *WHOLE_NUMBERS, *CHOICES)
KINDS = tuple(EventKind)
PHASES = tuple(Phase)

# From UTC. No zone is further away; a cast alone reads one of four days too.
OFFSET = "[+-](?:0[0-9]|1[0-5]):?[0-5][0-9]"

# Columns of the table `events` that differ in name from the field.
COLUMN_OF = {"user": "user_name", "partition": "partition_name"}

# What most events say no more than (see `plain_events` in schema.sql).
PLAIN = (
    "ts", "end_ts", "event", "job_id", "attempt", "event_id", "phase", "stage", "rank", "step",
    "mode", "ok", "samples",
)  # fmt: skip


def column(field: str) -> str:
    """The column of `events` that holds this field."""
    names = {"ts": "at_us", "end_ts": "end_us", "job_id": "job_key"}
    return names.get(field) or COLUMN_OF.get(field, field)


def typed(field: str, told: str) -> str:
    """An SQL expression for what the text `told` means; null where it means nothing."""
    if field in ("ts", "end_ts"):
        return _microseconds(told)
    if field in ENUMS:
        return f"try_cast({told} as {ENUMS[field]})"
    if field == "ok":
        return f"case {told} when 'true' then true when 'false' then false end"
    if field in WHOLE_NUMBERS:
        return _whole_number(told)
    return told


def _microseconds(told: str) -> str:
    """RFC 3339 with an offset, or Unix seconds. A time without an offset is null: it is unknown."""
    return (
        f"case when suffix({told}, 'Z') or suffix({told}, 'z') "
        f"or regexp_matches({told}, '{OFFSET}$') "
        # its T and Z may be lower case, which a cast alone does not read
        f"then epoch_us(coalesce(try_cast({told} as timestamptz), "
        f"try_cast(upper({told}) as timestamptz))) "
        f"else try_cast(try_cast({told} as decimal(20, 6)) * 1000000 as bigint) end"
    )


def _whole_number(told: str) -> str:
    """A cast alone would round 1.7 to 2."""
    whole = f"try_cast({told} as bigint)"
    return (
        f"case when contains({told}, '.') or contains({told}, 'e') or contains({told}, 'E') "
        f"then case when try_cast({told} as double) = {whole} then {whole} end else {whole} end"
    )


def faults(fields: Sequence[str], latest_us: int) -> list[str]:
    """SQL conditions under which a row is no event, beside a field without meaning.

    `latest_us` is the newest time that is believed. Those on `phase` need `event`.
    """
    believed = f"not between {EARLIEST_US} and {latest_us}"
    found = []
    if "ts" in fields:
        found += [
            "at_us is null",
            f"at_us {believed}",
            "event is null",
            "job_key is null and event <> 'change'",
            "job_key = ''",
        ]
        phaseless = "phase is null and " if "phase" in fields else ""
        found.append(f"{phaseless}event in ('phase_start', 'phase_end')")
    if "end_ts" in fields:
        found.append(f"end_us {believed}")
    if "category" in fields:
        found.append(f"not regexp_full_match(category, '{CATEGORY}')")
    for field, (least, most) in WHOLE_NUMBERS.items():
        if field in fields and least is not None:
            found.append(f"{field} < {least}")
        if field in fields and most is not None:
            found.append(f"{field} > {most}")
    return found + [
        f"length({column(field)}) > {longest}"
        for field, longest in TEXTS.items()
        if field in fields
    ]
