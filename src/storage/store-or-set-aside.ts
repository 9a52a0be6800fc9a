/** Writes a batch until it is stored, however long the database is away; rows that can never be stored are found by halving it and are set
 *  aside, so that they hold up nobody. */
import { setTimeout as sleep } from 'node:timers/promises';
import { failureOf } from './database/sql-states.ts';

export type StoreSteps<T> = Readonly<{
  /** One attempt, all or nothing. @param careful some of it may be in the table already */
  write: (batch: T, careful: boolean) => Promise<void>;
  /** Two parts to be written one after the other; null when it is one row. */
  halve: (batch: T) => readonly [T, T] | null;
  /** What must be stored although the rows of the batch are set aside (null: nothing), and the rows. Default: nothing, all of it. */
  apart?: (batch: T) => readonly [T | null, T];
  /** Keeps the batch elsewhere, for good. */
  setAside: (batch: T, why: unknown) => Promise<void>;
  /** Partitions that were known are looked for again. */
  forgetPartitions: () => void;
  /** The writer was abandoned: what is not stored stays in the log. */
  isStopped: () => boolean;
  /** Told why it is tried again. */
  onFault: (error: unknown) => void;
}>;

/** Between two attempts, ms: the first, and the longest. */
const PAUSE_MS = 500;
const PAUSE_MS_MAX = 5000;
/** Attempts after the database has said the same of a row that may be there, or of a partition that was just made. */
const ATTEMPTS_MAX = 3;
/** Of one batch, attempts that may fail before what is left of a half is set aside whole: a constraint that refuses every row must not cost
 *  a transaction for each. */
const REFUSALS_MAX = 200;

/** @returns when every row is stored or set aside, or the writer was stopped; never rejects for what the database says */
export async function storeOrSetAside<T>(batch: T, careful: boolean, steps: StoreSteps<T>, refusals = { count: 0 }): Promise<void> {
  const refusal = await attempt(batch, careful, steps);
  if (refusal === null) return;
  refusals.count += 1;
  const halves = refusals.count > REFUSALS_MAX ? null : steps.halve(batch);
  if (halves === null) await giveUp(batch, careful, steps, refusal);
  else for (const half of halves) await storeOrSetAside(half, careful, steps, refusals);
}

async function giveUp<T>(batch: T, careful: boolean, steps: StoreSteps<T>, refusal: unknown): Promise<void> {
  const [needed, rows] = steps.apart?.(batch) ?? [null, batch];
  if (needed !== null) {
    const why = await attempt(needed, careful, steps);
    if (why !== null) return await steps.setAside(batch, why);
  }
  await steps.setAside(rows, refusal);
}

/** @returns null when it is stored or the writer was stopped, else why it never will be */
async function attempt<T>(batch: T, isCareful: boolean, steps: StoreSteps<T>): Promise<unknown> {
  let careful = isCareful;
  let pauseMs = PAUSE_MS;
  let refusedCount = 0;
  while (!steps.isStopped()) {
    try {
      await steps.write(batch, careful);
      return null;
    } catch (error) {
      const failure = failureOf(error);
      if (failure === 'bad_row') return error;
      if (failure === 'duplicate' || failure === 'missing_partition') {
        if (++refusedCount > ATTEMPTS_MAX) return error;
        if (failure === 'duplicate') careful = true;
        else steps.forgetPartitions();
        continue;
      }
      steps.onFault(error);
      await sleep(pauseMs);
      pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
    }
  }
  return null;
}

export function halvesOf<T>(rows: readonly T[]): readonly [readonly T[], readonly T[]] {
  const middle = rows.length >> 1;
  return [rows.slice(0, middle), rows.slice(middle)];
}
