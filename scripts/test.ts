/** `npm test`: runs every test; arguments go to vitest (`npm test -- src/dsp`). The database is set up by test/helpers. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

const data = resolve(process.env['BIO_TEST_DATA'] ?? '../shared/data');
if (!existsSync(data))
  console.warn(`SKIPPED: no recordings at ${data} (set BIO_TEST_DATA): the accuracy floors and replay tests will not run`);
if (!existsSync('/usr/bin/chromium'))
  console.warn('SKIPPED: no /usr/bin/chromium (Debian package chromium): the browser tests will not run');

const vitest = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)], { stdio: 'inherit' });
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => vitest.kill(name));
vitest.on('close', (code) => {
  process.exitCode = code ?? 1;
});
