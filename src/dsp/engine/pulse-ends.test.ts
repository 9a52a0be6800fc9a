// Up to where its samples end a pulse is judged by what there is: rates are good, no beat lies behind it, and packets change nothing.
import { expect, test } from 'vitest';
import type { ChannelConfig } from '../../signal.ts';
import { fixtureChannels, seeded } from '../testing/fixture.ts';
import { headWidth, readOutputs } from '../pool/wire.ts';
import type { EngineOutput } from '../pool/wire.ts';
import { RowBuffer, rowWidth } from '../rows/row-buffer.ts';
import { StreamEngine } from './engine.ts';
import { KernelStock } from './runner.ts';

const fs = 64;
const channel: ChannelConfig = {
  ...fixtureChannels.find(({ kind }) => kind === 'ppg')!,
  code: 'ppg.ir',
  rateNanoHz: fs * 1e9,
  gain: 1,
  baseline: 0,
};
/** Runs of samples, s. The last one is an end, the others are followed by gaps shorter and longer than a context. */
const runs = [
  [0, 31.3],
  [38.1, 60.7],
  [84.2, 113.9],
  [118, 161.55],
] as const;

function outputOf(rows: RowBuffer): EngineOutput {
  const packed = new Float64Array(headWidth + rows.count * rowWidth);
  packed[1] = rows.count;
  packed[3] = -1;
  packed.set(rows.rows.subarray(0, rows.count * rowWidth), headWidth);
  return readOutputs(packed)[0]!;
}

/** @param noisySec the last seconds of each run that are buried in noise */
function rowsOf(perMin: number, noisySec: number, packet: number): EngineOutput {
  const random = seeded(perMin);
  const rows = new RowBuffer();
  const engine = new StreamEngine([channel], 0, new KernelStock(), rows);
  for (const [fromSec, toSec] of runs) {
    const first = Math.ceil(fromSec * fs);
    const samples = Float32Array.from({ length: Math.floor(toSec * fs) - first }, (_, i) => {
      const t = (first + i) / fs;
      const phase = (t * perMin) / 60 - Math.floor((t * perMin) / 60);
      const noise = (random() - 0.5) * (t > toSec - noisySec ? 4 : 0.03);
      return Math.exp(-((phase - 0.25) ** 2) / 0.012) + 0.35 * Math.exp(-((phase - 0.58) ** 2) / 0.02) + noise;
    });
    for (let at = 0; at < samples.length; at += packet) {
      engine.run(0, first + at, samples.subarray(at, at + packet), null);
      engine.settle();
    }
  }
  engine.flush();
  engine.close();
  return outputOf(rows);
}

const seconds = ({ tNs }: Readonly<{ tNs: bigint }>): number => Number(tNs) / 1e9;

test.each([52, 75, 118])('%i /min: rates are good up to an end, and no beat lies in a gap or after the end', (perMin) => {
  const { beats, features } = rowsOf(perMin, 0, 32);
  expect(beats.filter((beat) => !runs.some(([from, to]) => seconds(beat) >= from && seconds(beat) <= to))).toEqual([]);
  for (const [fromSec, toSec] of runs) {
    const late = features.filter((row) => row.feature === 'hr_ppg' && seconds(row) > toSec - 4 && seconds(row) <= toSec);
    expect(
      late.map(({ qmask }) => qmask),
      `${fromSec} s to ${toSec} s`,
    ).toEqual([0, 0, 0, 0]);
    for (const { value } of late) expect(Math.abs(value - perMin)).toBeLessThan(1);
  }
});

test('where noise comes before an end, no rate there is good', () => {
  const { features } = rowsOf(75, 3, 32);
  for (const [, toSec] of runs) {
    const late = features.filter((row) => row.feature === 'hr_ppg' && seconds(row) > toSec - 2 && seconds(row) <= toSec);
    expect(late.filter(({ qmask }) => qmask === 0)).toEqual([]);
  }
});

test.each([1, 7, 64, 640, 4000])('the rows before ends are the same in packets of %i samples', (packet) => {
  const text = ({ beats, features, quality }: EngineOutput): string[] =>
    [...beats, ...features, ...quality]
      .map((row) => JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)))
      .toSorted();
  expect(text(rowsOf(66, 0.5, packet))).toEqual(text(rowsOf(66, 0.5, 100)));
});

// The beat that the gap cuts is missing, and in the interval of two the tone itself was the second harmonic that a pulse has.
test.each([0.96, 1.2, 1.5])('a movement of %d Hz is no pulse on either side of a gap of 0.3 s', (hz) => {
  for (let place = 0; place < 8; place++) {
    const rows = new RowBuffer();
    const engine = new StreamEngine([channel], 0, new KernelStock(), rows);
    const samples = Float32Array.from({ length: 70 * fs }, (_, i) => 100 + Math.sin((2 * Math.PI * hz * i) / fs));
    const gap = Math.round((45 + 0.11 * place) * fs);
    engine.run(0, 0, samples.subarray(0, gap), null);
    engine.run(0, gap + Math.round(0.3 * fs), samples.subarray(gap + Math.round(0.3 * fs)), null);
    engine.flush();
    engine.close();
    const rates = outputOf(rows).features.filter((row) => row.feature === 'hr_ppg');
    expect(rates.length).toBeGreaterThan(40);
    expect(rates.filter(({ qmask }) => qmask === 0)).toEqual([]);
  }
});

// seed 42 had one 8.9 ms before it
test('no beat lies before the first sample, in noise', () => {
  const rateHz = 130.1;
  const stock = new KernelStock();
  for (let seed = 30; seed < 60; seed++) {
    const random = seeded(seed);
    const rows = new RowBuffer();
    const engine = new StreamEngine([{ ...channel, rateNanoHz: rateHz * 1e9 }], 0, stock, rows);
    const firstK = Math.ceil(1176 * rateHz);
    const samples = Float32Array.from({ length: Math.ceil(20 * rateHz) }, (_, i) => {
      const phase = (((firstK + i) / rateHz) * 1.25 + seed / 60) % 1;
      return Math.exp(-((phase - 0.25) ** 2) / 0.012) + 0.35 * Math.exp(-((phase - 0.58) ** 2) / 0.02) + random() - 0.5;
    });
    engine.run(0, firstK, samples, null);
    engine.flush();
    engine.close();
    const { beats } = outputOf(rows);
    expect(beats.length).toBeGreaterThan(10);
    expect(seconds(beats[0]!), `seed ${seed}`).toBeGreaterThanOrEqual(firstK / rateHz - 1e-6);
  }
});
