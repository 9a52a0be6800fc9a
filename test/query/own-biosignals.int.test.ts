// Biosignals of a project's own next to the catalog's: each is found by its name and by no other's, also when a device named it, and
// whatever the catalog is given later.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isUcum } from '../../src/units/ucum.ts';
import { findBiosignal } from '../../widgets/shared/data.ts';
import { packetOf } from '../helpers/packets.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

type Biosignal = NonNullable<ReturnType<typeof findBiosignal>>;

const ADVICE = 'write kg, mm[Hg], Cel, /min or m/s2; a count in braces, {score}; 1 for no unit';
const SAME = 'capitals, full-width letters and blanks make no difference.';

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
  expect([status, body.code, body.detail]).toEqual([409, 'conflict', `${why} Choose another; ${SAME}`]);
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

const addAs = (changed: object) =>
  running.send<{ detail: string; code: string; errors: { pointer: string }[] }>('POST', path, {
    body: { name: 'Fit', abbreviation: 'FIT', unit: 'ms', signal_type: 'scalar', source_type: 'device', code: 'fit', ...changed },
  });
const refusal = async (changed: object): Promise<unknown> => {
  const before = await list();
  const { status, body } = await addAs(changed);
  expect(await list()).toEqual(before);
  expect([status, body.code]).toEqual([422, 'validation_failed']);
  expect(body.errors.map(({ pointer }) => pointer)).toEqual([body.detail.split(':')[0]]);
  return body.detail;
};

it('refuses an abbreviation that no list could name, and a source that is the service', async () => {
  expect(await refusal({ abbreviation: 'A,B' })).toBe(
    '/abbreviation: holds a comma, which separates the abbreviations of a list, as in widgets',
  );
  expect(await refusal({ source_type: 'derived' })).toBe('/source_type: must not be derived: only the service computes those');
});

// promise: own-names
it.each([
  ['HR\u200b', 'U+200B'],
  ['H\u00adR', 'U+00AD'],
  ['\u202eHR', 'U+202E'],
  ['H\u2060R', 'U+2060'],
  ['HR\ufe0f', 'U+FE0F'],
  ['H\u200dR', 'U+200D'],
  ['\u0645\u06cc\u200c', 'U+200C'], // at the end of a word
  ['\u0645\u06cc\u200c\u200c\u0631', 'U+200C'],
  ['H\u3164R', 'U+3164'],
  ['HR\u{e0041}', 'U+E0041'],
])('refuses a name or abbreviation with what nobody sees: %j', async (text, character) => {
  for (const member of ['name', 'abbreviation'])
    expect(await refusal({ [member]: text })).toBe(`/${member}: holds ${character}, which nobody sees: it would look like another`);
});

// promise: own-names
it('takes signs that are seen, and in a name the joiners that Persian and Hindi need between letters', async () => {
  const names = ['\u0645\u06cc\u200c\u0631\u0648\u0645', '\u0930\u094d\u200d\u092f', '\u0600\u0661 \u06dd\u0662'];
  for (const [i, name] of names.entries()) {
    const made = await addAs({ name, abbreviation: `\u0600${i}`, code: `joined_${i}` });
    expect([name, made.status]).toEqual([name, 201]);
    expect((await list()).map((item) => item.name)).toContain(name);
  }
  expect(await refusal({ abbreviation: names[0] })).toMatch(/^\/abbreviation: holds U\+200C, which nobody sees/);
  // A joiner makes no other name.
  expect((await addAs({ name: '\u0645\u06cc\u0631\u0648\u0645' })).status).toBe(409);
});

// promise: own-names
it.each([
  ['abbreviation', '\uff28\uff32', 'HR'], // full-width
  ['name', 'Heart\u00a0rate  from\u2003ECG', 'HR'],
  ['abbreviation', '\u{1d407}R', 'HR'], // a letter of mathematics
])('refuses a %s that is another by compatibility: %j', async (member, text, holder) => {
  const { status, body } = await addAs({ [member]: text });
  expect([status, body.code]).toEqual([409, 'conflict']);
  expect(body.detail).toContain(`the catalog has ${holder} (`);
});

// promise: own-units
it.each([
  ['bpm', 'write /min'],
  ['mmHg', 'write mm[Hg]'],
  ['°C', 'write Cel'],
  ['lbs', 'write [lb_av]'],
  ['µS', 'write uS'],
  ['m/s²', 'write m/s2'],
  ['m/s^2', 'write m/s2'],
  ['steps', 'if it is a count, write {steps}'],
  ['beats per minute', 'if it is a count, write {beats}/min'],
  ['kilograms', 'write kg'],
  ['10⁹/L', 'write 10*9/L'],
  ['x10⁹/L', 'write 10*9/L'],
  ['10⁻³.m', 'write 10*-3.m'],
  ['10^3/µL', 'write 10*3/uL'],
  ['10*3/µl', 'write 10*3/ul'],
  ['5×10³/µL', 'write 5.10*3/uL'],
  ['10 × m', 'write 10.m'],
  ['1x10^9/µL', 'write 1.10*9/uL'],
  ['Kg', 'write kg'],
  ['KG', 'write kg'],
  ['mEq/L', 'write meq/L'],
  ['mOsm/kg', 'write mosm/kg'],
  ['khz', 'write kHz'],
  ['Mhz', 'write MHz'],
  ['mv', 'write mV'],
  ['mIU/L', 'write m[IU]/L'],
  ['µIU/mL', 'write u[IU]/mL'],
  ['IU', 'write [IU]'],
  ['mcg', 'write ug'],
  ['mcg/kg/min', 'write ug/kg/min'],
  ['inches', 'write [in_i]'],
  ['feet', 'write [ft_i]'],
  ['pounds', 'write [lb_av]'],
  ['mins', 'write min'],
  ['MET', 'write [MET]'],
  ['METs', 'write [MET]'],
  ['mm Hg', 'write mm[Hg]'],
  ['mm Hg/s', 'write mm[Hg]/s'],
  ['cm H2O', 'write cm[H2O]'],
  ['° C', 'write Cel'],
  ['degrees Fahrenheit', 'write [degF]'],
  ['mM', 'write mmol/L'],
  ['pmol/mM', 'write pmol/(mmol/L)'],
  ['Nm', 'write N.m'],
  ['millivolts', 'write mV'],
  ['microsiemens', 'write uS'],
  ['ft', 'write [ft_i]'],
  ['ft2', 'write [ft_i]2'],
  ['ft/s', 'write [ft_i]/s'],
  ['mph', 'write [mi_i]/h'],
  ['kph', 'write km/h'],
  ['C', 'write Cel'],
  ['F', 'write [degF]'],
  ['G/L', 'write 10*9/L'],
  ['G/l', 'write 10*9/L'],
  ['T/L', 'write 10*12/L'],
  ['Gpt/l', 'write 10*9/L'],
  ['K/µL', 'write 10*3/uL'],
  ['K/uL', 'write 10*3/uL'],
  ['M/uL', 'write 10*6/uL'],
  ['mmol/24h', 'write mmol/(24.h)'],
  ['mcg/24 h', 'write ug/(24.h)'],
  ['vol%', 'write %{vol}'],
  ['‰', 'write [ppth]'],
  ['mL/min/1.73m²', 'write mL/min/{1.73_m2}'],
  ['mL/min/1.73.m2', 'write mL/min/{1.73_m2}'],
  ['mval/L', 'write meq/L'],
  ['mIE/L', 'write m[IU]/L'],
  // No guess is better than one that may be wrong by powers of ten.
  ['mhz', ADVICE],
  ['CAL', ADVICE],
  ['MM', ADVICE],
  ['1/s²x/24h', ADVICE],
  ['100²', ADVICE],
  ['10³²³ m³²', ADVICE],
  ['units', ADVICE],
  ['MIU/L', ADVICE],
  ['Us', ADVICE],
  ['NM', ADVICE],
  ['mph2', ADVICE],
  ['UG/ML', ADVICE],
])('refuses the unit %s and says: %s', async (unit, advice) => expect(await refusal({ unit })).toBe(`/unit: is no UCUM unit: ${advice}`));

// promise: own-units
it('refuses other units with how one is written, and takes what UCUM has', async () => {
  expect(await refusal({ unit: '' })).toBe(`/unit: is empty: ${ADVICE}`);
  for (const unit of ['kg//', '{', '§', 'm)', '((m)', '{a b}', '7.', '.m', 'kilo gram'])
    expect(await refusal({ unit })).toMatch(/^\/unit: is no UCUM unit: /);
  const units = [
    'kg',
    '1',
    '%',
    '/min',
    '{beats}/min',
    'm/s2',
    'mm[Hg]',
    '10*3/uL',
    'mL/(kg.min)',
    'uS',
    '[lb_av]',
    'kg{dry}',
    'm[g]',
    '1/min',
    '%/s2',
    "[arb'U]",
    'C/kg',
    'mF',
    'G',
    'mT',
    'mmol/(24.h)',
    '%{vol}',
    '[ppth]',
    'mL/min/{1.73_m2}',
    '10*9/L',
    '10^9/L',
  ];
  for (const [i, unit] of units.entries()) {
    const made = await addAs({ unit, name: `Unit ${i} of`, abbreviation: `UNIT-${i}`, code: `unit_${i}` });
    expect([unit, made.status]).toEqual([unit, 201]);
  }
  // Every unit of the catalog is one.
  for (const { unit } of await list()) expect([unit, isUcum(unit)]).toEqual([unit, true]);
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

it.each([
  ['names that differ in capitals', 'Race one', 'R-A', 'RACE ONE', 'R-B'],
  ['a name and an abbreviation', 'Racetwo', 'R-C', 'Race 2', 'RACETWO'],
  ['abbreviations that differ in width', 'Race three', 'R-D', 'Race 3', '\uff32-D'],
])('takes one of %s that come at the same time', async (_, name, abbreviation, otherName, other) => {
  const code = `race_${abbreviation.at(-1)!.toLowerCase()}`;
  const requests = Array.from({ length: 8 }, (_one, i) =>
    i % 2 === 0 ? add(name, abbreviation, `${code}_${i}`) : add(otherName, other, `${code}_${i}`),
  );
  const statuses = (await Promise.all(requests)).map(({ status }) => status).toSorted((a, b) => a - b);
  expect(statuses).toEqual([201, ...Array.from({ length: 7 }, () => 409)]);
});

it('refuses a name that looks like an older one with an invisible character', async () => {
  await running.database.pool.query(
    `insert into biosignal (project_id, name, abbreviation, unit, signal_type, source_type, code)
     values ($1, $2, $2, 'x,y', 'scalar', 'derived', 'older')`,
    [running.org.projectId, 'OLD\u200bER'],
  );
  expect((await addAs({ abbreviation: 'Older' })).status).toBe(409);
  // What is there stays and takes measurements.
  const { id } = (await list()).find(({ abbreviation }) => abbreviation === 'OLD\u200bER')!;
  await running.token('old');
  const measurements = [{ biosignal_id: id, value: 3, time: '2026-03-01T08:00:00Z' }];
  expect((await running.send('POST', '/api/v1/measurements', { body: { subject_id: 'old', measurements } })).status).toBe(201);
});
