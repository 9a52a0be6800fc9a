/** Compares entries of people, and measurements and events that devices report besides samples. */
import { refusedBySite } from '../commands.ts';
import type { Boot, Oracle, Person } from '../oracle.ts';
import { readerOf } from './recordings.ts';
import { compareFhir } from './weights.ts';
import type { Bundle, Observation } from './weights.ts';

export async function compareReports(oracle: Oracle): Promise<void> {
  for (const person of await oracle.people()) {
    await compareEntries(oracle, person);
    await compareEpisodes(oracle, person);
    await compareBattery(oracle, person);
  }
  await compareRows(oracle, oracle.standing);
}

/** Read by the person: journals are for nobody else. */
async function compareEntries(oracle: Oracle, person: Person): Promise<void> {
  const as = person.token;
  const moods = await oracle.must<{ score: number; note: string | null }[]>(200, 'GET', '/api/v1/moods?limit=1000&order=asc', { as });
  same(
    oracle,
    `moods of ${person.externalId}`,
    moods?.map(({ score, note }) => `${score} ${note ?? ''}`),
    person.moods.map(({ score, note }) => `${score} ${note}`),
  );
  const journal = await oracle.must<{ text: string }[]>(200, 'GET', '/api/v1/journal?limit=1000&order=asc', { as });
  same(
    oracle,
    `journal of ${person.externalId}`,
    journal?.map(({ text }) => text),
    person.journal,
  );
  const answers = await oracle.must<{ scores: { value: number }[] }[]>(200, 'GET', '/api/v1/questionnaire-responses?limit=1000', { as });
  same(
    oracle,
    `answers of ${person.externalId}`,
    answers?.map(({ scores }) => String(scores[0]?.value)).sort(),
    person.answers.map(String).sort(),
  );
}

function same(oracle: Oracle, what: string, got: readonly string[] | undefined, wanted: readonly string[]): void {
  if (got !== undefined)
    oracle.expect(
      'entries',
      JSON.stringify(got) === JSON.stringify(wanted),
      () => `${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`,
    );
}

/** Compares noted entries: each must exist once. Those of devices are stored with them. */
async function compareEpisodes(oracle: Oracle, person: Person): Promise<void> {
  const { as, subject } = readerOf(oracle, person);
  const listed = (await oracle.must<{ id: string }[]>(200, 'GET', `/api/v1/episodes?${subject}limit=1000`, { as })) ?? [];
  for (const id of person.episodes) {
    const count = listed.filter((one) => one.id === id).length;
    oracle.expect('entries', count === 1, () => `episode ${id} of ${person.externalId} is listed ${count} times`);
  }
}

/** Measurements and events of packets, from the tables: each once, at its time. */
async function compareRows(oracle: Oracle, boots: readonly Boot[]): Promise<void> {
  const rows = await oracle.stage.sql<{ boot: string; row: string }>(
    `select encode(s.boot_id, 'hex') as boot, t.row from stream s join lateral (
       select concat_ws(' ', 'measurement', b.code, m.ts_ns - s.epoch_ns, encode(float8send(m.value), 'hex'), m.unit, m.qmask) as row
       from measurement m join biosignal b on b.id = m.biosignal_id where m.stream_id = s.id
       union all select concat_ws(' ', 'event', e.code, e.ts_ns - s.epoch_ns, encode(convert_to(e.content, 'UTF8'), 'hex')) from device_event e where e.stream_id = s.id) t on true
     where encode(s.boot_id, 'hex') = any ($1)`,
    [boots.map(({ bootId }) => bootId)],
  );
  const got = Map.groupBy(rows, ({ boot }) => boot);
  for (const { deviceId, bootId, sent } of boots) {
    const wanted = sent.flatMap(({ packet: { t0DeviceNs, measurements, events }, accepted }) =>
      accepted
        ? [
            ...measurements
              .filter(({ value }) => value !== refusedBySite.value)
              .map(
                ({ code, tOffsetNs, value, unit, quality }) =>
                  `measurement ${code} ${t0DeviceNs + BigInt(tOffsetNs)} ${bitsOf(value)} ${unit} ${quality}`,
              ),
            ...events
              .filter(({ text }) => text !== refusedBySite.text)
              .map(({ code, tOffsetNs, text }) => `event ${code} ${t0DeviceNs + BigInt(tOffsetNs)} ${Buffer.from(text).toString('hex')}`),
          ]
        : [],
    );
    const there = got.get(bootId)?.map(({ row }) => row) ?? [];
    const missing = wanted.filter((row) => !there.includes(row.trim()) && !there.includes(row));
    oracle.expect(
      'reports',
      missing.length === 0 && there.length === wanted.length,
      () =>
        `${deviceId} ${bootId}: of ${wanted.length} measurements and events ${there.length} are there; ${missing.slice(0, 3).join('; ')}`,
    );
  }
}

function bitsOf(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value === 0 ? 0 : value); // -0 is stored as 0
  return bytes.toString('hex');
}

/** Battery reports as observations: all, and none before the first and after the last. */
async function compareBattery(oracle: Oracle, person: Person): Promise<void> {
  const boots = oracle.standing.filter((boot) => boot.person === person);
  const wanted = boots.flatMap(({ sent }) =>
    sent.flatMap(({ packet, accepted }) => (accepted ? packet.measurements.filter(({ code }) => code === 'battery') : [])),
  );
  if (wanted.length === 0 || oracle.boots.some((boot) => boot.person === person && oracle.isExpired(boot))) return;
  const [signal] = await oracle.stage.sql<{ id: number }>(`select id from biosignal where code = 'battery' and project_id is null`);
  const { as, subject } = readerOf(oracle, person);
  const ask = async (more: string): Promise<Observation[]> =>
    (await oracle.must<Observation[]>(200, 'GET', `/api/v1/observations?${subject}biosignal_id=${signal!.id}&order=asc&limit=1000${more}`, {
      as,
    })) ?? [];
  const all = await ask('');
  const path = `/api/v1/observations?${subject}biosignal_id=${signal!.id}&order=asc&limit=1000`;
  const bundle = await oracle.must<Bundle>(200, 'GET', path, { as, headers: { accept: 'application/fhir+json' } });
  if (bundle !== null) compareFhir(oracle, `battery of ${person.externalId}`, person, all, bundle);
  const values = (list: readonly { value: number }[]): string =>
    list
      .map(({ value }) => value)
      .sort((a, b) => a - b)
      .join();
  oracle.expect(
    'observations',
    values(all) === values(wanted),
    () => `battery of ${person.externalId}: ${values(all)} instead of ${values(wanted)}`,
  );
  const [first, last] = [all[0], all.at(-1)];
  if (first === undefined || last === undefined) return;
  const after = new Date(Date.parse(last.effective_time) + 1000).toISOString();
  for (const [window, count] of [
    [`&until=${first.effective_time}`, 0],
    [`&since=${after}`, 0],
    [`&since=${first.effective_time}&until=${after}`, all.length],
  ] as const) {
    const found = await ask(window);
    oracle.expect(
      'observations',
      found.length === count,
      () => `battery of ${person.externalId}${window}: ${found.length} instead of ${count}`,
    );
  }
}
