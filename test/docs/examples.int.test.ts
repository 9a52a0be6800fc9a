/** The device examples are run as their README says, each against a real service; a language that is not on the machine is named. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { firstPacket } from '../../examples/device/make-packet.ts';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { openApi, streamsOf } from '../../src/cli/client/api.ts';
import { readConfig } from '../../src/config.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'examples', 'device');

function has(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    console.warn(`SKIPPED: no ${program}: its example is not run`);
    return false;
  }
}

let database: TestDatabase;
let service: Service;
let env: NodeJS.ProcessEnv;
let work: string;
let orgId: string;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-examples-'));
  database = await testDatabase();
  service = await startService({ config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent' }) });
  const organization = await createOrganization(database.pool, 'Examples');
  orgId = organization.orgId;
  const { key } = organization.apiKey;
  env = { ...process.env, BIO_URL: service.baseUrl, BIO_KEY: key };
});

afterAll(async () => {
  await service?.stop();
  await database?.close();
  rmSync(work, { recursive: true, force: true });
});

const run = async (command: string, url = service.baseUrl): Promise<unknown> => {
  const { stdout } = await promisify(execFile)('sh', ['-ec', command], { cwd: folder, env: { ...env, BIO_URL: url } });
  return JSON.parse(stdout);
};

/** A bad network in front of the service: the first request is answered busy, the second is stored but its answer is lost, the third finds
 *  nobody, then all is well. @returns its address and how to close it */
async function badNetwork(): Promise<{ url: string; close: () => Promise<void>; requests: () => number }> {
  let count = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      count += 1;
      const turn = count;
      if (turn === 1) return void response.writeHead(503, { 'retry-after': '0' }).end('{"code":"busy"}');
      if (turn === 3) return void request.socket.destroy();
      void fetch(new URL(request.url ?? '', service.baseUrl), {
        method: 'POST',
        headers: {
          authorization: request.headers.authorization ?? '',
          'content-type': request.headers['content-type'] ?? '',
          accept: request.headers.accept ?? '*/*',
        },
        body: Buffer.concat(chunks),
      }).then(async (answer) => {
        const body = Buffer.from(await answer.arrayBuffer());
        if (turn === 2) return void request.socket.destroy();
        response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(body);
      });
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => count,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

/** Runs a device program through the bad network and looks at what is stored. */
async function survives(command: string, deviceId: string): Promise<void> {
  const network = await badNetwork();
  try {
    const said = (await run(command, network.url)) as { packets: number; accepted: number; duplicates: number };
    // Five packets became durable without the device hearing of it: they came back as duplicates.
    expect(said).toMatchObject({ packets: 12, accepted: 7, duplicates: 5 });
    expect(network.requests()).toBeGreaterThanOrEqual(6);
  } finally {
    await network.close();
  }
  await until(async () => {
    const { rows } = await database.pool.query<{ n: number }>(
      `select coalesce(sum(b.n), 0)::int as n from sample_block b join stream s on s.id = b.stream_id join device d on d.id = s.device_id
       where d.external_id = $1`,
      [deviceId],
    );
    return rows[0]!.n === 12 * 250;
  }, 20_000);
}

test('first-packet.bin is what make-packet.ts makes', () => {
  expect(readFileSync(join(folder, 'first-packet.bin')).equals(encodePacket(firstPacket()))).toBe(true);
});

// promise: packets-once
test.skipIf(!has('curl'))('curl: accepted, and a duplicate the second time', async () => {
  expect(await run('sh send.sh')).toMatchObject({ accepted: 1, duplicates: 0, rejected: [] });
  expect(await run('sh send.sh')).toMatchObject({ accepted: 0, duplicates: 1 });
});

test.skipIf(!has('python3'))('Python: every packet once through a bad network', async () => {
  await survives('PYTHONDONTWRITEBYTECODE=1 python3 device.py 12', 'example-python');
});

test.skipIf(!has('cc'))('C: every packet once through a bad network', async () => {
  await survives(`cc -Wall -Wextra -Werror -O2 -o ${work}/device device.c -lm && ${work}/device 12`, 'example-c');
});

test('TypeScript: every packet once through a bad network', async () => {
  await survives(`${process.execPath} --disable-warning=ExperimentalWarning device.ts 12`, 'example-typescript');
});

/** A minute of each device, as docs/getting-started.md sends one. */
// promise: minute-of-your-own
test('the minute that a newcomer sends gives 75 beats per minute, every value good', async () => {
  const programs: readonly (readonly [deviceId: string, command: string])[] = [
    ['example-typescript', `${process.execPath} --disable-warning=ExperimentalWarning device.ts 60`],
    ...(has('python3') ? [['example-python', 'PYTHONDONTWRITEBYTECODE=1 python3 device.py 60'] as const] : []),
    ...(has('cc') ? [['example-c', `cc -O2 -o ${work}/device-60 device.c -lm && ${work}/device-60 60`] as const] : []),
  ];
  const api = openApi(service.baseUrl, env['BIO_KEY']!, new AbortController().signal);
  for (const [deviceId, command] of programs) {
    const { rows: before } = await database.pool.query<{ uuid: string }>('select uuid from stream');
    await run(command);
    const { rows } = await database.pool.query<{ uuid: string }>(
      'select s.uuid from stream s join device d on d.id = s.device_id where d.external_id = $1 and not s.uuid = any ($2)',
      [deviceId, before.map(({ uuid }) => uuid)],
    );
    const features = () =>
      api.get<{ values: number[]; qmask: number[] }[]>(`/api/v1/streams/${rows[0]!.uuid}/features`, { names: 'hr_ecg', limit: 100 });
    await until(async () => ((await features())[0]?.values.length ?? 0) > 50, 20_000);
    const [{ values, qmask } = { values: [], qmask: [] }] = await features();
    for (const value of values) expect(Math.abs(value - 75), deviceId).toBeLessThan(0.1);
    expect(new Set(qmask), deviceId).toEqual(new Set([0]));
  }
});

// promise: ingest-only
test('a key without the scope ends a program at once, with the reason', async () => {
  const { key } = await createApiKey(database.pool, { orgId, name: 'reader', scopes: ['read'] });
  for (const command of [has('python3') ? 'python3 device.py 2' : '', has('cc') ? `${work}/device 2` : ''].filter((one) => one !== '')) {
    const failed = promisify(execFile)('sh', ['-ec', command], {
      cwd: folder,
      env: { ...env, BIO_KEY: key, PYTHONDONTWRITEBYTECODE: '1' },
    });
    await expect(failed, command).rejects.toMatchObject({ stderr: expect.stringContaining('scope_missing') });
  }
});

test('each is a stream of the same user with the same channel', async () => {
  const api = openApi(service.baseUrl, env['BIO_KEY']!, new AbortController().signal);
  const streams = await streamsOf(api, 'example-patient');
  expect(streams.length).toBeGreaterThan(0);
  for (const stream of streams) {
    expect(stream.channels).toEqual([{ code: 'ecg.ii', kind: 'ecg', rate_hz: 250, gain: 1000, baseline: 0, unit: 'mV', lead: 'II' }]);
  }
});
