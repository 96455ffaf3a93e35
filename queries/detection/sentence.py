"""A regression in words: one paragraph for the page, the alert and the digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from queries.detection import method
from queries.detection.metrics import Kind, metric
from queries.detection.series import FLEET

_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Told:
    """A regression's row, and what was found to say of it.

    `lost_gpu_seconds_per_day`: None where it is not known. `is_gpu_weighed`: whether any GPUs
    are known. `parts`: name, change in seconds, and how many attempts told it where not all did,
    the largest first. `speed`, `mix`: what they add to the change of the mean; None where no work
    of before ran after. `grown`: the class of work whose share grew most, with its share before
    and after. `causes`: category, a day before and after, the largest rise first: how many, of
    unsaved time the GPU-seconds that they cost. `changes`: name and description of what was rolled
    out. `symptoms`: team, measure, relative change. `silent_since`: the last day with a value,
    where it goes on and none came for a week.
    """

    team: str
    metric: str
    started_on: date
    verdict: str
    held_back_by: str | None
    observed: float
    expected: float
    change_ratio: float
    lost_gpu_seconds_per_day: float | None
    is_gpu_weighed: bool
    attempts_before: int
    attempts_after: int
    detected_on: date | None
    ended_on: date | None
    days_to_detect: int | None
    sla_days: int
    parts: Sequence[tuple[str, float, int | None]] = ()
    speed: float | None = None
    mix: float | None = None
    grown: tuple[str, float, float] | None = None
    causes: Sequence[tuple[str, float, float]] = ()
    changes: Sequence[tuple[str, str | None]] = ()
    symptoms: Sequence[tuple[str, str, float]] = ()
    silent_since: date | None = None


def sentence(told: Told) -> str:
    """What moved, by how much, since when, what carries it, and what else happened."""
    parts = (_claim(told), _carried(told), _split(told), _beside(told), _found(told))
    return " ".join(part for part in parts if part)


def _claim(told: Told) -> str:
    whose = "all teams" if told.team == FLEET else told.team
    span = f"since {_day(told.started_on)}"
    if told.ended_on is not None:
        span = f"from {_day(told.started_on)} to {_day(told.ended_on)}"
        if told.ended_on == told.started_on:
            span = f"on {_day(told.started_on)}"
    lost = told.lost_gpu_seconds_per_day
    cost = f", {_hours(lost)} GPU-hours a day" if lost is not None and lost > 0 else ""
    silent = (
        ""
        if told.silent_since is None
        else f" Nothing was told of it after {_day(told.silent_since)}."
    )
    return (
        f"{metric(told.metric).label} for {whose}: {_values(told)} {span} "
        f"({_percent(told.change_ratio)}{cost}), "
        f"over {told.attempts_after:,} attempts, {told.attempts_before:,} before.{silent}"
    )


def _carried(told: Told) -> str:
    if told.verdict == "mix" and told.grown is not None:
        name, before, after = told.grown
        changed = f"The work changed: {name} went from {_share(before)} to {_share(after)}."
        return (
            f"{changed} The same work takes as long as before." if _is_only_mix(told) else changed
        )
    if told.verdict in ("preemptions", "failures") and told.causes:
        name, before, after = told.causes[0]
        if told.metric == "unsaved_ratio":
            cost = f"{_hours(before)} -> {_hours(after)} GPU-hours a day"
            return f"The cause whose cost rose most is {name}: {cost}."
        return f"The largest part of it is {name}: {before:.1f} -> {after:.1f} a day."
    if told.parts:
        name, change, attempts = told.parts[0]
        of = "" if attempts is None else f" in the {attempts:,} attempts that told of it"
        more = f"{change:+.0f} s" if change >= 10 else _moved(change)
        return f"The largest part of it is {_name(name)}: {more}{of}."
    return ""


def _split(told: Told) -> str:
    if told.speed is None or told.mix is None or (told.verdict == "mix" and _is_only_mix(told)):
        return ""
    if metric(told.metric).kind is not Kind.LATENCY:
        return ""
    # a class is a workload and a size: of a mix it may be the model that is another
    means = "On means, whatever the model" if told.verdict == "mix" else "On means"
    return f"{means}: {_moved(told.speed)} are the same work, {_moved(told.mix)} other work."


def _moved(change: float) -> str:
    """A change with its sign; one that rounds to nothing has none."""
    told = f"{change:+.1f}"
    return "0.0 s" if float(told) == 0 else f"{told} s"


def _is_only_mix(told: Told) -> bool:
    """Whether the same work takes as long as before: it may have changed in the same days."""
    return told.speed is not None and abs(told.speed) < method.LEAST_MIX_CHANGE * told.expected


def _beside(told: Told) -> str:
    said = []
    if told.symptoms:
        listed = ", ".join(_symptom(each, told.team) for each in told.symptoms[:3])
        more = len(told.symptoms) - 3
        said.append(f"Also moved: {listed}{f' and {more} more' if more > 0 else ''}.")
    if told.changes:
        listed = "; ".join(f"{name}{f' ({what})' if what else ''}" for name, what in told.changes)
        said.append(f"Rolled out in those days: {listed}.")
    return " ".join(said)


def _found(told: Told) -> str:
    if told.days_to_detect is None or told.detected_on is None:
        return f"Held back: {_words(told.held_back_by)}." if told.held_back_by else ""
    late = (
        "" if told.days_to_detect <= told.sla_days else f", later than the {told.sla_days} agreed"
    )
    held = f" Held back: {_words(told.held_back_by)}." if told.held_back_by else ""
    return f"Found on {_day(told.detected_on)}, after {_days(told.days_to_detect)}{late}.{held}"


def _symptom(symptom: tuple[str, str, float], team: str) -> str:
    whose, name, change = symptom
    beside = "" if whose == team else (" of all teams" if whose == FLEET else f" of {whose}")
    return f"{metric(name).label}{beside} {_percent(change)}"


def _values(told: Told) -> str:
    if metric(told.metric).kind is Kind.LATENCY:
        return f"{_seconds(told.expected)} -> {_seconds(told.observed)}"
    if told.metric.startswith("failures"):
        days = "GPU-days" if told.is_gpu_weighed else "attempt-days"
        return f"{told.expected:.1f} -> {told.observed:.1f} per 1,000 {days}"
    return f"{100 * told.expected:.1f} % -> {100 * told.observed:.1f} %"


def _seconds(value: float) -> str:
    if value < 100:
        return f"{value:.1f} s"
    minutes, seconds = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def _hours(gpu_seconds: float) -> str:
    hours = gpu_seconds / _HOUR
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.1f}"


def _share(ratio: float) -> str:
    return f"{ratio * 100:.0f} %"


def _percent(ratio: float) -> str:
    # of next to nothing any number of percent would be true, and say nothing
    return "over 100 times as much" if ratio >= 100 else f"{ratio * 100:+,.0f} %"


def _day(day: date) -> str:
    return f"{day.day} {day:%b}"


def _days(count: int) -> str:
    return f"{count} day" if count == 1 else f"{count} days"


def _words(name: str | None) -> str:
    return (name or "").replace("_", " ")


def _name(part: str) -> str:
    label = metric(part).label
    return label if label[:2].isupper() else label[0].lower() + label[1:]  # PT2 stays PT2
