-- Which logical job each job of a scheduler and each trainer's name belongs to: all that names hold
-- together is one, called as the scheduler calls it where that is one job, else by its least name.
-- grain: one row per member_no
-- empty without: woven_jobs
with recursive

ties as (

    select
        links.job_no as name_no,
        links.chain_no
    from stg_launch_links as links
    inner join stg_trainer_names as names on links.job_no = names.job_no
    where
        links.chain_no is not null
        and names.is_bond
    group by links.job_no, links.chain_no

),

steps as (

    select
        name_no as from_no,
        chain_no as to_no
    from ties

    union all

    select
        chain_no as from_no,
        name_no as to_no
    from ties

),

reached as (

    select
        name_no,
        name_no as member_no
    from ties

    union

    select
        reached.name_no,
        steps.to_no as member_no
    from reached
    inner join steps on reached.member_no = steps.from_no

),

labelled as (

    select
        reached.name_no,
        min(job_keys.job_key) as label
    from reached
    inner join ties on reached.member_no = ties.name_no
    inner join job_keys on ties.name_no = job_keys.job_no
    group by reached.name_no

),

counted as (

    select
        labelled.label,
        min(ties.chain_no) as chain_no,
        min(case when job_keys.job_key = labelled.label then labelled.name_no end) as label_no,
        count(distinct ties.chain_no) as chains
    from labelled
    inner join ties on labelled.name_no = ties.name_no
    inner join job_keys on labelled.name_no = job_keys.job_no
    group by labelled.label

),

called as (

    select
        labelled.name_no,
        case when counted.chains = 1 then counted.chain_no else counted.label_no end as job_no
    from labelled
    inner join counted on labelled.label = counted.label

),

members as (

    select
        name_no as member_no,
        job_no
    from called

    union

    select
        ties.chain_no as member_no,
        called.job_no
    from ties
    inner join called on ties.name_no = called.name_no

)

select
    member_no,
    job_no
from members

union all

-- what no name holds together with anything else is a job of its own
select
    alone.member_no,
    alone.member_no as job_no
from (
    select job_no as member_no
    from stg_chains
    union
    select job_no as member_no
    from stg_launches
) as alone
where alone.member_no not in (select members.member_no from members)
