-- What the sources contradicted or left out, and was resolved by METRICS.md: listed, never hidden.
-- grain: many rows per job_no, attempt, kind
with

found as (

    select
        spans.attempt_no,
        'missing_end' as kind,
        concat(
            spans.phase,
            case when spans.stage is not null then concat('/', spans.stage) end,
            case when spans.rank is not null then concat(' of rank ', spans.rank) end
        ) as what,
        spans.told_from_us as at_us
    from phase_spans as spans
    inner join attempt_windows as windows on spans.attempt_no = windows.attempt_no
    where
        not spans.has_own_end
        and not (windows.outcome = 'running' and spans.to_us = windows.window_end_us)

    union all

    select
        instants.attempt_no,
        'end_without_start' as kind,
        concat(
            instants.phase,
            case when instants.stage is not null then concat('/', instants.stage) end,
            case
                when instants.rank >= 0 then concat(' of rank ', instants.rank)
                -- of joined jobs the source stands before the rank
                when -instants.rank % 4294967296 > 0
                    then concat(' of rank ', -instants.rank % 4294967296 - 1)
            end
        ) as what,
        instants.at_us
    from phase_states as instants
    where
        instants.starts = 0
        and instants.ends > instants.open_before

),

compared as (

    select
        windows.job_no,
        windows.attempt,
        case
            when events.row_no = ends.row_no then null
            when events.at_us < windows.natural_start_us then 'end_before_start'
            when events.is_scheduler <> ends.is_scheduler and events.outcome <> ends.outcome
                then 'sources_disagree'
            when events.at_us = ends.ended_us and coalesce(events.outcome = ends.outcome, true)
                then null
            -- a trainer's end lies within that of its row, which has whole seconds
            when
                not events.is_scheduler
                and ends.is_scheduler
                and events.outcome = ends.outcome
                and events.at_us <= ends.ended_us + 1000000
                then null
            -- several launches of a joined job never end at one instant
            when not windows.is_joined then 'several_ends'
            when
                events.is_scheduler = ends.is_scheduler
                and coalesce(events.launch, '') = coalesce(ends.launch, '')
                then 'several_ends'
            when events.outcome <> ends.outcome then 'sources_disagree'
        end as kind,
        case
            when events.at_us < windows.natural_start_us or events.outcome is null
                then coalesce(cast(events.outcome as varchar), 'no outcome')
            when events.is_scheduler <> ends.is_scheduler
                then concat('the scheduler says ', ends.outcome, ', the trainer ', events.outcome)
            when windows.is_joined and coalesce(events.launch, '') <> coalesce(ends.launch, '')
                then concat(ends.outcome, ' stands, another source says ', events.outcome)
            else cast(events.outcome as varchar)
        end as what,
        events.at_us
    from stg_events as events
    inner join attempt_windows as windows
        on
            events.job_no = windows.job_no
            and events.attempt = windows.attempt
    left join attempt_ends as ends
        on
            events.job_no = ends.job_no
            and events.attempt = ends.attempt
    where events.event = 'attempt_end'

),

-- from when to when the scheduler's jobs of trainers held something
held as (

    select
        allocations.job_no,
        min(allocations.begin_us) as begin_us,
        max(allocations.until_us) as until_us,
        -- after any other end the next allocation may only not be told yet
        max_by(told.row_state, allocations.begin_us) in (
            'COMPLETED', 'FAILED', 'TIMEOUT', 'OUT_OF_MEMORY', 'DEADLINE'
        ) as is_over
    from stg_allocations as allocations
    left join stg_scheduler_events as told
        on
            allocations.job_no = told.job_no
            and allocations.try = told.attempt
            and told.event = 'attempt_end'
    group by allocations.job_no

),

reused as (

    select distinct base_job_no
    from stg_scheduler_rows
    where chain > 1

),

-- from when to when the jobs of a number that was given out again ran
numbered as (

    select
        events.base_job_no,
        events.job_no,
        min(case when events.event = 'attempt_start' then events.at_us end) as begin_us,
        max(events.at_us) as until_us
    from stg_scheduler_events as events
    inner join reused on events.base_job_no = reused.base_job_no
    where events.phase is null
    group by events.base_job_no, events.job_no

),

told as (

    select
        windows.job_no,
        windows.attempt,
        found.kind,
        found.what,
        found.at_us
    from found
    inner join attempt_windows as windows on found.attempt_no = windows.attempt_no

    union all

    select
        job_no,
        attempt,
        kind,
        what,
        at_us
    from compared
    where kind is not null

    union all

    select
        events.job_no,
        events.attempt,
        'end_without_outcome' as kind,
        case
            when events.exit_code is null then 'no exit code' else
                concat('exit code ', events.exit_code)
        end
            as what,
        events.at_us
    from stg_events as events
    where
        events.event = 'attempt_end'
        and events.outcome is null

    union all

    select
        windows.job_no,
        windows.attempt,
        'events_after_end' as kind,
        'the end stands, what follows is cut off' as what,
        windows.last_sign_us as at_us
    from attempt_windows as windows
    left join attempt_ends as ends
        on
            windows.job_no = ends.job_no
            and windows.attempt = ends.attempt
    where
        windows.is_ended
        and windows.last_sign_us
        -- a scheduler's row has whole seconds
        > windows.ended_us + case when ends.is_scheduler then 1000000 else 0 end

    union all

    select
        windows.job_no,
        windows.attempt,
        'events_before_start' as kind,
        'the allocation stands, what came before is cut off' as what,
        windows.first_event_us as at_us
    from attempt_windows as windows
    where
        windows.is_allocated
        and windows.first_event_us < windows.started_us

    union all

    select
        coalesce(placed.job_no, starts.job_no) as job_no,
        coalesce(placed.attempt, starts.attempt) as attempt,
        'start_was_cut' as kind,
        'the earlier start stands, a dump cut it to its window (sacct -T)' as what,
        cuts.cut_us as at_us
    from stg_scheduler_cuts as cuts
    inner join stg_scheduler_events as starts
        on
            cuts.job_no = starts.base_job_no
            and cuts.row_key = starts.row_key
            and starts.event = 'attempt_start'
    left join stg_scheduler_places as placed on starts.row_no = placed.row_no

    union all

    select
        windows.job_no,
        windows.attempt,
        'overlaps_successor' as kind,
        concat('attempt ', windows.next_attempt, ' had started') as what,
        windows.last_sign_us as at_us
    from attempt_windows as windows
    inner join attempt_windows as later
        on
            windows.job_no = later.job_no
            and windows.next_attempt = later.attempt
    where windows.last_sign_us > later.natural_start_us

    union all

    select
        coalesce(placed.job_no, scoped.job_no) as job_no,
        coalesce(placed.attempt, scoped.attempt) as attempt,
        'negative_span' as kind,
        cast(scoped.phase as varchar) as what,
        scoped.at_us
    from scoped_events as scoped
    left join stg_superseded as superseded on scoped.row_no = superseded.row_no
    left join stg_placements as placed
        on coalesce(superseded.kept_row_no, scoped.row_no) = placed.row_no
    where scoped.end_us < scoped.at_us

    union all

    select
        coalesce(placed.job_no, scoped.job_no) as job_no,
        coalesce(placed.attempt, scoped.attempt) as attempt,
        'event_id_conflict' as kind,
        concat('event_id ', scoped.event_id) as what,
        scoped.at_us
    from scoped_events as scoped
    inner join stg_superseded as superseded on scoped.row_no = superseded.row_no
    left join stg_placements as placed on superseded.kept_row_no = placed.row_no
    where
        -- that something lived contradicts nothing
        scoped.event <> 'alive'
        and not superseded.is_completed
        and not superseded.is_repeated

    union all

    select
        holds.joined_no as job_no,
        cast(null as bigint) as attempt,
        'ambiguous_job' as kind,
        concat(
            'the scheduler''s job ', coalesce(launches.scheduler_job, job_keys.job_key),
            ' is known on ', links.meanings, ' clusters, such as ',
            coalesce(links.first_cluster, links.last_cluster), ' and ', links.last_cluster
        ) as what,
        launches.first_us as at_us
    from stg_launch_links as links
    inner join stg_launches as launches
        on
            links.job_no = launches.job_no
            and links.launch = launches.launch
    inner join stg_holds as holds
        on
            links.job_no = holds.job_no
            and links.launch = holds.launch
    inner join job_keys on links.job_no = job_keys.job_no
    where links.meanings > 1

    union all

    select
        holds.joined_no as job_no,
        cast(null as bigint) as attempt,
        'ambiguous_job' as kind,
        concat('jobs of the scheduler ran at once under the name ', job_keys.job_key) as what,
        holds.first_us as at_us
    from stg_holds as holds
    inner join stg_trainer_names as names on holds.job_no = names.job_no
    inner join job_keys on holds.job_no = job_keys.job_no
    where names.is_shared

    union all

    -- without accounting nothing holds these names together
    select
        holds.joined_no as job_no,
        cast(null as bigint) as attempt,
        'counted_twice' as kind,
        concat(
            'the scheduler''s job ', holds.scheduler_job,
            ', of which no row tells, is at the same time told as ', job_keys.job_key
        ) as what,
        holds.first_us as at_us
    from stg_holds as holds
    inner join stg_launches as launches
        on
            holds.job_no = launches.job_no
            and holds.launch = launches.launch
    inner join stg_holds as others
        on
            holds.scheduler_job = others.scheduler_job
            and holds.joined_no <> others.joined_no
            and holds.first_us < others.last_us
            and holds.last_us > others.first_us
    inner join stg_launches as other_launches
        on
            others.job_no = other_launches.job_no
            and others.launch = other_launches.launch
            and coalesce(launches.cluster = other_launches.cluster, true)
    inner join job_keys on others.joined_no = job_keys.job_no
    -- a number that rows know, of another time or of two clusters, is told of elsewhere
    left join stg_launch_links as links
        on
            holds.job_no = links.job_no
            and holds.launch = links.launch
    left join stg_launch_links as other_links
        on
            others.job_no = other_links.job_no
            and others.launch = other_links.launch
    where
        holds.is_told
        and others.is_told
        and links.job_no is null
        and other_links.job_no is null

    union all

    -- a name that two clusters give, as trainers do that call themselves by the scheduler's number
    select
        job_no,
        attempt,
        'clusters_at_once' as kind,
        concat(
            'attempt ', attempt, ' is told of on ', count(distinct cluster), ' clusters, such as ',
            min(cluster), ' and ', max(cluster)
        ) as what,
        max(at_us) as at_us
    from stg_events
    where
        event = 'attempt_start'
        and not is_scheduler
        and cluster is not null
    group by job_no, attempt
    having min(cluster) <> max(cluster)

    union all

    -- a number is given out again once its job is over
    select
        coalesce(placed.job_no, starts.job_no) as job_no,
        coalesce(placed.attempt, starts.attempt) as attempt,
        'number_at_once' as kind,
        'it ran while another job of its number did' as what,
        greatest(ran.begin_us, others.begin_us) as at_us
    from numbered as ran
    inner join numbered as others
        on
            ran.base_job_no = others.base_job_no
            and ran.job_no <> others.job_no
            and ran.begin_us < others.until_us
            and ran.until_us > others.begin_us
    inner join stg_scheduler_events as starts
        on
            ran.job_no = starts.job_no
            and ran.begin_us = starts.at_us
            and starts.event = 'attempt_start'
    left join stg_scheduler_places as placed on starts.row_no = placed.row_no

    union all

    -- a zone that its times do not tell moves a log away from what it ran in
    select
        holds.joined_no as job_no,
        cast(null as bigint) as attempt,
        'outside_allocations' as kind,
        concat(
            'the scheduler''s job ', holds.scheduler_job,
            ' held nothing when a log says that it ran under it'
        ) as what,
        holds.first_us as at_us
    from stg_holds as holds
    inner join stg_launch_links as links
        on
            holds.job_no = links.job_no
            and holds.launch = links.launch
    inner join held on links.chain_no = held.job_no
    where
        holds.is_told
        and holds.try is null
        and (
            holds.last_us < held.begin_us
            or (holds.first_us > held.until_us and held.is_over)
        )

    union all

    select
        job_no,
        cast(null as bigint) as attempt,
        'launch_over_allocations' as kind,
        concat(
            'a log of ', name, ' tells one launch in several allocations of the scheduler: it ',
            'counts in number ', held_try, ', and nothing of it in ', other_tries
        ) as what,
        first_us as at_us
    from launches_over_allocations

    union all

    select
        job_no,
        attempt,
        'runs_at_once' as kind,
        concat('logs of it told of step ', fell_from, ' and then of step ', fell_to) as what,
        first_us as at_us
    from runs_at_once

    union all

    select
        job_no,
        attempt,
        'begun_elsewhere' as kind,
        concat(
            'logs of tries before it lie in ', place_before, '; its own, in ', place,
            ', begin anew with step ', first_step
        ) as what,
        first_us as at_us
    from begun_elsewhere

    union all

    select
        job_no,
        attempt,
        'left_branch' as kind,
        concat(
            'resumed at step ', resumed_from_step, ', which attempt ', saved_by,
            ' had saved; as restored counts step ', taken_step, ', which attempt ', taken_attempt,
            ' saved after it'
        ) as what,
        taken_us as at_us
    from left_branches

    union all

    -- a source that begins uploads and tells the end of none: one or two may have been cut off
    select
        saves.job_no,
        saves.attempt,
        'never_durable' as kind,
        concat(
            count(*), ' async saves of attempt ', saves.attempt,
            ' went well, and of none is told that its upload did'
        ) as what,
        min(saves.saved_us) as at_us
    from checkpoints as saves
    inner join attempt_windows as windows on saves.attempt_no = windows.attempt_no
    where
        saves.is_async
        and saves.status = 'good'
        and windows.outcome <> 'running'
        and saves.attempt_no not in (
            select spans.attempt_no
            from phase_spans as spans
            where
                spans.phase = 'checkpoint_upload'
                and spans.is_failed
        )
    group by saves.job_no, saves.attempt
    having count(*) >= 3 and count(saves.durable_us) = 0

    union all

    select
        job_no,
        attempt,
        'buffered' as kind,
        'its log was written many lines at a time' as what,
        at_us
    from stg_events
    where
        event = 'alive'
        and stage = 'buffered'

)

select
    job_no,
    attempt,
    kind,
    what,
    min(at_us) as first_us,
    count(*) as times
from told
group by job_no, attempt, kind, what
