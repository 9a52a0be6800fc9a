/** Atrial fibrillation against other rhythms by the index of the service and by sample entropy, and what quality flags say of recordings
 *  too noisy to read. CinC 2017: one figure per recording (9-60 s, single lead), the mean of its values; MIT-BIH, first lead: each value
 *  whose 30 s lie within one annotated rhythm. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { physicalSamples, readRecord } from '../src/formats/wfdb-read.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import { areaUnderCurve, fitLogistic, leftOutScores, percent, probability } from './engine-windows.ts';
import { indexedWindows } from './fibrillation-windows.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import type { StreamRows } from './hrv-stream.ts';
import { loadMitdb } from './mitdb-recordings.ts';
import { sampleEntropyCoefficient } from './sample-entropy.ts';
import type { DatabaseFigure, Options, Section } from './section.ts';

const windowSec = 30;
const ridge = 0.01;

/** What is scored: a recording, or a value; `label` A: fibrillation, N: normal, O: other, ~: too noisy. */
type Labelled = Readonly<{ label: string; index: number; entropy: number; windows: readonly (readonly number[])[] }>;

export type CincRecording = Labelled & Readonly<{ name: string; rows: StreamRows; seconds: number }>;

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** Intervals between beats from..to, s; none across 3 s. */
function intervals(beatSec: Float64Array, from: number, to: number): number[] {
  const rr: number[] = [];
  for (let i = 1; i < beatSec.length; i++)
    if (beatSec[i - 1]! >= from && beatSec[i]! < to && beatSec[i]! - beatSec[i - 1]! < 3) rr.push(beatSec[i]! - beatSec[i - 1]!);
  return rr;
}

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
      const windows = indexedWindows(rows, x, fs);
      recordings.push({
        name,
        label,
        rows,
        seconds: x.length / fs,
        index: mean(windows.map(({ index }) => index)),
        entropy: sampleEntropyCoefficient(intervals(beatSeconds(rows, 'ecg'), 0, Number.POSITIVE_INFINITY)),
        windows: windows.map(({ features }) => features),
      });
    } catch (error) {
      console.warn(`SKIPPED ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return recordings;
}

/** Values of MIT-BIH whose window lies within one annotated rhythm, first lead. */
async function mitdbWindows(dataDir: string): Promise<Labelled[]> {
  return (await loadMitdb(dataDir)).flatMap(({ fs, leads, rhythms }) => {
    const rows = streamRows(ecgChannels(leads.slice(0, 1), fs));
    const beats = beatSeconds(rows, 'ecg');
    return indexedWindows(rows, leads[0]!, fs).flatMap(({ endSec, index, features }) => {
      const rhythm = rhythms.find(({ from, to }) => from / fs <= endSec - windowSec && to / fs >= endSec);
      if (rhythm === undefined) return [];
      const label = rhythm.name === 'AFIB' ? 'A' : rhythm.name === 'N' ? 'N' : 'O';
      const entropy = sampleEntropyCoefficient(intervals(beats, endSec - windowSec, endSec));
      return [{ label, index, entropy, windows: [features] }];
    });
  });
}

type Score = (of: Labelled) => number;

/** AUC of fibrillation against another rhythm; what has no figure counts as regular. */
export function fibrillationAuc(of: readonly Labelled[], against: string, score: Score = ({ index }) => index): number {
  return areaUnderCurve(
    of.filter(({ label }) => label === 'A' || label === against),
    ({ label }) => label === 'A',
    (one) => (Number.isNaN(score(one)) ? Number.NEGATIVE_INFINITY : score(one)),
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

type Database = Readonly<{ database: string; of: readonly Labelled[]; unit: string }>;

/** The weights of the index, for each database fitted on the other: both classes and both databases count the same. */
function refitSection(databases: readonly Database[]): Section {
  const windows = databases.flatMap(({ database, of }) =>
    of.flatMap((one) => one.windows.map((features) => ({ database, one, features, isRight: one.label === 'A' }))),
  );
  const known = windows.filter(({ one, features }) => one.label !== '~' && !features.some(Number.isNaN));
  const fit = (examples: readonly (typeof known)[number][]): readonly number[] => {
    const weightOf = (w: (typeof known)[number]): number =>
      examples.length / examples.filter((e) => e.database === w.database && e.isRight === w.isRight).length;
    return fitLogistic(
      examples.map((w) => ({ ...w, weight: weightOf(w) })),
      ridge,
    );
  };
  const scores = leftOutScores(
    known,
    ({ database }) => database,
    (others) => {
      const weights = fit(others);
      return ({ features }) => probability(weights, features);
    },
  );
  const refit = (one: Labelled): number => mean(scores.filter((_, i) => known[i]!.one === one));
  const rows = [['figure', 'n', 'refit', 'in use']];
  const json: Record<string, unknown> = { fit: { weights: fit(known), of: ['constant', 'irregularity', 'likeness'] } };
  for (const { database, of, unit } of databases)
    for (const against of ['N', 'O'] as const) {
      const figures = { refit: fibrillationAuc(of, against, refit), inUse: fibrillationAuc(of, against) };
      json[`${database} A against ${against}`] = figures;
      rows.push([
        `${database}: fibrillation against ${labelNames[against]}, AUC of the index`,
        `${of.filter(({ label }) => label === 'A').length} and ${of.filter(({ label }) => label === against).length} ${unit}`,
        figures.refit.toFixed(4),
        figures.inUse.toFixed(4),
      ]);
    }
  return {
    title: 'ECG: index of fibrillation, refit, each database by weights of the other (not the weights in use)',
    rows,
    json,
    notes: [`Fitted on both: ${fit(known).map((w) => w.toFixed(2)).join(', ')} (constant, irregularity, likeness).`], // prettier-ignore
  };
}

export async function run(dataDir: string, { leaveOut }: Options): Promise<Section | null> {
  const cinc = await readCinc(dataDir);
  const mitdb = await mitdbWindows(dataDir);
  const databases: Database[] = [
    { database: 'cinc2017', of: cinc, unit: 'recordings' },
    { database: 'mitdb', of: mitdb, unit: 'values of 30 s' },
  ].filter(({ of }) => of.length > 0);
  if (databases.length === 0) return null;
  if (leaveOut !== null) return leaveOut === 'database' && databases.length > 1 ? refitSection(databases) : null;
  const rows: string[][] = [['figure', 'chosen on', 'n', 'value']];
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const { database, of, unit } of databases) {
    const count = (label: string): number => of.filter((r) => r.label === label).length;
    for (const label of ['N', 'O'] as const)
      for (const [name, chosenOn, score] of [
        ['af_index', 'yes', ({ index }: Labelled) => index],
        // nothing of it was chosen; the beats of mitdb were tuned on
        ['sample entropy', database === 'mitdb' ? 'in part' : 'no', ({ entropy }: Labelled) => entropy],
      ] as const) {
        const auc = fibrillationAuc(of, label, score);
        const n = `${count('A')} and ${count(label)} ${unit}`;
        rows.push([`${database}: fibrillation against ${labelNames[label]}, AUC of ${name}`, chosenOn, n, auc.toFixed(4)]);
        if (name === 'af_index') json[`${database} A against ${label}`] = auc;
        if (label === 'N')
          byDatabase.push({ what: `fibrillation against normal: AUC of ${name}`, database, chosenOn, n, figure: auc.toFixed(4) });
      }
    for (const [label, name] of Object.entries(labelNames)) {
      if (count(label) === 0) continue;
      const above = of.filter((r) => r.label === label && r.index >= 0.5).length;
      rows.push([`${database}, ${name}: af_index from 0.5 on, %`, 'yes', `${count(label)} ${unit}`, percent(above, count(label))]);
      json[`${database} ${label} from 0.5 on`] = above / count(label);
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
    title: 'ECG: index of fibrillation, and short recordings (through the engine)',
    rows,
    json,
    byDatabase,
    notes: [
      'The two weights of af_index were fitted on both databases; `--leave-out database` has them fitted on the other. Sample entropy (Lake & Moorman 2011) of the same beats stands next to it, as published. A recording without a value counts as regular. A recording labelled too noisy may be clean in part, and a normal one noisy in part: labels are of the whole.',
    ],
  };
}
