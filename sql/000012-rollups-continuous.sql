-- feature_1m, feature_1h, feature_1d as real-time continuous aggregates, each from the one before: columns and answers as those of the
-- portable rollups, in the next file. Sums are numeric: exact, so that a bucket has the same digits in whatever order its rows were added.
--! requires: timescale

create materialized view feature_1m with (timescaledb.continuous, timescaledb.materialized_only = false) as
select
  time_bucket('1 minute', time) as bucket,
  stream_id, method_id, channel_no,
  count(*) as n,
  count(value) as value_n,
  count(value) filter (where qmask = 0) as good_n,
  count(value) filter (where qmask = 1) as suspect_n,
  sum(value::numeric) as sum,
  sum(value::numeric) filter (where qmask = 0) as good_sum,
  sum(value::numeric) filter (where qmask = 1) as suspect_sum,
  min(value) as min,
  min(value) filter (where qmask = 0) as good_min,
  min(value) filter (where qmask = 1) as suspect_min,
  max(value) as max,
  max(value) filter (where qmask = 0) as good_max,
  max(value) filter (where qmask = 1) as suspect_max,
  first(value, time) filter (where value is not null) as first,
  first(value, time) filter (where value is not null and qmask = 0) as good_first,
  last(value, time) filter (where value is not null) as last,
  last(value, time) filter (where value is not null and qmask = 0) as good_last
from feature
group by 1, 2, 3, 4
with no data;

-- Hours from minutes, days from hours.
do $$
declare
  level record;
begin
  for level in select * from (values ('feature_1h', '1 hour', 'feature_1m'), ('feature_1d', '1 day', 'feature_1h')) as l (name, width, source) loop
    execute format($view$
create materialized view %1$I with (timescaledb.continuous, timescaledb.materialized_only = false) as
select
  time_bucket(%2$L, bucket) as bucket,
  stream_id, method_id, channel_no,
  sum(n)::bigint as n, sum(value_n)::bigint as value_n, sum(good_n)::bigint as good_n, sum(suspect_n)::bigint as suspect_n,
  sum(sum) as sum, sum(good_sum) as good_sum, sum(suspect_sum) as suspect_sum,
  min(min) as min, min(good_min) as good_min, min(suspect_min) as suspect_min,
  max(max) as max, max(good_max) as good_max, max(suspect_max) as suspect_max,
  first(first, bucket) filter (where first is not null) as first,
  first(good_first, bucket) filter (where good_first is not null) as good_first,
  last(last, bucket) filter (where last is not null) as last,
  last(good_last, bucket) filter (where good_last is not null) as good_last
from %3$I
group by 1, 2, 3, 4
with no data
$view$, level.name, level.width, level.source);
  end loop;
end
$$;

-- Refreshed up to shortly before now: the rest is answered from the raw rows. Late data may be of any age: a refresh works on invalidated
-- ranges only, so an open start costs nothing while nothing is late.
select add_continuous_aggregate_policy('feature_1m', start_offset => null, end_offset => interval '2 minutes', schedule_interval => interval '1 minute');
select add_continuous_aggregate_policy('feature_1h', start_offset => null, end_offset => interval '1 hour', schedule_interval => interval '10 minutes');
select add_continuous_aggregate_policy('feature_1d', start_offset => null, end_offset => interval '1 day', schedule_interval => interval '1 hour');

-- They are read by series: some streams, one method, a range. TimescaleDB's own indexes begin with one column each, and what is prepared
-- is planned without knowing the range, so a day of one series read everybody's rows of that day by the index on the bucket (3,888 buffers
-- of a small site; with the index by series 1,431). That one goes, as it would still be chosen; the refresh, which deletes by bucket, has
-- a BRIN index: rows are kept in the order of their buckets. Four B-trees become one.
do $$
declare
  aggregate record;
  own record;
begin
  for aggregate in
    select view_name as name, materialization_hypertable_schema as place, materialization_hypertable_name as kept
    from timescaledb_information.continuous_aggregates
    where view_schema = 'public' and view_name in ('feature_1m', 'feature_1h', 'feature_1d')
  loop
    for own in select indexname from pg_indexes where schemaname = aggregate.place and tablename = aggregate.kept loop
      execute format('drop index %I.%I', aggregate.place, own.indexname);
    end loop;
    execute format('create index %I on %I (stream_id, method_id, bucket)', aggregate.name || '_series', aggregate.name);
    execute format('create index %I on %I using brin (bucket) with (pages_per_range = 16, autosummarize = on)', aggregate.name || '_bucket', aggregate.name);
  end loop;
end
$$;

-- Minutes of one feature as columns: a chart of 24 hours is one row of arrays instead of 1,440 rows. The same function as of the portable
-- rollups, where its arguments and columns are explained. The kept minutes and the tail after the watermark are read by themselves: the
-- tail channel by channel, because the key of feature has the channel before the time.
do $do$
declare
  aggregate record;
begin
  select a.materialization_hypertable_schema as place, a.materialization_hypertable_name as kept, c.mat_hypertable_id as id into strict aggregate
  from timescaledb_information.continuous_aggregates a
  join _timescaledb_catalog.continuous_agg c on c.user_view_schema = a.view_schema and c.user_view_name = a.view_name
  where a.view_schema = 'public' and a.view_name = 'feature_1m';

  execute format($sql$
create function feature_minutes(stream_ids integer[], method smallint, from_time timestamptz, to_time timestamptz, what text, worst integer)
returns table (minutes json, ns json, value_ns json, good_ns json, suspect_ns json, goods json, suspects json, everies json)
language plpgsql stable as $$
declare
  summed constant boolean := what in ('mean', 'sum');
  -- As feature_1m asks it, of the same snapshot.
  kept_to constant timestamptz := coalesce(_timescaledb_functions.to_timestamp(_timescaledb_functions.cagg_watermark(%s)), '-infinity');
begin
  return query
  with minute as (
    select k.bucket, k.n, k.value_n, k.good_n, k.suspect_n, k.sum, k.good_sum, k.suspect_sum, k.min, k.good_min, k.suspect_min,
      k.max, k.good_max, k.suspect_max, k.first, k.good_first, k.last, k.good_last
    from %I.%I k
    where k.bucket >= from_time and k.bucket < least(to_time, kept_to) and k.stream_id = any (stream_ids) and k.method_id = method
    union all
    select time_bucket('1 minute', r.time),
      count(*), count(r.value), count(r.value) filter (where r.qmask = 0), count(r.value) filter (where r.qmask = 1),
      sum(r.value::numeric), sum(r.value::numeric) filter (where r.qmask = 0), sum(r.value::numeric) filter (where r.qmask = 1),
      min(r.value), min(r.value) filter (where r.qmask = 0), min(r.value) filter (where r.qmask = 1),
      max(r.value), max(r.value) filter (where r.qmask = 0), max(r.value) filter (where r.qmask = 1),
      first(r.value, r.time) filter (where r.value is not null), first(r.value, r.time) filter (where r.value is not null and r.qmask = 0),
      last(r.value, r.time) filter (where r.value is not null), last(r.value, r.time) filter (where r.value is not null and r.qmask = 0)
    from unnest(stream_ids) s (id)
    -- -1: of the whole stream
    cross join lateral (select -1::smallint union all select c.channel_no from stream_channel c where c.stream_id = s.id) c (no)
    cross join lateral (
      select f.time, f.value, f.qmask from feature f
      where f.time >= greatest(from_time, kept_to) and f.time < to_time + interval '1 minute' -- to_time may lie in a minute
        and f.stream_id = s.id and f.method_id = method and f.channel_no = c.no) r
    where to_time > kept_to
    group by s.id, c.no, 1
    having time_bucket('1 minute', r.time) >= from_time and time_bucket('1 minute', r.time) < to_time
  )
  select
    array_to_json(array_agg((date_part('epoch', m.bucket) / 60)::integer)),
    array_to_json(array_agg(m.n)), array_to_json(array_agg(m.value_n) filter (where worst = 2)),
    array_to_json(array_agg(m.good_n)), array_to_json(array_agg(m.suspect_n)),
    coalesce(
      array_to_json(array_agg(m.good_sum) filter (where summed and worst < 2)),
      array_to_json(array_agg(case what when 'min' then m.good_min when 'max' then m.good_max when 'first' then m.good_first when 'last' then m.good_last end)
        filter (where not summed and worst < 2))),
    coalesce(
      array_to_json(array_agg(m.suspect_sum) filter (where summed and worst = 1)),
      array_to_json(array_agg(case what when 'min' then m.suspect_min when 'max' then m.suspect_max end) filter (where not summed and worst = 1))),
    coalesce(
      array_to_json(array_agg(m.sum) filter (where summed and worst = 2)),
      array_to_json(array_agg(case what when 'min' then m.min when 'max' then m.max when 'first' then m.first when 'last' then m.last end)
        filter (where not summed and worst = 2)))
  from minute m;
end
$$
$sql$, aggregate.id, aggregate.place, aggregate.kept);
end
$do$;
