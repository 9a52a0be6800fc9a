-- Whether somebody has reviewed an episode is stored. It was made out of its last change, which is an acknowledgement, a new title, too.

alter table episode
  add column reviewed_at timestamptz; -- when a person or a program has closed it; null: open, dismissed, or it ended by itself

-- Of what was closed before: one that was only acknowledged after its end was entered has not been reviewed.
update episode e set reviewed_at = e.updated_at
where e.status = 'closed' and not e.summary ? 'ended_by' and e.updated_at > e.created_at and not exists (
  select from episode_acknowledgement a where a.episode_id = e.id and (a.created_at = e.updated_at or a.ended_at = e.updated_at));

-- As in 15; the event says when its episode began.
create or replace function open_event_episode(event_id uuid, event_time timestamptz, of_stream integer, event_code text, event_text text) returns void
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
    jsonb_build_object('episode_id', event_id, 'subject_id', recording.xuser_id, 'kind', event_code, 'severity', rule.severity, 'started_at', to_json(event_time)))
  from webhook
  where organization_id = recording.organization_id and (project_id is null or project_id = recording.project_id) and disabled_at is null and gone_at is null
    and (events @> array['episode.created'] or events @> array['*'])
  for share;
end
$$;
