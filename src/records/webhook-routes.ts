/** Webhooks: register, list, remove; look at deliveries and replay them. What is done to one that exists: webhook-care-routes.ts. */
import { randomBytes } from 'node:crypto';
import { Type } from 'typebox';
import type { Pool } from 'pg';
import type { Db } from '../storage/database/database.ts';
import { audit } from '../tenancy/audit.ts';
import { needLasting } from '../tenancy/authority.ts';
import { webhookEvents } from '../tenancy/events.ts';
import { orgOf, ownProject, projectOf } from '../tenancy/ownership.ts';
import { PipelineError } from '../errors.ts';
import { defineRoute } from '../http/route.ts';
import type { Access, Route } from '../http/route.ts';
import { exactly, LimitQuery, nullable, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { transaction } from '../storage/database/transaction.ts';
import { endDeliveries } from './webhooks.ts';
import { WebhookNetworks } from './webhook-networks.ts';
import type { Caller } from '../caller.ts';

export const webhookMembers = {
  id: Uuid,
  project_id: nullable(Uuid),
  url: Type.String(),
  events: Type.Array(oneOf([...webhookEvents, '*'])),
  description: Type.String(),
  created_at: Timestamp,
  gone_at: nullable(Type.String({ format: 'date-time', description: 'Called no more since then.' })),
  gone_reason: nullable(Type.String()),
  previous_secret_expires_at: nullable(Type.String({ format: 'date-time', description: 'Until then the secret before signs, too.' })),
};
export const WebhookSchema = exactly(webhookMembers);
export const SecretSchema = exactly({ ...webhookMembers, secret: Type.String({ description: 'base64; shown this once.' }) });
const DeliverySchema = exactly({
  id: Uuid,
  event: Type.String(),
  status: oneOf(['pending', 'delivered', 'failed']),
  attempts: Type.Integer(),
  next_attempt_at: Timestamp,
  last_status: nullable(Type.Integer()),
  last_error: nullable(Type.String()),
  created_at: Timestamp,
  delivered_at: nullable(Timestamp),
});
export const admin: Access = { key: 'admin', operator: 'admin' };
export const columns = `id, project_id, url, events, description, to_json(created_at) #>> '{}' as created_at,
  to_json(gone_at) #>> '{}' as gone_at, gone_reason,
  to_json(case when previous_secret_expires_at > now() then previous_secret_expires_at end) #>> '{}' as previous_secret_expires_at`;
const deliveryColumns = `d.id, d.event, d.status, d.attempts, to_json(d.next_attempt_at) #>> '{}' as next_attempt_at, d.last_status, d.last_error,
  to_json(d.created_at) #>> '{}' as created_at, to_json(d.delivered_at) #>> '{}' as delivered_at`;

/** @throws PipelineError not_found: it is of others, or removed */
export async function ownWebhook(db: Db, caller: Caller, id: string): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    'select id from webhook where id = $1 and organization_id = $2 and ($3::uuid is null or project_id = $3) and disabled_at is null',
    [id, orgOf(caller), projectOf(caller)],
  );
  const row = rows[0];
  if (row === undefined) throw new PipelineError('not_found', 'There is no such webhook.');
  return row.id;
}

/** @param deps networks: which addresses may be called; default: the public internet */
type Deps = Readonly<{ db: Pool; networks?: WebhookNetworks }>;

const listWebhooks = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/webhooks',
    operationId: 'listWebhooks',
    tag: 'Webhooks',
    summary: 'List webhooks',
    access: admin,
    responses: { 200: { description: 'Webhooks.', schema: Type.Array(WebhookSchema) } },
    handler: async ({ caller }) => {
      const { rows } = await db.query(
        `select ${columns} from webhook where organization_id = $1 and ($2::uuid is null or project_id = $2) and disabled_at is null
         order by webhook.created_at, id limit 1000`,
        [orgOf(caller), projectOf(caller)],
      );
      return { status: 200, json: rows };
    },
  });

const createWebhook = ({ db, networks = new WebhookNetworks() }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/webhooks',
    operationId: 'createWebhook',
    tag: 'Webhooks',
    summary: 'Register a webhook',
    description:
      'Deliveries carry webhook-id, webhook-timestamp and webhook-signature: v1,base64(HMAC-SHA-256(secret, "id.timestamp.body")). Answer ' +
      '2xx within 10 s; anything else is tried again for about a day and a half, but for 410 Gone, which ends the webhook (gone_at). While a ' +
      'secret is being changed there are two signatures with a space between them; one that fits is enough. Only public ' +
      'https addresses are called, and those of networks that the operator of the service has named; any other address is refused here. A key that ends registers none.',
    access: admin,
    body: exactly({
      url: Type.String({ pattern: '^https?://[^\\s]+$', maxLength: 2000 }),
      events: Type.Array(oneOf([...webhookEvents, '*']), { minItems: 1, uniqueItems: true }),
      project_id: Type.Optional(nullable(Uuid)),
      description: Type.Optional(Type.String({ maxLength: 500 })),
    }),
    responses: {
      201: {
        description: 'The webhook, with its secret.',
        schema: SecretSchema,
      },
    },
    errors: ['not_found'],
    handler: async (request) => {
      const { caller, body } = request;
      await needLasting(db, caller, 'A webhook');
      const refused = await networks.refusal(body.url);
      if (refused !== null) {
        throw new PipelineError('validation_failed', `/url: ${refused}`, {
          errors: [{ pointer: '/url', code: 'address', detail: refused }],
        });
      }
      const wanted = body.project_id ?? projectOf(caller);
      const projectId = wanted === null ? null : (await ownProject(db, caller, wanted)).id;
      const secret = randomBytes(32);
      const webhook = await transaction(db, async (client) => {
        const { rows } = await client.query<{ id: string }>(
          `insert into webhook (organization_id, project_id, url, events, secret, description) values ($1, $2, $3, $4, $5, $6) returning ${columns}`,
          [orgOf(caller), projectId, body.url, body.events, secret, body.description ?? ''],
        );
        await audit(client, request, { action: 'webhook.created', targetKind: 'webhook', targetId: rows[0]?.id ?? '' });
        return rows[0];
      });
      return { status: 201, json: { ...webhook, secret: secret.toString('base64') } };
    },
  });

const deleteWebhook = ({ db }: Deps) =>
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/webhooks/{webhookId}',
    operationId: 'deleteWebhook',
    tag: 'Webhooks',
    summary: 'Remove a webhook',
    description: 'What is still due to it is delivered no more.',
    access: admin,
    params: { webhookId: Uuid },
    responses: { 204: { description: 'Removed.' } },
    errors: ['not_found'],
    handler: async (request) => {
      const id = await ownWebhook(db, request.caller, request.params.webhookId);
      await transaction(db, async (client) => {
        await client.query('update webhook set disabled_at = now() where id = $1', [id]);
        await endDeliveries(client, id, 'the webhook was removed');
        await audit(client, request, { action: 'webhook.deleted', targetKind: 'webhook', targetId: id });
      });
      return { status: 204 };
    },
  });

const listDeliveries = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/webhooks/{webhookId}/deliveries',
    operationId: 'listDeliveries',
    tag: 'Webhooks',
    summary: 'List the deliveries of a webhook, newest first',
    access: admin,
    params: { webhookId: Uuid },
    query: { limit: LimitQuery(100, 1000), status: Type.Optional(oneOf(['pending', 'delivered', 'failed'])) },
    responses: { 200: { description: 'Deliveries.', schema: Type.Array(DeliverySchema) } },
    errors: ['not_found'],
    handler: async ({ caller, params, query }) => {
      const id = await ownWebhook(db, caller, params.webhookId);
      const { limit, status } = query;
      const { rows } = await db.query(
        `select ${deliveryColumns} from webhook_delivery d where d.webhook_id = $1 and ($2::text is null or d.status = $2)
         order by d.created_at desc, d.id limit $3`,
        [id, status ?? null, limit],
      );
      return { status: 200, json: rows };
    },
  });

const replayDelivery = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/webhooks/{webhookId}/deliveries/{deliveryId}/replay',
    operationId: 'replayDelivery',
    tag: 'Webhooks',
    summary: 'Deliver once more, with the same id',
    access: admin,
    params: { webhookId: Uuid, deliveryId: Uuid },
    body: exactly({}),
    responses: { 202: { description: 'Queued.', schema: DeliverySchema } },
    errors: ['not_found'],
    handler: async ({ caller, params }) => {
      const id = await ownWebhook(db, caller, params.webhookId);
      const { rows } = await db.query(
        `update webhook_delivery d set status = 'pending', attempts = 0, next_attempt_at = now()
         from webhook w where d.id = $1 and d.webhook_id = $2 and w.id = d.webhook_id and w.gone_at is null
         returning ${deliveryColumns}`,
        [params.deliveryId, id],
      );
      if (rows.length === 0) throw new PipelineError('not_found', 'There is no such delivery, or its address answered 410 Gone.');
      return { status: 202, json: rows[0] };
    },
  });

export const webhookRoutes = (deps: Deps): readonly Route[] => [
  listWebhooks(deps),
  createWebhook(deps),
  deleteWebhook(deps),
  listDeliveries(deps),
  replayDelivery(deps),
];
