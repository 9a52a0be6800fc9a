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

// promise: strip-in-words
it('one unusable beat leaves the others of a strip good, and counts for nothing in its heart rate', () => {
  expect(readStrip(strip([0, 0, 2, 0, 0, 0, 0, 0, 0, 0]))).toEqual({ bpm: 75, flag: 0, count: 9, total: 10 });
});

it('a strip without good beats is read from the suspect ones, and has no number where all are unusable', () => {
  expect(readStrip(strip([1, 2, 1]))).toEqual({ bpm: 75, flag: 1, count: 2, total: 3 });
  expect(readStrip(strip([2, 2]))).toEqual({ bpm: null, flag: 2, count: 2, total: 2 });
});

it('a strip without beats, or without intervals, says so', () => {
  expect(readStrip([])).toEqual({ bpm: null, flag: null, count: 0, total: 0 });
  expect(readStrip(strip([0], null))).toEqual({ bpm: null, flag: 0, count: 1, total: 1 });
});

it('the heart rate counts ectopic beats: a pause after one is as much of it as the short interval before', () => {
  const bigeminy = [500, 1100, 500, 1100].map((intervalMs, i) => ({
    ...strip([0])[0]!,
    intervalMs,
    kind: i % 2 === 0 ? 'ectopic' : 'normal',
  }));
  expect(readStrip(bigeminy)).toEqual({ bpm: 75, flag: 0, count: 4, total: 4 });
  const artefact = { ...bigeminy[0]!, kind: 'artefact', intervalMs: 100 };
  expect(readStrip([...bigeminy, artefact])).toMatchObject({ bpm: 75 });
});
