"""What the lengths of a zstd file's blocks tell without unpacking it: no decoder says so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import zstandard

_HEADER = 18  # the longest header of a frame, in bytes
_LARGEST_BLOCK = 128 * 1024  # the format's limit
_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPED = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)  # a frame of what is no content
_SKIPPED_HEADER = 8  # its magic, and how long it is


@dataclass(frozen=True, slots=True)
class Frames:
    """`is_cut_off`: the file ends before its last frame does. `most_bytes`: what it unpacks to at
    most; None where something that is no frame follows.
    """

    is_cut_off: bool
    most_bytes: int | None


def begins(start: bytes) -> bool:
    """Whether a file with these first bytes is packed with zstd. That of pzstd, which writes many
    frames at once, begins with one that is to be skipped.
    """
    return start[:4] == _MAGIC or _SKIPPED.match(start) is not None


def frames(path: Path, size: int) -> Frames:
    """Read the headers of all frames and blocks in the first `size` bytes. Raises OSError."""
    most = at = 0
    is_last = True
    with path.open("rb") as stream:
        while at < size:
            stream.seek(at)
            start = stream.read(_HEADER)
            if _SKIPPED.match(start) and len(start) >= _SKIPPED_HEADER:
                at += _SKIPPED_HEADER + int.from_bytes(start[4:_SKIPPED_HEADER], "little")
                continue
            try:
                has_checksum = zstandard.get_frame_parameters(start).has_checksum
                at += zstandard.frame_header_size(start)
            except zstandard.ZstdError:
                return Frames(is_cut_off=True, most_bytes=None)
            is_last = False
            while not is_last and at < size:
                stream.seek(at)
                block = int.from_bytes(stream.read(3), "little")
                is_last, kind, length = bool(block & 1), block >> 1 & 3, block >> 3
                most += length if kind < 2 else _LARGEST_BLOCK  # as it is; one byte again
                at += 3 + (1 if kind == 1 else length)
            at += 4 * has_checksum
    return Frames(is_cut_off=at > size or not is_last, most_bytes=most)
