/** Episodes of everybody, in pages: none is skipped or repeated, whatever the order. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

type Line = { id: string; severity: string; started_at: string };
const severities = ['none', 'low', 'medium', 'high'];

let run: RunningService;
const made: string[] = [];
beforeAll(async () => {
  run = await runService();
  const people = await Promise.all(['one', 'two'].map((name) => run.token(name)));
  for (let i = 0; i < 13; i++) {
    // Three begin at the same moment.
    const body = {
      subject_id: people[i % 2]!.xuser_id,
      kind: 'alert',
      severity: severities[(i * 7) % 4],
      started_at: `2026-03-01T08:${String(Math.max(3, i)).padStart(2, '0')}:00.123456Z`,
    };
    const answer = await run.send<Line>('POST', '/api/v1/episodes', { body });
    expect(answer.status, answer.text).toBe(201);
    made.push(answer.body.id);
  }
});
afterAll(async () => {
  expect(run.faults).toEqual([]);
  await run.close();
});

async function pages(query: string): Promise<Line[]> {
  const all: Line[] = [];
  for (let address = `/api/v1/fleet/episodes?${query}`; address !== '';) {
    const { body, headers } = await run.send<Line[]>('GET', address);
    all.push(...body);
    address = /<([^>]+)>;\s*rel="?next/.exec(headers.get('link') ?? '')?.[1] ?? '';
  }
  return all;
}

it.each(['newest', 'oldest', 'severity'])('pages sorted by %s hold every episode once, in order', async (sort) => {
  const whole = await pages(`sort=${sort}`);
  expect(whole.map(({ id }) => id).toSorted()).toEqual(made.toSorted());
  const key = ({ severity, started_at: at }: Line): string => `${sort === 'severity' ? severities.indexOf(severity) : 0} ${at}`;
  const keys = whole.map(key);
  expect(keys).toEqual(sort === 'oldest' ? keys.toSorted() : keys.toSorted().toReversed());
  for (const limit of [1, 4, 13]) expect(await pages(`sort=${sort}&limit=${limit}`)).toEqual(whole);
});

it('a cursor of another list, order or filter is refused', async () => {
  const { headers } = await run.send('GET', '/api/v1/fleet/episodes?limit=2');
  const cursor = /cursor=([^&>]+)/.exec(headers.get('link') ?? '')?.[1];
  for (const query of ['sort=severity', 'status=open', 'acknowledged=false']) {
    const { status, body } = await run.send<{ code: string }>('GET', `/api/v1/fleet/episodes?${query}&cursor=${cursor}`);
    expect([status, body.code]).toEqual([400, 'cursor_invalid']);
  }
});
