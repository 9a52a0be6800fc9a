/** Saves the position up to which the packet log need not be replayed: every 2 s, and when a stream is closed. replay-horizon.ts decides
 *  which position that is. */
import type { StreamId } from '../signal.ts';
import { isNotOwner } from '../storage/fence.ts';
import { failureOf } from '../storage/database/sql-states.ts';
import type { Faults } from './faults.ts';
import type { ReplayHorizon } from './replay-horizon.ts';
import type { Stores } from './stores.ts';

/** Period of checkpoints, ms; bounds how much a start replays. */
const CHECKPOINT_MS = 2000;

export class Checkpoints {
  readonly #stores: Pick<Stores, 'log' | 'blocks' | 'hashes'>;
  readonly #horizon: ReplayHorizon;
  readonly #isComputed: (streamId: StreamId) => boolean;
  readonly #faults: Faults;
  #saving: Promise<void> | null = null;
  /** Begins when #saving is done. */
  #next: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #abandoned = false;

  constructor(
    stores: Pick<Stores, 'log' | 'blocks' | 'hashes'>,
    horizon: ReplayHorizon,
    isComputed: (streamId: StreamId) => boolean,
    faults: Faults,
  ) {
    this.#stores = stores;
    this.#horizon = horizon;
    this.#isComputed = isComputed;
    this.#faults = faults;
  }

  start(): void {
    // job: checkpoint: notes up to where the packet log is in the tables, every 2 s
    this.#timer = setInterval(() => void this.#saveOrSay(), CHECKPOINT_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /** Freezes the checkpoint, because abandoned writers drop what they have not stored. */
  abandon(): void {
    this.stop();
    this.#abandoned = true;
  }

  /** Saves a checkpoint. Calls during a save share the next one: a whole fleet may go idle at the same time. */
  save(): Promise<void> {
    this.#next ??= this.#saveAfter(this.#saving);
    return this.#next;
  }

  async #saveAfter(before: Promise<void> | null): Promise<void> {
    await before?.catch(() => undefined);
    this.#saving = this.#next;
    this.#next = null;
    try {
      await this.#saveNow();
    } finally {
      this.#saving = null;
    }
  }

  async #saveNow(): Promise<void> {
    if (this.#abandoned) return; // may have happened while waiting
    const { blocks, log } = this.#stores;
    const position = this.#horizon.position(blocks.safePosition(), this.#isComputed);
    await this.#saveHashes(); // first, since packets before the checkpoint are not replayed
    if (!this.#abandoned) await log.checkpoint(position);
  }

  /** An unavailable database is reported elsewhere. */
  async #saveOrSay(): Promise<void> {
    try {
      await this.save();
    } catch (err) {
      if (failureOf(err) === 'try_again') return;
      this.#faults.sayOnce({ err }, 'packet log: the checkpoint cannot be saved; everything since then is replayed at the next start');
    }
  }

  /** Packets are stored with or without their hashes, so a table of hashes that refuses rows must not delay checkpoints. */
  async #saveHashes(): Promise<void> {
    try {
      await this.#stores.hashes.save();
    } catch (err) {
      if (isNotOwner(err) || failureOf(err) === 'try_again') throw err;
      this.#faults.sayOnce({ err }, 'packet hashes: they cannot be saved; it is tried again with every checkpoint');
    }
  }
}
