/** Import, export, compare sample by sample, in every format. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOrganization } from '../src/auth/organizations.ts';
import { runCommand } from '../src/cli/command.ts';
import type { Command, Console } from '../src/cli/command.ts';
import { exportRecordings } from '../src/cli/export.ts';
import { importRecordings } from '../src/cli/import.ts';
import { MISSING, openRecording } from '../src/cli/recording.ts';
import type { Recording } from '../src/cli/recording.ts';
import { createSimulatedDevice } from '../src/cli/simulator/device.ts';
import { readConfig } from '../src/config.ts';
import { readAnnotations, writeAnnotations, writeRecord } from '../src/formats/wfdb.ts';
import { startService } from '../src/server.ts';
import type { Service } from '../src/server.ts';
import { testDatabase } from './helpers/database.ts';
import type { TestDatabase } from './helpers/database.ts';

let database: TestDatabase;
let service: Service;
let work: string;
let console_: Console;
let out: string[] = [];
let complaints: string[] = [];
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
  console_ = {
    out: (line) => void out.push(line),
    err: (line) => void complaints.push(line),
    progress: null,
    env: { DATABASE_URL: database.url, BIO_URL: service.baseUrl, BIO_KEY: apiKey.key },
    cwd: work,
    signal: new AbortController().signal,
  };
});

afterAll(async () => {
  await service?.stop();
  await database?.close();
  rmSync(work, { recursive: true, force: true });
});

async function run<T>(command: Command, ...args: string[]): Promise<T> {
  out = [];
  complaints = [];
  const code = await runCommand(command, [...args, '--json'], console_);
  expect(code, complaints.join('\n')).toBe(0);
  return JSON.parse(out.join('\n')) as T;
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
  const { rows } = await database.pool.query<{ content: string }>('select content from device_event order by ts_ns');
  expect(rows.map(({ content }) => content)).toEqual(['N', 'V', '+ (N']);
});

test('WFDB: the same samples, the detected beats beside them', async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'wfdb', '--out', join(work, 'wfdb'));
  const back = await openRecording(files.find((file) => file.endsWith('.hea'))!);
  expectSame(gather(back, /^ecg\.ii$/), ecg);
  expectSame(gather(back, /^ecg\.v1$/), second);
  expect(back.channels.map(({ config }) => [config.gain, config.baseline, config.unit])).toEqual([
    [1000, 0, 'mV'],
    [333, 17, 'mV'],
  ]);
  const beats = files.find((file) => file.endsWith('.bio'));
  if (beats !== undefined) expect((await readAnnotations(beats)).length).toBeGreaterThan(80);
});

test('EDF+: the same samples and times, gaps as gaps, events as annotations', async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'edf', '--out', join(work, 'edf'));
  const back = await openRecording(files[0]!);
  expectSame(gather(back, /^ecg\.ii$/), ecg);
  expectSame(gather(back, /^ecg\.v1$/), second);
  expect(back.startUnixSec).toBe(Date.parse('2026-01-05T08:00:00.250Z') / 1000);
  expect(back.events.filter(({ text }) => !text.startsWith('missing'))).toEqual([
    { atSec: 2, text: 'N' },
    { atSec: 3.04, text: 'V' },
    { atSec: 3.2, text: '+ (N' },
  ]);
});

test('CSV: the same samples, and importing it makes the same recording again', async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'csv', '--out', join(work, 'csv'));
  expect(readFileSync(files[0]!, 'utf8')).toContain('time_ns,ecg.ii,ecg.v1');
  const back = await openRecording(files[0]!);
  expectSame(gather(back, /^ecg\.ii$/), ecg);
  expectSame(gather(back, /^ecg\.v1$/), second);
  expect(back.channels[1]!.config).toMatchObject({ kind: 'ecg', gain: 333, baseline: 17, unit: 'mV', lead: 'V1' });
});

test('only what was asked for', async () => {
  const args = ['--since', '2026-01-05T08:00:10Z', '--until', '2026-01-05T08:00:15Z'];
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'csv', '--out', join(work, 'part'), ...args);
  const back = await openRecording(files[0]!);
  expect(gather(back, /^ecg\.ii$/).size).toBe(5 * 250);
});

test('FHIR: one valid Observation per line', async () => {
  const { files } = await run<{ files: string[] }>(exportRecordings, 'patient-1', '--format', 'fhir', '--out', join(work, 'fhir'));
  const lines = readFileSync(files[0]!, 'utf8').trim().split('\n');
  const observations = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as { resourceType: string; status: string });
  for (const observation of observations) expect(observation.resourceType).toBe('Observation');
});
