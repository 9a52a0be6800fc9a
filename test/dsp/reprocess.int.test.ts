// Values are the same whichever way they came: live, computed again by `biosignal reprocess`, or after a kill that interrupted late data.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { EXIT_OK, EXIT_USAGE } from '../../src/cli/command.ts';
import { reprocess } from '../../src/cli/reprocess.ts';
import { fixtureChannels, madeUpStream } from '../../src/dsp/testing/fixture.ts';
import { methodDescriptions } from '../../src/dsp/catalog/method-descriptions.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { derivedRows, differences, packetsOf, postPackets, secondOf } from '../helpers/derived-rows.ts';
import { dropBeats, dropFeatures, putFeatures } from '../helpers/put-derived.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

/** Everything but a respiration channel: so that breathing is made of beats, too. */
const channels = fixtureChannels.filter(({ kind }) => kind !== 'resp');
const lengthSec = 420;
const startSec = 64.3;
const runs = madeUpStream(21, startSec, lengthSec, channels);
const epochNs = BigInt(Date.now() - 3_600_000) * 1_000_000n;

let database: TestDatabase;
let org: NewOrganization;
let serving: ChildProcess | null = null;

beforeAll(async () => {
  database = await testDatabase();
  org = await createOrganization(database.pool, 'Test');
});
afterEach(async () => {
  if (serving !== null) await stop('SIGKILL');
});
afterAll(() => database.close());

async function serve(): Promise<string> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'test/helpers/service-child.ts', database.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  serving = child;
  const [first] = (await once(child.stdout!.setEncoding('utf8'), 'data')) as [string];
  return first.trim();
}

async function stop(signal: NodeJS.Signals): Promise<void> {
  const child = serving!;
  serving = null;
  const closed = once(child, 'close');
  child.kill(signal);
  await closed;
}

const recordingOf = (deviceId: string): Packet[] => packetsOf(deviceId, runs, channels, epochNs);

async function send(baseUrl: string, sent: readonly Packet[]): Promise<void> {
  for (let at = 0; at < sent.length;) {
    const part = sent.slice(at, at + 10);
    const { status, text } = await postPackets(baseUrl, org.apiKey.key, part);
    const answer = JSON.parse(text) as { accepted?: number; rejected?: { code: string }[] };
    if (status === 202 && answer.rejected!.length === 0) at += 10;
    else if (status === 429 || status === 503 || answer.rejected?.every(({ code }) => code === 'rate_limited') === true) await sleep(200);
    else throw new Error(`${status} ${JSON.stringify(answer)}`);
  }
}

/** Device time of the newest stored samples of the channel that has the fewest, s; -1: it has none. */
async function lastStoredSec(deviceId: string): Promise<number> {
  const { rows } = await database.pool.query<{ sec: number | null }>(
    `select (min(coalesce((select max(b.start_ns) - s.epoch_ns from sample_block b where b.stream_id = s.id and b.channel_no = c.channel_no), -1e9)) / 1e9)::float8 as sec
     from stream s join device d on d.id = s.device_id join stream_channel c on c.stream_id = s.id where d.external_id = $1`,
    [deviceId],
  );
  return rows[0]?.sec ?? -1;
}

const rowsOf = (deviceId: string, beforeSec?: number): Promise<string[]> => derivedRows(database, deviceId, beforeSec);

async function cli(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const { code, out, err } = await ran(reprocess, args, { env: { DATABASE_URL: database.url }, cwd: process.cwd() });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

// promise: live-is-recomputed, method-versions, methods-listed, reprocess-replaces
test('reprocess gives what the live path gave, fills what is missing, and leaves other versions alone', async () => {
  const baseUrl = await serve();
  await send(baseUrl, recordingOf('live'));
  const answer = await fetch(`${baseUrl}/api/v1/methods`, { headers: { authorization: `Bearer ${org.apiKey.key}` } });
  const methods = (await answer.json()) as {
    code: string;
    current: boolean;
    parameters: { name: string; value: number; unit: string }[];
  }[];
  for (const { code, paper, notes, unit, step, parameters, limits } of methodDescriptions())
    expect(methods).toContainEqual(expect.objectContaining({ code, paper, notes, unit, step: step || null, parameters, limits }));
  expect(methods.find(({ code }) => code === 'derived:temp_mean_v4')!.parameters).toContainEqual({
    name: 'hampel',
    value: 3,
    unit: '1',
    meaning: expect.any(String) as string,
  });
  expect(methods.filter(({ code }) => /hr_ppg_v|sqi_(ppg|ecg)_v/.test(code)).map(({ code, current }) => [code, current])).toEqual([
    ['derived:hr_ppg_v1', false],
    ['derived:hr_ppg_v10', false],
    ['derived:hr_ppg_v11', false],
    ['derived:hr_ppg_v12', false],
    ['derived:hr_ppg_v13', true],
    ['derived:hr_ppg_v2', false],
    ['derived:hr_ppg_v3', false],
    ['derived:hr_ppg_v4', false],
    ['derived:hr_ppg_v5', false],
    ['derived:hr_ppg_v6', false],
    ['derived:hr_ppg_v7', false],
    ['derived:hr_ppg_v8', false],
    ['derived:hr_ppg_v9', false],
    ['derived:sqi_ecg_v1', false],
    ['derived:sqi_ecg_v10', false],
    ['derived:sqi_ecg_v11', false],
    ['derived:sqi_ecg_v12', false],
    ['derived:sqi_ecg_v13', false],
    ['derived:sqi_ecg_v14', false],
    ['derived:sqi_ecg_v15', false],
    ['derived:sqi_ecg_v16', true],
    ['derived:sqi_ecg_v2', false],
    ['derived:sqi_ecg_v3', false],
    ['derived:sqi_ecg_v4', false],
    ['derived:sqi_ecg_v5', false],
    ['derived:sqi_ecg_v6', false],
    ['derived:sqi_ecg_v7', false],
    ['derived:sqi_ecg_v8', false],
    ['derived:sqi_ecg_v9', false],
    ['derived:sqi_ppg_v1', false],
    ['derived:sqi_ppg_v10', false],
    ['derived:sqi_ppg_v11', true],
    ['derived:sqi_ppg_v2', false],
    ['derived:sqi_ppg_v3', false],
    ['derived:sqi_ppg_v4', false],
    ['derived:sqi_ppg_v5', false],
    ['derived:sqi_ppg_v6', false],
    ['derived:sqi_ppg_v7', false],
    ['derived:sqi_ppg_v8', false],
    ['derived:sqi_ppg_v9', false],
  ]);
  await stop('SIGTERM');
  const live = await rowsOf('live');
  for (const code of [
    'r_peaks_v19',
    'pulse_peaks_v7',
    'hr_ppg_v13',
    'hr_ppg_motion_v13',
    'resp_rate_ecg_v16',
    'resp_rate_ppg_v6',
    'hrv_sdnn_300s_v20',
  ])
    expect(live.filter((row) => row.startsWith(`derived:${code} `)).length, code).toBeGreaterThan(1);
  // What is stored is whole steps of the method, and the table of methods says which.
  const { rows: offGrid } = await database.pool.query(
    `select distinct m.code, m.step from method m join (
       select method_id, value from feature union all select method_id, interval_ms from beat) r on r.method_id = m.id
     where m.step = 0 or r.value <> round(r.value / nullif(m.step, 0)) / round(1 / nullif(m.step, 0))`,
  );
  expect(offGrid).toEqual([]);

  const again = await cli('--device', 'live', '--ended', '--workers', '2', '--json');
  expect(again.code, again.err).toBe(EXIT_OK);
  expect(JSON.parse(again.out)).toMatchObject({ ok: true, streams: 1, failed: 0 });
  expect(differences(await rowsOf('live'), live)).toEqual([]);

  // an older version's values, and holes in today's
  await database.pool.query(
    `insert into method (kind, name, code, cadence_hz, unit) values ('feature', 'hr_ppg', 'derived:hr_ppg_v1', 1, '/min')`,
  );
  await putFeatures(
    database,
    `select ts_ns, value + 1 as value, stream_id, (select id from method where code = 'derived:hr_ppg_v1') as method_id, channel_no, qmask from feature
     where method_id = (select id from method where code = 'derived:hr_ppg_v13')`,
  );
  const withOld = await rowsOf('live');
  const old = withOld.filter((row) => row.includes('hr_ppg_v1 '));
  expect(old.length).toBeGreaterThan(300);
  await dropFeatures(database, `ts_ns % 3 = 0 or (ts_ns / 1000000000) % 100 < 30`);
  await dropBeats(database, `(ts_ns / 1000000000) % 77 < 11`);
  await putFeatures(
    database,
    `select ts_ns, value + 1 as value, stream_id, (select id from method where code = 'derived:hr_ppg_v1') as method_id, channel_no, qmask from feature
     where method_id = (select id from method where code = 'derived:hr_ppg_v13')`,
  );
  const oldLeft = (await rowsOf('live')).filter((row) => row.includes('hr_ppg_v1 '));
  const oneMethod = await cli('--all', '--ended', '--method', 'derived:hr_ecg_v18');
  expect(oneMethod.code, oneMethod.err).toBe(EXIT_OK);
  const hr = (rows: readonly string[]): string[] => rows.filter((row) => row.includes(' hr_ecg') || row.startsWith('derived:hr_ecg_v18'));
  expect(differences(hr(await rowsOf('live')), hr(live))).toEqual([]);
  expect((await rowsOf('live')).length).toBeLessThan(live.length);
  expect((await cli('--device', 'live', '--ended')).code).toBe(EXIT_OK);
  // In the log of the organization whose values they are, with the person.
  const { rows: noted } = await database.pool.query(
    `select organization_id as org, subject_id is not null as named from audit_log where action = 'values.recomputed' order by id desc limit 1`,
  );
  expect(noted).toEqual([{ org: org.orgId, named: true }]);
  const filled = await rowsOf('live');
  expect(
    differences(
      filled.filter((row) => !row.includes('hr_ppg_v1 ')),
      live,
    ),
  ).toEqual([]);
  expect(filled.filter((row) => row.includes('hr_ppg_v1 '))).toEqual(oldLeft);
});

// promise: reprocess-live
test('values are those of all samples when late data arrives while reprocess writes', async () => {
  const baseUrl = await serve();
  const sent = recordingOf('meanwhile');
  const late = sent.slice(100, 104);
  await send(
    baseUrl,
    sent.filter((packet) => !late.includes(packet)),
  );
  const endSec = startSec + lengthSec - 60;
  const computed = async (): Promise<boolean> =>
    (await rowsOf('meanwhile')).some((row) => row.startsWith('derived:hr_ecg_v18') && secondOf(row) > endSec);
  await until(computed);
  // Values may be stored before the samples that they were computed from: then reprocess would find none, or only the first ones.
  const stored = async (): Promise<boolean> => (await lastStoredSec('meanwhile')) > endSec;
  await until(stored, () => lastStoredSec('meanwhile'));
  // reprocess has read its samples and stops before it writes: what it enters first waits for a lock that the test has
  const { pool } = database;
  const holder = await database.connect();
  await holder.query('select pg_advisory_lock(77)');
  await pool.query(`create function wait_for_test() returns trigger language plpgsql as $$ begin
      if current_setting('application_name') not like 'biosignal worker%' then perform pg_advisory_xact_lock_shared(77); end if; return null; end $$;
    create trigger wait_for_test before insert on method for each statement execute function wait_for_test()`);
  try {
    let ended: unknown = 'it did not end';
    const running = cli('--device', 'meanwhile', '--ended').then((result) => (ended = result) && result);
    const waits = `select from pg_locks where locktype = 'advisory' and not granted and objid = 77`;
    await until(
      async () => (await pool.query(waits)).rowCount === 1,
      async () => ended,
    );
    const before = await rowsOf('meanwhile', endSec);
    await send(baseUrl, late);
    await until(async () => differences(await rowsOf('meanwhile', endSec), before).length > 0); // the service has computed them
    await sleep(1000);
    await holder.query('select pg_advisory_unlock(77)');
    const { code, err } = await running;
    expect(code, err).toBe(EXIT_OK);
  } finally {
    await holder.end();
    await pool.query('drop trigger wait_for_test on method; drop function wait_for_test()');
  }
  const written = await rowsOf('meanwhile', endSec - 40);
  expect((await cli('--device', 'meanwhile', '--ended')).code).toBe(EXIT_OK);
  expect(differences(written, await rowsOf('meanwhile', endSec - 40))).toEqual([]);
});

test('reprocess says what is wrong with the call', async () => {
  expect((await cli()).code).toBe(EXIT_USAGE);
  expect(await cli('--all', '--method', 'derived:hr_ppg_v1')).toMatchObject({
    code: EXIT_USAGE,
    err: expect.stringContaining('this release computes derived:hr_ppg_v13') as string,
  });
  expect((await cli('--all', '--method', 'derived:nonsense_v1')).code).toBe(EXIT_USAGE);
  expect((await cli('--device', 'nobody')).code).toBe(EXIT_USAGE);
  const help = await cli('--help');
  expect(help).toMatchObject({ code: EXIT_OK, out: expect.stringContaining('--since TIME') as string });
});

// promise: late-is-the-same
test('late data that was acknowledged, and not computed when the service was killed, is computed after the next start', async () => {
  let baseUrl = await serve();
  const sent = recordingOf('late');
  // far apart: what the last ones make dirty does not reach back to the first
  const late = [...sent.slice(40, 46), ...sent.slice(310, 320)];
  await send(
    baseUrl,
    sent.filter((packet) => !late.includes(packet)),
  );
  await until(async () =>
    (await rowsOf('late')).some((row) => row.startsWith('derived:hr_ecg_v18') && secondOf(row) > startSec + lengthSec - 20),
  );
  await sleep(6000); // a checkpoint is noted: nothing but the late packets is to be replayed
  // they come one by one, so that the first are in the tables and checkpoints are noted while the recomputation still waits for the last
  for (const packet of late) {
    await send(baseUrl, [packet]);
    await sleep(450);
  }
  await stop('SIGKILL');
  const killed = await rowsOf('late');
  expect(killed.some((row) => row.startsWith('derived:hr_ecg_v18') && Math.abs(secondOf(row) - startSec - 43.5) < 1.5)).toBe(false);

  baseUrl = await serve();
  await send(baseUrl, recordingOf('whole'));
  const endSec = startSec + lengthSec - 60;
  await until(
    async () => differences(await rowsOf('late', endSec), await rowsOf('whole', endSec)).length === 0,
    () => rowsOf('late', endSec).then(async (rows) => differences(rows, await rowsOf('whole', endSec))),
  );
});

async function until(holds: () => Promise<boolean>, explain?: () => Promise<unknown>): Promise<void> {
  for (const deadline = performance.now() + 90_000; performance.now() < deadline; await sleep(500)) if (await holds()) return;
  throw new Error(`it did not come about: ${JSON.stringify(await explain?.())}`);
}
