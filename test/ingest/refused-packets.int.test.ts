/** A packet that is refused leaves nothing: it begins no recording, fixes neither the time nor the person of the one that follows, and
 *  takes no place among those that may be opened within a minute. Over HTTP, in a batch and on a socket, of the whole service. */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { decodeReply } from '../../src/proto/reply-codec.ts';
import { startService } from '../../src/server.ts';
import { packetOf } from '../helpers/packets.ts';
import type { PacketChanges } from '../helpers/packets.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

const STREAMS_PER_MIN = 20;
const DAY_NS = 86_400_000_000_000n;
const SECOND_NS = 1_000_000_000n;

let running: RunningService;
beforeAll(async () => {
  running = await runService({ BIO_KEY_STREAMS_PER_MIN_MAX: String(STREAMS_PER_MIN) });
});
afterAll(() => running?.close());

const nowNs = () => BigInt(Date.now()) * 1_000_000n;

/** Live, of a second that ended just now by the device's clock, which is right. */
function live(deviceId: string, seq: number, changes: PacketChanges = {}): Packet {
  const sentUnixNs = nowNs();
  return packetOf(deviceId, seq, { subject: deviceId, sentUnixNs, t0UnixNs: sentUnixNs - SECOND_NS, ...changes });
}
function withChannel(packet: Packet, code: string): Packet {
  return { ...packet, blocks: packet.blocks.map((block) => ({ ...block, channel: { ...block.channel, code } })) };
}
/** Of a month ago, and of a channel that has no such name. */
const bad = (deviceId: string, seq: number, changes: PacketChanges = {}) =>
  withChannel(live(deviceId, seq, { recordedUnixNs: nowNs() - 30n * DAY_NS, ...changes }), 'ECG');

type Stream = { device_id: string; time_source: string; started_at: string; recorded_from: string | null };
async function recordingsOf(person: string): Promise<readonly Stream[]> {
  const { status, body } = await running.send<Stream[]>('GET', `/api/v1/streams?subject_id=${person}`);
  return status === 404 ? [] : body;
}
async function codesOfBatch(packets: readonly Packet[], as = running.org.apiKey.key): Promise<readonly [number, readonly string[]]> {
  const { body } = await running.send<{ accepted: number; rejected: { code: string }[] }>('POST', '/ingest/raw-packet', {
    body: encodeBatch(packets.map((packet) => encodePacket(packet))),
    headers: { 'content-type': 'application/x-protobuf; encoding=delimited' },
    as,
  });
  return [body.accepted, body.rejected.map(({ code }) => code)];
}

/** Expects one recording of a person, of now. */
async function expectLive(person: string): Promise<void> {
  const found = await recordingsOf(person);
  expect(found).toMatchObject([{ device_id: person, time_source: 'device' }]);
  expect(Math.abs(Date.parse(found[0]!.started_at) - Date.now())).toBeLessThan(600_000);
}

describe('a refused packet', () => {
  // promise: refused-leaves-nothing
  it('leaves no recording, and neither its time nor its person to the next packet', async () => {
    expect(await running.ingest(bad('one', 0))).toMatchObject({ status: 422, body: { code: 'packet_invalid' } });
    expect(await running.ingest(bad('one', 1, { subject: 'another' }))).toMatchObject({ status: 422 });
    expect([...(await recordingsOf('one')), ...(await recordingsOf('another'))]).toEqual([]);
    expect((await running.ingest(live('one', 2))).status).toBe(202);
    await expectLive('one');
    expect(await recordingsOf('another')).toEqual([]);
  });

  it('leaves nothing in a batch either, whose other packets are kept', async () => {
    const packets = [bad('batch', 0, { subject: 'another' }), live('batch', 1), bad('batch', 2), live('batch', 3)];
    expect(await codesOfBatch(packets)).toEqual([2, ['packet_invalid', 'packet_invalid']]);
    await expectLive('batch');
  });

  it('leaves nothing on a socket either', async () => {
    const socket = new WebSocket(`${running.service.baseUrl.replace('http', 'ws')}/ingest/stream`, [
      'bio.v1',
      `bio.bearer.${Buffer.from(running.org.apiKey.key).toString('base64url')}`,
    ]);
    socket.binaryType = 'arraybuffer';
    let accepted = 0;
    const codes: string[] = [];
    socket.addEventListener('message', ({ data }) => {
      if (!(data instanceof ArrayBuffer)) return;
      const reply = decodeReply(new Uint8Array(data));
      accepted += reply.accepted;
      codes.push(...reply.rejected.map(({ code }) => code));
    });
    await once(socket, 'open');
    for (const packet of [bad('socket', 0, { subject: 'another' }), live('socket', 1)]) socket.send(encodePacket(packet));
    await until(() => accepted === 1);
    socket.close();
    expect(codes).toEqual(['packet_invalid']);
    await expectLive('socket');
  });

  it('is refused whatever of it is wrong, before a recording begins', async () => {
    const { blocks, measurements, events } = live('wrong', 0);
    const [block, measurement, event] = [blocks[0]!, measurements[0]!, events[0]!];
    const lead = (i: number) => ({ ...block, channel: { ...block.channel, lead: String(i) } });
    const wrong: Record<string, [string, PacketChanges]> = {
      'a gain that is no number': ['packet_invalid', { blocks: [{ ...block, channel: { ...block.channel, gain: Infinity } }] }],
      'a block of two hours': ['packet_invalid', { blocks: [{ ...block, channel: { ...block.channel, rateNanoHz: 30e6 } }] }],
      'two days after its start': ['packet_invalid', { events: [{ ...event, tOffsetNs: 2 * Number(DAY_NS) }] }],
      'a code with a space': ['packet_invalid', { measurements: [{ ...measurement, code: 'heart rate' }] }],
      'a value that is no number': ['packet_invalid', { measurements: [{ ...measurement, value: Infinity }] }],
      'too many channels': ['channel_limit', { blocks: Array.from({ length: 65 }, (_, i) => lead(i)) }],
      'the next hour': ['packet_clock', { events: [{ ...event, tOffsetNs: 3600e9 }] }],
      'the year 2200': ['packet_clock', { recordedUnixNs: 7_258_118_399n * SECOND_NS, events: [{ ...event, tOffsetNs: 3600e9 }] }],
    };
    for (const [what, [code, changes]] of Object.entries(wrong)) {
      const answer = await running.ingest(live('wrong', 0, changes));
      expect([what, answer.status, answer.body.code]).toEqual([what, 422, code]);
    }
    expect(await recordingsOf('wrong')).toEqual([]);
    const ahead = live('wrong', 0, { events: [{ ...event, tOffsetNs: 3600e9 }] });
    expect(await codesOfBatch([ahead, live('wrong', 1), ahead])).toEqual([1, ['packet_clock', 'packet_clock']]);
    await expectLive('wrong');
  });

  it('takes no place among the recordings that a key may open within a minute', async () => {
    for (let i = 0; i < 2 * STREAMS_PER_MIN; i++) expect((await running.ingest(bad(`many-${i}`, 0))).status).toBe(422);
    expect((await running.ingest(live('after-many', 0))).status).toBe(202);
    const { rows } = await running.database.pool.query(`select from xuser where external_id like 'many-%'`);
    expect(rows).toEqual([]);
  });

  it('takes no place either where one boot sends many of before 2000', async () => {
    const buffered = Array.from({ length: 3 * STREAMS_PER_MIN }, (_, seq) => live('unset', seq, { t0UnixNs: 1n }));
    const good = live('unset', buffered.length);
    expect(await codesOfBatch([...buffered, good])).toEqual([1, buffered.map(() => 'packet_clock')]);
    await expectLive('unset');
  });

  it('is counted in a batch, whatever refuses it', async () => {
    const refusedCount = async (): Promise<number> => {
      const metrics = await (await fetch(`${running.service.baseUrl}/metrics`)).text();
      return Number(/^bio_packets_rejected_total\{code="not_found"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
    };
    const { xuser_token: token } = await running.token('counted');
    const before = await refusedCount();
    const others = [0, 1, 2].map((seq) => live('counted', seq, { subject: 'one' }));
    expect(await codesOfBatch(others, token)).toEqual([0, others.map(() => 'not_found')]);
    expect(await refusedCount()).toBe(before + others.length);
  });
});

describe('a packet of a recording that was begun before a restart', () => {
  it('is held against the time of that recording, not against the one that it would begin', async () => {
    // By its own clock it begins now and ends in an hour; its recording began two hours ago.
    const first = live('known', 0, { t0DeviceNs: 0n, t0UnixNs: nowNs() - 2n * 3600n * SECOND_NS });
    expect((await running.ingest(first)).status).toBe(202);
    await running.service.stop();
    const quiet = (): void => undefined;
    const config = readConfig({ DATABASE_URL: running.database.url, PORT: '0' });
    const again = await startService({ config, logger: { debug: quiet, info: quiet, warn: quiet, error: quiet } });
    const hour = live('known', 1, { t0DeviceNs: 60n * SECOND_NS, events: [{ code: 'button', tOffsetNs: 3600e9, text: '' }] });
    const answer = await fetch(`${again.baseUrl}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${running.org.apiKey.key}`, 'content-type': 'application/x-protobuf' },
      body: Buffer.from(encodePacket(hour)),
    });
    await again.stop();
    expect([answer.status, await answer.json()]).toMatchObject([202, { accepted: 1 }]);
    const { rows } = await running.database.pool.query<{ epoch: bigint }>(
      `select s.epoch_ns as epoch from stream s join device d on d.id = s.device_id where d.external_id = 'known'`,
    );
    expect(rows).toEqual([{ epoch: first.t0UnixNs }]);
  });
});
