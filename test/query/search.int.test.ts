/** Search over the records of an organization. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { holds } from '../../dashboard/folded.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { Answer, RunningService } from '../helpers/running-service.ts';
import { sendEcg } from '../helpers/send-ecg.ts';

type Found = Readonly<{
  people: readonly Readonly<{ external_id: string; display_name: string }>[];
  devices: readonly Readonly<{ device_id: string; external_id: string | null }>[];
  recordings: readonly Readonly<{ stream_id: string; external_id: string }>[];
}>;

let running: RunningService;

beforeAll(async () => {
  running = await runService();
  const id = await sendEcg(running, running.org.projectKey, 'Bed-12', Date.now() - 300_000);
  await running.send('PATCH', `/api/v1/xusers/${id}`, { body: { display_name: 'Ärztin 100%' } });
  await running.token('other bed-12');
  await running.token('elsewhere');
});
afterAll(async () => {
  expect(running.faults).toEqual([]);
  await running.close();
});

const find = async (words: string, as?: string, more = ''): Promise<Found> => {
  const answer = await running.send<Found>('GET', `/api/v1/search?q=${encodeURIComponent(words)}${more}`, as === undefined ? {} : { as });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};

// promise: search
it('finds people, devices and recordings by a part of their names in any case, what begins with it first', async () => {
  await until(async () => (await find('bed-12')).recordings.length === 1, 30_000);
  const found = await find('BED-12');
  expect(found.people.map(({ external_id: id }) => id)).toEqual(['Bed-12', 'other bed-12']);
  expect(found.devices).toMatchObject([{ device_id: 'Bed-12', external_id: 'Bed-12' }]);
  expect(found.recordings).toMatchObject([{ external_id: 'Bed-12' }]);
  expect((await find('ärztin')).people).toMatchObject([{ display_name: 'Ärztin 100%' }]);
  expect((await find('0%')).people).toHaveLength(1); // no pattern
  const id = found.recordings[0]!.stream_id;
  expect((await find(id.slice(0, 8))).recordings.map((one) => one.stream_id)).toContain(id);
  expect((await find(id)).recordings.map((one) => one.stream_id)).toEqual([id]);
  expect(await find('zzz')).toEqual({ people: [], devices: [], recordings: [] });
  expect((await find('e', undefined, '&limit=1')).people).toHaveLength(1);
  expect((await running.send('GET', '/api/v1/search?q=')).status).toBe(422);
});

it('finds names with and without their accents, as Turkish and German are typed', async () => {
  const names = {
    'tr-1': 'Öztürk',
    'tr-2': 'IŞIK İnci',
    'de-1': 'Jürgen Groß',
    'de-2': 'Mueller',
    'pl-1': 'Łukasz',
    'de-3': 'Michael Bräuer',
  };
  for (const [externalId, name] of Object.entries(names)) {
    await running.token(externalId);
    const [one] = (await running.send<{ xuser_id: string }[]>('GET', `/api/v1/xusers?external_id=${externalId}`)).body;
    await running.send('PATCH', `/api/v1/xusers/${one!.xuser_id}`, { body: { display_name: name } });
  }
  const sought = {
    'tr-1': ['ozturk', 'OZTURK', 'öztürk', 'Oeztuerk', 'O\u0308ztu'],
    'tr-2': ['isik', 'ışık', 'ISIK', 'inci', 'İNCİ'],
    'de-3': ['Michael Braeuer', 'michael brauer'],
    'de-1': ['jurgen', 'Juergen', 'gross', 'groß', 'GROẞ'],
    'de-2': ['müller', 'mueller', 'Muelle'],
    'pl-1': ['lukasz', 'ŁUK'],
  };
  for (const [id, all] of Object.entries(sought)) {
    for (const words of all) {
      expect([words, (await find(words)).people.map((one) => one.external_id)]).toEqual([words, [id]]);
      const listed = await running.send<{ external_id: string }[]>('GET', `/api/v1/xusers?search=${encodeURIComponent(words)}`);
      expect([words, listed.body.map((one) => one.external_id)]).toEqual([words, [id]]);
    }
  }
});

/** Makes people of these names, named by their place after a letter. */
async function people(letter: string, names: readonly string[]): Promise<void> {
  for (const [i, name] of names.entries()) {
    await running.token(`${letter}-${i}`);
    const [one] = (await running.send<{ xuser_id: string }[]>('GET', `/api/v1/xusers?external_id=${letter}-${i}`)).body;
    await running.send('PATCH', `/api/v1/xusers/${one!.xuser_id}`, { body: { display_name: name } });
  }
}

// promise: search
it('lists first what was typed, then what begins with it as it was typed, then other spellings, then what holds it', async () => {
  await people('rank', ['Banjoe', 'Joermann', 'Jöran', 'Joachim', 'Joe', 'Jo', 'Jö']);
  const names = async (words: string): Promise<string[]> => (await find(words)).people.map((one) => one.display_name);
  expect(await names('jo')).toEqual(['Jo', 'Jö', 'Joermann', 'Joachim', 'Joe', 'Jöran', 'Banjoe']);
  expect(await names('JÖ')).toEqual(['Jö', 'Jo', 'Jöran', 'Joermann', 'Joachim', 'Joe', 'Banjoe']);
  expect(await names('Joe')).toEqual(['Joe', 'Joermann', 'Jo', 'Jö', 'Jöran', 'Joachim', 'Banjoe']);
  expect((await find('rank-1')).people.map((one) => one.external_id)).toEqual(['rank-1']);
  for (const { xuser_id: id } of (await running.send<{ xuser_id: string }[]>('GET', '/api/v1/xusers?search=rank-')).body)
    await running.send('PATCH', `/api/v1/xusers/${id}`, { body: { display_name: '' } });
});

it('service and dashboard find the same', async () => {
  const names = [
    'Γιώργος Παππάς',
    'ΣΟΦΟΣ',
    'Þór Øst',
    'Łódź',
    'Straße',
    'STRASSE',
    'İzmir',
    'ırmak',
    'Noël Œuvre',
    'Nguyễn',
    'Израиль',
    'Müller',
    'Mueller',
  ];
  const sought = [
    'γιωργος',
    'ΓΙΏΡΓΟΣ ΠΑΠΠΆΣ',
    'παππασ',
    'σοφος',
    'Σοφοσ',
    'øst',
    'ost',
    'lodz',
    'strasse',
    'straße',
    'izmir',
    'IRMAK',
    'noel oeuvre',
    'nguyen',
    'израиль',
    'muller',
    'müller',
    'muelle',
  ];
  await people('same', names);
  const found: Record<string, unknown> = {};
  for (const words of sought) {
    const answer = await running.send<{ external_id: string }[]>('GET', `/api/v1/xusers?search=${encodeURIComponent(words)}`);
    const listed = answer.body
      .flatMap(({ external_id: id }) => (id.startsWith('same-') ? [Number(id.slice(5))] : []))
      .toSorted((a, b) => a - b);
    expect([words, listed]).toEqual([words, [...names.keys()].filter((i) => holds([names[i]!], words))]);
    expect([words, listed.length > 0]).toEqual([words, true]);
    found[words] = listed;
  }
  expect(found).toMatchObject({ γιωργος: [0], 'ΓΙΏΡΓΟΣ ΠΑΠΠΆΣ': [0], παππασ: [0], σοφος: [1], strasse: [4, 5], muller: [11] });
  for (const i of names.keys()) {
    const [one] = (await running.send<{ xuser_id: string }[]>('GET', `/api/v1/xusers?external_id=same-${i}`)).body;
    await running.send('PATCH', `/api/v1/xusers/${one!.xuser_id}`, { body: { display_name: '' } });
  }
});

it('lists people by their names without accents, and those without a name after them by their ids', async () => {
  for (const id of ['nameless c', 'Nameless B', 'nameless a']) await running.token(id);
  const all: { external_id: string; display_name: string }[] = [];
  for (let path: string | undefined = '/api/v1/xusers?sort=name&limit=2'; path !== undefined;) {
    const answer: Answer<typeof all> = await running.send('GET', path);
    all.push(...answer.body);
    path = /<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  const names = all.flatMap(({ display_name: name }) => (name === '' ? [] : [name]));
  expect(names).toEqual(['Ärztin 100%', 'IŞIK İnci', 'Jürgen Groß', 'Łukasz', 'Michael Bräuer', 'Mueller', 'Öztürk']);
  const ids = all.slice(names.length).map(({ external_id: id }) => id);
  expect(ids).toEqual(ids.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)));
  expect(ids).toEqual(expect.arrayContaining(['nameless a', 'Nameless B', 'nameless c']));
});

it('lists recordings by when they were recorded, the newest first, also when an older one was sent later', async () => {
  const day = 86_400_000;
  for (const days of [1, 3, 2]) await sendEcg(running, running.org.projectKey, 'often', Date.now() - days * day);
  let starts: string[] = [];
  await until(async () => {
    const { recordings } = (await running.send<{ recordings: { started_at: string }[] }>('GET', '/api/v1/search?q=often')).body;
    starts = recordings.map((one) => one.started_at);
    return starts.length === 3 && starts.every((start) => Date.parse(start) < Date.now() - day / 2);
  }, 60_000);
  expect(starts).toEqual(starts.toSorted().toReversed());
});

it('finds nothing of another organization, and no recordings of people who do not share', async () => {
  const far = await createOrganization(running.database.pool, 'Far');
  expect(await find('bed-12', far.apiKey.key)).toEqual({ people: [], devices: [], recordings: [] });
  const [recording] = (await find('bed-12')).recordings;
  expect((await find(recording!.stream_id, far.apiKey.key)).recordings).toEqual([]);
  await running.database.pool.query(`update project set consent_required = '{sharing}'`);
  expect((await find('bed-12')).recordings).toEqual([]);
});

it('nothing of an archived project is found, listed or counted, and its recordings cannot be opened', async () => {
  const lists = ['xusers', 'devices', 'signal-quality', 'fleet/episodes'];
  const listed = async (name: string): Promise<unknown> => (await running.send('GET', `/api/v1/${name}`)).body;
  await running.database.pool.query(`update project set consent_required = '{}'`);
  const [recording] = (await find('bed-12')).recordings;
  await running.send('POST', '/api/v1/episodes', { body: { subject_id: 'Bed-12', kind: 'fall', started_at: new Date().toISOString() } });
  for (const name of lists) await until(async () => ((await listed(name)) as unknown[]).length > 0); // quality is computed a moment later
  await running.database.pool.query('update project set archived_at = now()');
  expect(await find('bed-12')).toEqual({ people: [], devices: [], recordings: [] });
  for (const name of lists) expect(await listed(name), name).toEqual([]);
  expect(await listed('fleet/counts')).toMatchObject({ people: 0, devices: 0, episodes_open: 0 });
  expect((await running.send('GET', `/api/v1/streams/${recording!.stream_id}`)).status).toBe(404);
});
