"""Which files lie behind watched paths now: late files, folders and patterns may come to be later.

Reads no file; `ingest.follow` decides what of a file is new.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from ingest.dumps import leads_out, walk

Key = tuple[int, int]  # device and inode: what a file stays when it is renamed
Tell = Callable[[Path, str], None]  # what is left out, and why

_MAGIC = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Sight:
    """A file as it was seen: where, which, how long, and when it was last written.

    `behind`: its own path, where a link was named. The link may lead to another one later.
    """

    path: Path
    key: Key
    bytes: int
    modified_ns: int
    behind: Path | None = None

    def is_as(self, other: Sight) -> bool:
        """Whether it is the same file and nobody wrote to it in between. It may have moved."""
        return (self.key, self.bytes, self.modified_ns) == (
            other.key,
            other.bytes,
            other.modified_ns,
        )


def look(
    arguments: Iterable[str], known: Iterable[Sight] = (), tell: Tell = lambda path, why: None
) -> dict[Key, Sight]:
    """Every file behind the paths, folders and patterns, each once, in a stable order.

    A known file that left them for another name in its folder is still seen, and so is one that a
    link no longer leads to: a log that is rotated may yet hold lines that nobody read.
    """
    seen: dict[Key, Sight] = {}
    for argument in arguments:
        for sight in _behind(argument, tell):
            seen.setdefault(sight.key, sight)
    gone = [one for one in known if one.key not in seen]
    for sight in _moved(gone):
        seen.setdefault(sight.key, sight)
    return seen


def is_there(sight: Sight) -> bool:
    """Whether its path still names the file: a log that is rotated leaves its name to another."""
    status = _status(sight.path)
    return status is not None and (status.st_dev, status.st_ino) == sight.key


def folders(arguments: Iterable[str]) -> dict[str, Key]:
    """The folders in which something of this can come to be, of those that are there by now.

    A path that names a file is not among them: its folder may hold anything.
    """
    found: dict[str, Key] = {}
    for argument in arguments:
        place = argument if os.path.lexists(argument) else _fixed(argument)
        status = _status(place)
        if status is not None and S_ISDIR(status.st_mode):
            found[place] = (status.st_dev, status.st_ino)
    return found


def is_missing(argument: str) -> bool:
    """Whether a path or pattern names nothing yet."""
    return not os.path.lexists(argument) and not glob.glob(argument, recursive=True)


def _fixed(argument: str) -> str:
    """The part of a pattern before the first folder with a wildcard."""
    parts = Path(argument).parts
    place = next((at for at, part in enumerate(parts) if _MAGIC & set(part)), None)
    return argument if place is None else str(Path(*parts[:place]))


def _behind(argument: str, tell: Tell) -> Iterator[Sight]:
    # a name that is there is no pattern, whatever its characters
    named = [argument] if os.path.lexists(argument) else sorted(glob.glob(argument, recursive=True))
    for name in named:
        status = _status(name)
        if status is None:
            continue
        if S_ISDIR(status.st_mode):
            yield from _below(name, tell)
        elif S_ISREG(status.st_mode):
            behind = Path(os.path.realpath(name)) if os.path.islink(name) else None
            yield _sight(Path(name), status, behind)


def _below(folder: str, tell: Tell) -> Iterator[Sight]:
    def left_out(error: OSError) -> None:
        # one that goes away is none to speak of
        if not isinstance(error, FileNotFoundError):
            tell(Path(error.filename), f"cannot be read: {error.strerror}")

    # what is left out may be back at the next look
    for parent, folders, names in walk(folder, left_out):
        linked = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        for name in sorted(names + linked):
            if name.startswith("."):
                continue
            path = Path(parent, name)
            if os.path.islink(path) and leads_out(path, Path(folder)):
                tell(path, "is a link out of its folder. Name it to read it")
                continue
            status = _status(path)
            if status is not None and S_ISREG(status.st_mode):
                yield _sight(path, status)


def _moved(gone: Sequence[Sight]) -> Iterator[Sight]:
    wanted: dict[Path, set[int]] = {}
    for one in gone:
        for path in filter(None, (one.path, one.behind)):
            wanted.setdefault(path.parent, set()).add(one.key[1])
    keys = {one.key for one in gone}
    for folder, inodes in wanted.items():
        try:
            with os.scandir(folder) as entries:
                paths = [Path(entry.path) for entry in entries if entry.inode() in inodes]
        except OSError:
            continue
        for path in sorted(paths):
            status = _status(path)
            # a folder may get the number of a file that was deleted
            if status is None or not S_ISREG(status.st_mode):
                continue
            if (status.st_dev, status.st_ino) in keys:
                yield _sight(path, status)


def _status(path: str | Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def _sight(path: Path, status: os.stat_result, behind: Path | None = None) -> Sight:
    key = status.st_dev, status.st_ino
    return Sight(path, key, status.st_size, status.st_mtime_ns, behind)
