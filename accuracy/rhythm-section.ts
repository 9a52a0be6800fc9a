/** Atrial fibrillation against normal rhythm by one index of irregularity, and what quality flags say of recordings too noisy to read.
 *
 *  The service has no such index yet. Scored is the coefficient of sample entropy (Lake & Moorman 2011, doi:10.1152/ajpheart.00561.2010) of
 *  the beats and intervals that the engine stores, worked out here: m = 1, r from 30 ms on, as published; nothing chosen on these
 *  recordings. CinC 2017: one index per recording (9-60 s, single lead); MIT-BIH: 30 s windows within one annotated rhythm. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { physicalSamples, readRecord } from '../src/formats/wfdb-read.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import { areaUnderCurve, percent } from './engine-windows.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import type { StreamRows } from './hrv-stream.ts';
import { loadMitdb } from './mitdb-recordings.ts';
import type { DatabaseFigure, Section } from './section.ts';

const toleranceSec = 0.03;
/** Pairs of successions alike, at least: the tolerance grows until there are so many, as the paper has it for short recordings. */
const pairsMin = 5;
const toleranceStepSec = 0.005;
const toleranceMaxSec = 1;
const intervalsMin = 8;
const windowSec = 30;

/** Coefficient of sample entropy of intervals in s: ln(pairs of neighbours alike / pairs of successions alike) + ln(2 r / mean interval).
 *  @returns NaN for fewer than 8 intervals */
export function sampleEntropyCoefficient(rrSec: readonly number[]): number {
  const n = rrSec.length;
  if (n < intervalsMin) return Number.NaN;
  const mean = rrSec.reduce((a, b) => a + b, 0) / n;
  for (let r = toleranceSec; r <= toleranceMaxSec; r += toleranceStepSec) {
    const [one, two] = pairsAlike(rrSec, r);
    if (two >= pairsMin) return Math.log(one / two) + Math.log((2 * r) / mean);
  }
  return Number.NaN;
}

function pairsAlike(rrSec: readonly number[], r: number): [one: number, two: number] {
  let one = 0;
  let two = 0;
  for (let i = 0; i + 1 < rrSec.length; i++)
    for (let j = i + 1; j + 1 < rrSec.length; j++) {
      if (Math.abs(rrSec[i]! - rrSec[j]!) > r) continue;
      one++;
      if (Math.abs(rrSec[i + 1]! - rrSec[j + 1]!) <= r) two++;
    }
  return [one, two];
}

/** Intervals between beats from..to, s; none across 3 s. */
function intervals(beatSec: Float64Array, from: number, to: number): number[] {
  const rr: number[] = [];
  for (let i = 1; i < beatSec.length; i++)
    if (beatSec[i - 1]! >= from && beatSec[i]! < to && beatSec[i]! - beatSec[i - 1]! < 3) rr.push(beatSec[i]! - beatSec[i - 1]!);
  return rr;
}

type Labelled = Readonly<{ label: string; index: number }>;

export type CincRecording = Labelled & Readonly<{ name: string; rows: StreamRows; seconds: number }>;

/** Every recording of REFERENCE.csv, through the engine. */
export async function readCinc(dataDir: string): Promise<CincRecording[]> {
  const dir = join(dataDir, 'cinc2017');
  const list = join(dir, 'REFERENCE.csv');
  if (!existsSync(list)) return [];
  const recordings: CincRecording[] = [];
  for (const line of readFileSync(list, 'utf8').trim().split('\n')) {
    const [name = '', label = ''] = line.trim().split(',');
    try {
      const { fs, leads } = await readRecord(join(dir, `${name}.hea`));
      const x = physicalSamples(leads[0]!);
      const rows = streamRows(ecgChannels([x], fs));
      const index = sampleEntropyCoefficient(intervals(beatSeconds(rows, 'ecg'), 0, Number.POSITIVE_INFINITY));
      recordings.push({ name, label, rows, index, seconds: x.length / fs });
    } catch (error) {
      console.warn(`SKIPPED ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return recordings;
}

/** Windows of 30 s of MIT-BIH within one annotated rhythm, first lead. */
async function mitdbWindows(dataDir: string): Promise<Labelled[]> {
  return (await loadMitdb(dataDir)).flatMap(({ fs, leads, rhythms }) => {
    const beats = beatSeconds(streamRows(ecgChannels(leads.slice(0, 1), fs)), 'ecg');
    return rhythms.flatMap(({ name, from, to }) => {
      const windows: Labelled[] = [];
      for (let at = from / fs; at + windowSec <= to / fs; at += windowSec)
        windows.push({
          label: name === 'AFIB' ? 'A' : name === 'N' ? 'N' : 'O',
          index: sampleEntropyCoefficient(intervals(beats, at, at + windowSec)),
        });
      return windows;
    });
  });
}

/** AUC of fibrillation against another rhythm; what has no index counts as regular. */
export function fibrillationAuc(of: readonly Labelled[], against: string): number {
  const known = of.filter(({ label }) => label === 'A' || label === against);
  return areaUnderCurve(
    known,
    ({ label }) => label === 'A',
    ({ index }) => (Number.isNaN(index) ? Number.NEGATIVE_INFINITY : index),
  );
}

/** Shares of the seconds (from 10 s on for heart rate) that carry a flag. */
export function flagShares(of: readonly CincRecording[], feature: string): { values: number; good: number; bad: number; share: number } {
  const rows = of.flatMap(({ rows: { features } }) => features.get(feature) ?? []);
  const due = of.reduce((sum, { seconds }) => sum + Math.floor(seconds), 0);
  const good = rows.filter(({ qmask }) => qmask === 0).length;
  return { values: rows.length, good, bad: rows.filter(({ qmask }) => qmask === 2).length, share: good / due };
}

const labelNames = { N: 'normal', A: 'fibrillation', O: 'other', '~': 'too noisy' } as const;

export async function run(dataDir: string): Promise<Section | null> {
  const cinc = await readCinc(dataDir);
  const mitdb = await mitdbWindows(dataDir);
  if (cinc.length + mitdb.length === 0) return null;
  const rows: string[][] = [['figure', 'chosen on', 'n', 'value']];
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const [database, of, unit] of [
    ['cinc2017', cinc, 'recordings'],
    ['mitdb', mitdb, 'windows of 30 s'],
  ] as [string, Labelled[], string][]) {
    if (of.length === 0) continue;
    const count = (label: string): number => of.filter((r) => r.label === label).length;
    // the beats of mitdb were tuned on, the index was not
    const chosenOn = database === 'mitdb' ? 'in part' : 'no';
    for (const [label, name] of [
      ['N', 'normal'],
      ['O', 'other rhythms'],
    ] as const) {
      const auc = fibrillationAuc(of, label);
      const n = `${count('A')} and ${count(label)} ${unit}`;
      rows.push([`${database}: fibrillation against ${name}, AUC of sample entropy`, chosenOn, n, auc.toFixed(4)]);
      json[`${database} A against ${label}`] = auc;
      if (label === 'N')
        byDatabase.push({ what: 'fibrillation against normal: AUC of sample entropy', database, chosenOn, n, figure: auc.toFixed(4) });
    }
  }
  for (const [label, name] of Object.entries(labelNames)) {
    const own = cinc.filter((r) => r.label === label);
    if (own.length === 0) continue;
    for (const feature of ['sqi_ecg', 'hr_ecg']) {
      const { good, bad, values, share } = flagShares(own, feature);
      const value = `${(100 * share).toFixed(1)} / ${percent(good, values)} / ${percent(bad, values)}`;
      const n = `${own.length} recordings, ${values} values`;
      rows.push([`cinc2017, ${name}: ${feature} flagged 0, % of seconds / flagged 0, flagged 2, % of values`, 'no', n, value]);
      json[`cinc2017 ${label} ${feature}`] = { share, good: good / values, bad: bad / values, values };
      if (feature === 'sqi_ecg' && (label === 'N' || label === '~'))
        byDatabase.push({
          what: `recordings labelled ${name}: sqi_ecg flagged 0, % of values`,
          database: 'cinc2017',
          chosenOn: 'no',
          n,
          figure: percent(good, values),
        });
    }
  }
  return {
    title: 'ECG: irregularity and short recordings (beats and flags through the engine, sample entropy worked out here)',
    rows,
    json,
    byDatabase,
    notes: [
      'An index needs 8 intervals; a recording without one counts as regular. A recording labelled too noisy may be clean in part, and a normal one noisy in part: labels are of the whole.',
    ],
  };
}
