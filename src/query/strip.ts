/** A strip of a waveform as a picture: what a clinician looks at beside an episode.
 *  1 s is 100 px with a grid of 0.2 s; the height fits the good samples. Gaps are gaps, samples flagged bad are grey and dashed. */
import type { SampleSegment } from './samples.ts';

export const PX_PER_SEC = 100;
export const HEIGHT_PX = 240;
const MARGIN_PX = 30;
/** More points than this per pixel column become its minimum and maximum. */
const POINTS_PER_PX = 2;

/** x, y, x, y … in pixels, rounded to 0.01. */
export type Polyline = readonly number[];
export type Strip = Readonly<{
  widthPx: number;
  title: string;
  /** What the axes mean, for the foot of the picture. */
  legend: string;
  good: readonly Polyline[];
  bad: readonly Polyline[];
}>;

/** @param segments of one channel, ascending  @param fromNs start of the strip, Unix ns  @param durationSec its length */
export function layOutStrip(segments: readonly SampleSegment[], fromNs: bigint, durationSec: number, title: string): Strip {
  const [low, high] = extentOf(segments);
  const y = (value: number): number => MARGIN_PX + ((high - value) / (high - low)) * (HEIGHT_PX - 2 * MARGIN_PX);
  const good: Polyline[] = [];
  const bad: Polyline[] = [];
  for (const segment of segments) tracesOf(segment, fromNs, y, good, bad);
  const legend = `${format(low)} to ${format(high)} ${segments[0]?.unit ?? ''}; 1 s = 5 large squares`;
  return { widthPx: Math.round(durationSec * PX_PER_SEC), title, legend, good, bad };
}

/** x of the grid lines, every 0.2 s; every fifth is a major one. */
export function gridLines(widthPx: number): readonly number[] {
  return Array.from({ length: Math.floor(widthPx / (0.2 * PX_PER_SEC) + 1e-9) + 1 }, (_, i) => round(i * 0.2 * PX_PER_SEC));
}

export function stripSvg({ widthPx: width, title, legend, good, bad }: Strip): string {
  const grid = gridLines(width)
    .map((x, i) => `<path d="M${x} 0V${HEIGHT_PX}" class="${i % 5 === 0 ? 'major' : 'minor'}"/>`)
    .join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${HEIGHT_PX}" width="${width}" height="${HEIGHT_PX}" role="img" aria-label="${escape(title)}">
<title>${escape(title)}</title>
<style>path{fill:none;stroke:#111;stroke-width:1.2}.minor{stroke:#f3c6c6;stroke-width:.5}.major{stroke:#e29a9a;stroke-width:.8}.bad{stroke:#999;stroke-dasharray:3 3}text{font:11px sans-serif;fill:#333}</style>
<rect width="100%" height="100%" fill="#fff"/>${grid}
${good.map((line) => `<path d="${pathOf(line)}"/>`).join('')}${bad.map((line) => `<path d="${pathOf(line)}" class="bad"/>`).join('')}
<text x="4" y="14">${escape(title)}</text><text x="4" y="${HEIGHT_PX - 6}">${escape(legend)}</text>
</svg>
`;
}

function pathOf(line: Polyline): string {
  let path = '';
  for (let i = 0; i + 1 < line.length; i += 2) path += `${i === 0 ? 'M' : 'L'}${line[i]} ${line[i + 1]}`;
  return path;
}

/** Extent of the samples that are not bad, in physical units; a flat line gets room. */
function extentOf(segments: readonly SampleSegment[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const { samples, qmask, gain, baseline } of segments) {
    for (let i = 0; i < samples.length; i++) {
      if (qmask !== null && qmask[i] === 2) continue;
      const value = (samples[i]! - baseline) / gain;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (!(low < high)) return low === Infinity ? [-1, 1] : [low - 1, high + 1];
  return [low, high];
}

function tracesOf(segment: SampleSegment, fromNs: bigint, y: (value: number) => number, good: Polyline[], bad: Polyline[]): void {
  const { samples, qmask, gain, baseline, rateNanoHz } = segment;
  const t0Sec = Number(segment.t0Ns - fromNs) / 1e9;
  const step = PX_PER_SEC / (rateNanoHz / 1e9);
  const stride = Math.max(1, Math.floor(1 / step / POINTS_PER_PX));
  let line: number[] = [];
  let lineIsBad = false;
  const flush = (): void => {
    if (line.length > 0) (lineIsBad ? bad : good).push(line);
    line = [];
  };
  for (let i = 0; i < samples.length; i += stride) {
    const isBad = qmask !== null && qmask[i] === 2;
    if (isBad !== lineIsBad) flush();
    lineIsBad = isBad;
    const end = Math.min(samples.length, i + stride);
    let min = samples[i]!;
    let max = min;
    for (let j = i + 1; j < end; j++) {
      const value = samples[j]!;
      if (value < min) min = value;
      if (value > max) max = value;
    }
    const x = round(t0Sec * PX_PER_SEC + i * step);
    line.push(x, round(y((min - baseline) / gain)));
    if (max !== min) line.push(x, round(y((max - baseline) / gain)));
  }
  flush();
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function format(value: number): string {
  return Number(value.toPrecision(3)).toString();
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
