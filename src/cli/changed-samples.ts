/** Detects samples of a range that changed while it was computed: the service stores late data while `biosignal reprocess` runs, and data
 *  just acknowledged may not be in a table yet. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { reachAheadSec } from '../dsp/kernels/segment-grid.ts';
import type { StreamId } from '../signal.ts';
import { logBounds, notStored, upTo } from './backlog.ts';
import { logIsHeld } from '../storage/log-ownership.ts';

/** How far before a range its values depend on samples, s: 300 s of beats, plus what the beats need. */
const REACH_BACK_SEC = 900n;
/** How long a service may take to store what it acknowledged, ms; normally seconds. Longer means a fault elsewhere. */
const STORED_WAIT_MS = 60_000;
const LOOK_MS = 250;

export type SampleRange = Readonly<{ id: StreamId; epochNs: bigint; fromNs: bigint; toNs: bigint }>;

/** Fingerprint of samples: equal as long as no sample arrived that values of the range depend on. */
export async function printOfSamples(pool: pg.Pool, { id, epochNs, fromNs, toNs }: SampleRange): Promise<string> {
  const fromUs = (epochNs + fromNs) / 1000n - REACH_BACK_SEC * 1_000_000n;
  const toUs = (epochNs + toNs) / 1000n + BigInt(reachAheadSec) * 1_000_000n;
  const { rows } = await pool.query<{ print: string }>(
    `select concat_ws(' ', count(*), sum(n),
       sum(hashtext(concat_ws(' ', channel_no, start_ns, n, suspect_n, bad_n, min, max, mean, octet_length(codec))))) as print
     from sample_block where stream_id = $1 and time >= timestamptz 'epoch' + $2::int8 * interval '1 microsecond'
       and time < timestamptz 'epoch' + $3::int8 * interval '1 microsecond'`,
    [id, fromUs.toString(), toUs.toString()],
  );
  return rows[0]!.print;
}

/** Waits until everything a running service has acknowledged so far is in the tables.  @returns false on timeout */
export async function untilStored(pool: pg.Pool, signal: AbortSignal): Promise<boolean> {
  const bounds = await logBounds(pool);
  for (const deadline = performance.now() + STORED_WAIT_MS; performance.now() < deadline; await sleep(LOOK_MS)) {
    signal.throwIfAborted();
    // Without a service there is nothing to wait for: its next start computes what it replays.
    const { rowCount } = await pool.query(`select where not exists (select ${notStored} ${upTo}) or not ${logIsHeld}`, [...bounds]);
    if (rowCount === 1) return true;
  }
  return false;
}
