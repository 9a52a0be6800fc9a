/** Memory of a streaming device in the DSP worker (goal P12: 12 kB)
 *
 *  node --expose-gc bench/micro/device-memory.bench.ts [devices] [seconds] [set ...]
 *  Devices boot at different times, so that their segments do not change in step, and send packets of 1 s of a seeded made-up signal for
 *  `seconds` (default 360: every window of 5 minutes is full). Bytes: heap and array buffers after a full collection, less those before. */
import { madeUpStream } from '../../src/dsp/testing/fixture.ts';
import { RowBuffer } from '../../src/dsp/rows/row-buffer.ts';
import { StreamEngine } from '../../src/dsp/engine/engine.ts';
import { KernelStock } from '../../src/dsp/engine/runner.ts';
import type { ChannelConfig } from '../../src/signal.ts';
import { report } from '../lib/result.ts';

const channel = (code: string, hz: number): ChannelConfig => ({
  code,
  kind: code.split('.')[0] as ChannelConfig['kind'],
  rateNanoHz: hz * 1e9,
  gain: 200,
  baseline: 10,
  unit: code.startsWith('ecg') ? 'mV' : '1',
  lead: '',
});

const sets: Record<string, readonly ChannelConfig[]> = {
  ecg: [channel('ecg.ii', 250)],
  ppg: [channel('ppg.ir', 125)],
  'ppg+acc': [channel('ppg.ir', 64), channel('acc.x', 32), channel('acc.y', 32), channel('acc.z', 32)],
  slow: [channel('resp', 25), channel('eda', 4), channel('temp.skin', 4), channel('acc.x', 32), channel('acc.y', 32), channel('acc.z', 32)],
  'monitor, 4 x 250 Hz': [channel('ecg.ii', 250), channel('ppg.ir', 250), channel('resp', 250), channel('acc.x', 250)],
};

const used = (): number => {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

const devices = Number(process.argv[2] ?? 1000);
const seconds = Number(process.argv[3] ?? 360);
const wanted = process.argv.slice(4);
if (globalThis.gc === undefined) throw new Error('run with --expose-gc');
for (const [name, channels] of Object.entries(sets)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const runs = madeUpStream(1, 0, seconds, channels);
  const before = used();
  const cpu = process.cpuUsage();
  const stock = new KernelStock();
  const rows = new RowBuffer();
  const engines = Array.from({ length: devices }, () => new StreamEngine(channels, 0, stock, rows));
  let samples = 0;
  for (let sec = 0; sec < seconds; sec++)
    engines.forEach((engine, i) => {
      const bootSec = Math.floor((64 * i) / devices);
      runs.forEach((run, no) => {
        const fs = channels[no]!.rateNanoHz / 1e9;
        engine.run(no, (sec + bootSec) * fs, run.samples.subarray(sec * fs, (sec + 1) * fs), null);
        samples += fs;
      });
      engine.settle();
      rows.count = 0;
    });
  const { user, system } = process.cpuUsage(cpu);
  const bytes = (used() - before) / devices;
  report({ name: `${name}: memory of a device of ${devices}, worker only`, value: bytes / 1000, unit: 'kB' });
  report({ name: `${name}: all channels, 1 s packets, in turns`, value: samples / (user + system), unit: 'M samples/s', better: 'higher' });
  if (engines.length === 0) console.log(rows.count);
}
