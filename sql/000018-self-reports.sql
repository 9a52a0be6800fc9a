-- What people enter themselves: mood, journal, questionnaires, tasks. Erased with their user.

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

create table questionnaire_response (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  questionnaire text not null,
  version text not null,
  item jsonb not null, -- as in a FHIR R4 QuestionnaireResponse
  scores jsonb not null default '[]', -- [{name, value, text}], computed by the service
  safety boolean not null default false,
  authored timestamptz not null,
  created_at timestamptz not null default now(),
  constraint questionnaire_response_pkey primary key (id),
  constraint questionnaire_response_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade
);
create index questionnaire_response_xuser_id_authored_idx on questionnaire_response (xuser_id, authored);

create table task (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  title text not null,
  description text not null default '',
  due timestamptz, -- null: at any time
  status text not null default 'due',
  status_at timestamptz,
  created_at timestamptz not null default now(),
  constraint task_pkey primary key (id),
  constraint task_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint task_title_check check (title <> '' and length(title) <= 200),
  constraint task_status_check check (status in ('due', 'done', 'skipped'))
);
create index task_xuser_id_due_idx on task (xuser_id, due);
