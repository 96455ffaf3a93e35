"""The yardstick of compressed dumps: unpack a file, and do nothing with it."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import zstandard

_BLOCK = 1 << 20


def main(packed: Path) -> None:
    """Read a gzip or zstd file to its end."""
    with packed.open("rb") as file:
        stream = (
            gzip.GzipFile(fileobj=file)
            if packed.suffix == ".gz"
            else zstandard.ZstdDecompressor().stream_reader(file)
        )
        while stream.read(_BLOCK):
            pass


if __name__ == "__main__":
    main(Path(sys.argv[1]))
