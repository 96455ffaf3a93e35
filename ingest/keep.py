"""`ett-warehouse`: is it sound, make it anew, forget, copy and bring back; while readers read."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb

from ingest import backup, calendar, check, facts, publish, retention, warehouse
from ingest.arguments import day, seconds
from ingest.errors import IngestError, UnusableArguments, WarehouseUnusable
from ingest.settings import Settings, as_text, found_settings
from ingest.words import counted, first_line
from queries import places
from queries.damage import is_damage
from queries.interrupts import as_keyboard_interrupt
from queries.places import add_warehouse

_EXAMPLES = """\
examples:
  ett-warehouse check                            is everything as it should be?
  ett-warehouse rebuild                          all numbers anew from the events
  ett-warehouse prune --before 2026-01-01 --dry-run
  ett-warehouse prune --before 2026-01-01        events go, numbers stay
  ett-warehouse backup /backups/ett-2026-03-01   while dashboard and exporter read
  ett-warehouse restore /backups/ett-2026-03-01  likewise

Each waits for a running ett-ingest (--wait), and an ett-ingest waits for it. Readers never wait.
exit status: 0 done, and for check: sound; 1 check found something wrong;
             2 unusable arguments, or nothing that can be read or written
"""
_DAY = timedelta(days=1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    chosen = _parser().parse_args(arguments)
    try:
        do: Callable[[argparse.Namespace], int] = chosen.do
        with as_keyboard_interrupt():
            return do(chosen)
    except IngestError as error:
        _say(str(error))
        return 2
    except KeyboardInterrupt:
        _say("stopped. The warehouse is as it was, or finished by the same command.")
        return 130
    except (duckdb.Error, OSError) as error:
        if is_damage(error):
            _say(warehouse.damaged(chosen.warehouse, error))
            return 2
        if memory := warehouse.wants_memory(error):
            _say(
                f"{chosen.warehouse}: {memory}, then run the same command again. What was "
                "published before still stands."
            )
            return 2
        _say(
            f"{chosen.warehouse}: {first_line(error)}. What was published before "
            "still stands. Mend that (space, permissions), then run the same command again."
        )
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ett-warehouse",
        description="Check, rebuild, prune, back up and restore the warehouse.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, do, what in (
        ("check", _check, "say what is wrong, and change nothing"),
        ("rebuild", _rebuild, "compute everything anew from the events, and publish it"),
        ("prune", _prune, "drop the events of jobs that ended before a day; their numbers stay"),
        ("backup", _backup, "copy the warehouse into a new folder"),
        ("restore", _restore, "let the warehouse be what a backup holds, and publish it"),
    ):
        command = commands.add_parser(
            name,
            help=what,
            description=f"{what[0].upper()}{what[1:]}.",
            epilog=_EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(do=do)
        _add_options(command, name)
    return parser


def _add_options(command: argparse.ArgumentParser, name: str) -> None:
    if name == "prune":
        command.add_argument(
            "--before",
            type=day,
            required=True,
            metavar="DAY",
            help="the first day that stays, such as 2026-01-01",
        )
        command.add_argument(
            "--dry-run", action="store_true", help="say what would go, change nothing"
        )
    if name in ("backup", "restore"):
        command.add_argument("folder", type=Path, metavar="DIR", help="the backup's folder")
    add_warehouse(command)
    command.add_argument(
        "--wait",
        type=seconds,
        default=600,
        metavar="SECONDS",
        help="how long to wait for a running ett-ingest (default: 600)",
    )


def _check(chosen: argparse.Namespace) -> int:
    settings, now = _begin(chosen)
    wrong = 0
    with _opened(chosen, settings, may_upgrade=False) as opened:
        for finding in check.check(opened, settings, now, _say):
            print(finding.what if finding.is_wrong else f"note: {finding.what}")
            wrong += finding.is_wrong
    print(f"{chosen.warehouse}: {counted(wrong, 'finding') if wrong else 'sound'}")
    return 1 if wrong else 0


def _rebuild(chosen: argparse.Namespace) -> int:
    settings, now = _begin(chosen)
    with _opened(chosen, settings) as opened:
        began = time.monotonic()
        _say("computing all facts anew")
        facts.renew(opened, settings)
        _say(f"computed in {time.monotonic() - began:.1f} s; publishing")
        _publish(opened, settings, now)
    return 0


def _prune(chosen: argparse.Namespace) -> int:
    settings, now = _begin(chosen)
    before_us = _begins_us(chosen.before, settings)
    with _opened(chosen, settings, may_upgrade=not chosen.dry_run) as opened:
        _refuse_too_late(opened, chosen.before, settings)
        facts.prepare(opened)
        facts.follow(opened, settings, is_dry=chosen.dry_run)
        pruned = retention.plan(opened.connection, before_us)
        told = (
            f"{counted(pruned.events, 'event')} of {counted(pruned.jobs, 'job')} that ended before "
            f"{chosen.before}; the events of {counted(pruned.kept_jobs, 'job')} stay"
        )
        if chosen.dry_run:
            print(f"would drop {told}")
            return 0
        if pruned.jobs:
            _say(f"dropping {told}")
            retention.prune(opened, before_us)
        _publish(opened, settings, now)  # also what an earlier run was ended before
    print(f"dropped {told}" if pruned.jobs else f"nothing to drop: {told}")
    return 0


def _begins_us(day: date, settings: Settings) -> int:
    try:
        return calendar.midnight_us(day, ZoneInfo(settings.timezone))
    except OverflowError:  # the first day of all, east of UTC
        raise UnusableArguments(
            f"--before {day} begins before all time in {settings.timezone}. Name a later day."
        ) from None


def _backup(chosen: argparse.Namespace) -> int:
    _refuse_nothing(chosen.warehouse)
    with warehouse.locked(chosen.warehouse, _say_waiting, chosen.wait):
        size = backup.backup(chosen.warehouse, chosen.folder, _say)
    back = f"ett-warehouse restore {shlex.quote(str(chosen.folder))}"
    if chosen.warehouse != places.warehouse():
        back += f" --warehouse {shlex.quote(str(chosen.warehouse))}"
    print(f"{size / 1e6:,.1f} MB in {chosen.folder}. Back with: {back}")
    return 0


def _restore(chosen: argparse.Namespace) -> int:
    settings, now = found_settings(), _now()
    source = backup.found(chosen.folder)  # before the warehouse's folder is made
    with warehouse.locked(chosen.warehouse, _say_waiting, chosen.wait):
        backup.restore(source, chosen.warehouse, lambda held: _refuse_pruned(held, settings), _say)
    with _opened(chosen, settings) as opened:
        facts.prepare(opened)
        facts.follow(opened, settings)
        _publish(opened, settings, now)
    return 0


def _refuse_pruned(held: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Raise UnusableArguments where pruned jobs of a backup cannot follow today's settings."""
    [(told,)] = held.execute("select settings from meta").fetchall()
    retention.refuse_what_cannot_follow(held, told, as_text(settings))


def _begin(chosen: argparse.Namespace) -> tuple[Settings, datetime]:
    _refuse_nothing(chosen.warehouse)
    return found_settings(), _now()


def _refuse_nothing(folder: Path) -> None:
    warehouse.refuse_lost(folder)
    if not (folder / "warehouse.duckdb").is_file():
        raise WarehouseUnusable(
            f"{folder} has no warehouse.duckdb. Name the folder with --warehouse, or run "
            f"{places.ingest_command(folder)} first."
        )


def _opened(
    chosen: argparse.Namespace, settings: Settings, *, may_upgrade: bool = True
) -> AbstractContextManager[warehouse.Warehouse]:
    return warehouse.opened(
        chosen.warehouse, _say_waiting, chosen.wait, settings.storage, may_upgrade=may_upgrade
    )


def _refuse_too_late(opened: warehouse.Warehouse, before: date, settings: Settings) -> None:
    """A job that is not over yet must not be taken for one that is, nor a mistyped year."""
    [(newest,)] = opened.connection.execute(
        "select make_timestamp(max(clock_us)) from sources"
    ).fetchall()
    begins = datetime.combine(before, datetime.min.time(), ZoneInfo(settings.timezone))
    if newest is None:
        raise UnusableArguments(f"{opened.folder} holds no events: there is nothing to prune.")
    if begins > newest.replace(tzinfo=UTC) - max(_DAY, settings.stale_after):
        raise UnusableArguments(
            f"--before {before} is too late: {opened.folder} reaches to {newest:%Y-%m-%d %H:%M} "
            "UTC, and jobs may still tell of their last day. Name an earlier day."
        )


def _publish(opened: warehouse.Warehouse, settings: Settings, now: datetime) -> None:
    if not publish.is_published(opened):
        path = publish.publish(opened, settings, now)
        _say(f"published {path.name}")


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def _say(text: str) -> None:
    print(f"ett-warehouse: {text}", file=sys.stderr, flush=True)


def _say_waiting(holder: str) -> None:
    _say(f"waiting: the warehouse is being written by {holder}")


if __name__ == "__main__":
    sys.exit(main())
