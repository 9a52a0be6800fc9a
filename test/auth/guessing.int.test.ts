/** A client that guesses credentials is slowed down, on every way in; one with a good credential is not, from the same address and without
 *  a trusted proxy. On the whole service. */
import { request } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { makeOrgKey } from '../../src/key-format.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
  await running.token('patient');
});
afterAll(() => running?.close());

const guess = (): string => makeOrgKey('live').key;

async function upgrade(path: string, credential: string): Promise<number> {
  const asked = request(running.service.baseUrl + path, {
    agent: false,
    headers: {
      authorization: `Bearer ${credential}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': randomBytes(16).toString('base64'),
      'sec-websocket-version': '13',
    },
  }).end();
  const [response] = (await Promise.race([once(asked, 'response'), once(asked, 'upgrade')])) as [IncomingMessage];
  response.socket.destroy();
  return response.statusCode ?? 0;
}

const ways: Record<string, (credential: string) => Promise<number>> = {
  rest: async (credential) => (await running.send('GET', '/api/v1/devices', { as: credential })).status,
  ingest: async (credential) => {
    const [packet] = ecgPacket({ channels: 1, fs: 100, ms: 100, count: 1, deviceId: 'guessed' });
    const sent = { ...packet!, t0UnixNs: BigInt(Date.now() - 1000) * 1_000_000n, subject: 'patient' };
    return (await running.send('POST', '/ingest/raw-packet', { as: credential, body: encodePacket(sent) })).status;
  },
  '/ws': (credential) => upgrade('/ws?subject=patient', credential),
  '/ingest/stream': (credential) => upgrade('/ingest/stream', credential),
};
const good = (status: number): boolean => [101, 200, 202].includes(status);

// promise: guesses-limited, guesses-spare-others
it.each(Object.entries(ways))(
  'by %s are told 429, and every good credential of that address works meanwhile, new ones too',
  async (_name, guessing) => {
    const known = running.org.apiKey.key;
    await running.send('GET', '/api/v1/devices', { as: known });
    let isOver = false;
    const told = new Map<number, number>();
    const guesser = async (): Promise<void> => {
      while (!isOver) {
        const status = await guessing(guess());
        told.set(status, (told.get(status) ?? 0) + 1);
      }
    };
    const guessers = Array.from({ length: 8 }, guesser);
    try {
      await expect.poll(() => told.get(429) ?? 0, { timeout: 30_000 }).toBeGreaterThan(20);
      const refused: string[] = [];
      for (let round = 0; round < 10; round++) {
        const { key: fresh } = await createApiKey(running.database.pool, {
          orgId: running.org.orgId,
          name: 'fresh',
          scopes: ['read', 'ingest'],
        });
        for (const [name, way] of Object.entries(ways)) {
          for (const credential of [known, fresh]) {
            const status = await way(credential);
            if (!good(status)) refused.push(`${name}: ${status}`);
          }
        }
        await running.service.auth.flushLastUsed();
      }
      expect(refused).toEqual([]);
    } finally {
      isOver = true;
      await Promise.allSettled(guessers);
    }
    expect([...told.keys()].every((status) => status === 401 || status === 429)).toBe(true);
  },
);

// promise: guesses-limited
it('with one wrong credential are told 429 without asking the database again', async () => {
  const wrong = guess();
  const statuses: number[] = [];
  for (let i = 0; i < 40; i++) statuses.push(await ways['rest']!(wrong));
  expect(statuses).toContain(429);
  expect(statuses.filter((status) => status !== 429).every((status) => status === 401)).toBe(true);
});

// promise: guesses-spare-others
it('does not lock out a credential that was wrong because of its project', async () => {
  const { key } = await createApiKey(running.database.pool, { orgId: running.org.orgId, name: 'fleet', scopes: ['read'] });
  for (let i = 0; i < 60; i++) {
    const { status } = await running.send('GET', '/api/v1/devices', { as: key, headers: { 'project-key': 'proj_live_unknown' } });
    expect([401, 429]).toContain(status);
  }
  expect((await running.send('GET', '/api/v1/devices', { as: key })).status).toBe(200);
});

// promise: guesses-limited, live-auth
it('in band, on an open socket, counts as well', async () => {
  const address = `${running.service.baseUrl.replace('http', 'ws')}/ws?subject=patient`;
  const codes: string[] = [];
  const sockets = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const socket = new WebSocket(address, ['bio.v1', `bio.bearer.${Buffer.from(running.org.apiKey.key).toString('base64url')}`]);
      socket.addEventListener('message', ({ data }) => {
        if (typeof data === 'string' && data.includes('"error"')) codes.push((JSON.parse(data) as { code: string }).code);
      });
      await once(socket, 'open');
      return socket;
    }),
  );
  for (let i = 0; i < 40; i++) for (const socket of sockets) socket.send(JSON.stringify({ type: 'auth', token: guess() }));
  await expect.poll(() => codes.length, { timeout: 20_000 }).toBe(320);
  expect(codes).toContain('rate_limited');
  expect(new Set(codes)).toEqual(new Set(['credential_invalid', 'rate_limited']));
  for (const socket of sockets) socket.close();
});

// promise: refusals-told
it('leaves a trace for the operator: a metric by reason, and a line in the log with the address and nothing of the credentials', async () => {
  const other = await runService();
  const guesses = Array.from({ length: 5 }, guess);
  try {
    for (const key of guesses) expect((await other.send('GET', '/api/v1/devices', { as: key })).status).toBe(401);
    const signIn = { body: { email: 'nobody@clinic.example', password: 'a wrong password' }, headers: { origin: other.service.baseUrl } };
    expect((await other.send('POST', '/auth/session', { as: '', ...signIn })).status).toBe(401);
    const { text } = await other.send('GET', '/metrics', { as: '' });
    expect(text).toContain('bio_credentials_refused_total{reason="credential_invalid"} 5');
    expect(text).toContain('bio_credentials_refused_total{reason="sign_in"} 1');
  } finally {
    await other.close();
  }
  const lines = other.faults.filter((line) => line.startsWith('credentials: '));
  expect(lines).toHaveLength(1);
  expect(guesses.filter((key) => other.faults.join('\n').includes(key.slice(9, 20)))).toEqual([]);
});
