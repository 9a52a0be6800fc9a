-- Samples for people with psql: select * from samples('<stream uuid>', 'ecg.ii', '2026-01-01 10:00', '2026-01-01 10:05');
-- The same layout as src/storage/block-codec.ts, see docs/wire-format.md.

-- A number of 7-bit groups, lowest first, at byte `at` (from 0); `at` moves behind it.
create function block_number(bytes bytea, inout at integer, out value bigint) language plpgsql immutable strict as $$
declare
  shift integer := 0;
  byte integer;
begin
  value := 0;
  loop
    byte := get_byte(bytes, at);
    at := at + 1;
    value := value | ((byte & 127)::bigint << shift);
    exit when byte < 128;
    shift := shift + 7;
  end loop;
end
$$;

create function block_int32(value bigint) returns bigint language sql immutable strict as $$
  select ((value & 4294967295) # 2147483648) - 2147483648
$$;

create function block_float32(bits bigint) returns double precision language sql immutable strict as $$
  select case
    when (bits >> 23) & 255 = 255 then case
      when bits & 8388607 <> 0 then 'NaN'::double precision
      when bits >> 31 = 1 then '-Infinity'::double precision
      else 'Infinity'::double precision end
    else (case when bits >> 31 = 1 then -1.0 else 1.0 end)::double precision
      * (bits & 8388607 | case when (bits >> 23) & 255 = 0 then 0 else 8388608 end)::double precision
      * power(2::double precision, (greatest((bits >> 23) & 255, 1) - 150)::double precision) end
$$;

-- The samples of one block: grid index, digital value, quality flag.
create function decode_block(bytes bytea) returns table (k bigint, value double precision, qmask smallint)
language plpgsql immutable strict as $$
declare
  at integer := 1;
  run_count bigint;
  run integer;
  form integer;
  k0 bigint;
  n bigint;
  token bigint;
  head integer;
  width integer;
  predictor integer;
  acc bigint;
  bits integer;
  a bigint;
  d1 bigint;
  d2 bigint;
  e bigint;
  numbers bigint[];
  floats double precision[];
  flags smallint[];
begin
  if get_byte(bytes, 0) <> 177 then
    raise exception 'sample block has unknown version %', get_byte(bytes, 0);
  end if;
  select b.at, b.value into at, run_count from block_number(bytes, at) b;
  for run in 1..run_count loop
    form := get_byte(bytes, at);
    select b.at, b.value into at, k0 from block_number(bytes, at + 1) b;
    select b.at, b.value into at, n from block_number(bytes, at) b;
    numbers := '{}';
    floats := null;
    case form & 15
      when 0 then
        select b.at, b.value into at, token from block_number(bytes, at) b;
        a := (token >> 1) # -(token & 1);
        d1 := 0;
        d2 := 0;
        numbers := numbers || a;
        head := at;
        at := at + ((n - 1 + 31) / 32)::integer;
        for i in 1..n - 1 loop
          if (i - 1) % 32 = 0 then
            width := get_byte(bytes, head) & 63;
            predictor := get_byte(bytes, head) >> 6;
            head := head + 1;
            acc := 0;
            bits := 0;
          end if;
          while bits < width loop
            acc := acc | (get_byte(bytes, at)::bigint << bits);
            at := at + 1;
            bits := bits + 8;
          end loop;
          e := acc & ((1::bigint << width) - 1);
          acc := acc >> width;
          bits := bits - width;
          e := (e >> 1) # -(e & 1);
          e := block_int32(case predictor when 0 then e when 1 then e + d1 else e + d2 + d1 end);
          d2 := block_int32(e - d1);
          d1 := e;
          a := block_int32(a + e);
          numbers := numbers || a;
        end loop;
      when 1 then
        for i in 0..n - 1 loop
          numbers := numbers || (((get_byte(bytes, at) | (get_byte(bytes, at + 1) << 8)) # 32768) - 32768)::bigint;
          at := at + 2;
        end loop;
      else
        for i in 0..n - 1 loop
          token := get_byte(bytes, at)::bigint | (get_byte(bytes, at + 1)::bigint << 8) | (get_byte(bytes, at + 2)::bigint << 16)
            | (get_byte(bytes, at + 3)::bigint << 24);
          at := at + 4;
          if form & 15 = 2 then
            numbers := numbers || block_int32(token);
          else
            floats := floats || block_float32(token);
          end if;
        end loop;
    end case;
    flags := null;
    if form & 16 <> 0 then
      flags := '{}';
      while coalesce(array_length(flags, 1), 0) < n loop
        select b.at, b.value into at, token from block_number(bytes, at) b;
        flags := flags || array_fill((token & 3)::smallint, array[(token >> 2)::integer]);
      end loop;
    end if;
    return query
      select k0 + i - 1, coalesce(floats[i], numbers[i]::double precision), coalesce(flags[i], 0::smallint) from generate_series(1, n::integer) as i;
  end loop;
end
$$;

-- Values in physical units with their exact time and flag, [from_time, to_time). Rows hold up to 8 seconds:
-- so far back it looks for those that reach into the range.
create function samples(stream_uuid uuid, channel_code text, from_time timestamptz, to_time timestamptz)
returns table ("time" timestamptz, ts_ns bigint, value double precision, qmask smallint)
language sql stable as $$
  select timestamptz 'epoch' + x.ns / 1000 * interval '1 microsecond', x.ns, (d.value - c.baseline) / c.gain, d.qmask
  from stream s
  join stream_channel c on c.stream_id = s.id and c.code = channel_code
  cross join lateral (
    select b.codec from sample_block b
    where b.time > from_time - interval '8 seconds' and b.time < to_time and b.stream_id = s.id and b.channel_no = c.channel_no) b
  cross join lateral decode_block(b.codec) d
  cross join lateral (select s.epoch_ns + div(d.k::numeric * 1000000000000000000 + c.rate_nhz / 2, c.rate_nhz)::bigint as ns) x
  where s.uuid = stream_uuid
    and x.ns >= (extract(epoch from from_time) * 1000000)::bigint * 1000 and x.ns < (extract(epoch from to_time) * 1000000)::bigint * 1000
  order by x.ns, c.channel_no
$$;
