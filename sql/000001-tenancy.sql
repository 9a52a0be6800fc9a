-- Whose everything is: organizations and their projects, the keys and people that act for them, and what all nodes of a service share.
-- Rows go with their organization (on delete cascade). Who may see which rows: the last file of the baseline.

-- The outermost owner of everything.
create table organization (
  id uuid not null default gen_random_uuid(),
  name text not null,
  settings jsonb not null default '{}',
  created_at timestamptz not null default now(),
  constraint organization_pkey primary key (id),
  constraint organization_name_check check (name <> '' and length(name) <= 200)
);

-- One application or study of an organization; a person belongs to exactly one.
create table project (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  name text not null,
  project_key text not null, -- proj_…, a public identifier
  previous_project_key text, -- the key before project_key
  previous_key_expires_at timestamptz, -- it works until then
  time_zone text not null default 'UTC',
  consent_required text[] not null default '{}', -- purposes that its people must have granted, see consent; empty: nobody is asked
  settings jsonb not null default '{}',
  created_at timestamptz not null default now(),
  archived_at timestamptz,
  constraint project_pkey primary key (id),
  constraint project_project_key_key unique (project_key),
  constraint project_previous_project_key_key unique (previous_project_key),
  constraint project_organization_id_id_key unique (organization_id, id),
  constraint project_organization_id_fkey foreign key (organization_id) references organization (id) on delete cascade,
  constraint project_name_check check (name <> '' and length(name) <= 200),
  constraint project_previous_key_check check ((previous_project_key is null) = (previous_key_expires_at is null)),
  constraint project_consent_required_check check (consent_required <@ array['recording', 'sharing'])
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

-- A public key that an app or a page carries; it names a project.
create table sdk_key (
  id uuid not null default gen_random_uuid(),
  project_id uuid not null,
  sdk_key text not null, -- sdk_…, a public identifier
  name text not null default '',
  created_at timestamptz not null default now(),
  expires_at timestamptz, -- null: never. A rotated key gets the end of the overlap here
  revoked_at timestamptz,
  rotated_from uuid, -- the key that this one replaces
  constraint sdk_key_pkey primary key (id),
  constraint sdk_key_sdk_key_key unique (sdk_key),
  constraint sdk_key_project_id_fkey foreign key (project_id) references project (id) on delete cascade,
  constraint sdk_key_rotated_from_fkey foreign key (rotated_from) references sdk_key (id) on delete set null
);
create index sdk_key_project_id_idx on sdk_key (project_id);

-- When a public key was last used: an operator who rotated one sees whether anybody still carries the old one. A table of its own, because
-- an update of project or sdk_key tells every node to ask again who may do what.
create table public_key_use (
  key text not null, -- sdk_… or proj_…, the one before a rotation too
  project_id uuid not null,
  last_used_at timestamptz not null, -- written every 10 s, not per request
  constraint public_key_use_pkey primary key (key),
  constraint public_key_use_project_id_fkey foreign key (project_id) references project (id) on delete cascade
);
create index public_key_use_project_id_idx on public_key_use (project_id);

-- Where pages may come from that call the service for a project.
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

-- Where an operator is signed in.
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

-- Keys that sign user tokens. Signs in [not_before, retire_at), verifies in [created_at, expires_at): a new key is published before it
-- signs.
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

-- Secrets that all nodes of one service share and no client ever sees, e.g. what page cursors are signed with.
create table service_secret (
  name text not null,
  value bytea not null,
  created_at timestamptz not null default now(),
  constraint service_secret_pkey primary key (name),
  constraint service_secret_value_check check (octet_length(value) >= 32)
);

-- Answers that were given, to be given again to the same Idempotency-Key.
create table idempotency (
  organization_id uuid not null,
  xuser_id uuid, -- whom the answer is about: it goes with them
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

-- Caches of credentials hear of every change that can take a right away; payload: <table>:<id>.
create function notify_auth() returns trigger language plpgsql as $$
begin
  perform pg_notify('bio_auth', tg_table_name || ':' || (to_jsonb(old) ->> tg_argv[0]));
  return null;
end
$$;
create function notify_auth_insert() returns trigger language plpgsql as $$
begin
  perform pg_notify('bio_auth', tg_table_name || ':' || (to_jsonb(new) ->> tg_argv[0]));
  return null;
end
$$;
create trigger organization_notify after update or delete on organization for each row execute function notify_auth('id');
create trigger project_notify after update or delete on project for each row execute function notify_auth('id');
create trigger api_key_notify after update of scopes, expires_at, revoked_at, secret_hash, project_id or delete on api_key for each row execute function notify_auth('id');
create trigger sdk_key_notify after update or delete on sdk_key for each row execute function notify_auth('id');
create trigger allowed_origin_notify after delete on allowed_origin for each row execute function notify_auth('project_id');
create trigger allowed_origin_notify_insert after insert on allowed_origin for each row execute function notify_auth_insert('project_id');
create trigger operator_account_notify after update of role, password_hash, disabled_at or delete on operator_account for each row execute function notify_auth('id');
create trigger operator_session_notify after update of revoked_at, expires_at or delete on operator_session for each row execute function notify_auth('id');
create trigger signing_key_notify after update or delete on signing_key for each row execute function notify_auth('kid');
create trigger signing_key_notify_insert after insert on signing_key for each row execute function notify_auth_insert('kid');
