/** Retries a batch until it is stored, however long the database is unavailable. Rows that can never be stored are found by halving the
 *  batch, and set aside so that they hold up no others. A batch that took longer than a statement may, or got no answer, is stored in
 *  halves. */
import { setTimeout as sleep } from 'node:timers/promises';
import { failureOf, NoAnswer, sqlStateOf } from './database/sql-states.ts';

export type StoreSteps<T> = Readonly<{
  /** Makes one attempt, all or nothing. @param careful some of the rows may be in the table already */
  write: (batch: T, careful: boolean) => Promise<void>;
  /** Splits a batch into two parts to be written one after the other; null for a single row. */
  halve: (batch: T) => readonly [T, T] | null;
  /** Splits a batch into what must be stored even if its rows are set aside (null: nothing), and the rows. Default: nothing, all of it. */
  apart?: (batch: T) => readonly [T | null, T];
  /** Sets the batch aside. */
  setAside: (batch: T, why: unknown) => Promise<void>;
  /** Forgets which partitions exist. */
  forgetPartitions: () => void;
  /** True when the writer was abandoned: whatever is not stored stays in the log. */
  isStopped: () => boolean;
  /** Called with the reason of each retry. */
  onFault: (error: unknown) => void;
}>;

/** Pause between two attempts, ms: the first, and the longest. */
const PAUSE_MS = 500;
const PAUSE_MS_MAX = 5000;
/** SQLSTATE of a statement that ran into its timeout. */
const QUERY_CANCELED = '57014';
/** Attempts when the database keeps reporting a duplicate row, or a missing partition that was just made. */
const ATTEMPTS_MAX = 3;
/** Failed attempts per batch after which the rest of a half is set aside as a whole: a constraint that refuses every row must not cost a
 *  transaction for each. */
const REFUSALS_MAX = 200;

/** @returns when every row is stored or set aside, or the writer was stopped; never rejects with an error of the database */
export async function storeOrSetAside<T>(batch: T, careful: boolean, steps: StoreSteps<T>, refusals = { count: 0 }): Promise<void> {
  const refusal = await attempt(batch, careful, steps);
  if (refusal === null) return;
  if (isTooLong(refusal)) {
    for (const half of steps.halve(batch)!) await storeOrSetAside(half, careful, steps, refusals);
    return;
  }
  refusals.count += 1;
  const halves = refusals.count > REFUSALS_MAX ? null : steps.halve(batch);
  if (halves === null) await giveUp(batch, careful, steps, refusal);
  else for (const half of halves) await storeOrSetAside(half, careful, steps, refusals);
}

async function giveUp<T>(batch: T, careful: boolean, steps: StoreSteps<T>, refusal: unknown): Promise<void> {
  const [needed, rows] = steps.apart?.(batch) ?? [null, batch];
  if (needed !== null) {
    const why = await attempt(needed, careful, { ...steps, halve: () => null });
    if (why !== null) return await steps.setAside(batch, why);
  }
  await steps.setAside(rows, refusal);
}

/** @param error of a statement, or what a connection made of it after its own attempts. Without an answer the database may be cut off
 *  instead: then the next attempt finds no connection, so a batch is halved about once for each cut */
function isTooLong(error: unknown): boolean {
  return [error, (error as Error | null)?.cause].some((each) => each instanceof NoAnswer || sqlStateOf(each) === QUERY_CANCELED);
}

/** @returns null when the batch is stored or the writer was stopped, else why it never can be as one */
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
      if (isTooLong(error) && steps.halve(batch) !== null) return error;
      pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
    }
  }
  return null;
}

export function halvesOf<T>(rows: readonly T[]): readonly [readonly T[], readonly T[]] {
  const middle = rows.length >> 1;
  return [rows.slice(0, middle), rows.slice(middle)];
}
