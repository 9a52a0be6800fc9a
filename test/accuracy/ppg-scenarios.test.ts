/** Of made light that is hard to read, nothing that is wrong is good, except what is known; controls are good, and right. Needs no
 *  recordings. */
import { expect, test, vi } from 'vitest';
import { tallies } from '../../accuracy/ppg-scenarios-section.ts';
import { groups } from '../../accuracy/ppg-scenarios.ts';

vi.setConfig({ testTimeout: 120_000 });

/** What looks like a pulse to everything that light tells: some of its values are wrong, and good. The list may only get shorter. */
const known: readonly RegExp[] = [
  /^dicrotic wave halfway, 0\.9 as high, 45 \/min$/,
  /^alternans: every second pulse 0\.15? as high$/,
  /^bigeminy, second pulse 0 as high$/,
  /^motion of (72|96|110|144) \/min, [123] pulses, no accelerometer$/,
  /^saw-tooth of 80/,
  /^hand over the sensor/,
];
/** Single values of others. */
const knownValues: Readonly<Record<string, readonly string[]>> = {
  'atrial fibrillation': ['SDNN'],
  'level that breathes at 0.3 Hz by 3 pulses': ['perfusion'],
  'level that breathes at 0.4 Hz by 3 pulses': ['perfusion'],
  'motion of 72 /min, 2 pulses': ['rate in motion'],
  'motion of 72 /min, 3 pulses': ['rate in motion'],
};

test('every scenario has a name of its own', () => {
  const names = groups.flatMap(({ control, hard }) => [control, ...hard].map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
});

const hard = groups.flatMap((group) => group.hard.filter(({ name }) => !known.some((one) => one.test(name))));

test.each(groups.map(({ control }) => [control.name, control] as const))('nothing of a control is wrong and good, and most is good: %s', (name, control) => {
  const found = tallies(control.recordings());
  for (const [column, { right, wrong, flagged }] of Object.entries(found)) {
    expect(wrong, column).toBe(0);
    if (name !== 'no finger' && column !== 'SDNN') expect(right, column).toBeGreaterThanOrEqual(0.95 * (right + flagged));
  }
}); // prettier-ignore

test.each(hard.map((scenario) => [scenario.name, scenario] as const))('nothing is wrong and good: %s', (name, scenario) => {
  for (const [column, { right, wrong }] of Object.entries(tallies(scenario.recordings())))
    // of fibrillation three values in nine hundred, of a motion at the rate of the pulse one
    if (knownValues[name]?.includes(column) === true) expect(wrong, column).toBeLessThanOrEqual(column === 'perfusion' ? 160 : 3);
    else expect([column, wrong], `${right} are right`).toEqual([column, 0]);
});
