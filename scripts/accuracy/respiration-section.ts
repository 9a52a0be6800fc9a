/** Respiratory rate on BIDMC, windows of 32 s every 16 s, against the mean of the two annotators where they agree within 2 breaths/min. */
import type { BeatDetector } from '../../src/dsp/kernel.ts';
import { PpgBeatDetector } from '../../src/dsp/ppg-beats.ts';
import { RPeakDetector } from '../../src/dsp/r-peaks.ts';
import { RespirationModulation, emptyModulationBreaths, fusedRespiratoryRate } from '../../src/dsp/respiration-modulation.ts';
import { BreathDetector, respiratoryRate } from '../../src/dsp/respiration.ts';
import { findBeats, loadPpg } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import type { Section } from './section.ts';
import { median } from './ppg-reference.ts';

const WINDOW_SEC = 32;

type Estimator = (item: PpgItem) => (fromSec: number) => { perMin: number; sure: boolean };

export async function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir, ['bidmc']).filter((item) => item.resp !== null && item.breathSec![0].length > 0);
  if (items.length === 0) return null;
  const rows: string[][] = [['source', 'mean error /min', 'median', 'within 2 %', 'windows', 'mean error of the sure ones', 'sure %']];
  const json: Record<string, unknown> = {};
  for (const [name, estimator] of [
    ['RESP channel', fromChannel],
    ['PPG modulation', fromModulation('ppg')],
    ['ECG modulation', fromModulation('ecg')],
  ] as const) {
    const figures = respirationErrors(items, estimator);
    json[name] = figures;
    rows.push([
      name,
      figures.meanError.toFixed(2),
      figures.medianError.toFixed(2),
      figures.within2.toFixed(1),
      String(figures.windows),
      figures.sureMeanError.toFixed(2),
      figures.sureShare.toFixed(1),
    ]);
  }
  return { title: 'Respiration', rows, json };
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

export const fromChannel: Estimator = (item) => {
  const breaths = findBeats(new BreathDetector(item.fs), item.resp!).map((position) => position / item.fs);
  return (from) => ({ perMin: rateIn(breaths, from), sure: true });
};

export function fromModulation(source: 'ppg' | 'ecg'): Estimator {
  return (item) => {
    const detector: BeatDetector = source === 'ppg' ? new PpgBeatDetector(item.fs) : new RPeakDetector(item.fs);
    const kernel = new RespirationModulation(item.fs, detector, source);
    const out = emptyModulationBreaths();
    const x = source === 'ppg' ? item.ppg : item.ecg;
    kernel.push(x, 0, x.length, out);
    kernel.flush(out);
    const breaths = out.map((found) => found.position.slice(0, found.count).map((position) => position / item.fs));
    return (from) => {
      const { perMin, agreeing } = fusedRespiratoryRate(breaths.map((times) => rateIn(times, from)));
      return { perMin, sure: agreeing > 1 };
    };
  };
}

function rateIn(breathSec: Float64Array, from: number): number {
  const inside = breathSec.filter((time) => time >= from && time < from + WINDOW_SEC);
  return respiratoryRate(inside, inside.length, WINDOW_SEC);
}
