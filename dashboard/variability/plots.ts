/** Pictures of a window's intervals: over time, each against the one before, and their spectrum. Marks differ by shape, too. */
import { html, nothing, svg } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { Answer } from '../../sdk/request.ts';
import { t } from '../language.ts';

export type Series = Answer<'getVariability'>['series'][number];
export type Use = Series['beats']['use'][number];

/** What becomes of an interval, in words, and as a path around 0, 0. */
export const uses: Readonly<Record<Exclude<Use, 'none'>, Readonly<{ word: string; path: string }>>> = {
  nn: { word: t('counts'), path: 'h0' },
  ectopic: { word: t('left out: next to an ectopic beat'), path: 'm0-4.5 4.5 8h-9z' },
  rejected: { word: t('left out: does not fit'), path: 'm-3.5-3.5 7 7m0-7-7 7' },
  missed: { word: t('left out: a beat was not seen'), path: 'm0-5 5 5-5 5-5-5z' },
  unseen: { word: t('interpolated beat, no interval'), path: 'v-9' },
};
const CORRECTED = 'm-6-6h12v12h-12z';

/** Pixels around a plot. */
const [LEFT, RIGHT, TOP, BOTTOM] = [62, 12, 10, 34];

/** About so many round steps of a range. */
export function ticksOf(from: number, to: number, most: number): number[] {
  const rough = (to - from) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * power).find((one) => one >= rough) ?? rough;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step - 1e-9) * step; at <= to + step * 1e-9; at += step) ticks.push(Number(at.toPrecision(12)));
  return ticks;
}

/** Least and greatest of what is drawn, with some room. */
export function rangeOf(values: readonly number[], least: number): readonly [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low > high) return [500, 1200];
  const room = Math.max(least - (high - low), 0.08 * (high - low)) / 2;
  return [Math.max(0, low - room), high + room];
}

type Frame = Readonly<{ width: number; height: number; x: (value: number) => number; y: (value: number) => number }>;

function frameOf(width: number, height: number, [x0, x1]: readonly [number, number], [y0, y1]: readonly [number, number]): Frame {
  return {
    width,
    height,
    x: (value) => LEFT + ((value - x0) / (x1 - x0)) * (width - LEFT - RIGHT),
    y: (value) => height - BOTTOM - ((value - y0) / (y1 - y0)) * (height - TOP - BOTTOM),
  };
}

/** Half of a number below an axis: nearer to the edge it would be cut off. */
const LABEL_HALF_PX = 20;

type Axis = readonly (readonly [value: number, label: string])[];

function axes({ width, height, x, y }: Frame, across: Axis, up: Axis, names: readonly [string, string]): TemplateResult {
  return svg`<g class="axes">
    ${across.map(([value, label]) => {
      const isLast = x(value) > width - LABEL_HALF_PX;
      return svg`<line x1=${x(value)} x2=${x(value)} y1=${TOP} y2=${height - BOTTOM} /><text class=${isLast ? 'end' : 'middle'} x=${isLast ? width : x(value)} y=${height - BOTTOM + 15}>${label}</text>`;
    })}
    ${up.map(([value, label]) => svg`<line x1=${LEFT} x2=${width - RIGHT} y1=${y(value)} y2=${y(value)} /><text class="end" x=${LEFT - 6} y=${y(value) + 4}>${label}</text>`)}
    <text class="end" x=${width - RIGHT} y=${height - 3}>${names[0]}</text><text x="2" y=${height - 3}>${names[1]}</text>
  </g>`;
}

const at = (x: number, y: number): string => `M${x.toFixed(1)} ${y.toFixed(1)}`;

export type Shown = Readonly<{
  width: number;
  /** Its beginning, Unix ms. */
  fromMs: number;
  lengthMs: number;
  /** Time of the window's clock, ms after its beginning. */
  clock: (ms: number) => string;
  number: (value: number) => string;
  /** Place in the beats; -1: none. */
  cursor: number;
  /** Being dragged, ms after the beginning. */
  drag: readonly [number, number] | null;
}>;

const TACHOGRAM_PX = 260;
/** Between times below it, ms, and the room of one. */
const stepsMs = [2, 5, 10, 15, 30, 60, 120, 300, 600].map((sec) => 1000 * sec);
const LABEL_PX = 84;

/** Milliseconds after the beginning of a window at a pixel of its tachogram. */
export const msAt = (px: number, { width, lengthMs }: Pick<Shown, 'width' | 'lengthMs'>): number =>
  Math.min(lengthMs, Math.max(0, ((px - LEFT) / (width - LEFT - RIGHT)) * lengthMs));

/** Intervals over time. A line joins those that count and share a beat; what is left out stands alone. */
export function tachogram({ beats }: Series, { width, fromMs, lengthMs, clock, number, cursor, drag }: Shown): TemplateResult {
  const drawn = beats.interval_ms.filter((ms) => ms !== null);
  const range = rangeOf(drawn, 100);
  const frame = frameOf(width, TACHOGRAM_PX, [0, lengthMs], range);
  const { x, y } = frame;
  let line = '';
  const marks: Record<Exclude<Use, 'none'>, string> = { nn: '', ectopic: '', rejected: '', missed: '', unseen: '' };
  let corrected = '';
  for (const [i, ms] of beats.interval_ms.entries()) {
    const [use, px] = [beats.use[i]!, x(beats.at_ms[i]!)];
    if (use === 'none') continue;
    const py = ms === null ? y(range[0]) : y(ms);
    if (use === 'nn') line += beats.is_pair[i] ? `L${px.toFixed(1)} ${py.toFixed(1)}` : at(px, py);
    marks[use] += at(px, py) + uses[use].path;
    if (beats.said[i] !== null) corrected += at(px, py) + CORRECTED;
  }
  const stepMs = stepsMs.find((one) => (one / lengthMs) * width > LABEL_PX) ?? lengthMs;
  const steps: (readonly [number, string])[] = [];
  for (let ms = stepMs - (fromMs % stepMs); x(ms) < width - LABEL_PX / 2; ms += stepMs) steps.push([ms, clock(ms)]);
  const up = ticksOf(range[0], range[1], 5).map((ms): readonly [number, string] => [ms, number(ms)]);
  const cursorMs = beats.at_ms[cursor];
  return html`<svg viewBox="0 0 ${width} ${TACHOGRAM_PX}" aria-hidden="true">
    ${axes(frame, steps, up, ['', 'ms'])}
    ${drag === null ? nothing : svg`<rect class="drag" x=${x(Math.min(...drag))} width=${Math.abs(x(drag[1]) - x(drag[0]))} y=${TOP} height=${TACHOGRAM_PX - TOP - BOTTOM} />`}
    ${cursorMs === undefined ? nothing : svg`<line class="cursor" x1=${x(cursorMs)} x2=${x(cursorMs)} y1=${TOP} y2=${TACHOGRAM_PX - BOTTOM} />`}
    <path class="line" d=${line} />
    ${Object.entries(marks).map(([use, path]) => svg`<path class=${use} d=${path} />`)}
    <path class="said" d=${corrected} />
  </svg>`;
}

/** A mark as the legend shows it. */
export const markOf = (use: Exclude<Use, 'none'> | 'said'): TemplateResult =>
  html`<svg viewBox="-8 -8 16 16" width="16" height="16" aria-hidden="true">
    <path class=${use} d=${`M0 ${use === 'unseen' ? 4 : 0}${use === 'said' ? CORRECTED : uses[use].path}`} />
  </svg>`;

type Ellipse = Readonly<{ mean: number; sd1: number; sd2: number }>;

/** Each interval against the one before, the line of identity, and the ellipse of SD1 and SD2. */
export function poincare(
  { beats, signal }: Series,
  ellipse: Ellipse | null,
  width: number,
  number: (value: number) => string,
): TemplateResult {
  const counted = beats.interval_ms.filter((_, i) => beats.is_pair[i] || beats.is_pair[i + 1]) as number[];
  const range = rangeOf(counted, 100);
  const height = width - LEFT - RIGHT + TOP + BOTTOM;
  const frame = frameOf(width, height, range, range);
  const { x, y } = frame;
  let path = '';
  for (const [i, isPair] of beats.is_pair.entries()) if (isPair) path += `${at(x(beats.interval_ms[i - 1]!), y(beats.interval_ms[i]!))}h0`;
  const ticks = ticksOf(range[0], range[1], 5).map((ms): readonly [number, string] => [ms, number(ms)]);
  const pxPerMs = x(1) - x(0);
  const [inX, inY] = [width - LEFT - RIGHT, height - TOP - BOTTOM];
  return html`<svg viewBox="0 0 ${width} ${height}" width=${width} aria-hidden="true">
    ${axes(frame, ticks, ticks, signal === 'ppg' ? ['PP n, ms', 'PP n+1, ms'] : ['RR n, ms', 'RR n+1, ms'])}
    <line class="identity" x1=${x(range[0])} y1=${y(range[0])} x2=${x(range[1])} y2=${y(range[1])} />
    <path class="nn" d=${path} />
    ${
      ellipse === null
        ? nothing
        : svg`<svg class="inside" x=${LEFT} y=${TOP} width=${inX} height=${inY} viewBox="${LEFT} ${TOP} ${inX} ${inY}"><g transform="translate(${x(ellipse.mean)} ${y(ellipse.mean)}) rotate(-45)" class="ellipse">
        <ellipse rx=${ellipse.sd2 * pxPerMs} ry=${ellipse.sd1 * pxPerMs} />
        <line x1=${-ellipse.sd2 * pxPerMs} x2=${ellipse.sd2 * pxPerMs} /><line y1=${-ellipse.sd1 * pxPerMs} y2=${ellipse.sd1 * pxPerMs} />
      </g></svg>`
    }
  </svg>`;
}

/** Power from which the axis has s²/Hz: longer numbers are cut off, ms²/Hz. */
const LARGE_MS2 = 1e6;
/** Of the axis to the highest peak: names of bands stand above its mark. */
const HEADROOM = 1.2;

/** Power by frequency, its bands shaded, their highest peaks marked. */
export function spectrum(
  of: NonNullable<Series['spectrum']>,
  width: number,
  number: (value: number, digits?: number) => string,
): TemplateResult {
  const height = Math.min(width, 340);
  const { density_ms2_hz: density, step_hz: step, bands } = of;
  const first = Math.ceil(bands[0]!.from_hz / step);
  let top = 1;
  for (let k = first; k < density.length; k++) top = Math.max(top, density[k]!);
  const frame = frameOf(width, height, [0, 0.5], [0, HEADROOM * top]);
  const { x, y } = frame;
  const point = (k: number): string => `${x(k * step).toFixed(1)} ${y(density[k]!).toFixed(1)}`;
  const ticks = ticksOf(0, 0.5, 5).map((hz): readonly [number, string] => [hz, number(hz, 1)]);
  const isLarge = top >= LARGE_MS2;
  const up = ticksOf(0, top, 4).map((power): readonly [number, string] => [power, isLarge ? number(power / LARGE_MS2, 1) : number(power)]);
  const areas = bands.map(({ name, from_hz: from, to_hz: to, peak_hz: peak }) => {
    const [start, end] = [Math.ceil(from / step), Math.ceil(to / step)];
    let path = `M${x(start * step).toFixed(1)} ${y(0)}`;
    for (let k = start; k <= end; k++) path += `L${point(k)}`;
    const peakY = peak === null ? 0 : y(density[Math.round(peak / step)]!);
    const middle = name === 'vlf' ? x(0.004) : x((from + to) / 2);
    return svg`<path class="band ${name}" d=${`${path}L${x(end * step).toFixed(1)} ${y(0)}z`} />
      <line class="edge" x1=${x(to)} x2=${x(to)} y1=${TOP} y2=${height - BOTTOM} />
      <text class=${name === 'vlf' ? '' : 'middle'} x=${middle} y=${TOP + 12}>${name.toUpperCase()}</text>
      ${peak === null ? nothing : svg`<path class="peak" d=${`${at(x(peak), peakY - 2)}l-4-7h8z`} />`}`;
  });
  let line = '';
  for (let k = first; k < density.length; k++) line += `${k === first ? 'M' : 'L'}${point(k)}`;
  return html`<svg viewBox="0 0 ${width} ${height}" width=${width} aria-hidden="true">
    ${axes(frame, ticks, up, ['Hz', isLarge ? 's²/Hz' : 'ms²/Hz'])}${areas}
    <path class="line" d=${line} />
  </svg>`;
}
