/** Is a kind of beat right as often as its confidence says? First lead, beats that count by EC57 (score-kinds.ts). Rows named
 *  `of the other` have weights and scale of the other database; those in use know both. Fusion beats and those that nobody could name are
 *  left out. */
import { beatKinds } from '../src/dsp/rows/feature-rows.ts';
import type { BeatRow } from '../src/dsp/rows/feature-rows.ts';
import { encodeBeats, MINUTE_NS } from '../src/storage/derived-block.ts';
import { callOrigins, fitOrigins, noisyBeats, paced, shapedBeats } from './beat-origin-fit.ts';
import { called } from './beat-origin-section.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import { streamRows } from './hrv-stream.ts';
import { loadElectrodeMotion, loadMitdb, loadQtdb } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import { originsOfCalls } from './score-kinds.ts';
import type { Call, CalledBeat } from './score-kinds.ts';
import type { ChosenOn, DatabaseFigure, Section } from './section.ts';

const MINUTE = BigInt(MINUTE_NS);
/** Lower ends of the classes of confidence. */
const bins = [0, 0.5, 0.7, 0.9, 0.99];
const kinds = ['N', 'S', 'V'] as const;

type Judged = Readonly<{ called: Call; confidence: number; isRight: boolean }>;

/** Calls that count and have a confidence. */
export function judgedOf(recording: EcgRecording, calls: readonly CalledBeat[]): Judged[] {
  return originsOfCalls(recording, calls).flatMap((origin, i): Judged[] => {
    const { called: call, confidence } = calls[i]!;
    if (origin === null || origin === 'F' || origin === 'Q' || call === 'Q' || Number.isNaN(confidence)) return [];
    return [{ called: call, confidence, isRight: origin === call }];
  });
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const percent = (x: number): string => (Number.isNaN(x) ? '-' : (100 * x).toFixed(1));
const right = (beats: readonly Judged[]): number => mean(beats.map(({ isRight }) => (isRight ? 1 : 0)));
const stated = (beats: readonly Judged[]): number => mean(beats.map(({ confidence }) => confidence));

/** Expected calibration error: how far stated and true shares are apart, by class, weighted by beats. */
function calibrationError(beats: readonly Judged[]): number {
  return binned(beats).reduce((sum, of) => sum + (of.length === 0 ? 0 : (of.length / beats.length) * Math.abs(right(of) - stated(of))), 0);
}

const binned = (beats: readonly Judged[]): Judged[][] =>
  bins.map((from, i) => beats.filter(({ confidence }) => confidence >= from && confidence < (bins[i + 1] ?? 2)));

/** What a confidence costs in beat_block, bits a beat: minutes of one recording, with and without. */
function storedBits({ leads, fs }: EcgRecording): { bits: number; beats: number } {
  const { beats } = streamRows(ecgChannels(leads.slice(0, 1), fs));
  const minutes = new Map<bigint, BeatRow[]>();
  for (const beat of beats) minutes.set(beat.tNs / MINUTE, [...(minutes.get(beat.tNs / MINUTE) ?? []), beat]);
  let bytes = 0;
  for (const minute of minutes.values()) {
    const points = {
      ns: minute.map(({ tNs }) => Number(tNs % MINUTE)),
      intervalUs: minute.map(({ ibiMs }) => Math.round(ibiMs * 1000)),
      kinds: minute.map(({ kind }) => beatKinds.indexOf(kind)),
      flags: minute.map(({ quality }) => quality),
      reasons: minute.map(({ reason }) => reason),
    };
    const known = encodeBeats({ ...points, confidences: minute.map(({ confidence }) => Math.round(100 * confidence)) });
    bytes += known.codec.length - encodeBeats({ ...points, confidences: minute.map(() => Number.NaN) }).codec.length;
  }
  return { bits: 8 * bytes, beats: beats.length };
}

export async function run(dataDir: string): Promise<Section | null> {
  const databases = [['mitdb', await loadMitdb(dataDir)] as const, ['qtdb', await loadQtdb(dataDir)] as const].map(
    ([database, all]) => [database, all.filter(({ name }) => !paced.has(name))] as const,
  );
  if (databases.some(([, all]) => all.length === 0)) return null;
  const noise = loadElectrodeMotion(dataDir);
  const shaped = new Map(databases.map(([database, all]) => [database, new Map(all.map((r) => [r.name, shapedBeats(r, 1)]))]));
  const rows: string[][] = [['kinds of', 'database', 'chosen on', 'called', 'confidence', 'beats', 'stated %', 'right %']];
  const json: Record<string, number> = {};
  const byDatabase: DatabaseFigure[] = [];
  databases.forEach(([database, recordings], i) => {
    const [other, ofOther] = databases[1 - i]!;
    const weights = fitOrigins(shaped.get(other)!, new Map(noise === null ? [] : ofOther.flatMap((r) => noisyBeats(r, noise))));
    const ways: readonly (readonly [string, ChosenOn, (r: EcgRecording) => readonly CalledBeat[]])[] = [
      ['in use', 'yes', (r) => called(r, 1)],
      ['of the other', 'no', (r) => callOrigins(shaped.get(database)!.get(r.name)!, weights)],
    ];
    for (const [name, chosenOn, callsOf] of ways) {
      const judged = recordings.flatMap((r) => judgedOf(r, callsOf(r)));
      for (const kind of kinds) {
        const of = judged.filter(({ called: call }) => call === kind);
        binned(of).forEach((beats, b) => {
          const range = `${bins[b]} to ${bins[b + 1] ?? 1}`;
          if (beats.length > 0)
            rows.push([name, database, chosenOn, kind, range, String(beats.length), percent(stated(beats)), percent(right(beats))]);
        });
      }
      const error = calibrationError(judged);
      json[`${database}, ${name}`] = error;
      const what = 'confidence of kinds of beats: mean difference from the share that is right, points';
      byDatabase.push({ what, database, chosenOn, n: String(judged.length), figure: (100 * error).toFixed(2) });
    }
  });
  const notes = databases.map(([database, recordings]) => {
    const stored = recordings.map(storedBits);
    const bits = stored.reduce((sum, of) => sum + of.bits, 0) / stored.reduce((sum, of) => sum + of.beats, 0);
    return `Stored, ${database}: ${bits.toFixed(1)} bits a beat.`;
  });
  return { title: 'Confidence of kinds of beats', rows, json, byDatabase, notes };
}
