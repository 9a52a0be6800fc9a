/** Scores what is said of a pulse up to where its samples end: recordings with gaps at many places, through the engine. */
import { seeded } from '../src/dsp/testing/fixture.ts';
import { percent } from './engine-windows.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import type { StreamRows } from './hrv-stream.ts';
import { loadPpg, ppgChannels, ppgChosenOn, ppgSets } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import { scoreBeats } from './ppg-reference.ts';
import { covers, rateBpm } from './ppg-windows.ts';
import type { DatabaseFigure, Section } from './section.ts';

/** Mean seconds of samples between gaps, and of a gap. */
const runSec = 31;
const gapSec = 7;
/** Of the 10 s by which these seconds are judged more than a fifth is missing. */
const lateSec = 4;
/** A beat lies where it lies without the gap. */
const sameSec = 0.02;
const offBpm = 5;

type Gap = readonly [number, number];

export type EndScore = {
  ends: number;
  /** Beats in gaps. */
  inGap: number;
  /** Beats of the last second without the gap; of these those found with it; those found where there is none without it. */
  whole: number;
  kept: number;
  elsewhere: number;
  /** Rates of the last `lateSec` that have a reference: all, good without the gap, good, and of these off. */
  rates: number;
  goodWhole: number;
  good: number;
  goodOff: number;
  /** The same of hr_ppg_motion. */
  motionGood: number;
  motionGoodOff: number;
  seconds: number;
  secondsGood: number;
};

/** @param movedSec so long before each gap the sensor moves, too, by as much as the pulse swings */
export function withGaps(x: Float64Array, fs: number, seed: number, movedSec = 0): { x: Float64Array; gaps: readonly Gap[] } {
  const random = seeded(seed);
  const out = x.slice();
  const gaps: Gap[] = [];
  const sorted = x.filter((value) => value - value === 0).sort();
  const swing = sorted[Math.floor(0.98 * sorted.length)]! - sorted[Math.floor(0.02 * sorted.length)]!;
  for (let from = runSec * (0.6 + 0.8 * random()); (from + gapSec) * fs < x.length; from += gapSec + runSec * (0.6 + 0.8 * random())) {
    const [first, end] = [Math.round(from * fs), Math.round((from + gapSec) * fs)];
    const motion = seeded(seed + first);
    for (let i = first - Math.round(movedSec * fs), moved = 0; i < first; i++) {
      moved = 0.95 * moved + ((16 * swing) / Math.sqrt(fs)) * (motion() - 0.5);
      out[i] = out[i]! + moved;
    }
    out.fill(Number.NaN, first, end);
    gaps.push([first / fs, end / fs]);
  }
  return { x: out, gaps };
}

export function scoreEnds(items: readonly PpgItem[], movedSec = 0): EndScore {
  const sum: EndScore = {
    ends: 0,
    inGap: 0,
    whole: 0,
    kept: 0,
    elsewhere: 0,
    rates: 0,
    goodWhole: 0,
    good: 0,
    goodOff: 0,
    motionGood: 0,
    motionGoodOff: 0,
    seconds: 0,
    secondsGood: 0,
  };
  items.forEach((item, i) => {
    const { ppg, fs } = item;
    const whole = streamRows(ppgChannels([ppg], fs));
    const wholeBeats = beatSeconds(whole, 'ppg');
    const { lagSec } = scoreBeats(wholeBeats, item.reference);
    const { x, gaps } = withGaps(ppg, fs, 100 + i, movedSec);
    const rows = streamRows(ppgChannels([x], fs));
    const beats = beatSeconds(rows, 'ppg');
    for (const [end, again] of gaps) {
      sum.ends++;
      scoreLastBeats(beats, wholeBeats, [end - 1 / fs, again], sum);
      scoreRates(rows, whole, item, end, lagSec, sum);
    }
  });
  return sum;
}

/** @param gap from the last sample before it to the first after it, s */
function scoreLastBeats(beats: Float64Array, whole: Float64Array, [last, again]: Gap, sum: EndScore): void {
  const isSame = (a: Float64Array, t: number): boolean => a.some((b) => Math.abs(b - t) <= sameSec);
  sum.inGap += beats.filter((t) => t > last && t < again).length;
  const wholeLast = whole.filter((t) => t > last - 1 && t <= last);
  sum.whole += wholeLast.length;
  sum.kept += wholeLast.filter((t) => isSame(beats, t)).length;
  sum.elsewhere += beats.filter((t) => t > last - 1 && t < again && !isSame(whole, t)).length;
}

function scoreRates(rows: StreamRows, whole: StreamRows, { reference }: PpgItem, end: number, lagSec: number, sum: EndScore): void {
  const { spanSec, beatSec } = reference;
  const late = ({ features }: StreamRows, name: string): { t: number; value: number; qmask: number }[] =>
    (features.get(name) ?? [])
      .map(({ tNs, value, qmask }) => ({ t: Number(tNs) / 1e9, value, qmask }))
      .filter(({ t }) => t > end - lateSec && t <= end);
  const truth = (t: number): number | null =>
    covers(spanSec, t + lagSec - 7, t + lagSec - 1) ? rateBpm(beatSec, t + lagSec - 8, t + lagSec) : null;
  const known = (of: StreamRows, name: string) => late(of, name).filter(({ t }) => truth(t) !== null);
  const isOff = ({ t, value }: Readonly<{ t: number; value: number }>): boolean => Math.abs(value - truth(t)!) > offBpm;
  const rates = known(rows, 'hr_ppg');
  const good = rates.filter(({ qmask }) => qmask === 0);
  sum.rates += rates.length;
  sum.goodWhole += known(whole, 'hr_ppg').filter(({ qmask }) => qmask === 0).length;
  sum.good += good.length;
  sum.goodOff += good.filter(isOff).length;
  const inMotion = known(rows, 'hr_ppg_motion').filter(({ qmask }) => qmask === 0);
  sum.motionGood += inMotion.length;
  sum.motionGoodOff += inMotion.filter(isOff).length;
  const seconds = late(rows, 'sqi_ppg');
  sum.seconds += seconds.length;
  sum.secondsGood += seconds.filter(({ qmask }) => qmask === 0).length;
}

export function run(dataDir: string): Promise<Section | null> {
  const rows: string[][] = [
    [
      'recordings before gaps',
      'chosen on',
      'gaps',
      'beats in them',
      'beats of the last second found, %',
      'elsewhere',
      'rates of the last 4 s',
      'flagged 0 without the gap, %',
      'with it, %',
      'of these off',
      'hr_ppg_motion flagged 0; off',
      'seconds flagged 0, %',
    ],
  ];
  const json: Record<string, Record<string, EndScore>> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const set of ppgSets) {
    const items = loadPpg(dataDir, [set]);
    if (items.length === 0) continue;
    for (const [name, movedSec] of [
      ['as they are', 0],
      ['moved for the last second', 1],
    ] as const) {
      const s = scoreEnds(items, movedSec);
      (json[set] ??= {})[name] = s;
      rows.push([
        `${set}, ${name}`,
        ppgChosenOn[set],
        String(s.ends),
        String(s.inGap),
        movedSec === 0 ? percent(s.kept, s.whole) : '',
        movedSec === 0 ? String(s.elsewhere) : '',
        String(s.rates),
        percent(s.goodWhole, s.rates),
        percent(s.good, s.rates),
        String(s.goodOff),
        `${s.motionGood}; ${s.motionGoodOff}`,
        percent(s.secondsGood, s.seconds),
      ]);
      const figure = (what: string, n: string, value: string): void =>
        void byDatabase.push({ what: `before gaps, ${name}: ${what}`, database: set, chosenOn: ppgChosenOn[set], n, figure: value });
      if (movedSec === 0)
        figure('beats in gaps; of the last second, found elsewhere', `${s.ends} gaps, ${s.whole} beats`, `${s.inGap}; ${s.elsewhere}`);
      figure(
        'hr_ppg of the last 4 s flagged 0; of these off by more than 5 bpm, %',
        String(s.rates),
        `${percent(s.good, s.rates)}; ${percent(s.goodOff, s.good)}`,
      );
    }
  }
  if (byDatabase.length === 0) return Promise.resolve(null);
  return Promise.resolve({
    title: 'PPG: before gaps, through the engine',
    rows,
    json,
    byDatabase,
    notes: [
      'Gaps of 7 s, 19 to 43 s apart, each wavelength alone and without an accelerometer. Beats found: within 20 ms of where they are without the gap. Off: by more than 5 /min. Moved: a wave as high as the pulse, at random.',
    ],
  });
}
