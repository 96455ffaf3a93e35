"""The selects that pages share. They filter, order and divide; sums are the views' business.

Those of a window have the parameters team, workload, first day, last day, then what they add.
"""

from __future__ import annotations

from typing import Final

# how many ran: read for the window that is looked at, since it costs as much as all the rest
RAN: Final = "from window_jobs($1, $2, $3, $4)"

# $5: weight, $6: how many are enough to be compared with. No more are counted, which is quick.
_RAN_BEFORE: Final = """
    (
        select count(*)
        from (
            select job_id
            from attempts
            where
                is_counted{which}
                and ($1 = 'fleet' or team = $1)
                and ($2 = 'all' or workload = $2)
                and started_day <= $4
                and ended_day >= $3
                and (ended_day <= $4 or wall_ended_day >= $3)
                and ($5 = 'wall' or gpus is not null)
            limit $6
        )
    )"""
RAN_BEFORE: Final = f"""
select{_RAN_BEFORE.format(which="")} as attempts_weighed,
{_RAN_BEFORE.format(which=" and is_instrumented")} as attempts_told
"""

# $5: weight, gpu or wall
WINDOW: Final = """
select
    *,
    if($5 = 'gpu', ett_gpu_ratio, ett_ratio) as ett,
    if(
        $5 = 'gpu', gpu_seconds - uninstrumented_gpu_seconds, wall_seconds - uninstrumented_seconds
    ) as instrumented,
    instrumented - if($5 = 'gpu', effective_gpu_seconds, effective_seconds) as lost_amount
from window_measures($1, $2, $3, $4)
"""

# $5: target. The budget is always by GPUs, and its rate is of the days that there are: the data may
# be younger than the window.
BUDGET: Final = """
select
    held.days,
    (1 - $5) * instrumented_gpu_seconds as allowed_gpu_seconds,
    allowed_gpu_seconds - lost_gpu_seconds as left_gpu_seconds,
    left_gpu_seconds / nullif(allowed_gpu_seconds, 0) as left_ratio,
    lost_gpu_seconds / nullif(held.days, 0) as lost_gpu_seconds_per_day,
    left_gpu_seconds / nullif(lost_gpu_seconds_per_day, 0) as left_days
from window_teams($2, $3, $4)
cross join (select count(*) as days from days where day between $3 and $4) as held
where team = $1
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

# The day with an attempt of the choice that is nearest to the window; one that a longer window of
# complete days reaches ($5: the longest) before any other.
NEAREST: Final = """
select day
from team_day_totals
where team = $1 and workload = $2 and attempts_running > 0
order by
    day > $4::date - $5::int and day < $3 desc,
    greatest(date_diff('day', day, $3::date), date_diff('day', $4::date, day)),
    day desc
limit 1
"""

# $1: team, $2: workload, $3: day
JOBS_OF_DAY: Final = """
select job_id
from attempts
where
    is_counted
    and ($1 = 'fleet' or team = $1)
    and ($2 = 'all' or workload = $2)
    and started_day <= $3
    and ended_day >= $3
group by job_id
order by sum(wall_seconds) desc, job_id
limit 5
"""

DAYS: Final = "select day, is_complete from days where day between ? and ? order by day"

# $5: weight. Uninstrumented time has no share: ETT does not speak of it.
AREAS: Final = """
select
    area,
    is_recovery,
    if($5 = 'gpu', gpu_seconds, seconds) as amount,
    if($5 = 'gpu', share_gpu_ratio, share_ratio) as share_ratio
from window_shares($1, $2, $3, $4)
where amount is not null  -- of it no GPUs are known
order by area, is_recovery
"""

# $5: weight, $6 and $7: first and last day of the window before
MOVES: Final = """
select area, moved_ratio
from window_moves($1, $2, $5, $3, $4, $6, $7)
where moved_ratio <> 0
order by abs(moved_ratio) desc, area
"""

# $1: workload, $2 and $3: first and last day, $4: weight
TEAMS: Final = """
select
    team,
    if($4 = 'gpu', ett_gpu_ratio, ett_ratio) as ett_ratio,
    if($4 = 'gpu', lost_gpu_seconds, lost_seconds) as lost_amount,
    lost_gpu_seconds,
    gpu_seconds,
    wall_seconds,
    attempts_ended
from window_teams($1, $2, $3)
where team <> 'fleet'
order by lost_amount desc nulls last, team
"""

# What teams had before, of those of which enough instrumented attempts ran then and now.
# $1: workload, $2 and $3: first and last day, $4: weight, $5 and $6: the days before, $7: how many
# are enough to be compared with
TEAMS_BEFORE: Final = """
with ran as (
    select
        team,
        count(*) filter (
            started_day <= $3 and ended_day >= $2 and (ended_day <= $3 or wall_ended_day >= $2)
        ) as now,
        count(*) filter (
            started_day <= $6 and ended_day >= $5 and (ended_day <= $6 or wall_ended_day >= $5)
        ) as before
    from attempts
    where
        is_counted
        and is_instrumented
        and ($1 = 'all' or workload = $1)
        and ($4 = 'wall' or gpus is not null)
        and started_day <= $3
        and ended_day >= $5
    group by team
)
select team, if($4 = 'gpu', ett_gpu_ratio, ett_ratio) as ett_ratio
from window_teams($1, $5, $6)
where team in (select team from ran where now >= $7 and before >= $7)
"""

# $1: workload, $2 and $3: first and last day, $4: weight, $5: the teams
TEAMS_BY_DAY: Final = """
select
    team_day.team,
    days.day,
    days.is_complete,
    if($4 = 'gpu', team_day.ett_gpu_ratio, team_day.ett_ratio) as ett_ratio
from days
inner join team_day on days.day = team_day.day
where
    team_day.workload = $1
    and days.day between $2 and $3
    and list_contains($5, team_day.team)
order by team_day.team, days.day
"""

# $1: team. A team without a target of its own has the fleet's.
TARGET: Final = """
select ett_ratio
from targets
where team in ($1, 'fleet')
order by team = 'fleet'
limit 1
"""
TARGETS: Final = "select team, ett_ratio from targets"

# $1: team, which what all teams have is of as well
REGRESSIONS: Final = """
select
    *,
    count(*) over () as known
from regressions
where state = 'open' and ($1 = 'fleet' or team in ($1, 'fleet'))
order by lost_gpu_seconds_per_day desc nulls last, started_on desc, team, metric
limit 5
"""
