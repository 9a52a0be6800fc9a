-- Statistics of features: TimescaleDB opened every chunk that there is for a chart of a day by the minute. It put the aggregation into each
-- chunk, and a plan of that shape, which is kept, has no place where chunks out of the range are left out when it runs. `offset 0` keeps the
-- aggregation outside: what is below it is a scan of the table as any other. Rows are not sorted for a handful of groups, but hashed: a
-- sort would copy each of them.
create or replace function feature_buckets(stream_ids integer[], method_ids smallint[], from_time timestamptz, to_time timestamptz,
  hours_from timestamptz, hours_to timestamptz, days_from timestamptz, days_to timestamptz, worst integer, with_extremes boolean)
returns table (stream_id integer, method_id smallint, channel_no smallint, per_unit double precision, times bytea, counts bytea, value_counts bytea,
  good_sums bytea, suspect_sums bytea, every_sums bytea, good_ranges bytea, suspect_ranges bytea, every_ranges bytea,
  good_ends bytea, every_ends bytea, open bytea)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_sort = off as $$
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
    from (
      select * from feature_block m
      where m.stream_id = any (stream_ids) and m.method_id = any (method_ids) and m.time >= from_time and m.time < to_time
      offset 0) b
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
