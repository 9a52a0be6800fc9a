/** Days of a person's clocks, and what of recordings lies in them. */
import { describe, expect, it } from 'vitest';
import { barsIn, cellsWithin, coverOf, daysOf, linesOf, receivedOf, ticksOf } from '../../dashboard/recording-days.ts';
import type { Cell } from '../../dashboard/recording-days.ts';

const zone = 'Europe/Berlin';
const HOUR = 36e5;
const [spring] = daysOf('2026-03-29', '2026-03-29', zone);
const utc = (time: string): number => Date.parse(`2026-03-${time}Z`);

describe('days of recordings', () => {
  it('are those of the clocks: of 23 and of 25 hours where these are changed', () => {
    const lengths = (date: string): number[] => daysOf(date, date, zone).map(({ startMs, endMs }) => (endMs - startMs) / HOUR);
    expect([lengths('2026-03-28'), lengths('2026-03-29'), lengths('2026-10-25')]).toEqual([[24], [23], [25]]);
    expect(daysOf('2026-02-27', '2026-03-01', zone).map(({ date }) => date)).toEqual(['2026-02-27', '2026-02-28', '2026-03-01']);
  });

  it('have their hours where the clocks show them', () => {
    expect(ticksOf(spring!, zone).map(({ hour, timeMs }) => [hour, timeMs - spring!.startMs])).toEqual([
      [6, 5 * HOUR],
      [12, 11 * HOUR],
      [18, 17 * HOUR],
    ]);
  });

  it('cut recordings at midnight, and lay those that overlap side by side', () => {
    const at = (from: string, to: string) => ({ id: from, fromMs: utc(from), toMs: utc(to) });
    const bars = barsIn(spring!, [
      at('28T20:00', '28T22:00'),
      at('28T22:00', '29T04:00'),
      at('29T03:00', '29T05:00'),
      at('29T04:00', '29T23:00'),
    ]);
    expect(bars.map(({ of, lane }) => [of.id, lane])).toEqual([
      ['28T22:00', 0],
      ['29T03:00', 1],
      ['29T04:00', 0],
    ]);
    expect([bars[0]!.fromMs, bars[2]!.toMs]).toEqual([spring!.startMs, spring!.endMs]);
  });

  it('leave room for names next to bars that are too short for them', () => {
    const at = (from: string, to: string) => ({ id: from, fromMs: utc(from), toMs: utc(to) });
    const short = [at('29T03:00', '29T03:10'), at('29T04:00', '29T06:30'), at('29T07:00', '29T07:10'), at('29T21:30', '29T21:50')];
    const bars = barsIn(spring!, short, () => 2 * HOUR);
    expect(bars.map(({ lane, name }) => [lane, name])).toEqual([
      [0, 'after'],
      [1, 'in'],
      [0, 'after'],
      [0, 'before'],
    ]);
  });

  it('count what is recorded twice once, and know the gaps', () => {
    const spans = [
      [0, 10],
      [5, 8],
      [9, 12],
      [20, 30],
    ].map(([fromMs, toMs]) => ({ fromMs: fromMs!, toMs: toMs! }));
    expect(coverOf(spans)).toEqual({ recordedMs: 22, gapsMs: [8] });
  });

  it('have their ribbon where something was recorded, as high as what of that was received', () => {
    const cell: Cell = { fromMs: 0, toMs: 600, rate: 60, covered: 0.25, flag: 0 };
    const spans = [
      { fromMs: 100, toMs: 300 },
      { fromMs: 200, toMs: 250 },
      { fromMs: 500, toMs: 900 },
    ];
    const cut = cellsWithin([cell, { ...cell, fromMs: 900, toMs: 1500 }], spans);
    expect(cut.map(({ fromMs, toMs, covered }) => [fromMs, toMs, covered])).toEqual([
      [100, 300, 0.5],
      [500, 600, 0.5],
    ]);
  });

  it('say what was received by the samples: where there are none is nothing, the end of a recording is no gap', () => {
    const overview = { t0_ns: 0, step_ms: 1000, rate_hz: 100, n: [50, 100, 100, 0, 25, 40] } as never;
    expect(receivedOf(overview, { id: '', fromMs: 500, toMs: 5400 })).toEqual([
      { fromMs: 500, toMs: 3000, share: 1 },
      { fromMs: 4000, toMs: 5000, share: 0.25 },
      { fromMs: 5000, toMs: 5400, share: 1 },
    ]);
  });

  it('do not draw heart rate across a stretch without values', () => {
    const cell = (hour: number, rate: number | null): Cell => {
      const fromMs = spring!.startMs + hour * HOUR;
      return { fromMs, toMs: fromMs + HOUR, rate, covered: 1, flag: 0 };
    };
    const lines = linesOf(spring!, [cell(0, 50), cell(1, 100), cell(3, 75), cell(4, null), cell(22, 100)], 50, 100);
    expect(lines.map((line) => line.split(' ').map((point) => Number(point.split(',')[1])))).toEqual([
      [100, 0],
      [50, 50],
      [0, 0],
    ]);
  });
});
