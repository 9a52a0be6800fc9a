/** Heart rate from wrist PPG while running (IEEE SPC): mean absolute error against the given rates, windows of 8 s every 2 s. The kernel is
 *  called directly, to compare ways to cut a recording; what the service gives out is in the section `pulse-stream`. */
import { PpgMotionHeartRate, emptyRates } from '../src/dsp/ppg/motion-hr.ts';
import { loadPpg } from './ppg-recordings.ts';
import { runOf } from './perturbed-runs.ts';
import type { Run } from './run-parts.ts';
import type { Section } from './section.ts';

/** How the recording is cut: unbroken, or as the engine does, in segments started afresh 16 s before each. */
export type Cut = Readonly<{ segmentSec: number; contextSec: number; offsetSec: number }>;

const unbroken: Cut = { segmentSec: 1e9, contextSec: 0, offsetSec: 0 };

export async function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir, ['spc']).filter((item) => item.name.endsWith('.1'));
  if (items.length === 0) return null;
  const rows: string[][] = [['cut', 'mean error bpm', 'within 5 bpm %', ...items.map((item) => item.name.slice(0, -2))]];
  const json: Record<string, unknown> = {};
  const cuts: [string, Cut, boolean][] = [['unbroken', unbroken, true]];
  for (const offsetSec of [0, 16, 32, 48]) {
    cuts.push([`64 s segments from ${offsetSec} s`, { segmentSec: 64, contextSec: 16, offsetSec: offsetSec - 64 }, true]);
  }
  cuts.push(['unbroken, no accelerometer', unbroken, false]);
  for (const [name, cut, withAcc] of cuts) {
    const results = items.map((item) => motionErrors(runOf(item), cut, withAcc));
    const mean = results.reduce((sum, { meanError }) => sum + meanError, 0) / results.length;
    const within5 = results.reduce((sum, result) => sum + result.within5, 0) / results.length;
    rows.push([name, mean.toFixed(3), within5.toFixed(1), ...results.map(({ meanError }) => meanError.toFixed(2))]);
    json[name] = { meanErrorBpm: mean, within5, byRecording: results.map(({ meanError }) => meanError) };
  }
  return { title: 'Heart rate in motion by the way a recording is cut (kernel called directly; chosen on these recordings)', rows, json };
}

export function motionErrors({ fs, ppg, acc, bpm }: Run, cut: Cut, withAcc = true): { meanError: number; within5: number } {
  const estimates = new Float64Array(bpm.length).fill(Number.NaN);
  const durationSec = ppg[0]!.length / fs;
  for (let from = cut.offsetSec; from < durationSec; from += cut.segmentSec) {
    const startSec = Math.max(0, from - cut.contextSec);
    const kernel = new PpgMotionHeartRate(fs, ppg.length, withAcc ? 3 : 0);
    const endSec = Math.min(durationSec, from + cut.segmentSec + kernel.latencySec);
    const first = Math.round(startSec * fs);
    const last = Math.round(endSec * fs);
    if (last - first < 8 * fs) continue;
    const out = emptyRates();
    kernel.pushPpg(ppg, first, last, out);
    if (withAcc) kernel.pushAcc(acc, first, last, out);
    kernel.flush(out);
    for (let k = 0; k < out.count; k++) {
      const windowEnd = startSec + out.endSec[k]!;
      const index = (windowEnd - 8) / 2;
      if (windowEnd >= from && windowEnd < from + cut.segmentSec && index < bpm.length) estimates[index] = out.bpm[k]!;
    }
  }
  const errors = Array.from(estimates, (estimate, i) => Math.abs(estimate - bpm[i]!)).filter((error) => !Number.isNaN(error));
  return {
    meanError: errors.reduce((sum, error) => sum + error, 0) / errors.length,
    within5: (100 * errors.filter((error) => error <= 5).length) / errors.length,
  };
}
