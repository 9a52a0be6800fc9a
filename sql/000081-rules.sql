-- Rules that people make: which values of whom open an episode. The service's own rules are in its code.

-- A rule of a project: a value beyond a bound, for so long, opens an episode.
create table episode_rule (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid, -- whom it is for; null: everybody of the project
  name text not null, -- title of its episodes
  kind text not null default 'threshold', -- of its episodes
  feature text not null,
  comparison text not null,
  threshold double precision not null, -- beyond it a value counts; in the unit of the feature
  end_threshold double precision, -- an open episode lasts while values are beyond this one; null: beyond the threshold
  sustain_sec integer not null, -- so long until it opens
  release_sec integer not null, -- so long back, or silent, until it ends
  quality_max smallint not null default 0, -- worst flag of a value that counts
  severity text not null default 'medium',
  is_enabled boolean not null default true,
  created_by text not null, -- key:<id> or operator:<id>
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint episode_rule_pkey primary key (id),
  constraint episode_rule_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint episode_rule_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint episode_rule_comparison_check check (comparison in ('above', 'below')),
  constraint episode_rule_end_threshold_check check (case comparison when 'above' then end_threshold <= threshold else end_threshold >= threshold end),
  constraint episode_rule_sustain_sec_check check (sustain_sec between 0 and 3600),
  constraint episode_rule_release_sec_check check (release_sec between 1 and 3600),
  constraint episode_rule_quality_max_check check (quality_max in (0, 1)),
  constraint episode_rule_severity_check check (severity in ('none', 'low', 'medium', 'high'))
);
create index episode_rule_project_id_idx on episode_rule (project_id, created_at);
create index episode_rule_xuser_id_idx on episode_rule (xuser_id);

alter table episode_rule enable row level security;
do $$
begin
  if exists (select from pg_roles where rolname = 'biosignal_api') then
    create policy episode_rule_own on episode_rule to biosignal_api using (organization_id = current_organization());
    grant select, insert, update, delete on episode_rule to biosignal_api;
  end if;
end
$$;
