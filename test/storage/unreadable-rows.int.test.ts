/** Stored samples that cannot be read, for a while or ever again: a stream's values go on, and no other stream is affected. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { fixtureChannels, madeUpStream, withoutStretches } from '../../src/dsp/testing/fixture.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { startService } from '../../src/server.ts';
import { until } from '../helpers/database.ts';
import { derivedRows, differences, packetsOf, secondOf } from '../helpers/derived-rows.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

vi.setConfig({ testTimeout: 120_000 });

const QUEUE_BYTES_MAX = 1 << 20;
const epochNs = BigInt(Date.now() - 600_000) * 1_000_000n;
const oneLead = fixtureChannels.slice(0, 1);
/** With 32 kB of samples a second that nothing is computed of. */
const manyChannels = [
  ...oneLead,
  ...Array.from({ length: 8 }, (_, i) => ({ ...fixtureChannels[0]!, code: `other.${i}`, kind: 'other' as const, rateNanoHz: 1000e9 })),
];

let running: RunningService;
beforeAll(async () => {
  running = await runService({ BIO_DSP_QUEUE_BYTES_MAX: String(QUEUE_BYTES_MAX), BIO_DSP_IDLE_FLUSH_MS: '500' });
});
afterAll(() => running.close());

const rowsOf = (deviceId: string): Promise<string[]> => derivedRows(running.database, deviceId);

async function send(sent: readonly Packet[]): Promise<void> {
  for (const packet of sent) await until(async () => (await running.ingest(packet)).status === 202, 20_000);
}

async function streamOf(deviceId: string): Promise<number> {
  const { rows } = await running.database.pool.query<{ id: number }>(
    'select s.id from stream s join device d on d.id = s.device_id where d.external_id = $1',
    [deviceId],
  );
  return rows[0]!.id;
}

async function stored(deviceId: string): Promise<number> {
  const streamId = await streamOf(deviceId);
  await until(() => running.service.pipeline.recentRuns(streamId, 0, 0n, 300_000_000_000n).length === 0, 30_000);
  return streamId;
}

const lettersOf = async (streamId: number): Promise<string[]> => {
  const { rows } = await running.database.pool.query<{ reason: string }>('select reason from set_aside where stream_id = $1', [streamId]);
  return rows.map(({ reason }) => reason);
};

test('a damaged row is a gap: it is set aside once, and values before and after it are computed', async () => {
  const packets = packetsOf('gap-1', madeUpStream(41, 0, 100, oneLead), oneLead, epochNs);
  const late = packets.splice(30, 1)[0]!;
  await send(packets.slice(0, 50));
  const streamId = await stored('gap-1');
  const damaged = await running.database.pool.query(
    `update sample_block b set codec = '\\x00010203' from stream s where s.id = $1 and b.stream_id = s.id and b.start_ns < s.epoch_ns + 16e9`,
    [streamId],
  );
  expect(damaged.rowCount).toBeGreaterThan(1);
  // read back because of what comes too late
  await send([late, ...packets.slice(50)]);
  await until(async () => (await rowsOf('gap-1')).some((row) => secondOf(row) > 95), 60_000);
  await until(async () => !(await rowsOf('gap-1')).some((row) => secondOf(row) < 15), 60_000);
  const letters = await lettersOf(streamId);
  expect(letters.length).toBe(damaged.rowCount);
  for (const reason of letters) expect(reason).toContain('values are computed without it: sample block is damaged at byte 0');
  expect(running.faults.filter((fault) => fault.includes('set aside'))).toHaveLength(1);
  expect(running.faults.filter((fault) => fault.includes('could not be read back'))).toEqual([]);
  const { text } = await running.send('GET', '/metrics', { as: '' });
  expect(text).toContain(`bio_set_aside_total{kind="samples"} ${damaged.rowCount}`);
});

describe('while stored samples cannot be read', () => {
  // Silent before a row begins, so that nothing is added to a stored one: that would have to be read, too.
  const rowSec = 8;
  const runs = withoutStretches(madeUpStream(43, 0, 54, manyChannels), manyChannels, [[rowSec - 1.5, rowSec]]);
  const of = (deviceId: string): Packet[] => packetsOf(deviceId, runs, manyChannels, epochNs);
  const [waiting, clean, erased, idle] = [of('waiting-1'), of('clean-1'), of('erased-1'), of('idle-1')];
  const begunCount = clean.findIndex(({ t0DeviceNs }) => Number(t0DeviceNs) >= rowSec * 1e9) - 1;
  let erasedId: string;
  let late: Packet;

  beforeAll(async () => {
    erasedId = (await running.token('erased')).xuser_id;
    late = waiting.splice(3, 1)[0]!;
    for (const packets of [erased, idle]) packets.splice(3, 1);
    for (const packet of erased) (packet as { subject: string }).subject = erasedId;
    // A channel that comes later has everything before it read back.
    const begin = (packet: Packet): Packet => ({ ...packet, blocks: packet.blocks.slice(0, -1) });
    for (let i = 0; i < begunCount; i++) await send([waiting[i]!, erased[i]!, idle[i]!].map(begin));
    for (const deviceId of ['waiting-1', 'erased-1', 'idle-1']) await stored(deviceId);
    const { pool } = running.database;
    const { rows } = await pool.query<{ names: string }>(
      `select string_agg(quote_ident(attname), ', ') as names from pg_attribute
       where attrelid = 'sample_block'::regclass and attnum > 0 and not attisdropped and attname <> 'codec'`,
    );
    await pool.query(`revoke select on sample_block from biosignal_ingest`);
    await pool.query(`grant select (${rows[0]!.names}) on sample_block to biosignal_ingest`);
    await send([waiting, erased, idle].map((packets) => packets[begunCount]!));
    await until(() => running.faults.filter((fault) => fault.includes('samples could not be read back')).length >= 3, 60_000);
  });

  test('the erasure of a person does not wait for values computed from what it erases', async () => {
    const { rows } = await running.database.pool.query<{ external_id: string }>('select external_id from xuser where id = $1', [erasedId]);
    const { status, body, text } = await running.send<{ stores: { remaining: number }[] }>('POST', `/api/v1/xusers/${erasedId}/erase`, {
      body: { confirm_external_id: rows[0]!.external_id },
    });
    expect(status, text).toBe(200);
    expect(body.stores.filter(({ remaining }) => remaining !== 0)).toEqual([]);
  });

  test('an idle stream is not closed, and takes the next packet', async () => {
    void running.service.pipeline.ingest.sessions.drop((session) => session.deviceId === 'idle-1');
    expect(await running.ingest(idle[begunCount + 1]!)).toMatchObject({ status: 202 });
  });

  test('nobody else is kept waiting, and the values are those of a clean run afterwards', async () => {
    const rest = waiting.slice(begunCount);
    expect(rest.reduce((bytes, { blocks }) => bytes + blocks.reduce((sum, { samples }) => sum + samples.byteLength, 0), 0)).toBeGreaterThan(
      1.2 * QUEUE_BYTES_MAX,
    );
    await send(rest);
    await send(clean);
    await running.database.pool.query(`grant select on sample_block to biosignal_ingest`);
    await send([late]);
    await until(async () => {
      const wanted = await rowsOf('clean-1');
      return wanted.some((row) => secondOf(row) > 50) && differences(await rowsOf('waiting-1'), wanted).length === 0;
    }, 60_000);
  });
});

test('a service starts where the newest row of a stream is damaged, and the device goes on', async () => {
  const packets = packetsOf('newest-1', madeUpStream(42, 0, 60, oneLead), oneLead, epochNs);
  await send(packets.slice(0, 30));
  const streamId = await stored('newest-1');
  await running.database.pool.query(
    `update sample_block set codec = '\\x' where stream_id = $1 and time = (select max(time) from sample_block where stream_id = $1)`,
    [streamId],
  );
  await running.service.stop();
  const quiet = (): void => undefined;
  const service = await startService({
    config: readConfig({ DATABASE_URL: running.database.url, PORT: '0', BIO_DSP_IDLE_FLUSH_MS: '500' }),
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  try {
    for (const packet of packets.slice(30)) {
      const answer = await fetch(`${service.baseUrl}/ingest/raw-packet`, {
        method: 'POST',
        headers: { authorization: `Bearer ${running.org.apiKey.key}`, 'content-type': 'application/x-protobuf' },
        body: encodePacket(packet) as Uint8Array<ArrayBuffer>,
      });
      expect(answer.status, await answer.text()).toBe(202);
    }
    await until(async () => (await rowsOf('newest-1')).some((row) => secondOf(row) > 55), 60_000);
    await until(async () => (await lettersOf(streamId)).length === 1, 60_000);
  } finally {
    await service.stop();
  }
});
