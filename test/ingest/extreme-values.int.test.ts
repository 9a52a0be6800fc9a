/** Values at the ends of a packet's legal ranges are taken, and every answer of the API stays one: of the person, of the fleet,
 *  and of everybody else. On the whole service. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Block, Packet } from '../../src/proto/packet.ts';
import type { ChannelConfig } from '../../src/signal.ts';
import { refreshRollups } from '../../src/storage/maintenance.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running?.close());

const SEC = 1_000_000_000n;
const startNs = (BigInt(Date.now()) / 1000n - 400n) * SEC;
const SEQ_MAX = Number.MAX_SAFE_INTEGER;
const channel = (over: Partial<ChannelConfig>): ChannelConfig => ({
  code: 'eda',
  kind: 'eda',
  rateNanoHz: 4e9,
  gain: 1,
  baseline: 0,
  unit: 'uS',
  lead: '',
  ...over,
});
const wave = (length: number, at: (i: number) => number): Int32Array => Int32Array.from({ length }, (_, i) => at(i));
let deviceCount = 0;
function packet(over: Partial<Packet>): Packet {
  return {
    schemaVersion: 1,
    deviceId: `extreme-${deviceCount}`,
    bootId: (++deviceCount).toString(16).padStart(32, '0'),
    seq: 0,
    t0DeviceNs: 0n,
    t0UnixNs: startNs,
    sentUnixNs: 0n,
    subject: '',
    firmware: '',
    blocks: [],
    measurements: [],
    events: [],
    ...over,
  };
}
const block = (config: Partial<ChannelConfig>, samples: Int32Array | Float32Array, over: Partial<Block> = {}): Block => ({
  channel: channel(config),
  tOffsetNs: 0,
  samples,
  qmask: null,
  ...over,
});

type Device = { device_id: string; packets: number; lost_packets: number };

it('keeps the list of devices when a user sends the first and the last number', async () => {
  const { xuser_token: token } = await running.token('counter');
  const one = packet({
    blocks: [
      block(
        {},
        wave(4, (i) => i),
      ),
    ],
  });
  expect((await running.ingest(one, token)).status).toBe(202);
  expect((await running.ingest({ ...one, seq: SEQ_MAX, t0DeviceNs: SEC }, token)).status).toBe(202);
  await running.service.pipeline.checkpoint();
  const { status, body } = await running.send<Device[]>('GET', '/api/v1/devices');
  expect(status).toBe(200);
  expect(body.find(({ device_id: id }) => id === one.deviceId)).toMatchObject({ packets: 2, lost_packets: SEQ_MAX - 1 });
});

it('shows everyone who sent with a device within a day: a person who falls silent is not hidden by another', async () => {
  const [victim, other] = await Promise.all([running.token('silent'), running.token('neighbour')]);
  const blocks = [
    block(
      {},
      wave(4, (i) => i),
    ),
  ];
  const one = packet({ deviceId: 'shared', blocks });
  expect((await running.ingest(one, victim.xuser_token)).status).toBe(202);
  expect((await running.ingest({ ...packet({ blocks }), deviceId: 'shared' }, other.xuser_token)).status).toBe(202);
  await running.service.pipeline.checkpoint();
  const { body } = await running.send<{ device_id: string; external_id: string }[]>('GET', '/api/v1/devices');
  const people = body.filter(({ device_id: id }) => id === 'shared').map(({ external_id: id }) => id);
  expect(people).toEqual(['neighbour', 'silent']);
});

// promise: exact-samples
it('gives back what a device sends as floats', async () => {
  const { xuser_id: id, xuser_token: token } = await running.token('float');
  const samples = Float32Array.from({ length: 400 }, (_, i) => 30 + Math.sin(i) / 7);
  for (const seq of [0, 1]) {
    const blocks = [block({ code: 'temp', kind: 'temp', unit: 'Cel' }, samples.subarray(200 * seq, 200 * seq + 200))];
    expect(
      (await running.ingest(packet({ deviceId: 'float', bootId: 'f'.repeat(32), seq, t0DeviceNs: 50n * SEC * BigInt(seq), blocks }), token))
        .status,
    ).toBe(202);
  }
  await running.service.pipeline.ingest.sessions.drop(() => true); // stored, and no longer in memory
  const streams = await running.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${id}`);
  const range = 'since=2020-01-01T00:00:00Z&until=2050-01-01T00:00:00Z&raw=true';
  const stored = async (): Promise<number> => {
    const { rows } = await running.database.pool.query<{ n: number }>(
      'select coalesce(sum(b.n), 0)::float8 as n from sample_block b join stream s on s.id = b.stream_id where s.uuid = $1',
      [streams.body[0]!.id],
    );
    return rows[0]!.n;
  };
  await expect.poll(stored).toBe(400);
  const { body } = await running.send<{ samples: number[] }[]>('GET', `/api/v1/streams/${streams.body[0]!.id}/samples?${range}`);
  expect(body.flatMap((segment) => segment.samples)).toEqual([...samples]);
});

it('answers every question about a person whose device sends the ends of every range', async () => {
  const { xuser_token: token, xuser_id: id } = await running.token('extreme');
  const huge = Number.MAX_VALUE;
  const sent: Packet[] = [
    ...[5e-324, 1e-300, huge, -huge].map((gain) =>
      packet({
        blocks: [
          block(
            { gain },
            wave(1200, (i) => (i % 8) * 100),
          ),
        ],
      }),
    ),
    ...[huge, -huge].map((baseline) =>
      packet({
        blocks: [
          block(
            { baseline },
            wave(1200, (i) => i % 8),
          ),
        ],
      }),
    ),
    packet({
      blocks: [
        block(
          {},
          wave(1200, (i) => (i % 2 === 0 ? 2 ** 31 - 1 : -(2 ** 31))),
        ),
      ],
    }),
    packet({
      blocks: [
        block(
          { gain: 1 },
          Float32Array.from({ length: 1200 }, (_, i) => [Infinity, -Infinity, NaN, 3.4e38, -3.4e38, 1e-45][i % 6]!),
        ),
      ],
    }),
    packet({
      blocks: [
        block(
          { code: 'ecg.ii', kind: 'ecg', rateNanoHz: 1e15 },
          wave(65_000, (i) => i),
          { qmask: new Uint8Array(65_000).fill(1) },
        ),
      ],
    }),
    packet({
      blocks: [
        block(
          { code: 'ecg.ii', kind: 'ecg', rateNanoHz: 999_999_999_999_999 },
          wave(65_000, (i) => i),
          { qmask: new Uint8Array(65_000).fill(2) },
        ),
      ],
    }),
    packet({
      blocks: [
        block(
          { code: 'temp', kind: 'temp', rateNanoHz: 1e6 },
          wave(1, () => 30),
        ),
      ],
    }),
    packet({
      t0DeviceNs: (1n << 62n) - 1n,
      blocks: [
        block(
          {},
          wave(1, () => 3),
        ),
      ],
    }),
    packet({
      t0UnixNs: 0n,
      t0DeviceNs: (1n << 62n) - 1n,
      blocks: [
        block(
          {},
          wave(1, () => 3),
        ),
      ],
    }),
    packet({
      measurements: [huge, -huge, 5e-324, -0, huge].map((value, i) => ({
        code: i === 0 ? 'other' : 'hr',
        tOffsetNs: i * 1e9,
        value,
        unit: '',
        quality: 0,
      })),
      events: [{ code: 'button', tOffsetNs: 86_400e9 - 1, text: '' }],
      t0UnixNs: startNs - 86_400n * SEC,
    }),
    packet({
      measurements: Array.from({ length: 250 }, (_, i) => ({ code: 'hr', tOffsetNs: i * 1e9, value: huge, unit: '', quality: 0 })),
    }),
    packet({
      measurements: Array.from({ length: 250 }, (_, i) => ({ code: 'battery', tOffsetNs: i * 1e9, value: -huge, unit: '%', quality: 0 })),
    }),
  ];
  for (const one of sent) {
    const answer = await running.ingest(one, token);
    expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
  }
  await sleep(1500); // values are computed as they come
  await refreshRollups(running.database);
  await running.service.pipeline.checkpoint();
  const streams = await running.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${id}&limit=1000`);
  expect(streams.body).toHaveLength(sent.length);
  const failed = await failures(
    id,
    streams.body.map((stream) => stream.id),
  );
  expect(failed).toEqual([]);
  expect(running.faults).toEqual([]);
});

/** Asks every GET of the API, and charts of every aggregate and width. @returns those that failed */
async function failures(subjectId: string, streamIds: readonly string[]): Promise<string[]> {
  type Parameter = { name: string; in: string; required?: boolean };
  const { body: api } = await running.send<{ paths: Record<string, { get?: { parameters?: Parameter[] } }> }>(
    'GET',
    '/api-docs/openapi.json',
    { as: '' },
  );
  const out: string[] = [];
  const ask = async (path: string): Promise<void> => {
    const before = running.faults.length;
    const response = await fetch(running.service.baseUrl + path, { headers: { authorization: `Bearer ${running.org.apiKey.key}` } });
    const text = await response.text().catch((error: unknown) => String(error)); // a stream that breaks off
    if (response.status >= 500 || running.faults.length > before) out.push(`${path}: ${text} ${running.faults.slice(before).join()}`);
  };
  const { rows: signals } = await running.database.pool.query<{ id: number }>('select distinct biosignal_id as id from measurement');
  const biosignals = [...new Set([20, ...signals.map((row) => row.id)])];
  for (const [path, { get }] of Object.entries(api.paths)) {
    if (get === undefined || !path.startsWith('/api/v1/')) continue;
    const known: Record<string, readonly string[]> = {
      subject_id: [subjectId],
      since: [new Date(Number(startNs / 1_000_000n) - 10_000).toISOString()],
      until: [new Date(Date.now() + 10_000).toISOString()],
      biosignal_id: biosignals.map(String),
      feature: ['eda_tonic'],
      quality_max: ['2'],
    };
    const inPath = path.includes('{streamId}') ? streamIds : [''];
    for (const streamId of inPath) {
      const filled = path.replace('{streamId}', streamId).replace(/\{xuserId\}|\{subjectId\}|\{userId\}/, subjectId);
      if (filled.includes('{')) continue;
      const names = (get.parameters ?? []).filter((parameter) => parameter.in === 'query' && known[parameter.name] !== undefined);
      const queries = names.reduce<string[]>(
        (made, { name }) => made.flatMap((one) => known[name]!.map((value) => `${one}&${name}=${encodeURIComponent(value)}`)),
        [''],
      );
      for (const query of queries) await ask(`${filled}?${query.slice(1)}`);
    }
  }
  for (const series of [...biosignals.map((id) => ({ biosignal_id: id })), { feature: 'eda_tonic' }, { feature: 'sqi_ecg' }]) {
    for (const agg of ['mean', 'sum', 'min', 'max', 'first', 'last', 'count']) {
      for (const range of ['PT10M', 'PT6H', 'P30D']) {
        const answer = await running.send('POST', '/api/v1/charts/query', {
          body: { subject_id: subjectId, range: { duration: range }, series: [{ ...series, agg }], quality_max: 2 },
        });
        if (answer.status >= 500) out.push(`${JSON.stringify(series)} ${agg} ${range}: ${answer.text}`);
        else if (answer.status !== 200) out.push(`the question is wrong: ${answer.text}`);
      }
    }
  }
  return out;
}

it('takes the times that the interface states, and answers 422 to every other, wherever a time is sent', async () => {
  const { xuser_token: as, xuser_id: id } = await running.token('timeless');
  const catalog = await running.send<{ id: number; abbreviation: string }[]>(
    'GET',
    `/api/v1/projects/${running.org.projectKey}/biosignals`,
  );
  const mood = catalog.body.find(({ abbreviation }) => abbreviation === 'MOOD')!.id;
  const good = ['1900-01-01T00:00:00-14:00', '2199-12-31T23:59:59.999999999+14:00'];
  const bad = [
    '1899-12-31T23:59:59Z',
    '1900-01-01T00:00:00+14:00',
    '2199-12-31T23:59:59-14:00',
    '2200-01-01T00:00:00Z',
    '2262-04-11T23:47:17Z',
    '2300-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
    '0001-01-01T00:00:00Z',
  ];
  const send = {
    measurement: (time: string) =>
      running.send('POST', '/api/v1/measurements', { body: { subject_id: id, measurements: [{ biosignal_id: mood, value: 1, time }] } }),
    mood: (time: string) => running.send('POST', '/api/v1/moods', { as, body: { score: 3, time } }),
    journal: (time: string) => running.send('POST', '/api/v1/journal', { as, body: { text: 'x', time } }),
    episode: (time: string) => running.send('POST', '/api/v1/episodes', { body: { subject_id: id, kind: 'event', started_at: time } }),
  };
  for (const [what, post] of Object.entries(send)) {
    for (const time of good) {
      // nothing was measured or seen in the future
      const status = ['measurement', 'episode'].includes(what) && time.startsWith('2199') ? 422 : 201;
      expect([what, time, (await post(time)).status]).toEqual([what, time, status]);
    }
    for (const time of bad) expect([what, time, (await post(time)).status]).toEqual([what, time, 422]);
  }
  const asked = (time: string): string => encodeURIComponent(time);
  for (const time of [...good, ...bad]) {
    for (const path of [
      `/api/v1/observations?biosignal_id=${mood}&subject_id=${id}&since=${asked(time)}`,
      `/api/v1/moods?since=${asked(time)}`,
      `/api/v1/episodes?subject_id=${id}&until=${asked(time)}`,
    ]) {
      const { status, text } = await running.send('GET', path, path.startsWith('/api/v1/moods') ? { as } : {});
      expect([path, status], text).toEqual([path, good.includes(time) ? 200 : 422]);
    }
  }
});

it('takes a strip along as WFDB whatever gain and baseline its channels have', async () => {
  const { xuser_token: token } = await running.token('gains');
  const ecg = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: 4e9, unit: 'mV' } as const;
  const samples = Int32Array.of(-200, 0, 200, 1000);
  const blocks = [
    block({ ...ecg, gain: -200 }, samples),
    block({ ...ecg, code: 'ecg.v1', gain: 200, baseline: 0.5 }, samples),
    block({ ...ecg, code: 'ecg.v2', gain: 5e-324 }, samples),
    block({ ...ecg, code: 'ecg.v3', gain: 1e-12, baseline: 1e308 }, samples),
    block({ ...ecg, code: 'ecg.v4' }, Float32Array.of(Infinity, -Infinity, NaN, 1)),
  ];
  const one = packet({ blocks });
  expect((await running.ingest(one, token)).status).toBe(202);
  await running.service.pipeline.checkpoint();
  const { body: streams } = await running.send<{ id: string }[]>('GET', '/api/v1/streams', { as: token });
  const at = (sec: number): string => new Date(Number(startNs / 1_000_000n) + sec * 1000).toISOString();
  const path = `/api/v1/streams/${streams[0]!.id}/strip?since=${at(0)}&until=${at(1)}`;
  const response = await fetch(`${running.service.baseUrl}${path}&format=wfdb`, { headers: { authorization: `Bearer ${token}` } });
  const zip = Buffer.from(await response.arrayBuffer());
  expect(response.status, zip.toString()).toBe(200);
  const text = zip.toString('latin1');
  expect(text.match(/channel \S+ is left out/g)).toEqual(['channel ecg.v2 is left out', 'channel ecg.v3 is left out']);
  // Upside down: the first sample is 200 of a gain of 200, and was -200 of one of -200.
  expect(text).toContain('.dat 16 200(0)/mV 16 0 200 ');
});

it('draws a strip of missing, infinite, flat and tiny values, and answers others meanwhile', async () => {
  const { xuser_token: token } = await running.token('drawn');
  const ecg = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: 4e9, unit: 'mV' } as const;
  const shapes: readonly Partial<Block>[] = [
    block(ecg, Float32Array.of(1, NaN, 2, 3)),
    block({ ...ecg, code: 'ecg.v1' }, Float32Array.of(Infinity, 1, -Infinity, 2)),
    block({ ...ecg, code: 'ecg.v2' }, Float32Array.of(NaN, NaN, NaN, NaN)),
    block({ ...ecg, code: 'ecg.v3', unit: 'Pa' }, Float32Array.of(1e30, 1e30, 1e30, 1e30)),
    block({ ...ecg, code: 'ecg.v4', gain: 5e-324, unit: 'Pa' }, Int32Array.of(0, 1, -1, 2)),
    block({ ...ecg, code: 'ecg.v5', gain: 1.7e308, unit: 'Pa' }, Int32Array.of(0, 1, -1, 2)),
    block({ ...ecg, code: 'ecg.v6', baseline: 1e308 }, Int32Array.of(0, 1, -1, 2)),
  ];
  expect((await running.ingest(packet({ blocks: shapes as Block[] }), token)).status).toBe(202);
  await running.service.pipeline.checkpoint();
  const { body: streams } = await running.send<{ id: string }[]>('GET', '/api/v1/streams', { as: token });
  const at = (sec: number): string => new Date(Number(startNs / 1_000_000n) + sec * 1000).toISOString();
  const path = `/api/v1/streams/${streams[0]!.id}/strip?since=${at(0)}&until=${at(1)}`;
  for (const channelOf of shapes) {
    const { code } = channelOf.channel!;
    const svg = await running.send('GET', `${path}&channel=${code}&format=svg`, { as: token });
    expect(svg.status, code).toBe(200);
    expect(svg.text, code).not.toMatch(/NaN|Infinity/);
    expect((await running.send('GET', `${path}&channel=${code}&format=png`, { as: token })).status, code).toBe(200);
  }
  const gap = await running.send('GET', `${path}&channel=ecg.ii`, { as: token });
  expect(gap.text.match(/<path d="M[^"]+"\/>/g)).toHaveLength(3); // the pulse, one sample, and two after the missing one
});

it('does not write out the empty places of a strip of few samples at a high rate', async () => {
  const { xuser_token: token } = await running.token('sparse');
  const fast = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: 1e15, unit: 'mV' } as const;
  expect((await running.ingest(packet({ blocks: [block(fast, Int32Array.of(1))] }), token)).status).toBe(202);
  await running.service.pipeline.checkpoint();
  const { body: streams } = await running.send<{ id: string }[]>('GET', '/api/v1/streams', { as: token });
  const at = (sec: number): string => new Date(Number(startNs / 1_000_000n) + sec * 1000).toISOString();
  const strip = (sec: number) =>
    running.send('GET', `/api/v1/streams/${streams[0]!.id}/strip?since=${at(0)}&until=${at(sec)}&format=wfdb`, { as: token });
  expect((await strip(60)).body).toMatchObject({ status: 400, code: 'range_too_large' });
  expect((await strip(1)).status).toBe(200);
});

it('gives samples from before 1970 in every format', async () => {
  const { xuser_id: subject } = await running.token('archive');
  const blocks = [block({}, Int32Array.of(1, 2, 3, 4))];
  const recordedUnixNs = BigInt(Date.parse('1925-01-01T00:00:00Z')) * 1_000_000n;
  expect((await running.ingest(packet({ subject: 'archive', blocks, recordedUnixNs }))).status).toBe(202);
  await running.service.pipeline.checkpoint();
  const { body: streams } = await running.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${subject}`);
  const path = `/api/v1/streams/${streams[0]!.id}/samples?since=1924-12-31T00:00:00Z&until=1925-01-02T00:00:00Z`;
  for (const accept of ['application/json', 'text/csv', 'application/x-protobuf', 'application/vnd.apache.arrow.stream']) {
    const { status, text } = await running.send('GET', path, { headers: { accept } });
    expect([accept, status, text.slice(0, 200)]).toEqual([accept, 200, text.slice(0, 200)]);
  }
  const bytes = await fetch(`${running.service.baseUrl}${path}`, {
    headers: { accept: 'application/x-protobuf', authorization: `Bearer ${running.org.apiKey.key}` },
  }).then((answer) => answer.arrayBuffer());
  const t0 = Buffer.alloc(9);
  t0[0] = 0x31; // t0_ns, sfixed64
  t0.writeBigInt64LE(recordedUnixNs, 1);
  expect(Buffer.from(bytes).includes(t0)).toBe(true);
});
