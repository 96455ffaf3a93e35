-- What staging models are where nothing is that they need ("empty without" in each): their columns,
-- in that order. Most dumps have no scheduler's rows and no launches to put together, and to plan
-- two dozen models over nothing would take a tenth of a small ingest.

create or replace temp table stg_allocations (
    job_no bigint,
    try bigint,
    scheduler_key varchar,
    allocation_id varchar,
    source_no integer,
    begin_us bigint,
    end_us bigint,
    seen_us bigint,
    until_us bigint,
    hold_us bigint
);

create or replace temp table stg_chains (
    base_job_no bigint,
    job_no bigint,
    chain bigint,
    begin_us bigint,
    until_us bigint,
    is_revoked boolean
);

create or replace temp table stg_generations (
    row_no bigint,
    generation bigint
);

create or replace temp table stg_holds (
    job_no bigint,
    launch varchar,
    joined_no bigint,
    scheduler_job varchar,
    first_us bigint,
    last_us bigint,
    is_launcher boolean,
    is_silent boolean,
    first_rank bigint,
    has_trained boolean,
    chain_no bigint,
    try bigint,
    is_told boolean
);

create or replace temp table stg_islands (
    job_no bigint,
    launch varchar,
    joined_no bigint,
    chain_no bigint,
    try bigint,
    first_us bigint,
    job_key varchar,
    name varchar,
    island hugeint
);

create or replace temp table stg_joined_jobs (
    member_no bigint,
    job_no bigint
);

create or replace temp table stg_launch_links (
    job_no bigint,
    launch varchar,
    chain_no bigint,
    meanings bigint,
    is_own_number boolean,
    first_cluster varchar,
    last_cluster varchar
);

create or replace temp table stg_launches (
    job_no bigint,
    launch varchar,
    first_us bigint,
    last_us bigint,
    scheduler_job varchar,
    cluster varchar,
    run_restart bigint,
    is_launcher boolean,
    is_silent boolean,
    first_rank bigint,
    has_trained boolean,
    is_named boolean,
    is_alive boolean
);

create or replace temp table stg_pieces (
    job_no bigint,
    attempt bigint,
    stretch_no bigint,
    piece bigint,
    place bigint,
    from_us bigint,
    is_numbered boolean,
    is_generation boolean,
    allocation_id varchar,
    chain_no bigint,
    try bigint,
    source_no integer,
    begin_us bigint,
    end_us bigint,
    is_continued boolean
);

create or replace temp table stg_placements (
    row_no bigint,
    job_no bigint,
    attempt bigint,
    launch varchar,
    source_no integer,
    at_us bigint,
    last_us bigint,
    is_life boolean,
    is_failure boolean,
    teller bigint
);

create or replace temp table stg_row_tellings (
    row_no bigint,
    source_no integer,
    job_no bigint,
    row_key varchar,
    event event_kind,
    phase phase_name,
    at_us bigint,
    slot varchar,
    precedence bigint
);

create or replace temp table stg_row_words (
    row_no bigint,
    team varchar,
    user_name varchar,
    workload varchar,
    model varchar,
    cluster varchar,
    gpus bigint,
    gpu_type varchar,
    priority varchar,
    name varchar,
    partition_name varchar
);

create or replace temp table stg_run_events (
    row_no bigint,
    job_no bigint,
    source_no integer,
    at_us bigint,
    last_us bigint,
    launch varchar,
    attempt bigint,
    generation bigint,
    run_restart bigint,
    scheduler_job varchar,
    cluster varchar,
    is_failure boolean,
    is_queue boolean,
    is_begin boolean,
    begun_rank bigint,
    is_training boolean,
    is_end boolean,
    is_launcher boolean,
    is_work boolean,
    is_life boolean
);

create or replace temp table stg_run_stretches (
    row_no bigint,
    job_no bigint,
    stretch_no bigint
);

create or replace temp table stg_scheduler_cuts (
    job_no bigint,
    row_key varchar,
    started_us bigint,
    cut_us bigint
);

create or replace temp table stg_scheduler_events (
    row_no bigint,
    source_no integer,
    base_job_no bigint,
    job_no bigint,
    attempt bigint,
    row_key varchar,
    row_state varchar,
    event event_kind,
    phase phase_name,
    at_us bigint
);

create or replace temp table stg_scheduler_places (
    row_no bigint,
    job_no bigint,
    attempt bigint
);

create or replace temp table stg_scheduler_rows (
    base_job_no bigint,
    row_key varchar,
    job_no bigint,
    chain bigint,
    chain_submitted_us bigint,
    row_submitted_us bigint,
    started_us bigint,
    attempt bigint,
    row_state varchar
);

create or replace temp table stg_stretches (
    job_no bigint,
    chain_no bigint,
    try bigint,
    island hugeint,
    allocation_id varchar,
    begin_us bigint,
    end_us bigint,
    hold_us bigint,
    source_no integer,
    from_us bigint,
    launch_id varchar,
    stretch_no bigint,
    place bigint
);

create or replace temp table stg_trainer_names (
    job_no bigint,
    is_bond boolean,
    is_shared boolean
);
