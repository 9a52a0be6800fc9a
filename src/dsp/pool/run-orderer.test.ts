import { describe, expect, test } from 'vitest';
import type { ChannelConfig, ChannelNo, SampleRun } from '../../signal.ts';
import { seeded } from '../testing/fixture.ts';
import { RunOrderer } from './run-orderer.ts';

const channel = (code: string, kind: ChannelConfig['kind'], hz: number): ChannelConfig => ({
  code,
  kind,
  rateNanoHz: hz * 1e9,
  gain: 1,
  baseline: 0,
  unit: '1',
  lead: '',
});
const channels = [channel('ecg.i', 'ecg', 100), channel('ecg.ii', 'ecg', 100), channel('temp', 'temp', 1)];

/** Samples that tell their own index. */
const run = (channelNo: number, k0: number, n: number): SampleRun => ({
  channelNo: channelNo as ChannelNo,
  k0,
  samples: Int32Array.from({ length: n }, (_, i) => k0 + i),
  qmask: null,
});

function newOrderer(of = channels): { orderer: RunOrderer; got: number[][]; passed: string[]; late: [number, number][] } {
  const got: number[][] = of.map(() => []);
  const passed: string[] = [];
  const late: [number, number][] = [];
  const orderer = new RunOrderer(of, {
    run(no, k0, samples) {
      samples.forEach((x, i) => {
        expect(x).toBe(k0 + i);
        expect(x, 'in order, no sample twice').toBeGreaterThan(got[no]!.at(-1) ?? -1);
        got[no]!.push(x);
      });
    },
    pass: (no, k) => passed.push(`${no}:${k}`),
    late: (from, to) => late.push([from, to]),
  });
  return { orderer, got, passed, late };
}

const upTo = (n: number, from = 0): number[] => Array.from({ length: n - from }, (_, i) => from + i);

describe('RunOrderer', () => {
  test('hands runs on in order however they come', () => {
    for (const seed of [1, 2, 3]) {
      const random = seeded(seed);
      const { orderer, got, late } = newOrderer();
      const runs = upTo(100).map((i) => [run(0, 10 * i, 10), i === 0 ? -1 : i + 6 * random()] as const);
      const twice = runs.flatMap((r) => (random() < 0.2 ? [r, [r[0], r[1] + 3] as const] : [r]));
      for (const [r] of twice.toSorted((a, b) => a[1] - b[1])) orderer.push([r]);
      orderer.release();
      expect(got[0]).toEqual(upTo(1000));
      expect(late).toEqual([]);
    }
  });

  test('waits one second of device time at a hole, then calls it a gap', () => {
    const { orderer, got, passed } = newOrderer();
    orderer.push([run(0, 0, 100)]);
    orderer.push([run(0, 200, 50)]);
    orderer.push([run(0, 250, 49)]);
    expect(got[0]).toEqual(upTo(100));
    orderer.push([run(0, 299, 1)]);
    expect(passed[0]).toBe('0:200');
    expect(got[0]).toEqual([...upTo(100), ...upTo(300, 200)]);
  });

  test('reports what fills a gap as late, once, and a duplicate not at all', () => {
    const { orderer, late } = newOrderer();
    orderer.push([run(0, 0, 100)]);
    orderer.push([run(0, 200, 200)]);
    orderer.push([run(0, 90, 30)]);
    expect(late).toEqual([[1_000_000, 1_200_000]]);
    orderer.push([run(0, 90, 30)]);
    orderer.push([run(0, 0, 100)]);
    orderer.push([run(0, 300, 100)]);
    expect(late.length).toBe(1);
    orderer.push([run(0, 150, 100)]);
    expect(late[1]).toEqual([1_500_000, 2_000_000]);
  });

  test('a silent lead holds its group up for two seconds, a slow channel its stream for ten', () => {
    const { orderer, passed } = newOrderer();
    orderer.push([run(0, 0, 100), run(1, 0, 100), run(2, 0, 1)]);
    for (let k = 100; k < 1300; k += 50) orderer.push([run(0, k, 50)]);
    const last = (no: number): number =>
      Number(
        passed
          .filter((p) => p.startsWith(`${no}:`))
          .at(-1)
          ?.split(':')[1],
      );
    expect(last(1)).toBe(1100);
    expect(last(2)).toBe(3);
  });

  test('a lead that goes on at another rate holds up for two seconds what waits for its rate of before', () => {
    const { orderer, passed } = newOrderer([channel('ecg.i', 'ecg', 100), channel('ecg.i', 'ecg', 50)]);
    for (let k = 0; k < 1000; k += 50) orderer.push([run(0, k, 50)]);
    for (let k = 500; k < 800; k += 25) orderer.push([run(1, k, 25)]);
    expect(passed.at(-1)).toBe('0:1400');
  });

  test('a channel with packets of a minute is not late between them', () => {
    const { orderer, got, late } = newOrderer();
    for (let sec = 0; sec < 300; sec++) {
      orderer.push([run(0, 100 * sec, 100), run(1, 100 * sec, 100)]);
      if (sec % 60 === 59) orderer.push([run(2, sec - 59, 60)]);
    }
    // the first minute could not be known to come so late
    expect(late.filter(([from]) => from > 120e6)).toEqual([]);
    expect(got[2]!.length).toBeGreaterThan(200);
  });

  test('what fills a hole that an earlier orderer passed is late', () => {
    const before = newOrderer();
    before.orderer.push([run(0, 0, 100)]);
    before.orderer.push([run(0, 200, 200)]);
    const after = newOrderer();
    after.orderer.inheritHoles(before.orderer, 10e6);
    after.orderer.push([run(0, 0, 500)], true);
    after.orderer.push([run(0, 120, 30)]);
    expect(after.late).toEqual([[1_200_000, 1_500_000]]);
  });
});
