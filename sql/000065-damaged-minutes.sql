-- Damaged bytes of minutes (a damaged disk) fail no statement: a minute that cannot be unpacked has no values, as it has none in answers of
-- REST. One such minute, the newest of a stream, kept the service from starting. As in 57, with the checks that decodeFeatures and decodeBeats
-- of src/storage/derived-block.ts make of a minute as a whole; they cost a minute, not a value.

-- May the times of a line be computed: none is beyond what the minute can be, and no product beyond its type.
create function is_block_line(n integer, exponent integer, step bigint, width integer) returns boolean language sql immutable parallel safe as $$
  select n between 1 and 32767 and exponent <= 9 and width <= 40
    and power(10, exponent) * (step::double precision * (n - 1) + power(2, width)) < 1e15
$$;

create or replace function feature_points(minute timestamptz, n integer, base bigint, codec bytea)
returns table (ts_ns bigint, steps bigint, qmask smallint) language sql immutable parallel safe rows 30 as $$
  select h.start_ns + h.unit_ns * (i * h.step + block_bits(codec, 8 * h.times_at + i * h.time_width, h.time_width)),
    case when c.code < 4 then base + block_bits(codec, 8 * h.values_at + i * h.value_width, h.value_width) end,
    (c.code & 3)::smallint
  from (
    select w.start_ns, power(10, w.exponent)::bigint as unit_ns, w.step, w.time_width, w.value_width, w.times_at, w.known,
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
    select block_bits(codec, 8 * h.codes_at + i * h.code_width, h.code_width)::integer as at offset 0) k
  cross join lateral (
    select case when n = 1 then get_byte(codec, 7) when k.at < h.known then get_byte(codec, 15 + k.at) else 6 end as code
    offset 0) c
$$;

create or replace function beat_points(minute timestamptz, n integer, reasons text, codec bytea)
returns table (ts_ns bigint, interval_us bigint, kind smallint, qmask smallint, reason text) language sql immutable parallel safe rows 80 as $$
  select b.ts_ns,
    case b.code >> 12
      when 1 then (b.ts_ns - max(b.ts_ns) filter (where b.code >> 8 & 3 <> 3) over (order by b.i rows between unbounded preceding and 1 preceding)) / 1000
      when 2 then block_bits(codec, 8 * b.written_at + 32 * (count(*) filter (where b.code >> 12 = 2) over (order by b.i rows unbounded preceding))::integer - 32, 32)
    end,
    (b.code >> 8 & 3)::smallint, (b.code >> 10 & 3)::smallint, case when b.code & 255 = 0 then '' else split_part(reasons, E'\x01', b.code & 255) end
  from (
    select i, h.start_ns + h.unit_ns * (i * h.step + block_bits(codec, 8 * h.times_at + i * h.time_width, h.time_width)) as ts_ns,
      block_bits(codec, 112 + 16 * block_bits(codec, 8 * h.codes_at + i * h.code_width, h.code_width)::integer, 16)::integer as code,
      h.codes_at + (n * h.code_width + 7) / 8 as written_at
    from (
      select w.*, power(10, w.exponent)::bigint as unit_ns, block_width(w.known) as code_width, w.times_at + (n * w.time_width + 7) / 8 as codes_at,
        -- times and codes are there, and what is left are intervals of four bytes
        case when w.known > 0 and is_block_line(n, w.exponent, w.step, w.time_width)
            and (length(codec) - w.times_at - (n * w.time_width + 7) / 8 - (n * block_width(w.known) + 7) / 8) between 0 and 4 * n
          then n - 1 else -1 end as last
      from (
        select date_part('epoch', minute)::bigint * 1000000000 + block_bits(codec, 8, 48) - 140737488355328 as start_ns,
          case when s.has_head then get_byte(codec, 0) & 15 else 0 end as exponent, block_bits(codec, 56, 40) as step,
          case when s.has_head then get_byte(codec, 12) else 0 end as time_width, s.known, 14 + 2 * s.known as times_at
        from (select length(codec) > 13 as has_head, case when length(codec) > 13 then get_byte(codec, 13) else 0 end as known offset 0) s
        offset 0) w
      offset 0) h
    cross join generate_series(0, h.last) i) b
$$;

-- Of a row of which nothing but a part is readable: the minutes that lie within it. Numbers are read by as many bits as they can have.
create or replace function open_minutes(data bytea)
returns table ("time" timestamptz, method_id smallint, channel_no smallint, n integer, is_beat boolean, base bigint, reasons text, codec bytea)
language sql immutable parallel safe rows 30 as $$
  select to_timestamp(60 * block_bits(data, h.at + 5, 27)), block_bits(data, h.at + 33, 15)::smallint, (block_bits(data, h.at + 48, 16) - 32768)::smallint,
    block_bits(data, h.at + 64, 16)::integer, block_bits(data, h.at + 80, 8) & 1 = 1, block_bits(data, h.at + 88, 32) - 2147483648,
    -- not convert_from, which refuses what is not UTF-8: reasons are plain ASCII
    case when h.reasons_bytes > 0 then encode(substring(data from h.codec_at + h.codec_bytes + 1 for h.reasons_bytes), 'escape') end,
    substring(data from h.codec_at + 1 for h.codec_bytes)
  from (
    select g.at, block_bits(data, g.at + 122, 30)::integer as codec_at, block_bits(data, g.at + 154, 30)::integer as codec_bytes,
      block_bits(data, g.at + 184, 16)::integer as reasons_bytes
    from (select 16 + 200 * i as at from generate_series(0, block_bits(data, 0, 16)::integer - 1) i) g
    where g.at + 200 <= 8 * length(data)) h
  where h.codec_at::bigint + h.codec_bytes + h.reasons_bytes <= length(data)
$$;

-- As in 57; a stream whose newest minute cannot be unpacked has its newest value where that minute begins.
create or replace function newest_feature_ns(stream integer, method smallint default null) returns bigint language plpgsql stable as $$
declare
  since constant timestamptz := (select coalesce(s.ended_at, s.last_sample_at) - interval '1 day' from stream s where s.id = stream);
  newest timestamptz := greatest(
    (select max(n.time)
     from method m
     cross join (select -1::smallint as no union all select c.channel_no from stream_channel c where c.stream_id = stream) c
     cross join lateral (
       select b.time from feature_block b
       where b.stream_id = stream and b.method_id = m.id and b.channel_no = c.no and b.time >= since order by b.time desc limit 1) n
     where m.kind = 'feature' and (method is null or m.id = method)),
    (select max(d.time) from derived_open o cross join lateral open_minutes(o.data) d
     where o.stream_id = stream and not d.is_beat and (method is null or d.method_id = method)));
begin
  if newest is null then
    newest := (select max(b.time) from feature_block b where b.stream_id = stream and (method is null or b.method_id = method));
  end if;
  return coalesce(greatest(
    (select max(p.ts_ns)
     from method m
     cross join (select -1::smallint as no union all select c.channel_no from stream_channel c where c.stream_id = stream) c
     join feature_block b on b.stream_id = stream and b.method_id = m.id and b.channel_no = c.no and b.time = newest
     cross join lateral feature_points(b.time, b.n, coalesce(b.min, b.sum), b.codec) p
     where m.kind = 'feature' and (method is null or m.id = method)),
    (select max(p.ts_ns)
     from derived_open o cross join lateral open_minutes(o.data) d cross join lateral feature_points(d.time, d.n, d.base, d.codec) p
     where o.stream_id = stream and not d.is_beat and d.time = newest and (method is null or d.method_id = method))), date_part('epoch', newest)::bigint * 1000000000);
end
$$;

create or replace function newest_beat_ns(stream integer, method smallint default null) returns bigint language plpgsql stable as $$
declare
  since constant timestamptz := (select coalesce(s.ended_at, s.last_sample_at) - interval '1 day' from stream s where s.id = stream);
  newest timestamptz := greatest(
    (select max(n.time)
     from method m
     cross join stream_channel c
     cross join lateral (
       select b.time from beat_block b
       where b.stream_id = stream and b.channel_no = c.channel_no and b.method_id = m.id and b.time >= since order by b.time desc limit 1) n
     where m.kind = 'beat' and (method is null or m.id = method) and c.stream_id = stream),
    (select max(d.time) from derived_open o cross join lateral open_minutes(o.data) d
     where o.stream_id = stream and d.is_beat and (method is null or d.method_id = method)));
begin
  if newest is null then
    newest := (select max(b.time) from beat_block b where b.stream_id = stream and (method is null or b.method_id = method));
  end if;
  return coalesce(greatest(
    (select max(p.ts_ns)
     from method m
     cross join stream_channel c
     join beat_block b on b.stream_id = stream and b.channel_no = c.channel_no and b.method_id = m.id and b.time = newest
     cross join lateral beat_points(b.time, b.n, b.reasons, b.codec) p
     where m.kind = 'beat' and (method is null or m.id = method) and c.stream_id = stream),
    (select max(p.ts_ns)
     from derived_open o cross join lateral open_minutes(o.data) d cross join lateral beat_points(d.time, d.n, d.reasons, d.codec) p
     where o.stream_id = stream and d.is_beat and d.time = newest and (method is null or d.method_id = method))), date_part('epoch', newest)::bigint * 1000000000);
end
$$;
