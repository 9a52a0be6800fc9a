/** Partitions that come to this node and leave it while it runs.
 *
 *  Taking: the database has given a claim. What the last owner acknowledged and did not store is replayed while packets of other partitions
 *  come; then the partition is open for packets.
 *  Releasing: no more packets are taken; what came is stored and computed, and the checkpoint says so; then nothing that this node writes
 *  names the partition any more, and it can be given back. What cannot be computed within some seconds is left to the next owner, which
 *  replays it from the log: then the checkpoint stays before it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { EPOCH_POSITIONS } from '../cluster/held-partitions.ts';
import { PipelineError } from '../errors.ts';
import type { Session } from '../ingest/session.ts';
import type { StreamId, SubjectId } from '../signal.ts';
import { isLoginRefused } from '../storage/database/sql-states.ts';
import { isNotOwner } from '../storage/fence.ts';
import type { Fence } from '../storage/fence.ts';
import type { LogRange } from '../storage/packet-log.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { ReplayHorizon } from './replay-horizon.ts';
import type { Stores } from './stores.ts';
import type { StreamLife } from './stream-life.ts';
import type { StreamTable } from './stream-table.ts';

/** How long the opening of a stream waits for its partition, ms: most are taken within a second. */
const OPENING_MS = 3000;
/** Pause before a step that the database refused is tried again, ms. */
const AGAIN_MS = 500;

export type Claimed = Readonly<{ partitions: readonly number[]; epoch: bigint; checkpoint: number }>;

export type MoveParts = Readonly<{
  fence: Fence;
  stores: Stores;
  streams: StreamTable;
  life: StreamLife;
  horizon: ReplayHorizon;
  checkpoints: Checkpoints;
  /** Replays and resumes. @returns packets */
  recover: (range: LogRange) => Promise<number>;
  /** Resolves when the group commit being filled is durable or refused, and passed on. */
  newestDurable: () => Promise<void>;
  /** Ends sessions; their devices open their streams again. */
  dropSessions: (match: (session: Session) => boolean) => Promise<void>;
  isStopped: () => boolean;
  /** @throws when the writers were abandoned: what they say is stored is not */
  mustGoOn: () => void;
  onFault: (message: string, cause: unknown) => void;
}>;

export class PartitionMoves {
  readonly #parts: MoveParts;
  readonly #waiting = new Set<() => void>();

  constructor(parts: MoveParts) {
    this.#parts = parts;
  }

  /** Resolves when the partition takes packets.
   *  @throws PipelineError unavailable when it is not this node's, or takes none for too long */
  async untilOpen(partition: number): Promise<void> {
    const { held } = this.#parts.fence;
    const mode = held.modeOf(partition);
    if (mode === 'open') return;
    const deadlineMs = performance.now() + OPENING_MS;
    while (held.modeOf(partition) === 'taking' && performance.now() < deadlineMs) await this.#nextChange(deadlineMs);
    if (held.modeOf(partition) === 'open') return;
    throw new PipelineError('unavailable', 'another node takes these packets over; nothing was kept', { retryAfterSec: 1 });
  }

  /** Reads back what was claimed, and opens it for packets. One call at a time.
   *  @returns packets replayed */
  async take({ partitions, epoch, checkpoint }: Claimed): Promise<number> {
    const { fence, stores, horizon, recover, newestDurable } = this.#parts;
    fence.take(partitions, epoch);
    const count = await this.#untilDone(`${named(partitions)} could not be read back`, () => recover({ partitions, after: checkpoint }));
    // Batches that were written before the claim have numbers of an epoch before, and are passed on now; all others are above this.
    await newestDurable();
    const position = Number(epoch) * EPOCH_POSITIONS;
    stores.log.noteClaim(position);
    horizon.noteClaim(position);
    for (const partition of partitions) fence.held.open(partition);
    this.#changed();
    return count;
  }

  /** Stores what this node has of a partition, and writes nothing of it any more.
   *  @returns the batch up to which everything of it is in the tables; null: it is not known to be more than the last checkpoint says */
  async release(partition: number): Promise<number | null> {
    const { fence, stores, streams, life, checkpoints, dropSessions } = this.#parts;
    fence.held.leave(partition);
    this.#changed();
    const isOf = (subjectId: SubjectId): boolean => streams.partitionOf(subjectId) === partition;
    // Nothing says whose a stream is that was closed; its open minutes are over in any case.
    const isLeft = (streamId: StreamId): boolean => (streams.get(streamId)?.partition ?? partition) === partition;
    const open = await this.#untilDone(`partition ${partition} could not be stored`, async () => {
      await dropSessions(({ subjectId }) => isOf(subjectId));
      const left = await life.closePartition(partition);
      for (const { id } of left) await stores.blocks.closeStream(id);
      await stores.rows.leave(isLeft);
      return left;
    });
    const stored = open.length === 0 ? stores.log.durablePosition : null;
    await this.#untilDone(`the checkpoint of partition ${partition} could not be saved`, () => checkpoints.save());
    fence.drop(partition);
    for (const stream of open) life.forsake(stream);
    await stores.rows.leave(isLeft); // nobody else has the partition yet
    for (const subjectId of stores.hub.subjects()) if (isOf(subjectId)) stores.hub.handOver(subjectId);
    await fence.quiet();
    return stored;
  }

  /** Again while the database is away. @throws when this node has stopped, lost what it holds, was abandoned or may not connect any more */
  async #untilDone<T>(what: string, work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const result = await work();
        this.#parts.mustGoOn(); // abandoned writers store nothing and fail nothing
        return result;
      } catch (error) {
        if (isNotOwner(error) || isLoginRefused(error) || this.#parts.isStopped()) throw error;
        this.#parts.onFault(`cluster: ${what}: it is tried again`, error);
        await sleep(AGAIN_MS);
      }
    }
  }

  #changed(): void {
    for (const go of this.#waiting) go();
    this.#waiting.clear();
  }

  async #nextChange(deadlineMs: number): Promise<void> {
    const timer = new AbortController();
    const late = sleep(deadlineMs - performance.now(), undefined, { signal: timer.signal }).catch(() => undefined);
    const change = Promise.withResolvers<void>();
    this.#waiting.add(change.resolve);
    await Promise.race([change.promise, late]);
    this.#waiting.delete(change.resolve); // reading back may take minutes, and devices ask again every second
    timer.abort();
  }
}

const named = (partitions: readonly number[]): string => `partition${partitions.length === 1 ? '' : 's'} ${partitions.join(', ')}`;
