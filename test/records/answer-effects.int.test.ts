/** An answer to a questionnaire and what it sets off (score, episode, event, deliveries) are kept together or not at all, whatever fails:
 *  inserts that a trigger refuses, connections that are cut, a service that is killed. BIO_TEST_FAULTS: how many inserts are refused. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testDatabase, until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';
import { createOrganization } from '../../src/auth/organizations.ts';

const FAULTS = Number(process.env['BIO_TEST_FAULTS'] ?? 60);
const PEOPLE = 4;

type Delivery = { id: string; event: string };
type Episode = { id: string; title: string; status: string; summary: Record<string, unknown> };
type Kept = { id: string; authored: string; safety: boolean };

let run: RunningService;
let strain: { id: number };
beforeAll(async () => {
  run = await runService();
  const body = {
    name: 'Strain',
    abbreviation: 'STRAIN',
    unit: '{score}',
    signal_type: 'score',
    source_type: 'self_report',
    code: 'strain',
  };
  strain = (await run.send<{ id: number }>('POST', `/api/v1/projects/${run.org.projectId}/biosignals`, { body })).body;
});
afterAll(() => run.close());

const questionnaire = (rules: readonly string[]) => ({
  resource: { title: 'Strain', item: [{ linkId: 'a', text: 'How strong?', type: 'integer', required: true }] },
  scoring: {
    scores: [{ name: 'Strain', expression: '{a}', code: 'strain' }],
    safety: rules.map((expression, i) => ({ title: `Rule ${i + 1}`, expression })),
  },
});
const itemOf = (value: number) => [{ linkId: 'a', answer: [{ valueInteger: value }] }];
const answerOf = (code: string, value: number, authored: string) => ({
  resourceType: 'QuestionnaireResponse',
  questionnaire: code,
  status: 'completed',
  authored,
  item: itemOf(value),
});

async function publish(code: string, rules: readonly string[]): Promise<void> {
  const path = `/api/v1/projects/${run.org.projectId}/questionnaires/${code}`;
  const { status, text } = await run.send('PUT', path, { body: questionnaire(rules) });
  expect(status, text).toBe(200);
}
const post = (as: string, path: string, body: unknown, key: string) =>
  run.send<Kept>('POST', path, { as, body, headers: { 'idempotency-key': key } }).catch(() => null);
const episodesOf = async (id: string): Promise<Episode[]> =>
  (await run.send<Episode[]>('GET', `/api/v1/episodes?subject_id=${id}&kind=safety&limit=1000`)).body;
const responsesOf = async (as: string): Promise<(Kept & { amends: string | null })[]> =>
  (await run.send<(Kept & { amends: string | null })[]>('GET', '/api/v1/questionnaire-responses?superseded=true&limit=1000', { as })).body;

describe('inserts that are refused and connections that are cut', () => {
  const targets = ['episode', 'webhook_delivery', 'audit_log', 'measurement', 'idempotency'] as const;

  // promise: idempotency, safety-episode
  it('an acknowledged answer or amendment has its episode and event exactly once; one that was not has none, or a retry completes it', async () => {
    const { pool } = run.database;
    await publish('strain', ['{a} > 5', '{a} > 8']);
    const hook = await run.send<{ id: string }>('POST', '/api/v1/webhooks', {
      body: { url: 'https://receiver.example/hook', events: ['episode.created'] },
    });
    const people = await Promise.all(Array.from({ length: PEOPLE }, (_, i) => run.token(`strained-${i}`)));

    // One write in ten to these tables fails, always the same ones: a sequence counts on through what is rolled back.
    await pool.query(`create sequence injected; create sequence looked;
      grant usage on sequence injected, looked to public;
      create function fail_at_times() returns trigger language plpgsql as $$
      begin
        if abs(hashint8(nextval('looked'))::bigint) % 10 = 0 then
          perform nextval('injected');
          raise exception 'injected: %', tg_table_name using errcode = '53400';
        end if;
        return new;
      end $$`);
    for (const table of targets) {
      const when = table === 'idempotency' ? 'before update' : 'before insert';
      await pool.query(`create trigger fail_at_times ${when} on ${table} for each row execute function fail_at_times()`);
    }
    const injected = async (): Promise<number> =>
      Number((await pool.query<{ n: bigint }>('select case when is_called then last_value else 0 end as n from injected')).rows[0]!.n);

    type Sent = { as: string; authored: string; value: number; amendedTo: number | null; kept: boolean; amended: boolean };
    const sent: Sent[] = [];
    let enough = false;
    /** Repeats until accepted, or gives up after `tries`. */
    const insist = async (as: string, path: string, body: unknown, key: string, tries: number): Promise<Kept | null> => {
      for (let i = 0; i < tries; i++) {
        const answer = await post(as, path, body, key);
        if (answer?.status === 201) return answer.body;
        expect([null, 409, 500, 503], answer?.text).toContain(answer === null ? null : answer.status);
      }
      return null;
    };
    const work = async (person: number): Promise<void> => {
      const as = people[person]!.xuser_token;
      for (let i = 0; !enough; i++) {
        const authored = new Date(Date.UTC(2026, 0, 1, 0, 0, i)).toISOString();
        // Every fifth is given up early, as by a person who closes the page.
        const tries = i % 5 === 4 ? 1 : 60;
        const value = [9, 6, 1][i % 3]!;
        const amendedTo = i % 2 === 0 ? [1, 9, 9][i % 3]! : null;
        const row: Sent = { as, authored, value, amendedTo, kept: false, amended: false };
        sent.push(row);
        const consent = { purpose: 'sharing', granted: true, document: `c${i}` };
        await insist(as, `/api/v1/xusers/${people[person]!.xuser_id}/consents`, consent, `c${i}`, tries);
        const kept = await insist(as, '/api/v1/questionnaire-responses', answerOf('strain', value, authored), `a${i}`, tries);
        row.kept = kept !== null;
        if (kept === null || amendedTo === null) continue;
        const path = `/api/v1/questionnaire-responses/${kept.id}/amendments`;
        row.amended = (await insist(as, path, { item: itemOf(amendedTo) }, `b${i}`, tries)) !== null;
      }
    };
    /** Cuts connections in the middle of a transaction of an answer. */
    let cut = 0;
    const cutting = async (): Promise<void> => {
      for (; !enough; await sleep(20)) {
        const { rows } = await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
            and query ~ '(questionnaire_response|episode|webhook_delivery|into "?measurement|update "?idempotency)'`);
        cut += rows.length;
      }
    };
    const working = Promise.all([cutting(), ...people.map((_, i) => work(i))]);
    await until(async () => (await injected()) >= FAULTS && cut >= FAULTS / 10, 1_000_000);
    enough = true;
    await working;
    for (const table of targets) await pool.query(`drop trigger fail_at_times on ${table}`);

    const told = (
      await pool.query<{ id: string }>(`select payload -> 'data' ->> 'episode_id' as id from webhook_delivery where webhook_id = $1`, [
        hook.body.id,
      ])
    ).rows.map(({ id }) => id);
    const rulesOf = (value: number): string[] => [...(value > 5 ? ['Rule 1'] : []), ...(value > 8 ? ['Rule 2'] : [])];
    const known = new Set<string>();
    for (const { xuser_token: as, xuser_id: id } of people) {
      const [responses, episodes] = await Promise.all([responsesOf(as), episodesOf(id)]);
      const { body: observed, text } = await run.send<{ value: number; effective_time: string }[]>(
        'GET',
        `/api/v1/observations?subject_id=${id}&biosignal_id=${strain.id}&since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z&limit=1000`,
      );
      expect(observed, text).toBeInstanceOf(Array);
      for (const row of sent.filter((one) => one.as === as)) {
        const at = Date.parse(row.authored);
        const chain = responses.filter(({ authored }) => Date.parse(authored) === at);
        const first = chain.filter(({ amends }) => amends === null);
        const second = chain.filter(({ amends }) => amends !== null);
        if (row.kept) expect(first).toHaveLength(1);
        else expect(first.length).toBeLessThanOrEqual(1);
        if (row.amended) expect(second).toHaveLength(1);
        const expected = new Set([
          ...(first.length === 0 ? [] : rulesOf(row.value)),
          ...(second.length === 0 ? [] : rulesOf(row.amendedTo!)),
        ]);
        const raised = episodes.filter(({ summary }) => chain.some((kept) => kept.id === summary['response_id']));
        expect(raised.map(({ title }) => title).toSorted(), row.authored).toEqual([...expected].toSorted());
        for (const { id: episodeId } of raised) {
          expect(told.filter((one) => one === episodeId)).toHaveLength(1);
          known.add(episodeId);
        }
        const values = observed.filter((one) => Date.parse(one.effective_time) === at);
        const newest = second.length > 0 ? row.amendedTo : first.length > 0 ? row.value : null;
        expect(values.map(({ value }) => value)).toEqual(newest === null ? [] : [newest]);
      }
      expect(episodes.filter(({ id: episodeId }) => !known.has(episodeId))).toEqual([]);
      const { body: consents } = await run.send<{ records: { document: string }[] }>('GET', `/api/v1/xusers/${id}/consents`);
      const { rows: noted } = await pool.query<{ consent: number }>(
        `select distinct (detail ->> 'consent')::integer as consent from audit_log where action = 'consent.granted' and target_id = $1`,
        [id],
      );
      const documents = consents.records.map(({ document }) => document);
      expect(new Set(documents).size).toBe(documents.length);
      expect(noted).toHaveLength(documents.length);
    }
    expect(told.filter((one) => !known.has(one))).toEqual([]);
    expect(sent.filter(({ kept }) => kept).length).toBeGreaterThan(PEOPLE);
    expect(await injected()).toBeGreaterThanOrEqual(FAULTS);
  }, 1_200_000);
});

describe('a service that is killed', () => {
  it('between storing an answer and storing its reply keeps the answer once, with its episode, when the app sends it again', async () => {
    await using database = await testDatabase();
    const org = await createOrganization(database.pool, 'Killed');
    const start = async () => {
      const child = spawn(process.execPath, ['test/helpers/service-child.ts', database.url], { stdio: ['ignore', 'pipe', 'inherit'] });
      const base = await new Promise<string>((resolve, reject) => {
        createInterface({ input: child.stdout }).once('line', resolve);
        child.once('exit', () => reject(new Error('the service did not start')));
      });
      const gone = new Promise((resolve) => void child.once('exit', resolve));
      return { base, kill: () => (child.kill('SIGKILL'), gone) };
    };
    const ask = async (base: string, path: string, as: string, body?: unknown, key?: string) => {
      const response = await fetch(base + path, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${as}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as never };
    };
    const first = await start();
    const { body: minted } = await ask(first.base, '/api/v1/sdk/token', org.apiKey.key, {
      external_id: 'killed',
      project_key: org.projectKey,
    });
    const { xuser_token: token, xuser_id: id } = minted as { xuser_token: string; xuser_id: string };
    const phq = await ask(first.base, '/api/v1/questionnaires/phq-9', token);
    const item = (phq.body as { item: { linkId: string; answerOption: { valueCoding: object }[] }[] }).item.map(
      ({ linkId, answerOption }) => ({ linkId, answer: [{ valueCoding: answerOption[1]!.valueCoding }] }),
    );
    const body = { resourceType: 'QuestionnaireResponse', questionnaire: 'phq-9', status: 'completed', item };
    // Storing the answer for a retry blocks until the service is dead.
    await database.pool.query(`create function wait_for_test() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock(4711); return new; end $$;
      create trigger wait_for_test before update on idempotency for each row execute function wait_for_test()`);
    const lock = await database.connect();
    await lock.query('select pg_advisory_lock(4711)');
    const lost = ask(first.base, '/api/v1/questionnaire-responses', token, body, 'killed-1').catch(() => null);
    await until(async () => {
      const { rows } = await database.pool.query(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and wait_event = 'advisory'`,
      );
      return rows.length > 0;
    }, 30_000);
    await first.kill();
    expect(await lost).toBe(null);
    await database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and wait_event = 'advisory'`,
    );
    await lock.end();
    await database.pool.query(
      `drop trigger wait_for_test on idempotency; update idempotency set created_at = now() - interval '2 minutes'`,
    );

    const second = await start();
    try {
      const again = await ask(second.base, '/api/v1/questionnaire-responses', token, body, 'killed-1');
      expect(again.status).toBe(201);

      const kept = await ask(second.base, '/api/v1/questionnaire-responses', token);
      expect(kept.body as unknown[]).toHaveLength(1);
      const episodes = await ask(second.base, `/api/v1/episodes?subject_id=${id}`, org.apiKey.key);
      expect(episodes.body as unknown[]).toHaveLength(1);
    } finally {
      await second.kill();
    }
  });
});

describe('an amendment', () => {
  let person: { xuser_token: string; xuser_id: string };
  const amend = async (id: string, value: number) => {
    const { status, body, text } = await run.send<Kept>('POST', `/api/v1/questionnaire-responses/${id}/amendments`, {
      as: person.xuser_token,
      body: { item: itemOf(value) },
    });
    expect(status, text).toBe(201);
    return body.id;
  };
  const answer = async (value: number, authored: string) => {
    const { body, status, text } = await run.send<Kept>('POST', '/api/v1/questionnaire-responses', {
      as: person.xuser_token,
      body: answerOf('two-rules', value, authored),
    });
    expect(status, text).toBe(201);
    return body.id;
  };
  beforeAll(async () => {
    await publish('two-rules', ['{a} = 1', '{a} >= 2 and {a} <= 3', '{a} = 3']);
    person = await run.token('amending');
  });
  const raised = async (authored: string) =>
    (await run.send<(Episode & { started_at: string })[]>('GET', `/api/v1/episodes?subject_id=${person.xuser_id}&kind=safety`)).body
      .filter((episode) => Date.parse(episode.started_at) === Date.parse(authored))
      .toSorted((a, b) => a.title.localeCompare(b.title));

  it('that triggers another rule raises that one only, not what was raised before', async () => {
    const at = '2026-02-01T08:00:00.000Z';
    const first = await answer(1, at);
    expect((await raised(at)).map(({ title }) => title)).toEqual(['Rule 1']);
    const second = await amend(first, 2);
    expect((await raised(at)).map(({ title }) => title)).toEqual(['Rule 1', 'Rule 2']);
    await amend(second, 3);
    expect((await raised(at)).map(({ title }) => title)).toEqual(['Rule 1', 'Rule 2', 'Rule 3']);
  });

  // promise: amendments
  it('after which a rule no longer applies leaves its episode open, notes the correction, and reports it', async () => {
    const at = '2026-02-02T08:00:00.000Z';
    const hook = await run.send<{ id: string }>('POST', '/api/v1/webhooks', {
      body: { url: 'https://receiver.example/healed', events: ['episode.updated'] },
    });
    const first = await answer(1, at);
    const second = await amend(first, 0);
    const [healed] = await raised(at);
    expect(healed).toMatchObject({ title: 'Rule 1', status: 'open', summary: { response_id: first, corrected_by: second } });
    const { body: told } = await run.send<Delivery[]>('GET', `/api/v1/webhooks/${hook.body.id}/deliveries`);
    expect(told).toHaveLength(1);

    // The person changes their mind again: the open episode applies again, without a second one.
    const third = await amend(second, 1);
    const still = await raised(at);
    expect(still).toHaveLength(1);
    expect(still[0]!.summary).not.toHaveProperty('corrected_by');

    // A person has reviewed and closed it; a rule that applies again after that opens a new one.
    const fourth = await amend(third, 0);
    const { status } = await run.send('PATCH', `/api/v1/episodes/${still[0]!.id}`, { body: { status: 'closed' } });
    expect(status).toBe(200);
    await amend(fourth, 1);
    expect((await raised(at)).map((episode) => episode.status).toSorted()).toEqual(['closed', 'open']);
  });
});
