/** All of a compose file in podman, and who uses it: devices and readers through the TLS proxy. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { provideBaseImages } from './base-images.ts';
import { readCompose } from './compose.ts';
import type { Compose, ComposeService } from './compose.ts';
import type { Engine, Result } from './engine.ts';

export const SERVICE_IMAGE = 'localhost/biosignal:0.1.0';
const URL = 'https://localhost:8443';
/** A database's first start, migrations and recovery on a busy machine, ms. */
const HEALTHY_MS = 120_000;
/** Length of each run of simulated devices, s of device time at 4 times its speed. */
const RUN_SEC = 80;
const BIOSIGNAL = '/app/scripts/biosignal.sh';

export const notDone = (what: string): void => console.log(`NOT DONE  ${what}`);

/** What `npm run containers` needs. @returns names of what is missing; '' when it can run */
export async function missingPrograms(engine: Engine): Promise<string> {
  const missing: string[] = [];
  for (const program of ['podman', 'buildah', 'runc', 'debootstrap', 'git', 'curl'])
    if ((await engine.run(['sh', '-c', `command -v ${program}`])).code !== 0) missing.push(program);
  if (missing.length > 0) return `missing: ${missing.join(', ')}`;
  return process.getuid?.() === 0 ? '' : 'needs root';
}

export class Deployment {
  readonly engine: Engine;
  readonly compose: Compose;
  readonly secrets = {
    POSTGRES_PASSWORD: secret(),
    REPLICATION_PASSWORD: secret(),
    NATS_PASSWORD: secret(),
    BIO_SECRET: secret(),
  };
  /** Whether a check has failed. */
  failed = false;
  readonly #root: string;
  readonly #prefix: string;
  readonly #ledgers: string;
  readonly #authority: string;
  #key = '';
  #runs = 0;

  /** @param file of the root's @param prefix of containers, networks and volumes */
  constructor(engine: Engine, root: string, file: string, prefix: string) {
    this.engine = engine;
    this.#root = root;
    this.#prefix = prefix;
    this.#ledgers = join(engine.folder, 'ledgers');
    this.#authority = join(engine.folder, 'authority.crt');
    this.compose = readCompose(join(root, file), prefix, this.secrets);
    for (const [signal, number] of [
      ['SIGINT', 2],
      ['SIGTERM', 15],
    ] as const)
      process.on(signal, () => {
        this.engine.endWith(this.#removals());
        process.exit(128 + number);
      });
    rmSync(this.#ledgers, { recursive: true, force: true });
    mkdirSync(this.#ledgers, { recursive: true });
  }

  /** Runs one check and says how it went; a failure does not keep the others from running. */
  async check(name: string, work: () => Promise<string>): Promise<void> {
    const startedMs = performance.now();
    try {
      const detail = await work();
      console.log(`ok        ${name}: ${detail} (${Math.round((performance.now() - startedMs) / 1000)} s)`);
    } catch (error) {
      this.failed = true;
      console.log(`FAILED    ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  // ------------------------------------------------------------------------------------------------ images

  /** Base images of Dockerfile and compose file, and the service's own. */
  async provideImages(registry: boolean): Promise<void> {
    const dockerfile = readFileSync(join(this.#root, 'Dockerfile'), 'utf8');
    const named = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, name = '']) => name);
    const others = this.compose.services.map(({ image }) => image).filter((image) => !image.startsWith('biosignal:'));
    for (const { name, official, detail } of await provideBaseImages(this.engine, [...new Set([...named, ...others])], registry)) {
      if (official) console.log(`ok        ${name}: official, ${detail}`);
      else notDone(`${name} itself was not run; its stand-in: ${detail}`);
    }
    await this.check('image', async () => {
      await this.buildImage(this.#root, SERVICE_IMAGE);
      return `${SERVICE_IMAGE} built from Dockerfile`;
    });
  }

  async buildImage(folder: string, image: string): Promise<void> {
    await this.engine.must(['buildah', 'bud', '--isolation', 'chroot', '--layers', '-t', image, folder]);
  }

  // ------------------------------------------------------------------------------------------------ containers by name

  containerOf(name: string): string {
    return `${this.#prefix}-${name}`;
  }

  named(name: string): ComposeService {
    return this.compose.services.find((service) => service.name === name)!;
  }

  async createNetworks(): Promise<void> {
    for (const args of this.compose.networks) await this.engine.must(['podman', 'network', 'create', ...args]);
  }

  /** Until it is healthy, or has ended well if it is a job. */
  async start(service: ComposeService, image = service.image): Promise<void> {
    const args = service.args.map((arg) => (arg === service.image ? image : arg));
    const container = ['--name', this.containerOf(service.name), ...args];
    if (service.health === null) await this.engine.must(['podman', 'run', '--replace', ...container]);
    else {
      await this.engine.must(['podman', 'run', '--detach', ...container]);
      await this.untilHealthy(service);
    }
  }

  async untilHealthy({ name, health }: ComposeService): Promise<void> {
    const startedMs = performance.now();
    for (;;) {
      const { code, output } = await this.engine.run(['podman', 'exec', this.containerOf(name), ...health!], { timeoutMs: 20_000 });
      if (code === 0) return;
      if (performance.now() - startedMs > HEALTHY_MS) {
        const { output: log } = await this.engine.run(['podman', 'logs', '--tail', '20', this.containerOf(name)]);
        throw new Error(`${name} is not healthy after ${HEALTHY_MS / 1000} s: ${output}\n${log}`);
      }
      await sleep(500);
    }
  }

  /** As a crash: the engine's restart policy brings it back. */
  async kill(name: string): Promise<void> {
    const { output: pid } = await this.engine.run(['podman', 'inspect', '--format', '{{.State.Pid}}', this.containerOf(name)]);
    process.kill(Number(/^\d+$/m.exec(pid)?.[0]), 'SIGKILL');
  }

  /** From now on a container answers to another's name. */
  async rename(name: string, as: string): Promise<void> {
    const [network, container] = [`${this.#prefix}_inside`, this.containerOf(name)];
    await this.engine.must(['podman', 'network', 'disconnect', network, container]);
    await this.engine.must(['podman', 'network', 'connect', '--alias', as, network, container]);
  }

  async remove(name: string): Promise<void> {
    await this.engine.run(this.#removal(name));
  }

  async removeAll(): Promise<void> {
    for (const command of this.#removals()) await this.engine.run(command);
  }

  #removal(name: string): readonly string[] {
    return ['podman', 'rm', '--force', '--time', '15', '--ignore', this.containerOf(name)];
  }

  #removals(): readonly (readonly string[])[] {
    const { services, networks, volumes } = this.compose;
    return [
      ...services.toReversed().map(({ name }) => this.#removal(name)),
      ...networks.map((args) => ['podman', 'network', 'rm', '--force', args.at(-1)!]),
      ...volumes.map((volume) => ['podman', 'volume', 'rm', '--force', volume]),
    ];
  }

  /** A command of the service, in one of its containers. */
  inService(name: string, ...args: string[]): Promise<string> {
    return this.engine.must(['podman', 'exec', this.containerOf(name), BIOSIGNAL, ...args]);
  }

  // ------------------------------------------------------------------------------------------------ devices and readers, by the proxy

  /** Makes an organization, and trusts the proxy's certificate. @param name of a container of the service */
  async meet(name: string): Promise<void> {
    const authority = ['cat', '/data/caddy/pki/authorities/local/root.crt'];
    writeFileSync(this.#authority, await this.engine.must(['podman', 'exec', this.containerOf('proxy'), ...authority]));
    this.#key = /org_live_\w+/.exec(await this.inService(name, 'org', 'create', 'My clinic'))?.[0] ?? '';
  }

  #cli(...args: string[]): Promise<Result> {
    const env = { NODE_EXTRA_CA_CERTS: this.#authority, BIO_URL: URL, BIO_KEY: this.#key };
    return this.engine.run(['sh', join(this.#root, 'scripts/biosignal.sh'), ...args], { env });
  }

  /** Streams devices while `meanwhile` happens, then checks every acknowledged packet. @param sec of device time @returns what was checked,
   *  in words */
  async stream(meanwhile: () => Promise<void>, transport: 'http' | 'websocket' = 'http', sec = RUN_SEC): Promise<string> {
    const name = `run${++this.#runs}`;
    const args = ['--devices', '4', '--duration', String(sec), '--speed', '4x', '--seed', String(this.#runs), '--transport', transport];
    const ledger = join(this.#ledgers, name);
    const sending = this.#cli('simulate', ...args, '--device-prefix', `${name}-`, '--subject-prefix', `${name}-`, '--ledger', ledger);
    await sleep(4000);
    await meanwhile();
    const sent = await sending;
    if (sent.code !== 0) throw new Error(`simulate ended with ${sent.code}: ${sent.output.slice(-1000)}`);
    const database = `postgres://biosignal:${this.secrets.POSTGRES_PASSWORD}@database:5432/biosignal`;
    const where = ['--net', `${this.#prefix}_inside`, '--env', `DATABASE_URL=${database}`, '--volume', `${this.#ledgers}:/ledgers:ro`];
    const verify = ['--user', '0', '--entrypoint', BIOSIGNAL, SERVICE_IMAGE, 'verify', `/ledgers/${name}`, '--json'];
    return verdict(await this.engine.must(['podman', 'run', '--rm', ...where, ...verify]));
  }

  /** @throws Error when the answer is not 200 */
  async get(path: string): Promise<string> {
    // curl: Node reads NODE_EXTRA_CA_CERTS at its start only.
    const bearer = ['-H', `Authorization: Bearer ${this.#key}`];
    const trusted = ['--cacert', this.#authority];
    return this.engine.must(['curl', '-sS', '--fail-with-body', ...trusted, ...bearer, `${URL}${path}`], { timeoutMs: 20_000 });
  }
}

/** Begins as a number does: a file that does not quote it where it must is found out. */
function secret(): string {
  return `5e${randomBytes(33).toString('base64url')}`;
}

function verdict(output: string): string {
  const result = JSON.parse(output.slice(output.indexOf('{'))) as Record<string, unknown>;
  return Object.entries(result)
    .filter(([, value]) => typeof value === 'number')
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${String(value)}`)
    .join(', ');
}
