/** The disk that the log goes to is full. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { testDatabase, until } from '../helpers/database.ts';

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

// promise: full-log
test.each([[['--processes', '2']], [[]]])(
  'a service whose log the disk does not take goes on without it: start %s',
  async (more) => {
    const database = await testDatabase();
    closing.push(() => database.close());
    const port = await freePort();
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'src/cli/main.ts', 'start', ...more], {
      env: { ...process.env, DATABASE_URL: database.url, PORT: String(port), BIO_DB_CONNECTIONS_MAX: '14', BIO_LOG_LEVEL: 'debug' },
      stdio: ['ignore', full, 'ignore'],
    });
    closeSync(full);
    const gone = new Promise((resolve) => child.once('exit', resolve));
    closing.push(async () => {
      child.kill('SIGTERM');
      await Promise.race([gone, sleep(20_000, undefined, { ref: false })]);
      child.kill('SIGKILL');
    });
    const isReady = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.status === 200;
    await until(async () => child.exitCode !== null || (await isReady()), 20_000);
    for (let i = 0; i < 20; i++) await fetch(`http://127.0.0.1:${port}/api/v1/me`).catch(() => null); // each is a line
    expect(child.exitCode).toBe(null);
    expect(await isReady()).toBe(true);
  },
  120_000,
);
