"""What the exporter asks of the window macros: every team and window in one select a macro.

The numbers are the macros' own; only teams past the named ones are added up, as `other`.
"""

from __future__ import annotations

_WINDOWS = """
    windows as (

        select
            unnest($window_names::varchar[]) as window_name,
            unnest($first_days::date[]) as first_day,
            $last_day::date as last_day

    )
"""
_TEAMS = """
    teams as (

        select unnest($teams::varchar[]) as team

    )
"""
WINDOW_OF = f"""
    with

    {_WINDOWS},

    {_TEAMS},

    asked as (

        select team from teams
        union all
        select 'fleet' as team

    ),

    measured as (

        select
            asked.team,
            windows.window_name,
            measures.ett_gpu_ratio,
            measures.instrumented_ratio,
            measures.preemption_ratio,
            measures.gpu_seconds,
            measures.effective_gpu_seconds,
            measures.unsaved_gpu_seconds,
            measures.uninstrumented_gpu_seconds,
            measures.tts_p50_seconds,
            measures.tts_p90_seconds,
            measures.ttr_p50_seconds,
            measures.ttr_p90_seconds,
            measures.checkpoint_save_p50_seconds,
            measures.checkpoint_save_p90_seconds,
            measures.infra_failures,
            measures.attempts_ended,
            measures.completed,
            measures.failed,
            measures.preempted,
            measures.cancelled,
            measures.timeout,
            measures.lost
        from asked
        cross join windows
        cross join lateral (
            from window_of(asked.team, 'all', windows.first_day, windows.last_day)
        ) as measures

    ),

    named as (

        select *
        from measured
        where list_contains($named::varchar[], team)

    ),

    others as (

        select
            'other' as team,
            window_name,
            sum(effective_gpu_seconds)
                / nullif(sum(gpu_seconds) - coalesce(sum(uninstrumented_gpu_seconds), 0), 0)
                as ett_gpu_ratio,
            1 - coalesce(sum(uninstrumented_gpu_seconds), 0) / nullif(sum(gpu_seconds), 0)
                as instrumented_ratio,
            sum(preempted) / nullif(sum(attempts_ended), 0) as preemption_ratio,
            sum(unsaved_gpu_seconds) as unsaved_gpu_seconds,
            sum(infra_failures) as infra_failures,
            sum(completed) as completed,
            sum(failed) as failed,
            sum(preempted) as preempted,
            sum(cancelled) as cancelled,
            sum(timeout) as timeout,
            sum(lost) as lost
        from measured
        where
            team <> 'fleet'
            and not list_contains($named::varchar[], team)
        group by window_name

    ),

    fleet as (

        select
            team,
            window_name,
            tts_p50_seconds,
            tts_p90_seconds,
            ttr_p50_seconds,
            ttr_p90_seconds,
            checkpoint_save_p50_seconds,
            checkpoint_save_p90_seconds
        from measured
        where team = 'fleet'

    ),

    shown as (

        select * from named
        union all by name
        select * from others
        union all by name
        select * from fleet

    )

    select
        team,
        window_name as "window",
        columns(* exclude (team, window_name))::double
    from shown
    order by all
"""

WINDOW_AREAS = f"""
    with

    {_WINDOWS},

    {_TEAMS}

    select
        if(list_contains($named::varchar[], teams.team), teams.team, 'other') as team,
        windows.window_name as "window",
        areas.area,
        sum(areas.gpu_seconds)::double as gpu_seconds
    from teams
    cross join windows
    cross join lateral (
        from window_areas(teams.team, 'all', windows.first_day, windows.last_day)
    ) as areas
    group by all
    order by all
"""

WINDOW_INTERRUPTIONS = f"""
    with

    {_WINDOWS},

    {_TEAMS},

    counted as (

        select
            if(list_contains($named::varchar[], teams.team), teams.team, 'other') as team,
            windows.window_name,
            coalesce(ends.failure_domain, 'unknown') as domain,
            sum(ends.interruptions) as interruptions
        from teams
        cross join windows
        cross join lateral (
            from window_interruptions(teams.team, 'all', windows.first_day, windows.last_day)
        ) as ends
        group by all

    ),

    placed as (

        select
            domain,
            row_number() over (order by sum(interruptions) desc, domain asc) as place
        from counted
        group by domain

    )

    select
        counted.team,
        counted.window_name as "window",
        if(placed.place <= $max_domains, counted.domain, 'other') as domain,
        sum(counted.interruptions)::double as interruptions
    from counted
    inner join placed on counted.domain = placed.domain
    group by all
    order by all
"""

CATEGORIES = f"""
    with

    {_WINDOWS},

    counted as (

        select
            windows.window_name,
            coalesce(ends.failure_domain, 'unknown') as domain,
            coalesce(ends.failure_category, 'unclassified') as category,
            coalesce(any_value(ends.attribution), 'unknown') as attribution,
            sum(ends.interruptions) as interruptions
        from windows
        cross join lateral (
            from window_interruptions('fleet', 'all', windows.first_day, windows.last_day)
        ) as ends
        group by all

    ),

    placed as (

        select
            domain,
            category,
            row_number() over (order by sum(interruptions) desc, domain asc, category asc) as place
        from counted
        group by
            domain,
            category

    )

    select
        counted.window_name as "window",
        if(placed.place <= 20, counted.domain, 'other') as domain,
        if(placed.place <= 20, counted.category, 'other') as category,
        if(placed.place <= 20, counted.attribution, 'other') as attribution,
        sum(counted.interruptions)::double as interruptions
    from counted
    inner join placed
        on counted.domain = placed.domain and counted.category = placed.category
    group by all
    order by all
"""
