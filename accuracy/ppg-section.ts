/** Pulse beats through the engine: at rest (BIDMC), running (IEEE SPC), under anaesthesia (CapnoBase), and at other sampling rates. */
import { loadPpg, ppgChosenOn, ppgSets, pulseBeats } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import type { ChosenOn, DatabaseFigure, Section } from './section.ts';
import { rates, scoreBeats } from './ppg-reference.ts';
import type { BeatScore } from './ppg-reference.ts';

export async function run(dataDir: string): Promise<Section | null> {
  const items = loadPpg(dataDir);
  if (items.length === 0) return null;
  const scores = items.map((item) => scoreOne(item));
  const rows: string[][] = [['recordings', 'chosen on', 'beats', 'Se %', '+P %', 'F1 %', 'FP', 'FN', 'lag s']];
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  const note = (name: string, chosenOn: ChosenOn, of: readonly BeatScore[]): void => {
    const sum = gross(of);
    rows.push(scoreRow(name, chosenOn, sum, ''));
    json[name] = { ...sum, ...rates(sum) };
  };
  for (const set of ppgSets) {
    const own = items.filter((item) => item.set === set);
    if (own.length === 0) continue;
    const of = scores.filter((_, i) => items[i]!.set === set);
    note(set, ppgChosenOn[set], of);
    const n = `${own.length} channels, ${of.reduce((sum, { tp, fn }) => sum + tp + fn, 0)} beats`;
    const figure = rates(gross(of)).f1.toFixed(2);
    byDatabase.push({ what: 'pulse beats: F1 %', database: set, chosenOn: ppgChosenOn[set], n, figure });
    for (const fs of [32, 64, 250])
      note(
        `${set} at ${fs} Hz`,
        ppgChosenOn[set] === 'yes' ? 'in part' : 'no',
        own.map((item) => scoreOne({ ...item, fs, ppg: resampled(item.ppg, item.fs, fs) })),
      );
  }
  note('total', 'in part', scores);
  byDatabase.push({
    what: 'pulse beats: F1 %',
    database: 'total',
    chosenOn: 'in part',
    n: `${scores.reduce((sum, { tp, fn }) => sum + tp + fn, 0)} beats`,
    figure: rates(gross(scores)).f1.toFixed(2),
  });
  const first = items.filter((item) => item.set === 'spc' && item.name.endsWith('.1'));
  if (first.length > 0)
    note(
      'spc, both wavelengths fused',
      'in part',
      first.map((item) => scoreOne(item, item.spc!.ppg)),
    );
  items.forEach((item, i) => {
    const { fp, fn, lagSec } = scores[i]!;
    if (fp + fn > 0) rows.push(scoreRow(item.name, ppgChosenOn[item.set], scores[i]!, lagSec.toFixed(2)));
  });
  return {
    title: 'PPG beats, through the engine',
    rows,
    json,
    byDatabase,
    notes: [
      'Reference: R peaks on which two detectors agree within 150 ms (bidmc, spc), or the peaks that an expert marked (capnobase); one constant lag per recording; 150 ms, one to one. Single channels: those with an error.',
    ],
  };
}

/** Beats of one recording against its reference. @param leads wavelengths to fuse */
export function scoreOne(item: PpgItem, leads: readonly Float64Array[] = [item.ppg]): BeatScore {
  return scoreBeats(pulseBeats(leads, item.fs), item.reference);
}

export function gross(scores: readonly BeatScore[]): { tp: number; fp: number; fn: number } {
  const sum = { tp: 0, fp: 0, fn: 0 };
  for (const { tp, fp, fn } of scores) {
    sum.tp += tp;
    sum.fp += fp;
    sum.fn += fn;
  }
  return sum;
}

/** Linear interpolation, of a moving mean where the rate falls. */
function resampled(x: Float64Array, from: number, to: number): Float64Array {
  const width = Math.max(1, Math.round(from / to));
  return Float64Array.from({ length: Math.floor((x.length / from) * to) }, (_, i) => {
    let sum = 0;
    for (let k = 0; k < width; k++) {
      const at = Math.min(x.length - 2, Math.max(0, (i * from) / to + k - (width - 1) / 2));
      const j = Math.floor(at);
      sum += x[j]! + (at - j) * (x[j + 1]! - x[j]!);
    }
    return sum / width;
  });
}

function scoreRow(name: string, chosenOn: string, score: Readonly<{ tp: number; fp: number; fn: number }>, lag: string): string[] {
  const { se, ppv, f1 } = rates(score);
  return [
    name,
    chosenOn,
    String(score.tp + score.fn),
    se.toFixed(2),
    ppv.toFixed(2),
    f1.toFixed(2),
    String(score.fp),
    String(score.fn),
    lag,
  ];
}
