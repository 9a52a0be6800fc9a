/** Acts of operators, by the organization's key: keys, consent, erasure, retention. Nothing else goes on meanwhile but the world. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PERSONS } from '../commands.ts';
import type { OperatorCommand, Purpose } from '../commands.ts';
import { compareRetention } from '../compare/gone.ts';
import type { Oracle, Person } from '../oracle.ts';
import { Receiver } from '../receiver.ts';
import { signIn } from './sign-in.ts';
import { REACHES_MS, until } from './until.ts';

type Key = Readonly<{ id: string; key: string }>;

/** No row came for so long: all are there. */
const STORED_MS = 4000;

export async function runOperatorCommand(oracle: Oracle, command: OperatorCommand): Promise<void> {
  switch (command.do) {
    case 'rotateKey': {
      const made = await oracle.must<Key>(201, 'POST', `/api/v1/api-keys/${oracle.keyId}/rotate`, { body: { overlap_sec: 3600 } });
      if (made === null) return;
      oracle.keyChanges++;
      Object.assign(oracle, { key: made.key, keyId: made.id });
      return;
    }
    case 'revokeKey':
      await revokeKey(oracle);
      return;
    case 'requireConsent':
      await configure(oracle, command.purposes, oracle.retention?.days ?? null);
      return;
    case 'consent':
      await consent(oracle, await oracle.person(command.person), command.purpose, command.granted);
      return;
    case 'erase':
      await erase(oracle, await oracle.person(command.person % PERSONS));
      return;
    case 'webhook':
      await register(oracle);
      return;
    case 'signIn':
      await signIn(oracle, command.role);
      return;
    case 'retention':
      await untilStored(oracle);
      await compareRetention(oracle); // what is set now may let rows stay that the one before has not deleted yet
      await configure(oracle, oracle.required, command.days);
      return;
    default: {
      const never: never = command;
      throw new TypeError(JSON.stringify(never));
    }
  }
}

/** A key more, which works, until it is revoked. */
async function revokeKey(oracle: Oracle): Promise<void> {
  const made = await oracle.must<Key>(201, 'POST', '/api/v1/api-keys', { body: { name: 'short-lived', scopes: ['read'] } });
  if (made === null) return;
  await oracle.must(200, 'GET', '/api/v1/xusers', { as: made.key });
  const revoked = await oracle.must(200, 'DELETE', `/api/v1/api-keys/${made.id}`);
  if (revoked === null) return;
  oracle.keyChanges += 2;
  await until(
    oracle,
    'a revoked key still opens the list of users',
    async () => (await oracle.ask('GET', '/api/v1/xusers', { as: made.key })).status === 401,
  );
}

/** One to a history. */
async function register(oracle: Oracle): Promise<void> {
  if (oracle.receiver !== null) return;
  const receiver = await Receiver.start();
  const { json, status, text, lostCount } = await oracle.ask('POST', '/api/v1/webhooks', { body: { url: receiver.url, events: ['*'] } });
  oracle.expect('answers', status === 201, () => `registering a webhook was answered ${status} ${text.slice(0, 300)}`);
  if (status !== 201) return await receiver.close();
  const made = json as { id: string; secret: string };
  // A try that got no answer may have registered another one.
  const all = lostCount === 0 ? [] : ((await oracle.must<{ id: string }[]>(200, 'GET', '/api/v1/webhooks')) ?? []);
  for (const { id } of all) if (id !== made.id) await oracle.ask('DELETE', `/api/v1/webhooks/${id}`);
  receiver.secret = made.secret;
  oracle.receiver = receiver;
}

async function configure(oracle: Oracle, purposes: readonly Purpose[], days: number | null): Promise<void> {
  const path = `/api/v1/projects/${oracle.org.projectId}/settings`;
  const retention = { samples_days: days, features_days: days, beats_days: days };
  const made = await oracle.must(200, 'PUT', path, { body: { retention, consent_required: purposes } });
  if (made === null) return;
  oracle.settingChanges++;
  oracle.required = purposes;
  oracle.consentChanged();
  // What was deleted once stays so: the shortest counts.
  if (days !== null && days <= (oracle.retention?.days ?? Infinity)) oracle.retention = { days, setMs: Date.now() };
  await Promise.all((await oracle.people()).map((person) => untilConsentHolds(oracle, person)));
}

async function consent(oracle: Oracle, person: Person, purpose: Purpose, granted: boolean): Promise<void> {
  const body = { purpose, granted, document: 'v1' };
  const made = await oracle.must(201, 'POST', `/api/v1/xusers/${person.xuserId}/consents`, { body });
  if (made === null) return;
  person.consents.set(purpose, granted);
  person.consentCount++;
  oracle.consentChanged();
  await untilConsentHolds(oracle, person);
}

async function untilConsentHolds(oracle: Oracle, person: Person): Promise<void> {
  const wanted = oracle.isMissing(person, 'sharing') ? 403 : 200;
  const path = `/api/v1/streams?subject_id=${person.xuserId}`;
  await until(
    oracle,
    `reading ${person.externalId} is not answered ${wanted}`,
    async () => (await oracle.ask('GET', path)).status === wanted,
  );
}

/** Rows that are written after the first sweep, and are more than a week too old, wait for that of the next day. */
async function untilStored(oracle: Oracle): Promise<void> {
  const relations = ['sample_block', 'feature', 'beat'].map((relation) => `(select count(*) from ${relation} r where r.stream_id = s.id)`);
  const count = async (): Promise<string> => {
    if (oracle.stage.isDisturbed) return String(performance.now());
    const sql = `select sum(${relations.join(' + ')})::text as n from stream s where s.organization_id = $1`;
    return (await oracle.stage.sql<{ n: string }>(sql, [oracle.org.orgId]).catch(() => []))[0]?.n ?? '';
  };
  let last = await count();
  let sinceMs = performance.now();
  for (
    const deadline = performance.now() + REACHES_MS;
    performance.now() - sinceMs < STORED_MS && performance.now() < deadline;
    await sleep(200)
  ) {
    const now = await count();
    if (now !== last) sinceMs = performance.now();
    last = now;
  }
}

async function erase(oracle: Oracle, person: Person): Promise<void> {
  // Half of them when everything is stored and kept, the others right after the last packet.
  if ((oracle.seed + oracle.gone.length) % 2 === 0) {
    await untilStored(oracle);
    await keepRollups(oracle);
  }
  for (const id of await streamIdsOf(oracle, person)) person.streamIds.add(id);
  const answer = await oracle.ask('POST', `/api/v1/xusers/${person.xuserId}/erase`, { body: { confirm_external_id: person.externalId } });
  // A try that got no answer may have done it.
  const isDone = answer.status === 200 || (answer.status === 404 && answer.lostCount > 0);
  oracle.expect('answers', isDone, () => `erasing ${person.externalId} was answered ${answer.status} ${answer.text.slice(0, 300)}`);
  if (!isDone) return;
  const { stores = [] } = (answer.json ?? {}) as { stores?: { store: string; remaining: number }[] };
  oracle.expect(
    'gone',
    stores.every(({ remaining }) => remaining === 0),
    () => `the receipt says that something remains: ${JSON.stringify(stores)}`,
  );
  oracle.erased(person);
}

async function streamIdsOf({ boots, stage }: Oracle, person: Person): Promise<readonly number[]> {
  const bootIds = boots.flatMap((boot) => (boot.person === person ? [boot.bootId] : []));
  const rows = await stage.sql<{ id: number }>("select id from stream where encode(boot_id, 'hex') = any ($1)", [bootIds]);
  return rows.map(({ id }) => id);
}

/** As the service does it every half minute. */
async function keepRollups({ stage }: Oracle): Promise<void> {
  await stage.sql('call refresh_hours()');
}
