/** The shape of the pulse wave through the engine: against a direct computation from the recorded samples, at other rates, and behind
 *  filters such as devices have. There is no reference by people at hand: this says whether the values are what they are said to be. */
import { highPass, lowPass } from '../src/dsp/kernels/biquad.ts';
import type { Biquad } from '../src/dsp/kernels/biquad.ts';
import { pulseWaveFeatures } from '../src/dsp/rows/methods-pulse-wave.ts';
import { streamRows } from './hrv-stream.ts';
import type { StreamRows } from './hrv-stream.ts';
import { resample } from './mitdb-recordings.ts';
import { directMeasures, directMedian, directWave } from './pulse-wave-direct.ts';
import type { DirectWave } from './pulse-wave-direct.ts';
import { loadPpg, ppgChannels } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import { median } from './ppg-reference.ts';
import type { DatabaseFigure, Section } from './section.ts';

type Measure = (typeof directMeasures)[number];

/** Digits and unit of each in the table. */
const shown: Readonly<Record<Measure, readonly [number, string]>> = {
  crest: [1, 'ms'],
  width: [1, 'ms'],
  area: [3, ''],
  reflection: [1, '%'],
  delay: [1, 'ms'],
  ba: [3, ''],
  aging: [3, ''],
};

export const pulseWaveRates = [50, 64, 100, 125, 250, 300] as const;

/** What devices do to a pulse before they send it. */
const filters: Readonly<Record<string, (x: Float64Array, fs: number) => Float64Array>> = {
  'low-pass 10 Hz': (x, fs) => filtered(x, lowPass(10, fs)),
  'low-pass 5 Hz': (x, fs) => filtered(x, lowPass(5, fs)),
  'high-pass 0.5 Hz': (x, fs) => filtered(x, highPass(0.5, fs)),
};

function filtered(x: Float64Array, { b0, b1, b2, a1, a2 }: Biquad): Float64Array {
  const first = x.find((value) => value - value === 0) ?? 0;
  let [x1, x2, y1, y2, last] = [first, first, ((b0 + b1 + b2) * first) / (1 + a1 + a2), 0, first];
  y2 = y1;
  return x.map((value) => {
    if (value - value === 0) last = value;
    const y = b0 * last + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2;
    [x2, x1, y2, y1] = [x1, last, y1, y];
    return value - value === 0 ? y : Number.NaN;
  });
}

export type WaveFigures = Readonly<{
  values: number;
  good: number;
  /** Of the values flagged 0. */
  middle: number;
  /** Differences from the direct computation, of values flagged 0. */
  differences: readonly number[];
}>;

const engineRows = (x: Float64Array, fs: number): StreamRows => streamRows(ppgChannels([x], fs));

/** Value by time of one feature. */
const valuesOf = (rows: StreamRows, measure: Measure): ReadonlyMap<bigint, { value: number; qmask: number }> =>
  new Map((rows.features.get(pulseWaveFeatures[measure]) ?? []).map((row) => [row.tNs, row]));

/** The good pulses of the engine, each measured directly; by the time of its rise, s. */
function directly(
  { ppg, fs }: PpgItem,
  { beats }: StreamRows,
  isWanted: (t: number) => boolean,
): { at: number; next: number; wave: DirectWave }[] {
  const pulses = beats.filter(({ kind }) => kind !== 'interpolated');
  return pulses.flatMap((beat, i) => {
    const next = pulses[i + 1];
    if (next === undefined || Number.isNaN(beat.ibiMs) || Number.isNaN(next.ibiMs)) return [];
    if (beat.kind !== 'normal' || beat.quality > 0 || next.quality > 0) return [];
    const [at, nextAt] = [Number(beat.tNs) / 1e9, Number(next.tNs) / 1e9];
    if (!isWanted(at)) return [];
    const wave = directWave(ppg, fs, at, nextAt, beat.ibiMs / 1000);
    return wave === null ? [] : [{ at, next: nextAt, wave }];
  });
}

/** @param every compare the values of every so many windows */
export function againstDirect(items: readonly PpgItem[], every = 1): Record<Measure, WaveFigures> {
  const streams = items.map((item) => {
    const rows = engineRows(item.ppg, item.fs);
    return { rows, direct: directly(item, rows, (t) => every === 1 || (t + 60) % (30 * every) < 60) };
  });
  return byMeasure((measure) => {
    let values = 0;
    const good: number[] = [];
    const differences: number[] = [];
    for (const { rows, direct } of streams)
      for (const [tNs, { value, qmask }] of valuesOf(rows, measure)) {
        values++;
        if (qmask > 0) continue;
        good.push(value);
        const t = Number(tNs) / 1e9;
        if ((t / 30) % every !== 0) continue;
        const pulses = direct.filter(({ at, next }) => at > t - 60 && next <= t).map(({ wave }) => wave);
        differences.push(value - directMedian(pulses, measure));
      }
    return { values, good: good.length, middle: median(good), differences };
  });
}

function byMeasure<T>(of: (measure: Measure) => T): Record<Measure, T> {
  const [crest, width, area, reflection, delay, ba, aging] = directMeasures.map(of) as [T, T, T, T, T, T, T];
  return { crest, width, area, reflection, delay, ba, aging };
}

/** Differences of values that are flagged 0 both ways. */
export function changesBy(
  items: readonly PpgItem[],
  change: (item: PpgItem) => { x: Float64Array; fs: number },
): Record<Measure, number[]> {
  const pairs = items.map((item) => {
    const { x, fs } = change(item);
    return [engineRows(item.ppg, item.fs), engineRows(x, fs)] as const;
  });
  return byMeasure((measure) =>
    pairs.flatMap(([before, after]) => {
      const changed = valuesOf(after, measure);
      return [...valuesOf(before, measure)].flatMap(([tNs, { value, qmask }]) => {
        const other = changed.get(tNs);
        return qmask === 0 && other?.qmask === 0 ? [other.value - value] : [];
      });
    }),
  );
}

/** 50th and 95th percentile of the sizes. */
export function sizes(differences: readonly number[]): [number, number] {
  const sorted = differences.map(Math.abs).toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return [at(0.5), at(0.95)];
}

export function run(dataDir: string): Promise<Section | null> {
  const rows: string[][] = [['recordings', ...directMeasures.map((m) => `${m}${shown[m][1] === '' ? '' : `, ${shown[m][1]}`}`)]];
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  const pair = (m: Measure, differences: readonly number[]): string =>
    sizes(differences)
      .map((size) => size.toFixed(shown[m][0]))
      .join('; ');
  for (const set of ['bidmc', 'capnobase'] as const) {
    const items = loadPpg(dataDir, [set]);
    if (items.length === 0) continue;
    const direct = againstDirect(items);
    const row = (what: string, of: (m: Measure) => string): void => void rows.push([`${set}: ${what}`, ...directMeasures.map(of)]);
    row('median', (m) => direct[m].middle.toFixed(shown[m][0]));
    row('values; flagged 0, %', (m) => `${direct[m].values}; ${((100 * direct[m].good) / direct[m].values).toFixed(0)}`);
    row('from a direct computation', (m) => pair(m, direct[m].differences));
    const changed: Record<string, unknown> = {};
    const note = (what: string, differences: Record<Measure, number[]>): void => {
      row(what, (m) => pair(m, differences[m]));
      changed[what] = Object.fromEntries(directMeasures.map((m) => [m, sizes(differences[m])]));
    };
    for (const fs of pulseWaveRates.filter((rate) => rate !== items[0]!.fs))
      note(
        `at ${fs} Hz`,
        changesBy(items, (item) => ({ x: resample(item.ppg, item.fs, fs), fs })),
      );
    for (const [name, filter] of Object.entries(filters))
      note(
        name,
        changesBy(items, (item) => ({ x: filter(item.ppg, item.fs), fs: item.fs })),
      );
    note(
      'upside down',
      changesBy(items, (item) => ({ x: item.ppg.map((value) => -value), fs: item.fs })),
    );
    json[set] = { direct: Object.fromEntries(directMeasures.map((m) => [m, sizes(direct[m].differences)])), changed };
    for (const m of directMeasures)
      byDatabase.push({
        what: `${pulseWaveFeatures[m]}: from a direct computation, median; 95th percentile`,
        database: set,
        chosenOn: set === 'bidmc' ? 'in part' : 'no',
        n: `${direct[m].good} values`,
        figure: pair(m, direct[m].differences),
      });
  }
  if (byDatabase.length === 0) return Promise.resolve(null);
  return Promise.resolve({
    title: 'Shape of the pulse wave, through the engine',
    rows,
    json,
    byDatabase,
    notes: [
      'Differences: median; 95th percentile of their sizes, of values flagged 0 (both ways). The direct computation (accuracy/pulse-wave-direct.ts) has a grid of 2 ms and the recorded samples. Filters are of second order, as a device applies them: what they change is no fault of the method, it is why values of different devices are not compared.',
    ],
  });
}
