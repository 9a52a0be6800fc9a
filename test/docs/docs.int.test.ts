/** The commands in the documents work: each document's `sh run` blocks are run in order, in one shell, against a service with the demo as
 *  `npm start` makes it; its `sql run` blocks against the database. */
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

const root = join(import.meta.dirname, '../..');
const documents = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].filter((path) => path.endsWith('.md'));

/** The blocks of one kind, fenced as ```sh run. */
function blocks(path: string, kind: 'sh' | 'sql'): string[] {
  const text = readFileSync(join(root, path), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${kind} run\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, block = '']) => block);
}

let database: TestDatabase;
let service: Service;
let work: string;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-docs-'));
  // No document may install anything: scripts/with-runtime.sh would, where the lock file has just been changed.
  writeFileSync(join(work, 'npm'), '#!/bin/sh\necho "npm is not run from this test" >&2\nexit 1\n');
  chmodSync(join(work, 'npm'), 0o755);
  database = await testDatabase();
  service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent', BIO_DEMO: '1', BIO_DATA_DIR: work }),
  });
  // The documents read values of the demo's person: some seconds must be there.
  await until(async () => {
    const { rows } = await database.pool.query<{ n: number }>('select count(*)::int as n from feature');
    return rows[0]!.n > 20;
  }, 60_000);
});
afterAll(async () => {
  await service?.stop();
  await database?.close();
  rmSync(work, { recursive: true, force: true });
});

async function runShell(script: string): Promise<{ code: number | null; output: string }> {
  const child = spawn('sh', ['-eu'], {
    cwd: root,
    env: {
      PATH: `${work}:${process.env['PATH']}`,
      HOME: process.env['HOME'],
      BIO_URL: service.baseUrl,
      BIO_KEY: service.firstKey ?? '',
      DATABASE_URL: database.url,
      PYTHONDONTWRITEBYTECODE: '1',
      WORK: work,
    },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  // What the documents leave in .cache or exports goes to a folder of the test.
  child.stdin.end(script.replaceAll('.cache/', `${work}/`).replaceAll(/\bexports\b/g, `${work}/exports`));
  return { code: await new Promise((resolve) => child.on('close', resolve)), output };
}

// promise: documents-run
// At once: each document stands for itself, and most of the time is waiting.
test.concurrent.each(documents.filter((path) => blocks(path, 'sh').length > 0))(
  '%s: every command that it says to type works',
  async (path) => {
    const { code, output } = await runShell(blocks(path, 'sh').join('\n'));
    expect(code, output.slice(-3000)).toBe(0);
    expect(output).not.toBe('');
  },
  600_000,
);

describe.each(documents.filter((path) => blocks(path, 'sql').length > 0))('%s', (path) => {
  // promise: documents-run
  test('every query that it shows gives rows', async () => {
    for (const block of blocks(path, 'sql')) {
      let rows: unknown[] = [];
      await until(async () => {
        ({ rows } = await database.pool.query(block));
        return rows.length > 0;
      }, 70_000);
      expect(rows.length, block).toBeGreaterThan(0);
    }
  });
});

/** A recording of a year ago that is brought in today. @returns when it ends, RFC 3339 */
async function importHistory(): Promise<string> {
  const startMs = Date.now() - 365 * 86_400_000;
  const startUnixNs = BigInt(startMs) * 1_000_000n;
  const device = createSimulatedDevice({ seed: 8, channels: ['ecg.ii', 'ppg.ir', 'temp.skin'], heartRateBpm: 70 });
  const next = createPacketSource(device, { deviceId: 'archive', bootId: 'a'.repeat(32), subject: 'history', startUnixNs, packetMs: 1000 });
  const packets = Array.from({ length: 120 }, () => next().packet);
  const stated = packets.map((packet) => encodePacket({ ...packet, recordedUnixNs: startUnixNs + packet.t0DeviceNs }));
  const answer = await fetch(`${service.baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.firstKey}`, 'content-type': 'application/x-protobuf; encoding=delimited' },
    body: encodeBatch(stated),
  });
  expect(answer.status, await answer.text()).toBe(202);
  return new Date(startMs + 120_000).toISOString();
}

// promise: sql-for-history
test('every query of the analyst answers for history too, with its time in place of now()', async () => {
  const end = await importHistory();
  for (const block of blocks('docs/analyst.md', 'sql')) {
    const asked = block.replaceAll("'demo-patient'", "'history'").replaceAll('now()', `timestamptz '${end}'`);
    await until(async () => (await database.pool.query(asked)).rows.length > 0, 60_000).catch(() => expect.unreachable(asked));
  }
});

test('the documents have such blocks', () => {
  const count = documents.reduce((sum, path) => sum + blocks(path, 'sh').length + blocks(path, 'sql').length, 0);
  expect(count).toBeGreaterThan(15);
});
