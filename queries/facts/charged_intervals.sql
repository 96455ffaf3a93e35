-- Each attempt's window cut at every boundary of its phases and at midnights, each piece charged to
-- the first open phase of METRICS.md section 2. One pass: running counts of open spans, packed
-- 20 bits a phase into two integers, so that a million reporters may have a phase open at once.
-- grain: one row per attempt_no, from_us
with

spans as (

    select
        attempt_no,
        from_us,
        to_us,
        case phase
            when 'checkpoint_save' then 1267650600228229401496703205376  -- 2^100
            when 'evaluation' then 1208925819614629174706176  -- 2^80
            when 'data_wait' then 1152921504606846976  -- 2^60
            when 'pt2_compile' then 1099511627776  -- 2^40
            when 'checkpoint_load' then 1048576  -- 2^20
            when 'shutdown' then 1
            else 0
        end as high,
        case phase
            when 'training' then 1208925819614629174706176
            when 'trainer_init' then 1152921504606846976
            when 'launcher_init' then 1099511627776
            when 'hardware_setup' then 1048576
            when 'scheduling' then 1
            else 0
        end as low
    from phase_spans
    where
        phase not in ('queue', 'checkpoint_upload')
        and to_us > from_us

),

boundaries as (

    select
        attempt_no,
        from_us as at_us,
        high,
        low
    from spans

    union all

    select
        attempt_no,
        to_us as at_us,
        -high as high,
        -low as low
    from spans

    union all

    select
        attempt_no,
        started_us as at_us,
        0 as high,
        0 as low
    from attempt_windows

    union all

    select
        attempt_no,
        window_end_us as at_us,
        0 as high,
        0 as low
    from attempt_windows

    union all

    select
        windows.attempt_no,
        calendar.from_us as at_us,
        0 as high,
        0 as low
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
        sum(high) over in_order as high,
        sum(low) over in_order as low
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
        when high >= 1267650600228229401496703205376 then cast('checkpoint_save' as area_name)
        when high >= 1208925819614629174706176 then cast('evaluation' as area_name)
        when high >= 1152921504606846976 then cast('data_wait' as area_name)
        when high >= 1099511627776 then cast('pt2_compile' as area_name)
        when high >= 1048576 then cast('checkpoint_load' as area_name)
        when high >= 1 then cast('shutdown' as area_name)
        when low >= 1208925819614629174706176 then cast('training' as area_name)
        when low >= 1152921504606846976 then cast('trainer_init' as area_name)
        when low >= 1099511627776 then cast('launcher_init' as area_name)
        when low >= 1048576 then cast('hardware_setup' as area_name)
        when low >= 1 then cast('scheduling' as area_name)
        else cast('unaccounted' as area_name)
    end as area
from counted
where to_us > from_us
