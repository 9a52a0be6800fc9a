/** The burden of ectopic beats against annotated beats: of each 5 minutes its share, of each recording its runs. First lead; without paced
 *  recordings. A window is right when it is within 1 % of all beats or within a tenth of the true share. A run is found when a called one
 *  overlaps it, right when it overlaps one (as AAMI EC57 counts runs), within 0.15 s. */
import { originOf, paced } from './beat-origin-fit.ts';
import type { Origin } from './beat-origin-fit.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import { streamRows } from './hrv-stream.ts';
import type { StreamRows } from './hrv-stream.ts';
import { addNoise, loadElectrodeMotion, loadMitdb, loadQtdb } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { ChosenOn, DatabaseFigure, Section } from './section.ts';

const windowSec = 300;
/** A share of beats, %, within this or within a tenth of the true one, is right. */
const rightWithin = 1;
const slackSec = 0.15;
const RUN_BEATS = 3;

type Beat = Readonly<{ sec: number; origin: Origin }>;
type Stretch = Readonly<{ from: number; to: number }>;
type Shares = { windows: number; good: number; goodRight: number; right: number };
type Runs = { all: number; found: number; called: number; right: number };
/** Those whose last beat is in a stretch that the value flags 0. */
type Tally = { V: Shares; S: Shares; runs: Runs; goodRuns: Runs };

const noShares = (): Shares => ({ windows: 0, good: 0, goodRight: 0, right: 0 });
const noRuns = (): Runs => ({ all: 0, found: 0, called: 0, right: 0 });

function tallyShares(beats: readonly Beat[], { features }: StreamRows, kind: 'V' | 'S', out: Shares): void {
  const rows = features.get(kind === 'V' ? 'ventricular_burden_300s' : 'supraventricular_burden_300s') ?? [];
  for (const { tNs, value, qmask } of rows) {
    const endSec = Number(tNs) / 1e9;
    const inside = beats.filter(({ sec }) => sec > endSec - windowSec && sec <= endSec);
    const truth = (100 * inside.filter(({ origin }) => origin === kind).length) / inside.length;
    const isRight = Math.abs(value - truth) <= Math.max(rightWithin, 0.1 * truth);
    out.windows++;
    if (isRight) out.right++;
    if (qmask !== 0) continue;
    out.good++;
    if (isRight) out.goodRight++;
  }
}

/** Three or more ventricular beats in a row. */
function runsOf(beats: readonly Beat[]): Stretch[] {
  const found: Stretch[] = [];
  let from = 0;
  beats.forEach(({ origin, sec }, i) => {
    if (origin !== 'V') return;
    if (i === 0 || beats[i - 1]!.origin !== 'V') from = i;
    if (beats[i + 1]?.origin !== 'V' && i - from + 1 >= RUN_BEATS) found.push({ from: beats[from]!.sec, to: sec });
  });
  return found;
}

const meet = (a: Stretch, b: Stretch): boolean => a.from <= b.to + slackSec && b.from <= a.to + slackSec;

function tallyRuns(beats: readonly Beat[], rows: StreamRows, tally: Tally): void {
  const called = runsOf(
    rows.beats
      .filter(({ kind }) => kind !== 'interpolated')
      .map(({ tNs, reason }) => ({ sec: Number(tNs) / 1e9, origin: reason === 'ventricular' ? 'V' : 'N' })),
  );
  const truth = runsOf(beats);
  const values = rows.features.get('ventricular_run_10s') ?? [];
  const isGood = ({ to }: Stretch): boolean => values.find(({ tNs }) => Number(tNs) / 1e9 >= to)?.qmask === 0;
  for (const [runs, of] of [
    [tally.runs, called],
    [tally.goodRuns, called.filter(isGood)],
  ] as const) {
    runs.all += truth.length;
    runs.found += truth.filter((run) => of.some((other) => meet(run, other))).length;
    runs.called += of.length;
    runs.right += of.filter((run) => truth.some((other) => meet(run, other))).length;
  }
}

/** Longest runs of 10 s that are flagged 0, of one beat and of three and more, and how many of them no such run is near. Fusion beats
 *  may be called ventricular (EC57). */
type Longest = { ones: number; onesWrong: number; runs: number; runsWrong: number };

function tallyLongest(beats: readonly Beat[], { features }: StreamRows, out: Longest): void {
  for (const { tNs, value, qmask } of features.get('ventricular_run_10s') ?? []) {
    if (qmask !== 0 || (value !== 1 && value < RUN_BEATS)) continue;
    const longest = longestBefore(beats, Number(tNs) / 1e9);
    if (value === 1) {
      out.ones++;
      if (longest === 0) out.onesWrong++;
    } else {
      out.runs++;
      if (longest < RUN_BEATS) out.runsWrong++;
    }
  }
}

function longestBefore(beats: readonly Beat[], endSec: number): number {
  let run = 0;
  let longest = 0;
  for (const { sec, origin } of beats) {
    run = origin === 'V' || origin === 'F' ? run + 1 : 0;
    if (Math.abs(sec - (endSec - 5)) <= 5 + slackSec) longest = Math.max(longest, run);
  }
  return longest;
}

export async function run(dataDir: string): Promise<Section | null> {
  const databases: [string, ChosenOn, EcgRecording[]][] = [
    ['mitdb', 'yes', await loadMitdb(dataDir)],
    ['qtdb', 'in part', await loadQtdb(dataDir)],
  ];
  const rows: string[][] = [
    [
      'database',
      'chosen on',
      'windows',
      'V right %',
      'V good %',
      'good right %',
      'S right %',
      'S good %',
      'good right %',
      'runs',
      'found %',
      'right %',
    ],
  ];
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  const noise = loadElectrodeMotion(dataDir);
  for (const [database, chosenOn, recordings] of databases) {
    const longest = [null, 12, 6].map((snrDb) => ({ snrDb, ones: 0, onesWrong: 0, runs: 0, runsWrong: 0 }));
    const tally: Tally = { V: noShares(), S: noShares(), runs: noRuns(), goodRuns: noRuns() };
    for (const recording of recordings) {
      const { name, leads, fs, beats, codes } = recording;
      if (paced.has(name)) continue;
      const truth = Array.from(beats, (at, i): Beat => ({ sec: at / fs, origin: originOf(codes[i]!) }));
      const stream = streamRows(ecgChannels(leads.slice(0, 1), fs));
      for (const kind of ['V', 'S'] as const) tallyShares(truth, stream, kind, tally[kind]);
      tallyRuns(truth, stream, tally);
      for (const each of longest) {
        if (each.snrDb === null) tallyLongest(truth, stream, each);
        else if (noise !== null) tallyLongest(truth, streamRows(ecgChannels([addNoise(recording, 0, noise, each.snrDb)], fs)), each);
      }
    }
    if (tally.V.windows === 0) continue;
    rows.push([database, chosenOn, String(tally.V.windows), ...shareCells(tally.V), ...shareCells(tally.S), ...runCells(tally.runs)]);
    rows.push([`${database}, runs flagged 0`, chosenOn, '', '', '', '', '', '', '', ...runCells(tally.goodRuns)]);
    json[database] = tally;
    for (const [kind, what] of [
      ['V', 'ventricular'],
      ['S', 'supraventricular'],
    ] as const) {
      const [, good, right] = shareCells(tally[kind]);
      const figure = { what: `${what} burden: flagged 0; of these right, %`, database, chosenOn };
      byDatabase.push({ ...figure, n: String(tally[kind].windows), figure: `${good}; ${right}` });
    }
    const [n = '', found, right] = runCells(tally.goodRuns);
    byDatabase.push({ what: 'ventricular runs flagged 0: found; right, %', database, chosenOn, n, figure: `${found}; ${right}` });
    for (const { snrDb, ones, onesWrong, runs, runsWrong } of longest) {
      const added = snrDb === null ? 'clean' : `electrode motion ${snrDb} dB`;
      const what = `longest ventricular run of 10 s, ${added}, flagged 0: of one beat, wrong; of three and more, wrong`;
      byDatabase.push({ what, database, chosenOn, n: String(ones + runs), figure: `${ones}, ${onesWrong}; ${runs}, ${runsWrong}` });
    }
  }
  return rows.length === 1 ? null : { title: 'Burden of ectopic beats', rows, json, byDatabase };
}

const percent = (part: number, whole: number): string => (whole === 0 ? '-' : ((100 * part) / whole).toFixed(1));
const shareCells = (s: Shares): string[] => [percent(s.right, s.windows), percent(s.good, s.windows), percent(s.goodRight, s.good)];
const runCells = (r: Runs): string[] => [String(r.all), percent(r.found, r.all), percent(r.right, r.called)];
