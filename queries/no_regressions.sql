-- What got worse where nothing did: the tables of what is told of regressions, with their columns.
-- To plan a dozen selects over nothing would take a tenth of a small ingest.

create table regression_causes (
    team varchar,
    metric varchar,
    started_on date,
    failure_domain varchar,
    failure_category varchar,
    interruptions_before bigint,
    interruptions_after bigint,
    before_per_day double,
    after_per_day double,
    lost_gpu_seconds_before_per_day double,
    lost_gpu_seconds_after_per_day double
);

create table regression_changes (
    team varchar,
    metric varchar,
    started_on date,
    changed_at timestamp,
    name varchar,
    change_team varchar,
    description varchar,
    days_before bigint
);

create table regression_classes (
    team varchar,
    metric varchar,
    started_on date,
    workload varchar,
    size integer,
    gpus_from bigint,
    gpus_to bigint,
    before_share double,
    after_share double,
    before_value double,
    after_value double,
    speed_change double,
    mix_change double
);

create table regression_counts (
    team varchar,
    metric varchar,
    started_on date,
    attempts_before bigint,
    attempts_after bigint
);

create table regression_gates (
    team varchar,
    metric varchar,
    started_on date,
    place bigint,
    gate varchar,
    value double,
    limit_value double,
    is_passed boolean
);

create table regression_jobs (
    team varchar,
    metric varchar,
    started_on date,
    place bigint,
    job_id varchar,
    attempt bigint,
    job_team varchar,
    day date,
    gpus bigint,
    seconds double,
    expected_seconds double,
    excess_seconds double,
    excess_gpu_seconds double
);

create table regression_marks (
    team varchar,
    metric varchar,
    started_on date,
    before_from date,
    after_to date,
    rows hugeint,
    mark hugeint
);

create table regression_parts (
    team varchar,
    metric varchar,
    started_on date,
    part varchar,
    attempts_before bigint,
    attempts_after bigint,
    before_seconds double,
    after_seconds double,
    change_seconds double,
    gpu_seconds_change_per_day double
);

create table regression_points (
    team varchar,
    metric varchar,
    started_on date,
    series_team varchar,
    day date,
    attempts bigint,
    observed double,
    expected double,
    low double,
    high double
);

create table regression_split (
    team varchar,
    metric varchar,
    started_on date,
    before_mean double,
    after_mean double,
    mean_change double,
    speed_change double,
    mix_change double
);

create table regression_symptoms (
    team varchar,
    metric varchar,
    started_on date,
    symptom_team varchar,
    symptom_metric varchar,
    symptom_started_on date,
    observed double,
    expected double,
    change_ratio double
);

create table regression_teams (
    team varchar,
    metric varchar,
    started_on date,
    series_team varchar,
    share double,
    change_ratio double
);

create table regressions (
    team varchar,
    metric varchar,
    started_on date,
    state varchar,
    severity varchar,
    held_back_by varchar,
    verdict varchar,
    phase varchar,
    stage varchar,
    failure_domain varchar,
    observed double,
    expected double,
    change_ratio double,
    lost_gpu_seconds_per_day double,
    is_gpu_weighed boolean,
    attempts_before bigint,
    attempts_after bigint,
    evidence_ratio double,
    smallest_change_ratio double,
    detected_on date,
    ended_on date,
    closed_on date,
    closed_because varchar,
    days_to_detect bigint,
    sla_days bigint,
    is_within_sla boolean,
    was_open boolean,
    before_from date,
    after_to date,
    sentence varchar
);
