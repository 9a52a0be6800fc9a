/** `biosignal start` as systemd and containers run it: a process that ends when it is told to, and says by its exit code that all is well. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { freePort, ServiceProcess } from '../faults/lib/service.ts';
import { testDatabase } from './helpers/database.ts';

test('SIGTERM ends the process with 0 once all is stored; nothing of it keeps running', async () => {
  const database = await testDatabase();
  const service = new ServiceProcess(await freePort(), { env: { DATABASE_URL: database.url } });
  try {
    await service.untilReady();
    expect(await Promise.race([service.terminate(), sleep(60_000, 'still running after a minute', { ref: false })])).toBe(0);
  } finally {
    await service.kill();
    await database.close();
  }
});
