-- The warehouse: what stays between ingests. Readers never open this file (docs/adr/0001).

create table if not exists meta (
    schema_version integer not null,    -- of this file; another release refuses or migrates
    publication bigint not null,        -- number of the last commit that a publish must show
    settings varchar,                   -- under which the facts were computed, as JSON
    published bigint,                   -- what unpublished_* are changes to; null: to nothing
    published_models varchar,           -- fingerprint of the models that served it
    facts_models varchar                -- and of those that the facts were computed by
);

create table if not exists unpublished_jobs (
    job_id varchar not null             -- has other facts than in the file that was published last
);

create table if not exists unpublished_days (
    day date not null
);

create table if not exists sources (
    source_no integer not null,         -- one dump format on one cluster
    source varchar not null,            -- 'format' or 'format@cluster'
    format varchar not null,
    cluster varchar,
    clock_us bigint,                    -- newest event, or the later --as-of of an ingest
    says_training boolean not null,     -- what the format can report at all
    says_saves boolean not null,
    says_resumes boolean not null
);

create table if not exists files (
    file_no integer not null,
    file varchar not null,              -- from the root; older releases: as the user named it
    format varchar not null,
    cluster varchar,
    source_no integer not null,
    bytes bigint not null,              -- as they lie on disk
    sha256 varchar not null,            -- with bytes, the identity of a dump
    clock_us bigint,                    -- newest time in it, or the later --as-of
    events bigint not null,             -- events that were new
    rejected bigint not null,           -- lines set aside
    ingested_at timestamp not null,
    told bigint,                        -- with those that were known; null: of an older release
    time_zone varchar,                  -- of times that tell none; null: of an older release
    clusters varchar[],                 -- it tells of no other; null: it may tell of any
    reach_us bigint                     -- its clock, or the later --as-of; null: of an older release
);

create table if not exists cluster_clocks (
    source_no integer not null,         -- of a source whose dumps tell of one cluster or another
    cluster varchar not null,
    together varchar not null,          -- with whom it shares the clock: 'cluster' or 'cluster+cluster'
    clock_us bigint
);

create table if not exists job_keys (
    job_no bigint not null,             -- dense, from 1; below 2^32
    job_key varchar not null            -- job_id as the dumps say it
);

create type event_kind as enum (
    'job', 'attempt_start', 'attempt_end', 'alive', 'phase_start', 'phase_end', 'progress',
    'failure', 'change'
);

create type phase_name as enum (
    'queue', 'scheduling', 'hardware_setup', 'launcher_init', 'trainer_init', 'pt2_compile',
    'checkpoint_load', 'training', 'checkpoint_save', 'checkpoint_upload', 'evaluation',
    'data_wait', 'shutdown'
);

create type save_mode as enum ('sync', 'async');

create type cache_result as enum ('hit', 'miss');

create type outcome_name as enum ('completed', 'failed', 'preempted', 'cancelled', 'timeout');

-- Most events say no more than this. They stand apart, because a column that is null in nine rows
-- of ten costs as much to write as a full one.
create table if not exists plain_events (
    file_no integer not null,
    source_no integer not null,
    job_no bigint,                      -- null on `change`
    attempt bigint,                     -- null on rows of a scheduler: numbered in SQL
    at_us bigint not null,              -- Unix microseconds
    end_us bigint,                      -- of a complete span
    event event_kind not null,
    event_id varchar,
    phase phase_name,
    stage varchar,
    rank bigint,
    step bigint,
    mode save_mode,
    ok boolean,
    samples bigint
);

-- Events that say anything else.
create table if not exists told_events (
    file_no integer not null,
    source_no integer not null,
    job_no bigint,
    attempt bigint,
    at_us bigint not null,
    end_us bigint,
    event event_kind not null,
    event_id varchar,
    phase phase_name,
    stage varchar,
    rank bigint,
    step bigint,
    mode save_mode,
    ok boolean,
    samples bigint,
    host varchar,
    allocation_id varchar,
    cache cache_result,
    recompiles bigint,
    resumed_from_step bigint,
    outcome outcome_name,
    exit_code bigint,
    signal bigint,
    message varchar,
    category varchar,
    component varchar,
    team varchar,
    user_name varchar,
    workload varchar,
    model varchar,
    cluster varchar,
    gpus bigint,
    gpu_type varchar,
    priority varchar,
    preempted_by varchar,
    name varchar,
    partition_name varchar,
    description varchar,
    attrs varchar,                      -- what no column holds, as a JSON object
    row_key varchar,                    -- identity of a scheduler row within its job
    row_submitted_us bigint,
    row_state varchar,
    suspended_us bigint,
    scheduler_job varchar,              -- the scheduler's job that a trainer says it runs under
    run_key varchar,                    -- one launch of a trainer, within job and format
    run_generation bigint,              -- restart of the workers inside a launch, from 0
    run_restart bigint,                 -- the scheduler's restart count that a trainer states
    cause_category varchar,             -- what the failure rules make of it, as domain/category
    cause_rule varchar,                 -- the rule that decided
    cause_rank bigint,                  -- the smaller, the nearer to the root
    evidence varchar,                   -- the text that the rule matched
    evidence_line bigint                -- and where it stands in the dump
);

create view events as
select * from told_events
union all by name
select * from plain_events;

-- Jobs that leave open which attempt is meant: queries/staging finds it (docs/adr/0006).
create table if not exists placed_jobs (
    job_no bigint not null
);

-- Jobs that a scheduler's accounting tells of, by each number that they have.
create table if not exists scheduler_jobs (
    job_no bigint not null,
    scheduler_job varchar not null,     -- job_key without the cluster; JobID where that is another
    cluster varchar                     -- null: job_key names none
);

-- Under which jobs of a scheduler trainers say that they run.
create table if not exists job_links (
    job_no bigint not null,
    scheduler_job varchar not null,
    cluster varchar                     -- null: the trainer names none
);

-- What two dumps make doubtful, as the ingest that loaded the second warned of it.
create table if not exists doubts (
    kind varchar not null,              -- of anomaly
    what varchar not null,
    job_no bigint,                      -- the job, or one of those, that the second dump tells of
    other_no bigint                     -- that may be the same job; null: it is one
);

-- Messages of failures that no rule explains, as they were told; from them templates are made.
create table if not exists unexplained_messages (
    message varchar not null,
    told bigint not null,               -- how often, by one batch
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

create table if not exists rejected_lines (
    file_no integer not null,
    file varchar not null,
    line_number bigint not null,
    reason varchar not null,
    detail varchar not null,
    line varchar not null               -- its first 2,000 characters
);

create table if not exists detail_files (
    file varchar not null,              -- name inside detail/
    rows bigint not null                -- when it was written; jobs leave it when they change
);

create table if not exists job_details (
    base_job_no bigint not null,
    file varchar not null               -- the only file in which this job is looked up
);

-- Jobs whose events were dropped by `ett-warehouse prune`: their facts stand as they are.
create table if not exists pruned_jobs (
    job_no bigint not null,
    job_key varchar not null,           -- job_keys may give the key to a later job
    shown_no bigint not null,           -- the job of the same timeline that has facts
    before_us bigint not null           -- what it is told of earlier instants is too late
);

create table if not exists pruned_events (
    file_no integer not null,           -- of this dump
    events bigint not null              -- so many were dropped
);
