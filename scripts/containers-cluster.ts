/** `npm run containers-cluster`: builds the image, starts all of compose.cluster.yaml in podman, and uses it: packets in through the proxy
 *  while each container is killed, while the nodes are replaced one after the other, and while the database is lost for good and its
 *  standby takes its place. Every acknowledged packet is checked.
 *
 *  As `npm run containers`: nothing is left running, lines that start with NOT DONE say what was not. Exit code 0, 1 or 2. */
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Deployment, missingPrograms, notDone } from './containers/deployment.ts';
import { openEngine } from './containers/engine.ts';

const { values: options } = parseArgs({
  options: { registry: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } },
});
if (options.help === true) {
  console.log(`Usage: npm run containers-cluster -- [--registry]

  --registry   Pull the official base images; without it, or where that fails, stand-ins are made from Debian packages.`);
  process.exit(0);
}

/** Until partitions have settled on a busy machine, ms. */
const SETTLE_MS = 60_000;
/** Device time in which all nodes are replaced, at 4 times its speed, s. */
const REPLACE_SEC = 320;

const root = resolve(import.meta.dirname, '..');
const engine = openEngine(join(root, '.cache/containers'));
const missing = await missingPrograms(engine);
if (missing !== '') {
  notDone(missing);
  console.log('          On Debian: apt-get install podman buildah runc netavark aardvark-dns iptables debootstrap');
  process.exit(2);
}
const all = new Deployment(engine, root, 'compose.cluster.yaml', 'biosignal-cluster-check');
const nodes = ['node-1', 'node-2', 'node-3'];

type Status = Readonly<{
  without_owner: readonly number[];
  nodes: readonly Readonly<{ node: string; partitions: number; state: string }>[];
}>;

/** Until the nodes have these numbers of partitions. */
async function untilShares(shares: readonly number[], asked = 'node-1'): Promise<void> {
  for (const deadline = performance.now() + SETTLE_MS; ; await sleep(300)) {
    const { output } = await engine.run([
      'podman',
      'exec',
      all.containerOf(asked),
      '/app/scripts/biosignal.sh',
      'cluster',
      'status',
      '--json',
    ]);
    const text = output.slice(output.indexOf('{'));
    const status = text.startsWith('{"partitions"') ? (JSON.parse(text.split('\n')[0]!) as Status) : null;
    const living = status?.nodes.filter(({ state }) => state !== 'gone') ?? [];
    if (
      status?.without_owner.length === 0 &&
      nodes.map((name) => living.find(({ node }) => node === name)?.partitions).join() === shares.join()
    )
      return;
    if (performance.now() > deadline) throw new Error(`partitions are not shared: ${output}`);
  }
}

/** One row of the primary. */
async function sql(name: string, text: string): Promise<string> {
  return (await engine.must(['podman', 'exec', all.containerOf(name), 'psql', '-U', 'biosignal', '-d', 'biosignal', '-tAc', text])).trim();
}

await all.removeAll();
try {
  await all.provideImages(options.registry);
  await all.check('start', async () => {
    await all.createNetworks();
    for (const service of all.compose.services) await all.start(service);
    await all.meet('node-1');
    await untilShares([8, 8, 8]);
    return 'everything is healthy, and each of three nodes has 8 partitions';
  });
  if (all.failed) throw new Error('without a start nothing else can be tried');
  await all.check('the jobs again, while nodes run', async () => {
    for (const name of ['migrate', 'partitions']) await all.start(all.named(name));
    return 'both do nothing';
  });
  await all.check('standby', async () => {
    const state = await sql('database', `select application_name || ' ' || state || ' ' || sync_state from pg_stat_replication`);
    if (state !== 'standby streaming sync') throw new Error(state);
    return state;
  });
  await all.check('packets through the proxy, HTTP', () => all.stream(async () => {}));
  await all.check('packets through the proxy, WebSocket', () => all.stream(async () => {}, 'websocket'));
  for (const [i, name] of [...nodes, 'nats', 'database', 'standby', 'proxy'].entries()) {
    await all.check(`${name} killed under load`, () =>
      all.stream(
        async () => {
          await all.kill(name);
          await sleep(1000);
          await all.untilHealthy(all.named(name));
          await untilShares([8, 8, 8]);
        },
        i % 2 === 0 ? 'http' : 'websocket',
      ),
    );
  }
  const replaceAll = async (): Promise<void> => {
    for (const name of nodes) {
      await all.inService(name, 'cluster', 'drain', name);
      await untilShares(
        nodes.map((other) => (other === name ? 0 : 12)),
        name,
      );
      await all.remove(name);
      await all.start(all.named(name));
      await untilShares([8, 8, 8]);
    }
  };
  await all.check('nodes replaced one after the other under load, HTTP', () => all.stream(replaceAll, 'http', REPLACE_SEC));
  await all.check('nodes replaced one after the other under load, WebSocket', () => all.stream(replaceAll, 'websocket', REPLACE_SEC));
  await all.check('the standby has everything', async () => {
    const count = 'select count(*) from packet_log';
    const position = await sql('database', 'select pg_current_wal_flush_lsn()');
    await sql('database', 'select pg_switch_wal()');
    for (const deadline = performance.now() + 10_000; ; await sleep(100)) {
      if ((await sql('standby', `select pg_last_wal_replay_lsn() >= '${position}'`)) === 't') break;
      if (performance.now() > deadline) throw new Error(`it has not replayed ${position}`);
    }
    const [here, there] = [await sql('database', count), await sql('standby', count)];
    if (here !== there) throw new Error(`${here} and ${there} rows of the packet log`);
    return `${here} rows of the packet log on both`;
  });
  await all.check('the database lost for good under load, the standby in its place', () =>
    all.stream(
      async () => {
        await all.kill('database');
        await all.remove('database');
        await engine.must(['podman', 'exec', all.containerOf('standby'), 'pg_ctl', 'promote', '-D', '/var/lib/postgresql/data']);
        await all.rename('standby', 'database');
        await untilShares([8, 8, 8]);
      },
      'http',
      REPLACE_SEC,
    ),
  );
  notDone('health checks were run by this script at its own pace, not by the engine (which needs systemd for that)');
} finally {
  await all.removeAll();
}
process.exitCode = all.failed ? 1 : 0;
