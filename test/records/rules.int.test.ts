/** Rules that people make, in the whole service: from the packets of a device to an episode and its events. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { applyRules, startEpisodeRules } from '../../src/records/episode-rules.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { until } from '../helpers/database.ts';
import { ecgPackets } from '../helpers/ecg-packets.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

type Rule = Readonly<{ id: string; name: string; threshold: number; enabled: boolean; open_episodes: number; subject_id: string | null }>;
type Episode = Readonly<{
  id: string;
  kind: string;
  title: string;
  status: string;
  severity: string;
  created_by: string;
  started_at: string;
  ended_at: string | null;
  summary: Readonly<{ extreme: number; duration_sec: number; ended_by?: string }>;
}>;

let running: RunningService;
let path: string;
const startMs = Math.floor((Date.now() - 900_000) / 1000) * 1000;
/** Heart rates by the second: calm, fast, in between, calm, fast, calm. */
const rateAt = (sec: number): number => (sec < 120 ? 70 : sec < 260 ? 140 : sec < 420 ? 110 : sec < 600 ? 70 : sec < 720 ? 140 : 70);
const fast = { name: 'Fast at night', feature: 'hr_ecg', comparison: 'above', threshold: 130, sustain_sec: 60, severity: 'high' } as const;

beforeAll(async () => {
  running = await runService();
  path = `/api/v1/projects/${running.org.projectId}/rules`;
});
afterAll(async () => {
  expect(running.faults).toEqual([]);
  await running.close();
});

/** Sends the packets of [fromSec, toSec). */
async function send(name: string, subject: string, fromSec: number, toSec: number): Promise<void> {
  const packets = ecgPackets({ deviceId: `device-${name}`, subject, startMs, seconds: 840, rrSec: (sec) => 60 / rateAt(sec) });
  for (const packet of packets.slice(fromSec / 10, toSec / 10)) {
    const answer = await running.ingest(packet);
    expect(answer, answer.text).toMatchObject({ status: 202, body: { rejected: [] } });
  }
}

const make = async (body: object): Promise<Rule> => {
  const made = await running.send<Rule>('POST', path, { body });
  expect(made.status, made.text).toBe(201);
  return made.body;
};
const episodesOf = async (subject: string, rule: Rule): Promise<readonly Episode[]> =>
  (await running.send<Episode[]>('GET', `/api/v1/episodes?subject_id=${subject}`)).body.filter(
    (one) => one.created_by === `rule:${rule.id}`,
  );
const round = (): Promise<void> => applyRules(running.database.pool, []);
/** Rounds until an episode of the rule is there: the service notes every two seconds which recordings have new packets. */
const opened = async (subject: string, rule: Rule): Promise<void> =>
  until(async () => {
    await round();
    return (await episodesOf(subject, rule)).length > 0;
  }, 30_000);
/** Newest second of the recording that has a value. */
const valuesUntil = async (subject: string, sec: number, feature = 'hr_ecg'): Promise<void> =>
  until(async () => {
    const { rows } = await running.database.pool.query<{ newest: number | null }>(
      `select extract(epoch from max(f.time))::float8 * 1000 as newest from stream s
       cross join lateral feature_values(to_timestamp($2), 'infinity') f join method m on m.id = f.method_id
       where s.xuser_id = $1 and f.stream_id = s.id and m.name = $3`,
      [subject, startMs / 1000, feature],
    );
    return (rows[0]?.newest ?? 0) >= startMs + 1000 * sec;
  }, 60_000);
const secOf = (time: string): number => (Date.parse(time) - startMs) / 1000;

type Tried = Readonly<{ complete: boolean; episodes: readonly { ended_at: string | null }[] }>;

/** Ends of the episodes that a trial of `fast` finds for a person, s; null: goes on. */
async function triedEnds(subject: string): Promise<readonly (number | null)[]> {
  const rule = { ...fast, subject_id: subject };
  const range = { since: new Date(startMs).toISOString(), until: new Date().toISOString() };
  let tried: Tried = { complete: false, episodes: [] };
  // A trial ends after a while, with what it has.
  await until(async () => {
    tried = (await running.send<Tried>('POST', `${path}/try`, { body: { rule, ...range } })).body;
    return tried.complete;
  });
  return tried.episodes.map(({ ended_at: at }) => (at === null ? null : secOf(at)));
}

/** Sends the tens of seconds [from, to) of a device whose ECG stops after 220 s while another sensor goes on. */
async function sendLeadOff(name: string, subject: string, from: number, to: number, others: Packet['blocks']): Promise<void> {
  const beats = ecgPackets({ deviceId: `device-${name}`, subject, startMs, seconds: 220, rrSec: (sec) => 60 / rateAt(sec) });
  for (let seq = from; seq < to; seq++) {
    const atNs = BigInt(seq) * 10_000_000_000n;
    const times = { seq, t0DeviceNs: atNs, t0UnixNs: BigInt(startMs) * 1_000_000n + atNs };
    const packet = { ...beats[0]!, ...times, blocks: [...(beats[seq]?.blocks ?? []), ...others] };
    expect((await running.ingest(packet)).body).toMatchObject({ rejected: [] });
  }
}
const block = (code: string, kind: 'acc' | 'other', sampleAt: (i: number) => number): Packet['blocks'][number] => ({
  channel: { code, kind, rateNanoHz: 25e9, gain: 1000, baseline: 0, unit: 'g', lead: '' },
  tOffsetNs: 0,
  samples: Int32Array.from({ length: 250 }, (_, i) => sampleAt(i)),
  qmask: null,
});
const still = ['x', 'y', 'z'].map((axis) => block(`acc.${axis}`, 'acc', (i) => (axis === 'z' ? 1000 : i % 3)));

/** A round, and then a trial, while the service's clock says that no packet has come for so long. The service notes the times of packets
 *  every two seconds: they count when the time still stands after them.  @returns the ends that the trial finds */
async function untilSilent(subject: string, sec: number): Promise<readonly (number | null)[]> {
  const { pool } = running.database;
  let ends: readonly (number | null)[] = [];
  await until(async () => {
    await pool.query('update stream set last_packet_at = now() - make_interval(secs => $2) where xuser_id = $1', [subject, sec]);
    await round();
    ends = await triedEnds(subject);
    const still = 'select from stream where xuser_id = $1 and last_packet_at < now() - make_interval(secs => $2)';
    return (await pool.query(still, [subject, sec])).rowCount === 1;
  }, 10_000);
  return ends;
}

/** The one episode of a recording whose ECG has stopped after 220 s, which the rule has ended there. */
async function endedAtStop(subject: string, rule: Rule): Promise<Episode> {
  await until(async () => {
    await round();
    return (await episodesOf(subject, rule))[0]!.status === 'closed';
  }, 10_000);
  const [ended, ...others] = await episodesOf(subject, rule);
  expect(others).toEqual([]);
  expect(ended).toMatchObject({ summary: { ended_by: 'rule' } });
  expect(secOf(ended!.ended_at!)).toBeGreaterThan(195);
  expect(secOf(ended!.ended_at!)).toBeLessThan(225);
  return ended!;
}

/** What one test leaves is nothing to the next. */
afterEach(() => running.database.pool.query('delete from episode_rule'));

describe('a rule of a project', () => {
  // promise: rules
  it('opens an episode once values were beyond the threshold for so long, and ends it behind the second one, once', async () => {
    const { xuser_id: id } = await running.token('fast');
    const rule = await make(fast);
    const late = await make({ ...fast, name: 'With an end', kind: 'fast.night', end_threshold: 100, subject_id: 'fast' });
    const tooLong = await make({ ...fast, name: 'Three minutes', sustain_sec: 180 });
    const event = { url: 'https://hook.example/rules', events: ['episode.created', 'episode.updated'] };
    await running.send('POST', '/api/v1/webhooks', { body: event });
    await send('fast', id, 0, 240);
    await valuesUntil(id, 220);
    await opened(id, rule);
    await Promise.all([round(), round()]);
    const [open] = await episodesOf(id, rule);
    expect(open).toMatchObject({ kind: 'threshold', title: 'Fast at night', status: 'open', severity: 'high', ended_at: null });
    expect(secOf(open!.started_at)).toBeGreaterThan(118);
    // rates are suspect while their window holds both, 70 and 140 /min
    expect(secOf(open!.started_at)).toBeLessThan(140);
    expect((await running.send<Rule>('GET', `${path}/${rule.id}`)).body.open_episodes).toBe(1);

    await send('fast', id, 240, 540);
    await valuesUntil(id, 520);
    await round();
    await round();
    const [ended, ...others] = await episodesOf(id, rule);
    expect(others).toEqual([]);
    expect(ended).toMatchObject({ id: open!.id, status: 'closed', summary: { ended_by: 'rule' } });
    expect(secOf(ended!.ended_at!)).toBeGreaterThan(255);
    expect(secOf(ended!.ended_at!)).toBeLessThan(275);
    const [longer] = await episodesOf(id, late);
    expect(longer).toMatchObject({ kind: 'fast.night', title: 'With an end', status: 'closed', started_at: ended!.started_at });
    expect(secOf(longer!.ended_at!)).toBeGreaterThan(410);
    expect(secOf(longer!.ended_at!)).toBeLessThan(435);
    expect(await episodesOf(id, tooLong)).toEqual([]);
    const { rows } = await running.database.pool.query<{ event: string; n: number }>(
      `select event, count(*)::integer as n from webhook_delivery where payload #>> '{data,episode_id}' = $1 group by event order by event`,
      [ended!.id],
    );
    expect(rows).toEqual([
      { event: 'episode.created', n: 1 },
      { event: 'episode.updated', n: 1 },
    ]);
  });

  // promise: rules-silent
  it('looks at the newest version of a feature, also when the database met an older one later', async () => {
    const { xuser_id: id } = await running.token('moved here');
    const rule = await make({ ...fast, subject_id: 'moved here' });
    await send('moved here', id, 0, 260);
    await valuesUntil(id, 240);
    await running.database.pool.query(
      `insert into method (kind, name, code, cadence_hz, unit) values ('feature', 'hr_ecg', 'derived:hr_ecg_v0', 1, '/min')`,
    );
    await opened(id, rule);
    const tried = await triedEnds('moved here');
    expect(tried).toHaveLength(1);
  });

  it('ends an episode whose recording has fallen silent, where the last value was; it goes on when values come after all', async () => {
    const { xuser_id: id } = await running.token('gone');
    const rule = await make({ ...fast, subject_id: 'gone' });
    await send('gone', id, 0, 220);
    await valuesUntil(id, 200);
    await opened(id, rule);
    expect(await untilSilent(id, 30)).toEqual([null]);
    expect(await episodesOf(id, rule)).toMatchObject([{ status: 'open', ended_at: null }]);
    const ends = await untilSilent(id, 600);
    const ended = await endedAtStop(id, rule);
    expect(ends).toEqual([secOf(ended.ended_at!)]);
    await send('gone', id, 220, 250);
    await valuesUntil(id, 240);
    await until(async () => {
      await round();
      return (await episodesOf(id, rule))[0]!.status === 'open';
    }, 30_000);
    expect(await episodesOf(id, rule)).toMatchObject([{ id: ended.id, ended_at: null }]);
  });

  it('ends the episode of a silent recording whose method has got a new version since', async () => {
    const { xuser_id: id } = await running.token('upgraded');
    const rule = await make({ ...fast, subject_id: 'upgraded' });
    await send('upgraded', id, 0, 220);
    await valuesUntil(id, 200);
    await opened(id, rule);
    const { pool } = running.database;
    await pool.query(
      `insert into method (kind, name, code, cadence_hz, unit, step)
       select kind, name, 'derived:hr_ecg_next', cadence_hz, unit, step from method where kind = 'feature' and name = 'hr_ecg' order by id desc limit 1`,
    );
    try {
      await untilSilent(id, 30);
      expect(await episodesOf(id, rule)).toMatchObject([{ status: 'open', ended_at: null }]);
      await untilSilent(id, 600);
      await endedAtStop(id, rule);
    } finally {
      await pool.query(`delete from method where code = 'derived:hr_ecg_next'`);
    }
  });

  // promise: rules-silent
  it('ends an episode whose own signal has stopped while the recording goes on, where the last value was', async () => {
    const { xuser_id: id } = await running.token('lead off');
    const rule = await make({ ...fast, subject_id: 'lead off' });
    await sendLeadOff('off', id, 0, 22, still);
    await valuesUntil(id, 200);
    await opened(id, rule);
    // a value may be on its way for a minute
    await sendLeadOff('off', id, 22, 28, still);
    await valuesUntil(id, 264, 'activity');
    await round();
    expect(await episodesOf(id, rule)).toMatchObject([{ status: 'open', ended_at: null }]);
    expect(await triedEnds(id)).toEqual([null]);
    await sendLeadOff('off', id, 28, 40, still);
    const ended = await endedAtStop(id, rule);
    expect(await triedEnds(id)).toEqual([secOf(ended.ended_at!)]);
  });

  it('does so when what goes on is a sensor without values, once it is live', async () => {
    const { xuser_id: id } = await running.token('no values');
    const rule = await make({ ...fast, subject_id: 'no values' });
    const other = [block('strain', 'other', (i) => i % 7)];
    await sendLeadOff('none', id, 0, 22, other);
    await valuesUntil(id, 200);
    await opened(id, rule);
    expect(await episodesOf(id, rule)).toMatchObject([{ status: 'open', ended_at: null }]);
    await sendLeadOff('none', id, 22, Math.floor((Date.now() - startMs) / 10_000), other);
    const ended = await endedAtStop(id, rule);
    expect(await triedEnds(id)).toEqual([secOf(ended.ended_at!)]);
  });

  // promise: reopened-stays-open
  it('leaves the episode that it has ended to the person who opens it again, and opens another when the value is beyond it again', async () => {
    const { xuser_id: id } = await running.token('again');
    const rule = await make(fast);
    await send('again', id, 0, 540);
    await valuesUntil(id, 520);
    await opened(id, rule);
    const [first] = await episodesOf(id, rule);
    expect(first).toMatchObject({ status: 'closed', summary: { ended_by: 'rule' } });
    const at = `/api/v1/episodes/${first!.id}`;
    // With the summary that was read, and then another one: it stays the person's.
    const reopened = await running.send('PATCH', at, { body: { status: 'open', summary: first!.summary } });
    expect(reopened.body).toMatchObject({ status: 'open', ended_at: null, summary: { reopened: true } });
    expect(reopened.body).not.toMatchObject({ summary: { ended_by: 'rule' } });
    const noted = await running.send('PATCH', at, { body: { summary: { note: 'asked by phone' } } });
    expect(noted.body).toMatchObject({ summary: { note: 'asked by phone', reopened: true } });
    await round();
    await round();
    expect(await episodesOf(id, rule)).toMatchObject([{ id: first!.id, status: 'open', ended_at: null }]);

    await send('again', id, 540, 840);
    await valuesUntil(id, 820);
    await until(async () => {
      await round();
      return (await episodesOf(id, rule)).length === 2;
    }, 30_000);
    await round();
    const both = (await episodesOf(id, rule)).toSorted((a, b) => secOf(a.started_at) - secOf(b.started_at));
    expect(both).toMatchObject([
      { id: first!.id, status: 'open', ended_at: null },
      { status: 'closed', summary: { ended_by: 'rule' } },
    ]);
    expect(secOf(both[1]!.started_at)).toBeGreaterThan(598);
    await running.send('PATCH', `${path}/${rule.id}`, { body: { enabled: false } });
    await round();
    expect((await running.send<Episode>('GET', at)).body.status).toBe('open');
    expect((await running.send<Episode>('PATCH', at, { body: { status: 'closed' } })).body.status).toBe('closed');
  });

  it('is for one person alone when it names one', async () => {
    const [{ xuser_id: one }, { xuser_id: other }] = [await running.token('one'), await running.token('other')];
    const rule = await make({ ...fast, subject_id: one });
    for (const [name, id] of [
      ['one', one],
      ['other', other],
    ] as const) {
      await send(name, id, 0, 260);
      await valuesUntil(id, 240);
      await round();
    }
    await opened(one, rule);
    expect(await episodesOf(one, rule)).toHaveLength(1);
    expect(await episodesOf(other, rule)).toEqual([]);
  });

  // promise: rule-changes
  it('that is changed judges its open episode from the start; switched off or deleted it ends it', async () => {
    const { xuser_id: id } = await running.token('changed');
    const [kept, changed, off, gone] = [await make(fast), await make(fast), await make(fast), await make(fast)];
    await send('changed', id, 0, 240);
    await valuesUntil(id, 220);
    await opened(id, gone);
    for (const rule of [kept, changed, off, gone]) expect(await episodesOf(id, rule)).toMatchObject([{ status: 'open' }]);

    const patch = async (rule: Rule, body: object): Promise<void> => {
      expect((await running.send('PATCH', `${path}/${rule.id}`, { body })).status).toBe(200);
    };
    await patch(kept, { threshold: 125, name: 'Another name' });
    await patch(changed, { threshold: 200 });
    await patch(off, { enabled: false });
    expect((await running.send('DELETE', `${path}/${gone.id}`)).status).toBe(204);
    await round();
    await round();
    expect(await episodesOf(id, kept)).toMatchObject([{ status: 'open', title: 'Fast at night' }]);
    for (const rule of [changed, off, gone]) {
      const [episode, ...others] = await episodesOf(id, rule);
      expect(others).toEqual([]);
      expect(episode).toMatchObject({ status: 'closed', summary: { ended_by: 'rule changed' } });
      expect(secOf(episode!.ended_at!)).toBeLessThan(241);
      expect(secOf(episode!.ended_at!)).toBeGreaterThan(180);
    }
  });

  // promise: rule-groups-change
  it('for a group ends the episode of a person who leaves it, and is for them in the group that they move to', async () => {
    const { xuser_id: id } = await running.token('moving');
    const groups = `/api/v1/projects/${running.org.projectId}/groups`;
    const [before, after] = [
      (await running.send<{ id: string }>('POST', groups, { body: { name: 'before' } })).body.id,
      (await running.send<{ id: string }>('POST', groups, { body: { name: 'after' } })).body.id,
    ];
    const member = async (method: 'PUT' | 'DELETE', group: string): Promise<void> => {
      const { status } = await running.send(method, `${groups}/${group}/members/${id}`);
      expect(status).toBeLessThan(300);
    };
    await member('PUT', before);
    const [left, joined] = [await make({ ...fast, group_id: before }), await make({ ...fast, group_id: after })];
    await send('moving', id, 0, 240);
    await valuesUntil(id, 220);
    await opened(id, left);
    expect(await episodesOf(id, left)).toMatchObject([{ status: 'open' }]);
    expect(await episodesOf(id, joined)).toEqual([]);
    await member('DELETE', before);
    await member('PUT', after);
    await round();
    await opened(id, joined);
    expect(await episodesOf(id, left)).toMatchObject([{ status: 'closed', summary: { ended_by: 'rule changed' } }]);
    const [goesOn, ...others] = await episodesOf(id, joined);
    expect([goesOn, others]).toMatchObject([{ status: 'open' }, []]);
    // From the first value beyond the bound, which was before they came.
    expect(secOf(goesOn!.started_at)).toBeLessThan(140);
  });

  it('of an archived project rests: its open episode stays until the project is active again', async () => {
    const { xuser_id: id } = await running.token('resting');
    const rule = await make(fast);
    await send('resting', id, 0, 240);
    await valuesUntil(id, 220);
    await opened(id, rule);
    const { pool } = running.database;
    const archive = (time: string | null) =>
      pool.query('update project set archived_at = $1 where id = (select project_id from xuser where id = $2)', [time, id]);
    const stateOf = async () =>
      (await pool.query('select status from episode where xuser_id = $1 and created_by = $2', [id, `rule:${rule.id}`])).rows;
    await archive('now');
    await pool.query('update episode_rule set is_enabled = false where id = $1', [rule.id]);
    await round();
    const whileArchived = await stateOf();
    await archive(null);
    expect(whileArchived).toEqual([{ status: 'open' }]);
    await round();
    expect(await stateOf()).toEqual([{ status: 'closed' }]);
  });

  // promise: rule-imports
  it('finds what lies in an import of last year without alarming now: it is over at once, and becomes longer with what follows', async () => {
    const { xuser_id: id } = await running.token('archive');
    const rule = await make({ ...fast, subject_id: 'archive' });
    const beganMs = startMs - 400 * 86_400_000;
    const packets = ecgPackets({
      deviceId: 'device-archive',
      subject: id,
      startMs: beganMs,
      seconds: 540,
      rrSec: (sec) => 60 / rateAt(sec),
    });
    const sendPart = async (from: number, to: number): Promise<void> => {
      for (const packet of packets.slice(from / 10, to / 10)) expect((await running.ingest(packet)).body).toMatchObject({ rejected: [] });
    };
    const secondOf = (time: string | null): number => (Date.parse(time ?? '') - beganMs) / 1000;
    await sendPart(0, 220);
    await opened(id, rule);
    const [first] = await episodesOf(id, rule);
    expect(first).toMatchObject({ status: 'closed', summary: { ended_by: 'rule' } });
    expect((await running.send<Rule>('GET', `${path}/${rule.id}`)).body.open_episodes).toBe(0);
    const trial = {
      rule: { ...fast, subject_id: 'archive' },
      since: new Date(beganMs).toISOString(),
      until: new Date(beganMs + 3.6e6).toISOString(),
    };
    const tried = await running.send<{ episodes: { ended_at: string | null }[] }>('POST', `${path}/try`, { body: trial });
    expect(tried.body.episodes.map(({ ended_at: at }) => at === null)).toEqual([false]);
    await sendPart(220, 540);
    await until(async () => {
      await round();
      return secondOf((await episodesOf(id, rule))[0]!.ended_at) > 250;
    }, 60_000);
    const [ended, ...others] = await episodesOf(id, rule);
    expect(others).toEqual([]);
    expect(ended).toMatchObject({ id: first!.id, status: 'closed' });
    expect(secondOf(ended!.started_at)).toBeGreaterThan(118);
    expect(secondOf(ended!.ended_at)).toBeLessThan(275);
  });

  // promise: rule-imports-whole
  it('finds all of an import that comes at once, and a rule that is made afterwards tells of none of it', async () => {
    const { xuser_id: id } = await running.token('at-once');
    const rule = await make({ ...fast, subject_id: 'at-once', end_threshold: 100 });
    const beganMs = startMs - 300 * 86_400_000;
    // Fast in its third minute, and never again in 40.
    const packets = ecgPackets({
      deviceId: 'device-at-once',
      subject: id,
      startMs: beganMs,
      seconds: 2400,
      rrSec: (sec) => 60 / (sec > 120 && sec < 240 ? 140 : 70),
    });
    const looked = async (): Promise<boolean> => {
      const marks = `select from stream where xuser_id = $1 and rules_looked_to > to_timestamp($2::float8)`;
      return (await running.database.pool.query(marks, [id, beganMs / 1000 + 2000])).rowCount === 1;
    };
    // All of it is there before the first round.
    for (const packet of packets) expect((await running.ingest(packet)).body).toMatchObject({ rejected: [] });
    await until(async () => {
      const { rows } = await running.database.pool.query<{ newest: number | null }>(
        `select extract(epoch from newest_value(s.id, null))::float8 as newest from stream s where s.xuser_id = $1`,
        [id],
      );
      return (rows[0]?.newest ?? 0) > beganMs / 1000 + 2380;
    }, 120_000);
    await until(async () => {
      await round();
      return looked();
    }, 60_000);
    const [found, ...others] = await episodesOf(id, rule);
    expect(others).toEqual([]);
    expect(found).toMatchObject({ status: 'closed', summary: { ended_by: 'rule' } });
    const secondsOf = (time: string | null): number => (Date.parse(time ?? '') - beganMs) / 1000;
    expect(secondsOf(found!.started_at)).toBeGreaterThan(118);
    expect(secondsOf(found!.ended_at)).toBeLessThan(255);
    const later = await make({ ...fast, name: 'Made later', subject_id: 'at-once' });
    await round();
    await round();
    expect(await episodesOf(id, later)).toEqual([]);
    expect(await episodesOf(id, rule)).toEqual([found]);
  });

  it('leaves an episode that a person has closed as it is, also with the summary that the rule had given it', async () => {
    const { xuser_id: id } = await running.token('reviewed');
    const rule = await make({ ...fast, sustain_sec: 30, release_sec: 10 });
    await send('reviewed', id, 0, 190);
    await send('reviewed', id, 230, 540);
    await valuesUntil(id, 520);
    await opened(id, rule);
    const first = (await episodesOf(id, rule)).at(-1)!;
    expect(first.summary.ended_by).toBe('rule');
    const closed = await running.send<Episode>('PATCH', `/api/v1/episodes/${first.id}`, {
      body: { status: 'closed', summary: { ...first.summary, note: 'seen' } },
    });
    expect(closed.status, closed.text).toBe(200);
    await send('reviewed', id, 190, 230);
    await until(async () => {
      const { rows } = await running.database.pool.query<{ n: number }>(
        `select count(*)::int as n from stream s cross join lateral feature_values(to_timestamp($2), to_timestamp($2) + interval '20 seconds') f
         join method m on m.id = f.method_id where s.xuser_id = $1 and f.stream_id = s.id and m.name = 'hr_ecg'`,
        [id, startMs / 1000 + 200],
      );
      return (rows[0]?.n ?? 0) >= 20;
    }, 60_000);
    await sleep(2500); // the service has noted the packets
    await round();
    await round();
    const after = (await episodesOf(id, rule)).find((episode) => episode.id === first.id)!;
    expect(after).toMatchObject({ ended_at: closed.body.ended_at, summary: { note: 'seen' } });
  });

  it('does not open again an episode that a person closes during its round', async () => {
    const { xuser_id: id } = await running.token('meanwhile');
    const rule = await make(fast);
    await send('meanwhile', id, 0, 230);
    await valuesUntil(id, 215);
    await opened(id, rule);
    const [first] = await episodesOf(id, rule);
    expect(first!.status).toBe('open');
    await send('meanwhile', id, 230, 250); // the next round makes it longer
    await valuesUntil(id, 240);
    const { pool } = running.database;
    const closing = await running.database.connect();
    await closing.query(
      `begin; update episode set status = 'closed', ended_at = now(), reviewed_at = now(), updated_at = now() where id = '${first!.id}'`,
    );
    const rounded = round();
    await until(async () => {
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event in ('transactionid', 'tuple')`;
      return (await pool.query(waiting)).rowCount! > 0;
    });
    await closing.query('commit');
    await closing.end();
    await rounded;
    expect(await episodesOf(id, rule)).toMatchObject([{ id: first!.id, status: 'closed' }]);
  });

  // promise: rule-late
  it('sees what arrives late: the episode that it had ended in a gap becomes as long as if nothing had been late', async () => {
    const { xuser_id: id } = await running.token('late');
    const rule = await make({ ...fast, sustain_sec: 30, release_sec: 10 });
    await send('late', id, 0, 190);
    await send('late', id, 230, 540);
    await valuesUntil(id, 520);
    await opened(id, rule);
    expect((await episodesOf(id, rule)).map(({ status }) => status)).toContain('closed');
    await send('late', id, 190, 230);
    const longest = async (): Promise<number> => Math.max(...(await episodesOf(id, rule)).map(({ ended_at: end }) => secOf(end!)));
    const first = async (): Promise<Episode> => (await episodesOf(id, rule)).at(-1)!;
    await until(async () => {
      await round();
      return secOf((await first()).ended_at!) > 240;
    }, 60_000);
    expect(secOf((await first()).ended_at!)).toBe(await longest());
  });
});

describe('the endpoints of rules', () => {
  it('say what is wrong with a rule', async () => {
    const refused = async (body: object): Promise<string> => {
      const { status, body: problem } = await running.send<{ errors: { pointer: string }[] }>('POST', path, { body });
      return `${status} ${problem.errors?.[0]?.pointer}`;
    };
    expect(await refused({ ...fast, feature: 'no_such_value' })).toBe('422 /feature');
    expect(await refused({ ...fast, end_threshold: 131 })).toBe('422 /end_threshold');
    expect(await refused({ ...fast, comparison: 'below', end_threshold: 129 })).toBe('422 /end_threshold');
    expect(await refused({ ...fast, subject_id: 'nobody' })).toBe('404 undefined');
    expect(await refused({ ...fast, sustain_sec: 3601 })).toBe('422 /sustain_sec');
  });

  // Also before anything was recorded from which it could be computed.
  it('take each value that is listed', async () => {
    type Listed = Readonly<{ kind: string; name: string }>;
    const { body: listed } = await running.send<Listed[]>('GET', '/api/v1/methods');
    const refused: string[] = [];
    for (const feature of new Set(listed.flatMap(({ kind, name }) => (kind === 'feature' ? [name] : [])))) {
      const { status, body } = await running.send<Rule>('POST', path, { body: { ...fast, feature, enabled: false } });
      if (status !== 201) refused.push(feature);
      else await running.send('DELETE', `${path}/${body.id}`);
    }
    expect(refused).toEqual([]);
  });

  it('keep a change by another person: what is changed is what was read', async () => {
    const made = await running.send<Rule>('POST', path, { body: { ...fast, enabled: false } });
    const headers = { 'if-match': made.headers.get('etag')! };
    const change = (threshold: number): Promise<{ status: number }> =>
      running.send('PATCH', `${path}/${made.body.id}`, { body: { threshold }, headers });
    expect([(await change(131)).status, (await change(132)).status]).toEqual([200, 412]);
    expect((await running.send<Rule[]>('GET', path)).body).toMatchObject([{ id: made.body.id, threshold: 131, enabled: false }]);
    expect((await running.send('DELETE', `${path}/${made.body.id}`)).status).toBe(204);
    expect((await running.send<Rule[]>('GET', path)).body).toEqual([]);
  });

  it('take a hundred rules, and say so at the next', async () => {
    for (let n = 0; n < 100; n++) await make({ ...fast, enabled: false });
    expect((await running.send('POST', path, { body: fast })).status).toBe(409);
  });

  it('say wherever rules are described that this is no alarm system', async () => {
    const { text } = await running.send('GET', '/api-docs/openapi.json');
    const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, { description?: string }>> };
    const described = Object.entries(paths).filter(([path]) => path.endsWith('/rules'));
    expect(described.length).toBeGreaterThan(0);
    for (const { description } of described.flatMap(([, methods]) => Object.values(methods)))
      expect(description).toContain('Not an alarm system. Not a medical device.');
  });
});

it('rounds begin when it is the turn of this node, and not before', async () => {
  const { pool } = running.database;
  let asked = 0;
  let rounds = 0;
  let isTurn = false;
  const work: typeof pool = Object.assign(Object.create(pool) as typeof pool, {
    connect: () => {
      rounds++;
      return pool.connect();
    },
  });
  const stop = startEpisodeRules({ pool: work, rules: [], periodMs: 10, isTurn: () => ++asked > 0 && isTurn });
  await until(() => asked > 5);
  expect(rounds).toBe(0);
  isTurn = true;
  await until(() => rounds > 0);
  await stop();
});
