-- Columnstore for chunks that no late packet is expected in any more (backfill horizon 7 days): rows of one series together, by time.
-- Late rows still go in; they are packed when the policy comes by again.
--! requires: timescale

alter table sample_block set (timescaledb.enable_columnstore = true, timescaledb.segmentby = 'stream_id, channel_no', timescaledb.orderby = 'time');
alter table beat set (timescaledb.enable_columnstore = true, timescaledb.segmentby = 'stream_id, channel_no, method_id', timescaledb.orderby = 'time');
alter table feature set (timescaledb.enable_columnstore = true, timescaledb.segmentby = 'stream_id, method_id, channel_no', timescaledb.orderby = 'time');
alter table measurement set (timescaledb.enable_columnstore = true, timescaledb.segmentby = 'xuser_id, biosignal_id', timescaledb.orderby = 'time, id');
call add_columnstore_policy('sample_block', after => interval '8 days');
call add_columnstore_policy('beat', after => interval '15 days');
call add_columnstore_policy('feature', after => interval '15 days');
call add_columnstore_policy('measurement', after => interval '60 days');
