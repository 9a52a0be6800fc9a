-- An erasure that a kill interrupts is finished by any node.

-- A person whose rows are deleted, except those that were being stored at that moment. It goes when these are deleted too.
create table unfinished_erasure (
  person_id uuid not null, -- of xuser, where the person is no longer
  organization_id uuid not null, -- no foreign key: the organization may be removed before the erasure is finished
  project_id uuid not null,
  stream_ids integer[] not null,
  stream_uuids uuid[] not null,
  erased_at timestamptz not null default now(),
  constraint unfinished_erasure_pkey primary key (person_id)
);
