-- The views of the serving file over `given`, `rejected_lines`, `anomalies`, `targets`, `stated`.

create table area_by_attempt as
select
    job_id,
    attempt,
    item.area as area,
    is_recovering and item.area in (
        'scheduling', 'hardware_setup', 'launcher_init', 'trainer_init', 'pt2_compile', 'checkpoint_load'
    ) as is_recovery,
    item.seconds as seconds,
    item.seconds * gpus as gpu_seconds
from (select *, unnest(areas) as item from given);

create table attempts as
with sums as (
    pivot (select job_id, attempt, area, seconds from area_by_attempt)
    on area in (
        scheduling, hardware_setup, launcher_init, trainer_init, pt2_compile, checkpoint_load, effective,
        unsaved, hang, checkpoint_save, evaluation, data_wait, shutdown, unaccounted, uninstrumented
    )
    using sum(seconds)
    group by job_id, attempt
),

filled as (
    select
        job_id,
        attempt,
        coalesce(scheduling, 0) as scheduling_seconds,
        coalesce(hardware_setup, 0) as hardware_setup_seconds,
        coalesce(launcher_init, 0) as launcher_init_seconds,
        coalesce(trainer_init, 0) as trainer_init_seconds,
        coalesce(pt2_compile, 0) as pt2_compile_seconds,
        coalesce(checkpoint_load, 0) as checkpoint_load_seconds,
        coalesce(effective, 0) as effective_seconds,
        coalesce(unsaved, 0) as unsaved_seconds,
        coalesce(hang, 0) as hang_seconds,
        coalesce(checkpoint_save, 0) as checkpoint_save_seconds,
        coalesce(evaluation, 0) as evaluation_seconds,
        coalesce(data_wait, 0) as data_wait_seconds,
        coalesce(shutdown, 0) as shutdown_seconds,
        coalesce(unaccounted, 0) as unaccounted_seconds,
        coalesce(uninstrumented, 0) as uninstrumented_seconds
    from sums
)

select
    given.* exclude (areas, is_recovering),
    filled.* exclude (job_id, attempt),
    'somebody' as user_name,
    'model-7' as model,
    'h100' as cluster,
    null::varchar as allocation_id,
    filled.uninstrumented_seconds = 0 as is_instrumented,
    given.outcome = 'running' as is_open,
    given.outcome in ('failed', 'preempted', 'timeout', 'lost') as is_interruption,
    if(is_interruption, if(outcome = 'preempted', 'scheduler', 'infra'), null) as attribution,
    attribution as failure_domain,
    if(is_interruption, outcome, null) as failure_category,
    given.started_at + to_seconds(filled.scheduling_seconds) as allocated_at,
    if(filled.effective_seconds > 0, allocated_at + interval 200 second, null) as first_batch_at,
    given.ended_at as interrupted_at,
    date_diff('microsecond', given.started_at, given.ended_at) / 1e6 as wall_seconds,
    given.ttr_seconds - given.queue_seconds as ttr_without_queue_seconds,
    if(filled.checkpoint_save_seconds > 0, 2, 0) as checkpoint_saves,
    0 as recompiles,
    'hit' as cache,
    filled.unsaved_seconds * given.gpus as lost_gpu_seconds
from given
inner join filled using (job_id, attempt);

create table stage_by_attempt as
select job_id, attempt, 'trainer_init' as phase, stage, trainer_init_seconds / 2 as seconds
from attempts
cross join (values ('process_group_init'), ('get_first_batch_data')) as stages (stage)
where trainer_init_seconds > 0;

create table jobs as
select
    job_id,
    any_value(team) as team,
    any_value(workload) as workload,
    any_value(user_name) as user_name,
    any_value(model) as model,
    max(gpus) as gpus,
    bool_and(is_instrumented) as is_instrumented,
    bool_or(is_excluded) as is_excluded,
    count(*) as attempts,
    count(*) filter (where is_interruption) as interruptions,
    min(started_at) as first_started_at,
    max(ended_at) as last_ended_at,
    arg_max(outcome, attempt) as last_outcome,
    max(tts_seconds) as tts_seconds,
    max(ttr_seconds) as max_ttr_seconds,
    sum(unsaved_seconds) as unsaved_seconds,
    sum(wall_seconds) as wall_seconds,
    sum(effective_seconds) as effective_seconds,
    sum(wall_seconds * gpus) as gpu_seconds,
    sum(queue_seconds) as queue_seconds,
    if(
        bool_and(is_instrumented),
        sum(effective_seconds) / nullif(sum(wall_seconds - uninstrumented_seconds), 0),
        null
    ) as ett_ratio,
    if(bool_and(is_instrumented), sum((wall_seconds - effective_seconds) * gpus), null) as lost_gpu_seconds
from attempts
group by job_id;

create table counted as
select *, ended_at::date as day, wall_seconds * gpus as gpu_seconds
from attempts
where not is_excluded;

create macro window_of(of_team, of_workload, from_day, to_day) as table
select
    of_team as team,
    of_workload as workload,
    from_day as first_day,
    to_day as last_day,
    date_diff('day', from_day::date, to_day::date) + 1 as days,
    to_day <= (select last_complete_day from stated) as is_complete,
    sums.*
from (
    select
    count(distinct job_id) as jobs,
    count(*) as attempts,
    count(*) filter (where not is_open) as attempts_ended,
    count(*) filter (where outcome = 'preempted') as preempted,
    count(*) filter (where outcome = 'completed') as completed,
    count(*) filter (where outcome = 'cancelled') as cancelled,
    count(*) filter (where outcome = 'failed') as failed,
    count(*) filter (where outcome = 'timeout') as timeout,
    count(*) filter (where outcome = 'lost') as lost,
    failed + timeout + lost as failures,
    failures as infra_failures,
    failures + preempted as interruptions,
    failures as infra_interruptions,
    jobs as jobs_running,
    attempts as attempts_running,
    coalesce(sum(wall_seconds), 0) as wall_seconds,
    coalesce(sum(gpu_seconds), 0) as gpu_seconds,
    coalesce(sum(effective_seconds), 0) as effective_seconds,
    coalesce(sum(effective_seconds * gpus), 0) as effective_gpu_seconds,
    coalesce(sum(unsaved_seconds), 0) as unsaved_seconds,
    coalesce(sum(unsaved_seconds * gpus), 0) as unsaved_gpu_seconds,
    coalesce(sum(unaccounted_seconds), 0) as unaccounted_seconds,
    coalesce(sum(unaccounted_seconds * gpus), 0) as unaccounted_gpu_seconds,
    coalesce(sum(uninstrumented_seconds), 0) as uninstrumented_seconds,
    coalesce(sum(uninstrumented_seconds * gpus), 0) as uninstrumented_gpu_seconds,
    coalesce(sum(checkpoint_save_seconds), 0) as checkpoint_save_seconds,
    sum(checkpoint_saves) as checkpoint_saves,
    sum(queue_seconds) as queue_seconds,
    sum(recompiles) as recompiles,
    coalesce(
        sum(unsaved_seconds + checkpoint_save_seconds + evaluation_seconds + data_wait_seconds + hang_seconds), 0
    ) as wasted_seconds,
    coalesce(sum(gpus * (
        unsaved_seconds + checkpoint_save_seconds + evaluation_seconds + data_wait_seconds + hang_seconds
    )), 0) as wasted_gpu_seconds,
    sum(gpu_seconds) - sum(uninstrumented_seconds * gpus) - sum(effective_seconds * gpus) as lost_gpu_seconds,
    sum(effective_seconds) / nullif(sum(wall_seconds - uninstrumented_seconds), 0) as ett_ratio,
    sum(effective_seconds * gpus) / nullif(sum(gpu_seconds - uninstrumented_seconds * gpus), 0) as ett_gpu_ratio,
    sum(unsaved_seconds) / nullif(sum(wall_seconds - uninstrumented_seconds), 0) as failure_ratio,
    sum(unsaved_seconds * gpus) / nullif(sum(gpu_seconds - uninstrumented_seconds * gpus), 0) as failure_gpu_ratio,
    1 - ett_ratio - failure_ratio as idleness_ratio,
    1 - ett_gpu_ratio - failure_gpu_ratio as idleness_gpu_ratio,
    sum(effective_seconds) / nullif(sum(wall_seconds - uninstrumented_seconds + queue_seconds), 0)
        as ettr_with_queue_ratio,
    quantile_disc(tts_seconds, 0.5) as tts_p50_seconds,
    quantile_disc(tts_seconds, 0.9) as tts_p90_seconds,
    count(tts_seconds) as tts_count,
    quantile_disc(ttr_seconds, 0.5) as ttr_p50_seconds,
    quantile_disc(ttr_seconds, 0.9) as ttr_p90_seconds,
    count(ttr_seconds) as ttr_count,
    null::double as checkpoint_save_p50_seconds,
    null::double as checkpoint_save_p90_seconds,
    null::double as checkpoint_save_p99_seconds,
    count(*) filter (where outcome = 'preempted') / nullif(count(*) filter (where not is_open), 0)
        as preemption_ratio,
    preemption_ratio as preempted_job_ratio,
    1 - sum(uninstrumented_seconds * gpus) / nullif(sum(gpu_seconds), 0) as instrumented_ratio,
    1.0 as compile_cache_hit_ratio
from counted
where
    (of_team = 'fleet' or team = of_team)
    and (of_workload = 'all' or workload = of_workload)
    and day between from_day and to_day
) as sums;

create macro window_areas(of_team, of_workload, from_day, to_day) as table
select area, is_recovery, sum(seconds) as seconds, sum(area_by_attempt.gpu_seconds) as gpu_seconds
from area_by_attempt
inner join counted using (job_id, attempt)
where
    (of_team = 'fleet' or team = of_team)
    and (of_workload = 'all' or workload = of_workload)
    and day between from_day and to_day
group by all;

create table team_day as
with scopes as (
    select day, team, workload from counted
    union
    select day, team, 'all' from counted
    union
    select day, 'fleet', workload from counted
    union
    select day, 'fleet', 'all' from counted
)

select scopes.day, windows.* exclude (first_day, last_day, days, jobs, attempts)
from scopes
cross join lateral (from window_of(scopes.team, scopes.workload, scopes.day, scopes.day)) as windows;

create table days as
select day, day <= (select last_complete_day from stated) as is_complete
from (
    select unnest(generate_series(min(day), max(day), interval 1 day))::date as day
    from counted
);

create table regressions (
    team varchar, metric varchar, started_on date, state varchar, severity varchar, held_back_by varchar,
    verdict varchar, observed double, expected double, change_ratio double,
    lost_gpu_seconds_per_day double, detected_on date, closed_on date
);

create table detail_files (file varchar);

create table job_details (job_id varchar, file varchar);

create table ingested_files as select 1 as file_no, 'dumps/events-0303.jsonl.gz' as file;

create table identity_by_day as
select
    day,
    sum(round(wall_seconds * 1e6))::bigint as wall_us,
    sum(round(areas_seconds * 1e6))::bigint as areas_us,
    wall_us - areas_us as gap_us
from counted
inner join (
    select job_id, attempt, sum(seconds) as areas_seconds
    from area_by_attempt
    group by job_id, attempt
) as charged using (job_id, attempt)
group by day;

create table sources as
select 'events@h100' as source, 'events' as format, 'h100' as cluster, data_at, 120000 as events,
    (select count(*) from rejected_lines) as rejected
from stated
where data_at is not null;

create table rejected_by_source as
select 'events@h100' as source, reason, count(*) as lines
from rejected_lines
group by reason;

create table publication as
select
    published_at,
    sequence,
    1 as schema_version,
    'UTC' as time_zone,
    (select min(day) from days) as first_day,
    last_complete_day,
    (select max(day) from days) as newest_day,
    data_at,
    21600.0 as stale_after_seconds,
    (select coalesce(sum(events), 0) from sources)::bigint as events,
    (select count(*) from rejected_lines) as rejected
from stated;
