-- Launches of which a trainer tells a minute or more in another allocation than the one that they
-- count in: processes end with the allocation that they run in.
-- grain: one row per job_no, launch
select
    holds.joined_no as job_no,
    holds.launch,
    any_value(job_keys.job_key) as name,
    held.try as held_try,
    string_agg(cast(others.try as varchar), ', ' order by others.try asc) as other_tries,
    max(holds.first_us) as first_us
from stg_holds as holds
inner join job_keys on holds.job_no = job_keys.job_no
inner join stg_allocations as held
    on
        holds.chain_no = held.job_no
        and holds.try = held.try
inner join stg_allocations as others
    on
        held.job_no = others.job_no
        and held.try <> others.try
where
    holds.is_told
    and (held.until_us <= others.begin_us or held.begin_us >= others.until_us)
    and least(holds.last_us, others.until_us)
    - greatest(holds.first_us, others.begin_us) >= 60000000
group by holds.joined_no, holds.launch, held.try
