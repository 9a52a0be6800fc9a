-- How derived values are read: minutes are taken apart by SQL, and seen as a row for each value, for those who ask with psql.
--
-- The same layout as src/storage/derived-block.ts and open-minutes.ts, see docs/wire-format.md. All of it is SQL that PostgreSQL puts into
-- the query it is called from: no loop, and what the query asks of stream and method is looked for by the key.

-- Values of a method in whole steps: how many of them are one of its unit. A method without a step is kept to a thousandth.
create function steps_per_unit(step double precision) returns double precision language sql immutable parallel safe as $$
  select case when step > 0 then round(1 / step) else 1000 end
$$;

-- The number of so many bits at a bit, highest first. At most 41 bits, or 48 that begin with a byte.
create function block_bits(bytes bytea, at integer, width integer) returns bigint language sql immutable parallel safe as $$
  select (('x' || encode(substring(bytes from 1 + (at >> 3) for 6), 'hex'))::bit(48)::bigint >> (48 - (at & 7) - width)) & ((1::bigint << width) - 1)
$$;

-- How many bits the numbers below this one take.
create function block_width(below integer) returns integer language sql immutable parallel safe as $$
  select case when below <= 1 then 0 when below <= 2 then 1 when below <= 4 then 2 when below <= 8 then 3 when below <= 16 then 4
    when below <= 32 then 5 when below <= 64 then 6 when below <= 128 then 7 else 8 end
$$;

-- The values of a row of feature_block. base: its minimum; with n = 1 its sum.
create function feature_points(minute timestamptz, n integer, base bigint, codec bytea)
returns table (ts_ns bigint, steps bigint, qmask smallint) language sql immutable parallel safe rows 30 as $$
  select h.start_ns + h.unit_ns * (i * h.step + block_bits(codec, 8 * h.times_at + i * h.time_width, h.time_width)),
    case when c.code < 4 then base + block_bits(codec, 8 * h.values_at + i * h.value_width, h.value_width) end,
    (c.code & 3)::smallint
  from (
    select w.start_ns, w.unit_ns, w.step, w.time_width, w.value_width, w.times_at,
      w.times_at + (n * w.time_width + 7) / 8 as values_at,
      w.times_at + (n * w.time_width + 7) / 8 + (n * w.value_width + 7) / 8 as codes_at, block_width(w.known) as code_width
    from (
      select date_part('epoch', minute)::bigint * 1000000000 + block_bits(codec, 8, 48) - 140737488355328 as start_ns,
        power(10, get_byte(codec, 0) & 15)::bigint as unit_ns,
        case when n > 1 then block_bits(codec, 56, 40) else 0 end as step,
        case when n > 1 then get_byte(codec, 12) else 0 end as time_width,
        case when n > 1 then get_byte(codec, 13) else 0 end as value_width,
        case when n > 1 then get_byte(codec, 14) else 1 end as known,
        case when n > 1 then 15 + get_byte(codec, 14) else 8 end as times_at
      offset 0) w
    offset 0) h
  cross join generate_series(0, n - 1) i
  cross join lateral (
    select get_byte(codec, case when n > 1 then 15 + block_bits(codec, 8 * h.codes_at + i * h.code_width, h.code_width)::integer else 7 end) as code
    offset 0) c
$$;

-- The beats of a row of beat_block.
create function beat_points(minute timestamptz, n integer, reasons text, codec bytea)
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
      select w.*, w.times_at + (n * w.time_width + 7) / 8 as codes_at
      from (
        select date_part('epoch', minute)::bigint * 1000000000 + block_bits(codec, 8, 48) - 140737488355328 as start_ns,
          power(10, get_byte(codec, 0) & 15)::bigint as unit_ns, block_bits(codec, 56, 40) as step, get_byte(codec, 12) as time_width,
          block_width(get_byte(codec, 13)) as code_width, 14 + 2 * get_byte(codec, 13) as times_at
        offset 0) w
      offset 0) h
    cross join generate_series(0, n - 1) i) b
$$;

-- The open minutes of a row of derived_open. base: of a feature what its numbers are counted from.
create function open_minutes(data bytea)
returns table ("time" timestamptz, method_id smallint, channel_no smallint, n integer, is_beat boolean, base bigint, reasons text, codec bytea)
language sql immutable parallel safe rows 30 as $$
  select to_timestamp(60 * block_bits(data, h.at, 32)), h.method_id, (block_bits(data, h.at + 48, 16) - 32768)::smallint,
    block_bits(data, h.at + 64, 16)::integer, get_byte(data, h.at / 8 + 10) & 1 = 1, block_bits(data, h.at + 88, 32) - 2147483648,
    case when h.reasons_bytes > 0 then convert_from(substring(data from h.codec_at + h.codec_bytes + 1 for h.reasons_bytes), 'UTF8') end,
    substring(data from h.codec_at + 1 for h.codec_bytes)
  from (
    select g.at, block_bits(data, g.at + 32, 16)::smallint as method_id, block_bits(data, g.at + 120, 32)::integer as codec_at,
      block_bits(data, g.at + 152, 32)::integer as codec_bytes, block_bits(data, g.at + 184, 16)::integer as reasons_bytes
    from (select 16 + 200 * i as at from generate_series(0, block_bits(data, 0, 16)::integer - 1) i) g) h
$$;

-- Two numbers of four bytes as one, highest first; null is 0.
create function pair(high bigint, low bigint) returns bigint language sql immutable parallel safe as $$
  select coalesce(high, 0) << 32 | (coalesce(low, 0) & 4294967295)
$$;

-- A minute as src/query/packed-minutes.ts reads it, any number of them one after the other: the minute from 1970, n, the bytes of codec,
-- what its numbers are counted from, codec.
create function packed_minute(minute timestamptz, n integer, base bigint, codec bytea) returns bytea language sql immutable parallel safe as $$
  select int4send((date_part('epoch', minute) / 60)::integer) || int4send(n) || int4send(length(codec)) || int8send(coalesce(base, 0)) || codec
$$;
-- The same for beats, with the bytes of reasons instead of the base, and reasons at the end.
create function packed_beats(minute timestamptz, n integer, reasons text, codec bytea) returns bytea language sql stable parallel safe as $$
  select int4send((date_part('epoch', minute) / 60)::integer) || int4send(n) || int4send(length(codec))
    || int8send(octet_length(coalesce(reasons, ''))) || codec || convert_to(coalesce(reasons, ''), 'UTF8')
$$;

-- Values of features with their exact time and flag, of [from_time, to_time). time is rounded down, before 1970 too.
create function feature_values(from_time timestamptz, to_time timestamptz)
returns table ("time" timestamptz, ts_ns bigint, value double precision, stream_id integer, method_id smallint, channel_no smallint, qmask smallint)
language sql stable parallel safe as $$
  select x.time, p.ts_ns, p.steps / steps_per_unit(m.step), b.stream_id, b.method_id, b.channel_no, p.qmask
  from (
    select f.time, f.stream_id, f.method_id, f.channel_no, f.n::integer, coalesce(f.min, f.sum) as base, f.codec from feature_block f
    where f.time > from_time - interval '1 minute' and f.time < to_time
    union all
    select d.time, o.stream_id, d.method_id, d.channel_no, d.n, d.base, d.codec from derived_open o cross join lateral open_minutes(o.data) d
    where not d.is_beat and d.time > from_time - interval '1 minute' and d.time < to_time) b
  join method m on m.id = b.method_id
  cross join lateral feature_points(b.time, b.n, b.base, b.codec) p
  cross join lateral (select timestamptz 'epoch' + (p.ts_ns - case when p.ts_ns < 0 then 999 else 0 end) / 1000 * interval '1 microsecond' as time) x
  where x.time >= from_time and x.time < to_time
$$;

-- Beats with their exact time, of [from_time, to_time).
create function beat_values(from_time timestamptz, to_time timestamptz)
returns table ("time" timestamptz, ts_ns bigint, stream_id integer, channel_no smallint, method_id smallint, interval_ms double precision,
  kind smallint, qmask smallint, reason text)
language sql stable parallel safe as $$
  select x.time, p.ts_ns, b.stream_id, b.channel_no, b.method_id, p.interval_us / 1000::double precision, p.kind, p.qmask, p.reason
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

-- Minutes of features with all their statistics, in whole steps: complete ones as they are stored, open ones made of their values.
create view feature_minute as
select b.time as bucket, b.stream_id, b.method_id, b.channel_no, b.n::bigint as n, c.value_n::bigint as value_n, c.good_n::bigint as good_n,
  coalesce(b.suspect_n, 0)::bigint as suspect_n, b.sum,
  case when b.good_n is null then b.sum else b.good_sum end as good_sum,
  case when b.suspect_n = c.value_n then b.sum else b.suspect_sum end as suspect_sum,
  s.min, case when b.good_n is null then s.min else b.good_min end as good_min,
  case when b.suspect_n = c.value_n then s.min else b.suspect_min end as suspect_min,
  s.max, case when b.good_n is null then s.max else b.good_max end as good_max,
  case when b.suspect_n = c.value_n then s.max else b.suspect_max end as suspect_max,
  s.first, case when b.good_n is null then s.first else b.good_first end as good_first,
  s.last, case when b.good_n is null then s.last else b.good_last end as good_last, false as is_open
from feature_block b
cross join lateral (select coalesce(b.value_n, b.n) as value_n, coalesce(b.good_n, b.value_n, b.n) as good_n) c
cross join lateral (
  select coalesce(b.min, b.sum) as min, coalesce(b.max, b.sum) as max, coalesce(b.first, b.sum) as first, coalesce(b.last, b.sum) as last) s
union all
select d.time, o.stream_id, d.method_id, d.channel_no, f.*, true
from derived_open o
cross join lateral open_minutes(o.data) d
cross join lateral (
  select
    count(*), count(p.steps), count(p.steps) filter (where p.qmask = 0), count(p.steps) filter (where p.qmask = 1),
    sum(p.steps)::bigint, sum(p.steps) filter (where p.qmask = 0)::bigint, sum(p.steps) filter (where p.qmask = 1)::bigint,
    min(p.steps), min(p.steps) filter (where p.qmask = 0), min(p.steps) filter (where p.qmask = 1),
    max(p.steps), max(p.steps) filter (where p.qmask = 0), max(p.steps) filter (where p.qmask = 1),
    (array_agg(p.steps order by p.ts_ns) filter (where p.steps is not null))[1],
    (array_agg(p.steps order by p.ts_ns) filter (where p.steps is not null and p.qmask = 0))[1],
    (array_agg(p.steps order by p.ts_ns desc) filter (where p.steps is not null))[1],
    (array_agg(p.steps order by p.ts_ns desc) filter (where p.steps is not null and p.qmask = 0))[1]
  from feature_points(d.time, d.n, d.base, d.codec) p) f
where not d.is_beat;

-- A row for each value and for each beat, of all time. A query that names a range of time is answered faster by feature_values and
-- beat_values, because a view cannot tell from its column time which minutes to look for.
create view feature as select * from feature_values('-infinity', 'infinity');
create view beat as select * from beat_values('-infinity', 'infinity');

-- Minutes in the unit of the method; sums are numeric, and exact.
create view feature_1m as
select r.bucket, r.stream_id, r.method_id, r.channel_no, r.n, r.value_n, r.good_n, r.suspect_n,
  r.sum / u.per_unit::numeric as sum, r.good_sum / u.per_unit::numeric as good_sum, r.suspect_sum / u.per_unit::numeric as suspect_sum,
  r.min / u.per_unit as min, r.good_min / u.per_unit as good_min, r.suspect_min / u.per_unit as suspect_min,
  r.max / u.per_unit as max, r.good_max / u.per_unit as good_max, r.suspect_max / u.per_unit as suspect_max,
  r.first / u.per_unit as first, r.good_first / u.per_unit as good_first, r.last / u.per_unit as last,
  r.good_last / u.per_unit as good_last
from feature_minute r
join method m on m.id = r.method_id
cross join lateral (select steps_per_unit(m.step) as per_unit) u;

-- Is there a value of one of these streams by the method in [from_time, to_time)? Looks at the first minute that there is.
create function has_feature(stream_ids integer[], method smallint, from_time timestamptz, to_time timestamptz) returns boolean
language sql stable parallel safe as $$
  select exists (
      select from unnest(stream_ids) s (id) cross join lateral (
        select b.time from feature_block b
        where b.stream_id = s.id and b.method_id = method and b.time > from_time - interval '1 minute' and b.time < to_time
        offset 0) b
      where b.time >= from_time and b.time <= to_time - interval '1 minute')
    or exists (select from feature_values(from_time, to_time) f where f.stream_id = any (stream_ids) and f.method_id = method)
$$;

-- The functions that follow look for the newest minute first, by a look at the end of each series, and unpack that one. A series is asked
-- for by its whole key: the key begins with the series, so all minutes of a stream would have to be read for the newest. Of the last day
-- that it has samples of; only where there is nothing, of all time. In PL/pgSQL, because PostgreSQL does not put a function into a query
-- whose argument is a subquery: it would unpack everybody's minutes.

-- Exact time of the newest value of a stream by a method, or by any. null: it has none.
create function newest_feature_ns(stream integer, method smallint default null) returns bigint language plpgsql stable as $$
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
  return greatest(
    (select max(p.ts_ns)
     from method m
     cross join (select -1::smallint as no union all select c.channel_no from stream_channel c where c.stream_id = stream) c
     join feature_block b on b.stream_id = stream and b.method_id = m.id and b.channel_no = c.no and b.time = newest
     cross join lateral feature_points(b.time, b.n, coalesce(b.min, b.sum), b.codec) p
     where m.kind = 'feature' and (method is null or m.id = method)),
    (select max(p.ts_ns)
     from derived_open o cross join lateral open_minutes(o.data) d cross join lateral feature_points(d.time, d.n, d.base, d.codec) p
     where o.stream_id = stream and not d.is_beat and d.time = newest and (method is null or d.method_id = method)));
end
$$;

-- Its time, as feature_values has it.
create function newest_value(stream integer, method smallint) returns timestamptz language sql stable as $$
  select timestamptz 'epoch' + (n.ns - case when n.ns < 0 then 999 else 0 end) / 1000 * interval '1 microsecond' from newest_feature_ns(stream, method) as n (ns)
$$;

-- Exact time of the newest beat likewise.
create function newest_beat_ns(stream integer, method smallint default null) returns bigint language plpgsql stable as $$
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
  return greatest(
    (select max(p.ts_ns)
     from method m
     cross join stream_channel c
     join beat_block b on b.stream_id = stream and b.channel_no = c.channel_no and b.method_id = m.id and b.time = newest
     cross join lateral beat_points(b.time, b.n, b.reasons, b.codec) p
     where m.kind = 'beat' and (method is null or m.id = method) and c.stream_id = stream),
    (select max(p.ts_ns)
     from derived_open o cross join lateral open_minutes(o.data) d cross join lateral beat_points(d.time, d.n, d.reasons, d.codec) p
     where o.stream_id = stream and d.is_beat and d.time = newest and (method is null or d.method_id = method)));
end
$$;
