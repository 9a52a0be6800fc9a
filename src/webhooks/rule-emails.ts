/** E-mail of rules: tells addresses of episodes that a rule has opened, several in one message. An entry is `pending` from the episode on
 *  until the mail server has taken a message with it (`sent`), or it refused for good or the last attempt failed (`failed`). In the quiet
 *  hours of its rule it waits; so it does while its person has not agreed to sharing. */
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { usedZone } from '../http/time-zone.ts';
import { build, run } from '../storage/database/build.ts';
import { isHere } from '../tenancy/moving.ts';
import { SEND_MS_MAX, mailSender } from './mail-sender.ts';
import type { Mail } from './mail-sender.ts';
import { writeMessage } from './rule-email-message.ts';
import type { Line, MailLanguage, Message } from './rule-email-message.ts';

/** Waits before attempts 2, 3 …, s. */
const RETRY_SEC = [60, 300, 1800, 7200, 21_600] as const;
/** Least time between two messages of a project to one address, s: what happens in it comes in one message. */
const MESSAGE_EVERY_SEC = 300;
const POLL_MS = 5000;
/** Episodes in one message; more follow in the next one. */
const EPISODES_MAX = 50;
/** Messages of one look. */
const MESSAGES_MAX = 20;
/** Of one organization: the next look is not held up for long by a mail server that is slow with its addresses. */
const ORGANIZATION_MESSAGES_MAX = 3;
/** Nobody else takes what a look has taken until all of it must have been tried, s. */
const TAKEN_SEC = ((ORGANIZATION_MESSAGES_MAX + 1) * SEND_MS_MAX) / 1000;
/** How long entries are kept, days. */
const KEPT_DAYS = 30;
/** From 500 on an answer of a mail server means: never (RFC 5321 section 4.2.1). */
const REFUSED = 500;

export type RuleEmailOptions = Readonly<{
  pool: Pool;
  /** smtp:// or smtps://, with user and password if the server wants them. */
  smtpUrl: string;
  /** Address that messages are from. */
  from: string;
  /** Address of the service, for links. */
  publicUrl: string;
  language: MailLanguage;
  pollMs?: number;
  onError: (error: unknown) => void;
  /** The mail server is out of reach, or refuses whatever it is sent. */
  onServerFault: (error: unknown) => void;
}>;

type Taken = Message & Readonly<{ recipient: string; organization_id: string }>;

/** Sends what is due, on one node at a time per message.  @returns how to stop */
export function startRuleEmails(options: RuleEmailOptions): () => Promise<void> {
  const send = mailSender(options.smtpUrl);
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let busy = false;
  // job: rule-emails: sends e-mail about episodes of rules, every five seconds; forgets entries after 30 days
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    running = sendDue(options, send, stopping.signal)
      .catch(options.onError)
      .finally(() => (busy = false));
  }, options.pollMs ?? POLL_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    stopping.abort();
    await running;
  };
}

/** Organizations do not wait for each other.  @param stopping what is not sent by then is given back */
async function sendDue(options: RuleEmailOptions, send: (mail: Mail) => Promise<void>, stopping: AbortSignal): Promise<void> {
  const { pool } = options;
  // Whom a rule no longer names is told of nothing that has waited, in quiet hours for instance.
  await pool.query(
    `delete from episode_email e where e.created_at < now() - interval '${KEPT_DAYS} days'
       or e.status = 'pending' and exists (select from episode_rule r where r.id = e.rule_id and not e.recipient = any (r.email_to))`,
  );
  const taken = Map.groupBy(await takeDue(pool), ({ organization_id: id }) => id);
  const ends = await Promise.allSettled(
    [...taken.values()].map(async (messages) => {
      for (const message of messages) await sendOne(options, send, message, stopping);
    }),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

async function sendOne(
  options: RuleEmailOptions,
  send: (mail: Mail) => Promise<void>,
  message: Taken,
  stopping: AbortSignal,
): Promise<void> {
  const { pool } = options;
  const ids = message.lines.map(({ id }) => id);
  if (stopping.aborted) {
    await pool.query('update episode_email set attempts = attempts - 1, next_attempt_at = now() where id = any($1::uuid[])', [ids]);
    return;
  }
  const error = await send(mailOf(options, message)).then(
    () => null,
    (failure: unknown) => failure,
  );
  if (error === null) {
    await pool.query(`update episode_email set status = 'sent', sent_at = now(), last_error = null where id = any($1::uuid[])`, [ids]);
    return;
  }
  if (!isOfMessage(error)) options.onServerFault(error);
  // Each entry has attempts of its own: a new one does not fail because it was in the last message of an old one.
  await pool.query(
    `update episode_email set last_error = $2, status = case when ($3::integer[])[attempts] is null then 'failed' else 'pending' end,
       next_attempt_at = now() + make_interval(secs => coalesce(($3::integer[])[attempts], 0))
     where id = any($1::uuid[])`,
    [ids, (error instanceof Error ? error.message : 'unknown').slice(0, 500), isRefusal(error) ? [] : RETRY_SEC],
  );
}

/** For good is what the server says of the address or of the message. What it says before them, such as that a password is wrong, is of
 *  all messages, and its operator may put it right. */
function isRefusal(error: unknown): boolean {
  const { responseCode } = error as { responseCode?: number };
  return responseCode !== undefined && responseCode >= REFUSED && isOfMessage(error);
}

function isOfMessage(error: unknown): boolean {
  const { command } = error as { command?: string };
  return command === 'RCPT TO' || command === 'DATA';
}

/** The zone of a project p. $1: those of older releases, by what they are used as: one that is unknown fails a statement about all. */
const zone = `coalesce($1::jsonb ->> p.time_zone, p.time_zone)`;

async function formerZonesOf(pool: Pool): Promise<string> {
  const { rows } = await run(pool, build.selectFrom('project').select('time_zone').distinct());
  const former = rows.flatMap(({ time_zone: stored }) =>
    usedZone(stored) === stored ? [] : [[stored, usedZone(stored) ?? 'UTC'] as const],
  );
  return JSON.stringify(Object.fromEntries(former));
}

/** Takes what is due by project and address, and moves its next attempt on, so that no other node takes it. */
async function takeDue(pool: Pool): Promise<readonly Taken[]> {
  // SQL: an update whose rows are grouped; a function of the schema decides what is quiet.
  const { rows } = await pool.query<Taken>(
    `with due as (
       select e.id, e.project_id, e.recipient, e.organization_id, e.next_attempt_at,
         row_number() over (partition by e.project_id, e.recipient order by e.created_at, e.id) as place
       from episode_email e join episode_rule r on r.id = e.rule_id join project p on p.id = e.project_id
       where e.status = 'pending' and e.next_attempt_at <= now() and ${isHere('e.organization_id')} and p.archived_at is null and not is_quiet(r.quiet_from, r.quiet_to, ${zone}, now())
         and (p.consent_required = '{}' or not 'sharing' = any (missing_consents((select x.xuser_id from episode x where x.id = e.episode_id))))
         and not exists (
           select from episode_email s where s.project_id = e.project_id and s.recipient = e.recipient and s.status = 'sent'
             and s.sent_at > now() - interval '${MESSAGE_EVERY_SEC} seconds')
     ), message as (
       -- Those that have waited longest; of each organization the first, then the second of each.
       select project_id, recipient, turn, row_number() over (order by turn, since, project_id, recipient) as place
       from (
         select project_id, recipient, min(next_attempt_at) as since,
           row_number() over (partition by organization_id order by min(next_attempt_at), project_id, recipient) as turn
         from due group by organization_id, project_id, recipient) m
     ), taken as (
       update episode_email e set attempts = e.attempts + 1, next_attempt_at = now() + interval '${TAKEN_SEC} seconds'
       from due d join message m using (project_id, recipient)
       where d.id = e.id and d.place <= ${EPISODES_MAX} and m.turn <= ${ORGANIZATION_MESSAGES_MAX} and m.place <= ${MESSAGES_MAX}
         and e.status = 'pending' and e.next_attempt_at <= now()
       returning e.id, e.project_id, e.recipient, e.episode_id
     )
     select t.recipient, p.organization_id, p.name as project, ${zone} as time_zone,
       json_agg(json_build_object('id', t.id, 'episode', x.id, 'title', x.title, 'severity', x.severity, 'began', x.started_at, 'status', x.status)
         order by x.started_at, x.id) as lines
     from taken t join episode x on x.id = t.episode_id join project p on p.id = t.project_id
     group by t.recipient, p.id, p.organization_id, p.name, p.time_zone`,
    [await formerZonesOf(pool)],
  );
  return rows;
}

function mailOf({ from, publicUrl, language }: RuleEmailOptions, message: Taken): Mail {
  const { subject, text } = writeMessage(message, language, publicUrl);
  return { from, to: { name: '', address: message.recipient }, subject, text, messageId: messageIdOf(message.lines) };
}

/** The same for the same entries, so that receivers know a message that comes again; another when an entry has joined, so that they do not
 *  take it for that message and drop it. */
function messageIdOf(lines: readonly Line[]): string {
  const ids = lines.map(({ id }) => id).toSorted();
  return `<${createHash('sha256').update(ids.join()).digest('hex').slice(0, 32)}@biosignal>`;
}
