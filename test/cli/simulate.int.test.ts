/** `simulate` against a real service: a long fast run has no refusals, and the service finds the truth that it writes (EC57: 150 ms). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { agreement } from '../../src/cli/agreement.ts';
import type { Command } from '../../src/cli/command.ts';
import { simulate } from '../../src/cli/simulate.ts';
import { verify } from '../../src/cli/verify.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
let service: Service;
let work: string;
let key: string;
let orgId: string;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-simulate-'));
  database = await testDatabase();
  service = await startService({ config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent' }) });
  const organization = await createOrganization(database.pool, 'Simulated');
  key = organization.apiKey.key;
  orgId = organization.orgId;
});
afterAll(async () => {
  await service?.stop();
  await database?.close();
  rmSync(work, { recursive: true, force: true });
});

async function run(command: Command, args: readonly string[], env: Record<string, string> = {}) {
  const environment = { BIO_URL: service.baseUrl, BIO_KEY: key, DATABASE_URL: database.url, ...env };
  const { code, out, err } = await ran(command, [...args, '--json'], { env: environment, cwd: work });
  return { code, out: out.join(''), err: err.join('') };
}

type TruthLine = { startUnixNs: string; beats: { atSec: number }[] };

// promise: truth
test('a run of 15 minutes at full speed ends at the present, and its beats are found where the truth file says', async () => {
  const truthPath = join(work, 'truth.jsonl');
  const args = ['--speed', 'max', '--duration', '900', '--packet-ms', '10000', '--channels', 'ecg.ii', '--pvc', '3', '--truth', truthPath];
  const { code, out, err } = await run(simulate, args);
  expect(code, err).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ packets: 90, accepted: 90, rejected: 0, unsettled: 0 });

  const lines = readFileSync(truthPath, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as TruthLine); // prettier-ignore
  const startMs = Number(BigInt(lines[0]!.startUnixNs) / 1_000_000n);
  const truth = lines
    .flatMap(({ beats }) => beats.map(({ atSec }) => startMs + atSec * 1000))
    .filter((ms) => ms > startMs + 2000 && ms < startMs + 890_000);
  expect(truth.length).toBeGreaterThan(700);
  let share = 0;
  await until(async () => {
    const { rows } = await database.pool.query<{ ms: number }>('select ts_ns / 1e6::float8 as ms from beat');
    share = truth.filter((at) => rows.some(({ ms }) => Math.abs(ms - at) < 150)).length / truth.length;
    return share > 0.995;
  }, 60_000).catch(() => undefined);
  expect(share).toBeGreaterThan(0.995);

  // The command that does the same for a user, from the API.
  const compared = await run(agreement, ['--truth', truthPath]);
  expect(compared.code, compared.err).toBe(0);
  const { total } = JSON.parse(compared.out) as { total: Record<string, number> };
  expect(total['beats']).toBeGreaterThan(700);
  expect(total['found']! / total['beats']!).toBeGreaterThan(0.995);
  expect(total['extra']! / total['beats']!).toBeLessThan(0.005);
  expect(total['good']).toBeGreaterThan(400);
});

test('a truth file that is there is kept, and a place where none can be is said before anything is sent', async () => {
  const path = join(work, 'kept.jsonl');
  writeFileSync(path, 'another run\n');
  const args = ['--speed', 'max', '--duration', '10', '--channels', 'ecg.ii', '--device-prefix', 'kept-', '--truth'];
  const refused = await run(simulate, [...args, path]);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('kept.jsonl is there already')]);
  expect(readFileSync(path, 'utf8')).toBe('another run\n');
  const folder = await run(simulate, [...args, work, '--force']);
  expect([folder.code, folder.err]).toEqual([1, expect.stringContaining('EISDIR')]);
  expect((await database.pool.query(`select from device where external_id like 'kept-%'`)).rowCount).toBe(0);
  expect(await run(simulate, [...args, path, '--force'])).toMatchObject({ code: 0 });
  expect(readFileSync(path, 'utf8')).toMatch(/^\{"device":"kept-/);
});

test('a file that is not a truth file is refused with the line at fault', async () => {
  const path = join(work, 'no-truth.jsonl');
  writeFileSync(path, '{"device":"x"}\n');
  const { code, err } = await run(agreement, ['--truth', path]);
  expect(code).toBe(1);
  expect(err).toContain('simulate --truth');
});

test('a fleet over WebSocket with every fault: everything acknowledged is stored exactly once', async () => {
  const ledger = join(work, 'fleet');
  const faults = ['--drop', '2', '--duplicate', '8', '--reorder', '10', '--late', '2', '--skew', '80'];
  const args = ['--transport', 'websocket', '--devices', '6', '--duration', '60', '--speed', 'max', '--channels', 'ecg.ii,acc.x'];
  const { code, out, err } = await run(simulate, [...args, ...faults, '--device-prefix', 'ws-', '--ledger', ledger]);
  expect(code, err).toBe(0);
  const sent = JSON.parse(out) as Record<string, number> & { faults: Record<string, number> };
  const { dropped = 0, duplicated = 0, reordered = 0, late = 0 } = sent.faults;
  expect(Math.min(dropped, duplicated, reordered, late)).toBeGreaterThan(0);
  expect(sent).toMatchObject({ packets: 360, accepted: 360 - dropped, rejected: 0, unsettled: 0 });
  expect(sent['duplicates']).toBeGreaterThanOrEqual(duplicated - dropped);
  const verdict = await run(verify, [ledger]);
  expect(verdict.code, verdict.out).toBe(0);
  expect(JSON.parse(verdict.out)).toMatchObject({ ok: true, streams: 6, accepted: 360 - dropped, unanswered: 0 });
});

// promise: simulate-waits
test('packets are sent again when a proxy answers 502 or 504 for an unavailable service', async () => {
  const away = [502, 504, 502];
  const proxy = createServer((incoming, outgoing) => {
    const status = away.shift();
    if (status !== undefined) {
      incoming.resume().on('end', () => outgoing.writeHead(status).end());
      return;
    }
    const { method, headers, url = '/' } = incoming;
    const onward = request(new URL(url, service.baseUrl), { method: method ?? 'GET', headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const args = ['--duration', '5', '--speed', 'max', '--channels', 'ecg.ii', '--device-prefix', 'proxy-'];
    const { code, out, err } = await run(simulate, args, { BIO_URL: url });
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ packets: 5, accepted: 5, rejected: 0, unsettled: 0 });
    expect(away).toEqual([]);
  } finally {
    proxy.close();
    proxy.closeAllConnections();
  }
});

test('a refused key ends the run at once and says why', async () => {
  const { key: reader } = await createApiKey(database.pool, { orgId, name: 'reader', scopes: ['read'] });
  for (const transport of ['http', 'websocket']) {
    const { code, err } = await run(simulate, ['--transport', transport, '--duration', '3', '--speed', 'max'], { BIO_KEY: reader });
    expect(code, err).toBe(1);
    expect(err).toContain('scope_missing');
  }
});
