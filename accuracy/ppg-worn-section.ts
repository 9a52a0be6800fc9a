/** Is a PPG sensor that is worn said to be worn, and one that is taken off not? Every recording at hand was worn; once a minute the sensor
 *  is taken off for 16 s, which gives light that stands still, or noise of the last digit of a converter. */
import { seeded } from '../src/dsp/testing/fixture.ts';
import { percent } from './engine-windows.ts';
import { streamRows } from './hrv-stream.ts';
import { accChannels, loadPpg, ppgChannels, ppgSets } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import type { DatabaseFigure, Section } from './section.ts';

/** Blocks of a sensor that is worn: all, said not to be, said to be and flagged 0; blocks of one that is off: all, said to be off. */
export type WornFigures = { worn: number; saidOff: number; wornGood: number; off: number; foundOff: number };

const offSec = 16;

/** @param off what a sensor gives that is off; null: it is never taken off */
export function wornFigures(items: readonly PpgItem[], off: ((i: number) => number) | null): WornFigures {
  const figures: WornFigures = { worn: 0, saidOff: 0, wornGood: 0, off: 0, foundOff: 0 };
  for (const item of items) {
    const x = item.ppg.slice();
    const isOff = (sec: number): boolean => off !== null && sec >= 32 && sec % 64 >= 32 && sec % 64 < 32 + offSec;
    for (let i = 0; i < x.length; i++) if (isOff(i / item.fs)) x[i] = off!(i);
    const { features } = streamRows([...ppgChannels([x], item.fs), ...accChannels(item)]);
    for (const { tNs, value, qmask } of features.get('worn_ppg') ?? []) {
      const startSec = Number(tNs) / 1e9 - 8;
      if (isOff(startSec)) {
        figures.off++;
        if (value === 0) figures.foundOff++;
      } else {
        figures.worn++;
        if (value === 0) figures.saidOff++;
        else if (qmask === 0) figures.wornGood++;
      }
    }
  }
  return figures;
}

export const sensorsOff: Readonly<Record<string, () => (i: number) => number>> = {
  'stands still': () => () => 0.5,
  'last digit': () => {
    const random = seeded(11);
    return () => 0.5 + 0.001 * Math.round(random());
  },
};

export function run(dataDir: string): Promise<Section | null> {
  const rows: string[][] = [['recordings', 'off', 'blocks worn', 'said to be off, %', 'worn and flagged 0, %', 'blocks off', 'found, %']];
  const json: Record<string, Record<string, WornFigures>> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const set of ppgSets) {
    const items = loadPpg(dataDir, [set]);
    if (items.length === 0) continue;
    for (const [name, make] of [['never', null], ...Object.entries(sensorsOff)] as const) {
      const f = wornFigures(items, make === null ? null : make());
      (json[set] ??= {})[name] = f;
      const said = percent(f.saidOff, f.worn);
      const found = f.off === 0 ? '' : percent(f.foundOff, f.off);
      rows.push([set, name, String(f.worn), said, percent(f.wornGood, f.worn), String(f.off), found]);
      const [what, n, figure] = f.off === 0 ? ['worn, said to be off, %', f.worn, said] : [`off (${name}), found, %`, f.off, found];
      byDatabase.push({ what: `PPG sensor ${what}`, database: set, chosenOn: 'no', n: `${n} blocks of 8 s`, figure });
    }
  }
  if (byDatabase.length === 0) return Promise.resolve(null);
  return Promise.resolve({
    title: 'PPG: sensors that are worn, and taken off, through the engine',
    rows,
    json,
    byDatabase,
    notes: ['No recording at hand is of a sensor that was off: what it gives is made up. Nothing was chosen on these recordings.'],
  });
}
