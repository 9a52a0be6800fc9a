/** Respiratory rate on BIDMC through the engine, windows of 32 s every 16 s, against the mean of the two annotators where they agree within
 *  2 breaths/min: from the respiration channel, and where the stream has none from pulse or ECG. */
import { respiratoryRate } from '../src/dsp/slow/respiration.ts';
import { streamRows } from './hrv-stream.ts';
import type { PhysicalChannel } from './hrv-stream.ts';
import { loadPpg } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import type { DatabaseFigure, Section } from './section.ts';
import { median } from './ppg-reference.ts';

const WINDOW_SEC = 32;

/** `sure`: not flagged 2. */
type Estimator = (item: PpgItem) => (fromSec: number) => { perMin: number; sure: boolean };

export async function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir, ['bidmc']).filter((item) => item.resp !== null && item.breathSec![0].length > 0);
  if (items.length === 0) return null;
  const rows: string[][] = [
    ['source', 'chosen on', 'mean error /min', 'median', 'within 2 %', 'windows', 'mean error of those not flagged 2', 'of all %'],
  ];
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const [name, estimator] of [
    ['RESP channel', fromChannel],
    ['PPG modulation', fromModulation('ppg')],
    ['ECG modulation', fromModulation('ecg')],
  ] as const) {
    const figures = respirationErrors(items, estimator);
    json[name] = figures;
    const n = `${figures.windows} windows`;
    byDatabase.push({
      what: `respiration, ${name}: mean error /min`,
      database: 'bidmc',
      chosenOn: 'yes',
      n,
      figure: figures.meanError.toFixed(2),
    });
    rows.push([
      name,
      'yes',
      figures.meanError.toFixed(2),
      figures.medianError.toFixed(2),
      figures.within2.toFixed(1),
      String(figures.windows),
      figures.sureMeanError.toFixed(2),
      figures.sureShare.toFixed(1),
    ]);
  }
  return {
    title: 'Respiration, through the engine',
    rows,
    json,
    byDatabase,
    notes: ['A window without a value counts as off by the whole rate.'],
  };
}

export function respirationErrors(
  items: readonly PpgItem[],
  estimator: Estimator,
): { windows: number; meanError: number; medianError: number; within2: number; sureMeanError: number; sureShare: number } {
  const errors: number[] = [];
  const sure: number[] = [];
  for (const item of items) {
    const estimate = estimator(item);
    const [first, second] = item.breathSec!;
    for (let from = 16; from + WINDOW_SEC <= 478; from += 16) {
      const a = rateIn(first, from);
      const b = rateIn(second, from);
      if (!(Math.abs(a - b) <= 2)) continue;
      const { perMin, sure: isSure } = estimate(from);
      const error = Number.isNaN(perMin) ? (a + b) / 2 : Math.abs(perMin - (a + b) / 2);
      errors.push(error);
      if (isSure) sure.push(error);
    }
  }
  const mean = (x: readonly number[]): number => x.reduce((sum, value) => sum + value, 0) / x.length;
  return {
    windows: errors.length,
    meanError: mean(errors),
    medianError: median(errors),
    within2: (100 * errors.filter((error) => error <= 2).length) / errors.length,
    sureMeanError: mean(sure),
    sureShare: (100 * sure.length) / errors.length,
  };
}

export const fromChannel: Estimator = ({ resp, fs }) =>
  ratesOf('resp_rate', [{ code: 'resp', kind: 'resp', fs, unit: '1', samples: resp! }]);

const fromModulation =
  (source: 'ppg' | 'ecg'): Estimator =>
  ({ fs, ppg, ecg }) =>
    ratesOf(`resp_rate_${source}`, [{ code: source, kind: source, fs, unit: '1', samples: source === 'ppg' ? ppg : ecg }]);

function ratesOf(feature: string, channels: readonly PhysicalChannel[]): ReturnType<Estimator> {
  const rows = new Map((streamRows(channels).features.get(feature) ?? []).map((row) => [Number(row.tNs) / 1e9, row]));
  return (from) => {
    const row = rows.get(from + WINDOW_SEC);
    return row === undefined ? { perMin: Number.NaN, sure: false } : { perMin: row.value, sure: row.qmask < 2 };
  };
}

function rateIn(breathSec: Float64Array, from: number): number {
  const inside = breathSec.filter((time) => time >= from && time < from + WINDOW_SEC);
  return respiratoryRate(inside, inside.length, WINDOW_SEC);
}
