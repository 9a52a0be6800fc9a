-- Beats and values become packed minutes: a row a minute of a series in place of a row a value, and no rollup of minutes. What stood in
-- rows is packed between this file and the next one (src/storage/pack-rows.ts); until then it is in beat_rows and feature_rows. Nothing has
-- the names beat and feature meanwhile, so an instance of an earlier release is refused by the server and writes where nobody would look.

-- Nobody adds rows from here on.
lock table only beat, only feature in access exclusive mode;

-- What reads the rows: made anew over minutes by the next files.
drop function api.feature_minutes(integer[], smallint, timestamptz, timestamptz, text, integer);
drop function feature_minutes(integer[], smallint, timestamptz, timestamptz, text, integer);
drop view api.beat, api.feature, api.feature_1m, api.feature_1h, api.feature_1d;
do $$
declare
  name text;
begin
  if (select kind from database_kind) = 'timescale' then
    foreach name in array array['feature_1d', 'feature_1h', 'feature_1m'] loop
      execute format('drop materialized view %I', name);
    end loop;
    foreach name in array array['beat', 'feature'] loop
      execute format('call remove_columnstore_policy(%L, if_exists => true)', name);
    end loop;
  else
    drop view feature_1d, feature_1h, feature_1m;
    drop trigger feature_note_insert on feature;
    drop trigger feature_note_delete on feature;
    drop trigger feature_note_update on feature;
    drop procedure refresh_rollups(integer, integer);
    drop function note_rollup_dirty();
    drop table feature_1m_kept, feature_1h_kept, feature_1d_kept, rollup_dirty;
  end if;

  foreach name in array array['beat', 'feature'] loop
    execute format('alter table %I rename to %I', name, name || '_rows');
    execute format('alter table %I rename constraint %I to %I', name || '_rows', name || '_pkey', name || '_rows_pkey');
  end loop;
  -- A new database has nothing to pack, and neither partitions nor chunks.
  if not exists (select from pg_inherits where inhparent in ('beat_rows'::regclass, 'feature_rows'::regclass)) then
    drop table beat_rows; -- a hypertable goes alone
    drop table feature_rows;
  end if;
end
$$;

-- A complete minute of a feature. Statistics are whole steps of the method (see steps_per_unit), and null where another column says them,
-- because a null takes no room: value_n null: all n; good_n null: every value is good, and good_* are the others; suspect_* null where all
-- or none are; n = 1: the sum is the value, and minimum, maximum, first and last. A view has them all: feature_minute.
-- Column order packs the fixed part; a row of 60 values takes about 170 bytes with its key, one of a single value 100.
create table feature_block (
  time timestamptz not null, -- start of the minute
  sum bigint, -- null: no value could be computed
  good_sum bigint,
  suspect_sum bigint,
  stream_id integer not null,
  min integer,
  max integer,
  first integer,
  last integer,
  good_min integer,
  good_max integer,
  good_first integer,
  good_last integer,
  suspect_min integer,
  suspect_max integer,
  method_id smallint not null,
  channel_no smallint not null, -- -1: of the whole stream
  n smallint not null,
  value_n smallint,
  good_n smallint,
  suspect_n smallint,
  codec bytea not null, -- docs/wire-format.md: times, values from the minimum on, flags
  constraint feature_block_pkey primary key (stream_id, method_id, channel_no, time)
);
-- Already packed, and small.
alter table feature_block alter column codec set storage plain;

-- The beats of a channel that one method found in a complete minute.
create table beat_block (
  time timestamptz not null, -- start of the minute
  stream_id integer not null,
  method_id smallint not null,
  channel_no smallint not null,
  n smallint not null,
  reasons text, -- why beats are not normal, as the codec counts them, U+0001 between; null: every one is ''
  codec bytea not null, -- docs/wire-format.md: times, kinds, flags, intervals
  constraint beat_block_pkey primary key (stream_id, channel_no, method_id, time)
);
alter table beat_block alter column codec set storage external;

-- The minutes of a stream that are not complete, written anew every second. Unlogged: a crash of the server empties it, and its owner, who
-- has them in memory, writes them again; when that one has gone, too, they are computed from the stored samples.
create unlogged table derived_open (
  stream_id integer not null, -- 0: of none; this row says that the table was not emptied
  version bigint not null, -- one more with every write: of two writers the one that knows an older one reads again
  data bytea not null, -- docs/wire-format.md: a head for each series, then their codecs
  constraint derived_open_pkey primary key (stream_id)
) with (fillfactor = 45, toast_tuple_target = 8160);
alter table derived_open alter column data set storage external;

-- How long they are kept, and how much time a partition or a chunk has: as the rows before them.
update retention set relation = relation || '_block' where relation in ('beat', 'feature');
update project_retention_swept set relation = relation || '_block' where relation in ('beat', 'feature');

-- Partitions, as in 000008; hypertables, as in 000009; columnstore, as in 000010.
do $$
declare
  server constant text := (select kind from database_kind);
  name text;
  key text;
begin
  if server = 'postgres' then
    update partition_rule set relation = relation || '_block' where relation in ('beat', 'feature');
    update partition_rule set toast_tuple_target = 8160 where relation = 'beat_block';
    foreach name in array array['beat_block', 'feature_block'] loop
      key := (select pg_get_constraintdef(oid) from pg_constraint where conrelid = name::regclass and contype = 'p');
      execute format('alter table %I rename to shape', name);
      execute format('create table %I (like shape including all excluding indexes) partition by range (time)', name);
      drop table shape;
      execute format('alter table %I add constraint %I %s', name, name || '_pkey', key);
    end loop;
    return;
  end if;
  alter table beat_block set (toast_tuple_target = 8160);
  perform create_hypertable('beat_block', by_range('time', interval '7 days'), create_default_indexes => false);
  perform create_hypertable('feature_block', by_range('time', interval '7 days'), create_default_indexes => false);
  if server = 'timescale' then
    alter table beat_block set (timescaledb.enable_columnstore = true, timescaledb.segmentby = 'stream_id, channel_no, method_id', timescaledb.orderby = 'time');
    alter table feature_block set (timescaledb.enable_columnstore = true, timescaledb.segmentby = 'stream_id, method_id, channel_no', timescaledb.orderby = 'time');
    call add_columnstore_policy('beat_block', after => interval '15 days');
    call add_columnstore_policy('feature_block', after => interval '15 days');
  end if;
end
$$;

create trigger beat_block_fence before insert or update or delete on beat_block for each statement execute function fence_writer();
create trigger feature_block_fence before insert or update or delete on feature_block for each statement execute function fence_writer();
create trigger derived_open_fence before insert or update or delete on derived_open for each statement execute function fence_writer();
