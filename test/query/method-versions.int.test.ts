/** A database that met an older version of a method later: an organization moved here from an older one, or a node of a release before was
 *  upgraded last. What is newest is told by the version, not by when this database met it. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exportRecordings } from '../../src/cli/export.ts';
import { readAnnotations } from '../../src/formats/wfdb-annotations.ts';
import { encodeBlock } from '../../src/storage/block-codec.ts';
import { allRoutes } from '../helpers/all-routes.ts';
import { startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';
import { ran } from '../helpers/commands.ts';
import { putBeats, putFeatures } from '../helpers/put-derived.ts';

let api: Api;
let stream: { id: number; uuid: string };
const t0 = Date.parse('2026-03-01T10:00:00Z');
const at = (sec: number): string => new Date(t0 + sec * 1000).toISOString();

beforeAll(async () => {
  api = await startApi((parts) => ({ routes: allRoutes(parts) }));
  const person = await api.token('patient');
  const { pool } = api.database;
  const { rows } = await pool.query<{ id: number; uuid: string }>(
    `with d as (insert into device (organization_id, project_id, external_id) values ($1, $2, 'patch-1') returning id)
     insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, started_at, recorded_from)
     select $1, $2, d.id, $3, uuid_send(gen_random_uuid()), 0, $4::timestamptz, $4::timestamptz from d returning id, uuid`,
    [api.org.orgId, api.org.projectId, person.id, at(0)],
  );
  stream = rows[0]!;
  await pool.query(
    `insert into stream_channel (stream_id, channel_no, code, kind, rate_nhz, gain, baseline, unit) values ($1, 0, 'ecg.ii', 'ecg', 250000000000, 200, 10, 'mV')`,
    [stream.id],
  );
  for (const version of [10, 11, 9])
    await pool.query(
      `insert into method (kind, name, code, cadence_hz, unit) values
         ('feature', 'hr_ecg', 'derived:hr_ecg_v' || $1::int, 1, $2), ('beat', 'r_peaks', 'derived:r_peaks_v' || $1::int, null, '')`,
      [version, version === 9 ? 'of another time' : '/min'],
    );
  const all = `generate_series(0, 59) as i cross join method m`;
  const version = `(substring(m.code from '_v(\\d+)$'))::int`;
  const place = `(extract(epoch from $2::timestamptz) + i)::bigint * 1000000000 as ts_ns, $1::int as stream_id, m.id as method_id, 0 as qmask`;
  await putFeatures(
    api.database,
    `select ${place}, ${version}::float8 as value, -1::smallint as channel_no from ${all} where m.kind = 'feature'`,
    [stream.id, at(0)],
  );
  // Of the third and fifth minute there are values of an older version alone, of the fifth in another unit.
  await putFeatures(
    api.database,
    `select ${place.replace('+ i)', '+ i + case when m.code like $3 then 120 else 240 end)')}, ${version}::float8 as value, -1::smallint as channel_no
     from ${all} where m.kind = 'feature' and not m.code like '%v11'`,
    [stream.id, at(0), '%v10'],
  );
  // Versions place beats a little differently. Of the second minute there are beats of an older one alone.
  await putBeats(
    api.database,
    `select (extract(epoch from $2::timestamptz) + i)::bigint * 1000000000 + ${version} * 4000000 as ts_ns, $1::int as stream_id, m.id as method_id,
       0 as qmask, 0 as channel_no, case when i > 0 then 1000 end as interval_ms, 0 as kind, '' as reason
     from generate_series(0, 119) as i cross join method m where m.kind = 'beat' and (i < 60 or ${version} < 11)`,
    [stream.id, at(0)],
  );
  if (api.database.kind === 'postgres') await pool.query('select ensure_partitions($1, $2, $3)', ['sample_block', at(0), at(3600)]);
  for (let i = 0; i < 120; i++) {
    const codec = encodeBlock([{ k0: (t0 / 1000 + i) * 250, samples: new Int32Array(250).fill(10), qmask: null }]);
    await pool.query(
      `insert into sample_block (time, start_ns, stream_id, n, min, max, mean, channel_no, suspect_n, bad_n, codec)
       values ($2, 0, $1, 250, 10, 10, 10, 0, 0, 0, $3)`,
      [stream.id, at(i), codec],
    );
  }
});
afterAll(() => api.close());

it('features without a method are of the newest version', async () => {
  const found = await api.json<{ method_code: string; values: number[] }[]>('GET', `/api/v1/streams/${stream.uuid}/features`);
  expect(found.map(({ method_code: code, values }) => [code, values[0]])).toEqual([['derived:hr_ecg_v11', 11]]);
});

it('a chart has the unit and the values of the newest version', async () => {
  const chart = await api.json<{ values: { unit: string }[]; data: number[][] }>('POST', '/api/v1/charts/query', {
    body: { subject_id: 'patient', range: { from: at(0), to: at(60) }, resolution: '1s', series: [{ feature: 'hr_ecg' }] },
  });
  expect([chart.values[0]!.unit, chart.data.at(0)?.[1]]).toEqual(['/min', 11]);
});

// promise: window-version
it('intervals of a window are of the newest version that has beats there, or of the one that is named', async () => {
  type Window = { series: { method_code: string; method_codes: string[]; nn_count: number }[] };
  const codes = [11, 10, 9].map((version) => `derived:r_peaks_v${version}`);
  const read = async (from: number, to: number, more = ''): Promise<Window['series']> =>
    (await api.json<Window>('GET', `/api/v1/streams/${stream.uuid}/variability?since=${at(from)}&until=${at(to)}${more}`)).series;
  expect(await read(0, 60)).toMatchObject([{ method_code: codes[0], method_codes: codes, nn_count: 59 }]);
  expect(await read(0, 60, `&method_code=${codes[2]}`)).toMatchObject([{ method_code: codes[2], method_codes: [codes[2]] }]);
  expect(await read(61, 119)).toMatchObject([{ method_code: codes[1], method_codes: codes.slice(1) }]);
  expect(await read(600, 700)).toEqual([]);
});

it('each bucket of a chart is of the newest version that has values in it, and says of which', async () => {
  type Answer = { values: { method_codes: string[] }[]; data: number[][]; detail: { n: number[][]; totals: object[] } };
  const ask = (resolution: string, methodCode?: string): Promise<Answer> =>
    api.json('POST', '/api/v1/charts/query', {
      body: {
        subject_id: 'patient',
        range: { from: at(0), to: at(300) },
        resolution,
        detail: true,
        series: [{ feature: 'hr_ecg', ...(methodCode !== undefined && { method_code: methodCode }) }],
      },
    });
  const [newer, older] = [11, 10].map((number) => `derived:hr_ecg_v${number}`) as [string, string];
  for (const resolution of ['1s', '1m']) {
    const { values, data, detail } = await ask(resolution);
    expect(values[0]!.method_codes).toEqual([newer, older]);
    expect(data.filter(([ms]) => ms! < t0 + 120_000).map(([, value]) => value)).toEqual(Array(resolution === '1s' ? 60 : 1).fill(11));
    expect(data.filter(([ms]) => ms! >= t0 + 120_000).map(([, value]) => value)).toEqual(Array(resolution === '1s' ? 60 : 1).fill(10));
    expect(detail.totals).toMatchObject([{ n: 120, min: 10, max: 11, first: 11, last: 10 }]);
  }
  // Never both: the hour has values of the newest.
  const hour = await ask('1h');
  expect([hour.values[0]!.method_codes, hour.data.map(([, value]) => value), hour.detail.n]).toEqual([[newer], [11], [[60]]]);
  const one = await ask('1m', older);
  expect([one.values[0]!.method_codes, one.data.map(([, value]) => value)]).toEqual([[older], [10, 10]]);
});

it('each minute, hour and day of the observations is of the newest version that has values in it, page by page', async () => {
  const { rows } = await api.database.pool.query<{ id: number }>(
    `select id from biosignal where feature = 'hr_ecg' and project_id is null`,
  );
  type Row = { id: string; effective_time: string; value: number; method_code: string; n: number };
  const ask = async (more: string): Promise<Row[]> => {
    const path = `/api/v1/observations?biosignal_id=${rows[0]!.id}&subject_id=patient&since=${at(0)}&until=${at(300)}&order=asc${more}`;
    return await api.json('GET', path);
  };
  const [newer, older] = [11, 10].map((number) => `derived:hr_ecg_v${number}`);
  const minutes = await ask('');
  expect(minutes.map(({ value, method_code: code }) => [value, code])).toEqual([
    [11, newer],
    [10, older],
  ]);
  expect(new Set(minutes.map(({ id }) => id)).size).toBe(2);
  for (const order of ['asc', 'desc']) {
    const paged: Row[] = [];
    let next: string | null =
      `/api/v1/observations?biosignal_id=${rows[0]!.id}&subject_id=patient&since=${at(0)}&until=${at(300)}&order=${order}&limit=1`;
    while (next !== null) {
      const answer: Response = await api.send('GET', next);
      paged.push(...((await answer.json()) as Row[]));
      next = /<([^>]+)>;\s*rel="?next/.exec(answer.headers.get('link') ?? '')?.[1] ?? null;
    }
    expect(paged).toEqual(order === 'asc' ? minutes : minutes.toReversed());
  }
  // Never both: an hour and a day have values of the newest.
  const whole = `/api/v1/observations?biosignal_id=${rows[0]!.id}&subject_id=patient&since=2026-03-01T00:00:00Z&until=2026-03-02T00:00:00Z`;
  for (const interval of ['PT1H', 'P1D'])
    expect(await api.json('GET', `${whole}&interval=${interval}`)).toMatchObject([{ value: 11, n: 60, method_code: newer }]);
  const named = await ask(`&method_code=${older}`);
  expect(named.map(({ value }) => value)).toEqual([10, 10]);
});

it('the quality of an hour is that of the newest version that has values in it', async () => {
  const { pool } = api.database;
  await pool.query('update stream set last_sample_at = now() where id = $1', [stream.id]);
  // Two hours ago both, an hour ago the older one alone.
  await putFeatures(
    api.database,
    `select (extract(epoch from date_trunc('hour', now()) - make_interval(hours => hours)) + i)::bigint * 1000000000 as ts_ns, 70::float8 as value,
       $1::int as stream_id, m.id as method_id, (-1)::smallint as channel_no, case when m.code like '%v11' then 0 else 1 end::smallint as qmask
     from generate_series(1, 10) i cross join generate_series(1, 2) hours cross join method m
     where m.name = 'hr_ecg' and not m.code like '%v9' and (hours = 2 or m.code like '%v10')`,
    [stream.id],
  );
  type Listed = { hours: { n: number; good: number; suspect: number }[] };
  const [listed] = await api.json<Listed[]>('GET', '/api/v1/signal-quality?hours=4');
  expect(listed!.hours.map(({ n, good, suspect }) => [n, good, suspect])).toEqual([
    [10, 10, 0],
    [10, 0, 10],
  ]);
});

it('a goal counts each minute once', async () => {
  const { pool } = api.database;
  const { rows } = await pool.query<{ id: number; feature: string }>(
    `select id, feature from biosignal where feature is not null and unit = '{steps}' and project_id is null`,
  );
  const { id, feature } = rows[0]!;
  for (const version of [2, 1])
    await pool.query(`insert into method (kind, name, code, cadence_hz, unit) values ('feature', $1, $2, 1, '')`, [
      feature,
      `derived:${feature}_v${version}`,
    ]);
  await pool.query('update stream set last_sample_at = now() where id = $1', [stream.id]);
  // Of this minute both versions have values.
  const inserted = await putFeatures(
    api.database,
    `select extract(epoch from date_trunc('minute', now()))::bigint * 1000000000 + i * 1000000 as ts_ns,
       case m.code when 'derived:' || $2 || '_v2' then 3 else 2 end::float8 as value, $1::int as stream_id, m.id as method_id, (-1)::smallint as channel_no, 0::smallint as qmask
     from generate_series(1, 10) i cross join method m where m.name = $2`,
    [stream.id, feature],
  );
  expect(inserted).toBe(20);
  await api.json('POST', '/api/v1/goals', { body: { subject_id: 'patient', biosignal_id: id, target: 100, period: 'week' }, status: 201 });
  const [goal] = await api.json<{ value: number }[]>('GET', '/api/v1/goals?subject_id=patient');
  expect(goal!.value).toBe(30);
});

it('a WFDB record has each beat once, of the newest version that found beats there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-versions-'));
  const { code, err } = await ran(exportRecordings, [stream.uuid, '--format', 'wfdb', '--out', folder, '--no-wait'], {
    env: { DATABASE_URL: api.database.url },
    cwd: folder,
  });
  expect(code, err.join()).toBe(0);
  const file = readdirSync(folder).find((name) => name.endsWith('.bio'))!;
  const beats = await readAnnotations(join(folder, file));
  expect(beats.map(({ sample }) => sample)).toEqual(Array.from({ length: 120 }, (_, i) => 250 * i + (i < 60 ? 11 : 10)));
  rmSync(folder, { recursive: true });
});

it('beats come newest version first, and those of a strip are of it', async () => {
  const found = await api.json<{ method_code: string }[]>('GET', `/api/v1/streams/${stream.uuid}/beats`);
  expect(found.map(({ method_code: code }) => code)).toEqual([11, 10, 9].map((version) => `derived:r_peaks_v${version}`));
  const strip = await api.send('GET', `/api/v1/streams/${stream.uuid}/strip?since=${at(0)}&until=${at(5)}&channel=ecg.ii`);
  expect(await strip.text()).toContain('derived:r_peaks_v11');
});
