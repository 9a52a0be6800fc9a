/** `npm run containers`: builds the image, starts all of compose.yaml in podman, and uses it: packets in and values out through the TLS
 *  proxy, each container killed and restarted under load, an upgrade from the former image. Every acknowledged packet is checked.
 *
 *  Nothing is left running, and images, volumes and settings stay in .cache/containers. What could not be done is said in lines that start
 *  with NOT DONE. Exit code 0: everything that could be done worked; 1: something failed; 2: nothing was done. */
import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Deployment, missingPrograms, notDone } from './containers/deployment.ts';
import { openEngine } from './containers/engine.ts';

const { values: options } = parseArgs({
  options: {
    from: { type: 'string' },
    registry: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' },
  },
});
if (options.help === true) {
  console.log(`Usage: npm run containers -- [--from REV] [--registry]

  --from REV   The release to upgrade from. [default: the newest commit whose schema is older than this one's]
  --registry   Pull the official base images; without it, or where that fails, stand-ins are made from Debian packages.`);
  process.exit(0);
}

const FORMER_IMAGE = 'localhost/biosignal:former';

const root = resolve(import.meta.dirname, '..');
const engine = openEngine(join(root, '.cache/containers'));
const missing = await missingPrograms(engine);
if (missing !== '') {
  notDone(missing);
  console.log('          On Debian: apt-get install podman buildah runc netavark aardvark-dns iptables debootstrap');
  process.exit(2);
}
const all = new Deployment(engine, root, 'compose.yaml', 'biosignal-check');
const { compose } = all;
const check: typeof all.check = (name, work) => all.check(name, work);
const stream: typeof all.stream = (meanwhile, transport) => all.stream(meanwhile, transport);

// ------------------------------------------------------------------------------------------------ the run

async function formerRelease(): Promise<string> {
  const git = async (...args: string[]) => (await engine.must(['git', '-C', root, ...args])).trim();
  const rev = options.from ?? `${await git('log', '-1', '--format=%H', '--', 'sql')}^`;
  const commit = await git('rev-parse', '--short', rev);
  const folder = join(engine.folder, 'former');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  await engine.pipe(['git', '-C', root, 'archive', commit], ['tar', '-x', '-C', folder]);
  await all.buildImage(folder, FORMER_IMAGE);
  return commit;
}

await all.removeAll();
try {
  await all.provideImages(options.registry);
  let former: string | null = null;
  await check('former image', async () => {
    former = await formerRelease();
    return `built from ${former}`;
  });

  await check('start', async () => {
    await all.createNetworks();
    for (const service of compose.services)
      await all.start(service, service.name === 'biosignal' && former !== null ? FORMER_IMAGE : service.image);
    await all.meet('biosignal');
    return `database, service and proxy are healthy${former === null ? '' : `, service of ${former}`}`;
  });
  await check('packets through the proxy, HTTP', () => stream(async () => {}));
  if (former === null) notDone('upgrade: there is no former image');
  else
    await check('upgrade under load', () =>
      stream(async () => {
        await all.remove('biosignal');
        await all.start(all.named('biosignal'));
      }),
    );
  await check('packets through the proxy, WebSocket', () => stream(async () => {}, 'websocket'));
  await check('values through the proxy', async () => {
    const streams = JSON.parse(await all.get('/api/v1/streams?subject_id=run1-0001')) as unknown[];
    const observations = JSON.parse(await all.get('/api/v1/observations?biosignal_id=20&subject_id=run1-0001')) as unknown[];
    if (observations.length === 0) throw new Error('no heart rate of run1-0001');
    for (const path of ['/dashboard/', '/cdn/v1/bio-widgets.js', '/api-docs', '/readyz']) await all.get(path);
    return `${streams.length} stream, ${observations.length} heart rates of before the upgrade; pages answer 200`;
  });
  await check('confinement', async () => {
    const own = await engine.must(['podman', 'exec', all.containerOf('biosignal'), 'sh', '-c', 'id -u; grep CapEff /proc/self/status']);
    if (!/^10001\n.*0000000000000000/.test(own)) throw new Error(own);
    const { code } = await engine.run(['podman', 'exec', all.containerOf('biosignal'), 'sh', '-c', 'touch /app/x || touch /x']);
    if (code === 0) throw new Error('the container can write to its root');
    return 'user 10001, no capabilities, read-only root';
  });
  for (const service of compose.services) {
    await check(`${service.name} killed under load`, () =>
      stream(async () => {
        await all.kill(service.name);
        await sleep(1000);
        await all.untilHealthy(service);
      }),
    );
    await check(`${service.name} stopped and started under load`, () =>
      stream(async () => {
        await engine.must(['podman', 'stop', all.containerOf(service.name)]);
        await sleep(1000);
        await engine.must(['podman', 'start', all.containerOf(service.name)]);
        await all.untilHealthy(service);
      }),
    );
  }
  await check('everything stopped and started', async () => {
    for (const { name } of compose.services.toReversed()) await engine.must(['podman', 'stop', all.containerOf(name)]);
    for (const service of compose.services) {
      await engine.must(['podman', 'start', all.containerOf(service.name)]);
      await all.untilHealthy(service);
    }
    return stream(async () => {});
  });
  notDone('health checks were run by this script at its own pace, not by the engine (which needs systemd for that)');
} finally {
  await all.removeAll();
}
process.exitCode = all.failed ? 1 : 0;
