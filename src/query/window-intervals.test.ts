import { expect, it } from 'vitest';
import { beatClasses } from './beat-classes.ts';
import { windowIntervals } from './window-intervals.ts';

/** Beats of 0.8 s, the third of which is a supraventricular one of this confidence. */
function surelyEctopic(methodCode: string, confidence: number): boolean {
  const count = 5;
  const tsNs = BigInt64Array.from({ length: count }, (_, i) => BigInt(i) * 800_000_000n);
  const is = (i: number): boolean => i === 2;
  const columns = {
    methodCode,
    tsNs,
    intervalMs: Float64Array.from({ length: count }, () => 800),
    kinds: Uint8Array.from({ length: count }, (_, i) => (is(i) ? 1 : 0)),
    accepted: Uint8Array.from({ length: count }, (_, i) => (is(i) || is(i - 1) ? 0 : 1)),
    classes: Uint8Array.from({ length: count }, (_, i) => 1 + beatClasses.indexOf(is(i) ? 'S' : 'N')),
    confidence: Float64Array.from({ length: count }, (_, i) => (is(i) ? confidence : 0.99)),
    qmask: new Uint8Array(count),
    next: null,
  };
  const beats = Array.from(tsNs, (ns, index) => ({ tsNs: ns, index, said: null, saidOf: null }));
  return windowIntervals(beats, columns, 0n).intervals.some(({ isSurelyEctopic }) => isSurelyEctopic);
}

it.each([
  ['derived:r_peaks_v15', 0.66, false],
  ['derived:r_peaks_v15', 0.73, true],
  ['derived:r_peaks_v16', 0.6, false],
  ['derived:r_peaks_v16', 0.61, true],
])('of %s a supraventricular beat of %s is sure: %s', (methodCode, confidence, isSure) => {
  expect(surelyEctopic(methodCode, confidence)).toBe(isSure);
});
