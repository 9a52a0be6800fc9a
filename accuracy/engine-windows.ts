/** Helpers of sections that judge flags: areas under curves, rates of beats, shares. */

/** Probability that a right item scores above a wrong one; NaN where there are none of one kind. */
export function areaUnderCurve<T>(items: readonly T[], isRight: (item: T) => boolean, scoreOf: (item: T) => number): number {
  const scored = items.map((item) => ({ score: scoreOf(item), right: isRight(item) })).toSorted((a, b) => a.score - b.score);
  let rankSum = 0;
  let right = 0;
  for (let i = 0; i < scored.length;) {
    let end = i;
    while (end < scored.length && scored[end]!.score === scored[i]!.score) end++;
    for (let k = i; k < end; k++) {
      if (!scored[k]!.right) continue;
      rankSum += (i + 1 + end) / 2;
      right++;
    }
    i = end;
  }
  return (rankSum - (right * (right + 1)) / 2) / (right * (scored.length - right));
}

/** Index of the first of ascending values later than t. */
export function firstAfter(sorted: Float64Array, t: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Those in (from, to]. */
export function between(sorted: Float64Array, from: number, to: number): Float64Array {
  return sorted.subarray(firstAfter(sorted, from), firstAfter(sorted, to));
}

/** As hr_ecg: 60 / mean interval in (t - 8 s, t], none above 3 s, at least two and 4 s of them; else NaN. */
export function meanRate(beatSec: Float64Array, t: number): number {
  const inside = between(beatSec, t - 8, t);
  let sum = 0;
  let count = 0;
  for (let i = 1; i < inside.length; i++) {
    const rr = inside[i]! - inside[i - 1]!;
    if (rr > 3) continue;
    sum += rr;
    count++;
  }
  return count < 2 || sum < 4 ? Number.NaN : (60 * count) / sum;
}

/** Solves a x = b by Gauss with pivoting. */
export function solve(a: readonly (readonly number[])[], b: readonly number[]): number[] {
  const n = b.length;
  const m = a.map((row, i) => [...row, b[i]!]);
  for (let c = 0; c < n; c++) {
    let pivot = c;
    for (let r = c + 1; r < n; r++) if (Math.abs(m[r]![c]!) > Math.abs(m[pivot]![c]!)) pivot = r;
    [m[c], m[pivot]] = [m[pivot]!, m[c]!];
    for (let r = 0; r < n; r++) {
      if (r === c) continue;
      const factor = m[r]![c]! / m[c]![c]!;
      for (let k = c; k <= n; k++) m[r]![k]! -= factor * m[c]![k]!;
    }
  }
  return m.map((row, i) => row[n]! / row[i]!);
}

/** A logistic function: the constant first. */
export type Weights = readonly number[];

export type Example = Readonly<{ features: readonly number[]; isRight: boolean; weight: number }>;

export function probability(weights: Weights, features: readonly number[]): number {
  let sum = weights[0]!;
  for (let i = 0; i + 1 < weights.length; i++) sum += weights[i + 1]! * features[i]!;
  return 1 / (1 + Math.exp(-sum));
}

/** Logistic regression: Newton's method with a little ridge, not on the constant. */
export function fitLogistic(examples: readonly Example[], ridge: number): Weights {
  const n = (examples[0]?.features.length ?? 0) + 1;
  const w = Array.from({ length: n }, () => 0);
  for (let round = 0; round < 20; round++) {
    const gradient = Array.from({ length: n }, (_, i) => (i === 0 ? 0 : -ridge * w[i]!));
    const hessian = Array.from({ length: n }, (_, i) => Array.from({ length: n }, (__, j) => (i === j && i > 0 ? ridge : 0)));
    for (const { features, isRight, weight } of examples) {
      const p = probability(w, features);
      const error = weight * ((isRight ? 1 : 0) - p);
      const curve = weight * Math.max(1e-6, p * (1 - p));
      for (let i = 0; i < n; i++) {
        const xi = i === 0 ? 1 : features[i - 1]!;
        gradient[i]! += error * xi;
        for (let c = 0; c <= i; c++) hessian[i]![c]! += curve * xi * (c === 0 ? 1 : features[c - 1]!);
      }
    }
    for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) hessian[i]![j] = hessian[j]![i]!;
    const step = solve(hessian, gradient);
    for (let i = 0; i < n; i++) w[i]! += step[i]!;
  }
  return w;
}

/** Scores of every item by weights fitted on the items of the other groups. */
export function leftOutScores<T>(
  items: readonly T[],
  groupOf: (item: T) => string,
  fit: (others: readonly T[]) => (item: T) => number,
): number[] {
  const scores = items.map(() => Number.NaN);
  for (const group of new Set(items.map(groupOf))) {
    const others = items.filter((item) => groupOf(item) !== group);
    if (others.length === 0) continue;
    const score = fit(others);
    items.forEach((item, i) => {
      if (groupOf(item) === group) scores[i] = score(item);
    });
  }
  return scores;
}

export const percent = (part: number, whole: number): string => (whole === 0 ? '-' : ((100 * part) / whole).toFixed(2));
