/** Sends encoded packets to POST /ingest/raw-packet in batches, in order, retrying until they are durable or refused for good.
 *
 *  One batch is under way at a time while the next one fills, so that batches grow with latency and order is kept. 408, 429, 5xx and lost
 *  connections are waited out (Retry-After, else 0.25 s doubling to 10 s); the whole batch is sent again, which is safe: a packet already
 *  durable is reported as a duplicate. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterStatus } from '../../../sdk/retry.ts';
import { errorTable, PipelineError } from '../../errors.ts';
import type { ErrorCode } from '../../errors.ts';
import { encodeBatch } from '../../proto/packet-encode.ts';
import { isServiceRunning, systemCode } from '../command.ts';
import { within } from '../within.ts';

/** Timeout after which a request is sent again. */
const ANSWER_MS_MAX = 30_000;
/** A request that was under way for so long before its connection ended had reached a service, ms. */
const HELD_MS = 1000;
const heldCodes = new Set(['UND_ERR_SOCKET', 'ECONNRESET']);

export type SenderOptions = Readonly<{
  /** Base address of the service. */
  url: string;
  /** Organization key of scope ingest, or a user token. */
  credential: string;
  /** Over HTTP: the project in which an organization key finds and creates people. */
  projectKey?: string;
  signal: AbortSignal;
  /** A batch ends at this many bytes. */
  batchBytesMax?: number;
  batchPacketsMax?: number;
  /** Give up when nothing gets through for this long, ms. */
  giveUpMs?: number;
  /** Give up sooner when nothing has ever answered at the address, ms: it is a wrong one, or the service does not run. Default:
   *  giveUpMs. */
  firstAnswerMs?: number;
  /** Called once per packet, when it is settled: durable (`accepted` also for duplicates) or refused for good with a code. */
  onSettled?: (tag: number, code: 'accepted' | ErrorCode, detail: string) => void;
  /** Called with notices that the service adds to its answer. */
  onNotice?: (notice: string) => void;
  /** Called with the reason, once per wait. */
  onWait?: (reason: string, waitMs: number) => void;
}>;

export type SenderTotals = { accepted: number; duplicates: number; rejected: number; requests: number; bytes: number; retries: number };

type Queued = Readonly<{ bytes: Uint8Array; tag: number }>;
type ReplyBody = { accepted: number; duplicates: number; rejected: { index: number; code: string; detail: string }[]; notices?: string[] };

export class HttpSender {
  readonly totals: SenderTotals = { accepted: 0, duplicates: 0, rejected: 0, requests: 0, bytes: 0, retries: 0 };
  readonly #options: SenderOptions;
  readonly #batchBytesMax: number;
  readonly #batchPacketsMax: number;
  readonly #giveUpMs: number;
  #queue: Queued[] = [];
  #queuedBytes = 0;
  #answered = false;
  #running: Promise<void> | null = null;
  #failure: unknown = null;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#batchBytesMax = options.batchBytesMax ?? 512 * 1024;
    this.#batchPacketsMax = options.batchPacketsMax ?? 500;
    this.#giveUpMs = options.giveUpMs ?? 120_000;
  }

  /** Queues a packet; waits while another whole batch is already queued.  @throws the error that ended sending */
  async send(bytes: Uint8Array, tag: number): Promise<void> {
    this.#queue.push({ bytes, tag });
    this.#queuedBytes += bytes.length;
    this.#start();
    while (this.#queuedBytes >= this.#batchBytesMax || this.#queue.length >= this.#batchPacketsMax) {
      if (this.#running === null) break;
      await this.#running;
    }
    if (this.#failure !== null) throw this.#failure;
  }

  /** Waits until everything is settled. */
  async flush(): Promise<void> {
    while (this.#running !== null) await this.#running;
    if (this.#failure !== null) throw this.#failure;
  }

  #start(): void {
    if (this.#running !== null || this.#failure !== null || this.#queue.length === 0) return;
    this.#running = this.#sendBatch()
      .catch((error: unknown) => {
        this.#failure = error;
      })
      .finally(() => {
        this.#running = null;
        this.#start();
      });
  }

  async #sendBatch(): Promise<void> {
    // Give the caller's loop a turn to add what it has ready, so that the first batch is not a single packet.
    await Promise.resolve();
    let batch = this.#takeBatch();
    let waitMs = 250;
    const started = performance.now();
    let aloneSinceMs = started;
    while (batch.length > 0) {
      this.#options.signal.throwIfAborted();
      const answer = await this.#post(batch);
      if (answer.rest !== undefined) {
        if (answer.rest.length < batch.length) waitMs = 250;
        batch = answer.rest;
        if (batch.length === 0) return;
      }
      const waitedMs = performance.now() - started;
      if (answer.wasHeld === true) aloneSinceMs = performance.now();
      if (!this.#answered && performance.now() - aloneSinceMs + waitMs > (this.#options.firstAnswerMs ?? Infinity))
        throw unanswered(this.#options.url, answer.reason);
      if (waitedMs > this.#giveUpMs) {
        throw new PipelineError('unavailable', `nothing accepted for ${Math.round(this.#giveUpMs / 1000)} s: ${answer.reason}`);
      }
      const pause = answer.retryAfterMs ?? waitMs * (0.75 + 0.5 * Math.random());
      this.totals.retries++;
      this.#options.onWait?.(answer.reason, pause);
      await sleep(pause, undefined, { signal: this.#options.signal });
      waitMs = Math.min(10_000, waitMs * 2);
    }
  }

  #takeBatch(): Queued[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#queue.length && count < this.#batchPacketsMax) {
      const next = this.#queue[count]!.bytes.length;
      if (count > 0 && bytes + next > this.#batchBytesMax) break;
      bytes += next;
      count++;
    }
    this.#queuedBytes -= bytes;
    return this.#queue.splice(0, count);
  }

  /** @returns the packets left to send, or why none was kept */
  async #post(batch: readonly Queued[]): Promise<Readonly<{ reason: string; rest?: Queued[]; retryAfterMs?: number; wasHeld?: boolean }>> {
    const askedMs = performance.now();
    const body = encodeBatch(batch.map(({ bytes }) => bytes));
    this.totals.requests++;
    this.totals.bytes += body.length;
    let response: Response;
    let text: string;
    try {
      ({ response, text } = await within(this.#options.signal, ANSWER_MS_MAX, (signal) => this.#fetch(body, signal)));
    } catch (error) {
      this.#options.signal.throwIfAborted();
      // No system code means that the network is not at fault: fetch refuses the address, such as a port of another protocol.
      const pointless = !this.#answered && error instanceof TypeError && systemCode(error) === null;
      if (pointless) throw unanswered(this.#options.url, causeOf(error));
      // What keeps a request for a while and then goes is a service that is ended, not a wrong address.
      const wasHeld = heldCodes.has(systemCode(error) ?? '') && performance.now() - askedMs > HELD_MS;
      return { reason: causeOf(error), wasHeld };
    }
    const retryAfterMs = retryAfter(response);
    // Not only the service's own 429 and 503: a proxy answers 502 or 504 while the service behind it starts again.
    if (afterStatus(response.status) === 'retry') return { reason: `HTTP ${response.status}`, ...retryAfterMs };
    if (response.status !== 202) throw problemOf(response.status, text);
    return { rest: this.#settle(batch, JSON.parse(text) as ReplyBody), reason: 'busy', ...retryAfterMs };
  }

  async #fetch(body: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<{ response: Response; text: string }> {
    const response = await fetch(new URL('/ingest/raw-packet', this.#options.url), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#options.credential}`,
        ...(this.#options.projectKey === undefined ? {} : { 'project-key': this.#options.projectKey }),
        'content-type': 'application/x-protobuf; encoding=delimited',
        accept: 'application/json',
      },
      body,
      signal,
    });
    this.#answered = true;
    return { response, text: await response.text() };
  }

  /** Settles the packets of a 202.  @returns those that may be sent again later */
  #settle(batch: readonly Queued[], reply: ReplyBody): Queued[] {
    const refused = new Map(reply.rejected.map((item) => [item.index, item]));
    const rest: Queued[] = [];
    this.totals.accepted += reply.accepted;
    this.totals.duplicates += reply.duplicates;
    for (const notice of reply.notices ?? []) this.#options.onNotice?.(notice);
    for (const [index, queued] of batch.entries()) {
      const refusal = refused.get(index);
      if (refusal === undefined) this.#options.onSettled?.(queued.tag, 'accepted', '');
      else if (isRetryable(refusal.code)) rest.push(queued);
      else {
        this.totals.rejected++;
        this.#options.onSettled?.(queued.tag, refusal.code as ErrorCode, refusal.detail);
      }
    }
    return rest;
  }
}

function isRetryable(code: string): boolean {
  return code in errorTable && errorTable[code as ErrorCode].retry;
}

function retryAfter(response: Response): { retryAfterMs?: number } {
  const sec = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(sec) && sec >= 0 ? { retryAfterMs: Math.min(60_000, sec * 1000) } : {};
}

/** Error for an address that has never answered. */
export function unanswered(url: string, reason: string): PipelineError {
  return new PipelineError('unavailable', `nothing answers at ${url}: ${reason}. ${isServiceRunning}`);
}

/** A problem+json answer as an error with its code. */
export function problemOf(status: number, text: string): PipelineError {
  try {
    const problem = JSON.parse(text) as { code?: string; detail?: string; title?: string };
    const code = problem.code !== undefined && problem.code in errorTable ? (problem.code as ErrorCode) : 'internal';
    return new PipelineError(code, problem.detail ?? problem.title ?? `HTTP ${status}`);
  } catch {
    return new PipelineError(status === 404 ? 'not_found' : 'internal', `HTTP ${status}: ${text.slice(0, 200)}`);
  }
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}
