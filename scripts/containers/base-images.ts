/** The images that Dockerfile and compose.yaml name: pulled where a registry can be reached, else made from Debian packages. */
import { cpSync, existsSync, mkdirSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Engine } from './engine.ts';

/** Time limit of one pull, ms. */
const PULL_MS = 180_000;
/** Time limit of making a Debian root, ms: a minute or two, but many on a busy machine. */
const DEBOOTSTRAP_MS = 3_600_000;
const standins = join(import.meta.dirname, 'standins');

/** Whether the image is the official one, with its digest, or made here, with what it is made of. */
export type BaseImage = Readonly<{ name: string; official: boolean; detail: string }>;

/** @param names as written in the files, e.g. `caddy:2.10-alpine` @throws Error when an image can neither be pulled nor made */
export async function provideBaseImages(engine: Engine, names: readonly string[], registry: boolean): Promise<readonly BaseImage[]> {
  const images: BaseImage[] = [];
  for (const name of names) {
    const full = fullName(name);
    const pulled = registry && (await engine.run(['podman', 'pull', '--quiet', full], { timeoutMs: PULL_MS })).code === 0;
    if (pulled) {
      const digest = await engine.must(['podman', 'image', 'inspect', '--format', '{{.Digest}}', full]);
      images.push({ name, official: true, detail: digest });
    } else images.push({ name, official: false, detail: await makeStandin(engine, full.split('@')[0]!) });
  }
  return images;
}

function fullName(name: string): string {
  return `docker.io/${name.includes('/') ? '' : 'library/'}${name}`;
}

async function makeStandin(engine: Engine, full: string): Promise<string> {
  if (full.includes('/debian:bookworm')) return debian(engine, 'bookworm', full);
  if (full.includes('/node:')) {
    await debian(engine, 'bookworm', 'docker.io/library/debian:bookworm-slim');
    const node = realpathSync(process.execPath);
    const npm = dirname(dirname(realpathSync((await engine.must(['sh', '-c', 'command -v npm'])).trim())));
    await build(engine, 'node', full, [
      [node, 'node'],
      [npm, 'npm'],
    ]);
    return `Debian 12 with Node ${process.version}`;
  }
  if (full.includes('/caddy:')) {
    await debian(engine, 'bookworm', 'docker.io/library/debian:bookworm-slim');
    await build(engine, 'caddy', full, []);
    return `Debian 12's caddy ${await engine.must(['podman', 'run', '--rm', full, 'caddy', 'version'])}`;
  }
  if (full.includes('/nats:')) {
    await debian(engine, 'bookworm', 'docker.io/library/debian:bookworm-slim');
    await build(engine, 'nats', full, []);
    return `Debian 12's ${await engine.must(['podman', 'run', '--rm', full, 'nats-server', '--version'])}`;
  }
  if (full.includes('/timescaledb:')) {
    await debian(engine, 'trixie', 'localhost/biosignal-check/trixie');
    await build(engine, 'timescaledb', full, [[join(standins, 'docker-entrypoint.sh'), 'docker-entrypoint.sh']]);
    return "Debian 13's PostgreSQL 17 and TimescaleDB, Apache licence: no columnstore, no continuous aggregates";
  }
  throw new Error(`${full} could not be pulled, and there is no stand-in for it`);
}

/** A minimal Debian root as an image. */
async function debian(engine: Engine, suite: string, image: string): Promise<string> {
  if ((await engine.run(['podman', 'image', 'exists', image])).code === 0) return `Debian ${suite}, debootstrap`;
  const root = join(engine.folder, suite);
  if (!existsSync(root)) {
    // Under its own name when it is whole: one that was ended while it was made is made anew.
    const part = `${root}.part`;
    rmSync(part, { recursive: true, force: true });
    console.log(`Debian ${suite} is made by debootstrap, once: some minutes, twenty on a busy machine`);
    await engine.must(['debootstrap', '--variant=minbase', '--include=ca-certificates', suite, part], { timeoutMs: DEBOOTSTRAP_MS });
    renameSync(part, root);
  }
  // Debootstrap may leave /proc mounted there: what this machine's processes hold belongs in no image.
  await engine.pipe(
    ['tar', '-C', root, '--one-file-system', '--exclude=./proc/*', '--exclude=./sys/*', '-c', '.'],
    ['podman', 'import', '-', image],
  );
  return `Debian ${suite}, debootstrap`;
}

async function build(engine: Engine, name: string, image: string, files: readonly (readonly [from: string, to: string])[]): Promise<void> {
  const context = join(engine.folder, `context-${name}`);
  mkdirSync(context, { recursive: true });
  for (const [from, to] of files) cpSync(from, join(context, to), { recursive: true, dereference: true });
  // A registry or mirror with a certificate of one's own is reached from inside as it is from here.
  cpSync('/etc/ssl/certs/ca-certificates.crt', join(context, 'ca-certificates.crt'));
  await engine.must(['buildah', 'bud', '--isolation', 'chroot', '-f', join(standins, `${name}.Containerfile`), '-t', image, context]);
}
