-- How long a project keeps its people's rows, where that is shorter than the service's own retention (src/storage/retention.ts applies it).

create table project_retention (
  project_id uuid not null,
  organization_id uuid not null,
  samples_days integer, -- null: as long as the service keeps them (table retention)
  features_days integer, -- their rollups go with them
  beats_days integer,
  updated_at timestamptz not null default now(),
  constraint project_retention_pkey primary key (project_id),
  constraint project_retention_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint project_retention_samples_days_check check (samples_days between 1 and 36500),
  constraint project_retention_features_days_check check (features_days between 1 and 36500),
  constraint project_retention_beats_days_check check (beats_days between 1 and 36500)
);

-- How far rows have been deleted, so that the next run looks at the days since and not at years.
create table project_retention_swept (
  project_id uuid not null,
  relation text not null,
  cutoff timestamptz not null, -- no row before it was left
  whole_at timestamptz not null, -- when all of the time before it was last looked at: late rows may be of any age
  constraint project_retention_swept_pkey primary key (project_id, relation),
  constraint project_retention_swept_project_id_fkey foreign key (project_id) references project (id) on delete cascade
);

alter table project_retention enable row level security;
alter table project_retention_swept enable row level security; -- the owner's alone: no policy

do $$
begin
  if (select count(*) < 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    return;
  end if;
  create policy project_retention_own on project_retention to biosignal_api using (organization_id = current_organization());
  grant select, insert, update, delete on project_retention to biosignal_api;
end
$$;
