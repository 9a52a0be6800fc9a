/** Floors on ventricular and supraventricular beats, first lead, through the stream engine. All recordings, and weights that know
 *  nothing of them: `npm run accuracy -- --only beat-origin --leave-out recording`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { judgedOf } from '../../accuracy/beat-confidence-section.ts';
import { called, scoreDatabases } from '../../accuracy/beat-origin-section.ts';
import { loadMitdb, loadQtdb } from '../../accuracy/mitdb-recordings.ts';
import type { EcgRecording } from '../../accuracy/mitdb-recordings.ts';
import { readCinc } from '../../accuracy/rhythm-section.ts';
import { scoreKinds } from '../../accuracy/score-kinds.ts';
import type { Call } from '../../accuracy/score-kinds.ts';

vi.setConfig({ testTimeout: 240_000 });

const dataDir = process.env['BIO_TEST_DATA'] ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'data');
const hasData = existsSync(join(dataDir, 'mitdb', '119.hea')) && existsSync(join(dataDir, 'qtdb', 'sel891.hea'));
if (!hasData) console.warn(`SKIPPED: no recordings in ${dataDir}, the floors of kinds of beats were not checked`);

/** A recording of 1000 Hz of which only labels matter. */
function labelled(codes: string, flutter: EcgRecording['flutter'] = []): EcgRecording {
  const beats = Float64Array.from(codes, (_, i) => 1000 * (i + 1));
  return { name: '', fs: 1000, leads: [], leadNames: [], beats, codes: [...codes], flutter, rhythms: [], countFromSec: 3.5 };
}

describe('scores by EC57', () => {
  const score = (recording: EcgRecording, calls: readonly (readonly [number, Call])[]): ReturnType<typeof scoreKinds> =>
    scoreKinds(recording, calls.map(([sec, called]) => ({ sec, called, confidence: 1 }))); // prettier-ignore

  test('every pair of a labelled and a called kind counts as WFDB bxb counts it', () => {
    // V: FN = Vn + Vs + Vq + Vo, FP = Nv + Sv + Ov, and neither Fv nor Qv; S: FN = Sn + Sv, FP = Ns + Vs + Fs + Os, and not Qs
    const codes = { N: 'N', S: 'A', V: 'V', F: 'F', Q: 'Q' } as const;
    const all = { V: { found: 0, all: 0, falsely: 0 }, S: { found: 0, all: 0, falsely: 0 } };
    for (const [reference, code] of Object.entries(codes))
      for (const called of ['N', 'S', 'V', 'Q'] as const) {
        const { V, S } = score(labelled(`NNN${code}`), [[4.1, called]]);
        const pair = `${reference}${called.toLowerCase()}`;
        expect(V, pair).toEqual({
          found: Number(pair === 'Vv'),
          all: Number(reference === 'V'),
          falsely: Number(['Nv', 'Sv'].includes(pair)),
        });
        const falselyS = Number(['Ns', 'Vs', 'Fs'].includes(pair));
        expect(S, pair).toEqual({ found: Number(pair === 'Ss'), all: Number(reference === 'S'), falsely: falselyS });
      }
    expect(score(labelled('NNNV'), [])).toEqual({ ...all, V: { found: 0, all: 1, falsely: 0 } });
    expect(score(labelled('NNNN'), [[3.7, 'V'], [4.4, 'S']])).toEqual({ V: { found: 0, all: 0, falsely: 1 }, S: { found: 0, all: 0, falsely: 1 } }); // prettier-ignore
  });

  test('a pair counts by its reference beat, from the learning time on and outside of flutter', () => {
    // at 3.5 s counting begins: the beat of 4 s counts though it was called at 3.9, that of 3 s does not though called at 3.1
    expect(score(labelled('NNVV'), [[3.1, 'V'], [3.9, 'V']]).V).toEqual({ found: 1, all: 1, falsely: 0 }); // prettier-ignore
    // flutter of 4.9 to 5.9 s takes the beat of 5 s out of both sums, and with 150 ms on both sides that of 6 s
    const { V } = score(labelled('NNNVVVV', [[4900, 5900]]), [[4, 'V'], [5, 'V'], [5.5, 'V'], [6, 'V'], [7, 'V']]); // prettier-ignore
    expect(V).toEqual({ found: 2, all: 2, falsely: 0 });
  });
});

describe.skipIf(!hasData)('kinds of beats', () => {
  const shares = (all: readonly EcgRecording[], names: readonly string[], kind: 'V' | 'S'): [number, number] => {
    const recordings = all.filter(({ name }) => names.includes(name));
    expect(recordings.length).toBe(names.length);
    const { found, all: labelled, falsely } = scoreDatabases([['', 'yes', recordings]], 1, null, [], null)[0]!.gross[kind];
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

  test.skipIf(!existsSync(join(dataDir, 'cinc2017', 'REFERENCE.csv')))(
    'people with a normal rhythm who hold the electrodes in their hands: hardly a good beat is ectopic (not chosen on)',
    async () => {
      const beats = (await readCinc(dataDir)).filter(({ label }) => label === 'N').flatMap(({ rows }) => rows.beats);
      const good = beats.filter(({ quality }) => quality === 0);
      expect(good.length).toBeGreaterThan(0.84 * beats.length);
      const share = (reason: string): number => good.filter((beat) => beat.reason === reason).length / good.length;
      expect(share('ventricular')).toBeLessThan(0.01);
      expect(share('supraventricular')).toBeLessThan(0.007);
    },
  );

  test('a confidence says how often a kind is right: two recordings with aberrated beats and many of each kind', async () => {
    const recordings = [...(await loadMitdb(dataDir)), ...(await loadQtdb(dataDir))].filter(({ name }) => ['203', 'sel891'].includes(name));
    expect(recordings.length).toBe(2);
    const judged = recordings.flatMap((recording) => judgedOf(recording, called(recording, 1)));
    const right = (from: number, to: number): number => {
      const of = judged.filter(({ confidence }) => confidence >= from && confidence < to);
      expect(of.length).toBeGreaterThan(100);
      return of.filter(({ isRight }) => isRight).length / of.length;
    };
    expect(right(0, 0.9)).toBeLessThan(0.9);
    expect(right(0.9, 0.99)).toBeGreaterThan(0.9);
    expect(right(0.99, 2)).toBeGreaterThan(0.98);
  });
});
