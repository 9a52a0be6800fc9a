import { expect, it } from 'vitest';
import { drawStrip, drawWhole, rangeOf, shiftOf } from './recording-draw.ts';
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
