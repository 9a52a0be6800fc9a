/** Cost of partitions for a node that nobody sends to: processor time of the service and of PostgreSQL while nothing happens, by the number
 *  of partitions. BENCH_PARTITIONS (2,24,256,1024), BENCH_SEC (20). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../faults/lib/free-port.ts';
import { ServiceProcess } from '../faults/lib/service.ts';
import { cutIntoPartitions } from '../src/cli/partitions.ts';
import { openDatabase } from '../src/storage/database/database.ts';
import { upgrade } from '../src/storage/upgrade.ts';
import { openBenchDatabase } from './lib/bench-database.ts';
import { threadsCpuSec, treeCpuSec } from './lib/processor-time.ts';
import { report } from './lib/result.ts';

const COUNTS = (process.env['BENCH_PARTITIONS'] ?? '2,24,256,1024').split(',').map(Number);
const sec = Number(process.env['BENCH_SEC'] ?? 20);

for (const count of COUNTS) {
  const given = await openBenchDatabase();
  await upgrade(given.url, {});
  const database = await openDatabase(given.url, { applicationName: 'bench', poolSizeMax: 1 });
  await cutIntoPartitions(database, count);
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-idle-'));
  const node = new ServiceProcess(await freePort(), { env: { DATABASE_URL: given.url, BIO_BUS_DIR: folder, BIO_DSP_WORKERS: '1' } });
  await node.untilReady();
  const startedMs = performance.now();
  for (let owned = 0; owned < count; await sleep(50)) {
    const { rows } = await database.pool.query<{ owned: number }>('select count(owner)::int as owned from packet_log_checkpoint');
    owned = rows[0]!.owned;
  }
  const takenMs = performance.now() - startedMs;
  await sleep(8000); // its start is over
  const spent = async () => {
    const { rows } = await database.pool.query<{ wal: number }>(`select (pg_current_wal_lsn() - '0/0')::float8 as wal`);
    return [performance.now() / 1000, threadsCpuSec(node.pid).all, treeCpuSec(given.postmasterPid!), rows[0]!.wal] as const;
  };
  const before = await spent();
  await sleep(sec * 1000);
  const after = await spent();
  const share = (i: 1 | 2): number => (100 * (after[i] - before[i])) / (after[0] - before[0]);
  report({ name: `${count} partitions: until all are taken`, value: takenMs, unit: 'ms' });
  report({ name: `${count} partitions: the service, doing nothing`, value: share(1), unit: '% of a core' });
  report({ name: `${count} partitions: PostgreSQL, doing nothing`, value: share(2), unit: '% of a core' });
  report({ name: `${count} partitions: write-ahead log`, value: (after[3] - before[3]) / (after[0] - before[0]) / 1000, unit: 'kB/s' });
  await node.terminate();
  await database.close();
  await given.drop();
  rmSync(folder, { recursive: true, force: true });
}
