/** A database as the release before packed minutes left it: beats and values a row each, with their rollups. */
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { migrate } from '../../src/storage/schema/migrate.ts';

/** Files of sql/ up to a number. Remove the folder. */
export async function filesUpTo(last: number): Promise<{ folder: URL; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'bio-sql-'));
  await cp(new URL('../../sql/', import.meta.url), path, { recursive: true });
  for (const name of await readdir(path)) if (/^\d{6}-/.test(name) && Number(name.slice(0, 6)) > last) await rm(join(path, name));
  return { folder: pathToFileURL(`${path}/`), remove: () => rm(path, { recursive: true }) };
}

/** The last file before beats and values were packed. */
export const LAST_OF_ROWS = 55;

/** Migrates an empty database up to a file. */
export async function migrateUpTo(url: string, last: number): Promise<void> {
  const { folder, remove } = await filesUpTo(last);
  try {
    await migrate(url, { folder });
  } finally {
    await remove();
  }
}

/** Methods with a step and without one; values of four streams in weeks before and after 1970: in every way that the code wrote
 *  them, and some that it should not have. */
export const rowsOfBefore = `
  insert into method (id, kind, name, code, cadence_hz, step) overriding system value values
    (101, 'feature', 'hr_ecg', 'derived:hr_ecg_v18', 1, 0.001), (102, 'feature', 'hr_ecg', 'derived:hr_ecg_v1', 1, 0),
    (103, 'feature', 'steps', 'derived:steps_v2', 1, 0), (104, 'feature', 'power', 'derived:power_v1', 1, 0),
    (111, 'beat', 'r_peaks', 'derived:r_peaks_v99', null, 0.001), (112, 'beat', 'r_peaks', 'derived:r_peaks_v1', null, 0);
  create temporary table moment as
    select s as stream_id, d as start_ns from unnest(array[1, 2, 3, 40]) s,
      unnest(array[123, 604799500000456, 1209540000000000, -86400000000001]) d;
  create temporary table value as
    select m.stream_id, m.start_ns + i * 1000000000::bigint as ts_ns, i from moment m, generate_series(0, 149) i;
  create temporary table heart_beat as
    select m.stream_id, m.start_ns + i * 812345678::bigint as ts_ns, i from moment m, generate_series(0, 149) i;`;

export const insertRowsOfBefore = `
  insert into feature (time, ts_ns, value, stream_id, method_id, channel_no, qmask)
  select timestamptz 'epoch' + floor(v.ts_ns / 1000.0)::int8 * interval '1 microsecond', v.ts_ns,
    case k.id
      when 101 then case when v.i % 13 = 0 then null else (60000 + (v.i * 7919) % 20000) / 1000.0::float8 end
      when 102 then case when v.i % 17 = 0 then null when v.i = 100 then 'infinity' else 60 + 20 * sin(v.i) end
      when 103 then v.i * 3
      else case when v.i = 7 then 1e11 else exp(v.i / 12.0) end end,
    v.stream_id, k.id, k.channel_no, case when v.i < 60 then 0 when v.i < 90 then v.i % 3 else 1 end
  from value v, (values (101, 0), (101, 1), (102, 0), (103, -1), (104, -1)) k (id, channel_no)
  where k.id <> 104 or v.i % 30 = 7;
  insert into beat (time, ts_ns, stream_id, channel_no, method_id, interval_ms, kind, qmask, reason)
  select timestamptz 'epoch' + floor(b.ts_ns / 1000.0)::int8 * interval '1 microsecond', b.ts_ns, b.stream_id, 0, k.id,
    case when b.i % 50 = 0 then null when k.id = 111 then (812346 + b.i % 3) / 1000.0::float8 else 812.345678 end,
    case when b.i % 40 = 3 then 1 when b.i % 40 = 4 then 3 else 0 end, b.i % 3, case when b.i % 40 = 3 then 'rr_deviation' else '' end
  from heart_beat b, (values (111), (112)) k (id);`;
