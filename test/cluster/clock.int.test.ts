/** A node of a cluster whose clock is wrong: it says so, and its partitions stay where they are. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { testDatabase, until } from '../helpers/database.ts';
import { isShared, ownersOf } from './nodes.ts';

const HOUR_MS = 3_600_000;

// promise: clock-told
test('a node whose clock leaps says how far it is off, until it is right again, and keeps what it owns', async () => {
  const database = await testDatabase();
  await database.pool.query('select set_partitions($1)', [2]);
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-clock-'));
  const node = new ServiceProcess(await freePort(), {
    env: { DATABASE_URL: database.url, BIO_BUS_DIR: folder, BIO_DB_CONNECTIONS_MAX: '14', BIO_DSP_WORKERS: '1' },
  });
  const offSec = async (): Promise<number> => {
    const text = await (await fetch(`${node.url}/metrics`)).text();
    return Number(/^bio_clock_off_seconds (.+)$/m.exec(text)?.[1]);
  };
  try {
    await node.untilReady();
    await until(() => isShared(database, 1), 30_000);
    const owners = await ownersOf(database);
    expect(Math.abs(await offSec())).toBeLessThan(1);
    for (const [stepMs, told] of [
      [HOUR_MS, "this machine's clock is 3[56]\\d\\d\\.\\d s ahead of the database's"],
      [-2 * HOUR_MS, "this machine's clock is 3[56]\\d\\d\\.\\d s behind the database's"],
    ] as const) {
      node.send({ clockStepMs: stepMs });
      await until(async () => Math.sign(stepMs) * (await offSec()) > 3000, 10_000);
      await until(() => new RegExp(told).test(node.log), 10_000);
    }
    node.send({ clockStepMs: HOUR_MS });
    await until(async () => Math.abs(await offSec()) < 1, 10_000);
    expect(node.log.match(/this machine's clock is/g)).toHaveLength(2);
    expect(await ownersOf(database)).toEqual(owners);
  } finally {
    await node.terminate();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}, 90_000);
