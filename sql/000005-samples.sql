-- Samples, and the packets that they came in. sample_block, packet_log and packet_hash grow: the next files cut them into partitions or
-- chunks.

-- One row: the samples of one channel in the fewest seconds of the device clock that make 800 samples. Written again with the same or more
-- samples it is the same row.
-- Column order packs the fixed part into 44 bytes; with header, pointer and key a row costs about 105 bytes besides its samples.
create table sample_block (
  time timestamptz not null, -- start of the row: stream.epoch_ns + its first second, in microseconds
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
comment on table sample_block is
  'one row: the samples of one channel in 1, 2, 4 or 8 seconds of the device clock, the fewest that make 800 samples';
-- Already packed: no attempt to compress, no separate TOAST rows below a page.
alter table sample_block alter column codec set storage external;

-- Packets as they came, durable before they are acknowledged. Everything after the checkpoint is replayed at start.
create table packet_log (
  time timestamptz not null, -- when the batch was written
  batch_id bigint not null, -- ascending in commit order; begins with the epoch of its writer (epoch << 32 | n)
  part smallint not null, -- a batch is cut into parts below a page, so that no part needs TOAST
  packet_count integer not null, -- packets of the batch; 0 in parts after the first
  data bytea not null, -- docs/wire-format.md
  constraint packet_log_pkey primary key (batch_id, part, time)
);
alter table packet_log alter column data set storage external;

-- One row: how far the log is worked off, and who owns it (see log ownership).
create table packet_log_checkpoint (
  id boolean not null default true,
  batch_id bigint not null default 0, -- everything up to here is in the other tables
  updated_at timestamptz not null default now(),
  epoch bigint not null default 0, -- of the instance that owns the log, or owned it last; 0: of none yet
  owner uuid, -- that instance, new at every start; null: it has ended in good order
  owner_name text not null default '', -- host and port, for people
  renewed_at timestamptz not null default now(), -- by this server's clock: the owner lives
  constraint packet_log_checkpoint_pkey primary key (id),
  constraint packet_log_checkpoint_id_check check (id)
);
insert into packet_log_checkpoint default values;

-- What packets held, as a hash of 8 bytes each, so that one number for two packets is seen after the packet itself has left memory. A row
-- is the consecutive packets of a stream between two checkpoints (2 s): 1,000 devices x 4 packets a second are 500 rows/s of 110 bytes,
-- 1.2 GB in 6 hours with the index, 2 % of packet_log. Kept as long as that.
create table packet_hash (
  time timestamptz not null, -- when the row was saved
  stream_id integer not null,
  first_seq bigint not null, -- number of the first packet; those that follow have the next ones
  hashes bytea not null -- float64, little-endian, below 2^53: contentHash of src/proto/packet-codec.ts
);
create index packet_hash_stream_idx on packet_hash (stream_id, first_seq);

-- Rows and log entries that could not be stored, with the reason: one of them must not hold up the others, and nothing that was
-- acknowledged is thrown away. Written by src/storage/set-aside.ts, shown and stored again by `biosignal set-aside`.
create table set_aside (
  id bigint generated always as identity,
  time timestamptz not null default now(), -- when it was set aside
  kind text not null,
  organization_id uuid, -- null: of a damaged part of the log, whose owner is not known
  xuser_id uuid,
  stream_id integer,
  reason text not null,
  sqlstate text, -- null: the database was not asked
  log_position bigint, -- batch of packet_log; null: not known
  content json, -- the row; json and not jsonb, which holds no \u0000
  bytes bytea, -- of a packet, of samples, of the log
  digest bytea not null, -- SHA-256 of what it is: a start that finds it again does not set it aside twice
  replay_at timestamptz, -- somebody asked to store it at the next start of the service
  constraint set_aside_pkey primary key (id),
  constraint set_aside_digest_key unique (digest),
  constraint set_aside_kind_check check (kind in ('packet', 'log', 'samples', 'derived', 'measurement', 'event')),
  -- every stream has a user, with whom its rows go
  constraint set_aside_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade
);
create index set_aside_xuser_id_idx on set_aside (xuser_id);
create index set_aside_organization_id_id_idx on set_aside (organization_id, id);
alter table set_aside alter column bytes set storage external;
