"""Whether a warehouse holds the sample fleet, other dumps, or both: their numbers would mix.

`python -m sample_data.beside run` fails where the sample fleet must not be loaded; `... ingest`
says where it was loaded before.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import duckdb

from queries import places, published
from queries.published import NothingPublished

_OF_THE_SAMPLE = re.compile(r"(^|/)\.sample/events-[0-9-]+\.jsonl$")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is to be known; 1: `run` must leave the sample fleet out."""
    parser = argparse.ArgumentParser(prog="sample_data.beside", description=__doc__)
    parser.add_argument("before", choices=("run", "ingest"), help="what make is asked for")
    before = parser.parse_args(arguments).before
    folder = places.warehouse()
    kinds = {bool(_OF_THE_SAMPLE.search(name)) for name in _dumps(folder)}
    if before == "run" and False in kinds:
        print(
            f"{folder} holds dumps of your own: the sample fleet is left out, whose numbers would "
            "mix with theirs. A folder for it alone: make run ETT_WAREHOUSE=DIR",
            file=sys.stderr,
        )
        return 1
    if before == "ingest" and kinds == {True, False}:
        print(
            f"{folder} holds the sample fleet as well, and every number is of both. Your dumps "
            "alone: make ingest ETT_WAREHOUSE=DIR LOGS=..., then make serve ETT_WAREHOUSE=DIR",
            file=sys.stderr,
        )
    return 0


def _dumps(folder: Path) -> list[str]:
    """The dumps that a published warehouse holds, by name; none where that cannot be read."""
    try:
        with duckdb.connect(str(published(folder)), read_only=True) as reader:
            told = reader.execute("select file from ingested_files").fetchall()
    except (NothingPublished, OSError, duckdb.Error):  # whoever reads it next says why
        return []
    return [name for (name,) in told]


if __name__ == "__main__":
    raise SystemExit(main())
