"""What of a file that somebody may still be writing to is to be loaded now.

Decides from one look at one file; what was decided before comes in, what follows goes out.
"""

from __future__ import annotations

import errno
import time
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from ingest import arrivals, dumps, plan, rotation, tails
from ingest.arrivals import Sight
from ingest.collectors.training_log_patterns import Pattern
from ingest.errors import UnreadableDump
from ingest.formats import EVENTS, Format, format_of
from ingest.known import Known
from ingest.ledger import Incoming
from ingest.tails import Place

# nobody writes to it: it is read where it lies, without a copy
SETTLED_SECONDS = 60.0

# a copy has no room: that is no fault of the file
_OF_THE_WAREHOUSE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@dataclass(frozen=True, slots=True)
class Handled:
    """What was made of a file at a look.

    `name`: under which it is loaded, whatever it is called now. `length`: how far; `mark`: of the
    bytes before. `place`: of a file that is loaded piece by piece. `has_more`: another piece can be
    loaded at once. `waits`: for the file to rest; `is_half`: with nothing but half a line.
    `is_closed`: it could not be opened.
    """

    sight: Sight
    name: str
    length: int = 0
    mark: bytes = b""
    place: Place | None = None
    has_more: bool = False
    waits: bool = False
    is_half: bool = False
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """`incoming` is to be loaded, then `then` holds; `why` is worth telling if nothing is."""

    then: Handled
    incoming: Incoming | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Follower:
    """Where decisions are made: the open warehouse, what the user said, room for copies."""

    connection: duckdb.DuckDBPyConnection
    warehouse: Path
    copies: Path
    forced: Format | None
    cluster: str | None
    unpacked_ratio: float
    own: tuple[Pattern, ...]

    def decide(self, sight: Sight, before: Handled | None, *, is_resting: bool) -> Decision:
        """What to load of a file. `is_resting`: a last line without its end is no half line.

        A file that cannot be read now is told of, and looked at again. So is one that was moved
        since it was seen, but silently: what was read may be another that has its name now.
        """
        try:
            decision = self._decide(sight, before, is_resting)
            return decision if arrivals.is_there(sight) else Decision(moved(sight, before))
        except (OSError, UnreadableDump) as error:
            if isinstance(error, OSError) and error.errno in _OF_THE_WAREHOUSE:
                raise
            if not arrivals.is_there(sight):
                return Decision(moved(sight, before))
            said = error.strerror or error if isinstance(error, OSError) else error
            then = Handled(sight, str(sight.path), is_closed=True)
            return Decision(then, None, f"cannot be read: {said}")

    def _decide(self, sight: Sight, before: Handled | None, is_resting: bool) -> Decision:
        file = dumps.found_at(sight.path, self.warehouse, self.unpacked_ratio)
        if file is None or file.bytes == 0:
            return Decision(Handled(sight, str(sight.path)))
        if before is not None and not _goes_on(before, sight, file):
            before = None
        if before is not None:
            file = replace(file, name=before.name)
        if file.compression != "none":
            return self._whole(sight, file, before, is_resting)
        if before is not None and before.place is not None and self._is_kept(before.place):
            return self._piece(sight, file, before.place, is_resting)
        format = self.forced or format_of(file, dumps.head(file), self.own)
        if format is EVENTS:
            return self._events(sight, file, is_resting)
        if format is None and not is_resting:
            return Decision(_waiting(None, sight, file))
        return self._whole(sight, file, before, is_resting)

    def _events(self, sight: Sight, file: dumps.DumpFile, is_resting: bool) -> Decision:
        place = tails.known(self.connection, file, self.cluster)
        if place is None and time.time() - sight.modified_ns / 1e9 >= SETTLED_SECONDS:
            then = Handled(sight, file.name, file.bytes, tails.mark(file, file.bytes))
            return Decision(then, Incoming(file, EVENTS, dumps.fingerprint(file), None))
        if place is not None and place.file_no is None:
            return Decision(Handled(sight, file.name, file.bytes, tails.mark(file, file.bytes)))
        return self._piece(sight, file, place or tails.beginning(file.place), is_resting)

    def _is_kept(self, place: Place) -> bool:
        """Whether the ledger says of the file what it said: it may have been restored since."""
        found = self.connection.execute(
            "select 1 from files where file_no = ? and file = ? and bytes = ?",
            [place.file_no, place.name, place.taken],
        ).fetchone()
        return found is not None

    def _piece(
        self, sight: Sight, file: dumps.DumpFile, place: Place, is_resting: bool
    ) -> Decision:
        copy = self.copies / f"piece-{sight.key[0]}-{sight.key[1]}"
        piece = tails.next_piece(place, file, copy, is_whole=is_resting)
        if piece is None:
            copy.unlink()
            return Decision(_at(sight, place, file, has_more=False))
        then = _at(sight, piece.then, file, has_more=not piece.is_last)
        return Decision(then, piece.incoming)

    def _whole(
        self, sight: Sight, file: dumps.DumpFile, before: Handled | None, is_resting: bool
    ) -> Decision:
        """A file in which lines do not stand for themselves is read anew as a whole."""
        whole = file.bytes
        if not is_resting:
            if file.compression != "none":
                return Decision(_waiting(before, sight, file))
            file = replace(file, bytes=tails.whole_lines(file))
        is_half = file.bytes < whole
        mark = tails.mark(file, file.bytes)
        then = Handled(sight, file.name, file.bytes, mark, waits=is_half, is_half=is_half)
        if file.bytes == 0:
            return Decision(then)
        known = Known(self.connection, [file])
        if is_half and _is_told(known, file, whole):
            return Decision(then)
        one = plan.look_at(known, file, self.forced, lambda _: None, self.own)
        if isinstance(one, plan.Skipped):
            is_well = one.known_as is not None or one.why == plan.EMPTY
            return Decision(then, None, None if is_well else one.whole_why)
        return Decision(then, one)


def _is_told(known: Known, file: dumps.DumpFile, whole: int) -> bool:
    """Whether its whole lines are loaded, with a part of the half line after them: it rested in the
    middle of that, or a plain ingest read it so. They alone would be another dump.
    """
    return any(
        file.bytes < row.bytes <= whole and dumps.begins_with(file.path, row.bytes, row.sha256)
        for row in known.named(rotation.names_of(file))
    )


def read_again(one: Incoming) -> Decision | None:
    """To load a whole file once more, though nobody wrote to it. None: it is gone."""
    file = one.file
    sight = next(iter(arrivals.look([str(file.path)]).values()), None)
    if sight is None:
        return None
    return Decision(Handled(sight, file.name, file.bytes, tails.mark(file, file.bytes)), one)


def moved(sight: Sight, before: Handled | None) -> Handled:
    """What is made of a file that its path no longer names: at the next look it has another."""
    return replace(before or Handled(sight, str(sight.path)), has_more=True)


def _goes_on(before: Handled, sight: Sight, file: dumps.DumpFile) -> bool:
    """Whether it is the file of before: a number of a file is given to another once it is free."""
    if before.place is not None:
        # who writes and adds nothing has written over something
        is_written_over = sight.bytes == before.sight.bytes and not sight.is_as(before.sight)
        return tails.goes_on(before.place, file, is_written_over=is_written_over)
    return file.bytes >= before.length and tails.mark(file, before.length) == before.mark


def _at(sight: Sight, place: Place, file: dumps.DumpFile, *, has_more: bool) -> Handled:
    is_half = not has_more and place.taken < file.bytes
    return Handled(sight, place.name, place.taken, b"", place, has_more, is_half, is_half)


def _waiting(before: Handled | None, sight: Sight, file: dumps.DumpFile) -> Handled:
    kept = before or Handled(sight, file.name, mark=tails.mark(file, 0))
    return replace(kept, sight=sight, waits=True, is_half=False)
