/** One uPlot: the series of one unit over time, each line before a band from the least to the greatest value of its buckets. Bad values are
 *  gaps, suspect ones are hollow triangles; a ribbon below the plot is as high as what is missing of good values, and hollow where there
 *  is no value at all. */
import UPlot from 'uplot';
import { medianStep, WHOLE } from '../shared/buckets.ts';
import type { Series } from '../shared/data.ts';
import type { ReferenceRange } from '../shared/reference-range.ts';
import { daySteps, tickTexts, timeSplits, timeSteps } from './ticks.ts';

export type PlotColors = Readonly<{
  ink: string;
  muted: string;
  line: string;
  surface: string;
  suspect: string;
  bad: string;
  good: string;
  /** One for each series; dashes tell them apart without colour. */
  series: readonly string[];
}>;

export type View = Readonly<{ fromMs: number; toMs: number }>;

export type PlotOptions = Readonly<{
  series: readonly Series[];
  /** Read again at every draw, so that a gesture moves what is drawn. */
  view: () => View;
  /** One bar for each day, not a line. */
  daily: boolean;
  heightPx: number;
  widthPx: number;
  locale: string;
  timeZone: string | undefined;
  reference: ReferenceRange | null;
  colors: PlotColors;
  font: string;
  onCursor: (index: number | null) => void;
}>;

/** uPlot's own stylesheet, as far as it is needed without its legend. */
export const plotCss = `
.uplot, .uplot *, .uplot *::before, .uplot *::after { box-sizing: border-box; }
.uplot { direction: ltr; position: relative; inline-size: 100%; }
.u-wrap { position: relative; user-select: none; }
.u-over, .u-under { position: absolute; }
.u-under { overflow: hidden; }
.uplot canvas { display: block; position: relative; inline-size: 100%; block-size: 100%; }
.u-axis { position: absolute; }
.u-cursor-x, .u-cursor-y { position: absolute; left: 0; top: 0; pointer-events: none; }
.u-cursor-x { block-size: 100%; border-inline-start: 1px dashed var(--_muted); }
.u-cursor-y { display: none; }
.u-cursor-pt { position: absolute; top: 0; left: 0; border-radius: 50%; border: 2px solid; pointer-events: none; }
.u-select, .u-legend, .u-hide, .u-off { display: none; }
`;

const dashes: readonly number[][] = [[], [8, 4], [2, 4], [12, 4, 2, 4]];
const RIBBON_PX = 8;
export type PlotRows = Readonly<{
  timesSec: number[];
  /** null breaks the line, undefined does not. */
  columns: (number | null | undefined)[][];
  /** Of each row, the row of the answer; -1 for a hole. */
  rowOf: number[];
  stepMs: number;
}>;

/** Rows for uPlot: times in seconds, and an explicit hole wherever buckets are missing. Rows in which none of these series has anything are
 *  left out: a value every 5 s asked for together with one every second is no row of gaps. */
export function withHoles(series: readonly Series[]): PlotRows {
  const { timesMs } = series[0]!;
  const held = (item: Series, i: number): boolean => item.values[i] !== null || item.flags[i]! > 0;
  const rows = [...timesMs.keys()].filter((i) => series.some((item) => held(item, i)));
  const stepMs = Math.min(medianStep(rows.map((i) => timesMs[i]!)), ...series.map(({ bucketMs }) => bucketMs || Infinity));
  const cells = series.map((item) => {
    const own = rows.filter((i) => held(item, i));
    const ownMs = item.bucketMs || medianStep(own.map((i) => timesMs[i]!));
    const [firstMs, lastMs] = [timesMs[own[0]!]!, timesMs[own.at(-1)!]!];
    // Before the first and after the last, too: the one before that and the next one are not due yet.
    const cell: (number | null | undefined)[] = timesMs.map((ms) => (firstMs - ms < ownMs && ms - lastMs < ownMs ? undefined : null));
    own.forEach((i, k) => {
      cell[i] = item.values[i] ?? null;
      const next = own[k + 1] ?? i;
      if (next > i) cell.fill(timesMs[next]! - timesMs[i]! <= ownMs * 1.9 ? undefined : null, i + 1, next);
    });
    return cell;
  });
  const timesSec: number[] = [];
  const rowOf: number[] = [];
  const columns: (number | null | undefined)[][] = series.map(() => []);
  const push = (timeMs: number, row: number): void => {
    timesSec.push(timeMs / 1000);
    rowOf.push(row);
    cells.forEach((cell, column) => columns[column]!.push(row < 0 ? null : cell[row]));
  };
  rows.forEach((row, k) => {
    const timeMs = timesMs[row]!;
    const beforeMs = timesMs[rows[k - 1] ?? row]!;
    if (timeMs - beforeMs > stepMs * 1.9) push(beforeMs + stepMs, -1);
    push(timeMs, row);
  });
  return { timesSec, columns, rowOf, stepMs };
}

export function createPlot(target: HTMLElement, options: PlotOptions): UPlot {
  const { series, colors, locale, timeZone, view, daily } = options;
  const rows = withHoles(series);
  const { columns, rowOf } = rows;
  // The bar of a day stands on its noon, and a pointer reads the bar that it is on.
  const noonSec = daily ? 43_200 : 0;
  const timesSec = rows.timesSec.map((time) => time + noonSec);
  const hasValues = columns.flat().some((value) => typeof value === 'number');
  const axis = {
    stroke: colors.muted,
    font: `12px ${options.font}`,
    grid: { stroke: colors.line, width: 1 },
    ticks: { stroke: colors.line, width: 1, size: 4 },
  };
  const plot = new UPlot(
    {
      width: options.widthPx,
      height: options.heightPx,
      legend: { show: false },
      cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 8 } },
      padding: [10, 18, 0, 0],
      scales: {
        x: { time: false, range: () => [view().fromMs / 1000, view().toMs / 1000] },
        y: {
          range: (_, min, max) => {
            const all = series
              .flatMap(({ lows, highs }) => [lows, highs].flat())
              .concat(min, max)
              .filter((value) => value !== null);
            if (daily) all.push(0);
            return all.length === 0 ? [0, 1] : honestRange(Math.min(...all), Math.max(...all), options.reference);
          },
        },
      },
      axes: [
        {
          ...axis,
          space: 60,
          size: 30,
          incrs: [...(daily ? daySteps : timeSteps)],
          splits: (_self, _axis, from, to, step) => timeSplits(from, to, step, timeZone).map((sec) => sec + noonSec),
          values: (_, splits, _axis, _space, step) => tickTexts(splits, step, view().toMs - view().fromMs, locale, timeZone),
        },
        // Without a value there is no scale.
        {
          ...axis,
          size: 52,
          space: 28,
          values: (_, splits, _axis, _space, step) => splits.map((split) => (hasValues ? valueText(split, step, locale) : '')),
        },
      ],
      series: [
        {},
        ...series.map((_, i): UPlot.Series => {
          const points = { size: 4, space: 12, fill: colors.series[i % colors.series.length]! };
          const stroke = colors.series[i % colors.series.length]!;
          if (daily) return { stroke, fill: stroke, width: 0, paths: barPaths(i, series.length), points: { show: false } };
          return { stroke, width: 2, dash: dashes[i % dashes.length]!, paths: linePath, points };
        }),
      ],
      hooks: {
        drawAxes: [
          (self) => {
            drawReference(self, options.reference, colors);
            series.forEach((item, i) => {
              if (!daily && !item.compared) drawBand(self, item, colors.series[i % colors.series.length]!);
            });
          },
        ],
        draw: [
          (self) => {
            drawQuality(
              self,
              series.filter(({ compared }) => !compared),
              rows,
              noonSec,
              colors,
            );
            drawSuspect(self, series, rowOf, daily, colors);
          },
        ],
        setCursor: [
          (self) => {
            const index = self.cursor.idx;
            const row = index === null || index === undefined ? undefined : rowOf[index];
            options.onCursor(row === undefined || row < 0 ? null : row);
          },
        ],
      },
    },
    [timesSec, ...columns],
    target,
  );
  return plot;
}

/** With as many decimals as the step between two: 57.5 stands above 55.0. */
function valueText(value: number, step: number, locale: string): string {
  const digits = /\.(\d+)/.exec(String(step))?.[1]!.length ?? 0;
  return new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
}

/** A line through the values: null breaks it, undefined does not. One that stands alone is a dot. */
const linePath: UPlot.Series.PathBuilder = (plot, column, from, to) => {
  const stroke = new Path2D();
  let run: [x: number, y: number][] = [];
  for (let i = from; i <= to + 1; i++) {
    const value = i > to ? null : plot.data[column]![i];
    if (typeof value === 'number') run.push([plot.valToPos(plot.data[0][i]!, 'x', true), plot.valToPos(value, 'y', true)]);
    if (value !== null) continue;
    run.forEach((at, k) => (k === 0 ? stroke.moveTo(...at) : stroke.lineTo(...at)));
    if (run.length === 1) stroke.arc(...run[0]!, UPlot.pxRatio, 0, 7);
    run = [];
  }
  return { stroke, flags: 1 };
};

/** Bars of a series, next to those of the others. */
function barPaths(place: number, count: number): UPlot.Series.PathBuilder {
  return (plot, column, from, to) => {
    const fill = new Path2D();
    const x = (sec: number): number => plot.valToPos(sec, 'x', true);
    const zero = plot.valToPos(Math.max(0, plot.scales['y']!.min!), 'y', true);
    for (let i = from; i <= to; i++) {
      const [sec, value] = [plot.data[0][i]!, plot.data[column]![i] ?? null];
      if (value === null) continue;
      const width = ((x(sec + 86_400) - x(sec)) * 0.8) / count;
      const top = plot.valToPos(value, 'y', true);
      fill.rect(x(sec) + width * (place - count / 2), top, width * 0.95, zero - top);
    }
    return { stroke: null, fill, flags: 1 };
  };
}

/** At least a tenth of the value from top to bottom, or a still line would look like a storm; the reference range is kept in view when
 *  near. */
export function honestRange(min: number, max: number, reference: ReferenceRange | null): [number, number] {
  let low = min;
  let high = max;
  const span = Math.max(high - low, Math.abs(high) * 0.1) || 10; // of zeros alone: what is counted has whole steps
  if (reference !== null) {
    if (Number.isFinite(reference.low) && reference.low > low - span) low = Math.min(low, reference.low);
    if (Number.isFinite(reference.high) && reference.high < high + span) high = Math.max(high, reference.high);
  }
  const extra = Math.max(0, span - (high - low)) / 2 + span * 0.08;
  return [min >= 0 ? Math.max(0, low - extra) : low - extra, high + extra];
}

function drawReference(plot: UPlot, reference: ReferenceRange | null, colors: PlotColors): void {
  if (reference === null) return;
  const { ctx, bbox } = plot;
  const clamp = (y: number): number => Math.min(bbox.top + bbox.height, Math.max(bbox.top, y));
  const top = Number.isFinite(reference.high) ? clamp(plot.valToPos(reference.high, 'y', true)) : bbox.top;
  const bottom = Number.isFinite(reference.low) ? clamp(plot.valToPos(reference.low, 'y', true)) : bbox.top + bbox.height;
  ctx.save();
  ctx.globalAlpha = 0.1;
  ctx.fillStyle = colors.good;
  ctx.fillRect(bbox.left, top, bbox.width, bottom - top);
  ctx.globalAlpha = 0.7;
  ctx.strokeStyle = colors.good;
  ctx.setLineDash([4, 4]);
  ctx.beginPath();
  for (const y of [top, bottom]) {
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
  }
  ctx.stroke();
  ctx.restore();
}

/** From the least to the greatest value of each bucket; broken where the line may be. */
function drawBand({ ctx, bbox, valToPos }: UPlot, { timesMs, lows, highs, bucketMs }: Series, color: string): void {
  const rows = [...timesMs.keys()].filter((i) => (lows[i] ?? highs[i] ?? null) !== null);
  const nearMs = (bucketMs || medianStep(rows.map((i) => timesMs[i]!))) * 1.9;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.globalAlpha = 0.2;
  ctx.fillStyle = ctx.strokeStyle = color;
  for (let from = 0, to = 0; from < rows.length; from = to) {
    to = from + 1;
    while (to < rows.length && timesMs[rows[to]!]! - timesMs[rows[to - 1]!]! <= nearMs) to++;
    const run = rows.slice(from, to);
    ctx.beginPath();
    for (const i of run) ctx.lineTo(valToPos(timesMs[i]! / 1000, 'x', true), valToPos(highs[i]!, 'y', true));
    for (const i of run.reverse()) ctx.lineTo(valToPos(timesMs[i]! / 1000, 'x', true), valToPos(lows[i]!, 'y', true));
    ctx.closePath();
    ctx.fill();
    ctx.stroke();
  }
  ctx.restore();
}

/** Newer values may be on their way, s. */
const COMING_SEC = 60;

/** Below the plot a ribbon: hatched as high as good values are missing, solid where nothing was
 *  usable, hollow where there is nothing.
 *  @param aheadSec how far before its time in the plot a bucket begins */
function drawQuality(plot: UPlot, series: readonly Series[], rows: PlotRows, aheadSec: number, colors: PlotColors): void {
  const { ctx, bbox } = plot;
  const { rowOf, stepMs } = rows;
  const times = plot.data[0];
  const dpr = UPlot.pxRatio;
  const stepSec = stepMs / 1000;
  const right = bbox.left + bbox.width;
  const bottom = bbox.top + bbox.height;
  const xAt = (sec: number): number => Math.min(right, Math.max(bbox.left, plot.valToPos(sec - aheadSec, 'x', true)));
  const drawHole = (fromSec: number, toSec: number): void => {
    const x = xAt(fromSec);
    ctx.strokeStyle = colors.muted;
    ctx.lineWidth = dpr;
    ctx.setLineDash([]);
    if (toSec - fromSec > 0.9 * stepSec) ctx.strokeRect(x, bottom - (RIBBON_PX - 0.5) * dpr, xAt(toSec) - x, (RIBBON_PX - 1) * dpr);
  };
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  let holeSec: number | null = plot.scales['x']!.min! + aheadSec;
  for (let i = 0; i < times.length; i++) {
    const row = rowOf[i]!;
    const missing = series.every((item) => (item.values[row] ?? null) === null);
    const worst = Math.max(...series.map((item) => item.flags[row] ?? 0));
    const share = Math.min(
      ...series.map((item, k) => {
        if (item.values[row] !== null) return item.shares[row]!;
        // What is measured now and then is never due: where another one was, it does not lack.
        return missing || item.flags[row]! > 0 || isComputed(item) ? shareOfNone(rows.columns[k]!, i) : 1;
      }),
    );
    if (row < 0 || (missing && worst === 0 && share === 0)) {
      holeSec ??= times[i]!;
      continue;
    }
    if (holeSec !== null) drawHole(holeSec, times[i]!);
    holeSec = null;
    if (worst === 0 && share > WHOLE) continue;
    const x = Math.floor(plot.valToPos(times[i]! - aheadSec, 'x', true));
    // To the next, where it follows: days have 23 to 25 hours, and values may come between two buckets.
    const nextSec = times[i + 1]! - times[i]! <= 1.9 * stepSec ? times[i + 1]! : times[i]! + stepSec;
    const width = Math.max(dpr, Math.ceil(Math.min(right, plot.valToPos(nextSec - aheadSec, 'x', true))) - x);
    const height = (missing ? 1 : 1 - share) * RIBBON_PX * dpr;
    const from = bottom - height;
    ctx.fillStyle = missing ? colors.bad : colors.suspect;
    ctx.globalAlpha = missing ? 1 : 0.35;
    ctx.fillRect(x, from, width, height);
    ctx.globalAlpha = 1;
    if (missing) continue;
    hatch(ctx, x, x + width, from, height, dpr, colors.suspect);
  }
  drawHole(holeSec ?? times.at(-1)! + stepSec, Math.min(Date.now() / 1000 - COMING_SEC, plot.scales['x']!.max!) + aheadSec);
  ctx.restore();
}

/** Triangles on suspect values, also of what is compared; of bars on their tops. */
function drawSuspect(plot: UPlot, series: readonly Series[], rowOf: readonly number[], daily: boolean, colors: PlotColors): void {
  const { ctx, bbox, data } = plot;
  const dpr = UPlot.pxRatio;
  const x = (sec: number): number => plot.valToPos(sec, 'x', true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const [place, { values, flags }] of series.entries()) {
    let last = -Infinity;
    for (const [i, row] of rowOf.entries()) {
      const value = values[row] ?? null;
      const sec = data[0][i]! + (daily ? barMiddle(place, series.length) : 0);
      if (flags[row] !== 1 || value === null || x(sec) - last < 10 * dpr) continue;
      last = x(sec);
      triangle(ctx, last, plot.valToPos(value, 'y', true), 4.5 * dpr, dpr, colors);
    }
  }
  ctx.restore();
}

/** From noon, s. */
const barMiddle = (place: number, count: number): number => (69_120 * (place + 0.475 - count / 2)) / count;

/** A feature that the catalog has not is computed, too. */
const isComputed = ({ source_type: source = 'derived' }: Series): boolean => source === 'derived';

/** Where its neighbours have values: 0 of a line that is broken here; 1 of one that comes more seldom, or not at all. */
const shareOfNone = (column: PlotRows['columns'][number], i: number): number =>
  column[i] === null && column.some((value) => typeof value === 'number') ? 0 : 1;

function hatch(ctx: CanvasRenderingContext2D, from: number, to: number, top: number, height: number, dpr: number, color: string): void {
  const period = 5 * dpr;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5 * dpr;
  ctx.setLineDash([]);
  ctx.beginPath();
  for (let x = Math.ceil(from / period) * period; x < to; x += period) {
    ctx.moveTo(x, top + height);
    ctx.lineTo(x + height, top);
  }
  ctx.stroke();
}

function triangle(ctx: CanvasRenderingContext2D, x: number, y: number, radius: number, dpr: number, colors: PlotColors): void {
  ctx.beginPath();
  ctx.moveTo(x, y - radius);
  ctx.lineTo(x + radius, y + radius * 0.8);
  ctx.lineTo(x - radius, y + radius * 0.8);
  ctx.closePath();
  ctx.fillStyle = colors.surface;
  ctx.fill();
  ctx.strokeStyle = colors.suspect;
  ctx.lineWidth = 1.6 * dpr;
  ctx.setLineDash([]);
  ctx.stroke();
}
