/** Pulse beats and flags with faults of optical sensors and of transport, through the engine: light at a rail, lost packets, a pulse
 *  that is upside down. */
import { losePackets } from '../src/dsp/testing/ecg-faults.ts';
import { standAtRail } from '../src/dsp/testing/ppg-faults.ts';
import { percent } from './engine-windows.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import { loadPpg, ppgChannels, ppgChosenOn } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import { rates, scoreAtLag, scoreBeats } from './ppg-reference.ts';
import type { DatabaseFigure, Section } from './section.ts';

type Faulty = Readonly<{ x: Float64Array; rails: readonly (readonly [number, number])[] }>;
type Fault = (item: PpgItem) => Faulty;

/** A beat whose upstroke a rail cuts counts neither way. */
const nearRailSec = 0.7;

export const ppgFaults: Readonly<Record<string, Fault>> = {
  none: ({ ppg }) => ({ x: ppg, rails: [] }),
  'upside down': ({ ppg }) => ({ x: ppg.map((value) => -value), rails: [] }),
  'packets of 100 ms, 5 % lost': ({ ppg, fs }) => ({ x: losePackets(ppg, fs, 0.1, 0.05, 5), rails: [] }),
  'upper rail, 5 s a minute': ({ ppg, fs }) => standAtRail(ppg, fs, 5, 10),
  'lower rail, 5 s a minute': ({ ppg, fs }) => standAtRail(ppg, fs, 5, -10),
  'upper rail, 1 s a minute': ({ ppg, fs }) => standAtRail(ppg, fs, 1, 10),
};

/** Beats beyond the rails, beats found in them, and seconds within them: all, flagged 0. */
export type FaultScore = { tp: number; fp: number; fn: number; inRail: number; railSec: number; railSeconds: number; railGood: number };

export function scoreFault(items: readonly PpgItem[], fault: Fault): FaultScore {
  const sum: FaultScore = { tp: 0, fp: 0, fn: 0, inRail: 0, railSec: 0, railSeconds: 0, railGood: 0 };
  for (const item of items) {
    const { x, rails } = fault(item);
    const rows = streamRows(ppgChannels([x], item.fs));
    const found = beatSeconds(rows, 'ppg');
    const isNear = (time: number): boolean => rails.some(([from, to]) => time > from - nearRailSec && time < to + nearRailSec);
    const { beatSec, spanSec } = item.reference;
    const { lagSec } = scoreBeats(found, item.reference);
    const score = scoreAtLag(
      found.filter((time) => !isNear(time)),
      { beatSec: beatSec.filter((time) => !isNear(time - lagSec)), spanSec },
      lagSec,
    );
    sum.tp += score.tp;
    sum.fp += score.fp;
    sum.fn += score.fn;
    sum.inRail += found.filter((time) => rails.some(([from, to]) => time >= from && time < to)).length;
    for (const [from, to] of rails) sum.railSec += to - from;
    for (const { tNs, qmask } of rows.features.get('sqi_ppg') ?? []) {
      const end = Number(tNs) / 1e9;
      if (!rails.some(([from, to]) => from <= end - 1 && to >= end)) continue;
      sum.railSeconds++;
      if (qmask === 0) sum.railGood++;
    }
  }
  return sum;
}

export function run(dataDir: string): Promise<Section | null> {
  const rows: string[][] = [['recordings and fault', 'chosen on', 'F1 %', 'FP', 'FN', 'beats in 10 s at the rail', 'flagged 0 there, %']];
  const json: Record<string, Record<string, Readonly<{ f1: number; lost: number }>>> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const set of ['bidmc', 'capnobase'] as const) {
    const items = loadPpg(dataDir, [set]);
    for (const [name, fault] of items.length === 0 ? [] : Object.entries(ppgFaults)) {
      const score = scoreFault(items, fault);
      const { f1 } = rates(score);
      const isRail = score.railSec > 0;
      const inTenSec = (10 * score.inRail) / score.railSec;
      rows.push([
        `${set}, ${name}`,
        ppgChosenOn[set],
        f1.toFixed(2),
        String(score.fp),
        String(score.fn),
        isRail ? inTenSec.toFixed(2) : '',
        isRail ? percent(score.railGood, score.railSeconds) : '',
      ]);
      const of = (json[set] ??= {});
      of[name] = { ...score, f1, lost: (of['none']?.f1 ?? f1) - f1 };
      const n = `${items.length} recordings, ${score.tp + score.fn} beats`;
      byDatabase.push({ what: `pulse beats, ${name}: F1 %`, database: set, chosenOn: ppgChosenOn[set], n, figure: f1.toFixed(2) });
    }
  }
  if (byDatabase.length === 0) return Promise.resolve(null);
  return Promise.resolve({
    title: 'PPG: beats with faults of the sensor and of transport, through the engine',
    rows,
    json,
    byDatabase,
    notes: ['Beats within 0.7 s of a rail count neither way. Rails lie ten swings of the pulse above or below its middle.'],
  });
}
