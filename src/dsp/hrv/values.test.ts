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
