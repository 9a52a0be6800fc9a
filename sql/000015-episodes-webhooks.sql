-- Episodes: what somebody shall look at, with strips and notes (artifacts), who has seen it, and which events of devices open one. And
-- webhooks, that tell others.

-- Something that took some time: a recording, an exercise, an alert, an event of a device.
create table episode (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  xuser_id uuid not null,
  stream_id integer,
  kind text not null, -- e.g. recording, exercise, sleep, alert, event
  title text not null default '',
  status text not null default 'open',
  severity text not null default 'none',
  started_at timestamptz not null,
  ended_at timestamptz, -- null: still going on
  summary jsonb not null default '{}',
  created_by text not null default '',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint episode_pkey primary key (id),
  constraint episode_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint episode_xuser_id_fkey foreign key (xuser_id) references xuser (id) on delete cascade,
  constraint episode_stream_id_fkey foreign key (stream_id) references stream (id) on delete set null,
  constraint episode_status_check check (status in ('open', 'closed', 'cancelled')),
  constraint episode_severity_check check (severity in ('none', 'low', 'medium', 'high')),
  constraint episode_ended_at_check check (ended_at >= started_at),
  constraint episode_open_check check (status <> 'open' or ended_at is null)
);
create index episode_xuser_id_started_at_idx on episode (xuser_id, started_at);
-- Every page of the dashboard shows how many episodes are open, and the open ones are few among all that were ever kept.
create index episode_open_idx on episode (organization_id, started_at) where status = 'open';

-- Who has seen an episode, when, and what they noted: apart from whether it is over.
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

-- What belongs to an episode: a strip, a note, a report.
create table artifact (
  id uuid not null default gen_random_uuid(),
  episode_id uuid not null,
  kind text not null, -- e.g. annotation, strip, report, note, file
  title text not null default '',
  starts_at timestamptz,
  ends_at timestamptz,
  stream_id integer,
  channel_code text,
  media_type text not null default 'application/json',
  content jsonb not null default '{}',
  data bytea,
  created_by text not null default '',
  created_at timestamptz not null default now(),
  constraint artifact_pkey primary key (id),
  constraint artifact_episode_id_fkey foreign key (episode_id) references episode (id) on delete cascade,
  constraint artifact_stream_id_fkey foreign key (stream_id) references stream (id) on delete set null
);
create index artifact_episode_id_idx on artifact (episode_id);

-- An address that is told of events.
create table webhook (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid, -- null: every project
  url text not null,
  events text[] not null, -- resource.action, or * for all
  secret bytea not null, -- signs deliveries
  previous_secret bytea, -- signs them, too, so that a receiver changes its secret without losing one
  previous_secret_expires_at timestamptz, -- until then
  description text not null default '',
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  gone_at timestamptz, -- its address was given up, e.g. it answered 410 Gone: it wants no more
  gone_reason text,
  constraint webhook_pkey primary key (id),
  constraint webhook_organization_id_fkey foreign key (organization_id) references organization (id) on delete cascade,
  constraint webhook_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint webhook_secret_check check (octet_length(secret) >= 32),
  constraint webhook_previous_secret_check check ((previous_secret is null) = (previous_secret_expires_at is null))
);
create index webhook_organization_id_idx on webhook (organization_id);

-- One event for one address, and how its delivery goes.
create table webhook_delivery (
  id uuid not null default gen_random_uuid(),
  webhook_id uuid not null,
  event text not null,
  payload jsonb not null,
  status text not null default 'pending',
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  last_status integer, -- HTTP
  last_error text,
  created_at timestamptz not null default now(),
  delivered_at timestamptz,
  constraint webhook_delivery_pkey primary key (id),
  constraint webhook_delivery_webhook_id_fkey foreign key (webhook_id) references webhook (id) on delete cascade,
  constraint webhook_delivery_status_check check (status in ('pending', 'delivered', 'failed'))
);
-- Deliveries are taken by webhook, so that one which answers slowly holds up its own alone.
create index webhook_delivery_due_idx on webhook_delivery (webhook_id, next_attempt_at) where status = 'pending';
create index webhook_delivery_webhook_id_idx on webhook_delivery (webhook_id, created_at);

-- Events of devices that open an episode, with the strip around them. Other events are stored and nothing more.
create table episode_event (
  code text not null, -- of the packet's Event
  title text not null, -- unless the event brings a text of its own
  severity text not null,
  before_sec integer not null, -- of the strip
  after_sec integer not null,
  constraint episode_event_pkey primary key (code),
  constraint episode_event_severity_check check (severity in ('none', 'low', 'medium', 'high')),
  constraint episode_event_strip_check check (before_sec between 0 and 30 and after_sec between 1 and 30)
);
insert into episode_event (code, title, severity, before_sec, after_sec) values
  ('button', 'Marked by the wearer', 'low', 15, 15),
  ('symptom', 'Symptom', 'medium', 15, 15),
  ('fall', 'Fall', 'high', 15, 15),
  ('arrhythmia', 'Arrhythmia seen by the device', 'medium', 15, 15),
  ('alarm', 'Alarm of the device', 'high', 15, 15);

-- Called for each event that was new, in the transaction that stores it (src/storage/derived-writer.ts). Not a trigger: a restored backup
-- brings its episodes along. The episode has the event's id, so there is one however often it is told.
-- The text of an event may hold tabs and line breaks; the title that is made of it is one line.
create function open_event_episode(event_id uuid, event_time timestamptz, of_stream integer, event_code text, event_text text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  rule episode_event;
  recording record;
begin
  select * into rule from episode_event where code = event_code;
  if not found then
    return;
  end if;
  select s.uuid, s.organization_id, s.project_id, s.xuser_id, d.external_id as device
  into recording from stream s join device d on d.id = s.device_id where s.id = of_stream;
  if not found then
    return; -- erased meanwhile
  end if;
  insert into episode (id, organization_id, project_id, xuser_id, stream_id, kind, title, status, severity, started_at, ended_at, summary, created_by)
  values (event_id, recording.organization_id, recording.project_id, recording.xuser_id, of_stream, event_code,
    coalesce(nullif(left(btrim(regexp_replace(event_text, '[[:cntrl:]]+', ' ', 'g')), 200), ''), rule.title), 'closed', rule.severity, event_time, event_time,
    jsonb_build_object('event', event_code, 'text', event_text), 'device:' || recording.device)
  on conflict (id) do nothing;
  if not found then
    return;
  end if;
  insert into artifact (episode_id, kind, title, starts_at, ends_at, stream_id, created_by)
  values (event_id, 'strip', rule.before_sec || ' s before, ' || rule.after_sec || ' s after', event_time - rule.before_sec * interval '1 second',
    event_time + rule.after_sec * interval '1 second', of_stream, 'device:' || recording.device);
  insert into webhook_delivery (webhook_id, event, payload)
  select id, 'episode.created', jsonb_build_object('type', 'episode.created', 'timestamp', to_json(now()), 'data',
    jsonb_build_object('episode_id', event_id, 'subject_id', recording.xuser_id, 'kind', event_code, 'severity', rule.severity))
  from webhook
  where organization_id = recording.organization_id and (project_id is null or project_id = recording.project_id) and disabled_at is null and gone_at is null
    and (events @> array['episode.created'] or events @> array['*'])
  for share;
end
$$;
revoke execute on function open_event_episode(uuid, timestamptz, integer, text, text) from public;
