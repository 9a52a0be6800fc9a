-- Groups of a project's people, such as the wards of a hospital: lists are narrowed to one, and rules are made for one.

-- A named group of people of one project.
create table person_group (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  name text not null,
  created_by text not null, -- key:<id> or operator:<id>
  created_at timestamptz not null default now(),
  constraint person_group_pkey primary key (id),
  constraint person_group_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint person_group_name_check check (length(name) between 1 and 200)
);
create unique index person_group_project_id_name_key on person_group (project_id, lower(name));

-- A person in a group. They may be in several.
create table person_group_member (
  group_id uuid not null,
  xuser_id uuid not null,
  organization_id uuid not null,
  added_by text not null,
  added_at timestamptz not null default now(),
  constraint person_group_member_pkey primary key (group_id, xuser_id),
  constraint person_group_member_group_id_fkey foreign key (group_id) references person_group (id) on delete cascade,
  constraint person_group_member_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade
);
create index person_group_member_xuser_id_idx on person_group_member (xuser_id);

-- A rule is for one person, a group or everybody. A group that rules are for stays.
alter table episode_rule
  add column group_id uuid,
  add constraint episode_rule_group_id_fkey foreign key (group_id) references person_group (id),
  add constraint episode_rule_whom_check check (xuser_id is null or group_id is null);
create index episode_rule_group_id_idx on episode_rule (group_id);

alter table person_group enable row level security;
alter table person_group_member enable row level security;
do $$
begin
  if exists (select from pg_roles where rolname = 'biosignal_api') then
    create policy person_group_own on person_group to biosignal_api using (organization_id = current_organization());
    create policy person_group_member_own on person_group_member to biosignal_api using (organization_id = current_organization());
    grant select, insert, update, delete on person_group, person_group_member to biosignal_api;
  end if;
end
$$;
