/** Consent and retention of a project, in the whole service: what is refused without consent, and how soon a change reaches what is
 *  open. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';
import { sendEcg } from '../helpers/send-ecg.ts';

let running: RunningService;
let settingsPath = '';
beforeAll(async () => {
  running = await runService();
  settingsPath = `/api/v1/projects/${running.org.projectId}/settings`;
});
afterAll(async () => {
  // One test ends the connection that listens.
  expect(running.faults.filter((fault) => !fault.includes('terminating connection due to administrator command'))).toEqual([]);
  await running.close();
});

const nothing = { samples_days: null, features_days: null, beats_days: null };
const consentTo = (...purposes: string[]) =>
  running.send('PUT', settingsPath, { body: { retention: nothing, consent_required: purposes } });
const say = (id: string, purpose: string, granted: boolean, as?: string) =>
  running.send('POST', `/api/v1/xusers/${id}/consents`, {
    body: { purpose, granted, document: 'v2' },
    ...(as === undefined ? {} : { as }),
  });

function packetsOf(deviceId: string, subject: string, count: number) {
  const startNs = BigInt(Date.now() - 100 * count) * 1_000_000n;
  return ecgPacket({ channels: 1, fs: 250, ms: 100, count, deviceId }).map((packet) => {
    const t0UnixNs = startNs + packet.t0DeviceNs;
    return { ...packet, subject, t0UnixNs, sentUnixNs: t0UnixNs + 100_000_000n };
  });
}

afterEach(() => consentTo());

describe('settings of a project', () => {
  it('keep everything and require no consent by default', async () => {
    expect((await running.send('GET', settingsPath)).body).toEqual({ retention: nothing, consent_required: [] });
  });

  it('are replaced as a whole, checked, and in the audit log with what was before', async () => {
    const wanted = { retention: { samples_days: 30, features_days: 365, beats_days: null }, consent_required: [] };
    expect(await running.send('PUT', settingsPath, { body: wanted })).toMatchObject({ status: 200, body: wanted });
    expect((await running.send('GET', settingsPath)).body).toEqual(wanted);
    const { rows } = await running.database.pool.query('select samples_days, features_days from project_retention');
    expect(rows).toEqual([{ samples_days: 30, features_days: 365 }]); // what src/storage/retention.ts applies
    for (const retention of [
      { ...nothing, samples_days: 0 },
      { ...nothing, samples_days: 36_501 },
      { ...nothing, other: 1 },
    ]) {
      expect((await running.send('PUT', settingsPath, { body: { retention, consent_required: [] } })).status).toBe(422);
    }
    expect((await running.send('PUT', settingsPath, { body: { retention: nothing, consent_required: ['selling'] } })).status).toBe(422);
    const log = await running.send<{ action: string; detail: unknown }[]>('GET', '/api/v1/audit-log');
    expect(log.body.find(({ action }) => action === 'project.configured')?.detail).toEqual({
      before: { retention: nothing, consent_required: [] },
      after: wanted,
    });
  });
});

/** Notifications come in the order of their changes: when the last one has an effect, the service has read those before it. */
async function everythingSaidIsHeard(): Promise<void> {
  const { xuser_id: id } = await running.token('heard');
  const packets = packetsOf('consent-heard', id, 100);
  await say(id, 'recording', true);
  expect(await running.deliver(packets[0]!)).toBe(202);
  await say(id, 'recording', false);
  let seq = 1;
  await until(async () => (await running.ingest(packets[seq++ % 100]!)).body.code === 'consent_missing', 10_000);
}

describe('without consent to recording', () => {
  // promise: consent-recording
  it('packets, measurements and entries are refused; with it they are stored; when it is withdrawn, an open recording ends within a second', async () => {
    const { xuser_id: id, xuser_token: token } = await running.token('recorded');
    const packets = packetsOf('consent-1', id, 40);
    await consentTo('recording');
    expect(await running.ingest(packets[0]!)).toMatchObject({ status: 403, body: { code: 'consent_missing' } });
    const measurement = { biosignal_id: 13, value: 10, time: new Date().toISOString() };
    const refused = await running.send('POST', '/api/v1/measurements', { body: { subject_id: id, measurements: [measurement] } });
    expect(refused).toMatchObject({ status: 403, body: { code: 'consent_missing' } });
    const mood = (): ReturnType<RunningService['send']> =>
      running.send('POST', '/api/v1/moods', { as: token, body: { score: 3, time: new Date().toISOString() } });
    expect(await mood()).toMatchObject({ status: 403, body: { code: 'consent_missing' } });

    expect(await say(id, 'recording', true, token)).toMatchObject({
      status: 201,
      body: { missing: [], records: [{ purpose: 'recording', granted: true, document: 'v2', recorded_by: `user:${id}` }] },
    });
    expect(await running.deliver(packets[0]!)).toBe(202);
    expect((await mood()).status).toBe(201);

    await say(id, 'recording', false);
    let seq = 1;
    await until(async () => (await running.ingest(packets[seq++]!)).body.code === 'consent_missing', 1000);
    await consentTo();
    expect(await running.deliver(packets[39]!)).toBe(202);
  });

  // promise: consent-recording
  it('a recording that begins while another of the person is being ended goes on', async () => {
    const { xuser_id: id } = await running.token('two-devices');
    const [first, second] = ['consent-first', 'consent-second'].map((deviceId) => packetsOf(deviceId, id, 100));
    expect(await running.deliver(first![0]!)).toBe(202);
    const client = await running.database.connect();
    try {
      await client.query('begin; lock table sample_block in exclusive mode'); // its samples cannot be stored, so it cannot be closed
      expect((await say(id, 'recording', true)).status).toBe(201);
      const { pool } = running.database;
      const waiting = `select from pg_locks where relation = 'sample_block'::regclass and not granted`;
      await expect.poll(async () => (await pool.query(waiting)).rowCount, { timeout: 15_000 }).toBe(1);
      expect(await running.deliver(second![0]!)).toBe(202);
    } finally {
      await client.end(); // and with it the transaction
    }
    await expect.poll(async () => (await running.ingest(first![1]!)).status, { timeout: 15_000 }).toBe(202); // closed, and open again
    expect((await running.ingest(second![1]!)).status).toBe(202);
  });

  // promise: consent-recording
  // job: auth-changes
  it('a withdrawal whose notification was lost ends an open recording when the listening connection is back', async () => {
    const { xuser_id: id, xuser_token: token } = await running.token('unheard');
    const packets = packetsOf('consent-unheard', id, 40);
    await consentTo('recording');
    await say(id, 'recording', true, token);
    expect(await running.deliver(packets[0]!)).toBe(202);
    await everythingSaidIsHeard();
    const client = await running.database.connect();
    await client.query(`set session_replication_role = replica`); // no trigger tells anybody
    await client.query(
      `insert into consent (organization_id, xuser_id, purpose, granted, document, recorded_by)
       select organization_id, id, 'recording', false, 'v2', 'test' from xuser where id = $1`,
      [id],
    );
    expect((await running.ingest(packets[1]!)).status).toBe(202); // no node has been notified
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen %bio_auth%'`,
    );
    await client.end();
    let seq = 2;
    await until(async () => (await running.ingest(packets[seq++ % 40]!)).body.code === 'consent_missing', 3000);
  });
});

describe('without consent to sharing', () => {
  // promise: consent-sharing
  it('others read nothing, the person reads everything, and an open feed of others closes within a second', async () => {
    const { xuser_id: id, xuser_token: token } = await running.token('shared');
    expect(await running.deliver(packetsOf('consent-2', id, 1)[0]!)).toBe(202);
    const streams = await running.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${id}`);
    const paths = [
      `/api/v1/streams?subject_id=${id}`,
      `/api/v1/streams/${streams.body[0]?.id}/features`,
      `/api/v1/streams/${streams.body[0]?.id}/samples?since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:01Z`,
      `/api/v1/streams/${streams.body[0]?.id}/variability?since=2026-01-01T00:00:00Z&until=2026-01-01T00:05:00Z`,
      `/api/v1/streams/${streams.body[0]?.id}/waves?since=2026-01-01T00:00:00Z&until=2026-01-01T00:05:00Z`,
      `/api/v1/observations?biosignal_id=20&subject_id=${id}`,
      `/api/v1/episodes?subject_id=${id}`,
    ];
    const viewer = await running.watch(id, running.org.apiKey.key);
    const own = await running.watch(id, token);
    await until(() => viewer.ready() && own.ready());
    await consentTo('sharing');
    await until(() => viewer.closed() !== null, 1000);
    expect(viewer.closed()?.code).toBe(4013); // come again, and be asked
    expect(own.closed()).toBeNull();
    for (const path of paths) {
      expect(await running.send('GET', path), path).toMatchObject({ status: 403, body: { code: 'consent_missing' } });
      expect(await running.send('GET', path, { as: token }), path).toMatchObject({ status: 200 });
    }
    const again = await running.watch(id, running.org.apiKey.key);
    await until(() => again.closed() !== null);
    expect(again.closed()?.code).toBe(4508);

    await say(id, 'sharing', true);
    for (const path of paths) expect((await running.send('GET', path)).status, path).toBe(200);
    const allowed = await running.watch(id, running.org.apiKey.key);
    await until(() => allowed.ready());
    await say(id, 'sharing', false, token);
    await until(() => allowed.closed() !== null, 1000);
    // Requests that do not read the person's data still work: their record, their consents, their export and erasure.
    expect((await running.send('GET', `/api/v1/xusers/${id}`)).status).toBe(200);
    const said = await running.send<{ missing: string[]; records: { granted: boolean }[] }>('GET', `/api/v1/xusers/${id}/consents`);
    expect(said.body).toMatchObject({ missing: ['sharing'], records: [{ granted: false }, { granted: true }] }); // newest first
    own.socket.close();
    const { rows } = await running.database.pool.query(
      `select action from audit_log where target_id = $1 and action like 'consent.%' order by id`,
      [id],
    );
    expect(rows).toEqual([{ action: 'consent.granted' }, { action: 'consent.withdrawn' }]);
  });

  // promise: consent-devices, consent-lists, consent-not-for-export
  it('lists of what the body says leave such people out; the list of devices, the export and the erasure do not', async () => {
    const id = await sendEcg(running, running.org.projectKey, 'unlisted', Date.now() - 100_000);
    const episode = { subject_id: id, kind: 'fall', started_at: new Date().toISOString() };
    expect((await running.send('POST', '/api/v1/episodes', { body: episode })).status).toBe(201);
    const names = async (path: string): Promise<boolean> => (await running.send('GET', path)).text.includes('unlisted');
    const lists = ['/api/v1/signal-quality', '/api/v1/fleet/episodes'];
    await until(async () => (await Promise.all(lists.map(names))).every(Boolean), 30_000);
    await consentTo('sharing');
    for (const path of lists) expect(await names(path), path).toBe(false);
    expect(await names('/api/v1/devices')).toBe(true);
    const exported = await running.send('GET', `/api/v1/xusers/${id}/export`);
    expect([exported.status, /"table" ?: ?"feature"/.test(exported.text)]).toEqual([200, true]);
    const erased = await running.send('POST', `/api/v1/xusers/${id}/erase`, { body: { confirm_external_id: 'unlisted' } });
    expect(erased.status, erased.text).toBe(200);
  });

  it('records cannot be rewritten', async () => {
    const { xuser_id: id } = await running.token('kept');
    await say(id, 'sharing', true);
    await expect(running.database.pool.query('update consent set granted = false where xuser_id = $1', [id])).rejects.toMatchObject({
      code: '23001',
    });
  });
});
