/** `npm test`: runs every test; arguments go to vitest (`npm test -- src/dsp`). The databases are set up by test/helpers. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const data = resolve(process.env['BIO_TEST_DATA'] ?? '../shared/data');
if (!existsSync(data))
  console.warn(`SKIPPED: no recordings at ${data} (set BIO_TEST_DATA): the accuracy floors and replay tests will not run`);
if (!existsSync('/usr/bin/chromium'))
  console.warn('SKIPPED: no /usr/bin/chromium (Debian package chromium): the browser tests will not run');

mkdirSync('.cache', { recursive: true });
const report = `.cache/test-report-${process.pid}.json`;
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
const vitest = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...process.argv.slice(2)], {
  stdio: 'inherit',
});
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => vitest.kill(name));
vitest.on('close', (code) => {
  process.exitCode = code ?? 1;
  if (!existsSync(report)) return;
  const counts = JSON.parse(readFileSync(report, 'utf8')) as { numPassedTests: number; numFailedTests: number; numPendingTests: number };
  console.log(`${counts.numPassedTests} passed, ${counts.numFailedTests} failed, ${counts.numPendingTests} skipped`);
});
