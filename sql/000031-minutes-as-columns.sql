-- Minutes of one feature as columns: a chart of 24 hours is one row of arrays instead of 1,440 rows, and what is noted of the range
-- (000009-portable-rollups.sql) is looked at once instead of once for each minute. The same answer as feature_1m gives, in no order.
-- Called by their unqualified name: the owner gets the one of schema public, the api role the one of schema api, which answers for the
-- organization of the transaction alone, as the views do. In plpgsql, because that keeps its plans.

-- method, [from_time, to_time): as of feature_1m. what: mean, sum, min, max, first, last or count. worst: quality_max, 0 to 2; the sums that it
-- needs are there, the others null. Arrays are parallel, and null where there is nothing; minutes counts from 1970. Numbers that are none
-- (NaN) are strings.
--! requires: portable

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
