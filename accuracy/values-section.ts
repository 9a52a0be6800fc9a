/** The values that users see, end to end through the stream engine: heart rate, RMSSD and their flags against the annotations (goal S9),
 *  pulse rate and pulse rate variability against the ECG of the same recording (S8). */
import type { FeatureRow } from '../src/dsp/rows/feature-rows.ts';
import { featureMethods, methodIndex } from '../src/dsp/rows/methods.ts';
import { alignRPeaks } from './align-r-peaks.ts';
import { percent } from './engine-windows.ts';
import { quantile } from './hrv-section.ts';
import { streamRows } from './hrv-stream.ts';
import { loadMitdb, loadQtdb } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import { loadPpg } from './ppg-recordings.ts';
import type { ChosenOn, DatabaseFigure, Section } from './section.ts';

/** Values by flag: how many, how many of them within the limit; of those far off, how many are flagged 1 or 2. */
export type Tally = { count: [number, number, number]; within: [number, number, number]; off: number; offFlagged: number };

const newTally = (): Tally => ({ count: [0, 0, 0], within: [0, 0, 0], off: 0, offFlagged: 0 });

function score(tally: Tally, { qmask }: FeatureRow, isWithin: boolean, isOff: boolean): void {
  tally.count[qmask]++;
  if (isWithin) tally.within[qmask]++;
  if (!isOff) return;
  tally.off++;
  if (qmask > 0) tally.offFlagged++;
}

function tallyRow(name: string, chosenOn: ChosenOn, t: Tally): string[] {
  const all = t.count[0] + t.count[1] + t.count[2];
  return [
    name,
    chosenOn,
    String(all),
    t.count.map((n) => percent(n, all)).join(' / '),
    percent(t.within[0], t.count[0]),
    percent(t.within[1], t.count[1]),
    percent(t.offFlagged, t.off),
  ];
}

export type EcgTallies = Readonly<{ hr2: Tally; hr5: Tally; rmssd: Tally; rmssdLabels: Tally }>;

/** Heart rate and RMSSD of the first lead of each recording. */
export function ecgTallies(recordings: readonly EcgRecording[]): EcgTallies {
  const hr2 = newTally();
  const hr5 = newTally();
  const rmssd = newTally();
  const rmssdLabels = newTally();
  for (const { fs, leads, beats, codes, flutter } of recordings) {
    const { features } = streamRows([{ code: 'ecg.1', kind: 'ecg', fs, unit: 'mV', samples: leads[0]! }]);
    const reference = Float64Array.from(beats, (k) => k / fs);
    const aligned = normalBeatsAligned(leads[0]!, beats, codes, fs);
    const inFlutter = (t: number, windowSec: number): boolean => flutter.some(([a, b]) => t > a / fs && t < b / fs + windowSec);
    for (const row of features.get('hr_ecg') ?? []) {
      const t = Number(row.tNs) / 1e9;
      const wanted = rateAt(reference, t, 8);
      if (t < 10 || inFlutter(t, 8) || Number.isNaN(wanted)) continue;
      const error = Math.abs(row.value - wanted);
      score(hr2, row, error <= 2, error > 2);
      score(hr5, row, error <= 5, error > 5);
    }
    for (const row of features.get('hrv_rmssd_60s') ?? []) {
      const t = Number(row.tNs) / 1e9;
      if (inFlutter(t, 60)) continue;
      for (const [tally, places] of [
        [rmssd, aligned],
        [rmssdLabels, reference],
      ] as const) {
        const wanted = rmssdAt(places, codes, t, 60);
        if (Number.isNaN(wanted)) continue;
        const error = Math.abs(row.value / wanted - 1);
        score(tally, row, error <= 0.1, error > 0.1);
      }
    }
  }
  return { hr2, hr5, rmssd, rmssdLabels };
}

export async function run(dataDir: string): Promise<Section | null> {
  const rows = [['value', 'chosen on', 'count', 'flagged 0 / 1 / 2, %', 'flag 0 within, %', 'flag 1 within, %', 'off and flagged, %']];
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const [database, chosenOn, recordings] of [
    ['mitdb', 'yes', await loadMitdb(dataDir)],
    ['qtdb', 'no', await loadQtdb(dataDir)],
  ] as [string, ChosenOn, EcgRecording[]][]) {
    if (recordings.length === 0) continue;
    const { hr2, hr5, rmssd, rmssdLabels } = ecgTallies(recordings);
    rows.push(
      tallyRow(`${database}: hr_ecg, 2 /min`, chosenOn, hr2),
      tallyRow(`${database}: hr_ecg, 5 /min`, chosenOn, hr5),
      tallyRow(`${database}: hrv_rmssd_60s, 10 % of the annotated beats, aligned`, chosenOn, rmssd),
      tallyRow(`${database}: hrv_rmssd_60s, 10 % of the labels as they stand`, chosenOn, rmssdLabels),
    );
    const all = rmssd.count[0] + rmssd.count[1] + rmssd.count[2];
    json[database] = {
      hrWithin2: hr2,
      hrWithin5: hr5,
      rmssdWithin10Percent: rmssd,
      rmssdFlag0Within: rmssd.within[0] / rmssd.count[0],
      rmssdFlag0Share: rmssd.count[0] / all,
      rmssdOfLabelsFlag0Within: rmssdLabels.within[0] / rmssdLabels.count[0],
    };
    const figure = `${percent(rmssd.within[0], rmssd.count[0])}; ${percent(rmssd.count[0], all)}`;
    byDatabase.push({ what: 'hrv_rmssd_60s flagged 0: within 10 %; flagged 0, %', database, chosenOn, n: String(all), figure });
  }
  const pulse = pulseFigures(dataDir);
  if (pulse !== null) {
    rows.push(tallyRow('bidmc: hr_ppg, 5 /min of ECG', 'yes', pulse.rate));
    for (const [name, errors, both] of pulse.variability) {
      const [middle, half] = errors.length === 0 ? ['-', '-'] : [mean(errors).toFixed(2), quantile(errors, 0.5).toFixed(2)];
      const unit = unitOf(name.split(' ')[0]!);
      rows.push([
        `bidmc: ${name}, both flagged 0: mean |error| ${middle}${unit}, median ${half}${unit}`,
        'yes',
        `${errors.length} of ${both}`,
        '',
        '',
        '',
        '',
      ]);
      byDatabase.push({
        what: `${name}, both flagged 0: mean error${unit}`,
        database: 'bidmc',
        chosenOn: 'yes',
        n: `${errors.length} of ${both}`,
        figure: middle,
      });
    }
  }
  if (rows.length === 1) return null;
  return {
    title: 'Values and flags end to end, through the engine',
    rows,
    json: {
      ...json,
      pulseRate: pulse?.rate ?? null,
      prv: Object.fromEntries(
        (pulse?.variability ?? []).map(([name, errors, both]) => [
          name,
          { mean: mean(errors), windows: errors.length, share: errors.length / both },
        ]),
      ),
    },
    byDatabase,
    notes: [
      'Heart rate: the same definition (mean of the intervals of the last 8 s) from the annotated beats, first lead, all records. RMSSD: from labelled normal beats. The labels say which beats there are, not where within several ms (in 108 they move between two waves): each is put where the slope fits the median normal beat best (align-r-peaks.ts, which knows nothing of the detector); next to it the labels as they stand.',
      'Pulse: against the values flagged 0 that the same engine makes of the ECG of the recording; variability: both flagged 0, of all windows that have both values.',
    ],
  };
}

/** 60 / mean interval of the beats in (t - window, t]. */
function rateAt(beatSec: Float64Array, t: number, windowSec: number): number {
  let sum = 0;
  let count = 0;
  for (let i = after(beatSec, t - windowSec) + 1; i < beatSec.length && beatSec[i]! <= t; i++) {
    const rr = beatSec[i]! - beatSec[i - 1]!;
    if (rr > 3) continue;
    sum += rr;
    count++;
  }
  return count < 2 ? Number.NaN : (60 * count) / sum;
}

/** As src/cli/reference.ts has them: no paced beats. */
export const normalCodes: ReadonlySet<string> = new Set(['N', 'L', 'R', 'e', 'j', 'B']);

/** Beats with the normal ones put where the slope fits their median beat best, s. Others keep their place: they have another shape. */
export function normalBeatsAligned(ecg: Float64Array, beats: ArrayLike<number>, codes: readonly string[], fs: number): Float64Array {
  const places = Float64Array.from(beats);
  const which = codes.flatMap((code, i) => (normalCodes.has(code) ? [i] : []));
  const refined = alignRPeaks(
    ecg,
    Float64Array.from(which, (i) => places[i]!),
    fs,
  );
  which.forEach((i, n) => (places[i] = refined[n]!));
  return places.map((k) => k / fs);
}

/** RMSSD of pairs of intervals between labelled normal beats, ms; NaN with fewer than 10. */
export function rmssdAt(beatSec: Float64Array, codes: readonly string[], t: number, windowSec: number): number {
  let squares = 0;
  let count = 0;
  let previous = Number.NaN;
  for (let i = after(beatSec, t - windowSec) + 1; i < beatSec.length && beatSec[i]! <= t; i++) {
    const normal = normalCodes.has(codes[i]!) && normalCodes.has(codes[i - 1]!);
    const rrMs = normal ? 1000 * (beatSec[i]! - beatSec[i - 1]!) : Number.NaN;
    if (!Number.isNaN(rrMs - previous)) {
      squares += (rrMs - previous) ** 2;
      count++;
    }
    previous = rrMs;
  }
  return count < 10 ? Number.NaN : Math.sqrt(squares / count);
}

/** Index of the first beat later than t. */
function after(beatSec: Float64Array, t: number): number {
  let [low, high] = [0, beatSec.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (beatSec[middle]! <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

const mean = (x: readonly number[]): number => x.reduce((a, b) => a + b, 0) / x.length;

/** Every measure of the pulse that has a twin of ECG; the first is that of the goal. */
const pulseNames = [
  'sdnn_300s',
  ...featureMethods.flatMap(({ feature }) =>
    feature.startsWith('prv_') && feature !== 'prv_sdnn_300s' ? [feature.slice('prv_'.length)] : [],
  ),
];

/** With a space before it; nothing for ratios. */
const unitOf = (feature: string): string => {
  const { unit } = featureMethods[methodIndex(feature)]!;
  return unit === '1' ? '' : ` ${unit}`;
};

/** @returns by measure: errors where both values are flagged 0, and how many windows have both */
export function pulseFigures(dataDir: string): { rate: Tally; variability: [string, number[], number][] } | null {
  const items = loadPpg(dataDir, ['bidmc']);
  if (items.length === 0) return null;
  const rate = newTally();
  const variability = pulseNames.map((name) => ({ name, errors: [] as number[], both: 0 }));
  for (const { fs, ppg, ecg } of items) {
    const { features } = streamRows([
      { code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples: ecg },
      { code: 'ppg', kind: 'ppg', fs, unit: '1', samples: ppg },
    ]);
    const byTime = (feature: string): Map<bigint, FeatureRow> => new Map((features.get(feature) ?? []).map((row) => [row.tNs, row]));
    const hr = byTime('hr_ecg');
    for (const row of features.get('hr_ppg') ?? []) {
      const wanted = hr.get(row.tNs);
      if (wanted === undefined || wanted.qmask > 0) continue;
      const error = Math.abs(row.value - wanted.value);
      score(rate, row, error <= 5, error > 5);
    }
    for (const each of variability) {
      const wanted = byTime(`hrv_${each.name}`);
      for (const row of features.get(`prv_${each.name}`) ?? []) {
        const truth = wanted.get(row.tNs);
        if (truth === undefined) continue;
        each.both++;
        if (truth.qmask === 0 && row.qmask === 0) each.errors.push(Math.abs(row.value - truth.value));
      }
    }
  }
  return { rate, variability: variability.map(({ name, errors, both }) => [`prv_${name} against hrv_${name}`, errors, both]) };
}
