/** Webhooks: register, list, remove; look at deliveries and replay them. Tests, secrets and resuming: webhook-care-routes.ts. */
import { sql } from 'kysely';
import type { ExpressionBuilder } from 'kysely';
import { randomBytes } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import type { Db } from '../storage/database/database.ts';
import { audit } from '../tenancy/audit.ts';
import { needLasting } from '../tenancy/authority.ts';
import { webhookEvents } from '../tenancy/events.ts';
import { orgOf, ownProject, projectOf } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { build, isoTime, now, run, runForOne } from '../storage/database/build.ts';
import type { Tables } from '../storage/database/tables.ts';
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
export const columns = ({ ref }: ExpressionBuilder<Tables, 'webhook'>) =>
  [
    'id',
    'project_id',
    'url',
    ref('events').$castTo<Static<typeof WebhookSchema>['events']>().as('events'),
    'description',
    isoTime(ref('created_at')).as('created_at'),
    isoTime(ref('gone_at')).as('gone_at'),
    'gone_reason',
    isoTime(sql<Date | null>`case when previous_secret_expires_at > now() then previous_secret_expires_at end`).as(
      'previous_secret_expires_at',
    ),
  ] as const;
const deliveryColumns = ({ ref }: ExpressionBuilder<Tables & { d: Tables['webhook_delivery'] }, 'd'>) =>
  [
    'd.id',
    'd.event',
    'd.status',
    'd.attempts',
    isoTime(ref('d.next_attempt_at')).as('next_attempt_at'),
    'd.last_status',
    'd.last_error',
    isoTime(ref('d.created_at')).as('created_at'),
    isoTime(ref('d.delivered_at')).as('delivered_at'),
  ] as const;

/** Webhooks that the caller reaches, without those that were removed. */
function webhooksOf(caller: Caller) {
  const project = projectOf(caller);
  const webhooks = build.selectFrom('webhook').where('organization_id', '=', orgOf(caller)).where('disabled_at', 'is', null);
  return project === null ? webhooks : webhooks.where('project_id', '=', project);
}

/** @throws PipelineError not_found: not the caller's, or removed */
export async function ownWebhook(db: Db, caller: Caller, id: string): Promise<string> {
  const { rows } = await run(db, webhooksOf(caller).where('id', '=', id).select('id'));
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
      const { rows } = await run(db, webhooksOf(caller).select(columns).orderBy('webhook.created_at').orderBy('id').limit(1000));
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
        const members = { organization_id: orgOf(caller), project_id: projectId, url: body.url, description: body.description ?? '' };
        const insert = build.insertInto('webhook').values({ ...members, events: [...body.events], secret });
        const made = await runForOne(client, insert.returning(columns));
        await audit(client, request, { action: 'webhook.created', targetKind: 'webhook', targetId: made.id });
        return made;
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
        await run(client, build.updateTable('webhook').set({ disabled_at: now }).where('id', '=', id));
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
      let deliveries = build.selectFrom('webhook_delivery as d').select(deliveryColumns).where('d.webhook_id', '=', id);
      if (status !== undefined) deliveries = deliveries.where('d.status', '=', status);
      const { rows } = await run(db, deliveries.orderBy('d.created_at', 'desc').orderBy('d.id').limit(limit));
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
      const { rows } = await run(
        db,
        build
          .updateTable('webhook_delivery as d')
          .from('webhook as w')
          .set({ status: 'pending', attempts: 0, next_attempt_at: now })
          .where('d.id', '=', params.deliveryId)
          .where('d.webhook_id', '=', id)
          .whereRef('w.id', '=', 'd.webhook_id')
          .where('w.gone_at', 'is', null)
          .returning(deliveryColumns),
      );
      const [queued] = rows;
      if (queued === undefined) throw new PipelineError('not_found', 'There is no such delivery, or its address answered 410 Gone.');
      return { status: 202, json: queued };
    },
  });

export const webhookRoutes = (deps: Deps): readonly Route[] => [
  listWebhooks(deps),
  createWebhook(deps),
  deleteWebhook(deps),
  listDeliveries(deps),
  replayDelivery(deps),
];
