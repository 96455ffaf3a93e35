"""The selects of Overview and Job. They filter, order and divide; sums are the views' business.

Those of a window have the parameters team, workload, first day, last day, then what they add.
"""

from __future__ import annotations

from typing import Final

# $5: weight, gpu or wall
WINDOW: Final = """
select
    *,
    if($5 = 'gpu', ett_gpu_ratio, ett_ratio) as ett,
    if(
        $5 = 'gpu', gpu_seconds - uninstrumented_gpu_seconds, wall_seconds - uninstrumented_seconds
    ) as instrumented,
    instrumented - if($5 = 'gpu', effective_gpu_seconds, effective_seconds) as lost_amount
from window_of($1, $2, $3, $4)
"""

# $5: target. The budget is always by GPUs.
BUDGET: Final = """
select
    (1 - $5) * (gpu_seconds - uninstrumented_gpu_seconds) as allowed_gpu_seconds,
    allowed_gpu_seconds - lost_gpu_seconds as left_gpu_seconds,
    left_gpu_seconds / nullif(allowed_gpu_seconds, 0) as left_ratio,
    lost_gpu_seconds / (date_diff('day', $3::date, $4::date) + 1) as lost_gpu_seconds_per_day,
    left_gpu_seconds / nullif(lost_gpu_seconds_per_day, 0) as left_days
from window_of($1, $2, $3, $4)
"""

# $5: weight, $6: target
BY_DAY: Final = """
select
    days.day,
    days.is_complete,
    if($5 = 'gpu', ett_gpu_ratio, ett_ratio) as ett_ratio,
    if(
        $5 = 'gpu',
        gpu_seconds - uninstrumented_gpu_seconds - effective_gpu_seconds,
        wall_seconds - uninstrumented_seconds - effective_seconds
    ) as lost_amount,
    (1 - $6) * (gpu_seconds - uninstrumented_gpu_seconds) - lost_gpu_seconds as left_gpu_seconds,
    tts_p50_seconds,
    ttr_p50_seconds,
    preemption_ratio
from days
left join team_day on days.day = team_day.day and team_day.team = $1 and team_day.workload = $2
where days.day between $3 and $4
order by days.day
"""

# $5: weight. Uninstrumented time has no share: ETT does not speak of it.
AREAS: Final = """
select
    areas.area,
    areas.is_recovery,
    if($5 = 'gpu', areas.gpu_seconds, areas.seconds) as amount,
    if(
        $5 = 'gpu',
        whole.gpu_seconds - whole.uninstrumented_gpu_seconds,
        whole.wall_seconds - whole.uninstrumented_seconds
    ) as whole_amount,
    if(areas.area = 'uninstrumented', null, amount / nullif(whole_amount, 0)) as share_ratio
from window_areas($1, $2, $3, $4) as areas
cross join window_of($1, $2, $3, $4) as whole
order by areas.area, areas.is_recovery
"""

# $1: workload, $2 and $3: first and last day
TEAMS: Final = """
select
    teams.team,
    windows.* exclude (team)
from (
    select distinct team
    from team_day
    where team <> 'fleet' and workload = $1 and day between $2 and $3
) as teams
cross join lateral (from window_of(teams.team, $1, $2, $3)) as windows
order by windows.lost_gpu_seconds desc nulls last, teams.team
"""

# $1: team. A team without a target of its own has the fleet's.
TARGET: Final = """
select ett_ratio
from targets
where team in ($1, 'fleet')
order by team = 'fleet'
limit 1
"""

REGRESSIONS: Final = """
select team, metric, verdict, observed, expected, change_ratio, lost_gpu_seconds_per_day, started_on
from regressions
where state = 'open' and ($1 = 'fleet' or team = $1)
order by lost_gpu_seconds_per_day desc
limit 5
"""

# -- one job: $1 is its id -----------------------------------------------------------------------

JOB: Final = "select * from jobs where job_id = ?"

LIKE: Final = """
select job_id
from jobs
where contains(lower(job_id), lower($1)) or jaro_winkler_similarity(job_id, $1) > 0.85
order by jaro_winkler_similarity(job_id, $1) desc, job_id asc
limit 5
"""

ATTEMPTS: Final = """
select
    attempt,
    outcome,
    failure_domain || '/' || failure_category as cause,
    message,
    gpus,
    started_at,
    first_batch_at,
    ended_at,
    wall_seconds,
    queue_seconds,
    tts_seconds,
    ttr_seconds,
    effective_seconds,
    unsaved_seconds,
    checkpoint_saves,
    lost_gpu_seconds
from attempts
where job_id = ?
order by attempt
"""

AREAS_OF_ATTEMPT: Final = """
select area, is_recovery, seconds as amount
from area_by_attempt
where job_id = ? and attempt = ?
order by area, is_recovery
"""

STAGES: Final = """
select phase, stage, seconds
from stage_by_attempt
where job_id = ? and attempt = ?
order by seconds desc, phase, stage
"""

# $1: team
TEAM_OF_ALL_DAYS: Final = """
select ett_ratio
from window_of($1, 'all', (select min(day) from days), (select max(day) from days))
"""
