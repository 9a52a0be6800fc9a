/** Floors of two leads of which one is bad, on every third recording. They may only rise; `npm run accuracy -- --only uneven` scores
 *  all. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { exchanged, judgeAnotherPerson, judgeNoisyFirst, twoLeads } from '../../accuracy/ecg-uneven-leads-section.ts';
import { f1 } from '../../accuracy/match-beats.ts';
import { loadElectrodeMotion, loadMitdb, loadQtdb } from '../../accuracy/mitdb-recordings.ts';

vi.setConfig({ testTimeout: 240_000 });

const dataDir = process.env['BIO_TEST_DATA'] ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'data');
const noise = loadElectrodeMotion(dataDir);
const hasData = noise !== null && existsSync(join(dataDir, 'mitdb')) && existsSync(join(dataDir, 'qtdb'));
if (!hasData) console.warn(`SKIPPED: no ECG recordings in ${dataDir}, the floors of two leads of which one is bad were not checked`);

const third = <T>(all: readonly T[]): T[] => all.filter((_, i) => i % 3 === 0);
const share = (part: number, whole: number): number => (100 * part) / whole;

/** Noisy: F1, pauses good, pauses and rates good though off. Clean: seconds and rates good. Another person: rates good, rates and pauses
 *  good though off. All in %. */
describe.skipIf(!hasData).each([
  ['qtdb', loadQtdb, { given: [99.5, 97, 3, 0.3], exchanged: [99.8, 98, 2.5, 0.2], clean: [99.9, 99.8], another: [6, 1, 1.5] }],
  ['mitdb', loadMitdb, { given: [94.8, 72, 5, 0.3], exchanged: [98.8, 80, 3.5, 0.3], clean: [97.5, 86.8], another: [35, 1, 3.5] }],
])('two leads of %s', (_, load, floors) => {
  test.each([
    ['as they are', false],
    ['exchanged', true],
  ])('%s, the first noisy: pauses that are off are not good, and most are good', async (__, isExchanged) => {
    const all = third(twoLeads(await load(dataDir)));
    const { beats, pauses, rates } = judgeNoisyFirst(isExchanged ? all.map(exchanged) : all, noise!, -6);
    const [f1Min, goodMin, offMax, rateOffMax] = (isExchanged ? floors.exchanged : floors.given) as [number, number, number, number];
    expect(f1(beats)).toBeGreaterThanOrEqual(f1Min);
    expect(share(pauses.good, pauses.due)).toBeGreaterThanOrEqual(goodMin);
    expect(share(pauses.offGood, pauses.values)).toBeLessThanOrEqual(offMax);
    expect(share(rates.offGood, rates.values)).toBeLessThanOrEqual(rateOffMax);
  });

  test('clean: two leads of one heart stay good', async () => {
    const { seconds, rates } = judgeNoisyFirst(third(twoLeads(await load(dataDir))), noise!, null);
    expect(share(seconds.good, seconds.due)).toBeGreaterThanOrEqual(floors.clean[0]!);
    expect(share(rates.good, rates.due)).toBeGreaterThanOrEqual(floors.clean[1]!);
  });

  test("the second another person's: few heart rates are good", async () => {
    const { rates, pauses } = judgeAnotherPerson(third(twoLeads(await load(dataDir))));
    expect(share(rates.good, rates.due)).toBeLessThanOrEqual(floors.another[0]!);
    expect(share(rates.offGood, rates.values)).toBeLessThanOrEqual(floors.another[1]!);
    expect(share(pauses.offGood, pauses.values)).toBeLessThanOrEqual(floors.another[2]!);
  });
});
