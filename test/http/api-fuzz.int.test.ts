/** Extreme values in every parameter and every field of every endpoint, as /api-docs describes them: none may be a fault of the service
 *  (5xx), and every answer is one that the description has. Then the short form of `npm run fuzz -- --api`. Text that no database takes
 *  (NUL, lone surrogates, control characters) has its own tests. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { judge } from '../../faults/fuzz/api/judge.ts';
import { Requests, wireOf } from '../../faults/fuzz/api/requests.ts';
import { bodiesOf, extremes, sample as sampleOf } from '../../faults/fuzz/api/values.ts';
import { makeWorld } from '../../faults/fuzz/api/world.ts';
import { Description } from '../../faults/fuzz/description.ts';
import type { Operation, Schema } from '../../faults/fuzz/description.ts';
import { createRandom } from '../../src/cli/simulator/random.ts';
import { patientFetch } from '../helpers/patient-fetch.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

/** Not asked: each try takes 128 MiB and a quarter of a second for the password, and locks the address out. */
const skipped = new Set(['signIn', 'createMember', 'updateMember']);
/** Called with unknown ids, because they would remove what the others need. */
const destructive = /^(delete|erase|rotate|revoke|end|archive|retire|withdraw|recordConsent|updateUser|updateProject)/;

let running: RunningService;
/** Ids that exist, by the name of a parameter or field. */
let userToken = '';
let description: Description;
let known: Readonly<Record<string, unknown>> = {};
beforeAll(async () => {
  running = await runService({ BIO_REQUESTS_PER_SEC_MAX: '1000000' });
  description = await Description.of(running.service.baseUrl);
  const { org, database } = running;
  const { xuser_id: xuserId, xuser_token: token } = await running.token('ada');
  userToken = token;
  const [packet] = ecgPacket({ channels: 1, fs: 250, ms: 1000, count: 1, deviceId: 'patch' });
  const sent = await running.ingest({ ...packet!, t0UnixNs: BigInt(Date.now() - 60_000) * 1_000_000n, sentUnixNs: 0n }, token);
  expect(sent.status, sent.text).toBe(202);
  const { rows } = await database.pool.query<{ uuid: string; device: string }>('select uuid, device_id as device from stream');
  const { projectId, projectKey } = org;
  known = {
    xuserId,
    projectId,
    project_id: projectId,
    project_key: projectKey,
    streamId: rows[0]!.uuid,
    stream_id: rows[0]!.uuid,
    deviceId: rows[0]!.device,
    device_id: 'patch',
    subject_id: 'ada',
    xuser_id: xuserId,
    biosignal_id: 20,
    external_id: 'ada',
  };
});
afterAll(() => running.close());

const sample = (schema: Schema, name: string): unknown => sampleOf(schema, name, known);

type Case = Readonly<{ path: string; operation: Operation; body: unknown }>;

/** Credentials that an operation takes; '' for none. Operators are left out: keys may do everything that they may. */
function credentialsOf({ security, description }: Operation): readonly string[] {
  const kinds = new Set(security.flatMap((one) => Object.keys(one)));
  if (kinds.size === 0) return [''];
  return [
    ...(/an organization key with the scope/.test(description) ? [running.org.apiKey.key] : []),
    ...(kinds.has('userToken') ? [userToken] : []),
  ];
}

function* casesOf(operation: Operation): Iterable<Case> {
  const { path } = operation;
  const parameters = operation.parameters ?? [];
  const harmless = !destructive.test(operation.operationId);
  const addressWith = (changed: string, value: unknown): string => {
    let address = path;
    const query = new URLSearchParams();
    for (const { name, in: place, required, schema } of parameters) {
      const given =
        name === changed ? value : harmless || place !== 'path' ? sample(schema, name) : sample({ type: 'string', format: 'uuid' }, '');
      const text = Array.isArray(given) ? given.join(',') : String(given);
      if (place === 'path') address = address.replace(`{${name}}`, encodeURIComponent(text));
      else if (place === 'query' && (required || name === changed)) query.set(name, text);
    }
    return query.size === 0 ? address : `${address}?${query.toString()}`;
  };
  const content = operation.requestBody?.content['application/json'];
  const body = content?.schema === undefined ? undefined : sample(content.schema, '');
  yield { path: addressWith('', ''), operation, body };
  for (const { name, in: place, schema } of parameters)
    if (place !== 'header') for (const value of extremes(schema)) yield { path: addressWith(name, value), operation, body };
  if (content?.schema !== undefined)
    for (const given of bodiesOf(content.schema, '', known)) yield { path: addressWith('', ''), operation, body: given };
}

it('describes what /ingest/raw-packet answers to an Accept that it cannot meet', async () => {
  const refused = await running.send('POST', '/ingest/raw-packet', { body: new Uint8Array(3), headers: { accept: 'text/html' } });
  expect(refused.status).toBe(406);
  expect(description.operationOf('POST', '/ingest/raw-packet')?.responses).toHaveProperty('406');
});

// promise: api-described
it('no value of any field causes a server error, and every answer is described', async () => {
  const cases: Case[] = [];
  for (const operation of description.operations)
    if (credentialsOf(operation).length > 0 && !skipped.has(operation.operationId) && operation.path !== '/ingest/raw-packet')
      cases.push(...casesOf(operation));
  expect(cases.length).toBeGreaterThan(2000); // one after the other, so that a failure is the same next time
  const wrong: string[] = [];
  const statuses = new Map<number, number>();
  const unheard = new Map<string, string>();
  const turnOf = new Map<Operation, number>();
  for (const { path, operation, body } of cases) {
    // The credentials that an operation takes are used in turns.
    const credentials = credentialsOf(operation);
    const turn = turnOf.get(operation) ?? 0;
    turnOf.set(operation, turn + 1);
    const as = credentials[turn % credentials.length] ?? '';
    const { method } = operation;
    const answer = await running.send(method, path, body === undefined ? { as } : { as, body });
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    if (answer.status === 401 || answer.status === 429) unheard.set(operation.operationId, answer.text.slice(0, 250));
    const breaches = answer.status >= 500 ? [`a fault: ${answer.status}`] : description.breaches(operation, answer);
    if (breaches.length === 0) continue;
    const given = `${method} ${path.slice(0, 200)} ${JSON.stringify(body)?.slice(0, 200) ?? ''}`;
    wrong.push(`${breaches.slice(0, 2).join('; ')}: ${answer.status} ${given} ${answer.text.slice(0, 200)}`);
  }
  console.info(`${cases.length} requests: ${JSON.stringify(Object.fromEntries([...statuses].toSorted(([a], [b]) => a - b)))}`);
  expect([...unheard], 'every request is made with a credential that is good').toEqual([]);
  expect([...new Set(wrong)].slice(0, 60), running.faults.slice(0, 3).join('\n')).toEqual([]);
  expect(running.faults).toEqual([]);
}, 300_000);

const SEED = Number(process.env['BIO_FUZZ_SEED'] ?? 20_261_122);
const REQUESTS = 300;

it(`nobody sees what is not theirs, whatever they ask for, seed ${SEED}`, async () => {
  const { baseUrl } = running.service;
  const world = await makeWorld({ baseUrl, pool: running.database.pool });
  const requests = new Requests(description.operations, Object.keys(world.credentials));
  const random = createRandom(SEED, 'api fuzz');
  const wrong: string[] = [];
  for (let i = 0; i < REQUESTS; i++) {
    const request = requests.make(random);
    const operation = description.operations.find((one) => one.operationId === request.operationId)!;
    const wire = wireOf(request, operation, world);
    if (wire === null) continue;
    const { method, path, headers, body } = wire;
    const response = await patientFetch(baseUrl + path, { method, headers, ...(body === undefined ? {} : { body }) });
    const complaints = judge(description, operation, request, wire, world, {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
    });
    wrong.push(...complaints.map((text) => `request ${i}: ${request.credential} ${method} ${path.slice(0, 200)}: ${text.slice(0, 300)}`));
  }
  expect(wrong, running.faults.slice(0, 3).join('\n')).toEqual([]);
  expect(running.faults).toEqual([]);
});
