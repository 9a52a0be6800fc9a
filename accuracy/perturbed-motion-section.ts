/** Heart rate in motion on runs that nothing was chosen on, made of the ones given (perturbed-runs.ts): mean and worst. The kernel is
 *  called directly, in segments as the engine cuts them. */
import { motionErrors } from './ppg-motion-section.ts';
import { perturbedRuns, runOf } from './perturbed-runs.ts';
import { loadPpg } from './ppg-recordings.ts';
import type { Section } from './section.ts';

export async function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir, ['spc']).filter((item) => item.name.endsWith('.1'));
  if (items.length < 2) return null;
  const byKind = new Map<string, number[]>();
  for (const one of perturbedRuns(items.map(runOf))) {
    const { meanError } = motionErrors(one, { segmentSec: 64, contextSec: 16, offsetSec: 0 });
    byKind.set(one.kind, [...(byKind.get(one.kind) ?? []), meanError]);
  }
  const mean = (errors: readonly number[]): number => errors.reduce((sum, error) => sum + error, 0) / errors.length;
  const figures = [...byKind].map(([kind, errors]) => ({ kind, runs: errors.length, mean: mean(errors), worst: Math.max(...errors) }));
  return {
    title: 'Heart rate in motion on runs made of the ones given (kernel called directly, segments of 64 s)',
    rows: [
      ['runs', 'count', 'mean error /min', 'of the worst run'],
      ...figures.map((f) => [f.kind, String(f.runs), f.mean.toFixed(2), f.worst.toFixed(2)]),
    ],
    json: Object.fromEntries(figures.map(({ kind, ...rest }) => [kind, rest])),
    notes: [
      'Constants were chosen with these six recordings in view. Another heart rate: a made pulse under the real motion of a run, at the rate of another one. With the accelerometer of another runner nothing can be taken off: what is wrong must be flagged.',
    ],
  };
}
