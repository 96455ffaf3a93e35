"""A growing file of events, piece by piece: what is read is what it grew, not what it is.

Each line of the native format stands for itself, so whole lines can be read apart from those before
them. A piece is a copy: nobody writes to it while it is parsed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import duckdb

from ingest import dumps, rotation
from ingest.formats import EVENTS
from ingest.ledger import Follows, Incoming

if TYPE_CHECKING:
    from hashlib import _Hash

PIECE_BYTES = 64 * 1024 * 1024

_BLOCK = 1024 * 1024
_MARK_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Place:
    """How far a file is loaded. `name` and `file_no` are the ledger's; null: it has no row yet.

    All whole lines before `start` are loaded; there are `lines` of them. `taken` is what the ledger
    says, more than `start` where a last line without its end was loaded too. `digest` is of all
    before `start`, `mark` of its first bytes and its last: a file that was written anew has others.
    """

    name: str
    file_no: int | None
    start: int
    lines: int
    taken: int
    digest: _Hash
    mark: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """The next part of a file, ready to load, and where the file stands once it is.

    `is_last`: nothing but a last line without its end comes after it.
    """

    incoming: Incoming
    then: Place
    is_last: bool


def beginning(name: str) -> Place:
    """Of a file of which nothing is loaded."""
    return Place(name, None, 0, 0, 0, hashlib.sha256(), hashlib.sha256().digest())


def known(
    connection: duckdb.DuckDBPyConnection, file: dumps.DumpFile, cluster: str | None
) -> Place | None:
    """How far the ledger knows a plain file; under an earlier name too, if it was rotated.

    Reads the file once as far as that is. `file_no` is null where the whole content is that of
    another file: what comes to either later is not the other's.
    """
    names = rotation.names_of(file)
    rows = connection.execute(
        "select file_no, file, bytes, sha256 from files where format = ? "
        "and cluster is not distinct from ? "
        "and (bytes = ? or (bytes < ? and list_contains(?, file))) order by bytes, file_no",
        [EVENTS.name, cluster, file.bytes, file.bytes, names],
    ).fetchall()
    if not rows:
        return None
    read = _Read(beginning(file.name))
    found: Place | None = None
    with file.path.open("rb", buffering=0) as stream:
        for file_no, name, length, sha256 in rows:
            read.up_to(stream, length)
            if read.digest.hexdigest() == sha256 and (name in names or found is None):
                found = read.place(name, file_no if name in names else None, length)
    return found and replace(found, mark=mark(file, found.start))


def goes_on(place: Place, file: dumps.DumpFile, *, is_written_over: bool) -> bool:
    """Whether a file still begins with what is loaded of it. Reads all of that only where it may
    have been `is_written_over`.
    """
    if file.bytes < place.taken or mark(file, place.start) != place.mark:
        return False
    if not is_written_over:
        return True
    read = _Read(beginning(file.name))
    with file.path.open("rb", buffering=0) as stream:
        read.up_to(stream, place.start)
    return read.digest.digest() == place.digest.digest()


def next_piece(place: Place, file: dumps.DumpFile, copy: Path, *, is_whole: bool) -> Piece | None:
    """Copy what comes next, whole lines only; None: there is nothing.

    `is_whole`: nobody writes to the file any more, so that its last line counts without an end.
    """
    read = _Read(place)
    with file.path.open("rb", buffering=0) as stream, copy.open("wb") as target:
        stream.seek(place.start)
        end = min(file.bytes, place.start + PIECE_BYTES)
        read.up_to(stream, end, target)
        while end < file.bytes and read.line_start == place.start:  # one line is longer than that
            end = min(file.bytes, end + PIECE_BYTES)
            read.up_to(stream, end, target)
        is_taken_whole = is_whole and read.done == file.bytes
        taken = read.done if is_taken_whole else read.line_start
        target.truncate(taken - place.start)
    if taken <= (place.taken if is_taken_whole else place.start):
        return None
    part = dumps.DumpFile(place.name, copy, taken - place.start, "none")
    sha256 = (read.digest if is_taken_whole else read.at_line).hexdigest()
    incoming = Incoming(
        part,
        EVENTS,
        replace(dumps.fingerprint(part), digest=dumps.known(sha256)),
        None,
        Follows(place.file_no, taken, place.lines),
    )
    then = read.place(place.name, place.file_no, taken)
    return Piece(incoming, replace(then, mark=mark(file, then.start)), end == file.bytes)


def whole_lines(file: dumps.DumpFile) -> int:
    """How many of its bytes are lines that have their end."""
    with file.path.open("rb", buffering=0) as stream:
        end = file.bytes
        while end > 0:
            start = max(0, end - _BLOCK)
            stream.seek(start)
            if (cut := stream.read(end - start).rfind(b"\n") + 1) > 0:
                return start + cut
            end = start
    return 0


def mark(file: dumps.DumpFile, end: int) -> bytes:
    """What the bytes before a place are known by: the first of them, and the last."""
    with file.path.open("rb", buffering=0) as stream:
        digest = hashlib.sha256(stream.read(min(end, _MARK_BYTES)))
        stream.seek(max(0, end - _MARK_BYTES))
        digest.update(stream.read(min(end, _MARK_BYTES)))
    return digest.digest()


class _Read:
    """Bytes read in order, on from a place: their digest, how many lines are whole, and where the
    last of those ends.
    """

    def __init__(self, place: Place) -> None:
        self.digest, self.at_line = place.digest.copy(), place.digest
        self.lines = place.lines
        self.line_start = self.done = place.start

    def up_to(self, stream: BinaryIO, end: int, target: BinaryIO | None = None) -> None:
        while self.done < end and (block := stream.read(min(_BLOCK, end - self.done))):
            cut = block.rfind(b"\n") + 1
            if cut:
                self.digest.update(memoryview(block)[:cut])
                self.at_line = self.digest.copy()
                self.lines += block.count(b"\n")
                self.line_start = self.done + cut
            self.digest.update(memoryview(block)[cut:])
            self.done += len(block)
            if target is not None:
                target.write(block)

    def place(self, name: str, file_no: int | None, taken: int) -> Place:
        return Place(name, file_no, self.line_start, self.lines, taken, self.at_line, b"")
