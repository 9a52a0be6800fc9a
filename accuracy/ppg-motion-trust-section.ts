/** Flags of heart rates in motion (goal S9): IEEE SPC, both wavelengths and each alone (the service may have only one).
 *
 *  A rate is wrong when it is more than 5 bpm off the given one. By default the flags are those in use, through the engine: their weights
 *  (src/dsp/ppg/motion-trust.ts) were fitted on these recordings. `--leave-out recording`: PpgMotionHeartRate called directly, in segments
 *  as the engine cuts them, each recording judged by weights fitted on the others; `database`: there is no other, so nothing is scored. At
 *  the end of recording 06 (from 294 s) the given rate stands at 153 while the ECG of the same recording falls to 145: these windows are
 *  not fitted on; they are counted. */
import { PpgMotionHeartRate, emptyRates } from '../src/dsp/ppg/motion-hr.ts';
import { motionFlagLimits, motionTrustMeasures } from '../src/dsp/ppg/motion-trust.ts';
import { fitLogistic, probability } from './engine-windows.ts';
import type { Weights } from './engine-windows.ts';
import { streamRows } from './hrv-stream.ts';
import { accChannels, loadPpg, ppgChannels } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import { perturbedRuns, runOf } from './perturbed-runs.ts';
import type { Run } from './run-parts.ts';
import type { DatabaseFigure, Options, Section } from './section.ts';

export type JudgedRate = Readonly<{
  of: readonly string[];
  /** End of the window, s, and the rate. */
  t: number;
  bpm: number;
  measures: readonly number[];
  trust: number;
  error: number;
}>;
/** @property isBorneOut the ECG of the recording does not contradict the given rate */
type FlaggedRate = Readonly<{ leads: string; error: number; isGood: boolean; isBorneOut: boolean }>;
type TrustFigures = Readonly<{ count: number; off: number; flag0: number; within: number; offFlagged: number }>;

const lanesOf = ({ spc }: PpgItem): readonly (readonly [string, readonly Float64Array[]])[] => [
  ['both', spc!.ppg],
  ['first', spc!.ppg.slice(0, 1)],
  ['second', spc!.ppg.slice(1)],
];

export async function run(dataDir: string, { leaveOut }: Options): Promise<Section | null> {
  const items = loadPpg(dataDir, ['spc']).filter((item) => item.name.endsWith('.1'));
  if (items.length < 2 || leaveOut === 'database') return null;
  const judged = leaveOut === null ? null : judgedRuns(items);
  const rates = judged === null ? items.flatMap(engineRates) : leftOutRates(items, judged);
  const leadsOf = (from: readonly FlaggedRate[], name: string, suffix = ''): [string, TrustFigures] => [
    name + suffix,
    trustFigures(from, name),
  ];
  const borneOut = rates.filter(isBorneOut);
  const figures = Object.fromEntries([
    ...['both', 'first', 'second', 'all'].map((name) => leadsOf(rates, name)),
    ...['both', 'all'].map((name) => leadsOf(borneOut, name, ', given rates that the ECG bears out')),
  ]);
  const percent = (share: number): string => (100 * share).toFixed(2);
  const fitted = judged === null ? null : fitTrust(judged);
  const { both } = figures;
  const n = `${both!.count} rates`;
  const byDatabase: DatabaseFigure[] = [
    { what: 'hr_ppg_motion flagged 0: within 5 bpm, %', database: 'spc', chosenOn: 'yes', n, figure: percent(both!.within) },
    {
      what: 'hr_ppg_motion off by more: flagged 1 or 2, %',
      database: 'spc',
      chosenOn: 'yes',
      n: `${both!.off} off`,
      figure: percent(both!.offFlagged),
    },
  ];
  return {
    title:
      leaveOut === null
        ? 'Flags of heart rates in motion, weights in use, through the engine'
        : 'Flags of heart rates in motion, refit, each recording by weights of the others (functions called directly; not the weights in use)',
    rows: [
      ['wavelengths', 'chosen on', 'rates', 'off by > 5', 'flagged 0 %', 'of those within 5 %', 'of off, flagged 1 or 2 %'],
      ...Object.entries(figures).map(([leads, f]) => [
        leads,
        leaveOut === null ? 'yes' : 'in part',
        String(f.count),
        String(f.off),
        percent(f.flag0),
        percent(f.within),
        percent(f.offFlagged),
      ]),
    ],
    json: { ...figures, ...(fitted === null ? {} : { fit: { measures: ['constant', ...motionTrustMeasures], fitted } }) },
    ...(leaveOut === null ? { byDatabase } : {}),
    notes:
      fitted === null
        ? ['IEEE SPC, on which the weights were fitted: `--leave-out recording` fits them anew on the others.']
        : [
            `Protocol: logistic regression with ridge ${ridge} on the other recordings and what accuracy/perturbed-runs.ts makes of them; thresholds and measures were chosen with this table in view.`,
            `Fitted on all: constant ${fitted[0]!.toFixed(3)}, ${fitted
              .slice(1)
              .map((w, i) => `${motionTrustMeasures[i]} ${w.toFixed(3)}`)
              .join(', ')}.`,
          ],
  };
}

/** Rates as the service stores them, with their flags. */
export function engineRates(item: PpgItem): FlaggedRate[] {
  return lanesOf(item).flatMap(([leads, lanes]) => {
    const { features } = streamRows([...ppgChannels(lanes, item.fs), ...accChannels(item)]);
    const { bpm } = labelledRun(item);
    return (features.get('hr_ppg_motion') ?? []).flatMap(({ tNs, value, qmask }) => {
      const window = (Number(tNs) / 1e9 - 8) / 2;
      const truth = item.spc!.bpm[window];
      if (truth === undefined) return [];
      return [{ leads, error: Math.abs(value - truth), isGood: qmask === 0, isBorneOut: !Number.isNaN(bpm[window]) }];
    });
  });
}

export const isBorneOut = (rate: FlaggedRate): boolean => rate.isBorneOut;

export function trustFigures(rates: readonly FlaggedRate[], leads: string): TrustFigures {
  const own = rates.filter((rate) => leads === 'all' || rate.leads === leads);
  const good = own.filter(({ isGood }) => isGood);
  const off = own.filter(({ error }) => error > 5);
  return {
    count: own.length,
    off: off.length,
    flag0: good.length / own.length,
    within: good.filter(({ error }) => error <= 5).length / good.length,
    offFlagged: off.filter(({ isGood }) => !isGood).length / off.length,
  };
}

/** Measures of every window of a run, in segments of 64 s started afresh 16 s earlier. */
export function judgeRates({ of, fs, ppg, acc, bpm }: Run): JudgedRate[] {
  const { length } = ppg[0]!;
  const judged: JudgedRate[] = [];
  for (let from = 0; from < length / fs; from += 64) {
    const kernel = new PpgMotionHeartRate(fs, ppg.length, 3);
    const startSec = Math.max(0, from - 16);
    const last = Math.min(length, Math.round((from + 64 + kernel.latencySec) * fs));
    const out = emptyRates();
    const note = (): void => {
      for (let k = 0; k < out.count; k++) {
        const t = startSec + out.endSec[k]!;
        const error = Math.abs(out.bpm[k]! - (bpm[(t - 8) / 2] ?? Number.NaN));
        if (t < from || t >= from + 64 || Number.isNaN(error)) continue;
        judged.push({ of, t, bpm: out.bpm[k]!, measures: [...kernel.trust.measures], trust: out.trust[k]!, error });
      }
      out.count = 0;
    };
    for (let at = Math.round(startSec * fs); at < last; at += fs) {
      const to = Math.min(last, at + fs);
      kernel.pushAcc(acc, at, to, out);
      kernel.pushPpg(ppg, at, to, out);
      note();
    }
  }
  return judged;
}

/** What weights are fitted on: the runs and what perturbed-runs.ts makes of them, without doubtful labels, and each with an accelerometer
 *  of its own: with another's the path is wrong as often as not, for a reason that no measure sees. */
export function judgedRuns(items: readonly PpgItem[]): JudgedRate[] {
  return perturbedRuns(items.map(labelledRun)).filter(isFitted).flatMap(judgeRates);
}

export const isFitted = ({ kind }: Run): boolean => kind !== "another's accelerometer";

/** Without the labels that the ECG of the same recording contradicts. */
export function labelledRun(item: PpgItem): Run {
  const run = runOf(item);
  return run.of[0] === 'DATA_06' ? { ...run, bpm: run.bpm.map((bpm, i) => (2 * i + 8 < 294 ? bpm : Number.NaN)) } : run;
}

/** Flags of the runs as recorded, by weights fitted on what is made of the others. */
export function leftOutRates(items: readonly PpgItem[], judged: readonly JudgedRate[]): FlaggedRate[] {
  return items.flatMap((item) => {
    const run = runOf(item);
    const { bpm } = labelledRun(item);
    const weights = fitTrust(judged.filter(({ of }) => !of.includes(run.of[0]!)));
    return lanesOf(item).flatMap(([leads, ppg]) =>
      judgeRates({ ...run, ppg }).map(({ t, measures, error }) => ({
        leads,
        error,
        isGood: probability(weights, measures) >= motionFlagLimits.good,
        isBorneOut: !Number.isNaN(bpm[(t - 8) / 2]),
      })),
    );
  });
}

const ridge = 0.1;

export const fitTrust = (judged: readonly JudgedRate[]): Weights =>
  fitLogistic(
    judged.map(({ measures, error }) => ({ features: measures, isRight: error <= 5, weight: 1 })),
    ridge,
  );
