-- What is recorded: streams and their channels, and the methods by which values are derived from them.

-- One recording: one boot of one device. The rows of the data tables carry the 4-byte id, the API shows the uuid.
create table stream (
  id integer not null generated always as identity,
  uuid uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  device_id uuid not null,
  xuser_id uuid not null,
  boot_id bytea not null,
  epoch_ns bigint not null, -- Unix ns of device time 0; never changes: time = epoch_ns + device time
  time_source text, -- how epoch_ns is known; null: of a stream that an earlier release opened
  firmware text not null default '',
  seqs int8multirange not null default '{}', -- sequence numbers that were durable at the last checkpoint; packet_log has the rest
  clock_offset_ns bigint, -- robust linear fit of the device clock against the receiver's, beside epoch_ns
  clock_skew_ppm double precision,
  clock_rms_ns double precision,
  clock_pairs integer not null default 0,
  spo2_offset double precision, -- of the device's profile when the stream was opened: its samples give the same values
  spo2_slope double precision, -- whenever they are computed again
  started_at timestamptz not null default now(),
  recorded_from timestamptz, -- corrected time of the oldest sample, measurement or event at the last checkpoint
  last_packet_at timestamptz, -- receive time of the newest packet at the last checkpoint
  last_sample_at timestamptz, -- corrected time of the newest sample at the last checkpoint
  ended_at timestamptz,
  constraint stream_pkey primary key (id),
  constraint stream_uuid_key unique (uuid),
  constraint stream_device_id_boot_id_key unique (device_id, boot_id),
  constraint stream_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint stream_device_id_fkey foreign key (device_id) references device (id) on delete cascade,
  constraint stream_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint stream_boot_id_check check (octet_length(boot_id) = 16),
  constraint stream_spo2_check check ((spo2_offset is null) = (spo2_slope is null)),
  constraint stream_time_source_check check (time_source in ('stated', 'device', 'age', 'arrival'))
);
-- Questions about a range are answered by when samples were taken. started_at is when the first packet arrived: weeks later for a watch
-- that was offline, years later for an import.
comment on column stream.recorded_from is 'first sample, measurement or event; null: none yet';
comment on column stream.last_sample_at is 'end of the newest sample, measurement or event';
comment on column stream.started_at is 'when its first packet arrived';
comment on column stream.time_source is 'stated: by the recording; device: its clock; age: of its packets, by a clock that was wrong; arrival: of its first packet';
create index stream_project_id_started_at_idx on stream (project_id, started_at);
-- Lists of a person's recordings are in this order.
create index stream_xuser_id_recorded_idx on stream (xuser_id, (coalesce(recorded_from, started_at)));

-- One configuration of one channel; a changed gain or rate is a new channel_no with the same code.
create table stream_channel (
  stream_id integer not null,
  channel_no smallint not null,
  code text not null,
  kind text not null,
  rate_nhz bigint not null, -- nano-hertz
  gain double precision not null, -- LSB per unit: physical = (digital - baseline) / gain
  baseline double precision not null,
  unit text not null, -- UCUM
  lead text not null default '',
  created_at timestamptz not null default now(),
  constraint stream_channel_pkey primary key (stream_id, channel_no),
  constraint stream_channel_config_key unique (stream_id, code, kind, rate_nhz, gain, baseline, unit, lead),
  constraint stream_channel_stream_id_fkey foreign key (stream_id) references stream (id) on delete cascade,
  constraint stream_channel_kind_check check (kind in ('ecg', 'ppg', 'eda', 'temp', 'resp', 'acc', 'gyro', 'other')),
  constraint stream_channel_rate_check check (rate_nhz > 0)
);

-- A versioned way to derive values or beats, e.g. hrv_rmssd_60s by derived:hrv_rmssd_60s_v1. Added to at run time.
create table method (
  id smallint not null generated always as identity,
  kind text not null,
  name text not null, -- the feature's name, or of a beat detector the name without version
  code text not null, -- <kind>:<name>_v<version>
  cadence_hz double precision, -- of a feature
  unit text not null default '',
  created_at timestamptz not null default now(),
  constraint method_pkey primary key (id),
  constraint method_kind_name_code_key unique (kind, name, code),
  constraint method_kind_check check (kind in ('feature', 'beat'))
);
