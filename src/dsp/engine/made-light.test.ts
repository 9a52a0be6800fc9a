// Values of made light (accuracy/ppg-scenarios.ts) that were wrong and flagged good; test/accuracy has all of it.
import { expect, test } from 'vitest';
import { tallies } from '../../../accuracy/ppg-scenarios-section.ts';
import type { Tally } from '../../../accuracy/ppg-scenarios-section.ts';
import { groups } from '../../../accuracy/ppg-scenarios.ts';

const found = (name: string): Record<string, Tally> =>
  tallies(
    groups
      .flatMap(({ hard }) => hard)
      .find((one) => one.name === name)!
      .recordings(),
  );

test.each(['red dead: no light', 'red dead: noise'])('a sensor that is worn is not said to be off: %s', (name) => {
  const { worn } = found(name);
  expect(worn!.wrong).toBe(0);
  expect(worn!.right + worn!.flagged).toBeGreaterThan(100);
});

test.each([1, 2, 3])('what a motion makes at the rate of the pulse, %d times as high, is neither saturation nor perfusion', (times) => {
  const { saturation, perfusion } = found(`motion of 72 /min, ${times} pulses`);
  expect([saturation!.wrong, perfusion!.wrong]).toEqual([0, 0]);
});
