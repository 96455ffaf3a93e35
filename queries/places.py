"""Where the warehouse is: what `--warehouse` and ETT_WAREHOUSE name, alike for every command."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path


def warehouse() -> Path:
    """The warehouse's folder, where no argument names it. An empty ETT_WAREHOUSE names nothing."""
    return Path(os.environ.get("ETT_WAREHOUSE") or "warehouse")


def add_warehouse(parser: ArgumentParser) -> None:
    """Add `--warehouse DIR`, a Path."""
    parser.add_argument(
        "--warehouse",
        type=_folder,
        default=warehouse(),
        metavar="DIR",
        help="the warehouse's folder (default: $ETT_WAREHOUSE, else ./warehouse)",
    )


def _folder(text: str) -> Path:
    if not text:
        # a variable that is not set; the folder of the moment would be filled with its files
        raise ArgumentTypeError("it names no folder: is a variable empty?")
    return Path(text)
