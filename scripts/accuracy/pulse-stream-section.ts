/** Pulse rate, heart rate in motion and respiration as users get them: through the stream engine, in its segments, with their flags (S5, S9).
 *
 *  BIDMC at rest: hr_ppg and hr_ppg_motion against the reference rate of the same 8 s (median interval of the agreed R peaks). IEEE SPC running,
 *  all wavelengths and the accelerometer: hr_ppg_motion against the given rates. Respiration without a respiration channel: BIDMC, windows of
 *  32 s, against the mean of the annotators where they agree within 2 /min. */
import type { FeatureRow } from '../../src/dsp/feature-rows.ts';
import { streamRows } from './hrv-stream.ts';
import { PpgBeatDetector } from '../../src/dsp/ppg-beats.ts';
import { findBeats, loadPpg } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import { rateBpm } from './ppg-quality-section.ts';
import { scoreBeats } from './ppg-reference.ts';
import type { Section } from './section.ts';

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
  const rows = [['value', 'count', 'mean error /min', 'within %', 'flag 0 / 1 / 2 within %', 'off and flagged %', 'flagged 0 / 1 / 2 %']];
  for (const [name, f] of Object.entries(figures))
    rows.push([
      name,
      String(f.count),
      f.meanError.toFixed(2),
      percent(f.within),
      f.withinByFlag.map(percent).join(' / '),
      percent(f.offFlagged),
      f.flagShares.map(percent).join(' / '),
    ]);
  return {
    title: 'Pulse and breathing through the engine',
    rows,
    json: figures,
    notes: ['Within 5 /min (heart rate), 2 /min (respiration). Every second (hr_ppg), 2 s (hr_ppg_motion) or 16 s (respiration).'],
  };
}

export function pulseStreamFigures(items: readonly PpgItem[]): Record<string, FlaggedErrors> {
  const rest = items.filter((item) => item.set === 'bidmc');
  const running = items.filter((item) => item.name.endsWith('.1') && item.set === 'spc');
  const judged = new Map<string, Judged[]>();
  const note = (name: string, of: Judged): void => void (judged.get(name)?.push(of) ?? judged.set(name, [of]));
  for (const item of rest) {
    const { fs, ppg, ecg } = item;
    // the pulse arrives later than the R peak: one constant lag per recording, as in the scores of beats
    const { lagSec } = scoreBeats(
      findBeats(new PpgBeatDetector(fs), ppg).map((position) => position / fs),
      item.reference,
    );
    const { features } = streamRows([
      { code: 'ppg.ir', kind: 'ppg', fs, unit: '1', samples: ppg },
      { code: 'ecg.ii', kind: 'ecg', fs, unit: 'mV', samples: ecg },
    ]);
    for (const name of ['hr_ppg', 'hr_ppg_motion'])
      for (const row of features.get(name) ?? []) {
        const truth = referenceRate(item, seconds(row) + lagSec);
        if (truth !== null) note(`${name}, at rest`, { error: Math.abs(row.value - truth), flag: row.qmask });
      }
    for (const name of ['resp_rate_ppg', 'resp_rate_ecg'])
      for (const row of features.get(name) ?? []) {
        const truth = breathsPerMin(item, seconds(row));
        if (truth !== null) note(name, { error: Math.abs(row.value - truth), flag: row.qmask });
      }
  }
  for (const { fs, spc } of running) {
    const { ppg, acc, bpm } = spc!;
    const { features } = streamRows([
      ...ppg.map((samples, i) => ({ code: `ppg.${i}`, kind: 'ppg' as const, fs, unit: '1', samples })),
      ...acc.map((samples, i) => ({ code: `acc.${'xyz'[i]}`, kind: 'acc' as const, fs, unit: 'g', samples })),
    ]);
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
