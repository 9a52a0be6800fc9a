import { describe, expect, it } from 'vitest';
import { correctBeats, nearestBeat } from './corrected-beats.ts';
import type { Beat, Mark } from './recording-source.ts';

const beatAt = (timeMs: number, kind = 'normal'): Beat => ({
  timeMs,
  intervalMs: 800,
  kind,
  aami: null,
  confidence: null,
  qmask: 0,
  channel: 'ecg.ii',
});
const said = (startMs: number, beat: string | null, rest: Partial<Mark> = {}): Mark => {
  return { id: String(startMs), startMs, endMs: startMs, label: '', source: 'annotation', beat, channel: null, madeMs: 1, ...rest };
};
const beats = [beatAt(0), beatAt(800), beatAt(1600, 'ectopic'), beatAt(2400)];
const short = (marks: readonly Mark[]): unknown =>
  correctBeats(beats, marks, [0, 2400]).map((beat) => [beat.timeMs, beat.said, beat.intervalMs]);

describe('beats as corrected', () => {
  it('are those that were computed where nobody said anything', () => {
    expect(short([said(900, null)])).toEqual([
      [0, null, null],
      [800, null, 800],
      [1600, null, 800],
      [2400, null, 800],
    ]);
  });

  it('have another kind, are taken out of the intervals, or come to them', () => {
    expect(short([said(820, 'V'), said(1500, 'none'), said(2000, 'N')])).toEqual([
      [0, null, null],
      [800, 'V', 800],
      [1600, 'none', null],
      [2000, 'N', 1200],
      [2400, null, 400],
    ]);
  });

  it('are what was said last, and nothing that was said of another channel', () => {
    expect(short([said(810, 'S', { madeMs: 5 }), said(790, 'V', { madeMs: 3 }), said(1600, 'N', { channel: 'ecg.v5' })])).toEqual([
      [0, null, null],
      [800, 'S', 800],
      [1600, null, 800],
      [2400, null, 800],
    ]);
  });

  it('are those of the strip: thousands of corrections elsewhere are not looked for each time that it is drawn', () => {
    const elsewhere = Array.from({ length: 20_000 }, (_, i) => said(1e6 + 800 * i, 'V'));
    expect(short([said(810, 'S'), ...elsewhere])).toEqual([
      [0, null, null],
      [800, 'S', 800],
      [1600, null, 800],
      [2400, null, 800],
    ]);
  });

  it('are looked for within 150 ms of where one points', () => {
    expect(nearestBeat(beats, 940)?.timeMs).toBe(800);
    expect(nearestBeat(beats, 960)).toBe(null);
  });
});
