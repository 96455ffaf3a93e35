-- The ledger tells how many events a dump told, whether or not they were known.

alter table files add column told bigint;
