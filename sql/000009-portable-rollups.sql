-- feature_1m, feature_1h, feature_1d without continuous aggregates, kept: always exact, late and deleted rows included.
--
-- Triggers note every minute of a series that a statement touched (rollup_dirty). A reader takes kept buckets that are not noted and
-- computes the noted ones from the raw rows, so an answer never waits for a refresh; the refresh keeps the noted few. Two rules make it
-- right under concurrent writers: a writer holds lock 1 shared from its note to its commit, and the refresh takes its list of minutes
-- holding lock 1 alone, in a transaction of its own. So whoever noted a minute before the list was taken has committed and is seen, and
-- whoever writes after notes it again.
--! requires: portable

drop view feature_1d, feature_1h, feature_1m;

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

create view feature_1h as
select k.* from feature_1h_kept k
where not exists (
  select from rollup_dirty d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no
    and d.bucket >= k.bucket and d.bucket < k.bucket + interval '1 hour')
union all
select d.bucket, d.stream_id, d.method_id, d.channel_no, m.*
from (
  select distinct stream_id, method_id, channel_no, date_bin('1 hour', bucket, timestamptz '2001-01-01 00:00:00+00') as bucket from rollup_dirty) d
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
  from feature_1m
  where bucket >= d.bucket and bucket < d.bucket + interval '1 hour'
    and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
  having count(*) > 0) m;

create view feature_1d as
select k.* from feature_1d_kept k
where not exists (
  select from rollup_dirty d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no
    and d.bucket >= k.bucket and d.bucket < k.bucket + interval '1 day')
union all
select d.bucket, d.stream_id, d.method_id, d.channel_no, h.*
from (
  select distinct stream_id, method_id, channel_no, date_bin('1 day', bucket, timestamptz '2001-01-01 00:00:00+00') as bucket from rollup_dirty) d
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
  from feature_1h
  where bucket >= d.bucket and bucket < d.bucket + interval '1 day'
    and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
  having count(*) > 0) h;

-- Keeps what was noted. One at a time: a second caller finds the lock taken and leaves. Returns how many minutes were kept.
-- rows_max bounds one run, so that an import of years is kept in many short transactions.
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

  delete from feature_1m_kept k using rollup_dirty d
  where d.taken and d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.bucket = k.bucket;
  insert into feature_1m_kept
  select v.* from rollup_dirty d join feature_1m v
    on v.stream_id = d.stream_id and v.method_id = d.method_id and v.channel_no = d.channel_no and v.bucket = d.bucket
  where d.taken;

  delete from feature_1h_kept k using (
    select distinct stream_id, method_id, channel_no, date_bin('1 hour', bucket, timestamptz '2001-01-01 00:00:00+00') as bucket
    from rollup_dirty where taken) d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.bucket = k.bucket;
  insert into feature_1h_kept
  select v.* from (
    select distinct stream_id, method_id, channel_no, date_bin('1 hour', bucket, timestamptz '2001-01-01 00:00:00+00') as bucket
    from rollup_dirty where taken) d join feature_1h v
    on v.stream_id = d.stream_id and v.method_id = d.method_id and v.channel_no = d.channel_no and v.bucket = d.bucket;

  delete from feature_1d_kept k using (
    select distinct stream_id, method_id, channel_no, date_bin('1 day', bucket, timestamptz '2001-01-01 00:00:00+00') as bucket
    from rollup_dirty where taken) d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.bucket = k.bucket;
  insert into feature_1d_kept
  select v.* from (
    select distinct stream_id, method_id, channel_no, date_bin('1 day', bucket, timestamptz '2001-01-01 00:00:00+00') as bucket
    from rollup_dirty where taken) d join feature_1d v
    on v.stream_id = d.stream_id and v.method_id = d.method_id and v.channel_no = d.channel_no and v.bucket = d.bucket;

  delete from rollup_dirty where taken;
  get diagnostics minutes = row_count;
  commit;
  perform pg_advisory_unlock(803144, 2);
end
$$;

-- What is there already.
insert into rollup_dirty (stream_id, method_id, channel_no, bucket)
select distinct stream_id, method_id, channel_no, date_bin('1 minute', time, timestamptz '2001-01-01 00:00:00+00') from feature;
