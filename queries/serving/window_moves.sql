-- What moved the ETT of one scope from some days to others: a part for each area, for the same kind
-- of work taking longer or shorter, and one for the job mix. Together they are the change.
--
-- Kitagawa's split over cells of workload x GPU bucket x model. With w the share of a cell in all
-- and s the share of an area in its cell, an area moves ETT by -sum(mean w * change of s), the job
-- mix by -sum(mean s * change of w), over all cells. A cell that one of the windows lacks has the s
-- of the other: its coming or going is a change of the mix.
-- grain: one row per area, and one of `job_mix`
-- macro: chosen_team, chosen_workload, by_weight, first_day, last_day, before_first, before_last
with

cells as (

    select
        workload,
        model,
        gpus,
        day between first_day and last_day as is_now,
        sum(scheduling_us) as scheduling,
        sum(hardware_setup_us) as hardware_setup,
        sum(launcher_init_us) as launcher_init,
        sum(trainer_init_us) as trainer_init,
        sum(pt2_compile_us) as pt2_compile,
        sum(checkpoint_load_us) as checkpoint_load,
        sum(effective_us) as effective,
        sum(unsaved_us) as unsaved,
        sum(hang_us) as hang,
        sum(checkpoint_save_us) as checkpoint_save,
        sum(evaluation_us) as evaluation,
        sum(data_wait_us) as data_wait,
        sum(shutdown_us) as shutdown,
        sum(unaccounted_us) as unaccounted
    from cells_by_team_day
    where
        (chosen_team = 'fleet' or team = chosen_team)
        and (chosen_workload = 'all' or workload = chosen_workload)
        and (
            day between first_day and last_day
            or day between before_first and before_last
        )
    group by workload, model, gpus, day between first_day and last_day

),

charged as (

    unpivot cells
    on columns(* exclude (workload, model, gpus, is_now))
    into name area value us

),

compared as (

    select
        workload,
        model,
        case
            when gpus is null then 'unknown'
            when gpus <= 8 then '1-8'
            when gpus <= 64 then '9-64'
            when gpus <= 512 then '65-512'
            else '513+'
        end as gpus_bucket,
        area,
        -- unknown GPUs: in seconds only
        sum(case when is_now then us * case by_weight when 'gpu' then gpus else 1 end end)
            as now_amount,
        sum(case when not is_now then us * case by_weight when 'gpu' then gpus else 1 end end)
            as earlier_amount
    from charged
    group by all

),

weighed as (

    select
        area,
        now_amount,
        earlier_amount,
        sum(now_amount) over cell as now_cell,
        sum(earlier_amount) over cell as earlier_cell,
        sum(now_amount) over () as now_whole,
        sum(earlier_amount) over () as earlier_whole
    from compared
    window cell as (partition by workload, model, gpus_bucket)

),

shared as (

    select
        area,
        coalesce(now_cell / now_whole, 0) as now_weight,
        coalesce(earlier_cell / earlier_whole, 0) as earlier_weight,
        now_amount / nullif(now_cell, 0) as now_share,
        earlier_amount / nullif(earlier_cell, 0) as earlier_share
    from weighed
    where
        now_whole > 0
        and earlier_whole > 0
        and area <> 'effective'

),

split as (

    select
        area,
        now_weight - earlier_weight as weight_change,
        (now_weight + earlier_weight) / 2 as mean_weight,
        coalesce(now_share, earlier_share) as now_share,
        coalesce(earlier_share, now_share) as earlier_share
    from shared

)

select
    area,
    -sum(mean_weight * (now_share - earlier_share)) as moved_ratio
from split
group by area

union all

select
    'job_mix' as area,
    -sum((now_share + earlier_share) / 2 * weight_change) as moved_ratio
from split
having count(*) > 0
