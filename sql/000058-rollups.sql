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

-- Keeps what was noted. (It and feature_minute_columns have names of their own, because an earlier release that still runs calls what had
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

-- Open minutes of one feature with their statistics, as feature_minute has them. In plpgsql, because that keeps its plan.
create function open_feature_minutes(stream_ids integer[], method smallint, from_time timestamptz, to_time timestamptz)
returns setof feature_minute language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  return query
  select m.* from feature_minute m
  where m.stream_id = any (stream_ids) and m.method_id = method and m.bucket >= from_time and m.bucket < to_time and m.is_open;
end
$$;

-- Minutes of one feature as columns: a chart of 24 hours is one row of arrays instead of 1,440 rows. The same answer as feature_minute
-- gives, in whole steps and in no order. Called by its unqualified name: the owner gets the one of schema public, the api role the one of
-- schema api, which answers for the organization of the transaction alone, as the views do. In plpgsql, because that keeps its plans.
--
-- method, [from_time, to_time): as of feature_1m. what: mean, sum, min, max, first, last or count. worst: quality_max, 0 to 2; the sums
-- that it needs are there, the others null. Arrays are parallel, and null where there is nothing; minutes counts from 1970. Counts are null
-- where all values have a value, and where all of them are good.
create function feature_minute_columns(stream_ids integer[], method smallint, from_time timestamptz, to_time timestamptz, what text, worst integer)
returns table (per_unit double precision, minutes json, ns json, value_ns json, good_ns json, suspect_ns json, goods json, suspects json, everies json)
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  return query
  with minute as (
    select b.time as bucket, b.n, b.value_n, b.good_n, b.suspect_n, coalesce(b.value_n, b.n) as values_n,
      case what when 'mean' then b.sum when 'sum' then b.sum when 'min' then coalesce(b.min, b.sum) when 'max' then coalesce(b.max, b.sum)
        when 'first' then coalesce(b.first, b.sum) when 'last' then coalesce(b.last, b.sum) end as every,
      case what when 'mean' then b.good_sum when 'sum' then b.good_sum when 'min' then b.good_min when 'max' then b.good_max
        when 'first' then b.good_first when 'last' then b.good_last end as good,
      case what when 'mean' then b.suspect_sum when 'sum' then b.suspect_sum when 'min' then b.suspect_min when 'max' then b.suspect_max end as suspect
    from feature_block b
    where b.time >= from_time and b.time < to_time and b.stream_id = any (stream_ids) and b.method_id = method
    union all
    select o.bucket, o.n, o.value_n, o.good_n, o.suspect_n, -1,
      case what when 'mean' then o.sum when 'sum' then o.sum when 'min' then o.min when 'max' then o.max when 'first' then o.first when 'last' then o.last end,
      case what when 'mean' then o.good_sum when 'sum' then o.good_sum when 'min' then o.good_min when 'max' then o.good_max
        when 'first' then o.good_first when 'last' then o.good_last end,
      case what when 'mean' then o.suspect_sum when 'sum' then o.suspect_sum when 'min' then o.suspect_min when 'max' then o.suspect_max end
    from open_feature_minutes(stream_ids, method, from_time, to_time) o
  )
  select (select steps_per_unit(k.step) from method k where k.id = method),
    array_to_json(array_agg((date_part('epoch', m.bucket) / 60)::integer)),
    array_to_json(array_agg(m.n)),
    case when count(m.value_n) > 0 then array_to_json(array_agg(m.value_n)) end,
    case when count(m.good_n) > 0 then array_to_json(array_agg(m.good_n)) end,
    case when count(m.good_n) > 0 then array_to_json(array_agg(m.suspect_n)) end,
    array_to_json(array_agg(case when m.good_n is null then m.every else m.good end) filter (where worst < 2)),
    array_to_json(array_agg(case when m.suspect_n = m.values_n and what not in ('first', 'last') then m.every else m.suspect end) filter (where worst = 1)),
    array_to_json(array_agg(m.every) filter (where worst = 2))
  from minute m
  having count(*) > 0;
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

-- Minutes as columns, of the streams of the organization that the transaction has named, as the views show them. The function reads as the
-- owner; whose streams they are is asked here, once.
create function api.feature_minute_columns(stream_ids integer[], method smallint, from_time timestamptz, to_time timestamptz, what text, worst integer)
returns table (per_unit double precision, minutes json, ns json, value_ns json, good_ns json, suspect_ns json, goods json, suspects json, everies json)
language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
  return query select f.* from public.feature_minute_columns(
    array(select s.id from public.stream s where s.id = any (stream_ids) and s.organization_id = public.current_organization()),
    method, from_time, to_time, what, worst) f;
end
$$;
revoke execute on function feature_minute_columns(integer[], smallint, timestamptz, timestamptz, text, integer) from public;
revoke execute on function api.feature_minute_columns(integer[], smallint, timestamptz, timestamptz, text, integer) from public;

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
  grant execute on function api.feature_minute_columns(integer[], smallint, timestamptz, timestamptz, text, integer) to biosignal_api;
end
$$;
