"""A log that was moved aside keeps being the same dump: `x.log`, `x.log.1`, `x.log.2.gz`.

Its earlier names, and whether a compressed file holds what is loaded already.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

from ingest import dumps

_BLOCK = 1024 * 1024
# before a number or a day, before the ending of a compression
_MOVED = re.compile(r"((.+?)(?:[.-]\d{8}(?:[-T_]?\d{4,6})?|\.\d{1,3})?)(?:\.(?:gz|gzip|zst|zstd))?")


def names_of(file: dumps.DumpFile) -> list[str]:
    """A file's own names, and those it may have had before it was compressed and rotated."""
    own = own_names(file)
    return list(dict.fromkeys([*own, *(earlier for name in own for earlier in names(name))]))


def own_names(file: dumps.DumpFile) -> list[str]:
    """The name that the ledger has for it, and the one that it was given: older releases' name."""
    return list(dict.fromkeys([file.place, file.name]))


def names(name: str) -> list[str]:
    """A name, and those that it may have been before it was compressed and rotated."""
    match = _MOVED.fullmatch(name)
    return list(dict.fromkeys([name, *filter(None, match.groups())])) if match else [name]


def unpacked(file: dumps.DumpFile, lengths: Collection[int]) -> tuple[dict[int, str], int | None]:
    """The sha256 of a compressed file's content at these lengths; and where it ends, if not later.

    Raises UnreadableDump if it cannot be opened.
    """
    found: dict[int, str] = {}
    digest = hashlib.sha256()
    done = 0
    with dumps.opened(file) as stream:
        for length in sorted(lengths):
            while done < length and (block := stream.read(min(_BLOCK, length - done))):
                digest.update(block)
                done += len(block)
            if done == length:
                found[length] = digest.hexdigest()
        return found, None if stream.read(1) else done
