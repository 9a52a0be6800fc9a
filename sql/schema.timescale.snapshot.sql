-- The schema on timescale (PostgreSQL 17, TimescaleDB 2.29), from the catalogs. Written by npm run schema:dump; never edited.

-- tables

table allowed_origin row level security
  created_at timestamp with time zone not null default now()
  id uuid not null default gen_random_uuid()
  origin text not null
  project_id uuid not null
table annotation row level security
  beat text
  channel_code text not null default ''::text
  content text not null default ''::text
  deleted boolean not null default false
  ends_at timestamp with time zone
  id uuid not null default gen_random_uuid()
  kind text not null
  made_at timestamp with time zone not null default now()
  made_by text not null
  name text not null default ''::text
  organization_id uuid not null
  project_id uuid not null
  replaced_at timestamp with time zone
  starts_at timestamp with time zone not null
  stream_id integer not null
  version integer not null default 1
  xuser_id uuid not null
table api_key row level security
  created_at timestamp with time zone not null default now()
  created_by uuid
  env text not null
  expires_at timestamp with time zone
  id uuid not null default gen_random_uuid()
  last_used_at timestamp with time zone
  name text not null
  organization_id uuid not null
  project_id uuid
  public_id text not null
  revoked_at timestamp with time zone
  rotated_from uuid
  scopes text[] not null
  secret_hash bytea not null
table artifact row level security
  channel_code text
  content jsonb not null default '{}'::jsonb
  created_at timestamp with time zone not null default now()
  created_by text not null default ''::text
  data bytea
  ends_at timestamp with time zone
  episode_id uuid not null
  id uuid not null default gen_random_uuid()
  kind text not null
  media_type text not null default 'application/json'::text
  starts_at timestamp with time zone
  stream_id integer
  title text not null default ''::text
table audit_log row level security
  action text not null
  actor_id text not null default ''::text
  actor_kind text not null
  chain_seq bigint
  detail jsonb not null default '{}'::jsonb
  hash bytea
  id bigint not null identity always
  ip inet
  organization_id uuid
  prev_hash bytea
  project_id uuid
  request_id text not null default ''::text
  subject_id uuid
  target_id text not null default ''::text
  target_kind text not null default ''::text
  time timestamp with time zone not null default now()
table beat_block with (toast_tuple_target=8160)
  channel_no smallint not null
  codec bytea not null storage external
  method_id smallint not null
  n smallint not null
  reasons text
  stream_id integer not null
  time timestamp with time zone not null
table biosignal row level security
  abbreviation text not null
  channel_kind text
  code text
  created_at timestamp with time zone not null default now()
  feature text
  id integer not null identity
  loinc_code text not null default ''::text
  mdc_code text not null default ''::text
  name text not null
  plausible_max double precision
  plausible_min double precision
  possible_max double precision
  possible_min double precision
  project_id uuid
  range_source text not null default ''::text
  role text not null default 'measurement'::text
  signal_type text not null
  source_type text not null
  unit text not null
table cluster_node
  address text not null default ''::text
  cluster text not null default ''::text
  draining boolean not null default false
  id uuid not null
  lock_key integer not null
  name text not null
  refused boolean not null default false
  renewed_at timestamp with time zone not null default clock_timestamp()
  started_at timestamp with time zone not null default clock_timestamp()
  version text not null default ''::text
table cluster_setting
  epoch bigint not null default 0
  one boolean not null default true
  partitions smallint not null default 1
table consent row level security
  created_at timestamp with time zone not null default now()
  document text not null default ''::text
  granted boolean not null
  id bigint not null identity always
  organization_id uuid not null
  purpose text not null
  recorded_by text not null
  xuser_id uuid not null
table database_kind
  kind text not null
  one boolean not null default true
table derived_open with (fillfactor=45, toast_tuple_target=8160)
  data bytea not null storage external
  stream_id integer not null
  version bigint not null
table device row level security
  created_at timestamp with time zone not null default now()
  external_id text not null
  firmware text not null default ''::text
  id uuid not null default gen_random_uuid()
  last_seen_at timestamp with time zone
  name text not null default ''::text
  organization_id uuid not null
  profile_id uuid
  project_id uuid
  xuser_id uuid
table device_event
  code text not null
  content text not null default ''::text
  id uuid not null
  stream_id integer not null
  time timestamp with time zone not null
  ts_ns bigint not null
table device_profile row level security
  channels jsonb not null default '[]'::jsonb
  code text not null
  created_at timestamp with time zone not null default now()
  id uuid not null default gen_random_uuid()
  manufacturer text not null default ''::text
  model text not null default ''::text
  name text not null
  organization_id uuid
  spo2_offset double precision
  spo2_slope double precision
table episode row level security
  created_at timestamp with time zone not null default now()
  created_by text not null default ''::text
  ended_at timestamp with time zone
  id uuid not null default gen_random_uuid()
  kind text not null
  organization_id uuid not null
  project_id uuid not null
  reviewed_at timestamp with time zone
  severity text not null default 'none'::text
  started_at timestamp with time zone not null
  status text not null default 'open'::text
  stream_id integer
  summary jsonb not null default '{}'::jsonb
  title text not null default ''::text
  updated_at timestamp with time zone not null default now()
  xuser_id uuid not null
table episode_acknowledgement row level security
  acknowledged_by text not null
  created_at timestamp with time zone not null default now()
  ended_at timestamp with time zone
  episode_id uuid not null
  id uuid not null default gen_random_uuid()
  name text not null default ''::text
  note text not null default ''::text
table episode_email row level security
  attempts integer not null default 0
  created_at timestamp with time zone not null default now()
  episode_id uuid not null
  id uuid not null default gen_random_uuid()
  last_error text
  next_attempt_at timestamp with time zone not null default now()
  organization_id uuid not null
  project_id uuid not null
  recipient text not null
  rule_id uuid not null
  sent_at timestamp with time zone
  status text not null default 'pending'::text
table episode_event
  after_sec integer not null
  before_sec integer not null
  code text not null
  severity text not null
  title text not null
table episode_rule row level security
  comparison text not null
  created_at timestamp with time zone not null default now()
  created_by text not null
  email_to text[] not null default '{}'::text[]
  end_threshold double precision
  feature text not null
  group_id uuid
  id uuid not null default gen_random_uuid()
  is_enabled boolean not null default true
  kind text not null default 'threshold'::text
  name text not null
  organization_id uuid not null
  project_id uuid not null
  quality_max smallint not null default 0
  quiet_from time without time zone
  quiet_to time without time zone
  release_sec integer not null
  severity text not null default 'medium'::text
  sustain_sec integer not null
  threshold double precision not null
  updated_at timestamp with time zone not null default now()
  xuser_id uuid
table feature_1d_kept
  bucket timestamp with time zone not null
  channel_no smallint not null
  first bigint
  good_first bigint
  good_last bigint
  good_max bigint
  good_min bigint
  good_n bigint not null
  good_sum bigint
  last bigint
  max bigint
  method_id smallint not null
  min bigint
  n bigint not null
  stream_id integer not null
  sum bigint
  suspect_max bigint
  suspect_min bigint
  suspect_n bigint not null
  suspect_sum bigint
  value_n bigint not null
table feature_1h_kept
  bucket timestamp with time zone not null
  channel_no smallint not null
  first bigint
  good_first bigint
  good_last bigint
  good_max bigint
  good_min bigint
  good_n bigint not null
  good_sum bigint
  last bigint
  max bigint
  method_id smallint not null
  min bigint
  n bigint not null
  stream_id integer not null
  sum bigint
  suspect_max bigint
  suspect_min bigint
  suspect_n bigint not null
  suspect_sum bigint
  value_n bigint not null
table feature_block
  channel_no smallint not null
  codec bytea not null storage p
  first integer
  good_first integer
  good_last integer
  good_max integer
  good_min integer
  good_n smallint
  good_sum bigint
  last integer
  max integer
  method_id smallint not null
  min integer
  n smallint not null
  stream_id integer not null
  sum bigint
  suspect_max integer
  suspect_min integer
  suspect_n smallint
  suspect_sum bigint
  time timestamp with time zone not null
  value_n smallint
table goal row level security
  agg text not null default 'sum'::text
  biosignal_id integer not null
  created_at timestamp with time zone not null default now()
  created_by text not null default ''::text
  ended_at timestamp with time zone
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  period text not null default 'day'::text
  project_id uuid not null
  target double precision not null
  title text not null default ''::text
  xuser_id uuid not null
table idempotency row level security
  body_hash bytea not null
  created_at timestamp with time zone not null default now()
  idempotency_key text not null
  operation text not null
  organization_id uuid not null
  response_body bytea
  response_headers jsonb
  status integer
  xuser_id uuid
table journal_entry row level security
  created_at timestamp with time zone not null default now()
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  sealed bytea not null
  time timestamp with time zone not null
  xuser_id uuid not null
table measurement
  biosignal_id integer not null
  device_id uuid
  given_unit text
  given_value double precision
  id uuid not null
  method_code text not null default 'measured:device_v1'::text
  organization_id uuid not null
  project_id uuid not null
  qmask smallint not null default 0
  stream_id integer
  time timestamp with time zone not null
  ts_ns bigint not null
  unit text not null
  value double precision not null
  xuser_id uuid not null
table method
  cadence_hz double precision
  code text not null
  created_at timestamp with time zone not null default now()
  id smallint not null identity always
  kind text not null
  name text not null
  step double precision not null default 0
  unit text not null default ''::text
table migration
  applied_at timestamp with time zone not null default now()
  checksum text not null
  id integer not null
  name text not null
  skipped boolean not null default false
table mood row level security
  created_at timestamp with time zone not null default now()
  id uuid not null default gen_random_uuid()
  note text not null default ''::text
  organization_id uuid not null
  project_id uuid not null
  score smallint not null
  time timestamp with time zone not null
  xuser_id uuid not null
table operator_account row level security
  created_at timestamp with time zone not null default now()
  disabled_at timestamp with time zone
  display_name text not null default ''::text
  email text not null
  id uuid not null default gen_random_uuid()
  last_login_at timestamp with time zone
  organization_id uuid not null
  password_hash text not null
  role text not null
table operator_session row level security
  created_at timestamp with time zone not null default now()
  expires_at timestamp with time zone not null
  id uuid not null default gen_random_uuid()
  ip inet
  last_seen_at timestamp with time zone not null default now()
  operator_id uuid not null
  revoked_at timestamp with time zone
  token_hash bytea not null
  user_agent text not null default ''::text
table organization row level security
  created_at timestamp with time zone not null default now()
  id uuid not null default gen_random_uuid()
  moving_at timestamp with time zone
  name text not null
  settings jsonb not null default '{}'::jsonb
table packet_hash
  first_seq bigint not null
  hashes bytea not null
  stream_id integer not null
  time timestamp with time zone not null
table packet_log with (toast_tuple_target=8160)
  batch_id bigint not null
  data bytea not null storage external
  packet_count integer not null
  part smallint not null
  partition smallint not null default 0
  time timestamp with time zone not null
table packet_log_checkpoint
  batch_id bigint not null default 0
  epoch bigint not null default 0
  form integer not null default 0
  owner uuid
  owner_name text not null default ''::text
  partition smallint not null default 0
  renewed_at timestamp with time zone not null default now()
  updated_at timestamp with time zone not null default now()
table person_group row level security
  created_at timestamp with time zone not null default now()
  created_by text not null
  id uuid not null default gen_random_uuid()
  name text not null
  organization_id uuid not null
  project_id uuid not null
table person_group_member row level security
  added_at timestamp with time zone not null default now()
  added_by text not null
  group_id uuid not null
  organization_id uuid not null
  xuser_id uuid not null
table project row level security
  archived_at timestamp with time zone
  consent_required text[] not null default '{}'::text[]
  created_at timestamp with time zone not null default now()
  id uuid not null default gen_random_uuid()
  name text not null
  organization_id uuid not null
  previous_key_expires_at timestamp with time zone
  previous_project_key text
  project_key text not null
  settings jsonb not null default '{}'::jsonb
  time_zone text not null default 'UTC'::text
table project_biosignal row level security
  biosignal_id integer not null
  hidden boolean not null default false
  project_id uuid not null
  role text
table project_retention row level security
  beats_days integer
  features_days integer
  organization_id uuid not null
  project_id uuid not null
  samples_days integer
  updated_at timestamp with time zone not null default now()
table project_retention_swept row level security
  cutoff timestamp with time zone not null
  project_id uuid not null
  relation text not null
  whole_at timestamp with time zone not null
table public_key_use row level security
  key text not null
  last_used_at timestamp with time zone not null
  project_id uuid not null
table questionnaire row level security
  code text not null
  created_at timestamp with time zone not null default now()
  created_by text not null default ''::text
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  resource jsonb not null
  retired_at timestamp with time zone
  scoring jsonb not null default '{"safety": [], "scores": []}'::jsonb
  version integer not null
table questionnaire_draft row level security
  item jsonb not null
  organization_id uuid not null
  project_id uuid not null
  questionnaire text not null
  updated_at timestamp with time zone not null default now()
  version text not null
  xuser_id uuid not null
table questionnaire_response row level security
  amends uuid
  authored timestamp with time zone not null
  created_at timestamp with time zone not null default now()
  id uuid not null default gen_random_uuid()
  item jsonb not null
  organization_id uuid not null
  project_id uuid not null
  questionnaire text not null
  reason text not null default ''::text
  safety boolean not null default false
  scores jsonb not null default '[]'::jsonb
  status text not null default 'completed'::text
  superseded_by uuid
  version text not null
  xuser_id uuid not null
table retention
  keep interval
  relation text not null
table rollup_dirty with (autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0, autovacuum_analyze_threshold=1000)
  bucket timestamp with time zone not null
  channel_no smallint not null
  method_id smallint not null
  stream_id integer not null
  taken boolean not null default false
table sample_block with (toast_tuple_target=8160)
  bad_n smallint not null
  channel_no smallint not null
  codec bytea not null storage external
  max real
  mean real
  min real
  n integer not null
  start_ns bigint not null
  stream_id integer not null
  suspect_n smallint not null
  time timestamp with time zone not null
table sdk_key row level security
  created_at timestamp with time zone not null default now()
  expires_at timestamp with time zone
  id uuid not null default gen_random_uuid()
  name text not null default ''::text
  project_id uuid not null
  revoked_at timestamp with time zone
  rotated_from uuid
  sdk_key text not null
table service_secret
  created_at timestamp with time zone not null default now()
  name text not null
  value bytea not null
table set_aside row level security
  bytes bytea storage external
  content json
  digest bytea not null
  id bigint not null identity always
  kind text not null
  log_position bigint
  organization_id uuid
  reason text not null
  replay_at timestamp with time zone
  sqlstate text
  stream_id integer
  time timestamp with time zone not null default now()
  xuser_id uuid
table signing_key
  algorithm text not null default 'RS256'::text
  created_at timestamp with time zone not null default now()
  expires_at timestamp with time zone
  kid text not null
  not_before timestamp with time zone not null default now()
  private_pem text not null
  public_jwk jsonb not null
  retire_at timestamp with time zone
table stream row level security
  boot_id bytea not null
  clock_offset_ns bigint
  clock_pairs integer not null default 0
  clock_rms_ns double precision
  clock_skew_ppm double precision
  device_id uuid not null
  ended_at timestamp with time zone
  epoch_ns bigint not null
  firmware text not null default ''::text
  id integer not null identity always
  last_packet_at timestamp with time zone
  last_sample_at timestamp with time zone
  organization_id uuid not null
  project_id uuid not null
  recorded_from timestamp with time zone
  rules_looked_to timestamp with time zone
  seqs int8multirange not null default '{}'::int8multirange
  spo2_offset double precision
  spo2_slope double precision
  started_at timestamp with time zone not null default now()
  time_source text
  uuid uuid not null default gen_random_uuid()
  xuser_id uuid not null
table stream_channel row level security
  baseline double precision not null
  channel_no smallint not null
  code text not null
  created_at timestamp with time zone not null default now()
  gain double precision not null
  kind text not null
  lead text not null default ''::text
  rate_nhz bigint not null
  stream_id integer not null
  unit text not null
table task row level security
  created_at timestamp with time zone not null default now()
  description text not null default ''::text
  due timestamp with time zone
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  questionnaire text
  response_id uuid
  schedule_id uuid
  slot timestamp without time zone
  status text not null default 'due'::text
  status_at timestamp with time zone
  title text not null
  xuser_id uuid not null
table task_schedule row level security
  created_at timestamp with time zone not null default now()
  created_by text not null default ''::text
  description text not null default ''::text
  ended_at timestamp with time zone
  ends_on date
  every text not null
  every_n integer not null default 1
  id uuid not null default gen_random_uuid()
  made_until date
  organization_id uuid not null
  project_id uuid not null
  questionnaire text
  starts_on date not null
  times time without time zone[] not null
  title text not null
  weekdays smallint[] not null default '{}'::smallint[]
  xuser_id uuid not null
table unfinished_erasure
  erased_at timestamp with time zone not null default now()
  organization_id uuid not null
  person_id uuid not null
  project_id uuid not null
  stream_ids integer[] not null
  stream_uuids uuid[] not null
table unit_conversion
  code text not null default ''::text
  factor double precision not null
  given text not null
  shift double precision not null default 0
  unit text not null
table webhook row level security
  created_at timestamp with time zone not null default now()
  description text not null default ''::text
  disabled_at timestamp with time zone
  events text[] not null
  gone_at timestamp with time zone
  gone_reason text
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  previous_secret bytea
  previous_secret_expires_at timestamp with time zone
  project_id uuid
  secret bytea not null
  url text not null
table webhook_delivery row level security
  attempts integer not null default 0
  created_at timestamp with time zone not null default now()
  delivered_at timestamp with time zone
  event text not null
  id uuid not null default gen_random_uuid()
  last_error text
  last_status integer
  next_attempt_at timestamp with time zone not null default now()
  payload jsonb not null
  status text not null default 'pending'::text
  webhook_id uuid not null
table xuser row level security
  attributes jsonb not null default '{}'::jsonb
  created_at timestamp with time zone not null default now()
  disabled_at timestamp with time zone
  display_name text not null default ''::text
  external_id text not null
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  time_zone text
  updated_at timestamp with time zone not null default now()

-- sequences

audit_log.id: bigint from 1 by 1
biosignal.id: integer from 1000 by 1
consent.id: bigint from 1 by 1
method.id: smallint from 1 by 1
set_aside.id: bigint from 1 by 1
stream.id: integer from 1 by 1

-- constraints

allowed_origin: allowed_origin_pkey PRIMARY KEY (id)
allowed_origin: allowed_origin_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
allowed_origin: allowed_origin_project_id_origin_key UNIQUE (project_id, origin)
annotation: annotation_beat_check CHECK ((((kind = 'beat'::text) = (beat IS NOT NULL)) AND ((beat IS NULL) OR (ends_at IS NULL))))
annotation: annotation_beat_kind_check CHECK ((beat = ANY (ARRAY['N'::text, 'S'::text, 'V'::text, 'F'::text, 'Q'::text, 'none'::text])))
annotation: annotation_content_check CHECK ((length(content) <= 2000))
annotation: annotation_ends_at_check CHECK ((ends_at > starts_at))
annotation: annotation_kind_check CHECK ((kind = ANY (ARRAY['note'::text, 'symptom'::text, 'activity'::text, 'artefact'::text, 'rhythm'::text, 'beat'::text])))
annotation: annotation_pkey PRIMARY KEY (id, version)
annotation: annotation_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id) ON DELETE CASCADE
annotation: annotation_stream_id_fkey FOREIGN KEY (stream_id) REFERENCES stream(id) ON DELETE CASCADE
annotation: annotation_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
api_key: api_key_env_check CHECK ((env = ANY (ARRAY['live'::text, 'test'::text])))
api_key: api_key_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization(id) ON DELETE CASCADE
api_key: api_key_pkey PRIMARY KEY (id)
api_key: api_key_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id) ON DELETE CASCADE
api_key: api_key_public_id_key UNIQUE (public_id)
api_key: api_key_rotated_from_fkey FOREIGN KEY (rotated_from) REFERENCES api_key(id) ON DELETE SET NULL
api_key: api_key_scopes_check CHECK (((cardinality(scopes) > 0) AND (scopes <@ ARRAY['read'::text, 'write'::text, 'ingest'::text, 'admin'::text])))
api_key: api_key_secret_hash_check CHECK ((octet_length(secret_hash) = 32))
artifact: artifact_episode_id_fkey FOREIGN KEY (episode_id) REFERENCES episode(id) ON DELETE CASCADE
artifact: artifact_pkey PRIMARY KEY (id)
artifact: artifact_stream_id_fkey FOREIGN KEY (stream_id) REFERENCES stream(id) ON DELETE SET NULL
audit_log: audit_log_pkey PRIMARY KEY (id)
beat_block: beat_block_pkey PRIMARY KEY (stream_id, channel_no, method_id, "time")
biosignal: biosignal_abbreviation_key UNIQUE NULLS NOT DISTINCT (project_id, abbreviation)
biosignal: biosignal_code_key UNIQUE (project_id, code)
biosignal: biosignal_pkey PRIMARY KEY (id)
biosignal: biosignal_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
biosignal: biosignal_role_check CHECK ((role = ANY (ARRAY['measurement'::text, 'calculation'::text, 'setting'::text, 'unspecified'::text])))
biosignal: biosignal_signal_type_check CHECK ((signal_type = ANY (ARRAY['waveform'::text, 'interval'::text, 'scalar'::text, 'event'::text, 'category'::text, 'score'::text])))
biosignal: biosignal_source_type_check CHECK ((source_type = ANY (ARRAY['device'::text, 'derived'::text, 'self_report'::text, 'clinician'::text, 'import'::text])))
cluster_node: cluster_node_lock_key_key UNIQUE (lock_key)
cluster_node: cluster_node_pkey PRIMARY KEY (id)
cluster_setting: cluster_setting_one_check CHECK (one)
cluster_setting: cluster_setting_partitions_check CHECK (((partitions >= 1) AND (partitions <= 1024)))
cluster_setting: cluster_setting_pkey PRIMARY KEY (one)
consent: consent_document_check CHECK ((length(document) <= 500))
consent: consent_pkey PRIMARY KEY (id)
consent: consent_purpose_check CHECK ((purpose = ANY (ARRAY['recording'::text, 'sharing'::text])))
consent: consent_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
database_kind: database_kind_one_check CHECK (one)
database_kind: database_kind_pkey PRIMARY KEY (one)
derived_open: derived_open_pkey PRIMARY KEY (stream_id)
device: device_external_id_check CHECK (((external_id <> ''::text) AND (length(external_id) <= 128)))
device: device_organization_id_external_id_key UNIQUE (organization_id, external_id)
device: device_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization(id) ON DELETE CASCADE
device: device_pkey PRIMARY KEY (id)
device: device_profile_id_fkey FOREIGN KEY (profile_id) REFERENCES device_profile(id) ON DELETE SET NULL
device: device_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id) ON DELETE CASCADE
device: device_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE SET NULL
device_event: device_event_pkey PRIMARY KEY (stream_id, "time", id)
device_profile: device_profile_organization_id_code_key UNIQUE NULLS NOT DISTINCT (organization_id, code)
device_profile: device_profile_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization(id) ON DELETE CASCADE
device_profile: device_profile_pkey PRIMARY KEY (id)
device_profile: device_profile_spo2_check CHECK (((spo2_offset IS NULL) = (spo2_slope IS NULL)))
episode: episode_ended_at_check CHECK ((ended_at >= started_at))
episode: episode_open_check CHECK (((status <> 'open'::text) OR (ended_at IS NULL)))
episode: episode_pkey PRIMARY KEY (id)
episode: episode_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id) ON DELETE CASCADE
episode: episode_severity_check CHECK ((severity = ANY (ARRAY['none'::text, 'low'::text, 'medium'::text, 'high'::text])))
episode: episode_status_check CHECK ((status = ANY (ARRAY['open'::text, 'closed'::text, 'cancelled'::text])))
episode: episode_stream_id_fkey FOREIGN KEY (stream_id) REFERENCES stream(id) ON DELETE SET NULL
episode: episode_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
episode_acknowledgement: episode_acknowledgement_episode_id_fkey FOREIGN KEY (episode_id) REFERENCES episode(id) ON DELETE CASCADE
episode_acknowledgement: episode_acknowledgement_note_check CHECK ((length(note) <= 1000))
episode_acknowledgement: episode_acknowledgement_pkey PRIMARY KEY (id)
episode_email: episode_email_episode_id_fkey FOREIGN KEY (episode_id) REFERENCES episode(id) ON DELETE CASCADE
episode_email: episode_email_pkey PRIMARY KEY (id)
episode_email: episode_email_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES episode_rule(id) ON DELETE CASCADE
episode_email: episode_email_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text])))
episode_event: episode_event_pkey PRIMARY KEY (code)
episode_event: episode_event_severity_check CHECK ((severity = ANY (ARRAY['none'::text, 'low'::text, 'medium'::text, 'high'::text])))
episode_event: episode_event_strip_check CHECK ((((before_sec >= 0) AND (before_sec <= 30)) AND ((after_sec >= 1) AND (after_sec <= 30))))
episode_rule: episode_rule_comparison_check CHECK ((comparison = ANY (ARRAY['above'::text, 'below'::text])))
episode_rule: episode_rule_email_to_check CHECK ((cardinality(email_to) <= 10))
episode_rule: episode_rule_end_threshold_check CHECK (
CASE comparison
    WHEN 'above'::text THEN (end_threshold <= threshold)
    ELSE (end_threshold >= threshold)
END)
episode_rule: episode_rule_group_id_fkey FOREIGN KEY (group_id) REFERENCES person_group(id)
episode_rule: episode_rule_pkey PRIMARY KEY (id)
episode_rule: episode_rule_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id) ON DELETE CASCADE
episode_rule: episode_rule_quality_max_check CHECK ((quality_max = ANY (ARRAY[0, 1])))
episode_rule: episode_rule_quiet_check CHECK ((((quiet_from IS NULL) = (quiet_to IS NULL)) AND (quiet_from <> quiet_to)))
episode_rule: episode_rule_release_sec_check CHECK (((release_sec >= 1) AND (release_sec <= 3600)))
episode_rule: episode_rule_severity_check CHECK ((severity = ANY (ARRAY['none'::text, 'low'::text, 'medium'::text, 'high'::text])))
episode_rule: episode_rule_sustain_sec_check CHECK (((sustain_sec >= 0) AND (sustain_sec <= 3600)))
episode_rule: episode_rule_whom_check CHECK (((xuser_id IS NULL) OR (group_id IS NULL)))
episode_rule: episode_rule_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
feature_1d_kept: feature_1d_kept_pkey PRIMARY KEY (stream_id, method_id, channel_no, bucket)
feature_1h_kept: feature_1h_kept_pkey PRIMARY KEY (stream_id, method_id, channel_no, bucket)
feature_block: feature_block_pkey PRIMARY KEY (stream_id, method_id, channel_no, "time")
goal: goal_agg_check CHECK ((agg = ANY (ARRAY['sum'::text, 'mean'::text, 'max'::text, 'count'::text])))
goal: goal_biosignal_id_fkey FOREIGN KEY (biosignal_id) REFERENCES biosignal(id) ON DELETE CASCADE
goal: goal_period_check CHECK ((period = ANY (ARRAY['day'::text, 'week'::text])))
goal: goal_pkey PRIMARY KEY (id)
goal: goal_target_check CHECK ((target > (0)::double precision))
goal: goal_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
idempotency: idempotency_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization(id) ON DELETE CASCADE
idempotency: idempotency_pkey PRIMARY KEY (organization_id, operation, idempotency_key)
journal_entry: journal_entry_pkey PRIMARY KEY (id)
journal_entry: journal_entry_sealed_check CHECK (((octet_length(sealed) >= 29) AND (octet_length(sealed) <= 100000)))
journal_entry: journal_entry_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
measurement: measurement_pkey PRIMARY KEY (xuser_id, biosignal_id, "time", id)
measurement: measurement_qmask_check CHECK (((qmask >= 0) AND (qmask <= 2)))
method: method_kind_check CHECK ((kind = ANY (ARRAY['feature'::text, 'beat'::text])))
method: method_kind_name_code_key UNIQUE (kind, name, code)
method: method_pkey PRIMARY KEY (id)
method: method_step_check CHECK (((step >= (0)::double precision) AND (step <= (1)::double precision)))
migration: migration_pkey PRIMARY KEY (id)
mood: mood_note_check CHECK ((length(note) <= 1000))
mood: mood_pkey PRIMARY KEY (id)
mood: mood_score_check CHECK (((score >= 1) AND (score <= 5)))
mood: mood_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
operator_account: operator_account_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization(id) ON DELETE CASCADE
operator_account: operator_account_pkey PRIMARY KEY (id)
operator_account: operator_account_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'clinician'::text, 'analyst'::text, 'viewer'::text])))
operator_session: operator_session_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operator_account(id) ON DELETE CASCADE
operator_session: operator_session_pkey PRIMARY KEY (id)
operator_session: operator_session_token_hash_key UNIQUE (token_hash)
organization: organization_name_check CHECK (((name <> ''::text) AND (length(name) <= 200)))
organization: organization_pkey PRIMARY KEY (id)
packet_log: packet_log_pkey PRIMARY KEY (batch_id, part, "time")
packet_log_checkpoint: packet_log_checkpoint_pkey PRIMARY KEY (partition)
person_group: person_group_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
person_group: person_group_pkey PRIMARY KEY (id)
person_group: person_group_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id) ON DELETE CASCADE
person_group_member: person_group_member_group_id_fkey FOREIGN KEY (group_id) REFERENCES person_group(id) ON DELETE CASCADE
person_group_member: person_group_member_pkey PRIMARY KEY (group_id, xuser_id)
person_group_member: person_group_member_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
project: project_consent_required_check CHECK ((consent_required <@ ARRAY['recording'::text, 'sharing'::text]))
project: project_name_check CHECK (((name <> ''::text) AND (length(name) <= 200)))
project: project_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization(id) ON DELETE CASCADE
project: project_organization_id_id_key UNIQUE (organization_id, id)
project: project_pkey PRIMARY KEY (id)
project: project_previous_key_check CHECK (((previous_project_key IS NULL) = (previous_key_expires_at IS NULL)))
project: project_previous_project_key_key UNIQUE (previous_project_key)
project: project_project_key_key UNIQUE (project_key)
project_biosignal: project_biosignal_biosignal_id_fkey FOREIGN KEY (biosignal_id) REFERENCES biosignal(id) ON DELETE CASCADE
project_biosignal: project_biosignal_pkey PRIMARY KEY (project_id, biosignal_id)
project_biosignal: project_biosignal_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
project_biosignal: project_biosignal_role_check CHECK ((role = ANY (ARRAY['measurement'::text, 'calculation'::text, 'setting'::text, 'unspecified'::text])))
project_retention: project_retention_beats_days_check CHECK (((beats_days >= 1) AND (beats_days <= 36500)))
project_retention: project_retention_features_days_check CHECK (((features_days >= 1) AND (features_days <= 36500)))
project_retention: project_retention_pkey PRIMARY KEY (project_id)
project_retention: project_retention_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id) ON DELETE CASCADE
project_retention: project_retention_samples_days_check CHECK (((samples_days >= 1) AND (samples_days <= 36500)))
project_retention_swept: project_retention_swept_pkey PRIMARY KEY (project_id, relation)
project_retention_swept: project_retention_swept_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
public_key_use: public_key_use_pkey PRIMARY KEY (key)
public_key_use: public_key_use_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
questionnaire: questionnaire_code_check CHECK ((code ~ '^[a-z][a-z0-9-]{0,62}$'::text))
questionnaire: questionnaire_pkey PRIMARY KEY (id)
questionnaire: questionnaire_project_id_code_version_key UNIQUE (project_id, code, version)
questionnaire: questionnaire_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id) ON DELETE CASCADE
questionnaire: questionnaire_version_check CHECK ((version > 0))
questionnaire_draft: questionnaire_draft_pkey PRIMARY KEY (xuser_id, questionnaire)
questionnaire_draft: questionnaire_draft_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
questionnaire_response: questionnaire_response_amends_fkey FOREIGN KEY (amends) REFERENCES questionnaire_response(id) ON DELETE CASCADE
questionnaire_response: questionnaire_response_pkey PRIMARY KEY (id)
questionnaire_response: questionnaire_response_status_check CHECK ((status = ANY (ARRAY['completed'::text, 'amended'::text])))
questionnaire_response: questionnaire_response_superseded_by_fkey FOREIGN KEY (superseded_by) REFERENCES questionnaire_response(id) ON DELETE SET NULL
questionnaire_response: questionnaire_response_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
retention: retention_keep_check CHECK ((keep >= '01:00:00'::interval))
retention: retention_pkey PRIMARY KEY (relation)
rollup_dirty: rollup_dirty_pkey PRIMARY KEY (stream_id, method_id, channel_no, bucket, taken)
sample_block: sample_block_pkey PRIMARY KEY (stream_id, channel_no, "time")
sdk_key: sdk_key_pkey PRIMARY KEY (id)
sdk_key: sdk_key_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
sdk_key: sdk_key_rotated_from_fkey FOREIGN KEY (rotated_from) REFERENCES sdk_key(id) ON DELETE SET NULL
sdk_key: sdk_key_sdk_key_key UNIQUE (sdk_key)
service_secret: service_secret_pkey PRIMARY KEY (name)
service_secret: service_secret_value_check CHECK ((octet_length(value) >= 32))
set_aside: set_aside_digest_key UNIQUE (digest)
set_aside: set_aside_kind_check CHECK ((kind = ANY (ARRAY['packet'::text, 'log'::text, 'samples'::text, 'derived'::text, 'measurement'::text, 'event'::text])))
set_aside: set_aside_pkey PRIMARY KEY (id)
set_aside: set_aside_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
signing_key: signing_key_algorithm_check CHECK ((algorithm = 'RS256'::text))
signing_key: signing_key_pkey PRIMARY KEY (kid)
stream: stream_boot_id_check CHECK ((octet_length(boot_id) = 16))
stream: stream_device_id_boot_id_key UNIQUE (device_id, boot_id)
stream: stream_device_id_fkey FOREIGN KEY (device_id) REFERENCES device(id) ON DELETE CASCADE
stream: stream_pkey PRIMARY KEY (id)
stream: stream_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id) ON DELETE CASCADE
stream: stream_spo2_check CHECK (((spo2_offset IS NULL) = (spo2_slope IS NULL)))
stream: stream_time_source_check CHECK ((time_source = ANY (ARRAY['stated'::text, 'device'::text, 'age'::text, 'arrival'::text])))
stream: stream_uuid_key UNIQUE (uuid)
stream: stream_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
stream_channel: stream_channel_config_key UNIQUE (stream_id, code, kind, rate_nhz, gain, baseline, unit, lead)
stream_channel: stream_channel_kind_check CHECK ((kind = ANY (ARRAY['ecg'::text, 'ppg'::text, 'eda'::text, 'temp'::text, 'resp'::text, 'acc'::text, 'gyro'::text, 'other'::text])))
stream_channel: stream_channel_pkey PRIMARY KEY (stream_id, channel_no)
stream_channel: stream_channel_rate_check CHECK ((rate_nhz > 0))
stream_channel: stream_channel_stream_id_fkey FOREIGN KEY (stream_id) REFERENCES stream(id) ON DELETE CASCADE
task: task_pkey PRIMARY KEY (id)
task: task_response_id_fkey FOREIGN KEY (response_id) REFERENCES questionnaire_response(id) ON DELETE SET NULL
task: task_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES task_schedule(id) ON DELETE CASCADE
task: task_status_check CHECK ((status = ANY (ARRAY['due'::text, 'done'::text, 'skipped'::text, 'missed'::text])))
task: task_title_check CHECK (((title <> ''::text) AND (length(title) <= 200)))
task: task_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
task_schedule: task_schedule_every_check CHECK (((every = ANY (ARRAY['day'::text, 'week'::text])) AND ((every_n >= 1) AND (every_n <= 365))))
task_schedule: task_schedule_pkey PRIMARY KEY (id)
task_schedule: task_schedule_times_check CHECK (((cardinality(times) >= 1) AND (cardinality(times) <= 24)))
task_schedule: task_schedule_title_check CHECK (((title <> ''::text) AND (length(title) <= 200)))
task_schedule: task_schedule_weekdays_check CHECK (((weekdays <@ ARRAY[(1)::smallint, (2)::smallint, (3)::smallint, (4)::smallint, (5)::smallint, (6)::smallint, (7)::smallint]) AND ((every = 'day'::text) OR (cardinality(weekdays) > 0))))
task_schedule: task_schedule_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
unfinished_erasure: unfinished_erasure_pkey PRIMARY KEY (person_id)
unit_conversion: unit_conversion_pkey PRIMARY KEY (given, unit, code)
webhook: webhook_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization(id) ON DELETE CASCADE
webhook: webhook_pkey PRIMARY KEY (id)
webhook: webhook_previous_secret_check CHECK (((previous_secret IS NULL) = (previous_secret_expires_at IS NULL)))
webhook: webhook_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id) ON DELETE CASCADE
webhook: webhook_secret_check CHECK ((octet_length(secret) >= 32))
webhook_delivery: webhook_delivery_pkey PRIMARY KEY (id)
webhook_delivery: webhook_delivery_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])))
webhook_delivery: webhook_delivery_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhook(id) ON DELETE CASCADE
xuser: xuser_external_id_check CHECK (((external_id <> ''::text) AND (length(external_id) <= 255)))
xuser: xuser_pkey PRIMARY KEY (id)
xuser: xuser_project_id_external_id_key UNIQUE (project_id, external_id)
xuser: xuser_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES project(organization_id, id) ON DELETE CASCADE

-- indexes

CREATE UNIQUE INDEX annotation_newest_key ON public.annotation USING btree (id) WHERE (replaced_at IS NULL)
CREATE INDEX annotation_stream_id_starts_at_idx ON public.annotation USING btree (stream_id, starts_at) WHERE ((replaced_at IS NULL) AND (NOT deleted))
CREATE INDEX annotation_xuser_id_starts_at_idx ON public.annotation USING btree (xuser_id, starts_at) WHERE ((replaced_at IS NULL) AND (NOT deleted))
CREATE INDEX api_key_organization_id_idx ON public.api_key USING btree (organization_id)
CREATE INDEX artifact_episode_id_idx ON public.artifact USING btree (episode_id)
CREATE INDEX audit_log_actor_idx ON public.audit_log USING btree (organization_id, actor_id, id)
CREATE INDEX audit_log_acts_idx ON public.audit_log USING btree (organization_id, id) WHERE (action <> ALL (ARRAY['personal_data.read'::text, 'personal_data.listed'::text, 'live.started'::text, 'live.ended'::text]))
CREATE UNIQUE INDEX audit_log_chain_key ON public.audit_log USING btree (organization_id, chain_seq) NULLS NOT DISTINCT WHERE (chain_seq IS NOT NULL)
CREATE INDEX audit_log_organization_id_id_idx ON public.audit_log USING btree (organization_id, id)
CREATE INDEX audit_log_organization_id_time_idx ON public.audit_log USING btree (organization_id, "time")
CREATE INDEX audit_log_subject_idx ON public.audit_log USING btree (organization_id, subject_id, id) WHERE (subject_id IS NOT NULL)
CREATE UNIQUE INDEX biosignal_name_key ON public.biosignal USING btree (name_key(abbreviation), project_id)
CREATE INDEX consent_xuser_id_purpose_idx ON public.consent USING btree (xuser_id, purpose, id)
CREATE INDEX device_xuser_id_idx ON public.device USING btree (xuser_id)
CREATE UNIQUE INDEX episode_acknowledgement_current_key ON public.episode_acknowledgement USING btree (episode_id) WHERE (ended_at IS NULL)
CREATE INDEX episode_acknowledgement_episode_id_idx ON public.episode_acknowledgement USING btree (episode_id, created_at)
CREATE INDEX episode_email_due_idx ON public.episode_email USING btree (project_id, recipient, next_attempt_at) WHERE (status = 'pending'::text)
CREATE UNIQUE INDEX episode_email_episode_id_recipient_key ON public.episode_email USING btree (episode_id, recipient)
CREATE INDEX episode_email_rule_id_idx ON public.episode_email USING btree (rule_id, created_at)
CREATE INDEX episode_email_sent_idx ON public.episode_email USING btree (project_id, recipient, sent_at) WHERE (status = 'sent'::text)
CREATE INDEX episode_open_idx ON public.episode USING btree (organization_id, started_at) WHERE (status = 'open'::text)
CREATE INDEX episode_rule_group_id_idx ON public.episode_rule USING btree (group_id)
CREATE INDEX episode_rule_project_id_idx ON public.episode_rule USING btree (project_id, created_at)
CREATE INDEX episode_rule_xuser_id_idx ON public.episode_rule USING btree (xuser_id)
CREATE INDEX episode_xuser_id_started_at_idx ON public.episode USING btree (xuser_id, started_at)
CREATE INDEX goal_xuser_id_idx ON public.goal USING btree (xuser_id)
CREATE INDEX idempotency_created_at_idx ON public.idempotency USING btree (created_at)
CREATE INDEX journal_entry_xuser_id_time_idx ON public.journal_entry USING btree (xuser_id, "time")
CREATE INDEX mood_xuser_id_time_idx ON public.mood USING btree (xuser_id, "time")
CREATE UNIQUE INDEX operator_account_email_key ON public.operator_account USING btree (lower(email))
CREATE INDEX operator_account_organization_id_idx ON public.operator_account USING btree (organization_id)
CREATE INDEX operator_session_operator_id_idx ON public.operator_session USING btree (operator_id)
CREATE INDEX packet_hash_stream_idx ON public.packet_hash USING btree (stream_id, first_seq)
CREATE INDEX person_group_member_xuser_id_idx ON public.person_group_member USING btree (xuser_id)
CREATE UNIQUE INDEX person_group_project_id_name_key ON public.person_group USING btree (project_id, lower(name))
CREATE INDEX public_key_use_project_id_idx ON public.public_key_use USING btree (project_id)
CREATE INDEX questionnaire_organization_id_idx ON public.questionnaire USING btree (organization_id)
CREATE UNIQUE INDEX questionnaire_response_amends_key ON public.questionnaire_response USING btree (amends)
CREATE INDEX questionnaire_response_xuser_id_authored_idx ON public.questionnaire_response USING btree (xuser_id, authored)
CREATE INDEX sdk_key_project_id_idx ON public.sdk_key USING btree (project_id)
CREATE INDEX set_aside_organization_id_id_idx ON public.set_aside USING btree (organization_id, id)
CREATE INDEX set_aside_xuser_id_idx ON public.set_aside USING btree (xuser_id)
CREATE INDEX stream_project_id_started_at_idx ON public.stream USING btree (project_id, started_at)
CREATE INDEX stream_xuser_id_recorded_idx ON public.stream USING btree (xuser_id, COALESCE(recorded_from, started_at))
CREATE INDEX task_occurrence_due_idx ON public.task USING btree (due) WHERE ((status = 'due'::text) AND (schedule_id IS NOT NULL))
CREATE INDEX task_response_id_idx ON public.task USING btree (response_id) WHERE (response_id IS NOT NULL)
CREATE UNIQUE INDEX task_schedule_id_slot_key ON public.task USING btree (schedule_id, slot)
CREATE INDEX task_schedule_xuser_id_idx ON public.task_schedule USING btree (xuser_id)
CREATE INDEX task_xuser_id_due_idx ON public.task USING btree (xuser_id, due)
CREATE INDEX webhook_delivery_due_idx ON public.webhook_delivery USING btree (webhook_id, next_attempt_at) WHERE (status = 'pending'::text)
CREATE INDEX webhook_delivery_webhook_id_idx ON public.webhook_delivery USING btree (webhook_id, created_at)
CREATE INDEX webhook_organization_id_idx ON public.webhook USING btree (organization_id)
CREATE INDEX xuser_organization_id_idx ON public.xuser USING btree (organization_id)

-- views

api.beat
 SELECT "time",
    ts_ns,
    stream_id,
    channel_no,
    method_id,
    interval_ms,
    kind,
    qmask,
    reason,
    confidence
   FROM api.beat_values('-infinity'::timestamp with time zone, 'infinity'::timestamp with time zone) beat_values("time", ts_ns, stream_id, channel_no, method_id, interval_ms, kind, qmask, reason, confidence);
api.beat_block with (security_barrier=true)
 SELECT r."time",
    r.stream_id,
    r.method_id,
    r.channel_no,
    r.n,
    r.reasons,
    r.codec
   FROM beat_block r
     JOIN stream s ON s.id = r.stream_id
  WHERE s.organization_id = current_organization();
api.derived_open with (security_barrier=true)
 SELECT r.stream_id,
    r.version,
    r.data
   FROM derived_open r
     JOIN stream s ON s.id = r.stream_id
  WHERE s.organization_id = current_organization();
api.device_event with (security_barrier=true)
 SELECT r."time",
    r.ts_ns,
    r.id,
    r.stream_id,
    r.code,
    r.content
   FROM device_event r
     JOIN stream s ON s.id = r.stream_id
  WHERE s.organization_id = current_organization();
api.feature
 SELECT "time",
    ts_ns,
    value,
    stream_id,
    method_id,
    channel_no,
    qmask
   FROM api.feature_values('-infinity'::timestamp with time zone, 'infinity'::timestamp with time zone) feature_values("time", ts_ns, value, stream_id, method_id, channel_no, qmask);
api.feature_1d with (security_barrier=true)
 SELECT r.bucket,
    r.stream_id,
    r.method_id,
    r.channel_no,
    r.n,
    r.value_n,
    r.good_n,
    r.suspect_n,
    r.sum,
    r.good_sum,
    r.suspect_sum,
    r.min,
    r.good_min,
    r.suspect_min,
    r.max,
    r.good_max,
    r.suspect_max,
    r.first,
    r.good_first,
    r.last,
    r.good_last
   FROM feature_1d r
     JOIN stream s ON s.id = r.stream_id
  WHERE s.organization_id = current_organization();
api.feature_1h with (security_barrier=true)
 SELECT r.bucket,
    r.stream_id,
    r.method_id,
    r.channel_no,
    r.n,
    r.value_n,
    r.good_n,
    r.suspect_n,
    r.sum,
    r.good_sum,
    r.suspect_sum,
    r.min,
    r.good_min,
    r.suspect_min,
    r.max,
    r.good_max,
    r.suspect_max,
    r.first,
    r.good_first,
    r.last,
    r.good_last
   FROM feature_1h r
     JOIN stream s ON s.id = r.stream_id
  WHERE s.organization_id = current_organization();
api.feature_1m with (security_barrier=true)
 SELECT r.bucket,
    r.stream_id,
    r.method_id,
    r.channel_no,
    r.n,
    r.value_n,
    r.good_n,
    r.suspect_n,
    r.sum,
    r.good_sum,
    r.suspect_sum,
    r.min,
    r.good_min,
    r.suspect_min,
    r.max,
    r.good_max,
    r.suspect_max,
    r.first,
    r.good_first,
    r.last,
    r.good_last
   FROM feature_1m r
     JOIN stream s ON s.id = r.stream_id
  WHERE s.organization_id = current_organization();
api.feature_block with (security_barrier=true)
 SELECT r."time",
    r.sum,
    r.good_sum,
    r.suspect_sum,
    r.stream_id,
    r.min,
    r.max,
    r.first,
    r.last,
    r.good_min,
    r.good_max,
    r.good_first,
    r.good_last,
    r.suspect_min,
    r.suspect_max,
    r.method_id,
    r.channel_no,
    r.n,
    r.value_n,
    r.good_n,
    r.suspect_n,
    r.codec
   FROM feature_block r
     JOIN stream s ON s.id = r.stream_id
  WHERE s.organization_id = current_organization();
api.measurement with (security_barrier=true, check_option=cascaded)
 SELECT "time",
    ts_ns,
    id,
    organization_id,
    project_id,
    xuser_id,
    biosignal_id,
    value,
    unit,
    qmask,
    method_code,
    device_id,
    stream_id,
    given_value,
    given_unit
   FROM measurement
  WHERE organization_id = current_organization();
api.sample_block with (security_barrier=true)
 SELECT r."time",
    r.start_ns,
    r.stream_id,
    r.n,
    r.min,
    r.max,
    r.mean,
    r.channel_no,
    r.suspect_n,
    r.bad_n,
    r.codec
   FROM sample_block r
     JOIN stream s ON s.id = r.stream_id
  WHERE s.organization_id = current_organization();
beat
 SELECT "time",
    ts_ns,
    stream_id,
    channel_no,
    method_id,
    interval_ms,
    kind,
    qmask,
    reason,
    confidence
   FROM beat_values('-infinity'::timestamp with time zone, 'infinity'::timestamp with time zone) beat_values("time", ts_ns, stream_id, channel_no, method_id, interval_ms, kind, qmask, reason, confidence);
feature
 SELECT "time",
    ts_ns,
    value,
    stream_id,
    method_id,
    channel_no,
    qmask
   FROM feature_values('-infinity'::timestamp with time zone, 'infinity'::timestamp with time zone) feature_values("time", ts_ns, value, stream_id, method_id, channel_no, qmask);
feature_1d
 SELECT r.bucket,
    r.stream_id,
    r.method_id,
    r.channel_no,
    r.n,
    r.value_n,
    r.good_n,
    r.suspect_n,
    r.sum::numeric / u.per_unit::numeric AS sum,
    r.good_sum::numeric / u.per_unit::numeric AS good_sum,
    r.suspect_sum::numeric / u.per_unit::numeric AS suspect_sum,
    r.min::double precision / u.per_unit AS min,
    r.good_min::double precision / u.per_unit AS good_min,
    r.suspect_min::double precision / u.per_unit AS suspect_min,
    r.max::double precision / u.per_unit AS max,
    r.good_max::double precision / u.per_unit AS good_max,
    r.suspect_max::double precision / u.per_unit AS suspect_max,
    r.first::double precision / u.per_unit AS first,
    r.good_first::double precision / u.per_unit AS good_first,
    r.last::double precision / u.per_unit AS last,
    r.good_last::double precision / u.per_unit AS good_last
   FROM feature_day r
     JOIN method m ON m.id = r.method_id
     CROSS JOIN LATERAL ( SELECT steps_per_unit(m.step) AS per_unit) u;
feature_1h
 SELECT r.bucket,
    r.stream_id,
    r.method_id,
    r.channel_no,
    r.n,
    r.value_n,
    r.good_n,
    r.suspect_n,
    r.sum::numeric / u.per_unit::numeric AS sum,
    r.good_sum::numeric / u.per_unit::numeric AS good_sum,
    r.suspect_sum::numeric / u.per_unit::numeric AS suspect_sum,
    r.min::double precision / u.per_unit AS min,
    r.good_min::double precision / u.per_unit AS good_min,
    r.suspect_min::double precision / u.per_unit AS suspect_min,
    r.max::double precision / u.per_unit AS max,
    r.good_max::double precision / u.per_unit AS good_max,
    r.suspect_max::double precision / u.per_unit AS suspect_max,
    r.first::double precision / u.per_unit AS first,
    r.good_first::double precision / u.per_unit AS good_first,
    r.last::double precision / u.per_unit AS last,
    r.good_last::double precision / u.per_unit AS good_last
   FROM feature_hour r
     JOIN method m ON m.id = r.method_id
     CROSS JOIN LATERAL ( SELECT steps_per_unit(m.step) AS per_unit) u;
feature_1m
 SELECT r.bucket,
    r.stream_id,
    r.method_id,
    r.channel_no,
    r.n,
    r.value_n,
    r.good_n,
    r.suspect_n,
    r.sum::numeric / u.per_unit::numeric AS sum,
    r.good_sum::numeric / u.per_unit::numeric AS good_sum,
    r.suspect_sum::numeric / u.per_unit::numeric AS suspect_sum,
    r.min::double precision / u.per_unit AS min,
    r.good_min::double precision / u.per_unit AS good_min,
    r.suspect_min::double precision / u.per_unit AS suspect_min,
    r.max::double precision / u.per_unit AS max,
    r.good_max::double precision / u.per_unit AS good_max,
    r.suspect_max::double precision / u.per_unit AS suspect_max,
    r.first::double precision / u.per_unit AS first,
    r.good_first::double precision / u.per_unit AS good_first,
    r.last::double precision / u.per_unit AS last,
    r.good_last::double precision / u.per_unit AS good_last
   FROM feature_minute r
     JOIN method m ON m.id = r.method_id
     CROSS JOIN LATERAL ( SELECT steps_per_unit(m.step) AS per_unit) u;
feature_day
 SELECT k.bucket,
    k.stream_id,
    k.method_id,
    k.channel_no,
    k.n,
    k.value_n,
    k.good_n,
    k.suspect_n,
    k.sum,
    k.good_sum,
    k.suspect_sum,
    k.min,
    k.good_min,
    k.suspect_min,
    k.max,
    k.good_max,
    k.suspect_max,
    k.first,
    k.good_first,
    k.last,
    k.good_last
   FROM feature_1d_kept k
  WHERE NOT (EXISTS ( SELECT
           FROM rollup_dirty d
          WHERE d.stream_id = k.stream_id AND d.method_id = k.method_id AND d.channel_no = k.channel_no AND d.bucket >= k.bucket AND d.bucket < (k.bucket + '1 day'::interval)))
UNION ALL
 SELECT d.bucket,
    d.stream_id,
    d.method_id,
    d.channel_no,
    r.n,
    r.value_n,
    r.good_n,
    r.suspect_n,
    r.sum,
    r.good_sum,
    r.suspect_sum,
    r.min,
    r.good_min,
    r.suspect_min,
    r.max,
    r.good_max,
    r.suspect_max,
    r.first,
    r.good_first,
    r.last,
    r.good_last
   FROM ( SELECT DISTINCT rollup_dirty.stream_id,
            rollup_dirty.method_id,
            rollup_dirty.channel_no,
            date_bin('1 day'::interval, rollup_dirty.bucket, '2001-01-01 00:00:00+00'::timestamp with time zone) AS bucket
           FROM rollup_dirty) d
     CROSS JOIN LATERAL ( SELECT sum(feature_hour.n)::bigint AS n,
            sum(feature_hour.value_n)::bigint AS value_n,
            sum(feature_hour.good_n)::bigint AS good_n,
            sum(feature_hour.suspect_n)::bigint AS suspect_n,
            sum(feature_hour.sum)::bigint AS sum,
            sum(feature_hour.good_sum)::bigint AS good_sum,
            sum(feature_hour.suspect_sum)::bigint AS suspect_sum,
            min(feature_hour.min) AS min,
            min(feature_hour.good_min) AS good_min,
            min(feature_hour.suspect_min) AS suspect_min,
            max(feature_hour.max) AS max,
            max(feature_hour.good_max) AS good_max,
            max(feature_hour.suspect_max) AS suspect_max,
            (array_agg(feature_hour.first ORDER BY feature_hour.bucket) FILTER (WHERE feature_hour.first IS NOT NULL))[1] AS first,
            (array_agg(feature_hour.good_first ORDER BY feature_hour.bucket) FILTER (WHERE feature_hour.good_first IS NOT NULL))[1] AS good_first,
            (array_agg(feature_hour.last ORDER BY feature_hour.bucket DESC) FILTER (WHERE feature_hour.last IS NOT NULL))[1] AS last,
            (array_agg(feature_hour.good_last ORDER BY feature_hour.bucket DESC) FILTER (WHERE feature_hour.good_last IS NOT NULL))[1] AS good_last
           FROM feature_hour
          WHERE feature_hour.bucket >= d.bucket AND feature_hour.bucket < (d.bucket + '1 day'::interval) AND feature_hour.stream_id = d.stream_id AND feature_hour.method_id = d.method_id AND feature_hour.channel_no = d.channel_no
         HAVING count(*) > 0) r;
feature_hour
 SELECT k.bucket,
    k.stream_id,
    k.method_id,
    k.channel_no,
    k.n,
    k.value_n,
    k.good_n,
    k.suspect_n,
    k.sum,
    k.good_sum,
    k.suspect_sum,
    k.min,
    k.good_min,
    k.suspect_min,
    k.max,
    k.good_max,
    k.suspect_max,
    k.first,
    k.good_first,
    k.last,
    k.good_last
   FROM feature_1h_kept k
  WHERE NOT (EXISTS ( SELECT
           FROM rollup_dirty d
          WHERE d.stream_id = k.stream_id AND d.method_id = k.method_id AND d.channel_no = k.channel_no AND d.bucket >= k.bucket AND d.bucket < (k.bucket + '01:00:00'::interval)))
UNION ALL
 SELECT d.bucket,
    d.stream_id,
    d.method_id,
    d.channel_no,
    r.n,
    r.value_n,
    r.good_n,
    r.suspect_n,
    r.sum,
    r.good_sum,
    r.suspect_sum,
    r.min,
    r.good_min,
    r.suspect_min,
    r.max,
    r.good_max,
    r.suspect_max,
    r.first,
    r.good_first,
    r.last,
    r.good_last
   FROM ( SELECT DISTINCT rollup_dirty.stream_id,
            rollup_dirty.method_id,
            rollup_dirty.channel_no,
            date_bin('01:00:00'::interval, rollup_dirty.bucket, '2001-01-01 00:00:00+00'::timestamp with time zone) AS bucket
           FROM rollup_dirty) d
     CROSS JOIN LATERAL ( SELECT sum(feature_minute.n)::bigint AS n,
            sum(feature_minute.value_n)::bigint AS value_n,
            sum(feature_minute.good_n)::bigint AS good_n,
            sum(feature_minute.suspect_n)::bigint AS suspect_n,
            sum(feature_minute.sum)::bigint AS sum,
            sum(feature_minute.good_sum)::bigint AS good_sum,
            sum(feature_minute.suspect_sum)::bigint AS suspect_sum,
            min(feature_minute.min) AS min,
            min(feature_minute.good_min) AS good_min,
            min(feature_minute.suspect_min) AS suspect_min,
            max(feature_minute.max) AS max,
            max(feature_minute.good_max) AS good_max,
            max(feature_minute.suspect_max) AS suspect_max,
            (array_agg(feature_minute.first ORDER BY feature_minute.bucket) FILTER (WHERE feature_minute.first IS NOT NULL))[1] AS first,
            (array_agg(feature_minute.good_first ORDER BY feature_minute.bucket) FILTER (WHERE feature_minute.good_first IS NOT NULL))[1] AS good_first,
            (array_agg(feature_minute.last ORDER BY feature_minute.bucket DESC) FILTER (WHERE feature_minute.last IS NOT NULL))[1] AS last,
            (array_agg(feature_minute.good_last ORDER BY feature_minute.bucket DESC) FILTER (WHERE feature_minute.good_last IS NOT NULL))[1] AS good_last
           FROM feature_minute
          WHERE feature_minute.bucket >= d.bucket AND feature_minute.bucket < (d.bucket + '01:00:00'::interval) AND feature_minute.stream_id = d.stream_id AND feature_minute.method_id = d.method_id AND feature_minute.channel_no = d.channel_no
         HAVING count(*) > 0) r;
feature_minute
 SELECT b."time" AS bucket,
    b.stream_id,
    b.method_id,
    b.channel_no,
    b.n::bigint AS n,
    c.value_n::bigint AS value_n,
    c.good_n::bigint AS good_n,
    COALESCE(b.suspect_n::integer, 0)::bigint AS suspect_n,
    b.sum,
        CASE
            WHEN b.good_n IS NULL THEN b.sum
            ELSE b.good_sum
        END AS good_sum,
        CASE
            WHEN b.suspect_n = c.value_n THEN b.sum
            ELSE b.suspect_sum
        END AS suspect_sum,
    s.min,
        CASE
            WHEN b.good_n IS NULL THEN s.min
            ELSE b.good_min::bigint
        END AS good_min,
        CASE
            WHEN b.suspect_n = c.value_n THEN s.min
            ELSE b.suspect_min::bigint
        END AS suspect_min,
    s.max,
        CASE
            WHEN b.good_n IS NULL THEN s.max
            ELSE b.good_max::bigint
        END AS good_max,
        CASE
            WHEN b.suspect_n = c.value_n THEN s.max
            ELSE b.suspect_max::bigint
        END AS suspect_max,
    s.first,
        CASE
            WHEN b.good_n IS NULL THEN s.first
            ELSE b.good_first::bigint
        END AS good_first,
    s.last,
        CASE
            WHEN b.good_n IS NULL THEN s.last
            ELSE b.good_last::bigint
        END AS good_last,
    false AS is_open
   FROM feature_block b
     CROSS JOIN LATERAL ( SELECT COALESCE(b.value_n, b.n) AS value_n,
            COALESCE(b.good_n, b.value_n, b.n) AS good_n) c
     CROSS JOIN LATERAL ( SELECT COALESCE(b.min::bigint, b.sum) AS min,
            COALESCE(b.max::bigint, b.sum) AS max,
            COALESCE(b.first::bigint, b.sum) AS first,
            COALESCE(b.last::bigint, b.sum) AS last) s
UNION ALL
 SELECT d."time" AS bucket,
    o.stream_id,
    d.method_id,
    d.channel_no,
    f.count AS n,
    f.count_1 AS value_n,
    f.count_2 AS good_n,
    f.count_3 AS suspect_n,
    f.sum,
    f.sum_1 AS good_sum,
    f.sum_2 AS suspect_sum,
    f.min,
    f.min_1 AS good_min,
    f.min_2 AS suspect_min,
    f.max,
    f.max_1 AS good_max,
    f.max_2 AS suspect_max,
    f.array_agg AS first,
    f.array_agg_1 AS good_first,
    f.array_agg_2 AS last,
    f.array_agg_3 AS good_last,
    true AS is_open
   FROM derived_open o
     CROSS JOIN LATERAL open_minutes(o.data) d("time", method_id, channel_no, n, is_beat, base, reasons, codec)
     CROSS JOIN LATERAL ( SELECT count(*) AS count,
            count(p.steps) AS count,
            count(p.steps) FILTER (WHERE p.qmask = 0) AS count,
            count(p.steps) FILTER (WHERE p.qmask = 1) AS count,
            sum(p.steps)::bigint AS sum,
            sum(p.steps) FILTER (WHERE p.qmask = 0)::bigint AS sum,
            sum(p.steps) FILTER (WHERE p.qmask = 1)::bigint AS sum,
            min(p.steps) AS min,
            min(p.steps) FILTER (WHERE p.qmask = 0) AS min,
            min(p.steps) FILTER (WHERE p.qmask = 1) AS min,
            max(p.steps) AS max,
            max(p.steps) FILTER (WHERE p.qmask = 0) AS max,
            max(p.steps) FILTER (WHERE p.qmask = 1) AS max,
            (array_agg(p.steps ORDER BY p.ts_ns) FILTER (WHERE p.steps IS NOT NULL))[1] AS array_agg,
            (array_agg(p.steps ORDER BY p.ts_ns) FILTER (WHERE p.steps IS NOT NULL AND p.qmask = 0))[1] AS array_agg,
            (array_agg(p.steps ORDER BY p.ts_ns DESC) FILTER (WHERE p.steps IS NOT NULL))[1] AS array_agg,
            (array_agg(p.steps ORDER BY p.ts_ns DESC) FILTER (WHERE p.steps IS NOT NULL AND p.qmask = 0))[1] AS array_agg
           FROM feature_points(d."time", d.n, d.base, d.codec) p(ts_ns, steps, qmask)) f(count, count_1, count_2, count_3, sum, sum_1, sum_2, min, min_1, min_2, max, max_1, max_2, array_agg, array_agg_1, array_agg_2, array_agg_3)
  WHERE NOT d.is_beat;

-- columns of views

api.beat: time timestamp with time zone, ts_ns bigint, stream_id integer, channel_no smallint, method_id smallint, interval_ms double precision, kind smallint, qmask smallint, reason text, confidence double precision
api.beat_block: time timestamp with time zone, stream_id integer, method_id smallint, channel_no smallint, n smallint, reasons text, codec bytea
api.derived_open: stream_id integer, version bigint, data bytea
api.device_event: time timestamp with time zone, ts_ns bigint, id uuid, stream_id integer, code text, content text
api.feature: time timestamp with time zone, ts_ns bigint, value double precision, stream_id integer, method_id smallint, channel_no smallint, qmask smallint
api.feature_1d: bucket timestamp with time zone, stream_id integer, method_id smallint, channel_no smallint, n bigint, value_n bigint, good_n bigint, suspect_n bigint, sum numeric, good_sum numeric, suspect_sum numeric, min double precision, good_min double precision, suspect_min double precision, max double precision, good_max double precision, suspect_max double precision, first double precision, good_first double precision, last double precision, good_last double precision
api.feature_1h: bucket timestamp with time zone, stream_id integer, method_id smallint, channel_no smallint, n bigint, value_n bigint, good_n bigint, suspect_n bigint, sum numeric, good_sum numeric, suspect_sum numeric, min double precision, good_min double precision, suspect_min double precision, max double precision, good_max double precision, suspect_max double precision, first double precision, good_first double precision, last double precision, good_last double precision
api.feature_1m: bucket timestamp with time zone, stream_id integer, method_id smallint, channel_no smallint, n bigint, value_n bigint, good_n bigint, suspect_n bigint, sum numeric, good_sum numeric, suspect_sum numeric, min double precision, good_min double precision, suspect_min double precision, max double precision, good_max double precision, suspect_max double precision, first double precision, good_first double precision, last double precision, good_last double precision
api.feature_block: time timestamp with time zone, sum bigint, good_sum bigint, suspect_sum bigint, stream_id integer, min integer, max integer, first integer, last integer, good_min integer, good_max integer, good_first integer, good_last integer, suspect_min integer, suspect_max integer, method_id smallint, channel_no smallint, n smallint, value_n smallint, good_n smallint, suspect_n smallint, codec bytea
api.measurement: time timestamp with time zone, ts_ns bigint, id uuid, organization_id uuid, project_id uuid, xuser_id uuid, biosignal_id integer, value double precision, unit text, qmask smallint, method_code text, device_id uuid, stream_id integer, given_value double precision, given_unit text
api.sample_block: time timestamp with time zone, start_ns bigint, stream_id integer, n integer, min real, max real, mean real, channel_no smallint, suspect_n smallint, bad_n smallint, codec bytea
beat: time timestamp with time zone, ts_ns bigint, stream_id integer, channel_no smallint, method_id smallint, interval_ms double precision, kind smallint, qmask smallint, reason text, confidence double precision
feature: time timestamp with time zone, ts_ns bigint, value double precision, stream_id integer, method_id smallint, channel_no smallint, qmask smallint
feature_1d: bucket timestamp with time zone, stream_id integer, method_id smallint, channel_no smallint, n bigint, value_n bigint, good_n bigint, suspect_n bigint, sum numeric, good_sum numeric, suspect_sum numeric, min double precision, good_min double precision, suspect_min double precision, max double precision, good_max double precision, suspect_max double precision, first double precision, good_first double precision, last double precision, good_last double precision
feature_1h: bucket timestamp with time zone, stream_id integer, method_id smallint, channel_no smallint, n bigint, value_n bigint, good_n bigint, suspect_n bigint, sum numeric, good_sum numeric, suspect_sum numeric, min double precision, good_min double precision, suspect_min double precision, max double precision, good_max double precision, suspect_max double precision, first double precision, good_first double precision, last double precision, good_last double precision
feature_1m: bucket timestamp with time zone, stream_id integer, method_id smallint, channel_no smallint, n bigint, value_n bigint, good_n bigint, suspect_n bigint, sum numeric, good_sum numeric, suspect_sum numeric, min double precision, good_min double precision, suspect_min double precision, max double precision, good_max double precision, suspect_max double precision, first double precision, good_first double precision, last double precision, good_last double precision
feature_day: bucket timestamp with time zone, stream_id integer, method_id smallint, channel_no smallint, n bigint, value_n bigint, good_n bigint, suspect_n bigint, sum bigint, good_sum bigint, suspect_sum bigint, min bigint, good_min bigint, suspect_min bigint, max bigint, good_max bigint, suspect_max bigint, first bigint, good_first bigint, last bigint, good_last bigint
feature_hour: bucket timestamp with time zone, stream_id integer, method_id smallint, channel_no smallint, n bigint, value_n bigint, good_n bigint, suspect_n bigint, sum bigint, good_sum bigint, suspect_sum bigint, min bigint, good_min bigint, suspect_min bigint, max bigint, good_max bigint, suspect_max bigint, first bigint, good_first bigint, last bigint, good_last bigint
feature_minute: bucket timestamp with time zone, stream_id integer, method_id smallint, channel_no smallint, n bigint, value_n bigint, good_n bigint, suspect_n bigint, sum bigint, good_sum bigint, suspect_sum bigint, min bigint, good_min bigint, suspect_min bigint, max bigint, good_max bigint, suspect_max bigint, first bigint, good_first bigint, last bigint, good_last bigint, is_open boolean

-- functions

CREATE OR REPLACE FUNCTION api.beat_values(from_time timestamp with time zone, to_time timestamp with time zone)
 RETURNS TABLE("time" timestamp with time zone, ts_ns bigint, stream_id integer, channel_no smallint, method_id smallint, interval_ms double precision, kind smallint, qmask smallint, reason text, confidence double precision)
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select x.time, p.ts_ns, b.stream_id, b.channel_no, b.method_id, p.interval_us / 1000::double precision, p.kind, p.qmask, p.reason,
    case when p.qmask <> 2 and p.kind < 2 then p.confidence / 100::double precision end
  from (
    select f.time, f.stream_id, f.method_id, f.channel_no, f.n::integer, f.reasons, f.codec from api.beat_block f
    where f.time > from_time - interval '1 minute' and f.time < to_time
    union all
    select d.time, o.stream_id, d.method_id, d.channel_no, d.n, d.reasons, d.codec from api.derived_open o cross join lateral open_minutes(o.data) d
    where d.is_beat and d.time > from_time - interval '1 minute' and d.time < to_time) b
  cross join lateral beat_points(b.time, b.n, b.reasons, b.codec) p
  cross join lateral (select timestamptz 'epoch' + (p.ts_ns - case when p.ts_ns < 0 then 999 else 0 end) / 1000 * interval '1 microsecond' as time) x
  where x.time >= from_time and x.time < to_time
$function$
CREATE OR REPLACE FUNCTION api.feature_buckets(stream_ids integer[], method_ids smallint[], from_time timestamp with time zone, to_time timestamp with time zone, hours_from timestamp with time zone, hours_to timestamp with time zone, days_from timestamp with time zone, days_to timestamp with time zone, worst integer, with_extremes boolean)
 RETURNS TABLE(stream_id integer, method_id smallint, channel_no smallint, per_unit double precision, times bytea, counts bytea, value_counts bytea, good_sums bytea, suspect_sums bytea, every_sums bytea, good_ranges bytea, suspect_ranges bytea, every_ranges bytea, good_ends bytea, every_ends bytea, open bytea)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  return query select f.* from public.feature_buckets(
    array(select s.id from public.stream s where s.id = any (stream_ids) and s.organization_id = public.current_organization()),
    method_ids, from_time, to_time, hours_from, hours_to, days_from, days_to, worst, with_extremes) f;
end
$function$
CREATE OR REPLACE FUNCTION api.feature_values(from_time timestamp with time zone, to_time timestamp with time zone)
 RETURNS TABLE("time" timestamp with time zone, ts_ns bigint, value double precision, stream_id integer, method_id smallint, channel_no smallint, qmask smallint)
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select x.time, p.ts_ns, p.steps / steps_per_unit(m.step), b.stream_id, b.method_id, b.channel_no, p.qmask
  from (
    select f.time, f.stream_id, f.method_id, f.channel_no, f.n::integer, coalesce(f.min, f.sum) as base, f.codec from api.feature_block f
    where f.time > from_time - interval '1 minute' and f.time < to_time
    union all
    select d.time, o.stream_id, d.method_id, d.channel_no, d.n, d.base, d.codec from api.derived_open o cross join lateral open_minutes(o.data) d
    where not d.is_beat and d.time > from_time - interval '1 minute' and d.time < to_time) b
  join method m on m.id = b.method_id
  cross join lateral feature_points(b.time, b.n, b.base, b.codec) p
  cross join lateral (select timestamptz 'epoch' + (p.ts_ns - case when p.ts_ns < 0 then 999 else 0 end) / 1000 * interval '1 microsecond' as time) x
  where x.time >= from_time and x.time < to_time
$function$
CREATE OR REPLACE FUNCTION public.apply_retention()
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  rule record;
  dropped integer := 0;
begin
  for rule in select relation, retention_cutoff(relation) as cutoff from retention where keep is not null loop
    dropped := dropped + (select count(*) from drop_chunks(rule.relation::regclass, older_than => rule.cutoff));
  end loop;
  return dropped;
end
$function$
CREATE OR REPLACE FUNCTION public.audit_log_append_only()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'audit_log is append-only' using errcode = 'insufficient_privilege';
end
$function$
CREATE OR REPLACE FUNCTION public.audit_log_broken_at(organization uuid)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select min(chain_seq) from (
    select a.chain_seq,
      a.chain_seq = 1 + coalesce(lag(a.chain_seq) over w, 0)
        and a.prev_hash is not distinct from lag(a.hash) over w
        and a.hash = sha256(coalesce(a.prev_hash, ''::bytea) || audit_log_text(a)) as whole
    from audit_log a
    where a.organization_id is not distinct from organization and a.chain_seq is not null
    window w as (order by a.chain_seq)
  ) entries where not coalesce(whole, false)
$function$
CREATE OR REPLACE FUNCTION public.audit_log_chain()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock(hashtextextended('biosignal audit ' || coalesce(new.organization_id::text, ''), 0));
  select chain_seq + 1, hash into new.chain_seq, new.prev_hash
  from audit_log
  where organization_id is not distinct from new.organization_id and chain_seq is not null
  order by chain_seq desc limit 1;
  new.chain_seq := coalesce(new.chain_seq, 1);
  new.hash := sha256(coalesce(new.prev_hash, ''::bytea) || audit_log_text(new));
  return new;
end
$function$
CREATE OR REPLACE FUNCTION public.audit_log_text(entry audit_log)
 RETURNS bytea
 LANGUAGE sql
 STABLE
 SET "TimeZone" TO 'UTC'
AS $function$
  select convert_to((
    to_jsonb(entry) - 'id' - 'hash' - 'prev_hash'
      - case when entry.subject_id is null then 'subject_id' else '' end
      - case when entry.project_id is null then 'project_id' else '' end
  )::text, 'UTF8')
$function$
CREATE OR REPLACE FUNCTION public.beat_points(minute timestamp with time zone, n integer, reasons text, codec bytea)
 RETURNS TABLE(ts_ns bigint, interval_us bigint, kind smallint, qmask smallint, reason text, confidence smallint)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE ROWS 80
AS $function$
  select b.ts_ns,
    case b.code >> 12
      when 1 then (b.ts_ns - max(b.ts_ns) filter (where b.code >> 8 & 3 <> 3) over (order by b.i rows between unbounded preceding and 1 preceding)) / 1000
      when 2 then block_bits(codec, 8 * b.written_at + 32 * (count(*) filter (where b.code >> 12 = 2) over (order by b.i rows unbounded preceding))::integer - 32, 32)
    end,
    (b.code >> 8 & 3)::smallint, (b.code >> 10 & 3)::smallint, case when b.code & 255 = 0 then '' else split_part(reasons, E'\x01', b.code & 255) end,
    case when b.doubt > 0 then (101 - b.doubt)::smallint end
  from (
    select i, h.start_ns + h.unit_ns * (i * h.step + block_bits(codec, 8 * h.times_at + i * h.time_width, h.time_width)) as ts_ns,
      block_bits(codec, 8 * h.codes_from + 16 * block_bits(codec, 8 * h.codes_at + i * h.code_width, h.code_width)::integer, 16)::integer as code,
      block_bits(codec, 8 * (h.codes_at + (n * h.code_width + 7) / 8) + i * h.doubt_width, h.doubt_width) as doubt,
      h.codes_at + (n * h.code_width + 7) / 8 + (n * h.doubt_width + 7) / 8 as written_at
    from (
      select w.*, power(10, w.exponent)::bigint as unit_ns, block_width(w.known) as code_width, w.times_at + (n * w.time_width + 7) / 8 as codes_at,
        -- times, codes and confidences are there, and what is left are intervals of four bytes
        case when w.known > 0 and w.doubt_width <= 7 and is_block_line(n, w.exponent, w.step, w.time_width)
            and (length(codec) - w.times_at - (n * w.time_width + 7) / 8 - (n * block_width(w.known) + 7) / 8 - (n * w.doubt_width + 7) / 8)
              between 0 and 4 * n
          -- a confidence below 0 is damage, and needs 7 bits
          then case when w.doubt_width = 7 and exists (select from generate_series(0, n - 1) d
                where block_bits(codec, 8 * (w.times_at + (n * w.time_width + 7) / 8 + (n * block_width(w.known) + 7) / 8) + 7 * d, 7) > 101)
              then -1 else n - 1 end
          else -1 end as last
      from (
        select date_part('epoch', minute)::bigint * 1000000000 + block_bits(codec, 8, 48) - 140737488355328 as start_ns,
          case when s.has_head then get_byte(codec, 0) & 15 else 0 end as exponent, block_bits(codec, 56, 40) as step,
          case when s.has_head then get_byte(codec, 12) else 0 end as time_width, s.known,
          case when s.is_sure then get_byte(codec, 14) else 0 end as doubt_width,
          case when s.is_sure then 15 else 14 end as codes_from, case when s.is_sure then 15 else 14 end + 2 * s.known as times_at
        from (
          select length(codec) > 13 as has_head, case when length(codec) > 13 then get_byte(codec, 13) else 0 end as known,
            case when length(codec) > 14 then get_byte(codec, 0) >= 240 else false end as is_sure
          offset 0) s
        offset 0) w
      offset 0) h
    cross join generate_series(0, h.last) i) b
$function$
CREATE OR REPLACE FUNCTION public.beat_values(from_time timestamp with time zone, to_time timestamp with time zone)
 RETURNS TABLE("time" timestamp with time zone, ts_ns bigint, stream_id integer, channel_no smallint, method_id smallint, interval_ms double precision, kind smallint, qmask smallint, reason text, confidence double precision)
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select x.time, p.ts_ns, b.stream_id, b.channel_no, b.method_id, p.interval_us / 1000::double precision, p.kind, p.qmask, p.reason,
    case when p.qmask <> 2 and p.kind < 2 then p.confidence / 100::double precision end
  from (
    select f.time, f.stream_id, f.method_id, f.channel_no, f.n::integer, f.reasons, f.codec from beat_block f
    where f.time > from_time - interval '1 minute' and f.time < to_time
    union all
    select d.time, o.stream_id, d.method_id, d.channel_no, d.n, d.reasons, d.codec from derived_open o cross join lateral open_minutes(o.data) d
    where d.is_beat and d.time > from_time - interval '1 minute' and d.time < to_time) b
  cross join lateral beat_points(b.time, b.n, b.reasons, b.codec) p
  cross join lateral (select timestamptz 'epoch' + (p.ts_ns - case when p.ts_ns < 0 then 999 else 0 end) / 1000 * interval '1 microsecond' as time) x
  where x.time >= from_time and x.time < to_time
$function$
CREATE OR REPLACE FUNCTION public.block_bits(bytes bytea, at integer, width integer)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select (('x' || encode(substring(bytes from 1 + (at >> 3) for 6), 'hex'))::bit(48)::bigint >> (48 - (at & 7) - width)) & ((1::bigint << width) - 1)
$function$
CREATE OR REPLACE FUNCTION public.block_float32(bits bigint)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE STRICT
AS $function$
  select case
    when (bits >> 23) & 255 = 255 then case
      when bits & 8388607 <> 0 then 'NaN'::double precision
      when bits >> 31 = 1 then '-Infinity'::double precision
      else 'Infinity'::double precision end
    else (case when bits >> 31 = 1 then -1.0 else 1.0 end)::double precision
      * (bits & 8388607 | case when (bits >> 23) & 255 = 0 then 0 else 8388608 end)::double precision
      * power(2::double precision, (greatest((bits >> 23) & 255, 1) - 150)::double precision) end
$function$
CREATE OR REPLACE FUNCTION public.block_int32(value bigint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE STRICT
AS $function$
  select ((value & 4294967295) # 2147483648) - 2147483648
$function$
CREATE OR REPLACE FUNCTION public.block_number(bytes bytea, INOUT at integer, OUT value bigint)
 RETURNS record
 LANGUAGE plpgsql
 IMMUTABLE STRICT
AS $function$
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
$function$
CREATE OR REPLACE FUNCTION public.block_width(below integer)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when below <= 1 then 0 when below <= 2 then 1 when below <= 4 then 2 when below <= 8 then 3 when below <= 16 then 4
    when below <= 32 then 5 when below <= 64 then 6 when below <= 128 then 7 else 8 end
$function$
CREATE OR REPLACE FUNCTION public.claim_log(new_owner uuid, new_owner_name text, seen_epoch bigint)
 RETURNS TABLE(epoch bigint, checkpoint bigint, newest bigint)
 LANGUAGE sql
AS $function$
  select * from claim_log(new_owner, new_owner_name, seen_epoch, 0)
$function$
CREATE OR REPLACE FUNCTION public.claim_log(new_owner uuid, new_owner_name text, seen_epoch bigint, new_form integer)
 RETURNS TABLE(epoch bigint, checkpoint bigint, newest bigint)
 LANGUAGE plpgsql
AS $function$
begin
  if (select s.partitions from cluster_setting s) > 1 then
    raise exception 'subjects are in several partitions, which this release does not know: start a newer one' using errcode = '55000';
  end if;
  return query select c.epoch, c.checkpoint, c.newest from claim_log(new_owner, new_owner_name, array[seen_epoch], new_form) c;
end
$function$
CREATE OR REPLACE FUNCTION public.claim_log(new_owner uuid, new_owner_name text, seen bigint[], new_form integer)
 RETURNS TABLE(partition smallint, epoch bigint, checkpoint bigint, newest bigint)
 LANGUAGE plpgsql
AS $function$
declare
  wanted constant smallint[] := array(select generate_series(0, cardinality(seen) - 1)::smallint);
begin
  -- First all that may be waited for in vain, or fail: a session lock that was taken before would outlive the failure.
  perform pg_advisory_xact_lock(803145, w.partition) from unnest(wanted) as w (partition);
  perform from cluster_setting for update;
  perform refuse_log_form(new_form);
  if (select s.partitions from cluster_setting s) <> cardinality(seen) then
    return;
  end if;
  if not pg_try_advisory_lock(8031447120945) then -- nodes of a cluster share it
    return;
  end if;
  return query select * from claim_partitions(new_owner, new_owner_name, wanted, seen, new_form);
  if not found then
    perform pg_advisory_unlock(8031447120945);
  end if;
end
$function$
CREATE OR REPLACE FUNCTION public.claim_partitions(new_owner uuid, new_owner_name text, wanted smallint[], seen bigint[], new_form integer)
 RETURNS TABLE(partition smallint, epoch bigint, checkpoint bigint, newest bigint)
 LANGUAGE plpgsql
AS $function$
declare
  given bigint;
  top bigint;
begin
  perform pg_advisory_xact_lock(803145, w.partition) from (select p.partition from unnest(wanted) as p (partition) order by 1) w;
  -- Statements of their own: they see what the locks were waited for.
  perform refuse_log_form(new_form);
  if exists (
    select from unnest(wanted, seen) as w (partition, epoch)
    left join packet_log_checkpoint c on c.partition = w.partition and c.epoch = w.epoch where c.partition is null
  ) then
    return;
  end if;
  -- Locked from here to the commit, a moment: claims of other partitions wait, and read what this one has left.
  perform from cluster_setting for update;
  top := (select max(l.batch_id) from packet_log l);
  -- A restore, or a release before that one, may have left higher numbers than this database counted.
  update cluster_setting s
    set epoch = greatest(s.epoch, top >> 32, (select max(greatest(c.epoch, c.batch_id >> 32)) from packet_log_checkpoint c)) + 1
    returning s.epoch into given;
  return query
    update packet_log_checkpoint c
    set epoch = given, owner = new_owner, owner_name = new_owner_name, renewed_at = clock_timestamp(), form = new_form
    where c.partition = any (wanted)
    returning c.partition, c.epoch, c.batch_id, greatest(c.batch_id, top);
end
$function$
CREATE OR REPLACE FUNCTION public.current_organization()
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select nullif(current_setting('bio.organization_id', true), '')::uuid
$function$
CREATE OR REPLACE FUNCTION public.decode_block(bytes bytea)
 RETURNS TABLE(k bigint, value double precision, qmask smallint)
 LANGUAGE plpgsql
 IMMUTABLE STRICT
AS $function$
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
$function$
CREATE OR REPLACE FUNCTION public.feature_buckets(stream_ids integer[], method_ids smallint[], from_time timestamp with time zone, to_time timestamp with time zone, hours_from timestamp with time zone, hours_to timestamp with time zone, days_from timestamp with time zone, days_to timestamp with time zone, worst integer, with_extremes boolean)
 RETURNS TABLE(stream_id integer, method_id smallint, channel_no smallint, per_unit double precision, times bytea, counts bytea, value_counts bytea, good_sums bytea, suspect_sums bytea, every_sums bytea, good_ranges bytea, suspect_ranges bytea, every_ranges bytea, good_ends bytea, every_ends bytea, open bytea)
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
AS $function$
#variable_conflict use_column
begin
  if hours_from is null then
    return query
    select b.stream_id, b.method_id, b.channel_no, (select steps_per_unit(m.step) from method m where m.id = b.method_id),
      string_agg(int8send((date_part('epoch', b.time) / 60)::bigint << 32 | b.n), ''),
      string_agg(int8send(coalesce(b.good_n, b.value_n, b.n)::bigint << 32 | coalesce(b.suspect_n, 0)), ''),
      string_agg(int8send(coalesce(b.value_n, b.n)), '') filter (where worst = 2),
      string_agg(int8send(coalesce(case when b.good_n is null then b.sum else b.good_sum end, 0)), ''),
      string_agg(int8send(coalesce(case when b.suspect_n = coalesce(b.value_n, b.n) then b.sum else b.suspect_sum end, 0)), '') filter (where worst > 0),
      string_agg(int8send(coalesce(b.sum, 0)), '') filter (where worst = 2),
      string_agg(int8send(case when b.good_n is null then pair(coalesce(b.min, b.sum), coalesce(b.max, b.sum)) else pair(b.good_min, b.good_max) end), '')
        filter (where with_extremes),
      string_agg(int8send(case when b.suspect_n = coalesce(b.value_n, b.n) then pair(coalesce(b.min, b.sum), coalesce(b.max, b.sum))
        else pair(b.suspect_min, b.suspect_max) end), '') filter (where with_extremes and worst > 0),
      string_agg(int8send(pair(coalesce(b.min, b.sum), coalesce(b.max, b.sum))), '') filter (where with_extremes and worst = 2),
      string_agg(int8send(case when b.good_n is null then pair(coalesce(b.first, b.sum), coalesce(b.last, b.sum)) else pair(b.good_first, b.good_last) end), '')
        filter (where with_extremes),
      string_agg(int8send(pair(coalesce(b.first, b.sum), coalesce(b.last, b.sum))), '') filter (where with_extremes and worst = 2),
      null::bytea
    from (
      select * from feature_block m
      where m.stream_id = any (stream_ids) and m.method_id = any (method_ids) and m.time >= from_time and m.time < to_time
      offset 0) b
    group by b.stream_id, b.method_id, b.channel_no;
  else
    return query
    with noted as materialized (
      select distinct d.stream_id, d.method_id, d.channel_no, d.bucket, date_bin('1 day', d.bucket, timestamptz '2001-01-01 00:00:00+00') as day
      from rollup_dirty d
      where d.stream_id = any (stream_ids) and d.method_id = any (method_ids) and d.bucket >= hours_from and d.bucket < hours_to
    ), bucket as (
      -- the minutes before and after whole hours, and those of noted hours
      select m.* from feature_minute m
      where m.stream_id = any (stream_ids) and m.method_id = any (method_ids) and m.bucket >= from_time and m.bucket < least(to_time, hours_from) and not m.is_open
      union all
      select m.* from feature_minute m
      where m.stream_id = any (stream_ids) and m.method_id = any (method_ids) and m.bucket >= hours_to and m.bucket < to_time and not m.is_open
      union all
      select m.* from noted d cross join lateral (
        select * from feature_minute m
        where m.stream_id = d.stream_id and m.method_id = d.method_id and m.channel_no = d.channel_no
          and m.bucket >= d.bucket and m.bucket < d.bucket + interval '1 hour' and not m.is_open
        offset 0) m
      union all
      select k.*, false from feature_1h_kept k
      where k.stream_id = any (stream_ids) and k.method_id = any (method_ids)
        and (k.bucket >= hours_from and k.bucket < least(hours_to, days_from) or k.bucket >= days_to and k.bucket < hours_to)
        and not exists (
          select from noted d where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.bucket = k.bucket)
      union all
      select k.*, false from (select distinct d.stream_id, d.method_id, d.channel_no, d.day from noted d where d.day >= days_from and d.day < days_to) d
      cross join lateral (
        select * from feature_1h_kept k
        where k.stream_id = d.stream_id and k.method_id = d.method_id and k.channel_no = d.channel_no
          and k.bucket >= d.day and k.bucket < d.day + interval '1 day'
          and not exists (
            select from noted x where x.stream_id = k.stream_id and x.method_id = k.method_id and x.channel_no = k.channel_no and x.bucket = k.bucket)
        offset 0) k
      union all
      select k.*, false from feature_1d_kept k
      where k.stream_id = any (stream_ids) and k.method_id = any (method_ids) and k.bucket >= days_from and k.bucket < days_to
        and not exists (
          select from noted d where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.day = k.bucket)
    )
    select b.stream_id, b.method_id, b.channel_no, (select steps_per_unit(m.step) from method m where m.id = b.method_id),
      string_agg(int8send((date_part('epoch', b.bucket) / 60)::bigint << 32 | b.n), ''),
      string_agg(int8send(b.good_n << 32 | b.suspect_n), ''),
      string_agg(int8send(b.value_n), '') filter (where worst = 2),
      string_agg(int8send(coalesce(b.good_sum, 0)), ''),
      string_agg(int8send(coalesce(b.suspect_sum, 0)), '') filter (where worst > 0),
      string_agg(int8send(coalesce(b.sum, 0)), '') filter (where worst = 2),
      string_agg(int8send(pair(b.good_min, b.good_max)), '') filter (where with_extremes),
      string_agg(int8send(pair(b.suspect_min, b.suspect_max)), '') filter (where with_extremes and worst > 0),
      string_agg(int8send(pair(b.min, b.max)), '') filter (where with_extremes and worst = 2),
      string_agg(int8send(pair(b.good_first, b.good_last)), '') filter (where with_extremes),
      string_agg(int8send(pair(b.first, b.last)), '') filter (where with_extremes and worst = 2),
      null::bytea
    from bucket b
    group by b.stream_id, b.method_id, b.channel_no;
  end if;
  return query
  select o.stream_id, d.method_id, d.channel_no, (select steps_per_unit(m.step) from method m where m.id = d.method_id),
    null::bytea, null::bytea, null::bytea, null::bytea, null::bytea, null::bytea, null::bytea, null::bytea, null::bytea, null::bytea, null::bytea,
    string_agg(packed_minute(d.time, d.n, d.base, d.codec), '')
  from derived_open o cross join lateral open_minutes(o.data) d
  where o.stream_id = any (stream_ids) and d.method_id = any (method_ids) and not d.is_beat and d.time >= from_time and d.time < to_time
  group by o.stream_id, d.method_id, d.channel_no;
end
$function$
CREATE OR REPLACE FUNCTION public.feature_points(minute timestamp with time zone, n integer, base bigint, codec bytea)
 RETURNS TABLE(ts_ns bigint, steps bigint, qmask smallint)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE ROWS 30
AS $function$
  select h.start_ns + h.unit_ns * (i * h.step + block_bits(codec, 8 * h.times_at + i * h.time_width, h.time_width)),
    case when c.code < 4 then base + block_bits(codec, 8 * h.values_at + i * h.value_width, h.value_width) end,
    (c.code & 3)::smallint
  from (
    select w.start_ns, power(10, w.exponent)::bigint as unit_ns, w.step, w.time_width, w.value_width, w.times_at,
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
    select get_byte(codec, case when n > 1
      then least(15 + block_bits(codec, 8 * h.codes_at + i * h.code_width, h.code_width)::integer, length(codec) - 1) else 7 end) as code
    offset 0) c
$function$
CREATE OR REPLACE FUNCTION public.feature_values(from_time timestamp with time zone, to_time timestamp with time zone)
 RETURNS TABLE("time" timestamp with time zone, ts_ns bigint, value double precision, stream_id integer, method_id smallint, channel_no smallint, qmask smallint)
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
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
$function$
CREATE OR REPLACE FUNCTION public.fence_writer()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  held constant text := current_setting('bio.partitions', true);
  epoch_of_log constant text := current_setting('bio.epoch', true);
begin
  if held <> '' then
    perform hold_partitions(held::smallint[], current_setting('bio.epochs')::bigint[]);
  elsif epoch_of_log <> '' then
    perform hold_log(epoch_of_log::bigint);
  elsif current_user in ('biosignal_ingest', 'biosignal_worker') then
    if exists (select from packet_log_checkpoint where epoch > 0) then
      raise exception '% is written by the owner of the packet log only', tg_table_name using errcode = 'BS001';
    end if;
  end if;
  return null;
end
$function$
CREATE OR REPLACE FUNCTION public.folded(words text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case
    when octet_length(words) = char_length(words) then lower(words collate "C")
    else replace(replace(replace(replace(
      lower(lower(translate(normalize(words, nfd),
        U&'ıøØłŁđĐħĦ\0300\0301\0302\0303\0304\0306\0307\0308\0309\030a\030b\030c\031b\0323\0326\0327\0328',
        'ioollddhh') collate "C") collate "default"),
      'ß', 'ss'), 'ẞ', 'ss'), 'æ', 'ae'), 'œ', 'oe') collate "C"
  end
$function$
CREATE OR REPLACE FUNCTION public.free_abbreviation(of_project uuid, of_biosignal integer, wanted text)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  candidate text := wanted;
  tries integer := 0;
begin
  while candidate ~ '^[0-9]+(-[0-9])?$'
    or exists (select from biosignal b where b.project_id = of_project and name_key(b.abbreviation) = name_key(candidate) and b.id <> of_biosignal)
    or exists (select from biosignal b where b.project_id is null and name_key(candidate) in (name_key(b.abbreviation), name_key(b.name), b.feature))
  loop
    tries := tries + 1;
    candidate := wanted || '-OWN' || case when tries > 1 then tries::text else '' end;
  end loop;
  return candidate;
end
$function$
CREATE OR REPLACE FUNCTION public.give_free_abbreviation()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  new.abbreviation := free_abbreviation(new.project_id, new.id, new.abbreviation);
  return new;
end
$function$
CREATE OR REPLACE FUNCTION public.has_feature(stream_ids integer[], method smallint, from_time timestamp with time zone, to_time timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select exists (
      select from unnest(stream_ids) s (id) cross join lateral (
        select b.time from feature_block b
        where b.stream_id = s.id and b.method_id = method and b.time > from_time - interval '1 minute' and b.time < to_time
        offset 0) b
      where b.time >= from_time and b.time <= to_time - interval '1 minute')
    or exists (select from feature_values(from_time, to_time) f where f.stream_id = any (stream_ids) and f.method_id = method)
$function$
CREATE OR REPLACE FUNCTION public.hold_log(held bigint)
 RETURNS void
 LANGUAGE sql
AS $function$
  select hold_partitions('{0}', array[held])
$function$
CREATE OR REPLACE FUNCTION public.hold_partitions(held smallint[], epochs bigint[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  -- In memory only: no WAL, no row lock. In order, so that claims and writers cannot wait for each other in a circle.
  perform pg_advisory_xact_lock_shared(803145, h.partition) from (select p.partition from unnest(held) as p (partition) order by 1) h;
  -- A statement of its own: it sees the claim that the lock was waited for.
  if exists (
    select from unnest(held, epochs) as h (partition, epoch)
    left join packet_log_checkpoint c on c.partition = h.partition and c.epoch = h.epoch where c.partition is null
  ) then
    raise exception 'another instance has taken the packet log over' using errcode = 'BS001';
  end if;
end
$function$
CREATE OR REPLACE FUNCTION public.is_block_line(n integer, exponent integer, step bigint, width integer)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select n between 1 and 32767 and exponent <= 9 and width <= 40
    and power(10, exponent) * (step::double precision * (n - 1) + power(2, width)) < 1e15
$function$
CREATE OR REPLACE FUNCTION public.is_quiet(quiet_from time without time zone, quiet_to time without time zone, time_zone text, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select coalesce(case when quiet_from < quiet_to then t >= quiet_from and t < quiet_to else t >= quiet_from or t < quiet_to end, false)
  from (select (at at time zone time_zone)::time as t) clock
$function$
CREATE OR REPLACE FUNCTION public.missing_consents(person uuid)
 RETURNS text[]
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select coalesce(array_agg(required.purpose order by required.purpose), '{}')
  from xuser x
  join project p on p.id = x.project_id
  cross join unnest(p.consent_required) as required (purpose)
  where x.id = person
    and not coalesce((
      select c.granted from consent c where c.xuser_id = x.id and c.purpose = required.purpose order by c.id desc limit 1
    ), false)
$function$
CREATE OR REPLACE FUNCTION public.move_own_aside()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  update biosignal set abbreviation = free_abbreviation(project_id, id, abbreviation)
    where project_id is not null and name_key(abbreviation) in (name_key(new.abbreviation), name_key(new.name), new.feature);
  return null;
end
$function$
CREATE OR REPLACE FUNCTION public.name_key(name text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case
    when octet_length(name) = char_length(name) then lower(name collate "C")
    else lower(lower(normalize(name, nfd) collate "C") collate "default") collate "C"
  end
$function$
CREATE OR REPLACE FUNCTION public.newest_beat_ns(stream integer, method smallint DEFAULT NULL::smallint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
AS $function$
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
$function$
CREATE OR REPLACE FUNCTION public.newest_feature_ns(stream integer, method smallint DEFAULT NULL::smallint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
AS $function$
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
$function$
CREATE OR REPLACE FUNCTION public.newest_value(stream integer, method smallint)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select timestamptz 'epoch' + (n.ns - case when n.ns < 0 then 999 else 0 end) / 1000 * interval '1 microsecond' from newest_feature_ns(stream, method) as n (ns)
$function$
CREATE OR REPLACE FUNCTION public.note_hours(stream_ids integer[], method_ids smallint[], channel_nos smallint[], times timestamp with time zone[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(803144, 1);
  insert into rollup_dirty (stream_id, method_id, channel_no, bucket)
  select distinct x.stream_id, x.method_id, x.channel_no, date_bin('1 hour', x.time, timestamptz '2001-01-01 00:00:00+00')
  from unnest(stream_ids, method_ids, channel_nos, times) as x (stream_id, method_id, channel_no, time)
  order by 1, 2, 3, 4
  on conflict do nothing;
end
$function$
CREATE OR REPLACE FUNCTION public.note_rollup_dirty()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(803144, 1);
  insert into rollup_dirty (stream_id, method_id, channel_no, bucket)
  select distinct stream_id, method_id, channel_no, date_bin('1 hour', time, timestamptz '2001-01-01 00:00:00+00') from changed
  order by 1, 2, 3, 4 -- one order for all writers: no deadlock
  on conflict do nothing;
  return null;
end
$function$
CREATE OR REPLACE FUNCTION public.notify_auth()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('bio_auth', tg_table_name || ':' || (to_jsonb(old) ->> tg_argv[0]));
  return null;
end
$function$
CREATE OR REPLACE FUNCTION public.notify_auth_insert()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('bio_auth', tg_table_name || ':' || (to_jsonb(new) ->> tg_argv[0]));
  return null;
end
$function$
CREATE OR REPLACE FUNCTION public.open_event_episode(event_id uuid, event_time timestamp with time zone, of_stream integer, event_code text, event_text text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  rule episode_event;
  recording record;
begin
  select * into rule from episode_event where code = event_code;
  if not found then
    return;
  end if;
  select s.uuid, s.organization_id, s.project_id, s.xuser_id, d.external_id as device
  into recording from stream s join device d on d.id = s.device_id where s.id = of_stream;
  if not found then
    return; -- erased meanwhile
  end if;
  insert into episode (id, organization_id, project_id, xuser_id, stream_id, kind, title, status, severity, started_at, ended_at, summary, created_by)
  values (event_id, recording.organization_id, recording.project_id, recording.xuser_id, of_stream, event_code,
    coalesce(nullif(left(btrim(regexp_replace(event_text, '[[:cntrl:]]+', ' ', 'g')), 200), ''), rule.title), 'closed', rule.severity, event_time, event_time,
    jsonb_build_object('event', event_code, 'text', event_text), 'device:' || recording.device)
  on conflict (id) do nothing;
  if not found then
    return;
  end if;
  insert into artifact (episode_id, kind, title, starts_at, ends_at, stream_id, created_by)
  values (event_id, 'strip', rule.before_sec || ' s before, ' || rule.after_sec || ' s after', event_time - rule.before_sec * interval '1 second',
    event_time + rule.after_sec * interval '1 second', of_stream, 'device:' || recording.device);
  insert into webhook_delivery (webhook_id, event, payload)
  select id, 'episode.created', jsonb_build_object('type', 'episode.created', 'timestamp', to_json(now()), 'data',
    jsonb_build_object('episode_id', event_id, 'subject_id', recording.xuser_id, 'kind', event_code, 'severity', rule.severity, 'started_at', to_json(event_time)))
  from webhook
  where organization_id = recording.organization_id and (project_id is null or project_id = recording.project_id) and disabled_at is null and gone_at is null
    and (events @> array['episode.created'] or events @> array['*'])
  for share;
end
$function$
CREATE OR REPLACE FUNCTION public.open_minutes(data bytea)
 RETURNS TABLE("time" timestamp with time zone, method_id smallint, channel_no smallint, n integer, is_beat boolean, base bigint, reasons text, codec bytea)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE ROWS 30
AS $function$
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
$function$
CREATE OR REPLACE FUNCTION public.packed_beats(minute timestamp with time zone, n integer, reasons text, codec bytea)
 RETURNS bytea
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select int4send((date_part('epoch', minute) / 60)::integer) || int4send(n) || int4send(length(codec))
    || int8send(octet_length(coalesce(reasons, ''))) || codec || convert_to(coalesce(reasons, ''), 'UTF8')
$function$
CREATE OR REPLACE FUNCTION public.packed_minute(minute timestamp with time zone, n integer, base bigint, codec bytea)
 RETURNS bytea
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select int4send((date_part('epoch', minute) / 60)::integer) || int4send(n) || int4send(length(codec)) || int8send(coalesce(base, 0)) || codec
$function$
CREATE OR REPLACE FUNCTION public.pair(high bigint, low bigint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select coalesce(high, 0) << 32 | (coalesce(low, 0) & 4294967295)
$function$
CREATE OR REPLACE PROCEDURE public.refresh_hours(INOUT hours integer DEFAULT 0, IN rows_max integer DEFAULT 2000)
 LANGUAGE plpgsql
AS $procedure$
begin
  hours := 0;
  if not pg_try_advisory_lock(803144, 2) then
    return;
  end if;
  -- the list, in a transaction of its own; hours that are still being written are left for a later run
  perform pg_advisory_xact_lock(803144, 1);
  with ended as materialized (
    select stream_id, method_id, channel_no, bucket, taken from rollup_dirty
    where not taken and bucket < now() - interval '65 minutes' limit rows_max
  ), open as materialized (
    select o.stream_id, d.method_id, d.channel_no, date_bin('1 hour', d.time, timestamptz '2001-01-01 00:00:00+00') as bucket
    from derived_open o cross join lateral open_minutes(o.data) d
    where o.stream_id in (select e.stream_id from ended e) and not d.is_beat
  ), noted as (
    delete from rollup_dirty r using ended e
    where r.stream_id = e.stream_id and r.method_id = e.method_id and r.channel_no = e.channel_no and r.bucket = e.bucket and not r.taken
      and not exists (
        select from open x where x.stream_id = e.stream_id and x.method_id = e.method_id and x.channel_no = e.channel_no and x.bucket = e.bucket)
    returning r.stream_id, r.method_id, r.channel_no, r.bucket)
  insert into rollup_dirty select noted.*, true from noted on conflict do nothing;
  commit;

  create temporary table if not exists refreshed_hour (
    stream_id integer, method_id smallint, channel_no smallint, bucket timestamptz, day timestamptz) on commit delete rows;
  insert into refreshed_hour
  select stream_id, method_id, channel_no, bucket, date_bin('1 day', bucket, timestamptz '2001-01-01 00:00:00+00') from rollup_dirty where taken;
  analyze refreshed_hour;

  delete from feature_1h_kept k using refreshed_hour d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.bucket = k.bucket;
  insert into feature_1h_kept
  select d.bucket, d.stream_id, d.method_id, d.channel_no, m.*
  from refreshed_hour d
  cross join lateral (
  select
    sum(n)::bigint as n, sum(value_n)::bigint as value_n, sum(good_n)::bigint as good_n, sum(suspect_n)::bigint as suspect_n,
    sum(sum)::bigint as sum, sum(good_sum)::bigint as good_sum, sum(suspect_sum)::bigint as suspect_sum,
    min(min) as min, min(good_min) as good_min, min(suspect_min) as suspect_min,
    max(max) as max, max(good_max) as good_max, max(suspect_max) as suspect_max,
    (array_agg(first order by bucket) filter (where first is not null))[1] as first,
    (array_agg(good_first order by bucket) filter (where good_first is not null))[1] as good_first,
    (array_agg(last order by bucket desc) filter (where last is not null))[1] as last,
    (array_agg(good_last order by bucket desc) filter (where good_last is not null))[1] as good_last
    from feature_minute
    where bucket >= d.bucket and bucket < d.bucket + interval '1 hour'
      and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
    having count(*) > 0) m;

  delete from feature_1d_kept k using (select distinct stream_id, method_id, channel_no, day from refreshed_hour) d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.day = k.bucket;
  insert into feature_1d_kept
  select d.day, d.stream_id, d.method_id, d.channel_no, h.*
  from (select distinct stream_id, method_id, channel_no, day from refreshed_hour) d
  cross join lateral (
  select
    sum(n)::bigint as n, sum(value_n)::bigint as value_n, sum(good_n)::bigint as good_n, sum(suspect_n)::bigint as suspect_n,
    sum(sum)::bigint as sum, sum(good_sum)::bigint as good_sum, sum(suspect_sum)::bigint as suspect_sum,
    min(min) as min, min(good_min) as good_min, min(suspect_min) as suspect_min,
    max(max) as max, max(good_max) as good_max, max(suspect_max) as suspect_max,
    (array_agg(first order by bucket) filter (where first is not null))[1] as first,
    (array_agg(good_first order by bucket) filter (where good_first is not null))[1] as good_first,
    (array_agg(last order by bucket desc) filter (where last is not null))[1] as last,
    (array_agg(good_last order by bucket desc) filter (where good_last is not null))[1] as good_last
    from feature_1h_kept
    where bucket >= d.day and bucket < d.day + interval '1 day'
      and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
    having count(*) > 0) h;

  delete from rollup_dirty where taken;
  get diagnostics hours = row_count;
  commit;
  perform pg_advisory_unlock(803144, 2);
end
$procedure$
CREATE OR REPLACE FUNCTION public.refuse_consent_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'consent records are not changed; add another' using errcode = 'restrict_violation';
end
$function$
CREATE OR REPLACE FUNCTION public.refuse_log_form(known_form integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from packet_log_checkpoint c where c.form > known_form) then
    raise exception 'the packet log has batches that this release cannot read: start the release that wrote them, or a newer one'
      using errcode = '55000';
  end if;
end
$function$
CREATE OR REPLACE FUNCTION public.retention_cutoff(relation_name text)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select case when r.relation = 'packet_log'
    then least(now() - r.keep,
      (select min(p.time) from packet_log_checkpoint c, packet_log p where p.batch_id > c.batch_id and p.partition = c.partition))
    else now() - r.keep end
  from retention r where r.relation = relation_name
$function$
CREATE OR REPLACE FUNCTION public.samples(stream_uuid uuid, channel_code text, from_time timestamp with time zone, to_time timestamp with time zone)
 RETURNS TABLE("time" timestamp with time zone, ts_ns bigint, value double precision, qmask smallint)
 LANGUAGE sql
 STABLE
AS $function$
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
$function$
CREATE OR REPLACE FUNCTION public.set_partitions(count smallint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  given bigint;
  top bigint;
begin
  perform pg_advisory_xact_lock(803145, c.partition) from (select partition from packet_log_checkpoint order by 1) c;
  if exists (select from packet_log l join packet_log_checkpoint c on c.partition = l.partition where l.batch_id > c.batch_id) then
    raise exception 'the packet log has packets that are not in the tables: start the service once, and stop it' using errcode = '55000';
  end if;
  update cluster_setting s set epoch = s.epoch + 1, partitions = count returning s.epoch into given;
  top := (select max(batch_id) from packet_log_checkpoint);
  delete from packet_log_checkpoint where partition >= count;
  insert into packet_log_checkpoint (partition, form)
    select p, (select max(form) from packet_log_checkpoint) from generate_series(0, count - 1) p on conflict (partition) do nothing;
  update packet_log_checkpoint set epoch = given, owner = null, batch_id = top;
end
$function$
CREATE OR REPLACE FUNCTION public.steps_per_unit(step double precision)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when step > 0 then round(1 / step) else 1000 end
$function$

-- triggers

CREATE TRIGGER allowed_origin_notify AFTER DELETE ON public.allowed_origin FOR EACH ROW EXECUTE FUNCTION notify_auth('project_id')
CREATE TRIGGER allowed_origin_notify_insert AFTER INSERT ON public.allowed_origin FOR EACH ROW EXECUTE FUNCTION notify_auth_insert('project_id')
CREATE TRIGGER api_key_notify AFTER DELETE OR UPDATE OF scopes, expires_at, revoked_at, secret_hash, project_id ON public.api_key FOR EACH ROW EXECUTE FUNCTION notify_auth('id')
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE ON public.audit_log FOR EACH ROW EXECUTE FUNCTION audit_log_append_only()
CREATE TRIGGER audit_log_chain BEFORE INSERT ON public.audit_log FOR EACH ROW EXECUTE FUNCTION audit_log_chain()
CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION audit_log_append_only()
CREATE TRIGGER beat_block_fence BEFORE INSERT OR DELETE OR UPDATE ON public.beat_block FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER biosignal_catalog AFTER INSERT OR UPDATE OF abbreviation, name, feature ON public.biosignal FOR EACH ROW WHEN ((new.project_id IS NULL)) EXECUTE FUNCTION move_own_aside()
CREATE TRIGGER biosignal_own BEFORE INSERT ON public.biosignal FOR EACH ROW WHEN ((new.project_id IS NOT NULL)) EXECUTE FUNCTION give_free_abbreviation()
CREATE TRIGGER consent_append_only BEFORE UPDATE ON public.consent FOR EACH ROW EXECUTE FUNCTION refuse_consent_change()
CREATE TRIGGER consent_notify AFTER INSERT ON public.consent FOR EACH ROW EXECUTE FUNCTION notify_auth_insert('xuser_id')
CREATE TRIGGER derived_open_fence BEFORE INSERT OR DELETE OR UPDATE ON public.derived_open FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER device_event_fence BEFORE INSERT OR DELETE OR UPDATE ON public.device_event FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER feature_block_fence BEFORE INSERT OR DELETE OR UPDATE ON public.feature_block FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER feature_block_note_insert AFTER INSERT ON public.feature_block REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_rollup_dirty()
CREATE TRIGGER feature_block_note_update AFTER UPDATE ON public.feature_block REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_rollup_dirty()
CREATE TRIGGER measurement_fence BEFORE INSERT OR DELETE OR UPDATE ON public.measurement FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER operator_account_notify AFTER DELETE OR UPDATE OF role, password_hash, disabled_at ON public.operator_account FOR EACH ROW EXECUTE FUNCTION notify_auth('id')
CREATE TRIGGER operator_session_notify AFTER DELETE OR UPDATE OF revoked_at, expires_at ON public.operator_session FOR EACH ROW EXECUTE FUNCTION notify_auth('id')
CREATE TRIGGER organization_notify AFTER DELETE OR UPDATE ON public.organization FOR EACH ROW EXECUTE FUNCTION notify_auth('id')
CREATE TRIGGER packet_hash_fence BEFORE INSERT OR DELETE OR UPDATE ON public.packet_hash FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER packet_log_fence BEFORE INSERT OR DELETE OR UPDATE ON public.packet_log FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER project_notify AFTER DELETE OR UPDATE ON public.project FOR EACH ROW EXECUTE FUNCTION notify_auth('id')
CREATE TRIGGER sample_block_fence BEFORE INSERT OR DELETE OR UPDATE ON public.sample_block FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER sdk_key_notify AFTER DELETE OR UPDATE ON public.sdk_key FOR EACH ROW EXECUTE FUNCTION notify_auth('id')
CREATE TRIGGER set_aside_fence BEFORE INSERT OR DELETE OR UPDATE ON public.set_aside FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER signing_key_notify AFTER DELETE OR UPDATE ON public.signing_key FOR EACH ROW EXECUTE FUNCTION notify_auth('kid')
CREATE TRIGGER signing_key_notify_insert AFTER INSERT ON public.signing_key FOR EACH ROW EXECUTE FUNCTION notify_auth_insert('kid')
CREATE TRIGGER stream_channel_fence BEFORE INSERT OR DELETE OR UPDATE ON public.stream_channel FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER xuser_notify AFTER DELETE OR UPDATE OF disabled_at, project_id, external_id ON public.xuser FOR EACH ROW EXECUTE FUNCTION notify_auth('id')

-- policies

allowed_origin: allowed_origin_own for ALL to biosignal_api using ((project_id IN ( SELECT project.id
   FROM project
  WHERE (project.organization_id = current_organization()))))
allowed_origin: allowed_origin_service for ALL to biosignal_ingest, biosignal_worker using (true)
annotation: annotation_own for ALL to biosignal_api using ((organization_id = current_organization()))
api_key: api_key_own for ALL to biosignal_api using ((organization_id = current_organization()))
api_key: api_key_service for ALL to biosignal_ingest, biosignal_worker using (true)
artifact: artifact_own for ALL to biosignal_api using ((EXISTS ( SELECT
   FROM episode e
  WHERE ((e.id = artifact.episode_id) AND (e.organization_id = current_organization())))))
artifact: artifact_service for ALL to biosignal_ingest, biosignal_worker using (true)
audit_log: audit_log_own for ALL to biosignal_api using ((organization_id = current_organization()))
audit_log: audit_log_read for SELECT to biosignal_audit using ((organization_id = current_organization()))
biosignal: biosignal_own for ALL to biosignal_api using (((project_id IS NULL) OR (project_id IN ( SELECT project.id
   FROM project
  WHERE (project.organization_id = current_organization())))))
biosignal: biosignal_service for ALL to biosignal_ingest, biosignal_worker using (true)
consent: consent_own for ALL to biosignal_api using ((organization_id = current_organization()))
consent: consent_service for ALL to biosignal_ingest, biosignal_worker using (true)
device: device_own for ALL to biosignal_api using ((organization_id = current_organization()))
device: device_service for ALL to biosignal_ingest, biosignal_worker using (true)
device_profile: device_profile_own for ALL to biosignal_api using (((organization_id IS NULL) OR (organization_id = current_organization())))
device_profile: device_profile_service for ALL to biosignal_ingest, biosignal_worker using (true)
episode: episode_own for ALL to biosignal_api using ((organization_id = current_organization()))
episode: episode_service for ALL to biosignal_ingest, biosignal_worker using (true)
episode_acknowledgement: episode_acknowledgement_own for ALL to biosignal_api using ((EXISTS ( SELECT
   FROM episode e
  WHERE ((e.id = episode_acknowledgement.episode_id) AND (e.organization_id = current_organization())))))
episode_email: episode_email_own for ALL to biosignal_api using ((organization_id = current_organization()))
episode_rule: episode_rule_own for ALL to biosignal_api using ((organization_id = current_organization()))
goal: goal_own for ALL to biosignal_api using ((organization_id = current_organization()))
idempotency: idempotency_own for ALL to biosignal_api using ((organization_id = current_organization()))
idempotency: idempotency_service for ALL to biosignal_ingest, biosignal_worker using (true)
journal_entry: journal_entry_own for ALL to biosignal_api using ((organization_id = current_organization()))
mood: mood_own for ALL to biosignal_api using ((organization_id = current_organization()))
operator_account: operator_account_own for ALL to biosignal_api using ((organization_id = current_organization()))
operator_account: operator_account_service for ALL to biosignal_ingest, biosignal_worker using (true)
operator_session: operator_session_own for ALL to biosignal_api using ((operator_id IN ( SELECT operator_account.id
   FROM operator_account
  WHERE (operator_account.organization_id = current_organization()))))
operator_session: operator_session_service for ALL to biosignal_ingest, biosignal_worker using (true)
organization: organization_own for ALL to biosignal_api using ((id = current_organization()))
organization: organization_service for ALL to biosignal_ingest, biosignal_worker using (true)
person_group: person_group_own for ALL to biosignal_api using ((organization_id = current_organization()))
person_group_member: person_group_member_own for ALL to biosignal_api using ((organization_id = current_organization()))
project: project_own for ALL to biosignal_api using ((organization_id = current_organization()))
project: project_service for ALL to biosignal_ingest, biosignal_worker using (true)
project_biosignal: project_biosignal_own for ALL to biosignal_api using ((project_id IN ( SELECT project.id
   FROM project
  WHERE (project.organization_id = current_organization()))))
project_biosignal: project_biosignal_service for ALL to biosignal_ingest, biosignal_worker using (true)
project_retention: project_retention_own for ALL to biosignal_api using ((organization_id = current_organization()))
project_retention: project_retention_service for SELECT to biosignal_ingest using (true)
public_key_use: public_key_use_own for ALL to biosignal_api using ((project_id IN ( SELECT project.id
   FROM project
  WHERE (project.organization_id = current_organization()))))
questionnaire: questionnaire_own for ALL to biosignal_api using ((organization_id = current_organization()))
questionnaire_draft: questionnaire_draft_own for ALL to biosignal_api using ((organization_id = current_organization()))
questionnaire_response: questionnaire_response_own for ALL to biosignal_api using ((organization_id = current_organization()))
sdk_key: sdk_key_own for ALL to biosignal_api using ((project_id IN ( SELECT project.id
   FROM project
  WHERE (project.organization_id = current_organization()))))
sdk_key: sdk_key_service for ALL to biosignal_ingest, biosignal_worker using (true)
set_aside: set_aside_own for SELECT to biosignal_api using ((organization_id = current_organization()))
set_aside: set_aside_service for ALL to biosignal_ingest, biosignal_worker using (true) with check (true)
stream: stream_own for ALL to biosignal_api using ((organization_id = current_organization()))
stream: stream_service for ALL to biosignal_ingest, biosignal_worker using (true)
stream_channel: stream_channel_own for ALL to biosignal_api using ((EXISTS ( SELECT
   FROM stream s
  WHERE ((s.id = stream_channel.stream_id) AND (s.organization_id = current_organization())))))
stream_channel: stream_channel_service for ALL to biosignal_ingest, biosignal_worker using (true)
task: task_own for ALL to biosignal_api using ((organization_id = current_organization()))
task_schedule: task_schedule_own for ALL to biosignal_api using ((organization_id = current_organization()))
webhook: webhook_own for ALL to biosignal_api using ((organization_id = current_organization()))
webhook_delivery: webhook_delivery_own for ALL to biosignal_api using ((webhook_id IN ( SELECT webhook.id
   FROM webhook
  WHERE (webhook.organization_id = current_organization()))))
xuser: xuser_own for ALL to biosignal_api using ((organization_id = current_organization()))
xuser: xuser_service for ALL to biosignal_ingest, biosignal_worker using (true)

-- rights

api.beat: select to biosignal_api
api.beat_block: select to biosignal_api
api.derived_open: select to biosignal_api
api.device_event: select to biosignal_api
api.feature: select to biosignal_api
api.feature_1d: select to biosignal_api
api.feature_1h: select to biosignal_api
api.feature_1m: select to biosignal_api
api.feature_block: select to biosignal_api
api.measurement: delete, insert, select to biosignal_api
api.sample_block: select to biosignal_api
public.allowed_origin: delete, insert, select, update to biosignal_api
public.annotation: insert, select, update to biosignal_api
public.api_key: delete, insert, select, update to biosignal_api
public.artifact: delete, insert, select, update to biosignal_api
public.audit_log: insert, select to biosignal_api
public.audit_log: select to biosignal_audit
public.beat_block: delete, insert, select, update to biosignal_worker
public.biosignal: delete, insert, select, update to biosignal_api
public.biosignal: insert, select to biosignal_ingest
public.biosignal: insert, select to biosignal_worker
public.cluster_node: delete, insert, select, update to biosignal_ingest
public.cluster_node: select to biosignal_worker
public.cluster_setting: select to biosignal_worker
public.cluster_setting: select, update to biosignal_ingest
public.consent: insert, select to biosignal_api
public.consent: select to biosignal_ingest
public.database_kind: select to biosignal_api
public.database_kind: select to biosignal_audit
public.database_kind: select to biosignal_ingest
public.database_kind: select to biosignal_worker
public.derived_open: delete, insert, select, update to biosignal_worker
public.device: delete, insert, select, update to biosignal_api
public.device: insert, select, update to biosignal_ingest
public.device_event: insert, select to biosignal_ingest
public.device_event: insert, select to biosignal_worker
public.device_profile: delete, insert, select, update to biosignal_api
public.device_profile: select to biosignal_ingest
public.episode: delete, insert, select, update to biosignal_api
public.episode_acknowledgement: delete, insert, select, update to biosignal_api
public.episode_email: select to biosignal_api
public.episode_rule: delete, insert, select, update to biosignal_api
public.feature_block: delete, insert, select, update to biosignal_worker
public.goal: delete, insert, select, update to biosignal_api
public.idempotency: delete, insert, select, update to biosignal_api
public.journal_entry: delete, insert, select, update to biosignal_api
public.measurement: insert, select to biosignal_ingest
public.measurement: insert, select to biosignal_worker
public.method: insert, select, update to biosignal_worker
public.method: select to biosignal_api
public.mood: delete, insert, select, update to biosignal_api
public.operator_account: delete, insert, select, update to biosignal_api
public.operator_session: delete, insert, select, update to biosignal_api
public.organization: delete, insert, select, update to biosignal_api
public.organization: select to biosignal_ingest
public.packet_hash: insert, select to biosignal_ingest
public.packet_log: insert, select to biosignal_ingest
public.packet_log_checkpoint: select to biosignal_worker
public.packet_log_checkpoint: select, update to biosignal_ingest
public.person_group: delete, insert, select, update to biosignal_api
public.person_group_member: delete, insert, select, update to biosignal_api
public.project: delete, insert, select, update to biosignal_api
public.project: select to biosignal_ingest
public.project_biosignal: delete, insert, select, update to biosignal_api
public.project_retention: delete, insert, select, update to biosignal_api
public.project_retention: select to biosignal_ingest
public.public_key_use: select to biosignal_api
public.questionnaire: delete, insert, select, update to biosignal_api
public.questionnaire_draft: delete, insert, select, update to biosignal_api
public.questionnaire_response: delete, insert, select, update to biosignal_api
public.retention: select to biosignal_ingest
public.retention: select to biosignal_worker
public.rollup_dirty: delete, insert, select, update to biosignal_worker
public.sample_block: delete, insert, select to biosignal_ingest
public.sample_block: select to biosignal_worker
public.sdk_key: delete, insert, select, update to biosignal_api
public.set_aside: delete, insert, select, update to biosignal_ingest
public.set_aside: insert, select, update to biosignal_worker
public.set_aside: select to biosignal_api
public.stream: delete, insert, select, update to biosignal_api
public.stream: insert, select, update to biosignal_ingest
public.stream: select to biosignal_worker
public.stream_channel: delete, insert, select, update to biosignal_api
public.stream_channel: insert, select to biosignal_ingest
public.stream_channel: select to biosignal_worker
public.task: delete, insert, select, update to biosignal_api
public.task_schedule: delete, insert, select, update to biosignal_api
public.unit_conversion: select to biosignal_api
public.unit_conversion: select to biosignal_ingest
public.unit_conversion: select to biosignal_worker
public.webhook: delete, insert, select, update to biosignal_api
public.webhook_delivery: delete, insert, select, update to biosignal_api
public.xuser: delete, insert, select, update to biosignal_api
public.xuser: insert, select, update to biosignal_ingest
public.xuser: select to biosignal_worker

-- rights on schemas and functions

api.beat_values(timestamp with time zone,timestamp with time zone): execute to public
api.feature_buckets(integer[],smallint[],timestamp with time zone,timestamp with time zone,timestamp with time zone,timestamp with time zone,timestamp with time zone,timestamp with time zone,integer,boolean): execute to biosignal_api
api.feature_values(timestamp with time zone,timestamp with time zone): execute to public
apply_retention(): execute to public
audit_log_append_only(): execute to public
audit_log_broken_at(uuid): execute to public
audit_log_chain(): execute to public
audit_log_text(audit_log): execute to public
beat_points(timestamp with time zone,integer,text,bytea): execute to public
beat_values(timestamp with time zone,timestamp with time zone): execute to public
block_bits(bytea,integer,integer): execute to public
block_float32(bigint): execute to public
block_int32(bigint): execute to public
block_number(bytea,integer): execute to public
block_width(integer): execute to public
claim_log(uuid,text,bigint): execute to public
claim_log(uuid,text,bigint,integer): execute to public
claim_log(uuid,text,bigint[],integer): execute to public
claim_partitions(uuid,text,smallint[],bigint[],integer): execute to public
current_organization(): execute to biosignal_api
current_organization(): execute to biosignal_audit
current_organization(): execute to public
decode_block(bytea): execute to public
feature_points(timestamp with time zone,integer,bigint,bytea): execute to public
feature_values(timestamp with time zone,timestamp with time zone): execute to public
fence_writer(): execute to public
folded(text): execute to public
free_abbreviation(uuid,integer,text): execute to public
give_free_abbreviation(): execute to public
has_feature(integer[],smallint,timestamp with time zone,timestamp with time zone): execute to public
hold_log(bigint): execute to public
hold_partitions(smallint[],bigint[]): execute to public
is_block_line(integer,integer,bigint,integer): execute to public
is_quiet(time without time zone,time without time zone,text,timestamp with time zone): execute to public
missing_consents(uuid): execute to biosignal_api
missing_consents(uuid): execute to biosignal_ingest
missing_consents(uuid): execute to public
move_own_aside(): execute to public
name_key(text): execute to public
newest_beat_ns(integer,smallint): execute to public
newest_feature_ns(integer,smallint): execute to public
newest_value(integer,smallint): execute to public
note_hours(integer[],smallint[],smallint[],timestamp with time zone[]): execute to public
note_rollup_dirty(): execute to public
notify_auth(): execute to public
notify_auth_insert(): execute to public
open_event_episode(uuid,timestamp with time zone,integer,text,text): execute to biosignal_worker
open_minutes(bytea): execute to public
packed_beats(timestamp with time zone,integer,text,bytea): execute to public
packed_minute(timestamp with time zone,integer,bigint,bytea): execute to public
pair(bigint,bigint): execute to public
refresh_hours(integer,integer): execute to public
refuse_consent_change(): execute to public
refuse_log_form(integer): execute to public
retention_cutoff(text): execute to public
samples(uuid,text,timestamp with time zone,timestamp with time zone): execute to public
schema api: usage to biosignal_api
schema api: usage to biosignal_audit
schema api: usage to biosignal_ingest
schema api: usage to biosignal_worker
schema public: usage to biosignal_api
schema public: usage to biosignal_audit
schema public: usage to biosignal_ingest
schema public: usage to biosignal_worker
schema public: usage to public
set_partitions(smallint): execute to public
steps_per_unit(double precision): execute to public

-- comments

sample_block: one row: the samples of one channel in 1, 2, 4 or 8 seconds of the device clock, the fewest that make 800 samples
stream.last_sample_at: end of the newest sample, measurement or event
stream.recorded_from: first sample, measurement or event; null: none yet
stream.rules_looked_to: newest value that all rules have looked at, some minutes late; null: none yet
stream.started_at: when its first packet arrived
stream.time_source: stated: by the recording; device: its clock; age: of its packets, by a clock that was wrong; arrival: of its first packet

-- hypertables

beat_block: time by 7 days, columnstore
device_event: time by 28 days
feature_block: time by 7 days, columnstore
measurement: time by 28 days, columnstore
packet_hash: time by 06:00:00
packet_log: time by 06:00:00
sample_block: time by 1 day, columnstore

-- columnstore

beat_block: segmentby stream_id,channel_no,method_id orderby "time"
device_event: segmentby  orderby
feature_block: segmentby stream_id,method_id,channel_no orderby "time"
measurement: segmentby xuser_id,biosignal_id orderby "time",id
packet_hash: segmentby  orderby
packet_log: segmentby  orderby
sample_block: segmentby stream_id,channel_no orderby "time"

-- continuous aggregates


-- indexes of continuous aggregates


-- jobs

policy_compression of beat_block: every 12:00:00, at most 00:00:00, -1 tries, again after 01:00:00 {"compress_after": "15 days"}
policy_compression of feature_block: every 12:00:00, at most 00:00:00, -1 tries, again after 01:00:00 {"compress_after": "15 days"}
policy_compression of measurement: every 12:00:00, at most 00:00:00, -1 tries, again after 01:00:00 {"compress_after": "60 days"}
policy_compression of sample_block: every 12:00:00, at most 00:00:00, -1 tries, again after 01:00:00 {"compress_after": "8 days"}

-- rows of biosignal

{"id": 1, "code": null, "name": "Electrocardiogram", "role": "measurement", "unit": "mV", "feature": null, "mdc_code": "131328", "loinc_code": "", "project_id": null, "signal_type": "waveform", "source_type": "device", "abbreviation": "ECG", "channel_kind": "ecg", "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 2, "code": null, "name": "Photoplethysmogram", "role": "measurement", "unit": "1", "feature": null, "mdc_code": "150452", "loinc_code": "", "project_id": null, "signal_type": "waveform", "source_type": "device", "abbreviation": "PPG", "channel_kind": "ppg", "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 3, "code": null, "name": "Electrodermal activity", "role": "measurement", "unit": "uS", "feature": null, "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "waveform", "source_type": "device", "abbreviation": "EDA", "channel_kind": "eda", "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 4, "code": null, "name": "Temperature signal", "role": "measurement", "unit": "Cel", "feature": null, "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "waveform", "source_type": "device", "abbreviation": "TEMP", "channel_kind": "temp", "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 5, "code": null, "name": "Respiration signal", "role": "measurement", "unit": "1", "feature": null, "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "waveform", "source_type": "device", "abbreviation": "RESP-W", "channel_kind": "resp", "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 6, "code": null, "name": "Acceleration", "role": "measurement", "unit": "[g]", "feature": null, "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "waveform", "source_type": "device", "abbreviation": "ACC", "channel_kind": "acc", "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 7, "code": null, "name": "Angular velocity", "role": "measurement", "unit": "deg/s", "feature": null, "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "waveform", "source_type": "device", "abbreviation": "GYRO", "channel_kind": "gyro", "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 20, "code": null, "name": "Heart rate from ECG", "role": "calculation", "unit": "/min", "feature": "hr_ecg", "mdc_code": "", "loinc_code": "8867-4", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "HR", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 21, "code": null, "name": "Pulse rate from PPG", "role": "calculation", "unit": "/min", "feature": "hr_ppg", "mdc_code": "", "loinc_code": "8867-4", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "HR-PPG", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 22, "code": null, "name": "HRV RMSSD, 60 s", "role": "calculation", "unit": "ms", "feature": "hrv_rmssd_60s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "RMSSD", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 23, "code": null, "name": "HRV SDNN, 5 min", "role": "calculation", "unit": "ms", "feature": "hrv_sdnn_300s", "mdc_code": "", "loinc_code": "80404-7", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SDNN", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 24, "code": null, "name": "HRV pNN50, 5 min", "role": "calculation", "unit": "1", "feature": "hrv_pnn50_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PNN50", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 25, "code": null, "name": "HRV low-frequency power, 5 min", "role": "calculation", "unit": "ms2", "feature": "hrv_lf_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "LF", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 26, "code": null, "name": "HRV high-frequency power, 5 min", "role": "calculation", "unit": "ms2", "feature": "hrv_hf_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "HF", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 27, "code": null, "name": "HRV LF/HF ratio, 5 min", "role": "calculation", "unit": "1", "feature": "hrv_lf_hf_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "LF/HF", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 28, "code": null, "name": "PRV SDNN, 5 min", "role": "calculation", "unit": "ms", "feature": "prv_sdnn_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PRV-SDNN", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 29, "code": null, "name": "PRV RMSSD, 60 s", "role": "calculation", "unit": "ms", "feature": "prv_rmssd_60s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PRV-RMSSD", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 30, "code": null, "name": "Respiratory rate", "role": "calculation", "unit": "/min", "feature": "resp_rate", "mdc_code": "", "loinc_code": "9279-1", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "RESP", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 31, "code": null, "name": "Tonic skin conductance", "role": "calculation", "unit": "uS", "feature": "eda_tonic", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SCL", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 32, "code": null, "name": "Skin conductance responses", "role": "calculation", "unit": "/min", "feature": "scr_rate", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SCR", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 33, "code": null, "name": "Skin temperature", "role": "calculation", "unit": "Cel", "feature": "temp_mean", "mdc_code": "", "loinc_code": "61008-9", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SKT", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 34, "code": null, "name": "Physical activity", "role": "calculation", "unit": "[g]", "feature": "activity", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "ACT", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 35, "code": null, "name": "Steps from acceleration", "role": "calculation", "unit": "{steps}", "feature": "steps", "mdc_code": "", "loinc_code": "55423-8", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "STEPS-D", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 36, "code": null, "name": "Signal quality of the ECG", "role": "calculation", "unit": "1", "feature": "sqi_ecg", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SQI-ECG", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 37, "code": null, "name": "Signal quality of the PPG", "role": "calculation", "unit": "1", "feature": "sqi_ppg", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SQI-PPG", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 38, "code": null, "name": "Heart rate from PPG in motion", "role": "calculation", "unit": "/min", "feature": "hr_ppg_motion", "mdc_code": "", "loinc_code": "8867-4", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "HR-PPG-M", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 39, "code": null, "name": "Respiratory rate from the pulse", "role": "calculation", "unit": "/min", "feature": "resp_rate_ppg", "mdc_code": "", "loinc_code": "9279-1", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "RESP-PPG", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 40, "code": null, "name": "Respiratory rate from ECG", "role": "calculation", "unit": "/min", "feature": "resp_rate_ecg", "mdc_code": "", "loinc_code": "9279-1", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "RESP-ECG", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 41, "code": null, "name": "Oxygen saturation from red and infrared light", "role": "calculation", "unit": "%", "feature": "spo2", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SPO2-PPG", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 42, "code": null, "name": "Index of atrial fibrillation, 30 s", "role": "calculation", "unit": "1", "feature": "af_index", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "AF-INDEX", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 43, "code": null, "name": "Longest RR interval, 10 s", "role": "calculation", "unit": "ms", "feature": "longest_rr_10s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "RR-MAX", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 44, "code": null, "name": "PR interval, 60 s", "role": "calculation", "unit": "ms", "feature": "pr_60s", "mdc_code": "", "loinc_code": "8625-6", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PR", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 45, "code": null, "name": "QRS duration, 60 s", "role": "calculation", "unit": "ms", "feature": "qrs_60s", "mdc_code": "", "loinc_code": "8633-0", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "QRS", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 46, "code": null, "name": "QT interval, 60 s", "role": "calculation", "unit": "ms", "feature": "qt_60s", "mdc_code": "", "loinc_code": "8634-8", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "QT", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 47, "code": null, "name": "QT corrected (Bazett), 60 s", "role": "calculation", "unit": "ms", "feature": "qtc_bazett_60s", "mdc_code": "", "loinc_code": "76635-2", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "QTC-B", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 48, "code": null, "name": "QT corrected (Fridericia), 60 s", "role": "calculation", "unit": "ms", "feature": "qtc_fridericia_60s", "mdc_code": "", "loinc_code": "76634-5", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "QTC-F", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 49, "code": null, "name": "QT corrected (Framingham), 60 s", "role": "calculation", "unit": "ms", "feature": "qtc_framingham_60s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "QTC-FR", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 50, "code": null, "name": "QT corrected (Hodges), 60 s", "role": "calculation", "unit": "ms", "feature": "qtc_hodges_60s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "QTC-H", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 60, "code": "steps", "name": "Steps", "role": "measurement", "unit": "{steps}", "feature": null, "mdc_code": "", "loinc_code": "55423-8", "project_id": null, "signal_type": "scalar", "source_type": "device", "abbreviation": "STEPS", "channel_kind": null, "possible_max": 200000, "possible_min": 0, "range_source": "A count; a run of 24 h has about 200,000 steps.", "plausible_max": 100000, "plausible_min": 0}
{"id": 61, "code": "spo2", "name": "Oxygen saturation by pulse oximetry", "role": "measurement", "unit": "%", "feature": null, "mdc_code": "", "loinc_code": "59408-5", "project_id": null, "signal_type": "scalar", "source_type": "device", "abbreviation": "SPO2", "channel_kind": null, "possible_max": 100, "possible_min": 0, "range_source": "A share. Oximeters state their accuracy for 70 to 100 % (ISO 80601-2-61).", "plausible_max": 100, "plausible_min": 50}
{"id": 62, "code": "body_temperature", "name": "Body temperature", "role": "measurement", "unit": "Cel", "feature": null, "mdc_code": "", "loinc_code": "8310-5", "project_id": null, "signal_type": "scalar", "source_type": "device", "abbreviation": "BT", "channel_kind": null, "possible_max": 50, "possible_min": 10, "range_source": "Survived: 13.7 Cel (Gilbert 2000, Lancet 355:375) and 46.5 Cel (Slovis 1982, Ann Emerg Med 11:269).", "plausible_max": 43, "plausible_min": 30}
{"id": 63, "code": "sleep_duration", "name": "Sleep duration", "role": "measurement", "unit": "h", "feature": null, "mdc_code": "", "loinc_code": "93832-4", "project_id": null, "signal_type": "scalar", "source_type": "device", "abbreviation": "SLEEP", "channel_kind": null, "possible_max": 72, "possible_min": 0, "range_source": "A duration; more than 18 h a night is rarely sleep.", "plausible_max": 18, "plausible_min": 0}
{"id": 64, "code": "stress", "name": "Stress score", "role": "measurement", "unit": "{score}", "feature": null, "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "score", "source_type": "device", "abbreviation": "STRESS", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 65, "code": "heart_rate", "name": "Heart rate, as the device reports it", "role": "measurement", "unit": "/min", "feature": null, "mdc_code": "", "loinc_code": "8867-4", "project_id": null, "signal_type": "scalar", "source_type": "device", "abbreviation": "HR-R", "channel_kind": null, "possible_max": 600, "possible_min": 0, "range_source": "Up to 600 /min is described (Chhabra 2012, Indian Pacing Electrophysiol J 12:32).", "plausible_max": 250, "plausible_min": 25}
{"id": 66, "code": "battery", "name": "Battery of the device", "role": "measurement", "unit": "%", "feature": null, "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "device", "abbreviation": "BATT", "channel_kind": null, "possible_max": 100, "possible_min": 0, "range_source": "A share.", "plausible_max": 100, "plausible_min": 0}
{"id": 67, "code": "weight", "name": "Body weight", "role": "measurement", "unit": "kg", "feature": null, "mdc_code": "", "loinc_code": "29463-7", "project_id": null, "signal_type": "scalar", "source_type": "device", "abbreviation": "WEIGHT", "channel_kind": null, "possible_max": 700, "possible_min": 0.2, "range_source": "From the smallest newborns who lived, about 0.2 kg, to the heaviest people, about 635 kg.", "plausible_max": 300, "plausible_min": 2}
{"id": 68, "code": "bp_systolic", "name": "Systolic blood pressure", "role": "measurement", "unit": "mm[Hg]", "feature": null, "mdc_code": "", "loinc_code": "8480-6", "project_id": null, "signal_type": "scalar", "source_type": "device", "abbreviation": "BP-SYS", "channel_kind": null, "possible_max": 500, "possible_min": 0, "range_source": "Up to 480/350 mm[Hg] was measured in weight lifters (MacDougall 1985, J Appl Physiol 58:785).", "plausible_max": 260, "plausible_min": 60}
{"id": 69, "code": "bp_diastolic", "name": "Diastolic blood pressure", "role": "measurement", "unit": "mm[Hg]", "feature": null, "mdc_code": "", "loinc_code": "8462-4", "project_id": null, "signal_type": "scalar", "source_type": "device", "abbreviation": "BP-DIA", "channel_kind": null, "possible_max": 400, "possible_min": 0, "range_source": "Up to 480/350 mm[Hg] was measured in weight lifters (MacDougall 1985, J Appl Physiol 58:785).", "plausible_max": 160, "plausible_min": 30}
{"id": 70, "code": "glucose", "name": "Blood glucose", "role": "measurement", "unit": "mg/dL", "feature": null, "mdc_code": "", "loinc_code": "2339-0", "project_id": null, "signal_type": "scalar", "source_type": "device", "abbreviation": "GLUCOSE", "channel_kind": null, "possible_max": 3000, "possible_min": 0, "range_source": "Meters read 20 to 600 mg/dL; above 2,600 mg/dL was survived.", "plausible_max": 600, "plausible_min": 20}
{"id": 80, "code": "mood", "name": "Mood", "role": "measurement", "unit": "{score}", "feature": null, "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "score", "source_type": "self_report", "abbreviation": "MOOD", "channel_kind": null, "possible_max": 5, "possible_min": 1, "range_source": "The scale.", "plausible_max": 5, "plausible_min": 1}
{"id": 81, "code": "phq9", "name": "PHQ-9 total score", "role": "measurement", "unit": "{score}", "feature": null, "mdc_code": "", "loinc_code": "44261-6", "project_id": null, "signal_type": "score", "source_type": "self_report", "abbreviation": "PHQ-9", "channel_kind": null, "possible_max": 27, "possible_min": 0, "range_source": "The scale.", "plausible_max": 27, "plausible_min": 0}
{"id": 82, "code": "gad7", "name": "GAD-7 total score", "role": "measurement", "unit": "{score}", "feature": null, "mdc_code": "", "loinc_code": "70274-6", "project_id": null, "signal_type": "score", "source_type": "self_report", "abbreviation": "GAD-7", "channel_kind": null, "possible_max": 21, "possible_min": 0, "range_source": "The scale.", "plausible_max": 21, "plausible_min": 0}
{"id": 83, "code": "who5", "name": "WHO-5 well-being index", "role": "measurement", "unit": "%", "feature": null, "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "score", "source_type": "self_report", "abbreviation": "WHO-5", "channel_kind": null, "possible_max": 100, "possible_min": 0, "range_source": "The scale.", "plausible_max": 100, "plausible_min": 0}
{"id": 100, "code": null, "name": "HRV pNN20, 5 min", "role": "calculation", "unit": "1", "feature": "hrv_pnn20_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PNN20", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 101, "code": null, "name": "HRV SD1/SD2 ratio, 5 min", "role": "calculation", "unit": "1", "feature": "hrv_sd1_sd2_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SD1/SD2", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 102, "code": null, "name": "HRV triangular index, 5 min", "role": "calculation", "unit": "1", "feature": "hrv_triangular_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "HRV-TI", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 103, "code": null, "name": "HRV TINN, 5 min", "role": "calculation", "unit": "ms", "feature": "hrv_tinn_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "TINN", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 104, "code": null, "name": "HRV stress index (Baevsky), 5 min", "role": "calculation", "unit": "%/s2", "feature": "hrv_stress_index_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SI", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 105, "code": null, "name": "HRV DFA alpha 1, 5 min", "role": "calculation", "unit": "1", "feature": "hrv_dfa_alpha1_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "DFA-A1", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 106, "code": null, "name": "HRV sample entropy, 5 min", "role": "calculation", "unit": "1", "feature": "hrv_sample_entropy_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SAMPEN", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 107, "code": null, "name": "HRV very-low-frequency power, 5 min", "role": "calculation", "unit": "ms2", "feature": "hrv_vlf_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "VLF", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 108, "code": null, "name": "HRV total power, 5 min", "role": "calculation", "unit": "ms2", "feature": "hrv_total_power_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "TP", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 109, "code": null, "name": "HRV LF, normalised units, 5 min", "role": "calculation", "unit": "%", "feature": "hrv_lf_nu_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "LF-NU", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 110, "code": null, "name": "HRV HF, normalised units, 5 min", "role": "calculation", "unit": "%", "feature": "hrv_hf_nu_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "HF-NU", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 111, "code": null, "name": "Ventricular ectopic burden, 5 min", "role": "calculation", "unit": "%", "feature": "ventricular_burden_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "V-BURDEN", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 112, "code": null, "name": "Supraventricular ectopic burden, 5 min", "role": "calculation", "unit": "%", "feature": "supraventricular_burden_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SV-BURDEN", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 113, "code": null, "name": "Ventricular couplets, 5 min", "role": "calculation", "unit": "{couplets}", "feature": "ventricular_couplets_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "V-COUPLETS", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 114, "code": null, "name": "Ventricular runs, 5 min", "role": "calculation", "unit": "{runs}", "feature": "ventricular_runs_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "V-RUNS", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 115, "code": null, "name": "Longest ventricular run, 10 s", "role": "calculation", "unit": "{beats}", "feature": "ventricular_run_10s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "V-RUN-MAX", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 116, "code": null, "name": "HRV mean NN interval, 5 min", "role": "calculation", "unit": "ms", "feature": "hrv_mean_nn_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "MEAN-NN", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 117, "code": null, "name": "HRV RMSSD, 5 min", "role": "calculation", "unit": "ms", "feature": "hrv_rmssd_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "RMSSD-5M", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 118, "code": null, "name": "HRV SD1, 5 min", "role": "calculation", "unit": "ms", "feature": "hrv_sd1_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SD1", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 119, "code": null, "name": "HRV SD2, 5 min", "role": "calculation", "unit": "ms", "feature": "hrv_sd2_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "SD2", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 120, "code": null, "name": "PRV mean NN interval, 5 min", "role": "calculation", "unit": "ms", "feature": "prv_mean_nn_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PRV-MEAN-NN", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 121, "code": null, "name": "PRV RMSSD, 5 min", "role": "calculation", "unit": "ms", "feature": "prv_rmssd_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PRV-RMSSD-5M", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 122, "code": null, "name": "PRV pNN50, 5 min", "role": "calculation", "unit": "1", "feature": "prv_pnn50_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PRV-PNN50", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 123, "code": null, "name": "PRV SD1, 5 min", "role": "calculation", "unit": "ms", "feature": "prv_sd1_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PRV-SD1", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 124, "code": null, "name": "PRV SD2, 5 min", "role": "calculation", "unit": "ms", "feature": "prv_sd2_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PRV-SD2", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 125, "code": null, "name": "PRV low-frequency power, 5 min", "role": "calculation", "unit": "ms2", "feature": "prv_lf_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PRV-LF", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 126, "code": null, "name": "PRV high-frequency power, 5 min", "role": "calculation", "unit": "ms2", "feature": "prv_hf_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PRV-HF", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 127, "code": null, "name": "PRV LF/HF ratio, 5 min", "role": "calculation", "unit": "1", "feature": "prv_lf_hf_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PRV-LF/HF", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 130, "code": null, "name": "Burden of atrial fibrillation, 5 min", "role": "calculation", "unit": "%", "feature": "af_burden_300s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "AF-BURDEN", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 185, "code": null, "name": "Perfusion index from PPG", "role": "calculation", "unit": "%", "feature": "perfusion_index", "mdc_code": "", "loinc_code": "61006-3", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PI", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 186, "code": null, "name": "PPG sensor worn", "role": "calculation", "unit": "1", "feature": "worn_ppg", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "WORN-PPG", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 187, "code": null, "name": "Crest time of the pulse, 60 s", "role": "calculation", "unit": "ms", "feature": "pulse_crest_time_60s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "CREST-T", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 188, "code": null, "name": "Width of the pulse at half height, 60 s", "role": "calculation", "unit": "ms", "feature": "pulse_width_60s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PULSE-W", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 189, "code": null, "name": "Area ratio of the pulse, 60 s", "role": "calculation", "unit": "1", "feature": "pulse_area_ratio_60s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PULSE-IPA", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 190, "code": null, "name": "Reflection index of the pulse, 60 s", "role": "calculation", "unit": "%", "feature": "pulse_reflection_index_60s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PULSE-RI", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 191, "code": null, "name": "Delay of the reflected pulse wave, 60 s", "role": "calculation", "unit": "ms", "feature": "pulse_reflection_delay_60s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PULSE-DT", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 192, "code": null, "name": "b/a of the second derivative of the pulse, 60 s", "role": "calculation", "unit": "1", "feature": "pulse_b_a_60s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PULSE-BA", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}
{"id": 193, "code": null, "name": "Aging index of the pulse, 60 s", "role": "calculation", "unit": "1", "feature": "pulse_aging_index_60s", "mdc_code": "", "loinc_code": "", "project_id": null, "signal_type": "scalar", "source_type": "derived", "abbreviation": "PULSE-AGI", "channel_kind": null, "possible_max": null, "possible_min": null, "range_source": "", "plausible_max": null, "plausible_min": null}

-- rows of cluster_setting

{"one": true, "epoch": 0, "partitions": 1}

-- rows of device_profile

{"code": "generic", "name": "Any device", "model": "", "channels": [], "spo2_slope": null, "spo2_offset": null, "manufacturer": "", "organization_id": null}
{"code": "simulator", "name": "Simulated chest patch and wristband", "model": "simulator", "channels": [{"code": "ecg.ii", "kind": "ecg", "lead": "II", "unit": "mV", "rate_hz": 250}, {"code": "ppg.ir", "kind": "ppg", "lead": "wrist", "unit": "1", "rate_hz": 125}, {"code": "eda", "kind": "eda", "lead": "wrist", "unit": "uS", "rate_hz": 4}, {"code": "temp.skin", "kind": "temp", "lead": "wrist", "unit": "Cel", "rate_hz": 4}], "spo2_slope": null, "spo2_offset": null, "manufacturer": "biosignal", "organization_id": null}
{"code": "wfdb", "name": "Recording in WFDB format", "model": "", "channels": [], "spo2_slope": null, "spo2_offset": null, "manufacturer": "", "organization_id": null}

-- rows of episode_event

{"code": "alarm", "title": "Alarm of the device", "severity": "high", "after_sec": 15, "before_sec": 15}
{"code": "arrhythmia", "title": "Arrhythmia seen by the device", "severity": "medium", "after_sec": 15, "before_sec": 15}
{"code": "button", "title": "Marked by the wearer", "severity": "low", "after_sec": 15, "before_sec": 15}
{"code": "fall", "title": "Fall", "severity": "high", "after_sec": 15, "before_sec": 15}
{"code": "symptom", "title": "Symptom", "severity": "medium", "after_sec": 15, "before_sec": 15}

-- rows of packet_log_checkpoint

{"form": 0, "epoch": 0, "owner": null, "batch_id": 0, "partition": 0, "owner_name": ""}

-- rows of retention

{"keep": "1 day", "relation": "packet_hash"}
{"keep": "1 day", "relation": "packet_log"}
{"keep": null, "relation": "beat_block"}
{"keep": null, "relation": "device_event"}
{"keep": null, "relation": "feature_block"}
{"keep": null, "relation": "measurement"}
{"keep": null, "relation": "sample_block"}

-- rows of unit_conversion

{"code": "", "unit": "%", "given": "1", "shift": 0, "factor": 100}
{"code": "", "unit": "/min", "given": "1/min", "shift": 0, "factor": 1}
{"code": "", "unit": "/min", "given": "{beats}/min", "shift": 0, "factor": 1}
{"code": "", "unit": "Cel", "given": "K", "shift": -273.15, "factor": 1}
{"code": "", "unit": "Cel", "given": "[degF]", "shift": -17.77777777777778, "factor": 0.5555555555555556}
{"code": "", "unit": "Cel", "given": "°C", "shift": 0, "factor": 1}
{"code": "", "unit": "Cel", "given": "°F", "shift": -17.77777777777778, "factor": 0.5555555555555556}
{"code": "", "unit": "h", "given": "min", "shift": 0, "factor": 0.016666666666666666}
{"code": "", "unit": "h", "given": "s", "shift": 0, "factor": 0.0002777777777777778}
{"code": "", "unit": "kg", "given": "[lb_av]", "shift": 0, "factor": 0.45359237}
{"code": "", "unit": "kg", "given": "g", "shift": 0, "factor": 0.001}
{"code": "", "unit": "kg", "given": "lb", "shift": 0, "factor": 0.45359237}
{"code": "", "unit": "mm[Hg]", "given": "kPa", "shift": 0, "factor": 7.500615758456563}
{"code": "", "unit": "mm[Hg]", "given": "mmHg", "shift": 0, "factor": 1}
{"code": "glucose", "unit": "mg/dL", "given": "mmol/L", "shift": 0, "factor": 18.0156}
{"code": "heart_rate", "unit": "/min", "given": "bpm", "shift": 0, "factor": 1}
