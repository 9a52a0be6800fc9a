/** Checks what was given on the command line before anything is created: the address, the keys, the operator's session. A fault is reported
 *  in a sentence, with nothing done. */
import { systemCode, UsageError } from '../command.ts';
import { bearer, nobody } from './client.ts';
import type { Answer, Client, Credential } from './client.ts';
import { scopeNames } from './stage.ts';
import type { ScopeName } from './stage.ts';
import { causeOf, gotWords, shown } from './words.ts';

/** The service is starting, on standby or busy: the same command may work later. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

const CLOCK_MS_MAX = 300_000;

const tlsCodes = /^(ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|EPROTO)$/;
const certificateCodes = /CERT|SIGNATURE|ISSUER/;
/** A connection that ends without an answer, or answers with an alert of TLS. */
const noHttpCodes = /^(UND_ERR_SOCKET|ECONNRESET|HPE_)/;

/** The service's description of itself. @throws UsageError, Unavailable, Error that says why there is none */
export async function describedBy(client: Client): Promise<Answer> {
  const { origin, protocol } = client.base;
  let answer: Answer;
  try {
    answer = await client.send({ method: 'GET', path: '/api-docs/openapi.json', as: nobody }, 1);
  } catch (error) {
    client.signal.throwIfAborted();
    const code = systemCode(error) ?? '';
    if (protocol === 'https:' && tlsCodes.test(code)) throw new UsageError(`${origin} does not speak TLS: is it ${swapped(client.base)}?`);
    if (certificateCodes.test(code))
      throw new UsageError(
        `the certificate of ${origin} is not trusted (${causeOf(error)}): NODE_EXTRA_CA_CERTS=FILE names your authority`,
      );
    const hint = protocol === 'http:' && noHttpCodes.test(code) ? `; does it speak TLS (${swapped(client.base)})?` : '';
    throw new Error(`${origin} does not answer: ${causeOf(error)}${hint}`, { cause: error });
  }
  const { status, headers, text } = answer;
  if (status === 200 && isDescription(answer.json)) {
    checkClock(origin, headers);
    return answer;
  }
  const location = headers.get('location') ?? '';
  if (status >= 300 && status < 400 && URL.canParse(location, origin))
    throw new UsageError(`${origin} sends to ${new URL(location, origin).origin}: give that address`);
  if (status === 400 && protocol === 'http:' && /https/i.test(text))
    throw new UsageError(`${origin} speaks TLS: is it ${swapped(client.base)}?`);
  if (status === 503 && answer.code !== '') throw new Unavailable(detailOf(client, answer));
  if (status >= 502 && status <= 504) throw new Unavailable(`${origin} answers ${status}: what is behind it is away`);
  throw new UsageError(`${origin}/api-docs/openapi.json answers ${gotWords(answer)}: this is not a biosignal service`);
}

function isDescription(json: unknown): boolean {
  const { paths } = (json ?? {}) as { paths?: unknown };
  if (typeof paths !== 'object' || paths === null || Array.isArray(paths)) return false;
  return Object.values(paths).every((item) => typeof item === 'object' && item !== null);
}

/** Recordings and key expiries use this machine's clock.  @throws UsageError when the service's clock differs too much */
function checkClock(origin: string, headers: Headers): void {
  const apartMs = Date.now() - Date.parse(headers.get('date') ?? '');
  if (!(Math.abs(apartMs) > CLOCK_MS_MAX)) return; // NaN: no Date header
  const minutes = Math.round(Math.abs(apartMs) / 60_000);
  throw new UsageError(
    `the clock of this machine is ${minutes} minutes ${apartMs > 0 ? 'ahead of' : 'behind'} that of ${origin}: set it first`,
  );
}

function swapped({ protocol, host }: URL): string {
  return `${protocol === 'http:' ? 'https' : 'http'}://${host}`;
}

function detailOf(client: Client, { json }: Answer): string {
  return client.safe(shown((json as { detail?: unknown }).detail ?? ''));
}

/** Requests that a key of the scope may make, and that do nothing. */
const probes: Readonly<Record<ScopeName, Readonly<{ method: string; path: string; body?: unknown; bytes?: Uint8Array }>>> = {
  read: { method: 'GET', path: '/api/v1/projects' },
  write: { method: 'POST', path: '/api/v1/sdk/token', body: {} },
  ingest: { method: 'POST', path: '/ingest/raw-packet', bytes: Buffer.from('00', 'hex') },
  admin: { method: 'GET', path: '/api/v1/api-keys' },
};

/** @param option option that gave the key  @param needed scopes  @throws UsageError when it is not a key, is refused, or lacks a scope */
export async function checkKey(client: Client, option: string, key: string, needed: readonly ScopeName[] = scopeNames): Promise<void> {
  if (!/^org_(live|test)_/.test(key)) {
    const what = /^(sdk|proj)_/.test(key) ? 'a public key' : key.split('.').length === 3 ? 'a user token' : 'something else';
    throw new UsageError(`${option} takes an organization key (org_live_… or org_test_…); this is ${what}`);
  }
  const missing: ScopeName[] = [];
  for (const scope of needed) {
    const as: Credential = bearer(option, key);
    const answer = await client.send({ ...probes[scope], as });
    if (answer.status === 401) throw new UsageError(`${option} is refused: ${detailOf(client, answer)} (${answer.code})`);
    if (answer.status === 403) missing.push(scope);
    else if (answer.status === 503) throw new Unavailable(detailOf(client, answer));
  }
  if (missing.length > 0) throw new UsageError(`${option} lacks ${missing.join(', ')}; it needs the scopes ${needed.join(', ')}`);
}

/** @throws UsageError when both keys reach a project */
export async function checkOtherKey(client: Client, key: string, otherKey: string): Promise<void> {
  await checkKey(client, '--other-key', otherKey, ['read', 'write', 'admin']);
  const idsOf = async (as: Credential): Promise<string[]> =>
    ((await client.send({ ...probes.read, as })).json as { id: string }[]).map(({ id }) => id);
  const own = new Set(await idsOf(bearer('--key', key)));
  if ((await idsOf(bearer('--other-key', otherKey))).some((id) => own.has(id)))
    throw new UsageError('--other-key is of the same organization as --key; it takes a key of another one');
}

/** The session of an operator.  @param given the value of the cookie, or all of it  @throws UsageError when it is not a live session */
export async function sessionOf(client: Client, given: string): Promise<Credential> {
  const { protocol, origin } = client.base;
  const name = protocol === 'https:' ? '__Host-bio_session' : 'bio_session';
  const secret = given.replace(/^(__Host-)?bio_session=/, '').replace(/;.*$/s, '');
  const as = { name: "the operator's session", headers: { cookie: `${name}=${secret}`, origin } };
  const answer = await client.send({ method: 'GET', path: '/auth/session', as });
  if (answer.status !== 200)
    throw new UsageError(`nobody is signed in with --session (${answer.status} ${answer.code}): it takes the value of ${name}`);
  return as;
}
