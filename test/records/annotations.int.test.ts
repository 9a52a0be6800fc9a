/** Annotations through the whole service, on a recording that was sent as packets: versions, who may, corrections of beats and the
 *  variability of both. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const FS = 250;
const SECONDS = 120;
const DAY_SEC = 86_400;
/** Beats lie so far apart, but for one extra beat half way between two. */
const RR_SEC = 0.8;
const EXTRA_SEC = 60.5 + RR_SEC / 2;
const startMs = Math.floor((Date.now() - 600_000) / 1000) * 1000;
const at = (sec: number): string => new Date(startMs + sec * 1000).toISOString();

type Annotation = Readonly<{ id: string; version: number; text: string; beat: string | null; deleted: boolean; made_by: string }>;
type Detail = Annotation & Readonly<{ versions: readonly Annotation[] }>;
type Summary = Readonly<{ beat_count: number; other_count: number; nn_count: number; rmssd_ms: number | null; mean_hr: number | null }>;
type Series = Readonly<{ computed: Summary; corrected: Summary; corrections: readonly { beat: string; found_kind: string | null }[] }>;

let running: RunningService;
let person: Readonly<{ id: string; token: string }>;
let stream: string;

beforeAll(async () => {
  running = await runService();
  const { xuser_id: id, xuser_token: token } = await running.token('marked');
  person = { id, token };
  const beats: number[] = [EXTRA_SEC];
  for (let sec = 0.5; sec < SECONDS - 0.5; sec += RR_SEC) beats.push(sec);
  const samples = new Int32Array(SECONDS * FS);
  for (const beat of beats) {
    for (let i = Math.floor((beat - 0.1) * FS); i < (beat + 0.1) * FS && i < samples.length; i++) {
      const t = i / FS - beat;
      samples[i] = samples[i]! + Math.round(240 * Math.exp(-(t * t) / 2e-4));
    }
  }
  const channel = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: FS * 1e9, gain: 200, baseline: 0, unit: 'mV', lead: 'II' } as const;
  for (let seq = 0; seq < SECONDS / 10; seq++) {
    const t0DeviceNs = BigInt(seq) * 10_000_000_000n;
    const answer = await running.ingest({
      schemaVersion: 1,
      deviceId: 'marked-device',
      bootId: '00'.repeat(16),
      seq,
      t0DeviceNs,
      t0UnixNs: BigInt(startMs) * 1_000_000n + t0DeviceNs,
      sentUnixNs: 0n,
      subject: id,
      firmware: '',
      blocks: [{ channel, tOffsetNs: 0, samples: samples.slice(seq * 10 * FS, (seq + 1) * 10 * FS), qmask: null }],
      measurements: [],
      events: [],
    });
    expect(answer.status, answer.text).toBe(202);
  }
  stream = (await running.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${id}`)).body[0]!.id;
  await until(async () => {
    const { body } = await running.send<{ ts_ns: number[] }[]>('GET', `/api/v1/streams/${stream}/beats`);
    return (body[0]?.ts_ns.length ?? 0) >= (SECONDS - 30) / RR_SEC;
  });
  // Where the recording begins and ends is written with its next look at the database.
  await until(async () => {
    const { body } = await running.send<{ recorded_from: string | null }[]>('GET', `/api/v1/streams?subject_id=${id}`);
    return body[0]!.recorded_from !== null;
  });
});
afterAll(async () => {
  expect(running.faults).toEqual([]);
  await running.close();
});

async function make(body: object): Promise<Detail> {
  const answer = await running.send<Detail>('POST', '/api/v1/annotations', { body: { stream_id: stream, ...body } });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}

const list = async (query: string): Promise<readonly Annotation[]> =>
  (await running.send<Annotation[]>('GET', `/api/v1/annotations?stream_id=${stream}&${query}`)).body;

it('keeps every version of an annotation, and lists the newest until it is taken back', async () => {
  const { id } = await make({ kind: 'note', starts_at: at(10), ends_at: at(20), text: 'first' });
  const changed = await running.send<Detail>('PATCH', `/api/v1/annotations/${id}`, { body: { text: 'second', ends_at: null } });
  expect(changed.body).toMatchObject({ version: 2, text: 'second', ends_at: null });
  expect(changed.body.versions.map(({ version, text }) => [version, text])).toEqual([
    [2, 'second'],
    [1, 'first'],
  ]);
  expect((await list('kind=note')).map(({ text }) => text)).toEqual(['second']);
  expect(await list(`kind=note&since=${at(11)}`)).toEqual([]);
  expect((await running.send('DELETE', `/api/v1/annotations/${id}`)).status).toBe(204);
  expect(await list('kind=note')).toEqual([]);
  expect((await running.send('DELETE', `/api/v1/annotations/${id}`)).status).toBe(404);
  const kept = (await running.send<Detail>('GET', `/api/v1/annotations/${id}`)).body;
  expect(kept.versions.map(({ version, deleted }) => [version, deleted])).toEqual([
    [3, true],
    [2, false],
    [1, false],
  ]);
  const again = await running.send<Detail>('PATCH', `/api/v1/annotations/${id}`, { body: { text: 'third' } });
  expect(again.body).toMatchObject({ version: 4, deleted: false });
  expect((await list('kind=note')).map(({ text }) => text)).toEqual(['third']);
  expect((await running.send('DELETE', `/api/v1/annotations/${id}`)).status).toBe(204);
  const { body: log } = await running.send<{ action: string; detail: object }[]>('GET', `/api/v1/audit-log?subject_id=${person.id}`);
  const actions = log.filter(({ action }) => action.startsWith('annotation.'));
  expect(actions.map(({ action }) => action).toSorted()).toEqual([
    'annotation.created',
    'annotation.deleted',
    'annotation.deleted',
    'annotation.updated',
    'annotation.updated',
  ]);
  expect(JSON.stringify(actions)).not.toContain('second');
});

it('refuses what cannot be, and says where', async () => {
  const refused: readonly (readonly [object, string])[] = [
    [{ kind: 'note', starts_at: at(20), ends_at: at(20) }, '/ends_at'],
    [{ kind: 'note', starts_at: new Date(Date.now() + 3_600_000).toISOString() }, '/starts_at'],
    [{ kind: 'beat', starts_at: at(20) }, '/beat'],
    [{ kind: 'note', starts_at: at(20), beat: 'V' }, '/beat'],
    [{ kind: 'beat', starts_at: at(20), ends_at: at(21), beat: 'V' }, '/ends_at'],
    [{ kind: 'beat', starts_at: at(20), beat: 'V', channel: 'ecg.iii' }, '/channel'],
    [{ kind: 'note', starts_at: at(-2 * DAY_SEC) }, '/starts_at'],
    [{ kind: 'note', starts_at: at(-3 * DAY_SEC), ends_at: at(-2 * DAY_SEC) }, '/starts_at'],
  ];
  for (const [body, pointer] of refused) {
    const answer = await running.send<{ errors: { pointer: string }[] }>('POST', '/api/v1/annotations', {
      body: { stream_id: stream, ...body },
    });
    expect([answer.status, answer.body.errors[0]?.pointer], answer.text).toEqual([422, pointer]);
  }
  expect(await list('')).toEqual([]);
  const { id } = await make({ kind: 'note', starts_at: at(20), channel: 'ecg.ii' });
  for (const body of [{ channel: 'ecg.iii' }, { starts_at: at(-2 * DAY_SEC) }]) {
    const moved = await running.send('PATCH', `/api/v1/annotations/${id}`, { body });
    expect(moved.status, moved.text).toBe(422);
  }
  expect((await running.send('DELETE', `/api/v1/annotations/${id}`)).status).toBe(204);
});

it('refuses one years before a recording that has just begun, whose start is not in its row yet', async () => {
  const { xuser_id: id } = await running.token('just begun');
  const channel = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: FS * 1e9, gain: 200, baseline: 0, unit: 'mV', lead: 'II' } as const;
  const sent = await running.ingest({
    schemaVersion: 1,
    deviceId: 'new-device',
    bootId: '11'.repeat(16),
    seq: 0,
    t0DeviceNs: 0n,
    t0UnixNs: BigInt(startMs) * 1_000_000n,
    sentUnixNs: 0n,
    subject: id,
    firmware: '',
    blocks: [{ channel, tOffsetNs: 0, samples: new Int32Array(FS), qmask: null }],
    measurements: [],
    events: [],
  });
  expect(sent.status, sent.text).toBe(202);
  const [begun] = (await running.send<{ id: string; recorded_from: string | null }[]>('GET', `/api/v1/streams?subject_id=${id}`)).body;
  const body = { stream_id: begun!.id, kind: 'note', starts_at: at(-1000 * DAY_SEC) };
  expect((await running.send('POST', '/api/v1/annotations', { body })).status).toBe(422);
  expect(begun!.recorded_from).toBe(null);
});

it('refuses one a day after the end of a recording, takes one near it, and one that is older may be changed but for its times', async () => {
  const { pool } = running.database;
  const { rows } = await pool.query<{ from: Date }>('select recorded_from as from from stream where uuid = $1', [stream]);
  const { id } = await make({ kind: 'note', starts_at: at(-300), text: 'before the electrodes' });
  // As of a recording that ended three days ago.
  const shift = `update stream set recorded_from = recorded_from + $2::interval, last_sample_at = last_sample_at + $2::interval where uuid = $1`;
  await pool.query(shift, [stream, '-3 days']);
  try {
    const late = { stream_id: stream, kind: 'note', starts_at: at(-300) };
    expect((await running.send('POST', '/api/v1/annotations', { body: late })).status).toBe(422);
    expect((await running.send('PATCH', `/api/v1/annotations/${id}`, { body: { text: 'as it was' } })).status).toBe(200);
    expect((await running.send('PATCH', `/api/v1/annotations/${id}`, { body: { starts_at: at(-200) } })).status).toBe(422);
  } finally {
    await pool.query(shift, [stream, '3 days']);
  }
  expect((await pool.query<{ from: Date }>('select recorded_from as from from stream where uuid = $1', [stream])).rows).toEqual(rows);
  expect((await running.send('DELETE', `/api/v1/annotations/${id}`)).status).toBe(204);
});

it('a change made of an old version is refused', async () => {
  const { id } = await make({ kind: 'note', starts_at: at(30), text: 'one' });
  const first = await running.send('GET', `/api/v1/annotations/${id}`);
  const headers = { 'if-match': first.headers.get('etag') ?? '' };
  expect((await running.send('PATCH', `/api/v1/annotations/${id}`, { body: { text: 'two' }, headers })).status).toBe(200);
  expect((await running.send('PATCH', `/api/v1/annotations/${id}`, { body: { text: 'three' }, headers })).status).toBe(412);
  expect((await running.send('DELETE', `/api/v1/annotations/${id}`, { headers })).status).toBe(412);
  expect((await list('kind=note')).map(({ text }) => text)).toEqual(['two']);
});

it('a person reads what was marked on the own recording, and marks nothing', async () => {
  const own = await running.send<Annotation[]>('GET', '/api/v1/annotations', { as: person.token });
  expect(own.body.map(({ text }) => text)).toEqual(['two']);
  const body = { stream_id: stream, kind: 'note', starts_at: at(1) };
  expect((await running.send('POST', '/api/v1/annotations', { as: person.token, body })).status).toBe(401);
  const { xuser_token: other } = await running.token('somebody else');
  expect((await running.send('GET', `/api/v1/annotations?stream_id=${stream}`, { as: other })).status).toBe(404);
  expect((await running.send('GET', `/api/v1/annotations/${own.body[0]!.id}`, { as: other })).status).toBe(404);
});

it('corrections give another variability, and what was computed stays', async () => {
  const path = `/api/v1/streams/${stream}/corrections?since=${at(0)}&until=${at(SECONDS)}`;
  const read = async (): Promise<Series> => (await running.send<Series[]>('GET', path)).body[0]!;
  const before = await read();
  expect(before.corrected).toEqual(before.computed);
  const extra = await make({ kind: 'beat', starts_at: at(EXTRA_SEC + 0.05), beat: 'none' });
  const after = await read();
  expect(after.computed).toEqual(before.computed);
  expect(after.corrections).toMatchObject([{ beat: 'none' }]);
  expect(after.corrections[0]!.found_kind).not.toBeNull();
  expect(after.corrected.beat_count).toBe(before.computed.beat_count - 1);
  expect(after.corrected.mean_hr).toBeCloseTo(75, 1);
  await running.send('PATCH', `/api/v1/annotations/${extra.id}`, { body: { beat: 'V' } });
  const ectopic = await read();
  expect(ectopic.corrected.beat_count).toBe(before.computed.beat_count);
  expect(ectopic.corrected.other_count).toBeGreaterThanOrEqual(1);
  const missing = await make({ kind: 'beat', starts_at: at(80.1), beat: 'N' });
  expect((await read()).corrections.map(({ found_kind: kind }) => kind !== null)).toEqual([true, false]);
  expect((await read()).corrected.beat_count).toBe(before.computed.beat_count + 1);
  await running.send('DELETE', `/api/v1/annotations/${missing.id}`);
  expect((await read()).corrected).toEqual(ectopic.corrected);
  expect((await running.send('GET', `${path.replace(/until=.*/, '')}until=${at(25 * 3600)}`)).status).toBe(422);
  await running.send('DELETE', `/api/v1/annotations/${extra.id}`);
});

it('a correction means its beat although a range ends between the two', async () => {
  const read = async (from: number, to: number): Promise<Series> =>
    (await running.send<Series[]>('GET', `/api/v1/streams/${stream}/corrections?since=${at(from)}&until=${at(to)}`)).body[0]!;
  const [early, late] = [await read(0, EXTRA_SEC + 0.03), await read(EXTRA_SEC + 0.03, SECONDS)];
  const extra = await make({ kind: 'beat', starts_at: at(EXTRA_SEC + 0.06), beat: 'N' });
  const before = await read(0, EXTRA_SEC + 0.03);
  expect(before.corrected).toMatchObject({ beat_count: early.computed.beat_count, other_count: early.computed.other_count - 1 });
  expect(before.corrections).toEqual([]);
  const after = await read(EXTRA_SEC + 0.03, SECONDS);
  expect(after.corrected).toEqual(late.corrected);
  expect(after.corrections).toMatchObject([{ beat: 'N' }]);
  expect(after.corrections[0]!.found_kind).not.toBeNull();
  await running.send('DELETE', `/api/v1/annotations/${extra.id}`);
});

it('of many who change the version that all of them read, one does', async () => {
  const { id } = await make({ kind: 'note', starts_at: at(1), text: 'read by all' });
  const read = await fetch(`${running.service.baseUrl}/api/v1/annotations/${id}`, {
    headers: { authorization: `Bearer ${running.org.apiKey.key}` },
  });
  const headers = { 'if-match': read.headers.get('etag')! };
  const changes = Array.from({ length: 8 }, (_, i) =>
    running.send('PATCH', `/api/v1/annotations/${id}`, { headers, body: { text: `by ${i}` } }),
  );
  const answers = await Promise.all([...changes, running.send('DELETE', `/api/v1/annotations/${id}`, { headers })]);
  expect(answers.map(({ status }) => status).filter((status) => status !== 412)).toHaveLength(1);
  const { body } = await running.send<Detail>('GET', `/api/v1/annotations/${id}`);
  expect(body.versions).toHaveLength(2);
  await running.send('DELETE', `/api/v1/annotations/${id}`);
});

const first = { 'if-none-match': '*' };
const correct = (sec: number, more: object = {}, headers: Record<string, string> = first) =>
  running.send<Detail & { code: string }>('POST', '/api/v1/annotations', {
    headers,
    body: { stream_id: stream, kind: 'beat', starts_at: at(sec), beat: 'V', ...more },
  });

// promise: first-correction
it('of many first corrections of one beat at once, one is made', async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => correct(20.5 + i / 100)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, ...Array<number>(7).fill(412)]);
  expect(answers.find(({ status }) => status === 412)!.body.code).toBe('precondition_failed');
  const made = answers.find(({ status }) => status === 201)!.body;
  // Of another beat, of one channel alone, and by who does not ask.
  expect((await correct(21.3)).status).toBe(201);
  expect((await correct(20.5, { channel: 'ecg.ii' })).status).toBe(201);
  expect((await correct(20.6, { channel: 'ecg.ii' })).status).toBe(412);
  expect((await correct(20.5, { kind: 'note', beat: null })).status).toBe(400);
  const { status, body: again } = await correct(20.5, {}, {});
  expect(status).toBe(201);
  for (const { id } of [made, again]) await running.send('DELETE', `/api/v1/annotations/${id}`);
  expect((await correct(20.5)).status).toBe(201); // those that were taken back are none
  for (const { id } of await list('kind=beat')) await running.send('DELETE', `/api/v1/annotations/${id}`);
});

// promise: taken-up-alone
it('a correction that was taken back is not taken up again where the beat has another one', async () => {
  const { id } = (await correct(30.5)).body;
  await running.send('DELETE', `/api/v1/annotations/${id}`);
  const { id: other } = (await correct(30.52, { beat: 'S' })).body;
  const { id: elsewhere } = (await correct(40.5, { beat: 'S' })).body;
  const change = (one: string, body: object) => running.send<{ code: string }>('PATCH', `/api/v1/annotations/${one}`, { body });
  const refused = await change(id, { text: 'again' });
  expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
  expect((await change(elsewhere, { starts_at: at(30.5) })).status).toBe(409);
  expect((await change(other, { starts_at: at(30.55), beat: 'N' })).status).toBe(200);
  const { id: note } = await make({ kind: 'note', starts_at: at(30.5) });
  expect((await change(note, { kind: 'beat', beat: 'V' })).status).toBe(409);
  expect(await list('kind=beat')).toMatchObject([{ id: other, beat: 'N' }, { id: elsewhere }]);
  const both = await Promise.all([change(id, { starts_at: at(50.5) }), correct(50.5), correct(50.52)]);
  expect(both.filter(({ status }) => status < 300)).toHaveLength(1);
  await running.send('DELETE', `/api/v1/annotations/${other}`);
  for (const mark of await list('')) await running.send('DELETE', `/api/v1/annotations/${mark.id}`);
});

it('times that differ by less than the database keeps are one time, and shorter than a millisecond is a stretch', async () => {
  const day = at(0).slice(0, -6);
  const status = async (from: string, to: string): Promise<readonly number[]> => {
    const mark = { stream_id: stream, kind: 'note', starts_at: day + from, ends_at: day + to };
    const episode = { subject_id: person.id, kind: 'note', started_at: day + from, ended_at: day + to };
    const sent = [
      await running.send('POST', '/api/v1/annotations', { body: mark }),
      await running.send('POST', '/api/v1/episodes', { body: episode }),
    ];
    return sent.map((answer) => answer.status);
  };
  expect(await status('0.0009999Z', '0.001Z')).toEqual([422, 201]);
  expect(await status('0.9999999Z', '1Z')).toEqual([422, 201]);
  expect(await status('0.0001Z', '0.0009Z')).toEqual([201, 201]);
  expect(await status('0.0009Z', '0.0001Z')).toEqual([422, 422]);
});

it('of the future lie on a recording that states such times, and nowhere else; so do episodes', async () => {
  const fromMs = Date.now() + 30 * DAY_SEC * 1000;
  const { xuser_id: id } = await running.token('ahead');
  const samples = Int32Array.from({ length: 60 * FS }, (_, i) => Math.round(100 * Math.sin(i / 20)));
  const channel = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: FS * 1e9, gain: 200, baseline: 0, unit: 'mV', lead: 'II' } as const;
  const sent = await running.ingest({
    schemaVersion: 1,
    deviceId: 'wrong clock',
    bootId: '0a'.repeat(16),
    seq: 0,
    t0DeviceNs: 0n,
    t0UnixNs: BigInt(Date.now()) * 1_000_000n,
    sentUnixNs: 0n,
    recordedUnixNs: BigInt(fromMs) * 1_000_000n,
    subject: id,
    firmware: '',
    blocks: [{ channel, tOffsetNs: 0, samples, qmask: null }],
    measurements: [],
    events: [],
  });
  expect(sent.status, sent.text).toBe(202);
  const ahead = (await running.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${id}`)).body[0]!.id;
  await until(
    async () => (await running.send<{ last_sample_at: string | null }>('GET', `/api/v1/streams/${ahead}`)).body.last_sample_at !== null,
  );
  const time = (sec: number): string => new Date(fromMs + sec * 1000).toISOString();
  const marked = await running.send<Detail>('POST', '/api/v1/annotations', {
    body: { stream_id: ahead, kind: 'note', starts_at: time(10), ends_at: time(20) },
  });
  expect(marked.status, marked.text).toBe(201);
  const moved = await running.send('PATCH', `/api/v1/annotations/${marked.body.id}`, { body: { starts_at: time(12) } });
  expect(moved.status, moved.text).toBe(200);
  const outside = await running.send('POST', '/api/v1/annotations', { body: { stream_id: ahead, kind: 'note', starts_at: time(90) } });
  expect([outside.status, outside.text]).toEqual([422, expect.stringContaining('lies in the future')]);
  const body = { subject_id: id, kind: 'seen', started_at: time(10) };
  expect((await running.send('POST', '/api/v1/episodes', { body })).status).toBe(422);
  const episode = await running.send<{ id: string }>('POST', '/api/v1/episodes', { body: { ...body, stream_id: ahead } });
  expect(episode.status, episode.text).toBe(201);
  const ended = await running.send('PATCH', `/api/v1/episodes/${episode.body.id}`, { body: { ended_at: time(20) } });
  expect(ended.status, ended.text).toBe(200);
});
