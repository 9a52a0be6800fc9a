/** A start with a packet log that is damaged, or holds what this release would not take: the start succeeds, what is good is stored, what
 *  is not is set aside by name, and can be stored later. The log is written by the real PacketLog; damage is done to its rows
 *  afterwards. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { runCommand } from '../../src/cli/command.ts';
import type { Command } from '../../src/cli/command.ts';
import { commands } from '../../src/cli/commands.ts';
import { readConfig } from '../../src/config.ts';
import { isRejected } from '../../src/errors.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import type { OrgId, StreamId } from '../../src/signal.ts';
import { readBatch } from '../../src/storage/log-batch.ts';
import { PacketLog } from '../../src/storage/packet-log.ts';
import { putAside } from '../../src/storage/set-aside.ts';
import { StreamRegistry } from '../../src/storage/stream-registry.ts';
import { testDatabase } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { packetOf } from '../helpers/packets.ts';
import type { PacketChanges } from '../helpers/packets.ts';

const SAMPLES = 250;
const HEAD = 24;
const boot = '00112233445566778899aabbccddeeff';

let database: TestDatabase;
let service: Service;
const faults: string[] = [];

type Device = Readonly<{ streamId: StreamId; deviceId: string }>;
let patch: Device;
let other: Device;
/** By name: number of the batch. */
const positions = new Map<string, number>();

function start(db: TestDatabase): Promise<Service> {
  const quiet = (): void => undefined;
  const note = (fields: object, message: string): void => void faults.push(`${message} ${JSON.stringify(fields)}`);
  return startService({
    config: readConfig({ DATABASE_URL: db.url, PORT: '0', BIO_PACKET_BYTES_MAX: '2048', BIO_STOP_TIMEOUT_MS: '60000' }),
    logger: { debug: quiet, info: quiet, warn: note, error: note },
  });
}

async function startAgain(): Promise<void> {
  service = await start(database);
}

async function run(name: string, ...args: string[]): Promise<{ code: number; out: string }> {
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const command: Command = await commands[name]!.load();
  const env = { DATABASE_URL: database.url, PORT: '1' };
  const code = await runCommand(command, args, {
    out: say,
    err: say,
    progress: null,
    env,
    cwd: '.',
    signal: new AbortController().signal,
  });
  return { code, out: lines.join('\n') };
}

type Listed = { id: string; kind: string; reason: string; stream: string; user: string; log_position: string; replay: string };
const listed = async (): Promise<Listed[]> => JSON.parse((await run('set-aside', 'list', '--json')).out) as Listed[];

/** Device seconds of a stream that are in sample_block. */
async function storedSeconds({ streamId }: Device): Promise<number[]> {
  const { rows } = await database.pool.query<{ second: number }>(
    `select distinct floor((x.ts_ns - s.epoch_ns) / 1e9)::int as second
     from stream s cross join lateral samples(s.uuid, 'ecg.ii', '2000-01-01', '2100-01-01') x where s.id = $1 order by 1`,
    [streamId],
  );
  return rows.map(({ second }) => second);
}

async function reported({ streamId }: Device): Promise<{ values: number; events: number }> {
  const { rows } = await database.pool.query<{ values: number; events: number }>(
    `select (select count(*)::int from measurement where stream_id = $1) as values, (select count(*)::int from device_event where stream_id = $1) as events`,
    [streamId],
  );
  return rows[0]!;
}

async function openDevice(registry: StreamRegistry, name: string, db: TestDatabase = database): Promise<Device> {
  const organization = await createOrganization(db.pool, name);
  const subject = await registry.resolveSubject({
    orgId: organization.orgId as OrgId,
    projectId: null,
    subject: 'patient-7',
    deviceId: name,
  });
  if (isRejected(subject)) throw new Error(subject.detail);
  const first = packetOf(name, 0);
  const opened = await registry.openStream({
    ...subject,
    deviceId: name,
    bootId: boot,
    firmware: '',
    epochNs: first.t0UnixNs,
    receivedNs: first.sentUnixNs,
  });
  if (isRejected(opened)) throw new Error(opened.detail);
  await registry.addChannels(opened.streamId, 0, [first.blocks[0]!.channel]);
  return { streamId: opened.streamId, deviceId: name };
}

/** Writes a batch as releases before packing did: its packets one after the other. */
async function unpackBatch({ pool }: TestDatabase, position: number): Promise<void> {
  const { rows } = await pool.query<{ data: Buffer }>('select data from packet_log where batch_id = $1 order by part', [position]);
  const entries: Buffer[] = [];
  for await (const found of readBatch(Buffer.concat(rows.map(({ data }) => data)), () => true)) {
    if ('damage' in found) throw new Error('damaged');
    const { streamId, seq, receivedNs, bytes } = found.entry;
    const head = Buffer.alloc(HEAD);
    head.writeUInt32LE(streamId, 0);
    head.writeUInt32LE(seq, 4);
    head.writeBigInt64LE(receivedNs, 12);
    head.writeUInt32LE(bytes.length, 20);
    entries.push(head, Buffer.from(bytes));
  }
  await pool.query('delete from packet_log where batch_id = $1 and part > 0', [position]);
  await pool.query('update packet_log set data = $2 where batch_id = $1', [position, Buffer.concat(entries)]);
}

type Entry = Readonly<{ device: Device; seq: number; changes?: PacketChanges }>;

beforeAll(async () => {
  database = await testDatabase();
  const registry = new StreamRegistry(database);
  patch = await openDevice(registry, 'patch');
  other = await openDevice(registry, 'other');
  const log = await PacketLog.open(database, registry, { lingerMs: 0, calmLingerMs: 60_000 });
  const bytesOf = ({ device, seq, changes }: Entry): Uint8Array => {
    const packet: Packet = { ...packetOf(device.deviceId, seq, { subject: 'patient-7' }), ...changes };
    return encodePacket(packet);
  };
  /** @returns where each entry begins */
  const write = async (name: string, ...entries: Entry[]): Promise<number[]> => {
    let at = 0;
    const starts: number[] = [];
    let durable = Promise.resolve();
    for (const entry of entries) {
      const bytes = bytesOf(entry);
      const batch = log.append({ streamId: entry.device.streamId, seq: entry.seq, receivedNs: packetOf('', entry.seq).sentUnixNs, bytes });
      if (batch === 'busy') throw new Error('busy');
      durable = batch.durable.then(() => void positions.set(name, batch.position));
      starts.push(at);
      at += HEAD + bytes.length;
    }
    log.hurry();
    await durable;
    return [...starts, at];
  };
  const of = (seq: number, changes: PacketChanges = {}, device = patch): Entry => ({ device, seq, changes });
  const [block] = packetOf('', 0).blocks;
  const big = { ...block!, samples: Int32Array.from({ length: SAMPLES }, (_, k) => (k % 2 === 0 ? 1e9 : -1e9)), qmask: null };

  await write('good', of(0), of(0, {}, other));
  await write('text', of(1, { events: [{ code: 'button', tOffsetNs: 0, text: 'a\u0000b' }] }), of(2));
  const lead = { ...block!, channel: { ...block!.channel, code: 'ecg.v1', lead: 'V\u00001' } };
  await write('channel', of(3, { blocks: [block!, lead] }), of(4));
  await write('large', of(5, { blocks: [big, { ...big, channel: { ...big.channel, code: 'ecg.big' } }] }));
  await write('uuid', of(6, { subject: '00000000-0000-4000-8000-000000000000' }), of(7));
  const flipped = await write('flipped', of(8), of(9), of(10));
  const head = await write('head', of(11), of(12), of(13));
  const cut = await write('cut', of(14), of(15), of(16));
  await write('twice', of(17), of(18));
  const stray = await write('stray', of(19), of(20), of(21));
  await write('rate', of(22, { blocks: [{ ...block!, channel: { ...block!.channel, rateNanoHz: 1 } }] }), of(23));
  await write('packed', of(25), of(26));
  await write('last', of(24), of(1, {}, other));
  await log.close();
  for (const name of ['flipped', 'head', 'cut', 'stray']) await unpackBatch(database, positions.get(name)!);

  // one bit each
  const flip = (name: string, at: number): Promise<unknown> =>
    database.pool.query(`update packet_log set data = set_byte(data, $2, get_byte(data, $2) # 128) where batch_id = $1 and part = 0`, [
      positions.get(name),
      at,
    ]);
  await flip('flipped', flipped[1]! + HEAD); // the packet's first tag
  await flip('head', head[1]! + 21); // the length
  await flip('packed', 8 + 2 * HEAD + 40); // of the packed packets, behind the heads
  await database.pool.query('update packet_log set data = substr(data, 1, $2) where batch_id = $1', [positions.get('cut'), cut[1]! + 100]);
  // the stream's number: of the other organization's
  await database.pool.query('update packet_log set data = set_byte(data, $2, $3) where batch_id = $1', [
    positions.get('stray'),
    stray[1],
    other.streamId,
  ]);
  // the same number again, from a service that believed that the log was its own
  await database.pool.query(
    `insert into packet_log (time, batch_id, part, packet_count, data)
     select time + interval '1 second', $1, part, packet_count, data from packet_log where batch_id = $2`,
    [positions.get('twice'), positions.get('last')],
  );
  await startAgain();
});
afterAll(async () => {
  await service.stop();
  await database.close();
});

describe('a log that cannot be replayed whole', () => {
  // promise: log-set-aside
  test('the service starts, and everything good is stored', async () => {
    expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200);
    await expect
      .poll(() => storedSeconds(patch), { timeout: 20_000 })
      .toEqual([0, 2, 4, 5, 6, 7, 8, 10, 11, 13, 14, 17, 18, 19, 21, 23, 24]);
    await expect.poll(() => reported(patch)).toEqual({ values: 17, events: 17 });
    await expect.poll(() => storedSeconds(other)).toEqual([0, 1]);
  });

  // promise: log-set-aside, set-aside-told
  test('the rest is named by the command, by doctor, in the log and in the metrics', async () => {
    const found = await listed();
    const nameOf = new Map([...positions].map(([name, position]) => [String(position), name]));
    const short = found
      .map(({ kind, log_position: position, user, reason }) => ({ batch: nameOf.get(position), kind, user, reason }))
      .toSorted((a, b) => positions.get(a.batch!)! - positions.get(b.batch!)!);
    const reason = (pattern: RegExp): string => expect.stringMatching(pattern) as string;
    expect(short).toEqual([
      { batch: 'text', kind: 'packet', user: 'patient-7', reason: reason(/^packet_invalid: byte \d+: event text holds U\+0000$/) },
      { batch: 'channel', kind: 'packet', user: 'patient-7', reason: reason(/lead holds U\+0000$/) },
      { batch: 'flipped', kind: 'packet', user: 'patient-7', reason: reason(/^no packet can be read at byte \d+/) },
      { batch: 'head', kind: 'log', user: '', reason: reason(/^no packet can be read/) },
      { batch: 'cut', kind: 'log', user: '', reason: reason(/^no packet can be read/) },
      { batch: 'stray', kind: 'log', user: '', reason: reason(/^no packet can be read/) },
      { batch: 'rate', kind: 'packet', user: 'patient-7', reason: reason(/^packet_invalid: block 0: channel ecg.ii: rate 1 nHz/) },
      { batch: 'packed', kind: 'log', user: '', reason: reason(/^no packet can be read at byte 0 /) },
    ]);
    const doctor = await run('doctor');
    expect(doctor.out).toMatch(/WARNING {2}set aside {5}could not be stored: .*4 packet/);
    expect(faults.filter((line) => line.includes('was set aside')).length).toBeGreaterThanOrEqual(4);
    const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
    expect(metrics).toContain('bio_set_aside_total{kind="packet"} 4');
    expect(metrics).toContain('bio_set_aside_total{kind="log"} 4');
    expect(metrics).toContain('bio_set_aside_total{kind="event"} 0');
  });

  test('a second start finds nothing new', async () => {
    await service.stop();
    const before = await listed();
    await startAgain();
    expect(await listed()).toEqual(before);
  });

  test('show prints one and writes its bytes', async () => {
    const one = (await listed()).find(({ kind, log_position: at }) => kind === 'packet' && at === String(positions.get('text')))!;
    const shown = JSON.parse((await run('set-aside', 'show', one.id, '--json')).out) as { content: object; data_base64: string };
    expect(shown.content).toMatchObject({ seq: 1 });
    expect(Buffer.from(shown.data_base64, 'base64').includes('a\u0000b')).toBe(true);
    expect((await run('set-aside', 'show', '999999')).code).toBe(1);
    const folder = await mkdtemp(join(tmpdir(), 'bio-set-aside-'));
    try {
      expect((await run('set-aside', 'show', one.id, '--out', join(folder, 'packet.bin'))).code).toBe(0);
      expect(await readFile(join(folder, 'packet.bin'), 'base64')).toBe(shown.data_base64);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  // promise: set-aside-replay, set-aside-cleaned
  test('replay stores what can be stored now, with its text cleaned; the rest stays', async () => {
    const before = await listed();
    expect((await run('set-aside', 'replay', '--all')).out).toContain('4 will be stored');
    await service.stop();
    await startAgain();
    expect(await storedSeconds(patch)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 14, 17, 18, 19, 21, 23, 24]);
    const { rows } = await database.pool.query<{ content: string }>(
      'select content from device_event where stream_id = $1 and content ~ $2',
      [patch.streamId, '^a'],
    );
    expect(rows).toEqual([{ content: 'a b' }]);
    const channels = await database.pool.query<{ lead: string }>(
      `select lead from stream_channel where stream_id = $1 and code = 'ecg.v1'`,
      [patch.streamId],
    );
    expect(channels.rows).toEqual([{ lead: 'V 1' }]);
    const left = await listed();
    expect(left).toHaveLength(before.length - 2);
    expect(left.every(({ replay }) => replay === '')).toBe(true);
  });

  // promise: set-aside-audited
  test('drop asks for --yes, and says in the audit log that it was done', async () => {
    const before = await listed();
    const ids = ['packet', 'log'].map((kind) => before.find((one) => one.kind === kind)!.id);
    expect((await run('set-aside', 'drop', ...ids)).out).toBe('would delete 2; add --yes to do it');
    expect(await listed()).toEqual(before);
    expect((await run('set-aside', 'drop', ...ids, '--yes')).out).toBe('2 deleted');
    expect(await listed()).toEqual(before.filter(({ id }) => !ids.includes(id)));
    expect((await run('set-aside', 'drop', ...ids, '--yes')).code).toBe(1);
    const { rows } = await database.pool.query(
      `select action, organization_id is null as unknown, actor_kind as kind, request_id as request, detail from audit_log
       where action like 'set\\_aside.%' and action <> 'set_aside.listed' order by id`,
    );
    const byHand = { kind: 'cli', request: '', unknown: false };
    expect(rows.slice(0, 3)).toEqual([
      { ...byHand, action: 'set_aside.read', detail: {} },
      { ...byHand, action: 'set_aside.exported', detail: {} },
      { ...byHand, action: 'set_aside.replayed', detail: { count: 4 } },
    ]);
    const dropped = { ...byHand, action: 'set_aside.dropped', detail: { count: 1 } };
    expect(rows.slice(3)).toHaveLength(2);
    expect(rows.slice(3)).toEqual(expect.arrayContaining([dropped, { ...dropped, unknown: true }])); // the log's owner is not known
    const { rows: about } = await database.pool.query(`select from audit_log where action = 'set_aside.read' and subject_id is not null`);
    expect(about).toHaveLength(1);
    const { rows: lists } = await database.pool.query(
      `select from audit_log where action = 'set_aside.listed' and organization_id is not null`,
    );
    expect(lists.length).toBeGreaterThan(0);
  });

  // promise: set-aside-erased
  test('erasing a person also deletes what was set aside of them, and pieces that may be theirs', async () => {
    expect((await listed()).map(({ kind }) => kind).toSorted()).toEqual(['log', 'log', 'log', 'packet']);
    // The number of the stream is in another stream's samples, and in the head of a packet of which nothing else is left.
    const others = Buffer.alloc(200, 0x81);
    const head = Buffer.alloc(200, 0x82);
    for (const bytes of [others, head]) bytes.writeUInt32LE(patch.streamId, 50);
    head.writeBigUInt64LE(7n, 54);
    head.writeBigInt64LE(BigInt(Date.now()) * 1_000_000n, 62);
    const letter = { kind: 'log', streamId: null, reason: 'damaged', sqlState: null, logPosition: 1, content: null } as const;
    await putAside(
      database.pool,
      [others, head].map((bytes) => ({ ...letter, bytes })),
    );
    const erased = await run('erase', 'patient-7', '--org', 'patch', '--yes', '--json');
    expect(erased.code, erased.out).toBe(0);
    const { stores } = JSON.parse(erased.out) as { stores: object[] };
    expect(stores).toContainEqual({ store: 'set_aside', deleted: 1, remaining: 0 });
    expect(stores).toContainEqual({ store: 'set_aside of the log', deleted: 4, remaining: 0 });
    const left = await database.pool.query<{ bytes: Buffer }>('delete from set_aside returning bytes');
    expect(left.rows.map(({ bytes }) => bytes)).toEqual([others]);
    expect((await run('set-aside')).out).toBe('nothing is set aside');
    expect((await run('doctor')).out).toContain('everything that was acknowledged could be stored');
  });
});

describe('two packets of one batch', () => {
  test('the checkpoint waits for the reported values of both', async () => {
    await using db = await testDatabase();
    const registry = new StreamRegistry(db);
    const first = await openDevice(registry, 'first', db);
    const second = await openDevice(registry, 'second', db);
    const third = await createOrganization(db.pool, 'third');
    const log = await PacketLog.open(db, registry, { lingerMs: 0, calmLingerMs: 60_000 });
    const positions = new Set<number>();
    const append = ({ deviceId, streamId }: Device, value: number, blocks: Packet['blocks']): Promise<void> => {
      const packet = packetOf(deviceId, 0, {
        subject: 'patient-7',
        blocks,
        measurements: [{ code: 'battery', tOffsetNs: 0, value, unit: '%', quality: 0 }],
        events: [],
      });
      const batch = log.append({ streamId, seq: 0, receivedNs: packet.sentUnixNs, bytes: encodePacket(packet) });
      if (batch === 'busy') throw new Error('busy');
      return batch.durable.then(() => void positions.add(batch.position));
    };
    // a whole row of a channel that is new, and of which nothing is computed
    const channel = { code: 'other.x', kind: 'other', rateNanoHz: 1000e9, gain: 1, baseline: 0, unit: '1', lead: '' } as const;
    const durable = [append(first, 1, []), append(second, 2, [{ channel, tOffsetNs: 0, samples: new Int32Array(1000), qmask: null }])];
    log.hurry();
    await Promise.all(durable);
    expect(positions.size).toBe(1);
    const [position = 0] = positions;
    await log.close();

    // The value of a packet is written when its gate opens. The second packet has a new channel, and waits for its table.
    await db.pool.query(
      `create function gate() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(new.value::bigint); return new; end $$;
       create trigger gate before insert on measurement for each row execute function gate()`,
    );
    const gates = await db.connect();
    await gates.query('select pg_advisory_lock(1), pg_advisory_lock(2)');
    const channels = await db.connect();
    await channels.query('begin; lock table stream_channel in share mode');
    const starting = start(db);
    const waiting = async (event: string): Promise<number> =>
      (await db.pool.query('select from pg_stat_activity where datname = current_database() and wait_event = $1', [event])).rowCount ?? 0;
    await expect.poll(() => waiting('advisory'), { timeout: 20_000 }).toBe(1); // the first is being written
    await expect.poll(() => waiting('relation'), { timeout: 20_000 }).toBe(1);
    await channels.query('commit');
    await channels.end();
    const running = await starting;

    const values = async (): Promise<number[]> =>
      (await db.pool.query<{ value: number }>('select value from measurement where value < 3 order by 1')).rows.map(({ value }) => value);
    await gates.query('select pg_advisory_unlock(1)');
    await expect.poll(values).toEqual([1]);
    await expect.poll(async () => (await db.pool.query('select n from sample_block')).rows).toEqual([{ n: 1000 }]);
    // Nothing but the second value holds the checkpoint now; the third device gives it something to save.
    const { rows: before } = await db.pool.query<{ now: Date }>('select clock_timestamp() as now');
    const sent = await fetch(`${running.baseUrl}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${third.apiKey.key}`, 'content-type': 'application/x-protobuf' },
      body: Buffer.from(encodePacket(packetOf('third', 0, { blocks: [], measurements: [] }))),
    });
    expect(sent.status, await sent.text()).toBe(202);
    const checkpoint = async () => {
      const { rows } = await db.pool.query<{ saved: boolean; passed: boolean }>(
        'select updated_at > $1 as saved, batch_id >= $2 as passed from packet_log_checkpoint',
        [before[0]!.now, position],
      );
      return rows[0];
    };
    await expect.poll(checkpoint).toEqual({ saved: true, passed: false });
    await gates.query('select pg_advisory_unlock(2)');
    await expect.poll(values).toEqual([1, 2]);
    await expect.poll(checkpoint).toEqual({ saved: true, passed: true });
    await gates.end();
    await running.stop();
  });
});
