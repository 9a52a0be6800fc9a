import { describe, expect, it } from 'vitest';
import { storedFeatures, windowVariability } from './stored-window.ts';
import type { StoredInterval, StoredWindow } from './stored-window.ts';

/** Intervals of a second that breathe at a frequency. */
function breathing(seconds: number, hz: number, changed: (i: number) => Partial<StoredInterval> = () => ({})): StoredInterval[] {
  const intervals: StoredInterval[] = [];
  for (let [i, endSec] = [0, 1]; endSec < seconds; i++) {
    const ms = 1000 + 40 * Math.sin(2 * Math.PI * hz * endSec);
    intervals.push({ endSec, ms, isNn: true, isSurelyEctopic: false, follows: i > 0, ...changed(i) });
    endSec += ms / 1000;
  }
  return intervals;
}

const windowOf = (windowSec: number, intervals: readonly StoredInterval[], other: Partial<StoredWindow> = {}): StoredWindow => ({
  source: 'ecg',
  fs: 250,
  windowSec,
  intervals,
  beatCount: intervals.length + 1,
  suspectCount: 0,
  badCount: 0,
  isDoubtful: false,
  isSpreadDoubtful: false,
  ...other,
});
const valueOf = (window: StoredWindow, name: string) => windowVariability(window).values.find((value) => value.name === name)!;

describe('variability of a window of stored beats', () => {
  it('has a value of each stored feature of its source, with its flag', () => {
    const { values, coverage } = windowVariability(windowOf(300, breathing(300, 0.25)));
    expect(values.map(({ feature }) => feature)).toEqual(storedFeatures('ecg'));
    expect(coverage).toBeGreaterThan(0.98);
    expect(values.find(({ name }) => name === 'mean_nn')).toMatchObject({ unit: 'ms', qmask: 0 });
    expect(storedFeatures('ppg')).not.toContain('prv_vlf_300s');
  });

  it('has its peak where it breathes, and the power of that band', () => {
    for (const [hz, band] of [
      [0.25, 'hf'],
      [0.1, 'lf'],
      [0.02, 'vlf'],
    ] as const) {
      const { spectrum } = windowVariability(windowOf(300, breathing(300, hz)));
      const { peakHz, ms2 } = spectrum!.bands.find(({ name }) => name === band)!;
      expect(peakHz!).toBeCloseTo(hz, 2);
      expect(Math.abs(ms2 - 800) / 800, band).toBeLessThan(0.25);
      const sum = spectrum!.density.reduce((all, power) => all + power * spectrum!.stepHz, 0);
      expect(Math.abs(sum - 800) / 800).toBeLessThan(0.25);
    }
  });

  it('of half an hour is the mean of eleven spectra, and the same as of five minutes where nothing changes', () => {
    const long = windowVariability(windowOf(1800, breathing(1800, 0.25))).spectrum!;
    const short = windowVariability(windowOf(300, breathing(300, 0.25))).spectrum!;
    expect([long.segmentCount, long.segmentSec, short.segmentCount]).toEqual([11, 300, 1]);
    expect(long.bands[2]!.ms2 / short.bands[2]!.ms2).toBeCloseTo(1, 1);
  });

  it('leaves out parts of a long window that nothing covers', () => {
    const most = breathing(1800, 0.25).filter(({ endSec }) => endSec < 1500);
    expect(windowVariability(windowOf(1800, most)).spectrum!.segmentCount).toBe(9);
    expect(windowVariability(windowOf(1800, most.slice(0, 1200))).spectrum).toBeNull();
  });

  // promise: no-spectrum-across-holes
  it('has no spectrum across a hole of more than ten seconds, and of a long window that of the rest', () => {
    const without = (seconds: number, from: number, to: number): StoredInterval[] =>
      breathing(seconds, 0.1).filter(({ endSec }) => endSec < from || endSec > to);
    const bigeminy = breathing(300, 0.1, (i) => (i > 100 && i < 200 ? { isNn: false, isSurelyEctopic: true } : {}));
    for (const intervals of [bigeminy, without(300, 140, 152)]) {
      const window = windowOf(300, intervals);
      expect(windowVariability(window).spectrum).toBeNull();
      for (const name of ['lf', 'hf', 'vlf', 'total_power', 'lf_hf', 'lf_nu']) expect(valueOf(window, name).value, name).toBeNull();
      expect(valueOf(window, 'sdnn').value).toBeGreaterThan(20);
    }
    const long = windowVariability(windowOf(1800, without(1800, 800, 812))).spectrum!;
    expect(long.segmentCount).toBe(9);
    expect(long.bands[1]!.ms2).toBeLessThan(1200);
  });

  it('is suspect where a twentieth is bridged, in its spectrum alone', () => {
    const holed = (every: number) =>
      windowOf(
        300,
        breathing(300, 0.1, (i) => (i % every === 5 ? { isNn: false, isSurelyEctopic: true } : {})),
      );
    expect(['sdnn', 'lf', 'hf'].map((name) => valueOf(holed(12), name).qmask)).toEqual([0, 1, 1]);
    expect(['sdnn', 'lf', 'hf'].map((name) => valueOf(holed(30), name).qmask)).toEqual([0, 0, 0]);
  });

  it('is suspect where a band has too few waves, where beats are doubtful, and below 188 Hz', () => {
    const minute = windowOf(61, breathing(60, 0.25));
    expect(['hf', 'lf', 'vlf', 'total_power', 'rmssd'].map((name) => valueOf(minute, name).qmask)).toEqual([0, 1, 1, 1, 0]);
    const five = breathing(300, 0.25);
    const flags = (other: Partial<StoredWindow>) => ['sdnn', 'rmssd', 'hf'].map((name) => valueOf(windowOf(300, five, other), name).qmask);
    expect(flags({})).toEqual([0, 0, 0]);
    expect(flags({ isDoubtful: true })).toEqual([0, 1, 1]);
    expect(flags({ isSpreadDoubtful: true })).toEqual([1, 0, 0]);
    expect(flags({ fs: 128 })).toEqual([0, 1, 1]);
    expect(flags({ suspectCount: 40 })).toEqual([1, 1, 1]);
    expect(flags({ badCount: 100 })).toEqual([2, 2, 2]);
  });

  it('makes no difference across what is left out, and has no value where too little is covered', () => {
    const all = windowOf(300, breathing(300, 0.25));
    // Without every tenth: the neighbours of what is left out are no pair, so that their jump is not seen.
    const holes = windowOf(
      300,
      breathing(300, 0.25, (i) => (i % 10 === 5 ? { isNn: false, isSurelyEctopic: true, ms: 400 } : {})),
    );
    expect(valueOf(holes, 'rmssd').value! / valueOf(all, 'rmssd').value!).toBeCloseTo(1, 1);
    expect(valueOf(windowOf(700, breathing(300, 0.25)), 'sdnn')).toMatchObject({ value: null, qmask: null });
    expect(valueOf(windowOf(300, []), 'sdnn')).toMatchObject({ value: null, qmask: null });
    expect(valueOf(windowOf(300, breathing(200, 0.25)), 'hf').value).toBeNull();
  });
});
