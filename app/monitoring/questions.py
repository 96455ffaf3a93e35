"""What the exporter asks of the published views: one select a question, and its parameters.

The numbers are the views' own. Only what is past the largest (of sources: the first by name) is
added up, as `other`, so that no fleet exceeds the limit of series.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.monitoring.window_sql import (
    CATEGORIES,
    WINDOW_AREAS,
    WINDOW_INTERRUPTIONS,
    WINDOW_OF,
)


@dataclass(frozen=True, slots=True)
class Question:
    """A select on one view; `table` names its rows for `families`, `needs` its parameters:

    window_names, first_days    the windows, in two lists of one length
    last_day                    of every window; null where no day is complete
    teams, named                every team (not fleet), and those that are not summed into `other`
    instrumented                GPU-seconds of each team in 28 days that ETT speaks of
    labels                      every value of the label `team`
    max_domains                 the domains that are not summed into `other`
    """

    table: str
    view: str
    sql: str
    needs: tuple[str, ...] = ()


_OF_WINDOWS = ("window_names", "first_days", "last_day")
_OF_TEAMS = (*_OF_WINDOWS, "teams", "named")

PUBLICATION = Question(
    "publication",
    "publication",
    """
    select
        last_complete_day,
        schema_version::varchar as schema_version,
        epoch(published_at)::double as published_timestamp_seconds
    from publication
    """,
)

# Largest first: the first of them are shown by name.
TEAMS = Question(
    "teams",
    "team_day",
    """
    select
        team,
        sum(gpu_seconds - uninstrumented_gpu_seconds)::double as instrumented_gpu_seconds
    from team_day
    where
        workload = 'all'
        and team <> 'fleet'
        and day between $last_day::date - 27 and $last_day::date
    group by team
    order by
        sum(gpu_seconds) desc nulls last,
        team asc
    """,
    ("last_day",),
)

# ETT of several teams is that of a sum, and so is what it is held against: an hour of each counts.
_TARGETS = """
    with

    fleet as (

        select ett_ratio
        from targets
        where team = 'fleet'

    ),

    own as (

        select
            labels.team,
            coalesce(targets.ett_ratio, fleet.ett_ratio) as ett_ratio
        from (
            select unnest($labels::varchar[]) as team
            union
            select unnest($teams::varchar[])
        ) as labels
        left join targets on labels.team = targets.team
        left join fleet on true

    ),

    summed as (

        select
            sum(own.ett_ratio * others.gpu_seconds) / nullif(sum(others.gpu_seconds), 0)
                as ett_ratio
        from (
            select
                unnest($teams::varchar[]) as team,
                unnest($instrumented::double[]) as gpu_seconds
        ) as others
        inner join own on others.team = own.team
        where not list_contains($named::varchar[], others.team)

    )

    select
        own.team,
        coalesce(if(own.team = 'other', summed.ett_ratio, null), own.ett_ratio)::double as ett_ratio
    from own
    cross join summed
    where list_contains($labels::varchar[], own.team)
    order by all
"""

# By name: to the alerts one that lost its name to a larger one would no longer be late, and the
# lines that it had set aside would be new ones of `other`.
# What a release before schema 4 published has no column `told`: the outer one is meant then.
_SOURCES = """
    with

    placed as (

        select
            source,
            data_at,
            events,
            (select told from sources as own where own.source = known.source) as told,
            row_number() over (order by source asc) as place
        from (select source, data_at, events, events as told from sources) as known

    )

    select
        if(place < 20, source, 'other') as source,
        epoch(min(data_at))::double as data_timestamp_seconds,
        sum(events)::double as events,
        sum(told)::double as told
    from placed
    group by all
    order by all
"""

# Sources are named as among the events: the share of a source is its lines over both.
_REJECTED = """
    with

    named as (

        select
            source,
            row_number() over (order by source asc) < 20 as is_named
        from sources

    ),

    counted as (

        select
            if(named.is_named, rejected.source, 'other') as source,
            rejected.reason,
            sum(rejected.lines) as lines
        from rejected_by_source as rejected
        left join named on rejected.source = named.source
        group by all

    ),

    placed as (

        select
            source,
            reason,
            lines,
            row_number() over (order by lines desc, source asc, reason asc) as place
        from counted

    )

    select
        source,
        if(place <= 40, reason, 'other') as reason,
        sum(lines)::double as lines
    from placed
    group by all
    order by all
"""

# A measure of a team has one open regression at a time. Those that alert are shown, then the
# costliest, whoever has them: what a ticket costs may be unknown.
_REGRESSIONS = """
    with

    open_then as (

        select
            *,
            row_number() over (
                partition by team, metric
                order by started_on desc
            ) as newest
        from regressions
        where {is_open}

    )

    select
        team,
        metric,
        coalesce(verdict, 'unknown') as verdict,
        coalesce(severity, 'info') as severity,
        1 as one,
        change_ratio,
        lost_gpu_seconds_per_day,
        epoch(started_on::timestamp)::double as started_timestamp_seconds
    from open_then
    where newest = 1
    order by
        coalesce(severity, 'info') = 'info',
        lost_gpu_seconds_per_day desc nulls last,
        team asc,
        metric asc
    limit 48
"""

_OPEN_THEN = """
            was_open  -- since then it may have gone away; a mix that is over never was
            and detected_on <= $last_day::date
            and (closed_on is null or closed_on > $last_day::date)
            -- from its detection on, what all teams have is told in place of what one has of it
            and not exists (
                select 1
                from regression_symptoms as part
                inner join regressions as whole using (team, metric, started_on)
                where
                    regressions.state = 'held_back'
                    and part.symptom_team = regressions.team
                    and part.symptom_metric = regressions.metric
                    and whole.team = 'fleet'
                    and whole.state = 'open'
                    and whole.detected_on <= $last_day::date
            )
"""

QUESTIONS = (
    Question("window_of", "window_of", WINDOW_OF, _OF_TEAMS),
    Question("window_areas", "window_areas", WINDOW_AREAS, _OF_TEAMS),
    Question(
        "window_interruptions",
        "window_interruptions",
        WINDOW_INTERRUPTIONS,
        (*_OF_TEAMS, "max_domains"),
    ),
    Question("categories", "window_interruptions", CATEGORIES, _OF_WINDOWS),
    Question("targets", "targets", _TARGETS, ("labels", "teams", "named", "instrumented")),
    Question("regressions", "regressions", _REGRESSIONS.format(is_open="state = 'open'")),
    Question("sources", "sources", _SOURCES),
    Question("rejected_by_source", "rejected_by_source", _REJECTED),
)
# What was open on a past day; for the past only, the present is in QUESTIONS.
REGRESSIONS_THEN = Question(
    "regressions", "regressions", _REGRESSIONS.format(is_open=_OPEN_THEN), ("last_day",)
)
VIEWS = tuple(dict.fromkeys(question.view for question in (PUBLICATION, TEAMS, *QUESTIONS)))
