"""Which jobs are submitted, by whom and when: the demand on the fleet.

Knows nothing of how they fare.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log2

from sample_data.planted import Effects, Kind
from sample_data.settings import QUIET_START_US, Settings
from sample_data.teams import (
    EXPLORATION_GPUS,
    PRODUCTION_GPUS,
    SHIFTED_GPUS,
    Team,
    Weights,
)
from sample_data.times import DAY, HOUR, MINUTE, day_of, of_seconds

PRIORITIES = ("low", "normal", "high", "urgent")

_WEEKDAY = (1.15, 1.25, 1.25, 1.2, 1.05, 0.55, 0.55)  # Monday first
_MOST_HOURS = 60.0


@dataclass(frozen=True, slots=True)
class Job:
    """What was asked for, and how the job reports about itself."""

    id: str
    team: Team
    user: str
    workload: str
    model: str
    gpus: int
    gpu_type: str
    rank_of_priority: int
    submitted_us: int
    # what it has to do
    work_us: int
    step_us: int
    samples_per_step: int
    time_limit_us: int | None
    start_scale: float
    # how it goes about it
    compiles_early: bool
    recompiles: bool
    save_every_us: int
    progress_every_us: int | None
    is_watched: bool
    restarts_in_place: bool
    # how it reports
    rank_delays_us: tuple[int, ...]
    tells_pairs: bool
    tells_stages: bool
    tells_resume: bool
    tells_event_ids: bool

    @property
    def is_production(self) -> bool:
        return self.workload == "production"

    @property
    def rank_slack_us(self) -> int:
        """How much later than rank 0 the slowest reporting rank is."""
        return max(self.rank_delays_us, default=0)


def submitted(settings: Settings, teams: Sequence[Team], effects: Effects) -> list[Job]:
    """All jobs of the fleet in order of submission. Each team and day draws from its own seed."""
    total = sum(team.share for team in teams)
    jobs = [
        job
        for team in teams
        for job in _of_team(settings, team, settings.jobs_per_day * team.share / total, effects)
    ]
    return sorted(jobs, key=lambda job: (job.submitted_us, job.id))


def _of_team(settings: Settings, team: Team, per_day: float, effects: Effects) -> list[Job]:
    """A busier team has the same jobs and some more, so that sizes can be steered."""
    jobs = []
    for day in range(settings.days):
        begins = settings.begins_us + day * DAY
        rng = random.Random(f"{settings.seed}/{team.name}/{day}")
        count = _poisson(rng, per_day * _weekday_factor(begins))
        rng = random.Random(f"{settings.seed}/{team.name}/{day}/times")
        for number in range(count):
            job_id = f"{team.name}-{day_of(begins):%Y%m%d}-{number:03d}"
            at = begins + max(QUIET_START_US if day == 0 else 0, _time_of_day(rng))
            jobs.append(_job(job_id, team, at, effects, settings.seed))
    return jobs


def _weekday_factor(day_us: int) -> float:
    return _WEEKDAY[day_of(day_us).weekday()]


def _time_of_day(rng: random.Random) -> int:
    """Two thirds come in working hours, the rest at any time."""
    hour = rng.gauss(14.0, 3.2) if rng.random() < 0.67 else rng.uniform(0, 24)
    return of_seconds(hour % 24 * 3600) % DAY


def _poisson(rng: random.Random, mean: float) -> int:
    count, waited = 0, rng.expovariate(1.0)
    while waited < mean:
        count, waited = count + 1, waited + rng.expovariate(1.0)
    return count


def _job(job_id: str, team: Team, at_us: int, effects: Effects, seed: int) -> Job:
    rng = random.Random(f"{seed}/{job_id}")
    is_production = rng.random() < team.production_share
    gpus = _weighted(rng, _sizes(rng, team, is_production, at_us, effects))
    hours = _hours(rng, team, is_production)
    is_watched = hours < 9 and rng.random() < 0.11
    return Job(
        id=job_id,
        team=team,
        user=rng.choice(team.users),
        workload="production" if is_production else "exploration",
        model=rng.choice(team.models),
        gpus=gpus,
        gpu_type="h100" if gpus >= 64 else rng.choice(("h100", "a100")),
        rank_of_priority=_priority(rng, is_production),
        submitted_us=at_us,
        work_us=of_seconds(hours * 3600),
        step_us=of_seconds(rng.uniform(0.4, 3.0)),
        samples_per_step=gpus * rng.choice((256, 512, 1024)),
        time_limit_us=None if is_production or rng.random() < 0.6 else rng.choice((4, 6)) * HOUR,
        start_scale=team.start_scale * (1 + 0.11 * log2(gpus / 8)) * rng.lognormvariate(0, 0.12),
        compiles_early=rng.random() < 0.55,
        recompiles=rng.random() < 0.2,
        save_every_us=of_seconds(min(3600.0, max(600.0, team.save_every_s * _spread(rng, 0.25)))),
        progress_every_us=_progress_rhythm(rng, hours, is_watched),
        is_watched=is_watched,
        restarts_in_place=rng.random() < 0.3,
        rank_delays_us=_rank_delays(rng),
        tells_pairs=rng.random() < 0.25,
        tells_stages=rng.random() < 0.35,
        tells_resume=rng.random() < 0.7,
        tells_event_ids=team.share < 0.1,
    )


def _sizes(
    rng: random.Random, team: Team, is_production: bool, at_us: int, effects: Effects
) -> Weights:
    if is_production:
        return PRODUCTION_GPUS
    shifted = effects.factor(Kind.MIX_SHIFT, team.name, at_us, otherwise=0.0)
    return SHIFTED_GPUS if rng.random() < shifted else EXPLORATION_GPUS


def _weighted(rng: random.Random, weights: Weights) -> int:
    values, shares = zip(*weights, strict=True)
    chosen: int = rng.choices(values, weights=shares)[0]
    return chosen


def _hours(rng: random.Random, team: Team, is_production: bool) -> float:
    median = team.production_hours if is_production else team.exploration_hours
    return min(_MOST_HOURS, max(0.25, median * _spread(rng, 0.6)))


def _spread(rng: random.Random, sigma: float) -> float:
    return exp(rng.gauss(0.0, sigma))


def _priority(rng: random.Random, is_production: bool) -> int:
    if is_production:
        return 3 if rng.random() < 0.04 else 2
    return 1 if rng.random() < 0.6 else 0


def _progress_rhythm(rng: random.Random, hours: float, is_watched: bool) -> int | None:
    """Watched jobs tell every few minutes; the others a dozen times, or never."""
    if is_watched:
        return of_seconds(rng.uniform(140, 260))
    if rng.random() < 0.12:
        return None
    return min(90 * MINUTE, max(4 * MINUTE, of_seconds(hours * 3600 / rng.uniform(9, 16))))


def _rank_delays(rng: random.Random) -> tuple[int, ...]:
    """Empty: one reporter without a rank.

    Else one delay per reporting rank, rank 0 first and earliest.
    """
    if rng.random() >= 0.05:
        return ()
    return (0, *(rng.randrange(1, 9) * 1000 for _ in range(rng.randint(1, 3))))
