/** Sends the requests of the conformance test: bounded in number, bytes and time, slowed when the service asks, and few enough failures
 *  never to lock out the operator's own address. */
import { setTimeout as sleep } from 'node:timers/promises';
import { causeOf, printable, shown } from './words.ts';
import { parseExact } from '../client/api.ts';

/** Limits of one run (docs/operator.md has the same table). */
export const budget = {
  /** HTTP requests, handshakes of sockets included. */
  requestsMax: 4000,
  /** Bodies and messages that are sent, bytes. */
  bytesMax: 32 * 1024 * 1024,
  /** Credentials that the service must look up and refuse. */
  refusedMax: 90,
  /** Of these, how many at once; then as many per second as below. The service allows an address 100, then 5 per second. */
  refusedBurst: 40,
  refusedPerSec: 2,
} as const;

/** A caller. `name` appears in the report; secrets are in `headers` only. */
export type Credential = Readonly<{
  name: string;
  headers: Readonly<Record<string, string>>;
  /** The service must look it up and refuse it. */
  refused?: true;
}>;
export const nobody: Credential = { name: 'nobody', headers: {} };
export const bearer = (name: string, secret: string): Credential => ({ name, headers: { authorization: `Bearer ${secret}` } });
export const refusedBearer = (name: string, secret: string): Credential => ({ ...bearer(name, secret), refused: true });

export type Ask = Readonly<{
  method: string;
  path: string;
  as: Credential;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent unchanged, by default as a packet. */
  bytes?: Uint8Array;
  headers?: Readonly<Record<string, string>>;
}>;

export type Answer = Readonly<{
  status: number;
  headers: Headers;
  bytes: Uint8Array;
  text: string;
  /** JSON with integers beyond 2^53 as bigint; undefined when it is none. */
  json: unknown;
  /** `code` of a problem document, or ''. */
  code: string;
}>;

/** The run may send no more: remaining checks are skipped. */
export class BudgetSpent extends Error {
  override readonly name = 'BudgetSpent';
}

/** Most characters of a secret that may show where text is cut off. */
const SECRET_SHOWN_MAX = 12;
const ATTEMPTS = 6;
const ANSWER_MS_MAX = 60_000;
const WAIT_MS_MAX = 15_000;
/** Longest accepted answer; the longest of a run are some MB. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
/** Consecutive requests without an answer, or answered by a proxy with nothing behind it, after which the service counts as unavailable. */
const SILENT_MAX = 5;

export class Client {
  readonly base: URL;
  readonly signal: AbortSignal;
  sentRequests = 0;
  sentBytes = 0;
  sentRefused = 0;
  /** Why nothing more was sent; '' while there is room. */
  spent = '';
  readonly #silentMax: number;
  readonly #secrets = new Set<string>();
  #silent = 0;
  #tokens: number = budget.refusedBurst;
  #tokensMs = performance.now();

  /** @param silentMax requests in a row without an answer, after which nothing more is sent */
  constructor(baseUrl: string, signal: AbortSignal, silentMax = SILENT_MAX) {
    this.#silentMax = silentMax;
    this.base = new URL(baseUrl);
    this.signal = signal;
  }

  /** A request and its answer. After 429 and 503 with Retry-After it waits and tries again, because nothing was done.  @param attempts most
   *  tries  @throws Error when nothing answers */
  async send(ask: Ask, attempts = ATTEMPTS): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#once(ask);
      const retrySec = Number(answer.headers.get('retry-after') ?? Number.NaN);
      if ((answer.status !== 429 && answer.status !== 503) || !Number.isFinite(retrySec) || attempt >= attempts) return answer;
      await sleep(Math.min(WAIT_MS_MAX, Math.max(250, 1000 * retrySec)), undefined, { signal: this.signal });
    }
  }

  /** Keeps a secret out of all output, whatever its source. */
  keepSecret(secret: string): void {
    if (secret.length > SECRET_SHOWN_MAX) this.#secrets.add(secret.slice(0, SECRET_SHOWN_MAX));
  }

  /** Text for people: without secrets, even truncated ones, and without terminal control characters. */
  safe(text: string): string {
    let hidden = printable(text);
    for (const begin of this.#secrets) {
      for (let at = hidden.indexOf(begin); at >= 0; at = hidden.indexOf(begin, at + 1)) {
        const rest = /^[\w.~+/=-]*/.exec(hidden.slice(at + begin.length))?.[0].length ?? 0;
        hidden = `${hidden.slice(0, at)}(secret)${hidden.slice(at + begin.length + rest)}`;
      }
    }
    return hidden;
  }

  /** Counts bytes sent in other ways: raw sockets and WebSockets. */
  async spend(bytes: number, refused = false): Promise<void> {
    this.signal.throwIfAborted();
    if (this.spent !== '') throw new BudgetSpent(this.spent);
    this.sentRequests++;
    this.sentBytes += bytes;
    if (this.sentRequests > budget.requestsMax) this.#stop(`more than ${budget.requestsMax} requests`);
    if (this.sentBytes > budget.bytesMax) this.#stop(`more than ${budget.bytesMax} bytes`);
    if (refused) await this.#spendRefused();
  }

  #stop(why: string): never {
    this.spent = why;
    throw new BudgetSpent(why);
  }

  async #once({ method, path, as, body, bytes, headers }: Ask): Promise<Answer> {
    this.keepSecret(as.headers['authorization']?.replace(/^\w+ /, '') ?? '');
    this.keepSecret(as.headers['cookie']?.replace(/^[^=]*=/, '') ?? '');
    const content = body === undefined ? bytes : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    await this.spend(content?.length ?? 0, as.refused === true);
    const type = body === undefined ? 'application/x-protobuf' : 'application/json';
    const url = new URL(path, this.base);
    // A path may come from an answer, and `//host/` is another host.
    if (url.origin !== this.base.origin) throw new Error(`${shown(path)} leads elsewhere: nothing was sent`);
    try {
      const response = await fetch(url, {
        method,
        redirect: 'manual',
        headers: { ...(content === undefined ? {} : { 'content-type': type }), ...as.headers, ...headers },
        ...(content === undefined ? {} : { body: Buffer.from(content) }),
        signal: AbortSignal.any([this.signal, AbortSignal.timeout(ANSWER_MS_MAX)]),
      });
      const answer = answerOf(response, await bytesOf(response));
      this.#heard(answer.status === 502 || answer.status === 504 ? `answers ${answer.status}` : '');
      return answer;
    } catch (error) {
      this.signal.throwIfAborted();
      if (error instanceof BudgetSpent) throw error;
      this.#heard(causeOf(error));
      throw new Error(`no answer: ${causeOf(error)}`, { cause: error });
    }
  }

  /** @param trouble why the service did not answer; '': it did */
  #heard(trouble: string): void {
    this.#silent = trouble === '' ? 0 : this.#silent + 1;
    if (this.#silent >= this.#silentMax) this.#stop(`the service is away: ${trouble}`);
  }

  async #spendRefused(): Promise<void> {
    if (++this.sentRefused > budget.refusedMax) this.#stop(`more than ${budget.refusedMax} invalid credentials`);
    const nowMs = performance.now();
    this.#tokens = Math.min(budget.refusedBurst, this.#tokens + ((nowMs - this.#tokensMs) / 1000) * budget.refusedPerSec) - 1;
    this.#tokensMs = nowMs;
    if (this.#tokens < 0) await sleep((-this.#tokens * 1000) / budget.refusedPerSec, undefined, { signal: this.signal });
  }
}

/** @throws Error when they do not end */
async function bytesOf({ body }: Response): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body ?? []) {
    pieces.push(piece);
    length += piece.length;
    if (length > ANSWER_BYTES_MAX) throw new Error(`answers with more than ${ANSWER_BYTES_MAX / 1024 / 1024} MiB`);
  }
  return new Uint8Array(Buffer.concat(pieces));
}

function answerOf(response: Response, bytes: Uint8Array): Answer {
  const { status, headers } = response;
  const text = Buffer.from(bytes).toString('utf8');
  const isJson = /[/+]json/.test(headers.get('content-type') ?? '') && text !== '';
  let json: unknown;
  try {
    json = isJson ? parseExact(text) : undefined;
  } catch {
    json = undefined;
  }
  const { code } = (json ?? {}) as { code?: unknown };
  const problem = (headers.get('content-type') ?? '').startsWith('application/problem+json');
  return { status, headers, bytes, text, json, code: problem && typeof code === 'string' ? code : '' };
}
