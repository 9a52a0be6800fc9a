// Values of made light (accuracy/ppg-scenarios.ts) that were wrong and flagged good; test/accuracy has all of it.
import { expect, test } from 'vitest';
import { tallies } from '../../../accuracy/ppg-scenarios-section.ts';
import type { Tally } from '../../../accuracy/ppg-scenarios-section.ts';
import { groups } from '../../../accuracy/ppg-scenarios.ts';
import type { Made } from '../../../accuracy/ppg-scenarios.ts';

const made = (name: string): Made[] =>
  groups
    .flatMap(({ control, hard }) => [control, ...hard])
    .find((one) => one.name === name)!
    .recordings();

const found = (name: string): Record<string, Tally> => tallies(made(name));

/** The same light with a green one of half the rate before it, which gives the stream's heart rate; it is what red is. */
const behindGreen = ({ channels, truth }: Made): Made => {
  const { fs, samples } = channels[0]!;
  const green = { code: 'ppg.green', kind: 'ppg', fs: fs / 2, unit: '1', samples: samples.filter((_, i) => i % 2 === 0) } as const;
  return { channels: [green, ...channels], truth };
};

test.each(['red dead: no light', 'red dead: noise'])('a sensor that is worn is not said to be off: %s', (name) => {
  const { worn } = found(name);
  expect(worn!.wrong).toBe(0);
  expect(worn!.right + worn!.flagged).toBeGreaterThan(100);
});

test.each([1, 2, 3])('what a motion makes at the rate of the pulse, %d times as high, is neither saturation nor perfusion', (times) => {
  const { saturation, perfusion } = found(`motion of 72 /min, ${times} pulses`);
  expect([saturation!.wrong, perfusion!.wrong]).toEqual([0, 0]);
});

test.each([1, 2, 3])('nor is it where another light gives the heart rate, %d times as high', (times) => {
  const { saturation, perfusion } = tallies(made(`motion of 72 /min, ${times} pulses`).map(behindGreen));
  expect([saturation!.wrong, perfusion!.wrong]).toEqual([0, 0]);
});

test('where another light gives the heart rate and nothing moves, both are good', () => {
  const { saturation, perfusion } = tallies(made('pulse of 72 /min, accelerometer at rest').map(behindGreen));
  for (const { right, wrong, flagged } of [saturation!, perfusion!]) {
    expect(wrong).toBe(0);
    expect(right).toBeGreaterThanOrEqual(0.95 * (right + flagged));
  }
});
