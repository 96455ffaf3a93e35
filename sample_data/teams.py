"""Who trains on the fleet, and how: sizes, habits and dialects of the teams. Data only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Clock(StrEnum):
    """How a team's trainers write a time."""

    ZULU = "zulu"
    OFFSET = "offset"
    UNIX = "unix"


Weights = tuple[tuple[int, float], ...]

PRODUCTION_GPUS: Weights = ((64, 0.27), (128, 0.33), (256, 0.26), (512, 0.11), (1024, 0.03))
EXPLORATION_GPUS: Weights = ((8, 0.40), (16, 0.25), (32, 0.20), (64, 0.12), (128, 0.03))
SHIFTED_GPUS: Weights = ((64, 0.15), (128, 0.45), (256, 0.40))


@dataclass(frozen=True, slots=True)
class Team:
    """A team's habits; `_s` are seconds at the median, `share` is its part of all jobs."""

    name: str
    share: float
    production_share: float
    start_scale: float
    cache_hit_ratio: float
    save_mode: str
    save_every_s: float
    save_blocks_s: float
    upload_s: float
    evaluates_every_s: float
    production_hours: float
    exploration_hours: float
    models: tuple[str, ...]
    users: tuple[str, ...]
    clock: Clock = Clock.ZULU


_TEAMS = (
    Team(
        "ranking", 0.20, 0.42, 0.95, 0.80, "sync", 1800, 24, 0, 7200, 8.5, 2.0,
        ("dlrm-v4", "wukong-m", "wukong-l"), ("ana", "bela", "chen", "dmitri"),
    ),
    Team(
        "feed", 0.18, 0.38, 1.05, 0.78, "sync", 1500, 20, 0, 9000, 8.0, 1.8,
        ("feed-rank-7", "feed-retrieval"), ("emil", "fatima", "goran"),
    ),
    Team(
        "ads", 0.17, 0.40, 1.00, 0.82, "async", 1200, 2.6, 150, 7200, 7.5, 1.7,
        ("ads-ctr-x", "ads-cvr-x", "ads-lift"), ("hana", "ivan", "jomo", "kei"),
    ),
    Team(
        "video", 0.13, 0.20, 0.90, 0.75, "sync", 2400, 32, 0, 10800, 7.5, 2.2,
        ("reel-tower", "reel-fusion"), ("lena", "marc"), Clock.OFFSET,
    ),
    Team(
        "search", 0.11, 0.30, 1.10, 0.80, "async", 1800, 3.2, 240, 0, 7.0, 1.8,
        ("query-encoder", "dense-recall"), ("noor", "olu", "zo\u00eb"),
    ),
    Team(
        "notifications", 0.08, 0.30, 0.85, 0.84, "sync", 2100, 18, 0, 0, 6.0, 1.5,
        ("notif-gate",), ("pia", "quentin"), Clock.UNIX,
    ),
    Team(
        "integrity", 0.07, 0.28, 1.15, 0.76, "async", 2700, 4.0, 420, 9000, 7.0, 2.0,
        ("shield-mm", "shield-text"), ("ravi", "sofia"),
    ),
    Team(
        "research", 0.06, 0.15, 1.25, 0.60, "sync", 3600, 45, 0, 14400, 9.0, 2.8,
        ("scaling-a", "scaling-b", "sparse-moe"), ("tomas", "uma", "vera"), Clock.OFFSET,
    ),
)  # fmt: skip


def fleet_teams(count: int) -> tuple[Team, ...]:
    """The first `count` teams; beyond the known ones habits repeat under names like `ranking-2`."""
    return tuple(_numbered(index) for index in range(count))


def _numbered(index: int) -> Team:
    team = _TEAMS[index % len(_TEAMS)]
    generation = index // len(_TEAMS) + 1
    return team if generation == 1 else replace(team, name=f"{team.name}-{generation}")
