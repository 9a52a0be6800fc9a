/** Damaged bytes of minutes of beats and values, complete or open: SQL refuses nothing, a service starts, and recomputing repairs them. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { fixtureChannels, madeUpStream, seeded } from '../../src/dsp/testing/fixture.ts';
import { isRejected } from '../../src/errors.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { startService } from '../../src/server.ts';
import { decodeBeats, decodeFeatures, encodeBeats, encodeFeatures, packOpenFeatures } from '../../src/storage/derived-block.ts';
import { encodeOpenMinutes } from '../../src/storage/open-minutes.ts';
import { until } from '../helpers/database.ts';
import { derivedRows, differences, packetsOf, postPackets, secondOf } from '../helpers/derived-rows.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';

vi.setConfig({ testTimeout: 120_000 });

const epochNs = BigInt(Date.now() - 600_000) * 1_000_000n;
const oneLead = fixtureChannels.slice(0, 1);
const SECONDS = 150;
const SENT_FIRST = 120;
let running: RunningService;
let packets: readonly Packet[];
beforeAll(async () => {
  running = await runService({ BIO_DSP_IDLE_FLUSH_MS: '500' });
  packets = packetsOf('dev-1', madeUpStream(42, 0, SECONDS, oneLead), oneLead, epochNs);
});
afterAll(() => running.close());

const rowsOf = (deviceId: string): Promise<string[]> => derivedRows(running.database, deviceId);
const post = async (baseUrl: string, sent: readonly Packet[]): Promise<void> => {
  const { status, text } = await postPackets(baseUrl, running.org.apiKey.key, sent);
  expect(status, text).toBe(202);
};

test('whatever the bytes are, SQL unpacks or leaves out, and what is unpacked is what the service unpacks', async () => {
  const random = seeded(7);
  const below = (n: number): number => Math.floor(random() * n);
  const ns = Array.from({ length: 30 }, (_, i) => i * 2_000_000_000 + below(1e9));
  const features = encodeFeatures({ ns, steps: ns.map(() => 600 + below(100)), flags: ns.map((_, i) => i % 3) });
  const beats = encodeBeats({
    ns,
    intervalUs: ns
      .map((t, i) => (i % 7 === 0 ? NaN : (t - (ns[i - 1] ?? 0)) / 1000))
      .map((us, i) => (i % 5 === 0 ? 800_000 : Math.round(us))),
    kinds: ns.map((_, i) => i % 3),
    flags: ns.map(() => 0),
    reasons: ns.map((_, i) => (i % 3 === 0 ? '' : 'early')),
    confidences: ns.map((_, i) => (i % 4 === 0 ? NaN : below(101))),
  });
  const open = packOpenFeatures({ ns, steps: ns.map(() => 600 + below(100)), flags: ns.map(() => 0) });
  const openRow = encodeOpenMinutes([
    { minute: 29_000_000, methodId: 1, channelNo: -1, n: 30, isBeat: false, base: open.base, reasons: null, codec: open.codec },
    { minute: 29_000_000, methodId: 2, channelNo: 0, n: 30, isBeat: true, base: 0, reasons: beats.reasons, codec: beats.codec },
  ]);
  const damaged = (bytes: Uint8Array): Buffer => {
    const copy = Buffer.from(bytes.subarray(0, random() < 0.3 ? below(bytes.length) : bytes.length));
    // most of what can go wrong is in the head
    for (let k = 0; k < 3 && copy.length > 0 && random() < 0.8; k++)
      copy[below(random() < 0.5 ? Math.min(60, copy.length) : copy.length)] = below(256);
    return copy;
  };
  const { pool } = running.database;
  for (let round = 0; round < 200; round++) {
    const codec = round === 0 ? Buffer.from(features.codec) : damaged(features.codec);
    const [n, beatCodec] = [round % 10 === 9 ? 1 + below(40) : 30, round === 0 ? Buffer.from(beats.codec) : damaged(beats.codec)];
    const said = `${n} values ${codec.toString('hex')}, beats ${beatCodec.toString('hex')}`;
    const found = await pool
      .query<{ f: string[] | null; b: string[] | null }>(
        `select (select array_agg(concat_ws(' ', ts_ns, steps, qmask) order by ts_ns) from feature_points(timestamptz 'epoch', x.n, 600, x.f)) as f,
           (select array_agg(concat_ws(' ', ts_ns, interval_us, kind) order by ts_ns) from beat_points(timestamptz 'epoch', x.n, x.reasons, x.b)) as b
         from (select $1::int as n, $2::bytea as f, $3::text as reasons, $4::bytea as b offset 0) x`,
        [n, codec, beats.reasons, beatCodec],
      )
      .catch((error: unknown) => expect.unreachable(`${String(error)}: ${said}`));
    const text = (...parts: number[]): string => parts.filter((part) => !Number.isNaN(part)).join(' ');
    const decoded = decodeFeatures({ n, min: 600, sum: 600, codec });
    if (!isRejected(decoded)) {
      expect(found.rows[0]!.f, said).toEqual(decoded.ns.map((t, i) => text(t, decoded.steps[i]!, decoded.flags[i]!)));
    }
    const decodedBeats = decodeBeats({ n, reasons: beats.reasons, codec: beatCodec });
    if (!isRejected(decodedBeats)) {
      expect(found.rows[0]!.b?.length, said).toBe(decodedBeats.ns.length);
    }
    if (codec.length < features.codec.length && n === 30 && round % 10 !== 9) expect(found.rows[0]!.f ?? [], said).toEqual([]);
    const row = damaged(openRow);
    await pool
      .query(
        `select count(f.ts_ns), count(b.ts_ns) from (select $1::bytea as data offset 0) o cross join lateral open_minutes(o.data) d left join lateral feature_points(d.time, d.n, d.base, d.codec) f on not d.is_beat
         left join lateral beat_points(d.time, d.n, d.reasons, d.codec) b on d.is_beat`,
        [row],
      )
      .catch((error: unknown) => expect.unreachable(`${String(error)}: open ${row.toString('hex')}`));
  }
});

test('a minute with a confidence below 0 is damaged: neither the service nor SQL gives its beats', async () => {
  const ns = [1e9, 2e9, 3e9];
  const whole = ns.map(() => 0);
  const { n, reasons, codec } = encodeBeats({
    ns,
    intervalUs: ns.map(() => NaN),
    kinds: whole,
    flags: whole,
    reasons: ns.map(() => ''),
    confidences: whole,
  });
  const count = async (bytes: Uint8Array): Promise<number> =>
    (await running.database.pool.query(`select from beat_points(timestamptz 'epoch', $1, $2, $3)`, [n, reasons, Buffer.from(bytes)]))
      .rowCount!;
  expect(await count(codec)).toBe(3);
  const wrong = codec.slice();
  wrong[wrong.length - 3] = 0xff; // 127 of 101 in the first of three times 7 bits, which are its end
  expect(isRejected(decodeBeats({ n, reasons, codec: wrong }))).toBe(true);
  expect(await count(wrong)).toBe(0);
});

test('a service starts where the newest minutes of a stream are damaged, goes on, and repairs them', async () => {
  const { database } = running;
  await post(running.service.baseUrl, packets.slice(0, SENT_FIRST));
  await until(async () => (await rowsOf('dev-1')).some((row) => secondOf(row) > SENT_FIRST - 20), 60_000);
  await running.service.stop();
  const before = await rowsOf('dev-1');
  for (const table of ['feature_block', 'beat_block']) {
    const { rowCount } = await database.pool.query(
      `update ${table} set codec = substring(codec for 6) where time >= (select max(time) from ${table}) - interval '1 minute'`,
    );
    expect(rowCount).toBeGreaterThan(1);
  }
  await database.pool.query(`insert into derived_open select id, 7, '\\x00ff0102' from stream`);
  const { rows } = await database.pool.query<{ sec: number }>(
    `select (extract(epoch from max(b.time)) - s.epoch_ns / 1e9)::float8 as sec from stream s join beat_block b on b.stream_id = s.id group by s.id`,
  );
  // The last seconds before the stop were computed without what came after it.
  const end = Math.min(rows[0]!.sec, SENT_FIRST - 20);
  const beforeNewest = (of: readonly string[]): string[] => of.filter((row) => secondOf(row) < end);
  const told: string[] = [];
  const quiet = (): void => undefined;
  const note = (_: object, message: string): void => void told.push(message);
  const service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_DSP_IDLE_FLUSH_MS: '500' }),
    logger: { debug: quiet, info: quiet, warn: note, error: note },
  });
  try {
    await post(service.baseUrl, packets.slice(SENT_FIRST));
    await post(service.baseUrl, packetsOf('dev-2', madeUpStream(43, 0, 30, oneLead), oneLead, epochNs));
    for (const [deviceId, second] of [
      ['dev-1', SECONDS - 10],
      ['dev-2', 20],
    ] as const)
      await until(async () => (await rowsOf(deviceId)).some((row) => secondOf(row) > second), 30_000);
    expect(differences(beforeNewest(await rowsOf('dev-1')), beforeNewest(before))).toEqual([]);
    expect(told.filter((message) => message.includes('the open minutes of stream 1 cannot be read, written anew'))).toHaveLength(1);
    expect((await database.pool.query('select reason from set_aside')).rows).toEqual([]);
  } finally {
    await service.stop();
  }
});
