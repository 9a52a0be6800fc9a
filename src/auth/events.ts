/** Events for webhooks, queued in the transaction of the change that they tell; src/records/webhooks.ts delivers them.
 *  Their data name what they are about: subject_id, episode_id, artifact_id; xuser_id for the user record itself. */
import type { Db } from './api-keys.ts';

export const webhookEvents = [
  'episode.created',
  'episode.updated',
  'episode.acknowledged',
  'artifact.created',
  'xuser.updated',
  'xuser.erased',
] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** Queues an event for every webhook that wants it. Call it in the transaction of the change, or an error between the two loses it.
 *  The lock makes a removal of the webhook wait, so that it also ends what is queued just now. */
export async function emitEvent(
  db: Db,
  scope: Readonly<{ orgId: string; projectId: string }>,
  event: WebhookEvent,
  data: object,
): Promise<void> {
  await db.query(
    `insert into webhook_delivery (webhook_id, event, payload)
     select id, $3, jsonb_build_object('type', $3::text, 'timestamp', to_json(now()), 'data', $4::jsonb)
     from webhook
     where organization_id = $1 and (project_id is null or project_id = $2) and disabled_at is null and gone_at is null
       and (events @> array[$3::text] or events @> array['*'])
     for share`,
    [scope.orgId, scope.projectId, event, JSON.stringify(data)],
  );
}
