/** Names of webhooks against a name server on a real socket: a silent server delays only its own names, for a bounded time. */
import { pbkdf2 } from 'node:crypto';
import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HostNames } from '../../src/webhooks/host-names.ts';
import { WebhookNetworks } from '../../src/webhooks/webhook-networks.ts';

/** Threads that Node has for files, hashes and the operating system's resolver. */
const POOL_THREADS = 4;

let server: Socket;
let names: HostNames;
let asked = 0;
const folder = mkdtempSync(join(tmpdir(), 'hosts-'));

/** Answers 192.0.2.7 for every name that does not begin with `silent`. */
function answer(question: Buffer): Buffer | null {
  if (question.subarray(13).toString('latin1').startsWith('silent')) return null;
  const end = question.indexOf(0, 12) + 5;
  const isA = question.readUInt16BE(end - 4) === 1;
  const head = Buffer.from([question[0]!, question[1]!, 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]);
  const address = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
  return Buffer.concat([head, question.subarray(12, end), ...(isA ? [address] : [])]);
}

beforeAll(async () => {
  server = createSocket('udp4');
  server.on('message', (question, { address, port }) => {
    asked += 1;
    const bytes = answer(question);
    if (bytes !== null) server.send(bytes, port, address);
  });
  await new Promise<void>((done) => server.bind(0, '127.0.0.1', done));
  const hostsFile = join(folder, 'hosts');
  writeFileSync(hostsFile, '# names\n::1 receiver six\n10.1.2.3 Receiver # of the site\nnonsense other\n');
  names = new HostNames({ servers: [`127.0.0.1:${server.address().port}`], hostsFile });
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

// promise: webhook-names
it('finds the names of the machine, of the file of hosts, and of name servers', async () => {
  expect(await names.resolve('localhost')).toEqual([
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]);
  expect(await names.resolve('RECEIVER.')).toEqual([
    { address: '10.1.2.3', family: 4 },
    { address: '::1', family: 6 },
  ]);
  expect(asked).toBe(0);
  expect(await names.resolve('hooks.example')).toEqual([{ address: '192.0.2.7', family: 4 }]);
  await expect(names.resolve('other')).resolves.toEqual([{ address: '192.0.2.7', family: 4 }]);
});

// promise: webhook-names
it('gives up on a name that nobody answers for, and holds up neither other names nor the threads of the process', async () => {
  const networks = new WebhookNetworks(['10.0.0.0/8'], names);
  const startedMs = performance.now();
  let silentCount = 0;
  const silent = Array.from({ length: 3 * POOL_THREADS }, (_, i) =>
    names.resolve(`silent-${i}.example`).catch((error: Error) => {
      silentCount += 1;
      return error.message;
    }),
  );
  await promisify(pbkdf2)('hash', 'salt', 1, 16, 'sha256'); // a thread of the pool
  expect(await names.resolve('quick.example')).toHaveLength(1);
  expect(await networks.refusal('http://receiver/hook')).toContain('::1'); // one of its addresses is not of the networks
  expect(silentCount).toBe(0);
  for (const message of await Promise.all(silent)) expect(message).toMatch(/silent-\d+.example has no address/);
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});
