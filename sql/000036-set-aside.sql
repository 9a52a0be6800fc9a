-- Rows and log entries that could not be stored, with the reason: one of them must not hold up the others, and nothing that was
-- acknowledged is thrown away. Written by src/storage/set-aside.ts, shown and stored again by `biosignal set-aside`.

create table set_aside (
  id bigint generated always as identity,
  time timestamptz not null default now(), -- when it was set aside
  kind text not null,
  organization_id uuid, -- null: of a damaged part of the log, whose owner is not known
  xuser_id uuid,
  stream_id integer,
  reason text not null,
  sqlstate text, -- null: the database was not asked
  log_position bigint, -- batch of packet_log; null: not known
  content json, -- the row; json and not jsonb, which holds no \u0000
  bytes bytea, -- of a packet, of samples, of the log
  digest bytea not null, -- SHA-256 of what it is: a start that finds it again does not set it aside twice
  replay_at timestamptz, -- somebody asked to store it at the next start of the service
  constraint set_aside_pkey primary key (id),
  constraint set_aside_digest_key unique (digest),
  constraint set_aside_kind_check check (kind in ('packet', 'log', 'samples', 'derived', 'measurement', 'event')),
  -- every stream has a user, with whom its rows go
  constraint set_aside_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade
);
create index set_aside_xuser_id_idx on set_aside (xuser_id);
create index set_aside_organization_id_id_idx on set_aside (organization_id, id);
alter table set_aside alter column bytes set storage external;

alter table set_aside enable row level security;

do $$
begin
  if (select count(*) < 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    return;
  end if;
  create policy set_aside_own on set_aside for select to biosignal_api using (organization_id = current_organization());
  grant select on set_aside to biosignal_api; -- the export of a person
  create policy set_aside_service on set_aside to biosignal_ingest, biosignal_worker using (true) with check (true);
  grant select, insert, update, delete on set_aside to biosignal_ingest;
  grant select, insert, update on set_aside to biosignal_worker;
end
$$;
