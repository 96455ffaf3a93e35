"""Rules of `ett.toml` that say which job, attempt or team a dump speaks of, where it does not.

A rule finds named groups in the dump's path, or in the job or run that an event names. It never
reads a dump, and never guesses: a value that cannot be meant refuses the dump.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

from ingest.collectors.slurm_values import is_job
from ingest.errors import UnreadableDump
from ingest.events import Event, Item, Rejected, events_of

LOOKED_AT = ("path", "job_id", "run_key")
GIVEN = ("job_id", "attempt", "scheduler_job", "team")

_LONGEST = 256
_MOST_ATTEMPTS = 10**18 - 1  # what a column of whole numbers holds, and one more
_OF_ONE_LAUNCH = ("job_id", "attempt", "run_key", "run_generation", "run_restart", "scheduler_job")


@dataclass(frozen=True, slots=True)
class IdentityRule:
    """`looks_at` is what is searched for `pattern`, whose named groups the events then say."""

    looks_at: str
    pattern: str


@dataclass(frozen=True, slots=True)
class _Given:
    """What the rules say of the events that name this job and run."""

    job_id: str | None
    attempt: int | None
    scheduler_job: str | None
    team: str | None


def problem_of(rule: IdentityRule) -> str | None:
    """Why a rule cannot be used; None: it can."""
    try:
        groups = re.compile(rule.pattern).groupindex.keys()
    except re.error as error:
        return f"{rule.pattern!r} is no regular expression: {error}"
    if not groups:
        return f"{rule.pattern!r} names no group, as in (?P<job_id>[^/]+)"
    if unknown := sorted(groups - set(GIVEN)):
        return f"{rule.pattern!r} names the group {unknown[0]!r}. Known: {', '.join(GIVEN)}"
    return None


def identified(
    rules: Sequence[IdentityRule],
    name: str,
    path: Path | None,
    items: Iterable[Item],
) -> Iterator[Item]:
    """The events of a dump, with what the rules say in the place of what it says itself.

    Every rule looks at what the dump says; of several that give one thing the first counts. Raises
    UnreadableDump where a rule gives what cannot be meant.
    """
    if not rules:
        yield from items
        return
    place = name if path is None else _place(path)
    given = cache(lambda job_id, run_key: _given(rules, name, place, job_id, run_key))
    teams: set[tuple[object, ...]] = set()
    for item in items:
        if isinstance(item, Rejected) or "row_key" in item:
            yield item
            continue
        for event in events_of(item) if isinstance(item, pl.DataFrame) else (item,):
            _apply(event, given(event.get("job_id"), event.get("run_key")), teams)
            yield event


def names_job_at(rules: Sequence[IdentityRule], path: Path) -> bool:
    """Whether the path of a dump alone tells its job, whatever it says."""
    place = _place(path)
    found = (re.search(rule.pattern, place) for rule in rules if rule.looks_at == "path")
    return any(match and match.groupdict().get("job_id") is not None for match in found)


def _place(path: Path) -> str:
    return Path(os.path.abspath(path)).as_posix()


def _apply(event: Event, given: _Given, teams: set[tuple[object, ...]]) -> None:
    if given.job_id is not None:
        event["job_id"] = given.job_id
    if given.scheduler_job is not None:
        event["scheduler_job"] = given.scheduler_job
    if given.attempt is not None and event["event"] != "job":
        event["attempt"] = given.attempt
    if given.team is not None:
        told = (given.team, *(event.get(name) for name in _OF_ONE_LAUNCH))
        # a launch says its team once: every event that says more costs more to keep. The next one
        # says it again: what a scheduler says of it is newer than the first word
        if told not in teams:
            teams.add(told)
            event["team"] = given.team
        else:
            event.pop("team", None)


def _given(
    rules: Sequence[IdentityRule],
    name: str,
    path: str,
    job_id: str | None,
    run_key: str | None,
) -> _Given:
    said = {"path": path, "job_id": job_id, "run_key": run_key}
    found: dict[str, str] = {}
    for rule in rules:
        text = said[rule.looks_at]
        match = None if text is None else re.search(rule.pattern, text)
        for group, value in match.groupdict().items() if match else ():
            if value is not None and group not in found:
                found[group] = _checked(rule, name, group, value)
    attempt = found.get("attempt")
    return _Given(
        found.get("job_id"),
        None if attempt is None else int(attempt),
        found.get("scheduler_job"),
        found.get("team"),
    )


def _checked(rule: IdentityRule, name: str, group: str, value: str) -> str:
    wanted = {
        "attempt": (
            f"a number from 1 to {_MOST_ATTEMPTS:,}",
            value.isascii() and value.isdecimal() and 0 < int(value) <= _MOST_ATTEMPTS,
        ),
        "scheduler_job": (
            "digits, as in 17, 17_3 or 17+1",
            (value.isascii() and value.isdecimal()) or is_job(value),
        ),
    }
    form, fits = wanted.get(group, (f"1 to {_LONGEST} characters", 0 < len(value) <= _LONGEST))
    if not fits or len(value) > _LONGEST:
        raise UnreadableDump(
            f"{name}: the identity rule {rule.looks_at} = {rule.pattern!r} of ett.toml gives "
            f"{group} {value!r}, which must be {form}."
        )
    return value
