-- Who has seen an episode, when, and what they noted: apart from whether it is over. An open episode has no end.
create table episode_acknowledgement (
  id uuid not null default gen_random_uuid(),
  episode_id uuid not null,
  acknowledged_by text not null, -- key:<id> or operator:<id>
  name text not null default '', -- of the key or the operator, as it was then
  note text not null default '',
  created_at timestamptz not null default now(),
  ended_at timestamptz, -- null: it counts; else a newer one replaced it, or the episode was opened again
  constraint episode_acknowledgement_pkey primary key (id),
  constraint episode_acknowledgement_episode_id_fkey foreign key (episode_id) references episode (id) on delete cascade,
  constraint episode_acknowledgement_note_check check (length(note) <= 1000)
);
create unique index episode_acknowledgement_current_key on episode_acknowledgement (episode_id) where ended_at is null;
create index episode_acknowledgement_episode_id_idx on episode_acknowledgement (episode_id, created_at);

-- Episodes that were opened again kept their end, and were missing where one looked for what goes on.
update episode set ended_at = null where status = 'open' and ended_at is not null;
alter table episode add constraint episode_open_check check (status <> 'open' or ended_at is null);

do $$
begin
  alter table episode_acknowledgement enable row level security;
  if (select count(*) < 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    return;
  end if;
  create policy episode_acknowledgement_own on episode_acknowledgement to biosignal_api
    using (exists (select from episode e where e.id = episode_acknowledgement.episode_id and e.organization_id = current_organization()));
  grant select, insert, update, delete on episode_acknowledgement to biosignal_api;
end
$$;
