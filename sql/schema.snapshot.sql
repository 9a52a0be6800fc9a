-- The schema on postgres, from the catalogs. Written by npm run schema:dump; never edited.

-- tables

table allowed_origin
  id uuid not null default gen_random_uuid()
  project_id uuid not null
  origin text not null
  created_at timestamp with time zone not null default now()
table api_key
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid
  name text not null
  env text not null
  public_id text not null
  secret_hash bytea not null
  scopes text[] not null
  created_at timestamp with time zone not null default now()
  created_by uuid
  expires_at timestamp with time zone
  revoked_at timestamp with time zone
  last_used_at timestamp with time zone
  rotated_from uuid
table artifact
  id uuid not null default gen_random_uuid()
  episode_id uuid not null
  kind text not null
  title text not null default ''::text
  starts_at timestamp with time zone
  ends_at timestamp with time zone
  stream_id integer
  channel_code text
  media_type text not null default 'application/json'::text
  content jsonb not null default '{}'::jsonb
  data bytea
  created_by text not null default ''::text
  created_at timestamp with time zone not null default now()
table audit_log
  id bigint not null identity always
  time timestamp with time zone not null default now()
  organization_id uuid
  actor_kind text not null
  actor_id text not null default ''::text
  action text not null
  target_kind text not null default ''::text
  target_id text not null default ''::text
  detail jsonb not null default '{}'::jsonb
  ip inet
  request_id text not null default ''::text
  chain_seq bigint
  prev_hash bytea
  hash bytea
  subject_id uuid
  project_id uuid
table beat (RANGE ("time"))
  time timestamp with time zone not null
  ts_ns bigint not null
  stream_id integer not null
  channel_no smallint not null
  method_id smallint not null
  interval_ms double precision
  kind smallint not null
  qmask smallint not null
  reason text not null default ''::text
table biosignal
  id integer not null identity
  project_id uuid
  name text not null
  abbreviation text not null
  unit text not null
  loinc_code text not null default ''::text
  mdc_code text not null default ''::text
  signal_type text not null
  role text not null default 'measurement'::text
  source_type text not null
  feature text
  channel_kind text
  code text
  created_at timestamp with time zone not null default now()
  possible_min double precision
  possible_max double precision
  plausible_min double precision
  plausible_max double precision
  range_source text not null default ''::text
table consent
  id bigint not null identity always
  organization_id uuid not null
  xuser_id uuid not null
  purpose text not null
  granted boolean not null
  document text not null default ''::text
  recorded_by text not null
  created_at timestamp with time zone not null default now()
table database_kind
  kind text not null
  one boolean not null default true
table device
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid
  external_id text not null
  name text not null default ''::text
  profile_id uuid
  xuser_id uuid
  firmware text not null default ''::text
  created_at timestamp with time zone not null default now()
  last_seen_at timestamp with time zone
table device_event (RANGE ("time"))
  time timestamp with time zone not null
  ts_ns bigint not null
  id uuid not null
  stream_id integer not null
  code text not null
  content text not null default ''::text
table device_profile
  id uuid not null default gen_random_uuid()
  organization_id uuid
  code text not null
  name text not null
  manufacturer text not null default ''::text
  model text not null default ''::text
  channels jsonb not null default '[]'::jsonb
  created_at timestamp with time zone not null default now()
  spo2_offset double precision
  spo2_slope double precision
table episode
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  xuser_id uuid not null
  stream_id integer
  kind text not null
  title text not null default ''::text
  status text not null default 'open'::text
  severity text not null default 'none'::text
  started_at timestamp with time zone not null
  ended_at timestamp with time zone
  summary jsonb not null default '{}'::jsonb
  created_by text not null default ''::text
  created_at timestamp with time zone not null default now()
  updated_at timestamp with time zone not null default now()
table episode_acknowledgement
  id uuid not null default gen_random_uuid()
  episode_id uuid not null
  acknowledged_by text not null
  name text not null default ''::text
  note text not null default ''::text
  created_at timestamp with time zone not null default now()
  ended_at timestamp with time zone
table episode_event
  code text not null
  title text not null
  severity text not null
  before_sec integer not null
  after_sec integer not null
table feature (RANGE ("time"))
  time timestamp with time zone not null
  ts_ns bigint not null
  value double precision
  stream_id integer not null
  method_id smallint not null
  channel_no smallint not null
  qmask smallint not null
table feature_1d_kept
  bucket timestamp with time zone not null
  stream_id integer not null
  method_id smallint not null
  channel_no smallint not null
  n bigint not null
  value_n bigint not null
  good_n bigint not null
  suspect_n bigint not null
  sum numeric
  good_sum numeric
  suspect_sum numeric
  min double precision
  good_min double precision
  suspect_min double precision
  max double precision
  good_max double precision
  suspect_max double precision
  first double precision
  good_first double precision
  last double precision
  good_last double precision
table feature_1h_kept
  bucket timestamp with time zone not null
  stream_id integer not null
  method_id smallint not null
  channel_no smallint not null
  n bigint not null
  value_n bigint not null
  good_n bigint not null
  suspect_n bigint not null
  sum numeric
  good_sum numeric
  suspect_sum numeric
  min double precision
  good_min double precision
  suspect_min double precision
  max double precision
  good_max double precision
  suspect_max double precision
  first double precision
  good_first double precision
  last double precision
  good_last double precision
table feature_1m_kept
  bucket timestamp with time zone not null
  stream_id integer not null
  method_id smallint not null
  channel_no smallint not null
  n bigint not null
  value_n bigint not null
  good_n bigint not null
  suspect_n bigint not null
  sum numeric
  good_sum numeric
  suspect_sum numeric
  min double precision
  good_min double precision
  suspect_min double precision
  max double precision
  good_max double precision
  suspect_max double precision
  first double precision
  good_first double precision
  last double precision
  good_last double precision
table goal
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  xuser_id uuid not null
  biosignal_id integer not null
  title text not null default ''::text
  target double precision not null
  agg text not null default 'sum'::text
  period text not null default 'day'::text
  created_by text not null default ''::text
  created_at timestamp with time zone not null default now()
  ended_at timestamp with time zone
table idempotency
  organization_id uuid not null
  idempotency_key text not null
  operation text not null
  body_hash bytea not null
  status integer
  response_headers jsonb
  response_body bytea
  created_at timestamp with time zone not null default now()
  xuser_id uuid
table journal_entry
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  xuser_id uuid not null
  sealed bytea not null
  time timestamp with time zone not null
  created_at timestamp with time zone not null default now()
table measurement (RANGE ("time"))
  time timestamp with time zone not null
  ts_ns bigint not null
  id uuid not null
  organization_id uuid not null
  project_id uuid not null
  xuser_id uuid not null
  biosignal_id integer not null
  value double precision not null
  unit text not null
  qmask smallint not null default 0
  method_code text not null default 'measured:device_v1'::text
  device_id uuid
  stream_id integer
  given_value double precision
  given_unit text
table method
  id smallint not null identity always
  kind text not null
  name text not null
  code text not null
  cadence_hz double precision
  unit text not null default ''::text
  created_at timestamp with time zone not null default now()
table migration
  id integer not null
  name text not null
  checksum text not null
  skipped boolean not null default false
  applied_at timestamp with time zone not null default now()
table mood
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  xuser_id uuid not null
  score smallint not null
  note text not null default ''::text
  time timestamp with time zone not null
  created_at timestamp with time zone not null default now()
table operator_account
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  email text not null
  display_name text not null default ''::text
  password_hash text not null
  role text not null
  created_at timestamp with time zone not null default now()
  last_login_at timestamp with time zone
  disabled_at timestamp with time zone
table operator_session
  id uuid not null default gen_random_uuid()
  operator_id uuid not null
  token_hash bytea not null
  created_at timestamp with time zone not null default now()
  last_seen_at timestamp with time zone not null default now()
  expires_at timestamp with time zone not null
  revoked_at timestamp with time zone
  ip inet
  user_agent text not null default ''::text
table organization
  id uuid not null default gen_random_uuid()
  name text not null
  settings jsonb not null default '{}'::jsonb
  created_at timestamp with time zone not null default now()
table packet_hash (RANGE ("time"))
  time timestamp with time zone not null
  stream_id integer not null
  first_seq bigint not null
  hashes bytea not null
table packet_log (RANGE ("time"))
  time timestamp with time zone not null
  batch_id bigint not null
  part smallint not null
  packet_count integer not null
  data bytea not null
table packet_log_checkpoint
  id boolean not null default true
  batch_id bigint not null default 0
  updated_at timestamp with time zone not null default now()
  epoch bigint not null default 0
  owner uuid
  owner_name text not null default ''::text
  renewed_at timestamp with time zone not null default now()
table partition_rule
  relation text not null
  step interval not null
  toast_tuple_target integer
table project
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  name text not null
  project_key text not null
  time_zone text not null default 'UTC'::text
  settings jsonb not null default '{}'::jsonb
  created_at timestamp with time zone not null default now()
  archived_at timestamp with time zone
  consent_required text[] not null default '{}'::text[]
  previous_project_key text
  previous_key_expires_at timestamp with time zone
table project_biosignal
  project_id uuid not null
  biosignal_id integer not null
  hidden boolean not null default false
  role text
table project_retention
  project_id uuid not null
  organization_id uuid not null
  samples_days integer
  features_days integer
  beats_days integer
  updated_at timestamp with time zone not null default now()
table project_retention_swept
  project_id uuid not null
  relation text not null
  cutoff timestamp with time zone not null
  whole_at timestamp with time zone not null
table public_key_use
  key text not null
  project_id uuid not null
  last_used_at timestamp with time zone not null
table questionnaire
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  code text not null
  version integer not null
  resource jsonb not null
  scoring jsonb not null default '{"safety": [], "scores": []}'::jsonb
  created_by text not null default ''::text
  created_at timestamp with time zone not null default now()
  retired_at timestamp with time zone
table questionnaire_draft
  organization_id uuid not null
  project_id uuid not null
  xuser_id uuid not null
  questionnaire text not null
  version text not null
  item jsonb not null
  updated_at timestamp with time zone not null default now()
table questionnaire_response
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  xuser_id uuid not null
  questionnaire text not null
  version text not null
  item jsonb not null
  scores jsonb not null default '[]'::jsonb
  safety boolean not null default false
  authored timestamp with time zone not null
  created_at timestamp with time zone not null default now()
  status text not null default 'completed'::text
  amends uuid
  superseded_by uuid
  reason text not null default ''::text
table retention
  relation text not null
  keep interval
table rollup_dirty
  stream_id integer not null
  method_id smallint not null
  channel_no smallint not null
  bucket timestamp with time zone not null
  taken boolean not null default false
table sample_block (RANGE ("time"))
  time timestamp with time zone not null
  start_ns bigint not null
  stream_id integer not null
  n integer not null
  min real
  max real
  mean real
  channel_no smallint not null
  suspect_n smallint not null
  bad_n smallint not null
  codec bytea not null
table sdk_key
  id uuid not null default gen_random_uuid()
  project_id uuid not null
  sdk_key text not null
  name text not null default ''::text
  created_at timestamp with time zone not null default now()
  revoked_at timestamp with time zone
  expires_at timestamp with time zone
  rotated_from uuid
table service_secret
  name text not null
  value bytea not null
  created_at timestamp with time zone not null default now()
table set_aside
  id bigint not null identity always
  time timestamp with time zone not null default now()
  kind text not null
  organization_id uuid
  xuser_id uuid
  stream_id integer
  reason text not null
  sqlstate text
  log_position bigint
  content json
  bytes bytea
  digest bytea not null
  replay_at timestamp with time zone
table signing_key
  kid text not null
  algorithm text not null default 'RS256'::text
  private_pem text not null
  public_jwk jsonb not null
  created_at timestamp with time zone not null default now()
  not_before timestamp with time zone not null default now()
  retire_at timestamp with time zone
  expires_at timestamp with time zone
table stream
  id integer not null identity always
  uuid uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  device_id uuid not null
  xuser_id uuid not null
  boot_id bytea not null
  epoch_ns bigint not null
  firmware text not null default ''::text
  seqs int8multirange not null default '{}'::int8multirange
  clock_offset_ns bigint
  clock_skew_ppm double precision
  clock_rms_ns double precision
  clock_pairs integer not null default 0
  started_at timestamp with time zone not null default now()
  last_packet_at timestamp with time zone
  last_sample_at timestamp with time zone
  ended_at timestamp with time zone
  spo2_offset double precision
  spo2_slope double precision
  recorded_from timestamp with time zone
  time_source text
table stream_channel
  stream_id integer not null
  channel_no smallint not null
  code text not null
  kind text not null
  rate_nhz bigint not null
  gain double precision not null
  baseline double precision not null
  unit text not null
  lead text not null default ''::text
  created_at timestamp with time zone not null default now()
table task
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  xuser_id uuid not null
  title text not null
  description text not null default ''::text
  due timestamp with time zone
  status text not null default 'due'::text
  status_at timestamp with time zone
  created_at timestamp with time zone not null default now()
  schedule_id uuid
  slot timestamp without time zone
  questionnaire text
  response_id uuid
table task_schedule
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  xuser_id uuid not null
  title text not null
  description text not null default ''::text
  every text not null
  every_n integer not null default 1
  weekdays smallint[] not null default '{}'::smallint[]
  times time without time zone[] not null
  starts_on date not null
  ends_on date
  created_by text not null default ''::text
  created_at timestamp with time zone not null default now()
  ended_at timestamp with time zone
  questionnaire text
  made_until date
table unit_conversion
  given text not null
  unit text not null
  code text not null default ''::text
  factor double precision not null
  shift double precision not null default 0
table webhook
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid
  url text not null
  events text[] not null
  secret bytea not null
  description text not null default ''::text
  created_at timestamp with time zone not null default now()
  disabled_at timestamp with time zone
  gone_at timestamp with time zone
  previous_secret bytea
  previous_secret_expires_at timestamp with time zone
  gone_reason text
table webhook_delivery
  id uuid not null default gen_random_uuid()
  webhook_id uuid not null
  event text not null
  payload jsonb not null
  status text not null default 'pending'::text
  attempts integer not null default 0
  next_attempt_at timestamp with time zone not null default now()
  last_status integer
  last_error text
  created_at timestamp with time zone not null default now()
  delivered_at timestamp with time zone
table xuser
  id uuid not null default gen_random_uuid()
  organization_id uuid not null
  project_id uuid not null
  external_id text not null
  display_name text not null default ''::text
  time_zone text
  attributes jsonb not null default '{}'::jsonb
  created_at timestamp with time zone not null default now()
  updated_at timestamp with time zone not null default now()
  disabled_at timestamp with time zone

-- constraints

allowed_origin: allowed_origin_pkey PRIMARY KEY (id)
allowed_origin: allowed_origin_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
allowed_origin: allowed_origin_project_id_origin_key UNIQUE (project_id, origin)
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
beat: beat_pkey PRIMARY KEY (stream_id, channel_no, method_id, "time")
biosignal: biosignal_abbreviation_key UNIQUE NULLS NOT DISTINCT (project_id, abbreviation)
biosignal: biosignal_code_key UNIQUE (project_id, code)
biosignal: biosignal_pkey PRIMARY KEY (id)
biosignal: biosignal_project_id_fkey FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
biosignal: biosignal_role_check CHECK ((role = ANY (ARRAY['measurement'::text, 'calculation'::text, 'setting'::text, 'unspecified'::text])))
biosignal: biosignal_signal_type_check CHECK ((signal_type = ANY (ARRAY['waveform'::text, 'interval'::text, 'scalar'::text, 'event'::text, 'category'::text, 'score'::text])))
biosignal: biosignal_source_type_check CHECK ((source_type = ANY (ARRAY['device'::text, 'derived'::text, 'self_report'::text, 'clinician'::text, 'import'::text])))
consent: consent_document_check CHECK ((length(document) <= 500))
consent: consent_pkey PRIMARY KEY (id)
consent: consent_purpose_check CHECK ((purpose = ANY (ARRAY['recording'::text, 'sharing'::text])))
consent: consent_xuser_id_fkey FOREIGN KEY (xuser_id) REFERENCES xuser(id) ON DELETE CASCADE
database_kind: database_kind_one_check CHECK (one)
database_kind: database_kind_pkey PRIMARY KEY (one)
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
episode_event: episode_event_pkey PRIMARY KEY (code)
episode_event: episode_event_severity_check CHECK ((severity = ANY (ARRAY['none'::text, 'low'::text, 'medium'::text, 'high'::text])))
episode_event: episode_event_strip_check CHECK ((((before_sec >= 0) AND (before_sec <= 30)) AND ((after_sec >= 1) AND (after_sec <= 30))))
feature: feature_pkey PRIMARY KEY (stream_id, method_id, channel_no, "time")
feature: feature_qmask_check CHECK (((qmask >= 0) AND (qmask <= 2)))
feature_1d_kept: feature_1d_kept_pkey PRIMARY KEY (stream_id, method_id, channel_no, bucket)
feature_1h_kept: feature_1h_kept_pkey PRIMARY KEY (stream_id, method_id, channel_no, bucket)
feature_1m_kept: feature_1m_kept_pkey PRIMARY KEY (stream_id, method_id, channel_no, bucket)
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
packet_log_checkpoint: packet_log_checkpoint_id_check CHECK (id)
packet_log_checkpoint: packet_log_checkpoint_pkey PRIMARY KEY (id)
partition_rule: partition_rule_pkey PRIMARY KEY (relation)
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

CREATE INDEX api_key_organization_id_idx ON public.api_key USING btree (organization_id)
CREATE INDEX artifact_episode_id_idx ON public.artifact USING btree (episode_id)
CREATE INDEX audit_log_actor_idx ON public.audit_log USING btree (organization_id, actor_id, id)
CREATE INDEX audit_log_acts_idx ON public.audit_log USING btree (organization_id, id) WHERE (action <> ALL (ARRAY['personal_data.read'::text, 'personal_data.listed'::text, 'live.started'::text, 'live.ended'::text]))
CREATE UNIQUE INDEX audit_log_chain_key ON public.audit_log USING btree (organization_id, chain_seq) NULLS NOT DISTINCT WHERE (chain_seq IS NOT NULL)
CREATE INDEX audit_log_organization_id_id_idx ON public.audit_log USING btree (organization_id, id)
CREATE INDEX audit_log_organization_id_time_idx ON public.audit_log USING btree (organization_id, "time")
CREATE INDEX audit_log_subject_idx ON public.audit_log USING btree (organization_id, subject_id, id) WHERE (subject_id IS NOT NULL)
CREATE INDEX consent_xuser_id_purpose_idx ON public.consent USING btree (xuser_id, purpose, id)
CREATE INDEX device_xuser_id_idx ON public.device USING btree (xuser_id)
CREATE UNIQUE INDEX episode_acknowledgement_current_key ON public.episode_acknowledgement USING btree (episode_id) WHERE (ended_at IS NULL)
CREATE INDEX episode_acknowledgement_episode_id_idx ON public.episode_acknowledgement USING btree (episode_id, created_at)
CREATE INDEX episode_open_idx ON public.episode USING btree (organization_id, started_at) WHERE (status = 'open'::text)
CREATE INDEX episode_xuser_id_started_at_idx ON public.episode USING btree (xuser_id, started_at)
CREATE INDEX goal_xuser_id_idx ON public.goal USING btree (xuser_id)
CREATE INDEX idempotency_created_at_idx ON public.idempotency USING btree (created_at)
CREATE INDEX journal_entry_xuser_id_time_idx ON public.journal_entry USING btree (xuser_id, "time")
CREATE INDEX mood_xuser_id_time_idx ON public.mood USING btree (xuser_id, "time")
CREATE UNIQUE INDEX operator_account_email_key ON public.operator_account USING btree (lower(email))
CREATE INDEX operator_account_organization_id_idx ON public.operator_account USING btree (organization_id)
CREATE INDEX operator_session_operator_id_idx ON public.operator_session USING btree (operator_id)
CREATE INDEX packet_hash_stream_idx ON ONLY public.packet_hash USING btree (stream_id, first_seq)
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
 SELECT r."time",
    r.ts_ns,
    r.stream_id,
    r.channel_no,
    r.method_id,
    r.interval_ms,
    r.kind,
    r.qmask,
    r.reason
   FROM beat r
     JOIN stream s ON s.id = r.stream_id
  WHERE s.organization_id = current_organization();
api.device_event
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
 SELECT r."time",
    r.ts_ns,
    r.value,
    r.stream_id,
    r.method_id,
    r.channel_no,
    r.qmask
   FROM feature r
     JOIN stream s ON s.id = r.stream_id
  WHERE s.organization_id = current_organization();
api.feature_1d
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
api.feature_1h
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
api.feature_1m
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
api.measurement
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
api.sample_block
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
feature_1d
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
    h.n,
    h.value_n,
    h.good_n,
    h.suspect_n,
    h.sum,
    h.good_sum,
    h.suspect_sum,
    h.min,
    h.good_min,
    h.suspect_min,
    h.max,
    h.good_max,
    h.suspect_max,
    h.first,
    h.good_first,
    h.last,
    h.good_last
   FROM ( SELECT DISTINCT rollup_dirty.stream_id,
            rollup_dirty.method_id,
            rollup_dirty.channel_no,
            date_bin('1 day'::interval, rollup_dirty.bucket, '2001-01-01 00:00:00+00'::timestamp with time zone) AS bucket
           FROM rollup_dirty) d
     CROSS JOIN LATERAL ( SELECT sum(feature_1h.n)::bigint AS n,
            sum(feature_1h.value_n)::bigint AS value_n,
            sum(feature_1h.good_n)::bigint AS good_n,
            sum(feature_1h.suspect_n)::bigint AS suspect_n,
            sum(feature_1h.sum) AS sum,
            sum(feature_1h.good_sum) AS good_sum,
            sum(feature_1h.suspect_sum) AS suspect_sum,
            min(feature_1h.min) AS min,
            min(feature_1h.good_min) AS good_min,
            min(feature_1h.suspect_min) AS suspect_min,
            max(feature_1h.max) AS max,
            max(feature_1h.good_max) AS good_max,
            max(feature_1h.suspect_max) AS suspect_max,
            (array_agg(feature_1h.first ORDER BY feature_1h.bucket) FILTER (WHERE feature_1h.first IS NOT NULL))[1] AS first,
            (array_agg(feature_1h.good_first ORDER BY feature_1h.bucket) FILTER (WHERE feature_1h.good_first IS NOT NULL))[1] AS good_first,
            (array_agg(feature_1h.last ORDER BY feature_1h.bucket DESC) FILTER (WHERE feature_1h.last IS NOT NULL))[1] AS last,
            (array_agg(feature_1h.good_last ORDER BY feature_1h.bucket DESC) FILTER (WHERE feature_1h.good_last IS NOT NULL))[1] AS good_last
           FROM feature_1h
          WHERE feature_1h.bucket >= d.bucket AND feature_1h.bucket < (d.bucket + '1 day'::interval) AND feature_1h.stream_id = d.stream_id AND feature_1h.method_id = d.method_id AND feature_1h.channel_no = d.channel_no
         HAVING count(*) > 0) h;
feature_1h
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
    m.n,
    m.value_n,
    m.good_n,
    m.suspect_n,
    m.sum,
    m.good_sum,
    m.suspect_sum,
    m.min,
    m.good_min,
    m.suspect_min,
    m.max,
    m.good_max,
    m.suspect_max,
    m.first,
    m.good_first,
    m.last,
    m.good_last
   FROM ( SELECT DISTINCT rollup_dirty.stream_id,
            rollup_dirty.method_id,
            rollup_dirty.channel_no,
            date_bin('01:00:00'::interval, rollup_dirty.bucket, '2001-01-01 00:00:00+00'::timestamp with time zone) AS bucket
           FROM rollup_dirty) d
     CROSS JOIN LATERAL ( SELECT sum(feature_1m.n)::bigint AS n,
            sum(feature_1m.value_n)::bigint AS value_n,
            sum(feature_1m.good_n)::bigint AS good_n,
            sum(feature_1m.suspect_n)::bigint AS suspect_n,
            sum(feature_1m.sum) AS sum,
            sum(feature_1m.good_sum) AS good_sum,
            sum(feature_1m.suspect_sum) AS suspect_sum,
            min(feature_1m.min) AS min,
            min(feature_1m.good_min) AS good_min,
            min(feature_1m.suspect_min) AS suspect_min,
            max(feature_1m.max) AS max,
            max(feature_1m.good_max) AS good_max,
            max(feature_1m.suspect_max) AS suspect_max,
            (array_agg(feature_1m.first ORDER BY feature_1m.bucket) FILTER (WHERE feature_1m.first IS NOT NULL))[1] AS first,
            (array_agg(feature_1m.good_first ORDER BY feature_1m.bucket) FILTER (WHERE feature_1m.good_first IS NOT NULL))[1] AS good_first,
            (array_agg(feature_1m.last ORDER BY feature_1m.bucket DESC) FILTER (WHERE feature_1m.last IS NOT NULL))[1] AS last,
            (array_agg(feature_1m.good_last ORDER BY feature_1m.bucket DESC) FILTER (WHERE feature_1m.good_last IS NOT NULL))[1] AS good_last
           FROM feature_1m
          WHERE feature_1m.bucket >= d.bucket AND feature_1m.bucket < (d.bucket + '01:00:00'::interval) AND feature_1m.stream_id = d.stream_id AND feature_1m.method_id = d.method_id AND feature_1m.channel_no = d.channel_no
         HAVING count(*) > 0) m;
feature_1m
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
   FROM feature_1m_kept k
  WHERE NOT (EXISTS ( SELECT
           FROM rollup_dirty d
          WHERE d.stream_id = k.stream_id AND d.method_id = k.method_id AND d.channel_no = k.channel_no AND d.bucket = k.bucket))
UNION ALL
 SELECT d.bucket,
    d.stream_id,
    d.method_id,
    d.channel_no,
    f.n,
    f.value_n,
    f.good_n,
    f.suspect_n,
    f.sum,
    f.good_sum,
    f.suspect_sum,
    f.min,
    f.good_min,
    f.suspect_min,
    f.max,
    f.good_max,
    f.suspect_max,
    f.first,
    f.good_first,
    f.last,
    f.good_last
   FROM ( SELECT DISTINCT rollup_dirty.stream_id,
            rollup_dirty.method_id,
            rollup_dirty.channel_no,
            rollup_dirty.bucket
           FROM rollup_dirty) d
     CROSS JOIN LATERAL ( SELECT count(*) AS n,
            count(feature.value) AS value_n,
            count(feature.value) FILTER (WHERE feature.qmask = 0) AS good_n,
            count(feature.value) FILTER (WHERE feature.qmask = 1) AS suspect_n,
            sum(feature.value::numeric) AS sum,
            sum(feature.value::numeric) FILTER (WHERE feature.qmask = 0) AS good_sum,
            sum(feature.value::numeric) FILTER (WHERE feature.qmask = 1) AS suspect_sum,
            min(feature.value) AS min,
            min(feature.value) FILTER (WHERE feature.qmask = 0) AS good_min,
            min(feature.value) FILTER (WHERE feature.qmask = 1) AS suspect_min,
            max(feature.value) AS max,
            max(feature.value) FILTER (WHERE feature.qmask = 0) AS good_max,
            max(feature.value) FILTER (WHERE feature.qmask = 1) AS suspect_max,
            (array_agg(feature.value ORDER BY feature."time") FILTER (WHERE feature.value IS NOT NULL))[1] AS first,
            (array_agg(feature.value ORDER BY feature."time") FILTER (WHERE feature.value IS NOT NULL AND feature.qmask = 0))[1] AS good_first,
            (array_agg(feature.value ORDER BY feature."time" DESC) FILTER (WHERE feature.value IS NOT NULL))[1] AS last,
            (array_agg(feature.value ORDER BY feature."time" DESC) FILTER (WHERE feature.value IS NOT NULL AND feature.qmask = 0))[1] AS good_last
           FROM feature
          WHERE feature."time" >= d.bucket AND feature."time" < (d.bucket + '00:01:00'::interval) AND feature.stream_id = d.stream_id AND feature.method_id = d.method_id AND feature.channel_no = d.channel_no
         HAVING count(*) > 0) f;

-- functions

CREATE OR REPLACE FUNCTION public.apply_retention()
 RETURNS integer
 LANGUAGE plpgsql
 SET "TimeZone" TO 'UTC'
AS $function$
declare
  rule record;
  child record;
  dropped integer := 0;
begin
  for rule in select r.relation, p.step, retention_cutoff(r.relation) as cutoff from retention r join partition_rule p using (relation) where r.keep is not null loop
    for child in
      select c.relname, to_timestamp(substring(c.relname from '_p(\d{8}_\d{2})$'), 'YYYYMMDD_HH24') as low
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = rule.relation::regclass
    loop
      if child.low + rule.step <= rule.cutoff then
        execute format('drop table %I', child.relname);
        dropped := dropped + 1;
      end if;
    end loop;
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
CREATE OR REPLACE FUNCTION public.claim_log(new_owner uuid, new_owner_name text, seen_epoch bigint)
 RETURNS TABLE(epoch bigint, checkpoint bigint, newest bigint)
 LANGUAGE plpgsql
AS $function$
declare
  top bigint;
begin
  -- First the lock that may be waited for in vain: a session lock that was taken before would outlive the failure.
  perform pg_advisory_xact_lock(803145, 0);
  if not pg_try_advisory_lock(8031447120945) then
    return;
  end if;
  top := (select max(batch_id) from packet_log);
  return query
    update packet_log_checkpoint c
    set epoch = greatest(c.epoch, top >> 32, c.batch_id >> 32) + 1, owner = new_owner, owner_name = new_owner_name, renewed_at = clock_timestamp()
    where c.epoch = seen_epoch
    returning c.epoch, c.batch_id, greatest(c.batch_id, top);
  if not found then
    perform pg_advisory_unlock(8031447120945);
  end if;
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
CREATE OR REPLACE FUNCTION public.ensure_partitions(relation_name text, from_time timestamp with time zone, to_time timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$
declare
  rule partition_rule;
  low timestamptz;
  partition_name text;
begin
  select * into strict rule from partition_rule where relation = relation_name;
  low := date_bin(rule.step, from_time, timestamptz '2001-01-01 00:00:00+00');
  while low <= to_time loop
    partition_name := relation_name || '_p' || to_char(low, 'YYYYMMDD"_"HH24');
    if to_regclass(quote_ident(partition_name)) is null then
      perform pg_advisory_xact_lock(hashtextextended('biosignal partition ' || relation_name, 0));
      -- A statement of its own: it sees what was committed while the lock was waited for.
      if not exists (select from pg_class where relname = partition_name and relnamespace = 'public'::regnamespace) then
        execute format('create table %I (like %I including all)', partition_name, relation_name);
        if rule.toast_tuple_target is not null then
          execute format('alter table %I set (toast_tuple_target = %s)', partition_name, rule.toast_tuple_target);
        end if;
        execute format('alter table %I attach partition %I for values from (%L) to (%L)', relation_name, partition_name, low, low + rule.step);
      end if;
    end if;
    low := low + rule.step;
  end loop;
end
$function$
CREATE OR REPLACE FUNCTION public.feature_minutes(stream_ids integer[], method smallint, from_time timestamp with time zone, to_time timestamp with time zone, what text, worst integer)
 RETURNS TABLE(minutes json, ns json, value_ns json, good_ns json, suspect_ns json, goods json, suspects json, everies json)
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  summed constant boolean := what in ('mean', 'sum');
begin
  return query
  with noted as materialized (
    select distinct d.stream_id, d.channel_no, d.bucket from rollup_dirty d
    where d.stream_id = any (stream_ids) and d.method_id = method and d.bucket >= from_time and d.bucket < to_time
  ), minute as (
    select k.bucket, k.n, k.value_n, k.good_n, k.suspect_n, k.sum, k.good_sum, k.suspect_sum, k.min, k.good_min, k.suspect_min,
      k.max, k.good_max, k.suspect_max, k.first, k.good_first, k.last, k.good_last
    from feature_1m_kept k
    where k.bucket >= from_time and k.bucket < to_time and k.stream_id = any (stream_ids) and k.method_id = method
      and (k.stream_id, k.channel_no, k.bucket) not in (select x.stream_id, x.channel_no, x.bucket from noted x)
    union all
    select d.bucket, f.*
    from noted d
    cross join lateral (
      select
        count(*) as n, count(r.value) as value_n,
        count(r.value) filter (where r.qmask = 0) as good_n, count(r.value) filter (where r.qmask = 1) as suspect_n,
        sum(r.value::numeric) as sum,
        sum(r.value::numeric) filter (where r.qmask = 0) as good_sum, sum(r.value::numeric) filter (where r.qmask = 1) as suspect_sum,
        min(r.value) as min, min(r.value) filter (where r.qmask = 0) as good_min, min(r.value) filter (where r.qmask = 1) as suspect_min,
        max(r.value) as max, max(r.value) filter (where r.qmask = 0) as good_max, max(r.value) filter (where r.qmask = 1) as suspect_max,
        (array_agg(r.value order by r.time) filter (where r.value is not null))[1] as first,
        (array_agg(r.value order by r.time) filter (where r.value is not null and r.qmask = 0))[1] as good_first,
        (array_agg(r.value order by r.time desc) filter (where r.value is not null))[1] as last,
        (array_agg(r.value order by r.time desc) filter (where r.value is not null and r.qmask = 0))[1] as good_last
      from feature r
      where r.time >= d.bucket and r.time < d.bucket + interval '1 minute'
        and r.time >= from_time and r.time < to_time + interval '1 minute' -- partitions are excluded before the first minute is looked at
        and r.stream_id = d.stream_id and r.method_id = method and r.channel_no = d.channel_no
      having count(*) > 0) f
  )
  select
    array_to_json(array_agg((date_part('epoch', m.bucket) / 60)::integer)),
    array_to_json(array_agg(m.n)), array_to_json(array_agg(m.value_n) filter (where worst = 2)),
    array_to_json(array_agg(m.good_n)), array_to_json(array_agg(m.suspect_n)),
    coalesce(
      array_to_json(array_agg(m.good_sum) filter (where summed and worst < 2)),
      array_to_json(array_agg(case what when 'min' then m.good_min when 'max' then m.good_max when 'first' then m.good_first when 'last' then m.good_last end)
        filter (where not summed and worst < 2))),
    coalesce(
      array_to_json(array_agg(m.suspect_sum) filter (where summed and worst = 1)),
      array_to_json(array_agg(case what when 'min' then m.suspect_min when 'max' then m.suspect_max end) filter (where not summed and worst = 1))),
    coalesce(
      array_to_json(array_agg(m.sum) filter (where summed and worst = 2)),
      array_to_json(array_agg(case what when 'min' then m.min when 'max' then m.max when 'first' then m.first when 'last' then m.last end)
        filter (where not summed and worst = 2)))
  from minute m;
end
$function$
CREATE OR REPLACE FUNCTION public.fence_writer()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  held constant text := current_setting('bio.epoch', true);
begin
  if held <> '' then
    perform hold_log(held::bigint);
  elsif current_user in ('biosignal_ingest', 'biosignal_worker') then
    if exists (select from packet_log_checkpoint where epoch > 0) then
      raise exception '% is written by the owner of the packet log only', tg_table_name using errcode = 'BS001';
    end if;
  end if;
  return null;
end
$function$
CREATE OR REPLACE FUNCTION public.hold_log(held bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(803145, 0); -- in memory only: no WAL, no row lock
  -- A statement of its own: it sees the claim that the lock was waited for.
  if not exists (select from packet_log_checkpoint where epoch = held) then
    raise exception 'another instance has taken the packet log over' using errcode = 'BS001';
  end if;
end
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
CREATE OR REPLACE FUNCTION public.note_rollup_dirty()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock_shared(803144, 1);
  insert into rollup_dirty (stream_id, method_id, channel_no, bucket)
  select distinct stream_id, method_id, channel_no, date_bin('1 minute', time, timestamptz '2001-01-01 00:00:00+00') from changed
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
    jsonb_build_object('episode_id', event_id, 'subject_id', recording.xuser_id, 'kind', event_code, 'severity', rule.severity))
  from webhook
  where organization_id = recording.organization_id and (project_id is null or project_id = recording.project_id) and disabled_at is null and gone_at is null
    and (events @> array['episode.created'] or events @> array['*'])
  for share;
end
$function$
CREATE OR REPLACE PROCEDURE public.refresh_rollups(INOUT minutes integer DEFAULT 0, IN rows_max integer DEFAULT 20000)
 LANGUAGE plpgsql
AS $procedure$
begin
  minutes := 0;
  if not pg_try_advisory_lock(803144, 2) then
    return;
  end if;
  -- the list, in a transaction of its own; minutes that are still being written are left for the next run
  perform pg_advisory_xact_lock(803144, 1);
  with noted as (
    delete from rollup_dirty where (stream_id, method_id, channel_no, bucket, taken) in (
      select stream_id, method_id, channel_no, bucket, taken from rollup_dirty
      where not taken and bucket < now() - interval '90 seconds' limit rows_max)
    returning stream_id, method_id, channel_no, bucket)
  insert into rollup_dirty select noted.*, true from noted on conflict do nothing;
  commit;

  create temporary table if not exists refreshed_minute (
    stream_id integer, method_id smallint, channel_no smallint, bucket timestamptz, hour timestamptz, day timestamptz) on commit delete rows;
  insert into refreshed_minute
  select stream_id, method_id, channel_no, bucket, date_bin('1 hour', bucket, timestamptz '2001-01-01 00:00:00+00'),
    date_bin('1 day', bucket, timestamptz '2001-01-01 00:00:00+00')
  from rollup_dirty where taken;
  analyze refreshed_minute;

  delete from feature_1m_kept k using refreshed_minute d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.bucket = k.bucket;
  insert into feature_1m_kept
  select d.bucket, d.stream_id, d.method_id, d.channel_no, f.*
  from refreshed_minute d
  cross join lateral (
    select
      count(*), count(value), count(value) filter (where qmask = 0), count(value) filter (where qmask = 1),
      sum(value::numeric), sum(value::numeric) filter (where qmask = 0), sum(value::numeric) filter (where qmask = 1),
      min(value), min(value) filter (where qmask = 0), min(value) filter (where qmask = 1),
      max(value), max(value) filter (where qmask = 0), max(value) filter (where qmask = 1),
      (array_agg(value order by time) filter (where value is not null))[1],
      (array_agg(value order by time) filter (where value is not null and qmask = 0))[1],
      (array_agg(value order by time desc) filter (where value is not null))[1],
      (array_agg(value order by time desc) filter (where value is not null and qmask = 0))[1]
    from feature
    where time >= d.bucket and time < d.bucket + interval '1 minute'
      and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
    having count(*) > 0) f;

  delete from feature_1h_kept k using (select distinct stream_id, method_id, channel_no, hour from refreshed_minute) d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.hour = k.bucket;
  insert into feature_1h_kept
  select d.hour, d.stream_id, d.method_id, d.channel_no, m.*
  from (select distinct stream_id, method_id, channel_no, hour from refreshed_minute) d
  cross join lateral (
    select
      sum(n)::bigint, sum(value_n)::bigint, sum(good_n)::bigint, sum(suspect_n)::bigint,
      sum(sum), sum(good_sum), sum(suspect_sum),
      min(min), min(good_min), min(suspect_min), max(max), max(good_max), max(suspect_max),
      (array_agg(first order by bucket) filter (where first is not null))[1],
      (array_agg(good_first order by bucket) filter (where good_first is not null))[1],
      (array_agg(last order by bucket desc) filter (where last is not null))[1],
      (array_agg(good_last order by bucket desc) filter (where good_last is not null))[1]
    from feature_1m_kept
    where bucket >= d.hour and bucket < d.hour + interval '1 hour'
      and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
    having count(*) > 0) m;

  delete from feature_1d_kept k using (select distinct stream_id, method_id, channel_no, day from refreshed_minute) d
  where d.stream_id = k.stream_id and d.method_id = k.method_id and d.channel_no = k.channel_no and d.day = k.bucket;
  insert into feature_1d_kept
  select d.day, d.stream_id, d.method_id, d.channel_no, h.*
  from (select distinct stream_id, method_id, channel_no, day from refreshed_minute) d
  cross join lateral (
    select
      sum(n)::bigint, sum(value_n)::bigint, sum(good_n)::bigint, sum(suspect_n)::bigint,
      sum(sum), sum(good_sum), sum(suspect_sum),
      min(min), min(good_min), min(suspect_min), max(max), max(good_max), max(suspect_max),
      (array_agg(first order by bucket) filter (where first is not null))[1],
      (array_agg(good_first order by bucket) filter (where good_first is not null))[1],
      (array_agg(last order by bucket desc) filter (where last is not null))[1],
      (array_agg(good_last order by bucket desc) filter (where good_last is not null))[1]
    from feature_1h_kept
    where bucket >= d.day and bucket < d.day + interval '1 day'
      and stream_id = d.stream_id and method_id = d.method_id and channel_no = d.channel_no
    having count(*) > 0) h;

  delete from rollup_dirty where taken;
  get diagnostics minutes = row_count;
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
CREATE OR REPLACE FUNCTION public.retention_cutoff(relation_name text)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select case when r.relation = 'packet_log'
    then least(now() - r.keep, (select min(p.time) from packet_log p, packet_log_checkpoint c where p.batch_id > c.batch_id))
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

-- triggers

CREATE TRIGGER allowed_origin_notify AFTER DELETE ON public.allowed_origin FOR EACH ROW EXECUTE FUNCTION notify_auth('project_id')
CREATE TRIGGER allowed_origin_notify_insert AFTER INSERT ON public.allowed_origin FOR EACH ROW EXECUTE FUNCTION notify_auth_insert('project_id')
CREATE TRIGGER api_key_notify AFTER DELETE OR UPDATE OF scopes, expires_at, revoked_at, secret_hash, project_id ON public.api_key FOR EACH ROW EXECUTE FUNCTION notify_auth('id')
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE ON public.audit_log FOR EACH ROW EXECUTE FUNCTION audit_log_append_only()
CREATE TRIGGER audit_log_chain BEFORE INSERT ON public.audit_log FOR EACH ROW EXECUTE FUNCTION audit_log_chain()
CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION audit_log_append_only()
CREATE TRIGGER beat_fence BEFORE INSERT OR DELETE OR UPDATE ON public.beat FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER consent_append_only BEFORE UPDATE ON public.consent FOR EACH ROW EXECUTE FUNCTION refuse_consent_change()
CREATE TRIGGER consent_notify AFTER INSERT ON public.consent FOR EACH ROW EXECUTE FUNCTION notify_auth_insert('xuser_id')
CREATE TRIGGER device_event_fence BEFORE INSERT OR DELETE OR UPDATE ON public.device_event FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER feature_fence BEFORE INSERT OR DELETE OR UPDATE ON public.feature FOR EACH STATEMENT EXECUTE FUNCTION fence_writer()
CREATE TRIGGER feature_note_delete AFTER DELETE ON public.feature REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_rollup_dirty()
CREATE TRIGGER feature_note_insert AFTER INSERT ON public.feature REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_rollup_dirty()
CREATE TRIGGER feature_note_update AFTER UPDATE ON public.feature REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_rollup_dirty()
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
set_aside: set_aside_service for ALL to biosignal_ingest, biosignal_worker using (true)
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
api.device_event: select to biosignal_api
api.feature: select to biosignal_api
api.feature_1d: select to biosignal_api
api.feature_1h: select to biosignal_api
api.feature_1m: select to biosignal_api
api.measurement: delete, insert, select to biosignal_api
api.sample_block: select to biosignal_api
public.allowed_origin: delete, insert, select, update to biosignal_api
public.api_key: delete, insert, select, update to biosignal_api
public.artifact: delete, insert, select, update to biosignal_api
public.audit_log: insert, select to biosignal_api
public.audit_log: select to biosignal_audit
public.beat: delete, insert, select, update to biosignal_worker
public.biosignal: delete, insert, select, update to biosignal_api
public.biosignal: insert, select to biosignal_ingest
public.biosignal: insert, select to biosignal_worker
public.consent: insert, select to biosignal_api
public.consent: select to biosignal_ingest
public.database_kind: select to biosignal_api
public.database_kind: select to biosignal_audit
public.database_kind: select to biosignal_ingest
public.database_kind: select to biosignal_worker
public.device: delete, insert, select, update to biosignal_api
public.device: insert, select, update to biosignal_ingest
public.device_event: insert, select to biosignal_ingest
public.device_event: insert, select to biosignal_worker
public.device_profile: delete, insert, select, update to biosignal_api
public.device_profile: select to biosignal_ingest
public.episode: delete, insert, select, update to biosignal_api
public.episode_acknowledgement: delete, insert, select, update to biosignal_api
public.feature: delete, insert, select, update to biosignal_worker
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
public.partition_rule: select to biosignal_api
public.partition_rule: select to biosignal_ingest
public.partition_rule: select to biosignal_worker
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
