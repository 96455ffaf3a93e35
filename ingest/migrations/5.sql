-- The ledger tells of which clusters alone a dump tells, and how far it reaches. What older releases
-- loaded may tell of any: such a source keeps one clock.

alter table files add column clusters varchar[];
alter table files add column reach_us bigint;
create table cluster_clocks (
    source_no integer not null, cluster varchar not null, together varchar not null, clock_us bigint
);
