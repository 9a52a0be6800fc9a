-- How long each table is kept. The service applies it (src/storage/maintenance.ts), the same way on every server: whole chunks or partitions.
-- Not a policy of TimescaleDB, because packet_log must never lose a batch that is after the checkpoint, however old it is.

create table retention (
  relation text not null,
  keep interval, -- null: for ever
  constraint retention_pkey primary key (relation),
  constraint retention_keep_check check (keep >= interval '1 hour')
);
insert into retention (relation, keep) values
  ('sample_block', null), ('packet_log', '1 day'), ('beat', null), ('feature', null), ('measurement', null), ('device_event', null);

-- Rows older than this may go.
create function retention_cutoff(relation_name text) returns timestamptz language sql stable as $$
  select case when r.relation = 'packet_log'
    then least(now() - r.keep, (select min(p.time) from packet_log p, packet_log_checkpoint c where p.batch_id > c.batch_id))
    else now() - r.keep end
  from retention r where r.relation = relation_name
$$;
