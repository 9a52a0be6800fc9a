-- Minutes of one feature as columns (000031-minutes-as-columns.sql), from the continuous aggregate.
--! requires: timescale

create function feature_minutes(stream_ids integer[], method smallint, from_time timestamptz, to_time timestamptz, what text, worst integer)
returns table (minutes json, ns json, value_ns json, good_ns json, suspect_ns json, goods json, suspects json, everies json)
language plpgsql stable as $$
declare
  summed constant boolean := what in ('mean', 'sum');
begin
  return query
  with minute as (
    select v.* from feature_1m v
    where v.bucket >= from_time and v.bucket < to_time and v.stream_id = any (stream_ids) and v.method_id = method
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
