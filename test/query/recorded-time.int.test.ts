/** Time means the time of the recording. Data recorded long before arrival (an import, a watch that was offline for weeks) are in every
 *  answer about the time of recording, and in none about the time of arrival. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { LiveClient } from '../../sdk/live-client.ts';
import type { Command } from '../../src/cli/command.ts';
import { exportRecordings } from '../../src/cli/export.ts';
import { importRecordings } from '../../src/cli/import.ts';
import { openRecording } from '../../src/cli/client/recording.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { writeRecord } from '../../src/formats/wfdb-write.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { ran } from '../helpers/commands.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const SECONDS = 130;
const BRIEF_SECONDS = 50;
const FS = 250;
const DAY_MS = 86_400_000;
const HR_ECG = 20;

let running: RunningService;
let work: string;
let ecg: Int32Array;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-time-'));
  ecg = createSimulatedDevice({ seed: 4, channels: ['ecg.ii'], heartRateBpm: 72 }).next(SECONDS * 1000).runs[0]!.samples as Int32Array;
  const brief = ecg.slice(0, BRIEF_SECONDS * FS);
  await writeRecord(work, { name: 'brief', fs: FS, leads: [{ name: 'II', gain: 1000, baseline: 0, unit: 'mV', samples: brief }] });
  await writeRecord(work, { name: 'year-ago', fs: FS, leads: [{ name: 'II', gain: 1000, baseline: 0, unit: 'mV', samples: ecg }] });
  running = await runService({ BIO_DSP_IDLE_FLUSH_MS: '500' });
});
afterAll(async () => {
  await running?.close();
  rmSync(work, { recursive: true, force: true });
});

/** @returns the lines that it wrote */
async function run(command: Command, ...args: string[]): Promise<string[]> {
  const env = { DATABASE_URL: running.database.url, BIO_URL: running.service.baseUrl, BIO_KEY: running.org.apiKey.key };
  const { code, out, err } = await ran(command, args, { env, cwd: work });
  expect(code, err.join('\n')).toBe(0);
  return [...out, ...err];
}

/** Packets of a second from a device: its clock at device time 0 as it believes, and when it says that it sends. */
function secondsOf(
  deviceId: string,
  subject: string,
  times: { zeroUnixNs: bigint; sentUnixNs: (seq: number) => bigint },
  range = [0, SECONDS],
): Packet[] {
  const channel = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: FS * 1e9, gain: 1000, baseline: 0, unit: 'mV', lead: 'II' } as const;
  return Array.from({ length: range[1]! - range[0]! }, (_, i) => {
    const seq = range[0]! + i;
    const t0DeviceNs = BigInt(seq) * 1_000_000_000n;
    return {
      schemaVersion: 1,
      deviceId,
      bootId: 'feedfacefeedfacefeedfacefeedface',
      seq,
      t0DeviceNs,
      t0UnixNs: times.zeroUnixNs + t0DeviceNs,
      sentUnixNs: times.sentUnixNs(seq),
      subject,
      firmware: '',
      blocks: [{ channel, tOffsetNs: 0, samples: ecg.slice(seq * FS, (seq + 1) * FS), qmask: null }],
      measurements: [],
      events: [],
    };
  });
}

/** The first one settles when the stream began. */
async function sendAll(packets: readonly Packet[]): Promise<void> {
  for (const some of [packets.slice(0, 1), packets.slice(1)])
    for (const sent of await Promise.all(some.map((packet) => running.ingest(packet)))) expect(sent.status, sent.text).toBe(202);
}

type Window = readonly [fromMs: number, toMs: number];
const iso = (ms: number): string => new Date(ms).toISOString();

type Listed = { id: string; recorded_from: string | null; started_at: string; last_sample_at: string | null; time_source: string };

/** How many rows each bounded question has about a person, by question. */
async function answers(subject: string, [fromMs, toMs]: Window): Promise<Record<string, number>> {
  const window = `since=${iso(fromMs)}&until=${iso(toMs)}`;
  const get = async (path: string): Promise<unknown[]> => {
    const answer = await running.send<unknown[]>('GET', path);
    expect(answer.status, `${path}: ${answer.text}`).toBe(200);
    return answer.body;
  };
  const chart = async (series: object): Promise<number> => {
    const body = { subject_id: subject, series: [series], range: { from: iso(fromMs), to: iso(toMs) } };
    const answer = await running.send<{ data: unknown[][] }>('POST', '/api/v1/charts/query', { body });
    expect(answer.status, answer.text).toBe(200);
    return answer.body.data.length;
  };
  const streams = (await get(`/api/v1/streams?subject_id=${subject}`)) as Listed[];
  const { id } = streams.at(-1)!;
  const derived = `/api/v1/observations?biosignal_id=${HR_ECG}&subject_id=${subject}`;
  const bundle = await running.send<{ entry?: unknown[] }>('GET', `${derived}&${window}`, { headers: { accept: 'application/fhir+json' } });
  return {
    streams: (await get(`/api/v1/streams?subject_id=${subject}&${window}`)).length,
    observations: (await get(`${derived}&${window}`)).length,
    ascending: (await get(`${derived}&order=asc&${window}`)).length,
    chart: await chart({ biosignal_id: HR_ECG }),
    waveform: await chart({ biosignal_id: 1 }),
    features: ((await get(`/api/v1/streams/${id}/features?names=hr_ecg&${window}`)) as { values: unknown[] }[])[0]?.values.length ?? 0,
    beats: ((await get(`/api/v1/streams/${id}/beats?${window}`)) as { ts_ns: unknown[] }[])[0]?.ts_ns.length ?? 0,
    samples: (await get(`/api/v1/streams/${id}/samples?${window}`)).length,
    bundle: bundle.body.entry?.length ?? 0,
  };
}

/** Lines of `export --format fhir` of a person and a range. */
async function exported(subject: string, [fromMs, toMs]: Window): Promise<number> {
  const range = ['--since', iso(fromMs), '--until', iso(toMs)];
  const [file] = await run(exportRecordings, subject, '--format', 'fhir', '--out', join(work, `${subject}-${fromMs}`), ...range);
  return readFileSync(file!, 'utf8').trimEnd().split('\n').filter(Boolean).length;
}

const everything = Object.fromEntries(
  ['streams', 'observations', 'ascending', 'chart', 'waveform', 'features', 'beats', 'samples', 'bundle'].map((name) => [
    name,
    expect.toSatisfy((n) => (n as number) > 0),
  ]),
);
const nothing = Object.fromEntries(Object.keys(everything).map((name) => [name, 0]));

/** The minutes of a recording are computed, and what is known of it is saved. */
async function computed(subject: string, fromMs: number, seconds = SECONDS): Promise<void> {
  const lastMs = fromMs + (seconds - 10) * 1000;
  await until(async () => {
    const { rows } = await running.database.pool.query<{ done: boolean }>(
      `select exists (select from feature f join stream s on s.id = f.stream_id join xuser x on x.id = s.xuser_id
         where x.external_id = $1 and f.time >= to_timestamp($2))
       and exists (select from stream s join xuser x on x.id = s.xuser_id
         where x.external_id = $1 and s.last_sample_at >= to_timestamp($2)) as done`,
      [subject, lastMs / 1000],
    );
    return rows[0]!.done;
  }, 60_000);
}

/** Windows that hold the recording and end before it arrived, and windows that do not touch it. */
async function expectByRecordedTime(subject: string, startMs: number): Promise<void> {
  await computed(subject, startMs);
  const endMs = startMs + SECONDS * 1000;
  expect(await answers(subject, [startMs - 60_000, endMs + 60_000])).toEqual(everything);
  expect(await answers(subject, [startMs, endMs])).toEqual(everything);
  expect(await answers(subject, [startMs - 2 * DAY_MS, startMs - DAY_MS])).toEqual(nothing);
  expect(await answers(subject, [endMs + 60_000, endMs + DAY_MS])).toEqual(nothing);
  expect(await answers(subject, [Date.now() - 600_000, Date.now() + DAY_MS])).toEqual(nothing); // when it arrived
}

describe.concurrent('a recording is found by when it was recorded', () => {
  // promise: import-time, recorded-times
  test('an import of a year ago', async () => {
    const startMs = Math.floor(Date.now() / 60_000) * 60_000 - 365 * DAY_MS;
    await run(importRecordings, join(work, 'year-ago.hea'), '--start', iso(startMs), '--subject', 'history');
    await expectByRecordedTime('history', startMs);
    expect(await exported('history', [startMs, startMs + SECONDS * 1000])).toBeGreaterThan(0);
    expect(await exported('history', [startMs - DAY_MS, startMs])).toBe(0);
    const [stream] = (await running.send<Listed[]>('GET', '/api/v1/streams?subject_id=history')).body;
    expect(Date.parse(stream!.recorded_from!)).toBe(startMs);
    expect(Date.parse(stream!.last_sample_at!)).toBe(startMs + SECONDS * 1000);
    expect(Math.abs(Date.parse(stream!.started_at) - Date.now())).toBeLessThan(120_000);
    const { body: devices } = await running.send<{ external_id: string; lag_ms: number | null; last_packet_at: string }[]>(
      'GET',
      '/api/v1/devices',
    );
    const device = devices.find((one) => one.external_id === 'history');
    expect(device).toMatchObject({ lag_ms: null, last_packet_at: expect.any(String) as string }); // it is no live recording that is a year late
  });

  // promise: recorded-times
  test('a watch that uploads three weeks late, and then uploads older data', async () => {
    const startMs = Math.floor(Date.now() / 60_000) * 60_000 - 21 * DAY_MS;
    const times = { zeroUnixNs: BigInt(startMs) * 1_000_000n, sentUnixNs: () => BigInt(Date.now()) * 1_000_000n };
    const packets = secondsOf('watch', 'late', times);
    await sendAll(packets.slice(60));
    const recordedFrom = async (): Promise<number> =>
      Date.parse((await running.send<Listed[]>('GET', '/api/v1/streams?subject_id=late')).body[0]!.recorded_from ?? '');
    await until(async () => (await recordedFrom()) === startMs + 60_000, 30_000);
    await sendAll(packets.slice(0, 60));
    await until(async () => (await recordedFrom()) === startMs, 30_000);
    await expectByRecordedTime('late', startMs);
  });

  // promise: clock-rules
  test('recordings of a device whose clock was never set are placed by the age of their packets', async () => {
    const zeroUnixNs = 1_000n * 1_000_000_000n; // a quarter of an hour after 1970
    const sentNs = zeroUnixNs + BigInt(3 * DAY_MS) * 1_000_000n;
    const beganMs = Date.now();
    await sendAll(secondsOf('unset', 'unset', { zeroUnixNs, sentUnixNs: () => sentNs }));
    const startMs = beganMs - 3 * DAY_MS;
    await computed('unset', startMs);
    expect(await answers('unset', [startMs - 60_000, startMs + SECONDS * 1000 + 60_000])).toEqual(everything);
    expect(await answers('unset', [startMs - 2 * DAY_MS, startMs - DAY_MS])).toEqual(nothing);
    expect(await answers('unset', [Date.now() - 600_000, Date.now() + DAY_MS])).toEqual(nothing);
  });

  test('a list of recordings is sorted by recorded time, and its pages neither skip nor repeat one', async () => {
    const startMs = Math.floor(Date.now() / 60_000) * 60_000 - 400 * DAY_MS;
    // Arrival in another order than recording.
    for (const months of [3, 1, 4, 0, 2])
      await run(
        importRecordings,
        join(work, 'year-ago.hea'),
        '--start',
        iso(startMs + months * 30 * DAY_MS),
        '--subject',
        'sorted',
        '--device',
        `m${months}`,
      );
    await until(async () => {
      const listed = await running.send<Listed[]>('GET', '/api/v1/streams?subject_id=sorted');
      return listed.body.filter((stream) => stream.recorded_from !== null).length === 5;
    }, 30_000);
    const seen: string[] = [];
    for (let path: string | undefined = '/api/v1/streams?subject_id=sorted&limit=2'; path !== undefined;) {
      const page: Awaited<ReturnType<typeof running.send<Listed[]>>> = await running.send<Listed[]>('GET', path);
      seen.push(...page.body.map((stream) => stream.recorded_from!));
      path = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
    }
    expect(seen.map((time) => Date.parse(time))).toEqual([4, 3, 2, 1, 0].map((months) => startMs + months * 30 * DAY_MS));
  });
});

// promise: history-not-live
test('a live viewer does not see historic values among current ones', async () => {
  const features: bigint[] = [];
  const { apiKey } = running.org;
  const viewer = new LiveClient({
    baseUrl: running.service.baseUrl,
    subject: (await running.token('watched')).xuser_id,
    token: () => apiKey.key,
    onFrame: (frame) => void features.push(...frame.features.map(({ tsNs }) => tsNs)),
  });
  try {
    await until(() => viewer.state === 'live');
    await run(importRecordings, join(work, 'brief.hea'), '--start', '1955-05-05T05:05:05Z', '--subject', 'watched');
    await computed('watched', Date.parse('1955-05-05T05:05:05Z'), BRIEF_SECONDS);
    // A device that sends now: values travel with the frames of samples.
    const startMs = Date.now() - 60_000;
    const times = { zeroUnixNs: BigInt(startMs) * 1_000_000n, sentUnixNs: () => BigInt(Date.now()) * 1_000_000n };
    const packets = secondsOf('patch', 'watched', times);
    await sendAll(packets.splice(0, 60));
    for (let next = packets.shift(); next !== undefined && features.length === 0; next = packets.shift()) {
      await until(() => Date.now() >= startMs + (next!.seq + 1) * 1000 || features.length > 0);
      await sendAll([next]);
    }
    expect(features.length).toBeGreaterThan(0);
    expect(features.filter((tsNs) => tsNs < BigInt(startMs) * 1_000_000n)).toEqual([]);
    expect(running.faults).toEqual([]);
  } finally {
    viewer.close();
  }
});

/** The calendar of recordings ends at both of its ends; archives shift dates to anonymise them. */
const starts = [
  '1900-01-01T00:00:00Z',
  '1969-12-31T23:59:30Z', // ends in 1970, on both sides of the zero of Unix time
  '1989-04-24T16:13:00Z',
  '1999-11-03T22:15:00.25Z',
  '2012-06-01T08:00:00Z',
  '2084-12-31T12:00:00Z',
  '2181-07-09T03:04:05Z',
  '2199-12-31T23:50:00Z',
];

describe.concurrent('a recording keeps the start that it states', () => {
  // promise: stated-times, import-time
  test.each(starts)('%s, through import, the tables, every answer, EDF, and import again', async (start) => {
    const startMs = Date.parse(start);
    const windows = {
      inside: [startMs - 60_000, startMs + BRIEF_SECONDS * 1000] as const,
      now: [Date.now() - 600_000, Date.now() + DAY_MS] as const,
    };
    const name = `born-${start.slice(0, 4)}-${starts.indexOf(start)}`;
    const said = await run(importRecordings, join(work, 'brief.hea'), '--start', start, '--subject', name);
    expect(said.filter((line) => line.startsWith('device'))).toEqual([]); // no notice
    await computed(name, startMs, BRIEF_SECONDS);
    const [stream] = (await running.send<Listed[]>('GET', `/api/v1/streams?subject_id=${name}`)).body;
    expect(stream).toMatchObject({ time_source: 'stated' });
    expect(Date.parse(stream!.recorded_from!)).toBe(startMs);
    const inside: Window = [Math.max(windows.inside[0], Date.UTC(1900, 0, 1)), windows.inside[1]];
    expect(await answers(name, inside)).toEqual(everything);
    expect(await answers(name, windows.now)).toEqual(nothing);

    // A table without rows is not written.
    const tables = await run(exportRecordings, name, '--format', 'parquet', '--out', join(work, name));
    expect(tables.map((path) => path.split('.').at(-2))).toEqual(['samples', 'beats', 'features']);
    const [edf] = await run(exportRecordings, name, '--format', 'edf', '--out', join(work, name));
    const file = await openRecording(edf!);
    expect(file.startUnixNs).toBe(BigInt(startMs) * 1_000_000n);
    await run(importRecordings, edf!, '--subject', `${name}-again`);
    const again = (): Promise<Listed[]> =>
      running.send<Listed[]>('GET', `/api/v1/streams?subject_id=${name}-again`).then((answer) => answer.body);
    await until(async () => Date.parse((await again())[0]!.recorded_from ?? '') === startMs, 30_000);
    const [csv] = await run(exportRecordings, `${name}-again`, '--format', 'csv', '--out', join(work, `${name}-again`));
    const back = await openRecording(csv!);
    expect(back.startUnixNs).toBe(BigInt(startMs) * 1_000_000n);
    expect(back.channels[0]!.samples.length).toBe(BRIEF_SECONDS * FS);
    const quality = await running.send<{ external_id: string }[]>('GET', '/api/v1/signal-quality?hours=168');
    expect(quality.body.filter((row) => row.external_id === name)).toEqual([]); // of the last days
    expect(running.faults).toEqual([]);
  });

  // promise: stated-times, limit-times
  test('a start outside of the calendar is refused, and so is a person who states one', async () => {
    const [packet] = secondsOf('app', 'app', { zeroUnixNs: 0n, sentUnixNs: () => 0n }, [0, 1]);
    for (const year of [1899, 2200]) {
      const recordedUnixNs = BigInt(Date.UTC(year, 6, 1)) * 1_000_000n;
      expect((await running.ingest({ ...packet!, recordedUnixNs })).body.code).toBe('packet_clock');
    }
    const { xuser_token: token } = await running.token('app');
    expect((await running.ingest({ ...packet!, recordedUnixNs: 0n }, token)).body.code).toBe('credential_kind');
  });

  // promise: wall-clock-steps
  test('a wall clock that is set in the middle of a boot changes nothing', async () => {
    const startMs = Date.now() - 10_000;
    const times = { zeroUnixNs: BigInt(startMs) * 1_000_000n, sentUnixNs: () => BigInt(Date.now()) * 1_000_000n };
    const stepsSec = [0, 3600, -86_400];
    for (const packet of secondsOf('stepped', 'stepped', times, [0, 3])) {
      const stepNs = BigInt(stepsSec[packet.seq]!) * 1_000_000_000n;
      const sent = await running.ingest({ ...packet, t0UnixNs: packet.t0UnixNs + stepNs, sentUnixNs: packet.sentUnixNs + stepNs });
      expect(sent.status, sent.text).toBe(202);
    }
    const [stream] = (await running.send<Listed[]>('GET', '/api/v1/streams?subject_id=stepped')).body;
    const path = `/api/v1/streams/${stream!.id}/samples?since=${iso(startMs)}&until=${iso(startMs + 3000)}&raw=true`;
    const { body } = await running.send<{ samples: number[] }[]>('GET', path);
    expect(body.flatMap(({ samples }) => samples)).toEqual(Array.from(ecg.slice(0, 3 * FS)));
  });

  // promise: clock-rules, notices
  test('an implausible clock is replaced, and the sender is told', async () => {
    const said = async (deviceId: string, changes: Partial<Packet>): Promise<readonly [string, string | undefined]> => {
      const [packet] = secondsOf(deviceId, deviceId, { zeroUnixNs: 0n, sentUnixNs: () => 0n }, [0, 1]);
      const first = await running.ingest({ ...packet!, ...changes });
      expect(first.status, first.text).toBe(202);
      const { notices = [] } = first.body as { notices?: string[] };
      const second = await running.ingest({ ...packet!, ...changes, seq: 1, t0DeviceNs: 1_000_000_000n });
      expect(second.text).not.toContain('notices'); // once
      const [stream] = (await running.send<Listed[]>('GET', `/api/v1/streams?subject_id=${deviceId}`)).body;
      return [stream!.time_source, notices[0]];
    };
    const ns = (time: string): bigint => BigInt(Date.parse(time)) * 1_000_000n;
    const now = BigInt(Date.now()) * 1_000_000n;
    expect(await said('y1989', { t0UnixNs: ns('1989-01-02T03:04:05Z') })).toEqual([
      'arrival',
      expect.stringContaining(
        "the device's clock says 1989-01-02T03:04:05Z, which is not believed; the recording is placed by its arrival",
      ),
    ]);
    expect(await said('slow', { t0UnixNs: now - 3_602_000_000_000n, sentUnixNs: now - 3_600_000_000_000n })).toEqual([
      'age',
      expect.stringMatching(/the device's clock is 36\d\d s slow; the recording is placed by the age of its packets$/),
    ]);
    expect(await said('right', { t0UnixNs: now, sentUnixNs: BigInt(Date.now()) * 1_000_000n })).toEqual(['device', undefined]);
    expect(await said('none', {})).toEqual(['arrival', undefined]);
  });

  // promise: retention-notice
  test('an import that retention will delete says so', async () => {
    const other = await createOrganization(running.database.pool, 'Short');
    const set = await running.send('PUT', `/api/v1/projects/${other.projectId}/settings`, {
      as: other.apiKey.key,
      body: { retention: { samples_days: 30, features_days: null, beats_days: null }, consent_required: [] },
    });
    expect(set.status, set.text).toBe(200);
    const args = [join(work, 'brief.hea'), '--subject', 'short', '--key', other.apiKey.key];
    const said = await run(importRecordings, ...args, '--start', '2011-01-01T00:00:00Z');
    expect(said.join('\n')).toMatch(/samples are kept 30 days: those before \d{4}-\d\d-\d\dT[\d:]+Z will be deleted/);
    const young = await run(importRecordings, ...args, '--start', iso(Date.now() - 7 * DAY_MS));
    expect(young.join('\n')).not.toContain('are kept');
  });
});
