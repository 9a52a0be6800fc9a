/** Floors on ventricular and supraventricular beats, first lead, through the stream engine. All recordings, and weights that know
 *  nothing of them: `npm run accuracy -- --only beat-origin --leave-out recording`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { scoreDatabases } from '../../accuracy/beat-origin-section.ts';
import { loadMitdb, loadQtdb } from '../../accuracy/mitdb-recordings.ts';
import type { EcgRecording } from '../../accuracy/mitdb-recordings.ts';

vi.setConfig({ testTimeout: 240_000 });

const dataDir = process.env['BIO_TEST_DATA'] ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'data');
const hasData = existsSync(join(dataDir, 'mitdb', '119.hea')) && existsSync(join(dataDir, 'qtdb', 'sel891.hea'));
if (!hasData) console.warn(`SKIPPED: no recordings in ${dataDir}, the floors of kinds of beats were not checked`);

describe.skipIf(!hasData)('kinds of beats', () => {
  const shares = (all: readonly EcgRecording[], names: readonly string[], kind: 'V' | 'S'): [number, number] => {
    const recordings = all.filter(({ name }) => names.includes(name));
    expect(recordings.length).toBe(names.length);
    const { found, all: labelled, falsely } = scoreDatabases([['', 'yes', recordings]], 1, null, [])[0]!.gross[kind];
    return [found / labelled, found / (found + falsely)];
  };

  test('ventricular: three recordings of MIT-BIH', async () => {
    const [se, ppv] = shares(await loadMitdb(dataDir), ['106', '119', '215'], 'V');
    expect(se).toBeGreaterThanOrEqual(0.99);
    expect(ppv).toBeGreaterThanOrEqual(0.99);
  });

  test('supraventricular: one recording of MIT-BIH, and two of QTDB with frequent ones that make the rhythm irregular', async () => {
    const [se, ppv] = shares(await loadMitdb(dataDir), ['220'], 'S');
    expect(se).toBeGreaterThanOrEqual(0.93);
    expect(ppv).toBeGreaterThanOrEqual(0.95);
    const [often, right] = shares(await loadQtdb(dataDir), ['sel821', 'sel891'], 'S');
    expect(often).toBeGreaterThanOrEqual(0.95);
    expect(right).toBeGreaterThanOrEqual(0.82);
  });
});
