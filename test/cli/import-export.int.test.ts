/** Import, export, compare sample by sample, in every format: by the service's own readers and by readers that share no code with it. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { Command } from '../../src/cli/command.ts';
import { openApi, streamsOf } from '../../src/cli/client/api.ts';
import { exportRecordings } from '../../src/cli/export.ts';
import { importRecordings } from '../../src/cli/import.ts';
import { MISSING, openRecording } from '../../src/cli/client/recording.ts';
import type { Recording } from '../../src/cli/client/recording.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { readConfig } from '../../src/config.ts';
import { parseEdf } from '../../src/formats/edf-read.ts';
import type { EdfFile } from '../../src/formats/edf-read.ts';
import { readAnnotations, writeAnnotations } from '../../src/formats/wfdb-annotations.ts';
import { writeRecord } from '../../src/formats/wfdb-write.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { ran } from '../helpers/commands.ts';
import type { Surroundings } from '../helpers/commands.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { fhirFaults, hasPython, readWithPython, readWithRust } from '../helpers/independent-readers.ts';
import type { PythonEdf, PythonWfdb } from '../helpers/independent-readers.ts';
import type { TestDatabase } from '../helpers/database.ts';
import {
  annotationsOfRdann,
  askDuckdb,
  columnsOfPandas,
  hasDuckdb,
  hasEdflib,
  hasPandas,
  hasWfdbTools,
  readWithEdflib,
  samplesOfRdsamp,
} from '../helpers/installed-programs.ts';

let database: TestDatabase;
let service: Service;
let work: string;
let surroundings: Surroundings;
/** Two leads of 250 Hz, 90 s, with a gap in one and a gap in both. */
let ecg: Int32Array;
let second: Int32Array;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-formats-'));
  const device = createSimulatedDevice({ seed: 21, channels: ['ecg.ii'], heartRateBpm: 70 });
  ecg = device.next(90_000).runs[0]!.samples as Int32Array;
  second = ecg.map((value) => Math.round(value / 3) + 17);
  for (const lead of [ecg, second]) lead.fill(MISSING, 40 * 250, 43 * 250 + 100);
  second.fill(MISSING, 20 * 250 + 7, 20 * 250 + 90);
  const leads = [
    { name: 'II', gain: 1000, baseline: 0, unit: 'mV', samples: ecg },
    { name: 'V1', gain: 333, baseline: 17, unit: 'mV', samples: second },
  ];
  await writeRecord(work, { name: 'source', fs: 250, leads });
  await writeAnnotations(join(work, 'source.atr'), [
    { sample: 500, code: 'N' },
    { sample: 760, code: 'V' },
    { sample: 800, code: '+', aux: '(N' },
  ]);
  database = await testDatabase();
  service = await startService({ config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent' }) });
  const { apiKey } = await createOrganization(database.pool, 'Formats');
  surroundings = {
    env: { DATABASE_URL: database.url, BIO_URL: service.baseUrl, BIO_KEY: apiKey.key },
    cwd: work,
  };
});

afterAll(async () => {
  await service?.stop();
  await database?.close();
  rmSync(work, { recursive: true, force: true });
});

async function run<T>(command: Command, ...args: string[]): Promise<T> {
  const { code, out, err } = await ran(command, [...args, '--json'], surroundings);
  expect(code, err.join('\n')).toBe(0);
  return JSON.parse(out.join('\n')) as T;
}

/** Waits until the last values of the recording are computed and nothing changes any more. */
async function settled(): Promise<void> {
  let before = '';
  for (let i = 0; i < 120; i++) {
    const { rows } = await database.pool.query<{ state: string }>(
      `select (select count(*) from beat) || ' ' || (select count(*) from feature) || ' ' || (select count(*) from feature_1m) as state`,
    );
    const { state } = rows[0]!;
    if (state === before && Number(state.split(' ')[0]) > 80 && !state.endsWith(' 0')) return;
    before = state;
    await sleep(1000);
  }
}

type Imported = { accepted: number; duplicates: number; samples: number }[];

/** Samples of a recording that was read back, by grid index. */
function gather(recording: Recording, code: RegExp): Map<number, number> {
  const found = new Map<number, number>();
  for (const { config, startSec, samples } of recording.channels) {
    if (!code.test(config.code)) continue;
    const k0 = Math.round((startSec * config.rateNanoHz) / 1e9);
    samples.forEach((value, i) => {
      if (value !== MISSING) found.set(k0 + i, value);
    });
  }
  return found;
}

function expectSame(found: ReadonlyMap<number, number>, samples: Int32Array): void {
  const present = [...samples].flatMap((value, k) => (value === MISSING ? [] : [[k, value] as const]));
  expect(found.size).toBe(present.length);
  expect(present.filter(([k, value]) => found.get(k) !== value)).toEqual([]);
}

test('imports a record with its annotations, and a second time changes nothing', async () => {
  const args = [join(work, 'source.hea'), '--subject', 'patient-1', '--start', '2026-01-05T08:00:00.250Z'];
  const [first] = await run<Imported>(importRecordings, ...args);
  expect(first).toMatchObject({ accepted: 87, duplicates: 0 }); // three of the 90 seconds are wholly missing
  const [again] = await run<Imported>(importRecordings, ...args);
  expect(again).toMatchObject({ accepted: 0, duplicates: 87 });
  for (let i = 0; i < 100; i++) {
    const { rows } = await database.pool.query<{ n: number; e: number }>(
      'select (select coalesce(sum(n), 0)::int from sample_block) as n, (select count(*)::int from device_event) as e',
    );
    if (rows[0]!.n === first!.samples && rows[0]!.e === 3) break;
    await sleep(100);
  }
  await settled();
  const { rows } = await database.pool.query<{ content: string }>('select content from device_event order by ts_ns');
  expect(rows.map(({ content }) => content)).toEqual(['N', 'V', '+ (N']);
});

// promise: exit-codes
test('a folder of recordings is imported at once: subfolders are searched, a broken file does not stop the others, an interrupted import resumes', async () => {
  const folder = join(work, 'dataset');
  mkdirSync(join(folder, 'night 1'), { recursive: true });
  const lead = { name: 'II', gain: 1000, baseline: 0, unit: 'mV', samples: ecg.subarray(0, 5000) };
  await writeRecord(folder, { name: 'one', fs: 250, leads: [lead] });
  await writeRecord(join(folder, 'night 1'), { name: 'two', fs: 250, leads: [lead] });
  writeFileSync(join(folder, 'broken.hea'), 'broken 1 250 100\nbroken.dat 77 200 16 0 0 0 0 II\n');
  const state = join(work, 'state.json');
  const args = [folder, '--start', '2026-01-06T08:00:00Z', '--state', state, '--json'];

  // Interrupted while the first recording is under way: nothing says that it is done.
  const abort = new AbortController();
  const interrupted = ran(importRecordings, args, { ...surroundings, signal: abort.signal });
  abort.abort();
  expect((await interrupted).code).toBe(130);

  const resumed = await ran(importRecordings, args, surroundings);
  expect(resumed.code).toBe(1); // of the broken one
  const results = JSON.parse(resumed.out.join('')) as { recording: string; accepted: number; duplicates: number; error: string }[];
  expect(results.map(({ accepted, duplicates }) => accepted + duplicates)).toEqual([0, 20, 20]);
  expect(results[0]!.error).toMatch(/broken/);

  const again = await ran(importRecordings, args, surroundings);
  expect(again.code).toBe(1);
  expect((JSON.parse(again.out.join('')) as { error: string }[]).map(({ error }) => error === '')).toEqual([false]); // the others are not sent again
});

test('a table with a value that would cost the others their decimals is not imported: its line and the value are said', async () => {
  const rows = Array.from(
    { length: 2500 },
    (_, i) => `${(i / 250).toFixed(3)},${i === 1000 ? '9.9E+36' : (0.9 * Math.sin(i / 10)).toFixed(3)}`,
  );
  const path = join(work, 'spike.csv');
  writeFileSync(path, `time_s,ecg.ii [mV]\n${rows.join('\n')}\n`);
  const { code, err } = await ran(importRecordings, [path, '--subject', 'spike', '--start', '2026-01-05T08:00:00Z'], surroundings);
  expect(code, err.join('\n')).toBe(1);
  expect(err.join('\n')).toContain('line 1002, ecg.ii [mV]: 9.9e+36');
  const { rows: found } = await database.pool.query(`select 1 from xuser where external_id = 'spike'`);
  expect(found).toEqual([]);
});

// promise: export-wfdb, round-trip
test('WFDB: the same samples, with the detected beats', async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'wfdb', '--out', join(work, 'wfdb'));
  const back = await openRecording(files.find((file) => file.endsWith('.hea'))!);
  expectSame(gather(back, /^ecg\.ii$/), ecg);
  expectSame(gather(back, /^ecg\.v1$/), second);
  expect(back.channels.map(({ config }) => [config.gain, config.baseline, config.unit])).toEqual([
    [1000, 0, 'mV'],
    [333, 17, 'mV'],
  ]);
  const beats = files.find((file) => file.endsWith('.bio'));
  if (beats === undefined) return;
  const found = await readAnnotations(beats);
  expect(found.length).toBeGreaterThan(80);
  // normal by AAMI, and how sure in per cent
  const sure = found.filter(({ code, number }) => code === 'N' && number >= 90 && number <= 100);
  expect(sure.length).toBeGreaterThan(70);
  for (const { code, number } of found) expect(number === -1, `${code} ${number}`).toBe(!['N', 'S', 'V'].includes(code));
});

// promise: export-edf, round-trip
test('EDF+: the same samples and times, gaps as gaps, events as annotations', async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'edf', '--out', join(work, 'edf'));
  const back = await openRecording(files[0]!);
  expectSame(gather(back, /^ecg\.ii$/), ecg);
  expectSame(gather(back, /^ecg\.v1$/), second);
  expect(back.startUnixNs).toBe(startNs);
  expect(back.events.filter(({ text }) => !text.startsWith('missing'))).toEqual([
    { atSec: 2, text: 'N' },
    { atSec: 3.04, text: 'V' },
    { atSec: 3.2, text: '+ (N' },
  ]);
});

// promise: exact-samples, export-csv, round-trip
test('CSV: the same samples, and importing it makes the same recording again', async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'csv', '--out', join(work, 'csv'));
  expect(readFileSync(files[0]!, 'utf8')).toContain('time_ns,ecg.ii,ecg.v1');
  const back = await openRecording(files[0]!);
  expectSame(gather(back, /^ecg\.ii$/), ecg);
  expectSame(gather(back, /^ecg\.v1$/), second);
  expect(back.channels[1]!.config).toMatchObject({ kind: 'ecg', gain: 333, baseline: 17, unit: 'mV', lead: 'V1' });
});

test('a header whose samples are not there is refused with both names, and what to do', async () => {
  const base = join(work, 'bare');
  writeFileSync(`${base}.hea`, 'bare 1 250 1000\nbare.dat 16 200 12 0 0 0 0 ECG\n');
  await writeAnnotations(`${base}.atr`, [{ sample: 250, code: 'N', aux: '' }] as never);
  const { code, err } = await ran(importRecordings, [`${base}.hea`, '--start', '2026-01-05T08:00:00Z'], surroundings);
  expect(code).not.toBe(0);
  expect(err.join()).toMatch(/bare\.dat: no such file; the header .*bare\.hea .* header of 0 signals/);
});

test('a file that is there already is replaced with --force alone', async () => {
  const args = ['patient-1', '--format', 'csv', '--out', join(work, 'twice')];
  const { files } = await run<{ files: string[] }>(exportRecordings, ...args);
  writeFileSync(files[0]!, 'edited by hand');
  const refused = await ran(exportRecordings, args, surroundings);
  expect([refused.code, refused.err.join()]).toEqual([2, expect.stringMatching(/is there already: .* --force/)]);
  expect(readFileSync(files[0]!, 'utf8')).toBe('edited by hand');
  expect(readdirSync(join(work, 'twice'))).toEqual(files.map((file) => basename(file))); // nothing half done
  await run(exportRecordings, ...args, '--force');
  expect(readFileSync(files[0]!, 'utf8')).toContain('time_ns,ecg.ii');
});

// promise: export-range
test('exports only what was asked for', async () => {
  const args = ['--since', '2026-01-05T08:00:10Z', '--until', '2026-01-05T08:00:15Z'];
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'csv', '--out', join(work, 'part'), ...args);
  const back = await openRecording(files[0]!);
  expect(gather(back, /^ecg\.ii$/).size).toBe(5 * 250);
});

const startNs = BigInt(Date.parse('2026-01-05T08:00:00.250Z')) * 1_000_000n;

// promise: export-wfdb
test.skipIf(!hasPython)('WFDB is read by an independent program: samples, checksums, gains, beats', async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'wfdb', '--out', join(work, 'wfdb-py'));
  const record = readWithPython<PythonWfdb>(
    'wfdb',
    files.find((file) => file.endsWith('.hea'))!,
  );
  expect(record.fs).toBe(250);
  for (const [name, samples] of [
    ['II', ecg],
    ['V1', second],
  ] as const) {
    const signal = record.signals.find((one) => one.name === name)!;
    expect(signal.unit).toBe('mV');
    expect(signal.samples.slice(0, samples.length)).toEqual([...samples].map((value) => (value === MISSING ? null : value)));
  }
  const beats = readWithPython<[sample: number, code: number][]>(
    'annotations',
    files.find((file) => file.endsWith('.bio'))!,
  );
  expect(beats.length).toBeGreaterThan(80);
  expect(beats).toEqual(
    (await readAnnotations(files.find((file) => file.endsWith('.bio'))!)).map(({ sample }) => [sample, expect.any(Number)]),
  );
});

// promise: export-edf
test.skipIf(!hasPython)('EDF+ is read by an independent program: samples at their times, units, events', async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'edf', '--out', join(work, 'edf-py'));
  const file = readWithPython<PythonEdf>('edf', files[0]!);
  expect([file.kind, file.date, file.time]).toEqual(['EDF+D', '05.01.26', '08.00.00']);
  for (const [label, samples, gain, baseline] of [
    ['ECG II', ecg, 1000, 0],
    ['ECG V1', second, 333, 17],
  ] as const) {
    const signal = file.signals.find((one) => one.label === label)!;
    expect([signal.rate, signal.unit]).toEqual([250, 'mV']);
    const missing = file.events.filter(([, , text]) => text === `missing ${label}`);
    const found = new Map<number, number>();
    for (const [startSec, values] of signal.records) {
      values.forEach((value, i) => {
        const sec = startSec + i / 250;
        if (!missing.some(([from, length]) => sec > from - 1e-6 && sec < from + (length ?? 0) - 1e-6))
          found.set(Math.round((sec - 0.25) * 250), value);
      });
    }
    // The offset between the file's digital values and the device's is in the file's own scale.
    const shift = Math.round(baseline + signal.offset / signal.lsb);
    expectSame(new Map([...found].map(([k, value]) => [k, value + shift])), samples);
    expect(signal.lsb).toBeCloseTo(1 / gain, 8);
  }
  expect(file.events.map(([, , text]) => text)).toEqual(expect.arrayContaining(['N', 'V', '+ (N']));
});

// promise: export-parquet
test('Parquet is read by an independent program: samples, beats and features with exact times', async () => {
  const count = async (): Promise<{ beats: number; features: number }> => {
    const { rows } = await database.pool.query<{ beats: number; features: number }>(
      `with own as (select s.id from stream s join xuser x on x.id = s.xuser_id where x.external_id = 'patient-1')
       select (select count(*)::int from beat where stream_id in (select id from own)) as beats,
         (select count(*)::int from feature where stream_id in (select id from own)) as features`,
    );
    return rows[0]!;
  };
  // Rows of the last seconds may still come on a busy machine: an export is compared with what was there all the while.
  let counted = { beats: 0, features: 0 };
  let files: string[] = [];
  await until(async () => {
    counted = await count();
    ({ files } = await run<{ files: string[] }>(
      exportRecordings,
      'patient-1',
      '--format',
      'parquet',
      '--force',
      '--out',
      join(work, 'parquet'),
    ));
    const after = await count();
    return after.beats === counted.beats && after.features === counted.features;
  }, 50_000);
  const [samples = [], beats = [], features = []] = files.map((file) => readWithRust(file));
  expect(files.map((file) => /\.(\w+)\.parquet$/.exec(file)?.[1])).toEqual(['samples', 'beats', 'features']);
  for (const [code, lead, gain, baseline] of [
    ['ecg.ii', ecg, 1000, 0],
    ['ecg.v1', second, 333, 17],
  ] as const) {
    const rows = samples.filter(({ channel }) => channel === code);
    const k = (row: Record<string, unknown>): number => Number((row['ts'] as bigint) - startNs) / 4_000_000;
    expectSame(new Map(rows.map((row) => [k(row), row['digital'] as number])), lead);
    for (const row of rows) {
      if (row['value'] !== ((row['digital'] as number) - baseline) / gain || row['qmask'] !== 0) expect(row).toBe('a row of the samples');
    }
  }
  expect({ beats: beats.length, features: features.length }).toEqual(counted);
  expect(beats.length).toBeGreaterThan(80);
  expect(beats[5]).toMatchObject({
    channel: expect.stringMatching(/^ecg/),
    method_code: expect.stringContaining('_v'),
    qmask: expect.any(Number),
  });
  // The kind of each beat is that of /beats.
  const api = openApi(service.baseUrl, surroundings.env['BIO_KEY'] ?? '', new AbortController().signal);
  const [stream] = await streamsOf(api, 'patient-1');
  const series = await api.list<{ channel: string; ts_ns: bigint[]; aami: (string | null)[] }>(`/api/v1/streams/${stream!.id}/beats`);
  const told = series.flatMap((one) => one.ts_ns.map((ts, i) => `${one.channel} ${ts} ${one.aami[i]}`));
  expect(beats.map(({ channel, ts, aami }) => `${channel as string} ${ts as bigint} ${aami as string | null}`).toSorted()).toEqual(
    told.toSorted(),
  );
  expect(beats.filter(({ aami }) => aami === 'N').length).toBeGreaterThan(80);
  expect(features.find(({ feature }) => feature === 'hr_ecg')).toMatchObject({ method_code: 'derived:hr_ecg_v18', ts: expect.any(BigInt) });
});

// promise: export-wfdb
test.skipIf(!hasWfdbTools)("WFDB's own tools read what was exported: rdsamp the samples, rdann the beats", async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'wfdb', '--out', join(work, 'wfdb-c'));
  const header = files.find((file) => file.endsWith('.hea'))!;
  const signals = samplesOfRdsamp(header);
  for (const samples of [ecg, second]) {
    const wanted = [...samples].map((value) => (value === MISSING ? null : value));
    expect(signals.some((found) => wanted.every((value, i) => found[i] === value))).toBe(true);
  }
  const beats = await readAnnotations(files.find((file) => file.endsWith('.bio'))!);
  const found = annotationsOfRdann(header, 'bio');
  expect(found.map(([sample]) => sample)).toEqual(beats.map(({ sample }) => sample));
});

// promise: export-edf
test.skipIf(!hasEdflib)('EDFlib reads what was exported: the same samples, and the events', async () => {
  const args = ['--since', '2026-01-05T08:00:00.250Z', '--until', '2026-01-05T08:00:20.250Z']; // before the first gap: EDFlib reads no EDF+D
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'edf', '--out', join(work, 'edf-c'), ...args);
  const file = readWithEdflib(files[0]!, work);
  expect(file.annotations).toBeGreaterThan(0);
  for (const samples of [ecg, second]) {
    const wanted = [...samples.subarray(0, 20 * 250)];
    // The offset between the file's digital values and the device's is in the file's own scale.
    const same = file.signals.some(({ samples: found }) => wanted.every((value, i) => found[i]! - found[0]! === value - wanted[0]!));
    expect(same).toBe(true);
  }
});

// promise: export-parquet
test.skipIf(!hasDuckdb)('DuckDB reads what was exported: exact times and values', async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'parquet', '--out', join(work, 'duckdb'));
  const [samples] = files;
  const asked = askDuckdb(
    `select channel, count(*), sum(digital), epoch_ns(min(ts)) from read_parquet('${samples}') where channel in ('ecg.ii', 'ecg.v1') group by channel order by channel`,
  );
  const sums = [ecg, second].map((lead) => [...lead].filter((value) => value !== MISSING));
  expect(asked.map((row) => row.map(String))).toEqual(
    ['ecg.ii', 'ecg.v1'].map((code, i) => [
      code,
      String(sums[i]!.length),
      String(sums[i]!.reduce((sum, value) => sum + value, 0)),
      String(startNs),
    ]),
  );
});

test.skipIf(!hasPandas)('pandas reads what was exported: a column of numbers for each channel', async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'csv', '--out', join(work, 'pandas'));
  const columns = columnsOfPandas(files[0]!);
  for (const [code, lead, gain, baseline] of [
    ['ecg.ii', ecg, 1000, 0],
    ['ecg.v1', second, 333, 17],
  ] as const) {
    const there = [...lead].filter((value) => value !== MISSING);
    const name = Object.keys(columns).find((column) => column.startsWith(code))!;
    expect(columns[name]).toMatchObject({ count: there.length, type: 'float64' });
    expect(columns[name]!.sum).toBeCloseTo(
      there.reduce((sum, value) => sum + (value - baseline) / gain, 0),
      4,
    );
  }
});

// promise: export-fhir
test('FHIR: one Observation per line that two independent validators accept', async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'fhir', '--out', join(work, 'fhir'));
  const observations = readFileSync(files[0]!, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as object); // prettier-ignore
  expect(observations.length).toBeGreaterThan(1);
  for (const observation of observations) {
    expect(observation).toMatchObject({ resourceType: 'Observation' });
    expect(fhirFaults(observation)).toEqual([]);
  }
  expect(fhirFaults({ ...observations[0], status: 'nonsense' })).not.toEqual([]);
});

// promise: export-edf, export-continuous
test('what people marked goes with a recording: notes as .mrk, corrected beats as .cor, both in EDF+ and as FHIR Observations', async () => {
  const headers = { authorization: `Bearer ${surroundings.env['BIO_KEY']}`, 'content-type': 'application/json' };
  const call = async <T>(path: string, body?: object): Promise<T> => {
    const response = await fetch(
      service.baseUrl + path,
      body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
    );
    return (await response.json()) as T;
  };
  const [stream] = await call<{ id: string; recorded_from: string }[]>('/api/v1/streams?subject_id=patient-1');
  const at = (sec: number): string => new Date(Date.parse(stream!.recorded_from) + sec * 1000).toISOString();
  const mark = async (body: object): Promise<void> => {
    expect(await call('/api/v1/annotations', { stream_id: stream!.id, ...body })).toMatchObject({ version: 1 });
  };
  await mark({ kind: 'note', starts_at: at(2), text: 'Übung' });
  await mark({ kind: 'rhythm', starts_at: at(3), ends_at: at(5), text: '(AFIB', channel: 'ecg.v1' });
  await mark({ kind: 'beat', starts_at: at(0.05), beat: 'V' });
  await mark({ kind: 'beat', starts_at: at(1.5), beat: 'F', channel: 'ecg.v1' });
  const wfdb = await run<{ files: string[] }>(exportRecordings, stream!.id, '--format', 'wfdb', '--out', join(work, 'marked'));
  const of = (extension: string): string => wfdb.files.find((file) => file.endsWith(extension))!;
  const marks = await readAnnotations(of('.mrk'));
  expect(marks.map(({ code, aux }) => [code, aux])).toEqual([
    ['"', 'Übung'],
    ['+', '(AFIB'],
    ['"', 'end of rhythm: (AFIB'],
  ]);
  expect((marks[1]!.sample - marks[0]!.sample) / (marks[2]!.sample - marks[1]!.sample)).toBeCloseTo(0.5, 2);
  // Of one signal with its number; those of all have that of the first.
  const header = readFileSync(of('.hea'), 'utf8').split('\n');
  const v1 = header.filter((line) => line.includes('.dat ')).findIndex((line) => line.endsWith('V1'));
  expect(v1).toBeGreaterThan(0);
  expect(marks.map(({ channel }) => channel)).toEqual([0, v1, v1]);
  const [first, ...rest] = await readAnnotations(of('.cor'));
  expect(first).toMatchObject({ code: 'V', channel: 0 });
  expect(rest.some(({ code }) => code === 'V')).toBe(false);
  expect(rest.filter(({ code }) => code === 'F').map(({ channel }) => channel)).toEqual([v1]);
  expect(rest.filter(({ channel }) => channel !== 0)).toHaveLength(1);
  const edf = await run<{ files: string[] }>(exportRecordings, stream!.id, '--format', 'edf', '--out', join(work, 'marked-edf'));
  const bytes = readFileSync(edf.files[0]!);
  expect(bytes.toString('latin1', 192, 197)).toBe('EDF+D');
  const { annotations } = parseEdf(bytes) as EdfFile;
  const made = annotations.filter(({ text }) => /^(beat|note|rhythm)/.test(text));
  expect(made.map(({ text }) => text)).toEqual(['beat V', 'beat F@@ECG V1', 'note: Übung', 'rhythm: (AFIB@@ECG V1']);
  expect(made[2]!.onsetSec - made[0]!.onsetSec).toBeCloseTo(1.95, 2);
  expect(made.map(({ durationSec }) => durationSec)).toEqual([NaN, NaN, NaN, 2]);
  // The same without gaps, for programs that read no EDF+D.
  const to = ['--format', 'edf', '--continuous', '--out', join(work, 'filled')];
  const [filledPath] = (await run<{ files: string[] }>(exportRecordings, stream!.id, ...to)).files;
  const filledBytes = readFileSync(filledPath!);
  expect(filledBytes.toString('latin1', 192, 197)).toBe('EDF+C');
  const filled = parseEdf(filledBytes) as EdfFile;
  expect(filled.annotations.filter(({ text }) => text === 'missing ECG II')).toEqual([
    { onsetSec: 40, durationSec: 3.4, text: 'missing ECG II' },
  ]);
  if (hasPython) {
    const read = readWithPython<PythonEdf>('edf', filledPath!);
    const [signal] = read.signals;
    // One record after the other, from the first second to the last, and what is there is there at its time.
    expect(signal!.records.map(([startSec]) => Math.round((startSec - 0.25) * 1000))).toEqual(signal!.records.map((_, i) => 1000 * i));
    const shift = Math.round(signal!.offset / signal!.lsb);
    const values = signal!.records.flatMap(([, of]) => of);
    expect(ecg.every((value, i) => value === MISSING || value === values[i]! + shift)).toBe(true);
  }
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'fhir', '--out', join(work, 'marked-fhir'));
  const lines = readFileSync(
    files.find((file) => file.endsWith('-annotations.ndjson'))!,
    'utf8',
  )
    .trim()
    .split('\n');
  const observations = lines.map((line) => JSON.parse(line) as { valueString: string });
  expect(observations.map(({ valueString }) => valueString)).toEqual(['V', 'F', 'Übung', '(AFIB']);
  for (const observation of observations) expect(fhirFaults(observation)).toEqual([]);
  // Marks are worth a file of their own where nothing was recorded; one of a signal that is not in it names the signal.
  await mark({ kind: 'note', starts_at: at(900), text: 'left', channel: 'ecg.ii' });
  const afterwards = ['--format', 'edf', '--since', at(800), '--out', join(work, 'marks-only')];
  const [onlyPath] = (await run<{ files: string[] }>(exportRecordings, stream!.id, ...afterwards)).files;
  expect((parseEdf(readFileSync(onlyPath!)) as EdfFile).annotations.map(({ text }) => text)).toEqual(['note: left (ecg.ii)']);
});

test('a corrected beat at the edge of a stretch is corrected in the part that has it, and no beat of the other', async () => {
  const headers = { authorization: `Bearer ${surroundings.env['BIO_KEY']}`, 'content-type': 'application/json' };
  const get = async <T>(path: string): Promise<T> => (await (await fetch(service.baseUrl + path, { headers })).json()) as T;
  const [stream] = await get<{ id: string }[]>('/api/v1/streams?subject_id=patient-1');
  const [series] = await get<{ ts_ns: bigint[] }[]>(`/api/v1/streams/${stream!.id}/beats?limit=20`);
  const beatMs = Math.round(Number(series!.ts_ns[10]!) / 1e6);
  const at = (ms: number): string => new Date(beatMs + ms).toISOString();
  const body = JSON.stringify({ stream_id: stream!.id, kind: 'beat', starts_at: at(100), beat: 'V' });
  expect((await fetch(`${service.baseUrl}/api/v1/annotations`, { method: 'POST', headers, body })).status).toBe(201);
  const codes = async (folder: string, ...stretch: string[]): Promise<Record<string, string[]>> => {
    const out = ['--format', 'wfdb', '--out', join(work, folder)];
    const { files } = await run<{ files: string[] }>(exportRecordings, stream!.id, ...out, ...stretch);
    const read = async (ending: string): Promise<string[]> => {
      const file = files.find((name) => name.endsWith(ending));
      return file === undefined ? [] : (await readAnnotations(file)).map(({ code }) => code);
    };
    return { bio: await read('.bio'), cor: await read('.cor') };
  };
  const before = await codes('before', '--since', at(-2500), '--until', at(50));
  expect(before['bio']!.length).toBeGreaterThan(1);
  expect(before['cor']).toEqual([...before['bio']!.slice(0, -1), 'V']);
  const after = await codes('after', '--since', at(50), '--until', at(2500));
  expect(after['bio']!.length).toBeGreaterThan(1);
  expect(after['cor']!.filter((code) => code === 'V')).toEqual([]);
});

test('FHIR: a person with measurements and no recording has Observations too; other formats say that there is no recording', async () => {
  const post = async (path: string, body: object): Promise<void> => {
    const headers = { authorization: `Bearer ${surroundings.env['BIO_KEY']}`, 'content-type': 'application/json' };
    const response = await fetch(service.baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(response.status, await response.text()).toBe(201);
  };
  await post('/api/v1/xusers', { external_id: 'weighed-only' });
  const measurements = [{ biosignal_id: 67, value: 71.5, time: '2026-03-01T08:00:00Z' }];
  await post('/api/v1/measurements', { subject_id: 'weighed-only', measurements });
  const { files } = await run<{ files: string[] }>(exportRecordings, 'weighed-only', '--format', 'fhir', '--out', join(work, 'weighed'));
  const lines = readFileSync(files[0]!, 'utf8').trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ valueQuantity: { value: 71.5, unit: 'kg' } }]);
  const refused = await ran(exportRecordings, ['weighed-only', '--format', 'csv', '--out', work], surroundings);
  expect(refused.code).toBe(1);
  expect(refused.err.join('\n')).toContain('has no recordings');
});

test('a user whose external id two organizations of one name have is exported with --org, and messages say the ids', async () => {
  const orgs: string[] = [];
  for (let i = 0; i < 2; i++) {
    const { orgId, projectKey, apiKey } = await createOrganization(database.pool, 'Twins');
    const answer = await fetch(`${service.baseUrl}/api/v1/xusers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ external_id: 'twin', project_key: projectKey }),
    });
    expect(answer.ok, await answer.text()).toBe(true);
    orgs.push(orgId);
  }
  const args = ['twin', '--format', 'fhir', '--no-wait', '--out', join(work, 'twin')];
  const unclear = await ran(exportRecordings, args, surroundings);
  expect(unclear.code).toBe(2);
  expect(unclear.err.join('\n')).toContain('give --org, or the uuid');
  const sameName = await ran(exportRecordings, [...args, '--org', 'Twins'], surroundings);
  expect(sameName.code).toBe(2);
  for (const id of orgs) {
    expect(sameName.err.join('\n')).toContain(`Twins (${id})`);
    const one = await ran(exportRecordings, [...args, '--org', id], surroundings);
    expect(one.err.join('\n')).not.toContain('several');
    const { rows } = await database.pool.query(`select from audit_log where organization_id = $1 and action = 'recording.exported'`, [id]);
    expect(rows).toHaveLength(1);
  }
});

// promise: import-project
test('imports into the project that is named, of several', async () => {
  const { key } = await createOrganization(database.pool, 'Two projects').then(({ apiKey }) => apiKey);
  const here = { ...surroundings, env: { ...surroundings.env, BIO_KEY: key } };
  const send = async (path: string, body?: object): Promise<{ id: string; project_key: string }> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await fetch(service.baseUrl + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
    return (await answer.json()) as { id: string; project_key: string };
  };
  const night = await send('/api/v1/projects', { name: 'Night study' });
  const imported = async (subject: string, ...args: string[]) => {
    const given = [join(work, 'source.hea'), '--start', '2026-02-01T08:00:00Z', '--subject', subject, '--device', `of-${subject}`];
    const { code, out, err } = await ran(importRecordings, [...given, ...args], here);
    return { code, said: [...out, ...err].join('\n') };
  };
  expect(await imported('nobody')).toEqual({ code: 1, said: expect.stringContaining('several projects') as string });
  for (const [subject, project] of [
    ['by-name', 'Night study'],
    ['by-id', night.id],
    ['by-key', night.project_key],
  ] as const) {
    const { code, said } = await imported(subject, '--project', project);
    expect(code, said).toBe(0);
  }
  const { rows } = await database.pool.query(`select external_id from xuser where project_id = $1 order by 1`, [night.id]);
  expect(rows.map((row: { external_id: string }) => row.external_id)).toEqual(['by-id', 'by-key', 'by-name']);
  const wrong = await imported('by-name', '--project', 'Day study');
  expect([wrong.code, wrong.said]).toEqual([2, expect.stringContaining("no project 'Day study'; there are: Two projects, Night study")]);
});
