/** Heart rate in motion and its flags on runs that nothing was chosen on, made of the ones given (perturbed-runs.ts). The kernel is called
 *  directly, in segments as the engine cuts them. Flags are of weights fitted on what is made of the other runs, next to those in use. */
import { motionFlagLimits } from '../src/dsp/ppg/motion-trust.ts';
import { probability } from './engine-windows.ts';
import { cadences, missKind, missKinds } from './motion-misses.ts';
import type { MissKind } from './motion-misses.ts';
import { perturbedRuns } from './perturbed-runs.ts';
import { fitTrust, isFitted, judgeRates, labelledRun } from './ppg-motion-trust-section.ts';
import { loadPpg } from './ppg-recordings.ts';
import type { Run } from './run-parts.ts';
import type { Section } from './section.ts';

/** All kinds in which the accelerometer is the runner's own: what weights of the flag are fitted on. */
export const ALL_FITTED = "all but another's accelerometer";

type Rate = Readonly<{
  /** End of the window, s; what was found, what is true, and the largest of the accelerometer's spectrum, /min. */
  t: number;
  bpm: number;
  truth: number;
  cadence: number;
  error: number;
  measures: readonly number[];
  isGood: boolean;
  /** Of being right, by weights of the others. */
  byOthers: number;
  isGoodByOthers: boolean;
  miss: MissKind | null;
}>;
export type Made = Readonly<{ run: Run; rates: readonly Rate[] }>;

export async function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir, ['spc']).filter((item) => item.name.endsWith('.1'));
  if (items.length < 2) return null;
  const made = judgedRunsMade(perturbedRuns(items.map(labelledRun)));
  const kinds = [...new Set(made.map((one) => one.run.kind))];
  const own = made.filter((one) => isFitted(one.run));
  const lists: [string, readonly Made[]][] = [
    ...kinds.map((kind): [string, readonly Made[]] => [kind, made.filter((one) => one.run.kind === kind)]),
    [ALL_FITTED, own],
  ];
  const figures = lists.map(([kind, of]) => ({ kind, ...figuresOf(of) }));
  const worst = [...own].toSorted((a, b) => meanError(b.rates) - meanError(a.rates)).slice(0, 8);
  return {
    title: 'Heart rate in motion on runs made of the ones given (kernel called directly, segments of 64 s)',
    rows: [
      [
        'runs',
        'count',
        'mean error /min',
        'worst',
        'within 5 %',
        'flagged 0 %',
        'right %',
        'by others: flagged 0 %',
        'right %',
        'of off, flagged %',
        'off at',
      ],
      ...figures.map((f) => rowOf(f.kind, f)),
      ...worst.map((one) => rowOf(`worst: ${one.run.kind}, ${one.run.of.join(' ')}`, figuresOf([one]))),
    ],
    json: Object.fromEntries(figures.map(({ kind, ...rest }) => [kind, rest])),
    notes: [
      'Constants were chosen with these six recordings in view. Another heart rate: a made pulse under the real motion of a run, at the rate of another one. With the accelerometer of another runner nothing can be taken off: what is wrong must be flagged. By others: weights of the flag fitted on what is made of runs that this one has no part of. Off at: how many rates that are more than 5 /min off lie within 5 /min of what.',
    ],
  };
}

export function judgedRunsMade(runs: readonly Run[]): Made[] {
  const judged = runs.map((one) => ({ one, rates: judgeRates(one) }));
  const weightsOf = new Map<string, ReturnType<typeof fitTrust>>();
  for (const { one } of judged) {
    const key = one.of.join();
    const others = judged.filter((other) => isFitted(other.one) && !other.one.of.some((name) => one.of.includes(name)));
    if (!weightsOf.has(key)) weightsOf.set(key, fitTrust(others.flatMap(({ rates }) => rates)));
  }
  return judged.map(({ one, rates }) => {
    const cadence = cadences(one);
    const weights = weightsOf.get(one.of.join())!;
    return {
      run: one,
      rates: rates.map(({ t, bpm, error, trust, measures }) => {
        const byOthers = probability(weights, measures);
        return {
          t,
          bpm,
          truth: one.bpm[(t - 8) / 2]!,
          cadence: cadence[t / 2]!,
          error,
          measures,
          isGood: trust >= motionFlagLimits.good,
          byOthers,
          isGoodByOthers: byOthers >= motionFlagLimits.good,
          miss: error <= 5 ? null : missKind(bpm, one.bpm, (t - 8) / 2, cadence[t / 2]!),
        };
      }),
    };
  });
}

const meanError = (rates: readonly Rate[]): number => rates.reduce((sum, { error }) => sum + error, 0) / rates.length;

type Figures = Readonly<{
  runs: number;
  mean: number;
  worst: number;
  /** Shares within 5 /min: of all, and of those flagged 0. */
  within: number;
  good: number;
  goodRight: number;
  /** By weights of the others; of those off by more, flagged 1 or 2. */
  goodByOthers: number;
  goodByOthersRight: number;
  offFlaggedByOthers: number;
  misses: string;
}>;

function figuresOf(made: readonly Made[]): Figures {
  const errors = made.map(({ rates }) => meanError(rates));
  const rates = made.flatMap((one) => one.rates);
  const good = rates.filter(({ isGood }) => isGood);
  const byOthers = rates.filter(({ isGoodByOthers }) => isGoodByOthers);
  const off = rates.filter(({ miss }) => miss !== null);
  const rightOf = (list: readonly Rate[]): number => list.filter(({ miss }) => miss === null).length / list.length;
  return {
    runs: made.length,
    mean: errors.reduce((sum, error) => sum + error, 0) / errors.length,
    worst: Math.max(...errors),
    within: rightOf(rates),
    good: good.length / rates.length,
    goodRight: rightOf(good),
    goodByOthers: byOthers.length / rates.length,
    goodByOthersRight: rightOf(byOthers),
    offFlaggedByOthers: off.filter(({ isGoodByOthers }) => !isGoodByOthers).length / off.length,
    misses: missKinds
      .map((kind): [string, number] => [kind, rates.filter(({ miss }) => miss === kind).length])
      .filter(([, count]) => count > 0)
      .map(([kind, count]) => `${kind} ${count}`)
      .join(', '),
  };
}

function rowOf(name: string, f: Figures): string[] {
  const percent = (share: number): string => (Number.isNaN(share) ? '-' : (100 * share).toFixed(2));
  const shares = [f.within, f.good, f.goodRight, f.goodByOthers, f.goodByOthersRight, f.offFlaggedByOthers].map(percent);
  return [name, String(f.runs), f.mean.toFixed(2), f.worst.toFixed(2), ...shares, f.misses];
}
