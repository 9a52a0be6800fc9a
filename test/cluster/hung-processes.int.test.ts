/** `biosignal start --processes N` whose command is killed, or whose nodes hang, ignore the end, or wait in a debugger. */
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cluster } from '../../src/cli/cluster.ts';
import { doctor } from '../../src/cli/doctor.ts';
import { freePort } from '../../faults/lib/free-port.ts';
import { refuseTakenPort } from '../../src/start/refuse.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { isShared, spawnProcesses } from './nodes.ts';

let work: string;
beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'biosignal-hung-processes-'));
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

type Status = Readonly<{ nodes: readonly Readonly<{ partitions: number }>[] }>;

// promise: lines-name-nodes
test('the processes end when the command that started them is killed, and leave the port to the next', async () => {
  const own = await testDatabase();
  const port = await freePort();
  const settings = { DATABASE_URL: own.url, PORT: String(port), BIO_LOG_LEVEL: 'info', BIO_NODE_NAME: 'bed', BIO_DEMO: '0' };
  const killed = spawnProcesses(2, settings, { json: true, stderr: 'ignore' });
  const logged: string[] = [];
  for await (const line of createInterface(killed.stdout!)) {
    if (line.includes('"processes"')) break;
    logged.push(line);
  }
  expect(logged.length).toBeGreaterThan(0);
  for (const line of logged) expect(JSON.parse(line)).toMatchObject({ node: expect.stringMatching(/^bed\/[12]$/) });
  const nodes = readFileSync(`/proc/${killed.pid}/task/${killed.pid}/children`, 'utf8').trim().split(' ').map(Number);
  expect(nodes).toHaveLength(2);
  try {
    const gone = once(killed, 'exit');
    killed.kill('SIGKILL');
    await gone;
    await until(() => !nodes.some((pid) => existsSync(`/proc/${pid}`)), 30_000);
    await refuseTakenPort('127.0.0.1', port);
  } finally {
    for (const pid of nodes) if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
    await own.close();
  }
});

test('a node that hangs and partitions without an owner are both told; a node that ignores the end is killed', async () => {
  const own = await testDatabase();
  const port = String(await freePort());
  const settings = { DATABASE_URL: own.url, PORT: port, BIO_NODE_NAME: 'bed', BIO_DEMO: '0', BIO_STOP_TIMEOUT_MS: '2000' };
  const command = spawnProcesses(2, settings, { json: true });
  let told = '';
  command.stderr!.setEncoding('utf8').on('data', (text: string) => (told += text));
  const nodes: number[] = [];
  try {
    for await (const line of createInterface(command.stdout!)) if (line.includes('"processes"')) break;
    nodes.push(...readFileSync(`/proc/${command.pid}/task/${command.pid}/children`, 'utf8').trim().split(' ').map(Number));
    expect(nodes).toHaveLength(2);
    const statusOf = async (): Promise<Status> =>
      JSON.parse((await ran(cluster, ['status', '--json'], { env: { DATABASE_URL: own.url }, cwd: work })).out.join('')) as Status;
    await until(async () => (await statusOf()).nodes.every(({ partitions }) => partitions === 12), 60_000);
    process.kill(nodes[0]!, 'SIGSTOP');
    process.kill(command.pid!, 'SIGSTOP'); // it starts no other
    process.kill(nodes[1]!, 'SIGTERM');
    const doctorSays = async (): Promise<string> =>
      (await ran(doctor, [], { env: { DATABASE_URL: own.url, PORT: port }, cwd: work })).out.join('\n');
    await until(async () => (await doctorSays()).includes('12 of 24 partitions have no owner'), 30_000);
    await until(async () => /WARNING {2}owner {9}bed\/1 .* 12 of 24 .* ago/.test(await doctorSays()), 30_000);
    expect(await doctorSays()).toContain('12 of 24 partitions have no owner');
    const gone = once(command, 'exit');
    const sinceMs = performance.now();
    command.kill('SIGTERM');
    process.kill(command.pid!, 'SIGCONT');
    await Promise.race([gone, sleep(30_000)]);
    expect(command.exitCode, 'it has ended, and says that a node did not in order').toBe(1);
    expect(performance.now() - sinceMs).toBeGreaterThan(6000); // a node may need its own bound
    expect(told).toContain('bed/1 has not ended within 9 s, and is killed');
    expect(told).toMatch(/^biosignal start: stops \(SIGTERM\)$/m);
    expect(told).toMatch(/^biosignal start: has stopped after \d+\.\d s$/m);
    expect(nodes.some((pid) => existsSync(`/proc/${pid}`))).toBe(false);
  } finally {
    for (const pid of nodes) if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
    command.kill('SIGKILL');
    await own.close();
  }
});

async function isOwnedByLiving({ pool }: TestDatabase): Promise<boolean> {
  const { rows } = await pool.query<{ living: boolean }>(
    `select bool_and(exists (select from cluster_node n where n.id = c.owner and n.renewed_at > clock_timestamp() - interval '5 s')) as living
     from packet_log_checkpoint c`,
  );
  return rows[0]!.living;
}

// promise: hung-ended
// job: signs-of-life, hung-processes
test('says that it listens once all do; a node that hangs is ended and started again, one in a debugger is not', async () => {
  const own = await testDatabase();
  const spins = 'process.on("SIGUSR2", () => { for (;;); })';
  const command = spawnProcesses(3, {
    NODE_OPTIONS: `--inspect-port=0 --import=data:text/javascript,${encodeURIComponent(spins)}`,
    DATABASE_URL: own.url,
    PORT: String(await freePort()),
    BIO_NODE_NAME: 'bed',
    BIO_DEMO: '0',
    BIO_STOP_TIMEOUT_MS: '2000',
  });
  let told = '';
  command.stderr!.setEncoding('utf8').on('data', (text: string) => (told += text));
  const pidOf = new Map<string, number>();
  const nodes = (): number[] => readFileSync(`/proc/${command.pid}/task/${command.pid}/children`, 'utf8').trim().split(' ').map(Number);
  const nameOf = (pid: number): string => /(?:^|\0)BIO_NODE_NAME=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))![1]!;
  try {
    for await (const line of createInterface(command.stdout!)) if (line.endsWith('with 3 processes')) break;
    const { rows } = await own.pool.query<{ name: string }>('select name from cluster_node order by name');
    expect(rows.map(({ name }) => name)).toEqual(['bed/1', 'bed/2', 'bed/3']);
    await until(() => isShared(own, 3), 60_000);
    for (const pid of nodes()) pidOf.set(nameOf(pid), pid);
    process.kill(pidOf.get('bed/3')!, 'SIGUSR1');
    await until(() => told.includes('bed/3: Debugger listening on'), 10_000);
    await sleep(2500); // it has told so
    process.kill(pidOf.get('bed/1')!, 'SIGSTOP');
    process.kill(pidOf.get('bed/2')!, 'SIGUSR2');
    process.kill(pidOf.get('bed/3')!, 'SIGSTOP');
    // Counted is the time for which a process could run: one that spins on a busy machine has a tenth of a processor.
    for (const name of ['bed/1', 'bed/2']) await until(() => told.includes(`${name} has not answered for 20 s, and is killed`), 200_000);
    process.kill(pidOf.get('bed/3')!, 'SIGCONT'); // it was followed, and ends by itself
    // Nobody was there to follow the three until they were started again.
    await until(() => nodes().length === 3 && !nodes().some((pid) => pid === pidOf.get('bed/1') || pid === pidOf.get('bed/2')), 60_000);
    await until(async () => (await isShared(own, 3)) && (await isOwnedByLiving(own)), 90_000);
    expect(told).not.toContain('bed/3 has not answered');
    const gone = once(command, 'exit');
    command.kill('SIGTERM');
    await gone;
    expect(command.exitCode, told).toBe(0);
  } finally {
    for (const pid of pidOf.values()) if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
    command.kill('SIGKILL');
    await own.close();
  }
}, 600_000);
