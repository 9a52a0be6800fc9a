-- Values are unpacked as quickly as before 65: the code of a value is looked up without a step of its own, which took as long as all the rest.

create or replace function feature_points(minute timestamptz, n integer, base bigint, codec bytea)
returns table (ts_ns bigint, steps bigint, qmask smallint) language sql immutable parallel safe rows 30 as $$
  select h.start_ns + h.unit_ns * (i * h.step + block_bits(codec, 8 * h.times_at + i * h.time_width, h.time_width)),
    case when c.code < 4 then base + block_bits(codec, 8 * h.values_at + i * h.value_width, h.value_width) end,
    (c.code & 3)::smallint
  from (
    select w.start_ns, power(10, w.exponent)::bigint as unit_ns, w.step, w.time_width, w.value_width, w.times_at,
      w.times_at + (n * w.time_width + 7) / 8 as values_at,
      w.times_at + (n * w.time_width + 7) / 8 + (n * w.value_width + 7) / 8 as codes_at, block_width(w.known) as code_width,
      -- every byte is there, none is left over
      case when w.has_head and w.known > 0 and w.value_width <= 32 and is_block_line(n, w.exponent, w.step, w.time_width)
          and length(codec) = w.times_at + (n * w.time_width + 7) / 8 + (n * w.value_width + 7) / 8 + (n * block_width(w.known) + 7) / 8
        then n - 1 else -1 end as last
    from (
      select date_part('epoch', minute)::bigint * 1000000000 + block_bits(codec, 8, 48) - 140737488355328 as start_ns, s.has_head,
        case when s.has_head then get_byte(codec, 0) & 15 else 0 end as exponent,
        case when n > 1 and s.has_head then block_bits(codec, 56, 40) else 0 end as step,
        case when n > 1 and s.has_head then get_byte(codec, 12) else 0 end as time_width,
        case when n > 1 and s.has_head then get_byte(codec, 13) else 0 end as value_width,
        case when n > 1 and s.has_head then get_byte(codec, 14) else 1 end as known,
        case when n > 1 and s.has_head then 15 + get_byte(codec, 14) else 8 end as times_at
      from (select case when n > 1 then length(codec) > 14 else length(codec) > 7 end as has_head offset 0) s
      offset 0) w
    offset 0) h
  cross join generate_series(0, h.last) i
  cross join lateral (
    select get_byte(codec, case when n > 1
      then least(15 + block_bits(codec, 8 * h.codes_at + i * h.code_width, h.code_width)::integer, length(codec) - 1) else 7 end) as code
    offset 0) c
$$;
