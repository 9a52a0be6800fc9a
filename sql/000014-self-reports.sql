-- What people enter themselves, and what they are asked to do: mood, journal, questionnaires, tasks, goals. Erased with their user.

-- How a person feels.
create table mood (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  score smallint not null, -- 1 very bad … 5 very good
  note text not null default '',
  time timestamptz not null,
  created_at timestamptz not null default now(),
  constraint mood_pkey primary key (id),
  constraint mood_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint mood_score_check check (score between 1 and 5),
  constraint mood_note_check check (length(note) <= 1000)
);
create index mood_xuser_id_time_idx on mood (xuser_id, time);

-- A page of a person's journal.
-- AES-256-GCM under a key derived for the user; a dump of this table alone says how many entries there are and how long, no more.
create table journal_entry (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  sealed bytea not null, -- 12 bytes nonce, ciphertext, 16 bytes tag
  time timestamptz not null,
  created_at timestamptz not null default now(),
  constraint journal_entry_pkey primary key (id),
  constraint journal_entry_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint journal_entry_sealed_check check (octet_length(sealed) between 29 and 100000)
);
create index journal_entry_xuser_id_time_idx on journal_entry (xuser_id, time);

-- One version of a questionnaire. The newest that is not retired is asked; every version stays readable, for the answers that name it.
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

-- Answers. An amendment is a row of its own; the row that it replaces stays as it was and points to it.
create table questionnaire_response (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  questionnaire text not null,
  version text not null,
  status text not null default 'completed',
  item jsonb not null, -- as in a FHIR R4 QuestionnaireResponse
  scores jsonb not null default '[]', -- [{name, value, text}], computed by the service
  safety boolean not null default false,
  amends uuid, -- the answer that this one replaces
  superseded_by uuid,
  reason text not null default '', -- of the amendment
  authored timestamptz not null,
  created_at timestamptz not null default now(),
  constraint questionnaire_response_pkey primary key (id),
  constraint questionnaire_response_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint questionnaire_response_status_check check (status in ('completed', 'amended')),
  constraint questionnaire_response_amends_fkey foreign key (amends) references questionnaire_response (id) on delete cascade,
  constraint questionnaire_response_superseded_by_fkey foreign key (superseded_by) references questionnaire_response (id) on delete set null
);
create index questionnaire_response_xuser_id_authored_idx on questionnaire_response (xuser_id, authored);
create unique index questionnaire_response_amends_key on questionnaire_response (amends); -- a chain, not a tree

-- When a task recurs. Occurrences follow from their schedule: each has a place on the person's clocks (task.slot), whatever their time zone
-- becomes, and one that nobody did is recorded as missed.
create table task_schedule (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  title text not null,
  description text not null default '',
  questionnaire text, -- its code: its answers complete the occurrences
  every text not null, -- day or week
  every_n integer not null default 1, -- every 2nd day, 3rd week …
  weekdays smallint[] not null default '{}', -- ISO: 1 Monday … 7 Sunday; of every = week
  times time[] not null, -- on the clocks of the person's time zone
  starts_on date not null,
  ends_on date, -- the last day; null: for ever
  made_until date, -- occurrences up to this day of the person's clocks exist; null: none yet
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

-- Something to do, once or as an occurrence of a schedule.
create table task (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  title text not null,
  description text not null default '',
  questionnaire text,
  response_id uuid, -- the answer that completed it
  schedule_id uuid, -- of an occurrence
  slot timestamp, -- of an occurrence: when, on the person's clocks; due is that moment in their time zone
  due timestamptz, -- null: at any time
  status text not null default 'due',
  status_at timestamptz,
  created_at timestamptz not null default now(),
  constraint task_pkey primary key (id),
  constraint task_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint task_schedule_id_fkey foreign key (schedule_id) references task_schedule (id) on delete cascade,
  constraint task_response_id_fkey foreign key (response_id) references questionnaire_response (id) on delete set null,
  constraint task_title_check check (title <> '' and length(title) <= 200),
  constraint task_status_check check (status in ('due', 'done', 'skipped', 'missed'))
);
create index task_xuser_id_due_idx on task (xuser_id, due);
create unique index task_schedule_id_slot_key on task (schedule_id, slot);
create index task_occurrence_due_idx on task (due) where status = 'due' and schedule_id is not null;
create index task_response_id_idx on task (response_id) where response_id is not null;

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
