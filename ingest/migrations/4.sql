-- The ledger tells how many events a dump told, whether or not they were known, and the zone that
-- its times without one were read in.

alter table files add column told bigint;
alter table files add column time_zone varchar;
