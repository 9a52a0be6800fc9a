/** Pulse rate, heart rate in motion and respiration as users get them: through the stream engine, in its segments, with their flags (S5,
 *  S9).
 *
 *  BIDMC at rest and CapnoBase under anaesthesia: hr_ppg and hr_ppg_motion against the reference rate of the same 8 s (median interval of
 *  the agreed R peaks, or of the marked pulses). IEEE SPC running,
 *  all wavelengths and the accelerometer: hr_ppg_motion against the given rates. Respiration without a respiration channel: BIDMC, windows
 *  of 32 s, against the mean of the annotators where they agree within 2 /min. */
import type { FeatureRow } from '../src/dsp/rows/feature-rows.ts';
import { streamRows } from './hrv-stream.ts';
import { accChannels, loadPpg, ppgChannels, pulseBeats } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import { rateBpm } from './ppg-windows.ts';
import { scoreBeats } from './ppg-reference.ts';
import type { ChosenOn, DatabaseFigure, Section } from './section.ts';

export type FlaggedErrors = Readonly<{
  count: number;
  meanError: number;
  /** Shares within the limit: of all, of those flagged 0, 1, 2; of those off by more, flagged 1 or 2. */
  within: number;
  withinByFlag: readonly number[];
  offFlagged: number;
  flagShares: readonly number[];
}>;

type Judged = Readonly<{ error: number; flag: number }>;

export async function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir);
  if (items.length === 0) return null;
  const figures = pulseStreamFigures(items);
  const percent = (share: number): string => (Number.isNaN(share) ? '-' : (100 * share).toFixed(2));
  const rows = [
    ['value', 'chosen on', 'count', 'mean error /min', 'within %', 'flag 0 / 1 / 2 within %', 'off and flagged %', 'flagged 0 / 1 / 2 %'],
  ];
  const byDatabase: DatabaseFigure[] = [];
  for (const [name, f] of Object.entries(figures)) {
    const [database, chosenOn] = databaseOf(name);
    byDatabase.push({
      what: `${name}: mean error /min; within ${name.startsWith('resp') ? 2 : 5}, %`,
      database,
      chosenOn,
      n: String(f.count),
      figure: `${f.meanError.toFixed(2)}; ${percent(f.within)}`,
    });
    rows.push([
      name,
      chosenOn,
      String(f.count),
      f.meanError.toFixed(2),
      percent(f.within),
      f.withinByFlag.map(percent).join(' / '),
      percent(f.offFlagged),
      f.flagShares.map(percent).join(' / '),
    ]);
  }
  return {
    title: 'Pulse and breathing through the engine',
    rows,
    json: figures,
    byDatabase,
    notes: ['Within 5 /min (heart rate), 2 /min (respiration). Every second (hr_ppg), 2 s (hr_ppg_motion) or 16 s (respiration).'],
  };
}

function databaseOf(name: string): [string, ChosenOn] {
  if (name.endsWith('running')) return ['spc', 'yes'];
  return name.endsWith('anaesthesia') ? ['capnobase', 'no'] : ['bidmc', 'yes'];
}

export function pulseStreamFigures(items: readonly PpgItem[]): Record<string, FlaggedErrors> {
  const rest = items.filter((item) => item.set !== 'spc');
  const running = items.filter((item) => item.name.endsWith('.1') && item.set === 'spc');
  const judged = new Map<string, Judged[]>();
  const note = (name: string, of: Judged): void => void (judged.get(name)?.push(of) ?? judged.set(name, [of]));
  for (const item of rest) {
    const { fs, ppg, ecg } = item;
    // the pulse arrives later than the R peak: one constant lag per recording, as in the scores of beats
    const { lagSec } = scoreBeats(pulseBeats([ppg], fs), item.reference);
    const { features } = streamRows([
      { code: 'ppg.ir', kind: 'ppg', fs, unit: '1', samples: ppg },
      ...(ecg.length > 0 ? [{ code: 'ecg.ii', kind: 'ecg' as const, fs, unit: 'mV', samples: ecg }] : []),
    ]);
    const where = item.set === 'bidmc' ? 'at rest' : 'anaesthesia';
    for (const name of ['hr_ppg', 'hr_ppg_motion'])
      for (const row of features.get(name) ?? []) {
        const truth = referenceRate(item, seconds(row) + lagSec);
        if (truth !== null) note(`${name}, ${where}`, { error: Math.abs(row.value - truth), flag: row.qmask });
      }
    for (const name of item.breathSec === null ? [] : ['resp_rate_ppg', 'resp_rate_ecg'])
      for (const row of features.get(name) ?? []) {
        const truth = breathsPerMin(item, seconds(row));
        if (truth !== null) note(name, { error: Math.abs(row.value - truth), flag: row.qmask });
      }
  }
  for (const item of running) {
    const { ppg, bpm } = item.spc!;
    const { features } = streamRows([...ppgChannels(ppg, item.fs), ...accChannels(item)]);
    for (const name of ['hr_ppg', 'hr_ppg_motion'])
      for (const row of features.get(name) ?? []) {
        const truth = bpm[(seconds(row) - 8) / 2];
        if (truth !== undefined) note(`${name}, running`, { error: Math.abs(row.value - truth), flag: row.qmask });
      }
  }
  return Object.fromEntries([...judged].map(([name, list]) => [name, summed(list, name.startsWith('resp') ? 2 : 5)]));
}

const seconds = (row: FeatureRow): number => Number(row.tNs) / 1e9;

/** The reference's rate in the 8 s that end at t; null where it has none. */
function referenceRate({ reference, ppg, fs }: PpgItem, t: number): number | null {
  const { beatSec, spanSec } = reference;
  let covered = false;
  for (let k = 0; k < spanSec.length; k += 2) if (spanSec[k]! <= t - 7 && spanSec[k + 1]! >= t - 1) covered = true;
  return covered && t < ppg.length / fs ? rateBpm(beatSec, t - 8, t) : null;
}

function breathsPerMin({ breathSec }: PpgItem, t: number): number | null {
  if (t % 16 !== 0 || t < 48 || t > 478) return null;
  const [a, b] = breathSec!.map((times) => {
    const inside = times.filter((time) => time >= t - 32 && time < t);
    return inside.length < 3 ? Number.NaN : (60 * (inside.length - 1)) / (inside.at(-1)! - inside[0]!);
  });
  return Math.abs(a! - b!) <= 2 ? (a! + b!) / 2 : null;
}

function summed(list: readonly Judged[], limit: number): FlaggedErrors {
  const share = (of: readonly Judged[], keep: (j: Judged) => boolean): number => of.filter(keep).length / of.length;
  const isWithin = (j: Judged): boolean => j.error <= limit;
  return {
    count: list.length,
    meanError: list.reduce((sum, { error }) => sum + error, 0) / list.length,
    within: share(list, isWithin),
    withinByFlag: [0, 1, 2].map((flag) =>
      share(
        list.filter((j) => j.flag === flag),
        isWithin,
      ),
    ),
    offFlagged: share(
      list.filter((j) => !isWithin(j)),
      (j) => j.flag > 0,
    ),
    flagShares: [0, 1, 2].map((flag) => share(list, (j) => j.flag === flag)),
  };
}
