import { describe, expect, it } from 'vitest';
import { StretchFinder } from './stretches.ts';
import type { Stretch } from './stretches.ts';
import type { EpisodeRule } from './episode-rule.ts';

const rule: EpisodeRule = { name: 'fast', title: '', feature: 'hr', above: 120, sustainSec: 60, releaseSec: 30, severity: 'low' };
/** One value a second; 0 means a value that is not good and therefore absent. */
const series = (values: readonly number[]): [number[], number[]] => {
  const kept = values.map((value, i) => ({ time: i * 1000, value })).filter(({ value }) => value !== 0);
  return [kept.map(({ time }) => time), kept.map(({ value }) => value)];
};
const run = (n: number, value: number): number[] => Array.from({ length: n }, () => value);

/** The stretches of a whole series.  @param from a stretch that goes on */
function findStretches(
  of: EpisodeRule,
  timesMs: readonly number[],
  values: readonly number[],
  nowMs: number,
  from: Omit<Stretch, 'over'> | null = null,
): readonly Stretch[] {
  const finder = new StretchFinder(of, from);
  const found = timesMs.map((timeMs, i) => finder.push(timeMs, values[i]!));
  return [...found, finder.finish(nowMs)].filter((stretch) => stretch !== null);
}

describe('StretchFinder', () => {
  it('finds a stretch that was sustained and is over', () => {
    const [t, v] = series([...run(10, 80), ...run(70, 130), ...run(60, 80)]);
    expect(findStretches(rule, t, v, 139_000)).toEqual([{ startMs: 10_000, endMs: 79_000, over: true, extreme: 130 }]);
  });
  it('keeps it open while it lasts', () => {
    const [t, v] = series([...run(10, 80), ...run(70, 130)]);
    expect(findStretches(rule, t, v, 79_000)).toMatchObject([{ over: false }]);
  });
  it('leaves out what was too short', () => {
    const [t, v] = series([...run(10, 80), ...run(50, 130), ...run(60, 80)]);
    expect(findStretches(rule, t, v, 119_000)).toEqual([]);
  });
  it('does not end at a short dip, nor at a short silence', () => {
    const [t, v] = series([...run(70, 130), ...run(10, 80), ...run(10, 0), ...run(40, 135), ...run(60, 80)]);
    expect(findStretches(rule, t, v, 189_000)).toEqual([{ startMs: 0, endMs: 129_000, over: true, extreme: 135 }]);
  });
  // promise: rule-sustained
  it('counts the time beyond the bound, not what lies between', () => {
    // 29 s and 24 s of 67 s
    const [t, v] = series([...run(30, 130), ...run(13, 100), ...run(25, 130), ...run(60, 80)]);
    expect(findStretches(rule, t, v, 127_000)).toEqual([]);
    const [longerT, longerV] = series([...run(30, 130), ...run(13, 100), ...run(35, 130), ...run(60, 80)]);
    expect(findStretches(rule, longerT, longerV, 137_000)).toEqual([{ startMs: 0, endMs: 77_000, over: true, extreme: 130 }]);
    expect(findStretches(rule, [0, 29_000, 58_000, 61_000], run(4, 130), 99_000)).toMatchObject([{ endMs: 61_000 }]);
    expect(findStretches(rule, [0, 1000, 29_000, 30_000, 58_000, 61_000], [130, 80, 130, 80, 130, 130], 99_000)).toEqual([]);
  });
  it('begins where four fifths of the time are beyond the bound', () => {
    const [t, v] = series([...run(20, 150), ...run(10, 100), ...run(5, 125), ...run(10, 100), ...run(65, 130), ...run(60, 80)]);
    expect(findStretches(rule, t, v, 169_000)).toEqual([{ startMs: 30_000, endMs: 109_000, over: true, extreme: 130 }]);
  });
  it('holds a value that comes seldom until the next one is due', () => {
    const seldom = { ...rule, sustainSec: 600, releaseSec: 300, everySec: 300 };
    expect(findStretches(seldom, [0, 300_000, 600_000], run(3, 130), 600_000)).toMatchObject([{ startMs: 0, endMs: 600_000 }]);
    expect(findStretches({ ...seldom, releaseSec: 900 }, [0, 600_000, 900_000], run(3, 130), 900_000)).toEqual([]);
  });
  it('does not bridge a long silence', () => {
    const [t, v] = series([...run(40, 130), ...run(60, 0), ...run(40, 130), ...run(60, 80)]);
    expect(findStretches(rule, t, v, 199_000)).toEqual([]);
  });
  it('looks below a bound', () => {
    const [t, v] = series([...run(70, 35), ...run(60, 80)]);
    const { above: _above, ...rest } = rule;
    expect(findStretches({ ...rest, below: 40 }, t, v, 129_000)).toMatchObject([{ extreme: 35, over: true }]);
  });
  it('ends where a value is back behind the bound of the end, and opens only beyond the first', () => {
    const [t, v] = series([...run(70, 125), ...run(100, 115), ...run(60, 105), ...run(100, 115)]);
    expect(findStretches({ ...rule, endBound: 110 }, t, v, 329_000)).toEqual([{ startMs: 0, endMs: 169_000, over: true, extreme: 125 }]);
    const [shortT, shortV] = series([...run(50, 125), ...run(100, 115), ...run(60, 105)]);
    expect(findStretches({ ...rule, endBound: 110 }, shortT, shortV, 209_000)).toEqual([]);
  });
  it('goes on in between the two bounds after a short gap, and begins anew beyond the first one after a long one', () => {
    const bounds = { ...rule, endBound: 110 };
    const [shortT, shortV] = series([...run(70, 125), ...run(29, 0), ...run(40, 115), ...run(60, 105)]);
    expect(findStretches(bounds, shortT, shortV, 198_000)).toEqual([{ startMs: 0, endMs: 138_000, over: true, extreme: 125 }]);
    const [longT, longV] = series([...run(70, 125), ...run(40, 0), ...run(100, 115), ...run(70, 121)]);
    expect(findStretches(bounds, longT, longV, 279_000)).toEqual([
      { startMs: 0, endMs: 69_000, over: true, extreme: 125 },
      { startMs: 210_000, endMs: 279_000, over: false, extreme: 121 },
    ]);
  });
  it('goes on with a stretch from its end, whatever comes again of what was before', () => {
    const from = { startMs: 0, endMs: 69_000, extreme: 140 };
    const [t, v] = series([...run(60, 80), ...run(30, 130), ...run(60, 80)]);
    expect(findStretches(rule, t, v, 149_000, from)).toEqual([{ startMs: 0, endMs: 89_000, over: true, extreme: 140 }]);
  });
  it('finds the same, however the series is cut', () => {
    const [t, v] = series([
      ...run(70, 125),
      ...run(20, 0),
      ...run(100, 115),
      ...run(60, 105),
      ...run(90, 121),
      ...run(31, 0),
      ...run(61, 122),
    ]);
    const cut = { ...rule, endBound: 110 };
    const endMs = t.at(-1)!;
    const whole = findStretches(cut, t, v, endMs);
    expect(whole).toHaveLength(3);
    let cuts = 0;
    for (let at = 1; at < t.length; at++) {
      const before = findStretches(cut, t.slice(0, at), v.slice(0, at), t[at - 1]!);
      const open = before.at(-1);
      if (open === undefined || open.over) continue;
      cuts++;
      expect([...before.slice(0, -1), ...findStretches(cut, t, v, endMs, open)], `cut at ${at}`).toEqual(whole);
    }
    expect(cuts).toBeGreaterThan(100);
  });
});
