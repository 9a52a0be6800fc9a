/** Extreme values in every parameter and every field of every endpoint, as /api-docs describes them: none may be a fault of the service (5xx), and
 *  every answer is one that the description has. Text that no database takes (NUL, lone surrogates, control characters) has its own tests. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ecgPacket } from '../bench/lib/packets.ts';
import { runService } from './helpers/running-service.ts';
import type { Answer, RunningService } from './helpers/running-service.ts';

type Schema = Readonly<{
  type?: string;
  format?: string;
  pattern?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  items?: Schema;
  minItems?: number;
  minLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
}>;
type Parameter = Readonly<{ name: string; in: string; required: boolean; schema: Schema }>;
type Operation = Readonly<{
  operationId: string;
  description: string;
  security: readonly Readonly<Record<string, unknown>>[];
  parameters?: readonly Parameter[];
  requestBody?: Readonly<{ content: Readonly<Record<string, Readonly<{ schema?: Schema }>>> }>;
  responses: Readonly<Record<string, Readonly<{ content?: Readonly<Record<string, unknown>> }>>>;
}>;

/** Not asked: each try takes 128 MiB and a quarter of a second for the password, and locks the address out. */
const skipped = new Set(['signIn', 'createMember', 'updateMember']);
/** Asked with ids that nobody has: they take away what the others need. */
const destructive = /^(delete|erase|rotate|revoke|end|archive|retire|withdraw|recordConsent|updateUser|updateProject)/;

const times = [
  '0000-01-01T00:00:00Z',
  '1900-01-01T00:00:00+14:00',
  '2199-12-31T23:59:59.999999999-14:00',
  '9999-12-31T23:59:59-14:00',
  '2020-12-31T23:59:60Z',
  '2020-01-01T00:00:00+23:59',
  '2020-01-01T00:00:00Z[Europe/Paris]',
  `2020-01-01T00:00:00.${'1'.repeat(3000)}Z`,
];
const texts = ['', 'infinity', "'; -- %_\\", '../__proto__', '\u{1F600}'.repeat(70), 'x'.repeat(5000)];
const integers = [-(2 ** 63), -1, 0, 32_768, 2_147_483_648, Number.MAX_SAFE_INTEGER, 1e308];
const numbers = [-1e308, 5e-324, 0, 1e308];
const nested = (open: string, close: string, depth: number): unknown => JSON.parse(open.repeat(depth) + close.repeat(depth));
const shapes: readonly unknown[] = [null, [], {}, nested('[', ']', 2000), Array.from({ length: 2000 }, (_, i) => i)];

function extremes(schema: Schema): readonly unknown[] {
  if (schema.anyOf !== undefined) return [...schema.anyOf.flatMap(extremes), null];
  switch (schema.type) {
    case 'string':
      return schema.format === 'date-time' || schema.format === 'date' ? [...times, '0000-01-01', '2199-12-31'] : [...texts, times[0]];
    case 'integer':
      return integers;
    case 'number':
      return numbers;
    case 'boolean':
      return [true, 'x'];
    case 'array':
      return [
        [],
        ...(schema.items === undefined ? [] : extremes(schema.items).map((item) => [item])),
        [[[]]],
        Array.from({ length: 3000 }, () => 'x'),
      ];
    default:
      return shapes;
  }
}

let running: RunningService;
/** Ids that exist, by the name of a parameter or field. */
let userToken = '';
let known: Readonly<Record<string, unknown>> = {};
beforeAll(async () => {
  running = await runService({ BIO_REQUESTS_PER_SEC_MAX: '1000000' });
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

/** A value that fits, as far as the schema says so. */
function sample(schema: Schema, name: string): unknown {
  if (Object.hasOwn(known, name)) return known[name];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined) return sample(schema.anyOf[0]!, name);
  switch (schema.type) {
    case 'string':
      if (schema.format === 'uuid') return '00000000-0000-4000-8000-000000000000';
      if (schema.format === 'date-time') return '2026-01-05T08:00:00Z';
      if (schema.format === 'date') return '2026-01-05';
      if (/url|origin/.test(name)) return 'https://example.org';
      return 'P1D'.padEnd(schema.minLength ?? 0, 'a');
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return false;
    case 'array':
      return Array.from({ length: Math.max(1, schema.minItems ?? 1) }, () => sample(schema.items ?? {}, name));
    default:
      return Object.fromEntries((schema.required ?? []).map((key) => [key, sample(schema.properties?.[key] ?? {}, key)]));
  }
}

/** Bodies with one field extreme each, at any depth of the schema. */
function* bodiesOf(schema: Schema, name: string): Iterable<unknown> {
  if (schema.anyOf !== undefined) {
    for (const one of schema.anyOf) yield* bodiesOf(one, name);
    return;
  }
  const whole = sample(schema, name);
  if (schema.type === 'array' && schema.items !== undefined) for (const item of bodiesOf(schema.items, name)) yield [item];
  for (const [key, member] of Object.entries(schema.properties ?? {}))
    for (const value of bodiesOf(member, key)) yield { ...(whole as object), [key]: value };
  yield* extremes(schema);
}

type Case = Readonly<{ method: string; path: string; operation: Operation; body: unknown }>;

/** Credentials that an operation takes; '' for none. Operators are not asked: what they may do, keys may, too. */
function credentialsOf({ security, description }: Operation): readonly string[] {
  const kinds = new Set(security.flatMap((one) => Object.keys(one)));
  if (kinds.size === 0) return [''];
  return [
    ...(/an organization key with the scope/.test(description) ? [running.org.apiKey.key] : []),
    ...(kinds.has('userToken') ? [userToken] : []),
  ];
}

function* casesOf(path: string, method: string, operation: Operation): Iterable<Case> {
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
  yield { method, path: addressWith('', ''), operation, body };
  for (const { name, in: place, schema } of parameters)
    if (place !== 'header') for (const value of extremes(schema)) yield { method, path: addressWith(name, value), operation, body };
  if (content?.schema !== undefined)
    for (const given of bodiesOf(content.schema, '')) yield { method, path: addressWith('', ''), operation, body: given };
}

function isDescribed(operation: Operation, { status, headers }: Answer<unknown>): boolean {
  const type = (headers.get('content-type') ?? '').split(';')[0];
  const described = operation.responses[status];
  if (status >= 500 || described === undefined) return false;
  if (status >= 400) return type === 'application/problem+json';
  return described.content === undefined || Object.keys(described.content).some((one) => one === '*/*' || one.split(';')[0] === type);
}

it('describes what /ingest/raw-packet answers to an Accept that it cannot meet', async () => {
  const description = await running.send<{ paths: Record<string, Record<string, Operation>> }>('GET', '/api-docs/openapi.json');
  const refused = await running.send('POST', '/ingest/raw-packet', { body: new Uint8Array(3), headers: { accept: 'text/html' } });
  expect(refused.status).toBe(406);
  expect(description.body.paths['/ingest/raw-packet']?.['post']?.responses).toHaveProperty('406');
});

// promise: api-described
it('no value of any field is a fault of the service, and every answer is described', async () => {
  const description = await running.send<{ paths: Record<string, Record<string, Operation>> }>('GET', '/api-docs/openapi.json');
  const cases: Case[] = [];
  for (const [path, item] of Object.entries(description.body.paths))
    for (const [method, operation] of Object.entries(item))
      if (
        credentialsOf(operation).length > 0 &&
        !skipped.has(operation.operationId) &&
        !['/ws', '/ingest/stream', '/ingest/raw-packet'].includes(path)
      )
        cases.push(...casesOf(path, method.toUpperCase(), operation));
  expect(cases.length).toBeGreaterThan(2000); // one after the other, so that a failure is the same next time
  const wrong: string[] = [];
  const statuses = new Map<number, number>();
  const unheard = new Map<string, string>();
  const turnOf = new Map<Operation, number>();
  for (const { method, path, operation, body } of cases) {
    // The credentials that an operation takes are used in turns.
    const credentials = credentialsOf(operation);
    const turn = turnOf.get(operation) ?? 0;
    turnOf.set(operation, turn + 1);
    const as = credentials[turn % credentials.length] ?? '';
    const answer = await running.send(method, path, body === undefined ? { as } : { as, body });
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    if (answer.status === 401 || answer.status === 429) unheard.set(operation.operationId, answer.text.slice(0, 250));
    if (isDescribed(operation, answer)) continue;
    const given = `${method} ${path.slice(0, 200)} ${JSON.stringify(body)?.slice(0, 200) ?? ''}`;
    wrong.push(`${answer.status} ${given} ${answer.text.slice(0, 200)}`);
  }
  console.info(`${cases.length} requests: ${JSON.stringify(Object.fromEntries([...statuses].toSorted(([a], [b]) => a - b)))}`);
  expect([...unheard], 'every request is made with a credential that is good').toEqual([]);
  expect([...new Set(wrong)].slice(0, 60), running.faults.slice(0, 3).join('\n')).toEqual([]);
  expect(running.faults).toEqual([]);
});
