-- What makes the time of a job count twice, and no fact tells, is kept for readers. What older
-- releases warned of is not known any more.

create table doubts (
    kind varchar not null, what varchar not null, job_no bigint, other_no bigint
);
