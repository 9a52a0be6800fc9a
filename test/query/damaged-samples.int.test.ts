// A stored row of samples whose bytes are damaged on the disk: every answer made of samples comes with a gap in its place, and the operator
// is told once.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../helpers/database.ts';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';

const SECONDS = 20;
const FS = 250;
const startMs = Math.floor((Date.now() - 3_600_000) / 10_000) * 10_000;
const at = (sec: number): string => new Date(startMs + sec * 1000).toISOString();
const range = `since=${at(0)}&until=${at(SECONDS)}`;

let running: RunningService;
let stream: string;
let person: string;

beforeAll(async () => {
  running = await runService();
  person = (await running.token('damaged')).xuser_id;
  for (const packet of ecgPacket({ channels: 1, fs: FS, ms: 1000, count: SECONDS, deviceId: 'of the damaged' })) {
    const t0UnixNs = BigInt(startMs) * 1_000_000n + packet.t0DeviceNs;
    const answer = await running.ingest({ ...packet, subject: 'damaged', t0UnixNs, sentUnixNs: 0n });
    expect(answer.status, answer.text).toBe(202);
  }
  stream = (await running.send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=damaged')).body[0]!.id;
  await until(async () => {
    const { rows } = await running.database.pool.query<{ n: number }>('select coalesce(sum(n), 0)::int as n from sample_block');
    return rows[0]!.n === SECONDS * FS;
  });
});
afterAll(() => running.close());

type Segment = Readonly<{ samples: unknown[] }>;

/** Samples in each answer that is made of stored ones. */
async function counts(): Promise<Record<string, number>> {
  const { send } = running;
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
  const ofSegments = (segments: readonly Segment[]): number => sum(segments.map(({ samples }) => samples.length));
  const samples = await send<Segment[]>('GET', `/api/v1/streams/${stream}/samples?${range}`);
  const overview = await send<{ n: number[] }[]>('GET', `/api/v1/streams/${stream}/overview?${range}&resolution=100ms&buckets=1000`);
  const strip = await send('GET', `/api/v1/streams/${stream}/strip?${range}&format=csv`);
  const exported = await send('GET', `/api/v1/xusers/${person}/export`);
  const chart = await send<{ data: { n?: number }[] }>('POST', '/api/v1/charts/query', {
    body: { subject_id: 'damaged', series: [{ biosignal_id: 1 }], range: { from: at(0), to: at(SECONDS) }, resolution: '1s' },
  });
  expect([samples, overview, strip, exported, chart].map(({ status, text }) => (status === 200 ? status : text))).toEqual(
    Array(5).fill(200),
  );
  const lines = exported.text.trimEnd().split('\n').map((line) => JSON.parse(line) as { table: string; row: Segment }); // prettier-ignore
  return {
    samples: ofSegments(samples.body),
    overview: sum(overview.body[0]!.n),
    strip: strip.text.trimEnd().split('\n').filter((line) => /^\d/.test(line)).length, // prettier-ignore
    exported: ofSegments(lines.filter(({ table }) => table === 'samples').map(({ row }) => row)),
    buckets: chart.body.data.length,
  };
}

test('a damaged row of samples is a gap in every answer, and is reported once', async () => {
  const whole = await counts();
  expect(whole).toMatchObject({ samples: SECONDS * FS, overview: SECONDS * FS, exported: SECONDS * FS });
  const { rows } = await running.database.pool.query<{ n: number }>(
    `update sample_block set codec = substring(codec for length(codec) - 2)
     where time = (select max(time) from sample_block where time < $1) returning n`,
    [at(10)],
  );
  const lost = rows[0]!.n;
  const left = await counts();
  expect(left).toMatchObject({ samples: SECONDS * FS - lost, overview: SECONDS * FS - lost, exported: SECONDS * FS - lost });
  expect(whole['strip']! - left['strip']!).toBe(lost);
  expect(await counts()).toEqual(left);
  const said = running.faults.filter((line) => line.includes('a stored row of samples cannot be unpacked'));
  expect(said.length).toBeGreaterThan(0);
  expect(said.length).toBeLessThanOrEqual(2); // with its time, and from the overview, which does not read it
});
