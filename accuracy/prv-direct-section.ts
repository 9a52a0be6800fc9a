/** Pulse rate variability against ECG on BIDMC, whatever the engine's flags: the detector, the quality and the rules for intervals are
 *  called directly. What the service gives out is in the section `values`. */
import { PpgBeatDetector } from '../src/dsp/ppg/beats.ts';
import { PpgQuality, emptyQuality } from '../src/dsp/ppg/quality.ts';
import { judgeIntervals, newCorrection } from '../src/dsp/hrv/rr-correction.ts';
import { alignRPeaks } from './align-r-peaks.ts';
import { findAll, loadPpg } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import type { Section } from './section.ts';
import { median } from './ppg-reference.ts';

export function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir, ['bidmc']);
  if (items.length === 0) return Promise.resolve(null);
  const prv = pulseRateVariability(items);
  return Promise.resolve({
    title: 'Pulse rate variability, near-sinus windows whatever their flag (functions called directly)',
    rows: [
      ['SDNN of 5 minutes', 'chosen on', 'windows', 'mean error ms', 'median', 'bias'],
      ['bidmc', 'yes', String(prv.windows), prv.sdnnMeanErrorMs.toFixed(2), prv.sdnnMedianErrorMs.toFixed(2), prv.sdnnBiasMs.toFixed(2)],
    ],
    json: prv,
  });
}

/** Least confidence of a beat, and least quality of its second, for its interval to count. */
const CONFIDENCE_MIN = 0.7;
const SQI_MIN = 0.9;
const WINDOW_SEC = 300;

/** SDNN of 5 minutes (steps of 1 minute) from PPG against ECG. Near-sinus windows: at least 98 % of RR pass as NN; PPG at rest: at least 90
 *  % of its seconds are flagged 0 and accepted intervals cover 80 %. R peaks are aligned to their template: at 125 Hz their jitter is 2-10
 *  ms. */
function pulseRateVariability(items: readonly PpgItem[]): {
  windows: number;
  sdnnMeanErrorMs: number;
  sdnnMedianErrorMs: number;
  sdnnBiasMs: number;
} {
  const errors: number[] = [];
  for (const item of items) {
    const { fs } = item;
    const ecg = accepted(
      alignRPeaks(
        item.ecg,
        item.rSec.map((time) => time * fs),
        fs,
      ),
      fs,
      () => true,
    );
    const detector = new PpgBeatDetector(fs);
    const found = findAll(detector, item.ppg);
    const quality = new PpgQuality(fs, detector.latencySec);
    quality.pushBeats(found, 0, found.count);
    const judged = emptyQuality();
    quality.push(item.ppg, 0, item.ppg.length, judged);
    quality.flush(judged);
    const sqi = (position: number): number => judged.sqi[Math.min(judged.count - 1, Math.max(0, Math.floor(position / fs)))]!;
    const ppg = accepted(
      found.position.slice(0, found.count),
      fs,
      (i) => found.confidence[i]! >= CONFIDENCE_MIN && sqi(found.position[i]!) >= SQI_MIN,
    );
    for (let from = 0; from + WINDOW_SEC <= item.ppg.length / fs; from += 60) {
      const a = within(ecg, from);
      const b = within(ppg, from);
      const good = judged.flag.slice(from, from + WINDOW_SEC).filter((flag) => flag === 0).length;
      const covered = b.nn.reduce((sum, nn) => sum + nn, 0) / 1000 / WINDOW_SEC;
      if (a.nn.length < 0.98 * a.count || good < 0.9 * WINDOW_SEC || covered < 0.8) continue;
      errors.push(deviation(b.nn) - deviation(a.nn));
    }
  }
  return {
    windows: errors.length,
    sdnnMeanErrorMs: errors.reduce((sum, error) => sum + Math.abs(error), 0) / errors.length,
    sdnnMedianErrorMs: median(errors.map(Math.abs)),
    sdnnBiasMs: errors.reduce((sum, error) => sum + error, 0) / errors.length,
  };
}

type Intervals = Readonly<{ tUs: Float64Array; verdict: Uint8Array }>;

/** Intervals judged by the engine's own rules; both beats must be kept. */
function accepted(position: Float64Array, fs: number, keep: (i: number) => boolean): Intervals {
  const tUs = position.map((p) => (p / fs) * 1e6);
  const verdict = new Uint8Array(tUs.length);
  judgeIntervals({ tUs, verdict }, 0, tUs.length, true, newCorrection(0));
  for (let i = 1; i < tUs.length; i++) if (!keep(i) || !keep(i - 1)) verdict[i] = 1;
  return { tUs, verdict };
}

function within({ tUs, verdict }: Intervals, fromSec: number): { nn: number[]; count: number } {
  const nn: number[] = [];
  let count = 0;
  for (let i = 1; i < tUs.length; i++) {
    if (tUs[i - 1]! < fromSec * 1e6 || tUs[i]! >= (fromSec + WINDOW_SEC) * 1e6) continue;
    count++;
    if (verdict[i] === 0) nn.push((tUs[i]! - tUs[i - 1]!) / 1000);
  }
  return { nn, count };
}

function deviation(x: readonly number[]): number {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  return Math.sqrt(x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (x.length - 1));
}
