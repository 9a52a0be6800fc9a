/** Plays a whole run: stage, groups in their order, and the clean-up, whatever happened. */
import { Checks } from './checks.ts';
import type { Check } from './checks.ts';
import { bearer, budget, Client } from './client.ts';
import { checkKey, checkOtherKey, describedBy, sessionOf } from './given.ts';
import { Description } from './description.ts';
import { checkAccess, checkDescription, checkStrangers } from './groups/access.ts';
import { checkCors } from './groups/cors.ts';
import { openBrief } from './groups/ends.ts';
import { checkErrors } from './groups/errors.ts';
import { checkExports } from './groups/exports.ts';
import { checkHygiene } from './groups/hygiene.ts';
import { checkIngest, sendRecordings, streamOf } from './groups/ingest.ts';
import { checkLists } from './groups/lists.ts';
import { checkPeople } from './groups/people.ts';
import { checkAnswers, makeRecords } from './groups/records.ts';
import { checkSockets } from './groups/sockets.ts';
import { checkTimes } from './groups/times.ts';
import { checkTokens } from './groups/tokens.ts';
import { checkWebhooks, removeWebhook } from './groups/webhooks.ts';
import { checkWrites } from './groups/writes.ts';
import { Raw } from './raw.ts';
import type { Run } from './run.ts';
import { Stage } from './stage.ts';
import { causeOf, shown } from './words.ts';

export type PlayOptions = Readonly<{
  url: string;
  key: string;
  otherKey: string;
  session: string;
  project: string;
  newProject: boolean;
  webhookUrl: string;
  /** Names of the groups to run; empty: all. Groups that others depend on always run. */
  only: readonly string[];
  signal: AbortSignal;
  /** Limit of the run without its clean-up, ms. */
  timeoutMs: number;
  /** Called with the name of a group that begins, or a finished check. */
  told: (news: string | Check) => void;
}>;

export type Played = Readonly<{
  url: string;
  startedAt: string;
  durationMs: number;
  version: string;
  proxy: string;
  project: string;
  checks: readonly Check[];
  requests: number;
  bytes: number;
  refused: number;
  /** Leftovers of earlier runs. */
  earlier: string;
  /** Resources that could not be removed. */
  left: readonly string[];
  /** Why the run ended before all groups were played; '' if it did not. */
  cut: string;
}>;

/** Time limit of the clean-up, even after Ctrl-C. */
const CLEAN_MS_MAX = 60_000;

export async function play(options: PlayOptions): Promise<Played> {
  const { url, signal, told } = options;
  const startedMs = Date.now();
  const client = new Client(url, signal);
  const stage = new Stage(client, { ...options, endMs: startedMs + options.timeoutMs + CLEAN_MS_MAX });
  let description: Description | null = null;
  const checks = new Checks(client, () => description, told);
  let version = '';
  let proxy = '';
  let cut = '';
  let left: string[] = [];
  try {
    const described = await describedBy(client);
    await checkKey(client, '--key', options.key);
    if (options.otherKey !== '') await checkOtherKey(client, options.key, options.otherKey);
    const session = options.session === '' ? 'no --session was given' : await sessionOf(client, options.session);
    description = new Description(described.json);
    version = client.safe(shown((described.json as { info?: { version?: unknown } }).info?.version ?? ''));
    proxy = client.safe(shown(proxyOf(described.headers)));
    await stage.begin();
    const run: Run = {
      ada: await stage.person('ada'),
      ben: await stage.person('ben'),
      cleo: stage.otherProject === null ? null : await stage.person('cleo', stage.otherProject),
      client,
      checks,
      stage,
      description,
      proxy,
      brief: { token: '', endMs: 0, socket: null },
      raw: new Raw(client),
      otherKey:
        options.otherKey === ''
          ? 'no --other-key was given: access across organizations was not checked'
          : bearer("another organization's key", options.otherKey),
      session,
      webhookUrl: options.webhookUrl,
    };
    for (const [name, group] of groups) {
      if (options.only.length > 0 && !always.includes(name) && !options.only.includes(name)) continue;
      told(name);
      await checks.group(name, () => group(run));
    }
  } catch (error) {
    if (!signal.aborted && checks.all.length === 0 && stage.project.id === '') throw error;
    cut = signal.aborted ? abortWords(signal.reason) : causeOf(error);
  } finally {
    told('Cleaning up');
    // With its own signal: the run may be ending because of the other one.
    left = await stage.end(new Client(url, AbortSignal.timeout(CLEAN_MS_MAX), Infinity));
  }
  if (cut === '') cut = client.spent;
  return {
    url,
    version,
    proxy,
    cut: client.safe(cut),
    left: left.map((sentence) => client.safe(sentence)),
    earlier: client.safe(stage.earlier),
    startedAt: new Date(startedMs).toISOString(),
    durationMs: Date.now() - startedMs,
    project: stage.project.id,
    checks: checks.all,
    requests: client.sentRequests,
    bytes: client.sentBytes,
    refused: Math.min(client.sentRefused, budget.refusedMax),
  };
}

/** Groups that create what others request. */
const always: readonly string[] = ['Recordings', 'Records'];
const groups: readonly (readonly [string, (run: Run) => Promise<void>])[] = [
  ['Description', checkDescription],
  ['Recordings', recordings],
  ['Sockets', openBrief],
  ['Records', makeRecords],
  ['Webhooks', checkWebhooks],
  ['Credentials', checkAccess],
  ['Other people, projects and organizations', checkStrangers],
  ['Webhooks', removeWebhook],
  ['Tokens and keys', checkTokens],
  ['Pages of other origins', checkCors],
  ['Errors and methods', checkErrors],
  ['Connections', checkHygiene],
  ['Ingest', checkIngest],
  ['Times and numbers', checkTimes],
  ['Exports', checkExports],
  ['Lists', checkLists],
  ['Changes', checkWrites],
  ['Sockets', checkSockets],
  ['Answers', checkAnswers],
  ['Consent and erasure', checkPeople],
];

export const groupNames: readonly string[] = [...new Set(groups.map(([name]) => name))];

async function recordings(run: Run): Promise<void> {
  await sendRecordings(run);
  run.stage.ids.stream = await streamOf(run, run.stage.name('lastyear'));
}

function abortWords(reason: unknown): string {
  return reason instanceof Error && reason.name === 'TimeoutError' ? 'time limit reached' : 'interrupted';
}

/** The proxy in front, if it names itself. */
function proxyOf(headers: Headers): string {
  const server = headers.get('server') ?? '';
  return headers.get('via') ?? (/^uWebSockets/i.test(server) ? '' : server);
}
