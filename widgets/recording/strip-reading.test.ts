import { expect, it } from 'vitest';
import type { Beat } from './recording-source.ts';
import { readStrip } from './strip-reading.ts';

const strip = (qmasks: readonly number[], intervalMs: number | null = 800): Beat[] =>
  qmasks.map((qmask, i) => ({
    timeMs: 800 * i,
    intervalMs: qmask === 2 ? 200 : intervalMs,
    kind: 'normal',
    aami: 'N',
    confidence: 1,
    qmask,
    channel: 'ecg.ii',
  }));
/** Each beat by its interval; a V has come early. */
const rhythm = (...beats: (readonly [intervalMs: number, letter: 'N' | 'V'])[]): Beat[] =>
  beats.map(([intervalMs, letter]) => ({ ...strip([0])[0]!, intervalMs, aami: letter, kind: letter === 'V' ? 'ectopic' : 'normal' }));

// promise: strip-in-words
it('one unusable beat leaves the others of a strip good, and counts for nothing in its heart rate', () => {
  expect(readStrip(strip([0, 0, 2, 0, 0, 0, 0, 0, 0, 0]))).toEqual({ bpm: 75, intervals: 8, flag: 0, count: 9, total: 10 });
});

it('a strip without good beats is read from the suspect ones, and has no number where all are unusable', () => {
  expect(readStrip(strip([1, 2, 1, 1, 1]))).toEqual({ bpm: 75, intervals: 3, flag: 1, count: 4, total: 5 });
  expect(readStrip(strip([2, 2, 2, 2, 2]))).toMatchObject({ bpm: null, flag: 2, count: 5, total: 5 });
});

it('an interval to a beat before the strip is not of it, also where the first that is shown is an artefact', () => {
  const beats = strip([0, 0, 0, 0, 0]).map((beat, i) =>
    i === 0 ? { ...beat, kind: 'artefact' } : i === 1 ? { ...beat, intervalMs: 1900 } : beat,
  );
  expect(readStrip(beats)).toMatchObject({ bpm: 75, intervals: 3 });
});

it('a strip without beats, or without intervals, says so', () => {
  expect(readStrip([])).toEqual({ bpm: null, intervals: 0, flag: null, count: 0, total: 0 });
  expect(readStrip(strip([0], null))).toEqual({ bpm: null, intervals: 0, flag: 0, count: 1, total: 1 });
});

it('the heart rate counts ectopic beats: a pause after one is as much of it as the short interval before', () => {
  const bigeminy = rhythm([1100, 'N'], [500, 'V'], [1100, 'N'], [500, 'V'], [1100, 'N']);
  expect(readStrip(bigeminy)).toEqual({ bpm: 75, intervals: 4, flag: 0, count: 5, total: 5 });
  const artefact = { ...bigeminy[0]!, kind: 'artefact', intervalMs: 100 };
  expect(readStrip([...bigeminy, artefact])).toMatchObject({ bpm: 75 });
});

// promise: strip-in-words
it('has no heart rate of fewer than three intervals: one before an extra beat is not the rate of anything', () => {
  expect(readStrip(rhythm([800, 'N'], [577, 'V']))).toMatchObject({ bpm: null, intervals: 0, flag: 0 });
  expect(readStrip(rhythm([800, 'N'], [800, 'N'], [800, 'N']))).toMatchObject({ bpm: null, intervals: 2 });
  expect(readStrip(rhythm([800, 'N'], [800, 'N'], [800, 'N'], [800, 'N']))).toMatchObject({ bpm: 75, intervals: 3 });
});

it('leaves out what the edges of the strip part: an interval of a beat before it, an extra beat without its pause, a pause without it', () => {
  const regular = [
    [800, 'N'],
    [800, 'N'],
    [800, 'N'],
    [800, 'N'],
  ] as const;
  expect(readStrip(rhythm([2000, 'N'], ...regular.slice(1)))).toMatchObject({ bpm: 75, intervals: 3 });
  expect(readStrip(rhythm(...regular, [400, 'V']))).toMatchObject({ bpm: 75, intervals: 3 });
  expect(readStrip(rhythm([400, 'V'], [1200, 'N'], ...regular))).toMatchObject({ bpm: 75, intervals: 4 });
});

it('counts a run of extra beats: within it no interval has a pause', () => {
  const run = rhythm([800, 'N'], [400, 'V'], [400, 'V'], [400, 'V']);
  expect(readStrip(run)).toMatchObject({ bpm: 150, intervals: 3 });
});
