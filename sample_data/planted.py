"""What is made worse on purpose, when, and for whom: data passed in, never looked up.

Days count from 0, the first day of the fleet; `last_day` is inclusive, None means to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sample_data.teams import Team
from sample_data.times import DAY


class Kind(StrEnum):
    """The ways in which a fleet can get worse, and one in which it only seems to."""

    SLOWER_START = "slower_start"
    COMPILE_CACHE_LOST = "compile_cache_lost"
    SLOWER_SAVES = "slower_saves"
    STORAGE_FAILURES = "storage_failures"
    PREEMPTION_WAVE = "preemption_wave"
    MIX_SHIFT = "mix_shift"


@dataclass(frozen=True, slots=True)
class Planted:
    """One planted change. `team` None: the whole fleet.

    `factor` multiplies: the seconds of `phase` (slower_start, slower_saves), the rate of storage
    failures, the rate of capacity reclaims (preemption_wave), the share of cache hits
    (compile_cache_lost). For a mix_shift it is the share of the team's jobs that become larger; no
    job of a given size gets slower.
    """

    kind: Kind
    team: str | None
    metric: str
    phase: str | None
    first_day: int
    last_day: int | None
    factor: float
    is_regression: bool
    rolled_out_with: str | None = None


@dataclass(frozen=True, slots=True)
class RollOut:
    """A change that the fleet is told of: harmless unless a planted regression names it."""

    day: int
    name: str
    team: str | None
    description: str


@dataclass(frozen=True, slots=True)
class Effects:
    """What the planted changes do at a moment of a fleet that begins at `begins_us`."""

    planted: tuple[Planted, ...]
    begins_us: int

    def factor(self, kind: Kind, team: str | None, at_us: int, otherwise: float = 1.0) -> float:
        """The factor of this kind for a team at a time; `otherwise` where nothing is planted."""
        for each in self.planted:
            if each.kind is kind and each.team in (None, team) and self._holds(each, at_us):
                return each.factor
        return otherwise

    def highest(self, kind: Kind) -> float:
        """The largest factor of this kind at any time, at least 1."""
        return max([1.0, *(each.factor for each in self.planted if each.kind is kind)])

    def _holds(self, each: Planted, at_us: int) -> bool:
        day = (at_us - self.begins_us) // DAY
        return each.first_day <= day and (each.last_day is None or day <= each.last_day)


def planted_regressions(days: int, teams: Sequence[Team]) -> tuple[Planted, ...]:
    """The six of the sample fleet, laid out over its days: of 120, the first 60 are quiet.

    Fleets of fewer than 14 days have no room for a before and an after, and get none.
    """
    if days < 14:
        return ()

    def day(of_120: int) -> int:
        return of_120 * days // 120

    def team(index: int) -> str:
        return teams[index % len(teams)].name

    return (
        Planted(
            Kind.STORAGE_FAILURES, None, "failures", None, day(60), day(69), 14.0, True,
        ),
        Planted(
            Kind.MIX_SHIFT, team(3), "gpus", None, day(66), None, 0.75, False,
        ),
        Planted(
            Kind.COMPILE_CACHE_LOST, None, "pt2_compile_seconds", "pt2_compile", day(74), day(85),
            0.04, True, _TRAINER_ROLL_OUT,
        ),
        Planted(
            Kind.SLOWER_SAVES, team(1), "checkpoint_save_seconds", "checkpoint_save", day(90), None,
            2.1, True,
        ),
        Planted(
            Kind.SLOWER_START, team(0), "trainer_init_seconds", "trainer_init", day(97), None,
            1.75, True,
        ),
        Planted(
            Kind.PREEMPTION_WAVE, None, "preemption_ratio", None, day(104), day(112), 10.0, True,
        ),
    )  # fmt: skip


def roll_outs(days: int, teams: Sequence[Team]) -> tuple[RollOut, ...]:
    """Six roll-outs; only the trainer's coincides with something planted."""

    def day(of_120: int) -> int:
        return of_120 * days // 120

    def team(index: int) -> str:
        return teams[index % len(teams)].name

    return (
        RollOut(day(12), "data-loader 4.1", None, "larger prefetch queue"),
        RollOut(day(31), "driver 570.86", None, "GPU driver, rolling over the fleet"),
        RollOut(day(48), "launcher 2.3", team(2), "new placement hints"),
        RollOut(day(74), _TRAINER_ROLL_OUT, None, "trainer image with a new compiler"),
        RollOut(day(80), "metrics-agent 1.9", team(4), "reports upload times"),
        RollOut(day(114), "kernel 6.8", None, "host kernel, security fixes"),
    )


_TRAINER_ROLL_OUT = "trainer 8.0"
