/** Heart rate in motion and its flags on runs that nothing was chosen on, made of the ones given (perturbed-runs.ts). The kernel is called
 *  directly, in segments as the engine cuts them. Flags are of weights fitted on what is made of the other runs, next to those in use. */
import { motionFlagLimits } from '../src/dsp/ppg/motion-trust.ts';
import { percent, probability } from './engine-windows.ts';
import { cadences, missKind, missKinds } from './motion-misses.ts';
import type { MissKind } from './motion-misses.ts';
import { perturbedRuns } from './perturbed-runs.ts';
import { fitTrust, isFitted, judgeRates, labelledRun } from './ppg-motion-trust-section.ts';
import { loadPpg } from './ppg-recordings.ts';
import type { Run } from './run-parts.ts';
import type { Section } from './section.ts';

type Rate = Readonly<{ error: number; isGood: boolean; isGoodByOthers: boolean; miss: MissKind | null }>;
type Made = Readonly<{ run: Run; rates: readonly Rate[] }>;

export async function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir, ['spc']).filter((item) => item.name.endsWith('.1'));
  if (items.length < 2) return null;
  const made = judgedRunsMade(perturbedRuns(items.map(labelledRun)));
  const kinds = [...new Set(made.map((one) => one.run.kind))];
  const own = made.filter((one) => isFitted(one.run));
  const lists: [string, readonly Made[]][] = [
    ...kinds.map((kind): [string, readonly Made[]] => [kind, made.filter((one) => one.run.kind === kind)]),
    ["all but another's accelerometer", own],
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
        'of these right %',
        'by others, flagged 0 %',
        'right %',
        'off at',
      ],
      ...figures.map((f) => [
        f.kind,
        String(f.runs),
        f.mean.toFixed(2),
        f.worst.toFixed(2),
        f.within,
        f.good,
        f.goodRight,
        f.goodByOthers,
        f.goodByOthersRight,
        f.misses,
      ]),
      ...worst.map(({ run: one, rates }) => {
        const f = figuresOf([{ run: one, rates }]);
        return [
          `worst: ${one.kind}, ${one.of.join(' ')}`,
          '1',
          f.mean.toFixed(2),
          f.worst.toFixed(2),
          f.within,
          f.good,
          f.goodRight,
          f.goodByOthers,
          f.goodByOthersRight,
          f.misses,
        ];
      }),
    ],
    json: Object.fromEntries(figures.map(({ kind, ...rest }) => [kind, rest])),
    notes: [
      'Constants were chosen with these six recordings in view. Another heart rate: a made pulse under the real motion of a run, at the rate of another one. With the accelerometer of another runner nothing can be taken off: what is wrong must be flagged. By others: weights of the flag fitted on what is made of runs that this one has no part of. Off at: how many rates that are more than 5 /min off lie within 5 /min of what.',
    ],
  };
}

function judgedRunsMade(runs: readonly Run[]): Made[] {
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
      rates: rates.map(({ t, bpm, error, trust, measures }) => ({
        error,
        isGood: trust >= motionFlagLimits.good,
        isGoodByOthers: probability(weights, measures) >= motionFlagLimits.good,
        miss: error <= 5 ? null : missKind(bpm, one.bpm, (t - 8) / 2, cadence[t / 2]!),
      })),
    };
  });
}

const meanError = (rates: readonly Rate[]): number => rates.reduce((sum, { error }) => sum + error, 0) / rates.length;

function figuresOf(made: readonly Made[]) {
  const errors = made.map(({ rates }) => meanError(rates));
  const rates = made.flatMap((one) => one.rates);
  const right = rates.filter(({ error }) => error <= 5);
  const good = rates.filter(({ isGood }) => isGood);
  const byOthers = rates.filter(({ isGoodByOthers }) => isGoodByOthers);
  const rightOf = (list: readonly Rate[]): string => percent(list.filter(({ error }) => error <= 5).length, list.length);
  return {
    runs: made.length,
    mean: errors.reduce((sum, error) => sum + error, 0) / errors.length,
    worst: Math.max(...errors),
    within: percent(right.length, rates.length),
    good: percent(good.length, rates.length),
    goodRight: rightOf(good),
    goodByOthers: percent(byOthers.length, rates.length),
    goodByOthersRight: rightOf(byOthers),
    misses: missKinds
      .map((kind): [string, number] => [kind, rates.filter(({ miss }) => miss === kind).length])
      .filter(([, count]) => count > 0)
      .map(([kind, count]) => `${kind} ${count}`)
      .join(', '),
  };
}
