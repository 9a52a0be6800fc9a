// Biosignals of a project's own next to the catalog's: each is found by its name and by no other's, also when a device named it, and
// whatever the catalog is given later.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findBiosignal } from '../../widgets/shared/data.ts';
import { packetOf } from '../helpers/packets.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

type Biosignal = NonNullable<ReturnType<typeof findBiosignal>>;

let running: RunningService;
let path: string;
const list = async (): Promise<readonly Biosignal[]> => (await running.send<Biosignal[]>('GET', path)).body;
const add = (name: string, abbreviation: string, code: string) =>
  running.send<Biosignal & { code: string; detail: string }>('POST', path, {
    body: { name, abbreviation, unit: 'ms', signal_type: 'scalar', source_type: 'device', code },
  });

beforeAll(async () => {
  running = await runService();
  path = `/api/v1/projects/${running.org.projectId}/biosignals`;
  expect((await add('Grip strength', 'GRIP', 'grip_strength')).status).toBe(201);
  expect((await add('Anger', 'Ärger', 'anger')).status).toBe(201);
});
afterAll(() => running?.close());

// promise: own-names
it.each([
  ['the abbreviation of the catalog', 'Mine', 'SD1', 'The abbreviation SD1 is taken: the catalog has SD1 (HRV SD1, 5 min).'],
  ['one that differs in case', 'Mine', 'sd1', 'The abbreviation sd1 is taken: the catalog has SD1 (HRV SD1, 5 min).'],
  [
    'a name of the catalog',
    'heart rate from ecg',
    'MINE',
    'The name heart rate from ecg is taken: the catalog has HR (Heart rate from ECG).',
  ],
  ['an abbreviation as name', 'Qt', 'MINE', 'The name Qt is taken: the catalog has QT (QT interval, 60 s).'],
  ['a feature', 'Mine', 'hr_ecg', 'The abbreviation hr_ecg is taken: the catalog has HR (Heart rate from ECG).'],
  ['its own, in another case', 'Mine', 'Grip', 'The abbreviation Grip is taken: the project has GRIP (Grip strength).'],
  [
    'its own, in other capitals and spelled otherwise',
    'A\u0308RGER',
    'MINE',
    'The name A\u0308RGER is taken: the project has Ärger (Anger).',
  ],
  ['its own name', 'GRIP STRENGTH', 'MINE', 'The name GRIP STRENGTH is taken: the project has GRIP (Grip strength).'],
])('refuses %s', async (_, name, abbreviation, why) => {
  const before = await list();
  const { status, body } = await add(name, abbreviation, 'mine');
  expect([status, body.code, body.detail]).toEqual([409, 'conflict', `${why} Choose another; capitals make no difference.`]);
  expect(await list()).toEqual(before);
});

it.each([
  ['/abbreviation', 'Mine', '17'],
  ['/abbreviation', 'Mine', '8867-4'],
  ['/name', '118', 'MINE'],
])('refuses, as %s, what would be an id or a LOINC code: %s, %s', async (pointer, name, abbreviation) => {
  const { status, body } = await add(name, abbreviation, 'mine');
  expect([status, body.code]).toEqual([422, 'validation_failed']);
  expect(body.detail).toBe(`${pointer}: looks like an id or a LOINC code, by which widgets find others`);
});

it.each([
  ['/abbreviation', 'Mine', ' '],
  ['/name', '\u00a0', 'MINE'],
])('refuses a blank %s', async (pointer, name, abbreviation) => {
  const { status, body } = await add(name, abbreviation, 'mine');
  expect([status, body.code, body.detail]).toEqual([422, 'validation_failed', `${pointer}: is blank`]);
});

it('takes one name and abbreviation of its own, and tells of a code that is taken', async () => {
  expect((await add('Jump', 'Jump', 'jump')).status).toBe(201);
  expect(await add('Leap', 'LEAP', 'jump')).toMatchObject({ status: 409, body: { detail: 'The code jump is taken in this project.' } });
});

// promise: own-names-of-devices
it('finds what a device has named like another by a name of its own, and keeps every value', async () => {
  const token = await running.token('ada');
  // sd1, hr_ecg, acceleration: an abbreviation, a feature and a name of the catalog; grip: the abbreviation of another code of the project;
  // 118, 8867-4: an id and a LOINC code of the catalog.
  const codes = ['sd1', 'hr_ecg', 'acceleration', 'grip', 'gait', '118', '8867-4'];
  const measurements = codes.map((code, i) => ({ code, tOffsetNs: 0, value: 50 + i, unit: 'ms', quality: 0 as const }));
  expect((await running.ingest(packetOf('watch', 0, { measurements }), token.xuser_token)).status).toBe(202);
  const stored = () =>
    running.database.pool.query<{ abbreviation: string; name: string; value: number }>(
      `select b.abbreviation, b.name, m.value from measurement m join biosignal b on b.id = m.biosignal_id order by m.value`,
    );
  await until(async () => (await stored()).rows.length === codes.length);
  expect((await stored()).rows).toEqual([
    { abbreviation: 'SD1-OWN', name: 'sd1', value: 50 },
    { abbreviation: 'HR_ECG-OWN', name: 'hr_ecg', value: 51 },
    { abbreviation: 'ACCELERATION-OWN', name: 'acceleration', value: 52 },
    { abbreviation: 'GRIP-OWN', name: 'grip', value: 53 },
    { abbreviation: 'GAIT', name: 'gait', value: 54 },
    { abbreviation: '118-OWN', name: '118', value: 55 },
    { abbreviation: '8867-4-OWN', name: '8867-4', value: 56 },
  ]);
  const all = await list();
  const found = (wanted: string) => findBiosignal(all, wanted)?.id;
  expect(found('sd1')).toBe(118);
  expect(found('118')).toBe(118);
  expect(found('8867-4')).toBe(all.find((item) => item.loinc_code === '8867-4')?.id);
  for (const item of all) {
    expect(found(item.abbreviation), item.abbreviation).toBe(item.id);
    expect(found(item.abbreviation.toLowerCase()), item.abbreviation).toBe(item.id);
    expect(found(`${item.id}`), item.abbreviation).toBe(item.id);
  }
});

// promise: own-names-later
it('what the catalog is given later moves a name of a project aside', async () => {
  expect((await add('Something new', 'NEW-1', 'new_1')).status).toBe(201);
  await running.database.pool.query(
    `insert into biosignal (id, abbreviation, name, unit, signal_type, source_type)
     values (900, 'New-1', 'A value of a later release', 'ms', 'scalar', 'derived') on conflict (id) do update set name = excluded.name`,
  );
  const all = await list();
  expect(findBiosignal(all, 'new-1')?.id).toBe(900);
  expect(findBiosignal(all, 'new-1-own')?.name).toBe('Something new');
});

/** Does something while another request has added a biosignal but not committed it, which it does once that waits for it. */
async function during<T>(abbreviation: string, work: () => Promise<T>): Promise<T> {
  const { pool } = running.database;
  const other = await pool.connect();
  try {
    await other.query('begin');
    await other.query(
      `insert into biosignal (project_id, name, abbreviation, unit, signal_type, source_type, code)
       values ($1, 'Of the other', $2, 'ms', 'scalar', 'device', $3)`,
      [running.org.projectId, abbreviation, `other_${abbreviation.toLowerCase()}`],
    );
    const done = work();
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await until(async () => (await pool.query(waiting)).rowCount! > 0);
    await other.query('commit');
    return await done;
  } finally {
    other.release(true);
  }
}

it('says that it is the abbreviation which another request has just taken', async () => {
  const { status, body } = await during('PACE', () => add('Mine', 'Pace', 'mine'));
  expect([status, body.detail]).toEqual([409, 'The abbreviation Pace is taken in this project.']);
  const same = await during('STEP', () => add('Mine', 'Mine', 'other_step'));
  expect([same.status, same.body.detail]).toEqual([409, 'The code other_step is taken in this project.']);
});

// promise: own-names-of-devices
it('keeps the values of a code whose abbreviation another request has just taken', async () => {
  const token = await running.token('eve');
  const measurements = [{ code: 'stride', tOffsetNs: 0, value: 7, unit: 'ms', quality: 0 as const }];
  const sent = await during('STRIDE', () => running.ingest(packetOf('band', 0, { measurements }), token.xuser_token));
  expect(sent.status).toBe(202);
  const stored = () =>
    running.database.pool.query(
      `select b.abbreviation, m.value from measurement m join biosignal b on b.id = m.biosignal_id where b.code = 'stride'`,
    );
  await until(async () => (await stored()).rows.length > 0);
  expect((await stored()).rows).toEqual([{ abbreviation: 'STRIDE-OWN', value: 7 }]);
});
