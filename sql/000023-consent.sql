-- Consent: what a person agreed to, as a record of its own per change, and what a project refuses without it.
--
-- recording: new data of the person is taken (packets, measurements, what they enter). sharing: others than the person (keys, operators)
-- may read their data. A project that requires neither (the default) asks nobody.
alter table project add column consent_required text[] not null default '{}';
alter table project add constraint project_consent_required_check check (consent_required <@ array['recording', 'sharing']);

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

alter table consent enable row level security;
do $$
begin
  if (select count(*) < 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    return;
  end if;
  create policy consent_own on consent to biosignal_api using (organization_id = current_organization());
  create policy consent_service on consent to biosignal_ingest, biosignal_worker using (true);
  grant select, insert on consent to biosignal_api;
  grant select on consent to biosignal_ingest;
  grant execute on function missing_consents(uuid) to biosignal_api, biosignal_ingest;
end
$$;
