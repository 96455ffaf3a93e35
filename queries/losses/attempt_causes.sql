-- Why each interruption happened: exactly one cause, what shows it, and what decided. The root, not
-- the loudest (docs/rulings.md, R30).
-- grain: one row per job_no, attempt
with

interrupted as (

    select
        windows.job_no,
        windows.attempt,
        windows.outcome,
        ends.row_no as end_row_no
    from attempt_windows as windows
    left join attempt_ends as ends
        on
            windows.job_no = ends.job_no
            and windows.attempt = ends.attempt
    where windows.outcome in ('failed', 'preempted', 'timeout', 'lost')

),

told as (

    select
        interrupted.job_no,
        interrupted.attempt,
        events.at_us,
        events.rank,
        events.category,
        events.cause_category,
        events.cause_rule,
        events.cause_rank,
        left(coalesce(events.evidence, events.message, events.row_state), 2000) as evidence,
        events.evidence_line,
        events.file_no,
        events.event = 'failure' as is_failure,
        -- of several ends the one that counts
        events.event = 'attempt_end' and events.row_no = interrupted.end_row_no as is_end,
        events.is_scheduler,
        interrupted.outcome in ('preempted', 'timeout') as is_explicit,
        case interrupted.outcome
            when 'preempted' then 'scheduler/preempted'
            when 'timeout' then 'scheduler/time_limit'
            when 'lost' then 'unknown/no_end_recorded'
            else 'unknown/unclassified'
        end as category_of_outcome
    from stg_events as events
    inner join interrupted
        on
            events.job_no = interrupted.job_no
            and events.attempt = interrupted.attempt
    where
        events.event = 'failure'
        or events.event = 'attempt_end'

),

weighed as (

    select
        *,
        case
            -- what a scheduler did itself it knows best
            when
                is_end
                and is_scheduler
                and coalesce(category, case when is_explicit then category_of_outcome end)
                in ('scheduler/preempted', 'scheduler/time_limit', 'scheduler/node_fail')
                then 1
            when is_failure and category is not null then 2
            -- that a job was put back in the queue does not say why
            when is_end and category <> 'scheduler/requeued' then 3
            when is_end and is_explicit then 4
            when cause_category is not null then 5
            when is_end and category is not null then 6
            when is_failure or is_end then 7
        end as weight
    from told

),

candidates as (

    select
        job_no,
        attempt,
        weight,
        case
            when weight = 5 then cause_category
            when weight in (4, 7) then category_of_outcome
            else coalesce(category, category_of_outcome)
        end as category,
        case
            when weight = 5 then cause_rule
            when weight = 7 then 'none'
            when is_scheduler then 'scheduler'
            else 'source'
        end as rule,
        case when weight = 5 then cause_rank end as cause_rank,
        at_us,
        rank,
        evidence,
        evidence_line,
        file_no
    from weighed
    where weight is not null

    union all

    select
        job_no,
        attempt,
        8 as weight,
        case
            when outcome = 'lost' then 'unknown/no_end_recorded'
            else 'unknown/unclassified'
        end as category,
        'none' as rule,
        cast(null as bigint) as cause_rank,
        cast(null as bigint) as at_us,
        cast(null as bigint) as rank,
        cast(null as varchar) as evidence,
        cast(null as bigint) as evidence_line,
        cast(null as integer) as file_no
    from interrupted

),

ranked as (

    select
        *,
        row_number() over (
            partition by job_no, attempt
            order by
                weight asc,
                cause_rank asc nulls last,
                at_us asc nulls last,  -- the earliest initiating failure is the cause
                category desc,
                rank asc nulls last,
                rule asc nulls last,
                evidence asc nulls last,
                evidence_line asc nulls last,
                file_no asc nulls last
        ) as precedence
    from candidates

)

select
    job_no,
    attempt,
    category,
    rule,
    evidence,
    evidence_line,
    file_no as evidence_file_no
from ranked
where precedence = 1
