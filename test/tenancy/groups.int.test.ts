/** Groups of people in the whole service: who is in them, lists that are narrowed to one, rules for one, and what erasure leaves. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createProject } from '../../src/tenancy/projects.ts';
import { applyRules } from '../../src/records/episode-rules.ts';
import { until } from '../helpers/database.ts';
import { ecgPackets } from '../helpers/ecg-packets.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

type Group = Readonly<{ id: string; name: string; member_count: number }>;

let running: RunningService;
let path: string;
let people: readonly string[];

beforeAll(async () => {
  running = await runService();
  path = `/api/v1/projects/${running.org.projectId}`;
  people = [(await running.token('ann')).xuser_id, (await running.token('ben')).xuser_id, (await running.token('cem')).xuser_id];
});
afterAll(async () => {
  expect(running.faults).toEqual([]);
  await running.close();
});

const make = async (name: string): Promise<Group> => {
  const made = await running.send<Group>('POST', `${path}/groups`, { body: { name } });
  expect(made.status, made.text).toBe(201);
  return made.body;
};
const put = async (group: Group, person: string): Promise<number> =>
  (await running.send('PUT', `${path}/groups/${group.id}/members/${person}`)).status;
const usersOf = async (group: Group): Promise<readonly string[]> =>
  (await running.send<{ external_id: string }[]>('GET', `/api/v1/xusers?group_id=${group.id}&sort=external_id`)).body.map(
    ({ external_id: id }) => id,
  );

// promise: groups
it('holds people once, several groups have the same person, and lists are narrowed to one', async () => {
  const [ward, night] = [await make('Ward 3'), await make('Night')];
  expect([await put(ward, 'ann'), await put(ward, people[1]!), await put(ward, 'ann'), await put(night, 'ben')]).toEqual([
    200, 200, 200, 200,
  ]);
  expect(await usersOf(ward)).toEqual(['ann', 'ben']);
  expect(await usersOf(night)).toEqual(['ben']);
  expect((await running.send<Group[]>('GET', `${path}/groups`)).body.map(({ name, member_count: n }) => [name, n])).toEqual([
    ['Night', 1],
    ['Ward 3', 2],
  ]);
  expect((await running.send<Group[]>('GET', `${path}/groups?subject_id=ann`)).body.map(({ name }) => name)).toEqual(['Ward 3']);
  for (const subject_id of ['ann', 'cem'])
    await running.send('POST', '/api/v1/episodes', { body: { subject_id, kind: 'note', started_at: new Date().toISOString() } });
  const episodes = await running.send<{ external_id: string }[]>('GET', `/api/v1/fleet/episodes?group_id=${ward.id}`);
  expect(episodes.body.map(({ external_id: id }) => id)).toEqual(['ann']);
  for (const list of ['devices', 'signal-quality', 'xusers', 'fleet/episodes']) {
    expect((await running.send('GET', `/api/v1/${list}?group_id=${ward.id}`)).status, list).toBe(200);
    expect((await running.send('GET', `/api/v1/${list}?group_id=${people[0]}`)).status, list).toBe(404);
  }
  expect((await running.send('DELETE', `${path}/groups/${ward.id}/members/ann`)).status).toBe(204);
  expect(await usersOf(ward)).toEqual(['ben']);
});

it('has a name of its own in the project, and only people of the project', async () => {
  const group = await make('Ward 4');
  expect((await running.send('POST', `${path}/groups`, { body: { name: 'WARD 4' } })).status).toBe(409);
  expect((await running.send('PATCH', `${path}/groups/${group.id}`, { body: { name: 'ward 4' } })).status).toBe(200);
  const other = await createProject(running.database.pool, running.org.orgId, 'Other');
  const body = { external_id: 'elsewhere', project_key: other.projectKey };
  const { xuser_id: stranger } = (await running.send<{ xuser_id: string }>('POST', '/api/v1/sdk/token', { body })).body;
  expect(await put(group, stranger)).toBe(404);
  expect((await running.send('PUT', `/api/v1/projects/${other.projectId}/groups/${group.id}/members/${stranger}`)).status).toBe(404);
});

it('is what a rule can be for: for those who are in it, as long as they are; then it cannot be deleted', async () => {
  const group = await make('Ward 5');
  await put(group, 'ann');
  const bound = { name: 'Fast', feature: 'hr_ecg', comparison: 'above', threshold: 130, sustain_sec: 30, group_id: group.id };
  const rule = await running.send<{ id: string }>('POST', `${path}/rules`, { body: bound });
  expect(rule.status, rule.text).toBe(201);
  expect((await running.send('POST', `${path}/rules`, { body: { ...bound, subject_id: 'ann' } })).status).toBe(422);
  expect((await running.send('DELETE', `${path}/groups/${group.id}`)).status).toBe(409);
  const startMs = Math.floor((Date.now() - 300_000) / 1000) * 1000;
  for (const subject of people.slice(0, 2)) {
    const packets = ecgPackets({ deviceId: `of ${subject}`, subject, startMs, seconds: 150, rrSec: () => 60 / 140 });
    for (const packet of packets) expect((await running.ingest(packet)).status).toBe(202);
  }
  const found = async (subject: string): Promise<readonly string[]> => {
    const { body } = await running.send<{ status: string; created_by: string }[]>('GET', `/api/v1/episodes?subject_id=${subject}`);
    return body.filter(({ created_by: by }) => by === `rule:${rule.body.id}`).map(({ status }) => status);
  };
  const round = (): Promise<void> => applyRules(running.database.pool, []);
  await until(async () => {
    await round();
    return (await found('ann')).length > 0;
  }, 60_000);
  const trial = { rule: bound, since: new Date(startMs).toISOString(), until: new Date().toISOString() };
  const tried = await running.send<{ episodes: { external_id: string }[] }>('POST', `${path}/rules/try`, { body: trial });
  expect(tried.body.episodes.map(({ external_id: id }) => id)).toEqual(['ann']);
  expect(await found('ben')).toEqual([]);
  await put(group, 'ben');
  await until(async () => {
    await round();
    return (await found('ben')).includes('open');
  }, 30_000);
  await running.send('DELETE', `${path}/groups/${group.id}/members/ben`);
  await round();
  expect(await found('ben')).toEqual(['closed']);
  await running.send('DELETE', `${path}/rules/${rule.body.id}`);
  expect((await running.send('DELETE', `${path}/groups/${group.id}`)).status).toBe(204);
});

it('loses a person who is erased', async () => {
  const group = await make('Ward 6');
  await put(group, 'cem');
  const erased = await running.send('POST', `/api/v1/xusers/${people[2]}/erase`, { body: { confirm_external_id: 'cem' } });
  expect(erased.status, erased.text).toBeLessThan(300);
  expect((await running.send<Group[]>('GET', `${path}/groups`)).body.find(({ id }) => id === group.id)?.member_count).toBe(0);
});

/** Begins to delete a group, as another node does, and does so when it is told to. */
async function deleting(group: Group): Promise<() => Promise<void>> {
  const client = await running.database.pool.connect();
  await client.query('begin');
  await client.query('select from project where id = $1 for no key update', [running.org.projectId]);
  await client.query('delete from person_group where id = $1', [group.id]);
  return async () => {
    await client.query('commit');
    client.release();
  };
}
const someoneWaits = async (): Promise<boolean> => {
  const { rows } = await running.database.pool.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0]!.n > 0;
};

it('is not found by what begins while it is being deleted', async () => {
  const rule = { name: 'Slow', feature: 'hr_ecg', comparison: 'below', threshold: 40, sustain_sec: 30 };
  const there = await running.send<{ id: string }>('POST', `${path}/rules`, { body: rule });
  const etag = there.headers.get('etag')!;
  const acts: readonly ((group: Group) => Promise<Readonly<{ status: number }>>)[] = [
    async (group) => ({ status: await put(group, 'ann') }),
    (group) => running.send('POST', `${path}/rules`, { body: { ...rule, group_id: group.id } }),
    (group) => running.send('PATCH', `${path}/rules/${there.body.id}`, { body: { group_id: group.id }, headers: { 'if-match': etag } }),
  ];
  for (const [i, act] of acts.entries()) {
    const group = await make(`Short ${i}`);
    const finish = await deleting(group);
    const answer = act(group);
    await until(someoneWaits);
    await finish();
    expect((await answer).status, String(act)).toBe(404);
  }
});
