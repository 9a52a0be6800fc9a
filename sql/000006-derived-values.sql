-- What is made of samples, and what devices and people report beside them. All four grow: the next files cut them into partitions or
-- chunks.

-- A heart beat that was found in a channel.
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

-- A derived value: heart rate, variability, breathing and so on.
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
  given_value double precision, -- as it was sent, where the unit was another one
  given_unit text,
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
