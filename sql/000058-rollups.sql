-- Hours and days of features, kept, on every server: always exact, late and deleted rows included; and who may see and do what with
-- minutes, hours and days.
--
-- Whoever writes notes every hour of a series that it touched (rollup_dirty). A reader takes kept hours that are not noted and computes the
-- noted ones from minutes, so an answer never waits for a refresh; the refresh keeps the noted few. Two rules make it right under
-- concurrent writers: a writer holds lock 1 shared from its note to its commit, and the refresh takes its list of hours holding lock 1
-- alone, in a transaction of its own. So whoever noted an hour before the list was taken has committed and is seen, and whoever writes
-- after notes it again. An hour with open minutes, which are written without a note, stays noted.

-- All rows have been packed by now: what is not would be in no answer.
do $$
begin
  if to_regclass('beat_rows') is not null or to_regclass('feature_rows') is not null then
    raise exception 'beats and values of before are not packed yet';
  end if;
end
$$;

-- An hour of a series that has changed since it was kept.
create table rollup_dirty (
  stream_id integer not null,
  method_id smallint not null,
  channel_no smallint not null,
  bucket timestamptz not null, -- start of an hour
  taken boolean not null default false, -- on the list of the refresh that is running, or of one that was killed
  constraint rollup_dirty_pkey primary key (stream_id, method_id, channel_no, bucket, taken)
);
-- Small and rewritten all the time.
alter table rollup_dirty set (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_analyze_threshold = 1000);

-- Hours of features in whole steps, as they were when they were last kept.
create table feature_1h_kept (
  bucket timestamptz not null,
  stream_id integer not null,
  method_id smallint not null,
  channel_no smallint not null,
  n bigint not null,
  value_n bigint not null,
  good_n bigint not null,
  suspect_n bigint not null,
  sum bigint,
  good_sum bigint,
  suspect_sum bigint,
  min bigint,
  good_min bigint,
  suspect_min bigint,
  max bigint,
  good_max bigint,
  suspect_max bigint,
  first bigint,
  good_first bigint,
  last bigint,
  good_last bigint,
  constraint feature_1h_kept_pkey primary key (stream_id, method_id, channel_no, bucket)
);
-- Days likewise.
create table feature_1d_kept (like feature_1h_kept including all);

create function note_rollup_dirty() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(803144, 1);
  insert into rollup_dirty (stream_id, method_id, channel_no, bucket)
  select distinct stream_id, method_id, channel_no, date_bin('1 hour', time, timestamptz '2001-01-01 00:00:00+00') from changed
  order by 1, 2, 3, 4 -- one order for all writers: no deadlock
  on conflict do nothing;
  return null;
end
$$;
-- Whoever deletes notes by itself (note_hours): TimescaleDB refuses such a trigger on tables with a columnstore.
create trigger feature_block_note_insert after insert on feature_block referencing new table as changed for each statement execute function note_rollup_dirty();
create trigger feature_block_note_update after update on feature_block referencing new table as changed for each statement execute function note_rollup_dirty();

-- Notes the hours of times of series; parallel arrays.
create function note_hours(stream_ids integer[], method_ids smallint[], channel_nos smallint[], times timestamptz[]) returns void
language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(803144, 1);
  insert into rollup_dirty (stream_id, method_id, channel_no, bucket)
  select distinct x.stream_id, x.method_id, x.channel_no, date_bin('1 hour', x.time, timestamptz '2001-01-01 00:00:00+00')
  from unnest(stream_ids, method_ids, channel_nos, times) as x (stream_id, method_id, channel_no, time)
  order by 1, 2, 3, 4
  on conflict do nothing;
end
$$;

-- Hours from minutes, days from hours, in whole steps.
do $$
declare
  level record;
begin
  for level in select * from (values ('feature_hour', 'feature_1h_kept', '1 hour', 'feature_minute'), ('feature_day', 'feature_1d_kept', '1 day', 'feature_hour'))
    as l (name, kept, width, source)
  loop
    execute format($view$
create view %1$I as
select k.* from %2$I k
where not exists (
  select from rollup_dirty d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no
    and d.bucket >= k.bucket and d.bucket < k.bucket + interval %3$L)
union all
select d.bucket, d.stream_id, d.method_id, d.channel_no, r.*
from (
  select distinct stream_id, method_id, channel_no, date_bin(%3$L, bucket, timestamptz '2001-01-01 00:00:00+00') as bucket from rollup_dirty) d
cross join lateral (
  select
    sum(n)::bigint as n, sum(value_n)::bigint as value_n, sum(good_n)::bigint as good_n, sum(suspect_n)::bigint as suspect_n,
    sum(sum)::bigint as sum, sum(good_sum)::bigint as good_sum, sum(suspect_sum)::bigint as suspect_sum,
    min(min) as min, min(good_min) as good_min, min(suspect_min) as suspect_min,
    max(max) as max, max(good_max) as good_max, max(suspect_max) as suspect_max,
    (array_agg(first order by bucket) filter (where first is not null))[1] as first,
    (array_agg(good_first order by bucket) filter (where good_first is not null))[1] as good_first,
    (array_agg(last order by bucket desc) filter (where last is not null))[1] as last,
    (array_agg(good_last order by bucket desc) filter (where good_last is not null))[1] as good_last
  from %4$I
  where bucket >= d.bucket and bucket < d.bucket + interval %3$L
    and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
  having count(*) > 0) r
$view$, level.name, level.kept, level.width, level.source);
  end loop;
end
$$;

-- In the unit of the method; sums are numeric, and exact.
create view feature_1h as
select r.bucket, r.stream_id, r.method_id, r.channel_no, r.n, r.value_n, r.good_n, r.suspect_n,
  r.sum / u.per_unit::numeric as sum, r.good_sum / u.per_unit::numeric as good_sum, r.suspect_sum / u.per_unit::numeric as suspect_sum,
  r.min / u.per_unit as min, r.good_min / u.per_unit as good_min, r.suspect_min / u.per_unit as suspect_min,
  r.max / u.per_unit as max, r.good_max / u.per_unit as good_max, r.suspect_max / u.per_unit as suspect_max,
  r.first / u.per_unit as first, r.good_first / u.per_unit as good_first, r.last / u.per_unit as last,
  r.good_last / u.per_unit as good_last
from feature_hour r
join method m on m.id = r.method_id
cross join lateral (select steps_per_unit(m.step) as per_unit) u;
create view feature_1d as
select r.bucket, r.stream_id, r.method_id, r.channel_no, r.n, r.value_n, r.good_n, r.suspect_n,
  r.sum / u.per_unit::numeric as sum, r.good_sum / u.per_unit::numeric as good_sum, r.suspect_sum / u.per_unit::numeric as suspect_sum,
  r.min / u.per_unit as min, r.good_min / u.per_unit as good_min, r.suspect_min / u.per_unit as suspect_min,
  r.max / u.per_unit as max, r.good_max / u.per_unit as good_max, r.suspect_max / u.per_unit as suspect_max,
  r.first / u.per_unit as first, r.good_first / u.per_unit as good_first, r.last / u.per_unit as last,
  r.good_last / u.per_unit as good_last
from feature_day r
join method m on m.id = r.method_id
cross join lateral (select steps_per_unit(m.step) as per_unit) u;

-- Keeps what was noted. (It has a name of its own, because an earlier release that still runs calls what had
-- other columns: it gets an error, not numbers in steps.) One at a time: a second caller finds the lock taken and leaves. Returns how many hours were kept.
-- rows_max bounds one run, so that an import of years is kept in many short transactions.
-- A kept day may be made from hours of which some are noted and not kept; the view does not show it until those have been refreshed too,
-- and then it is made again.
-- Lock 2 is the session's, over several transactions: after an error it is held until the session ends, so whoever calls this ends it then.
create procedure refresh_hours(inout hours integer default 0, in rows_max integer default 2000) language plpgsql as $$
begin
  hours := 0;
  if not pg_try_advisory_lock(803144, 2) then
    return;
  end if;
  -- the list, in a transaction of its own; hours that are still being written are left for a later run
  perform pg_advisory_xact_lock(803144, 1);
  with ended as materialized (
    select stream_id, method_id, channel_no, bucket, taken from rollup_dirty
    where not taken and bucket < now() - interval '65 minutes' limit rows_max
  ), open as materialized (
    select o.stream_id, d.method_id, d.channel_no, date_bin('1 hour', d.time, timestamptz '2001-01-01 00:00:00+00') as bucket
    from derived_open o cross join lateral open_minutes(o.data) d
    where o.stream_id in (select e.stream_id from ended e) and not d.is_beat
  ), noted as (
    delete from rollup_dirty r using ended e
    where r.stream_id = e.stream_id and r.method_id = e.method_id and r.channel_no = e.channel_no and r.bucket = e.bucket and not r.taken
      and not exists (
        select from open x where x.stream_id = e.stream_id and x.method_id = e.method_id and x.channel_no = e.channel_no and x.bucket = e.bucket)
    returning r.stream_id, r.method_id, r.channel_no, r.bucket)
  insert into rollup_dirty select noted.*, true from noted on conflict do nothing;
  commit;

  create temporary table if not exists refreshed_hour (
    stream_id integer, method_id smallint, channel_no smallint, bucket timestamptz, day timestamptz) on commit delete rows;
  insert into refreshed_hour
  select stream_id, method_id, channel_no, bucket, date_bin('1 day', bucket, timestamptz '2001-01-01 00:00:00+00') from rollup_dirty where taken;
  analyze refreshed_hour;

  delete from feature_1h_kept k using refreshed_hour d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.bucket = k.bucket;
  insert into feature_1h_kept
  select d.bucket, d.stream_id, d.method_id, d.channel_no, m.*
  from refreshed_hour d
  cross join lateral (
  select
    sum(n)::bigint as n, sum(value_n)::bigint as value_n, sum(good_n)::bigint as good_n, sum(suspect_n)::bigint as suspect_n,
    sum(sum)::bigint as sum, sum(good_sum)::bigint as good_sum, sum(suspect_sum)::bigint as suspect_sum,
    min(min) as min, min(good_min) as good_min, min(suspect_min) as suspect_min,
    max(max) as max, max(good_max) as good_max, max(suspect_max) as suspect_max,
    (array_agg(first order by bucket) filter (where first is not null))[1] as first,
    (array_agg(good_first order by bucket) filter (where good_first is not null))[1] as good_first,
    (array_agg(last order by bucket desc) filter (where last is not null))[1] as last,
    (array_agg(good_last order by bucket desc) filter (where good_last is not null))[1] as good_last
    from feature_minute
    where bucket >= d.bucket and bucket < d.bucket + interval '1 hour'
      and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
    having count(*) > 0) m;

  delete from feature_1d_kept k using (select distinct stream_id, method_id, channel_no, day from refreshed_hour) d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.day = k.bucket;
  insert into feature_1d_kept
  select d.day, d.stream_id, d.method_id, d.channel_no, h.*
  from (select distinct stream_id, method_id, channel_no, day from refreshed_hour) d
  cross join lateral (
  select
    sum(n)::bigint as n, sum(value_n)::bigint as value_n, sum(good_n)::bigint as good_n, sum(suspect_n)::bigint as suspect_n,
    sum(sum)::bigint as sum, sum(good_sum)::bigint as good_sum, sum(suspect_sum)::bigint as suspect_sum,
    min(min) as min, min(good_min) as good_min, min(suspect_min) as suspect_min,
    max(max) as max, max(good_max) as good_max, max(suspect_max) as suspect_max,
    (array_agg(first order by bucket) filter (where first is not null))[1] as first,
    (array_agg(good_first order by bucket) filter (where good_first is not null))[1] as good_first,
    (array_agg(last order by bucket desc) filter (where last is not null))[1] as last,
    (array_agg(good_last order by bucket desc) filter (where good_last is not null))[1] as good_last
    from feature_1h_kept
    where bucket >= d.day and bucket < d.day + interval '1 day'
      and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
    having count(*) > 0) h;

  delete from rollup_dirty where taken;
  get diagnostics hours = row_count;
  commit;
  perform pg_advisory_unlock(803144, 2);
end
$$;

-- Statistics of features in whole steps, a row for each series (stream, method, channel), its minutes, hours and days packed one after the
-- other: a chart of 24 hours is one row instead of 1,440. Read by src/query/feature-buckets.ts, which adds them up. Called by its
-- unqualified name: the owner gets the one of schema public, the api role the one of schema api, which answers for the organization of the
-- transaction alone, as the views do. In plpgsql, because that keeps its plans.
--
-- [from_time, to_time), whole minutes. Of it [hours_from, hours_to) is answered by kept hours, null: minutes alone; and of that
-- [days_from, days_to) by kept days, which may be empty. An hour or day that is noted is answered by what it is made of. worst: quality_max;
-- what it does not need is null. with_extremes: minimum and maximum, first and last, too.
--
-- Every bytea has eight bytes for a bucket, in the same order, highest bit first; most are two numbers of four bytes: times has the minute
-- from 1970 and how many values are expected, counts the good and the suspect ones, ranges minimum and maximum, ends first and last, as 0
-- where the class has no value. open: minutes that are not over, as packed_minutes has them.
create function feature_buckets(stream_ids integer[], method_ids smallint[], from_time timestamptz, to_time timestamptz,
  hours_from timestamptz, hours_to timestamptz, days_from timestamptz, days_to timestamptz, worst integer, with_extremes boolean)
returns table (stream_id integer, method_id smallint, channel_no smallint, per_unit double precision, times bytea, counts bytea, value_counts bytea,
  good_sums bytea, suspect_sums bytea, every_sums bytea, good_ranges bytea, suspect_ranges bytea, every_ranges bytea,
  good_ends bytea, every_ends bytea, open bytea)
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  if hours_from is null then
    return query
    select b.stream_id, b.method_id, b.channel_no, (select steps_per_unit(m.step) from method m where m.id = b.method_id),
      string_agg(int8send((date_part('epoch', b.time) / 60)::bigint << 32 | b.n), ''),
      string_agg(int8send(coalesce(b.good_n, b.value_n, b.n)::bigint << 32 | coalesce(b.suspect_n, 0)), ''),
      string_agg(int8send(coalesce(b.value_n, b.n)), '') filter (where worst = 2),
      string_agg(int8send(coalesce(case when b.good_n is null then b.sum else b.good_sum end, 0)), ''),
      string_agg(int8send(coalesce(case when b.suspect_n = coalesce(b.value_n, b.n) then b.sum else b.suspect_sum end, 0)), '') filter (where worst > 0),
      string_agg(int8send(coalesce(b.sum, 0)), '') filter (where worst = 2),
      string_agg(int8send(case when b.good_n is null then pair(coalesce(b.min, b.sum), coalesce(b.max, b.sum)) else pair(b.good_min, b.good_max) end), '')
        filter (where with_extremes),
      string_agg(int8send(case when b.suspect_n = coalesce(b.value_n, b.n) then pair(coalesce(b.min, b.sum), coalesce(b.max, b.sum))
        else pair(b.suspect_min, b.suspect_max) end), '') filter (where with_extremes and worst > 0),
      string_agg(int8send(pair(coalesce(b.min, b.sum), coalesce(b.max, b.sum))), '') filter (where with_extremes and worst = 2),
      string_agg(int8send(case when b.good_n is null then pair(coalesce(b.first, b.sum), coalesce(b.last, b.sum)) else pair(b.good_first, b.good_last) end), '')
        filter (where with_extremes),
      string_agg(int8send(pair(coalesce(b.first, b.sum), coalesce(b.last, b.sum))), '') filter (where with_extremes and worst = 2),
      null::bytea
    from feature_block b
    where b.stream_id = any (stream_ids) and b.method_id = any (method_ids) and b.time >= from_time and b.time < to_time
    group by b.stream_id, b.method_id, b.channel_no;
  else
    return query
    with noted as materialized (
      select distinct d.stream_id, d.method_id, d.channel_no, d.bucket, date_bin('1 day', d.bucket, timestamptz '2001-01-01 00:00:00+00') as day
      from rollup_dirty d
      where d.stream_id = any (stream_ids) and d.method_id = any (method_ids) and d.bucket >= hours_from and d.bucket < hours_to
    ), bucket as (
      -- the minutes before and after whole hours, and those of noted hours
      select m.* from feature_minute m
      where m.stream_id = any (stream_ids) and m.method_id = any (method_ids) and m.bucket >= from_time and m.bucket < least(to_time, hours_from) and not m.is_open
      union all
      select m.* from feature_minute m
      where m.stream_id = any (stream_ids) and m.method_id = any (method_ids) and m.bucket >= hours_to and m.bucket < to_time and not m.is_open
      union all
      select m.* from noted d cross join lateral (
        select * from feature_minute m
        where m.stream_id = d.stream_id and m.method_id = d.method_id and m.channel_no = d.channel_no
          and m.bucket >= d.bucket and m.bucket < d.bucket + interval '1 hour' and not m.is_open
        offset 0) m
      union all
      select k.*, false from feature_1h_kept k
      where k.stream_id = any (stream_ids) and k.method_id = any (method_ids)
        and (k.bucket >= hours_from and k.bucket < least(hours_to, days_from) or k.bucket >= days_to and k.bucket < hours_to)
        and not exists (
          select from noted d where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.bucket = k.bucket)
      union all
      select k.*, false from (select distinct d.stream_id, d.method_id, d.channel_no, d.day from noted d where d.day >= days_from and d.day < days_to) d
      cross join lateral (
        select * from feature_1h_kept k
        where k.stream_id = d.stream_id and k.method_id = d.method_id and k.channel_no = d.channel_no
          and k.bucket >= d.day and k.bucket < d.day + interval '1 day'
          and not exists (
            select from noted x where x.stream_id = k.stream_id and x.method_id = k.method_id and x.channel_no = k.channel_no and x.bucket = k.bucket)
        offset 0) k
      union all
      select k.*, false from feature_1d_kept k
      where k.stream_id = any (stream_ids) and k.method_id = any (method_ids) and k.bucket >= days_from and k.bucket < days_to
        and not exists (
          select from noted d where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.day = k.bucket)
    )
    select b.stream_id, b.method_id, b.channel_no, (select steps_per_unit(m.step) from method m where m.id = b.method_id),
      string_agg(int8send((date_part('epoch', b.bucket) / 60)::bigint << 32 | b.n), ''),
      string_agg(int8send(b.good_n << 32 | b.suspect_n), ''),
      string_agg(int8send(b.value_n), '') filter (where worst = 2),
      string_agg(int8send(coalesce(b.good_sum, 0)), ''),
      string_agg(int8send(coalesce(b.suspect_sum, 0)), '') filter (where worst > 0),
      string_agg(int8send(coalesce(b.sum, 0)), '') filter (where worst = 2),
      string_agg(int8send(pair(b.good_min, b.good_max)), '') filter (where with_extremes),
      string_agg(int8send(pair(b.suspect_min, b.suspect_max)), '') filter (where with_extremes and worst > 0),
      string_agg(int8send(pair(b.min, b.max)), '') filter (where with_extremes and worst = 2),
      string_agg(int8send(pair(b.good_first, b.good_last)), '') filter (where with_extremes),
      string_agg(int8send(pair(b.first, b.last)), '') filter (where with_extremes and worst = 2),
      null::bytea
    from bucket b
    group by b.stream_id, b.method_id, b.channel_no;
  end if;
  return query
  select o.stream_id, d.method_id, d.channel_no, (select steps_per_unit(m.step) from method m where m.id = d.method_id),
    null::bytea, null::bytea, null::bytea, null::bytea, null::bytea, null::bytea, null::bytea, null::bytea, null::bytea, null::bytea, null::bytea,
    string_agg(packed_minute(d.time, d.n, d.base, d.codec), '')
  from derived_open o cross join lateral open_minutes(o.data) d
  where o.stream_id = any (stream_ids) and d.method_id = any (method_ids) and not d.is_beat and d.time >= from_time and d.time < to_time
  group by o.stream_id, d.method_id, d.channel_no;
end
$$;

-- Hours of the minutes that were packed just now; the service keeps them when it runs.
insert into rollup_dirty (stream_id, method_id, channel_no, bucket)
select distinct stream_id, method_id, channel_no, date_bin('1 hour', time, timestamptz '2001-01-01 00:00:00+00') from feature_block;
analyze rollup_dirty;

-- Schema api, as in 000054: minutes, hours and days seen through the organization that owns the stream.
do $$
declare
  relation text;
begin
  foreach relation in array array['beat_block', 'feature_block', 'derived_open', 'feature_1m', 'feature_1h', 'feature_1d'] loop
    execute format(
      'create view api.%I with (security_barrier) as select r.* from public.%I r join public.stream s on s.id = r.stream_id where s.organization_id = current_organization()',
      relation, relation);
  end loop;
end
$$;
-- Values and beats of a time likewise, made of the minutes that these views show: the functions of schema public, over schema api.
do $$
declare
  name text;
begin
  foreach name in array array['feature_values', 'beat_values'] loop
    execute regexp_replace(replace(pg_get_functiondef(name::regproc), 'FUNCTION public.', 'FUNCTION api.'),
      ' from (feature_block|beat_block|derived_open) ', ' from api.\1 ', 'g');
  end loop;
end
$$;
create view api.feature as select * from api.feature_values('-infinity', 'infinity');
create view api.beat as select * from api.beat_values('-infinity', 'infinity');

-- Statistics of features, of the streams of the organization that the transaction has named, as the views show them. The function reads as the
-- owner; whose streams they are is asked here, once.
create function api.feature_buckets(stream_ids integer[], method_ids smallint[], from_time timestamptz, to_time timestamptz,
  hours_from timestamptz, hours_to timestamptz, days_from timestamptz, days_to timestamptz, worst integer, with_extremes boolean)
returns table (stream_id integer, method_id smallint, channel_no smallint, per_unit double precision, times bytea, counts bytea, value_counts bytea,
  good_sums bytea, suspect_sums bytea, every_sums bytea, good_ranges bytea, suspect_ranges bytea, every_ranges bytea,
  good_ends bytea, every_ends bytea, open bytea)
language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
  return query select f.* from public.feature_buckets(
    array(select s.id from public.stream s where s.id = any (stream_ids) and s.organization_id = public.current_organization()),
    method_ids, from_time, to_time, hours_from, hours_to, days_from, days_to, worst, with_extremes) f;
end
$$;
revoke execute on function feature_buckets(integer[], smallint[], timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, integer, boolean) from public;
revoke execute on function api.feature_buckets(integer[], smallint[], timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, integer, boolean) from public;

-- More of the table of rights of 000054: s select, i insert, u update, d delete. Where the roles do not exist the owner does everything.
do $$
declare
  rule record;
begin
  if (select count(*) < 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    return;
  end if;
  for rule in select * from (values
    ('beat_block',        'biosignal_worker', 'select, insert, update, delete'),
    ('feature_block',     'biosignal_worker', 'select, insert, update, delete'),
    ('derived_open',      'biosignal_worker', 'select, insert, update, delete'),
    ('rollup_dirty',      'biosignal_worker', 'select, insert, update, delete'),
    ('api.beat',          'biosignal_api',    'select'),
    ('api.feature',       'biosignal_api',    'select'),
    ('api.beat_block',    'biosignal_api',    'select'),
    ('api.feature_block', 'biosignal_api',    'select'),
    ('api.derived_open',  'biosignal_api',    'select'),
    ('api.feature_1m',    'biosignal_api',    'select'),
    ('api.feature_1h',    'biosignal_api',    'select'),
    ('api.feature_1d',    'biosignal_api',    'select')
  ) as r (relation, role_name, rights) loop
    execute format('grant %s on %s to %I', rule.rights, rule.relation, rule.role_name);
  end loop;
  grant execute on function api.feature_buckets(integer[], smallint[], timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, integer, boolean)
    to biosignal_api;
end
$$;
