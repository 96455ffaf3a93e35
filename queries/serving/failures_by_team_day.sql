-- What stopped attempts, and what it cost, per scope and day of the end.
-- grain: one row per team, workload, day, failure_domain, failure_category
select
    coalesce(sums.team, 'fleet') as team,
    coalesce(sums.workload, 'all') as workload,
    sums.day,
    split_part(sums.category, '/', 1) as failure_domain,
    split_part(sums.category, '/', 2) as failure_category,
    coalesce(any_value(attributions.attribution), 'unknown') as attribution,
    cast(sum(sums.interruptions) as bigint) as interruptions,
    -- of attempts whose GPUs are known
    cast(sum(sums.gpu_interruptions) as bigint) as gpu_interruptions,
    -- of attempts that are instrumented too; null where what it cost is known of none
    cast(sum(sums.costed_interruptions) as bigint) as costed_interruptions,
    sum(sums.lost_gpu_us) / 1e6 as lost_gpu_seconds
from warehouse.failure_day_sums_kept as sums
left join category_attributions as attributions
    on sums.category = attributions.category
group by
    grouping sets (
        (sums.team, sums.workload, sums.day, sums.category),
        (sums.team, sums.day, sums.category),
        (sums.workload, sums.day, sums.category),
        (sums.day, sums.category)
    )
order by team asc, workload asc, sums.day asc
