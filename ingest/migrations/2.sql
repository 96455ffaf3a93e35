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

-- The first files of schema 1 list detail by day. All of it is made anew with the facts.
drop table detail_files;
drop table if exists job_details;
create table detail_files (
    file varchar not null,
    rows bigint not null
);

create table job_details (
    base_job_no bigint not null,
    file varchar not null
);
