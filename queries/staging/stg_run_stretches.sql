-- Which stretch each event of a trainer belongs to: its launch's, else the one that had begun last;
-- a wait in a queue belongs to what began next. Null: its job has no stretch.
-- grain: one row per row_no
-- empty without: woven_jobs
with

launched as (

    select
        events.row_no,
        islands.joined_no as job_no,
        stretches.stretch_no
    from stg_run_events as events
    inner join stg_islands as islands
        on
            events.job_no = islands.job_no
            and events.launch = islands.launch
    inner join stg_stretches as stretches
        on
            islands.joined_no = stretches.job_no
            and islands.island = stretches.island
            and islands.chain_no is not distinct from stretches.chain_no
            and islands.try is not distinct from stretches.try

),

-- launches by their name, and by their name and the scheduler's job that they state
called as (

    select
        job_no,
        '' as scheduler_job,
        first_us,
        joined_no,
        launch
    from stg_holds

    union all

    select
        job_no,
        scheduler_job,
        first_us,
        joined_no,
        launch
    from stg_holds
    where scheduler_job is not null

),

stated as (

    select
        job_no,
        scheduler_job
    from called
    group by job_no, scheduler_job

),

loose as (

    select
        events.row_no,
        events.job_no,
        coalesce(stated.scheduler_job, '') as scheduler_job,
        events.at_us,
        events.is_queue
    from stg_run_events as events
    left join stated
        on
            events.job_no = stated.job_no
            and events.scheduler_job = stated.scheduler_job
    where events.row_no not in (select launched.row_no from launched)

),

-- the logical job: that of the launch so called that had begun last
named as (

    select
        row_no,
        at_us,
        is_queue,
        coalesce(
            last_value(joined_no ignore nulls) over in_order,
            first_value(joined_no ignore nulls) over in_name
        ) as job_no
    from (
        select
            job_no,
            scheduler_job,
            first_us as at_us,
            joined_no,
            launch,
            cast(null as bigint) as row_no,
            cast(null as boolean) as is_queue
        from called
        union all
        select
            job_no,
            scheduler_job,
            at_us,
            cast(null as bigint) as joined_no,
            cast(null as varchar) as launch,
            row_no,
            is_queue
        from loose
    ) as lined_up
    window
        in_order as (
            partition by job_no, scheduler_job
            order by at_us asc, launch asc nulls last, row_no asc
            rows unbounded preceding
        ),
        in_name as (
            partition by job_no, scheduler_job
            order by at_us asc, launch asc nulls last, row_no asc
            rows between unbounded preceding and unbounded following
        )

),

counted as (

    select
        row_no,
        job_no,
        is_queue,
        sum(begun) over (
            partition by job_no
            order by at_us asc, turn asc
            rows unbounded preceding
        ) as begun,
        sum(begun) over (partition by job_no) as stretches
    from (
        select
            cast(null as bigint) as row_no,
            job_no,
            cast(null as boolean) as is_queue,
            from_us as at_us,
            2 as turn,
            1 as begun
        from stg_stretches
        union all
        select
            row_no,
            job_no,
            is_queue,
            at_us,
            case when is_queue then 1 else 3 end as turn,
            0 as begun
        from named
        where row_no is not null
    ) as lined_up

)

select
    row_no,
    job_no,
    stretch_no
from launched

union all

select
    counted.row_no,
    counted.job_no,
    stretches.stretch_no
from counted
left join stg_stretches as stretches
    on
        counted.job_no = stretches.job_no
        and stretches.place = case
            when counted.is_queue then least(counted.begun + 1, counted.stretches)
            else greatest(counted.begun, 1)
        end
where counted.row_no is not null
