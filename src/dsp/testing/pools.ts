/** Pools of workers for tests, a recording for them, and what a recomputation of it gives. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SampleRun, StreamId } from '../../signal.ts';
import { FeaturePool } from '../pool/pool.ts';
import type { FeaturePoolOptions } from '../pool/options.ts';
import { RowTable, fixtureChannels as channels, loadFrom, madeUpStream, withoutStretches } from './fixture.ts';

export const stream = 7 as StreamId;
export const failingWorker = new URL('./failing-worker.ts', import.meta.url).href;
export const slowWorker = new URL('./slow-worker.ts', import.meta.url).href;
/** With a whole five minutes of the device clock, 1200 to 1500 s, inside. */
export const startSec = 1192.3;
export const lengthSec = 450;

/** Two leads of ECG and a PPG with gaps: shorter than a beat, than the context, and longer. */
export const whole = withoutStretches(madeUpStream(1, startSec, lengthSec), channels, [
  [1215.8, 1228.7],
  [1279.9, 1304],
  // with a beat in one of them, which is bridged
  ...[1320, 1330, 1341, 1353].map((sec): [number, number] => [sec, sec + 0.4]),
]);
/** The same for what needs no windows of minutes. */
export const short = withoutStretches(whole, channels, [[startSec + 230, startSec + lengthSec]]);

export const nanos = (sec: number): bigint => BigInt(Math.round(sec * 1e6)) * 1000n;

const open: FeaturePool[] = [];
/** After each test. */
export async function closePools(): Promise<void> {
  for (const pool of open.splice(0)) await pool.close();
}

export function newPool(table: RowTable, options: Partial<FeaturePoolOptions> = {}): FeaturePool {
  const pool = new FeaturePool({
    workerCount: 1,
    onOutput: table.apply,
    loadRuns: loadFrom(whole, channels),
    lingerMs: 1,
    idleFlushMs: 1e9,
    holeWaitMs: 1e9,
    lateWaitMs: 1e9,
    ...options,
  });
  open.push(pool);
  return pool;
}

/** What a recomputation of everything from storage gives; without the stream's number. */
const recomputed = new Map<readonly SampleRun[], Promise<string[]>>();
export function reference(runs: readonly SampleRun[] = whole, sec = lengthSec): Promise<string[]> {
  const known = recomputed.get(runs);
  if (known !== undefined) return known;
  const computing = (async () => {
    const table = new RowTable();
    const pool = newPool(table, { loadRuns: loadFrom(runs, channels) });
    pool.openStream(stream, channels);
    await pool.computeRows(stream, 0n, nanos(startSec + sec + 600));
    if (table.errors.length > 0) throw new Error(table.errors.join('\n'));
    return rowsOf(table, stream);
  })();
  recomputed.set(runs, computing);
  return computing;
}

export function rowsOf(table: RowTable, id: StreamId): string[] {
  const mark = `${id} `;
  return table
    .dump()
    .filter((row) => row.startsWith(mark))
    .map((row) => row.slice(mark.length));
}

/** Sends packets, then waits for everything, late data included, and flushes. */
export async function send(
  pool: FeaturePool,
  sent: readonly (readonly [StreamId, SampleRun[]])[],
  onPacket: (index: number) => unknown = () => {},
): Promise<void> {
  for (let i = 0; i < sent.length; i++) {
    const [id, packet] = sent[i]!;
    while (pool.push(id, packet) === 'busy') await sleep(1);
    await onPacket(i);
    if (i % 200 === 199) await new Promise((resolve) => setImmediate(resolve));
  }
  await pool.settle();
  await pool.idleFlush(0);
}

export const from = (id: StreamId, all: readonly SampleRun[][]): (readonly [StreamId, SampleRun[]])[] =>
  all.map((packet) => [id, packet] as const);
