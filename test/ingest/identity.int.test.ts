/** One identity (device, boot, sequence number) is one packet: whatever else comes under it is refused, over HTTP, in a batch and on a
 *  socket, long after, and after a kill; what is sent again stays a duplicate. On the whole service. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import type { IngestReply } from '../../src/proto/reply-codec.ts';
import { decodeReply } from '../../src/proto/reply-codec.ts';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { testDatabase } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running?.close());

let deviceCount = 0;
/** Packets of 100 ms of a new device that recorded until now. */
function device(count: number): Packet[] {
  const startNs = BigInt(Date.now() - count * 100 - 5000) * 1_000_000n;
  const packets = ecgPacket({ channels: 1, fs: 250, ms: 100, count, deviceId: `same-${++deviceCount}` });
  return packets.map((packet) => ({ ...packet, t0UnixNs: startNs + packet.t0DeviceNs, subject: 'patient' }));
}
const louder = (packet: Packet): Packet => ({
  ...packet,
  blocks: packet.blocks.map((block) => ({ ...block, samples: (block.samples as Int32Array).map((value) => value + 1) })),
});
const delimited = { 'content-type': 'application/x-protobuf; encoding=delimited' };
type Reply = { accepted: number; duplicates: number; unverified: number; rejected: { index: number; code: string }[]; code?: string };

const post = (packet: Packet | Uint8Array) =>
  running.send<Reply>('POST', '/ingest/raw-packet', { body: packet instanceof Uint8Array ? packet : encodePacket(packet) });
const postBatch = (packets: readonly Packet[]) =>
  running.send<Reply>('POST', '/ingest/raw-packet', {
    body: encodeBatch(packets.map((packet) => encodePacket(packet))),
    headers: delimited,
  });

type Device = { send: (packet: Packet) => void; replies: IngestReply[]; settled: () => number; closed: Promise<number>; close: () => void };

async function connect(key = running.org.apiKey.key, baseUrl = running.service.baseUrl): Promise<Device> {
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/ingest/stream`, [
    'bio.v1',
    `bio.bearer.${Buffer.from(key).toString('base64url')}`,
  ]);
  socket.binaryType = 'arraybuffer';
  const replies: IngestReply[] = [];
  socket.addEventListener('message', ({ data }) => {
    if (data instanceof ArrayBuffer) replies.push(decodeReply(new Uint8Array(data)));
  });
  const closed = new Promise<number>((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)));
  await once(socket, 'open');
  return {
    closed,
    send: (packet) => socket.send(encodePacket(packet)),
    replies,
    settled: () => replies.at(-1)?.settled ?? 0,
    close: () => socket.close(),
  };
}
const sum = (replies: readonly IngestReply[], of: (reply: IngestReply) => number): number =>
  replies.reduce((total, reply) => total + of(reply), 0);

async function storedSamples(deviceId: string): Promise<number[]> {
  const { rows } = await running.database.pool.query<{ id: string }>(
    `select s.uuid as id from stream s join device d on d.id = s.device_id where d.external_id = $1`,
    [deviceId],
  );
  const range = 'since=2020-01-01T00:00:00Z&until=2050-01-01T00:00:00Z&raw=true';
  const { body } = await running.send<{ samples: number[] }[]>('GET', `/api/v1/streams/${rows[0]!.id}/samples?${range}`);
  return body.flatMap(({ samples }) => samples);
}

describe('the same number with other content', () => {
  // promise: packet-conflict, same-packet, subject-fixed, refused-status
  it('is refused with 409, whatever else differs, and the first packet stays', async () => {
    const [first, second] = device(2) as [Packet, Packet];
    expect((await post(first)).body).toMatchObject({ accepted: 1 });
    const others: Record<string, Packet> = {
      'other samples': louder(first),
      'another start': { ...first, t0DeviceNs: first.t0DeviceNs + 1n },
      'another subject': { ...first, subject: 'somebody-else' },
      'fewer blocks': { ...first, blocks: [] },
      'a measurement more': { ...first, measurements: [{ code: 'hr', tOffsetNs: 0, value: 60, unit: '/min', quality: 0 }] },
      'an event more': { ...first, events: [{ code: 'button', tOffsetNs: 0, text: '' }] },
      'another quality': {
        ...first,
        blocks: first.blocks.map((block) => ({ ...block, qmask: new Uint8Array(block.samples.length).fill(1) })),
      },
      'another gain': { ...first, blocks: first.blocks.map((block) => ({ ...block, channel: { ...block.channel, gain: 7 } })) },
    };
    for (const [what, other] of Object.entries(others)) {
      const answer = await post(other);
      expect([what, answer.status, answer.body.code]).toEqual([what, 409, 'packet_conflict']);
    }
    expect((await post(first)).body).toMatchObject({ accepted: 0, duplicates: 1 });
    expect((await post(second)).body).toMatchObject({ accepted: 1 });
    expect(await storedSamples(first.deviceId)).toEqual([first, second].flatMap(({ blocks }) => [...blocks[0]!.samples]));
  });

  // promise: packets-once, same-packet
  it('treats a resend as a duplicate, also with another time of sending', async () => {
    const [packet] = device(1) as [Packet];
    await post(packet);
    const now = BigInt(Date.now()) * 1_000_000n;
    for (const again of [packet, { ...packet, sentUnixNs: now }, { ...packet, sentUnixNs: now + 1n, t0UnixNs: packet.t0UnixNs + 5n }]) {
      expect((await post(again)).body).toMatchObject({ accepted: 0, duplicates: 1, rejected: [] });
    }
  });

  it('is distinguished from a packet that was cut between two fields', async () => {
    const [packet] = device(1) as [Packet];
    const two = { ...packet, blocks: [packet.blocks[0]!, { ...packet.blocks[0]!, tOffsetNs: 100_000_000 }] };
    const whole = encodePacket(two);
    const cut = encodePacket(packet);
    expect(Buffer.from(whole).subarray(0, cut.length).equals(cut)).toBe(true);
    expect((await post(cut)).body).toMatchObject({ accepted: 1 });
    expect(await post(whole)).toMatchObject({ status: 409, body: { code: 'packet_conflict' } });
  });

  // promise: batch-alone
  it('is refused by itself in a batch, also when both are in the same one', async () => {
    const packets = device(3) as [Packet, Packet, Packet];
    const { status, body } = await postBatch([packets[0], louder(packets[0]), packets[1], packets[0], packets[2]]);
    expect(status).toBe(202);
    expect(body).toMatchObject({ accepted: 3, duplicates: 1, rejected: [{ index: 1, code: 'packet_conflict' }] });
    expect((await postBatch([louder(packets[1]), packets[2]])).body).toMatchObject({
      accepted: 0,
      duplicates: 1,
      rejected: [{ index: 0, code: 'packet_conflict' }],
    });
  });

  // promise: packet-conflict
  it('is refused on a socket, on a second one, and over HTTP at the same time', async () => {
    const packets = device(40);
    const [one, two] = [await connect(), await connect()];
    for (const packet of packets) {
      one.send(packet);
      two.send(louder(packet));
      void post({ ...packet, t0DeviceNs: packet.t0DeviceNs + 1n });
    }
    await expect.poll(() => one.settled() + two.settled(), { timeout: 10_000 }).toBe(80);
    for (const packet of packets) expect([202, 409]).toContain((await post(packet)).status);
    const kept = sum([...one.replies, ...two.replies], ({ accepted }) => accepted);
    const refused = [...one.replies, ...two.replies].flatMap(({ rejected }) => rejected);
    expect(kept + refused.length).toBe(80);
    expect(sum([...one.replies, ...two.replies], ({ duplicates }) => duplicates)).toBe(0);
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['packet_conflict']));
    one.close();
    two.close();
  });
});

describe('an older number', () => {
  // promise: hashes-kept
  it('is compared with what was stored thousands of packets ago, and counted as a duplicate when equal', async () => {
    const packets = device(3000);
    expect((await postBatch(packets)).body).toMatchObject({ accepted: 3000 });
    expect((await postBatch(packets)).body).toMatchObject({ accepted: 0, duplicates: 3000, unverified: 0, rejected: [] });
    for (const index of [0, 1, 255, 256, 1500, 2999]) expect((await post(louder(packets[index]!))).status).toBe(409);
    const one = await connect();
    for (let i = 0; i < 200; i++) one.send(i % 2 === 0 ? packets[i * 10]! : louder(packets[i * 10]!));
    await expect.poll(() => one.settled(), { timeout: 10_000 }).toBe(200);
    expect(sum(one.replies, ({ duplicates }) => duplicates)).toBe(100);
    expect(sum(one.replies, ({ rejected }) => rejected.length)).toBe(100);
    one.close();
  });

  // promise: hashes-kept
  it('is compared with what was stored when its stream was idle and is no longer in memory', async () => {
    const packets = device(20);
    await postBatch(packets);
    const { sessions } = running.service.pipeline.ingest;
    sessions.sweep(performance.now() + 3_600_000, 0);
    expect(sessions.count).toBe(0);
    for (const packet of packets.slice(0, 5)) {
      expect(await post(louder(packet))).toMatchObject({ status: 409, body: { code: 'packet_conflict' } });
      expect((await post(packet)).body).toMatchObject({ duplicates: 1, unverified: 0 });
    }
  });

  // promise: unverified
  it('is a duplicate reported as not compared when its record is gone', async () => {
    const packets = device(3);
    await postBatch(packets);
    running.service.pipeline.ingest.sessions.sweep(performance.now() + 3_600_000, 0);
    await post(device(1)[0]!);
    await running.service.pipeline.checkpoint();
    await running.database.pool.query('delete from packet_hash');
    expect((await post(louder(packets[0]!))).body).toMatchObject({ duplicates: 1, unverified: 1 });
    expect((await postBatch(packets)).body).toMatchObject({ accepted: 0, duplicates: 3, unverified: 3 });
  });

  it('is free again when its packet was refused, and the packets around it stay known', async () => {
    const packets = device(100);
    const late = packets[35]!; // its hash has the place of packet 99 in memory
    await postBatch(packets.filter((packet) => packet !== late));
    await running.service.pipeline.checkpoint();
    await running.database.pool.query('alter table packet_log rename to packet_log_away');
    try {
      for (let i = 0; i < 3; i++) expect(await post(late)).toMatchObject({ status: 503 }); // not committed, then not even taken
    } finally {
      await running.database.pool.query('alter table packet_log_away rename to packet_log');
    }
    await expect.poll(async () => (await post(louder(late))).status, { timeout: 20_000 }).toBe(202);
    expect((await post(louder(late))).body).toMatchObject({ duplicates: 1, unverified: 0 });
    expect(await post(late)).toMatchObject({ status: 409, body: { code: 'packet_conflict' } });
    await running.database.pool.query('alter table packet_hash rename to packet_hash_away'); // what memory knows need not be asked
    try {
      expect((await post(packets[99]!)).body).toMatchObject({ duplicates: 1, unverified: 0 });
      expect(await post(louder(packets[98]!))).toMatchObject({ status: 409 });
    } finally {
      await running.database.pool.query('alter table packet_hash_away rename to packet_hash');
    }
  });

  // promise: no-ack-unasked, batch-again
  it('is not acknowledged while the stored packet cannot be read', async () => {
    const packets = device(4);
    await postBatch(packets.slice(0, 3));
    running.service.pipeline.ingest.sessions.sweep(performance.now() + 3_600_000, 0);
    await post(packets[3]!); // the session is open again
    await running.service.pipeline.checkpoint();
    await running.database.pool.query('alter table packet_hash rename to packet_hash_away');
    try {
      expect(await post(packets[0]!)).toMatchObject({ status: 503, body: { code: 'unavailable' } });
      expect((await postBatch([packets[0]!])).status).toBe(503);
      const one = await connect();
      one.send(packets[0]!);
      expect(await one.closed).toBe(4012);
      expect(one.settled()).toBe(0);
    } finally {
      await running.database.pool.query('alter table packet_hash_away rename to packet_hash');
    }
    expect((await post(packets[0]!)).body).toMatchObject({ duplicates: 1, unverified: 0 });
  });
});

it('tells a thousand streams apart', async () => {
  const gateways = Array.from({ length: 50 }, () => Array.from({ length: 20 }, () => device(2) as [Packet, Packet]));
  for (const { body } of await Promise.all(gateways.map((devices) => postBatch(devices.flat())))) expect(body.accepted).toBe(40);
  running.service.pipeline.ingest.sessions.sweep(performance.now() + 3_600_000, 0);
  // On a busy machine what was sent first is still being stored, which is said.
  const again = gateways.map(async (devices) => {
    for (;;) {
      const answer = await postBatch(devices.flatMap(([one, two]) => [louder(one), two]));
      if (answer.status !== 503) return answer;
      await sleep(200);
    }
  });
  for (const { body } of await Promise.all(again)) {
    expect(body).toMatchObject({ accepted: 0, duplicates: 20, unverified: 0 });
    expect(body.rejected.map(({ index }) => index)).toEqual(Array.from({ length: 20 }, (_, i) => 2 * i));
  }
});

it('makes a few checkpoints when hundreds of streams go idle together', async () => {
  const { pool } = running.database;
  await pool.query(`create sequence checkpoints;
    create function count_checkpoint() returns trigger language plpgsql security definer as $$ begin perform nextval('checkpoints'); return null; end $$;
    create trigger count_checkpoint after update of batch_id on packet_log_checkpoint for each statement execute function count_checkpoint()`);
  const gateways = Array.from({ length: 15 }, () => Array.from({ length: 20 }, () => device(1)[0]!));
  for (const { body } of await Promise.all(gateways.map((packets) => postBatch(packets)))) expect(body.accepted).toBe(20);
  const sending = setInterval(() => void post(device(1)[0]!), 100); // others go on, so there is always something to save
  try {
    await running.service.pipeline.ingest.sessions.drop(({ deviceId }) => gateways.flat().some((packet) => packet.deviceId === deviceId));
  } finally {
    clearInterval(sending);
  }
  const { rows } = await pool.query<{ n: number }>('select last_value::int as n from checkpoints');
  await pool.query('drop trigger count_checkpoint on packet_log_checkpoint');
  // One checkpoint a pass; a slow machine makes more passes in the same time.
  expect(rows[0]!.n).toBeLessThan(100);
});

// promise: packet-conflict, audit-repeats
it('writes a conflict to the audit log, once per stream and minute, with its address and request', async () => {
  const packets = device(4);
  await postBatch(packets);
  await postBatch(Array.from({ length: 5 }, () => packets.map(louder)).flat()); // at once: what comes after the entry is in the next
  type Entry = { actor_id: string; detail: Record<string, unknown> };
  const entries = async () => {
    const { body } = await running.send<Entry[]>('GET', '/api/v1/audit-log?action=packet.conflict&limit=1000');
    return body.filter(({ detail }) => detail['device_id'] === packets[0]!.deviceId);
  };
  await expect.poll(async () => (await entries()).length).toBe(1);
  expect((await entries())[0]).toMatchObject({
    actor_id: running.org.apiKey.record.id,
    ip: '127.0.0.1',
    request_id: expect.stringMatching(/./) as string,
    detail: { boot_id: packets[0]!.bootId, seq: packets[0]!.seq, count: 20, since: expect.stringMatching(/^2/) as string },
  });
  await post(louder(packets[0]!));
  expect(await entries()).toHaveLength(1);
});

it('writes the conflicts that it saw before it stops', async () => {
  const stopping = await runService();
  try {
    const packets = Array.from({ length: 5 }, () => device(1)[0]!);
    for (const packet of packets) expect((await stopping.ingest(packet)).status).toBe(202);
    // Written, and then repeated: the second one is not forgotten for want of a third.
    const [first] = packets;
    expect((await stopping.ingest(louder(first!))).status).toBe(409);
    const written = `select from audit_log where action = 'packet.conflict'`;
    await expect
      .poll(async () => {
        await stopping.send('GET', '/api/v1/audit-log'); // reading writes what waits
        return (await stopping.database.pool.query(written)).rows.length;
      })
      .toBe(1);
    const slow = await stopping.database.pool.connect();
    await slow.query('begin; lock table audit_log in share row exclusive mode');
    for (const packet of packets) expect((await stopping.ingest(louder(packet))).status).toBe(409);
    const stopped = stopping.service.stop();
    await sleep(1000);
    await slow.query('commit');
    slow.release();
    await stopped;
    const { rows } = await stopping.database.pool.query(written);
    expect(rows).toHaveLength(6);
    expect(stopping.faults).toEqual([]);
  } finally {
    await stopping.close();
  }
});

describe('a kill of the service', () => {
  // promise: packet-conflict, replay, ack-durable, hashes-kept
  // job: checkpoint
  it('forgets no packet: a resend is a duplicate, another content a conflict', async () => {
    const database = await testDatabase();
    const org = await createOrganization(database.pool, 'Killed');
    let child: ChildProcess | null = null;
    let baseUrl = '';
    const start = async (): Promise<void> => {
      child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'test/helpers/service-child.ts', database.url], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const line = (await once(createInterface(child.stdout!), 'line')) as [string];
      baseUrl = line[0];
    };
    const kill = async (): Promise<void> => {
      const gone = once(child!, 'close');
      child!.kill('SIGKILL');
      await gone;
    };
    const send = async (packets: readonly Packet[]): Promise<Reply> => {
      const response = await fetch(`${baseUrl}/ingest/raw-packet`, {
        method: 'POST',
        headers: { authorization: `Bearer ${org.apiKey.key}`, ...delimited },
        body: Buffer.from(encodeBatch(packets.map((packet) => encodePacket(packet)))),
      });
      expect(response.status).toBe(202);
      return (await response.json()) as Reply;
    };
    try {
      await start();
      const packets = device(300);
      expect(await send(packets.slice(0, 150))).toMatchObject({ accepted: 150 });
      const checkpoint = async (): Promise<boolean> =>
        (await database.pool.query('select from packet_log_checkpoint where batch_id > 0')).rowCount === 1;
      await expect.poll(checkpoint, { timeout: 20_000 }).toBe(true);
      expect(await send(packets.slice(150))).toMatchObject({ accepted: 150 }); // after the checkpoint: in the log alone
      for (let round = 0; round < 2; round++) {
        await kill();
        await start();
        const again = await send(packets.flatMap((packet, i) => (i % 2 === round ? [louder(packet)] : [packet])));
        expect(again).toMatchObject({ accepted: 0, duplicates: 150, unverified: 0 });
        expect(again.rejected).toHaveLength(150);
        expect(again.rejected.every(({ code }) => code === 'packet_conflict')).toBe(true);
      }
    } finally {
      await kill();
      await database.close();
    }
  });
});
