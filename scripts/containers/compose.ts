/** Reads compose.yaml or compose.cluster.yaml and says it in podman's words: the fields that the files use, and an error for any other. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';

type Health = Readonly<{ test: readonly string[]; interval: string; timeout: string; retries: number; start_period: string }>;

export type ComposeService = Readonly<{
  name: string;
  image: string;
  /** Names of the services that must be healthy, or have ended if they are jobs, before this one starts. */
  after: readonly string[];
  /** Command of the health check, to be run inside the container; null: a job, which ends. */
  health: readonly string[] | null;
  /** Arguments of `podman run` after the options --name and --detach. */
  args: readonly string[];
}>;

export type Compose = Readonly<{
  /** In an order in which they can be started. */
  services: readonly ComposeService[];
  /** Arguments of `podman network create`. */
  networks: readonly (readonly string[])[];
  volumes: readonly string[];
}>;

type RawService = Readonly<{
  image: string;
  build?: string;
  restart?: string;
  depends_on?: Readonly<Record<string, Readonly<{ condition: string }>>>;
  /** null: nothing stands behind the name, which is empty. */
  environment?: Readonly<Record<string, string | number | null>>;
  entrypoint?: readonly string[];
  command?: readonly string[];
  user?: string;
  read_only?: boolean;
  tmpfs?: readonly string[];
  volumes?: readonly string[];
  shm_size?: string;
  security_opt?: readonly string[];
  cap_drop?: readonly string[];
  networks?: readonly string[] | Readonly<Record<string, Readonly<{ ipv4_address?: string }> | null>>;
  healthcheck?: Health;
  stop_grace_period?: string;
  ports?: readonly string[];
}>;

type RawNetwork = Readonly<{
  internal?: boolean;
  ipam?: Readonly<{ config: readonly Readonly<{ subnet: string; ip_range: string }>[] }>;
}> | null;

const understood = new Set(
  'image build restart depends_on environment entrypoint command user read_only tmpfs volumes shm_size security_opt cap_drop networks healthcheck stop_grace_period ports'.split(
    ' ',
  ),
);

/** @param prefix of the names of networks and volumes @param variables for `${NAME}`, `${NAME:-default}`, `${NAME:?message}`
 *  @throws Error for a field that is not understood, or a variable that must be set and is not */
export function readCompose(path: string, prefix: string, variables: Readonly<Record<string, string>>): Compose {
  const text = interpolate(readFileSync(path, 'utf8'), variables);
  const raw = parse(text, { merge: true }) as {
    services: Record<string, RawService>;
    networks: Record<string, RawNetwork>;
    volumes: Record<string, unknown>;
  };
  const services = Object.entries(raw.services).map(([name, service]): ComposeService => {
    const unknown = Object.keys(service).filter((field) => !understood.has(field));
    if (unknown.length > 0) throw new Error(`${path}: ${name}: this check does not understand ${unknown.join(', ')}`);
    const isJob = service.restart === 'no';
    if (isJob !== (service.healthcheck === undefined)) throw new Error(`${path}: ${name}: a job ends, anything else has a health check`);
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      const wanted = raw.services[other]?.restart === 'no' ? 'service_completed_successfully' : 'service_healthy';
      if (condition !== wanted) throw new Error(`${path}: ${name} waits for ${other}: ${wanted}, not ${condition}`);
    }
    return {
      name,
      image: service.image,
      after: Object.keys(service.depends_on ?? {}),
      health: service.healthcheck === undefined ? null : healthCommand(service.healthcheck),
      args: podmanArgs(name, service, prefix, dirname(path)),
    };
  });
  return {
    services: inOrder(services),
    networks: Object.entries(raw.networks).map(([name, network]) => [
      ...(network?.internal === true ? ['--internal'] : []),
      ...(network?.ipam?.config.flatMap(({ subnet, ip_range: range }) => ['--subnet', subnet, '--ip-range', range]) ?? []),
      `${prefix}_${name}`,
    ]),
    volumes: Object.keys(raw.volumes).map((name) => `${prefix}_${name}`),
  };
}

function interpolate(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind: string | undefined, rest: string | undefined) => {
    const value = variables[name];
    if (value !== undefined && value !== '') return value;
    if (kind === '-') return rest ?? '';
    throw new Error(`${name}: ${rest ?? 'not set'}`);
  });
}

function podmanArgs(name: string, service: RawService, prefix: string, folder: string): readonly string[] {
  const networks = Array.isArray(service.networks)
    ? service.networks.map((network: string) => [network, null] as const)
    : Object.entries((service.networks ?? {}) as Record<string, Readonly<{ ipv4_address?: string }> | null>);
  return [
    ...networks.flatMap(([network, at]) => {
      const address = at?.ipv4_address === undefined ? '' : `,ip=${at.ipv4_address}`;
      return ['--net', `${prefix}_${network}:alias=${name}${address}`];
    }),
    ...(service.restart === undefined ? [] : ['--restart', service.restart]),
    ...Object.entries(service.environment ?? {}).flatMap(([key, value]) => ['--env', `${key}=${value ?? ''}`]),
    ...(service.entrypoint === undefined ? [] : ['--entrypoint', JSON.stringify(service.entrypoint)]),
    ...(service.user === undefined ? [] : ['--user', service.user]),
    ...(service.read_only === true ? ['--read-only', '--read-only-tmpfs=false'] : []),
    ...(service.tmpfs ?? []).flatMap(tmpfsArgs),
    ...(service.volumes ?? []).flatMap((volume) => ['--volume', volumeArg(volume, prefix, folder)]),
    ...(service.shm_size === undefined ? [] : ['--shm-size', service.shm_size.replace('gb', 'g')]),
    ...(service.security_opt ?? []).flatMap((option) => ['--security-opt', option]),
    ...(service.cap_drop ?? []).flatMap((capability) => ['--cap-drop', capability]),
    ...(service.ports ?? []).flatMap((port) => ['--publish', port]),
    ...(service.stop_grace_period === undefined ? [] : ['--stop-timeout', String(Number.parseInt(service.stop_grace_period, 10))]),
    service.image,
    ...(service.command ?? []),
  ];
}

/** podman 4 has no uid= and gid= for a tmpfs: the folder is given to the container's user instead. */
function tmpfsArgs(value: string): readonly string[] {
  const [path = '', options = ''] = value.split(':');
  if (!options.includes('uid=')) return ['--tmpfs', value];
  const mode = /mode=(\d+)/.exec(options)?.[1];
  return ['--mount', `type=tmpfs,destination=${path},U=true${mode === undefined ? '' : `,tmpfs-mode=${mode}`}`];
}

function volumeArg(volume: string, prefix: string, folder: string): string {
  return volume.startsWith('.') ? join(folder, volume) : `${prefix}_${volume}`;
}

function healthCommand(health: Health): readonly string[] {
  const [kind, ...rest] = health.test;
  return kind === 'CMD-SHELL' ? ['/bin/sh', '-c', ...rest] : rest;
}

function inOrder(services: readonly ComposeService[]): readonly ComposeService[] {
  const ordered: ComposeService[] = [];
  while (ordered.length < services.length) {
    const next = services.find((one) => !ordered.includes(one) && one.after.every((name) => ordered.some((done) => done.name === name)));
    if (next === undefined) throw new Error('services wait for one another');
    ordered.push(next);
  }
  return ordered;
}
