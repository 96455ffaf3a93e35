"""Follows the warehouse: one thread reads each publish once, and keeps it until the next is read.

Why a thread, and not the scrape: a scrape has a deadline, a large warehouse has none. A scrape that
comes after a new publish wakes the thread and waits for it a little; if that is not enough, it is
served the previous publish, whole. Nothing is shown of a publish that is still being read.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb

import queries
from app import warehouse
from app.monitoring.reading import Answer, answers
from app.monitoring.snapshot import Snapshot, snapshot_of, with_watcher
from queries import watching
from queries.watching import Watching

# to whoever asks: where the warehouse lies is for the log
_NEWER = "What is published is of a newer release. Update this installation of the exporter."
_UNREADABLE = "The published warehouse cannot be opened. The exporter's log says why."
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Edition:
    """A published file. More than its name: a rebuilt warehouse may use a name again."""

    path: Path
    inode: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Pace:
    """How often, in seconds."""

    patience: float = 2  # the longest that a scrape waits for a new publish
    interval: float = 1  # between two looks at CURRENT
    retry: float = 30  # until a failed read is tried again


class Follower:
    """`start`, then `snapshot` from any thread, then `stop`."""

    def __init__(self, folder: Path, version: str, pace: Pace = Pace()) -> None:
        self._folder = folder
        self._version = version
        self._pace = pace
        self._kept = snapshot_of((), version, "The published warehouse is still being read.")
        self._shown: tuple[Snapshot, Watching | None, Snapshot] = self._kept, None, self._kept
        self._seen: Edition | None = None
        self._looks = 0
        self._retry_at: float | None = None
        self._changed = threading.Condition()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self, timeout: float = 20) -> None:
        """End the thread; a read under way is given up after the view it is at."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(timeout)

    def is_alive(self) -> bool:
        """Whether new publishes are still being followed."""
        return self._thread.is_alive()

    def snapshot(self) -> Snapshot:
        """The newest publish, or the one before where reading takes longer than a scrape may.

        With what the watcher last said of itself, if there is one.
        """
        newest = self._newest()
        said = watching.read(self._folder)
        with self._changed:
            if self._looks == 0 or newest != self._seen:
                looks = self._looks
                self._wake.set()
                self._changed.wait_for(lambda: self._looks != looks, self._pace.patience)
            return self._beside(said)

    def _beside(self, said: Watching | None) -> Snapshot:
        if said is None:
            return self._kept
        # the same object while nothing changed: its bytes are made once
        if self._shown[:2] != (self._kept, said):
            self._shown = self._kept, said, with_watcher(self._kept, said)
        return self._shown[2]

    def _newest(self) -> Edition | None:
        try:
            return _edition(self._folder)
        except (queries.NothingPublished, OSError):  # `_look` meets it again, and says which
            return None

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._look()
            self._wake.wait(self._pace.interval)
            self._wake.clear()

    def _look(self) -> None:
        newest = self._newest()
        is_due = self._retry_at is not None and time.monotonic() >= self._retry_at
        if self._looks and newest == self._seen and not is_due:
            return
        try:
            seen, answered = self._read()
        except queries.PublishedByNewerRelease as newer:
            _log.error("%s", newer)
            self._keep(newest, snapshot_of((), self._version, _NEWER), is_whole=True)
        except queries.NothingPublished as nothing:
            _log.warning("%s", nothing)
            problem = f"{nothing.remedy} The exporter's log names the folder."
            self._keep(None, snapshot_of((), self._version, problem), is_whole=True)
        except (duckdb.Error, OSError) as error:
            _log.error("the published warehouse could not be opened: %s", error)
            self._keep(newest, self._stale(), is_whole=False)
        else:
            if not self._stopping.is_set():  # else the answers may be half of what there is
                is_whole = all(answer.rows is not None for answer in answered)
                self._keep(seen, snapshot_of(answered, self._version), is_whole)

    def _read(self) -> tuple[Edition, list[Answer]]:
        edition, connection = _open(self._folder)
        started = time.perf_counter()
        with closing(connection):
            answered = []
            for answer in answers(connection):
                answered.append(answer)
                if self._stopping.is_set():
                    break
        _log.info("read %s in %.3f s", edition.path.name, time.perf_counter() - started)
        return edition, answered

    def _keep(self, seen: Edition | None, snapshot: Snapshot, is_whole: bool) -> None:
        self._retry_at = None if is_whole else time.monotonic() + self._pace.retry
        with self._changed:
            self._seen, self._kept = seen, snapshot
            self._looks += 1
            self._changed.notify_all()

    def _stale(self) -> Snapshot:
        # still a full state; that it is not the newest shows in ett_exporter_read_success
        answered = self._kept.answered
        problem = "" if answered else _UNREADABLE
        return snapshot_of(answered, self._version, problem, is_current=False)


def _edition(folder: Path) -> Edition:
    try:
        return _on_disk(queries.published(folder))
    except (queries.NothingPublished, FileNotFoundError):  # or pruned since CURRENT was read
        return _on_disk(queries.published(folder))


def _on_disk(path: Path) -> Edition:
    status = path.stat()
    return Edition(path, status.st_ino, status.st_mtime_ns)


def _open(folder: Path) -> tuple[Edition, duckdb.DuckDBPyConnection]:
    edition = _edition(folder)
    try:
        return edition, warehouse.connect(edition.path)
    except (FileNotFoundError, duckdb.Error):
        newer = _edition(folder)
        if newer == edition:
            raise
        return newer, warehouse.connect(newer.path)
