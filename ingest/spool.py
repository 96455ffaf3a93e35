"""A folder outside the warehouse for what one run keeps for itself, such as its standard input.

Gone when the run ends. One that was killed leaves its own: the next run removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from ingest.errors import UnusableArguments

_PREFIX = "ett-spool-"
_NOWHERE = Path(os.devnull, "spool")


@contextmanager
def made(*, is_needed: bool) -> Iterator[Path]:
    """A new folder in the system's temporary one, for as long as this process needs it.

    Where it needs none, a path at which nothing can be: a disk that is full then stops nobody.
    Raises UnusableArguments where none can be made.
    """
    with suppress(OSError):  # no folder is usable: then there is none of a dead run either
        _remove_dead()
    if not is_needed:
        yield _NOWHERE
        return
    try:
        folder, handle = _held_folder()
    except OSError as error:
        raise UnusableArguments(
            f"no temporary folder can be made: {error.strerror or error}. "
            "Free space, or let TMPDIR name a folder that can be written."
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _held_folder() -> tuple[Path, int]:
    while True:
        folder = Path(mkdtemp(prefix=_PREFIX))
        handle = _hold(folder)
        # another run may take it for a dead one's before it is held
        if handle is not None and folder.exists():
            return folder, handle


def _remove_dead() -> None:
    """Remove the folders of runs that are no more: whoever lives holds its own."""
    for folder in Path(gettempdir()).glob(f"{_PREFIX}*"):
        handle = _hold(folder)
        if handle is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)


def _hold(folder: Path) -> int | None:
    """Hold a folder until the handle is closed, or the process ends. None: others hold it."""
    handle = None
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held, gone by now, or another user's
        if handle is not None:
            os.close(handle)
        return None
    return handle
