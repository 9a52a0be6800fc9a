import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSimulatedDevice } from './simulator/device.ts';
import { TruthFile } from './simulator/truth-file.ts';
import { matchBeats, readTruth } from './truth.ts';

test('pairs each beat once, within 150 ms, and counts what is left over on either side', () => {
  expect(matchBeats([1, 2, 3], [3.01, 1.14, 1.99])).toEqual({ beats: 3, found: 3, extra: 0 });
  expect(matchBeats([1, 2, 3], [1, 1.1, 2.16])).toEqual({ beats: 3, found: 1, extra: 2 });
  expect(matchBeats([1, 1.1], [1.05])).toEqual({ beats: 2, found: 1, extra: 0 });
  expect(matchBeats([], [])).toEqual({ beats: 0, found: 0, extra: 0 });
});

test('reads what the simulator writes: two devices, each with its beats and its losses of contact', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-truth-'));
  try {
    const path = join(folder, 'new', 'truth.jsonl');
    const file = new TruthFile(path, 0n, false);
    const beats = [0, 0];
    for (const n of [0, 1]) {
      const device = createSimulatedDevice({ seed: n + 1, contactLossPerHour: 120, channels: ['temp.skin'] });
      for (let i = 0; i < 30; i++) {
        const span = device.next(10_000);
        beats[n]! += span.beats.length;
        await file.write(`device ${n}`, 'a'.repeat(32), `person ${n}`, span);
      }
    }
    await file.close();
    const truths = readTruth(path);
    expect(truths.map(({ subject, beats: own }) => [subject, own.length])).toEqual([
      ['person 0', beats[0]],
      ['person 1', beats[1]],
    ]);
    expect(truths.some(({ contactLosses }) => contactLosses.length > 0)).toBe(true);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
