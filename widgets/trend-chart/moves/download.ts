/** Files of a chart: its numbers as CSV, its picture as PNG or SVG. */
import type { Series } from '../../shared/data.ts';
import { wallTime } from '../../shared/days.ts';
import { formatNumber, unitLabel } from '../../shared/format.ts';
import { medianStep, WHOLE } from '../../shared/buckets.ts';
import { parseReference } from '../../shared/reference-range.ts';
import { holesOf } from './holes.ts';
import type { ChartHost, Shown } from '../moves-host.ts';
import { daySteps, tickTexts, timeSplits, timeSteps } from '../ticks.ts';

const words = ['good', 'suspect', 'unusable'];

/** RFC 4180. A field that a spreadsheet would take for a formula begins with an apostrophe. */
function field(text: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^-\d+(\.\d+)?(e[+-]?\d+)?$/.test(text);
  const plain = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

/** ISO 8601 with the offset of the clocks then: 2026-03-29T03:00:00+02:00. */
export function localIso(timeMs: number, timeZone: string | undefined): string {
  const wall = wallTime(timeMs, timeZone);
  const minutes = Math.round((wall - timeMs) / 60_000);
  const two = (value: number): string => String(Math.floor(Math.abs(value))).padStart(2, '0');
  const offset = minutes === 0 ? 'Z' : `${minutes < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
  return new Date(wall).toISOString().replace(/(\.000)?Z$/, '') + offset;
}

/** "hr_ecg_v11": numbers and pictures that leave the page say what they are, newest version first. */
const methodsOf = ({ method_codes: codes = [] }: Series): string => codes.map((code) => code.replace(/^derived:/, '')).join(' ');

/** One row for each bucket; of each series its value, extremes, quality, good share and method. */
export function csvOf(series: readonly Series[], timeZone: string | undefined): string {
  const head = series.flatMap(({ name, unit }) => {
    const of = `${name}${unit === '' ? '' : ` (${unit})`}`;
    return [of, `${of} min`, `${of} max`, `${name} quality`, `${name} good share`, `${name} method`];
  });
  const text = (value: number | null | undefined): string =>
    value === null || value === undefined ? '' : String(Number(value.toPrecision(12))); // without the dust of means
  const rows = (series[0]?.timesMs ?? []).map((timeMs, i) => [
    localIso(timeMs, timeZone),
    ...series.flatMap((item) => {
      const { values, lows, highs, flags, shares } = item;
      const there = values[i] !== null || flags[i]! > 0;
      return there
        ? [
            text(values[i]),
            text(lows[i]),
            text(highs[i]),
            words[Math.min(2, flags[i]!)]!,
            text(Math.round(shares[i]! * 1000) / 1000),
            methodsOf(item),
          ]
        : Array<string>(6).fill('');
    }),
  ]);
  return [['time', ...head], ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('');
}

export function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** 2026-03-01_2026-03-08, on the clocks of the chart. */
export function fileName(title: string, { fromMs, toMs }: Shown, timeZone: string | undefined): string {
  const [from, to] = [fromMs, toMs - 1].map((ms) => new Date(wallTime(ms, timeZone)).toISOString().slice(0, 10));
  const stem =
    title
      .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 60) || 'chart';
  return `${stem}_${from}${to === from ? '' : `_${to}`}`;
}

export type Labels = Readonly<{ title: string; period: string }>;

/** With unit and method: a picture stands alone. */
const labelOf = (item: Series): string => {
  const unit = unitLabel(item.unit);
  return [unit === '' ? item.name : `${item.name} (${unit})`, methodsOf(item)].filter((text) => text !== '').join(', ');
};

/** A line of the legend: what stands there, and how its line looks. */
type Entry = Readonly<{ text: string; color: string; dash: readonly number[] }>;

/** Of each plot, as the card shows it. */
function legendsOf({ root }: ChartHost, groups: readonly (readonly Series[])[]): Entry[][] {
  const colors = ['c0', 'c1', 'c2', 'c3'].map((name) => {
    const line = root.querySelector(`.legend .${name}`);
    return line === null ? '' : getComputedStyle(line).color;
  });
  return groups.map((group) => group.map((item, k) => ({ text: labelOf(item), color: colors[k % 4]!, dash: dashes[k % 4]! })));
}

const SWATCH = 30;
const ENTRY_GAP = 16;

/** Entries one after the other, in as many lines as they need.  @returns of each its place, and the number of lines */
function flow(widths: readonly number[], room: number): { places: readonly (readonly [x: number, line: number])[]; lines: number } {
  let [x, line] = [0, 0];
  const places = widths.map((width) => {
    if (x > 0 && x + width > room) [x, line] = [0, line + 1];
    const place = [x, line] as const;
    x += width + ENTRY_GAP;
    return place;
  });
  return { places, lines: line + 1 };
}

/** The plots below one another, with their legend, on the card's own ground. */
export async function pngOf(host: ChartHost, groups: readonly (readonly Series[])[], { title, period }: Labels): Promise<Blob | null> {
  const plots = host.plots();
  const [first] = plots;
  if (first === undefined) return null;
  const dpr = globalThis.devicePixelRatio || 1;
  const { width } = first.ctx.canvas;
  const line = 20 * dpr;
  const style = getComputedStyle(host.root.querySelector('.card')!);
  const canvas = document.createElement('canvas');
  const ctx = canvas.getContext('2d')!;
  const font = (size: number): string => `${size * dpr}px ${style.fontFamily}`;
  ctx.font = font(12);
  const legends = legendsOf(host, groups).map((entries) => {
    const widths = entries.map(({ text }) => SWATCH * dpr + ctx.measureText(text).width);
    return { entries, ...flow(widths, width) };
  });
  canvas.width = width + 2 * line;
  canvas.height = plots.reduce((sum, plot, i) => sum + plot.ctx.canvas.height + (legends[i]!.lines + 0.4) * line, 3.4 * line);
  ctx.fillStyle = style.backgroundColor;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  const write = (text: string, x: number, y: number, size: number): void => {
    ctx.fillStyle = style.color;
    ctx.font = font(size);
    ctx.fillText(text, x, y, canvas.width - x - line / 2);
  };
  write(title, line, 1.4 * line, 16);
  write(period, line, 2.3 * line, 12);
  let y = 3 * line;
  plots.forEach((plot, i) => {
    const { entries, places, lines } = legends[i]!;
    entries.forEach(({ text, color, dash }, k) => {
      const [x, row] = places[k]!;
      const middle = y + line * (row + 0.5);
      ctx.strokeStyle = color;
      ctx.lineWidth = 2.5 * dpr;
      ctx.setLineDash(dash.map((length) => length * dpr));
      ctx.beginPath();
      ctx.moveTo(line + x, middle);
      ctx.lineTo(line + x + 24 * dpr, middle);
      ctx.stroke();
      write(text, line + x + SWATCH * dpr, middle + 4 * dpr, 12);
    });
    y += lines * line;
    ctx.drawImage(plot.ctx.canvas, line, y);
    y += plot.ctx.canvas.height + 0.4 * line;
  });
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (char) => `&#${char.codePointAt(0)};`).replaceAll(/[\p{Cc}\ufffe\uffff]/gu, ' ');

const WIDTH = 900;
const PLOT = { left: 60, right: 20, height: 180, below: 30 } as const;
const LINE = 18;
/** Of a letter of 12 px, about. */
const LETTER = 6.4;
const RIBBON = 8;
const dashes: readonly (readonly number[])[] = [[], [8, 4], [2, 4], [12, 4, 2, 4]];
const inks = ['#10243a', '#a3359b', '#0a5fb4', '#8a4b08'];
const at = (px: number): string => String(Math.round(px * 10) / 10);

/** The same picture as lines that can be printed at any size. It is made from the numbers: a canvas has none of its own. */
export function svgOf(host: ChartHost, groups: readonly (readonly Series[])[], { title, period }: Labels): string {
  const data = host.data()!;
  let top = 52;
  const body = groups.map((group, i) => {
    const legend = legendSvg(group, top);
    top += legend.height;
    const plot = plotSvg(host, data, group, i, top);
    top += PLOT.height + PLOT.below;
    return legend.svg + plot;
  });
  const hatch =
    '<pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse"><path d="M-1 1 1-1M0 5 5 0M4 6l2-2" stroke="#8a5600"/></pattern>';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" width="${WIDTH}" height="${top}" font-family="system-ui, sans-serif" font-size="12" fill="#14191f"><defs>${hatch}</defs><rect width="100%" height="100%" fill="#fff"/><text x="20" y="24" font-size="16">${escaped(title)}</text><text x="20" y="42" fill="#54606e">${escaped(period)}</text>${body.join('')}</svg>`;
}

function legendSvg(group: readonly Series[], top: number): { svg: string; height: number } {
  const texts = group.map(labelOf);
  const { places, lines } = flow(
    texts.map((text) => SWATCH + text.length * LETTER),
    WIDTH - 40,
  );
  const svg = texts.map((text, k) => {
    const [x, line] = places[k]!;
    const y = top + LINE * (line + 0.5);
    return `<path d="M${at(20 + x)} ${y}h24" stroke="${inks[k % 4]!}" stroke-width="2.5" stroke-dasharray="${dashes[k % 4]!.join(' ')}"/><text x="${at(20 + x + SWATCH)}" y="${y + 4}">${escaped(text)}</text>`;
  });
  return { svg: svg.join(''), height: lines * LINE + 8 };
}

/** 1, 2 or 5 and zeros: about so many steps between two values. */
function roundStep(span: number, count: number): number {
  const power = 10 ** Math.floor(Math.log10(span / count));
  return power * ([1, 2, 5, 10].find((step) => span / (step * power) <= count) ?? 10);
}

function plotSvg(host: ChartHost, { fromMs, toMs, daily }: Shown, group: readonly Series[], i: number, top: number): string {
  const { min, max } = host.plots()[i]!.scales['y'] as { min: number; max: number };
  const [left, right, bottom] = [PLOT.left, WIDTH - PLOT.right, top + PLOT.height];
  const x = (ms: number): number => left + ((ms - fromMs) / (toMs - fromMs)) * (right - left);
  const y = (value: number): number => bottom - ((value - min) / (max - min)) * PLOT.height;
  const step = roundStep(max - min, 5);
  const levels = Array.from({ length: 8 }, (_, k) => (Math.ceil(min / step) + k) * step).filter((value) => value <= max);
  const grid = levels.map(
    (value) =>
      `<path d="M${left} ${at(y(value))}H${right}" stroke="#d9dfe5"/><text x="${left - 6}" y="${at(y(value) + 4)}" text-anchor="end">${formatNumber(host.locale(), value, 4)}</text>`,
  );
  const steps = daily ? daySteps : timeSteps;
  const stepSec = steps.find((sec) => (toMs - fromMs) / 1000 / sec <= 9) ?? steps.at(-1)!;
  // The bar of a day stands on its noon.
  const splits = timeSplits(fromMs / 1000, toMs / 1000, stepSec, host.timeZone()).map((sec) => sec + (daily ? 43_200 : 0));
  const words = tickTexts(splits, stepSec, toMs - fromMs, host.locale(), host.timeZone());
  const ticks = splits.map(
    (sec, k) =>
      `<path d="M${at(x(sec * 1000))} ${top}V${bottom + 4}" stroke="#d9dfe5"/><text x="${at(x(sec * 1000))}" y="${bottom + 17}" text-anchor="middle">${escaped(words[k]!)}</text>`,
  );
  const range = parseReference(host.element.getAttribute('reference'), group[0]!.key);
  const within = (value: number): number => Math.min(bottom, Math.max(top, y(value)));
  const reference =
    range === null
      ? ''
      : `<rect x="${left}" y="${at(within(range.high))}" width="${right - left}" height="${at(within(range.low) - within(range.high))}" fill="#176f43" opacity=".1"/>`;
  const lines = group.map((item, k) => (daily ? barsSvg(item, k, group.length, x, y) : lineSvg(item, k, x, y)));
  const clip = `<clipPath id="plot${i}"><rect x="${left}" y="${top}" width="${right - left}" height="${PLOT.height}"/></clipPath>`;
  const holes = holesOf(group, { fromMs, toMs }, Date.now()).map(
    (hole) =>
      `<rect x="${at(x(hole.fromMs))}" y="${bottom - RIBBON}" width="${at(x(hole.toMs) - x(hole.fromMs))}" height="${RIBBON}" fill="none" stroke="#54606e"/>`,
  );
  return `${clip}${reference}${grid.join('')}${ticks.join('')}<g clip-path="url(#plot${i})">${lines.join('')}${daily ? '' : ribbonSvg(group, x, bottom)}${holes.join('')}</g>`;
}

type Scale = (value: number) => number;

function lineSvg({ timesMs, values, lows, highs, stepMs, bucketMs, flags, compared }: Series, k: number, x: Scale, y: Scale): string {
  const ink = inks[k % 4]!;
  const own = timesMs.filter((_, i) => values[i] !== null);
  const nearMs = (bucketMs || medianStep(own)) * 1.9;
  let line = '';
  let band = '';
  let last = -Infinity;
  let marks = '';
  let marked = -Infinity;
  values.forEach((value, i) => {
    if (value === null) {
      if (flags[i]! > 0) last = -Infinity;
      return;
    }
    const ms = timesMs[i]!;
    line += `${ms - last > nearMs ? 'M' : 'L'}${at(x(ms))} ${at(y(value))}`;
    last = ms;
    const [low, high] = [lows[i] ?? null, highs[i] ?? null];
    if (!compared && low !== null && high !== null && high > low) band += `M${at(x(ms))} ${at(y(low))}V${at(y(high))}`;
    if (flags[i] !== 1 || x(ms) - marked < 10) return;
    marked = x(ms);
    marks += `M${at(marked)} ${at(y(value) - 4)}l4 7h-8z`;
  });
  const wide = Math.max(1, x(stepMs) - x(0)).toFixed(1);
  return (
    `<path d="${band}" stroke="${ink}" stroke-width="${wide}" opacity=".2" fill="none"/>` +
    `<path d="${line}" stroke="${ink}" stroke-width="1.6" stroke-dasharray="${dashes[k % 4]!.join(' ')}" fill="none"/>` +
    `<path d="${marks}" stroke="#8a5600" fill="#fff"/>`
  );
}

/** As below the chart: hatched as high as good values are missing, solid where none was usable. Where there is none see holesOf. */
function ribbonSvg(group: readonly Series[], x: Scale, bottom: number): string {
  const own = group.filter(({ compared }) => !compared);
  const { timesMs = [], stepMs = 0 } = own[0] ?? {};
  return timesMs
    .map((ms, i) => {
      const held = own.filter(({ values, flags }) => values[i] !== null || flags[i]! > 0);
      if (held.length === 0) return '';
      const isMissing = held.every(({ values }) => values[i] === null);
      const share = isMissing ? 0 : Math.min(...held.map(({ shares }) => shares[i]!));
      if (share > WHOLE) return '';
      const high = (1 - share) * RIBBON;
      return `<rect x="${at(x(ms))}" y="${at(bottom - high)}" width="${at(x(ms + stepMs) - x(ms) + 0.2)}" height="${at(high)}" fill="${isMissing ? '#b3261e' : 'url(#hatch)'}"/>`;
    })
    .join('');
}

function barsSvg({ timesMs, values }: Series, k: number, count: number, x: Scale, y: Scale): string {
  const width = ((x(864e5) - x(0)) * 0.8) / count;
  const bars = values.map((value, i) => {
    if (value === null) return '';
    const from = x(timesMs[i]! + 432e5) + width * (k - count / 2);
    return `M${at(from)} ${at(y(0))}V${at(y(value))}h${at(width * 0.95)}V${at(y(0))}z`;
  });
  return `<path d="${bars.join('')}" fill="${inks[k % 4]!}"/>`;
}
