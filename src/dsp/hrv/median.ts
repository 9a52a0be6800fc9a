/** The median of a few numbers, without a sorted copy. */

/** Median of the first n values, none of them NaN; of an even number the mean of the two in the middle, NaN of none. They end in another
 *  order. */
export function medianOf(x: Float64Array, n: number): number {
  if (n === 0) return Number.NaN;
  const half = n >> 1;
  select(x, n, half);
  const upper = x[half]!;
  if (n % 2 === 1) return upper;
  let lower = x[0]!;
  for (let i = 1; i < half; i++) if (x[i]! > lower) lower = x[i]!;
  return (lower + upper) / 2;
}

/** Puts the k-th smallest of n values at k, none greater before it (Hoare 1961, Commun ACM 4:321). None of them is NaN. */
export function select(x: Float64Array, n: number, k: number): void {
  let from = 0;
  let to = n - 1;
  while (from < to) {
    const pivot = x[(from + to) >> 1]!;
    let i = from;
    let j = to;
    while (i <= j) {
      while (x[i]! < pivot) i++;
      while (x[j]! > pivot) j--;
      if (i > j) break;
      const swapped = x[i]!;
      x[i++] = x[j]!;
      x[j--] = swapped;
    }
    if (k <= j) to = j;
    else if (k >= i) from = i;
    else return;
  }
}
