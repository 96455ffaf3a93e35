"""What every collector is: a dump of one format in, native events out. Knows no database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

from ingest.collectors.training_log_patterns import Pattern
from ingest.events import Event, Item, Rejected, Says
from ingest.identity import IdentityRule

Line = tuple[int, bytes]
Block = tuple[int, bytes]  # the number of its first line, and lines with line ends between them

_LINES_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class Dump:
    """One dump file, already decompressed line by line.

    `name` is what the user sees. `path` is None for stdin. `lines()` yields (physical line number
    from 1, line without its line end); a line over the limit comes empty: it is set aside already.
    `many` are the same lines, many at once, where whoever made the dump can give them so. `before`
    are they for who looks through them first: nothing of them is set aside.
    """

    name: str
    path: Path | None
    lines: Callable[[], Iterator[Line]]
    many: Callable[[], Iterator[Block]] | None = None
    before: Callable[[], Iterator[Block]] | None = None

    def blocks(self) -> Iterator[Block]:
        """The lines many at once: asking for each costs more than most formats may take."""
        if self.many is not None:
            yield from self.many()
            return
        lines = self.lines()
        while some := list(islice(lines, _LINES_AT_ONCE)):
            yield some[0][0], b"\n".join(line.removesuffix(b"\r") for _, line in some)


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
    `ingest.errors.UnreadableDump` where no line can be read. `read_many` tells the same with frames
    in the place of most events, and not all of them in file order; `read` defines what is right.
    """

    name: str
    says: Says
    recognises: Callable[[str, bytes], bool]
    read: Callable[[Dump, Reading], Iterator[Event | Rejected]]
    # the path says which job it is: equal content under another name is another job
    is_named_by_path: bool = False
    # what stands beside a dump may name its job: whether a dump at that path, of these jobs, has
    # names that it would not get if it was read now
    is_misnamed: Callable[[Path, Collection[str]], bool] | None = None
    # the folder in which a dump names the jobs of others, if it does
    names_others_in: Callable[[Path], Path | None] | None = None
    read_many: Callable[[Dump, Reading], Iterator[Item]] | None = None
