-- When a recording begins, by its own time: questions about a range are answered by when samples were taken. started_at is when the first
-- packet arrived, weeks later for a watch that was offline and years later for an import.

alter table stream add column recorded_from timestamptz; -- corrected time of the oldest sample, measurement or event at the last checkpoint
comment on column stream.recorded_from is 'first sample, measurement or event; null: none yet';
comment on column stream.last_sample_at is 'end of the newest sample, measurement or event';
comment on column stream.started_at is 'when its first packet arrived';

-- Each channel's first row by the key, from the stream's zero on: no scan, and no look into older partitions or chunks.
update stream s set recorded_from = first.at
from (
  select r.id, least(
      (select min(b.at) from stream_channel c cross join lateral (
         select timestamptz 'epoch' + start_ns / 1000 * interval '1 microsecond' as at from sample_block
         where stream_id = r.id and channel_no = c.channel_no and time >= to_timestamp(r.epoch_ns / 1e9::float8) - interval '1 second'
         order by time limit 1) b where c.stream_id = r.id),
      (select e.time from device_event e
       where e.stream_id = r.id and e.time >= to_timestamp(r.epoch_ns / 1e9::float8) - interval '1 second' order by e.time limit 1)) as at
  from stream r) first
where first.id = s.id and first.at is not null;

-- Lists of a person's recordings are in this order.
drop index stream_xuser_id_started_at_idx;
create index stream_xuser_id_recorded_idx on stream (xuser_id, (coalesce(recorded_from, started_at)));
