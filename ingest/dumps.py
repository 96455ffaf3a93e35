"""The files of an ingest: found, opened whatever their compression, known by content.

Gives bytes and lines; knows no format and no database.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import io
import os
import re
import shutil
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import zstandard

from ingest.errors import UnreadableDump, UnusableArguments
from ingest.zstd_frames import begins, frames
from queries.places import leads_to_itself

Letters = npt.NDArray[np.uint8]
Marks = npt.NDArray[np.bool_]

LONGEST_LINE = 16 * 1024 * 1024
HEAD_BYTES = 64 * 1024
UNPACKED_RATIO = 200.0  # a dump may unpack to so many times its size,
UNPACKED_BYTES = 1024**3  # or to this, whichever is more
BLOCK = 1024 * 1024
_STEP = 64 * 1024
_LARGE_BLOCK = 8 * 1024 * 1024  # of what is read beside other work, which it stops for each block
_LOOKED_BACK = 64
_BLOCKS_SKIPPED = 4  # of the length of the longest line, in search for the end of a first line
_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_APART = re.compile(rb'"[ \t\r]+:')
_OWN = re.compile(r"(warehouse|serving-\d+)\.|CURRENT|ingest\.lock|watch\.")
_BLANKS = b" \t\r"
_RUN = re.compile(rb"[ \t\r]+:")  # of what may have begun in another block
_OF_A_CHECKSUM = ("CRC check failed", "Incorrect length of data")  # as the gzip module says it
_BROKEN = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)


@dataclass(frozen=True, slots=True)
class DumpFile:
    """A file as it lies on disk: `name` as the user gave it, as text; `compression` by content."""

    name: str
    path: Path
    bytes: int
    compression: str  # none, gzip or zstd
    ratio: float = UNPACKED_RATIO

    @property
    def place(self) -> str:
        """Its name from the root, by which it is known from whatever folder it is given."""
        return self.name if self.name == "-" else _as_text(Path(os.path.abspath(self.name)))

    @property
    def most_unpacked(self) -> int:
        """Bytes that it may unpack to: what gives more is a bomb."""
        return max(UNPACKED_BYTES, int(self.bytes * self.ratio))


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is known from reading a file once. Its sha256 may still be in the making.

    `key_marks` is how many JSON keys it could hold; null for compressed files, where nobody asked,
    and where a key may stand apart from its colon. `prefixes` are the sha256 of its first bytes at
    the lengths that were asked for. `needs_mending`: it begins with a byte order mark, or breaks
    off without an error, so that only `lines` reads it right.
    """

    digest: Future[str]
    key_marks: int | None
    prefixes: dict[int, str]
    needs_mending: bool

    @property
    def sha256(self) -> str:
        """Waits for it. Raises UnreadableDump where the file could not be read to its end."""
        return self.digest.result()

    def wait(self) -> None:
        """Wait until the sha256 is known. Raises UnreadableDump."""
        self.digest.result()


@dataclass(frozen=True, slots=True)
class Truncated:
    """Where a compressed stream broke off: after which line, and why."""

    line_number: int
    why: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What lies where dumps were looked for, and cannot be opened."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


def find(
    arguments: Iterable[str], spool: Path, warehouse: Path, ratio: float = UNPACKED_RATIO
) -> tuple[list[DumpFile], list[Unreadable]]:
    """All files behind paths, folders, globs and `-`, each once, in a stable order; and what is
    unreadable.

    The warehouse's own files are no dumps. A link that is named is followed; one that lies in a
    folder is not, where it leads out of it. Raises UnusableArguments for a path that names nothing.
    """
    found: dict[Path, DumpFile] = {}
    unreadable: list[Unreadable] = []
    own = Path(os.path.realpath(warehouse))  # also of a link that leads to itself
    # standard input can be read only once
    for argument in dict.fromkeys(arguments):
        for path in _paths(argument, spool, unreadable):
            name = "-" if argument == "-" else _as_text(path)
            # what `resolve` makes of it differs between releases of Python
            if leads_to_itself(path):
                unreadable.append(Unreadable(name, "is a link that leads to itself"))
                continue
            try:
                place = path.resolve()
                if not _is_of(own, place):
                    found.setdefault(place, _dump_file(name, path, ratio))
            except OSError as error:
                unreadable.append(Unreadable(name, error.strerror or str(error)))
    return list(found.values()), unreadable


def found_at(path: Path, warehouse: Path, ratio: float) -> DumpFile | None:
    """The file that lies there now; None: it is the warehouse's own. Raises OSError."""
    if _is_of(warehouse.resolve(), path.resolve()):
        return None
    return _dump_file(_as_text(path), path, ratio)


def _is_of(warehouse: Path, place: Path) -> bool:
    """Whether a file is the warehouse's own: it changes, and whoever closes it drops its locks."""
    if place.parent == warehouse:
        return _OWN.match(place.name) is not None
    return any(warehouse / folder in place.parents for folder in ("detail", "tmp"))


def _as_text(path: Path) -> str:
    """A name may hold any bytes; those that are no UTF-8 become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _paths(argument: str, spool: Path, unreadable: list[Unreadable]) -> Iterator[Path]:
    if argument == "-":
        yield _spooled(spool)
        return
    for path in _named(argument):
        if os.path.isdir(path):  # Path.is_dir raises for what a closed folder holds
            yield from _below(path, unreadable)
        else:
            yield path


def _named(argument: str) -> list[Path]:
    """What a path or pattern names. A name that is there is no pattern, whatever its characters."""
    if not argument:
        raise UnusableArguments("a path is empty. Give a file, a folder or a pattern.")
    try:
        matches = (
            [argument] if os.path.lexists(argument) else sorted(glob.glob(argument, recursive=True))
        )
    except (OSError, ValueError) as error:
        raise UnusableArguments(f"{argument} cannot be read: {error}") from None
    if not matches:
        raise UnusableArguments(f"{argument} is not there. Give a file, a folder or a pattern.")
    return [Path(match) for match in matches]


def _below(folder: Path, unreadable: list[Unreadable]) -> Iterator[Path]:
    def note(error: OSError) -> None:
        name = _as_text(Path(error.filename))
        unreadable.append(Unreadable(name, error.strerror or str(error)))

    for parent, folders, names in walk(folder, note):
        linked = [name for name in folders if os.path.islink(Path(parent, name))]
        for name in sorted(names + linked):
            path = Path(parent, name)
            if name.startswith("."):
                continue
            if not os.path.islink(path):  # Path.is_symlink raises in a folder that was just closed
                yield path
            elif leads_out(path, folder):
                why = "is a link out of its folder. Name it to read it"
                unreadable.append(Unreadable(_as_text(path), why))
            elif not os.path.isdir(path):  # a folder in this one is walked anyway
                yield path


def walk(
    folder: str | Path, left_out: Callable[[OSError], None]
) -> Iterator[tuple[str, list[str], list[str]]]:
    """What `os.walk` gives, in a stable order. `left_out` is told once of a folder that cannot be
    listed, and of one that can be listed and not entered: nothing that it holds is given.
    """
    for parent, folders, names in os.walk(folder, onerror=left_out):
        try:
            os.stat(os.path.join(parent, "."))
        except OSError as error:
            error.filename = parent
            left_out(error)
            folders.clear()  # else each of them is told as well
            continue
        folders.sort()
        yield parent, folders, names


def leads_out(link: Path, folder: Path) -> bool:
    """Whether a link in a folder that is walked names something outside of it."""
    try:
        return not link.resolve(strict=True).is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # nowhere, or to itself: reading it says so
        return False


def _spooled(spool: Path) -> Path:
    if sys.stdin is None:
        raise UnusableArguments("- is standard input, which is closed.")
    path = spool / "stdin"
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, BLOCK)
    except OSError as error:
        raise UnusableArguments(
            f"standard input cannot be kept in {spool}: {error.strerror or error}. "
            "Give the dump as a file, or let TMPDIR name a folder with more space."
        ) from None
    return path


def _dump_file(name: str, path: Path, ratio: float) -> DumpFile:
    if path.exists() and not path.is_file():
        raise OSError("is no regular file")
    with path.open("rb") as file:
        magic = file.read(4)
    compression = "gzip" if magic[:2] == _GZIP_MAGIC else "zstd" if begins(magic) else "none"
    return DumpFile(name, path, path.stat().st_size, compression, ratio)


def fingerprint(
    file: DumpFile,
    lengths: Iterable[int] = (),
    advance: Callable[[int], None] = lambda _: None,
    *,
    counts_keys: bool = True,
) -> Fingerprint:
    """Read a file once, as long as it was when it was found: a log may grow meanwhile."""
    counts_keys = counts_keys and file.compression == "none"
    # prefixes of the same length would end the reading, which asks for what is left up to the next
    stops = sorted({length for length in lengths if 0 < length < file.bytes} | {file.bytes})
    prefixes: dict[int, str] = {}
    marks = KeyMarks()
    done = 0
    with file.path.open("rb", buffering=0) as stream, _Digest() as digest:
        while done < file.bytes and (block := stream.read(min(BLOCK, stops[0] - done))):
            digest.update(block)
            if counts_keys:
                marks.count(block)
            done += len(block)
            advance(len(block))
            if done == stops[0]:
                prefixes[stops.pop(0)] = digest.hexdigest()
    return Fingerprint(
        known(digest.hexdigest()),
        marks.found if counts_keys else None,
        prefixes,
        _needs_mending(file),
    )


def fingerprint_beside(file: DumpFile) -> Fingerprint:
    """The fingerprint of a file that is read while something else is done. Counts no keys."""
    digest: Future[str] = Future()
    threading.Thread(target=_read_beside, args=(file, digest), daemon=True).start()
    return Fingerprint(digest, None, {}, _needs_mending(file))


def known(digest: str) -> Future[str]:
    """A digest that nobody has to wait for."""
    done: Future[str] = Future()
    done.set_result(digest)
    return done


def _read_beside(file: DumpFile, told: Future[str]) -> None:
    try:
        told.set_result(_digest(file))
    except OSError as error:
        told.set_exception(UnreadableDump(f"{file.name} cannot be read: {error}"))
    except BaseException as error:  # whoever waits must not wait for ever
        told.set_exception(error)


def _digest(file: DumpFile) -> str:
    digest = hashlib.sha256()
    left = file.bytes
    room = memoryview(bytearray(min(_LARGE_BLOCK, left)))
    with file.path.open("rb", buffering=0) as stream:
        while left and (size := stream.readinto(room[:left])):
            digest.update(room[:size])
            left -= size
    return digest.hexdigest()


class _Digest:
    """A sha256 of blocks: that of a long one is computed while the caller reads and counts."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._beside = ThreadPoolExecutor(max_workers=1)
        self._begun: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._beside.shutdown()

    def update(self, block: bytes) -> None:
        self._wait()
        if len(block) < BLOCK:  # done before a thread is up
            self._digest.update(block)
        else:
            self._begun = self._beside.submit(self._digest.update, block)

    def hexdigest(self) -> str:
        self._wait()
        return self._digest.hexdigest()

    def _wait(self) -> None:
        if self._begun is not None:
            self._begun.result()
            self._begun = None


class KeyMarks:
    """Counts the `":` that end keys over the blocks of a text: those inside texts are escaped.

    `found` is null once that cannot be told: a key stands apart from its colon, or backslashes
    pile up before a quote.
    """

    def __init__(self) -> None:
        self.found: int | None = 0
        self._tail = b""
        self._may_end_a_key = False  # what stands before the tail, blanks aside

    def count(self, block: bytes) -> None:
        # in pieces that stay in the processor's cache: four times as fast
        for at in range(0, len(block), _STEP):
            if self.found is not None:
                self._count(block[at : at + _STEP])

    def _count(self, block: bytes) -> None:
        seen = max(len(self._tail) - 1, 0)
        whole = self._tail + block
        before, self._tail = whole[:-3][-_LOOKED_BACK:].rstrip(_BLANKS), whole[-3:]
        text = np.frombuffer(whole, dtype=np.uint8)
        is_colon = text[1:] == ord(":")
        is_end = is_colon & (text[:-1] == ord('"'))
        escaped = _escaped(whole, text, is_end, seen)
        may_stand_apart = (is_colon & (text[:-1] <= ord(" "))).any()
        stands_apart = may_stand_apart and (
            _APART.search(whole) or (self._may_end_a_key and _RUN.match(whole))
        )
        self._may_end_a_key = before.endswith(b'"') or not before
        if escaped is None or stands_apart:
            self.found = None
        elif self.found is not None:
            self.found += int(np.count_nonzero(is_end[seen:])) - escaped


def _escaped(whole: bytes, text: Letters, is_end: Marks, seen: int) -> int | None:
    """How many `":` from `seen` on stand behind a backslash; None where backslashes pile up."""
    if b"\\" not in whole:  # true of most blocks, and known at a glance
        return 0
    is_escaped = is_end[1:] & (text[:-2] == ord("\\"))
    if (is_escaped[1:] & (text[:-3] == ord("\\"))).any():
        return None
    return int(np.count_nonzero(is_escaped[max(seen - 1, 0) :]))


def begins_with(path: Path, length: int, sha256: str) -> bool:
    """Whether a file is there whose first bytes, so many of them, have this sha256."""
    try:
        file = DumpFile(str(path), path, length, "none")
        return path.stat().st_size >= length and _digest(file) == sha256
    except OSError:
        return False


def _needs_mending(file: DumpFile) -> bool:
    """Whether a reader that skips no byte order mark and misses no break would go wrong."""
    if file.compression == "zstd" and _is_cut_off(file.path):
        return True
    with opened(file) as stream:
        return stream.read(len(_BOM)) == _BOM


def head(file: DumpFile, most: int = HEAD_BYTES) -> bytes:
    """Its first bytes, decompressed: what formats are recognised by. Empty where none can be read.

    A first line that is longer is there as a whole, unless it is too long for any line, and the
    bytes after it are.
    """
    with opened(file) as stream:
        head = stream.read(most)
        if b"\n" in head:
            return head
        first = rest = stream.readline(LONGEST_LINE)
        for _ in range(_BLOCKS_SKIPPED):
            if not rest or rest.endswith(b"\n"):
                break
            first, rest = b"\n", stream.readline(LONGEST_LINE)
        return head + first + stream.read(HEAD_BYTES)


def holds_nothing(file: DumpFile) -> bool:
    """Whether nobody wrote anything in it, packed or not. A packed one that breaks off may have
    held something.
    """
    with opened(file) as stream:
        is_at_end = not stream.read(1)
        return is_at_end and not (isinstance(stream.raw, Unpacked) and stream.raw.fault)


def opened(file: DumpFile) -> io.BufferedReader:
    """Its bytes, decompressed as far as they go. Raises UnreadableDump if it cannot be opened."""
    try:
        if file.compression == "none":
            return io.BufferedReader(file.path.open("rb", buffering=0), BLOCK)
        return io.BufferedReader(Unpacked(file), BLOCK)
    except OSError as error:
        raise UnreadableDump(f"{file.name} cannot be opened: {error.strerror or error}") from None


class Unpacked(io.RawIOBase):
    """A compressed stream up to where it ends or breaks off; `fault` then says why.

    Read in small steps: what comes before a break must not be lost with it.
    """

    def __init__(self, file: DumpFile) -> None:
        super().__init__()
        self.fault: str | None = None
        self.is_too_large = False
        self.is_damaged = False  # it ends where it should, and its checksum is another one's
        self._given = 0
        self._file = file
        self._packed = file.path.open("rb")
        self._stream = (
            gzip.GzipFile(fileobj=self._packed)
            if file.compression == "gzip"
            else zstandard.ZstdDecompressor().stream_reader(self._packed, read_across_frames=True)
        )

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = b"" if self.fault else self._step(min(len(buffer), _STEP))
        self._given += len(piece)
        if self._given > self._file.most_unpacked:
            self.is_too_large, piece = True, b""
            self.fault = (
                f"it unpacks to more than {self._file.most_unpacked / 1024**3:.1f} GiB and over "
                f"{self._file.ratio:g} times its size. If it is no bomb, raise unpacked_ratio in "
                "ett.toml"
            )
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._packed.close()
        super().close()

    def _step(self, size: int) -> bytes:
        try:
            piece = self._stream.read1(size)
        except _BROKEN as error:
            self.fault = str(error)
            self.is_damaged = self.fault.startswith(_OF_A_CHECKSUM)
            return b""
        if not piece and self._file.compression == "zstd" and _is_cut_off(self._file.path):
            self.fault = "the last frame has no end"
        return piece


def _is_cut_off(path: Path) -> bool:
    """Whether a zstd file ends before its last frame does."""
    return frames(path, path.stat().st_size).is_cut_off


def lines(file: DumpFile, broken: Callable[[Truncated], None]) -> Iterator[tuple[int, bytes]]:
    """Its lines without line ends, numbered from 1. A line over the limit comes as its first bytes.

    A byte order mark is no part of the first line. A compressed stream that breaks off ends the
    lines; `broken` is told where. A plain file ends where it did when it was found.
    """
    for first, block in blocks(file, broken):
        yield from enumerate(block.split(b"\n"), first)


def blocks(
    file: DumpFile, broken: Callable[[Truncated], None], size: int = BLOCK
) -> Iterator[tuple[int, bytes]]:
    """As `lines`, many at once: the number of the first, and some `size` bytes of whole lines with
    line ends between them.
    """
    number = 1
    with opened(file) as stream:
        length = file.bytes if file.compression == "none" else sys.maxsize
        for block in _whole_lines(stream, length, size):
            yield number, block.removeprefix(_BOM) if number == 1 else block
            number += block.count(b"\n") + 1
        fault = stream.raw.fault if isinstance(stream.raw, Unpacked) else None
    if fault is not None:
        broken(Truncated(number - 1, f"the {file.compression} stream breaks off: {fault}"))


def _whole_lines(stream: io.BufferedReader, left: int, size: int) -> Iterator[bytes]:
    """Asking for each of a log's short lines costs more than the line."""
    rest = b""
    while block := stream.read(min(size, left)):
        left -= len(block)
        end = block.rfind(b"\n")
        if end >= 0:
            begun = _begun(rest, block[:end])
            yield _without_ends(begun)
            rest = block[end + 1 :]
        else:
            rest = _begun(rest, block)
    if rest:
        yield _without_ends(rest)


def _begun(rest: bytes, block: bytes) -> bytes:
    """A block behind the beginning of its first line: of a longer one the first bytes do."""
    return rest + (block if len(rest) <= LONGEST_LINE else b"".join(block.partition(b"\n")[1:]))


def _without_ends(block: bytes) -> bytes:
    if b"\r" not in block and len(block) <= LONGEST_LINE:
        return block
    return b"\n".join(line[: LONGEST_LINE + 1].rstrip(b"\r") for line in block.split(b"\n"))
