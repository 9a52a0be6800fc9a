/** Questions to other nodes: the newest samples of a stream, and to end what they have of a person. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../bus/bus.ts';
import type { ClusterNode, ClusterView } from '../cluster/cluster-view.ts';
import { PipelineError } from '../errors.ts';
import type { SubjectId } from '../signal.ts';
import { checkSaid, decodeObject, encodeObject } from './wire.ts';

/** How long an answer waits for the newest seconds, ms; it is given without them when the owner does not answer. */
const RECENT_MS = 250;
/** Streams whose subject is remembered. */
const STREAMS_MAX = 50_000;
/** How long a node that lives may take to end what it has of a person, and when it is asked again, ms. Longer than a node that stands still
 *  counts as living. */
const ERASE_MS = 20_000;
const ERASE_AGAIN_MS = 500;

/** As BlockRun of the storage. */
export type Run = Readonly<{ k0: number; samples: Int32Array | Float32Array; qmask: Uint8Array | null }>;
type Recent<R> = (streamId: number, channelNo: number, fromNs: bigint, toNs: bigint, lack?: () => void) => R;
type Asked = Readonly<{ streamId: number; channelNo: number; fromNs: bigint; toNs: bigint }>;
type SentRun = Readonly<{ k0: number; isFloat: boolean; samples: string; qmask: string | null }>;

export type QuestionParts = Readonly<{
  bus: Bus;
  view: ClusterView;
  recent: Recent<readonly Run[]>;
  /** Ends what this node has of a person. */
  eraseSubject: (subjectId: SubjectId) => Promise<void>;
  /** null: there is no such stream. */
  subjectOfStream: (streamId: number) => Promise<SubjectId | null>;
}>;

export class Questions {
  readonly #parts: QuestionParts;
  readonly #subjects = new Map<number, SubjectId>();

  constructor(parts: QuestionParts) {
    this.#parts = parts;
    const { bus, recent, eraseSubject } = parts;
    bus.handle('recent', (_, body) => {
      const { streamId, channelNo, fromNs, toNs } = decodeObject<Asked>(body);
      checkSaid(
        Number.isSafeInteger(streamId) && Number.isSafeInteger(channelNo) && typeof fromNs === 'bigint' && typeof toNs === 'bigint',
      );
      return encodeObject(recent(streamId, channelNo, fromNs, toNs).map(sent));
    });
    bus.handle('erase', async (_, body) => {
      const subjectId = decodeObject<SubjectId>(body);
      checkSaid(typeof subjectId === 'string');
      await eraseSubject(subjectId);
      return Buffer.alloc(0);
    });
  }

  /** Acknowledged samples that are not stored yet, wherever they are. @param lack is called when their owner does not answer */
  recent: Recent<Promise<readonly Run[]>> = async (streamId, channelNo, fromNs, toNs, lack) => {
    const { bus, view, recent } = this.#parts;
    const subjectId = await this.#subjectOf(streamId);
    const owner = subjectId === null ? null : view.ownerOf(subjectId);
    if (owner === null && subjectId !== null) lack?.(); // its last owner had them, and the next reads them back
    if (owner === null || owner === view.self) return recent(streamId, channelNo, fromNs, toNs);
    const asked: Asked = { streamId, channelNo, fromNs, toNs };
    try {
      return decodeObject<readonly SentRun[]>(await bus.request(owner, 'recent', encodeObject(asked), RECENT_MS)).map(received);
    } catch {
      lack?.();
      return []; // as if they came a moment later
    }
  };

  /** Ends what any node has of a person who is being erased.
   *  @throws PipelineError unavailable when a node that lives does not answer, as it may still write rows of the person, or when it is not
   *  known which ones live */
  eraseSubject = async (subjectId: SubjectId): Promise<void> => {
    const { view, eraseSubject } = this.#parts;
    await view.lookNow();
    const others = view.nodes().filter(({ id }) => id !== view.self);
    await Promise.all([eraseSubject(subjectId), ...others.map((node) => this.#eraseAt(node, subjectId))]);
  };

  /** Until the node has answered, or has gone: what it writes then is refused. */
  async #eraseAt({ id, name }: ClusterNode, subjectId: SubjectId): Promise<void> {
    const { bus, view } = this.#parts;
    const untilMs = performance.now() + ERASE_MS;
    const isGone = (): boolean => view.nodes().every((node) => node.id !== id);
    const gone = Promise.withResolvers<null>();
    const unwatch = view.onChange(() => {
      if (isGone()) gone.resolve(null);
    });
    const ask = (): Promise<unknown> =>
      bus.request(id, 'erase', encodeObject(subjectId), Math.max(1, untilMs - performance.now())).then(
        () => null,
        (error: unknown) => error,
      );
    try {
      for (;;) {
        const failure = await Promise.race([ask(), gone.promise]);
        if (failure === null || isGone()) return;
        if (!(failure instanceof PipelineError) || failure.code !== 'unavailable') throw failure;
        if (performance.now() + ERASE_AGAIN_MS >= untilMs)
          throw new PipelineError('unavailable', `${name} lives and does not answer (${failure.message})`, { retryAfterSec: 1 });
        await Promise.race([sleep(ERASE_AGAIN_MS), gone.promise]);
      }
    } finally {
      unwatch();
    }
  }

  async #subjectOf(streamId: number): Promise<SubjectId | null> {
    const known = this.#subjects.get(streamId);
    if (known !== undefined) return known;
    const found = await this.#parts.subjectOfStream(streamId);
    if (found === null) return null;
    if (this.#subjects.size >= STREAMS_MAX) this.#subjects.delete(this.#subjects.keys().next().value!);
    this.#subjects.set(streamId, found);
    return found;
  }
}

// Their own bytes: JSON has neither -0 nor NaN.
function sent({ k0, samples, qmask }: Run): SentRun {
  const bytes = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  const isFloat = samples instanceof Float32Array;
  return { k0, isFloat, samples: bytes.toString('base64'), qmask: qmask === null ? null : Buffer.from(qmask).toString('base64') };
}

function received({ k0, isFloat, samples, qmask }: SentRun): Run {
  const { buffer } = Uint8Array.from(Buffer.from(samples, 'base64'));
  return {
    k0,
    samples: isFloat ? new Float32Array(buffer) : new Int32Array(buffer),
    qmask: qmask === null ? null : Uint8Array.from(Buffer.from(qmask, 'base64')),
  };
}
