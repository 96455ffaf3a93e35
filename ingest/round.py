"""One stretch of the watcher's work on an open warehouse: batches, and a publish for each stretch.

What one file holds never stops the others; what the disk says stops the round, and is tried anew.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import duckdb

from ingest import facts, loader, plan, publish
from ingest.arrivals import Sight, is_there
from ingest.ending import Ending
from ingest.errors import UnreadableDump
from ingest.follow import Decision, Follower, Handled, moved, read_again
from ingest.ledger import Incoming
from ingest.loader import Loaded
from ingest.misnamed import Misnamed
from ingest.news import News
from ingest.warehouse import Warehouse, scratch, wants_memory
from ingest.words import counted

if TYPE_CHECKING:
    from ingest.watch import Watch

# parsing a file that must be read anew as a whole takes at most this part of the time
_SHARE = 0.1
_CLOSED_SECONDS = 60.0  # until a file that could not be opened is tried again
# what a parser can meet in the bytes of one file; a disk's own trouble is not among it
_OF_ONE_FILE = (
    UnreadableDump, ArithmeticError, LookupError, ValueError, RecursionError,
    duckdb.DataError, duckdb.ProgrammingError, duckdb.IntegrityError, duckdb.NotSupportedError,
)  # fmt: skip
_LOG = logging.getLogger("ingest")


@dataclass(slots=True)
class _Tally:
    """What was loaded since the last publish."""

    events: int = 0
    rejected: int = 0
    files: set[str] = field(default_factory=set)
    jobs: set[int] = field(default_factory=set)


class Round:
    """`load` what is due; publishes at most every `publish_every`. `tell` is called meanwhile."""

    def __init__(
        self, opened: Warehouse, watch: Watch, news: News, stop: Ending, tell: Callable[[], None]
    ) -> None:
        self._warehouse = opened
        self._watch = watch
        self._news = news
        self._stop = stop
        self._tell = tell
        self._moment = watch.moment()
        self._tally = _Tally()
        copies = scratch(opened.folder) / "in"
        self._follower = Follower(
            opened.connection,
            opened.folder,
            copies,
            watch.forced,
            watch.reading.cluster,
            watch.settings.unpacked_ratio,
            watch.reading.training_logs,
        )
        self._misnamed = Misnamed(
            opened.connection,
            opened.folder,
            watch.settings.unpacked_ratio,
            watch.reading,
        )
        shutil.rmtree(copies, ignore_errors=True)  # of one that was killed
        copies.mkdir(parents=True)

    def load(self, due: Sequence[Sight], *, is_end: bool = False) -> bool:
        """Load these files, piece by piece where they grow, until they are done or it must end.

        Returns whether all that is loaded is published: after a long load it may be too early.
        """
        every = self._watch.settings.publish_every.total_seconds()
        began = time.monotonic()
        published: float | None = None
        if not self._is_known():
            due = self._news.due()
        while due:
            more: list[Sight] = []
            for batch in self._batches(due, more, is_end):
                more += self._load(batch)
                if self._stop.is_set() and not is_end:
                    break
                if time.monotonic() - (published or began) >= every:
                    self._publish()
                    published = time.monotonic()
                self._tell()
            due = [] if self._stop.is_set() or is_end else more
        self._is_known()
        shutil.rmtree(self._follower.copies, ignore_errors=True)
        is_early = published is not None and not self._stop.is_set()
        if is_early and not publish.is_published(self._warehouse):
            return False
        self._publish()
        return True

    def _is_known(self) -> bool:
        """Whether the warehouse is the one that the news is of, in the state it was left in."""
        row = self._warehouse.connection.execute("select publication from meta").fetchone()
        assert row is not None
        status = (self._warehouse.folder / "warehouse.duckdb").stat()
        return self._news.is_of((status.st_dev, status.st_ino), int(row[0]))

    def _batches(
        self, due: Sequence[Sight], more: list[Sight], is_end: bool
    ) -> Iterator[list[Decision]]:
        decided: dict[int, Decision] = {}

        def incoming() -> Iterator[Incoming]:
            for decision in self._decisions(due, more, is_end):
                assert decision.incoming is not None
                decided[id(decision.incoming)] = decision
                yield decision.incoming

        for batch in plan.batches(incoming(), self._watch.settings.storage.memory_bytes):
            yield [decided.pop(id(one)) for one in batch]

    def _decisions(
        self, due: Sequence[Sight], more: list[Sight], is_end: bool
    ) -> Iterator[Decision]:
        """What is to be loaded. Of two files with one content or one row, the second comes later:
        by then the ledger knows the first.
        """
        contents: set[tuple[str, str]] = set()
        rows: set[int] = set()
        for sight in due:
            if self._stop.is_set() and not is_end:
                return
            self._tell()  # thousands of files are read before the first batch of them is
            before = self._news.handled.get(sight.key)
            is_resting = is_end or self._news.is_resting(sight)
            decision = self._follower.decide(sight, before, is_resting=is_resting)
            one = decision.incoming
            if one is None:
                self._keep(decision)
                continue
            follows = one.follows
            row = follows.file_no if follows is not None else None
            by_path = one.file.place if one.format.is_named_by_path else ""
            content = (one.fingerprint.sha256, by_path)
            if row in rows or content in contents:
                more.append(sight)
                continue
            contents.add(content)
            if row is not None:
                rows.add(row)
            # before it: whoever ends between two batches finds it new again, and the rest of them
            yield from filter(None, map(read_again, self._misnamed.beside(one)))
            yield decision

    def _load(self, batch: Sequence[Decision]) -> list[Sight]:
        """Load a batch. Returns the files of which another piece can be loaded at once."""
        batch = [one for one in batch if self._is_there(one)]
        if not batch:
            return []
        parsed = [time.monotonic()]

        def advance(_: int) -> None:
            parsed.append(time.monotonic())
            self._tell()

        try:
            loaded = self._load_together(batch, advance)
        except _OF_ONE_FILE as error:
            if len(batch) == 1:
                self._fail(batch[0], f"{batch[0].then.name}: {error}")
                return []
            return [sight for one in batch for sight in self._load([one])]
        except duckdb.OutOfMemoryException as error:
            if (why := wants_memory(error)) is None:
                raise
            if len(batch) == 1:
                self._put_aside(batch[0], why)
                return []
            return [sight for one in batch for sight in self._load([one])]
        seconds = parsed[-1] - parsed[0]
        total = sum(one.incoming.file.bytes for one in batch if one.incoming) or 1
        for decision, done in zip(batch, loaded, strict=True):
            self._note(decision, done, seconds / total)
        return [
            one.then.sight
            for one, done in zip(batch, loaded, strict=True)
            if one.then.has_more and done.unreadable is None
        ]

    def _is_there(self, decision: Decision) -> bool:
        """Whether the file can still be read by its path; else it is looked at again. Of a piece
        the copy is read.
        """
        then = decision.then
        if then.place is not None or is_there(then.sight):
            return True
        self._news.keep(moved(then.sight, self._news.handled.get(then.sight.key)))
        return False

    def _load_together(
        self, batch: Sequence[Decision], advance: Callable[[int], None]
    ) -> list[Loaded]:
        watch = self._watch
        loaded, jobs = loader.load_batch(
            self._warehouse,
            [one.incoming for one in batch if one.incoming is not None],
            watch.reading,
            watch.settings,
            self._moment,
            advance,
        )
        self._tally.jobs |= jobs
        return loaded

    def _note(self, decision: Decision, loaded: Loaded, seconds_a_byte: float) -> None:
        assert decision.incoming is not None
        then, file = decision.then, decision.incoming.file
        if loaded.unreadable is not None:
            self._fail(decision, loaded.unreadable)
            return
        self._tally.events += loaded.events
        self._tally.rejected += sum(loaded.rejected.values())
        self._tally.files.add(loaded.name)
        if then.place is not None:
            file.path.unlink(missing_ok=True)
            if then.place.file_no is None:
                then = replace(then, place=replace(then.place, file_no=loaded.file_no))
        else:
            self._news.put_off(then.sight.key, file.bytes * seconds_a_byte / _SHARE)
        self._news.keep(then)

    def _fail(self, decision: Decision, why: str) -> None:
        """Nothing of it is loaded: once it changes it is looked at as if for the first time."""
        if not self._is_there(decision):
            return
        _LOG.warning("nothing loaded: %s", why)
        then = decision.then
        self._news.keep(Handled(then.sight, then.name))

    def _put_aside(self, decision: Decision, why: str) -> None:
        """Nothing of it is loaded, and it may be at another time: others are not held up by it."""
        name = decision.then.name
        if self._news.is_news(name, "takes more memory"):
            _LOG.warning("left aside %s for now: %s", name, why)
        self._keep(Decision(Handled(decision.then.sight, name, is_closed=True)))

    def _keep(self, decision: Decision) -> None:
        if decision.why is not None and self._news.is_news(decision.then.name, decision.why):
            _LOG.warning("left aside %s: it %s", decision.then.name, decision.why)
        if decision.then.is_closed:
            self._news.put_off(decision.then.sight.key, _CLOSED_SECONDS)
        self._news.keep(decision.then)

    def _publish(self) -> None:
        began = time.monotonic()
        if publish.is_published(self._warehouse):
            self._news.settle()
            return
        publish.publish(self._warehouse, self._watch.settings, self._watch.moment().now)
        self._news.settle()
        tally, self._tally = self._tally, _Tally()
        jobs = facts.still_jobs(self._warehouse.connection, tally.jobs)
        _LOG.info(
            "published %s of %s from %s, %s set aside, in %.1f s; waiting: %s",
            counted(tally.events, "event"),
            counted(len(jobs), "job"),
            counted(len(tally.files), "file"),
            counted(tally.rejected, "line"),
            time.monotonic() - began,
            counted(self._news.backlog(), "file"),
        )
