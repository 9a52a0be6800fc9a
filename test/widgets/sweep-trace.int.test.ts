/** The canvas after a sweep, in a real Chromium: frame by frame it must be the picture that one stroke would make. */
import type { Browser, Page } from 'playwright-core';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SweepTrace as Sweep } from '../../widgets/shared/sweep-trace.ts';
import type { TraceRing as Ring } from '../../widgets/shared/trace-ring.ts';
import { chromiumPath, launchChromium } from '../helpers/chromium.ts';

declare const parts: { SweepTrace: typeof Sweep; TraceRing: typeof Ring };
/** Milliseconds from the start at which a signal stops and comes back. */
type Pause = Readonly<{ fromMs: number; toMs: number }>;
type Picture = Readonly<{ extra: number[]; missing: number[]; specks: number[]; inked: number }>;
type Case = Readonly<{
  rateHz: number;
  kind: 'fit' | 'fixed';
  durationMs: number;
  pause?: Pause;
  back?: Readonly<{ atMs: number; byMs: number }>;
  swing?: number;
}>;

let browser: Browser;
let page: Page;

beforeAll(async () => {
  if (chromiumPath === null) return;
  const { outputFiles } = await build({
    stdin: {
      contents: `export { SweepTrace } from './widgets/shared/sweep-trace.ts'; export { TraceRing } from './widgets/shared/trace-ring.ts';`,
      resolveDir: `${import.meta.dirname}/../..`,
      loader: 'ts',
    },
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'parts',
  });
  browser = await launchChromium();
  page = await browser.newPage();
  await page.addScriptTag({ content: outputFiles[0]!.text });
});

afterAll(() => browser?.close());

/** Plays a signal as frames of 100 ms, drawn 60 times a second, 180 ms behind. Runs in the page.
 *  @returns the columns with ink of their own that lies more than 2 px from the picture drawn at once, and those that lack ink of it,
 *    both outside the strip around the pen; and the specks: columns of islands of a few pixels */
function play({ rateHz, kind, durationMs, pause, back, swing = 0 }: Case): Picture {
  const [grid, front] = [document.createElement('canvas'), document.createElement('canvas')];
  const colors = { trace: '#000', suspect: '#000', bad: '#000', gridMinor: '#eee', gridMajor: '#ddd' };
  const scale = kind === 'fit' ? ({ kind, spanMin: 0 } as const) : ({ kind, mmPerUnit: 10 } as const);
  const ring = new parts.TraceRing(rateHz, 40);
  const trace = new parts.SweepTrace(grid, front, scale, colors, () => {});
  trace.setRing(ring);
  trace.resize(600, 120, 1);
  const originMs = 1_700_000_000_000;
  let frame = 0;
  let shownMs = 0;
  for (let nowMs = 0; nowMs <= durationMs; nowMs += 1000 / 60) {
    for (; (frame + 1) * 100 <= nowMs; frame++) {
      const startMs = frame * 100;
      if (pause !== undefined && startMs >= pause.fromMs && startMs < pause.toMs) continue;
      const samples = Array.from({ length: rateHz / 10 }, (_, i) => {
        const t = startMs / 1000 + i / rateHz;
        return Math.sin(2 * Math.PI * 1.3 * t) * (0.4 + swing * Math.sin(t)) + swing * t;
      });
      ring.put(BigInt(originMs + startMs) * 1_000_000n, samples, null);
    }
    shownMs = originMs + nowMs - 180 - (back !== undefined && nowMs > back.atMs ? back.byMs : 0);
    trace.draw(shownMs);
  }
  const { width, height } = front;
  const context = front.getContext('2d')!;
  const read = (): Uint8ClampedArray => context.getImageData(0, 0, width, height).data;
  const live = read();
  const sweepMs = trace.sweepSeconds * 1000;
  const pen = ((shownMs % sweepMs) / sweepMs) * width;
  trace.redraw();
  trace.draw(shownMs);
  const whole = read();
  const near = (image: Uint8ClampedArray, x: number, y: number): boolean => {
    for (let v = Math.max(0, y - 2); v <= Math.min(height - 1, y + 2); v++)
      for (let u = Math.max(0, x - 2); u <= Math.min(width - 1, x + 2); u++) if (image[(v * width + u) * 4 + 3]! > 40) return true;
    return false;
  };
  // Islands of ink, with pixels up to 2 apart counted as touching.
  const specks: number[] = [];
  const seen = new Uint8Array(width * height);
  for (let start = 0; start < seen.length; start++) {
    if (seen[start] === 1 || live[start * 4 + 3]! <= 40) continue;
    const island = [start];
    seen[start] = 1;
    for (const pixel of island) {
      for (let v = -2; v <= 2; v++)
        for (let u = -2; u <= 2; u++) {
          const [x, y] = [(pixel % width) + u, Math.floor(pixel / width) + v];
          const next = y * width + x;
          if (x < 0 || y < 0 || x >= width || y >= height || seen[next] === 1 || live[next * 4 + 3]! <= 40) continue;
          seen[next] = 1;
          island.push(next);
        }
    }
    if (island.length < 30) specks.push(start % width);
  }
  const result = { extra: new Set<number>(), missing: new Set<number>(), inked: 0 };
  for (let x = 0; x < width; x++) {
    if (x > pen - 4 && x < pen + 18) continue;
    for (let y = 0; y < height; y++) {
      const at = (y * width + x) * 4 + 3;
      if (whole[at]! > 128) result.inked++;
      if (live[at]! > 40 && !near(whole, x, y)) result.extra.add(x);
      if (whole[at]! > 200 && !near(live, x, y)) result.missing.add(x);
    }
  }
  return { extra: [...result.extra], missing: [...result.missing], specks, inked: result.inked };
}

describe.skipIf(chromiumPath === null)('a sweeping trace', () => {
  // promise: beyond-the-box
  it('marks what is beyond a box of fixed scale, and draws no plateau there', async () => {
    const seen = await page.evaluate(() => {
      const [grid, front] = [document.createElement('canvas'), document.createElement('canvas')];
      const colors = { trace: '#000', suspect: '#f00', bad: '#00f', gridMinor: '#eee', gridMajor: '#ddd' };
      let told = 0;
      const trace = new parts.SweepTrace(grid, front, { kind: 'fixed', mmPerUnit: 10 }, colors, () => told++);
      const ring = new parts.TraceRing(250, 40);
      trace.setRing(ring);
      trace.resize(600, 120, 1);
      const originMs = 1_700_000_000_000;
      const play = (fromMs: number, toMs: number, peak: number): void => {
        for (let ms = fromMs; ms < toMs; ms += 100) {
          const samples = Array.from({ length: 25 }, (_, i) => {
            const t = ((ms / 1000 + i / 250) % 0.8) - 0.4;
            return Math.sin(ms / 900) * 0.05 + peak * Math.exp(-(t * t) / 2e-3) - peak * 0.9 * Math.exp(-((t - 0.1) ** 2) / 2e-3);
          });
          ring.put(BigInt(originMs + ms) * 1_000_000n, samples, null);
          trace.draw(originMs + ms + 100);
        }
      };
      const count = (from: number, to: number, isIt: (r: number, g: number, b: number) => boolean): number => {
        const { data, width } = front.getContext('2d')!.getImageData(0, 0, 600, 120);
        let found = 0;
        for (let y = from; y < to; y++)
          for (let x = 0; x < width; x++) {
            const at = (y * width + x) * 4;
            if (data[at + 3]! > 128 && isIt(data[at]!, data[at + 1]!, data[at + 2]!)) found++;
          }
        return found;
      };
      const red = (r: number, g: number): boolean => r > 180 && g < 90;
      const black = (r: number): boolean => r < 90;
      play(0, 8000, 1);
      const small = { marks: count(0, 5, red), beyond: trace.isBeyond };
      play(8000, 24_000, 4);
      const high = { top: count(0, 5, red), bottom: count(105, 112, red), plateau: count(0, 2, black), beyond: trace.isBeyond };
      play(24_000, 50_000, 1);
      return { small, high, after: { marks: count(0, 112, red), beyond: trace.isBeyond }, told };
    });
    expect(seen.small).toEqual({ marks: 0, beyond: false });
    expect(seen.high.top).toBeGreaterThan(40);
    expect(seen.high.bottom).toBeGreaterThan(40);
    expect(seen.high.beyond).toBe(true);
    expect(seen.high.plateau).toBeLessThan(80); // two edges of each of some seven beats
    expect(seen.after).toEqual({ marks: 0, beyond: false });
    expect(seen.told).toBeGreaterThan(1);
  });

  it.each([
    ['ECG of 250 Hz', { rateHz: 250, kind: 'fixed', durationMs: 20_000 }],
    ['ECG of 1 kHz, three samples and more to a pixel', { rateHz: 1000, kind: 'fixed', durationMs: 15_000 }],
    ['PPG of 100 Hz', { rateHz: 100, kind: 'fit', durationMs: 20_000 }],
    ['a signal that stops for 3 s', { rateHz: 100, kind: 'fixed', durationMs: 15_000, pause: { fromMs: 9000, toMs: 12_000 } }],
    [
      'a signal that comes back after longer than is kept',
      { rateHz: 100, kind: 'fixed', durationMs: 66_000, pause: { fromMs: 9000, toMs: 60_000 } },
    ],
    ['a shown time that steps back', { rateHz: 100, kind: 'fixed', durationMs: 16_000, back: { atMs: 14_000, byMs: 1200 } }],
  ] as const)('draws %s in steps as at once', async (_, how) => {
    const { inked, ...wrong } = await page.evaluate(play, how as Case);
    expect(inked).toBeGreaterThan(200);
    expect(wrong).toEqual({ extra: [], missing: [], specks: [] });
  });

  it('ends a sweep at the scale it began with: no speck at the edge where the next one is centred anew', async () => {
    const { specks, inked } = await page.evaluate(play, { rateHz: 100, kind: 'fixed', durationMs: 14_000, swing: 0.08 } as Case);
    expect(inked).toBeGreaterThan(200);
    expect(specks).toEqual([]);
  });

  it('is there in other colours and at another size without a further frame: paper has none', async () => {
    const inked = await page.evaluate(() => {
      const [grid, front] = [document.createElement('canvas'), document.createElement('canvas')];
      const colors = { trace: '#000', suspect: '#000', bad: '#000', gridMinor: '#eee', gridMajor: '#ddd' };
      const trace = new parts.SweepTrace(grid, front, { kind: 'fixed', mmPerUnit: 10 }, colors, () => {});
      const ring = new parts.TraceRing(100, 40);
      trace.setRing(ring);
      trace.resize(600, 120, 1);
      const originMs = 1_700_000_000_000;
      const samples = Array.from({ length: 2000 }, (_, i) => Math.sin(i / 8));
      ring.put(BigInt(originMs) * 1_000_000n, samples, null);
      const count = (): number => {
        const { data } = front.getContext('2d')!.getImageData(0, 0, front.width, front.height);
        return data.filter((value, i) => i % 4 === 3 && value > 128).length;
      };
      trace.draw(originMs + 20_000);
      const shown = count();
      trace.setColors({ ...colors, trace: '#0a0' });
      const recolored = count();
      trace.resize(500, 120, 1);
      return { shown, recolored, resized: count() };
    });
    expect(inked.shown).toBeGreaterThan(200);
    expect(inked.recolored).toBe(inked.shown);
    expect(inked.resized).toBeGreaterThan(inked.shown / 2);
  });
});
