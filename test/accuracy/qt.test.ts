/** Floors on wrong QT intervals that are flagged, through the stream engine. `npm run accuracy -- --only qt-flags` prints all figures. */
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { countWindows, markedRecordings, qtOfRecordings } from '../../accuracy/qt-windows.ts';
import type { QtOfRecording } from '../../accuracy/qt-windows.ts';

vi.setConfig({ testTimeout: 240_000 });

const dataDir = process.env['BIO_TEST_DATA'] ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'data');
const folder = join(dataDir, 'qtdb');
const names = markedRecordings(folder);
if (names.length === 0) console.warn(`SKIPPED: no marked recordings in ${folder}, the floors of flags of QT were not checked`);

const ofTwoLeads = [0, 1];
let twoLeads: Promise<QtOfRecording[]> | null = null;
const recordingsOf = (order: readonly number[]): Promise<QtOfRecording[]> =>
  order === ofTwoLeads ? (twoLeads ??= qtOfRecordings(folder, names, order)) : qtOfRecordings(folder, names, order);

describe.skipIf(names.length === 0)(
  'QT intervals further than 20 ms from the marks of a cardiologist are flagged, most others good',
  () => {
    test.each([
      ['of two leads', ofTwoLeads, 0.87, 0.9],
      ['of the first alone', [0], 0.84, 0.97],
      ['of two, the second sent first', [1, 0], 0.6, 0.85],
    ])('%s', async (_, order, flaggedMin, goodMin) => {
      const { wrong, flagged, right, good } = countWindows(await recordingsOf(order));
      expect(wrong).toBeGreaterThan(25);
      expect(flagged / wrong).toBeGreaterThanOrEqual(flaggedMin);
      expect(good / right).toBeGreaterThanOrEqual(goodMin);
    });

    test('those of the first lead that are wrong by more than 30 ms all are, with two leads', async () => {
      const windows = (await recordingsOf(ofTwoLeads)).flatMap((one) => one.windows);
      const far = windows.filter(({ errorMs }) => Math.abs(errorMs) > 30);
      expect(far.length).toBeGreaterThan(20);
      expect(far.filter(({ isGood }) => isGood)).toEqual([]);
    });
  },
);
