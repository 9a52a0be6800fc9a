-- Hypertables. Chunks: 100 devices x 4 channels x 86,400 s x 250 bytes = 8.6 GB a day of samples, its key 1.1 GB: a day fits
-- the usual quarter of memory on a 4-8 GB server; larger fleets set fewer hours (set_chunk_time_interval).
-- TimescaleDB's own index on time is left out: every read names a stream, and the key starts with it.
--! requires: timescaledb

alter table sample_block set (toast_tuple_target = 8160);
alter table packet_log set (toast_tuple_target = 8160);
select create_hypertable('sample_block', by_range('time', interval '1 day'), create_default_indexes => false);
select create_hypertable('packet_log', by_range('time', interval '6 hours'), create_default_indexes => false);
select create_hypertable('beat', by_range('time', interval '7 days'), create_default_indexes => false);
select create_hypertable('feature', by_range('time', interval '7 days'), create_default_indexes => false);
select create_hypertable('measurement', by_range('time', interval '28 days'), create_default_indexes => false);
select create_hypertable('device_event', by_range('time', interval '28 days'), create_default_indexes => false);
