import { expect, it, vi } from 'vitest';
import { drawRows, drawStrip, drawWhole, rangeOf, shiftOf } from './recording-draw.ts';
import { slowSamples } from './recording-draw-slow.ts';
import { freeFrom, stripLetterOf } from './recording-draw-marks.ts';
import type { Surface } from './recording-draw.ts';

const STEP_MS = 50;
/** Ten minutes with a beat of 1 mV each second; off the skin, at 5 mV, for a share of it. */
function page(offShare: number): { min: number[]; max: number[]; stepMs: number } {
  const count = 600_000 / STEP_MS;
  const values = Array.from({ length: count }, (_, i) => (i < offShare * count ? 5 : i % 20 === 0 ? 1 : 0));
  return { min: values, max: values.map((value) => value + 0.02), stepMs: STEP_MS };
}

it('scales a page by its beats while an electrode is off for minutes of it', () => {
  for (const share of [0, 0.04, 0.3]) {
    const { low, high } = rangeOf([page(share)]);
    expect(low, `${share}`).toBeCloseTo(0, 1);
    expect(high, `${share}`).toBeCloseTo(1, 1);
  }
});

it('shows what there is of a signal that is flat, and of none', () => {
  expect(rangeOf([{ min: [3, 3], max: [3, 3], stepMs: 1000 }])).toEqual({ low: 2, high: 4 });
  expect(rangeOf([])).toEqual({ low: -1, high: 1 });
});

it('shows all of a signal that does not beat: a temperature of some hours is no square wave', () => {
  const values = Array.from({ length: 300 }, (_, minute) => 33 + Math.sin(minute / 20));
  const { low, high } = rangeOf([{ kind: 'temp', min: values, max: values, stepMs: 60_000 }]);
  expect(low).toBeCloseTo(32, 1);
  expect(high).toBeCloseTo(34, 1);
});

it('says of a slow signal where it is bad, which is no gap', () => {
  const envelope = {
    channel: 'temp',
    kind: 'temp',
    unit: 'Cel',
    t0Ms: 0,
    stepMs: 60_000,
    n: [1, 0, 0, 1],
    rateHz: 1 / 60,
    isSampled: true,
  } as const;
  const min = [36, null, null, 36.1];
  const samples = slowSamples([{ ...envelope, min, max: min, suspect: [0, 0, 0, 1], bad: [0, 1, 0, 0] }]);
  expect(samples.map(({ timeMs, value, flag }) => [timeMs, value, flag])).toEqual([
    [0, 36, 0],
    [60_000, null, 2],
    [180_000, 36.1, 1],
  ]);
});

it('draws lines between the samples of a slow signal over the edges of rows, and none where one is missing or bad', () => {
  vi.stubGlobal(
    'OffscreenCanvas',
    class {
      readonly getContext = () => context;
    },
  );
  vi.stubGlobal(
    'DOMMatrix',
    class {
      readonly scale = () => null;
    },
  );
  const calls: string[] = [];
  const filled: string[] = [];
  const draws = (_: object, name: string) =>
    name === 'createPattern'
      ? () => ({ setTransform: () => undefined })
      : name === 'fillRect'
        ? (...box: number[]) => void filled.push(box.map(Math.round).join(' '))
        : (x: number, y: number) => void calls.push(name.endsWith('To') ? `${name} ${Math.round(x)} ${Math.round(y)}` : name);
  const context = new Proxy({}, { get: draws, set: () => true }) as CanvasRenderingContext2D;
  const values = [33, 34, 33, null, 34];
  const envelope = {
    channel: 'temp',
    kind: 'temp',
    unit: 'Cel',
    t0Ms: 0,
    stepMs: 60_000,
    min: values,
    max: values,
    n: values.map((value) => (value === null ? 0 : 1)),
    suspect: [0, 0, 0, 0, 0],
    bad: [0, 0, 0, 1, 0],
    rateHz: 1 / 60,
    isSampled: true,
  } as const;
  const rows = {
    fromMs: 30_000,
    rowMs: 60_000,
    count: 4,
    envelopes: [envelope],
    absent: [],
    marks: [],
    qualities: [],
    strip: [0, 0],
  } as const;
  drawRows({ context, width: 664, height: 160, colors: {} as Surface['colors'] }, { ...rows, time: () => '', date: () => '', name: '' });
  // From half a minute before the first row, on which 34 lies in the middle, to the one after it.
  expect(calls.join(', ')).toContain('beginPath, moveTo -236 31, lineTo 364 4, lineTo 964 31, stroke');
  expect(calls.join(', ')).toContain('moveTo 364 124, stroke'); // the last row begins where a sample is bad
  expect(filled).toContain('364 113 600 5'); // the ribbon says so on the row before
  vi.unstubAllGlobals();
});

it('has a letter for what is not known to be normal, and does not hide one with the name of its row', () => {
  expect(stripLetterOf({ aami: 'Q', kind: 'normal', qmask: 2 })).toBe('Q');
  expect(stripLetterOf({ aami: 'Q', kind: 'ectopic', qmask: 0 })).toBe('E');
  expect(stripLetterOf({ aami: 'V', kind: 'ectopic', qmask: 0 })).toBe('V');
  expect(stripLetterOf({ aami: 'V', kind: 'ectopic', qmask: 1 })).toBe('V?');
  expect(stripLetterOf({ aami: 'N', kind: 'normal', qmask: 1 })).toBe('');
  expect(freeFrom([], 60, 300)).toBe(0);
  expect(freeFrom([40, 200], 60, 300)).toBe(52);
  expect(freeFrom([40, 90, 140, 190, 240], 60, 300)).toBe(0); // there is no room
});

it('goes on with a line over the edge of what was asked for at once, and breaks it at a gap', () => {
  const calls: [name: string, x: number][] = [];
  const draws = (_: object, name: string) =>
    name === 'measureText' ? () => ({ width: 10 }) : (x: number) => void calls.push([name, Math.round(x)]);
  const colors = { trace: 'trace' } as Surface['colors'];
  const context = new Proxy({}, { get: draws, set: () => true }) as CanvasRenderingContext2D;
  const segment = (fromSec: number) => ({
    channel: 'temp',
    kind: 'temp',
    unit: 'Cel',
    rateHz: 1,
    qmask: null,
    t0Ms: fromSec * 1000,
    samples: [33, 34],
  });
  const nothing = { beats: [], corrected: null, pick: null, hasMiddle: false, marks: [], calipers: null, qualities: [], absent: [] };
  const lane = { channel: 'temp', label: 'temp', kind: 'temp', segments: [segment(0), segment(2), segment(5)] };
  const words = { computed: '', corrected: '' };
  drawStrip({ context, width: 700, height: 100, colors }, { ...nothing, fromMs: 0, speed: 25, gain: 10, lanes: [lane], words, gap: '' });
  const steps = calls.map(([name, x]) => (name.endsWith('To') ? `${name} ${x}` : name)).join(', ');
  const at = (sec: number): number => Math.round((sec * 25 * 96) / 25.4);
  expect(steps).toContain(`beginPath, moveTo ${at(1)}, lineTo ${at(2)}, lineTo ${at(3)}, stroke`);
  expect(steps).toContain(`beginPath, moveTo ${at(5)}, lineTo ${at(6)}, stroke`);
});

it('writes the heart rate above the frames of the page and of the strip, which open at the left edge', () => {
  const calls: string[] = [];
  const draws = (_: object, name: string) =>
    name === 'measureText'
      ? () => ({ width: 10 })
      : (first: unknown) => void calls.push(name === 'fillText' ? `text ${String(first)}` : name);
  const context = new Proxy({}, { get: draws, set: () => true }) as CanvasRenderingContext2D;
  const rate = { timesMs: [0, 1000], values: [60, 90], flags: [0, 0] } as const;
  drawWhole(
    { context, width: 700, height: 150, colors: {} as Surface['colors'] },
    {
      startMs: 0,
      endMs: 2000,
      envelope: null,
      quality: null,
      rate,
      marks: [],
      page: [0, 1000],
      strip: [0, 100],
      ticks: () => [],
      unread: '',
    },
  );
  expect(calls.indexOf('text 90 /min')).toBeGreaterThan(calls.lastIndexOf('strokeRect'));
  expect(calls.indexOf('text 60')).toBeGreaterThan(calls.lastIndexOf('strokeRect'));
});

it('moves the line of a lane where a beat would be cut off, by whole squares, and not where nothing is gained', () => {
  const square = (5 * 96) / 25.4;
  expect(shiftOf(60, 40, 135)).toBe(0); // fits
  expect(shiftOf(75, 20, 135)).toBeCloseTo(square); // 7.5 px too high
  expect(shiftOf(20, 75, 135)).toBeCloseTo(-square); // too low
  expect(shiftOf(75, 66, 135)).toBe(1.5); // no more than there is room
  expect(shiftOf(500, 10, 135)).toBe(54); // its line stays in the lane
  expect(shiftOf(100, 100, 135)).toBe(0); // cut off at both edges in any case
});
