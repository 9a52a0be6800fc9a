/** A node of a cluster whose clock is wrong: it says so, and its partitions stay where they are. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { decodeFrame } from '../../src/proto/frame-codec.ts';
import { freePort } from '../../faults/lib/free-port.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { isShared, ownersOf, packetsOfPeople } from './nodes.ts';

const HOUR_MS = 3_600_000;

/** Of an answer. */
type Said = Readonly<Partial<Record<'id' | 'time' | 'ended_at' | 'updated_at' | 'xuser_id' | 'xuser_token', string>>>;

// promise: clock-told
test('a node whose clock leaps says how far it is off, until it is right again, and keeps what it owns', async () => {
  const database = await testDatabase();
  await database.pool.query('select set_partitions($1)', [2]);
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-clock-'));
  const node = new ServiceProcess(await freePort(), {
    env: { DATABASE_URL: database.url, BIO_BUS_DIR: folder, BIO_DB_CONNECTIONS_MAX: '14', BIO_DSP_WORKERS: '1' },
  });
  const offSec = async (): Promise<number> => {
    const text = await (await fetch(`${node.url}/metrics`)).text();
    return Number(/^bio_clock_off_seconds (.+)$/m.exec(text)?.[1]);
  };
  try {
    await node.untilReady();
    await until(() => isShared(database, 1), 30_000);
    const owners = await ownersOf(database);
    expect(Math.abs(await offSec())).toBeLessThan(1);
    for (const [stepMs, told] of [
      [HOUR_MS, "this machine's clock is 3[56]\\d\\d\\.\\d s ahead of the database's"],
      [-2 * HOUR_MS, "this machine's clock is 3[56]\\d\\d\\.\\d s behind the database's"],
    ] as const) {
      node.send({ clockStepMs: stepMs });
      await until(async () => Math.sign(stepMs) * (await offSec()) > 3000, 10_000);
      await until(() => new RegExp(told).test(node.log), 10_000);
    }
    node.send({ clockStepMs: HOUR_MS });
    await until(async () => Math.abs(await offSec()) < 1, 10_000);
    expect(node.log.match(/this machine's clock is/g)).toHaveLength(2);
    expect(await ownersOf(database)).toEqual(owners);
  } finally {
    await node.terminate();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

// promise: clock-agreed
test('what comes to a node that is 10 minutes behind is placed by the clock of the others, and its viewers see no frame again', async () => {
  const database = await testDatabase();
  await database.pool.query('select set_partitions($1)', [2]);
  const { apiKey } = await createOrganization(database.pool, 'Clocks');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-clock-'));
  const env = { DATABASE_URL: database.url, BIO_BUS_DIR: folder, BIO_DB_CONNECTIONS_MAX: '14', BIO_DSP_WORKERS: '1' };
  const right = new ServiceProcess(await freePort(), { env: { ...env, BIO_NODE_NAME: 'right' } });
  const behind = new ServiceProcess(await freePort(), { env: { ...env, BIO_NODE_NAME: 'behind' } });
  const clockPart = async (): Promise<string | undefined> => {
    const answer = await fetch(`${behind.url}/readyz`);
    expect(answer.status).toBe(200);
    const { parts } = (await answer.json()) as { parts: { name: string; ok: boolean; detail: string }[] };
    return parts.find(({ name }) => name === 'clock')?.detail;
  };
  const drain = (name: string, draining: boolean) =>
    database.pool.query('update cluster_node set draining = $2 where name = $1', [name, draining]);
  const ownedBy = async (name: string): Promise<boolean> => {
    const { rows } = await database.pool.query('select from packet_log_checkpoint where owner_name = $1 and owner is not null', [name]);
    return rows.length === 2;
  };
  try {
    await right.untilReady();
    await behind.untilReady();
    await until(() => isShared(database, 2), 30_000);
    behind.send({ clockStepMs: -600_000 });
    await until(async () => (await clockPart())?.includes('which is used instead') === true, 20_000);
    expect(await clockPart()).toMatch(
      /^this machine's clock is (599|600)\.\d s behind that of the other nodes and the database, which is used instead$/,
    );
    await until(() => behind.log.includes("cluster: this machine's clock is 6"), 10_000);
    expect(right.log).not.toContain('which is used instead');

    // A device without a clock, at the node that is behind; the person moves from node to node under a viewer.
    await drain('right', true);
    await until(() => ownedBy('behind'), 30_000);
    const seen: { seq: number; atMs: number }[] = [];
    const [packets] = packetsOfPeople(1, 200, 200, 0n);
    let sent = 0;
    const sending = (async () => {
      for (const body of packets!) {
        for (let status = 0; status !== 202; await sleep(status === 202 ? 180 : 20)) {
          const answer = await fetch(`${behind.url}/ingest/raw-packet`, {
            method: 'POST',
            headers: { authorization: `Bearer ${apiKey.key}`, 'content-type': 'application/x-protobuf' },
            body: Buffer.from(body),
          });
          const text = await answer.text();
          ({ status } = answer);
          expect([202, 503, 429], text).toContain(status);
        }
        sent += 1;
      }
    })();
    sending.catch(() => undefined); // told at its end
    await until(async () => (await database.pool.query('select from stream')).rowCount === 1, 30_000);
    const socket = new WebSocket(`${right.url.replace('http', 'ws')}/ws?subject=person-0`, [
      'bio.v1',
      `bio.bearer.${Buffer.from(apiKey.key).toString('base64url')}`,
    ]);
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data !== 'string') seen.push({ seq: decodeFrame(new Uint8Array(data)).seq, atMs: performance.now() });
    });
    for (const [to, from] of [
      ['right', 'behind'],
      ['behind', 'right'],
      ['right', 'behind'],
    ] as const) {
      const seenBefore = seen.length;
      await until(() => seen.length > seenBefore + 20, 30_000);
      await drain(to, false);
      await drain(from, true);
      await until(() => ownedBy(to), 30_000);
    }
    const seenBefore = seen.length;
    await until(() => seen.length > seenBefore + 20, 30_000);
    await sending;
    expect(sent).toBe(200);
    const { rows } = await database.pool.query<{ off: number; time_source: string }>(
      `select extract(epoch from clock_timestamp())::float8 - (epoch_ns::numeric / 1e9)::float8 - 40 as off, time_source from stream`,
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]!.time_source).toBe('arrival');
    expect(Math.abs(rows[0]!.off)).toBeLessThan(60);
    for (const [i, { seq, atMs }] of seen.entries()) {
      if (i === 0) continue;
      expect(seq).toBeGreaterThan(seen[i - 1]!.seq);
      expect(atMs - seen[i - 1]!.atMs, `the wait before frame ${i}`).toBeLessThan(6000);
    }
    socket.close();
    behind.send({ clockStepMs: 600_000 });
    await until(async () => (await clockPart()) === undefined, 20_000);
  } finally {
    await Promise.all([right.terminate(), behind.terminate()]);
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('what a person says to a node that is 10 minutes behind, and what is closed there, has the time of the others', async () => {
  const database = await testDatabase();
  await database.pool.query('select set_partitions($1)', [2]);
  const { apiKey, projectKey } = await createOrganization(database.pool, 'Clocks');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-clock-'));
  const env = { DATABASE_URL: database.url, BIO_BUS_DIR: folder, BIO_DB_CONNECTIONS_MAX: '14', BIO_DSP_WORKERS: '1' };
  const right = new ServiceProcess(await freePort(), { env: { ...env, BIO_NODE_NAME: 'right' } });
  const behind = new ServiceProcess(await freePort(), { env: { ...env, BIO_NODE_NAME: 'behind' } });
  const ask = async (method: string, path: string, as: string, body: object, etag = ''): Promise<Said> => {
    const answer = await fetch(`${behind.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json', ...(etag !== '' && { 'if-match': etag }) },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    expect([200, 201], text).toContain(answer.status);
    return JSON.parse(text) as Said;
  };
  try {
    await Promise.all([right.untilReady(), behind.untilReady()]);
    await until(() => isShared(database, 2), 30_000);
    behind.send({ clockStepMs: -600_000 });
    await until(async () => (await (await fetch(`${behind.url}/readyz`)).text()).includes('which is used instead'), 20_000);

    const minted = await ask('POST', '/api/v1/sdk/token', apiKey.key, { external_id: 'person-0', project_key: projectKey });
    const { xuser_token: token, xuser_id: id } = minted;
    await ask('POST', '/api/v1/moods', token!, { score: 3 });
    const written = await ask('POST', '/api/v1/journal', token!, { text: 'A walk.' });
    const startedAt = new Date(Date.now() - 300_000).toISOString();
    const made = await ask('POST', '/api/v1/episodes', apiKey.key, { subject_id: id, kind: 'fall', started_at: startedAt });
    const etag = `"${made.updated_at!}"`;
    const closed = await ask('PATCH', `/api/v1/episodes/${made.id!}`, apiKey.key, { status: 'closed' }, etag);

    const { rows } = await database.pool.query<{ off: number }>(
      'select abs(extract(epoch from clock_timestamp() - time))::float8 as off from mood',
    );
    const offSec = (time: string | undefined): number => Math.abs(Date.now() - Date.parse(time!)) / 1000;
    for (const [what, off] of [
      ['mood', rows[0]!.off],
      ['journal', offSec(written.time)],
      ['episode', offSec(closed.ended_at)],
    ] as const)
      expect(off, what).toBeLessThan(60);
  } finally {
    await Promise.all([right.terminate(), behind.terminate()]);
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a clock that leaps to and fro is not followed for a moment: what was heard before a leap is not held against it', async () => {
  const database = await testDatabase();
  await database.pool.query('select set_partitions($1)', [2]);
  const { apiKey } = await createOrganization(database.pool, 'Clocks');
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-clock-'));
  const env = { DATABASE_URL: database.url, BIO_BUS_DIR: folder, BIO_DB_CONNECTIONS_MAX: '14', BIO_DSP_WORKERS: '1' };
  const steady = new ServiceProcess(await freePort(), { env: { ...env, BIO_NODE_NAME: 'steady' } });
  const leaping = new ServiceProcess(await freePort(), { env: { ...env, BIO_NODE_NAME: 'leaping' } });
  try {
    await Promise.all([steady.untilReady(), leaping.untilReady()]);
    await until(() => isShared(database, 2), 30_000);
    const socket = new WebSocket(`${leaping.url.replace('http', 'ws')}/ingest/stream`, [
      'bio.v1',
      `bio.bearer.${Buffer.from(apiKey.key).toString('base64url')}`,
    ]);
    await new Promise((open) => socket.addEventListener('open', open));
    let told = 0;
    const offSec: number[] = [];
    socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (typeof data !== 'string') return;
      told += 1;
      const off = Math.round(((JSON.parse(data) as { time_ms: number }).time_ms - Date.now()) / 1000);
      if (Math.abs(off) > 60) offSec.push(off);
    });
    // The others are asked every 3 s, the database every second.
    await sleep(4000);
    for (let leap = 0; leap < 60; leap++) {
      leaping.send({ clockStepMs: leap % 2 === 0 ? HOUR_MS : -HOUR_MS });
      for (let n = 0; n < 10; n++) {
        await sleep(50);
        socket.send('{"type":"ping"}');
      }
    }
    await until(() => told > 500, 10_000);
    expect(offSec).toEqual([]);
    socket.close();
  } finally {
    await Promise.all([steady.terminate(), leaping.terminate()]);
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
