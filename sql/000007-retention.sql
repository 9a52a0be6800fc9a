-- How long rows are kept: by the service (whole partitions or chunks, the same way on every server), and less long where a project says so.
-- Not a policy of TimescaleDB, because packet_log must never lose a batch that is after the checkpoint, however old it is.

-- How long the rows of a table are kept. Applied by src/storage/maintenance.ts through apply_retention, of the next files.
create table retention (
  relation text not null,
  keep interval, -- null: for ever
  constraint retention_pkey primary key (relation),
  constraint retention_keep_check check (keep >= interval '1 hour')
);
insert into retention (relation, keep) values
  ('sample_block', null), ('packet_log', '1 day'), ('packet_hash', '1 day'), ('beat', null), ('feature', null), ('measurement', null), ('device_event', null);

-- Rows older than this may go.
create function retention_cutoff(relation_name text) returns timestamptz language sql stable as $$
  select case when r.relation = 'packet_log'
    then least(now() - r.keep, (select min(p.time) from packet_log p, packet_log_checkpoint c where p.batch_id > c.batch_id))
    else now() - r.keep end
  from retention r where r.relation = relation_name
$$;

-- How long a project keeps its people's rows, where that is shorter (src/storage/retention.ts applies it).
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
