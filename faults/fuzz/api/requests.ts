/** Requests that the description allows, and changes of them: plain JSON, with names in place of ids, so that they can be asked of another
 *  world. */
import type { Random } from '../../../src/cli/simulator/random.ts';
import type { Operation, Schema } from '../description.ts';
import { bodiesOf, extremes, sample } from './values.ts';
import { owners } from './world.ts';
import type { Owner, World } from './world.ts';

/** One change of a valid request. `value`: text of a parameter or header, or a whole body. */
export type Change =
  | Readonly<{ at: 'path' | 'query'; name: string; value: string }>
  | Readonly<{ at: 'again'; name: string; value: string }>
  | Readonly<{ at: 'header'; name: string; value: string }>
  | Readonly<{ at: 'body'; value: unknown }>
  | Readonly<{ at: 'raw'; text: string }>;
export type Request = Readonly<{
  operationId: string;
  credential: string;
  /** Whose ids it names. */
  about: Owner;
  changes: readonly Change[];
}>;
export type Wire = Readonly<{ method: string; path: string; headers: Readonly<Record<string, string>>; body?: string }>;

/** Not asked with a credential that may: each try takes 128 MiB and a quarter of a second for a password; or it ends what others need. */
const costly = new Set(['signIn', 'createMember', 'updateMember', 'signOut']);
/** Asked with ids that nobody has: they take away what the others need. */
const destructive =
  /^(delete|erase|rotate|revoke|end|archive|retire|withdraw|recordConsent|updateUser|updateProject|setProjectSettings|setOrigins)/;
const NOBODY = '00000000-0000-4000-8000-000000000000';

const oddTexts = [
  '',
  ' ',
  '%',
  '%00',
  '\u0000',
  'null',
  '-1',
  '0',
  '1e400',
  'true',
  '\u{1F600}',
  'a,b',
  ',',
  '..',
  '../..',
  "' or 1=1 --",
  '\u202e',
  'x'.repeat(3000),
  '[]',
  '{}',
  '2026-01-05',
  'now',
  'P1D',
  '1;2',
];
const headers: readonly (readonly [string, string])[] = [
  ['accept', 'text/html'],
  ['accept', 'application/x-protobuf'],
  ['accept', 'text/csv'],
  ['accept', 'application/fhir+json'],
  ['accept', 'application/vnd.apache.arrow.stream'],
  ['accept', '*/*;q=0'],
  ['accept', 'x'.repeat(2000)],
  ['content-type', 'text/plain'],
  ['content-type', 'application/json; charset=utf-16'],
  ['content-encoding', 'gzip'],
  ['idempotency-key', 'k'],
  ['idempotency-key', 'x'.repeat(300)],
  ['if-match', '"x"'],
  ['if-match', '*'],
  ['if-none-match', '*'],
  ['range', 'bytes=0-1'],
  ['origin', 'https://evil.example'],
  ['x-forwarded-for', '1.2.3.4'],
  ['accept-encoding', 'gzip, br, zstd'],
  ['x-request-id', '\u00e9'],
];

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!;

/** @param bodies made once per operation */
export class Requests {
  readonly #operations: readonly Operation[];
  readonly #credentials: readonly string[];
  readonly #bodies = new Map<string, readonly unknown[]>();

  constructor(operations: readonly Operation[], credentials: readonly string[]) {
    this.#operations = operations.filter(({ path }) => path !== '/ingest/raw-packet');
    this.#credentials = credentials;
  }

  make(random: Random): Request {
    const operation = pick(random, this.#operations);
    const credential = random.next() < 0.6 ? pick(random, ['all', 'owner', 'ada']) : pick(random, this.#credentials);
    const changes = Array.from({ length: Math.floor(random.next() ** 1.5 * 4) }, () => this.#change(operation, random)).filter(
      (one) => one !== null,
    );
    return { operationId: operation.operationId, credential, about: random.next() < 0.7 ? 'ada' : pick(random, owners), changes };
  }

  #change(operation: Operation, random: Random): Change | null {
    const parameters = (operation.parameters ?? []).filter((one) => one.in !== 'header');
    const schema = schemaOf(operation);
    const kind = random.next();
    if (kind < 0.45 && parameters.length > 0) {
      const { name, in: place, schema: own } = pick(random, parameters);
      const given =
        random.next() < 0.6 ? pick(random, extremes(own)) : random.next() < 0.5 ? sample(own, name, {}) : pick(random, oddTexts);
      const value = Array.isArray(given) ? given.slice(0, 500).join(',') : String(given);
      if (place === 'path') return { at: 'path', name, value };
      return { at: random.next() < 0.15 ? 'again' : 'query', name, value };
    }
    if (kind < 0.5)
      return {
        at: 'query',
        name: pick(random, ['unknown', '__proto__', 'limit', 'cursor', 'x'.repeat(300)]),
        value: pick(random, oddTexts),
      };
    if (kind < 0.85 && schema !== undefined) {
      if (random.next() < 0.08)
        return {
          at: 'raw',
          text: pick(random, ['', '{', 'nul', '"\\ud800"', '[1,2', '{"a":1,"a":2}', `"${'x'.repeat(2_000_000)}"`, '\u0000', '1e999']),
        };
      return { at: 'body', value: pick(random, this.#bodiesOf(operation, schema)) };
    }
    const [name, value] = pick(random, headers);
    return { at: 'header', name, value };
  }

  #bodiesOf({ operationId }: Operation, schema: Schema): readonly unknown[] {
    let bodies = this.#bodies.get(operationId);
    if (bodies === undefined) this.#bodies.set(operationId, (bodies = [...bodiesOf(schema, '', names)]));
    return bodies;
  }
}

/** In place of ids: the person the request is about is filled in. */
const names: Readonly<Record<string, unknown>> = {
  subject_id: '{{subject_id}}',
  xuser_id: '{{xuser_id}}',
  external_id: '{{external_id}}',
  project_id: '{{project_id}}',
  project_key: '{{project_key}}',
  stream_id: '{{stream_id}}',
  device_id: '{{device_id}}',
  biosignal_id: 20,
  profile_id: '{{profile_id}}',
};

export const schemaOf = (operation: Operation): Schema | undefined => operation.requestBody?.content['application/json']?.schema;

/** Does the description let this credential in? */
export function isAllowed({ description, security }: Operation, { kind, scopes, role }: World['credentials'][string]): boolean {
  if (security.length === 0) return true;
  if (kind === 'key') return scopes.some((scope) => description.includes(`an organization key with the scope \`${scope}\``));
  if (kind === 'user') return description.includes('a user token');
  if (kind === 'operator')
    return role === 'owner'
      ? description.includes('an operator session')
      : description.includes('an operator session, of a member with the role viewer');
  return false;
}

/** @returns null: not to be asked */
export function wireOf(request: Request, operation: Operation, world: World): Wire | null {
  const { operationId } = operation;
  const credential = world.credentials[request.credential]!;
  if (costly.has(operationId) && isAllowed(operation, credential)) return null;
  const known: Readonly<Record<string, unknown>> = world.known[request.about];
  const isHarmless = !destructive.test(operationId);
  let path = operation.path;
  const query: [string, string][] = [];
  for (const { name, in: place, schema } of (operation.parameters ?? []).filter((one) => one.in !== 'header')) {
    const own = request.changes.findLast((one) => (one.at === 'path' || one.at === 'query') && one.name === name) as
      | { value: string }
      | undefined;
    const value = own?.value ?? textOf(place === 'path' && !isHarmless ? NOBODY : sample(schema, name, known));
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (own !== undefined || (operation.parameters ?? []).some((one) => one.name === name && (one.required || name === 'subject_id')))
      if (!(name === 'subject_id' && own === undefined && credential.kind === 'user')) query.push([name, value]);
  }
  const described = new Set((operation.parameters ?? []).map(({ name }) => name));
  for (const one of request.changes)
    if (one.at === 'again' || (one.at === 'query' && !described.has(one.name))) query.push([one.name, one.value]);
  const schema = schemaOf(operation);
  const body = bodyOf(request, schema, known);
  const more = Object.fromEntries(request.changes.flatMap((one) => (one.at === 'header' ? [[one.name, one.value]] : [])));
  const address = new URLSearchParams(query.map(([name, value]) => [name, value.slice(0, 6000)])).toString();
  return {
    method: operation.method,
    path: address === '' ? path : `${path}?${address}`,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...more, ...credential.headers },
    ...(body === undefined ? {} : { body }),
  };
}

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(',') : String(value));

function bodyOf({ changes }: Request, schema: Schema | undefined, known: Readonly<Record<string, unknown>>): string | undefined {
  if (schema === undefined) return undefined;
  const change = changes.findLast((one) => one.at === 'body' || one.at === 'raw');
  if (change?.at === 'raw') return change.text;
  const text = JSON.stringify(change === undefined ? sample(schema, '', known) : change.value);
  return text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => textOf(known[name]));
}
