/** Webhooks: what happened, told to an address of the integrator, signed and retried.
 *  A delivery is `pending` from the change that caused it until its address answered 2xx (`delivered`) or the last attempt failed
 *  (`failed`); a replay makes it pending again. Signatures follow Standard Webhooks: v1,base64(HMAC-SHA-256(secret, id.timestamp.body)). */
import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import type { Pool } from 'pg';
import type { Db } from '../auth/api-keys.ts';

export const webhookEvents = ['episode.created', 'episode.updated', 'artifact.created', 'xuser.updated', 'xuser.erased'] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** Waits before attempts 2, 3 …, seconds: about a day and a half in all. */
export const retrySec = [5, 60, 600, 3600, 4 * 3600, 10 * 3600, 20 * 3600] as const;
const BATCH = 20;
const POLL_MS = 1000;
const TIMEOUT_MS = 10_000;

/** Addresses that are not of the public internet: an integrator must not reach what stands beside the service.
 *  IPv4 in IPv6 form (::ffff:10.0.0.1) is checked against the IPv4 rules by BlockList itself. */
const notPublic = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  notPublic.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of [
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const)
  notPublic.addSubnet(net, prefix, 'ipv6');

export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && !notPublic.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** Queues an event for every webhook that wants it. Call it in the transaction, or on the connection, of the change. */
export async function emitEvent(
  db: Db,
  scope: Readonly<{ orgId: string; projectId: string }>,
  event: WebhookEvent,
  data: object,
): Promise<void> {
  await db.query(
    `insert into webhook_delivery (webhook_id, event, payload)
     select id, $3, jsonb_build_object('type', $3::text, 'timestamp', to_json(now()), 'data', $4::jsonb)
     from webhook where organization_id = $1 and (project_id is null or project_id = $2) and disabled_at is null and (events @> array[$3::text] or events @> array['*'])`,
    [scope.orgId, scope.projectId, event, JSON.stringify(data)],
  );
}

export function signatureOf(secret: Uint8Array, id: string, timestampSec: number, body: string): string {
  return `v1,${createHmac('sha256', secret).update(`${id}.${timestampSec}.${body}`).digest('base64')}`;
}

export type DelivererOptions = Readonly<{
  pool: Pool;
  /** Lets deliveries go to private addresses and over plain HTTP: for tests. */
  allowPrivate?: boolean;
  pollMs?: number;
}>;

/** Delivers what is due, on one node at a time per delivery (skip locked). @returns how to stop */
export function startWebhookDeliverer(options: DelivererOptions): () => Promise<void> {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  const turn = async (): Promise<void> => {
    // The table is asked again at once while there was a full batch.
    while (!stopped && (await deliverDue(options.pool, options.allowPrivate === true)) === BATCH);
  };
  const timer = setInterval(() => {
    running = running.then(turn).catch(() => undefined); // the database is away: the next turn asks again
  }, options.pollMs ?? POLL_MS);
  timer.unref();
  return async () => {
    stopped = true;
    clearInterval(timer);
    await running;
  };
}

type Due = Readonly<{ id: string; url: string; secret: Buffer; body: string; attempts: number }>;

/** Takes due deliveries, pushes their next attempt beyond the timeout (so that no other node takes them), and sends them. */
async function deliverDue(pool: Pool, allowPrivate: boolean): Promise<number> {
  const { rows } = await pool.query<Due>(
    `with due as (
       select d.id from webhook_delivery d join webhook w on w.id = d.webhook_id
       where d.status = 'pending' and d.next_attempt_at <= now() and w.disabled_at is null
       order by d.next_attempt_at limit ${BATCH} for update of d skip locked
     )
     update webhook_delivery d set attempts = d.attempts + 1, next_attempt_at = now() + interval '1 minute'
     from due, webhook w where d.id = due.id and w.id = d.webhook_id
     returning d.id, w.url, w.secret, d.payload::text as body, d.attempts`,
  );
  await Promise.all(rows.map((due) => deliver(pool, due, allowPrivate)));
  return rows.length;
}

async function deliver(pool: Pool, due: Due, allowPrivate: boolean): Promise<void> {
  const answer = await post(due, allowPrivate).catch((error: unknown) => ({
    status: null,
    error: error instanceof Error ? error.message : 'failed',
  }));
  const done = answer.status !== null && answer.status >= 200 && answer.status < 300;
  const waitSec = retrySec[due.attempts - 1];
  await pool.query(
    `update webhook_delivery set last_status = $2, last_error = $3,
       status = case when $4 then 'delivered' when $5::integer is null then 'failed' else 'pending' end,
       delivered_at = case when $4 then now() end,
       next_attempt_at = now() + make_interval(secs => coalesce($5::integer, 0))
     where id = $1`,
    [due.id, answer.status, answer.error, done, waitSec ?? null],
  );
}

/** One attempt. Redirects are not followed: they are a way around the address check. */
function post(due: Due, allowPrivate: boolean): Promise<{ status: number | null; error: string | null }> {
  const url = new URL(due.url);
  const secure = url.protocol === 'https:';
  if (!secure && !allowPrivate) return Promise.resolve({ status: null, error: 'the address is not https' });
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && !allowPrivate && !isPublicAddress(host))
    return Promise.resolve({ status: null, error: 'the address is not public' });
  const timestampSec = Math.floor(Date.now() / 1000);
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      // Checked at the connection itself: a name that resolves differently the second time gains nothing.
      ...(allowPrivate ? {} : { lookup: publicLookup }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'biosignal-webhook',
        'webhook-id': due.id,
        'webhook-timestamp': String(timestampSec),
        'webhook-signature': signatureOf(due.secret, due.id, timestampSec, due.body),
      },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      response.destroy(); // what it says does not matter
      const status = response.statusCode ?? 0;
      resolve({ status, error: status >= 200 && status < 300 ? null : `HTTP ${status}` });
    });
    request.end(due.body);
  });
}

const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) {
      callback(error, '', 0);
      return;
    }
    const bad = addresses.find(({ address }) => !isPublicAddress(address));
    const [first] = addresses;
    if (bad !== undefined || first === undefined) callback(new Error(`${hostname} resolves to an address that is not public`), '', 0);
    else if (options.all === true) (callback as (error: null, addresses: (typeof first)[]) => void)(null, addresses);
    else callback(null, first.address, first.family);
  });
};
