/** Beats and values as text: every column that means something, times on the device's clock, channels by what they are and not by their
 *  number, which follows the order in which packets came. */
import type { Boot } from './oracle.ts';

/** By device and boot. */
export type Rows = ReadonlyMap<string, ReadonlySet<string>>;

const channel = `coalesce(c.code || ' ' || c.lead || ' ' || encode(float8send(c.gain), 'hex') || c.rate_nhz, r.channel_no::text)`;
const rowsOf = (table: 'beat' | 'feature', what: string): string => `
  select encode(s.boot_id, 'hex') as boot, concat_ws(' ', m.name, m.code, ${channel}, r.ts_ns - s.epoch_ns, r.qmask, ${what}) as row
  from ${table} r join stream s on s.id = r.stream_id join method m on m.id = r.method_id
  left join stream_channel c on c.stream_id = s.id and c.channel_no = r.channel_no
  where encode(s.boot_id, 'hex') = any ($1)`;

export async function derivedRows(
  sql: (text: string, values: readonly unknown[]) => Promise<unknown[]>,
  boots: readonly Pick<Boot, 'bootId'>[],
): Promise<Rows> {
  const rows = (await sql(
    `${rowsOf('beat', `encode(float8send(r.interval_ms), 'hex'), r.kind, r.reason`)} union all ${rowsOf('feature', `encode(float8send(r.value), 'hex')`)}`,
    [boots.map(({ bootId }) => bootId)],
  )) as { boot: string; row: string }[];
  return new Map([...Map.groupBy(rows, ({ boot }) => boot)].map(([boot, own]) => [boot, new Set(own.map(({ row }) => row))]));
}

/** Rows by the name of their method: a comparison of none proves nothing. */
export function countsOf(rows: Rows): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const own of rows.values())
    for (const row of own) {
      const name = row.slice(0, row.indexOf(' '));
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  return counts;
}

/** What differs, in words; nothing: they are the same. */
export function differences(got: Rows, wanted: Rows, boots: readonly Boot[]): string[] {
  const none: ReadonlySet<string> = new Set();
  return boots.flatMap(({ deviceId, bootId, what }) => {
    const own = wanted.get(bootId) ?? none;
    const there = got.get(bootId) ?? none;
    const missing = [...own].filter((row) => !there.has(row));
    const extra = [...there].filter((row) => !own.has(row));
    if (missing.length + extra.length === 0) return [];
    const first = (rows: readonly string[]): string => rows.slice(0, 3).join('; ');
    return [
      `${deviceId} (${what}) ${bootId}: of ${own.size} beats and values of a clean run ${missing.length} are missing (${first(missing)}), ${extra.length} are there besides (${first(extra)})`,
    ];
  });
}
