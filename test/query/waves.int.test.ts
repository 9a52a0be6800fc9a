/** P, QRS and T of single beats, through the whole service: the medians of what /waves gives are the stored medians, whatever the range is
 *  cut into, and every beat that they leave out says why. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../../bench/lib/packets.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { importRecordings } from '../../src/cli/import.ts';
import { makeEctopicEcg } from '../../src/dsp/testing/ecg-fixture.ts';
import type { ChannelConfig } from '../../src/signal.ts';
import { recording } from '../helpers/annotated-recordings.ts';
import { ran } from '../helpers/commands.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

const FS = 500;
const SECONDS = 280;
/** Beats before it are final once there are some ten seconds later. */
const READ_SEC = 240;
/** Not a whole number of microseconds: times are exact all the same. */
const START_NS = 1_767_225_600_123_456_789n;
/** Lost on the way; too noisy to measure; from when on the device has another gain, s. */
const GAP = [120, 130] as const;
const NOISE = [170, 185] as const;
const OTHER_GAIN_SEC = 220;
const formulas = ['bazett', 'fridericia', 'framingham', 'hodges'] as const;
const boundaries = ['p_onset', 'p_peak', 'p_end', 'qrs_onset', 'qrs_end', 't_onset', 't_peak', 't_end'] as const;

type Column = readonly (number | null)[];
type Waves = Readonly<{ method_code: string; channel: string; ts_ns: string[]; use: string[]; kind: string[]; qmask: number[] }> &
  Readonly<Record<'interval_ms' | 'pr_ms' | 'qrs_ms' | 'qt_ms' | `qtc_${(typeof formulas)[number]}_ms`, Column>> &
  Readonly<Record<`${(typeof boundaries)[number]}_ns`, readonly (string | null)[]>>;
type Feature = Readonly<{ name: string; ts_ns: string[]; values: number[] }>;

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running?.close());

/** Nanoseconds are more than a double holds: they are read as text. */
const exact = <T>(text: string): T => JSON.parse(text.replaceAll(/(?<=[[,])\d{16,}/g, '"$&"')) as T;
const timeOf = (ns: bigint): string =>
  `${new Date(Number(ns / 1_000_000n)).toISOString().slice(0, 19)}.${String(ns % 1_000_000_000n).padStart(9, '0')}Z`;

async function read<T>(path: string): Promise<T> {
  const answer = await running.send('GET', path);
  expect(answer.status, answer.text).toBe(200);
  return exact<T>(answer.text);
}

const wavesOf = (stream: string, fromNs: bigint, toNs: bigint, more = ''): Promise<Waves[]> =>
  read(`/api/v1/streams/${stream}/waves?since=${timeOf(fromNs)}&until=${timeOf(toNs)}${more}`);

const featuresOf = (stream: string): Promise<Feature[]> => {
  const names = ['pr', 'qrs', 'qt', ...formulas.map((formula) => `qtc_${formula}`)].map((name) => `${name}_60s`);
  return read(`/api/v1/streams/${stream}/features?names=${names.join()}&limit=10000`);
};

/** Waits for beats ten seconds after a time, with which everything before it is final. */
const settled = (stream: string, ns: bigint): Promise<void> =>
  until(
    async () => (await read<unknown[]>(`/api/v1/streams/${stream}/beats?since=${timeOf(ns + 10_000_000_000n)}&limit=1`)).length > 0,
    60_000,
  );

const streamOf = async (subject: string): Promise<string> =>
  (await running.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${subject}`)).body[0]!.id;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

const correctedQt = {
  bazett: (qt: number, rr: number): number => qt / Math.sqrt(rr),
  fridericia: (qt: number, rr: number): number => qt / Math.cbrt(rr),
  framingham: (qt: number, rr: number): number => qt + 154 * (1 - rr),
  hodges: (qt: number, rr: number): number => qt + 1.75 * (60 / rr - 60),
};

/** Of the beats in (end - 60 s, end], as docs/analyst.md says it: by name; without a value where fewer than ten are used. */
function mediansOf(all: Waves, endNs: bigint): ReadonlyMap<string, number> {
  const inside = all.ts_ns.flatMap((text, i) => (BigInt(text) > endNs - 60_000_000_000n && BigInt(text) <= endNs ? [i] : []));
  const seen = inside.filter((i) => all.use[i] !== 'unseen');
  const medians = new Map<string, number>();
  for (const name of ['pr', 'qrs', 'qt'] as const) {
    const values = inside.filter((i) => all.use[i] === 'used').flatMap((i) => all[`${name}_ms`][i] ?? []);
    if (values.length >= 10) medians.set(`${name}_60s`, median(values));
  }
  const isGood = (i: number | undefined): boolean => i !== undefined && !['suspect', 'bad'].includes(all.use[i]!);
  const intervals = seen.flatMap((i, at) => (isGood(i) && isGood(seen[at - 1]) ? (all.interval_ms[i] ?? []) : []));
  const qt = medians.get('qt_60s');
  if (qt === undefined || intervals.length === 0) return medians;
  const rr = intervals.reduce((a, b) => a + b, 0) / intervals.length / 1000;
  for (const formula of formulas) medians.set(`qtc_${formula}_60s`, correctedQt[formula](qt, rr));
  return medians;
}

/** Holds every stored median up to a time against that of the beats. @returns how many there were of each */
function compare(all: Waves, features: readonly Feature[], untilNs: bigint, within: number): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { name, ts_ns: times, values } of features)
    for (const [i, time] of times.entries()) {
      if (BigInt(time) > untilNs) continue;
      const own = mediansOf(all, BigInt(time)).get(name);
      expect(own, `${name} at ${time}`).toBeDefined();
      expect(Math.abs(own! - values[i]!), `${name} at ${time}: ${own} for ${values[i]}`).toBeLessThanOrEqual(within);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  return counts;
}

const mean = (values: Float64Array): number => values.reduce((a, b) => a + b, 0) / values.length;

const lead: ChannelConfig = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: FS * 1e9, gain: 1000, baseline: 12, unit: 'mV', lead: 'II' };

/** Ten seconds from `at` on. @param leads with the samples of the whole recording, mV */
function send(
  subject: string,
  at: number,
  leads: readonly (ChannelConfig & { samples: Float64Array })[],
): ReturnType<RunningService['ingest']> {
  const t0DeviceNs = BigInt(at) * 1_000_000_000n;
  return running.ingest({
    schemaVersion: 1,
    deviceId: subject,
    bootId: 'c0'.repeat(16),
    seq: at / 10,
    t0DeviceNs,
    t0UnixNs: START_NS + t0DeviceNs,
    sentUnixNs: 0n, // a recording: its wall clock is taken as it is
    subject,
    firmware: '',
    blocks: leads.map(({ samples, ...channel }) => {
      const fs = channel.rateNanoHz / 1e9;
      const digital = Int32Array.from(samples.subarray(at * fs, (at + 10) * fs), (mv) => Math.round(channel.gain * mv) + channel.baseline);
      return { channel, tOffsetNs: 0, samples: digital, qmask: null };
    }),
    measurements: [],
    events: [],
  });
}

describe('an ECG of two leads at 500 Hz with ventricular beats, a gap, noise and another gain', () => {
  let stream: string;
  let all: Waves;
  const endNs = START_NS + BigInt(READ_SEC) * 1_000_000_000n;

  beforeAll(async () => {
    const { beats, pWaves, ventricular } = rhythm();
    const x = makeEctopicEcg({ fs: FS, seconds: SECONDS, beats, pWaves, ventricular });
    const random = seededRandom(5);
    for (let i = NOISE[0] * FS; i < NOISE[1] * FS; i++) x[i] = x[i]! + 3 * (random() - 0.5);
    for (let i = 0; i < x.length; i++) x[i] = x[i]! + 0.2 * Math.sin((2 * Math.PI * 50 * i) / FS); // hum, which is taken off
    const slow = x.map((_, i) => mean(x.subarray(Math.max(0, i - 12), i + 13))); // its QRS complexes are longer
    for (let at = 0; at < SECONDS; at += 10) {
      if (at >= GAP[0] && at < GAP[1]) continue;
      const gain = at < OTHER_GAIN_SEC ? 1000 : 400;
      const sent = await send('ada', at, [
        { ...lead, gain, samples: x },
        { ...lead, code: 'ecg.v5', lead: 'V5', samples: slow },
      ]);
      expect(sent, sent.text).toMatchObject({ status: 202, body: { rejected: [] } });
    }
    stream = await streamOf('ada');
    await settled(stream, endNs);
    [all] = (await wavesOf(stream, START_NS, endNs)) as [Waves];
  });

  it('is one element, of the first lead, with the beats of /beats', async () => {
    const [found] = await read<Pick<Waves, 'method_code' | 'channel' | 'ts_ns' | 'kind' | 'interval_ms'>[]>(
      `/api/v1/streams/${stream}/beats?since=${timeOf(START_NS)}&until=${timeOf(endNs)}`,
    );
    expect(found).toMatchObject({ channel: 'ecg.ii', method_code: all.method_code });
    expect([all.ts_ns, all.kind, all.interval_ms]).toEqual([found!.ts_ns, found!.kind, found!.interval_ms]);
    expect(all.ts_ns.length).toBeGreaterThan(220);
  });

  // promise: waves-are-medians
  it('has the stored medians of PR, QRS, QT and QTc as its own', async () => {
    const counts = compare(all, await featuresOf(stream), endNs, 0.0501);
    for (const name of ['pr', 'qrs', 'qt', ...formulas.map((formula) => `qtc_${formula}`)])
      expect(counts.get(`${name}_60s`), name).toBeGreaterThanOrEqual(3);
  });

  // promise: waves-qtc
  it('has QTc of the interval before each beat, where that lies between good normal beats', () => {
    let [corrected, not] = [0, 0];
    for (const i of all.ts_ns.keys()) {
      const [qt, rr] = [all.qt_ms[i]!, all.interval_ms[i]!];
      const isSinus = all.use[i] === 'used' && all.kind[i - 1] === 'normal' && !['suspect', 'bad'].includes(all.use[i - 1]!);
      for (const formula of formulas) {
        const value = all[`qtc_${formula}_ms`][i]!;
        if (value === null) not++;
        else {
          expect(Math.abs(value - correctedQt[formula](qt, rr / 1000)), `${formula} ${i}`).toBeLessThan(0.01);
          expect(isSinus, `${all.ts_ns[i]} ${all.kind[i]} ${all.use[i]}`).toBe(true);
          corrected++;
        }
      }
    }
    expect(corrected).toBeGreaterThan(4 * 130);
    expect(not).toBeGreaterThan(4 * 20);
  });

  it('has intervals that are those of its boundaries, in their order', () => {
    let count = 0;
    for (const i of all.ts_ns.keys()) {
      const at = (name: (typeof boundaries)[number]): bigint | null => {
        const text = all[`${name}_ns`][i];
        return text === null || text === undefined ? null : BigInt(text);
      };
      const [p, q, s, t] = [at('p_onset'), at('qrs_onset'), at('qrs_end'), at('t_end')];
      for (const [from, to, name] of [
        [p, q, 'pr_ms'],
        [q, s, 'qrs_ms'],
        [q, t, 'qt_ms'],
      ] as const) {
        const interval = all[name][i]!;
        expect(interval === null, name).toBe(from === null || to === null);
        if (from !== null && to !== null) expect(Math.abs(Number(to - from) / 1e6 - interval)).toBeLessThan(0.001);
      }
      const order = boundaries.map(at);
      if (all.use[i] !== 'used' || order.includes(null)) continue;
      expect(order).toEqual(order.toSorted((a, b) => (a! < b! ? -1 : 1)));
      count++;
    }
    expect(count).toBeGreaterThan(130);
  });

  it('says of each beat whether medians use it and why not', () => {
    const secOf = (i: number): number => Number(BigInt(all.ts_ns[i]!) - START_NS) / 1e9;
    const afterGap = all.ts_ns.findIndex((_, i) => secOf(i) >= GAP[1]);
    expect(all.use[afterGap]).not.toBe('used');
    expect(all.interval_ms[afterGap]).toBeNull();
    const uses = new Set(all.use);
    expect([...uses]).toEqual(expect.arrayContaining(['used', 'kind']));
    for (const i of all.ts_ns.keys()) {
      if (secOf(i) > NOISE[0] + 2 && secOf(i) < NOISE[1] - 2) expect(all.qmask[i], `noise at ${secOf(i)}`).toBeGreaterThan(0);
      expect(all.qmask[i] === 0, all.use[i]).toBe(all.use[i] === 'used');
      if (all.use[i] === 'used') expect(all.kind[i]).toBe('normal');
      if (all.kind[i] !== 'normal') expect(all.use[i]).not.toBe('used');
    }
    expect(all.kind.filter((kind, i) => kind === 'ectopic' && all.use[i] === 'kind').length).toBeGreaterThan(8);
  });

  it('is the same in pieces: beats at the ends of a range are measured, too', async () => {
    const pieces: Waves[] = [];
    for (let sec = 0; sec < READ_SEC; sec += 8) {
      const fromNs = START_NS + BigInt(sec) * 1_000_000_000n;
      pieces.push(...(await wavesOf(stream, fromNs, fromNs + 8_000_000_000n)));
    }
    for (const name of Object.keys(all) as (keyof Waves)[])
      if (Array.isArray(all[name]))
        expect(
          pieces.flatMap((piece) => piece[name] as readonly unknown[]),
          name,
        ).toEqual(all[name]);
  });

  it('has milliseconds for programs that have no larger integers', async () => {
    const path = `/api/v1/streams/${stream}/waves?since=${timeOf(START_NS)}&until=${timeOf(endNs)}&ts_unit=ms`;
    const [found] = await read<Record<string, Column>[]>(path);
    expect(Object.keys(found!)).not.toContain('ts_ns');
    const inMs = (text: string | null): number | null => (text === null ? null : Number(BigInt(text) / 1000n) / 1000);
    expect(found!['ts_ms']).toEqual(all.ts_ns.map(inMs));
    expect(found!['t_end_ms']).toEqual(all.t_end_ns.map(inMs));
    expect(found!['qt_ms']).toEqual(all.qt_ms);
  });

  it('measures another lead of these beats when it is named', async () => {
    const [other] = await wavesOf(stream, START_NS, endNs, '&channel=ecg.v5');
    expect(other).toMatchObject({ channel: 'ecg.v5', ts_ns: all.ts_ns, use: all.use });
    const qrsOf = ({ qrs_ms: qrs, use }: Waves): number => median(qrs.flatMap((ms, i) => (use[i] === 'used' ? (ms ?? []) : [])));
    expect(qrsOf(other!)).toBeGreaterThan(qrsOf(all) + 15);
  });

  it('refuses more than five minutes, a range that ends before it begins, and a channel without an ECG', async () => {
    const path = `/api/v1/streams/${stream}/waves`;
    const asked = async (query: string): Promise<unknown> => {
      const { status, body } = await running.send<{ code: string }>('GET', `${path}?${query}`);
      return [status, body.code];
    };
    const since = timeOf(START_NS);
    expect(await asked(`since=${since}&until=${timeOf(START_NS + 300_000_000_001n)}`)).toEqual([400, 'range_too_large']);
    expect(await asked(`since=${since}&until=${timeOf(START_NS + 300_000_000_000n)}`)).toEqual([200, undefined]);
    expect(await asked(`since=${since}&until=${since}`)).toEqual([422, 'validation_failed']);
    expect(await asked(`since=${since}`)).toEqual([422, 'validation_failed']);
    expect(await asked(`since=${since}&until=${timeOf(endNs)}&channel=ppg.ir`)).toEqual([422, 'validation_failed']);
    expect(await wavesOf(stream, START_NS - 300_000_000_000n, START_NS - 200_000_000_000n)).toEqual([]);
    const far = await createOrganization(running.database.pool, 'Far');
    const foreign = await running.send('GET', `${path}?since=${since}&until=${timeOf(endNs)}`, { as: far.apiKey.key });
    expect(foreign.status).toBe(404);
  });
});

it('of a device that changed its rate are those of each rate', async () => {
  const { beats, pWaves, ventricular } = rhythm();
  for (let at = 0; at < 200; at += 10) {
    const fs = at < 100 ? 250 : FS;
    const samples = makeEctopicEcg({ fs, seconds: SECONDS, beats, pWaves, ventricular });
    expect(await send('bea', at, [{ ...lead, rateNanoHz: fs * 1e9, samples }])).toMatchObject({ status: 202, body: { rejected: [] } });
  }
  const stream = await streamOf('bea');
  const endNs = START_NS + 160_000_000_000n;
  await settled(stream, endNs);
  const both = await wavesOf(stream, START_NS, endNs);
  expect(both.map(({ channel }) => channel)).toEqual(['ecg.ii', 'ecg.ii']);
  for (const { use } of both) expect(use.filter((one) => one === 'used').length).toBeGreaterThan(40);
});

/** A heart of 0.9 s, a little irregular, every twentieth beat of which is ventricular. */
function rhythm(): { beats: number[]; pWaves: number[]; ventricular: number[] } {
  const random = seededRandom(7);
  const beats: number[] = [];
  const ventricular: number[] = [];
  for (let t = 1, n = 1; t < SECONDS - 2; n++) {
    if (n % 20 === 0) {
      beats.push(t - 0.36);
      ventricular.push(t - 0.36);
    } else beats.push(t);
    t += 0.9 + 0.05 * (random() - 0.5);
  }
  const wide = new Set(ventricular);
  return { beats, pWaves: beats.filter((beat) => !wide.has(beat)).map((beat) => beat - 0.17), ventricular };
}

const real = ['mitdb/119.hea', 'mitdb/208.hea'].map(recording);

describe.each(real.filter((file) => file !== null))('the recording %s', (file) => {
  // promise: waves-are-medians
  it('has the stored medians as its own, over half an hour', async () => {
    const [start, subject] = ['2025-11-20T08:00:00Z', `real-${file.slice(-7, -4)}`];
    const { baseUrl: url, firstKey: key } = running.service;
    const options = { env: { BIO_URL: url, BIO_KEY: key ?? running.org.apiKey.key }, cwd: process.cwd() };
    const { code, err } = await ran(importRecordings, [file, '--subject', subject, '--start', start, '--json'], options);
    expect(code, err.join('\n')).toBe(0);
    const stream = await streamOf(subject);
    const startNs = BigInt(Date.parse(start)) * 1_000_000n;
    const lastNs = startNs + 1_740_000_000_000n;
    await until(
      async () => (await featuresOf(stream)).find(({ name }) => name === 'qrs_60s')?.ts_ns.some((ns) => BigInt(ns) >= lastNs) === true,
      120_000,
    );
    const pieces: Waves[] = [];
    for (let at = startNs; at < lastNs; at += 290_000_000_000n) pieces.push(...(await wavesOf(stream, at, at + 290_000_000_000n)));
    const all = Object.fromEntries(
      Object.keys(pieces[0]!).map((name) => [name, pieces.flatMap((piece) => piece[name as keyof Waves] as unknown[])]),
    ) as unknown as Waves;
    // a thousandth of a millisecond, to which beats are written, may decide on which side of half a step a median lies
    const counts = compare(all, await featuresOf(stream), lastNs, 0.0511);
    expect(counts.get('qrs_60s')).toBeGreaterThan(40);
  });
});
