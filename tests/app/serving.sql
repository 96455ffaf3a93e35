-- The tables of the serving file that ingest fills, from `given`, `rejected_lines`, `anomalies`,
-- `targets`, `stated`. What is built over them is queries' own.

create table attempts as
with charged as (
    select job_id, attempt, unnest(areas) as item
    from given
),

seconds as (
    pivot (select job_id, attempt, item.area as area, item.seconds as seconds from charged)
    on area in (
        scheduling, hardware_setup, launcher_init, trainer_init, pt2_compile, checkpoint_load, effective,
        unsaved, hang, checkpoint_save, evaluation, data_wait, shutdown, unaccounted, uninstrumented
    )
    using coalesce(sum(seconds), 0)
    group by job_id, attempt
),

told as (
    select
        given.* exclude (areas),
        seconds.* exclude (job_id, attempt),
        seconds.uninstrumented = 0 as is_instrumented,
        given.started_at + to_microseconds(round(1e6 * seconds.scheduling)::bigint) as allocated_at
    from given
    inner join seconds using (job_id, attempt)
)

select
    job_id,
    attempt,
    team,
    workload,
    'h100' as cluster,
    'somebody' as user_name,
    model,
    'high' as priority,
    null::varchar as job_name,
    null::varchar as "partition",
    gpus,
    'H100' as gpu_type,
    null::varchar as allocation_id,
    is_instrumented,
    is_excluded,
    not is_excluded and gpus is distinct from 0 as is_counted,
    outcome = 'running' as is_open,
    outcome in ('failed', 'preempted', 'timeout', 'lost') as is_interruption,
    started_at,
    allocated_at,
    if(
        effective > 0,
        allocated_at + to_microseconds(round(
            1e6 * (hardware_setup + launcher_init + trainer_init + pt2_compile + checkpoint_load)
        )::bigint),
        null
    ) as first_batch_at,
    ended_at,
    if(is_interruption, ended_at, null) as interrupted_at,
    started_at::date as started_day,
    first_batch_at::date as first_batch_day,
    ended_at::date as ended_day,
    ended_day as wall_ended_day,
    outcome,
    if(is_interruption, if(outcome = 'preempted', 'scheduler', 'infra'), null) as attribution,
    attribution as failure_domain,
    if(is_interruption, outcome, null) as failure_category,
    message,
    null::integer as exit_code,
    date_diff('microsecond', started_at, ended_at) / 1e6 as wall_seconds,
    0.0 as suspended_seconds,
    queue_seconds,
    tts_seconds,
    ttr_seconds,
    ttr_seconds - queue_seconds as ttr_without_queue_seconds,
    if(is_instrumented, scheduling, null) as scheduling_seconds,
    if(is_instrumented, hardware_setup, null) as hardware_setup_seconds,
    if(is_instrumented, launcher_init, null) as launcher_init_seconds,
    if(is_instrumented, trainer_init, null) as trainer_init_seconds,
    if(is_instrumented, pt2_compile, null) as pt2_compile_seconds,
    if(is_instrumented, checkpoint_load, null) as checkpoint_load_seconds,
    if(is_instrumented, effective, null) as effective_seconds,
    if(is_instrumented, unsaved, null) as unsaved_seconds,
    if(is_instrumented, hang, null) as hang_seconds,
    if(is_instrumented, checkpoint_save, null) as checkpoint_save_seconds,
    if(is_instrumented, evaluation, null) as evaluation_seconds,
    if(is_instrumented, data_wait, null) as data_wait_seconds,
    if(is_instrumented, shutdown, null) as shutdown_seconds,
    if(is_instrumented, unaccounted, null) as unaccounted_seconds,
    uninstrumented as uninstrumented_seconds,
    if(
        is_recovering,
        scheduling + hardware_setup + launcher_init + trainer_init + pt2_compile + checkpoint_load,
        0
    ) as recovery_seconds,
    if(checkpoint_save > 0, 2, 0) as checkpoint_saves,
    if(pt2_compile > 0, 1, null) as recompiles,
    if(pt2_compile > 0, if(pt2_compile < 150, 'hit', 'miss'), null) as cache,
    unsaved * gpus as lost_gpu_seconds,
    round(1e6 * tts_seconds)::bigint as tts_us,
    round(1e6 * ttr_seconds)::bigint as ttr_us,
    if(is_recovering, round(1e6 * scheduling), 0)::bigint as scheduling_recovery_us,
    if(is_recovering, round(1e6 * hardware_setup), 0)::bigint as hardware_setup_recovery_us,
    if(is_recovering, round(1e6 * launcher_init), 0)::bigint as launcher_init_recovery_us,
    if(is_recovering, round(1e6 * trainer_init), 0)::bigint as trainer_init_recovery_us,
    if(is_recovering, round(1e6 * pt2_compile), 0)::bigint as pt2_compile_recovery_us,
    if(is_recovering, round(1e6 * checkpoint_load), 0)::bigint as checkpoint_load_recovery_us,
    round(1e6 * scheduling)::bigint as scheduling_startup_us,
    round(1e6 * hardware_setup)::bigint as hardware_setup_startup_us,
    round(1e6 * launcher_init)::bigint as launcher_init_startup_us,
    round(1e6 * trainer_init)::bigint as trainer_init_startup_us,
    round(1e6 * pt2_compile)::bigint as pt2_compile_startup_us,
    round(1e6 * checkpoint_load)::bigint as checkpoint_load_startup_us
from told;

create table stage_by_attempt as
select job_id, attempt, 'trainer_init' as phase, stage, trainer_init_seconds / 2 as seconds
from attempts
cross join (values ('process_group_init'), ('get_first_batch_data')) as stages (stage)
where trainer_init_seconds > 0
union all
select job_id, attempt, 'shutdown' as phase, 'model_publish' as stage, shutdown_seconds * 0.6 as seconds
from attempts
where shutdown_seconds > 0;

create table jobs as
select
    job_id,
    any_value(team) as team,
    any_value(workload) as workload,
    any_value(user_name) as user_name,
    any_value(model) as model,
    any_value(job_name) as job_name,
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
    if(
        bool_and(is_instrumented),
        sum(effective_seconds * gpus) / nullif(sum((wall_seconds - uninstrumented_seconds) * gpus), 0),
        null
    ) as ett_gpu_ratio,
    if(bool_and(is_instrumented), sum((wall_seconds - effective_seconds) * gpus), null) as lost_gpu_seconds
from attempts
group by job_id;

-- An attempt's seconds all count on the day of its end: simpler than the real thing on purpose.
create table charges as
select
    job_id,
    attempt,
    team,
    workload,
    model,
    gpus,
    ended_day as day,
    round(1e6 * wall_seconds)::bigint as wall_us,
    coalesce(round(1e6 * scheduling_seconds), 0)::bigint as scheduling_us,
    coalesce(round(1e6 * hardware_setup_seconds), 0)::bigint as hardware_setup_us,
    coalesce(round(1e6 * launcher_init_seconds), 0)::bigint as launcher_init_us,
    coalesce(round(1e6 * trainer_init_seconds), 0)::bigint as trainer_init_us,
    coalesce(round(1e6 * pt2_compile_seconds), 0)::bigint as pt2_compile_us,
    coalesce(round(1e6 * checkpoint_load_seconds), 0)::bigint as checkpoint_load_us,
    coalesce(round(1e6 * effective_seconds), 0)::bigint as effective_us,
    coalesce(round(1e6 * unsaved_seconds), 0)::bigint as unsaved_us,
    coalesce(round(1e6 * hang_seconds), 0)::bigint as hang_us,
    coalesce(round(1e6 * checkpoint_save_seconds), 0)::bigint as checkpoint_save_us,
    coalesce(round(1e6 * evaluation_seconds), 0)::bigint as evaluation_us,
    coalesce(round(1e6 * data_wait_seconds), 0)::bigint as data_wait_us,
    coalesce(round(1e6 * shutdown_seconds), 0)::bigint as shutdown_us,
    coalesce(round(1e6 * unaccounted_seconds), 0)::bigint as unaccounted_us,
    round(1e6 * uninstrumented_seconds)::bigint as uninstrumented_us,
    coalesce(columns('^(.*recovery_us)$'), 0) as '\1'
from attempts
where is_counted;

create table attempt_days as
select *
from charges
semi join (
    select job_id, attempt
    from attempts
    where is_instrumented and started_day <> ended_day
) as split using (job_id, attempt);

create table team_day_totals as
with times as (
    select team, workload, day, columns('_us$'), columns('^(.*)_us$') * gpus as '\1_gpu_us'
    from charges
),

summed as (
    select
        coalesce(team, 'fleet') as team,
        coalesce(workload, 'all') as workload,
        day,
        -- null: of unknown GPUs
        cast(sum(columns('^(.*_us)$')) as bigint) as '\1'
    from times
    group by grouping sets ((team, workload, day), (team, day), (workload, day), (day))
),

counted as (
    select
        coalesce(team, 'fleet') as team,
        coalesce(workload, 'all') as workload,
        ended_day as day,
        coalesce(sum(round(1e6 * queue_seconds)), 0)::bigint as queue_us,
        sum(round(1e6 * queue_seconds) * gpus)::bigint as queue_gpu_us,
        coalesce(sum(round(1e6 * unsaved_seconds)) filter (where is_interruption), 0)::bigint
            as interruption_loss_us,
        sum(round(1e6 * unsaved_seconds) * gpus) filter (where is_interruption)::bigint
            as interruption_loss_gpu_us,
        count(*) as attempts_running,
        count(distinct job_id) as jobs_running,
        count(distinct job_id) filter (where outcome = 'preempted') as jobs_preempted,
        count(*) filter (where not is_open) as attempts_ended,
        count(*) filter (where outcome = 'completed') as completed,
        count(*) filter (where outcome = 'failed') as failed,
        count(*) filter (where outcome = 'preempted') as preempted,
        count(*) filter (where outcome = 'cancelled') as cancelled,
        count(*) filter (where outcome = 'timeout') as timeout,
        count(*) filter (where outcome = 'lost') as lost,
        count(*) filter (where attribution = 'infra') as infra_failures,
        count(*) filter (where outcome in ('failed', 'timeout', 'lost') and gpus is not null)
            as gpu_failures,
        count(*) filter (where attribution = 'infra' and gpus is not null) as infra_gpu_failures,
        infra_failures as infra_interruptions,
        sum(checkpoint_saves)::bigint as checkpoint_saves,
        count(*) filter (where cache = 'hit') as cache_hits,
        count(*) filter (where cache = 'miss') as cache_misses,
        coalesce(sum(recompiles), 0)::bigint as recompiles
    from attempts
    where is_counted
    group by grouping sets ((team, workload, ended_day), (team, ended_day), (workload, ended_day), (ended_day))
)

select summed.* rename (wall_gpu_us as gpu_us), counted.* exclude (team, workload, day)
from summed
inner join counted using (team, workload, day);

create table save_times as
select team, workload, ended_day as day, round(0.5e6 * checkpoint_save_seconds)::bigint as save_us
from attempts
cross join range(2)
where is_counted and checkpoint_save_seconds > 0;

create table checkpointing as
select
    job_id,
    attempt,
    team,
    workload,
    gpus,
    ended_day,
    started_day,
    is_interruption,
    outcome = 'running' as is_open,
    checkpoint_saves as saves,
    if(checkpoint_saves > 1, 1800000000, null)::bigint as interval_us,
    if(checkpoint_saves > 1, round(5e5 * checkpoint_save_seconds), null)::bigint as blocked_us,
    round(1e6 * (
        effective_seconds
        + unsaved_seconds
        + hang_seconds
        + checkpoint_save_seconds
        + evaluation_seconds
        + data_wait_seconds
    ))::bigint as loop_us,
    round(1e6 * unsaved_seconds)::bigint as unsaved_us,
    round(1e6 * checkpoint_save_seconds)::bigint as checkpoint_save_us
from attempts
where is_counted and is_instrumented and first_batch_at is not null;

create table day_latencies as
with samples as (
    select 'tts' as measure, team, workload, first_batch_day as day, tts_us as us
    from attempts
    where is_counted and tts_us is not null
    union all
    select 'ttr', team, workload, first_batch_day, ttr_us
    from attempts
    where is_counted and ttr_us is not null
    union all
    select 'save', team, workload, day, save_us
    from save_times
)

select
    coalesce(team, 'fleet') as team,
    coalesce(workload, 'all') as workload,
    day,
    count(*) filter (where measure = 'tts') as tts_count,
    quantile_disc(us, 0.5) filter (where measure = 'tts') as tts_p50_us,
    quantile_disc(us, 0.9) filter (where measure = 'tts') as tts_p90_us,
    quantile_disc(us, 0.99) filter (where measure = 'tts') as tts_p99_us,
    count(*) filter (where measure = 'ttr') as ttr_count,
    quantile_disc(us, 0.5) filter (where measure = 'ttr') as ttr_p50_us,
    quantile_disc(us, 0.9) filter (where measure = 'ttr') as ttr_p90_us,
    quantile_disc(us, 0.99) filter (where measure = 'ttr') as ttr_p99_us,
    count(*) filter (where measure = 'save') as save_count,
    quantile_disc(us, 0.5) filter (where measure = 'save') as save_p50_us,
    quantile_disc(us, 0.9) filter (where measure = 'save') as save_p90_us,
    quantile_disc(us, 0.99) filter (where measure = 'save') as save_p99_us
from samples
group by grouping sets ((team, workload, day), (team, day), (workload, day), (day));

create table failures_by_team_day as
select
    coalesce(team, 'fleet') as team,
    coalesce(workload, 'all') as workload,
    ended_day as day,
    failure_domain,
    failure_category,
    any_value(attribution) as attribution,
    count(*) as interruptions,
    count(gpus) as gpu_interruptions,
    count(lost_gpu_seconds) as costed_interruptions,
    sum(lost_gpu_seconds) as lost_gpu_seconds
from attempts
where is_counted and is_interruption
group by grouping sets (
    (team, workload, ended_day, failure_domain, failure_category),
    (team, ended_day, failure_domain, failure_category),
    (workload, ended_day, failure_domain, failure_category),
    (ended_day, failure_domain, failure_category)
);

create table cells_by_team_day as
select team, workload, model, gpus, day, cast(sum(columns('^(.*_us)$')) as bigint) as '\1'
from charges
group by team, workload, model, gpus, day;

create table stages_by_team_day as
select
    team,
    workload,
    if(phase = 'shutdown', ended_day, coalesce(first_batch_day, ended_day)) as day,
    phase,
    stage,
    count(*) as attempts,
    sum(round(1e6 * seconds))::bigint as us,
    sum(round(1e6 * seconds) * gpus)::bigint as gpu_us
from stage_by_attempt
inner join attempts using (job_id, attempt)
where is_counted
group by team, workload, if(phase = 'shutdown', ended_day, coalesce(first_batch_day, ended_day)), phase, stage;

create table days as
select day, coalesce(day <= (select last_complete_day from stated), false) as is_complete
from (
    select unnest(generate_series(min(day), max(day), interval 1 day))::date as day
    from charges
);

create table regressions (
    team varchar, metric varchar, started_on date, state varchar, severity varchar, held_back_by varchar,
    verdict varchar, observed double, expected double, change_ratio double,
    lost_gpu_seconds_per_day double, detected_on date, closed_on date
);

insert into regressions by name from found;

create table detail_files (file varchar);

create table job_details (job_id varchar, job_no bigint, file varchar);

create table ingested_files as
select
    1 as file_no,
    'dumps/events-0303.jsonl.gz' as file,
    'events' as format,
    'h100' as cluster,
    4200000 as bytes,
    repeat('0', 64) as sha256,
    120000 as events,
    (select count(*) from rejected_lines) as rejected,
    published_at as ingested_at
from stated;

create table identity_by_day as
with summed as (
    select
        day,
        sum(wall_us)::bigint as wall_us,
        sum(
            scheduling_us + hardware_setup_us + launcher_init_us + trainer_init_us + pt2_compile_us
            + checkpoint_load_us + effective_us + unsaved_us + hang_us + checkpoint_save_us
            + evaluation_us + data_wait_us + shutdown_us + unaccounted_us + uninstrumented_us
        )::bigint as areas_us
    from charges
    group by day
)

select *, wall_us - areas_us as gap_us
from summed;

create table sources as
select 'events@h100' as source, 'events' as format, 'h100' as cluster, data_at, 120000 as events,
    (select count(*) from rejected_lines) as rejected, 120000 as told
from stated
where data_at is not null;

create table rejected_by_source as
select 'events@h100' as source, reason, count(*) as lines
from rejected_lines
group by reason;

create table unmatched_messages (
    template varchar, "count" bigint, example varchar, first_seen_at timestamp, last_seen_at timestamp
);

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
