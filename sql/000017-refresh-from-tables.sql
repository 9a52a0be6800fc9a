-- The refresh computes from the tables, not through the views: these would look at every noted minute again for each batch of them.
-- A kept hour may be made from minutes of which some are noted and stale; the views do not show it until those have been refreshed too,
-- and then it is made again. Likewise days.
--! requires: portable

create or replace procedure refresh_rollups(inout minutes integer default 0, in rows_max integer default 20000) language plpgsql as $$
begin
  minutes := 0;
  if not pg_try_advisory_lock(803144, 2) then
    return;
  end if;
  -- the list, in a transaction of its own; minutes that are still being written are left for the next run
  perform pg_advisory_xact_lock(803144, 1);
  with noted as (
    delete from rollup_dirty where (stream_id, method_id, channel_no, bucket, taken) in (
      select stream_id, method_id, channel_no, bucket, taken from rollup_dirty
      where not taken and bucket < now() - interval '90 seconds' limit rows_max)
    returning stream_id, method_id, channel_no, bucket)
  insert into rollup_dirty select noted.*, true from noted on conflict do nothing;
  commit;

  create temporary table if not exists refreshed_minute (
    stream_id integer, method_id smallint, channel_no smallint, bucket timestamptz, hour timestamptz, day timestamptz) on commit delete rows;
  insert into refreshed_minute
  select stream_id, method_id, channel_no, bucket, date_bin('1 hour', bucket, timestamptz '2001-01-01 00:00:00+00'),
    date_bin('1 day', bucket, timestamptz '2001-01-01 00:00:00+00')
  from rollup_dirty where taken;
  analyze refreshed_minute;

  delete from feature_1m_kept k using refreshed_minute d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.bucket = k.bucket;
  insert into feature_1m_kept
  select d.bucket, d.stream_id, d.method_id, d.channel_no, f.*
  from refreshed_minute d
  cross join lateral (
    select
      count(*), count(value), count(value) filter (where qmask = 0), count(value) filter (where qmask = 1),
      sum(value::numeric), sum(value::numeric) filter (where qmask = 0), sum(value::numeric) filter (where qmask = 1),
      min(value), min(value) filter (where qmask = 0), min(value) filter (where qmask = 1),
      max(value), max(value) filter (where qmask = 0), max(value) filter (where qmask = 1),
      (array_agg(value order by time) filter (where value is not null))[1],
      (array_agg(value order by time) filter (where value is not null and qmask = 0))[1],
      (array_agg(value order by time desc) filter (where value is not null))[1],
      (array_agg(value order by time desc) filter (where value is not null and qmask = 0))[1]
    from feature
    where time >= d.bucket and time < d.bucket + interval '1 minute'
      and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
    having count(*) > 0) f;

  delete from feature_1h_kept k using (select distinct stream_id, method_id, channel_no, hour from refreshed_minute) d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.hour = k.bucket;
  insert into feature_1h_kept
  select d.hour, d.stream_id, d.method_id, d.channel_no, m.*
  from (select distinct stream_id, method_id, channel_no, hour from refreshed_minute) d
  cross join lateral (
    select
      sum(n)::bigint, sum(value_n)::bigint, sum(good_n)::bigint, sum(suspect_n)::bigint,
      sum(sum), sum(good_sum), sum(suspect_sum),
      min(min), min(good_min), min(suspect_min), max(max), max(good_max), max(suspect_max),
      (array_agg(first order by bucket) filter (where first is not null))[1],
      (array_agg(good_first order by bucket) filter (where good_first is not null))[1],
      (array_agg(last order by bucket desc) filter (where last is not null))[1],
      (array_agg(good_last order by bucket desc) filter (where good_last is not null))[1]
    from feature_1m_kept
    where bucket >= d.hour and bucket < d.hour + interval '1 hour'
      and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
    having count(*) > 0) m;

  delete from feature_1d_kept k using (select distinct stream_id, method_id, channel_no, day from refreshed_minute) d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.day = k.bucket;
  insert into feature_1d_kept
  select d.day, d.stream_id, d.method_id, d.channel_no, h.*
  from (select distinct stream_id, method_id, channel_no, day from refreshed_minute) d
  cross join lateral (
    select
      sum(n)::bigint, sum(value_n)::bigint, sum(good_n)::bigint, sum(suspect_n)::bigint,
      sum(sum), sum(good_sum), sum(suspect_sum),
      min(min), min(good_min), min(suspect_min), max(max), max(good_max), max(suspect_max),
      (array_agg(first order by bucket) filter (where first is not null))[1],
      (array_agg(good_first order by bucket) filter (where good_first is not null))[1],
      (array_agg(last order by bucket desc) filter (where last is not null))[1],
      (array_agg(good_last order by bucket desc) filter (where good_last is not null))[1]
    from feature_1h_kept
    where bucket >= d.day and bucket < d.day + interval '1 day'
      and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
    having count(*) > 0) h;

  delete from rollup_dirty where taken;
  get diagnostics minutes = row_count;
  commit;
  perform pg_advisory_unlock(803144, 2);
end
$$;
