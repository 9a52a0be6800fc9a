/** Checks credentials, and slows down callers who guess, but no others.
 *
 *  A credential verified here before is checked at once, however many others from its address are wrong: one address may be a whole
 *  hospital, or everyone (an untrusted proxy). Any other wrong credential costs a query, so failures are counted:
 *  - by credential: one that keeps failing is answered 429 without a look-up;
 *  - by address: above the limit its unverified credentials are looked up IN_TURN_MAX at a time, and wrong ones are answered 429. */
import { createHash } from 'node:crypto';
import { errorTable, PipelineError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import type { RateLimit } from './rate-limit.ts';
import { SharedTries } from './shared-tries.ts';
import type { Authenticate, AuthRequest } from './route.ts';
import type { Caller } from '../caller.ts';

/** Failures allowed per address: sustained per second, and burst in seconds of that rate. */
const ADDRESS_PER_SEC = 5;
const ADDRESS_BURST_SEC = 20;
/** Failures allowed per credential: a share of its address's rate, and burst in seconds of it. */
const CREDENTIAL_SHARE = 0.2;
const CREDENTIAL_BURST_SEC = 10;
/** Concurrent look-ups, and waiting ones, of unverified credentials of an address above its limit. */
const IN_TURN_MAX = 2;
const WAITING_MAX = 1024;

export type GateOptions = Readonly<{
  authenticate: Authenticate;
  /** Says whether this process verified the credential before, or there is none. Absent: never. */
  isVerified?: (request: AuthRequest) => boolean;
  /** Failures that one address may make per second, and ADDRESS_BURST_SEC times as many at once. Default 5. */
  authFailuresPerSec?: number;
  /** Counts failures of other nodes, too. */
  tries?: SharedTries | undefined;
  /** Called for every credential that is refused, or not looked up because it, or its address, was refused too often (rate_limited). */
  onRefused?: ((code: ErrorCode, address: string) => void) | undefined;
}>;

type Turn = { running: number; readonly waiting: (() => void)[] };

export class CredentialGate {
  readonly #options: GateOptions;
  readonly #byAddress: RateLimit;
  readonly #byCredential: RateLimit;
  /** By address; only addresses above their limit. */
  readonly #turns = new Map<string, Turn>();

  constructor(options: GateOptions) {
    this.#options = options;
    const addressPerSec = options.authFailuresPerSec ?? ADDRESS_PER_SEC;
    const tries = options.tries ?? new SharedTries();
    this.#byAddress = tries.limit('auth', addressPerSec, ADDRESS_BURST_SEC);
    this.#byCredential = tries.limit('credential', CREDENTIAL_SHARE * addressPerSec, CREDENTIAL_BURST_SEC);
  }

  /** Authenticates the request. Synchronous when the credential is in the cache.
   *  @throws PipelineError as Authenticate; rate_limited */
  check(request: AuthRequest, address: string): Caller | Promise<Caller> {
    if (this.#options.isVerified?.(request) === true) return this.#ask(request, address, null);
    const credential = digestOf(request);
    const nowMs = performance.now();
    if (this.#byCredential.exhausted(credential, nowMs)) {
      this.#options.onRefused?.('rate_limited', address);
      throw tooMany('This credential was refused too often; wait before it is sent again.');
    }
    if (this.#byAddress.exhausted(address, nowMs)) return this.#inTurn(address, () => this.#ask(request, address, credential));
    return this.#ask(request, address, credential);
  }

  /** Counts a failure. @returns what to answer: the error, or rate_limited when the address has had too many */
  refusal(error: unknown, address: string, credential: string | null = null): unknown {
    if (!(error instanceof PipelineError)) return error;
    if (errorTable[error.code].status === 401) this.#options.onRefused?.(error.code, address);
    if (error.code !== 'credential_invalid') return error;
    const nowMs = performance.now();
    if (credential !== null) this.#byCredential.take(credential, nowMs);
    return this.#byAddress.take(address, nowMs).allowed ? error : tooMany('Too many failed credentials from this address.');
  }

  #ask(request: AuthRequest, address: string, credential: string | null): Caller | Promise<Caller> {
    const refuse = (error: unknown): never => {
      throw this.refusal(error, address, credential);
    };
    try {
      const found = this.#options.authenticate(request);
      return found instanceof Promise ? found.catch(refuse) : found;
    } catch (error) {
      return refuse(error);
    }
  }

  async #inTurn(address: string, ask: () => Caller | Promise<Caller>): Promise<Caller> {
    let turn = this.#turns.get(address);
    if (turn === undefined) this.#turns.set(address, (turn = { running: 0, waiting: [] }));
    const { waiting } = turn;
    if (turn.running < IN_TURN_MAX) turn.running++;
    else if (waiting.length < WAITING_MAX) await new Promise<void>((resolve) => waiting.push(resolve));
    else {
      this.#options.onRefused?.('rate_limited', address);
      throw tooMany('Too many failed credentials from this address.');
    }
    try {
      return await ask();
    } finally {
      const next = waiting.shift();
      if (next !== undefined) next();
      else if (--turn.running === 0) this.#turns.delete(address);
    }
  }
}

function tooMany(detail: string): PipelineError {
  return new PipelineError('rate_limited', detail, { retryAfterSec: 1 });
}

/** Hashes a secret: secrets themselves are not kept. */
function digestOf({ bearer, header }: AuthRequest): string {
  return createHash('sha256')
    .update(bearer ?? header('cookie'))
    .digest('base64url');
}
