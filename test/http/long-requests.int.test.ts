/** Requests that take as long as their peer likes, and what becomes of their credential meanwhile. On the whole service. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey, revokeApiKey } from '../../src/auth/api-keys.ts';
import { scopes } from '../../src/caller.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running?.close());

const makeKey = (): ReturnType<typeof createApiKey> =>
  createApiKey(running.database.pool, { orgId: running.org.orgId, name: 'leaked', scopes });

type Slow = Readonly<{ finish: () => Promise<{ status: number; text: string }> }>;

/** Sends the head of a request and half of its body. */
async function begin(credential: string, path: string, type: string, body: Uint8Array): Promise<Slow> {
  const socket = connect(running.service.port, '127.0.0.1');
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  const half = body.length >> 1;
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${credential}\r\nContent-Type: ${type}\r\n` +
      `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
  );
  socket.write(body.subarray(0, half));
  return {
    finish: async () => {
      await sleep(200); // what is done within 100 ms is not asked again
      socket.write(body.subarray(half));
      await until(() => /\r\n\r\n.*\}/.test(text));
      socket.destroy();
      return { status: Number(text.slice(9, 12)), text };
    },
  };
}

const keyBody = Buffer.from(JSON.stringify({ name: 'successor', scopes: ['admin', 'read', 'write', 'ingest'] }));

describe('a body that arrives after its credential has ended', () => {
  // promise: revoked-within-a-second
  it('creates no key when the credential was revoked meanwhile', async () => {
    const { key, record } = await makeKey();
    const slow = await begin(key, '/api/v1/api-keys', 'application/json', keyBody);
    await until(async () => (await running.send('GET', '/api/v1/projects', { as: key })).status === 200);
    await revokeApiKey(running.database.pool, running.org.orgId, record.id);
    await until(async () => (await running.send('GET', '/api/v1/projects', { as: key })).status === 401);
    const answer = await slow.finish();
    expect(answer.status, answer.text).toBe(401);
    expect(answer.text).toContain('credential_invalid');
    const { rows } = await running.database.pool.query(`select 1 from api_key where name = 'successor'`);
    expect(rows).toEqual([]);
  });

  it("stores no packet when the device's key was revoked or its user disabled", async () => {
    const [packet] = ecgPacket({ channels: 1, fs: 250, ms: 1000, count: 1, deviceId: 'late' });
    const { key, record } = await makeKey();
    const user = await running.token('late');
    const bytes = encodePacket({ ...packet!, subject: '' });
    const slow = await Promise.all([key, user.xuser_token].map((as) => begin(as, '/ingest/raw-packet', 'application/x-protobuf', bytes)));
    await until(async () => (await running.send('GET', '/api/v1/moods', { as: user.xuser_token })).status === 200);
    await revokeApiKey(running.database.pool, running.org.orgId, record.id);
    const disabled = await running.send('PATCH', `/api/v1/xusers/${user.xuser_id}`, { body: { disabled: true } });
    expect(disabled.status, disabled.text).toBe(200);
    await until(async () => (await running.send('GET', '/api/v1/moods', { as: user.xuser_token })).status === 401);
    for (const one of slow) expect((await one.finish()).status).toBe(401);
    expect((await running.database.pool.query('select 1 from stream')).rows).toEqual([]);
  });

  it('is accepted while the credential is valid', async () => {
    const { key } = await makeKey();
    const slow = await begin(key, '/api/v1/api-keys', 'application/json', keyBody);
    await sleep(300);
    const answer = await slow.finish();
    expect(answer.status, answer.text).toBe(201);
  });
});

describe('a long answer', () => {
  // promise: revoked-within-a-second
  it("ends where the reader's key was revoked", async () => {
    const person = await running.token('exported');
    const { key, record } = await makeKey();
    const table = await running.database.connect();
    await table.query('begin');
    await table.query('lock table goal in access exclusive mode'); // the export waits here
    const answer = await fetch(`${running.service.baseUrl}/api/v1/xusers/${person.xuser_id}/export`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(answer.status).toBe(200);
    const text = answer.text().then(
      (whole) => whole,
      () => 'cut off',
    );
    await revokeApiKey(running.database.pool, running.org.orgId, record.id);
    await until(async () => (await running.send('GET', '/api/v1/projects', { as: key })).status === 401);
    await sleep(300); // asked again once in 100 ms
    await table.end();
    expect(await text).toBe('cut off');
  });
});
