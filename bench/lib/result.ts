/** Reports of a bench: one line for people, one for `npm run bench`, which collects them into a file and a page. */
import { goals, reached, type GoalName } from './goals.ts';

export type BenchResult = Readonly<{
  /** Unique within its bench file, stable from run to run: two runs are compared by it. */
  name: string;
  value: number;
  unit: string;
  better: 'higher' | 'lower';
  goal?: GoalName;
  /** Lowest and highest of the repetitions. */
  spread?: readonly [number, number];
  repetitions?: number;
  /** What a reader must know to read the figure. */
  note?: string;
}>;

/** How one figure grows with another. */
export type BenchCurve = Readonly<{ name: string; x: string; y: string; points: readonly (readonly [number, number])[]; logX?: boolean }>;

export const RESULT_MARK = '#result ';
export const CURVE_MARK = '#curve ';

/** Prints a figure. With a goal, unit and direction are the goal's. */
export function report(
  result: Omit<BenchResult, 'unit' | 'better'> & Partial<Pick<BenchResult, 'unit' | 'better'>> & ({ goal: GoalName } | { unit: string }),
): void {
  const goal = result.goal === undefined ? undefined : goals[result.goal];
  const full: BenchResult = { better: 'lower', unit: '', ...result, ...(goal && { unit: goal.unit, better: goal.better }) };
  const spread = full.spread === undefined ? '' : `  (${figure(full.spread[0])} to ${figure(full.spread[1])})`;
  const verdict = goal === undefined ? '' : `  goal ${full.goal}: ${goal.target}, ${reached(goal, full.value) ? 'reached' : 'missed'}`;
  console.log(`${full.name.padEnd(60)} ${figure(full.value)} ${full.unit}${spread}${verdict}`);
  console.log(`${RESULT_MARK}${JSON.stringify(full)}`);
}

/** The median of repetitions, with their spread. */
export function reportMedian(
  result: Omit<Parameters<typeof report>[0], 'value' | 'spread' | 'repetitions'> & ({ goal: GoalName } | { unit: string }),
  values: readonly number[],
): void {
  const sorted = values.toSorted((a, b) => a - b);
  report({
    ...result,
    value: sorted[sorted.length >> 1] ?? NaN,
    spread: [sorted[0] ?? NaN, sorted.at(-1) ?? NaN],
    repetitions: values.length,
  });
}

export function reportCurve(curve: BenchCurve): void {
  // a long one is for the page
  if (curve.points.length <= 12)
    for (const [x, y] of curve.points) console.log(`${`${curve.name}: ${curve.x} ${figure(x)}`.padEnd(60)} ${figure(y)} ${curve.y}`);
  console.log(`${CURVE_MARK}${JSON.stringify(curve)}`);
}

export function figure(x: number): string {
  if (!Number.isFinite(x)) return String(x);
  return Math.abs(x) >= 1000 ? Math.round(x).toLocaleString('en') : String(Number(x.toPrecision(3)));
}
