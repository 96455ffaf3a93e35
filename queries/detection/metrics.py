"""What the watched measures are: how each is scored, what it can make worse, and how it is said.

Holds no number of any fleet.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache

from queries.model import STARTUP_AREAS


class Kind(StrEnum):
    """How a day of a measure is scored."""

    LATENCY = "latency"  # seconds of jobs: the mean of their logs
    COUNT = "count"  # events on an exposure
    SHARE = "share"  # seconds of seconds


class Family(StrEnum):
    """Measures that one cause can move together."""

    START = "start"
    SAVE = "save"
    STOP = "stop"
    ENDS = "ends"
    STALL = "stall"
    WHOLE = "whole"


class Depth(IntEnum):
    """How near to a cause a measure is: the nearest of those that moved names the regression."""

    CAUSE = 0
    SUM = 1
    OUTCOME = 2
    WHOLE = 3


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure; `phase` and `stage` say which part of a run it times."""

    name: str
    kind: Kind
    family: Family
    depth: Depth
    verdict: str
    label: str
    phase: str | None = None
    stage: str | None = None
    failure_domain: str | None = None

    @property
    def is_derived(self) -> bool:
        """Whether what moves it is watched by itself."""
        return self.stage is not None or self.depth is not Depth.CAUSE


PHASES = (*STARTUP_AREAS, "checkpoint_save", "shutdown")

_FAMILIES = {"checkpoint_save": Family.SAVE, "shutdown": Family.STOP}
_WHOLE = {
    "tts_seconds": ("Time to start", Kind.LATENCY, Family.START, Depth.OUTCOME, "slower"),
    "ttr_seconds": ("Time to recover", Kind.LATENCY, Family.START, Depth.OUTCOME, "slower"),
    "ett_ratio": ("ETT", Kind.SHARE, Family.WHOLE, Depth.WHOLE, "slower"),
    "unsaved_ratio": ("Unsaved share", Kind.SHARE, Family.ENDS, Depth.OUTCOME, "failures"),
    "stalled_ratio": ("Stalled share", Kind.SHARE, Family.STALL, Depth.CAUSE, "slower"),
    "preemption_ratio": ("Preemption ratio", Kind.COUNT, Family.ENDS, Depth.CAUSE, "preemptions"),
    "failures": ("Failures", Kind.COUNT, Family.ENDS, Depth.SUM, "failures"),
}


@cache
def metric(name: str) -> Metric:
    """What is known of a measure by its name."""
    if name in _WHOLE:
        label, kind, family, depth, verdict = _WHOLE[name]
        return Metric(name, kind, family, depth, verdict, label)
    if name.startswith("failures_"):
        domain = name.removeprefix("failures_")
        label = f"Failures ({_words(domain)})"
        return Metric(
            name, Kind.COUNT, Family.ENDS, Depth.CAUSE, "failures", label, failure_domain=domain
        )
    return _timed(name)


def related(one: Metric, other: Metric) -> bool:
    """Whether a change of one can be the change of the other, seen elsewhere."""
    if Family.WHOLE in (one.family, other.family) or one.family is other.family:
        return True
    names = {one.name, other.name}
    families = {one.family, other.family}
    return (
        families == {Family.ENDS, Family.STALL}
        or (Family.ENDS in families and "ttr_seconds" in names)
        or (Family.SAVE in families and "unsaved_ratio" in names)
    )


def is_part(part: Metric, whole: Metric) -> bool:
    """Whether `whole` is a sum, or a consequence, in which `part` is contained."""
    if whole.stage is not None:
        return part.phase == whole.phase and part.stage is None
    if whole.depth is Depth.CAUSE or part.stage is not None or not related(part, whole):
        return False
    if part.failure_domain is not None:
        return whole.depth is Depth.SUM
    return part.depth < whole.depth


def _timed(name: str) -> Metric:
    part = name.removesuffix("_seconds")
    phase = next((each for each in PHASES if part == each or part.startswith(f"{each}_")), part)
    stage = part.removeprefix(phase).removeprefix("_") or None
    family = _FAMILIES.get(phase, Family.START)
    words = _words(phase)
    label = words[:1].upper() + words[1:] + (f", stage {stage}" if stage else "")
    return Metric(
        name, Kind.LATENCY, family, Depth.CAUSE, "slower", label, phase=phase, stage=stage
    )


def _words(name: str) -> str:
    return name.replace("_", " ").replace("pt2", "PT2")
