/** R peaks against the annotations: first lead per recording and gross, all leads fused, other sampling rates. */
import { findRPeaks } from '../../src/dsp/r-peaks-record.ts';
import { drawStretch } from './draw-misses.ts';
import { addCounts, countsHeader, countsJson, countsRow, f1, matchBeats } from './match-beats.ts';
import type { Counts } from './match-beats.ts';
import { loadMitdb, resample } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import { f1Spread } from './resample-records.ts';
import type { Picture, Section } from './section.ts';

const PICTURES_MAX = 24;

/** R peaks of one recording, in samples of its own rate. @param fs rate to resample to before detection */
export function detectRecording(recording: EcgRecording, leads: readonly Float64Array[], fs = recording.fs): Float64Array {
  const at = fs === recording.fs ? leads : leads.map((lead) => resample(lead, recording.fs, fs));
  const found = findRPeaks(at, fs);
  return found.position.slice(0, found.count).map((p) => (p * recording.fs) / fs);
}

export async function run(dataDir: string): Promise<Section | null> {
  const recordings = await loadMitdb(dataDir);
  if (recordings.length === 0) return null;
  const none = (): Counts => ({ tp: 0, fp: 0, fn: 0 });
  const gross = none();
  const rows: string[][] = [countsHeader];
  const perRecord: Record<string, unknown> = {};
  const misses: { error: number; picture: () => Picture }[] = [];
  for (const recording of recordings) {
    const detected = detectRecording(recording, recording.leads.slice(0, 1));
    const match = matchBeats(recording.beats, detected, recording.fs, recording.flutter);
    const own = none();
    addCounts(own, match);
    addCounts(gross, match);
    rows.push(countsRow(recording.name, own));
    perRecord[recording.name] = countsJson(own);
    const errors = [...match.fp.map((at) => ({ at, kind: 'FP' })), ...match.fn.map((at) => ({ at, kind: 'FN' }))].toSorted(
      (a, b) => a.at - b.at,
    );
    // One picture per recording, at its first error; the recordings with most errors first.
    const first = errors[0];
    if (first !== undefined) {
      const caption = `${recording.name}: ${first.kind} at ${(first.at / recording.fs).toFixed(2)} s (${errors.length} errors); green: reference, red: detected`;
      misses.push({
        error: errors.length,
        picture: () => drawStretch(caption, recording.leads[0]!, recording.fs, first.at, recording.beats, detected),
      });
    }
  }
  rows.push(countsRow('gross', gross));

  const extra: Record<string, Counts> = {};
  const halves = [none(), none()];
  const fused = none();
  // Neither was looked at while the weights of leads were chosen.
  const otherOrder = none();
  const fusedRates: Record<number, Counts> = { 250: none(), 500: none() };
  for (const [index, recording] of recordings.entries()) {
    const leads = recording.leads.filter((lead) => lead.length === recording.leads[0]!.length);
    addCounts(fused, matchBeats(recording.beats, detectRecording(recording, leads), recording.fs, recording.flutter));
    addCounts(otherOrder, matchBeats(recording.beats, detectRecording(recording, leads.toReversed()), recording.fs, recording.flutter));
    for (const [fs, total] of Object.entries(fusedRates))
      addCounts(total, matchBeats(recording.beats, detectRecording(recording, leads, Number(fs)), recording.fs, recording.flutter));
    const own = perRecord[recording.name] as Counts;
    const half = halves[index % 2]!;
    half.tp += own.tp;
    half.fp += own.fp;
    half.fn += own.fn;
  }
  extra['all leads fused'] = fused;
  extra['all leads fused, the last one first'] = otherOrder;
  for (const [fs, total] of Object.entries(fusedRates)) extra[`all leads fused at ${fs} Hz`] = total;
  extra['odd recordings'] = halves[0]!;
  extra['even recordings'] = halves[1]!;
  for (const fs of [125, 250, 500]) {
    const total = (extra[`first lead at ${fs} Hz`] = none());
    for (const recording of recordings) {
      addCounts(
        total,
        matchBeats(recording.beats, detectRecording(recording, recording.leads.slice(0, 1), fs), recording.fs, recording.flutter),
      );
    }
  }
  for (const [name, counts] of Object.entries(extra)) rows.push(countsRow(name, counts));

  const worst = Object.entries(perRecord).toSorted(([, a], [, b]) => f1(a as Counts) - f1(b as Counts))[0];
  const { leftOut, drawn } = f1Spread(Object.values(perRecord) as Counts[]);
  const range = ([low, high]: readonly [number, number]): string => `${low.toFixed(3)} to ${high.toFixed(3)}`;
  return {
    title: 'ECG: R peaks against annotations (EC57)',
    rows,
    json: {
      gross: countsJson(gross),
      f1Spread: { leftOut, drawn },
      worstRecord: worst === undefined ? null : { name: worst[0], f1: f1(worst[1] as Counts) },
      ...Object.fromEntries(Object.entries(extra).map(([name, counts]) => [name, countsJson(counts)])),
      records: perRecord,
    },
    notes: [
      'First lead; 64 s segments, each from a detector that starts 16 s before it, as the service computes them.',
      'Matched within 150 ms, one to one, from minute 5, ventricular flutter left out; rules in scripts/accuracy/match-beats.ts.',
      `Gross F1 of the first lead with one recording left out: ${range(leftOut)}; of as many recordings drawn with replacement, two thirds of 10,000 draws: ${range(drawn)}.`,
    ],
    pictures: misses
      .toSorted((a, b) => b.error - a.error)
      .slice(0, PICTURES_MAX)
      .map((miss) => miss.picture()),
  };
}
