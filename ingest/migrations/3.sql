-- Sources are joined, failures have causes, and events can be pruned. Files of schema 2 may have
-- some of this already: it grew while no release was made.

alter table meta add column facts_models varchar;

drop view events;
alter table told_events add column if not exists scheduler_job varchar;
alter table told_events add column if not exists run_key varchar;
alter table told_events add column if not exists run_generation bigint;
alter table told_events add column if not exists run_restart bigint;
alter table told_events add column if not exists cause_category varchar;
alter table told_events add column if not exists cause_rule varchar;
alter table told_events add column if not exists cause_rank bigint;
alter table told_events add column if not exists evidence varchar;
alter table told_events add column if not exists evidence_line bigint;
create view events as
select * from told_events
union all by name
select * from plain_events;

create table if not exists placed_jobs (
    job_no bigint not null
);

create table if not exists scheduler_jobs (
    job_no bigint not null,
    scheduler_job varchar not null,
    cluster varchar
);

create table if not exists job_links (
    job_no bigint not null,
    scheduler_job varchar not null,
    cluster varchar
);

create table if not exists unexplained_messages (
    message varchar not null,
    told bigint not null,
    first_us bigint not null,
    last_us bigint not null
);

create table if not exists unmatched_templates (
    template varchar not null,
    count bigint not null,
    example varchar not null,
    first_us bigint not null,
    last_us bigint not null
);

create table pruned_jobs (
    job_no bigint not null,
    job_key varchar not null,
    shown_no bigint not null,
    before_us bigint not null
);

create table pruned_events (
    file_no integer not null,
    events bigint not null
);

-- judged by no rules of this release yet; null would say that computing the facts was ended
update meta set settings = null, published = null, facts_models = 'an older release';
