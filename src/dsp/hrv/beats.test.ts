import { describe, expect, test } from 'vitest';
import { BeatTrack, Gaps, classifyBeat, noVerdict } from './beats.ts';
import { beatKinds, beatReasons } from '../rows/feature-rows.ts';

/** Kind and reason of every beat of a list of times in s that is not a plain normal beat. */
function remarks(beatSec: readonly number[]): string[] {
  const track = new BeatTrack();
  for (const t of beatSec) track.push(Math.round(t * 1e6), 1, 0);
  track.endChain();
  const out = noVerdict();
  const found: string[] = [];
  for (let i = 0; i < track.count; i++) {
    classifyBeat(track, i, out);
    if (out.kind + out.reason > 0) found.push(`${i} ${beatKinds[out.kind]} ${beatReasons[out.reason]}`);
  }
  return found;
}

const steady = Array.from({ length: 80 }, (_, i) => 0.8 * i + 0.004 * Math.sin(7 * i));

describe('beats by kind and reason', () => {
  test('a steady rhythm has none to remark on', () => expect(remarks(steady)).toEqual([]));

  test('a premature beat with its pause', () =>
    expect(remarks(steady.map((t, i) => (i === 50 ? t - 0.3 : t)))).toEqual(['50 ectopic premature', '51 normal follows_ectopic']));

  test('a beat that was not seen', () => expect(remarks(steady.filter((_, i) => i !== 50))).toEqual(['50 normal missed_before']));

  test('beats of a rhythm that may be ventricular are suspect, also where nothing but that rhythm was seen', () => {
    const track = new BeatTrack();
    for (let i = 0; i < 40; i++) track.push(400_000 * i, 1, 0, Number.NaN, 0, Number.NaN, Number.NaN, Number.NaN, 110);
    track.endChain();
    expect(new Set(Array.from({ length: track.count }, (_, i) => track.flagOf(i)))).toEqual(new Set([1]));
  });

  test('beats are put into a long interval where the signal is doubtful, not where it is good', () => {
    const missedIn = (beatSec: readonly number[], doubtfulFrom: number): number[] => {
      const track = new BeatTrack();
      for (const t of beatSec) track.push(Math.round(t * 1e6), 1, 0);
      track.endChain();
      for (let i = 0; i < track.count; i++) track.flag[i] = i >= doubtfulFrom ? 1 : 0;
      const out = noVerdict();
      return Array.from({ length: track.count }, (_, i) => (classifyBeat(track, i, out), out.missed));
    };
    const sum = (counts: number[]): number => counts.reduce((a, b) => a + b, 0);
    const oneGone = steady.filter((_, i) => i !== 50);
    expect(sum(missedIn(oneGone, 80))).toBe(0);
    expect(missedIn(oneGone, 50)[50]).toBe(1);
    expect(sum(missedIn(oneGone, 40))).toBe(1);
    expect(
      missedIn(
        steady.filter((_, i) => i !== 50 && i !== 51),
        50,
      )[50],
    ).toBe(2);
    // no whole multiple: 1.7 times the usual interval
    expect(
      sum(
        missedIn(
          steady.map((t, i) => (i < 50 ? t : t + 0.56)),
          0,
        ),
      ),
    ).toBe(0);
  });

  test('a beat that is none', () =>
    expect(remarks([...steady, steady[50]! + 0.4].toSorted((a, b) => a - b))).toEqual(['51 artefact extra', '52 normal follows_artefact']));

  test('a beat a little out of place', () =>
    expect(remarks(steady.map((t, i) => (i === 50 ? t + 0.07 : t)))).toEqual(['50 artefact misplaced', '51 normal follows_artefact']));

  describe('of a beat whose intervals do not fit, its signal and its shape say whether it is one', () => {
    // of shapes: what they say for a ventricular and a supraventricular origin; -30: nothing, NaN: there was nothing to compare with
    const remarksOf = (beatSec: readonly number[], at: number, flag: 0 | 1 | 2, shape: number): string[] => {
      const track = new BeatTrack();
      beatSec.forEach((t, i) => track.push(Math.round(t * 1e6), 1, 0, i === at ? shape : -30, i === at ? shape : -30));
      track.endChain();
      track.flag[at] = flag;
      const out = noVerdict();
      return [at, at + 1].map((i) => {
        classifyBeat(track, i, out);
        return `${beatKinds[out.kind]} ${beatReasons[out.reason]}${Number.isNaN(out.confidence) ? '' : ', of known kind'}`;
      });
    };
    const moved = steady.map((t, i) => (i === 50 ? t + 0.07 : t));
    const added = [...steady, steady[50]! + 0.4].toSorted((a, b) => a - b);
    const irregular = 'normal irregular, of known kind';

    test('in a good signal, with a shape that could be compared, it is', () => {
      expect(remarksOf(moved, 50, 0, -30)).toEqual([irregular, irregular]);
      expect(remarksOf(added, 51, 0, -30)).toEqual([irregular, irregular]);
    });

    test.each([
      [1, -30],
      [2, -30],
      [0, Number.NaN],
    ] as const)('flagged %d, of a shape that says %d, it is not', (flag, shape) => {
      const follows = 'normal follows_artefact, of known kind';
      expect(remarksOf(moved, 50, flag, shape)).toEqual(['artefact misplaced', follows]);
      expect(remarksOf(added, 51, flag, shape)).toEqual(['artefact extra', follows]);
    });
  });

  test('intervals end at gaps', () => {
    const track = new BeatTrack();
    track.push(1_000_000, 1, Number.POSITIVE_INFINITY);
    track.push(2_000_000, 1, 0);
    track.push(3_000_000, 1, 120_000);
    track.push(6_100_000, 1, 0);
    expect([...track.starts.subarray(0, 4)]).toEqual([1, 0, 1, 1]);
  });
});

describe('Gaps', () => {
  test('joins what touches and measures what is missing', () => {
    const gaps = new Gaps();
    gaps.add(Number.NEGATIVE_INFINITY, 10);
    gaps.add(20, 30);
    gaps.add(30, 40);
    gaps.add(50, 60);
    expect(gaps.missingUs(0, 100)).toBe(10 + 20 + 10);
    expect(gaps.missingUs(25, 55)).toBe(20);
    gaps.forgetBefore(45);
    expect(gaps.missingUs(25, 55)).toBe(5);
  });
});
