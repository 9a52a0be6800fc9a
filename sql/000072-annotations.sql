-- What people mark on a recording: a moment or a stretch, with a text; and beats that they correct. What was computed stays as it is.

-- One version of one annotation. A change adds a version, and so does taking it back: nothing that was said is lost.
create table annotation (
  id uuid not null default gen_random_uuid(),
  version integer not null default 1,
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  stream_id integer not null,
  channel_code text not null default '', -- '': of all channels
  kind text not null,
  starts_at timestamptz not null,
  ends_at timestamptz, -- null: a moment
  beat text, -- of kind beat: what it is by AAMI, or none: there is no beat
  content text not null default '',
  made_by text not null, -- of this version: key:<id> or operator:<id>
  name text not null default '', -- of the key or the operator, as it was then
  made_at timestamptz not null default now(),
  deleted boolean not null default false, -- taken back by this version
  replaced_at timestamptz, -- null: the newest version
  constraint annotation_pkey primary key (id, version),
  constraint annotation_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint annotation_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint annotation_stream_id_fkey foreign key (stream_id) references stream (id) on delete cascade,
  constraint annotation_kind_check check (kind in ('note', 'symptom', 'activity', 'artefact', 'rhythm', 'beat')),
  constraint annotation_ends_at_check check (ends_at > starts_at),
  constraint annotation_beat_check check ((kind = 'beat') = (beat is not null) and (beat is null or ends_at is null)),
  constraint annotation_beat_kind_check check (beat in ('N', 'S', 'V', 'F', 'Q', 'none')),
  constraint annotation_content_check check (length(content) <= 2000)
);
create unique index annotation_newest_key on annotation (id) where replaced_at is null;
create index annotation_stream_id_starts_at_idx on annotation (stream_id, starts_at) where replaced_at is null and not deleted;
create index annotation_xuser_id_starts_at_idx on annotation (xuser_id, starts_at) where replaced_at is null and not deleted;

alter table annotation enable row level security;
do $$
begin
  if exists (select from pg_roles where rolname = 'biosignal_api') then
    create policy annotation_own on annotation to biosignal_api using (organization_id = current_organization());
    grant select, insert, update on annotation to biosignal_api;
  end if;
end
$$;
