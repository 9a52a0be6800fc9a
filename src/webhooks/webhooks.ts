/** Webhooks: sends events to an integrator's address, signed and with retries. A delivery is `pending` from the change that caused it until
 *  the address answers 2xx (`delivered`), or the last attempt fails, the address answers 410 or the webhook is removed (`failed`); a replay
 *  makes it pending again.
 *
 *  An address that answers slowly, or not at all, delays only its own deliveries: each has a few connections of its own, and only one while
 *  it is slow. */
import type { Pool } from 'pg';
import { build, inSec, now, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { isHere } from '../tenancy/moving.ts';
import { WebhookNetworks } from './webhook-networks.ts';
import { sendMessage } from './webhook-request.ts';
import type { Outcome } from './webhook-request.ts';

/** Waits before attempts 2, 3 …, seconds: about a day and a half in all. */
export const retrySec = [5, 60, 600, 3600, 4 * 3600, 10 * 3600, 20 * 3600] as const;
const POLL_MS = 1000;
/** How long an orderly stop waits for requests under way, ms; those that it cuts off are sent again after the next start. */
const STOP_TIMEOUT_MS = 3000;
/** Concurrent requests of one node: in all, per organization, per webhook, and per slow webhook. */
const IN_FLIGHT_MAX = 256;
const ORGANIZATION_IN_FLIGHT_MAX = 32;
const WEBHOOK_IN_FLIGHT_MAX = 4;
const SLOW_IN_FLIGHT_MAX = 1;
/** Answer time above which a webhook counts as slow, ms. */
const SLOW_MS = 2000;
const GONE = 410;
/** Interval at which secrets are deleted once their overlap is over, ms. */
const FORGET_MS = 5000;

export type DelivererOptions = Readonly<{
  pool: Pool;
  /** Which addresses may be called. Default: the public internet over HTTPS. */
  networks?: WebhookNetworks;
  pollMs?: number;
  /** Called when polling the database, or noting an outcome, failed. Both are retried. */
  onError?: (error: unknown) => void;
}>;

/** Delivers what is due, on one node at a time per delivery. @returns how to stop */
export function startWebhookDeliverer(options: DelivererOptions): () => Promise<void> {
  const deliverer = new Deliverer(options);
  let forgetting: Promise<void> = Promise.resolve();
  const forget = (): void => void (forgetting = forgetSecrets(options.pool).catch((error: unknown) => options.onError?.(error)));
  // job: webhooks: delivers what is due, every second; forgets secrets whose overlap is over
  const timers = [setInterval(() => deliverer.look(), options.pollMs ?? POLL_MS), setInterval(forget, FORGET_MS)];
  for (const timer of timers) timer.unref();
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await Promise.all([deliverer.stop(), forgetting]);
  };
}

type Due = Readonly<{
  id: string;
  webhookId: string;
  orgId: string;
  url: string;
  secret: Buffer;
  previousSecret: Buffer | null;
  body: string;
  attempts: number;
}>;

/** Polls on a timer, and when a request has ended after a poll that left deliveries waiting; one poll at a time. */
class Deliverer {
  readonly #options: DelivererOptions;
  readonly #networks: WebhookNetworks;
  readonly #sending = new Set<Promise<void>>();
  /** Requests under way by webhook and by organization. */
  readonly #busy = new Map<string, number>();
  readonly #slow = new Set<string>();
  readonly #cut = new AbortController();
  #looking: Promise<void> | null = null;
  #more = false;
  #stopped = false;

  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#networks = options.networks ?? new WebhookNetworks();
  }

  look(): void {
    if (this.#stopped || this.#looking !== null) return;
    this.#looking = this.#take()
      .catch((error: unknown) => this.#options.onError?.(error)) // the database is unavailable: the next poll tries again
      .finally(() => (this.#looking = null));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const timer = setTimeout(() => this.#cut.abort(new Error('the service stopped')), STOP_TIMEOUT_MS);
    await this.#looking;
    await Promise.all(this.#sending);
    clearTimeout(timer);
  }

  async #take(): Promise<void> {
    const free = IN_FLIGHT_MAX - this.#sending.size;
    if (free <= 0) return;
    const taken = await takeDue(this.#options.pool, free, this.#room());
    // Something was taken, so more may be waiting: poll again as soon as one of these requests ends.
    this.#more = taken.length > 0;
    for (const due of taken) {
      this.#count(due, 1);
      const sending = this.#deliver(due)
        .catch((error: unknown) => this.#options.onError?.(error))
        .finally(() => {
          this.#sending.delete(sending);
          this.#count(due, -1);
          if (this.#more) this.look();
        });
      this.#sending.add(sending);
    }
  }

  /** Free places of those that have fewer than usual. */
  #room(): ReadonlyMap<string, number> {
    const room = new Map([...this.#busy].map(([key, busy]) => [key, limitOf(key) - busy]));
    for (const id of this.#slow) room.set(id, SLOW_IN_FLIGHT_MAX - (this.#busy.get(id) ?? 0));
    return room;
  }

  #count({ webhookId, orgId }: Due, by: 1 | -1): void {
    for (const key of [webhookId, ORGANIZATION + orgId]) {
      const busy = (this.#busy.get(key) ?? 0) + by;
      if (busy === 0) this.#busy.delete(key);
      else this.#busy.set(key, busy);
    }
  }

  async #deliver(due: Due): Promise<void> {
    const startMs = performance.now();
    const message = { ...due, secrets: [due.secret, due.previousSecret] };
    const outcome = await sendMessage(message, this.#networks, this.#cut.signal);
    if (performance.now() - startMs > SLOW_MS) this.#slow.add(due.webhookId);
    else this.#slow.delete(due.webhookId);
    await noteOutcome(this.#options.pool, due, outcome);
  }
}

const ORGANIZATION = 'organization ';

function limitOf(key: string): number {
  return key.startsWith(ORGANIZATION) ? ORGANIZATION_IN_FLIGHT_MAX : WEBHOOK_IN_FLIGHT_MAX;
}

/** Deletes previous secrets that no longer sign. */
async function forgetSecrets(pool: Pool): Promise<void> {
  const noSecret = { previous_secret: null, previous_secret_expires_at: null };
  await run(pool, build.updateTable('webhook').set(noSecret).where('previous_secret_expires_at', '<=', now));
}

/** SQL for a webhook w: the previous secret, which also signs until its overlap is over. */
export const previousSecret = 'case when w.previous_secret_expires_at > now() then w.previous_secret end';

/** Takes due deliveries, the oldest of each webhook before the second of any, and moves their next attempt past the timeout, so that no
 *  other node takes them.  @param room by webhook and by organization: how many each may get, where fewer than usual */
async function takeDue(pool: Pool, countMax: number, room: ReadonlyMap<string, number>): Promise<readonly Due[]> {
  // SQL: nested window functions, and the room per webhook as a table; one statement, so that no other node takes the same ones.
  const { rows } = await pool.query<Due>(
    `with room as (select * from unnest($2::text[], $3::integer[]) as r (key, free)),
     first as (
       select d.id, d.next_attempt_at, w.organization_id,
         row_number() over (partition by w.id order by d.next_attempt_at, d.id) as place,
         coalesce((select free from room where key = w.id::text), ${WEBHOOK_IN_FLIGHT_MAX}) as free
       from webhook w cross join lateral (
         select id, next_attempt_at from webhook_delivery
         where webhook_id = w.id and status = 'pending' and next_attempt_at <= now()
         order by next_attempt_at limit ${WEBHOOK_IN_FLIGHT_MAX}
       ) d
       where w.disabled_at is null and w.gone_at is null and ${isHere('w.organization_id')}
     ), fair as (
       select f.*, row_number() over (partition by organization_id order by place, next_attempt_at) as place_of_organization,
         coalesce((select free from room where key = '${ORGANIZATION}' || f.organization_id), ${ORGANIZATION_IN_FLIGHT_MAX}) as organization_free
       from first f where place <= free
     ), chosen as (
       select id from fair where place_of_organization <= organization_free order by place_of_organization, place, next_attempt_at limit $1
     )
     update webhook_delivery d set attempts = d.attempts + 1, next_attempt_at = now() + interval '1 minute'
     from chosen, webhook w
     where d.id = chosen.id and w.id = d.webhook_id and d.status = 'pending' and d.next_attempt_at <= now()
     returning d.id, d.webhook_id as "webhookId", w.organization_id as "orgId", w.url, w.secret, ${previousSecret} as "previousSecret", d.attempts,
       (case when 'sharing' = any(missing_consents((d.payload #>> '{data,subject_id}')::uuid)) then ${withIdsOnly} else d.payload end)::text as body`,
    [countMax, [...room.keys()], [...room.values()]],
  );
  return rows;
}

/** SQL: reduces an event to its ids while the person has not given the consent to sharing that the project requires. */
const withIdsOnly = `jsonb_set(d.payload, '{data}', (
  select jsonb_object_agg(name, value) from jsonb_each(d.payload -> 'data') as member (name, value) where name like '%\\_id'))`;

/** Stores an outcome. A delivery that was ended while under way stays ended, unless it arrived. */
async function noteOutcome(pool: Pool, due: Due, { status, error }: Outcome): Promise<void> {
  const done = status !== null && status >= 200 && status < 300;
  const waitSec = status === GONE ? undefined : retrySec[due.attempts - 1];
  const noted = build.updateTable('webhook_delivery').set({
    last_status: status,
    last_error: error,
    status: done ? 'delivered' : waitSec === undefined ? 'failed' : 'pending',
    delivered_at: done ? now : null,
    next_attempt_at: inSec(waitSec ?? 0),
  });
  const delivery = noted.where('id', '=', due.id);
  await run(pool, done ? delivery : delivery.where('status', '=', 'pending'));
  if (status === GONE) await endWebhook(pool, due.webhookId);
}

/** Ends a webhook whose address wants no more, with everything still due. */
async function endWebhook(pool: Pool, webhookId: string): Promise<void> {
  const reason = 'the address answered 410 Gone';
  const webhook = build.updateTable('webhook').set({ gone_at: now, gone_reason: reason });
  await run(pool, webhook.where('id', '=', webhookId).where('gone_at', 'is', null));
  await endDeliveries(pool, webhookId, reason);
}

/** Ends the pending deliveries of a webhook. */
export async function endDeliveries(db: Db, webhookId: string, reason: string): Promise<void> {
  const due = build.updateTable('webhook_delivery').where('webhook_id', '=', webhookId).where('status', '=', 'pending');
  await run(db, due.set({ status: 'failed', last_error: reason }));
}
