import { describe, expect, test } from 'vitest';
import type { ChannelConfig, SampleRun, Spo2Calibration } from '../../signal.ts';
import { pulseWave } from '../testing/ppg-faults.ts';
import { fixtureChannels, madeUpStream, seeded } from '../testing/fixture.ts';
import type { EngineOutput } from '../pool/wire.ts';
import { headWidth, readOutputs } from '../pool/wire.ts';
import { featureMethods } from '../rows/methods.ts';
import { StreamEngine } from './engine.ts';
import { rowsTouchedBy, samplesNeededFor, segmentAt } from '../kernels/segment-grid.ts';
import { KernelStock } from './runner.ts';
import { RowBuffer, rowWidth } from '../rows/row-buffer.ts';

const ecg = fixtureChannels[0]!;

function taken(rows: RowBuffer): EngineOutput {
  const packed = new Float64Array(headWidth + rows.count * rowWidth);
  packed[1] = rows.count;
  packed[3] = -1;
  packed.set(rows.rows.subarray(0, rows.count * rowWidth), headWidth);
  rows.count = 0;
  return readOutputs(packed)[0]!;
}

/** Feeds runs in packets; `each` sees what came after each. */
function feed(
  channels: readonly ChannelConfig[],
  runs: readonly SampleRun[],
  packetSec: number,
  each: (endSec: number, output: EngineOutput) => void,
): void {
  const rows = new RowBuffer();
  const engine = new StreamEngine(channels, 0, new KernelStock(), rows);
  const fsOf = (run: SampleRun): number => channels[run.channelNo]!.rateNanoHz / 1e9;
  const end = Math.max(...runs.map((run) => (run.k0 + run.samples.length) / fsOf(run)));
  for (let t = Math.min(...runs.map((run) => run.k0 / fsOf(run))); t < end; t += packetSec) {
    for (const run of runs) {
      const from = Math.max(0, Math.ceil(t * fsOf(run)) - run.k0);
      const to = Math.min(run.samples.length, Math.ceil((t + packetSec) * fsOf(run)) - run.k0);
      if (to > from) engine.run(run.channelNo, run.k0 + from, run.samples.subarray(from, to), null);
    }
    engine.settle();
    each(t + packetSec, taken(rows));
  }
  engine.flush();
  each(end, taken(rows));
}

describe('StreamEngine', () => {
  test('a heart rate every second, at most 3 s after its time', () => {
    const times: number[] = [];
    feed([ecg], madeUpStream(1, 500, 200, [ecg]), 0.1, (endSec, { features }) => {
      for (const row of features) {
        if (row.feature !== 'hr_ecg') continue;
        times.push(Number(row.tNs) / 1e9);
        expect(endSec - Number(row.tNs) / 1e9).toBeLessThan(3);
        expect(Math.abs(row.value - 75)).toBeLessThan(8);
      }
    });
    expect(times).toEqual(Array.from({ length: times.length }, (_, i) => times[0]! + i));
    expect(times[0]).toBeLessThan(508);
    expect(times.at(-1)).toBeGreaterThan(698);
  });

  test('a channel that comes back with another gain goes on as the same lead', () => {
    const [run] = madeUpStream(2, 0, 300, [ecg]);
    const half = 150 * 250;
    const louder = { ...ecg, gain: 3 * ecg.gain, baseline: 7 };
    const second = {
      ...run!,
      channelNo: 1 as SampleRun['channelNo'],
      k0: half,
      samples: Int32Array.from(run!.samples.subarray(half), (x) => 3 * (x - 10) + 7),
    };
    const values = (channels: readonly ChannelConfig[], runs: readonly SampleRun[]): string[] => {
      const found: string[] = [];
      feed(channels, runs, 0.5, (_, { beats, features }) => {
        for (const b of beats) found.push(`beat ${b.tNs} ${b.ibiMs} ${b.kind} ${b.confidence}`);
        for (const f of features) found.push(`${f.feature} ${f.tNs} ${f.value}`);
      });
      return found.toSorted();
    };
    expect(values([ecg, louder], [{ ...run!, samples: run!.samples.subarray(0, half) }, second])).toEqual(values([ecg], [run!]));
  });

  test.each([0.1, 3, 50])('the first pulse waves are judged the same whether they come in packets of %f s or all at once', (packetSec) => {
    const channels = [fixtureChannels[2]!];
    const rowsOf = (sec: number): string[] => {
      const found: string[] = [];
      feed(channels, madeUpStream(4, 0, 60, channels), sec, (_, { beats, features }) => {
        for (const b of beats) found.push(`beat ${b.tNs} ${b.quality}`);
        for (const f of features) found.push(`${f.feature} ${f.tNs} ${f.value} ${f.qmask}`);
      });
      return found.toSorted();
    };
    expect(rowsOf(packetSec)).toEqual(rowsOf(60));
  });

  // promise: too-few-beats
  test('a minute with half of its beats has no variability, one with two thirds of them has', () => {
    const [run] = madeUpStream(3, 0, 200, [ecg]);
    const rows = new RowBuffer();
    const engine = new StreamEngine([ecg], 0, new KernelStock(), rows);
    const qmask = new Uint8Array(run!.samples.length);
    qmask.fill(2, 70 * 250, 115 * 250);
    engine.run(0, 0, run!.samples, qmask);
    engine.flush();
    const seconds = taken(rows).features.filter(({ feature }) => feature === 'hrv_rmssd_60s').map(({ tNs }) => Number(tNs) / 1e9); // prettier-ignore
    // Of less than 36 s of its minute there is none: at the begin, and until 36 s after the hole.
    expect(seconds.filter((sec) => sec < 36 || (sec > 70 && sec < 151))).toEqual([]);
    expect([40, 70, 155, 200].filter((sec) => !seconds.includes(sec))).toEqual([]);
  });

  // promise: bad-samples
  test('samples that the device calls suspect are computed with', () => {
    const [run] = madeUpStream(3, 0, 60, [ecg]);
    const outputOf = (qmask: Uint8Array | null): EngineOutput => {
      const rows = new RowBuffer();
      const engine = new StreamEngine([ecg], 0, new KernelStock(), rows);
      engine.run(0, 0, run!.samples, qmask);
      engine.flush();
      return taken(rows);
    };
    expect(outputOf(new Uint8Array(run!.samples.length).fill(1))).toEqual(outputOf(null));
  });

  // promise: bad-samples
  test('samples that the device calls bad count as missing', () => {
    const [run] = madeUpStream(3, 0, 120, [ecg]);
    const rows = new RowBuffer();
    const engine = new StreamEngine([ecg], 0, new KernelStock(), rows);
    const qmask = new Uint8Array(run!.samples.length);
    qmask.fill(2, 60 * 250, 80 * 250);
    engine.run(0, 0, run!.samples, qmask);
    engine.flush();
    const { beats, features } = taken(rows);
    const inHole = (tNs: bigint): boolean => tNs > 61_000_000_000n && tNs <= 80_000_000_000n;
    expect(beats.filter((b) => inHole(b.tNs))).toEqual([]);
    expect(features.filter((f) => f.feature === 'hr_ecg' && inHole(f.tNs))).toEqual([]);
    expect(beats.filter((b) => b.tNs > 82_000_000_000n).length).toBeGreaterThan(40);
  });

  test('an accelerometer whose gain no body could move has no activity rather than one that cannot be counted', () => {
    const axes = fixtureChannels.filter(({ kind }) => kind === 'acc');
    const featuresOf = (gain: number): Set<string> => {
      const seen = new Set<string>();
      const channels = axes.map((axis) => ({ ...axis, gain, baseline: 0 }));
      feed(channels, madeUpStream(6, 0, 60, channels), 1, (_, { features }) => {
        for (const { feature, value } of features) {
          seen.add(feature);
          expect(Number.isSafeInteger(Math.round(value * 1e4)), `${feature} ${value}`).toBe(true);
        }
      });
      return seen;
    };
    expect(featuresOf(200)).toContain('activity');
    for (const gain of [1e-10, 1e-300, 5e-324]) expect([...featuresOf(gain)], String(gain)).not.toContain('activity');
  });

  // promise: spo2-suspect
  test('red and infrared light with their DC level give an oxygen saturation, never better than suspect without a calibration', () => {
    const light = ['ppg.red', 'ppg.ir'].map((code): ChannelConfig => ({
      ...fixtureChannels[2]!,
      code,
      rateNanoHz: 100e9,
      gain: 1,
      baseline: 0,
    }));
    const percents: number[] = [];
    const runs = light.map((_, no): SampleRun => {
      // ratio of ratios 0.5: 97.5 % on the textbook line
      const samples = Int32Array.from({ length: 100 * 100 }, (__, i) =>
        Math.round(100_000 * (1 + (no === 0 ? 0.01 : 0.02) * Math.sin(2 * Math.PI * 1.2 * (i / 100)))),
      );
      return { channelNo: no as SampleRun['channelNo'], k0: 0, samples, qmask: null };
    });
    feed(light, runs, 1, (_, { features }) => {
      for (const { feature, tNs, value, qmask, methodCode } of features) {
        if (feature !== 'spo2' || tNs > 96_000_000_000n) continue; // the last block is cut
        percents.push(value);
        expect(qmask).toBe(1);
        expect(methodCode).toBe('derived:spo2_v6');
      }
    });
    expect(percents.length).toBeGreaterThan(9);
    for (const percent of percents) expect(Math.abs(percent - 97.5)).toBeLessThan(0.3);
  });

  test('the calibration of the stream gives good saturations, also when kernels of another line are in stock', () => {
    const light = ['ppg.red', 'ppg.ir'].map((code): ChannelConfig => ({
      ...fixtureChannels[2]!,
      code,
      rateNanoHz: 100e9,
      gain: 1,
      baseline: 0,
    }));
    const stock = new KernelStock();
    const saturations = (spo2: Spo2Calibration | null): [number, number][] => {
      const rows = new RowBuffer();
      const engine = new StreamEngine(light, 0, stock, rows, spo2);
      light.forEach((_, no) => {
        const samples = Int32Array.from({ length: 48 * 100 }, (__, i) =>
          Math.round(100_000 * (1 + (no === 0 ? 0.01 : 0.02) * pulseWave(1.2 * (i / 100)))),
        );
        engine.run(no, 0, samples, null);
      });
      engine.flush();
      engine.close();
      const { features } = taken(rows);
      return features.filter(({ feature }) => feature === 'spo2').map(({ value, qmask }) => [Math.round(value), qmask]);
    };
    const textbook = saturations(null);
    expect(textbook.length).toBeGreaterThanOrEqual(5);
    for (const [, flag] of textbook) expect(flag).toBeGreaterThanOrEqual(1);
    expect(saturations({ offset: 104, slope: 20 }).slice(0, 5)).toEqual(Array.from({ length: 5 }, () => [94, 0]));
    expect(saturations({ offset: 100, slope: 20 }).slice(0, 5)).toEqual(Array.from({ length: 5 }, () => [90, 0]));
    expect(saturations(null)).toEqual(textbook);
  });

  test('gives the perfusion of the light and whether it is of a sensor that is worn, once the seconds are judged', () => {
    const channels = [{ ...fixtureChannels.find(({ kind }) => kind === 'ppg')!, code: 'ppg.ir', rateNanoHz: 100e9, gain: 1, baseline: 0 }];
    const random = seeded(3);
    const light = Float32Array.from({ length: 14_000 }, (_, i) => {
      const noise = 0.01 * (random() - 0.5);
      if (i >= 9000) return 9 + noise; // taken off
      const phase = ((i / 100) * 1.2) % 1;
      return 50 + Math.exp(-((phase - 0.2) ** 2) / 0.01) + 0.4 * Math.exp(-((phase - 0.5) ** 2) / 0.02) + noise;
    });
    const valuesOf = (packet: number): (string | number)[][] => {
      const rows = new RowBuffer();
      const engine = new StreamEngine(channels, 0, new KernelStock(), rows);
      for (let at = 0; at < light.length; at += packet) {
        engine.run(0, at, light.subarray(at, at + packet), null);
        engine.settle();
      }
      engine.flush();
      const own = taken(rows).features.filter(({ feature }) => feature === 'perfusion_index' || feature === 'worn_ppg');
      return own.map(({ feature, tNs, value, qmask }) => [feature, Number(tNs) / 1e9, value, qmask]);
    };
    const values = valuesOf(100);
    const of = (name: string): (string | number)[][] => values.filter(([feature]) => feature === name).map(([, ...rest]) => rest);
    for (const [end, value, flag] of of('perfusion_index')) {
      const endSec = Number(end);
      if (endSec > 16 && endSec < 80) expect([Math.round(Number(value)), flag]).toEqual([2, 0]);
      if (endSec > 96) expect(flag).toBe(2);
    }
    expect(of('worn_ppg').slice(2, 10)).toEqual([24, 32, 40, 48, 56, 64, 72, 80].map((endSec) => [endSec, 1, 0]));
    expect(of('worn_ppg').slice(12)).toEqual([104, 112, 120, 128, 136].map((endSec) => [endSec, 0, 0]));
    for (const packet of [7, 333, 14_000]) expect(valuesOf(packet).map(String).toSorted()).toEqual(values.map(String).toSorted());
  });

  // The filters' way back from the step is smooth, skewed and periodic, as a pulse is: 4 and 5 s after it seconds were called good.
  test.each([32, 64, 125])('no second of light at %i Hz is good whose pulse has given way to tiny noise', (hz) => {
    const channels = [{ ...fixtureChannels.find(({ kind }) => kind === 'ppg')!, rateNanoHz: hz * 1e9, gain: 1, baseline: 0 }];
    const good: string[] = [];
    for (let bpm = 50; bpm <= 130; bpm += 10)
      for (const size of [0.001, 0.003, 0.01]) {
        const random = seeded(bpm);
        const endSec = (60 / bpm) * (60 + 0.2); // at the top of a pulse
        let drift = 0;
        const light = Float32Array.from({ length: 100 * hz }, (_, i) => {
          drift = 0.98 * drift + 0.2 * size * (2 * random() - 1);
          const phase = ((i / hz) * (bpm / 60)) % 1;
          return i / hz < endSec ? Math.exp(-((phase - 0.2) ** 2) / 0.01) + 0.3 * Math.exp(-((phase - 0.5) ** 2) / 0.02) : drift;
        });
        feed(channels, [{ channelNo: 0 as SampleRun['channelNo'], k0: 0, samples: light, qmask: null }], 1, (_, { features }) => {
          for (const { feature, tNs, value, qmask } of features) {
            const afterSec = Number(tNs) / 1e9 - 1 - endSec;
            if (feature === 'sqi_ppg' && qmask === 0 && afterSec > 0) good.push(`${bpm} /min, noise ${size}: ${afterSec} s ${value}`);
          }
        });
      }
    expect(good).toEqual([]);
  });

  test.each([
    [['ecg.ii']],
    [['ppg.ir']],
    [['ecg.ii', 'ppg.ir', 'acc.x', 'acc.y', 'acc.z']],
    [['resp', 'eda', 'temp.skin', 'acc.x', 'acc.y', 'acc.z']],
  ])('the end of a recording of %j gives the rows that a silence gives, wherever it ends, and if it goes on after all', (codes) => {
    const channels = fixtureChannels.filter(({ code }) => codes.includes(code));
    const endlessSec = 300;
    const rowsOf = (lengthSec: number, isFlushed: boolean, goesOnAfterSec: number): string[] => {
      const rows = new RowBuffer();
      const engine = new StreamEngine(channels, 0, new KernelStock(), rows);
      const run = ({ channelNo, k0, samples }: SampleRun): void => engine.run(channelNo, k0, samples, null);
      for (const part of madeUpStream(3, 0, lengthSec, channels)) run(part);
      engine.settle();
      if (isFlushed) engine.flush();
      else channels.forEach(({ rateNanoHz }, no) => engine.pass(no, Math.floor(((lengthSec + goesOnAfterSec) * rateNanoHz) / 1e9)));
      engine.settle();
      if (goesOnAfterSec < endlessSec) {
        for (const part of madeUpStream(4, Math.ceil(lengthSec + goesOnAfterSec), 30, channels)) run(part);
        engine.settle();
        engine.flush();
      }
      const { beats, features, quality } = taken(rows);
      return [...beats, ...features, ...quality]
        .map((row) => JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)))
        .sort();
    };
    for (let lengthSec = 40; lengthSec < 80; lengthSec += 1.3)
      for (const goesOnAfterSec of [18, 150, endlessSec])
        expect(rowsOf(lengthSec, true, goesOnAfterSec), `${lengthSec} s`).toEqual(rowsOf(lengthSec, false, goesOnAfterSec));
  });

  test('never throws on rubbish', () => {
    const random = seeded(9);
    const rows = new RowBuffer();
    const engine = new StreamEngine(fixtureChannels, 0, new KernelStock(), rows);
    const special = [Number.NaN, Number.POSITIVE_INFINITY, -1e300, 0, 1e-300, 3];
    let k = 0;
    for (let i = 0; i < 2000; i++) {
      const n = 1 + Math.floor(random() * 300);
      const samples = Float32Array.from({ length: n }, () => special[Math.floor(random() * special.length)]!);
      engine.run(Math.floor(random() * fixtureChannels.length), k, samples, null);
      if (random() < 0.5) engine.settle();
      k += Math.floor(random() * 400);
    }
    engine.flush();
    engine.close();
  });
});

describe('the segment grid', () => {
  test('segments touch, whatever the rate', () => {
    for (const rate of [130_100_000_000, 250_000_000_000, 360_000_000_000, 64_000_000_001])
      for (const index of [0, 1, 777, 10_000_000]) {
        const [a, b] = [segmentAt(index, rate), segmentAt(index + 1, rate)];
        expect(a.endK).toBe(b.startK);
        expect(b.contextK).toBeLessThan(b.startK);
      }
  });

  test('rows are computed from samples that reach back far enough for what late samples touch', () => {
    const rows = rowsTouchedBy({ fromUs: 5_000e6, toUs: 5_001e6 });
    expect(rows.fromUs).toBeLessThan(5_000e6 - 16e6 + 1);
    expect(rows.toUs).toBeGreaterThan(5_001e6 + 300e6);
    expect(samplesNeededFor(rows).fromUs).toBeLessThan(rows.fromUs - 500e6);
  });

  test('every method has a code of its own', () => {
    expect(new Set(featureMethods.map((m) => m.code)).size).toBe(featureMethods.length);
    for (const m of featureMethods) expect(m.code).toMatch(/^derived:[a-z0-9_]+_v\d+$/);
  });
});
