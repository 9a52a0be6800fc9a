-- The tables that grow: samples, packets, beats, features, measurements, events. Partitioned by time in the next files.

-- One row: the samples of one channel in one second of the device clock. Written again with the same or more samples it is the same row.
-- Column order packs the fixed part into 44 bytes; with header, pointer and key a row costs about 105 bytes besides its samples.
create table sample_block (
  time timestamptz not null, -- start of the device second: stream.epoch_ns + second, in microseconds
  start_ns bigint not null, -- exact Unix ns of the first sample
  stream_id integer not null,
  n integer not null, -- samples, repeats included
  min real, -- of the samples that are not bad, in digital units (LSB); null when there are none
  max real,
  mean real,
  channel_no smallint not null,
  suspect_n smallint not null, -- samples flagged 1; at most 32767
  bad_n smallint not null, -- samples flagged 2; at most 32767
  codec bytea not null, -- docs/wire-format.md: grid index of every run, samples, quality
  constraint sample_block_pkey primary key (stream_id, channel_no, time)
);
-- Already packed: no attempt to compress, no separate TOAST rows below a page.
alter table sample_block alter column codec set storage external;

-- Packets as they came, durable before they are acknowledged. Everything after the checkpoint is replayed at start.
create table packet_log (
  time timestamptz not null, -- when the batch was written
  batch_id bigint not null, -- ascending in commit order
  part smallint not null, -- a batch is cut into parts below a page, so that no part needs TOAST
  packet_count integer not null, -- packets of the batch; 0 in parts after the first
  data bytea not null, -- docs/wire-format.md
  constraint packet_log_pkey primary key (batch_id, part, time)
);
alter table packet_log alter column data set storage external;

create table packet_log_checkpoint (
  id boolean not null default true,
  batch_id bigint not null default 0, -- everything up to here is in the other tables
  updated_at timestamptz not null default now(),
  constraint packet_log_checkpoint_pkey primary key (id),
  constraint packet_log_checkpoint_id_check check (id)
);
insert into packet_log_checkpoint default values;

create table beat (
  time timestamptz not null,
  ts_ns bigint not null, -- Unix ns, exact: stream.epoch_ns + device time
  stream_id integer not null,
  channel_no smallint not null,
  method_id smallint not null,
  interval_ms double precision, -- to the beat before; null after a gap
  kind smallint not null, -- 0 normal, 1 ectopic, 2 artefact, 3 interpolated
  qmask smallint not null,
  reason text not null default '', -- why it is not normal
  constraint beat_pkey primary key (stream_id, channel_no, method_id, time)
);

create table feature (
  time timestamptz not null, -- end of the value's window
  ts_ns bigint not null, -- Unix ns, exact
  value double precision, -- null: could not be computed
  stream_id integer not null,
  method_id smallint not null,
  channel_no smallint not null, -- -1: of the whole stream
  qmask smallint not null,
  constraint feature_pkey primary key (stream_id, method_id, channel_no, time),
  constraint feature_qmask_check check (qmask between 0 and 2)
);

-- A scalar that a device or a person reported.
create table measurement (
  time timestamptz not null,
  ts_ns bigint not null,
  id uuid not null, -- of a packet's measurement: a pure function of stream, seq and index, so that a replay writes it once
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  biosignal_id integer not null,
  value double precision not null,
  unit text not null,
  qmask smallint not null default 0,
  method_code text not null default 'measured:device_v1',
  device_id uuid,
  stream_id integer,
  constraint measurement_pkey primary key (xuser_id, biosignal_id, time, id),
  constraint measurement_qmask_check check (qmask between 0 and 2)
);

-- What a device says happened: a button, a lead that fell off, a mark.
create table device_event (
  time timestamptz not null,
  ts_ns bigint not null,
  id uuid not null,
  stream_id integer not null,
  code text not null,
  content text not null default '',
  constraint device_event_pkey primary key (stream_id, time, id)
);
