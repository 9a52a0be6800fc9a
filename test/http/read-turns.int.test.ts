/** Reads of one caller leave room for those of others, and no read exceeds the stated size. Slow reads are made by a lock on the table, so
 *  that nothing here depends on the speed of a machine. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import type { Problem } from '../../src/http/problem.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const HOUR_NS = 3_600_000_000_000n;
const ROWS_MAX = 1000;

let running: RunningService;
const tokens = { ada: '', ben: '' };
beforeAll(async () => {
  running = await runService({ BIO_CHART_ROWS_MAX: String(ROWS_MAX), BIO_READS_AT_ONCE_MAX: '4' });
  for (const name of ['ada', 'ben'] as const) tokens[name] = (await running.token(name)).xuser_token;
  // A chart of a method that was never used looks for none of its values.
  await running.database.pool.query(`insert into method (kind, name, code) values ('feature', 'hr_ecg', 'derived:hr_ecg_v0')`);
  // One recording of two days: its first second and its last.
  const [packet] = ecgPacket({ channels: 1, fs: 250, ms: 1000, count: 1, deviceId: 'patch' });
  const startNs = BigInt(Date.now()) * 1_000_000n - 48n * HOUR_NS;
  for (const [seq, atNs] of [0n, 48n * HOUR_NS - 2_000_000_000n].entries()) {
    const sent = await running.ingest({ ...packet!, seq, t0DeviceNs: atNs, t0UnixNs: startNs + atNs, sentUnixNs: 0n }, tokens.ada);
    expect(sent.status, sent.text).toBe(202);
  }
});
afterAll(() => running.close());

/** Locks a table against reads, until it is released or the test ends. */
async function hold(table: string): Promise<AsyncDisposable & { release: () => Promise<void> }> {
  const client = await running.database.connect();
  await client.query('begin');
  await client.query(`lock table ${table} in access exclusive mode`);
  let held = true;
  const release = async (): Promise<void> => {
    if (held) await client.end();
    held = false;
  };
  return { release, [Symbol.asyncDispose]: release };
}
/** Requests that wait for a table; what the service does in the background may wait, too. */
const waitingFor = async (table: string): Promise<number> => {
  const { rows } = await running.database.pool.query<{ n: number }>(
    `select count(*)::int as n from pg_locks join pg_stat_activity using (pid)
     where not granted and relation = $1::regclass and application_name like 'biosignal api%' and pg_stat_activity.datname = current_database()`,
    [table],
  );
  return rows[0]!.n;
};
const hour = { series: [{ feature: 'hr_ecg' }], range: { duration: 'PT1H' } };

describe('charts', () => {
  // promise: reads-take-turns
  // setting: BIO_READS_AT_ONCE_MAX
  it('of one caller leave connections for everybody else, and are all answered', async () => {
    await using held = await hold('feature_block');
    const charts = Array.from({ length: 20 }, () => running.send('POST', '/api/v1/charts/query', { as: tokens.ada, body: hour }));
    await until(async () => (await waitingFor('feature_block')) === 2);
    for (let i = 0; i < 10; i++) expect((await running.send('GET', '/api/v1/moods', { as: tokens.ben })).status).toBe(200);
    expect(await waitingFor('feature_block')).toBe(2);
    const others = Array.from({ length: 3 }, () => running.send('POST', '/api/v1/charts/query', { as: tokens.ben, body: hour }));
    await until(async () => (await waitingFor('feature_block')) === 4);
    await held.release();
    expect((await Promise.all([...charts, ...others])).map(({ status }) => status)).toEqual(Array.from({ length: 23 }, () => 200));
  });

  // promise: reads-take-turns
  it('are refused to a caller with more than 32 waiting', async () => {
    await using held = await hold('feature_block');
    const charts = Array.from({ length: 40 }, () => running.send<Problem>('POST', '/api/v1/charts/query', { as: tokens.ada, body: hour }));
    const refused = await Promise.race(charts);
    expect(refused.status).toBe(429);
    expect(refused.body.code).toBe('rate_limited');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await held.release();
    const counts = (await Promise.all(charts)).map(({ status }) => status);
    expect(counts.filter((status) => status === 200)).toHaveLength(34);
    expect(counts.filter((status) => status === 429)).toHaveLength(6);
  });

  // promise: chart-bound
  // setting: BIO_CHART_ROWS_MAX
  it('become coarser until they read no more rows than the limit', async () => {
    const ask = (range: object) =>
      running.send<{ resolution: string }>('POST', '/api/v1/charts/query', {
        as: tokens.ada,
        body: { series: [{ feature: 'hr_ecg' }], range, max_points: 5000 },
      });
    expect((await ask({ duration: 'PT12H' })).body.resolution).toBe('1m'); // 720 minutes
    expect((await ask({ duration: 'PT48H' })).body.resolution).toBe('1h'); // 2,880 minutes are too many
    // What counts is what there can be: two days, however long the range is.
    const year = await ask({ duration: 'P365D' });
    expect(year.status, year.text).toBe(200);
  });

  // promise: chart-bound
  // setting: BIO_CHART_ROWS_MAX
  it('that cannot become small enough are refused with the numbers', async () => {
    const catalog = await running.send<{ id: number; name: string; signal_type: string }[]>(
      'GET',
      `/api/v1/projects/${running.org.projectId}/biosignals`,
    );
    const ecg = catalog.body.find(({ name, signal_type: type }) => type === 'waveform' && /ecg|electrocardiogra/i.test(name));
    const refused = await running.send<Problem>('POST', '/api/v1/charts/query', {
      as: tokens.ada,
      body: { series: [{ biosignal_id: ecg!.id }], range: { duration: 'PT48H' } },
    });
    expect(refused.status).toBe(400);
    expect(refused.body.code).toBe('range_too_large');
    expect(refused.body.detail).toMatch(/about \d{4,} rows, at most 1000 are allowed/);
  });
});

describe('exports', () => {
  it('run one at a time per caller, and per organization when several share the service, and free their place however they end', async () => {
    const { xuser_id: id, xuser_token: own } = await running.token('ada');
    const path = `/api/v1/xusers/${id}/export`;
    const neighbour = await createOrganization(running.database.pool, 'Neighbour');
    const theirs = await running.send<{ xuser_id: string }>('POST', '/api/v1/sdk/token', {
      as: neighbour.apiKey.key,
      body: { external_id: 'eve', project_key: neighbour.projectKey },
    });
    for (let i = 0; i < 3; i++) expect((await running.send('HEAD', path)).status).toBe(200);
    await using held = await hold('mood');
    const first = running.send('GET', path);
    await until(async () => (await waitingFor('mood')) === 1);
    const second = await running.send<Problem>('GET', path);
    expect(second.status).toBe(429);
    expect(second.body.code).toBe('rate_limited');
    // Nor another credential of the organization; another organization has the other place.
    expect(await running.send('GET', path, { as: own })).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('This organization') as string },
    });
    const other = running.send('GET', `/api/v1/xusers/${theirs.body.xuser_id}/export`, { as: neighbour.apiKey.key });
    await until(async () => (await waitingFor('mood')) === 2);
    await held.release();
    expect((await other).text).toMatch(/\{"table":"end"\}\n$/);
    expect((await first).text).toMatch(/\{"table":"end"\}\n$/);
    expect((await running.send('GET', path)).status).toBe(200);
  });
});
