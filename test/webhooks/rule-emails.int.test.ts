/** E-mail of rules, from the packets of a device to a mail server. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { applyRules } from '../../src/records/episode-rules.ts';
import { startService } from '../../src/server.ts';
import { readConfig } from '../../src/config.ts';
import { until } from '../helpers/database.ts';
import { ecgPackets } from '../helpers/ecg-packets.ts';
import { mailServer } from '../helpers/mail-server.ts';
import type { MailServer } from '../helpers/mail-server.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

type Rule = Readonly<{ id: string; email_problem: string | null }>;

let mail: MailServer;
let running: RunningService;
let path: string;
const serverFault = 'rules: the mail server took no e-mail';
const fast = { name: 'Fast, at night', feature: 'hr_ecg', comparison: 'above', threshold: 130, sustain_sec: 30, severity: 'high' } as const;

beforeAll(async () => {
  mail = await mailServer();
  running = await runService({
    BIO_MAIL_LANGUAGE: 'de',
    BIO_SMTP_URL: mail.url,
    BIO_MAIL_FROM: 'rules@bio.example',
    BIO_PUBLIC_URL: 'https://bio.example',
  });
  path = `/api/v1/projects/${running.org.projectId}/rules`;
});
afterAll(async () => {
  expect(running.faults.filter((line) => !line.startsWith(serverFault))).toEqual([]);
  await running.close();
  await mail[Symbol.asyncDispose]();
});

const make = async (body: object): Promise<Rule> => {
  const made = await running.send<Rule>('POST', path, { body });
  expect(made.status, made.text).toBe(201);
  return made.body;
};
const mailsTo = (address: string): readonly string[] => mail.mails.filter(({ to }) => to === address).map(({ text }) => plain(text));
/** The text without the line breaks and signs of quoted-printable; encoded words of headers end with ?=. */
const plain = (text: string): string => text.replaceAll(/(?<!\?)=\n/g, '').replaceAll(/=3D/g, '=');

/** Sends two minutes of 140 beats a minute, and rounds until each rule has opened its episode. */
async function alert(name: string, rules: readonly Rule[], ageSec = 300): Promise<void> {
  const { xuser_id: id } = await running.token(name);
  const startMs = Math.floor((Date.now() - ageSec * 1000) / 1000) * 1000;
  for (const packet of ecgPackets({ deviceId: `device ${name}`, subject: id, startMs, seconds: 150, rrSec: () => 60 / 140 })) {
    expect((await running.ingest(packet)).status).toBe(202);
  }
  await until(async () => {
    await applyRules(running.database.pool, []);
    const { body } = await running.send<{ created_by: string }[]>('GET', `/api/v1/episodes?subject_id=${id}`);
    return rules.every((rule) => body.some((episode) => episode.created_by === `rule:${rule.id}`));
  }, 60_000);
}
const entries = async (rule: Rule): Promise<readonly { status: string; recipient: string }[]> =>
  (await running.database.pool.query('select status, recipient from episode_email where rule_id = $1 order by recipient', [rule.id])).rows;

describe('e-mail of a rule', () => {
  // promise: rule-emails
  // job: rule-emails
  // setting: BIO_MAIL_LANGUAGE
  it('tells each address once of a new episode, in one message for all rules, without a name or a value', async () => {
    const { pool } = running.database;
    const rules = [
      await make({ ...fast, email_to: ['ward@bio.example', 'gone@bio.example'] }),
      await make({ ...fast, name: 'Another', email_to: ['ward@bio.example'] }),
    ];
    await alert('Berta Secret', rules);
    await until(() => mailsTo('ward@bio.example').length > 0, 30_000);
    const [text, ...others] = mailsTo('ward@bio.example');
    expect(others).toEqual([]);
    expect(text).toContain('From: rules@bio.example');
    expect(text).toContain('Fast, at night (hoch), begann');
    expect(text).toContain('- Another (hoch)');
    expect(text).toMatch(/https:\/\/bio\.example\/dashboard\/#\/episodes\/[0-9a-f-]{36}/);
    expect(text).toContain('Kein Alarmsystem. Kein Medizinprodukt.');
    expect(text).not.toMatch(/Berta|Secret|\b(140|130)\b/);
    await until(async () => (await entries(rules[0]!)).every(({ status }) => status !== 'pending'), 30_000);
    expect(await entries(rules[0]!)).toEqual([
      { status: 'failed', recipient: 'gone@bio.example' },
      { status: 'sent', recipient: 'ward@bio.example' },
    ]);
    const problemOf = async ({ id }: Rule): Promise<string | null> => (await running.send<Rule>('GET', `${path}/${id}`)).body.email_problem;
    expect(await problemOf(rules[1]!)).toBeNull();
    // Also when the one that was sent, of the same moment, comes first by its random id.
    await pool.query(`update episode_email set id = overlay(id::text placing '0000' from 1 for 4)::uuid where status = 'sent'`);
    expect(await problemOf(rules[0]!)).toContain('550');
    const { body } = await running.send<Rule>('PATCH', `${path}/${rules[0]!.id}`, { body: { email_to: ['ward@bio.example'] } });
    expect(body.email_problem, 'nobody is told there any more').toBeNull();
    const ofServer = running.faults.filter((line) => line.startsWith(serverFault));
    expect(ofServer, 'one address that does not exist').toEqual([]);
    for (const { id } of rules) await running.send('DELETE', `${path}/${id}`);
  });

  // promise: rule-quiet
  it('waits in the quiet hours of the project, and comes after them; of what began long ago there is none', async () => {
    const { pool } = running.database;
    await pool.query(`update project set time_zone = 'Asia/Kolkata'`);
    const clock = (hours: number): string =>
      new Intl.DateTimeFormat('en-GB', { timeZone: 'Asia/Kolkata', hour: '2-digit', minute: '2-digit' }).format(Date.now() + hours * 3.6e6);
    await running.token('quiet');
    await running.token('imported');
    const quiet = await make({ ...fast, subject_id: 'quiet', email_to: ['night@bio.example'], quiet_from: clock(-1), quiet_to: clock(1) });
    const awake = await make({ ...fast, subject_id: 'quiet', email_to: ['day@bio.example'], quiet_from: clock(1), quiet_to: clock(-1) });
    await alert('quiet', [quiet, awake]);
    await until(() => mailsTo('day@bio.example').length > 0, 30_000);
    expect(mailsTo('day@bio.example')[0]).toContain('Asia/Kolkata');
    expect(await entries(quiet)).toEqual([{ status: 'pending', recipient: 'night@bio.example' }]);
    expect(mailsTo('night@bio.example')).toEqual([]);
    await running.send('PATCH', `${path}/${quiet.id}`, { body: { quiet_from: null, quiet_to: null } });
    await until(() => mailsTo('night@bio.example').length > 0, 30_000);

    const old = await make({ ...fast, subject_id: 'imported', email_to: ['old@bio.example'] });
    await alert('imported', [old], 3 * 86_400);
    expect(await entries(old)).toEqual([]);
  });

  it('is not sent to an address that the rule no longer names, of what waited for it', async () => {
    const clock = (hours: number): string => new Date(Date.now() + hours * 3.6e6).toISOString().slice(11, 16);
    const { pool } = running.database;
    await pool.query(`update project set time_zone = 'UTC'`);
    await running.token('former');
    const to = ['left@bio.example', 'stays@bio.example'];
    const rule = await make({ ...fast, subject_id: 'former', email_to: to, quiet_from: clock(-1), quiet_to: clock(1) });
    await alert('former', [rule]);
    expect((await entries(rule)).map(({ recipient }) => recipient)).toEqual(to);
    const body = { email_to: ['stays@bio.example'], quiet_from: null, quiet_to: null };
    expect((await running.send('PATCH', `${path}/${rule.id}`, { body })).status).toBe(200);
    await until(() => mailsTo('stays@bio.example').length > 0, 30_000);
    await until(async () => (await entries(rule)).every(({ status }) => status === 'sent'), 30_000);
    expect(await entries(rule)).toEqual([{ status: 'sent', recipient: 'stays@bio.example' }]);
    expect(mailsTo('left@bio.example')).toEqual([]);
    await running.send('DELETE', `${path}/${rule.id}`);
  });

  it('goes on for everybody while the stored time zone of a project is none, or an offset of an older release', async () => {
    const { pool } = running.database;
    for (const [stored, used] of [
      ['Nowhere/Atlantis', 'UTC'],
      ['+05:00', 'Etc/GMT-5'],
    ] as const) {
      await pool.query('update project set time_zone = $1', [stored]);
      const clock = (hours: number): string =>
        new Intl.DateTimeFormat('en-GB', { timeZone: used, hour: '2-digit', minute: '2-digit' }).format(Date.now() + hours * 3.6e6);
      await running.token(used);
      const to = `${used.toLowerCase().replace('/', '-')}@bio.example`;
      const quiet = await make({ ...fast, subject_id: used, email_to: [`quiet-${to}`], quiet_from: clock(-1), quiet_to: clock(1) });
      const awake = await make({ ...fast, subject_id: used, email_to: [to], quiet_from: clock(1), quiet_to: clock(-1) });
      await alert(used, [quiet, awake]);
      await until(() => mailsTo(to).length > 0, 30_000);
      expect(mailsTo(to)[0]).toContain(`(${used})`);
      expect(mailsTo(`quiet-${to}`)).toEqual([]);
      for (const { id } of [quiet, awake]) await running.send('DELETE', `${path}/${id}`);
    }
    await pool.query(`update project set time_zone = 'UTC'`);
  });

  // promise: rule-consent
  it('tells of nobody who has not agreed to sharing, nor counts their open episodes, until they do', async () => {
    const { pool } = running.database;
    await pool.query(`update project set consent_required = array['sharing']`);
    const { xuser_token: as, xuser_id: id } = await running.token('hidden');
    const rule = await make({ ...fast, subject_id: 'hidden', email_to: ['hidden@bio.example'] });
    const consent = (granted: boolean) =>
      running.send('POST', `/api/v1/xusers/${id}/consents`, { as, body: { purpose: 'sharing', granted } });
    for (const packet of ecgPackets({
      deviceId: 'd hidden',
      subject: id,
      startMs: Date.now() - 155_000,
      seconds: 150,
      rrSec: () => 60 / 140,
    })) {
      expect((await running.ingest(packet)).status).toBe(202);
    }
    await until(async () => {
      await applyRules(pool, []);
      return (await running.send<object[]>('GET', '/api/v1/episodes?status=open', { as })).body.length > 0;
    }, 60_000);
    await setTimeout(7000); // a look at what is due comes every five seconds
    const open = async (): Promise<number> =>
      (await running.send<{ open_episodes: number }>('GET', `${path}/${rule.id}`)).body.open_episodes;
    expect(await entries(rule)).toEqual([{ status: 'pending', recipient: 'hidden@bio.example' }]);
    expect(mailsTo('hidden@bio.example')).toEqual([]);
    expect(await open()).toBe(0);
    await consent(true);
    await until(() => mailsTo('hidden@bio.example').length > 0, 30_000);
    expect(await open()).toBe(1);
    await running.send('DELETE', `${path}/${rule.id}`);
    await pool.query(`update project set consent_required = '{}'`);
  });

  it('gives each entry its own attempts, also in a message with one whose last attempt fails', async () => {
    const { pool } = running.database;
    await running.token('full');
    const full = { ...fast, subject_id: 'full', email_to: ['full@bio.example'] };
    const rules = [await make(full), await make(full)];
    const ids = rules.map(({ id }) => id);
    await alert('full', rules);
    const tried = async (rule: Rule, status: string): Promise<boolean> =>
      (await pool.query(`select from episode_email where rule_id = $1 and status = $2 and last_error like '%452%'`, [rule.id, status]))
        .rowCount === 1;
    await until(async () => (await tried(rules[0]!, 'pending')) && (await tried(rules[1]!, 'pending')), 30_000);
    // As if the first were nine hours older.
    await pool.query(
      'update episode_email set attempts = case rule_id when $2 then 5 else 1 end, next_attempt_at = now() where rule_id = any($1)',
      [ids, ids[0]],
    );
    await until(() => tried(rules[0]!, 'failed'), 30_000);
    expect((await entries(rules[1]!)).map(({ status }) => status)).toEqual(['pending']);

    await pool.query(`update episode_email set next_attempt_at = now() where rule_id = $1`, [ids[1]]);
    const sent = (): Map<string, Set<string>> => {
      const idsByEpisodes = new Map<string, Set<string>>();
      for (const text of mailsTo('full@bio.example')) {
        const episodes = text
          .match(/episodes\/[0-9a-f-]{36}/g)!
          .toSorted()
          .join();
        const known = idsByEpisodes.get(episodes) ?? new Set();
        idsByEpisodes.set(episodes, known.add(/^Message-ID: (.+)$/im.exec(text)![1]!));
      }
      return idsByEpisodes;
    };
    await until(() => sent().size > 1, 30_000);
    const messageIds = [...sent().values()].map((one) => [...one]);
    expect(
      messageIds.map((one) => one.length),
      'one for the same episodes',
    ).toEqual(messageIds.map(() => 1));
    expect(new Set(messageIds.flat()).size, 'another for others').toBe(messageIds.length);
    for (const id of ids) await running.send('DELETE', `${path}/${id}`);
  });

  it('is tried again where the server refuses all messages, such as after a change of its password', async () => {
    const { pool } = running.database;
    await running.token('locked');
    const rule = await make({ ...fast, subject_id: 'locked', email_to: ['locked@bio.example'] });
    mail.lock(true);
    await alert('locked', [rule]);
    await until(
      async () => (await pool.query(`select from episode_email where rule_id = $1 and last_error like '%530%'`, [rule.id])).rowCount === 1,
      30_000,
    );
    expect(await entries(rule)).toEqual([{ status: 'pending', recipient: 'locked@bio.example' }]);
    expect(running.faults.filter((line) => line.startsWith(serverFault) && line.includes('530'))).toHaveLength(1);
    mail.lock(false);
    await pool.query('update episode_email set next_attempt_at = now() where rule_id = $1', [rule.id]);
    await until(() => mailsTo('locked@bio.example').length > 0, 30_000);
    await running.send('DELETE', `${path}/${rule.id}`);
  });

  // promise: rule-email-share
  it('of one organization does not wait for addresses of another that are never answered', async () => {
    const { pool } = running.database;
    let other = await createOrganization(pool, 'Other');
    while (other.projectId < running.org.projectId) other = await createOrganization(pool, 'Other');
    await running.token('slow');
    const slow = (first: number): string[] => Array.from({ length: 10 }, (_, i) => `slow${first + i}@bio.example`);
    const rules = [
      await make({ ...fast, subject_id: 'slow', email_to: slow(0) }),
      await make({ ...fast, subject_id: 'slow', email_to: slow(10) }),
    ];
    const as = other.apiKey.key;
    const person = await running.send<{ xuser_id: string }>('POST', '/api/v1/xusers', {
      as,
      body: { external_id: 'quick', project_key: other.projectKey },
    });
    const otherPath = `/api/v1/projects/${other.projectId}/rules`;
    const body = { ...fast, email_to: ['quick@bio.example'] };
    expect((await running.send('POST', otherPath, { as, body })).status).toBe(201);
    await alert('slow', rules);
    await until(
      async () => (await pool.query(`select from episode_email where recipient like 'slow%' and attempts > 0`)).rowCount! > 0,
      30_000,
    );
    const { xuser_id: subject } = person.body;
    const startMs = Date.now() - 300_000;
    for (const packet of ecgPackets({ deviceId: 'quick', subject, startMs, seconds: 150, rrSec: () => 60 / 140 }))
      expect((await running.ingest(packet, as)).status).toBe(202);
    await until(async () => {
      await applyRules(pool, []);
      return (await pool.query(`select from episode_email where recipient = 'quick@bio.example'`)).rowCount === 1;
    }, 60_000);
    await until(() => mailsTo('quick@bio.example').length > 0, 50_000);
    for (const { id } of rules) await running.send('DELETE', `${path}/${id}`);
  });

  // setting: BIO_SMTP_URL, BIO_MAIL_FROM
  it('is refused with an address that is none, with half of the quiet hours, and where no mail server is set', async () => {
    const refused = async (body: object, as = running): Promise<string> => {
      const where = `/api/v1/projects/${as.org.projectId}/rules`;
      const answer = await as.send<{ errors: { pointer: string; code: string }[] }>('POST', where, { body: { ...fast, ...body } });
      return `${answer.status} ${answer.body.errors[0]?.pointer}`;
    };
    expect(await refused({ email_to: ['a@b.example, c@d.example'] })).toBe('422 /email_to/0');
    expect(await refused({ quiet_from: '22:00' })).toBe('422 /quiet_to');
    const without = await runService();
    expect(await refused({ email_to: ['a@b.example'] }, without)).toBe('422 /email_to');
    await without.close();
    const env = { DATABASE_URL: running.database.url, PORT: '0', BIO_SMTP_URL: mail.url };
    await expect(startService({ config: readConfig(env) })).rejects.toThrow('BIO_MAIL_FROM must be set');
    expect(() => readConfig({ BIO_SMTP_URL: 'mail.example.org' })).toThrow('BIO_SMTP_URL must be an address such as');
  });
});
