/** A strip of a waveform as an SVG picture: what a clinician looks at beside an episode.
 *  1 s is 100 px with a grid of 0.2 s; the height fits the good samples. Gaps are gaps, samples flagged bad are grey and dashed. */
import type { SampleSegment } from './samples.ts';

const PX_PER_SEC = 100;
const HEIGHT_PX = 240;
const MARGIN_PX = 30;
/** More points than this per pixel column become its minimum and maximum. */
const POINTS_PER_PX = 2;

/** @param segments of one channel, ascending  @param fromNs start of the strip, Unix ns  @param durationSec its length */
export function stripSvg(segments: readonly SampleSegment[], fromNs: bigint, durationSec: number, title: string): string {
  const width = Math.round(durationSec * PX_PER_SEC);
  const [low, high] = extentOf(segments);
  const y = (value: number): number => MARGIN_PX + ((high - value) / (high - low)) * (HEIGHT_PX - 2 * MARGIN_PX);
  const good: string[] = [];
  const bad: string[] = [];
  for (const segment of segments) tracesOf(segment, fromNs, y, good, bad);
  const grid = Array.from({ length: Math.floor(durationSec / 0.2) + 1 }, (_, i) => {
    const x = round(i * 0.2 * PX_PER_SEC);
    return `<path d="M${x} 0V${HEIGHT_PX}" class="${i % 5 === 0 ? 'major' : 'minor'}"/>`;
  }).join('');
  const unit = segments[0]?.unit ?? '';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${HEIGHT_PX}" width="${width}" height="${HEIGHT_PX}" role="img" aria-label="${escape(title)}">
<title>${escape(title)}</title>
<style>path{fill:none;stroke:#111;stroke-width:1.2}.minor{stroke:#f3c6c6;stroke-width:.5}.major{stroke:#e29a9a;stroke-width:.8}.bad{stroke:#999;stroke-dasharray:3 3}text{font:11px sans-serif;fill:#333}</style>
<rect width="100%" height="100%" fill="#fff"/>${grid}
${good.map((d) => `<path d="${d}"/>`).join('')}${bad.map((d) => `<path d="${d}" class="bad"/>`).join('')}
<text x="4" y="14">${escape(title)}</text><text x="4" y="${HEIGHT_PX - 6}">${escape(`${format(low)} to ${format(high)} ${unit}; 1 s = 5 large squares`)}</text>
</svg>
`;
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

function tracesOf(segment: SampleSegment, fromNs: bigint, y: (value: number) => number, good: string[], bad: string[]): void {
  const { samples, qmask, gain, baseline, rateNanoHz } = segment;
  const t0Sec = Number(segment.t0Ns - fromNs) / 1e9;
  const step = PX_PER_SEC / (rateNanoHz / 1e9);
  const stride = Math.max(1, Math.floor(1 / step / POINTS_PER_PX));
  let path = '';
  let pathIsBad = false;
  const flush = (): void => {
    if (path !== '') (pathIsBad ? bad : good).push(path);
    path = '';
  };
  for (let i = 0; i < samples.length; i += stride) {
    const isBad = qmask !== null && qmask[i] === 2;
    if (isBad !== pathIsBad) flush();
    pathIsBad = isBad;
    const end = Math.min(samples.length, i + stride);
    let min = samples[i]!;
    let max = min;
    for (let j = i + 1; j < end; j++) {
      const value = samples[j]!;
      if (value < min) min = value;
      if (value > max) max = value;
    }
    const x = round(t0Sec * PX_PER_SEC + i * step);
    path += `${path === '' ? 'M' : 'L'}${x} ${round(y((min - baseline) / gain))}`;
    if (max !== min) path += `L${x} ${round(y((max - baseline) / gain))}`;
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
