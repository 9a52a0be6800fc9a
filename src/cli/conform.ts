/** `biosignal conform`: a black-box test of any deployment, through its public interface only. */
import { accessSync, constants, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { PipelineError } from '../errors.ts';
import type { Command, Console } from './command.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, UsageError } from './command.ts';
import { budget } from './conform/client.ts';
import type { Check } from './conform/checks.ts';
import { Unavailable } from './conform/given.ts';
import { FORCE_OPTION, refuseExisting } from './export/whole-files.ts';
import { groupNames, play } from './conform/play.ts';
import type { Played } from './conform/play.ts';
import { countOf, reportPage } from './conform/report.ts';

export const conform: Command = {
  name: 'conform',
  summary: 'Test a running service from outside: every endpoint, credential, limit and format against its documentation.',
  positionals: 'URL',
  description: `For operators after an upgrade and for integrators before going live. Safe on a running service: it works in two projects of its own,
'conform' and 'conform other', with people and devices named conform-..., and erases them at the end, also after Ctrl-C and
failures. Two empty projects, revoked keys and entries in the audit log remain. Data of other people are neither read nor printed.

The key: an organization key with the scopes read, write, ingest and admin; the run does not start if one of them is missing.
A key with an expiry time skips webhooks and cannot create the projects. A later run removes what a killed run left behind.
In an organization with a single project, no second one is created unless you ask for it: see --project and --new-project.

At most ${budget.requestsMax} requests, ${budget.bytesMax / 1024 / 1024} MiB and --timeout seconds. Up to ${budget.refusedMax} invalid credentials are sent, ${budget.refusedBurst} at once and
then ${budget.refusedPerSec} per second, which stays below the limit for wrong credentials from one address; one wrong password is tried.
For a private certificate authority, set NODE_EXTRA_CA_CERTS=FILE.`,
  options: {
    key: { type: 'string', value: 'KEY', env: 'BIO_KEY', doc: 'Organization key; see above.' },
    'other-key': {
      type: 'string',
      value: 'KEY',
      env: 'BIO_OTHER_KEY',
      doc: 'Key of another organization, to check that neither sees the other.',
    },
    session: {
      type: 'string',
      value: 'COOKIE',
      env: 'BIO_SESSION',
      doc: "An operator's session cookie, tried on every endpoint.",
    },
    project: { type: 'string', value: 'ID', doc: 'Work in this project and create none; checks that change its settings are skipped.' },
    'new-project': { type: 'boolean', doc: 'Create the projects even if there is only one so far.' },
    'webhook-url': { type: 'string', value: 'URL', doc: 'Deliver a ping to this address. Default: no delivery.' },
    only: {
      type: 'string',
      value: 'GROUP',
      multiple: true,
      doc: `Run only this group of checks; may be repeated: ${groupNames.join('; ')}.`,
    },
    report: { type: 'string', value: 'FILE', multiple: true, doc: 'Write the report to this file, .html or .json. May be given twice.' },
    force: FORCE_OPTION,
    timeout: { type: 'string', value: 'SEC', fallback: '600', doc: 'Stop and clean up after this time.' },
  },
  examples: ['biosignal conform https://bio.example --report conform.html', 'biosignal conform http://127.0.0.1:8080 --new-project --json'],
  run: async ({ console, options, positionals, json }) => {
    const [url = console.env['BIO_URL']] = positionals;
    if (url === undefined || positionals.length > 1) throw new UsageError('name one address, e.g. https://bio.example');
    if (!/^https?:\/\/[^/]+\/?$/.test(url) || !URL.canParse(url))
      throw new UsageError(`'${url}' is no address such as https://bio.example`);
    // Not repeated: it is a secret.
    if (new URL(url).username !== '' || new URL(url).password !== '')
      throw new UsageError('the address holds a name or password: leave them out');
    const files = options.list('report');
    for (const file of files) checkReport(console, file);
    refuseExisting(
      files.map((file) => resolve(console.cwd, file)),
      options.flag('force'),
    );
    const only = options.list('only');
    for (const name of only)
      if (!groupNames.includes(name)) throw new UsageError(`--only: no group '${name}'; there are ${groupNames.join('; ')}`);
    const webhookUrl = options.text('webhook-url');
    if (webhookUrl !== '' && !/^https?:/.test(URL.canParse(webhookUrl) ? webhookUrl : ''))
      throw new UsageError(`--webhook-url: '${webhookUrl}' is not an address such as https://bio.example/hooks`);
    const timeoutMs = options.number('timeout', 1, 3600) * 1000;
    const onInterrupt = (): void => console.err('interrupted: cleaning up, a minute at most (again to end at once; a later run cleans up)');
    console.signal.addEventListener('abort', onInterrupt, { once: true });
    const played = await play({
      url: url.replace(/\/$/, ''),
      key: options.required('key'),
      otherKey: options.text('other-key'),
      session: options.text('session'),
      project: options.text('project'),
      newProject: options.flag('new-project'),
      webhookUrl,
      only,
      timeoutMs,
      signal: AbortSignal.any([console.signal, AbortSignal.timeout(timeoutMs)]),
      told: (news) => tell(console, news, json),
    }).catch((error: unknown) => {
      throw error instanceof Unavailable ? new PipelineError('unavailable', error.message, { cause: error }) : error;
    });
    if (json) console.out(JSON.stringify(summaryOf(played), null, 2));
    else for (const line of describe(played)) console.out(line);
    let isWritten = true;
    for (const file of files) isWritten = writeReport(console, file, played) && isWritten;
    if (console.signal.aborted) return EXIT_INTERRUPTED;
    return isWritten && played.cut === '' && countOf(played.checks, 'failed') === 0 && played.left.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
};

/** @throws UsageError before the run, when the report could not be written after it */
function checkReport(console: Console, file: string): void {
  if (!/\.(html|json)$/.test(file)) throw new UsageError(`--report ends in .html or .json, not '${file}'`);
  const path = resolve(console.cwd, file);
  const folder = dirname(path);
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    throw new UsageError(`--report ${file}: cannot write to the folder ${folder}`);
  }
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (there.isDirectory()) throw new UsageError(`--report ${file} is a folder`);
  try {
    accessSync(path, constants.W_OK);
  } catch {
    throw new UsageError(`--report ${file} cannot be written to`);
  }
}

/** Results are already printed, and other reports are still written on failure.  @returns whether it was written */
function writeReport(console: Console, file: string, played: Played): boolean {
  try {
    const text = file.endsWith('.html') ? reportPage(played) : `${JSON.stringify(summaryOf(played), null, 2)}\n`;
    writeFileSync(resolve(console.cwd, file), text);
    return true;
  } catch (error) {
    console.err(`--report ${file} was not written: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}

function tell(console: Console, news: string | Check, json: boolean): void {
  if (typeof news === 'string') console.progress?.(`\r${news.padEnd(60)}`);
  else if (news.result === 'failed') {
    console.progress?.(`\r${''.padEnd(60)}\r`);
    const say = json ? console.err : console.out;
    say(`FAILED   ${news.group}: ${news.name}`);
    for (const [word, text] of [
      ['sent', news.sent],
      ['expected', news.expected],
      ['got', news.got],
    ] as const)
      if (text !== '') say(`         ${word.padEnd(9)}${text}`);
  }
}

function summaryOf(played: Played): object {
  const { checks, ...rest } = played;
  return { ...rest, passed: countOf(checks, 'passed'), failed: countOf(checks, 'failed'), skipped: countOf(checks, 'skipped'), checks };
}

function describe({ checks, requests, durationMs, earlier, left, cut }: Played): string[] {
  const lines = earlier === '' ? [] : [`earlier  runs: ${earlier}`];
  const reasons = new Map<string, number>();
  for (const { result, got } of checks) if (result === 'skipped') reasons.set(got, (reasons.get(got) ?? 0) + 1);
  for (const [reason, count] of reasons) lines.push(`skipped  ${count}: ${reason}`);
  for (const sentence of left) lines.push(`LEFT     ${sentence}`);
  if (cut !== '') lines.push(`CUT      ${cut}: not everything was checked`);
  lines.push(
    `${checks.length} checks in ${(durationMs / 1000).toFixed(1)} s with ${requests} requests: ` +
      `${countOf(checks, 'passed')} passed, ${countOf(checks, 'failed')} failed, ${countOf(checks, 'skipped')} skipped`,
  );
  return lines;
}
