import { describe, expect, test } from 'vitest';
import { featureMethods } from '../rows/methods.ts';
import { BeatTrack, Gaps } from './beats.ts';
import { BeatValues } from './values.ts';

/** Features of five minutes of good beats at about 60 /min. @param swingUs how far intervals swing, once in 4 s */
function featuresOf(swingUs: number): ReadonlyMap<string, number> {
  const track = new BeatTrack();
  const found = new Map<string, number>();
  const values = new BeatValues(
    'ecg',
    250,
    track,
    new Gaps(),
    () => 0,
    () => false,
    {
      value: (index, _channel, _tUs, value) => void found.set(featureMethods[index]!.feature, value),
    },
  );
  values.start(0);
  for (let i = 0, t = 100_000; i < 310; i++, t += 1e6 + Math.round(swingUs * Math.sin((Math.PI * i) / 2))) track.push(t, 1, 0);
  track.flag.fill(0, 0, track.count);
  values.advance(305e6, 305e6);
  return found;
}

describe('LF / HF', () => {
  test('of a breathing heart it is the ratio of the powers', () => {
    const found = featuresOf(10_000);
    expect(found.get('hrv_hf_300s')).toBeGreaterThan(10);
    expect(found.get('hrv_lf_hf_300s')).toBe(found.get('hrv_lf_300s')! / found.get('hrv_hf_300s')!);
  });

  test('of a pacemaker there is none: HF is given as 0, and a ratio by what is left of it would say nothing', () => {
    const found = featuresOf(10);
    expect(found.get('hrv_hf_300s')).toBeGreaterThan(0);
    expect(found.get('hrv_hf_300s')).toBeLessThan(0.005);
    expect([...found.keys()]).toContain('hrv_lf_300s');
    expect([...found.keys()]).not.toContain('hrv_lf_hf_300s');
  });
});

describe('an interval of a pulse', () => {
  /** Mean of five minutes of intervals that breathe, once in 10 beats, and of those of them that count.
   *  @param shiftMs where every tenth pulse is steepest */
  function meansOf(shiftMs: number, counts: (i: number) => boolean): { given: number; expected: number } {
    const track = new BeatTrack();
    let given = Number.NaN;
    const values = new BeatValues(
      'ppg',
      64,
      track,
      new Gaps(),
      () => 0,
      () => false,
      {
        value: (index, _channel, tUs, value) => {
          if (featureMethods[index]!.feature === 'prv_mean_nn_300s' && tUs === 300e6) given = value;
        },
      },
    );
    values.start(0);
    const counted: number[] = [];
    for (let i = 0, t = 100_000, before = Number.NaN; i < 310; i++, t += 1e6 + Math.round(40_000 * Math.sin((Math.PI * i) / 5))) {
      track.push(t, 1, 0, Number.NaN, Number.NaN, i % 10 === 3 ? shiftMs : 0);
      if (i > 0 && t <= 300e6 && counts(i)) counted.push((t - before) / 1000);
      before = t;
    }
    track.flag.fill(0, 0, track.count);
    values.advance(305e6, 305e6);
    return { given, expected: counted.reduce((sum, ms) => sum + ms, 0) / counted.length };
  }

  test('counts where the pulse is steepest far from the middle of its upstroke, as it does in the stored window', () => {
    const { given, expected } = meansOf(Number.POSITIVE_INFINITY, () => true);
    expect(given).toBeCloseTo(expected, 6);
  });

  test('does not count where samples are missing there', () => {
    const { given, expected } = meansOf(Number.NaN, (i) => i % 10 !== 3 && i % 10 !== 4);
    expect(given).toBeCloseTo(expected, 6);
  });
});
