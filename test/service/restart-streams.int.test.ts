// A start after a kill with 200 streams open: it finds them by a few statements, takes packets before their values are computed, knows what
// it acknowledged, and computes what it would have computed without the kill.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createOrganization, type NewOrganization } from '../../src/auth/organizations.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { readConfig } from '../../src/config.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { startService, type Service } from '../../src/server.ts';
import { testDatabase, type TestDatabase } from '../helpers/database.ts';

const STREAMS = 200;
const SECONDS = 90;
const KILLED_AFTER = 80;
const BOOT = '00112233445566778899aabbccddeeff';
/** Statements that look streams up, of one start: a few for each page of the log. Three for every stream would be 600. */
const LOOK_UPS_MAX = STREAMS / 2;

type Reply = Readonly<{ accepted: number; duplicates: number; unverified: number; rejected: readonly Readonly<{ code: string }>[] }>;

let database: TestDatabase;
let org: NewOrganization;
let child: ChildProcess | null = null;
let service: Service | null = null;

beforeAll(async () => {
  database = await testDatabase();
  org = await createOrganization(database.pool, 'Many');
});
afterAll(async () => {
  child?.kill('SIGKILL');
  await service?.stop();
  await database.close();
});

const recording: readonly Packet[] = (() => {
  const next = createPacketSource(createSimulatedDevice({ seed: 9, channels: ['ecg.ii'] }), {
    deviceId: 'any',
    bootId: BOOT,
    subject: '',
    startUnixNs: BigInt(Date.now() - 600_000) * 1_000_000n,
    packetMs: 1000,
  });
  return Array.from({ length: SECONDS }, () => ({ ...next().packet, sentUnixNs: 0n }));
})();
const louder = (packet: Packet): Packet => ({
  ...packet,
  blocks: packet.blocks.map((block) => ({ ...block, samples: (block.samples as Int32Array).map((sample) => sample + 1) })),
});
const devices = Array.from({ length: STREAMS }, (_, i) => `patch-${i}`);

async function send(baseUrl: string, deviceId: string, packets: readonly Packet[]): Promise<Reply> {
  const response = await fetch(`${baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${org.apiKey.key}`, 'content-type': 'application/x-protobuf; encoding=delimited' },
    body: Buffer.from(encodeBatch(packets.map((packet) => encodePacket({ ...packet, deviceId })))),
  });
  expect(response.status, deviceId).toBe(202);
  return (await response.json()) as Reply;
}

/** Sends to all, eight at a time. */
async function sendAll(baseUrl: string, from: number, to: number): Promise<void> {
  const left = [...devices];
  const one = async (): Promise<void> => {
    for (let device = left.pop(); device !== undefined; device = left.pop()) {
      const packets = recording.slice(from, to);
      expect(await send(baseUrl, device, packets), device).toMatchObject({ accepted: to - from, rejected: [] });
    }
  };
  await Promise.all(Array.from({ length: 8 }, one));
}

async function killOneThatTookMost(): Promise<void> {
  child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'test/helpers/service-child.ts', database.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [baseUrl] = (await once(createInterface(child.stdout!), 'line')) as [string];
  await sendAll(baseUrl, 0, 60);
  await expect.poll(() => count('select count(*)::int as n from packet_log_checkpoint where batch_id > 0'), { timeout: 60_000 }).toBe(1);
  await sendAll(baseUrl, 60, KILLED_AFTER);
  const gone = once(child, 'close');
  child.kill('SIGKILL');
  await gone;
  child = null;
}

async function count(sql: string): Promise<number> {
  return (await database.pool.query<{ n: number }>(sql)).rows[0]!.n;
}

/** Rows of every stream in device time, as text; one entry for each text that any stream has. */
async function differentRows(table: 'feature' | 'beat', columns: string): Promise<{ rows: string; streams: number }[]> {
  const { rows } = await database.pool.query<{ rows: string; streams: number }>(
    `select rows, count(*)::int as streams from (
       select md5(string_agg(concat_ws(' ', r.ts_ns - s.epoch_ns, ${columns}), ',' order by r.method_id, r.channel_no, r.ts_ns)) as rows
       from stream s left join ${table} r on r.stream_id = s.id group by s.id) each group by rows`,
  );
  return rows;
}

// promise: replay, packets-before-values
test(`a start after a kill with ${STREAMS} streams`, async () => {
  await killOneThatTookMost();
  const replayed = await count(
    'select sum(packet_count)::int as n from packet_log where batch_id > (select batch_id from packet_log_checkpoint)',
  );
  expect(replayed).toBeGreaterThan(STREAMS);

  const asked: string[] = [];
  const query = vi.spyOn(pg.Client.prototype, 'query');
  service = await start();
  for (const [first] of query.mock.calls as unknown as [unknown][]) {
    const text = typeof first === 'string' ? first : ((first as { text?: string } | null)?.text ?? '');
    if (/from stream s\s+join device d|from stream_channel where|unnest\(\$1::int\[\]\) with ordinality as asked/.test(text))
      asked.push(text);
  }
  query.mockRestore();
  // It serves, and says how many streams it has still to read back.
  const { parts } = (await (await fetch(`${service.baseUrl}/readyz`)).json()) as { parts: { name: string; detail: string }[] };
  expect(parts.find(({ name }) => name === 'dsp')?.detail).toMatch(/, \d+ streams to be read back$/);
  expect(asked.length).toBeGreaterThan(2);
  expect(asked.length).toBeLessThan(LOOK_UPS_MAX);

  // the first packet of each is compared with what was acknowledged
  for (const device of [devices[0]!, devices[STREAMS - 1]!]) {
    const last = recording.slice(KILLED_AFTER - 2, KILLED_AFTER);
    const reply = await send(service.baseUrl, device, [last[0]!, louder(last[1]!), louder(recording[0]!)]);
    expect(reply).toMatchObject({ accepted: 0, duplicates: 1, unverified: 0 });
    expect(reply.rejected.map(({ code }) => code)).toEqual(['packet_conflict', 'packet_conflict']);
  }
  await sendAll(service.baseUrl, KILLED_AFTER, SECONDS);
  // a device that nothing happened to
  expect(await send(service.baseUrl, 'reference', recording)).toMatchObject({ accepted: SECONDS, rejected: [] });
  await service.stop();
  service = null;

  const rate = recording[0]!.blocks[0]!.channel.rateNanoHz / 1e9;
  const { rows: stored } = await database.pool.query<{ n: number; streams: number; seqs: string }>(
    `select n, seqs, count(*)::int as streams from (
       select s.seqs::text as seqs, sum(b.n)::int as n from stream s join sample_block b on b.stream_id = s.id group by s.id) each
     group by n, seqs`,
  );
  expect(stored).toEqual([{ n: rate * SECONDS, streams: STREAMS + 1, seqs: `{[0,${SECONDS})}` }]);
  const features = await differentRows('feature', 'r.method_id, r.channel_no, r.value, r.qmask');
  expect(features.map(({ streams }) => streams)).toEqual([STREAMS + 1]);
  expect(features[0]!.rows).not.toBeNull();
  const beats = await differentRows('beat', 'r.method_id, r.channel_no, r.interval_ms, r.kind, r.qmask, r.reason');
  expect(beats.map(({ streams }) => streams)).toEqual([STREAMS + 1]);
  expect(beats[0]!.rows).not.toBeNull();
});

function start(): Promise<Service> {
  const quiet = (): void => undefined;
  return startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_REQUESTS_PER_SEC_MAX: '10000', BIO_STOP_TIMEOUT_MS: '120000' }),
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
}
