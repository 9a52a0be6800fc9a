/** A small line without axes, as SVG, before a band from the least to the greatest value of each bucket. Bad and missing values are gaps;
 *  suspect stretches are dashed and of another colour. */
import { html, nothing, svg } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { Series } from './data.ts';

const WIDTH = 300;
const HEIGHT = 56;
const PAD = 5;

export const sparklineCss = `
.spark { display: block; inline-size: 100%; block-size: 56px; overflow: visible; direction: ltr; }
.spark path { fill: none; stroke: var(--_trace); stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round; stroke-linecap: round; }
.spark path.suspect { stroke: var(--_suspect); stroke-dasharray: 3 4; }
.spark .spread { fill: var(--_trace); stroke: none; opacity: .2; }
.spark .band { fill: var(--_good); opacity: .12; }
`;

/** @param reference low and high of a reference range, drawn as a band where it lies within the picture */
export function sparkline(series: Series, reference: Readonly<{ low: number; high: number }> | null): TemplateResult {
  const { timesMs, values, flags, stepMs, lows, highs } = series;
  const usable = [values, lows, highs].flat().filter((value) => value !== null);
  if (usable.length === 0) return html`${nothing}`;
  const min = Math.min(...usable);
  const max = Math.max(...usable);
  // As in the chart: at least a tenth of the value from top to bottom, or a still line would look like a storm.
  const span = Math.max(max - min, Math.abs(max) * 0.1) || 1;
  const from = timesMs[0]!;
  const width = Math.max(1, timesMs.at(-1)! - from);
  const x = (timeMs: number): number => PAD + ((timeMs - from) / width) * (WIDTH - 2 * PAD);
  const y = (value: number): number => HEIGHT / 2 - ((value - (min + max) / 2) / span) * (HEIGHT - 2 * PAD);
  let good = '';
  let suspect = '';
  let goodEnd = '';
  let spread = '';
  // Of a few buckets, or only one, each is wide: the last one would reach far out of the picture.
  const bucketWidth = (timeMs: number): number => Math.min(Math.max(1, (stepMs / width) * (WIDTH - 2 * PAD)), WIDTH - x(timeMs));
  for (const [i, low] of lows.entries()) {
    const high = highs[i] ?? null;
    if (low !== null && high !== null && high > low)
      spread += `M${x(timesMs[i]!).toFixed(1)} ${y(high).toFixed(1)}V${y(low).toFixed(1)}h${bucketWidth(timesMs[i]!).toFixed(1)}V${y(high).toFixed(1)}z`;
  }
  let before: { at: string; timeMs: number; flag: number } | null = null;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value === null) {
      before = null;
      continue;
    }
    const timeMs = timesMs[i]!;
    const at = `${x(timeMs).toFixed(1)} ${y(value).toFixed(1)}`;
    const flag = flags[i]!;
    const joined: { at: string; timeMs: number; flag: number } | null =
      before !== null && timeMs - before.timeMs <= stepMs * 1.9 ? before : null;
    const part = joined === null ? `M${at}h.01` : `M${joined.at}L${at}`;
    const isSuspect = flag >= 1 || (joined?.flag ?? 0) >= 1;
    if (isSuspect) suspect += part;
    else good += goodEnd === joined?.at ? `L${at}` : part;
    goodEnd = isSuspect ? '' : at;
    before = { at, timeMs, flag };
  }
  const [bandTop, bandEnd] = [reference?.high, reference?.low].map((value = 0) => Math.max(0, Math.min(HEIGHT, y(value))));
  return html`<svg class="spark" part="sparkline" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
    ${reference === null ? nothing : svg`<rect class="band" x="0" width=${WIDTH} y=${bandTop} height=${bandEnd! - bandTop!} />`}
    ${svg`<path class="spread" d=${spread} /><path d=${good} /><path class="suspect" d=${suspect} />`}
  </svg>`;
}
