/** Windows of 300 s of clean beats, and the faults that are put into them. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readAnnotationFile } from '../src/formats/wfdb-annotations.ts';
import { readHeader } from '../src/formats/wfdb-header.ts';

export const windowSec = 300;

/** One window: times of its beats, s. */
export type BeatWindow = Readonly<{ name: string; beatSec: readonly number[] }>;

/** Sampling rates of annotation files that come without a header. */
const ratesHz: Readonly<Record<string, number>> = { nsr001: 128, f1o02: 250 };

/** Windows in which every beat is labelled normal and every interval lies in 0.3-2 s; at most 4 of an MIT-BIH record, 12 of the long
 *  ones. */
export async function cleanWindows(dataDir: string): Promise<BeatWindow[]> {
  const windows: BeatWindow[] = [];
  for (const [folder, suffix, perRecord] of [
    ['mitdb', '.atr', 4],
    ['rr', '.atr', 12],
    ['rr', '.ecg', 12],
  ] as const) {
    const dir = join(dataDir, folder);
    if (!existsSync(dir)) continue;
    for (const file of readdirSync(dir)
      .filter((name) => name.endsWith(suffix))
      .toSorted()) {
      const name = file.slice(0, -suffix.length);
      const header = join(dir, `${name}.hea`);
      const { annotations, timeResolutionHz } = await readAnnotationFile(join(dir, file));
      const fs = timeResolutionHz ?? ratesHz[name] ?? (existsSync(header) ? (await readHeader(header)).fs : Number.NaN);
      const beats = annotations.filter((a) => a.isBeat).map((a) => ({ sec: a.sample / fs, normal: a.code === 'N' }));
      windows.push(...windowsOf(name, beats, perRecord));
    }
  }
  return windows;
}

function windowsOf(name: string, beats: readonly { sec: number; normal: boolean }[], most: number): BeatWindow[] {
  const windows: BeatWindow[] = [];
  const end = beats[beats.length - 1]?.sec ?? 0;
  let i = 0;
  for (let from = 0; from + windowSec <= end && windows.length < most; from += windowSec) {
    const start = i;
    while (i < beats.length && beats[i]!.sec < from + windowSec) i++;
    const own = beats.slice(start, i);
    const clean = own.length >= 150 && own.every((b, j) => b.normal && (j === 0 || isUsual(b.sec - own[j - 1]!.sec)));
    if (clean) windows.push({ name: `${name} ${from} s`, beatSec: own.map((b) => b.sec) });
  }
  return windows;
}

const isUsual = (rrSec: number): boolean => rrSec >= 0.3 && rrSec <= 2;

/** Shares of the beats that are missed, followed by an extra one, or moved by 50-150 ms (less at fast rates). */
export type Faults = Readonly<{ missed: number; extra: number; misplaced: number }>;

/** The two beats at either end stay as they are. */
export function withFaults(beatSec: readonly number[], { missed, extra, misplaced }: Faults, random: () => number): number[] {
  const out: number[] = [];
  beatSec.forEach((t, i) => {
    const u = random();
    const rr = i > 0 ? t - beatSec[i - 1]! : 0.8;
    if (i < 2 || i > beatSec.length - 3 || u >= missed + extra + misplaced) out.push(t);
    else if (u >= missed + extra) out.push(t + (random() < 0.5 ? -1 : 1) * (0.05 + 0.1 * random()) * Math.min(1, rr / 0.8));
    else if (u >= missed) out.push(t - rr * (0.2 + 0.6 * random()), t);
  });
  return out.toSorted((a, b) => a - b);
}
