"""The files of an ingest: found, opened whatever their compression, known by content.

Gives bytes and lines; knows no format and no database.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import io
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import zstandard

from ingest.errors import UnreadableDump, UnusableArguments

LONGEST_LINE = 16 * 1024 * 1024
HEAD_BYTES = 64 * 1024
_BLOCK = 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class DumpFile:
    """A file as it lies on disk: `name` as the user gave it, `compression` by content."""

    name: str
    path: Path
    bytes: int
    compression: str  # none, gzip or zstd


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is known from reading a file once: its sha256, and for plain text how many JSON keys it could hold.

    `prefixes` are the sha256 of its first bytes at the lengths that were asked for.
    """

    sha256: str
    key_marks: int | None
    prefixes: dict[int, str]


@dataclass(frozen=True, slots=True)
class Truncated:
    """Where a compressed stream broke off: after which line, and why."""

    line_number: int
    why: str


def find(arguments: Iterable[str], spool: Path) -> tuple[list[DumpFile], list[str]]:
    """All files behind paths, folders, globs and `-`, in a stable order, each once; and what could not be read.

    Raises UnusableArguments for a path that names nothing.
    """
    found: dict[Path, DumpFile] = {}
    unreadable: list[str] = []
    for argument in arguments:
        for name, path in _paths(argument, spool):
            try:
                found.setdefault(path.resolve(), _dump_file(name, path))
            except OSError as error:
                unreadable.append(f"{name}: {error.strerror or error}")
    return list(found.values()), unreadable


def _paths(argument: str, spool: Path) -> Iterator[tuple[str, Path]]:
    if argument == "-":
        yield "-", _spooled(sys.stdin.buffer, spool)
        return
    path = Path(argument)
    if path.is_dir():
        yield from _below(path)
    elif path.exists():
        yield argument, path
    else:
        matches = sorted(glob.glob(argument, recursive=True))
        if not matches:
            raise UnusableArguments(f"{argument} is not there. Give a file, a folder or a pattern.")
        for match in matches:
            if os.path.isdir(match):
                yield from _below(Path(match))
            else:
                yield match, Path(match)


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            if not name.startswith("."):
                yield str(path), path


def _spooled(stream: BinaryIO, spool: Path) -> Path:
    spool.mkdir(parents=True, exist_ok=True)
    path = spool / "stdin"
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file, _BLOCK)
    return path


def _dump_file(name: str, path: Path) -> DumpFile:
    if not path.is_file():
        raise OSError(f"{path} is no regular file")
    with path.open("rb") as file:
        magic = file.read(4)
    compression = (
        "gzip" if magic[:2] == _GZIP_MAGIC else "zstd" if magic == _ZSTD_MAGIC else "none"
    )
    return DumpFile(name, path, path.stat().st_size, compression)


def fingerprint(
    file: DumpFile, lengths: Iterable[int] = (), advance: Callable[[int], None] = lambda _: None
) -> Fingerprint:
    """Read a file once: sha256 of its bytes, and the number of `":` in it where it is plain text."""
    wanted = sorted(length for length in lengths if 0 < length < file.bytes)
    digest = hashlib.sha256()
    prefixes: dict[int, str] = {}
    marks = 0
    done = 0
    last = b""
    with file.path.open("rb", buffering=0) as stream:
        while block := stream.read(min(_BLOCK, wanted[0] - done) if wanted else _BLOCK):
            digest.update(block)
            if file.compression == "none":
                marks += block.count(b'":') + (last == b'"' and block[:1] == b":")
                last = block[-1:]
            done += len(block)
            advance(len(block))
            if wanted and done == wanted[0]:
                prefixes[wanted.pop(0)] = digest.hexdigest()
    return Fingerprint(
        digest.hexdigest(), marks if file.compression == "none" else None, prefixes
    )


def head(file: DumpFile) -> bytes:
    """Its first bytes, decompressed: what formats are recognised by. Empty where nothing can be read."""
    try:
        with opened(file) as stream:
            return stream.read(HEAD_BYTES)
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError):
        return b""


def opened(file: DumpFile) -> BinaryIO:
    """Its bytes, decompressed. Raises UnreadableDump where it cannot be opened."""
    try:
        if file.compression == "gzip":
            return io.BufferedReader(gzip.open(file.path), _BLOCK)  # type: ignore[type-var]
        if file.compression == "zstd":
            raw = file.path.open("rb")
            reader = zstandard.ZstdDecompressor().stream_reader(
                raw, read_across_frames=True, closefd=True
            )
            return io.BufferedReader(reader, _BLOCK)  # type: ignore[type-var]
        return file.path.open("rb", buffering=_BLOCK)
    except OSError as error:
        raise UnreadableDump(f"{file.name} cannot be opened: {error.strerror or error}") from None


def lines(file: DumpFile, broken: Callable[[Truncated], None]) -> Iterator[tuple[int, bytes]]:
    """Its lines without line ends, numbered from 1. A line over the limit comes as its first bytes.

    A compressed stream that breaks off ends the lines; `broken` is told where.
    """
    number = 0
    try:
        with opened(file) as stream:
            while line := stream.readline(LONGEST_LINE + 1):
                number += 1
                yield number, line.rstrip(b"\r\n")
                while line and not line.endswith(b"\n") and len(line) > LONGEST_LINE:
                    line = stream.readline(LONGEST_LINE + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        broken(Truncated(number, f"the {file.compression} stream breaks off: {error}"))
