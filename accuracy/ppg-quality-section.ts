/** Measures how well the PPG quality tells wrong beats, and the flag of the pulse rate a wrong rate.
 *
 *  Every second of sqi_ppg is judged by the 10 s around it, [t - 4, t + 6): they are wrong when the F1 of their beats is below 90 % against
 *  the reference (goal S9). A pulse rate (hr_ppg, 8 s) is wrong when it is off by more than 5 bpm. Values, weights and thresholds are those
 *  in use, through the engine, with the accelerometer where the recording has one; `--leave-out` fits them anew, see
 *  ppg-quality-refit.ts. */
import type { QualityFlag } from '../src/signal.ts';
import { areaUnderCurve, percent } from './engine-windows.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import { refitSection } from './ppg-quality-refit.ts';
import { accChannels, loadPpg, ppgChannels, ppgChosenOn, ppgSets } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import { covers, rateBpm, wrongWindows } from './ppg-windows.ts';
import { scoreBeats } from './ppg-reference.ts';
import type { DatabaseFigure, Options, Section } from './section.ts';

export type JudgedPpg = {
  seconds: { wrong: boolean; sqi: number; flag: QualityFlag }[];
  rates: { errorBpm: number; flag: QualityFlag }[];
  /** Seconds in which the reference has a rate. */
  due: number;
};

export function judgePpg(items: readonly PpgItem[]): JudgedPpg {
  const judged: JudgedPpg = { seconds: [], rates: [], due: 0 };
  for (const item of items) judgeOne(item, judged);
  return judged;
}

function judgeOne(item: PpgItem, judged: JudgedPpg): void {
  const { fs, ppg, reference } = item;
  const rows = streamRows([...ppgChannels([ppg], fs), ...accChannels(item)]);
  const found = beatSeconds(rows, 'ppg');
  const { lagSec } = scoreBeats(found, reference);
  const beats = found.map((time) => time + lagSec);
  const isWrong = wrongWindows(reference, beats);
  for (const { tNs, value, qmask } of rows.features.get('sqi_ppg') ?? []) {
    const startSec = Number(tNs) / 1e9 - 1;
    const wrong = startSec < 10 ? null : isWrong(startSec - 4 + lagSec);
    if (wrong !== null) judged.seconds.push({ wrong, sqi: value, flag: qmask });
  }
  const rates = new Map((rows.features.get('hr_ppg') ?? []).map((row) => [Number(row.tNs) / 1e9, row]));
  for (let t = 10; t < ppg.length / fs; t++) {
    const truth = covers(reference.spanSec, t + lagSec - 7, t + lagSec - 1) ? rateBpm(reference.beatSec, t + lagSec - 8, t + lagSec) : null;
    if (truth === null) continue;
    judged.due++;
    const row = rates.get(t);
    if (row !== undefined) judged.rates.push({ errorBpm: Math.abs(row.value - truth), flag: row.qmask });
  }
}

export const aucOf = ({ seconds }: JudgedPpg): number =>
  areaUnderCurve(
    seconds,
    (s) => !s.wrong,
    (s) => s.sqi,
  );

export async function run(dataDir: string, { leaveOut }: Options): Promise<Section | null> {
  const items = loadPpg(dataDir);
  if (items.length === 0) return null;
  if (leaveOut !== null) return refitSection(items, leaveOut);
  const rows: string[][] = [
    [
      'recordings',
      'chosen on',
      'seconds',
      'wrong %',
      'AUC',
      'flag 0 / 1 / 2 %',
      'hr_ppg flag 0, % of time',
      'of these within 5 bpm %',
      'off by more',
      'of these flagged %',
    ],
  ];
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  const all: JudgedPpg = { seconds: [], rates: [], due: 0 };
  const note = (database: string, chosenOn: DatabaseFigure['chosenOn'], judged: JudgedPpg): void => {
    const { seconds, rates, due } = judged;
    const good = rates.filter(({ flag }) => flag === 0);
    const off = rates.filter(({ errorBpm }) => errorBpm > 5);
    const within = percent(good.filter(({ errorBpm }) => errorBpm <= 5).length, good.length);
    const flagged = percent(off.filter(({ flag }) => flag > 0).length, off.length);
    const auc = aucOf(judged);
    json[database] = {
      seconds: seconds.length,
      auc,
      goodWithin5: Number(within),
      offFlagged: Number(flagged),
      goodShare: Number(percent(good.length, due)),
    };
    rows.push([
      database,
      chosenOn,
      String(seconds.length),
      percent(seconds.filter(({ wrong }) => wrong).length, seconds.length),
      auc.toFixed(4),
      [0, 1, 2].map((flag) => percent(seconds.filter((s) => s.flag === flag).length, seconds.length)).join(' / '),
      percent(good.length, due),
      within,
      String(off.length),
      flagged,
    ]);
    byDatabase.push(
      { what: 'PPG quality: AUC', database, chosenOn, n: `${seconds.length} s`, figure: auc.toFixed(4) },
      { what: 'hr_ppg flagged 0: within 5 bpm, %', database, chosenOn, n: `${good.length}`, figure: within },
      { what: 'hr_ppg off by more: flagged 1 or 2, %', database, chosenOn, n: `${off.length} off`, figure: flagged },
    );
  };
  for (const set of ppgSets) {
    const own = items.filter((item) => item.set === set);
    if (own.length === 0) continue;
    const judged = judgePpg(own);
    note(set, ppgChosenOn[set], judged);
    all.seconds.push(...judged.seconds);
    all.rates.push(...judged.rates);
    all.due += judged.due;
  }
  note('total', 'in part', all);
  return {
    title: 'PPG: quality and flags, weights in use, through the engine',
    rows,
    json,
    byDatabase,
    notes: [
      'Each wavelength alone, with the accelerometer where there is one (spc). The weights were fitted on bidmc and spc. `--leave-out recording` or `database` fits them anew on the others.',
    ],
  };
}
