-- Publications are made from the one before: what changed since it is noted.

alter table meta add column if not exists settings varchar;
alter table meta add column published bigint;
alter table meta add column published_models varchar;

create table unpublished_jobs (
    job_id varchar not null
);

create table unpublished_days (
    day date not null
);
