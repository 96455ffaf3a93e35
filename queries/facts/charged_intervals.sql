-- Each attempt's window cut at the boundaries of its phases and at midnights, each piece charged to
-- the first open phase of METRICS.md section 2. One pass: a running sum of how many spans of each
-- phase are open, eleven bits a phase in one integer. Where an attempt has more spans than fit in
-- them, those of a phase that overlap are one, and it is cut where none of a phase is open.
-- grain: one row per attempt_no, from_us
with

charged as not materialized (

    select
        attempt_no,
        phase,
        from_us,
        to_us
    from phase_spans
    where
        phase not in ('queue', 'checkpoint_upload')
        and to_us > from_us

),

crowded as (

    select attempt_no
    from phase_spans
    group by attempt_no
    having count(*) > 2047

),

crowd as (

    select charged.*
    from charged
    inner join crowded on charged.attempt_no = crowded.attempt_no

),

crowd_firsts as (

    select
        *,
        coalesce(from_us > max(to_us) over (
            partition by attempt_no, phase
            order by from_us asc
            rows between unbounded preceding and 1 preceding
        ), true) as is_first
    from crowd

),

crowd_islands as (

    select
        *,
        sum(cast(is_first as integer)) over (
            partition by attempt_no, phase
            order by from_us asc, is_first desc
            rows unbounded preceding
        ) as island
    from crowd_firsts

),

spans as not materialized (

    select charged.*
    from charged
    left join crowded on charged.attempt_no = crowded.attempt_no
    where crowded.attempt_no is null

    union all

    select
        attempt_no,
        phase,
        min(from_us) as from_us,
        max(to_us) as to_us
    from crowd_islands
    group by attempt_no, phase, island

),

weighed as not materialized (

    select
        attempt_no,
        from_us,
        to_us,
        case phase
            when 'checkpoint_save' then 1298074214633706907132624082305024  -- 2^110
            when 'evaluation' then 633825300114114700748351602688  -- 2^99
            when 'data_wait' then 309485009821345068724781056  -- 2^88
            when 'pt2_compile' then 151115727451828646838272  -- 2^77
            when 'checkpoint_load' then 73786976294838206464  -- 2^66
            when 'shutdown' then 36028797018963968  -- 2^55
            when 'training' then 17592186044416  -- 2^44
            when 'trainer_init' then 8589934592  -- 2^33
            when 'launcher_init' then 4194304  -- 2^22
            when 'hardware_setup' then 2048  -- 2^11
            when 'scheduling' then 1
        end as weight
    from spans

),

boundaries as (

    select
        attempt_no,
        from_us as at_us,
        weight
    from weighed

    union all

    select
        attempt_no,
        to_us as at_us,
        -weight as weight
    from weighed

    union all

    select
        attempt_no,
        started_us as at_us,
        0 as weight
    from attempt_windows

    union all

    select
        attempt_no,
        window_end_us as at_us,
        0 as weight
    from attempt_windows

    union all

    select
        windows.attempt_no,
        calendar.from_us as at_us,
        0 as weight
    from attempt_windows as windows
    inner join calendar
        on
            windows.started_us < calendar.from_us
            and windows.window_end_us > calendar.from_us

),

counted as (

    select
        attempt_no,
        at_us as from_us,
        lead(at_us) over in_order as to_us,
        sum(weight) over in_order as weight
    from boundaries
    window in_order as (
        partition by attempt_no
        order by at_us asc
        rows unbounded preceding
    )

)

select
    attempt_no,
    from_us,
    to_us,
    case
        when weight >= 1298074214633706907132624082305024 then cast('checkpoint_save' as area_name)
        when weight >= 633825300114114700748351602688 then cast('evaluation' as area_name)
        when weight >= 309485009821345068724781056 then cast('data_wait' as area_name)
        when weight >= 151115727451828646838272 then cast('pt2_compile' as area_name)
        when weight >= 73786976294838206464 then cast('checkpoint_load' as area_name)
        when weight >= 36028797018963968 then cast('shutdown' as area_name)
        when weight >= 17592186044416 then cast('training' as area_name)
        when weight >= 8589934592 then cast('trainer_init' as area_name)
        when weight >= 4194304 then cast('launcher_init' as area_name)
        when weight >= 2048 then cast('hardware_setup' as area_name)
        when weight >= 1 then cast('scheduling' as area_name)
        else cast('unaccounted' as area_name)
    end as area
from counted
where to_us > from_us
