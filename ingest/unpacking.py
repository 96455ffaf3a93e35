"""What is refused before a dump is read: bombs, damaged files, and archives of several.

A bomb is a compressed file that unpacks to far more than dumps do. Its size is estimated from what
is cheap to see, and only what looks like one is unpacked to be sure, and thrown away meanwhile.
"""

from __future__ import annotations

import zlib

from ingest import dumps
from ingest.dumps import DumpFile
from ingest.errors import UnreadableDump
from ingest.zstd_frames import frames

_GZIP_MOST = 1_032  # times its size: what the format cannot exceed
_SAMPLES, _SAMPLE_BYTES = 16, 16 * 1024
_REPEATED = 0.1  # left of a bomb that is packed again; of the most regular dumps it is a third
_READ = 1024 * 1024
_ARCHIVES = (
    ("a tar archive", 257, b"ustar"),
    ("a zip archive", 0, b"PK\x03\x04"),
    ("a zip archive", 0, b"PK\x05\x06"),
    ("a 7z archive", 0, b"7z\xbc\xaf\x27\x1c"),
    ("a rar archive", 0, b"Rar!\x1a\x07"),
    ("compressed with xz", 0, b"\xfd7zXZ\x00"),
    ("compressed with bzip2", 0, b"BZh"),
    ("compressed with lz4", 0, b"\x04\x22\x4d\x18"),
    ("compressed with gzip once more", 0, b"\x1f\x8b\x08"),
    ("compressed with zstd once more", 0, b"\x28\xb5\x2f\xfd"),
)


def refuse_bomb(file: DumpFile) -> None:
    """Raise UnreadableDump where a dump unpacks to more than its size allows."""
    if file.compression == "none" or not _may_exceed(file):
        return
    with dumps.opened(file) as stream:
        while stream.read(_READ):
            pass
        if isinstance(stream.raw, dumps.Unpacked) and stream.raw.is_too_large:
            raise UnreadableDump(str(stream.raw.fault))


def refuse_damaged(file: DumpFile) -> None:
    """Raise UnreadableDump where a gzip dump unpacks to its end and its checksum does not hold.

    The engine looks at no checksum, and any number in such a dump may be a wrong one. One that
    breaks off is another matter: what comes before the break is right.
    """
    if file.compression != "gzip":
        return
    with dumps.opened(file) as stream:
        while stream.read(_READ):
            pass
        if isinstance(stream.raw, dumps.Unpacked) and stream.raw.is_damaged:
            raise UnreadableDump(
                "its gzip checksum is not that of what it unpacks to: some of its bytes were "
                "changed since it was written. Copy it again from where it was made"
            )


def refuse_archive(head: bytes) -> None:
    """Raise UnreadableDump where the first bytes of a dump are those of an archive."""
    for kind, at, magic in _ARCHIVES:
        if head[at : at + len(magic)] == magic:
            raise UnreadableDump(
                f"it is {kind}. Unpack it first: dumps are plain, or each compressed with gzip or "
                "zstd"
            )


def _may_exceed(file: DumpFile) -> bool:
    if file.compression == "zstd":
        most = frames(file.path, file.bytes).most_bytes
        return most is None or most > file.most_unpacked
    # what is unpacked to hundreds of times its size repeats itself, and so does its packed form
    return file.bytes * _GZIP_MOST > file.most_unpacked and _repeats_itself(file)


def _repeats_itself(file: DumpFile) -> bool:
    step = max(file.bytes // _SAMPLES, _SAMPLE_BYTES)
    with file.path.open("rb") as stream:
        for at in range(0, file.bytes, step):
            stream.seek(at)
            sample = stream.read(_SAMPLE_BYTES)
            if len(zlib.compress(sample, 1)) < len(sample) * _REPEATED:
                return True
    return False
