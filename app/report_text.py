"""The weekly digest as Markdown for a chat, and as JSON for a program."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import polars as pl

from app import filters, regressed, words
from app.digest import Digest, Number

SCHEMA: Final = 1  # of the JSON; a field that goes or changes its meaning raises it


def markdown(digest: Digest) -> str:
    """A heading, the numbers, and a short table for each card of the Overview."""
    parts = [
        f"# ETT of {_whom(digest)}, week {digest.week}",
        about(digest, words.code),
        freshness(digest),
        _table(
            ("", "this week", "change", ""),
            [
                (
                    f"**{each.label}**",
                    each.shown,
                    _changed(each.change, each.verdict),
                    noted(each, words.prose),
                )
                for each in digest.numbers
            ],
        ),
        "## ETT by day",
        _table(
            ("day", "ETT", "week before"),
            [
                (words.day(row["day"]), words.ratio(row["ett_ratio"]), words.ratio(row["before"]))
                for row in days(digest).iter_rows(named=True)
            ],
        ),
        "## Where the GPU-hours went",
        _table(
            ("area", "GPU-hours", "share", "change"),
            [
                (
                    words.area(row["area"]),
                    words.hours(row["amount"]),
                    words.ratio(row["share_ratio"]),
                    words.points(row["difference_ratio"]),
                )
                for row in sorted_shares(digest).iter_rows(named=True)
            ],
        )
        if digest.shares.height
        else _prose(nothing(digest, "No attempt ran in this week.")),
        *_moves(digest),
        *_teams(digest),
        "## Regressions of this week",
        "\n".join(f"- {line}" for line in regression_lines(digest, _prose))
        or _prose(no_regressions(digest)),
        "## What stopped jobs",
        _table(
            ("cause", "attributed to", "interruptions", "GPU-hours lost"),
            [
                (
                    _cell(f"{row['failure_domain']}/{row['failure_category']}"),
                    row["attribution"],
                    words.count(row["interruptions"]),
                    words.hours(row["lost_gpu_seconds"]),
                )
                for row in digest.causes.iter_rows(named=True)
            ],
        )
        if digest.causes.height
        else "Nothing was interrupted.",
        *([which_causes(digest)] if digest.causes.height else []),
        "## Jobs that lost most",
        _table(
            ("job", "team", "GPUs", "attempts", "GPU-hours lost"),
            [
                (
                    _cell(row["job_id"]),
                    _cell(row["team"]),
                    words.count(row["gpus"]),
                    words.count(row["attempts"]),
                    words.hours(row["lost_gpu_seconds"]),
                )
                for row in digest.jobs.iter_rows(named=True)
            ],
        )
        if digest.jobs.height
        else _prose(nothing(digest, "No job lost GPU-hours.")),
    ]
    return "\n\n".join(parts) + "\n"


def json_text(digest: Digest) -> str:
    """Every number of the digest, raw: ratios 0..1, seconds, days and instants as ISO 8601."""
    told = {
        "schema": SCHEMA,
        "week": digest.week,
        "team": digest.scope.team,
        "first_day": digest.scope.first_day.isoformat(),
        "last_day": digest.scope.last_day.isoformat(),
        "is_complete": digest.scope.is_complete,
        "is_compared": digest.scope.is_compared,
        "about": about(digest, words.whole),
        "published_at": digest.published["published_at"].isoformat() + "Z",
        "data_at": digest.published["data_at"].isoformat() + "Z",
        "target_ratio": digest.target,
        "ett_change_ratio": digest.change,
        "numbers": {
            each.measure.key: {
                "label": each.label,
                "unit": each.measure.unit,
                "value": each.value,
                "previous": each.previous,
                "verdict": each.verdict or None,
            }
            for each in digest.numbers
        },
        "days": _rows(days(digest)),
        "areas": _rows(sorted_shares(digest)),
        "moves": _rows(digest.moves),
        "teams": _rows(digest.teams),
        "regressions": None if digest.regressions_unknown else _rows(digest.regressions),
        "causes": _rows(digest.causes.drop("known")),
        "jobs": _rows(digest.jobs),
    }
    return json.dumps(told, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def about(digest: Digest, name: Callable[[str], str]) -> str:
    """What the numbers are of; `name` turns a team into what the line is for."""
    return filters.sentence(digest.scope, digest.window, name)


def noted(number: Number, write: Callable[[str], str]) -> str:
    """What stands beside a number; `write` turns a currency into what the line is for."""
    return " \u00b7 ".join(part for part in (write(number.paid), number.note) if part)


def which_causes(digest: Digest) -> str:
    """Which causes come first, and of how many they are where not all are listed."""
    listed = digest.causes.height
    known = int(digest.causes["known"][0]) if listed else 0
    of_all = f"; {listed} of {known}" if known > listed else ""
    is_known = digest.causes["lost_gpu_seconds"].count() > 0  # what any of them cost
    if not is_known:
        return f"The most frequent causes first{of_all}."
    return (
        f"The dearest causes first{of_all}. What they discarded may have been trained before this "
        "week."
    )


def freshness(digest: Digest) -> str:
    """How far the data reaches, and whether the week is whole."""
    published = digest.published
    # no day may be complete yet: then the week is told as far as the data goes
    last = words.day(min(digest.scope.last_day, digest.scope.newest_day))
    whole = "" if digest.scope.is_complete else f" This week is not complete yet: told to {last}."
    return (
        f"Data to {words.instant(published['data_at'])} UTC, published "
        f"{words.instant(published['published_at'])} UTC.{whole}"
    )


def days(digest: Digest) -> pl.DataFrame:
    """The days of the week with their ETT and that of the same day a week before."""
    return digest.days.select("day", "is_complete", "ett_ratio").join(
        digest.days_before.select("day", before="ett_ratio"), on="day", how="left"
    )


def sorted_shares(digest: Digest) -> pl.DataFrame:
    """The areas by GPU-hours, effective last: it is not lost."""
    return digest.shares.sort(
        pl.col("area") == "effective", -pl.col("amount"), "area", maintain_order=True
    )


def regression_lines(digest: Digest, write: Callable[[str], str]) -> list[str]:
    """One line a regression; `write` turns its sentence into what the line is for."""
    return [
        f"{write(regressed.sentence(row))}, {(row['verdict'] or 'not judged').replace('_', ' ')}, "
        f"{row['state']}"
        for row in digest.regressions.iter_rows(named=True)
    ]


def nothing(digest: Digest, otherwise: str) -> str:
    """Why nothing is told in GPU-hours; `otherwise`: where that is because there was nothing."""
    return f"{digest.silent[0].upper()}{digest.silent[1:]}." if digest.silent else otherwise


def no_regressions(digest: Digest) -> str:
    """Why no regression is listed: there is none, or nobody knows."""
    why = digest.regressions_unknown
    return f"{why[:1].upper()}{why[1:]}." if why else "None is known."


def _moves(digest: Digest) -> list[str]:
    if digest.change is None:
        return []
    lines = [
        f"- {'job mix' if area == 'job_mix' else words.area(area)} {words.points(moved, 2)}"
        for area, moved in digest.moves.select("area", "moved_ratio").iter_rows()
    ]
    told = "\n".join(lines) if lines else "Nothing moved it."
    return [f"## What moved ETT: {words.points(digest.change, 2)}", told]


def _teams(digest: Digest) -> list[str]:
    if digest.teams.is_empty():
        return []
    return [
        "## Teams",
        _table(
            ("team", "ETT", "change", "GPU-hours lost"),
            [
                (
                    _cell(row["team"]),
                    words.ratio(row["ett_ratio"]),
                    words.change(row["ett_ratio"], row["previous_ett_ratio"]) or words.UNKNOWN,
                    words.hours(row["lost_gpu_seconds"]),
                )
                for row in digest.teams.iter_rows(named=True)
            ],
        ),
    ]


def _whom(digest: Digest) -> str:
    return "the fleet" if digest.scope.team == "fleet" else words.code(digest.scope.team)


def _changed(change: str, verdict: str) -> str:
    return f"{change} {verdict}".strip() or words.UNKNOWN


def _prose(text: str) -> str:
    return words.prose(text, 400)


def _cell(text: str) -> str:
    """A name in a table: a bar would end the cell, also within code."""
    return words.code(text).replace("|", "\\|")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(frame.write_json()) if frame.height else []
    return told
