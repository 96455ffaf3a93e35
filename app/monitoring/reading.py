"""One publish read once: a question after the other, and what each view answered.

A view that cannot be read costs its own families only. Opens no file and keeps nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import duckdb

from app import warehouse
from app.monitoring.families import Row
from app.monitoring.questions import (
    PUBLICATION,
    QUESTIONS,
    REGRESSIONS_THEN,
    TEAMS,
    VIEWS,
    Question,
)

_WINDOWS = {"1d": 1, "7d": 7, "28d": 28}
_NAMED_TEAMS = 50
# Domains are words of whoever wrote the dumps: they get what the rest leaves of 6,000 series.
_DOMAIN_SERIES = 616

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a view said: no `rows` where it could not be read, no `seconds` if it was not asked."""

    question: Question
    rows: list[Row] | None
    seconds: float | None


def answers(connection: duckdb.DuckDBPyConnection) -> Iterator[Answer]:
    """Ask everything, one question at a time: whoever takes the answers may stop in between."""
    known: dict[str, object] = {}
    published = _ask(connection, PUBLICATION, known)
    yield published
    known |= _windows(published.rows)
    ranked = _ask(connection, TEAMS, known)
    yield ranked
    known |= _teams(ranked.rows)
    for question in QUESTIONS:
        yield _ask(connection, question, known)


def answers_as_of(connection: duckdb.DuckDBPyConnection, last_day: date) -> Iterator[Answer]:
    """What the windows that end with this day say, and the regressions that were open on it."""
    known = _windows_ending(last_day)
    ranked = _ask(connection, TEAMS, known)
    known |= _teams(ranked.rows)
    for question in QUESTIONS:
        if "last_day" in question.needs:
            yield _ask(connection, question, known)
    yield _ask(connection, REGRESSIONS_THEN, known)


def tables(
    answered: Sequence[Answer], version: str, is_current: bool = True
) -> dict[str, list[Row]]:
    """Rows by table, with the exporter's own about each view and about the build.

    Without any answers: those of an exporter that has read nothing.
    """
    rows = {answer.question.table: answer.rows for answer in answered if answer.rows is not None}
    rows["exporter"] = [_outcome(view, answered, is_current) for view in VIEWS]
    schemas = [row["schema_version"] for row in rows.get("publication", ())]
    rows["build"] = [{"version": version, "schema": schemas[0] if schemas else "unknown", "one": 1}]
    return rows


def _windows(publication: list[Row] | None) -> dict[str, object]:
    if not publication:
        return {}
    last_day = publication[0]["last_complete_day"]
    if not isinstance(last_day, date):  # null: no day is complete yet
        return {"window_names": [], "first_days": [], "last_day": None}
    return _windows_ending(last_day)


def _windows_ending(last_day: date) -> dict[str, object]:
    return {
        "window_names": list(_WINDOWS),
        "first_days": [last_day - timedelta(days=days - 1) for days in _WINDOWS.values()],
        "last_day": last_day,
    }


def _teams(ranked: list[Row] | None) -> dict[str, object]:
    if ranked is None:
        return {}
    teams = [row["team"] for row in ranked]
    named = teams[:_NAMED_TEAMS]
    labels = [*named, "other"] if len(teams) > len(named) else named
    most = _DOMAIN_SERIES // (len(_WINDOWS) * max(1, len(labels)))
    return {
        "teams": teams,
        "named": named,
        "instrumented": [row["instrumented_gpu_seconds"] for row in ranked],
        "labels": [*labels, "fleet"],
        "max_domains": min(20, most) - 1,  # one is `other`
    }


def _ask(
    connection: duckdb.DuckDBPyConnection, question: Question, known: Mapping[str, object]
) -> Answer:
    if not all(name in known for name in question.needs):
        return Answer(question, None, None)
    started = time.perf_counter()
    try:
        with connection.cursor() as cursor:
            warehouse.refuse_all_but_selects(cursor, question.sql)
            cursor.execute(question.sql, {name: known[name] for name in question.needs})
            columns = [column[0] for column in cursor.description or ()]
            rows: list[Row] | None = [
                dict(zip(columns, row, strict=True)) for row in cursor.fetchall()
            ]
    except duckdb.Error as error:
        _log.error("the view %s could not be read: %s", question.view, error)
        rows = None
    return Answer(question, rows, time.perf_counter() - started)


def _outcome(view: str, answered: Sequence[Answer], is_current: bool) -> Row:
    of_view = [answer for answer in answered if answer.question.view == view]
    seconds = [answer.seconds for answer in of_view if answer.seconds is not None]
    was_read = bool(of_view) and all(answer.rows is not None for answer in of_view)
    return {
        "view": view,
        "success": int(was_read and is_current),
        "duration_seconds": sum(seconds) if seconds else None,
    }
