/** Events for webhooks, queued in the transaction of the change that they report; src/webhooks/webhooks.ts delivers them. Their data name
 *  their subjects: subject_id, episode_id, artifact_id; xuser_id for the user record itself. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import { exactly, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { build, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';

const Kind = Type.String({ description: "The episode's or artifact's kind." });
const ofEpisode = { episode_id: Uuid, subject_id: Uuid, kind: Kind };

/** The data of each event: ids to look up through the API, never text that people wrote. */
const eventData = {
  'episode.created': exactly({ ...ofEpisode, severity: oneOf(['none', 'low', 'medium', 'high']), started_at: Timestamp }),
  'episode.updated': exactly(ofEpisode),
  'episode.acknowledged': exactly({ ...ofEpisode, acknowledged_by: Type.String({ description: 'key:<id> or operator:<id>' }) }),
  'artifact.created': exactly({ artifact_id: Uuid, ...ofEpisode }),
  'xuser.updated': exactly({ xuser_id: Uuid }),
  'xuser.erased': exactly({ xuser_id: Uuid }),
};
export type WebhookEvent = keyof typeof eventData;
export const webhookEvents = Object.keys(eventData) as readonly WebhookEvent[];

const summaries: Readonly<Record<WebhookEvent | 'ping', string>> = {
  'episode.created': 'An episode was created: by a person or a key, by a rule, by an event of a device, by an answer',
  'episode.updated': 'An episode was changed, closed or opened again, or what it came from was corrected',
  'episode.acknowledged': 'A person acknowledged an episode',
  'artifact.created': 'Something was added to an episode',
  'xuser.updated': 'A user was changed or disabled',
  'xuser.erased': 'A user was erased with all data',
  ping: 'A test of the webhook, sent only on request',
};

/** Payload of each webhook message, for the API description. */
export const webhookMessages: Readonly<Record<string, Readonly<{ summary: string; schema: TSchema }>>> = Object.fromEntries(
  Object.entries({ ...eventData, ping: exactly({ webhook_id: Uuid }) }).map(([type, { properties }]) => [
    type,
    {
      summary: summaries[type as keyof typeof summaries],
      schema: exactly({ type: oneOf([type]), timestamp: Timestamp, data: sentData(properties) }),
    },
  ]),
);

/** Ids are always present; the rest is omitted while the project requires consent to sharing and the person has not given it. */
function sentData(properties: Readonly<Record<string, TSchema>>): TSchema {
  const members = Object.entries(properties).map(([name, schema]) => [name, name.endsWith('_id') ? schema : Type.Optional(schema)]);
  return exactly(Object.fromEntries(members) as Record<string, TSchema>, {
    description: 'Only the ids while the person has not agreed to sharing and the project asks for it.',
  });
}

/** Queues an event for every webhook subscribed to it. Call it in the transaction of the change; otherwise an error between the two loses
 *  the event. The lock makes removal of the webhook wait, so that the removal also ends what is queued here. */
export async function emitEvent<E extends WebhookEvent>(
  db: Db,
  scope: Readonly<{ orgId: string; projectId: string }>,
  event: E,
  data: Static<(typeof eventData)[E]>,
): Promise<void> {
  const webhooks = build
    .selectFrom('webhook')
    .where('organization_id', '=', scope.orgId)
    .where(({ or, eb }) => or([eb('project_id', 'is', null), eb('project_id', '=', scope.projectId)]))
    .where('disabled_at', 'is', null)
    .where('gone_at', 'is', null)
    .where('events', '&&', sql<string[]>`array[${event}::text, '*']`);
  const message = sql<string>`jsonb_build_object('type', ${event}::text, 'timestamp', to_json(now()), 'data', ${JSON.stringify(data)}::jsonb)`;
  await run(
    db,
    build
      .insertInto('webhook_delivery')
      .columns(['webhook_id', 'event', 'payload'])
      .expression(webhooks.select(['id', sql<string>`${event}::text`.as('event'), message.as('payload')]).forShare()),
  );
}
