/** One bad packet or row stops nobody: it is refused where it comes in, or set aside with its reason, and everything else goes on. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mutate } from '../../faults/fuzz/mutate.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { runCommand } from '../../src/cli/command.ts';
import { importRecordings } from '../../src/cli/import.ts';
import { setAside } from '../../src/cli/set-aside.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import { createRandom } from '../../src/cli/simulator/random.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { packetOf } from '../helpers/packets.ts';
import type { PacketChanges } from '../helpers/packets.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
let neighbour: NewOrganization;

beforeAll(async () => {
  running = await runService();
  neighbour = await createOrganization(running.database.pool, 'Neighbour');
});
afterAll(() => running.close());

type Stored = { values: number; events: number; samples: number };

const stored = async (deviceId: string): Promise<Stored> => {
  const { rows } = await running.database.pool.query<Stored>(
    `select (select count(*)::int from measurement m where m.stream_id = s.id) as values,
       (select count(*)::int from device_event e where e.stream_id = s.id) as events,
       (select coalesce(sum(b.n), 0)::int from sample_block b where b.stream_id = s.id) as samples
     from stream s join device d on d.id = s.device_id where d.external_id = $1`,
    [deviceId],
  );
  return rows[0] ?? { values: 0, events: 0, samples: 0 };
};

const lettersOf = async (deviceId: string) => {
  const { rows } = await running.database.pool.query<{ kind: string; sqlstate: string; reason: string; content: object; owner: boolean }>(
    `select a.kind, a.sqlstate, a.reason, a.content, a.organization_id = s.organization_id and a.xuser_id = s.xuser_id as owner
     from set_aside a join stream s on s.id = a.stream_id join device d on d.id = s.device_id where d.external_id = $1 order by a.id`,
    [deviceId],
  );
  return rows;
};

const ready = async (): Promise<Record<string, string>> => {
  const { status, body, text } = await running.send<{ parts: { name: string; detail: string }[] }>('GET', '/readyz', { as: '' });
  expect(status, text).toBe(200);
  return Object.fromEntries(body.parts.map(({ name, detail }) => [name, detail]));
};

const counted = async (kind: string): Promise<number> => {
  const { text } = await running.send('GET', '/metrics', { as: '' });
  return Number(new RegExp(`^bio_set_aside_total\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? NaN);
};

describe('text that no table can hold is refused on arrival', () => {
  const [ecg] = packetOf('x', 0).blocks;
  const withChannel = (changes: object): PacketChanges => ({ blocks: [{ ...ecg!, channel: { ...ecg!.channel, ...changes } }] });
  // promise: control-characters, event-lines, refused-says-where
  test.each<[string, PacketChanges, string]>([
    ['event text', { events: [{ code: 'button', tOffsetNs: 0, text: 'pressed\u0000' }] }, 'event text holds U+0000'],
    ['unit of a measurement', { measurements: [{ code: 'battery', tOffsetNs: 0, value: 1, unit: '\u0000%', quality: 0 }] }, 'unit holds'],
    ['code of a measurement', { measurements: [{ code: 'a\u0000b', tOffsetNs: 0, value: 1, unit: '', quality: 0 }] }, 'code holds'],
    ['firmware', { firmware: '1\u00002' }, 'firmware holds'],
    ['firmware of two lines', { firmware: '1\n2' }, 'firmware holds U+000A'],
    ['subject', { subject: 'pat\u0000ient' }, 'subject holds'],
    ['device_id', { deviceId: 'patch\u0000' }, 'device_id holds'],
    ['unit of a channel', withChannel({ unit: 'm\u0000V' }), 'unit holds'],
    ['lead of a channel', withChannel({ lead: 'I\u001bI' }), 'lead holds U+001B'],
    ['code of a channel', withChannel({ code: 'ecg\u0000' }), 'channel code holds'],
  ])('%s', async (_where, changes, detail) => {
    const refused = await running.ingest(packetOf('hostile', 0, changes));
    expect(refused.status, refused.text).toBe(422);
    expect(refused.body).toMatchObject({
      code: 'packet_invalid',
      detail: expect.stringMatching(new RegExp(`^byte \\d+: .*${detail.replace('+', '\\+')}`)) as string,
    });
  });

  // promise: event-lines
  test('lines and tabs in the words of an event are kept as they are', async () => {
    const text = 'fell\r\n\tagain';
    expect((await running.ingest(packetOf('words', 0, { events: [{ code: 'note', tOffsetNs: 0, text }] }))).status).toBe(202);
    await expect
      .poll(async () => (await running.database.pool.query('select content from device_event where content like $1', ['fell%'])).rows)
      .toEqual([{ content: text }]);
  });
});

describe('text over REST and the command line', () => {
  // promise: control-characters, several-lines
  test.each([
    [
      'a lone surrogate in an id',
      '/api/v1/sdk/token',
      (id: string) => ({ external_id: id, project_key: running.org.projectKey }),
      'sur-\ud800-x',
    ],
    ['a C1 control in an id', '/api/v1/sdk/token', (id: string) => ({ external_id: id, project_key: running.org.projectKey }), 'a\u0085'],
    ['two lines in a name', '/api/v1/projects', (name: string) => ({ name }), 'two\nlines'],
  ])('%s is refused by name', async (_what, path, body, text) => {
    const refused = await running.send<{ code: string; errors: { pointer: string }[] }>('POST', path, { body: body(text) });
    expect(refused.status, refused.text).toBe(422);
    expect(refused.body).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: expect.stringMatching(/external_id|name/) as string }],
    });
    const { rows } = await running.database.pool.query(`select from xuser where external_id like 'sur-%' or external_id like 'a%'`);
    expect(rows).toEqual([]);
  });

  // promise: several-lines
  test('text that people write may have several lines', async () => {
    const { xuser_token: token } = await running.token('writer');
    const text = 'slept badly\n\ttwice awake 🫀';
    const made = await running.send<{ id: string }>('POST', '/api/v1/moods', { as: token, body: { score: 3, note: text } });
    expect(made.status, made.text).toBe(201);
    const { rows } = await running.database.pool.query('select note from mood where id = $1', [made.body.id]);
    expect(rows).toEqual([{ note: text }]);
  });

  test('labels of an imported file are cleaned', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bio-labels-'));
    const file = join(folder, 'night.csv');
    const described = { kind: 'ecg', rate_nhz: 250e9, gain: 100, baseline: 0, unit: 'm\u0000V', lead: 'Brustwand\u0007 nach Nehb, größer' };
    const rows = Array.from({ length: 500 }, (_, k) => `${1_767_225_600_000_000_000n + BigInt(k) * 4_000_000n},${(k % 40) / 100}`);
    writeFileSync(file, ['# biosignal-csv 1', `# channel ecg.ii ${JSON.stringify(described)}`, 'time_ns,ecg.ii', ...rows].join('\n'));
    const lines: string[] = [];
    const say = (line: string): void => void lines.push(line);
    const env = { BIO_URL: running.service.baseUrl, BIO_KEY: running.org.apiKey.key };
    const args = [file, '--subject', 'labelled'];
    const code = await runCommand(importRecordings, args, {
      out: say,
      err: say,
      progress: null,
      env,
      cwd: folder,
      signal: new AbortController().signal,
    });
    expect(code, lines.join('\n')).toBe(0);
    const { rows: channels } = await running.database.pool.query(
      `select c.unit, c.lead from stream_channel c join stream s on s.id = c.stream_id join xuser x on x.id = s.xuser_id where x.external_id = 'labelled'`,
    );
    expect(channels).toEqual([{ unit: 'm V', lead: 'Brustwand  nach Nehb, größer' }]);
    rmSync(folder, { recursive: true });
  });
});

test('whatever packets contain, everything that is accepted can be stored', async () => {
  const random = createRandom(20_261_122, 'poison');
  const seedOf = (seq: number): Uint8Array => encodePacket(packetOf('mutant', seq));
  let taken = 0;
  for (let round = 0; round < 20; round++) {
    const packets = Array.from({ length: 50 }, (_, i) => mutate(seedOf(50 * round + i), seedOf(50 * round + i + 1), random));
    const answer = await running.send<{ accepted: number }>('POST', '/ingest/raw-packet', {
      body: encodeBatch(packets),
      headers: { 'content-type': 'application/x-protobuf; encoding=delimited' },
    });
    if (answer.status === 202) taken += answer.body.accepted;
  }
  expect(taken).toBeGreaterThan(20);
  expect((await running.ingest(packetOf('good', 0), neighbour.apiKey.key)).status).toBe(202);
  await expect.poll(() => stored('good')).toMatchObject({ values: 1, events: 1 });
  await ready();
  expect((await running.database.pool.query('select kind, reason from set_aside')).rows).toEqual([]);
});

// What only the database knows to be wrong: constraints that the site's own administrator added.
describe('a row that the database refuses is set aside, and the rest is stored', () => {
  // promise: row-set-aside, set-aside-told
  // job: checkpoint
  test('measurements and events, with those of a neighbour in the same batch', async () => {
    const { pool } = running.database;
    await pool.query(`alter table measurement add constraint measurement_test_check check (value <> 66.25)`);
    await pool.query(`alter table device_event add constraint device_event_test_check check (content <> 'poison')`);
    const before = [await counted('measurement'), await counted('event')];
    expect(before).toEqual([0, 0]);
    const send = async (deviceId: string, seq: number, changes: PacketChanges, as?: string): Promise<void> => {
      expect((await running.ingest(packetOf(deviceId, seq, changes), as)).status).toBe(202);
    };
    const poison = {
      measurements: [5, 66.25, 7].map((value) => ({ code: 'battery', tOffsetNs: 0, value, unit: '%', quality: 0 as const })),
      events: ['a', 'poison', 'b'].map((text) => ({ code: 'button', tOffsetNs: 0, text })),
    };
    await Promise.all([
      ...Array.from({ length: 5 }, (_, seq) => send('neighbour', seq, {}, neighbour.apiKey.key)),
      send('refused', 0, poison),
      ...Array.from({ length: 5 }, (_, seq) => send('neighbour', 5 + seq, {}, neighbour.apiKey.key)),
    ]);
    await expect.poll(() => stored('neighbour')).toMatchObject({ values: 10, events: 10 });
    await expect.poll(() => stored('refused')).toMatchObject({ values: 2, events: 2 });
    expect(await lettersOf('refused')).toEqual([
      {
        kind: 'measurement',
        sqlstate: '23514',
        reason: expect.stringContaining('measurement_test_check') as string,
        content: expect.objectContaining({ code: 'battery', value: 66.25, seq: 0, index: 1 }) as object,
        owner: true,
      },
      {
        kind: 'event',
        sqlstate: '23514',
        reason: expect.stringContaining('device_event_test_check') as string,
        content: expect.objectContaining({ text: 'poison' }) as object,
        owner: true,
      },
    ]);
    expect(await lettersOf('neighbour')).toEqual([]);
    expect([await counted('measurement'), await counted('event')]).toEqual([1, 1]);
    expect((await ready())['set_aside']).toBe('2 rows or packets since the start');
    const { body: devices } = await running.send<{ external_id: string; device_id: string; set_aside: number }[]>('GET', '/api/v1/devices');
    expect(devices.find((device) => device.device_id === 'refused')).toMatchObject({ set_aside: 2 });
    // the checkpoint is not held up by it
    await expect
      .poll(
        async () =>
          (await pool.query('select c.batch_id = (select max(batch_id) from packet_log) as whole from packet_log_checkpoint c')).rows,
        {
          timeout: 20_000,
        },
      )
      .toEqual([{ whole: true }]);
    // said once per stream and fault, not again and again
    await send('refused', 1, poison);
    await expect.poll(() => counted('event')).toBe(2);
    expect(running.faults.filter((line) => line.includes('set aside'))).toHaveLength(2);
  });

  // promise: row-set-aside
  test('samples', async () => {
    const { pool } = running.database;
    await pool.query('alter table sample_block add constraint sample_block_test_check check (max <> 999)');
    const [block] = packetOf('x', 0).blocks;
    const rowSec = 4; // 250 Hz
    for (let seq = 0; seq < 3 * rowSec; seq++) {
      const samples = Int32Array.from(block!.samples);
      if (seq === rowSec) samples[7] = 999;
      expect((await running.ingest(packetOf('samples', seq, { blocks: [{ ...block!, samples }] }))).status).toBe(202);
    }
    await expect.poll(() => stored('samples'), { timeout: 20_000 }).toMatchObject({ samples: 2 * rowSec * 250, values: 12 });
    await expect.poll(() => lettersOf('samples')).toMatchObject([{ kind: 'samples', sqlstate: '23514', owner: true }]);
    expect(await counted('samples')).toBe(1);
    await ready();
  });

  // promise: row-set-aside
  test('a refused row of a checkpoint (packet hashes, sequence numbers) is set aside, and the checkpoint goes on', async () => {
    const { pool } = running.database;
    expect((await running.ingest(packetOf('no-hash', 0))).status).toBe(202);
    expect((await running.ingest(packetOf('no-numbers', 0))).status).toBe(202);
    const { rows } = await pool.query<{ id: number; name: string }>(
      `select s.id, d.external_id as name from stream s join device d on d.id = s.device_id where d.external_id in ('no-hash', 'no-numbers')`,
    );
    const ids = Object.fromEntries(rows.map(({ id, name }) => [name, id]));
    const refuse = (table: string, condition: string): Promise<unknown> =>
      pool.query(`create function refuse_${table}() returns trigger language plpgsql as $$ begin
          if ${condition} then raise exception 'refused by the site'; end if; return new; end $$;
        create trigger refuse_${table} before insert or update on ${table} for each row execute function refuse_${table}()`);
    await refuse('packet_hash', `new.stream_id = ${ids['no-hash']}`);
    await refuse('stream', `new.id = ${ids['no-numbers']}`);
    try {
      for (const device of ['no-hash', 'no-numbers']) expect((await running.ingest(packetOf(device, 1))).status).toBe(202);
      expect((await running.ingest(packetOf('whole', 1), neighbour.apiKey.key)).status).toBe(202);
      const { rows: newest } = await pool.query<{ id: bigint }>('select max(batch_id) as id from packet_log');
      const passed = async (): Promise<boolean> =>
        (await pool.query<{ batch_id: bigint }>('select batch_id from packet_log_checkpoint')).rows[0]!.batch_id >= newest[0]!.id;
      await expect.poll(passed, { timeout: 20_000 }).toBe(true);
      const saved = await pool.query<{ name: string; numbers: string; hashes: number }>(
        `select d.external_id as name, s.seqs::text as numbers, (select count(*)::int from packet_hash h where h.stream_id = s.id and h.first_seq = 1) as hashes
         from stream s join device d on d.id = s.device_id where d.external_id in ('no-hash', 'whole') order by 1`,
      );
      expect(saved.rows).toEqual([
        { name: 'no-hash', numbers: '{[0,2)}', hashes: 0 },
        { name: 'whole', numbers: '{[1,2)}', hashes: 1 },
      ]);
      expect(running.faults.filter((line) => line.includes('refused by the site')).map((line) => line.split(':')[0])).toEqual([
        'packet hashes',
        'packet log',
      ]);
    } finally {
      await pool.query('drop trigger refuse_packet_hash on packet_hash; drop trigger refuse_stream on stream');
    }
    // what was refused is tried again by itself
    const numbers = async (): Promise<unknown> =>
      (await pool.query<{ numbers: string }>('select seqs::text as numbers from stream where id = $1', [ids['no-numbers']])).rows[0]!
        .numbers;
    await expect.poll(numbers, { timeout: 20_000 }).toBe('{[0,2)}');
  });

  // promise: row-set-aside
  test('computed values, row by row', async () => {
    const { pool } = running.database;
    expect((await running.ingest(packetOf('values', 0))).status).toBe(202);
    const { rows: streams } = await pool.query<{ id: number }>(
      `select s.id from stream s join device d on d.id = s.device_id where d.external_id = 'values'`,
    );
    const { id } = streams[0]!;
    await pool.query(`create function has_thirds(data bytea) returns boolean language sql immutable as $$
        select exists (select from open_minutes(data) d cross join lateral feature_points(d.time, d.n, d.base, d.codec) p
          where not d.is_beat and p.ts_ns / 1000000000 % 10 = 3) $$;
      create function has_third(minute timestamptz, n smallint, base bigint, codec bytea) returns boolean language sql immutable as $$
        select exists (select from feature_points(minute, n, base, codec) p where p.ts_ns / 1000000000 % 10 = 3) $$;
      alter table derived_open add constraint derived_open_test_check check (stream_id <> ${id} or not has_thirds(data));
      alter table feature_block add constraint feature_block_test_check
        check (stream_id <> ${id} or not has_third(time, n, coalesce(min, sum), codec))`);
    for (let seq = 1; seq < 40; seq++) expect((await running.ingest(packetOf('values', seq))).status).toBe(202);
    const count = async (condition: string): Promise<number> =>
      (await pool.query(`select from feature where stream_id = ${id} and ${condition}`)).rowCount ?? 0;
    await expect.poll(() => count('ts_ns / 1000000000 % 10 = 4'), { timeout: 20_000 }).toBeGreaterThan(2);
    await expect.poll(async () => (await lettersOf('values')).length, { timeout: 20_000 }).toBeGreaterThan(2);
    for (const { kind, sqlstate, content } of await lettersOf('values')) {
      expect({ kind, sqlstate }).toEqual({ kind: 'derived', sqlstate: '23514' });
      expect(content).toMatchObject({ beats: [], features: [{ feature: expect.any(String) as string }] });
    }
    expect(await count('ts_ns / 1000000000 % 10 = 3')).toBe(0);
  });

  // promise: fault-without-row
  test('a missing table sets nothing aside: it is reported once, and its rows are stored when the table is back', async () => {
    const { pool } = running.database;
    const said = running.faults.length;
    await pool.query('alter table device_event rename to device_event_away');
    try {
      for (let seq = 0; seq < 3; seq++) expect((await running.ingest(packetOf('missing', seq))).status).toBe(202);
      await expect.poll(() => running.faults.length, { timeout: 20_000 }).toBeGreaterThan(said);
    } finally {
      await pool.query('alter table device_event_away rename to device_event');
    }
    await expect.poll(() => stored('missing'), { timeout: 40_000 }).toMatchObject({ events: 3, values: 3 });
    expect(running.faults.slice(said)).toEqual([expect.stringContaining('device_event') as string]);
    expect(await lettersOf('missing')).toEqual([]);
  });

  // promise: set-aside-replay
  test('once the reason is gone, the next start stores what was marked', async () => {
    const { pool, url } = running.database;
    const before = (await pool.query('select from set_aside')).rowCount ?? 0;
    expect(before).toBeGreaterThan(6);
    for (const table of ['measurement', 'device_event', 'sample_block', 'derived_open', 'feature_block'])
      await pool.query(`alter table ${table} drop constraint ${table}_test_check`);
    const say = (): void => undefined;
    const signal = new AbortController().signal;
    expect(
      await runCommand(setAside, ['replay', '--all'], {
        out: say,
        err: say,
        progress: null,
        env: { DATABASE_URL: url },
        cwd: '.',
        signal,
      }),
    ).toBe(0);
    const derived = await lettersOf('values');
    await running.service.stop();
    const next = await startService({
      config: readConfig({ DATABASE_URL: url, PORT: '0', BIO_STOP_TIMEOUT_MS: '60000', BIO_LOG_LEVEL: 'silent' }),
    });
    expect((await pool.query('select kind, reason from set_aside')).rows).toEqual([]);
    expect(await stored('refused')).toMatchObject({ values: 6, events: 6 }); // two packets of three each
    expect(await stored('samples')).toMatchObject({ samples: 12 * 250 });
    const { rows } = await pool.query('select from feature where ts_ns / 1000000000 % 10 = 3');
    expect(rows.length).toBeGreaterThanOrEqual(derived.length);
    await next.stop();
  });
});
