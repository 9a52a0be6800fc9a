/** Episodes in the whole service, from packets: made by the API, by an event of a device, and by rules on what the signal chain found; each
 *  with its strip as SVG, PNG, CSV and WFDB. And samples and features in every format, equal to one another. */
import { readFileSync } from 'node:fs';
import { crc32, inflateSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import protobuf from 'protobufjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../../bench/lib/packets.ts';
import { parseHeader } from '../../src/formats/wfdb-header.ts';
import { decodeGroup } from '../../src/formats/wfdb-read.ts';
import { isRejected } from '../../src/errors.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { applyRules } from '../../src/records/episode-rules.ts';
import { ownRules } from '../../src/records/own-rules.ts';
import { until } from '../helpers/database.ts';
import { ecgPackets, ECG_FS as FS } from '../helpers/ecg-packets.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(async () => {
  expect(running.faults).toEqual([]);
  await running.close();
});

const startMs = Math.floor((Date.now() - 400_000) / 1000) * 1000;
const at = (sec: number): string => new Date(startMs + sec * 1000).toISOString();

const ecgOf = (deviceId: string, subject: string, seconds: number, rrSec: (sec: number) => number): Packet[] =>
  ecgPackets({ deviceId, subject, startMs, seconds, rrSec });

type Artifact = Readonly<{ kind: string; starts_at: string; ends_at: string; renditions: Readonly<Record<string, string>> }>;
type Episode = Readonly<{
  id: string;
  kind: string;
  title: string;
  severity: string;
  created_by: string;
  started_at: string;
  artifacts: Artifact[];
}>;

async function send(packets: readonly Packet[]): Promise<void> {
  for (const packet of packets) {
    const answer = await running.ingest(packet);
    expect(answer, answer.text).toMatchObject({ status: 202, body: { rejected: [] } });
  }
}

async function episodesOf(subject: string): Promise<Episode[]> {
  const list = await running.send<Episode[]>('GET', `/api/v1/episodes?subject_id=${subject}`);
  return await Promise.all(list.body.map(async ({ id }) => (await running.send<Episode>('GET', `/api/v1/episodes/${id}`)).body));
}

const bytesOf = async (path: string): Promise<{ status: number; type: string; bytes: Buffer }> => {
  const response = await fetch(running.service.baseUrl + path, { headers: { authorization: `Bearer ${running.org.apiKey.key}` } });
  return { status: response.status, type: response.headers.get('content-type') ?? '', bytes: Buffer.from(await response.arrayBuffer()) };
};

describe('an episode made by the API', () => {
  it('that a release before closed is reviewed after the upgrade, one that was only acknowledged is not', async () => {
    await running.token('upgraded');
    const made: string[] = [];
    for (let i = 0; i < 3; i++) {
      const body = { subject_id: 'upgraded', kind: 'exercise', started_at: at(5), ended_at: at(25) };
      made.push((await running.send<Episode>('POST', '/api/v1/episodes', { body })).body.id);
    }
    const [closed, acknowledged] = made; // and one that nobody touched
    await running.send('PATCH', `/api/v1/episodes/${closed}`, { body: { status: 'closed' } });
    await running.send('POST', `/api/v1/episodes/${acknowledged}/acknowledgement`, { body: { note: 'seen' } });
    const { pool } = running.database;
    await pool.query('update episode set reviewed_at = null where id = any ($1)', [made]);
    const [step] = /^update episode [^;]*;/m.exec(readFileSync('sql/000093-episode-reviewed.sql', 'utf8'))!;
    await pool.query(step);
    const { rows } = await pool.query<{ id: string }>('select id from episode where id = any ($1) and reviewed_at is not null', [made]);
    expect(rows).toEqual([{ id: closed }]);
  });

  // promise: ended-not-reviewed
  it('is reviewed when someone has closed it, not when it was acknowledged or named', async () => {
    const { xuser_id: id } = await running.token('reviewed');
    const body = { subject_id: 'reviewed', kind: 'exercise', started_at: at(5), ended_at: at(25) };
    const made = await running.send<Episode>('POST', '/api/v1/episodes', { body });
    const path = `/api/v1/episodes/${made.body.id}`;
    const answers = async (): Promise<unknown[]> => {
      const lists = [`/api/v1/episodes?subject_id=${id}`, '/api/v1/fleet/episodes'];
      const of = await Promise.all(lists.map((list) => running.send<(Episode & { is_reviewed: unknown })[]>('GET', list)));
      const one = await running.send<{ is_reviewed: unknown }>('GET', path);
      return [one.body, ...of.map((list) => list.body.find((other) => other.id === made.body.id)!)].map((each) => each.is_reviewed);
    };
    const patch = (change: object) => running.send('PATCH', path, { body: change });
    expect(await answers()).toEqual([false, false, false]);
    expect((await running.send('POST', `${path}/acknowledgement`, { body: { note: 'seen' } })).status).toBe(200);
    expect(await answers()).toEqual([false, false, false]);
    expect((await patch({ title: 'On the stairs', summary: { steps: 90 } })).status).toBe(200);
    expect(await answers()).toEqual([false, false, false]);
    expect((await patch({ status: 'closed' })).status).toBe(200);
    expect(await answers()).toEqual([true, true, true]);
    expect((await patch({ severity: 'low' })).status).toBe(200);
    expect(await answers()).toEqual([true, true, true]);
    expect((await patch({ status: 'open' })).status).toBe(200);
    expect(await answers()).toEqual([false, false, false]);
    expect((await patch({ ended_at: at(30) })).status).toBe(200);
    expect(await answers()).toEqual([true, true, true]);
    expect((await patch({ status: 'cancelled' })).status).toBe(200);
    expect(await answers()).toEqual([false, false, false]);
  });

  // promise: episodes-near
  it('lies on the recording that it names, or within a day of it, and so do artifacts', async () => {
    const { xuser_id: id } = await running.token('near');
    await send(ecgOf('near-1', id, 20, () => 0.8));
    const places = 'select from stream where xuser_id = $1 and recorded_from is not null and last_sample_at is not null';
    await until(async () => (await running.database.pool.query(places, [id])).rowCount === 1, 20_000);
    const stream = (await running.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${id}`)).body[0]!.id;
    const make = (from: string, to: string | null) =>
      running.send<Episode & { errors?: object[] }>('POST', '/api/v1/episodes', {
        body: { subject_id: id, stream_id: stream, kind: 'exercise', started_at: from, ...(to !== null && { ended_at: to }) },
      });
    const day = 86_400;
    const refused = { status: 422, body: { errors: [{ pointer: '/started_at', code: 'range' }] } };
    expect(await make(at(-1000 * day), null)).toMatchObject(refused);
    expect(await make(at(-1000 * day), at(-2 * day))).toMatchObject(refused);
    expect((await make(at(-1000 * day), at(5))).status).toBe(201);
    const near = await make(at(-day + 60), at(-day + 90));
    expect(near.status).toBe(201);
    const add = (from: string) =>
      running.send('POST', `/api/v1/episodes/${near.body.id}/artifacts`, { body: { kind: 'strip', stream_id: stream, starts_at: from } });
    expect(await add(at(-1000 * day))).toMatchObject({ status: 422, body: { errors: [{ pointer: '/starts_at', code: 'range' }] } });
    expect(await add(at(2 * day))).toMatchObject({ status: 422, body: { errors: [{ pointer: '/starts_at', code: 'range' }] } });
    expect((await add(at(1))).status).toBe(201);
  });

  // promise: strip, strip-paper
  it('has a strip of its beginning as SVG, PNG, CSV and WFDB, all of the same samples', async () => {
    const { xuser_id: id } = await running.token('by-api');
    const packets = ecgOf('api-1', id, 90, () => 0.8);
    await send(packets);
    const streams = await running.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${id}`);
    const body = { subject_id: 'by-api', stream_id: streams.body[0]?.id, kind: 'exercise', started_at: at(5), ended_at: at(25) };
    const made = await running.send<Episode>('POST', '/api/v1/episodes', { body });
    expect(made.status, made.text).toBe(201);
    const { renditions } = made.body.artifacts[0]!;
    expect(Object.keys(renditions)).toEqual(['svg', 'png', 'csv', 'wfdb']);
    const expected = packets.flatMap((packet) => Array.from(packet.blocks[0]!.samples)).slice(5 * FS, 15 * FS);
    let csv = '';
    await until(async () => (csv = (await bytesOf(renditions['csv']!)).bytes.toString()).split('\n').length > 10 * FS);

    const rows = csv.trimEnd().split('\n').slice(1);
    expect(rows.map((row) => Math.round(Number(row.split(',')[2]) * 200))).toEqual(expected);

    // Beats are marked as soon as the service has found them.
    let svg = await bytesOf(renditions['svg']!);
    await until(async () => (svg = await bytesOf(renditions['svg']!)).bytes.includes('class="mark'), 30_000);
    expect(svg.type).toBe('image/svg+xml');
    const drawing = svg.bytes.toString();
    // 10 s of 25 mm after 10 mm for the calibration pulse, and printed at that size.
    expect(drawing).toMatch(/<path d="M40 [\d.]+L40\.4 [\d.]+/);
    expect(drawing).toMatch(/viewBox="0 0 1040 \d+" width="260mm"/);
    for (const words of [
      'by-api',
      'ECG',
      '(ecg.ii)',
      '25 mm/s',
      '10 mm/mV',
      '10 s',
      /[A-Z][a-z]{2} \d{1,2}, 2\d{3}, \d{1,2}:\d\d:\d\d(\.\d{3})? [AP]M UTC/,
      'derived:r_peaks',
    ]) {
      expect(drawing).toMatch(words);
    }
    // The person has no time zone of their own: it is the project's.
    const { pool } = running.database;
    await pool.query(`update project set time_zone = 'Asia/Kolkata'`);
    expect((await bytesOf(renditions['svg']!)).bytes.toString()).toContain('GMT+05:30');
    await pool.query(`update project set time_zone = 'UTC'`);
    // 1 mV is 10 mm, in the pulse as in the trace.
    const pulse = /<path d="M4 ([\d.]+)L10 \1L10 ([\d.]+)L30 \2L30 \1L36 \1"/.exec(drawing);
    expect(Number(pulse?.[1]) - Number(pulse?.[2])).toBe(40);
    const heights = [...drawing.matchAll(/<path d="M40 [^"]+"/g)].flatMap(([path]) =>
      [...path.matchAll(/[ML][\d.]+ ([\d.]+)/g)].map((at) => Number(at[1])),
    );
    const millivolts = expected.map((value) => value / 200);
    expect(Math.max(...heights) - Math.min(...heights)).toBeCloseTo(40 * (Math.max(...millivolts) - Math.min(...millivolts)), 0);

    const png = await bytesOf(renditions['png']!);
    expect(png.type).toBe('image/png');
    const picture = readPng(png.bytes);
    expect([`${picture.width}`, `${picture.height}`]).toEqual(/viewBox="0 0 (\d+) (\d+)"/.exec(drawing)?.slice(1));
    // Dark pixels stand where the trace is: a beat each 80 px stands out of the rest, each with its mark above.
    const columnsWith = (color: number, top: number, rows: number): boolean[] =>
      Array.from({ length: 1000 }, (_, x) => Array.from({ length: rows }, (__, y) => picture.pixel(x + 40, y + top)).includes(color));
    const columns = columnsWith(3, 100, 30);
    const marks = columnsWith(5, 50, 8);
    expect(marks.filter((dark, x) => dark && marks[x - 1] === false).length).toBeGreaterThanOrEqual(12);
    const beats = columns.filter((dark, x) => dark && columns[x - 1] === false).length;
    expect(beats).toBeGreaterThanOrEqual(12);
    expect(beats).toBeLessThanOrEqual(13);

    const zip = await bytesOf(renditions['wfdb']!);
    expect(zip.type).toBe('application/zip');
    const files = unzip(zip.bytes);
    const [hea, dat] = [...files.keys()].toSorted((a, b) => b.localeCompare(a));
    const header = parseHeader(files.get(hea ?? '')!.toString('latin1'));
    if (isRejected(header)) throw new Error(header.detail);
    const leads = decodeGroup(files.get(dat ?? '')!, header.signals, header);
    if (isRejected(leads)) throw new Error(leads.detail);
    expect(header.fs).toBe(FS);
    expect(Array.from(leads[0]!.samples)).toEqual(expected);
  });
});

describe('an episode made by an event of a device', () => {
  it('is made once however often the packet arrives, with the strip around it; other events make none', async () => {
    const { xuser_id: id } = await running.token('by-device');
    const packets = ecgOf('device-1', id, 60, () => 0.8);
    const events = [
      { code: 'button', tOffsetNs: 2_000_000_000, text: '\n\t' },
      { code: 'leads_off', tOffsetNs: 3_000_000_000, text: '' },
      { code: 'fall', tOffsetNs: 4_000_000_000, text: 'in\tthe\r\nbathroom\n' },
    ];
    await send(packets.map((packet, seq) => (seq === 2 ? { ...packet, events } : packet)));
    await running.ingest({ ...packets[2]!, events }); // again
    await until(async () => (await episodesOf(id)).length >= 2);
    const found = await episodesOf(id);
    expect(found).toMatchObject([
      {
        kind: 'fall',
        title: 'in the bathroom',
        severity: 'high',
        created_by: 'device:device-1',
        started_at: expect.stringContaining(at(24).slice(0, 19)),
      },
      { kind: 'button', title: 'Marked by the wearer', severity: 'low', started_at: expect.stringContaining(at(22).slice(0, 19)) },
    ]);
    const png = await bytesOf(found[1]!.artifacts[0]!.renditions['png']!);
    expect(readPng(png.bytes).width).toBe(3040);
  });
});

describe('an episode made by a rule', () => {
  // promise: own-rules
  it.each([
    ['tachycardia', 'sustained', 240, (): number => 60 / 150],
    ['bradycardia', 'slow', 240, (): number => 60 / 35],
    ['irregular_rhythm', 'irregular', 360, seededRr()],
    ['pause', 'paused', 240, onePause()],
    ['ventricular_run', 'run', 240, oneRun()],
  ] as const)('%s: opened from the packets alone, with its strip', async (kind, name, seconds, rrSec) => {
    const { xuser_id: id } = await running.token(name);
    await send(ecgOf(`rule-${name}`, id, seconds, rrSec));
    const { pool } = running.database;
    await until(async () => {
      await applyRules(pool, ownRules);
      return (await episodesOf(id)).some((episode) => episode.kind === kind);
    }, 30_000);
    const episode = (await episodesOf(id)).find((one) => one.kind === kind)!;
    expect(episode.created_by).toBe(`rule:${kind}_v1`);
    const svg = await bytesOf(episode.artifacts[0]!.renditions['svg']!);
    expect(svg.bytes.toString()).toContain('<path d="M0 ');
    expect((await bytesOf(episode.artifacts[0]!.renditions['png']!)).status).toBe(200);
  });

  // promise: strip-of-event
  it.each([
    ['longest_rr_10s', 2500, onePause, 'pause'],
    ['ventricular_run_10s', 2, oneRun, 'ventricular_run'],
  ] as const)(
    'has a strip of what its value speaks of, its own rules and those of a project: %s',
    async (feature, threshold, rhythm, kind) => {
      const name = `shown-${kind}`;
      const { xuser_id: id } = await running.token(name);
      const rule = { name, kind: 'of_project', feature, comparison: 'above', threshold, sustain_sec: 0, quality_max: 1, subject_id: name };
      const made = await running.send<{ id: string }>('POST', `/api/v1/projects/${running.org.projectId}/rules`, { body: rule });
      expect(made.status, made.text).toBe(201);
      // The same rhythm, which moments a test wants to know.
      const beats: number[] = [];
      const rrSec = rhythm();
      await send(
        ecgOf(`rule-${name}`, id, 240, (sec) => {
          beats.push(sec);
          return rrSec();
        }),
      );
      const intervals = beats.slice(1).map((sec, i) => ({ from: beats[i]!, to: sec, lasts: sec - beats[i]! }));
      const odd = intervals.filter(({ lasts }) => (kind === 'pause' ? lasts > 2.5 : lasts < 0.5)).slice(-4);
      await until(async () => {
        await applyRules(running.database.pool, ownRules);
        return new Set((await episodesOf(id)).map((episode) => episode.created_by)).size === 2;
      }, 30_000);
      for (const { created_by: by, artifacts } of await episodesOf(id)) {
        const strip = artifacts[0]!;
        // With the beats around it.
        expect(Date.parse(strip.starts_at), by).toBeLessThan(Date.parse(at(odd[0]!.from - 0.2)));
        expect(Date.parse(strip.ends_at), by).toBeGreaterThan(Date.parse(at(odd.at(-1)!.to)));
        expect(Date.parse(strip.ends_at) - Date.parse(strip.starts_at), by).toBeLessThanOrEqual(kind === 'pause' ? 15_000 : 10_000);
      }
    },
  );

  // promise: own-rules
  it('is not made for a calm rhythm', async () => {
    const { xuser_id: id } = await running.token('calm');
    await send(ecgOf('rule-calm', id, 240, () => 0.85));
    await until(async () => (await running.send<unknown[]>('GET', `/api/v1/streams?subject_id=${id}`)).body.length === 1);
    await applyRules(running.database.pool, ownRules);
    expect(await episodesOf(id)).toEqual([]);
  });
});

describe('formats', () => {
  // promise: sample-forms
  it('of samples and features agree to the bit', async () => {
    const { xuser_id: id } = await running.token('formats');
    const packets = ecgOf('formats-1', id, 120, () => 0.8);
    await send(packets);
    const streams = await running.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${id}`);
    const path = `/api/v1/streams/${streams.body[0]!.id}`;
    const get = async (address: string, accept: string): Promise<Buffer> => {
      const response = await fetch(running.service.baseUrl + address, {
        headers: { authorization: `Bearer ${running.org.apiKey.key}`, accept },
      });
      expect(response.status, accept).toBe(200);
      expect(response.headers.get('content-type')).toContain(accept);
      return Buffer.from(await response.arrayBuffer());
    };
    const samples = `${path}/samples?since=${at(1)}&until=${at(4)}`;
    await until(async () => (await get(samples, 'application/json')).length > 3 * FS);
    const json = JSON.parse((await get(samples, 'application/json')).toString()) as { samples: number[]; gain: number; baseline: number }[];
    const digital = packets[0]!.blocks[0]!.samples.slice(FS, 4 * FS);
    const schema = protobuf.parse(readFileSync(new URL('../../proto/query.proto', import.meta.url), 'utf8')).root;

    const list = schema.lookupType('SampleSegmentList').decode(await get(samples, 'application/x-protobuf')) as unknown as {
      segments: { samplesDelta: number[]; rateNanoHz: { toString: () => string }; t0Ns: { toString: () => string }; channel: string }[];
    };
    let value = 0;
    expect(list.segments.flatMap((segment) => segment.samplesDelta.map((delta) => (value += delta)))).toEqual(Array.from(digital));
    expect(list.segments[0]).toMatchObject({ channel: 'ecg.ii' });
    expect(list.segments[0]!.t0Ns.toString()).toBe(`${startMs + 1000}000000`);
    expect(list.segments[0]!.rateNanoHz.toString()).toBe('250000000000');

    const table = tableFromIPC(await get(samples, 'application/vnd.apache.arrow.stream'));
    expect(table.schema.fields.map((field) => field.name)).toEqual(['ts_ns', 'channel', 'value', 'quality']);
    expect(table.numRows).toBe(digital.length);
    expect(Array.from(table.getChild('value')!.toArray() as Float64Array)).toEqual(json.flatMap((segment) => segment.samples));
    expect((table.batches[0]!.data.children[0]!.values as BigInt64Array)[1]).toBe(BigInt(startMs + 1000) * 1_000_000n + 4_000_000n);
    expect(table.get(0)!.toJSON()).toMatchObject({ channel: 'ecg.ii', quality: 0 });

    const features = `${path}/features`;
    let text = '';
    let packed: Buffer = Buffer.alloc(0);
    await until(async () => {
      text = (await get(features, 'application/json')).toString();
      packed = await get(features, 'application/x-protobuf');
      return text.includes('hr_ecg') && text === (await get(features, 'application/json')).toString(); // none came between the two
    });
    const series = JSON.parse(text.replaceAll(/(\d{19})/g, '"$1"')) as {
      name: string;
      ts_ns: string[];
      values: number[];
      qmask: number[];
    }[];
    const wire = schema.lookupType('FeatureSeriesList').decode(packed) as unknown as {
      series: { name: string; tsNs: { toString: () => string }[]; values: number[]; qmask: number[]; methodCode: string }[];
    };
    expect(wire.series.map((one) => ({ name: one.name, ts_ns: one.tsNs.map(String), values: one.values, qmask: one.qmask }))).toEqual(
      series.map(({ name, ts_ns, values, qmask }) => ({ name, ts_ns, values, qmask })),
    );
    expect(wire.series[0]!.methodCode).toMatch(/^derived:/);

    const refused = await fetch(running.service.baseUrl + features, {
      headers: { authorization: `Bearer ${running.org.apiKey.key}`, accept: 'image/png' },
    });
    expect(refused.status).toBe(406);
  });
});

/** Calm, but for one interval of 4 s. */
function onePause(): () => number {
  let beat = 0;
  return () => (++beat === 100 ? 4 : 0.85);
}

/** Four ventricular beats in a row; and one, and two. */
function oneRun(): () => number {
  const early = new Set([60, 90, 91, 120, 121, 122, 123]);
  let beat = 0;
  return () => (early.has(++beat) ? 0.45 : early.has(beat - 1) ? 1.15 : 0.85);
}

function seededRr(): () => number {
  const random = seededRandom(5);
  return () => 0.55 + 0.6 * random();
}

/** Reads a PNG of 8-bit palette without filters, checking every checksum. */
function readPng(bytes: Buffer): { width: number; height: number; pixel: (x: number, y: number) => number } {
  expect(bytes.subarray(0, 8)).toEqual(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
  const chunks = new Map<string, Buffer>();
  for (let offset = 8; offset < bytes.length;) {
    const length = bytes.readUInt32BE(offset);
    const body = bytes.subarray(offset + 4, offset + 8 + length);
    expect(bytes.readUInt32BE(offset + 8 + length)).toBe(crc32(body));
    chunks.set(body.toString('latin1', 0, 4), body.subarray(4));
    offset += 12 + length;
  }
  const header = chunks.get('IHDR')!;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const rows = inflateSync(chunks.get('IDAT')!);
  expect(rows.length).toBe((width + 1) * height);
  return { width, height, pixel: (x, y) => rows[y * (width + 1) + 1 + x]! };
}

/** Reads a ZIP of stored files by its central directory. */
function unzip(bytes: Buffer): Map<string, Buffer> {
  const end = bytes.length - 22;
  expect(bytes.readUInt32LE(end)).toBe(0x06054b50);
  const files = new Map<string, Buffer>();
  let at = bytes.readUInt32LE(end + 16);
  for (let i = 0; i < bytes.readUInt16LE(end + 10); i++) {
    expect(bytes.readUInt32LE(at)).toBe(0x02014b50);
    const size = bytes.readUInt32LE(at + 24);
    const nameLength = bytes.readUInt16LE(at + 28);
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength);
    const local = bytes.readUInt32LE(at + 42);
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const data = bytes.subarray(start, start + size);
    expect(crc32(data)).toBe(bytes.readUInt32LE(at + 16));
    files.set(name, data);
    at += 46 + nameLength;
  }
  return files;
}
