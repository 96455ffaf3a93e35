"""What the detector's tables say, in words: states, verdicts, gates, and values with their unit.

Knows no select and draws nothing. A word that is not known here is shown as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from app import words
from app.palette import AREA_ORDER

_PHASES: Final = sorted(AREA_ORDER, key=len, reverse=True)
_MEASURES: Final[Mapping[str, str]] = {
    "tts_seconds": "Time to start",
    "ttr_seconds": "Time to recover",
    "ett_ratio": "ETT",
    "unsaved_ratio": "Unsaved share",
    "stalled_ratio": "Stalled share",
    "preemption_ratio": "Preemption ratio",
    "failures": "Failures",
}
_VERDICTS: Final[Mapping[str, str]] = {
    "slower": "Slower",
    "preemptions": "Preemptions",
    "failures": "Failures",
    "mix": "Mix",
    "fleet_wide": "Fleet-wide",
}
MEANINGS: Final[Mapping[str, str]] = {
    "slower": "the same work takes longer",
    "preemptions": "the scheduler takes jobs away more often",
    "failures": "jobs fail more often",
    "mix": "sizes or classes of jobs shifted; this is other work, not slower work",
    "fleet_wide": "all teams moved: look at what they share",
}
# what moved of a share: neither more ends nor slower work need be behind it
_SHARES: Final[Mapping[tuple[str, str], str]] = {
    ("unsaved_ratio", "failures"): "ends discard more of what was trained",
    ("stalled_ratio", "slower"): "training stands still for longer",
    ("ett_ratio", "slower"): "less of the time trains",
}
# icon, colour of streamlit, a shape for tables, which read no Markdown
SEVERITIES: Final[Mapping[str, tuple[str, str, str]]] = {
    "page": ("error", "red", "\u25b2"),
    "ticket": ("warning", "orange", "\u25a0"),
    "info": ("info", "gray", "\u25cb"),
}
ENDINGS: Final[Mapping[str, str]] = {
    "recovered": "went back to what was usual",
    "new_level": "stayed for so long that it is the usual level now",
    "silent": "nothing was told of it any more",
}
_REASONS: Final[Mapping[str, str]] = {
    "no_data": "nothing was told in the last days",
    "baseline_too_short": "too few days to know what is usual",
    "too_few_attempts": "too few attempts, or events, speak of it",
    "too_few_days": "too few of its days are unusual",
    "not_enough_evidence": "no more than chance would do",
    "went_away": "gone by itself within days",
    "mix": "other work, not slower work",
    "fleet_wide": "part of a change of the whole fleet",
    "part_of_another": "moved by what is told already",
}
# where nothing moved there are too few to hold a day against
_REASONS_OF_QUIET: Final[Mapping[str, str]] = {
    "too_few_attempts": "too few attempts to know what is usual",
}


@dataclass(frozen=True, slots=True)
class Gate:
    """What a gate asks, and how its value and its limit are written; empty: not a number."""

    question: str
    unit: str


_GATES: Final[Mapping[str, Gate]] = {
    "baseline_too_short": Gate("Do enough days say what is usual?", "d"),
    "too_few_attempts": Gate("Do enough attempts, or events, speak of it?", ""),
    "too_few_days": Gate("Are enough of its days unusual?", "d"),
    "not_enough_evidence": Gate("Is it more than chance? Score and its threshold", "score"),
    "went_away": Gate("Did it last longer than an incident?", "d"),
    "mix": Gate("Is it more than a shift of the job mix?", "yes"),
    "fleet_wide": Gate("Is it a change of its own, not of the whole fleet?", "yes"),
}


UNJUDGED: Final = (
    "No series has been judged yet. That none is listed does not say that nothing got worse."
)


def unknown(failure: str) -> str:
    """Why it is not known what got worse, and what follows; hostile text is shown as it is."""
    return (
        f"{words.code(failure[:1].upper() + failure[1:], 300)}. Every other page is whole. The "
        "next ingest that changes anything tries again: please report this line."
    )


def measure(metric: str) -> str:
    """A measure of the detector as a heading names it."""
    if metric in _MEASURES:
        return _MEASURES[metric]
    if metric.startswith("failures_"):
        return f"Failures ({metric.removeprefix('failures_').replace('_', ' ')})"
    part = metric.removesuffix("_seconds")
    phase = next((each for each in _PHASES if part == each or part.startswith(f"{each}_")), None)
    if phase is None:
        return metric
    stage = part.removeprefix(phase).removeprefix("_")
    return f"{words.area(phase)} \u00b7 {stage}" if stage else words.area(phase)


def whose(team: str) -> str:
    """A team, or all of them."""
    return "all teams" if team == "fleet" else team


def verdict(row: Mapping[str, Any]) -> str:
    """One word; of failures with their domain."""
    told = row["verdict"]
    name = _VERDICTS.get(told or "", told or words.UNKNOWN)
    domain = row.get("failure_domain")
    return f"{name} ({domain})" if told == "failures" and domain else name


def meaning(row: Mapping[str, Any]) -> str | None:
    """What its verdict says, in a few words."""
    told = row["verdict"] or ""
    return _SHARES.get((row["metric"], told), MEANINGS.get(told))


def marked_verdict(row: Mapping[str, Any]) -> str:
    """The same as Markdown: a domain is a name that a dump may have given."""
    told, domain = row["verdict"], row.get("failure_domain")
    if told == "failures" and domain:
        return f"{_VERDICTS[told]} ({words.code(domain)})"
    return _VERDICTS.get(told or "", words.code(told or words.UNKNOWN))


def reason(gate: str | None) -> str:
    """Why what moved is held back."""
    return _REASONS.get(gate or "", (gate or words.UNKNOWN).replace("_", " "))


def quiet_reason(gate: str | None) -> str:
    """Why nothing is told of a series."""
    return _REASONS_OF_QUIET.get(gate or "", reason(gate))


def gate(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """What a gate asks, what was measured and what it takes."""
    known = _GATES.get(row["gate"], Gate(row["gate"].replace("_", " "), ""))
    if known.unit == "yes":
        return known.question, "yes" if row["is_passed"] else "no", "yes"
    value, limit = row["value"], row["limit_value"]
    needed = _least(limit, known.unit)
    if value is not None and not row["is_passed"]:
        value = _not_rounded_up(value, known.unit)
    measured = _number(value, known.unit)
    if row["is_passed"] and (value or 0) < (limit or 0):
        # what did not go away is no incident, however young it is
        return known.question, f"{measured}, goes on", f"{needed}, or goes on"
    return known.question, measured, needed


def is_ratio(metric: str) -> bool:
    """Whether the measure is a share."""
    return metric.endswith("_ratio")


def is_time(metric: str) -> bool:
    """Whether the measure is a duration."""
    return metric.endswith("_seconds")


def plain(metric: str, number: float | None) -> str:
    """A value of a series without a unit that fills a column."""
    if is_time(metric):
        return words.duration(number)
    if is_ratio(metric):
        return words.ratio(number)
    return words.UNKNOWN if number is None else _short(number)


def per(row: Mapping[str, Any]) -> str:
    """What a rate is of; empty for other measures. Where no GPUs are known each counts as one."""
    if is_time(row["metric"]) or is_ratio(row["metric"]):
        return ""
    return f"per 1,000 {'GPU-days' if is_gpu_weighed(row) else 'attempt-days'}"


def is_gpu_weighed(row: Mapping[str, Any]) -> bool:
    """Whether any GPUs of what it is of are known."""
    # an older release published a cost wherever they are
    return bool(row.get("is_gpu_weighed", row["lost_gpu_seconds_per_day"] is not None))


def uncosted(row: Mapping[str, Any]) -> str:
    """Why it is not known what a regression costs."""
    return "no source says what the jobs did" if is_gpu_weighed(row) else "no GPUs are known"


def change_of(row: Mapping[str, Any]) -> str:
    """From what was expected to what came, with the unit."""
    metric = row["metric"]
    told = f"{plain(metric, row['expected'])} \u2192 {plain(metric, row['observed'])}"
    return told if row["observed"] is None else f"{told} {per(row)}".rstrip()


def span(row: Mapping[str, Any]) -> str:
    """Since when it is so, or from when to when it was; of an older release the end is missing."""
    ended = row.get("ended_on")
    began = words.day(row["started_on"])
    if ended == row["started_on"]:
        return f"on {began}"
    return f"since {began}" if ended is None else f"from {began} to {words.day(ended)}"


def difference(metric: str, number: float | None) -> str:
    """A difference of two values, with its sign."""
    if number is None:
        return words.UNKNOWN
    if is_time(metric):
        return f"{'+' if number > 0 else ''}{words.duration(number)}"
    return words.points(number) if is_ratio(metric) else f"{number:+.1f}"


def change(ratio: float | None) -> str:
    """A relative change: `+41 %`; of next to nothing any number of percent would be true."""
    if ratio is None:
        return words.UNKNOWN
    return "over 100 times" if ratio >= 100 else f"{ratio * 100:+,.0f} %"


def severity(name: str | None) -> str:
    """Icon and word as Markdown, in the colour of the status."""
    icon, colour, _ = SEVERITIES.get(name or "", SEVERITIES["info"])
    return f":{colour}[:material/{icon}: {name if name in SEVERITIES else 'unknown'}]"


def shape(name: str | None) -> str:
    """Shape and word, for a table."""
    return f"{SEVERITIES.get(name or '', SEVERITIES['info'])[2]} {name or 'unknown'}"


def _least(number: float | None, unit: str) -> str:
    return words.UNKNOWN if number is None else f"at least {_number(number, unit)}"


def _number(number: float | None, unit: str) -> str:
    if number is None:
        return words.UNKNOWN
    if unit == "score":
        return f"{number:.2f}"
    return words.many(round(number), "day") if unit == "d" else words.count(number)


def _not_rounded_up(number: float, unit: str) -> float:
    """Of what fell short of its limit by less than is shown, what is shown falls short too."""
    steps = 100 if unit == "score" else 1
    return math.floor(number * steps) / steps


def _short(number: float) -> str:
    return f"{number:,.1f}" if number < 100 else words.count(number)
