-- The confidence of a beat is the same in SQL, exports and the API: none where the signal is bad (class Q) or no beat of the heart was seen
-- (src/query/beat-classes.ts); a row in which one is below 0 is damaged as a whole, as in src/storage/derived-block.ts.

-- The beats of a row of beat_block, as in 88. confidence: hundredths; null: unknown.
create or replace function beat_points(minute timestamptz, n integer, reasons text, codec bytea)
returns table (ts_ns bigint, interval_us bigint, kind smallint, qmask smallint, reason text, confidence smallint)
language sql immutable parallel safe rows 80 as $$
  select b.ts_ns,
    case b.code >> 12
      when 1 then (b.ts_ns - max(b.ts_ns) filter (where b.code >> 8 & 3 <> 3) over (order by b.i rows between unbounded preceding and 1 preceding)) / 1000
      when 2 then block_bits(codec, 8 * b.written_at + 32 * (count(*) filter (where b.code >> 12 = 2) over (order by b.i rows unbounded preceding))::integer - 32, 32)
    end,
    (b.code >> 8 & 3)::smallint, (b.code >> 10 & 3)::smallint, case when b.code & 255 = 0 then '' else split_part(reasons, E'\x01', b.code & 255) end,
    case when b.doubt > 0 then (101 - b.doubt)::smallint end
  from (
    select i, h.start_ns + h.unit_ns * (i * h.step + block_bits(codec, 8 * h.times_at + i * h.time_width, h.time_width)) as ts_ns,
      block_bits(codec, 8 * h.codes_from + 16 * block_bits(codec, 8 * h.codes_at + i * h.code_width, h.code_width)::integer, 16)::integer as code,
      block_bits(codec, 8 * (h.codes_at + (n * h.code_width + 7) / 8) + i * h.doubt_width, h.doubt_width) as doubt,
      h.codes_at + (n * h.code_width + 7) / 8 + (n * h.doubt_width + 7) / 8 as written_at
    from (
      select w.*, power(10, w.exponent)::bigint as unit_ns, block_width(w.known) as code_width, w.times_at + (n * w.time_width + 7) / 8 as codes_at,
        -- times, codes and confidences are there, and what is left are intervals of four bytes
        case when w.known > 0 and w.doubt_width <= 7 and is_block_line(n, w.exponent, w.step, w.time_width)
            and (length(codec) - w.times_at - (n * w.time_width + 7) / 8 - (n * block_width(w.known) + 7) / 8 - (n * w.doubt_width + 7) / 8)
              between 0 and 4 * n
          -- a confidence below 0 is damage, and needs 7 bits
          then case when w.doubt_width = 7 and exists (select from generate_series(0, n - 1) d
                where block_bits(codec, 8 * (w.times_at + (n * w.time_width + 7) / 8 + (n * block_width(w.known) + 7) / 8) + 7 * d, 7) > 101)
              then -1 else n - 1 end
          else -1 end as last
      from (
        select date_part('epoch', minute)::bigint * 1000000000 + block_bits(codec, 8, 48) - 140737488355328 as start_ns,
          case when s.has_head then get_byte(codec, 0) & 15 else 0 end as exponent, block_bits(codec, 56, 40) as step,
          case when s.has_head then get_byte(codec, 12) else 0 end as time_width, s.known,
          case when s.is_sure then get_byte(codec, 14) else 0 end as doubt_width,
          case when s.is_sure then 15 else 14 end as codes_from, case when s.is_sure then 15 else 14 end + 2 * s.known as times_at
        from (
          select length(codec) > 13 as has_head, case when length(codec) > 13 then get_byte(codec, 13) else 0 end as known,
            case when length(codec) > 14 then get_byte(codec, 0) >= 240 else false end as is_sure
          offset 0) s
        offset 0) w
      offset 0) h
    cross join generate_series(0, h.last) i) b
$$;

-- Beats with their exact time, of [from_time, to_time), as in 57. confidence: 0 to 1; null: unknown, or the kind cannot be judged.
create or replace function beat_values(from_time timestamptz, to_time timestamptz)
returns table ("time" timestamptz, ts_ns bigint, stream_id integer, channel_no smallint, method_id smallint, interval_ms double precision,
  kind smallint, qmask smallint, reason text, confidence double precision)
language sql stable parallel safe as $$
  select x.time, p.ts_ns, b.stream_id, b.channel_no, b.method_id, p.interval_us / 1000::double precision, p.kind, p.qmask, p.reason,
    case when p.qmask <> 2 and p.kind < 2 then p.confidence / 100::double precision end
  from (
    select f.time, f.stream_id, f.method_id, f.channel_no, f.n::integer, f.reasons, f.codec from beat_block f
    where f.time > from_time - interval '1 minute' and f.time < to_time
    union all
    select d.time, o.stream_id, d.method_id, d.channel_no, d.n, d.reasons, d.codec from derived_open o cross join lateral open_minutes(o.data) d
    where d.is_beat and d.time > from_time - interval '1 minute' and d.time < to_time) b
  cross join lateral beat_points(b.time, b.n, b.reasons, b.codec) p
  cross join lateral (select timestamptz 'epoch' + (p.ts_ns - case when p.ts_ns < 0 then 999 else 0 end) / 1000 * interval '1 microsecond' as time) x
  where x.time >= from_time and x.time < to_time
$$;

-- Schema api, as in 88.
do $$
begin
  execute regexp_replace(replace(pg_get_functiondef('beat_values'::regproc), 'FUNCTION public.', 'FUNCTION api.'),
    ' from (beat_block|derived_open) ', ' from api.\1 ', 'g');
end
$$;
