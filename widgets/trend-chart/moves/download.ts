/** Files of a chart: its numbers as CSV, its picture as PNG or SVG. */
import type { Series } from '../../shared/data.ts';
import { atWallTime, wallTime } from '../../shared/days.ts';
import { unitLabel } from '../../shared/format.ts';
import type { ChartHost, Shown } from '../moves-host.ts';

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
  return new Date(wall).toISOString().replace(/\.000Z$|Z$/, (end) => (end === 'Z' ? '' : '')) + offset;
}

/** One row for each bucket; of each series its value, extremes, quality and good share. */
export function csvOf(series: readonly Series[], timeZone: string | undefined): string {
  const head = series.flatMap(({ name, unit }) => {
    const of = `${name}${unit === '' ? '' : ` (${unit})`}`;
    return [of, `${of} min`, `${of} max`, `${name} quality`, `${name} good share`];
  });
  const text = (value: number | null | undefined): string => (value === null || value === undefined ? '' : String(value));
  const rows = (series[0]?.timesMs ?? []).map((timeMs, i) => [
    localIso(timeMs, timeZone),
    ...series.flatMap(({ values, lows, highs, flags, shares }) => {
      const there = values[i] !== null || flags[i]! > 0;
      return there
        ? [text(values[i]), text(lows[i]), text(highs[i]), words[Math.min(2, flags[i]!)]!, text(Math.round(shares[i]! * 1000) / 1000)]
        : ['', '', '', '', ''];
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

/** The plots below one another, with their legend, on the card's own ground. */
export async function pngOf(host: ChartHost, { title, period }: Labels): Promise<Blob | null> {
  const plots = host.plots();
  const [first] = plots;
  const data = host.data();
  if (first === undefined || data === null) return null;
  const dpr = globalThis.devicePixelRatio || 1;
  const { width } = first.ctx.canvas;
  const line = 20 * dpr;
  const style = getComputedStyle(host.root.querySelector('.card')!);
  const legends = legendsOf(host);
  const canvas = document.createElement('canvas');
  canvas.width = width + 2 * line;
  canvas.height = plots.reduce((sum, plot) => sum + plot.ctx.canvas.height + line * 1.2, 3.6 * line);
  const ctx = canvas.getContext('2d')!;
  ctx.fillStyle = style.backgroundColor;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.fillStyle = style.color;
  const write = (text: string, y: number, size: number): void => {
    ctx.font = `${size * dpr}px ${style.fontFamily}`;
    ctx.fillText(text, line, y);
  };
  write(title, 1.4 * line, 16);
  write(period, 2.3 * line, 12);
  let y = 3 * line;
  plots.forEach((plot, i) => {
    write(legends[i] ?? '', y + line * 0.7, 12);
    ctx.drawImage(plot.ctx.canvas, line, y + line);
    y += plot.ctx.canvas.height + line * 1.2;
  });
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}

const legendsOf = ({ root }: ChartHost): string[] =>
  [...root.querySelectorAll('.legend')].map((list) =>
    [...list.querySelectorAll('li')].map((item) => item.querySelector('span')?.textContent?.trim() ?? '').join(' · '),
  );

const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (char) => `&#${char.codePointAt(0)};`).replaceAll(/\p{Cc}/gu, ' ');

const WIDTH = 900;
const PLOT = { left: 60, right: 20, height: 180, gap: 46 } as const;
const dashes = ['', '8 4', '2 4', '12 4 2 4'];
const inks = ['#10243a', '#a3359b', '#0a5fb4', '#8a4b08'];

/** The same picture as lines that can be printed at any size. It is made from the numbers: a canvas has none of its own. */
export function svgOf(host: ChartHost, groups: readonly (readonly Series[])[], { title, period }: Labels): string {
  const data = host.data()!;
  const height = 60 + groups.length * (PLOT.height + PLOT.gap) + 10;
  const body = groups.map((group, i) => plotSvg(host, data, group, i));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12" fill="#14191f"><rect width="100%" height="100%" fill="#fff"/><text x="20" y="24" font-size="16">${escaped(title)}</text><text x="20" y="42" fill="#54606e">${escaped(period)}</text>${body.join('')}</svg>`;
}

function plotSvg(host: ChartHost, { fromMs, toMs, daily }: Shown, group: readonly Series[], i: number): string {
  const { min, max } = host.plots()[i]!.scales['y'] as { min: number; max: number };
  const top = 60 + i * (PLOT.height + PLOT.gap);
  const [left, right, bottom] = [PLOT.left, WIDTH - PLOT.right, top + PLOT.height];
  const x = (ms: number): number => left + ((ms - fromMs) / (toMs - fromMs)) * (right - left);
  const y = (value: number): number => bottom - ((value - min) / (max - min)) * PLOT.height;
  const at = (px: number): string => px.toFixed(1);
  const number = new Intl.NumberFormat(host.locale(), { maximumSignificantDigits: 4 });
  const time = new Intl.DateTimeFormat(host.locale(), {
    timeZone: host.timeZone(),
    dateStyle: 'short',
    ...(!daily && { timeStyle: 'short' }),
  });
  const grid = [0, 1, 2, 3, 4].map((i) => {
    const value = min + (i * (max - min)) / 4;
    return `<path d="M${left} ${at(y(value))}H${right}" stroke="#d9dfe5"/><text x="${left - 6}" y="${at(y(value) + 4)}" text-anchor="end">${number.format(value)}</text>`;
  });
  const ticks = [0, 1, 2, 3, 4].map((i) => {
    const wall = wallTime(fromMs + (i * (toMs - fromMs)) / 4, host.timeZone());
    const ms = i % 4 === 0 ? (i === 0 ? fromMs : toMs) : atWallTime(Math.round(wall / 60_000) * 60_000, host.timeZone());
    const anchor = i === 0 ? 'start' : i === 4 ? 'end' : 'middle';
    return `<text x="${at(x(ms))}" y="${bottom + 16}" text-anchor="${anchor}">${escaped(time.format(ms - (i === 4 && daily ? 1 : 0)))}</text>`;
  });
  const legend = group.map(({ name, unit }) => `${name}${unitLabel(unit) === '' ? '' : ` (${unitLabel(unit)})`}`).join(' · ');
  const lines = group.map((item, k) => (daily ? barsSvg(item, k, group.length, x, y, at) : lineSvg(item, k, x, y, at)));
  return `<text x="20" y="${top - 8}">${escaped(legend)}</text>${grid.join('')}${ticks.join('')}${lines.join('')}`;
}

type Scale = (value: number) => number;

function lineSvg(
  { timesMs, values, lows, highs, stepMs, flags }: Series,
  k: number,
  x: Scale,
  y: Scale,
  at: (px: number) => string,
): string {
  const ink = inks[k % 4]!;
  let line = '';
  let band = '';
  let last = -Infinity;
  let marks = '';
  values.forEach((value, i) => {
    if (value === null) return;
    const ms = timesMs[i]!;
    line += `${ms - last > stepMs * 1.9 ? 'M' : 'L'}${at(x(ms))} ${at(y(value))}`;
    last = ms;
    const [low, high] = [lows[i] ?? null, highs[i] ?? null];
    if (low !== null && high !== null && high > low) band += `M${at(x(ms))} ${at(y(low))}V${at(y(high))}`;
    if (flags[i] === 1) marks += `M${at(x(ms))} ${at(y(value) - 4)}l4 7h-8z`;
  });
  const wide = Math.max(1, x(stepMs) - x(0)).toFixed(1);
  return (
    `<path d="${band}" stroke="${ink}" stroke-width="${wide}" opacity=".2" fill="none"/>` +
    `<path d="${line}" stroke="${ink}" stroke-width="1.6" stroke-dasharray="${dashes[k % 4]!}" fill="none"/>` +
    `<path d="${marks}" stroke="#8a5600" fill="#fff"/>`
  );
}

function barsSvg({ timesMs, values }: Series, k: number, count: number, x: Scale, y: Scale, at: (px: number) => string): string {
  const width = ((x(864e5) - x(0)) * 0.8) / count;
  const bars = values.map((value, i) => {
    if (value === null) return '';
    const from = x(timesMs[i]! + 432e5) + width * (k - count / 2);
    return `M${at(from)} ${at(y(0))}V${at(y(value))}h${at(width * 0.95)}V${at(y(0))}z`;
  });
  return `<path d="${bars.join('')}" fill="${inks[k % 4]!}"/>`;
}
