/** Draws a stretch of ECG with reference beats (above) and detected beats (below) as SVG. */
import type { Picture } from './section.ts';

const WIDTH = 1000;
const HEIGHT = 160;

/** @param at centre of the stretch, samples */
export function drawStretch(
  caption: string,
  x: Float64Array,
  fs: number,
  at: number,
  reference: Float64Array,
  detected: Float64Array,
  seconds = 8,
): Picture {
  const from = Math.max(0, Math.round(at - (seconds / 2) * fs));
  const to = Math.min(x.length, from + Math.round(seconds * fs));
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let i = from; i < to; i++) {
    low = Math.min(low, x[i]!);
    high = Math.max(high, x[i]!);
  }
  const px = (i: number): string => (((i - from) / (to - from)) * WIDTH).toFixed(1);
  const py = (v: number): string => (20 + ((high - v) / (high - low || 1)) * (HEIGHT - 40)).toFixed(1);
  const step = Math.max(1, Math.floor((to - from) / 2000));
  const points: string[] = [];
  for (let i = from; i < to; i += step) points.push(`${px(i)},${py(x[i]!)}`);
  const marks = (beats: Float64Array, y1: number, y2: number, colour: string): string =>
    [...beats]
      .filter((b) => b >= from && b < to)
      .map((b) => `<line x1="${px(b)}" x2="${px(b)}" y1="${y1}" y2="${y2}" stroke="${colour}" stroke-width="2"/>`)
      .join('');
  const error = `<rect x="${px(at - 0.15 * fs)}" width="${((0.3 * fs * WIDTH) / (to - from)).toFixed(1)}" y="0" height="${HEIGHT}" fill="#fd8" opacity=".5"/>`;
  return {
    caption,
    svg: `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">${error}<polyline points="${points.join(' ')}" fill="none" stroke="#124" stroke-width="1"/>${marks(reference, 0, 16, '#080')}${marks(detected, HEIGHT - 16, HEIGHT, '#c00')}</svg>`,
  };
}
