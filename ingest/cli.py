"""`ett-ingest`: dumps in, warehouse out, while dashboard and exporter keep running."""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb

from ingest import calendar, dumps, facts, loader, plan, publish, spool, warehouse
from ingest.arguments import seconds
from ingest.collectors.base import Reading
from ingest.errors import IngestError, UnusableArguments, WarehouseUnusable
from ingest.formats import FORMATS, Format
from ingest.known import Known
from ingest.ledger import Incoming
from ingest.misnamed import Misnamed
from ingest.moment import Moment, microseconds
from ingest.progress import Progress
from ingest.settings import Settings, found_settings
from ingest.summary import FewOfAKind, Summary
from ingest.words import counted, on_one_line, shown
from queries.damage import is_damage
from queries.interrupts import as_keyboard_interrupt
from queries.places import add_warehouse

PUBLISH_EVERY_SECONDS = 15.0
# of a long ingest at the most: each publication reads what there is by then, not what is new
PUBLISHING_SHARE = 0.1

# a full disk or a lost permission; everything else that the engine says is a fault of this program
_REFUSALS = ("No space left on device", "Permission denied", "Read-only file system")
_UNWRITABLE = (duckdb.IOException, duckdb.FatalException, duckdb.OutOfMemoryException)

_LOG = logging.getLogger("ingest")
_EXAMPLES = """\
examples:
  ett-ingest dumps/                          every dump below a folder
  ett-ingest 'logs/*.jsonl.gz' more.jsonl    patterns and files
  zcat old.gz | ett-ingest -                 standard input
  ett-ingest --timezone Europe/Berlin --cluster alps sacct.txt
  ett-ingest --dry-run dumps/                what would happen
  ett-ingest --watch /var/log/fleet/         what is there, then what comes, until Ctrl-C

A dump is known by its content: ingesting it again changes nothing. Lines that cannot be read are
set aside with file, line number and reason; the good lines around them load.
exit status: 0 loaded, 1 more lines set aside than --max-rejected allows,
             2 unusable arguments, or nothing that can be read or written: of what was given
               no file is a dump, or no line is an event; or a dump was left out for want of memory
             130 stopped by Ctrl-C
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    chosen = _parser().parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    began = time.monotonic()
    warnings = FewOfAKind()
    if not (chosen.watch or chosen.verbose):
        _LOG.addFilter(warnings)
    if not chosen.watch:
        _LOG.addFilter(on_one_line)
    try:
        with as_keyboard_interrupt():
            if chosen.watch:
                _watch(chosen)
                return 0
            summary = _ingest(chosen)
    except IngestError as error:
        print(f"ett-ingest: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "ett-ingest: stopped. What was committed stays; run it again to finish.",
            file=sys.stderr,
        )
        return 130
    finally:
        _LOG.removeFilter(warnings)
        _LOG.removeFilter(on_one_line)
    _report(summary, time.monotonic() - began, warnings.held_back(), chosen)
    return _status(summary, chosen.max_rejected)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ett-ingest",
        description="Load job log dumps into the warehouse and publish it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="file, folder, pattern, or -")
    parser.add_argument(
        "--format",
        default="auto",
        choices=["auto", *FORMATS],
        help="the dumps' format (default: told by content)",
    )
    parser.add_argument(
        "--cluster",
        type=_name,
        help="which cluster the dumps are from, for lines that do not say, and for the clock that "
        "tells running from lost: clusters that are not named may share one",
    )
    parser.add_argument(
        "--timezone",
        default="UTC",
        metavar="ZONE",
        help="zone of times that carry none, such as Europe/Berlin (default: UTC)",
    )
    parser.add_argument(
        "--as-of",
        metavar="TIME",
        help="the moment these dumps reach to, RFC 3339: the clock that tells running from lost",
    )
    add_warehouse(parser)
    parser.add_argument(
        "--max-rejected",
        type=_count,
        metavar="N",
        help="exit with 1 if more lines than this are set aside (default: no limit)",
    )
    parser.add_argument(
        "--wait",
        type=seconds,
        default=600,
        metavar="SECONDS",
        help="how long to wait for another ingest to finish (default: 600)",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="then follow files that grow, come and are rotated; what is named may come later",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="name every file that was left aside, and why"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what would happen, change nothing; jobs are counted by name: which of them are "
        "one, and where sources contradict each other, shows once they are loaded",
    )
    return parser


def _name(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("a name must not be empty")
    return text


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no count of lines")
    return int(text)


def _watch(chosen: argparse.Namespace) -> None:
    from ingest import watch  # with the library that watches: every other start goes without

    if "" in chosen.paths:
        raise UnusableArguments("a path is empty. Give a file, a folder or a pattern.")
    for given, why in (
        (chosen.dry_run, "--dry-run ends, --watch does not"),
        (chosen.max_rejected is not None, "--max-rejected is about the end, which never comes"),
        (chosen.as_of is not None, "--as-of is a moment, and the files go on"),
        ("-" in chosen.paths, "standard input cannot be watched"),
    ):
        if given:
            raise UnusableArguments(f"{why}. Leave one of them out.")
    settings = found_settings()
    watch.run(
        watch.Watch(
            tuple(dict.fromkeys(chosen.paths)),
            chosen.warehouse,
            settings,
            _reading(chosen, settings),
            _forced(chosen),
            lambda: _moment(None),
        )
    )


def _reading(chosen: argparse.Namespace, settings: Settings) -> Reading:
    return Reading(
        chosen.cluster,
        _zone(chosen.timezone),
        identity=settings.identity,
        training_logs=settings.training_logs,
    )


def _forced(chosen: argparse.Namespace) -> Format | None:
    return None if chosen.format == "auto" else FORMATS[chosen.format]


def _ingest(chosen: argparse.Namespace) -> Summary:
    _refuse(chosen.warehouse)
    settings = found_settings()
    moment = _moment(chosen.as_of)
    reading, forced = _reading(chosen, settings), _forced(chosen)
    # a dry run that finds no warehouse takes one of its own
    is_own = chosen.dry_run and not (chosen.warehouse / "warehouse.duckdb").exists()
    with spool.made(is_needed=is_own or "-" in chosen.paths) as place:
        files, unreadable = dumps.find(
            chosen.paths, place, chosen.warehouse, settings.unpacked_ratio
        )
        folder = place / "warehouse" if is_own else chosen.warehouse
        summary = Summary(unreadable=unreadable)
        try:
            with warehouse.opened(
                folder,
                _say_waiting,
                chosen.wait,
                settings.storage,
                may_upgrade=not chosen.dry_run,
            ) as opened:
                run = _Run(opened, settings, reading, moment, forced, chosen.dry_run)
                run.load(files, summary)
        except duckdb.InterruptException:
            raise
        except (duckdb.Error, OSError) as error:
            raise WarehouseUnusable(_why_it_stopped(folder, error)) from None
    return summary


def _refuse(folder: Path) -> None:
    try:
        warehouse.refuse_backup(folder)
        warehouse.refuse_lost(folder)
    except OSError as error:  # a folder that is closed to who asks
        raise WarehouseUnusable(_why_it_stopped(folder, error)) from None


def _why_it_stopped(folder: Path, error: Exception) -> str:
    if is_damage(error):
        return warehouse.damaged(folder, error)
    if memory := warehouse.wants_memory(error):
        return (
            f"{folder}: {memory}, then run the same command again. What was published before still "
            "stands."
        )
    # what the disk refuses at the end of a transaction comes as that transaction's error
    is_refused = any(why in str(error) for why in _REFUSALS)
    if is_refused or isinstance(error, (*_UNWRITABLE, OSError)):
        return (
            f"{folder} could not be written: {error}. What was published before still stands; "
            "free space or permissions, then run the same command again."
        )
    return (
        f"{folder}: the engine stopped at {error}. What was published before still stands; "
        "this is a fault of ett-ingest, please report it."
    )


def _moment(as_of: str | None) -> Moment:
    now = datetime.now(UTC)
    latest = now + timedelta(hours=24)
    as_of_us = None
    if as_of is not None:
        try:
            told = datetime.fromisoformat(as_of)
        except ValueError:
            raise UnusableArguments(
                f"--as-of {as_of!r} is no time. Write it as 2026-03-01T00:00:00Z."
            ) from None
        if told.tzinfo is None:
            raise UnusableArguments(f"--as-of {as_of!r} has no offset from UTC. Add Z or +01:00.")
        if told > latest:
            raise UnusableArguments(f"--as-of {as_of!r} lies over 24 h in the future.")
        as_of_us = microseconds(told)
    return Moment(now.replace(tzinfo=None), microseconds(latest), as_of_us)


def _zone(name: str) -> ZoneInfo:
    if (zone := calendar.zone_of(name)) is None:
        raise UnusableArguments(
            f"--timezone {name!r} is not known. Give an IANA name such as Europe/Berlin."
        )
    return zone


def _say_waiting(holder: str) -> None:
    _LOG.info("waiting: the warehouse is being written by %s", holder)


@dataclass(frozen=True, slots=True)
class _Run:
    """One ingest into an open warehouse."""

    warehouse: warehouse.Warehouse
    settings: Settings
    reading: Reading
    moment: Moment
    forced: Format | None
    is_dry: bool

    def load(self, files: list[dumps.DumpFile], summary: Summary) -> None:
        """Load files in batches and publish what they changed."""
        published, rest = time.monotonic(), PUBLISH_EVERY_SECONDS
        facts.prepare(self.warehouse)
        facts.follow(self.warehouse, self.settings, is_dry=self.is_dry)
        known = Known(self.warehouse.connection, files)
        with Progress(sum(file.bytes for file in files)) as progress:
            incoming = self._incoming(files, known, summary, progress)
            for batch in plan.batches(incoming, self.settings.storage.memory_bytes):
                self._load(batch, summary, progress)
                known.ask()
                progress.events(summary.events)
                if (begun := time.monotonic()) - published > rest:
                    self._publish()
                    published = time.monotonic()
                    rest = max(rest, (published - begun) * (1 / PUBLISHING_SHARE - 1))
            if not self.is_dry:
                self._move_clocks(summary)
                summary.jobs = facts.still_jobs(self.warehouse.connection, summary.jobs)
            self._publish()
            progress.published()
        shutil.rmtree(warehouse.scratch(self.warehouse.folder) / "in", ignore_errors=True)
        if not self.is_dry:
            publish.say_idle_settings(self.warehouse, self.settings)

    def _load(self, batch: Sequence[Incoming], summary: Summary, progress: Progress) -> None:
        """Load a batch; where that takes more memory than there is, each dump of it alone."""
        tried: list[int] = []

        def parsed(size: int) -> None:
            tried.append(size)
            progress.parsed(size)

        try:
            loaded, jobs = loader.load_batch(
                self.warehouse,
                batch,
                self.reading,
                self.settings,
                self.moment,
                parsed,
                is_dry=self.is_dry,
            )
        except duckdb.OutOfMemoryException as error:
            if (why := warehouse.wants_memory(error)) is None:
                raise
            progress.parsed(-sum(tried))
            if len(batch) == 1:
                summary.too_large.append(plan.Skipped(batch[0].file.name, why.removeprefix("it ")))
                progress.skipped(batch[0].file.bytes)
                return
            for one in batch:
                self._load([one], summary, progress)
        else:
            summary.loaded += loaded
            summary.jobs |= jobs
            progress.computed(sum(one.file.bytes for one in batch))

    def _incoming(
        self, files: list[dumps.DumpFile], known: Known, summary: Summary, progress: Progress
    ) -> Iterator[Incoming]:
        seen: set[tuple[str, str]] = set()
        misnamed = Misnamed(
            self.warehouse.connection,
            self.warehouse.folder,
            self.settings.unpacked_ratio,
            self.reading,
        )
        for file in files:
            one = plan.look_at(
                known,
                file,
                self.forced,
                progress.read,
                self.reading.training_logs,
                may_be_read_beside=True,
                asked=self.reading,
            )
            if isinstance(one, plan.Skipped):
                summary.skipped.append(one)
                progress.skipped(file.bytes)
                continue
            if known.is_alone(file.bytes):  # nobody need wait for what it holds
                yield from self._with_misnamed(one, misnamed, progress)
                continue
            content = (one.fingerprint.sha256, file.place if one.format.is_named_by_path else "")
            if content in seen:
                summary.skipped.append(plan.Skipped(file.name, "has the content of another one"))
                continue
            seen.add(content)
            yield from self._with_misnamed(one, misnamed, progress)

    @staticmethod
    def _with_misnamed(one: Incoming, misnamed: Misnamed, progress: Progress) -> Iterator[Incoming]:
        """Those that are to be read once more because of a dump, and the dump: whoever stops
        between two batches finds it new again, and what is left of them.
        """
        for again in misnamed.beside(one):
            progress.more(again.file.bytes)
            progress.read(again.file.bytes)
            yield again
        yield one

    def _move_clocks(self, summary: Summary) -> None:
        """`--as-of` counts for dumps that are known already as well."""
        known = [
            one.known_as for one in summary.skipped if one.known_as is not None and not one.is_mute
        ]
        if self.moment.as_of_us is not None and known:
            fresh = [one.file_no for one in summary.loaded if not one.is_mute]
            loader.move_clocks(self.warehouse, known, fresh, self.settings, self.moment.as_of_us)

    def _publish(self) -> None:
        if not self.is_dry and not publish.is_published(self.warehouse):
            publish.publish(self.warehouse, self.settings, self.moment.now)


def _report(summary: Summary, seconds: float, held_back: int, chosen: argparse.Namespace) -> None:
    told = summary.told(seconds, held_back, is_dry=chosen.dry_run, is_verbose=chosen.verbose)
    for line in told:
        print(shown(line))


def _status(summary: Summary, allowed: int | None) -> int:
    if summary.too_large:
        left = counted(len(summary.too_large), "dump")
        print(
            f"ett-ingest: {left} left out for want of memory. What was published stands; run the "
            "same command again with more: only what was left out is loaded then.",
            file=sys.stderr,
        )
        return 2
    if not summary.has_found_a_file:
        print("ett-ingest: there is no file to read in what was given.", file=sys.stderr)
        return 2
    if not summary.has_read_a_dump:
        print("ett-ingest: nothing that was given can be read as a dump.", file=sys.stderr)
        return 2
    if not summary.has_read_anything:
        print("ett-ingest: no line of what was given is an event.", file=sys.stderr)
        return 2
    if allowed is not None and sum(summary.reasons.values()) > allowed:
        why = f"more lines were set aside than --max-rejected {allowed} allows"
        print(f"ett-ingest: {why}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
