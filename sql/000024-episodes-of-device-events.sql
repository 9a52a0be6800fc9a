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

-- Called for each event that was new, in the transaction that stores it (src/storage/copy-writer.ts). Not a trigger: a restored backup
-- brings its episodes along. The episode has the event's id, so there is one however often it is told.
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
    coalesce(nullif(left(event_text, 200), ''), rule.title), 'closed', rule.severity, event_time, event_time,
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
    jsonb_build_object('id', event_id, 'subject_id', recording.xuser_id, 'kind', event_code, 'severity', rule.severity))
  from webhook
  where organization_id = recording.organization_id and (project_id is null or project_id = recording.project_id) and disabled_at is null
    and (events @> array['episode.created'] or events @> array['*']);
end
$$;
revoke execute on function open_event_episode(uuid, timestamptz, integer, text, text) from public;

do $$
begin
  if (select count(*) < 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    return;
  end if;
  grant execute on function open_event_episode(uuid, timestamptz, integer, text, text) to biosignal_worker;
end
$$;
