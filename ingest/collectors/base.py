"""What every collector is: a dump of one format in, native events out. Knows no database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from ingest.collectors.training_log_patterns import Pattern
from ingest.events import Event, Rejected, Says
from ingest.identity import IdentityRule

Line = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Dump:
    """One dump file, already decompressed line by line.

    `name` is what the user sees. `path` is None for stdin. `lines()` yields (physical line number
    from 1, line without its line end); a line over the limit comes empty: it is set aside already.
    """

    name: str
    path: Path | None
    lines: Callable[[], Iterator[Line]]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the user said about a dump: its cluster, the zone of times that carry none, and what the
    lines of his own trainers mean, and whose a dump is that does not say.
    """

    cluster: str | None
    timezone: ZoneInfo
    training_logs: tuple[Pattern, ...] = ()
    identity: tuple[IdentityRule, ...] = ()


@dataclass(frozen=True, slots=True)
class Collector:
    """A dump format: how it is recognised, what it can say, how it is read.

    `recognises` gets the file's name and its first 64 KiB (decompressed, may end mid-line).
    `read` yields events and set-aside lines in file order; it raises
    `ingest.errors.UnreadableDump` where no line can be read.
    """

    name: str
    says: Says
    recognises: Callable[[str, bytes], bool]
    read: Callable[[Dump, Reading], Iterator[Event | Rejected]]
    # the path says which job it is: equal content under another name is another job
    is_named_by_path: bool = False
