/** `npm run containers`: builds the image, starts all of compose.yaml in podman, and uses it: packets in and values out through the TLS
 *  proxy, each container killed and restarted under load, an upgrade from the former image. Every acknowledged packet is checked.
 *
 *  Nothing is left running, and images, volumes and settings stay in .cache/containers. What could not be done is said in lines that start
 *  with NOT DONE. Exit code 0: everything that could be done worked; 1: something failed; 2: nothing was done. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { provideBaseImages } from './containers/base-images.ts';
import { readCompose } from './containers/compose.ts';
import type { ComposeService } from './containers/compose.ts';
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

const PREFIX = 'biosignal-check';
const SERVICE_IMAGE = 'localhost/biosignal:0.1.0';
const FORMER_IMAGE = 'localhost/biosignal:former';
const URL = 'https://localhost:8443';
/** A database's first start, migrations and recovery on a busy machine, ms. */
const HEALTHY_MS = 120_000;
/** Length of each run of simulated devices, s of device time at 4 times its speed. */
const RUN_SEC = 80;

const root = resolve(import.meta.dirname, '..');
const engine = openEngine(join(root, '.cache/containers'));
const ledgers = join(engine.folder, 'ledgers');
let failed = false;

/** Runs one check and says how it went; a failure does not keep the others from running. */
async function check(name: string, work: () => Promise<string>): Promise<void> {
  const startedMs = performance.now();
  try {
    const detail = await work();
    console.log(`ok        ${name}: ${detail} (${Math.round((performance.now() - startedMs) / 1000)} s)`);
  } catch (error) {
    failed = true;
    console.log(`FAILED    ${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const notDone = (what: string): void => console.log(`NOT DONE  ${what}`);

// ------------------------------------------------------------------------------------------------ what is needed

const missing: string[] = [];
for (const program of ['podman', 'buildah', 'runc', 'debootstrap', 'git', 'curl'])
  if ((await engine.run(['sh', '-c', `command -v ${program}`])).code !== 0) missing.push(program);
if (missing.length > 0 || process.getuid?.() !== 0) {
  notDone(missing.length > 0 ? `missing: ${missing.join(', ')}` : 'needs root');
  console.log('          On Debian: apt-get install podman buildah runc netavark aardvark-dns iptables debootstrap');
  process.exit(2);
}

// ------------------------------------------------------------------------------------------------ containers by name

const secrets = { POSTGRES_PASSWORD: randomBytes(24).toString('base64url'), BIO_SECRET: randomBytes(33).toString('base64url') };
const compose = readCompose(join(root, 'compose.yaml'), PREFIX, secrets);
const containerOf = (name: string): string => `${PREFIX}-${name}`;

async function start(service: ComposeService, image = service.image): Promise<void> {
  const args = service.args.map((arg) => (arg === service.image ? image : arg));
  await engine.must(['podman', 'run', '--detach', '--name', containerOf(service.name), ...args]);
  await untilHealthy(service);
}

async function untilHealthy(service: ComposeService): Promise<number> {
  const startedMs = performance.now();
  for (;;) {
    const { code, output } = await engine.run(['podman', 'exec', containerOf(service.name), ...service.health], { timeoutMs: 20_000 });
    const tookMs = performance.now() - startedMs;
    if (code === 0) return tookMs;
    if (tookMs > HEALTHY_MS) {
      const { output: log } = await engine.run(['podman', 'logs', '--tail', '20', containerOf(service.name)]);
      throw new Error(`${service.name} is not healthy after ${HEALTHY_MS / 1000} s: ${output}\n${log}`);
    }
    await sleep(500);
  }
}

async function removeAll(): Promise<void> {
  for (const { name } of compose.services.toReversed())
    await engine.run(['podman', 'rm', '--force', '--time', '15', '--ignore', containerOf(name)]);
  for (const args of compose.networks) await engine.run(['podman', 'network', 'rm', '--force', args.at(-1)!]);
  for (const volume of compose.volumes) await engine.run(['podman', 'volume', 'rm', '--force', volume]);
}

const serviceNamed = (name: string): ComposeService => compose.services.find((service) => service.name === name)!;
const inService = (...args: string[]) => engine.must(['podman', 'exec', containerOf('biosignal'), '/app/scripts/biosignal.sh', ...args]);

// ------------------------------------------------------------------------------------------------ devices and readers, through the proxy

const authority = join(engine.folder, 'authority.crt');
let key = '';

const cli = (...args: string[]) =>
  engine.run(['sh', join(root, 'scripts/biosignal.sh'), ...args], { env: { NODE_EXTRA_CA_CERTS: authority, BIO_URL: URL, BIO_KEY: key } });

let runs = 0;
/** Streams devices while `meanwhile` happens, then checks every acknowledged packet. @returns what was checked, in words */
async function stream(meanwhile: () => Promise<void>, transport: 'http' | 'websocket' = 'http'): Promise<string> {
  const name = `run${++runs}`;
  const args = ['--devices', '4', '--duration', String(RUN_SEC), '--speed', '4x', '--seed', String(runs), '--transport', transport];
  const ledger = join(ledgers, name);
  const sending = cli('simulate', ...args, '--device-prefix', `${name}-`, '--subject-prefix', `${name}-`, '--ledger', ledger);
  await sleep(4000);
  await meanwhile();
  const sent = await sending;
  if (sent.code !== 0) throw new Error(`simulate ended with ${sent.code}: ${sent.output.slice(-1000)}`);
  const database = `postgres://biosignal:${secrets.POSTGRES_PASSWORD}@database:5432/biosignal`;
  const where = ['--net', `${PREFIX}_inside`, '--env', `DATABASE_URL=${database}`, '--volume', `${ledgers}:/ledgers:ro`, '--user', '0'];
  const verify = ['--entrypoint', '/app/scripts/biosignal.sh', SERVICE_IMAGE, 'verify', `/ledgers/${name}`, '--json'];
  const output = await engine.must(['podman', 'run', '--rm', ...where, ...verify]);
  return verdict(output);
}

function verdict(output: string): string {
  const result = JSON.parse(output.slice(output.indexOf('{'))) as Record<string, unknown>;
  return Object.entries(result)
    .filter(([, value]) => typeof value === 'number')
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${String(value)}`)
    .join(', ');
}

/** @throws Error when the answer is not 200 */
async function get(path: string): Promise<string> {
  // curl: Node reads NODE_EXTRA_CA_CERTS at its start only.
  const bearer = ['-H', `Authorization: Bearer ${key}`];
  return engine.must(['curl', '-sS', '--fail-with-body', '--cacert', authority, ...bearer, `${URL}${path}`], { timeoutMs: 20_000 });
}

// ------------------------------------------------------------------------------------------------ the run

async function buildImage(folder: string, image: string): Promise<void> {
  await engine.must(['buildah', 'bud', '--isolation', 'chroot', '--layers', '-t', image, folder]);
}

async function formerRelease(): Promise<string> {
  const git = async (...args: string[]) => (await engine.must(['git', '-C', root, ...args])).trim();
  const rev = options.from ?? `${await git('log', '-1', '--format=%H', '--', 'sql')}^`;
  const commit = await git('rev-parse', '--short', rev);
  const folder = join(engine.folder, 'former');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  await engine.pipe(['git', '-C', root, 'archive', commit], ['tar', '-x', '-C', folder]);
  await buildImage(folder, FORMER_IMAGE);
  return commit;
}

rmSync(ledgers, { recursive: true, force: true });
mkdirSync(ledgers, { recursive: true });
await removeAll();
try {
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
  const named = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, name = '']) => name);
  const names = new Set([...named, ...compose.services.map(({ image }) => image).filter((image) => !image.startsWith('biosignal:'))]);
  for (const { name, official, detail } of await provideBaseImages(engine, [...names], options.registry)) {
    if (official) console.log(`ok        ${name}: official, ${detail}`);
    else notDone(`${name} itself was not run; its stand-in: ${detail}`);
  }
  await check('image', async () => {
    await buildImage(root, SERVICE_IMAGE);
    return `${SERVICE_IMAGE} built from Dockerfile`;
  });
  let former: string | null = null;
  await check('former image', async () => {
    former = await formerRelease();
    return `built from ${former}`;
  });

  await check('start', async () => {
    for (const args of compose.networks) await engine.must(['podman', 'network', 'create', ...args]);
    for (const service of compose.services)
      await start(service, service.name === 'biosignal' && former !== null ? FORMER_IMAGE : service.image);
    writeFileSync(
      authority,
      await engine.must(['podman', 'exec', containerOf('proxy'), 'cat', '/data/caddy/pki/authorities/local/root.crt']),
    );
    key = /org_live_\w+/.exec(await inService('org', 'create', 'My clinic'))?.[0] ?? '';
    return `database, service and proxy are healthy${former === null ? '' : `, service of ${former}`}`;
  });
  await check('packets through the proxy, HTTP', () => stream(async () => {}));
  if (former === null) notDone('upgrade: there is no former image');
  else
    await check('upgrade under load', () =>
      stream(async () => {
        await engine.must(['podman', 'rm', '--force', '--time', '15', containerOf('biosignal')]);
        await start(serviceNamed('biosignal'));
      }),
    );
  await check('packets through the proxy, WebSocket', () => stream(async () => {}, 'websocket'));
  await check('values through the proxy', async () => {
    const streams = JSON.parse(await get('/api/v1/streams?subject_id=run1-0001')) as unknown[];
    const observations = JSON.parse(await get('/api/v1/observations?biosignal_id=20&subject_id=run1-0001')) as unknown[];
    if (observations.length === 0) throw new Error('no heart rate of run1-0001');
    for (const path of ['/dashboard/', '/cdn/v1/bio-widgets.js', '/api-docs', '/readyz']) await get(path);
    return `${streams.length} stream, ${observations.length} heart rates of before the upgrade; pages answer 200`;
  });
  await check('confinement', async () => {
    const own = await engine.must(['podman', 'exec', containerOf('biosignal'), 'sh', '-c', 'id -u; grep CapEff /proc/self/status']);
    if (!/^10001\n.*0000000000000000/.test(own)) throw new Error(own);
    const { code } = await engine.run(['podman', 'exec', containerOf('biosignal'), 'sh', '-c', 'touch /app/x || touch /x']);
    if (code === 0) throw new Error('the container can write to its root');
    return 'user 10001, no capabilities, read-only root';
  });
  for (const service of compose.services) {
    await check(`${service.name} killed under load`, () =>
      stream(async () => {
        const { output: pid } = await engine.run(['podman', 'inspect', '--format', '{{.State.Pid}}', containerOf(service.name)]);
        process.kill(Number(/^\d+$/m.exec(pid)?.[0]), 'SIGKILL'); // as a crash: the engine's restart policy brings it back
        await sleep(1000);
        await untilHealthy(service);
      }),
    );
    await check(`${service.name} stopped and started under load`, () =>
      stream(async () => {
        await engine.must(['podman', 'stop', containerOf(service.name)]);
        await sleep(1000);
        await engine.must(['podman', 'start', containerOf(service.name)]);
        await untilHealthy(service);
      }),
    );
  }
  await check('everything stopped and started', async () => {
    for (const { name } of compose.services.toReversed()) await engine.must(['podman', 'stop', containerOf(name)]);
    for (const service of compose.services) {
      await engine.must(['podman', 'start', containerOf(service.name)]);
      await untilHealthy(service);
    }
    return stream(async () => {});
  });
  notDone('health checks were run by this script at its own pace, not by the engine (which needs systemd for that)');
} finally {
  await removeAll();
}
process.exitCode = failed ? 1 : 0;
