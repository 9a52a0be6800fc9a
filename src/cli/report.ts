/** `biosignal report`: the printed report of one person and range, as PDF. */
import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PipelineError } from '../errors.ts';
import { openApi } from './client/api.ts';
import type { Api } from './client/api.ts';
import { findChromium, printPage } from './client/chromium.ts';
import type { Command } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { personStem } from './export/stretch.ts';
import { FORCE_OPTION, refuseExisting } from './export/whole-files.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Of the dashboard (dashboard/language.ts). */
const languages = ['en', 'de', 'fr', 'es'];
const day = /^\d{4}-\d\d-\d\d$/;

type User = Readonly<{ xuser_id: string; project_id: string; external_id: string }>;

export const report: Command = {
  name: 'report',
  summary: 'Print the report of a user and a range as PDF, with the Chromium of this machine.',
  positionals: 'USER',
  description: `USER is the uuid or external id of a user. The report is the page that the dashboard shows: person, range, summary, recordings,
trends, rest and nights, variability with the version of each method, quality and coverage, episodes with their strips at 25 mm/s. It is
made by the running service and printed by Chromium or Chrome on this machine; without one, print the page from the dashboard.
The key (scope read) is taken from BIO_KEY alone, never from an option: command lines can be read by others. The browser never gets it, and
it is in no address. The file can be read by its owner only; one that is there already is not replaced without --force.`,
  options: {
    to: { type: 'string', value: 'URL', env: 'BIO_URL', fallback: 'http://127.0.0.1:8080', doc: 'Address of the service.' },
    since: {
      type: 'string',
      value: 'TIME',
      doc: "First time, or first day (2026-03-01) of the user's time zone. Default: seven days, up to the newest recording where none is as new.",
    },
    until: { type: 'string', value: 'TIME', doc: 'Last time, or last day, which is included. Default: now.' },
    out: { type: 'string', value: 'FILE', doc: 'Default: report-USER.pdf.' },
    force: FORCE_OPTION,
    language: { type: 'string', value: 'TAG', doc: 'Language of the report: en, de, fr or es. Default: that of Chromium.' },
    chromium: { type: 'string', value: 'PATH', doc: 'Program to print with. Default: where packages install it.' },
    timeout: { type: 'string', value: 'SEC', fallback: '120', doc: 'How long the page may take.' },
  },
  examples: ['biosignal report patient-7 --since 2026-03-01 --until 2026-03-07 --out march.pdf'],
  run: async ({ console, options, positionals, json }) => {
    const [wanted] = positionals;
    if (wanted === undefined || positionals.length > 1) throw new UsageError('name one user');
    const key = console.env['BIO_KEY'] ?? '';
    if (key === '') throw new UsageError('BIO_KEY must hold an organization key of scope read');
    for (const name of ['since', 'until']) if (!day.test(options.text(name))) options.time(name);
    const timeoutMs = options.number('timeout', 1, 3600) * 1000;
    const chromium = options.text('chromium') || findChromium();
    if (chromium === null || !existsSync(chromium)) {
      console.err(`biosignal report: there is no ${chromium ?? 'Chromium or Chrome'} on this machine.`);
      console.err("Install one (Debian: 'apt install chromium'), name it with --chromium, or print the report from the dashboard.");
      return EXIT_FAILED;
    }
    const user = await findUser(openApi(options.text('to'), key, console.signal), wanted);
    const url = new URL('/dashboard/report', options.text('to'));
    const asked = { subject: user.xuser_id, project: user.project_id, from: options.text('since'), to: options.text('until') };
    const language = options.text('language');
    if (language !== '' && !languages.includes(language)) throw new UsageError(`--language is one of ${languages.join(', ')}`);
    if (language !== '') url.searchParams.set('lang', language);
    url.hash = new URLSearchParams(asked).toString();
    const file = resolve(
      console.cwd,
      options.text('out') || `report-${personStem({ subject: user.external_id, xuser_id: user.xuser_id })}.pdf`,
    );
    refuseExisting([file], options.flag('force'));
    const sinceMs = performance.now();
    const seconds = (): string => `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;
    console.err(`The page of ${user.external_id} is being made: values, charts and strips ...`);
    const onWhole = (): void => console.err(`The page was whole after ${seconds()}; it is being printed ...`);
    const { pdf, note } = await printPage({ chromium, url, credential: key, timeoutMs, signal: console.signal, onWhole });
    await writeWhole(file, pdf);
    console.err(`Printed: ${(pdf.length / 1000).toFixed(0)} kB in ${seconds()}.`);
    if (note !== '') console.err(note);
    console.out(json ? JSON.stringify({ file, bytes: pdf.length, note }, null, 2) : file);
    return EXIT_OK;
  },
};

async function findUser(api: Api, wanted: string): Promise<User> {
  if (uuid.test(wanted)) return api.get<User>(`/api/v1/xusers/${wanted}`);
  const [user, another] = await api.list<User>('/api/v1/xusers', { external_id: wanted });
  if (user === undefined) throw new PipelineError('not_found', `there is no user '${wanted}'`);
  if (another !== undefined) throw new UsageError(`'${wanted}' is a user of several projects; name it by its uuid`);
  return user;
}

/** The file is whole or not there. */
async function writeWhole(file: string, bytes: Buffer): Promise<void> {
  const part = `${file}.part`;
  try {
    await writeFile(part, bytes, { mode: 0o600 });
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
