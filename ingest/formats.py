"""Which format a dump has: by content, never by name."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ingest import dumps, native
from ingest.collectors.base import Collector
from ingest.collectors.registry import COLLECTORS
from ingest.collectors.slurm import SLURM_SACCT, before_table, beside_table
from ingest.collectors.slurm_json import SLURM_JSON
from ingest.collectors.training_log import TRAINING_LOG, is_told_by
from ingest.collectors.training_log_patterns import Pattern
from ingest.events import EventKind, Says
from ingest.faults import FAULTS, fault
from ingest.foreign import is_utf8, told_of

_LOOKED_AT = 50  # lines
_LOOKED_INTO = 4 * 1024 * 1024  # bytes of a log
# what a log may begin to hold late; a trainer's lines are asked for last, with the user's patterns
_LATE = tuple(one for one in COLLECTORS if one not in (SLURM_SACCT, SLURM_JSON, TRAINING_LOG))
_LOG = logging.getLogger("ingest")


@dataclass(frozen=True, slots=True)
class Format:
    """A dump format: the native one has no collector, DuckDB reads it."""

    name: str
    says: Says
    collector: Collector | None

    @property
    def is_named_by_path(self) -> bool:
        """Whether equal content under another name is another job."""
        return self.collector is not None and self.collector.is_named_by_path


EVENTS = Format(native.NAME, native.SAYS, None)
FORMATS: dict[str, Format] = {
    EVENTS.name: EVENTS,
    **{
        collector.name: Format(collector.name, collector.says, collector)
        for collector in COLLECTORS
    },
}


def format_of(file: dumps.DumpFile, head: bytes, own: tuple[Pattern, ...] = ()) -> Format | None:
    """The format of a file that begins with `head`, as `recognise` knows it.

    What a thousand ranks say before they train is long: a text whose beginning is of no format is
    looked into further, for all but what a scheduler says.
    """
    found = recognise(file.name, head, own)
    if found or len(head) < dumps.HEAD_BYTES or told_of(head) or not is_utf8(head):
        return found
    name, more = file.name, dumps.head(file, _LOOKED_INTO)
    for collector in _LATE:
        if _is_recognised(name, collector, partial(collector.recognises, name, more)):
            return FORMATS[collector.name]
    if _is_recognised(name, TRAINING_LOG, partial(is_told_by, own, more)):
        return FORMATS[TRAINING_LOG.name]
    return None


def recognise(name: str, head: bytes, own: tuple[Pattern, ...] = ()) -> Format | None:
    """The format of a dump from its first bytes, decompressed. None: no format that is read.

    The user's `own` patterns are asked last: they never take a dump from another format.
    """
    # jobs print tables of sacct into logs, which stay what they are without
    before = before_table(head)
    if before is not None:
        return (
            recognise(name, before, own)
            or recognise(name, beside_table(head))
            or FORMATS[SLURM_SACCT.name]
        )
    for collector in COLLECTORS:
        if _is_recognised(name, collector, partial(collector.recognises, name, head)):
            return FORMATS[collector.name]
    if _holds_native_events(head):
        return EVENTS
    if own and _is_recognised(name, TRAINING_LOG, partial(is_told_by, own, head)):
        return FORMATS[TRAINING_LOG.name]
    return None


def _is_recognised(name: str, collector: Collector, asked: Callable[[], bool]) -> bool:
    """Whether a dump is a reader's. One at whose first lines it fails may still be another's."""
    try:
        return asked()
    except FAULTS as error:
        _LOG.warning("%s", fault(name, collector, error))
        return False


def _holds_native_events(head: bytes) -> bool:
    """Whether any early line is a known `event`: a dump may begin with broken lines."""
    lines = head.removeprefix(b"\xef\xbb\xbf").splitlines()[:_LOOKED_AT]
    return any(_is_native(line) for line in lines)


def _is_native(line: bytes) -> bool:
    if b'"event"' not in line:
        return False
    try:
        # in another encoding it is one too, of which each line that needs it is set aside
        row = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and "ts" in row and row.get("event") in tuple(EventKind)
