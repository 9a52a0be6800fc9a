-- What an answer sets off: an address that answers 410 is called no more, and every event of an episode names it the same way.
alter table webhook add column gone_at timestamptz; -- its address answered 410 Gone: it wants no more

-- Deliveries are taken by webhook, so that one which answers slowly holds up its own alone.
drop index webhook_delivery_due_idx;
create index webhook_delivery_due_idx on webhook_delivery (webhook_id, next_attempt_at) where status = 'pending';

-- What was due to addresses that are removed already.
update webhook_delivery d set status = 'failed', last_error = 'the webhook was removed'
from webhook w where w.id = d.webhook_id and w.disabled_at is not null and d.status = 'pending';

-- A kept answer goes with the person whom it is about.
alter table idempotency add column xuser_id uuid;

-- As in 000024, with episode_id in the event.
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
    jsonb_build_object('episode_id', event_id, 'subject_id', recording.xuser_id, 'kind', event_code, 'severity', rule.severity))
  from webhook
  where organization_id = recording.organization_id and (project_id is null or project_id = recording.project_id) and disabled_at is null and gone_at is null
    and (events @> array['episode.created'] or events @> array['*'])
  for share;
end
$$;
