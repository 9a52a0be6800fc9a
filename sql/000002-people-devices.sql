-- Who is recorded, what they agreed to, and by which devices.

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
create trigger xuser_notify after update of disabled_at, project_id, external_id or delete on xuser for each row execute function notify_auth('id');

-- What a person agreed to, as a record of its own per change; project.consent_required says what is refused without it.
-- Recording: new data of the person is taken (packets, measurements, what they enter). Sharing: others than the person (keys, operators)
-- may read their data.
create table consent (
  id bigint generated always as identity,
  organization_id uuid not null,
  xuser_id uuid not null,
  purpose text not null,
  granted boolean not null, -- false: withdrawn
  document text not null default '', -- what was agreed to: version or address of the text that was shown
  recorded_by text not null, -- who told the service: user:<id>, key:<id>, operator:<id>
  created_at timestamptz not null default now(),
  constraint consent_pkey primary key (id),
  constraint consent_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint consent_purpose_check check (purpose in ('recording', 'sharing')),
  constraint consent_document_check check (length(document) <= 500)
);
create index consent_xuser_id_purpose_idx on consent (xuser_id, purpose, id);

-- Append-only: a change of mind is a row. Rows go with their person.
create function refuse_consent_change() returns trigger language plpgsql as $$
begin
  raise exception 'consent records are not changed; add another' using errcode = 'restrict_violation';
end
$$;
create trigger consent_append_only before update on consent for each row execute function refuse_consent_change();

-- Open feeds and recordings hear of it: payload consent:<xuser_id>; of a project's rules through project_notify.
create trigger consent_notify after insert on consent for each row execute function notify_auth_insert('xuser_id');

-- Purposes that the person's project requires and the person has not granted, or has withdrawn.
create function missing_consents(person uuid) returns text[] language sql stable parallel safe as $$
  select coalesce(array_agg(required.purpose order by required.purpose), '{}')
  from xuser x
  join project p on p.id = x.project_id
  cross join unnest(p.consent_required) as required (purpose)
  where x.id = person
    and not coalesce((
      select c.granted from consent c where c.xuser_id = x.id and c.purpose = required.purpose order by c.id desc limit 1
    ), false)
$$;

-- What a model of device sends.
create table device_profile (
  id uuid not null default gen_random_uuid(),
  organization_id uuid, -- null: built in
  code text not null,
  name text not null,
  manufacturer text not null default '',
  model text not null default '',
  channels jsonb not null default '[]', -- [{code, kind, rate_hz, unit, lead}]
  spo2_offset double precision, -- the line of its oximeter, SpO2 = offset - slope * R: percent
  spo2_slope double precision, -- percent per ratio of ratios
  created_at timestamptz not null default now(),
  constraint device_profile_pkey primary key (id),
  constraint device_profile_organization_id_code_key unique nulls not distinct (organization_id, code),
  constraint device_profile_organization_id_fkey foreign key (organization_id) references organization (id) on delete cascade,
  constraint device_profile_spo2_check check ((spo2_offset is null) = (spo2_slope is null))
);

-- One device, by the id that its packets name.
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
