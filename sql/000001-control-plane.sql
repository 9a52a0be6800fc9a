-- Who there is: organizations, projects, keys, people, devices, the catalog of biosignals, streams and their channels.

create table organization (
  id uuid not null default gen_random_uuid(),
  name text not null,
  settings jsonb not null default '{}',
  created_at timestamptz not null default now(),
  constraint organization_pkey primary key (id),
  constraint organization_name_check check (name <> '' and length(name) <= 200)
);

create table project (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  name text not null,
  project_key text not null, -- proj_…, a public identifier
  time_zone text not null default 'UTC',
  settings jsonb not null default '{}',
  created_at timestamptz not null default now(),
  archived_at timestamptz,
  constraint project_pkey primary key (id),
  constraint project_project_key_key unique (project_key),
  constraint project_organization_id_id_key unique (organization_id, id),
  constraint project_organization_id_fkey foreign key (organization_id) references organization (id) on delete cascade,
  constraint project_name_check check (name <> '' and length(name) <= 200)
);

-- A secret key of an organization: org_live_<public_id><secret><checksum>. Only the hash of the whole key is here.
create table api_key (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid, -- null: every project of the organization
  name text not null,
  env text not null,
  public_id text not null, -- the part by which a key is found
  secret_hash bytea not null, -- sha256 of the whole key
  scopes text[] not null,
  created_at timestamptz not null default now(),
  created_by uuid, -- operator_account
  expires_at timestamptz, -- null: never. A rotated key gets the end of the overlap here
  revoked_at timestamptz,
  last_used_at timestamptz,
  rotated_from uuid, -- the key that this one replaces
  constraint api_key_pkey primary key (id),
  constraint api_key_public_id_key unique (public_id),
  constraint api_key_organization_id_fkey foreign key (organization_id) references organization (id) on delete cascade,
  constraint api_key_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint api_key_rotated_from_fkey foreign key (rotated_from) references api_key (id) on delete set null,
  constraint api_key_env_check check (env in ('live', 'test')),
  constraint api_key_secret_hash_check check (octet_length(secret_hash) = 32),
  constraint api_key_scopes_check check (cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'ingest', 'admin'])
);
create index api_key_organization_id_idx on api_key (organization_id);

create table sdk_key (
  id uuid not null default gen_random_uuid(),
  project_id uuid not null,
  sdk_key text not null, -- sdk_…, a public identifier
  name text not null default '',
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  constraint sdk_key_pkey primary key (id),
  constraint sdk_key_sdk_key_key unique (sdk_key),
  constraint sdk_key_project_id_fkey foreign key (project_id) references project (id) on delete cascade
);
create index sdk_key_project_id_idx on sdk_key (project_id);

-- Keys that sign user tokens. Signs in [not_before, retire_at), verifies in [created_at, expires_at): a new key is published before it signs.
create table signing_key (
  kid text not null,
  algorithm text not null default 'RS256',
  private_pem text not null, -- PKCS #8
  public_jwk jsonb not null,
  created_at timestamptz not null default now(),
  not_before timestamptz not null default now(),
  retire_at timestamptz,
  expires_at timestamptz,
  constraint signing_key_pkey primary key (kid),
  constraint signing_key_algorithm_check check (algorithm = 'RS256')
);

create table allowed_origin (
  id uuid not null default gen_random_uuid(),
  project_id uuid not null,
  origin text not null, -- scheme://host[:port], as a browser sends it
  created_at timestamptz not null default now(),
  constraint allowed_origin_pkey primary key (id),
  constraint allowed_origin_project_id_origin_key unique (project_id, origin),
  constraint allowed_origin_project_id_fkey foreign key (project_id) references project (id) on delete cascade
);

-- People who work with the dashboard.
create table operator_account (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  email text not null,
  display_name text not null default '',
  password_hash text not null, -- scrypt$N$r$p$salt$hash
  role text not null,
  created_at timestamptz not null default now(),
  last_login_at timestamptz,
  disabled_at timestamptz,
  constraint operator_account_pkey primary key (id),
  constraint operator_account_organization_id_fkey foreign key (organization_id) references organization (id) on delete cascade,
  constraint operator_account_role_check check (role in ('owner', 'admin', 'clinician', 'analyst', 'viewer'))
);
create unique index operator_account_email_key on operator_account (lower(email));
create index operator_account_organization_id_idx on operator_account (organization_id);

create table operator_session (
  id uuid not null default gen_random_uuid(),
  operator_id uuid not null,
  token_hash bytea not null, -- sha256
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  ip inet,
  user_agent text not null default '',
  constraint operator_session_pkey primary key (id),
  constraint operator_session_token_hash_key unique (token_hash),
  constraint operator_session_operator_id_fkey foreign key (operator_id) references operator_account (id) on delete cascade
);
create index operator_session_operator_id_idx on operator_session (operator_id);

-- A user of the calling application. Exactly one per external id and project.
create table xuser (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  external_id text not null,
  display_name text not null default '',
  time_zone text,
  attributes jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  disabled_at timestamptz,
  constraint xuser_pkey primary key (id),
  constraint xuser_project_id_external_id_key unique (project_id, external_id),
  constraint xuser_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint xuser_external_id_check check (external_id <> '' and length(external_id) <= 255)
);
create index xuser_organization_id_idx on xuser (organization_id);

create table device_profile (
  id uuid not null default gen_random_uuid(),
  organization_id uuid, -- null: built in
  code text not null,
  name text not null,
  manufacturer text not null default '',
  model text not null default '',
  channels jsonb not null default '[]', -- [{code, kind, rate_hz, unit, lead}]
  created_at timestamptz not null default now(),
  constraint device_profile_pkey primary key (id),
  constraint device_profile_organization_id_code_key unique nulls not distinct (organization_id, code),
  constraint device_profile_organization_id_fkey foreign key (organization_id) references organization (id) on delete cascade
);

create table device (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid,
  external_id text not null, -- device_id of the packets
  name text not null default '',
  profile_id uuid,
  xuser_id uuid, -- whom it records when a packet does not say
  firmware text not null default '',
  created_at timestamptz not null default now(),
  last_seen_at timestamptz,
  constraint device_pkey primary key (id),
  constraint device_organization_id_external_id_key unique (organization_id, external_id),
  constraint device_organization_id_fkey foreign key (organization_id) references organization (id) on delete cascade,
  constraint device_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint device_profile_id_fkey foreign key (profile_id) references device_profile (id) on delete set null,
  constraint device_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete set null,
  constraint device_external_id_check check (external_id <> '' and length(external_id) <= 128)
);
create index device_xuser_id_idx on device (xuser_id);

-- The catalog. project_id null: part of the product. It grows at run time; ids below 1000 are the product's.
create table biosignal (
  id integer not null generated by default as identity (start with 1000),
  project_id uuid,
  name text not null,
  abbreviation text not null,
  unit text not null, -- UCUM
  loinc_code text not null default '', -- empty where LOINC has no code that fits
  mdc_code text not null default '', -- IEEE 11073 code of a waveform
  signal_type text not null,
  role text not null default 'measurement',
  source_type text not null,
  feature text, -- derived: name of the feature whose values these are
  channel_kind text, -- waveform: kind of the channels
  code text, -- reported: code of the measurements in packets
  created_at timestamptz not null default now(),
  constraint biosignal_pkey primary key (id),
  constraint biosignal_abbreviation_key unique nulls not distinct (project_id, abbreviation),
  constraint biosignal_code_key unique (project_id, code),
  constraint biosignal_project_id_fkey foreign key (project_id) references project (id) on delete cascade,
  constraint biosignal_signal_type_check check (signal_type in ('waveform', 'interval', 'scalar', 'event', 'category', 'score')),
  constraint biosignal_role_check check (role in ('measurement', 'calculation', 'setting', 'unspecified')),
  constraint biosignal_source_type_check check (source_type in ('device', 'derived', 'self_report', 'clinician', 'import'))
);

-- What a project changes about the catalog.
create table project_biosignal (
  project_id uuid not null,
  biosignal_id integer not null,
  hidden boolean not null default false,
  role text,
  constraint project_biosignal_pkey primary key (project_id, biosignal_id),
  constraint project_biosignal_project_id_fkey foreign key (project_id) references project (id) on delete cascade,
  constraint project_biosignal_biosignal_id_fkey foreign key (biosignal_id) references biosignal (id) on delete cascade,
  constraint project_biosignal_role_check check (role in ('measurement', 'calculation', 'setting', 'unspecified'))
);

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
  firmware text not null default '',
  seqs int8multirange not null default '{}', -- sequence numbers that were durable at the last checkpoint; packet_log has the rest
  clock_offset_ns bigint, -- robust linear fit of the device clock against the receiver's, beside epoch_ns
  clock_skew_ppm double precision,
  clock_rms_ns double precision,
  clock_pairs integer not null default 0,
  started_at timestamptz not null default now(),
  last_packet_at timestamptz, -- receive time of the newest packet at the last checkpoint
  last_sample_at timestamptz, -- corrected time of the newest sample at the last checkpoint
  ended_at timestamptz,
  constraint stream_pkey primary key (id),
  constraint stream_uuid_key unique (uuid),
  constraint stream_device_id_boot_id_key unique (device_id, boot_id),
  constraint stream_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint stream_device_id_fkey foreign key (device_id) references device (id) on delete cascade,
  constraint stream_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint stream_boot_id_check check (octet_length(boot_id) = 16)
);
create index stream_xuser_id_started_at_idx on stream (xuser_id, started_at);
create index stream_project_id_started_at_idx on stream (project_id, started_at);

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

create table idempotency (
  organization_id uuid not null,
  idempotency_key text not null,
  operation text not null, -- method and route
  body_hash bytea not null, -- sha256
  status integer, -- null: still being answered
  response_headers jsonb,
  response_body bytea,
  created_at timestamptz not null default now(),
  constraint idempotency_pkey primary key (organization_id, operation, idempotency_key),
  constraint idempotency_organization_id_fkey foreign key (organization_id) references organization (id) on delete cascade
);
create index idempotency_created_at_idx on idempotency (created_at);

-- Append only: no role but the owner may update or delete.
create table audit_log (
  id bigint not null generated always as identity,
  time timestamptz not null default now(),
  organization_id uuid,
  actor_kind text not null, -- key, user, operator, system
  actor_id text not null default '',
  action text not null, -- e.g. api_key.created
  target_kind text not null default '',
  target_id text not null default '',
  detail jsonb not null default '{}',
  ip inet,
  request_id text not null default '',
  constraint audit_log_pkey primary key (id)
);
create index audit_log_organization_id_time_idx on audit_log (organization_id, time);

create table episode (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  stream_id integer,
  kind text not null, -- e.g. recording, exercise, sleep, alert, event
  title text not null default '',
  status text not null default 'open',
  severity text not null default 'none',
  started_at timestamptz not null,
  ended_at timestamptz, -- null: still going on
  summary jsonb not null default '{}',
  created_by text not null default '',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint episode_pkey primary key (id),
  constraint episode_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint episode_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint episode_stream_id_fkey foreign key (stream_id) references stream (id) on delete set null,
  constraint episode_status_check check (status in ('open', 'closed', 'cancelled')),
  constraint episode_severity_check check (severity in ('none', 'low', 'medium', 'high')),
  constraint episode_ended_at_check check (ended_at >= started_at)
);
create index episode_xuser_id_started_at_idx on episode (xuser_id, started_at);

create table artifact (
  id uuid not null default gen_random_uuid(),
  episode_id uuid not null,
  kind text not null, -- e.g. annotation, strip, report, note, file
  title text not null default '',
  starts_at timestamptz,
  ends_at timestamptz,
  stream_id integer,
  channel_code text,
  media_type text not null default 'application/json',
  content jsonb not null default '{}',
  data bytea,
  created_by text not null default '',
  created_at timestamptz not null default now(),
  constraint artifact_pkey primary key (id),
  constraint artifact_episode_id_fkey foreign key (episode_id) references episode (id) on delete cascade,
  constraint artifact_stream_id_fkey foreign key (stream_id) references stream (id) on delete set null
);
create index artifact_episode_id_idx on artifact (episode_id);

-- Caches of credentials hear of every change that can take a right away; payload: <table>:<id>.
create function notify_auth() returns trigger language plpgsql as $$
begin
  perform pg_notify('bio_auth', tg_table_name || ':' || (to_jsonb(old) ->> tg_argv[0]));
  return null;
end
$$;
create trigger organization_notify after update or delete on organization for each row execute function notify_auth('id');
create trigger project_notify after update or delete on project for each row execute function notify_auth('id');
create trigger xuser_notify after update of disabled_at, project_id, external_id or delete on xuser for each row execute function notify_auth('id');
create trigger api_key_notify after update of scopes, expires_at, revoked_at, secret_hash, project_id or delete on api_key for each row execute function notify_auth('id');
create trigger sdk_key_notify after update or delete on sdk_key for each row execute function notify_auth('id');
create trigger signing_key_notify after update or delete on signing_key for each row execute function notify_auth('kid');
create trigger operator_account_notify after update of role, password_hash, disabled_at or delete on operator_account for each row execute function notify_auth('id');
create trigger operator_session_notify after update of revoked_at, expires_at or delete on operator_session for each row execute function notify_auth('id');
create trigger allowed_origin_notify after delete on allowed_origin for each row execute function notify_auth('project_id');
create function notify_auth_insert() returns trigger language plpgsql as $$
begin
  perform pg_notify('bio_auth', tg_table_name || ':' || (to_jsonb(new) ->> tg_argv[0]));
  return null;
end
$$;
create trigger signing_key_notify_insert after insert on signing_key for each row execute function notify_auth_insert('kid');
create trigger allowed_origin_notify_insert after insert on allowed_origin for each row execute function notify_auth_insert('project_id');
