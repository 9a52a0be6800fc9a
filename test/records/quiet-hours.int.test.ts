/** Quiet hours of rules are of the project's clock: over midnight, and over the nights on which clocks change. */
import { expect, it } from 'vitest';
import { testDatabase } from '../helpers/database.ts';

it('hours over midnight are quiet on both sides of it, and as long as the clock says when it changes', async () => {
  await using database = await testDatabase();
  const isQuiet = async (from: string, to: string, zone: string, at: string): Promise<boolean> => {
    const { rows } = await database.pool.query<{ quiet: boolean }>('select is_quiet($1::time, $2::time, $3, $4::timestamptz) as quiet', [
      from,
      to,
      zone,
      at,
    ]);
    return rows[0]!.quiet;
  };
  /** Minutes of 24 hours that are quiet. */
  const quietMinutes = async (from: string, to: string, zone: string, noonBefore: string): Promise<number> => {
    const { rows } = await database.pool.query<{ n: number }>(
      `select count(*)::integer as n from generate_series($4::timestamptz, $4::timestamptz + interval '24 hours' - interval '1 minute', interval '1 minute') t
       where is_quiet($1::time, $2::time, $3, t)`,
      [from, to, zone, noonBefore],
    );
    return rows[0]!.n;
  };
  const night = ['22:00', '06:00', 'Europe/Berlin'] as const;
  expect(await isQuiet(...night, '2026-06-10T21:59:59+02:00')).toBe(false);
  expect(await isQuiet(...night, '2026-06-10T22:00:00+02:00')).toBe(true);
  expect(await isQuiet(...night, '2026-06-11T00:00:00+02:00')).toBe(true);
  expect(await isQuiet(...night, '2026-06-11T05:59:59+02:00')).toBe(true);
  expect(await isQuiet(...night, '2026-06-11T06:00:00+02:00')).toBe(false);
  // The clock goes from 02:00 to 03:00 on 29 March, and from 03:00 to 02:00 on 25 October.
  expect(await quietMinutes(...night, '2026-06-10T12:00:00+02:00')).toBe(8 * 60);
  expect(await quietMinutes(...night, '2026-03-28T12:00:00+01:00')).toBe(7 * 60);
  expect(await quietMinutes(...night, '2026-10-24T12:00:00+02:00')).toBe(9 * 60);
  // Hours that do not exist on that day, and those that come twice.
  expect(await quietMinutes('02:15', '02:45', 'Europe/Berlin', '2026-03-28T12:00:00+01:00')).toBe(0);
  expect(await quietMinutes('02:15', '02:45', 'Europe/Berlin', '2026-10-24T12:00:00+02:00')).toBe(60);
  expect(await isQuiet('22:00', '06:00', 'Pacific/Auckland', '2026-06-10T12:00:00Z')).toBe(true);
  // Clocks that are no whole hours from UTC: 5:45 ahead.
  const nepal = ['22:00', '06:00', 'Asia/Kathmandu'] as const;
  expect(await isQuiet(...nepal, '2026-06-10T16:14:59Z')).toBe(false);
  expect(await isQuiet(...nepal, '2026-06-10T16:15:00Z')).toBe(true);
  expect(await isQuiet(...nepal, '2026-06-11T00:14:59Z')).toBe(true);
  expect(await isQuiet(...nepal, '2026-06-11T00:15:00Z')).toBe(false);
  // A change of half an hour: from 02:00 to 02:30 on 4 October, and from 02:00 to 01:30 on 5 April.
  const island = ['22:00', '06:00', 'Australia/Lord_Howe'] as const;
  expect(await quietMinutes(...island, '2026-06-10T12:00:00+10:30')).toBe(8 * 60);
  expect(await quietMinutes(...island, '2026-10-03T12:00:00+10:30')).toBe(7.5 * 60);
  expect(await quietMinutes(...island, '2026-04-04T12:00:00+11:00')).toBe(8.5 * 60);
});
