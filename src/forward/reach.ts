/** Whether messages reach the other nodes. A node that lives, by the database, and answers nothing has another bus than this one: packets
 *  of its people that come here are refused for good. */
import type { Bus } from '../bus/bus.ts';
import { ToldFailure } from '../bus/failures.ts';
import type { ClusterView, NodeId } from '../cluster/cluster-view.ts';

/** How often the others are asked, and how long they have, ms: a slow network is none that does not arrive. */
const ASK_MS = 3000;
const ANSWER_MS = 8000;
/** A node that is silent for so long counts as not reached, ms: one that hangs is followed by then. */
const SILENT_MS = 10_000;
/** An answer that took longer says too little about the other's clock, ms. */
const WAY_MS_MAX = 1000;

export class Reach {
  readonly #bus: Bus;
  readonly #view: ClusterView;
  readonly #onChange: (unreached: readonly string[]) => void;
  readonly #silentSinceMs = new Map<NodeId, number>();
  readonly #timer: NodeJS.Timeout;
  /** Of each node's clock: Unix ms there at 0 of the monotonic clock here, which does not leap between an answer and its use. */
  readonly #startMs = new Map<NodeId, number>();
  readonly #onAnswer: () => void;
  #isAsking = false;
  #told = '';

  /** @param onChange called with the names of the nodes that are not reached, when they are others than before
   *  @param onAnswer called when a node has answered, and after each round without an answer */
  constructor(bus: Bus, view: ClusterView, onChange: (unreached: readonly string[]) => void, onAnswer: () => void) {
    this.#bus = bus;
    this.#view = view;
    this.#onChange = onChange;
    this.#onAnswer = onAnswer;
    bus.handle('here', () => encodeTime(Date.now()));
    // job: reach: asks the other nodes whether they hear this one, and what time it is there
    this.#timer = setInterval(() => void this.ask(), ASK_MS).unref();
  }

  /** Names of living nodes that do not answer; none while the bus itself is away. */
  get unreached(): readonly string[] {
    if (this.#bus.state === 'away') return [];
    return this.#view.nodes().flatMap(({ id, name }) => (this.#isSilent(id) ? [name] : []));
  }

  /** Whether a node can be talked with, as far as this one knows. */
  reaches(id: NodeId): boolean {
    return this.#bus.state === 'open' && !this.#isSilent(id);
  }

  /** Of the clock of each node that answers: Unix ms at 0 of this machine's monotonic clock. */
  get startsMs(): readonly number[] {
    return [...this.#startMs.values()];
  }

  #isSilent(id: NodeId): boolean {
    return (this.#silentSinceMs.get(id) ?? Infinity) <= performance.now() - SILENT_MS;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Asks all others, unless that is being done. */
  async ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const others = this.#view.nodes().filter(({ id }) => id !== this.#view.self);
    const living = new Set(others.map(({ id }) => id));
    for (const id of this.#silentSinceMs.keys()) if (!living.has(id) || this.#bus.state === 'away') this.#silentSinceMs.delete(id);
    for (const id of this.#startMs.keys()) if (!living.has(id)) this.#startMs.delete(id);
    if (this.#bus.state === 'open') await Promise.all(others.map(({ id }) => this.#askNode(id)));
    this.#isAsking = false;
    this.#onAnswer();
    const { unreached } = this;
    if (unreached.join() === this.#told) return;
    this.#told = unreached.join();
    this.#onChange(unreached);
  }

  async #askNode(id: NodeId): Promise<void> {
    const askedMs = performance.now();
    const asked = this.#bus.request(id, 'here', new Uint8Array(0), ANSWER_MS);
    // One of a former release says that it does not know the question, and one that cannot answer says why.
    const answer = await asked.catch((error: unknown) => (error instanceof ToldFailure ? Buffer.alloc(0) : null));
    if (answer === null) {
      if (!this.#silentSinceMs.has(id)) this.#silentSinceMs.set(id, askedMs);
      return;
    }
    this.#silentSinceMs.delete(id);
    const nowMs = performance.now();
    const wayMs = nowMs - askedMs;
    const thereMs = decodeTime(answer);
    if (wayMs > WAY_MS_MAX || thereMs === null) return;
    this.#startMs.set(id, thereMs + wayMs / 2 - nowMs);
    this.#onAnswer();
  }
}

function encodeTime(ms: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(ms);
  return bytes;
}

/** @returns null: the node is of a release that does not tell its time, or told none */
function decodeTime(bytes: Buffer): number | null {
  const ms = bytes.length === 8 ? bytes.readDoubleBE() : Number.NaN;
  return Number.isSafeInteger(ms) ? ms : null;
}
