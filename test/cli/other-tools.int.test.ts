/** Files of other tools through `import`, and our exports back again: starts, units, labels, events, gains, as their readers expect
 *  them. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { Command } from '../../src/cli/command.ts';
import { exportRecordings } from '../../src/cli/export.ts';
import { importRecordings } from '../../src/cli/import.ts';
import { MISSING, openRecording } from '../../src/cli/client/recording.ts';
import { readConfig } from '../../src/config.ts';
import { parseEdf } from '../../src/formats/edf-read.ts';
import { writeEdf } from '../../src/formats/edf-write.ts';
import type { EdfFile } from '../../src/formats/edf-read.ts';
import type { EdfToWrite } from '../../src/formats/edf-write.ts';
import { readHeader } from '../../src/formats/wfdb-header.ts';
import { readRecord } from '../../src/formats/wfdb-read.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { ran } from '../helpers/commands.ts';
import type { Ran, Surroundings } from '../helpers/commands.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

let database: TestDatabase;
let service: Service;
let work: string;
let surroundings: Surroundings;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-tools-'));
  database = await testDatabase();
  service = await startService({ config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent' }) });
  const { apiKey } = await createOrganization(database.pool, 'Other tools');
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

const run = (command: Command, ...args: string[]): Promise<Ran> => ran(command, args, surroundings);

type Imported = {
  accepted: number;
  duplicates: number;
  rejected: number;
  samples: number;
  events: number;
  startUnixNs: string;
  channels: string[];
};

async function imported(...args: string[]): Promise<Imported & Pick<Ran, 'err'>> {
  const { code, out, err } = await run(importRecordings, ...args, '--json');
  expect(code, err.join('\n')).toBe(0);
  const [result] = JSON.parse(out.join('\n')) as Imported[];
  expect(result!.rejected).toBe(0);
  return { ...result!, err };
}

async function exported(subject: string, format: string): Promise<string[]> {
  const folder = join(work, `${subject}-${format}`);
  const { code, out, err } = await run(exportRecordings, subject, '--format', format, '--out', folder, '--json');
  expect(code, err.join('\n')).toBe(0);
  return (JSON.parse(out.join('\n')) as { files: string[] }).files;
}

const ns = (iso: string, more = 0n): bigint => BigInt(Date.parse(iso)) * 1_000_000n + more;
const put = (name: string, content: string | Uint8Array): string => {
  writeFileSync(join(work, name), content);
  return join(work, name);
};
const int16 = (values: readonly number[]): Uint8Array => new Uint8Array(Int16Array.from(values).buffer);

function edfAt(path: string): EdfFile {
  const file = parseEdf(readFileSync(path));
  if ('rejected' in file) throw new Error(file.detail);
  return file;
}

const ramp = (n: number): number[] => Array.from({ length: n }, (_, i) => (i % 200) - 100);

// Most of their time is waiting for what was imported to reach the tables: they wait together.
describe.concurrent('files of other tools', () => {
  // promise: export-waits, export-no-wait
  test('an export straight after an import holds all that was acknowledged, or says that it does not', async () => {
    const n = 250 * 600;
    put('long.hea', `long 1 250 ${n} 08:00:00 05/01/2026\nlong.dat 16 200 16 0 0 0 0 II\n`);
    put('long.dat', int16(ramp(n)));
    const { samples } = await imported(join(work, 'long.hea'), '--subject', 'soon', '--start', '2026-01-05T08:00:00Z');
    expect(samples).toBe(n);
    const folder = join(work, 'soon-now');
    const hurried = await run(exportRecordings, 'soon', '--format', 'wfdb', '--out', folder, '--no-wait', '--json');
    const count = async (files: string[]): Promise<number> => {
      const hea = files.find((file) => file.endsWith('.hea'));
      return hea === undefined ? 0 : (await readRecord(hea)).leads[0]!.samples.filter((value) => value !== MISSING).length;
    };
    // Written completely with exit code 0, or with a message.
    if (hurried.code === 0) expect(await count((JSON.parse(hurried.out.join('')) as { files: string[] }).files)).toBe(n);
    else expect([hurried.code, hurried.err.join(' ')]).toEqual([1, expect.stringMatching(/incomplete|no stream|no recordings/)]);
    expect(await count(await exported('soon', 'wfdb'))).toBe(n);
  });

  // promise: import-time, export-wfdb
  test('WFDB: base time and date are the start; an export says them too and comes back without --start, to the nanosecond', async () => {
    put('dated.hea', 'dated 1 250 1000 23:59:58.25 05/01/2026\ndated.dat 16 200 16 0 0 0 0 II\n');
    put('dated.dat', int16(ramp(1000)));
    const { startUnixNs } = await imported(join(work, 'dated.hea'), '--subject', 'dated');
    expect(startUnixNs).toBe(String(ns('2026-01-05T23:59:58.250Z')));
    const hea = (await exported('dated', 'wfdb')).find((file) => file.endsWith('.hea'))!;
    expect(readFileSync(hea, 'latin1').split('\n')[0]).toMatch(/ 250 1000 23:59:58\.250 05\/01\/2026$/);

    // The comment is exact where the base time ends at milliseconds.
    const exact = ns('2026-01-05T23:59:58.250Z', 123_457n);
    put('exact.hea', `exact 1 250 1000 23:59:58.25 05/01/2026\nexact.dat 16 200 16 0 0 0 0 II\n# start_unix_ns ${exact}\n`);
    put('exact.dat', int16(ramp(1000)));
    expect((await imported(join(work, 'exact.hea'), '--subject', 'exact')).startUnixNs).toBe(String(exact));
    const again = (await exported('exact', 'wfdb')).find((file) => file.endsWith('.hea'))!;
    expect((await imported(again, '--subject', 'exact-again')).startUnixNs).toBe(String(exact));

    // A time of day without a date is not a start time.
    put('timed.hea', 'timed 1 250 1000 23:59:58\ntimed.dat 16 200 16 0 0 0 0 II\n');
    put('timed.dat', int16(ramp(1000)));
    const timed = await run(importRecordings, join(work, 'timed.hea'));
    expect(timed.code).toBe(2);
    expect(timed.err.join(' ')).toContain('does not state when it was recorded');
  });

  test('--start is for recordings that do not state their time: one that does keeps it, with a word', async () => {
    put('both-dated.hea', 'both-dated 1 250 1000 23:59:58.25 09/01/2026\nboth-dated.dat 16 200 16 0 0 0 0 II\n');
    put('both-dated.dat', int16(ramp(1000)));
    put('both-plain.hea', 'both-plain 1 250 1000\nboth-plain.dat 16 200 16 0 0 0 0 II\n');
    put('both-plain.dat', int16(ramp(1000)));
    const paths = ['both-dated.hea', 'both-plain.hea'].map((file) => join(work, file));
    const given = await run(importRecordings, ...paths, '--subject', 'both', '--start', '2026-01-10T08:00:00Z', '--json');
    expect(given.code, given.err.join('\n')).toBe(0);
    const results = JSON.parse(given.out.join('')) as { startUnixNs: string }[];
    expect(results.map(({ startUnixNs }) => startUnixNs)).toEqual(
      [ns('2026-01-09T23:59:58.250Z'), ns('2026-01-10T08:00:00.000Z')].map(String),
    );
    const said = given.err.filter((line) => line.includes('--start'));
    expect(said).toEqual([`${paths[0]}: --start was not used: the recording states 2026-01-09T23:59:58.250Z`]);
    // The same time needs no word.
    const same = await run(importRecordings, paths[0]!, '--subject', 'both', '--start', '2026-01-09T23:59:58.250Z', '--json');
    expect([same.code, same.err.filter((line) => line.includes('--start'))]).toEqual([0, []]);
  });

  // promise: export-wfdb-negative
  test('WFDB: a lead of negative gain is exported with the same physical values', async () => {
    put(
      'upside.hea',
      'upside 2 250 1000 08:00:00 06/01/2026\nupside.dat 16 -200(12)/mV 16 0 0 0 0 II\nupside.dat 16 200(0)/mV 16 0 0 0 0 V1\n',
    );
    const values = ramp(2000).map((value, i) => (i === 40 ? -32_768 : i === 42 ? -32_767 : value));
    put('upside.dat', int16(values));
    await imported(join(work, 'upside.hea'), '--subject', 'upside');
    const files = await exported('upside', 'wfdb');
    const lead = (await readRecord(files.find((file) => file.endsWith('.hea'))!)).leads[0]!;
    expect(lead.gain).toBeGreaterThan(0);
    const physical = [...lead.samples].map((value) => (value === MISSING ? null : (value - lead.baseline) / lead.gain));
    expect(physical).toEqual(values.filter((_, i) => i % 2 === 0).map((value) => (value === -32_768 ? null : (value - 12) / -200 + 0)));
  });

  // promise: export-whole
  test('an export that fails leaves no partial files', async () => {
    put('whole.hea', 'whole 1 250 1000 08:00:00 07/01/2026\nwhole.dat 16 200 16 0 0 0 0 II\n');
    put('whole.dat', int16(ramp(1000)));
    await imported(join(work, 'whole.hea'), '--subject', 'whole', '--start', '2026-01-07T08:00:00Z');
    const [hea] = await exported('whole', 'wfdb');
    const folder = join(work, 'whole-again');
    // The samples file cannot be placed: a folder has its name.
    const dat = hea!
      .split('/')
      .at(-1)!
      .replace(/\.hea$/, '.dat');
    mkdirSync(join(folder, dat, 'x'), { recursive: true });
    expect((await run(exportRecordings, 'whole', '--format', 'wfdb', '--out', folder, '--force')).code).toBe(1);
    expect(readdirSync(folder)).toEqual([dat]);
    expect((await readHeader(hea!)).frameCount).toBe(1000);
  });

  const night = (more: Partial<EdfToWrite> = {}): EdfToWrite => ({
    startUnixNs: ns('2026-01-08T22:15:03Z', 250_000_100n),
    missing: MISSING,
    signals: [
      { label: 'EEG Fpz-Cz', unit: 'uV', rateNanoHz: 100e9, gain: 10, baseline: 0, samples: Int32Array.from(ramp(1000)), transducer: 'Ag-AgCl electrodes', prefilter: 'HP:0.5Hz LP:100Hz' }, // prettier-ignore
      { label: 'EOG horizontal', unit: 'uV', rateNanoHz: 100e9, gain: 10, baseline: 0, samples: Int32Array.from(ramp(1000)) },
      { label: 'ECG II', unit: 'mV', rateNanoHz: 100e9, gain: 200, baseline: 0, samples: Int32Array.from(ramp(1000)) },
      { label: 'Resp oro-nasal', unit: '1', rateNanoHz: 1e9, gain: 10, baseline: 0, samples: Int32Array.from(ramp(10)) },
    ],
    annotations: [
      { onsetSec: -0.000057, durationSec: Number.NaN, text: 'Lights off' },
      { onsetSec: 0, durationSec: 30, text: 'Sleep stage W' },
      { onsetSec: 4.5, durationSec: 0.125, text: 'Arousal' },
      { onsetSec: 10, durationSec: Number.NaN, text: 'Lights on' },
    ],
    ...more,
  });

  // promise: export-edf
  test('EDF+: annotations keep their durations and times, also before the first sample and after the last one', async () => {
    const source = night();
    const path = put('night.edf', writeEdf(source).bytes);
    const { samples, events, startUnixNs } = await imported(path, '--subject', 'night');
    expect([samples, events]).toEqual([3010, 4]);
    expect(BigInt(startUnixNs)).toBe(source.startUnixNs! - 1_000_000_000n); // room for the lights that went off before
    await until(async () => {
      const { rows } = await database.pool.query<{ n: number }>(
        `select count(*)::int as n from device_event e join stream s on s.id = e.stream_id join xuser x on x.id = s.xuser_id
       where x.external_id = 'night'`,
      );
      return rows[0]!.n === 4;
    });
    const [back] = await exported('night', 'edf');
    const file = edfAt(back!);
    const shiftSec = Number(source.startUnixNs! - file.startUnixNs!) / 1e9;
    const found = file.annotations.filter(({ text }) => !text.startsWith('missing '));
    expect(found.map(({ durationSec, text }) => [durationSec, text])).toEqual(
      source.annotations!.map(({ durationSec, text }) => [durationSec, text]),
    );
    found.forEach(({ onsetSec }, i) => expect(onsetSec - shiftSec).toBeCloseTo(source.annotations![i]!.onsetSec, 8));
  });

  // promise: export-edf, export-edf-says
  test('EDF+: labels and codes survive two round trips; what is not kept is reported', async () => {
    const path = put('labels.edf', writeEdf(night({ startUnixNs: ns('2026-01-09T22:15:03Z', 250_000_100n) })).bytes);
    const codes = ['other.fpz-cz', 'other.eog-horizontal', 'ecg.ii', 'resp.oro-nasal'];
    const first = await imported(path, '--subject', 'labels');
    expect(first.channels).toEqual(codes);
    expect(first.err).toEqual([
      expect.stringContaining('not kept: transducer of EEG Fpz-Cz: Ag-AgCl electrodes'),
      expect.stringContaining('not kept: prefilter of EEG Fpz-Cz: HP:0.5Hz LP:100Hz'),
    ]);
    const [back] = await exported('labels', 'edf');
    expect(edfAt(back!).signals.map(({ label }) => label)).toEqual(['EEG Fpz-Cz', 'EOG horizontal', 'ECG II', 'Resp oro-nasal']);
    const second = await imported(back!, '--subject', 'labels-2');
    expect(second.channels).toEqual(codes);
    const [again] = await exported('labels-2', 'edf');
    expect(edfAt(again!).signals.map(({ label }) => label)).toEqual(['EEG Fpz-Cz', 'EOG horizontal', 'ECG II', 'Resp oro-nasal']);
    // WFDB has the codes or the leads, and comes back to the same codes.
    const hea = (await exported('labels', 'wfdb')).find((file) => file.endsWith('-100Hz.hea'))!;
    expect((await openRecording(hea)).channels.map(({ config }) => config.code)).toEqual(codes.slice(0, 3));
  });

  test('EDF+: a file of annotations only is imported as events, and comes back as one', async () => {
    const annotations = [
      { onsetSec: 0, durationSec: 30_630, text: 'Sleep stage W' },
      { onsetSec: 30_630, durationSec: 120, text: 'Sleep stage 1' },
      { onsetSec: 30_750, durationSec: 390, text: 'Sleep stage 2' },
    ];
    const path = put('hypnogram.edf', writeEdf(night({ startUnixNs: ns('2026-01-10T16:13:00Z'), signals: [], annotations })).bytes);
    const hypnogram = await run(importRecordings, path, '--subject', 'hypnogram');
    expect(hypnogram.code, hypnogram.err.join('\n')).toBe(0);
    expect(hypnogram.out[0]).toMatch(/no signals, 3 annotations/);
    const contents = async (): Promise<string[]> => {
      const { rows } = await database.pool.query<{ content: string; ts_ns: bigint }>(
        `select e.content from device_event e join stream s on s.id = e.stream_id join xuser x on x.id = s.xuser_id
       where x.external_id = 'hypnogram' order by e.ts_ns`,
      );
      return rows.map(({ content }) => content);
    };
    await until(async () => (await contents()).length === 3);
    expect((await contents())[0]).toBe('Sleep stage W; duration 30630 s');
    const [back] = await exported('hypnogram', 'edf');
    const file = edfAt(back!);
    expect([file.startUnixNs, file.signals, file.annotations]).toEqual([ns('2026-01-10T16:13:00Z'), [], annotations]);

    // Too far away to be of this recording: named, not dropped silently.
    const farPath = put('far.edf', writeEdf(night({ startUnixNs: ns('2026-01-11T16:13:00Z'), annotations: [{ onsetSec: 1e6, durationSec: Number.NaN, text: 'Battery' }] })).bytes); // prettier-ignore
    const far = await run(importRecordings, farPath, '--subject', 'far');
    expect(far.code).toBe(0);
    expect(far.err.join('\n')).toContain('not kept: annotation at 1000000 s: Battery');

    // An empty result is not success.
    const nonePath = put('none.edf', writeEdf(night({ signals: [], annotations: [] })).bytes);
    const none = await run(importRecordings, nonePath);
    expect(none.code).toBe(1);
    expect(none.err.join('\n')).toContain('neither samples nor annotations');
  });

  test.each([
    ['512 Hz with microseconds in a column time', 512, 'time,II', (at: bigint) => `${new Date(Number(at / 1_000_000_000n) * 1000).toISOString().slice(0, 19)}.${String((at % 1_000_000_000n) / 1000n).padStart(6, '0')}Z`], // prettier-ignore
    ['250 Hz with Unix ms', 250, 'time,II', (at: bigint) => String(at / 1_000_000n)],
  ] as const)('CSV: %s', async (name, hz, header, format) => {
    const start = ns('2026-01-12T08:00:00Z') + BigInt(hz) * 60_000_000_000n;
    const rows = Array.from({ length: hz * 10 }, (_, i) => `${format(start + BigInt(Math.round((i * 1e9) / hz)))},${i % 100}`);
    const path = put(`table-${hz}.csv`, `${header}\n${rows.join('\n')}\n`);
    const { samples, startUnixNs } = await imported(path, '--subject', name.replaceAll(' ', '-'));
    expect([samples, startUnixNs]).toEqual([hz * 10, String(start)]);
  });

  test('an Empatica folder of plain CSV without IBI is imported; without a sensor, a sentence says which', async () => {
    const folder = join(work, 'e4');
    mkdirSync(folder);
    for (const [sensor, hz] of [['BVP', 64], ['EDA', 4], ['TEMP', 4]] as const) put(`e4/${sensor}.csv`, `1767772800.000000\n${hz}.000000\n${Array.from({ length: hz * 5 }, (_, i) => `${i}.5`).join('\n')}\n`); // prettier-ignore
    const partial = await run(importRecordings, folder, '--subject', 'e4');
    expect(partial.code).toBe(1);
    expect(partial.err.join(' ')).toMatch(/e4: an Empatica folder without ACC\.csv or ACC\.csv\.gz/);
    put(
      'e4/ACC.csv',
      `1767772800.0, 1767772800.0, 1767772800.0\n32.0, 32.0, 32.0\n${Array.from({ length: 160 }, () => '1,2,63').join('\n')}\n`,
    );
    expect((await imported(folder, '--subject', 'e4')).samples).toBe(64 * 5 + 20 + 20 + 3 * 160);
  });

  test('slow signals travel in packets of up to a minute; importing again finds them all there', async () => {
    const rows = Array.from({ length: 3600 }, (_, i) => `${1_767_859_200 + i},${30 + (i % 10)}`);
    const path = put('slow.csv', `time_s,temp\n${rows.join('\n')}\n`);
    const first = await imported(path, '--subject', 'slow');
    expect(first).toMatchObject({ samples: 3600, accepted: 60, duplicates: 0 });
    expect(await imported(path, '--subject', 'slow')).toMatchObject({ accepted: 0, duplicates: 60 });
    const [csv] = await exported('slow', 'csv');
    expect((await openRecording(csv!)).channels[0]!.samples).toHaveLength(3600);
  });
});

test('outside the folder of the service, a command says so and makes no second database', () => {
  const folder = join(work, 'elsewhere');
  mkdirSync(folder);
  const main = join(import.meta.dirname, '../../src/cli/main.ts');
  const env = { PATH: process.env['PATH'] };
  const { status, stderr } = spawnSync(process.execPath, [main, 'export', 'patient-7'], {
    cwd: folder,
    env,
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect([status, stderr]).toEqual([1, expect.stringContaining(`no database in ${join(folder, '.data')}`)]);
  expect([existsSync(join(folder, '.data')), readdirSync(folder)]).toEqual([false, []]);
});
