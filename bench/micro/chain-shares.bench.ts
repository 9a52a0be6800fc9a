/** Where the processor time of the whole chain of one ECG channel goes: shares by what is computed, of a profile taken every 0.2 ms.
 *
 *  node bench/micro/chain-shares.bench.ts [passes]
 *  The hour of segment-engine.bench.ts at 250 Hz in packets of 1 s, after five passes that only warm up. A function that the compiler puts
 *  into its caller counts as that. Garbage collection is a share of its own. */
import { Session } from 'node:inspector/promises';
import type { Profiler } from 'node:inspector';
import { madeUpStream } from '../../src/dsp/testing/fixture.ts';
import { RowBuffer } from '../../src/dsp/rows/row-buffer.ts';
import { StreamEngine } from '../../src/dsp/engine/engine.ts';
import { KernelStock } from '../../src/dsp/engine/runner.ts';
import type { ChannelConfig } from '../../src/signal.ts';
import { report } from '../lib/result.ts';

const fs = 250;
const passes = Number(process.argv[2] ?? 30);
const channels: readonly ChannelConfig[] = [
  { code: 'ecg.ii', kind: 'ecg', rateNanoHz: fs * 1e9, gain: 200, baseline: 10, unit: 'mV', lead: 'II' },
];
const digital = madeUpStream(1, 0, 3600, channels)[0]!.samples as Int32Array;

/** By file below src/dsp/, the first that matches. */
const parts: readonly (readonly [string, RegExp])[] = [
  ['waves: PR, QRS, QT', /ecg\/delineation|engine\/intervals/],
  ['R peaks', /ecg\/r-peaks|ecg\/mains-hum|ecg\/t-waves/],
  ['quality, with its own detector', /ecg\/quality/],
  ['shapes and kinds of beats', /ecg\/(beat-shapes|shape-evidence)|hrv\/beat-origin|engine\/burden/],
  ['breathing', /slow\/|engine\/modulation/],
  ['rhythm: fibrillation, pauses', /hrv\/fibrillation|engine\/(rhythm|steepness)/],
  ['rates, variability, correction', /hrv\//],
  ['segments, rows, samples', /engine\/|kernels\/|rows\/|ecg\/kernel|src\/signal/],
];

function pass(): void {
  const rows = new RowBuffer();
  const engine = new StreamEngine(channels, 0, new KernelStock(), rows);
  for (let at = 0; at + fs <= digital.length; at += fs) {
    engine.run(0, at, digital.subarray(at, at + fs), null);
    engine.settle();
    rows.count = 0;
  }
}

function partOf({ functionName, url }: Profiler.ProfileNode['callFrame']): string {
  if (functionName === '(garbage collector)') return 'garbage collection';
  return parts.find(([, files]) => files.test(url))?.[0] ?? 'the rest';
}

for (let i = 0; i < 5; i++) pass();
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.setSamplingInterval', { interval: 200 });
await session.post('Profiler.start');
for (let i = 0; i < passes; i++) pass();
const { profile } = await session.post('Profiler.stop');
session.disconnect();

const byNode = new Map(profile.nodes.map((node) => [node.id, partOf(node.callFrame)]));
const us = new Map<string, number>();
let whole = 0;
(profile.samples ?? []).forEach((id, i) => {
  const time = Math.max(0, profile.timeDeltas?.[i] ?? 0);
  const part = byNode.get(id)!;
  us.set(part, (us.get(part) ?? 0) + time);
  whole += time;
});
for (const [part, time] of [...us].toSorted(([, a], [, b]) => b - a))
  report({ name: part, value: (100 * time) / whole, unit: '% of the chain' });
