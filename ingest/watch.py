"""`ett-ingest --watch`: loads what is there, then what comes, until it is told to end.

The warehouse is held only while something is loaded and published: other commands run in between.
"""

from __future__ import annotations

import logging
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import duckdb

from ingest import arrivals, facts, warehouse
from ingest.collectors.base import Reading
from ingest.ending import Ending
from ingest.errors import IngestError, UnusableArguments, WarehouseBusy, WarehouseUnusable
from ingest.formats import Format
from ingest.moment import Moment
from ingest.news import News
from ingest.notices import Notices
from ingest.round import Round
from ingest.settings import Settings, as_text
from ingest.settings_file import SettingsFile
from ingest.troubles import Troubles
from ingest.warehouse import Warehouse
from ingest.words import counted, on_one_line
from queries import watching

# a supervisor waits longer, and what is not loaded by then is loaded at the next start
_LAST_WAIT_SECONDS = 60.0
_RESTS = 2  # times `publish_every` without a change: then a last line without its end counts
_LOG = logging.getLogger("ingest")


@dataclass(frozen=True, slots=True)
class Watch:
    """What the user asked to watch, and how. `moment` asks the clock."""

    arguments: tuple[str, ...]
    folder: Path
    settings: Settings
    reading: Reading
    forced: Format | None
    moment: Callable[[], Moment]


def run(watch: Watch) -> None:
    """Follow the files until SIGTERM or SIGINT; the batch under way is finished first.

    Raises WarehouseUnusable where the first look finds no warehouse that can be written, or one
    that another watches. Later the same is told and tried again: a disk may have room tomorrow.
    """
    logging.getLogger("watchfiles").setLevel(logging.WARNING)  # else a line for every change
    _LOG.addFilter(on_one_line)
    try:
        with _told_to_end() as stop:
            _Watcher(watch, stop).run()
    finally:
        _LOG.removeFilter(on_one_line)


@contextmanager
def _told_to_end() -> Iterator[Ending]:
    stop = Ending()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Watcher:
    """Looks, loads, publishes; `run` returns when it is told to end."""

    def __init__(self, watch: Watch, stop: Ending) -> None:
        self._watch = watch
        self._settings_file = SettingsFile(watch.settings)
        self._stop = stop
        self._every = watch.settings.publish_every.total_seconds()
        self._news = News(_RESTS * self._every)
        self._succeeded_at: float | None = None
        # one that was killed is not forgotten: until this one succeeds, nothing was loaded since
        killed = watching.read(watch.folder)
        self._behind_since = (killed and killed.succeeded_at) or time.time()
        # at first in any case: whether the warehouse can be written is known at once
        self._must_open = True
        self._troubles = Troubles()
        self._claim: IO[str] | None = None
        self._written = -math.inf  # not 0: what tells this time may have begun with the machine

    def run(self) -> None:
        for argument in self._watch.arguments:
            if arrivals.is_missing(argument):
                _LOG.info("%s is not there yet: waiting for it", argument)
        notices = Notices(self._watch.arguments, self._stop)
        is_due, not_before = True, 0.0
        try:
            while not self._stop.is_set():
                if is_due and time.monotonic() >= not_before:
                    is_due = self._look()
                    not_before = time.monotonic() + self._every
                self._tell()
                is_due |= notices.wait()
        finally:
            notices.close()
        self._end()
        if self._claim is not None:
            self._claim.close()

    def _look(self) -> bool:
        """Load and publish what is new. Returns whether to look again though nothing changes."""
        self._see()
        self._read_settings()
        due = self._news.due()
        is_done = self._load(due) if due or self._must_open else True
        self._must_open = not is_done
        if is_done and not self._stop.is_set():
            self._succeeded_at = time.time()
            self._troubles.are_over("load")
        return not is_done or self._news.is_waiting()

    def _see(self) -> None:
        known = [one.sight for one in self._news.handled.values()]
        self._news.see(arrivals.look(self._watch.arguments, known, self._leave_out))

    def _leave_out(self, path: Path, why: str) -> None:
        if self._news.is_news(str(path), why):
            _LOG.warning("left aside %s: it %s", path, why)

    def _read_settings(self) -> None:
        """Take the settings as their file has them now."""
        settings = self._settings_file.changed()
        if settings is None:
            return
        before = self._watch.reading
        reading = replace(before, identity=settings.identity, training_logs=settings.training_logs)
        self._watch = replace(self._watch, settings=settings, reading=reading)
        self._must_open = True
        self._news.look_again()
        if reading.training_logs != before.training_logs:
            # what was left aside may be a log now; the ledger knows what was not
            for key in [key for key, one in self._news.handled.items() if one.place is None]:
                del self._news.handled[key]

    def _end(self) -> None:
        """Take what growing logs hold by now, half lines too: those are read again at the next."""
        self._see()
        due = self._news.followed()
        if due or self._must_open:
            self._load(due, is_end=True)
        self._forget()
        left = self._news.backlog()
        _LOG.info("ended%s", f"; left for the next start: {counted(left, 'file')}" if left else "")

    def _load(self, due: list[arrivals.Sight], *, is_end: bool = False) -> bool:
        """Returns whether all of it is loaded and published."""
        watch = self._watch
        try:
            storage = watch.settings.storage
            patience = _LAST_WAIT_SECONDS if is_end else 0
            self._be_the_only_one()
            with warehouse.opened(watch.folder, lambda _: None, patience, storage) as opened:
                self._be_the_only_one()  # the folder may be new
                self._tell()  # what follows may take hours
                facts.prepare(opened)
                self._follow_settings(opened)
                round_ = Round(opened, self._watch, self._news, self._stop, self._tell)
                return round_.load(due, is_end=is_end)
        except WarehouseBusy as error:
            self._troubles.tell("load", error, f"waiting: {error}")
            return False
        except (IngestError, duckdb.Error, OSError) as error:
            if self._succeeded_at is None and isinstance(error, WarehouseUnusable):
                raise
            said = warehouse.wants_memory(error) or str(error).rstrip().removesuffix(".")
            then = "It is tried again; nothing is lost."
            self._troubles.tell("load", error, f"{watch.folder}: {said}. {then}")
            return False

    def _be_the_only_one(self) -> None:
        """As soon as there is a folder to say so in, and before anything is said of how it goes."""
        if self._claim is None and self._watch.folder.is_dir():
            self._claim = warehouse.claimed(self._watch.folder)

    def _follow_settings(self, opened: Warehouse) -> None:
        """Let the settings hold for all that was loaded. Raises UnusableArguments where it was
        loaded under others, and the file that may hold them is broken.
        """
        # who published since the last look may have read them then
        self._read_settings()
        settings, problem = self._watch.settings, self._settings_file.problem
        [(told,)] = opened.connection.execute("select settings from meta").fetchall()
        is_of_others = told not in (None, as_text(settings))
        if is_of_others and problem is not None:
            raise UnusableArguments(
                f"it was published under other settings than those of before, and {problem}. "
                "Mend that file: until then nothing is loaded"
            )
        facts.follow(opened, settings)
        if is_of_others:
            _LOG.info("%s was of other settings: all is computed anew", opened.folder)

    def _tell(self) -> None:
        """Say on disk how it goes, as often as may be published."""
        if time.monotonic() - self._written < self._every:
            return
        self._written = time.monotonic()
        said = watching.Watching(
            time.time(),
            self._succeeded_at or self._behind_since,
            self._news.lag_seconds(),
            self._news.backlog(),
        )
        try:
            watching.write(self._watch.folder, said)
            self._troubles.are_over("tell")
        except OSError as error:
            place = watching.place(self._watch.folder)
            self._troubles.tell("tell", error, f"{place} cannot be written: {error}")

    def _forget(self) -> None:
        try:
            watching.forget(self._watch.folder)
        except OSError as error:
            place = watching.place(self._watch.folder)
            then = "Remove it: until then it looks as if this had stalled"
            _LOG.warning("%s cannot be removed: %s. %s.", place, error, then)
