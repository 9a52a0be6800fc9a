/** A terminal or a supervisor signals a whole group of processes: the nodes of `start --processes` are told of the end twice. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { testDatabase } from '../helpers/database.ts';

const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

test.each(['SIGINT', 'SIGTERM'] as const)('the nodes of a command that is ended with its group by %s end in order', async (signal) => {
  const database = await testDatabase();
  closing.push(() => database.close());
  const command = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'src/cli/main.ts', 'start', '--processes', '2', '--json'],
    {
      detached: true, // a group of its own
      env: {
        ...process.env,
        DATABASE_URL: database.url,
        PORT: String(await freePort()),
        BIO_DB_CONNECTIONS_MAX: '14',
        BIO_LOG_LEVEL: 'error',
        BIO_DEMO: '0',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const gone = once(command, 'exit');
  try {
    for await (const line of createInterface(command.stdout!)) if (line.includes('"processes"')) break;
    const owners = async (): Promise<number> =>
      (await database.pool.query<{ n: number }>('select count(distinct owner)::int as n from packet_log_checkpoint')).rows[0]!.n;
    await expect.poll(owners, { timeout: 30_000 }).toBe(2);
    process.kill(-command.pid!, signal);
    await gone;
    expect(command.exitCode).toBe(0);
    // A node that ends in order gives its partitions back, and its name.
    expect(await owners()).toBe(0);
    expect((await database.pool.query('select from cluster_node')).rowCount).toBe(0);
  } finally {
    if (command.exitCode === null && command.signalCode === null) process.kill(-command.pid!, 'SIGKILL');
  }
});
