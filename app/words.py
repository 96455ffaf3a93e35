"""Numbers, times and hostile text as words on a screen. Reads the glossary; opens no database.

Job names, teams and messages come from dumps that anyone may have written: `code` for Markdown,
`figure` for plotly, `slug` for file names, `cell` for CSV.
"""

from __future__ import annotations

import difflib
import html
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Final

UNKNOWN: Final = "\u2013"
NOT_MEASURED: Final = "not measured"
IN_GREY: Final = "In grey: the days that they are compared with."
NOT_COMPLETE: Final = "The newest day is not complete: its numbers are in the CSV alone."
# the boxes of a table's rows are out of reach of a keyboard, and nothing else says what is in reach
SELECT_ROW: Final = "Select a row at its left edge, by key with Shift+Space,"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]()<>#+!|~$:-]")
# what Markdown makes a link of by itself, escaped or not
_ADDRESS: Final = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)
_UNITS: Final = ((86400, 3600, "d", "h"), (3600, 60, "h", "min"), (60, 1, "min", "s"))
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_CUT_FORMULA: Final = re.compile(r"([,;]\s*)(?=[=+@-])")


@dataclass(frozen=True, slots=True)
class Measure:
    """One entry of the glossary."""

    key: str
    label: str
    unit: str
    meaning: str
    formula: str
    better: str  # up, down, or neither
    view: str


@cache
def glossary() -> Mapping[str, Measure]:
    """Every measure by its column name."""
    return {key: Measure(key=key, **entry) for key, entry in _glossary_file()["measures"].items()}


def weighed(key: str, weight: str) -> Measure:
    """A measure of GPU-time as it is under this weight: by wall time every attempt counts the same,
    however many GPUs it holds.
    """
    measure = glossary()[key]
    if weight == "gpu":
        return measure
    meaning = measure.meaning.replace("GPU-time", "time")
    formula = measure.formula.replace(" x GPUs", "").replace("GPU-seconds", "seconds")
    return replace(measure, meaning=meaning[:1].upper() + meaning[1:], formula=formula)


@cache
def areas() -> Mapping[str, Measure]:
    """Every area by its name; `label` is what a chart calls it."""
    return {
        key: Measure(key=key, unit="seconds", formula="", view="area_by_attempt", **entry)
        for key, entry in _glossary_file()["areas"].items()
    }


def area(name: str) -> str:
    """An area as a chart names it; one that the glossary lacks keeps its raw name."""
    known = areas().get(name)
    return known.label if known else name


def ratio(value: float | None, digits: int = 1) -> str:
    """0.924 as `92.4 %`."""
    if value is None:
        return UNKNOWN
    shown = f"{value * 100:.{digits}f} %"
    return shown.lstrip("-") if is_nothing(shown) else shown


def target(value: float) -> str:
    """A target with the digits that it was set with, 0.925 as `92.5 %`: rounded, it would be
    another one.
    """
    return f"{value * 100:.4f}".rstrip("0").rstrip(".") + " %"


def points(difference: float | None, digits: int = 1) -> str:
    """A difference of ratios, -0.018 as `-1.8 pp`."""
    if difference is None:
        return UNKNOWN
    shown = round(difference * 100, digits)
    return f"{shown:+.{digits}f} pp" if shown else f"{0:.{digits}f} pp"


def change(now: float | None, before: float | None) -> str:
    """The difference of two ratios as points, empty where either is not known."""
    return "" if now is None or before is None else points(now - before)


def count(value: float | None) -> str:
    """1284 as `1,284`."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def compact(value: float | None) -> str:
    """12400 as `12.4k`; three figures at most."""
    if value is None:
        return UNKNOWN
    size = abs(value)
    for limit, divisor, suffix in ((999.5e3, 1e6, "M"), (999.5, 1e3, "k")):
        if size >= limit:
            return _figures(value / divisor) + suffix
    return _figures(value)


def hours(seconds: float | None) -> str:
    """GPU-seconds or seconds, as hours: `12.4k`."""
    return UNKNOWN if seconds is None else compact(seconds / 3600)


def more_hours(seconds: float) -> str:
    """A difference in seconds as hours, with its sign."""
    shown = hours(seconds)
    return shown if seconds < 0 or is_nothing(shown) else f"+{shown}"


def more(number: float, digits: int = 0) -> str:
    """A difference of numbers with its sign; none where it is rounded to nothing."""
    shown = f"{number:+,.{digits}f}"
    return shown[1:] if is_nothing(shown) else shown


def is_nothing(shown: str) -> bool:
    """Whether a number, as it is shown, is rounded to zero."""
    return not any(figure in shown for figure in "123456789")


def more_time(seconds: float) -> str:
    """A difference in seconds as a duration, with its sign."""
    if abs(seconds) < 0.5:
        return "0 s"
    return f"{'+' if seconds >= 0 else ''}{duration(seconds, units=1)}"


def gpus(number: int | None) -> str:
    """`128 GPUs`, or that no source says how many."""
    return "GPUs unknown" if number is None else many(number, "GPU")


def many(number: int | None, thing: str) -> str:
    """`1 attempt`, `1,284 attempts`."""
    return f"{count(number)} {thing}{'' if number == 1 else 's'}"


def duration(seconds: float | None, units: int = 2) -> str:
    """252.0 as `4 min 12 s`: the two largest units, or the largest only."""
    if seconds is None:
        return UNKNOWN
    if seconds < 0:
        shown = duration(-seconds, units)
        return shown if shown == "0 s" else f"-{shown}"
    if seconds < 5e-7:
        return "0 s"
    if seconds < 0.9995:
        return f"{seconds * 1e6:.0f} \u00b5s" if seconds < 9.995e-4 else f"{seconds * 1e3:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    for unit, smaller, name, smaller_name in _UNITS:
        if units == 1 and seconds >= unit * 0.9995:
            return f"{_figures(seconds / unit)} {name}"
        large, small = divmod(round(seconds / smaller), unit // smaller)
        if large:
            return f"{large} {name} {small} {smaller_name}" if small else f"{large} {name}"
    return f"{round(seconds)} s"


def day(value: date) -> str:
    """`Tue 3 Mar`."""
    return f"{value:%a} {value.day} {value:%b}"


def days(first: date, last: date) -> str:
    """`4 Feb to 3 Mar`; the years where they differ."""
    if first == last:
        return day(first)
    year = " %Y" if first.year != last.year else ""
    return " to ".join(f"{each.day} {each:%b}{each.strftime(year)}" for each in (first, last))


def instant(value: datetime) -> str:
    """`Tue 3 Mar, 23:41`; an instant exactly at midnight is 24:00 of the day before."""
    if (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0):
        return f"{day((value - timedelta(days=1)).date())}, 24:00"
    return f"{day(value.date())}, {value:%H:%M}"


def age(passed: timedelta) -> str:
    """`2 h ago`; the future, by the little that clocks differ, is `just now`."""
    seconds = passed.total_seconds()
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{math.floor(seconds / 60)} min ago"
    if seconds < 48 * 3600:
        return f"{math.floor(seconds / 3600)} h ago"
    return f"{math.floor(seconds / 86400)} d ago"


def code(text: str, limit: int = 120) -> str:
    """Text as Markdown code: no link, image, directive, dash or arrow is made of it."""
    line = _without_icons(clipped(text, limit))
    if not line.strip():
        return "` (empty) `"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{fence} {line} {fence}"


def prose(text: str, limit: int = 60) -> str:
    """Text within a Markdown sentence: what Markdown or streamlit would read is escaped, and an
    address cut in two.
    """
    line = _ADDRESS.sub("\u2060", _without_icons(clipped(text, limit)))  # joiners, as there
    return _MARKUP.sub(r"\\\g<0>", line)


def _without_icons(line: str) -> str:
    """The line with what streamlit would take for an icon, even within code, cut in two."""
    return line.replace(":material/", ":\u2060material/")  # a joiner: it has no width


def figure(text: str, limit: int = 60) -> str:
    """Text for plotly, which reads a subset of HTML in every label."""
    return html.escape(clipped(text, limit), quote=False)


def whole(text: str) -> str:
    """The text itself, for what reads no markup."""
    return text


def clipped(text: str, limit: int) -> str:
    """One line of at most `limit` characters; control and direction characters become spaces."""
    line = _CONTROL.sub(" ", text)
    return line if len(line) <= limit else line[: limit - 1] + "\u2026"


def slug(text: str) -> str:
    """Text as a part of a file name: letters, digits, dots and dashes."""
    cleaned = re.sub(r"[^A-Za-z0-9-]+", "-", text).strip("-")
    return cleaned[:40] or "unnamed"


def cell(text: str | None) -> str | None:
    """Text for a CSV that a spreadsheet opens: what would be a formula gets a leading quote."""
    return "'" + text if text is not None and text.startswith(_FORMULA) else text


def comment(text: str, limit: int) -> str:
    """Text for the line above a CSV: a spreadsheet cuts it into cells too, where a name has a
    comma.
    """
    return "# " + _CUT_FORMULA.sub(r"\1'", clipped(text, limit).replace('"', "'"))


def nearest(text: str, options: Iterable[str], most: int = 3) -> list[str]:
    """Options that look like this text, the best first."""
    by_folded = {option.casefold(): option for option in options}
    close = difflib.get_close_matches(text[:200].casefold(), list(by_folded), n=most, cutoff=0.55)
    return [by_folded[each] for each in close]


def _figures(value: float) -> str:
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 99.95 else 1
    shown = f"{value:.{digits}f}"
    return shown.lstrip("-") if is_nothing(shown) else shown


@cache
def _glossary_file() -> dict[str, dict[str, dict[str, str]]]:
    text = resources.files("queries").joinpath("glossary.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
