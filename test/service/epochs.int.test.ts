/** Epochs are counted, and there is a last one. */
import { tmpdir } from 'node:os';
import { afterAll, expect, test } from 'vitest';
import { doctor } from '../../src/cli/doctor.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase } from '../helpers/database.ts';

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

// promise: epochs-told
test('says how many epochs are left from half of them on, and takes no log by a number that is not exact', async () => {
  const database = await testDatabase();
  closing.push(() => database.close());
  const config = readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent' });
  const epochsAre = (epoch: number) => database.pool.query('update cluster_setting set epoch = $1', [epoch]);
  const said = async (): Promise<string> => (await ran(doctor, [], { env: { DATABASE_URL: database.url }, cwd: tmpdir() })).out.join('\n');
  const used = async (): Promise<number> => {
    const service = await startService({ config });
    const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
    await service.stop();
    return Number(/^bio_epochs_used_ratio (.+)$/m.exec(metrics)?.[1]);
  };
  await epochsAre(900_000);
  expect(await used()).toBeCloseTo(0.43, 2);
  expect(await said()).not.toContain('epochs');
  await epochsAre(1_100_000);
  expect(await said()).toMatch(/WARNING {2}epochs +1100000 of 2097150 epochs were given/);
  await epochsAre(2_097_148);
  expect(await used()).toBeCloseTo(1, 2);
  expect(await said()).toMatch(/FAULT +epochs +2097149 of 2097150 epochs/);
  expect(await used()).toBe(1);
  await expect(startService({ config })).rejects.toThrow('the 2097150 epochs of this database are used up');
});
