/** Results of a function of the sampling rate, kept for the newest rates. */

/** Rates of which it is kept, the newest: a device may send any rate. */
export const KEPT_RATES = 64;

/** @param make a pure function of the rate, Hz  @returns the same, remembered */
export function keptByRate<T>(make: (rate: number) => T): (rate: number) => T {
  const kept = new Map<number, T>();
  return (rate) => {
    let known = kept.get(rate);
    if (known !== undefined) return known;
    known = make(rate);
    kept.set(rate, known);
    if (kept.size > KEPT_RATES) kept.delete(kept.keys().next().value!);
    return known;
  };
}
