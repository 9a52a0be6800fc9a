/** `npm test`: runs the tests but the long ones (scripts/long-tests.ts); `npm run test:all` runs every test. Arguments go to vitest, and a
 *  path runs the long ones below it, too (`npm test -- src/dsp`). The databases are set up by test/helpers.
 *
 *  BIO_TEST_AGAIN=1 (CI): up to 12 files that failed run once more, alone. What passes then is named FLAKY: a fault to fix, but no reason
 *  to hold up a change on a machine that was busy. BIO_TEST_SUMMARY=FILE: what failed and what was flaky is appended to FILE, a line
 *  each. */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { longTests } from './long-tests.ts';
import { fillStripped } from './stripped/fill.ts';

type Report = {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
  }[];
};

const data = resolve(process.env['BIO_TEST_DATA'] ?? '../shared/data');
if (!existsSync(data))
  console.warn(`SKIPPED: no recordings at ${data} (set BIO_TEST_DATA): the accuracy floors and replay tests will not run`);
if (!['/usr/bin/chromium', '/usr/bin/chromium-headless-shell'].some((path) => existsSync(path)))
  console.warn('SKIPPED: no Chromium (Debian packages chromium, chromium-headless-shell): the browser tests will not run');
mkdirSync('.cache', { recursive: true });
const nodeOptions = [process.env['NODE_OPTIONS'] ?? '', fillStripped()].join(' ').trim();

const given = process.argv.slice(2);
const withLong = given.includes('--all') || given.some((arg) => !arg.startsWith('-'));
const args = [...given.filter((arg) => arg !== '--all'), ...(withLong ? [] : longTests.map((file) => `--exclude=${file}`))];
if (!withLong) console.log(`${longTests.length} long files are left out: npm run test:all`);
const first = await run('', args);
const again = process.env['BIO_TEST_AGAIN'] === '1' ? filesToRepeat(first.report) : [];
if (again.length === 0) {
  say('FAILED', first.report);
  if (first.code !== 0 && first.report?.numFailedTests === 0) note('FAILED: no test, but the run: look for "Unhandled" above');
  process.exitCode = first.code;
} else {
  const options = args.filter((arg) => arg.startsWith('--project'));
  const second = await run('-again', [...options, '--maxWorkers=1', ...again]);
  say('FAILED', second.report);
  if (second.code === 0) say('FLAKY', first.report);
  process.exitCode = second.code;
}

async function run(suffix: string, vitestArgs: readonly string[]): Promise<{ code: number; report: Report | null }> {
  const file = `.cache/test-report-${process.pid}${suffix}.json`;
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const vitest = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...vitestArgs], {
    stdio: 'inherit',
    env: { ...process.env, NODE_OPTIONS: nodeOptions },
  });
  const stop = (signal: NodeJS.Signals): boolean => vitest.kill(signal);
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, stop);
  const code = await new Promise<number>((done) => vitest.on('close', (exit) => done(exit ?? 1)));
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, stop);
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : null;
  if (report !== null) console.log(`${report.numPassedTests} passed, ${report.numFailedTests} failed, ${report.numPendingTests} skipped`);
  return { code, report };
}

/** The files that failed, if they are so few that chance may have done it. */
function filesToRepeat(report: Report | null): string[] {
  const failed = report?.testResults.filter(({ status }) => status === 'failed').map(({ name }) => relative('.', name)) ?? [];
  return failed.length <= 12 ? failed : [];
}

function say(what: 'FAILED' | 'FLAKY', report: Report | null): void {
  for (const file of report?.testResults.filter(({ status }) => status === 'failed') ?? []) {
    const tests = file.assertionResults.filter(({ status }) => status === 'failed');
    const lines = tests.map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages[0] ?? ''}`);
    for (const line of lines.length > 0 ? lines : [file.message])
      note(`${what}: ${relative('.', file.name)} > ${line.split('\n').slice(0, 3).join(' ').slice(0, 900)}`);
  }
}

function note(line: string): void {
  console.log(line);
  if (process.env['BIO_TEST_SUMMARY'] !== undefined) appendFileSync(process.env['BIO_TEST_SUMMARY'], `${line}\n`);
}
