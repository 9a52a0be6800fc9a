/** Flags of heart rates in motion on recordings they were not fitted on, and the fit of their weights (goal S9).
 *
 *  IEEE SPC, both wavelengths and each alone (the service may have only one), in segments as the engine cuts them. The weights of
 *  src/dsp/ppg-motion-trust.ts are fitted on all; here each recording is judged by weights fitted on the others. A rate is wrong when it is more
 *  than 5 bpm off the given one. At the end of recording 06 (from 294 s) the given rate stands at 153 while the ECG of the same recording falls to
 *  145: these windows are not fitted on; they are counted. */
import { PpgMotionHeartRate, emptyRates } from '../../src/dsp/ppg-motion-hr.ts';
import { motionFlagLimits, motionTrustMeasures, motionTrustModel } from '../../src/dsp/ppg-motion-trust.ts';
import { loadPpg } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import { solve } from './ppg-quality-section.ts';
import type { Section } from './section.ts';

type JudgedRate = Readonly<{ name: string; leads: string; measures: readonly number[]; error: number; isLabelDoubtful: boolean }>;
type Model = Readonly<{ constant: number; of: readonly number[] }>;
type TrustFigures = Readonly<{ count: number; off: number; flag0: number; within: number; offFlagged: number }>;

export async function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir, ['spc']).filter((item) => item.name.endsWith('.1'));
  if (items.length < 2) return null;
  const judged = items.flatMap(judgeRates);
  const scores = heldOutTrust(judged);
  const groups = ['both', 'first', 'second', 'all'];
  const figures = Object.fromEntries(groups.map((leads) => [leads, trustFigures(judged, scores, leads)]));
  const percent = (share: number): string => (100 * share).toFixed(2);
  const fitted = fitTrust(judged);
  return {
    title: 'Flags of heart rates in motion, each recording by weights of the others',
    rows: [
      ['wavelengths', 'rates', 'off by > 5', 'flagged 0 %', 'of those within 5 %', 'of off, flagged 1 or 2 %'],
      ...Object.entries(figures).map(([leads, f]) => [
        leads,
        String(f.count),
        String(f.off),
        percent(f.flag0),
        percent(f.within),
        percent(f.offFlagged),
      ]),
    ],
    json: { ...figures, fit: { measures: motionTrustMeasures, ...fitted, inUse: motionTrustModel } },
    notes: [
      `Fitted on all: constant ${fitted.constant.toFixed(3)}, ${fitted.of.map((w, i) => `${motionTrustMeasures[i]} ${w.toFixed(3)}`).join(', ')}.`,
    ],
  };
}

export function trustFigures(judged: readonly JudgedRate[], scores: Float64Array, leads: string): TrustFigures {
  const own = judged.flatMap((j, k) =>
    leads === 'all' || j.leads === leads ? [{ isOff: j.error > 5, isGood: scores[k]! >= motionFlagLimits.good }] : [],
  );
  const good = own.filter(({ isGood }) => isGood);
  const off = own.filter(({ isOff }) => isOff);
  return {
    count: own.length,
    off: off.length,
    flag0: good.length / own.length,
    within: good.filter(({ isOff }) => !isOff).length / good.length,
    offFlagged: off.filter(({ isGood }) => !isGood).length / off.length,
  };
}

/** Measures of every window of a recording, in segments of 64 s started afresh 16 s earlier. */
export function judgeRates({ name, fs, spc, ppg: { length } }: PpgItem): JudgedRate[] {
  const { ppg, acc, bpm } = spc!;
  const judged: JudgedRate[] = [];
  for (const [leads, lanes] of [
    ['both', ppg],
    ['first', ppg.slice(0, 1)],
    ['second', ppg.slice(1)],
  ] as const)
    for (let from = 0; from < length / fs; from += 64) {
      const kernel = new PpgMotionHeartRate(fs, lanes.length, fs);
      const startSec = Math.max(0, from - 16);
      const last = Math.min(length, Math.round((from + 64 + kernel.latencySec) * fs));
      const out = emptyRates();
      const note = (): void => {
        for (let k = 0; k < out.count; k++) {
          const t = startSec + out.endSec[k]!;
          const truth = bpm[(t - 8) / 2];
          if (t < from || t >= from + 64 || truth === undefined) continue;
          const isLabelDoubtful = name.startsWith('DATA_06') && t >= 294;
          judged.push({ name, leads, measures: [...kernel.trust.measures], error: Math.abs(out.bpm[k]! - truth), isLabelDoubtful });
        }
        out.count = 0;
      };
      for (let at = Math.round(startSec * fs); at < last; at += fs) {
        const to = Math.min(last, at + fs);
        kernel.pushAcc(acc, at, to, out);
        kernel.pushPpg(lanes, at, to, out);
        note();
      }
    }
  return judged;
}

/** Probability that each rate is right, by weights fitted on the other recordings. */
export function heldOutTrust(judged: readonly JudgedRate[]): Float64Array {
  const scores = new Float64Array(judged.length);
  for (const name of new Set(judged.map((j) => j.name))) {
    const model = fitTrust(judged.filter((j) => j.name !== name));
    judged.forEach((j, k) => {
      if (j.name === name) scores[k] = probability(model, j.measures);
    });
  }
  return scores;
}

const probability = ({ constant, of }: Model, measures: readonly number[]): number =>
  1 / (1 + Math.exp(-measures.reduce((sum, x, i) => sum + of[i]! * x, constant)));

const ridge = 0.1;

/** Logistic regression by Newton's method with a little ridge. */
function fitTrust(all: readonly JudgedRate[]): Model {
  const judged = all.filter((j) => !j.isLabelDoubtful && !Number.isNaN(j.error));
  const size = motionTrustMeasures.length + 1;
  let w = Array.from({ length: size }, () => 0);
  for (let pass = 0; pass < 20; pass++) {
    const hessian = w.map((_, i) => w.map((__, j): number => (i === j && i > 0 ? ridge : 0)));
    const gradient = w.map((value, i) => (i > 0 ? -ridge * value : 0));
    for (const { measures, error } of judged) {
      const p = probability({ constant: w[0]!, of: w.slice(1) }, measures);
      const x = [1, ...measures];
      for (let i = 0; i < size; i++) {
        gradient[i] = gradient[i]! + ((error > 5 ? 0 : 1) - p) * x[i]!;
        for (let j = 0; j < size; j++) hessian[i]![j] = hessian[i]![j]! + p * (1 - p) * x[i]! * x[j]!;
      }
    }
    const step = solve(hessian, gradient);
    w = w.map((value, i) => value + step[i]!);
  }
  return { constant: w[0]!, of: w.slice(1) };
}
