-- Rows whose start a dump cut to its window (sacct -T), with the start that another dump tells.
-- That a row had ended, or still ran when the newest says that it started, proves that it was cut;
-- one that only moved on while its nodes booted did neither.
-- grain: one row per job_no, row_key
-- empty without: scoped_events.row_key
with

starts as (

    select
        job_no,
        row_key,
        file_no,
        at_us as started_us
    from scoped_events
    where
        row_key is not null
        and event = 'attempt_start'

),

several as (

    select
        job_no,
        row_key
    from starts
    group by job_no, row_key
    having min(started_us) < max(started_us)

),

lasts as (

    select
        scoped.job_no,
        scoped.row_key,
        scoped.file_no,
        max(case when scoped.event = 'alive' then scoped.at_us else 9223372036854775807 end)
            as reach_us
    from scoped_events as scoped
    inner join several
        on
            scoped.job_no = several.job_no
            and scoped.row_key = several.row_key
    where scoped.event in ('alive', 'attempt_end')
    group by scoped.job_no, scoped.row_key, scoped.file_no

),

slices as (

    select
        starts.job_no,
        starts.row_key,
        starts.started_us,
        -- of two dumps that tell one end only the newer is kept as telling it
        max(coalesce(lasts.reach_us, 9223372036854775807)) as reach_us,
        max(files.clock_us) as clock_us
    from starts
    inner join several
        on
            starts.job_no = several.job_no
            and starts.row_key = several.row_key
    inner join files on starts.file_no = files.file_no
    left join lasts
        on
            starts.job_no = lasts.job_no
            and starts.row_key = lasts.row_key
            and starts.file_no = lasts.file_no
    group by starts.job_no, starts.row_key, starts.started_us

),

followed as (

    select
        *,
        max(reach_us) over (
            partition by job_no, row_key
            order by started_us asc
            rows between unbounded preceding and 1 preceding
        ) as reached_us,
        row_number() over (
            partition by job_no, row_key
            order by clock_us desc, started_us desc
        ) as precedence
    from slices

),

stretched as (

    select
        *,
        sum(
            -- a window ends within the second before the next
            case when started_us - 1000000 <= reached_us then 0 else 1 end
        ) over (
            partition by job_no, row_key
            order by started_us asc
            rows unbounded preceding
        ) as stretch
    from followed

)

select
    newest.job_no,
    newest.row_key,
    min(slices.started_us) as started_us,
    newest.started_us as cut_us
from stretched as newest
inner join stretched as slices
    on
        newest.job_no = slices.job_no
        and newest.row_key = slices.row_key
        and newest.stretch = slices.stretch
where newest.precedence = 1
group by newest.job_no, newest.row_key, newest.started_us
having min(slices.started_us) < newest.started_us
