-- Questionnaires of a project with versions and scoring rules; drafts and amendments of answers; tasks that recur; goals.

-- One version. The newest that is not retired is asked; every version stays readable, for the answers that name it.
create table questionnaire (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  code text not null, -- the questionnaire's name in addresses, e.g. phq-9
  version integer not null,
  resource jsonb not null, -- FHIR R4 Questionnaire, the subset of docs/questionnaires.md
  scoring jsonb not null default '{"scores": [], "safety": []}', -- rules in the expression language of docs/questionnaires.md
  created_by text not null default '', -- key:<id> or operator:<id>
  created_at timestamptz not null default now(),
  retired_at timestamptz,
  constraint questionnaire_pkey primary key (id),
  constraint questionnaire_project_id_code_version_key unique (project_id, code, version),
  constraint questionnaire_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint questionnaire_code_check check (code ~ '^[a-z][a-z0-9-]{0,62}$'),
  constraint questionnaire_version_check check (version > 0)
);
create index questionnaire_organization_id_idx on questionnaire (organization_id);

-- Answers that are not sent yet: one draft of a person for a questionnaire.
create table questionnaire_draft (
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  questionnaire text not null,
  version text not null,
  item jsonb not null,
  updated_at timestamptz not null default now(),
  constraint questionnaire_draft_pkey primary key (xuser_id, questionnaire),
  constraint questionnaire_draft_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade
);

-- An amendment is a row of its own; the row that it replaces stays as it was and points to it.
alter table questionnaire_response
  add column status text not null default 'completed',
  add column amends uuid,
  add column superseded_by uuid,
  add column reason text not null default '',
  add constraint questionnaire_response_status_check check (status in ('completed', 'amended')),
  add constraint questionnaire_response_amends_fkey foreign key (amends) references questionnaire_response (id) on delete cascade,
  add constraint questionnaire_response_superseded_by_fkey foreign key (superseded_by) references questionnaire_response (id) on delete set null;
create unique index questionnaire_response_amends_key on questionnaire_response (amends); -- a chain, not a tree

-- When a task recurs. Its occurrences are rows of task, made when the person's list is read.
create table task_schedule (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  title text not null,
  description text not null default '',
  every text not null, -- day or week
  every_n integer not null default 1, -- every 2nd day, 3rd week …
  weekdays smallint[] not null default '{}', -- ISO: 1 Monday … 7 Sunday; of every = week
  times time[] not null, -- on the clocks of the person's time zone
  starts_on date not null,
  ends_on date, -- the last day; null: for ever
  created_by text not null default '',
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  constraint task_schedule_pkey primary key (id),
  constraint task_schedule_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint task_schedule_title_check check (title <> '' and length(title) <= 200),
  constraint task_schedule_every_check check (every in ('day', 'week') and every_n between 1 and 365),
  constraint task_schedule_weekdays_check check (weekdays <@ array[1, 2, 3, 4, 5, 6, 7]::smallint[] and (every = 'day' or cardinality(weekdays) > 0)),
  constraint task_schedule_times_check check (cardinality(times) between 1 and 24)
);
create index task_schedule_xuser_id_idx on task_schedule (xuser_id);
alter table task
  add column schedule_id uuid,
  add constraint task_schedule_id_fkey foreign key (schedule_id) references task_schedule (id) on delete cascade;
create unique index task_schedule_id_due_key on task (schedule_id, due);

-- What a person wants to reach: so much of one biosignal a day or a week.
create table goal (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  biosignal_id integer not null,
  title text not null default '',
  target double precision not null, -- in the biosignal's unit
  agg text not null default 'sum',
  period text not null default 'day',
  created_by text not null default '',
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  constraint goal_pkey primary key (id),
  constraint goal_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint goal_biosignal_id_fkey foreign key (biosignal_id) references biosignal (id) on delete cascade,
  constraint goal_target_check check (target > 0),
  constraint goal_agg_check check (agg in ('sum', 'mean', 'max', 'count')),
  constraint goal_period_check check (period in ('day', 'week'))
);
create index goal_xuser_id_idx on goal (xuser_id);

insert into biosignal (id, abbreviation, name, unit, loinc_code, mdc_code, signal_type, role, source_type, feature, channel_kind, code) values
  (66, 'BATT', 'Battery of the device', '%', '', '', 'scalar', 'measurement', 'device', null, null, 'battery'),
  (83, 'WHO-5', 'WHO-5 well-being index', '%', '', '', 'score', 'measurement', 'self_report', null, null, 'who5');

do $$
declare
  relation text;
  roles_exist boolean := (select count(*) = 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit'));
begin
  foreach relation in array array['questionnaire', 'questionnaire_draft', 'task_schedule', 'goal'] loop
    execute format('alter table %I enable row level security', relation);
    if roles_exist then
      execute format('create policy %I on %I to biosignal_api using (organization_id = current_organization())', relation || '_own', relation);
      execute format('grant select, insert, update, delete on %I to biosignal_api', relation);
    end if;
  end loop;
end
$$;
