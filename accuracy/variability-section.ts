/** The variability of five minutes end to end: from the beats that the engine finds in ECG, against the same value from the annotated
 *  beats. */
import type { ChosenOn, DatabaseFigure, Section } from './section.ts';
import { fiveMinuteValues } from '../src/dsp/hrv/five-minutes.ts';
import { bandPowers } from '../src/dsp/hrv/frequency.ts';
import type { NnWindow } from '../src/dsp/hrv/time-domain.ts';
import { timeDomain } from '../src/dsp/hrv/time-domain.ts';
import type { QualityFlag } from '../src/signal.ts';
import { fiveMinuteMethods } from '../src/dsp/rows/methods-five-minutes.ts';
import { quantile } from './hrv-section.ts';
import { streamRows } from './hrv-stream.ts';
import { loadMitdb, loadQtdb } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import { normalBeatsAligned, normalCodes } from './values-section.ts';

const windowSec = 300;
/** Values whose windows end at other times too: those that end with the five minutes are compared. */
const others = ['mean_nn', 'sdnn', 'rmssd', 'pnn50', 'sd1', 'sd2', 'lf', 'hf', 'lf_hf'] as const;
/** A window of the reference needs intervals between normal beats for so much of it. */
const coveredMin = 0.8;

/** Error of one value in % of the reference, and its flag. */
type Pair = Readonly<{ percent: number; flag: QualityFlag }>;

export type FiveMinuteErrors = ReadonlyMap<string, readonly Pair[]>;

export function fiveMinuteErrors(recordings: readonly EcgRecording[]): FiveMinuteErrors {
  const errors = new Map<string, Pair[]>();
  for (const { fs, leads, beats, codes } of recordings) {
    const { features } = streamRows([{ code: 'ecg.1', kind: 'ecg', fs, unit: 'mV', samples: leads[0]! }]);
    const aligned = normalBeatsAligned(leads[0]!, beats, codes, fs);
    for (let endSec = windowSec; endSec * fs <= leads[0]!.length; endSec += windowSec) {
      const wanted = reference(aligned, codes, endSec);
      if (wanted === null) continue;
      for (const [feature, value] of wanted) {
        const row = features.get(feature)?.find(({ tNs }) => tNs === BigInt(endSec) * 1_000_000_000n);
        if (row === undefined || !Number.isFinite(value) || value === 0) continue;
        const list = errors.get(feature) ?? [];
        list.push({ percent: 100 * Math.abs(row.value / value - 1), flag: row.qmask });
        errors.set(feature, list);
      }
    }
  }
  return errors;
}

/** Values from intervals between labelled normal beats of (end - 300 s, end]; null where they cover too little. */
function reference(beatSec: Float64Array, codes: readonly string[], endSec: number): Map<string, number> | null {
  const nn: number[] = [];
  const ends: number[] = [];
  const adjacent: number[] = [];
  let last = -2;
  beatSec.forEach((t, i) => {
    if (i === 0 || beatSec[i - 1]! <= endSec - windowSec || t > endSec) return;
    if (!normalCodes.has(codes[i]!) || !normalCodes.has(codes[i - 1]!) || t - beatSec[i - 1]! > 3) return;
    nn.push(1000 * (t - beatSec[i - 1]!));
    ends.push(t - endSec + windowSec);
    adjacent.push(last === i - 1 ? 1 : 0);
    last = i;
  });
  if (nn.reduce((a, b) => a + b, 0) < 1000 * coveredMin * windowSec) return null;
  const window: NnWindow = { count: nn.length, nnMs: Float64Array.from(nn), adjacent: Uint8Array.from(adjacent) };
  const time = timeDomain(window);
  const { meanNnMs, sdnnMs, rmssdMs, pnn50, sd1Ms, sd2Ms } = time;
  const { lfMs2, hfMs2 } = bandPowers(Float64Array.from(ends), window.nnMs, nn.length, coveredMin * windowSec);
  const ofOthers = [meanNnMs, sdnnMs, rmssdMs, pnn50, sd1Ms, sd2Ms, lfMs2, hfMs2, lfMs2 / hfMs2];
  const five = fiveMinuteValues(window, Float64Array.from(ends), time);
  return new Map([
    ...others.map((name, i): [string, number] => [`hrv_${name}_300s`, ofOthers[i]!]),
    ...fiveMinuteMethods.map(({ feature }, i): [string, number] => [feature, five[i]!]),
  ]);
}

const shown = (x: number): string => (Number.isNaN(x) ? '-' : x.toFixed(2));

export async function run(dataDir: string): Promise<Section | null> {
  const rows = [
    [
      'value',
      'database',
      'chosen on',
      'windows',
      'flagged 0',
      'flag 0: median error, %',
      '95th percentile, %',
      'all: median, %',
      '95th, %',
    ],
  ];
  const byDatabase: DatabaseFigure[] = [];
  const json: Record<string, Record<string, unknown>> = {};
  for (const [database, chosenOn, recordings] of [
    ['mitdb', 'yes', await loadMitdb(dataDir)],
    ['qtdb', 'no', await loadQtdb(dataDir)],
  ] as [string, ChosenOn, EcgRecording[]][]) {
    if (recordings.length === 0) continue;
    json[database] = {};
    for (const [feature, pairs] of fiveMinuteErrors(recordings)) {
      const all = pairs.map(({ percent }) => percent);
      const good = pairs.filter(({ flag }) => flag === 0).map(({ percent }) => percent);
      const [median, most] = [quantile(good, 0.5), quantile(good, 0.95)];
      json[database][feature] = { windows: all.length, good: good.length, median, p95: most };
      rows.push([
        feature,
        database,
        chosenOn,
        String(all.length),
        String(good.length),
        shown(median),
        shown(most),
        shown(quantile(all, 0.5)),
        shown(quantile(all, 0.95)),
      ]);
      if (/dfa|entropy|triangular|_(mean_nn|sdnn|rmssd|sd1|sd2|lf|hf)_/.test(feature))
        byDatabase.push({
          what: `${feature} flagged 0: error, median; 95th percentile, %`,
          database,
          chosenOn,
          n: String(good.length),
          figure: `${shown(median)}; ${shown(most)}`,
        });
    }
  }
  if (rows.length === 1) return null;
  return {
    title: 'Variability of five minutes, from the beats found against the annotated beats',
    rows,
    json,
    byDatabase,
    notes: [
      `Windows of ${windowSec} s that lie side by side, first lead, in which intervals between labelled normal beats cover at least ${100 * coveredMin} %. The reference is the same definition, of the labelled beats, each put where the slope fits the median normal beat best (as for RMSSD above), without any exclusion but by label.`,
      'A share, an index or a power near 0 has a large error in per cent; so has TINN, a least-squares fit to a thin histogram that jumps by whole bins.',
    ],
  };
}
