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

alter table public_key_use enable row level security;
do $$
begin
  if (select count(*) < 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    return;
  end if;
  create policy public_key_use_own on public_key_use to biosignal_api
    using (project_id in (select id from project where organization_id = current_organization()));
  grant select on public_key_use to biosignal_api;
end
$$;
