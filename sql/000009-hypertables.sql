-- Tables that grow, on TimescaleDB under either licence: hypertables, whose chunks come by themselves.
-- Chunks: 100 devices x 4 channels x 86,400 s x 250 bytes = 8.6 GB a day of samples, its key 1.1 GB: a day fits
-- the usual quarter of memory on a 4-8 GB server; larger fleets set fewer hours (set_chunk_time_interval).
-- TimescaleDB's own index on time is left out: every read names a stream, and the key starts with it.
--! requires: timescaledb

alter table sample_block set (toast_tuple_target = 8160);
alter table packet_log set (toast_tuple_target = 8160);
select create_hypertable('sample_block', by_range('time', interval '1 day'), create_default_indexes => false);
select create_hypertable('packet_log', by_range('time', interval '6 hours'), create_default_indexes => false);
select create_hypertable('packet_hash', by_range('time', interval '6 hours'), create_default_indexes => false);
select create_hypertable('beat', by_range('time', interval '7 days'), create_default_indexes => false);
select create_hypertable('feature', by_range('time', interval '7 days'), create_default_indexes => false);
select create_hypertable('measurement', by_range('time', interval '28 days'), create_default_indexes => false);
select create_hypertable('device_event', by_range('time', interval '28 days'), create_default_indexes => false);

-- Drops what has expired; returns how many chunks.
create function apply_retention() returns integer language plpgsql as $$
declare
  rule record;
  dropped integer := 0;
begin
  for rule in select relation, retention_cutoff(relation) as cutoff from retention where keep is not null loop
    dropped := dropped + (select count(*) from drop_chunks(rule.relation::regclass, older_than => rule.cutoff));
  end loop;
  return dropped;
end
$$;
