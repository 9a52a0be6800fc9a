/** Guesses the intended word from an unknown one. */

/** The candidate that is one or two typing slips away from the word; null when there is none. Optimal string alignment: letters omitted,
 *  added, changed or swapped with the next one. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  const distanceMax = word.length < 4 ? 1 : 2;
  let best: string | null = null;
  let bestDistance = distanceMax + 1;
  for (const candidate of candidates) {
    const distance = alignment(word, candidate);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** `: did you mean 'import'?`, or nothing. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const meant = nearest(word, candidates);
  return meant === null ? '' : `: did you mean '${meant}'?`;
}

function alignment(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, rows[i - 2]![j - 2]! + 1);
      row.push(cost);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
