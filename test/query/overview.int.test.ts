// Overviews of waveforms equal what the samples of the same range give, at every step: from rows, from decoded rows, and from memory.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Packet } from '../../src/proto/packet.ts';
import { biosignal } from '../../src/proto/generated/generated.js';
import { runService, type Answer, type RunningService } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running?.close());

type Overview = Readonly<{
  channel: string;
  rate_hz: number;
  t0_ns: bigint;
  step_ms: number;
  min: (number | null)[];
  max: (number | null)[];
  n: number[];
  suspect_n: number[];
  bad_n: number[];
}>;
type Segment = Readonly<{
  channel: string;
  rate_hz: number;
  gain: number;
  unit: string;
  t0_ns: bigint;
  samples: (number | null)[];
  qmask: number[] | null;
}>;

/** Numbers that look random and are the same in every run. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const withBigints = <T extends { t0_ns: bigint }>(text: string): T[] =>
  (JSON.parse(text.replaceAll(/"t0_ns":(-?\d+)/g, '"t0_ns":"$1"')) as { t0_ns: string }[]).map(
    (item) => ({ ...item, t0_ns: BigInt(item.t0_ns) }) as T,
  );

async function samplesOf(stream: string, range: string): Promise<Segment[]> {
  const segments: Segment[] = [];
  for (let path: string | null = `/api/v1/streams/${stream}/samples?${range}`; path !== null;) {
    const answer: Answer = await running.send('GET', path);
    expect(answer.status, answer.text).toBe(200);
    segments.push(...withBigints<Segment>(answer.text));
    path = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]?.replace(running.service.baseUrl, '') ?? null;
  }
  return segments;
}

/** What a client computes from the samples, by channel and bucket. */
function fromSamples(segments: readonly Segment[], zeroNs: bigint, stepMs: number): Map<string, unknown> {
  const buckets = new Map<string, { min: number | null; max: number | null; n: number; suspect_n: number; bad_n: number }>();
  for (const segment of segments) {
    const stepNs = BigInt(stepMs) * 1_000_000n;
    for (const [i, value] of segment.samples.entries()) {
      const ns = segment.t0_ns + BigInt(Math.round((i * 1e9) / segment.rate_hz)) - zeroNs;
      const key = `${segment.channel} ${segment.rate_hz} ${zeroNs + (ns / stepNs) * stepNs}`;
      const bucket = buckets.get(key) ?? { min: null, max: null, n: 0, suspect_n: 0, bad_n: 0 };
      const flag = segment.qmask?.[i] ?? 0;
      bucket.n++;
      if (flag === 1) bucket.suspect_n++;
      if (flag === 2) bucket.bad_n++;
      else if (value !== null) {
        bucket.min = Math.min(bucket.min ?? value, value);
        bucket.max = Math.max(bucket.max ?? value, value);
      }
      buckets.set(key, bucket);
    }
  }
  return buckets;
}

function byBucket(overviews: readonly Overview[]): Map<string, unknown> {
  const buckets = new Map<string, unknown>();
  for (const { channel, rate_hz: rate, t0_ns: t0, step_ms: step, min, max, n, suspect_n, bad_n } of overviews) {
    for (const [i, count] of n.entries()) {
      const key = `${channel} ${rate} ${t0 + BigInt(i) * BigInt(step) * 1_000_000n}`;
      if (count > 0) buckets.set(key, { min: min[i], max: max[i], n: count, suspect_n: suspect_n[i], bad_n: bad_n[i] });
      else expect([min[i], max[i], suspect_n[i], bad_n[i]]).toEqual([null, null, 0, 0]);
    }
    expect(n[0]! > 0 && n.at(-1)! > 0).toBe(true);
  }
  return buckets;
}

type Signal = Readonly<{
  device: string;
  rateNanoHz: number;
  gain: number;
  kind: 'int' | 'float' | 'wide';
  packetSec: number;
  count: number;
}>;

/** Samples sent in all. */
let sent = 0;

/** Sends the two packets of a device that were held back. */
const sendLate = new Map<string, () => Promise<void>>();

/** A recording with gaps, doubtful samples and a second configuration of its channel halfway. */
async function send({ device, rateNanoHz, gain, kind, packetSec, count }: Signal, startMs: number): Promise<string> {
  const roll = dice(rateNanoHz % 65_537);
  const token = await running.token(device);
  const packets: Packet[] = [];
  for (let seq = 0; seq < count; seq++) {
    if (seq > 0 && roll(6) === 0) continue;
    const length = Math.round((packetSec * rateNanoHz) / 1e9) - (roll(4) === 0 ? roll(20) : 0);
    const t0DeviceNs = BigInt(seq * packetSec) * 1_000_000_000n;
    const level = roll(1000) - 500;
    const value = (): number => (kind === 'wide' ? 2_000_000_001 - roll(200_000_000) : level + roll(100));
    const floats = (): number => (roll(40) === 0 ? [NaN, Infinity, -Infinity][roll(3)]! : Math.fround(level + roll(100) / 7));
    const samples = kind === 'float' ? Float32Array.from({ length }, floats) : Int32Array.from({ length }, value);
    const rate = 2 * seq < count ? rateNanoHz : rateNanoHz / 2;
    const configuration = {
      code: 'ecg.ii',
      kind: 'ecg',
      rateNanoHz: rate,
      gain,
      baseline: kind === 'float' ? 0 : 7,
      unit: 'mV',
      lead: 'II',
    } as const;
    const qmask = roll(2) === 0 ? null : Uint8Array.from({ length }, (_, k) => (k % 700 < 300 ? 0 : seq % 3));
    packets.push({
      schemaVersion: 1,
      deviceId: device,
      bootId: Buffer.from(device.padEnd(16, '.')).toString('hex').slice(0, 32),
      seq,
      t0DeviceNs,
      t0UnixNs: BigInt(startMs) * 1_000_000n + t0DeviceNs,
      sentUnixNs: 0n,
      subject: '',
      firmware: '',
      blocks: [
        {
          channel: configuration,
          tOffsetNs: 0,
          samples: samples.slice(0, rate === rateNanoHz ? length : length >> 1),
          qmask: qmask && qmask.slice(0, rate === rateNanoHz ? length : length >> 1),
        },
      ],
      measurements: [],
      events: [],
    });
  }
  const late = packets.splice(3, 2);
  const post = async (some: readonly Packet[]): Promise<void> => {
    for (const packet of some) {
      const answer = await running.ingest(packet, token.xuser_token);
      expect(answer, answer.text).toMatchObject({ status: 202, body: { rejected: [] } });
      sent += packet.blocks[0]!.samples.length;
    }
  };
  await post(packets);
  sendLate.set(device, () => post(late));
  const { rows } = await running.database.pool.query<{ uuid: string }>(
    'select s.uuid from stream s join device d on d.id = s.device_id where d.external_id = $1',
    [device],
  );
  return rows[0]!.uuid;
}

/** Holds every step against the samples. @returns the steps seen */
async function compare(stream: string, sinceMs: number, untilMs: number, resolutions: readonly string[]): Promise<number[]> {
  const { rows } = await running.database.pool.query<{ epoch_ns: string }>('select epoch_ns::text from stream where uuid = $1', [stream]);
  const zeroNs = BigInt(rows[0]!.epoch_ns);
  const steps: number[] = [];
  for (const resolution of resolutions) {
    const range = `since=${new Date(sinceMs).toISOString()}&until=${new Date(untilMs).toISOString()}`;
    const answer = await running.send('GET', `/api/v1/streams/${stream}/overview?${range}&resolution=${resolution}&buckets=5000`);
    expect(answer.status, answer.text).toBe(200);
    const overviews = withBigints<Overview>(answer.text);
    const stepMs = overviews[0]!.step_ms;
    // Whole buckets: the samples of the range that they cover.
    const step = BigInt(stepMs) * 1_000_000n;
    const floor = (ns: bigint): bigint => zeroNs + (ns <= zeroNs ? 0n : ((ns - zeroNs) / step) * step);
    const [fromNs, toNs] = [floor(BigInt(sinceMs) * 1_000_000n), floor(BigInt(untilMs) * 1_000_000n + step - 1n)];
    const iso = (ns: bigint): string =>
      `${new Date(Number(ns / 1_000_000_000n) * 1000).toISOString().slice(0, 19)}.${String(ns % 1_000_000_000n).padStart(9, '0')}Z`;
    const segments = await samplesOf(stream, `since=${iso(fromNs)}&until=${iso(toNs)}`);
    expect(byBucket(overviews), `${resolution}: steps of ${stepMs} ms`).toEqual(fromSamples(segments, zeroNs, stepMs));
    steps.push(stepMs);
  }
  return steps;
}

/** Waits until every sample is in the table, the rows that stay incomplete too: up to 9 s. */
const stored = (): Promise<void> =>
  until(async () => {
    const { rows } = await running.database.pool.query<{ n: number }>('select coalesce(sum(n), 0)::int as n from sample_block');
    return rows[0]!.n === sent;
  }, 60_000);

describe('an overview', () => {
  const startMs = Date.UTC(2026, 0, 5, 7, 11, 13, 456);
  const signals: readonly Signal[] = [
    { device: 'rows-of-4-s', rateNanoHz: 250e9, gain: 200, kind: 'int', packetSec: 7, count: 40 },
    { device: 'rows-of-8-s', rateNanoHz: 50e9, gain: 3, kind: 'int', packetSec: 61, count: 60 },
    { device: 'odd', rateNanoHz: 130e9, gain: 4096, kind: 'int', packetSec: 5, count: 40 },
    { device: 'floats', rateNanoHz: 512e9, gain: 1, kind: 'float', packetSec: 3, count: 30 },
    { device: 'wide', rateNanoHz: 1000e9, gain: 1000, kind: 'wide', packetSec: 3, count: 30 },
  ];

  const streams = new Map<string, string>();
  const streamOf = (device: string): string => streams.get(device)!;

  // promise: overview-equals-samples
  it.each(signals)('equals the samples, the newest still in memory: $device', async (signal) => {
    const stream = await send(signal, startMs);
    streams.set(signal.device, stream);
    const untilMs = startMs + signal.packetSec * signal.count * 1000;
    expect(await compare(stream, startMs - 10_000, untilMs, ['2s', '1m'])).toEqual([2000, 60_000]);
  });

  it.each(signals)('equals the samples, all in the table: $device', async ({ device, packetSec, count }) => {
    await stored();
    const untilMs = startMs + packetSec * count * 1000;
    await compare(streamOf(device), startMs - 10_000, untilMs, ['200ms', '1s', '8s', '32s', '1m', '1h']);
    await compare(streamOf(device), startMs + 12_345, startMs + 71_003, ['5ms', '4s', '1m', '5m']);
  });

  it.each(signals)('equals the samples, late ones still in memory: $device', async ({ device, packetSec, count }) => {
    await sendLate.get(device)!();
    await compare(streamOf(device), startMs - 10_000, startMs + packetSec * count * 1000, ['500ms', '4s', '1m', '1h']);
  });

  // promise: overview-binary
  it('is the same as protobuf', async () => {
    const path = `/api/v1/streams/${streamOf('rows-of-4-s')}/overview?since=2026-01-05T07:11:00Z&until=2026-01-05T07:17:00Z&resolution=2s`;
    const json = withBigints<Overview>((await running.send('GET', path)).text);
    expect(json.length).toBe(2);
    const answer = await fetch(running.service.baseUrl + path, {
      headers: { authorization: `Bearer ${running.org.apiKey.key}`, accept: 'application/x-protobuf' },
    });
    const { channels } = biosignal.v1.ChannelOverviewList.decode(new Uint8Array(await answer.arrayBuffer()));
    const read = channels.map((one) => ({
      channel: one.channel,
      kind: one.kind,
      unit: one.unit,
      lead: one.lead,
      rate_hz: Number(one.rateNanoHz) / 1e9,
      t0_ns: BigInt(String(one.t0Ns)),
      step_ms: Number(one.stepMs),
      min: one.min?.map((value) => (Number.isNaN(value) ? null : value)),
      max: one.max?.map((value) => (Number.isNaN(value) ? null : value)),
      n: one.n,
      suspect_n: one.suspectN,
      bad_n: one.badN,
    }));
    expect(read).toEqual(json);
  });

  // promise: overview-fits
  it('becomes coarser until it fits, and is refused beyond hours', async () => {
    const ask = (query: string) => running.send<{ code?: string }>('GET', `/api/v1/streams/${streamOf('rows-of-8-s')}/overview?${query}`);
    const day = 'since=2026-01-05T07:00:00Z&until=2026-01-06T07:00:00Z';
    const stepOf = async (query: string): Promise<number> => withBigints<Overview>((await ask(query)).text)[0]!.step_ms;
    expect(await stepOf(day)).toBe(60_000);
    expect(await stepOf(`${day}&buckets=100`)).toBe(900_000);
    expect(await stepOf(`${day}&buckets=5000&resolution=2m`)).toBe(120_000);
    const years = await ask('since=2000-01-01T00:00:00Z&until=2026-06-01T00:00:00Z');
    expect([years.status, years.body.code]).toEqual([400, 'range_too_large']);
    const backwards = await ask('since=2026-01-06T00:00:00Z&until=2026-01-05T00:00:00Z');
    expect([backwards.status, backwards.body.code]).toEqual([422, 'validation_failed']);
    expect((await ask('since=2026-01-07T00:00:00Z&until=2026-01-08T00:00:00Z')).text).toBe('[]');
    expect((await ask(`${day}&channels=ppg.ir`)).text).toBe('[]');
  });
});
