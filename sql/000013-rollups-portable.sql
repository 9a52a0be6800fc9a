-- feature_1m, feature_1h, feature_1d without continuous aggregates, kept: always exact, late and deleted rows included. Columns and
-- answers as those of the continuous aggregates, in the file before.
--
-- Triggers note every minute of a series that a statement touched (rollup_dirty). A reader takes kept buckets that are not noted and
-- computes the noted ones from the raw rows, so an answer never waits for a refresh; the refresh keeps the noted few. Two rules make it
-- right under concurrent writers: a writer holds lock 1 shared from its note to its commit, and the refresh takes its list of minutes
-- holding lock 1 alone, in a transaction of its own. So whoever noted a minute before the list was taken has committed and is seen, and
-- whoever writes after notes it again.
--! requires: portable

-- A minute of a series that has changed since it was kept.
create table rollup_dirty (
  stream_id integer not null,
  method_id smallint not null,
  channel_no smallint not null,
  bucket timestamptz not null, -- start of a minute
  taken boolean not null default false, -- on the list of the refresh that is running, or of one that was killed
  constraint rollup_dirty_pkey primary key (stream_id, method_id, channel_no, bucket, taken)
);
-- Small and rewritten all the time.
alter table rollup_dirty set (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_analyze_threshold = 1000);

-- Minutes, hours and days of features, as they were when they were last kept.
create table feature_1m_kept (
  bucket timestamptz not null,
  stream_id integer not null,
  method_id smallint not null,
  channel_no smallint not null,
  n bigint not null,
  value_n bigint not null,
  good_n bigint not null,
  suspect_n bigint not null,
  sum numeric,
  good_sum numeric,
  suspect_sum numeric,
  min double precision,
  good_min double precision,
  suspect_min double precision,
  max double precision,
  good_max double precision,
  suspect_max double precision,
  first double precision,
  good_first double precision,
  last double precision,
  good_last double precision,
  constraint feature_1m_kept_pkey primary key (stream_id, method_id, channel_no, bucket)
);
create table feature_1h_kept (like feature_1m_kept including all);
create table feature_1d_kept (like feature_1m_kept including all);

create function note_rollup_dirty() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(803144, 1);
  insert into rollup_dirty (stream_id, method_id, channel_no, bucket)
  select distinct stream_id, method_id, channel_no, date_bin('1 minute', time, timestamptz '2001-01-01 00:00:00+00') from changed
  order by 1, 2, 3, 4 -- one order for all writers: no deadlock
  on conflict do nothing;
  return null;
end
$$;
create trigger feature_note_insert after insert on feature referencing new table as changed for each statement execute function note_rollup_dirty();
create trigger feature_note_delete after delete on feature referencing old table as changed for each statement execute function note_rollup_dirty();
-- The key of a row is never updated, so the new rows name every minute.
create trigger feature_note_update after update on feature referencing new table as changed for each statement execute function note_rollup_dirty();

create view feature_1m as
select k.* from feature_1m_kept k
where not exists (
  select from rollup_dirty d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.bucket = k.bucket)
union all
select d.bucket, d.stream_id, d.method_id, d.channel_no, f.*
from (select distinct stream_id, method_id, channel_no, bucket from rollup_dirty) d
cross join lateral (
  select
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
    (array_agg(value order by time) filter (where value is not null))[1] as first,
    (array_agg(value order by time) filter (where value is not null and qmask = 0))[1] as good_first,
    (array_agg(value order by time desc) filter (where value is not null))[1] as last,
    (array_agg(value order by time desc) filter (where value is not null and qmask = 0))[1] as good_last
  from feature
  where time >= d.bucket and time < d.bucket + interval '1 minute'
    and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
  having count(*) > 0) f;

-- Hours from minutes, days from hours.
do $$
declare
  level record;
begin
  for level in select * from (values ('feature_1h', 'feature_1h_kept', '1 hour', 'feature_1m', 'm'), ('feature_1d', 'feature_1d_kept', '1 day', 'feature_1h', 'h'))
    as l (name, kept, width, source, alias)
  loop
    execute format($view$
create view %1$I as
select k.* from %2$I k
where not exists (
  select from rollup_dirty d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no
    and d.bucket >= k.bucket and d.bucket < k.bucket + interval %3$L)
union all
select d.bucket, d.stream_id, d.method_id, d.channel_no, %5$I.*
from (
  select distinct stream_id, method_id, channel_no, date_bin(%3$L, bucket, timestamptz '2001-01-01 00:00:00+00') as bucket from rollup_dirty) d
cross join lateral (
  select
    sum(n)::bigint as n, sum(value_n)::bigint as value_n, sum(good_n)::bigint as good_n, sum(suspect_n)::bigint as suspect_n,
    sum(sum) as sum, sum(good_sum) as good_sum, sum(suspect_sum) as suspect_sum,
    min(min) as min, min(good_min) as good_min, min(suspect_min) as suspect_min,
    max(max) as max, max(good_max) as good_max, max(suspect_max) as suspect_max,
    (array_agg(first order by bucket) filter (where first is not null))[1] as first,
    (array_agg(good_first order by bucket) filter (where good_first is not null))[1] as good_first,
    (array_agg(last order by bucket desc) filter (where last is not null))[1] as last,
    (array_agg(good_last order by bucket desc) filter (where good_last is not null))[1] as good_last
  from %4$I
  where bucket >= d.bucket and bucket < d.bucket + interval %3$L
    and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
  having count(*) > 0) %5$I
$view$, level.name, level.kept, level.width, level.source, level.alias);
  end loop;
end
$$;

-- Keeps what was noted. One at a time: a second caller finds the lock taken and leaves. Returns how many minutes were kept.
-- rows_max bounds one run, so that an import of years is kept in many short transactions.
-- It computes from the tables, not through the views: these would look at every noted minute again for each batch of them.
-- A kept hour may be made from minutes of which some are noted and stale; the views do not show it until those have been refreshed too,
-- and then it is made again. Likewise days.
-- Lock 2 is the session's, over several transactions: after an error it is held until the session ends, so whoever calls this ends it then.
create procedure refresh_rollups(inout minutes integer default 0, in rows_max integer default 20000) language plpgsql as $$
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

-- Minutes of one feature as columns: a chart of 24 hours is one row of arrays instead of 1,440 rows, and what is noted of the range is
-- looked at once instead of once for each minute. The same answer as feature_1m gives, in no order. Called by its unqualified name: the
-- owner gets the one of schema public, the api role the one of schema api, which answers for the organization of the transaction alone, as
-- the views do. In plpgsql, because that keeps its plans.
--
-- method, [from_time, to_time): as of feature_1m. what: mean, sum, min, max, first, last or count. worst: quality_max, 0 to 2; the sums
-- that it needs are there, the others null. Arrays are parallel, and null where there is nothing; minutes counts from 1970. Numbers that
-- are none (NaN) are strings.
create function feature_minutes(stream_ids integer[], method smallint, from_time timestamptz, to_time timestamptz, what text, worst integer)
returns table (minutes json, ns json, value_ns json, good_ns json, suspect_ns json, goods json, suspects json, everies json)
language plpgsql stable as $$
declare
  summed constant boolean := what in ('mean', 'sum');
begin
  return query
  with noted as materialized (
    select distinct d.stream_id, d.channel_no, d.bucket from rollup_dirty d
    where d.stream_id = any (stream_ids) and d.method_id = method and d.bucket >= from_time and d.bucket < to_time
  ), minute as (
    select k.bucket, k.n, k.value_n, k.good_n, k.suspect_n, k.sum, k.good_sum, k.suspect_sum, k.min, k.good_min, k.suspect_min,
      k.max, k.good_max, k.suspect_max, k.first, k.good_first, k.last, k.good_last
    from feature_1m_kept k
    where k.bucket >= from_time and k.bucket < to_time and k.stream_id = any (stream_ids) and k.method_id = method
      and (k.stream_id, k.channel_no, k.bucket) not in (select x.stream_id, x.channel_no, x.bucket from noted x)
    union all
    select d.bucket, f.*
    from noted d
    cross join lateral (
      select
        count(*) as n, count(r.value) as value_n,
        count(r.value) filter (where r.qmask = 0) as good_n, count(r.value) filter (where r.qmask = 1) as suspect_n,
        sum(r.value::numeric) as sum,
        sum(r.value::numeric) filter (where r.qmask = 0) as good_sum, sum(r.value::numeric) filter (where r.qmask = 1) as suspect_sum,
        min(r.value) as min, min(r.value) filter (where r.qmask = 0) as good_min, min(r.value) filter (where r.qmask = 1) as suspect_min,
        max(r.value) as max, max(r.value) filter (where r.qmask = 0) as good_max, max(r.value) filter (where r.qmask = 1) as suspect_max,
        (array_agg(r.value order by r.time) filter (where r.value is not null))[1] as first,
        (array_agg(r.value order by r.time) filter (where r.value is not null and r.qmask = 0))[1] as good_first,
        (array_agg(r.value order by r.time desc) filter (where r.value is not null))[1] as last,
        (array_agg(r.value order by r.time desc) filter (where r.value is not null and r.qmask = 0))[1] as good_last
      from feature r
      where r.time >= d.bucket and r.time < d.bucket + interval '1 minute'
        and r.time >= from_time and r.time < to_time + interval '1 minute' -- partitions are excluded before the first minute is looked at
        and r.stream_id = d.stream_id and r.method_id = method and r.channel_no = d.channel_no
      having count(*) > 0) f
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
$$;
