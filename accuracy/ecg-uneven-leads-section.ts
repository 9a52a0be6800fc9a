/** Two leads of which one is bad: electrode motion in the lead given first while the second is clean, in either order of the leads, and a
 *  second lead that another person wears. Beats, heart rates and pauses with their flags, through the engine. */
import { featureMethods, methodIndex } from '../src/dsp/rows/methods.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import { firstSec, noiseFromSec } from './ecg-quality-sets.ts';
import { firstAfter, meanRate, percent } from './engine-windows.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import { addCounts, f1 } from './match-beats.ts';
import type { Counts } from './match-beats.ts';
import { addNoise, loadElectrodeMotion, loadMitdb, loadQtdb, matchRecording } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { ChosenOn, DatabaseFigure, Section } from './section.ts';

/** The longest interval of 10 s is off by more than this, s: half a QRS complex, so that one of its beats lies outside of its own; */
const PAUSE_OFF_SEC = 0.05;
/** and a heart rate by more than this, /min. */
const RATE_OFF = 5;
const snrsDb = [0, -6];

/** Values of one kind: how many were due, came, were good, and were good though they are off. */
type GoodTally = { due: number; values: number; good: number; off: number; offGood: number };

export type LeadsTally = { beats: Counts; rates: GoodTally; pauses: GoodTally; seconds: GoodTally };

const noValues = (): GoodTally => ({ due: 0, values: 0, good: 0, off: 0, offGood: 0 });
const newTally = (): LeadsTally => ({ beats: { tp: 0, fp: 0, fn: 0 }, rates: noValues(), pauses: noValues(), seconds: noValues() });

/** The longest interval of two beats that ends in (t - 10 s, t], s; NaN: there is none. */
function longestInterval(beatSec: Float64Array, t: number): number {
  let longest = Number.NaN;
  for (let i = Math.max(1, firstAfter(beatSec, t - 10)); i < beatSec.length && beatSec[i]! <= t; i++)
    if (!(beatSec[i]! - beatSec[i - 1]! <= longest)) longest = beatSec[i]! - beatSec[i - 1]!;
  return longest;
}

/** What the engine makes of these leads, against the beats of the recording. @param fromSec values before it do not count */
function judge(recording: EcgRecording, leads: readonly Float64Array[], fromSec: number, into: LeadsTally): void {
  const { fs, beats, flutter } = recording;
  const rows = streamRows(ecgChannels(leads, fs));
  addCounts(
    into.beats,
    matchRecording(
      recording,
      beatSeconds(rows, 'ecg').map((sec) => sec * fs),
    ),
  );
  const reference = Float64Array.from(beats, (k) => k / fs);
  const inFlutter = (from: number, to: number): boolean => flutter.some(([a, b]) => a / fs < to && b / fs > from);
  const endSec = Math.min(...leads.map(({ length }) => length)) / fs;
  const judgeValues = (feature: string, truthOf: (t: number) => number, offBy: number, tally: GoodTally): void => {
    const values = new Map((rows.features.get(feature) ?? []).map((row) => [Number(row.tNs) / 1e9, row]));
    const everySec = featureMethods[methodIndex(feature)]!.cadenceSec;
    for (let t = Math.ceil(fromSec / everySec) * everySec; t <= endSec; t += everySec) {
      const truth = truthOf(t);
      if (Number.isNaN(truth) || inFlutter(t - 10, t)) continue;
      const row = values.get(t);
      tally.due++;
      if (row === undefined) continue;
      const isGood = row.qmask === 0;
      const isOff = Math.abs(row.value - truth) > offBy;
      tally.values++;
      if (isGood) tally.good++;
      if (isOff) tally.off++;
      if (isOff && isGood) tally.offGood++;
    }
  };
  judgeValues('hr_ecg', (t) => meanRate(reference, t), RATE_OFF, into.rates);
  judgeValues('longest_rr_10s', (t) => 1000 * longestInterval(reference, t), 1000 * PAUSE_OFF_SEC, into.pauses);
  for (const { tNs, qmask } of rows.features.get('sqi_ecg') ?? []) {
    const t = Number(tNs) / 1e9;
    if (t < fromSec || inFlutter(t - 5, t + 5)) continue;
    into.seconds.due++;
    if (qmask === 0) into.seconds.good++;
  }
}

/** With the leads exchanged. */
export const exchanged = (recording: EcgRecording): EcgRecording => ({ ...recording, leads: recording.leads.slice(0, 2).toReversed() });

/** Noise in the lead given first; null: none. */
export function judgeNoisyFirst(recordings: readonly EcgRecording[], noise: Float64Array, snrDb: number | null): LeadsTally {
  const tally = newTally();
  for (const recording of recordings) {
    const first = snrDb === null ? recording.leads[0]! : addNoise(recording, 0, noise, snrDb);
    judge(recording, [first, recording.leads[1]!], noiseFromSec, tally);
  }
  return tally;
}

/** The second lead is that of the next recording. The beats that count are those of the first. */
export function judgeAnotherPerson(recordings: readonly EcgRecording[]): LeadsTally {
  const tally = newTally();
  for (const [i, recording] of recordings.entries()) {
    const second = recordings[(i + 1) % recordings.length]!.leads[1]!;
    const length = Math.min(recording.leads[0]!.length, second.length);
    judge(recording, [recording.leads[0]!.subarray(0, length), second.subarray(0, length)], firstSec, tally);
  }
  return tally;
}

/** Recordings whose first two leads have one rate. */
export const twoLeads = (all: readonly EcgRecording[]): EcgRecording[] =>
  all.filter(({ leads }) => leads.length > 1 && leads[1]!.length === leads[0]!.length);

export async function run(dataDir: string): Promise<Section | null> {
  const noise = loadElectrodeMotion(dataDir);
  if (noise === null) return null;
  const rows: string[][] = [
    [
      'recordings, noise in the first lead',
      'chosen on',
      'F1 %',
      'sqi_ecg flag 0 %',
      'hr_ecg flag 0, % of time',
      'off by more than 5 bpm %',
      'of values off and flag 0 %',
      'longest_rr_10s flag 0 %',
      'off by more than 50 ms %',
      'of values off and flag 0 %',
    ],
  ];
  const json: Record<string, Record<string, unknown>> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const [database, chosenOn, all] of [
    ['mitdb', 'in part', await loadMitdb(dataDir)],
    ['qtdb', 'yes', await loadQtdb(dataDir)],
  ] as [string, ChosenOn, EcgRecording[]][]) {
    const recordings = twoLeads(all);
    if (recordings.length === 0) continue;
    const note = (name: string, tally: LeadsTally): void => {
      const { beats, rates, pauses, seconds } = tally;
      rows.push([
        `${database}, ${name}`,
        chosenOn,
        f1(beats).toFixed(3),
        percent(seconds.good, seconds.due),
        percent(rates.good, rates.due),
        percent(rates.off, rates.values),
        percent(rates.offGood, rates.values),
        percent(pauses.good, pauses.due),
        percent(pauses.off, pauses.values),
        percent(pauses.offGood, pauses.values),
      ]);
      (json[database] ??= {})[name] = { f1: f1(beats), ...tally };
      if (name === 'none' || name === '0 dB') return;
      const n = `${recordings.length} recordings, ${pauses.values} values`;
      const figure = percent(pauses.offGood, pauses.values);
      byDatabase.push({ what: `longest_rr_10s, two leads, ${name}: off and flagged 0, %`, database, chosenOn, n, figure });
    };
    for (const [order, given] of [
      ['', recordings],
      ['exchanged, ', recordings.map(exchanged)],
    ] as const)
      for (const snrDb of [null, ...snrsDb])
        note(`${order}${snrDb === null ? 'none' : `${snrDb} dB`}`, judgeNoisyFirst(given, noise, snrDb));
    note("another person's second lead", judgeAnotherPerson(recordings));
  }
  if (rows.length === 1) return null;
  return {
    title: 'ECG: two leads of which the one given first is noisy, or the second is of another person, through the engine',
    rows,
    json,
    byDatabase,
    notes: [
      'First two leads of recordings that have two of one rate, as they are and exchanged; electrode motion in the one given first, from minute 5, as in the section of the first lead; values from then on, the clean stretches between included. F1 as there.',
      'Another person: the second lead is that of the next recording; beats and rates of the first lead count, from the first seconds on. Where two hearts have the same rate it is right, of either.',
      'Constants were chosen on qtdb; that two leads of one heart may show different waves of a beat, at a distance that they keep, was added after looking at what mitdb lost in one recording (102, paced).',
    ],
  };
}
