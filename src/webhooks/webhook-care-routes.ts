/** Routes that act on an existing webhook: test it, change its secret, resume it after it was given up. */
import { sql } from 'kysely';
import { randomBytes, randomUUID } from 'node:crypto';
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { audit } from '../tenancy/audit.ts';
import { Overlap, overlapOf } from '../auth/key-change.ts';
import { orgOf } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { build, inSec, run, runForOne } from '../storage/database/build.ts';
import { RateLimit } from '../http/rate-limit.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, nullable, Uuid } from '../http/schemas.ts';
import { transaction } from '../storage/database/transaction.ts';
import type { WebhookNetworks } from './webhook-networks.ts';
import { sendMessage } from './webhook-request.ts';
import type { Outcome } from './webhook-request.ts';
import { admin, columns, ownWebhook, SecretSchema, WebhookSchema } from './webhook-routes.ts';
import { previousSecret } from './webhooks.ts';

/** Tests of one organization: ten at once, then one every six seconds. They are sent immediately, outside the limits of deliveries. */
const TESTS_PER_SEC = 1 / 6;
const TESTS_BURST_SEC = 60;

const TestSchema = exactly({
  message_id: Type.String({ format: 'uuid', description: 'The webhook-id of the ping.' }),
  delivered: Type.Boolean({ description: 'The answer was 2xx.' }),
  status: nullable(Type.Integer({ description: 'HTTP status of the answer; null: there was none.' })),
  duration_ms: Type.Integer({ description: 'Until the answer, or until it failed.' }),
  error: nullable(Type.String({ description: 'Why it was not delivered.' })),
});

type Deps = Readonly<{ db: Pool; networks: WebhookNetworks }>;

const testWebhook = ({ db, networks }: Deps) => {
  const tests = new RateLimit('webhook-tests', TESTS_PER_SEC, TESTS_BURST_SEC);
  return defineRoute({
    method: 'POST',
    path: '/api/v1/webhooks/{webhookId}/test',
    operationId: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send a ping now and say what was answered',
    description:
      'One signed message of the type `ping`, whatever events the webhook wants and also when it was given up; it is not tried again and ' +
      'not among the deliveries. Ten at once, then ten a minute, for each organization.',
    access: admin,
    params: { webhookId: Uuid },
    body: exactly({}),
    responses: { 200: { description: 'What the receiver said, or why it was not reached.', schema: TestSchema } },
    errors: ['not_found'],
    handler: async (request) => {
      const { caller, params, signal } = request;
      const id = await ownWebhook(db, caller, params.webhookId);
      const { allowed, retryAfterSec } = tests.take(orgOf(caller), Date.now());
      if (!allowed) throw new PipelineError('rate_limited', 'Too many tests of webhooks; wait.', { retryAfterSec });
      const { messageId, durationMs, status, error } = await ping(db, networks, id, signal);
      const answer = { delivered: error === null, status, error };
      await audit(db, request, { action: 'webhook.tested', targetKind: 'webhook', targetId: id, detail: answer });
      return { status: 200, json: { message_id: messageId, duration_ms: durationMs, ...answer } };
    },
  });
};

const rotateWebhookSecret = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/webhooks/{webhookId}/rotate-secret',
    operationId: 'rotateWebhookSecret',
    tag: 'Webhooks',
    summary: 'Give a webhook a new secret; the old one signs too for an overlap',
    description:
      'Until the overlap is over, webhook-signature holds a signature of each secret, the new one first, with a space between them ' +
      '(Standard Webhooks). A secret that is itself still in an overlap ends at once.',
    access: admin,
    params: { webhookId: Uuid },
    body: Overlap,
    responses: { 201: { description: 'The webhook, with its new secret.', schema: SecretSchema } },
    errors: ['not_found'],
    handler: async (request) => {
      const id = await ownWebhook(db, request.caller, request.params.webhookId);
      const [secret, overlapSec] = [randomBytes(32), overlapOf(request.body)];
      const webhook = await transaction(db, async (client) => {
        const changed = await runForOne(
          client,
          build
            .updateTable('webhook')
            .set(({ ref }) => ({
              secret,
              previous_secret: overlapSec > 0 ? ref('secret') : null,
              previous_secret_expires_at: overlapSec > 0 ? inSec(overlapSec) : null,
            }))
            .where('id', '=', id)
            .returning(columns),
        );
        const detail = { overlap_sec: overlapSec };
        await audit(client, request, { action: 'webhook.secret_rotated', targetKind: 'webhook', targetId: id, detail });
        return changed;
      });
      return { status: 201, json: { ...webhook, secret: secret.toString('base64') } };
    },
  });

const resumeWebhook = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/webhooks/{webhookId}/resume',
    operationId: 'resumeWebhook',
    tag: 'Webhooks',
    summary: 'Call a webhook again that was given up',
    description:
      'It gets what happens from now on. What ended meanwhile can be replayed, delivery by delivery; what happened meanwhile was not queued.',
    access: admin,
    params: { webhookId: Uuid },
    body: exactly({}),
    responses: { 200: { description: 'The webhook as it is now.', schema: WebhookSchema } },
    errors: ['not_found'],
    handler: async (request) => {
      const id = await ownWebhook(db, request.caller, request.params.webhookId);
      const json = await transaction(db, async (client) => {
        const webhook = build.updateTable('webhook').set({ gone_at: null, gone_reason: null }).where('id', '=', id);
        const resumed = await runForOne(client, webhook.returning(columns));
        await audit(client, request, { action: 'webhook.resumed', targetKind: 'webhook', targetId: id });
        return resumed;
      });
      return { status: 200, json };
    },
  });

type Ping = Outcome & Readonly<{ messageId: string; durationMs: number }>;

/** Sends a test without holding a database connection while the receiver answers. */
async function ping(db: Pool, networks: WebhookNetworks, webhookId: string, signal: AbortSignal): Promise<Ping> {
  const previous = sql<Buffer | null>`${sql.raw(previousSecret)}`.as('previous');
  const { rows } = await run(db, build.selectFrom('webhook as w').select(['w.url', 'w.secret', previous]).where('w.id', '=', webhookId));
  const hook = rows[0];
  if (hook === undefined) throw new PipelineError('not_found', 'There is no such webhook.');
  const messageId = randomUUID();
  const body = JSON.stringify({ type: 'ping', timestamp: new Date().toISOString(), data: { webhook_id: webhookId } });
  const startMs = performance.now();
  const outcome = await sendMessage({ id: messageId, url: hook.url, secrets: [hook.secret, hook.previous], body }, networks, signal);
  return { ...outcome, messageId, durationMs: Math.round(performance.now() - startMs) };
}

export const webhookCareRoutes = (deps: Deps): readonly Route[] => [testWebhook(deps), rotateWebhookSecret(deps), resumeWebhook(deps)];
