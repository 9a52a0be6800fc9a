/** Checks that registered webhooks received every event at least once, signed, and refused ones again. */
import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Oracle } from '../oracle.ts';
import type { Attempt, Receiver } from '../receiver.ts';

/** An attempt that the service could not end is made again after a minute. */
const TOLD_MS_MAX = 100_000;
/** A refused delivery is tried again after 5 s. */
const RETRY_MS_MIN = 4000;
/** The service waits so long for an answer. */
const ANSWER_MS_MAX = 10_000;

type Message = Readonly<{ type: string; data: Readonly<Record<string, unknown>> }>;

export async function compareWebhooks(oracle: Oracle): Promise<void> {
  const { receiver } = oracle;
  if (receiver === null) return;
  // Erasing a person also cancels events about them that were not delivered yet.
  const wanted = oracle.events.filter(({ type, person }) => type === 'xuser.erased' || !oracle.gone.includes(person));
  const isTold = (type: string, id: string): boolean =>
    receiver.attempts.some(({ body, isRefused }) => {
      if (isRefused) return false;
      const { type: told, data } = JSON.parse(body) as Message;
      return told === type && (type === 'xuser.erased' ? data['xuser_id'] : data['episode_id']) === id;
    });
  const missing = (): readonly string[] => wanted.flatMap(({ type, id }) => (isTold(type, id) ? [] : [`${type} ${id}`]));
  for (const deadline = performance.now() + TOLD_MS_MAX; missing().length > 0 && performance.now() < deadline;) await sleep(100);
  oracle.expect('webhooks', missing().length === 0, () => `of ${wanted.length} events these were not told: ${missing().join(', ')}`);
  for (const attempt of receiver.attempts) compareSignature(oracle, receiver, attempt);
  for (const attempts of Map.groupBy(receiver.attempts, ({ headers }) => headers['webhook-id']).values()) compareAttempts(oracle, attempts);
}

/** Standard Webhooks 1.0.0. */
function compareSignature(oracle: Oracle, { secret }: Receiver, { headers, body }: Attempt): void {
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const signature = createHmac('sha256', Buffer.from(secret ?? '', 'base64'))
    .update(signed)
    .digest('base64');
  oracle.expect(
    'webhooks',
    headers['webhook-signature'] === `v1,${signature}`,
    () => `${signed} is signed ${String(headers['webhook-signature'])}`,
  );
}

/** Of one delivery. */
function compareAttempts(oracle: Oracle, attempts: readonly Attempt[]): void {
  const stamps = attempts.map(({ headers }) => Number(headers['webhook-timestamp']));
  oracle.expect(
    'webhooks',
    stamps.every((stamp, i) => i === 0 || stamp >= stamps[i - 1]!),
    () => `attempts were stamped ${stamps.join()}`,
  );
  for (const [i, { isRefused, atMs }] of attempts.entries()) {
    const next = attempts[i + 1];
    if (next === undefined) continue;
    if (isRefused) oracle.expect('webhooks', next.atMs - atMs >= RETRY_MS_MIN, () => `tried again after ${next.atMs - atMs} ms`);
    // What was taken comes again only where the service could not note it, or has not waited for the answer.
    else
      oracle.expect(
        'webhooks',
        oracle.isDisturbed || next.atMs - atMs >= ANSWER_MS_MAX,
        () => `told again although it was taken: ${next.body}`,
      );
  }
}
