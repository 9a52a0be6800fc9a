/** Shares the database's connections fairly among reads of signals.
 *
 *  A read runs when one of `atOnce` places is free, its caller has fewer than `perCaller`, and, if it is large, one of the places for large
 *  reads is free, of which a caller has at most one. Otherwise it waits. Callers take turns, whatever the length of their queues; of one
 *  caller's reads the first that may run is next, so that small ones need not wait for a large one. A read is refused when its caller
 *  already has `waitingMax` waiting, or when it has waited for `waitMsMax`. */
import type { Config } from '../config.ts';
import { PipelineError } from '../errors.ts';
import { poolSizes } from '../storage/database/roles.ts';

export type TurnLimits = Readonly<{
  /** Reads that run at once. */
  atOnce: number;
  /** Reads of one caller that run at once. */
  perCaller: number;
  /** Exports of one organization at once. Absent: as many as there are places. */
  perOrganization?: number;
  /** Large reads that run at once. */
  largeAtOnce: number;
  /** Reads of one caller that wait. */
  waitingMax: number;
  /** How long each of them waits, ms. */
  waitMsMax: number;
}>;

/** Waiting reads of one credential, and how long each waits, ms: less than the timeouts of proxies. */
const WAITING_MAX = 32;
const WAIT_MS_MAX = 20_000;
/** Exports written at once, if there are connections for them. A credential has one; where there is more than one place, an organization
 *  leaves one for others. Each holds a connection until it ends, however slowly it is read. */
const EXPORTS_MAX = 2;

type TurnSettings = Pick<Config, 'readsAtOnceMax' | 'largeReadsAtOnceMax' | 'dbConnectionsMax'>;

/** Makes the turns of reads and exports for a service. Together they never take every connection of the api's pool, so that one stays free
 *  for quick queries; a pool of two is shared by one of each. */
export function serviceTurns({
  readsAtOnceMax,
  largeReadsAtOnceMax,
  dbConnectionsMax,
}: TurnSettings): Readonly<{ turns: Turns; exports: Turns }> {
  const room = poolSizes(dbConnectionsMax).api - 1;
  const exportsAtOnce = Math.max(1, Math.min(EXPORTS_MAX, Math.floor(room / 2)));
  const atOnce = Math.max(1, Math.min(readsAtOnceMax, room - exportsAtOnce));
  return {
    turns: new Turns({
      atOnce,
      perCaller: Math.ceil(atOnce / 2),
      largeAtOnce: Math.min(atOnce, largeReadsAtOnceMax),
      waitingMax: WAITING_MAX,
      waitMsMax: WAIT_MS_MAX,
    }),
    // Granted at once or refused.
    exports: new Turns({
      atOnce: exportsAtOnce,
      perCaller: 1,
      perOrganization: Math.max(1, exportsAtOnce - 1),
      largeAtOnce: 0,
      waitingMax: 0,
      waitMsMax: 0,
    }),
  };
}

const peerLeft = (): PipelineError => new PipelineError('bad_request', 'The peer went away.');

type Waiting = Readonly<{ large: boolean; start: () => void }>;
type Queue = { readonly waiting: Waiting[]; running: number; large: number };

export class Turns {
  readonly #limits: TurnLimits;
  /** Callers in order of turns: a served caller moves to the end. Callers with nothing running or waiting are dropped. */
  readonly #queues = new Map<string, Queue>();
  #running = 0;
  #large = 0;
  /** Exports under way. */
  readonly #organizations = new Map<string, number>();

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Runs `work` when it is the caller's turn, unless `signal` is aborted before that.
   *  @throws PipelineError rate_limited when too many of the caller's reads wait */
  async run<T>(caller: string, large: boolean, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const end = await this.#turn(caller, large, signal);
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** Takes a place for an export, which continues after the call returns; refused when none is free.
   *  @returns a function that releases it; may be called twice  @throws PipelineError rate_limited */
  take(caller: string, organization: string): () => void {
    const queue = this.#queueOf(caller);
    const { perCaller, perOrganization = Infinity, atOnce } = this.#limits;
    const ofOrganization = this.#organizations.get(organization) ?? 0;
    if (ofOrganization >= perOrganization || !this.#fits(queue, false)) {
      this.#forget(caller, queue);
      const count = (max: number): string => `${max === 1 ? 'an export' : `${max} exports`} under way`;
      const words =
        queue.running >= perCaller
          ? `This credential has ${count(perCaller)}`
          : ofOrganization >= perOrganization
            ? `This organization has ${count(perOrganization)}`
            : 'Others have exports under way';
      throw new PipelineError('rate_limited', `${words}; at most ${perCaller} at once, ${atOnce} for everybody.`, { retryAfterSec: 5 });
    }
    this.#organizations.set(organization, ofOrganization + 1);
    const end = this.#begin(caller, queue, false);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const left = this.#organizations.get(organization)! - 1;
      if (left === 0) this.#organizations.delete(organization);
      else this.#organizations.set(organization, left);
      end();
    };
  }

  async #turn(caller: string, large: boolean, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw peerLeft();
    const queue = this.#queueOf(caller);
    if (this.#fits(queue, large)) return this.#begin(caller, queue, large);
    const { waitingMax, waitMsMax } = this.#limits;
    if (queue.waiting.length >= waitingMax) {
      throw new PipelineError('rate_limited', `${queue.waiting.length} reads of this credential wait already.`, { retryAfterSec: 2 });
    }
    return new Promise((resolve, reject) => {
      const leave = (why: PipelineError): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', gone);
        queue.waiting.splice(queue.waiting.indexOf(waiting), 1);
        this.#forget(caller, queue);
        reject(why);
      };
      const gone = (): void => leave(peerLeft());
      const timer = setTimeout(
        () => leave(new PipelineError('rate_limited', `No place became free within ${waitMsMax / 1000} s.`, { retryAfterSec: 5 })),
        waitMsMax,
      );
      const waiting: Waiting = {
        large,
        start: () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', gone);
          resolve(this.#begin(caller, queue, large));
        },
      };
      queue.waiting.push(waiting);
      signal.addEventListener('abort', gone, { once: true });
    });
  }

  #queueOf(caller: string): Queue {
    let queue = this.#queues.get(caller);
    if (queue === undefined) this.#queues.set(caller, (queue = { waiting: [], running: 0, large: 0 }));
    return queue;
  }

  #fits(queue: Queue, large: boolean): boolean {
    const { atOnce, perCaller, largeAtOnce } = this.#limits;
    if (this.#running >= atOnce || queue.running >= perCaller) return false;
    return !large || (this.#large < largeAtOnce && queue.large === 0);
  }

  #begin(caller: string, queue: Queue, large: boolean): () => void {
    const add = (by: 1 | -1): void => {
      this.#running += by;
      queue.running += by;
      if (large) {
        this.#large += by;
        queue.large += by;
      }
    };
    add(1);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      add(-1);
      this.#forget(caller, queue);
      this.#next();
    };
  }

  #forget(caller: string, queue: Queue): void {
    if (queue.running === 0 && queue.waiting.length === 0 && this.#queues.get(caller) === queue) this.#queues.delete(caller);
  }

  #next(): void {
    for (const [caller, queue] of this.#queues) {
      const at = queue.waiting.findIndex(({ large }) => this.#fits(queue, large));
      if (at < 0) continue;
      const [first] = queue.waiting.splice(at, 1);
      this.#queues.delete(caller);
      this.#queues.set(caller, queue);
      first?.start();
    }
  }
}
