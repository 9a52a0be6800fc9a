/** Promises to operators: alert rules and dashboard ask for metrics that exist, logs and metrics hold nobody's data, /readyz answers while
 *  the database is away. On the whole service, with its real log. */
import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { readConfig } from '../../src/config.ts';
import { createMetrics } from '../../src/metrics.ts';
import { startService } from '../../src/server.ts';
import { createLogger } from '../../src/start/create-logger.ts';
import { DiskPart } from '../../src/start/disk-part.ts';
import type { Service } from '../../src/server.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

const canary = { subject: 'canary-jane-roe', name: 'Canary Name Roe', journal: 'canary dear diary', device: 'canary-strap' } as const;

let database: TestDatabase;
let proxy: TcpProxy;
let service: Service;
let org: NewOrganization;
let log = '';
const secrets: string[] = [];

beforeAll(async () => {
  database = await testDatabase();
  org = await createOrganization(database.pool, 'Operations');
  const url = new URL(database.url);
  proxy = await TcpProxy.start(Number(url.port));
  url.port = String(proxy.port);
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      log += chunk.toString();
      done();
    },
  });
  const config = readConfig({ DATABASE_URL: url.href, PORT: '0', BIO_LOG_LEVEL: 'trace' });
  service = await startService({ config, logger: createLogger('trace', '', sink) });
  secrets.push(org.apiKey.key, ...Object.values(canary));
  if (url.password !== '') secrets.push(url.password); // a test server may trust without one
});

afterAll(async () => {
  await service?.stop();
  await proxy?.close();
  await database?.close();
});

const call = async (
  method: string,
  path: string,
  body?: unknown,
  credential = org.apiKey.key,
  headers: Record<string, string> = {},
): Promise<Response> =>
  await fetch(new URL(path, service.baseUrl), {
    method,
    headers: { authorization: `Bearer ${credential}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });

function canaryPacket(bootId = '0123456789abcdef0123456789abcdef'): Uint8Array {
  const device = createSimulatedDevice({ seed: 9, channels: ['ecg.ii'] });
  const startUnixNs = BigInt(Date.now() - 2000) * 1_000_000n;
  return encodePacket(
    createPacketSource(device, { deviceId: canary.device, bootId, subject: canary.subject, startUnixNs, packetMs: 1000 })().packet,
  );
}

const post = async (bytes: Uint8Array, credential = org.apiKey.key): Promise<number> => {
  const answer = await fetch(new URL('/ingest/raw-packet', service.baseUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/x-protobuf' },
    body: bytes as Uint8Array<ArrayBuffer>,
  });
  await answer.arrayBuffer();
  return answer.status;
};

/** Names of metrics that a text of PromQL asks for, without the suffixes of histograms. */
function metricsIn(text: string): Set<string> {
  return new Set(
    [...text.matchAll(/\b((?:bio|process|nodejs)_[a-z_]+[a-z])\b/g)].map(([, name]) => name!.replace(/_(bucket|count|sum)$/, '')),
  );
}

// promise: retention-late
test('alert rules and dashboard ask for metrics that the service has, and leave none out', async () => {
  const served = new Set((await createMetrics().registry.getMetricsAsJSON()).map(({ name }) => name));
  const alerts = readFileSync(new URL('../../ops/prometheus/alerts.yml', import.meta.url), 'utf8');
  const dashboard = readFileSync(new URL('../../ops/grafana/biosignal.json', import.meta.url), 'utf8');
  const panels = (JSON.parse(dashboard) as { panels: { targets: { expr: string }[] }[] }).panels;
  const drawn = metricsIn(panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n'));
  expect([...metricsIn(alerts)].filter((name) => !served.has(name))).toEqual([]);
  expect([...drawn].filter((name) => !served.has(name))).toEqual([]);
  expect([...served].filter((name) => !drawn.has(name))).toEqual([]);
  expect(alerts).toMatch(/alert: BiosignalRetentionLate\n +expr: max\(bio_retention_age_seconds\) > 3600\n/);
});

test('a fresh service exports every metric that alerts and dashboard ask for, counters from zero on, each of its type', async () => {
  await (await fetch(new URL('/livez', service.baseUrl))).arrayBuffer();
  const text = await (await fetch(new URL('/metrics', service.baseUrl))).text();
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const has = (name: string, labels = ''): boolean => series.some((line) => line.startsWith(name) && line.includes(labels));
  const alerts = readFileSync(new URL('../../ops/prometheus/alerts.yml', import.meta.url), 'utf8');
  const dashboard = readFileSync(new URL('../../ops/grafana/biosignal.json', import.meta.url), 'utf8');
  expect([...metricsIn(alerts), ...metricsIn(dashboard)].filter((name) => !has(name))).toEqual([]);
  // Series that a rule names by a label.
  const named = [...alerts.matchAll(/(bio_\w+)\{(\w+="\w+")\}/g)].map(([, name, label]) => [name!, label!] as const);
  expect(named.length).toBeGreaterThan(1);
  expect(named.filter(([name, label]) => !has(name, label))).toEqual([]);
  expect(series.filter((line) => /^bio_(errors|recomputes|packets_rejected)_total/.test(line)).every((line) => line.endsWith(' 0'))).toBe(
    true,
  );
  // A name ending in _total is a counter, and nothing else is.
  const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name!, type!] as const);
  expect(types.filter(([name, type]) => name.endsWith('_total') !== (type === 'counter'))).toEqual([]);
});

// promise: nothing-in-logs
test('no secret, identifier or text of a person is in logs, metrics or errors, whatever goes wrong', async () => {
  const project = org.projectId;
  const seen: string[] = [];
  const keep = async (answer: Response): Promise<void> => void seen.push(await answer.text());
  expect(await post(canaryPacket())).toBe(202);
  await call('POST', '/api/v1/xusers', { external_id: canary.subject, display_name: canary.name, project_id: project });
  // Twice, so that a unique constraint complains; then what no schema and no table takes.
  await keep(await call('POST', '/api/v1/xusers', { external_id: canary.subject, display_name: { wrong: true }, project_id: project }));
  await call('POST', '/api/v1/journal', { text: canary.journal, ts_ns: 'x' });
  await keep(await call('GET', `/api/v1/xusers/${'0'.repeat(8)}?external_id=${encodeURIComponent(canary.subject)}&x=${canary.name}`));
  await keep(await call('GET', '/api/v1/xusers', undefined, `bio_org_live_${canary.device}`));
  await keep(await call('POST', '/api/v1/xusers', '{"display_name": "Canary Name Roe", '));
  await post(canaryPacket().slice(0, 40));
  // And with the database away in the middle of it.
  proxy.mode = 'refuse';
  await Promise.all([post(canaryPacket()), call('GET', `/api/v1/xusers?external_id=${canary.subject}`), sleep(500)]);
  proxy.mode = 'pass';
  // An error of the database as drivers throw it, through the service's own logger.
  const failed: unknown = await database.pool
    .query(`insert into xuser (organization_id, project_id, external_id) values ($1, $2, $3), ($1, $2, $3)`, [
      org.orgId,
      project,
      canary.subject,
    ])
    .catch((error: unknown) => error);
  const typed: unknown = await database.pool.query('select $1::text::uuid', [canary.subject]).catch((error: unknown) => error);
  expect(String((failed as { detail?: string }).detail)).toContain(canary.subject); // otherwise this test tests nothing
  expect(String(typed)).toContain(canary.subject);
  const sink = new Writable({ write: (chunk: Buffer, _e, done) => ((log += chunk.toString()), done()) });
  for (const err of [failed, typed]) createLogger('trace', '', sink).error({ err }, 'canary');
  expect(log).toContain('canary"'); // the two lines are there
  const metrics = await (await fetch(new URL('/metrics', service.baseUrl))).text();
  const ready = await (await fetch(new URL('/readyz', service.baseUrl))).text();
  for (const secret of secrets) {
    expect(log.includes(secret), `the log has ${secret}`).toBe(false);
    expect(metrics.includes(secret), `the metrics have ${secret}`).toBe(false);
    expect(ready.includes(secret), `/readyz has ${secret}`).toBe(false);
    expect(seen.join('\n').includes(secret), `an error has ${secret}`).toBe(false);
  }
});

test('where the free room of the disk cannot be read, the part says so, and the log once', async () => {
  // As with the embedded database, whose folder is on a disk that is gone.
  const config = readConfig({ BIO_DATA_DIR: '/nowhere/at/all' });
  const disk = new DiskPart(
    database,
    config,
    createLogger('warn', '', new Writable({ write: (chunk: Buffer, _e, done) => ((log += chunk.toString()), done()) })),
  );
  await until(() => disk.parts().length === 1);
  expect(disk.parts()).toEqual([
    {
      name: 'disk',
      ok: false,
      detail: expect.stringMatching(/^database \d+ MiB, free room is not known: ENOENT/) as string,
      needed: false,
    },
  ]);
  expect(log.split('the free room of BIO_DATA_DIR is not known')).toHaveLength(2);
});

// promise: health
test('/readyz answers within seconds that the database is away, and that it is back', async () => {
  const ready = async (): Promise<{ status: number; ms: number }> => {
    const since = performance.now();
    const { status } = await fetch(new URL('/readyz', service.baseUrl));
    return { status, ms: performance.now() - since };
  };
  proxy.mode = 'hole';
  const away = await ready();
  expect(away.status).toBe(503);
  expect(away.ms).toBeLessThan(6000);
  proxy.mode = 'pass';
  for (const deadline = performance.now() + 15_000; (await ready()).status !== 200; await sleep(50))
    expect(performance.now()).toBeLessThan(deadline);
});

// promise: full-disk-said
test('/readyz, bio_degraded and doctor say that the disk of the database is full until packets are stored again', async () => {
  const { pool } = database;
  const part = async (): Promise<{ status: number; ok: boolean; detail: string }> => {
    const answer = await fetch(new URL('/readyz', service.baseUrl));
    const { parts } = (await answer.json()) as { parts: { name: string; ok: boolean; detail: string }[] };
    return { status: answer.status, ...parts.find(({ name }) => name === 'packet_log')! };
  };
  const degraded = async (): Promise<string> =>
    /^bio_degraded (\d)/m.exec(await (await fetch(new URL('/metrics', service.baseUrl))).text())![1]!;
  const send = (): Promise<number> => post(canaryPacket('f0'.repeat(16)));
  // The server's own error, as at the end of a disk: what is asked without writing a row is still answered.
  await pool.query(
    `create function no_room() returns trigger language plpgsql as $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`,
  );
  await pool.query('create trigger no_room before insert on packet_log for each row execute function no_room()');
  expect(await send()).toBe(503);
  await until(() => log.split('packet log: the database takes nothing').length > 1);
  for (let look = 0; look < 20; look++) {
    expect(await part()).toMatchObject({ status: 503, ok: false, detail: expect.stringContaining('no room on its disk') });
    expect(await degraded()).toBe('1');
    await sleep(100);
  }
  await pool.query('drop trigger no_room on packet_log');
  await until(async () => (await send()) === 202, 30_000);
  expect(await part()).toMatchObject({ status: 200, ok: true });
  expect(await degraded()).toBe('0');
});
