-- A row of sample_block holds up to 8 seconds of a slow channel (docs/decisions/0011): samples() looks so far back for rows that reach into its range.

-- Values in physical units with their exact time and flag, [from_time, to_time).
create or replace function samples(stream_uuid uuid, channel_code text, from_time timestamptz, to_time timestamptz)
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

comment on table sample_block is
  'one row: the samples of one channel in one second of the device clock, in 2, 4 or 8 seconds where the channel has fewer than 200 a second';
