"""Where the warehouse is: what `--warehouse` and ETT_WAREHOUSE name, alike for every command."""

from __future__ import annotations

import errno
import os
import shlex
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path


def warehouse() -> Path:
    """The warehouse's folder, where no argument names it. An empty ETT_WAREHOUSE names nothing."""
    # no shell has put a home for its ~, and DuckDB would put one for that of its own file alone
    return Path(os.path.expanduser(os.environ.get("ETT_WAREHOUSE") or "warehouse"))


def ingest_command(folder: Path) -> str:
    """What brings dumps into this folder: their names are left to whoever copies it."""
    # where another is meant for all, its name is told: a face hands on what it was given by it
    if len({os.path.realpath(each) for each in ("warehouse", warehouse(), folder)}) == 1:
        return "`make ingest LOGS=...`"
    return f"`ett-ingest PATH --warehouse {shlex.quote(str(folder))}`"


def leads_to_itself(path: Path) -> bool:
    """Whether a path, or a folder on its way, is a link that no file is behind but links."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def add_warehouse(parser: ArgumentParser) -> None:
    """Add `--warehouse DIR`, a Path."""
    parser.add_argument(
        "--warehouse",
        type=_folder,
        default=str(warehouse()),  # a text: it is looked at as what is named is
        metavar="DIR",
        help="the warehouse's folder (default: $ETT_WAREHOUSE, else ./warehouse)",
    )


def _folder(text: str) -> Path:
    if not text:
        # a variable that is not set; the folder of the moment would be filled with its files
        raise ArgumentTypeError("it names no folder: is a variable empty?")
    text = os.path.expanduser(text)  # shells leave that of --warehouse=~/ett as it is
    if str(Path(text)).startswith("~"):
        raise ArgumentTypeError(f"{text} begins with a ~ of nobody's home: write its whole path")
    if leads_to_itself(Path(text)):
        raise ArgumentTypeError(f"{text} is a link that leads to itself: name another folder")
    if os.path.isfile(text):
        raise ArgumentTypeError(f"{text} is a file: name the folder that holds the warehouse")
    return Path(text)
