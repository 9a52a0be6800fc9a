/** The shipped parts fit together: compose file, image, systemd unit, settings. `npm run containers` starts it. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readCompose } from '../../scripts/containers/compose.ts';
import { LEFT_BEHIND_MS } from '../../src/cli/command.ts';
import { KILL_AFTER_MS } from '../../src/cli/start-processes.ts';
import { STOP_LATE_MS } from '../../src/cli/start.ts';
import { readConfig, settings } from '../../src/config.ts';
import { STOP_MS_MAX } from '../../src/storage/database/embedded-postgres.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const known = new Set<string>(Object.values(settings).map((row) => row.env));

describe('compose.yaml', () => {
  const text = read('compose.yaml');
  const services = new Map(
    [...text.slice(text.indexOf('\nservices:'), text.indexOf('\nvolumes:')).matchAll(/^ {2}(\w+):\n((?: {4}.*\n|\n)+)/gm)].map(
      ([, name = '', body = '']) => [name, body],
    ),
  );

  it('has the database, the service and the proxy', () => {
    expect([...services.keys()]).toEqual(['database', 'biosignal', 'proxy']);
  });

  it.each(['database', 'biosignal', 'proxy'])('%s: read-only root, no capabilities, no new privileges, a health check', (name) => {
    const body = services.get(name) ?? '';
    for (const line of [
      'read_only: true',
      'cap_drop: [ALL]',
      "security_opt: ['no-new-privileges:true']",
      'healthcheck:',
      'restart: unless-stopped',
    ]) {
      expect(body).toContain(line);
    }
  });

  it('runs database and service as users of their own, and only the proxy listens outside', () => {
    expect(services.get('database')).toContain('user: postgres');
    expect(services.get('biosignal')).toMatch(/user: '\d+:\d+'/);
    expect([...services].filter(([, body]) => body.includes('ports:')).map(([name]) => name)).toEqual(['proxy']);
  });

  it('uses TimescaleDB 2.29.2 or newer', () => {
    const [, major, minor, patch] = /timescale\/timescaledb:(\d+)\.(\d+)\.(\d+)-pg1[78]/.exec(text) ?? [];
    expect(Number(major) * 1e6 + Number(minor) * 1e3 + Number(patch)).toBeGreaterThanOrEqual(2_029_002);
  });

  it('says everything in words that podman understands, and refuses to start without its secrets', () => {
    const path = join(root, 'compose.yaml');
    const secrets = { POSTGRES_PASSWORD: 'p', BIO_SECRET: 's' };
    const { services: found, networks, volumes } = readCompose(path, 'x', secrets);
    expect(found.map(({ name, after }) => [name, ...after])).toEqual([['database'], ['biosignal', 'database'], ['proxy', 'biosignal']]);
    // The proxy's fixed address is none that another container may be given.
    expect(networks).toEqual([['x_outside'], ['--internal', '--subnet', '172.31.241.0/24', '--ip-range', '172.31.241.128/25', 'x_inside']]);
    expect(volumes).toEqual(['x_database', 'x_certificates']);
    const { args = [] } = found.find(({ name }) => name === 'biosignal') ?? {};
    expect(args).toEqual(expect.arrayContaining(['--read-only', '--cap-drop', 'ALL', 'BIO_SECRET=s', 'BIO_TRUST_PROXY=172.31.241.10']));
    expect(args).toContain('BIO_SECRET_PREVIOUS='); // not null, as YAML has it
    expect(() => readCompose(path, 'x', { ...secrets, BIO_SECRET: '' })).toThrow('BIO_SECRET: set it in .env');
  });

  it('sets only settings that exist', () => {
    const set = [...(services.get('biosignal') ?? '').matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name = '']) => name);
    expect(set.length).toBeGreaterThan(4);
    expect(set.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('compose.cluster.yaml', () => {
  const secrets = { POSTGRES_PASSWORD: 'p', REPLICATION_PASSWORD: 'r', NATS_PASSWORD: 'n', BIO_SECRET: 's' };
  const path = join(root, 'compose.cluster.yaml');
  const nodes = ['node-1', 'node-2', 'node-3'];
  const { services, networks, volumes } = readCompose(path, 'x', secrets);
  const argsOf = (name: string): readonly string[] => services.find((service) => service.name === name)!.args;
  const settingsOf = (name: string): Map<string, string> => {
    const args = argsOf(name);
    const said = args.filter((_, i) => args[i - 1] === '--env').map((one) => one.split(/=(.*)/s));
    return new Map(said.map(([key = '', value = '']) => [key, value]));
  };

  it('has a database and its standby, the messages, two jobs, three nodes and the proxy, in this order', () => {
    expect(services.map(({ name, after, health }) => [name, health === null ? 'ends' : 'runs', ...after])).toEqual([
      ['database', 'runs'],
      ['standby', 'runs', 'database'],
      ['nats', 'runs'],
      ['migrate', 'ends', 'database', 'standby'],
      ['partitions', 'ends', 'migrate'],
      ...nodes.map((name) => [name, 'runs', 'partitions', 'nats']),
      ['proxy', 'runs', ...nodes],
    ]);
    // The proxy's fixed address is none that another container may be given.
    expect(networks).toEqual([['x_outside'], ['--internal', '--subnet', '172.31.242.0/24', '--ip-range', '172.31.242.128/25', 'x_inside']]);
    expect(volumes).toEqual(['x_database', 'x_standby', 'x_certificates']);
  });

  it('every container: read-only root, no capabilities, no new privileges, and only the proxy is root or listens outside', () => {
    for (const { name } of services) {
      const args = argsOf(name);
      expect(args, name).toEqual(expect.arrayContaining(['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges:true']));
      expect(args.includes('--user'), name).toBe(name !== 'proxy');
      expect(args.includes('--publish'), name).toBe(name === 'proxy');
      expect(
        args.some((arg) => arg.includes('x_outside')),
        name,
      ).toBe(name === 'proxy');
    }
  });

  it('the nodes have the same settings, which exist, and each a name of its own; without a secret nothing starts', () => {
    const [first, ...others] = nodes.map(settingsOf);
    expect([...first!.keys()].filter((name) => !known.has(name))).toEqual([]);
    for (const other of others) expect(new Map([...other, ['BIO_NODE_NAME', '']])).toEqual(new Map([...first!, ['BIO_NODE_NAME', '']]));
    expect(nodes.map((name) => settingsOf(name).get('BIO_NODE_NAME'))).toEqual(nodes);
    expect(first!.get('BIO_NATS_URL')).toBe('nats://biosignal:n@nats:4222');
    expect(first!.get('BIO_TRUST_PROXY')).toBe(/ip=([\d.]+)/.exec(argsOf('proxy').join(' '))?.[1]);
    for (const name of Object.keys(secrets))
      expect(() => readCompose(path, 'x', { ...secrets, [name]: '' })).toThrow(`${name}: set it in .env`);
  });

  it('no proxy can be configured by its port', () => {
    for (const name of readdirSync(join(root, 'ops/caddy')))
      expect(read(`ops/caddy/${name}`), name).toMatch(/^\{\n(\t#.*\n)*\tadmin off$/m);
  });

  it('every file that it mounts exists, and the proxy asks the nodes by their names', () => {
    const mounted = services.flatMap(({ args }) => args.filter((arg) => arg.startsWith(root)).map((arg) => arg.split(':')[0]!));
    expect(mounted).toHaveLength(4);
    expect(mounted.filter((file) => !existsSync(file))).toEqual([]);
    expect(read('ops/caddy/Caddyfile.cluster')).toContain(nodes.map((name) => `${name}:8080`).join(' '));
    expect(read('ops/nats/nats.conf')).toContain('max_payload: 9MB');
  });

  it('standby and database have the same image, and as many connections as three nodes need', () => {
    const imageOf = (name: string): string => services.find((service) => service.name === name)!.image;
    expect(imageOf('standby')).toBe(imageOf('database'));
    for (const name of ['database', 'standby']) expect(argsOf(name)).toContain('max_connections=120');
    expect(3 * readConfig({}).dbConnectionsMax).toBeLessThan(120 - 20);
  });
});

const unit = read('ops/systemd/biosignal.service');
const nodeUnit = read('ops/systemd/biosignal@.service');

it('the image and the units set only settings that exist, and run what exists', () => {
  const image = read('Dockerfile');
  const set = [...image.matchAll(/\b(BIO_\w+|PORT|DATABASE_URL)=/g), ...`${unit}\n${nodeUnit}`.matchAll(/^Environment=(\w+)=/gm)].map(
    ([, name = '']) => name,
  );
  expect(set.filter((name) => !known.has(name))).toEqual([]);
  expect(image).toMatch(/^USER \d+:\d+$/m);
  expect(image).toContain('ENTRYPOINT ["/app/scripts/biosignal.sh"]');
  for (const text of [unit, nodeUnit]) expect(text).toContain('ExecStart=/opt/biosignal/scripts/biosignal.sh start');
  expect(read('package.json')).toContain('"biosignal": "./scripts/biosignal.sh"');
});

it('a node of the template is confined as the service alone is, has its own name, and shares the port and the folder of sockets', () => {
  const confined = (text: string): readonly string[] =>
    text
      .slice(text.indexOf('\nNoNewPrivileges'))
      .split('\n')
      .filter((line) => line.includes('='));
  expect(confined(nodeUnit)).toEqual(confined(unit));
  const lines = nodeUnit.split('\n');
  expect(lines).toEqual(expect.arrayContaining(['Restart=always', 'DynamicUser=yes', 'LimitNOFILE=262144']));
  expect(lines).toEqual(expect.arrayContaining(['Environment=BIO_NODE_NAME=%H/%i', 'Environment=BIO_SHARE_PORT=1']));
  const folder = /^RuntimeDirectory=(.*)$/m.exec(nodeUnit)?.[1];
  expect(lines).toEqual(expect.arrayContaining([`Environment=BIO_BUS_DIR=/run/${folder}`, 'RuntimeDirectoryPreserve=yes']));
});

it('units and containers wait for a stop as long as one may take', () => {
  const { stopTimeoutMs } = readConfig({});
  const nodeMs = stopTimeoutMs + STOP_LATE_MS + LEFT_BEHIND_MS;
  // `--processes` kills a node no sooner; an embedded database stops after the nodes.
  expect(KILL_AFTER_MS).toBeGreaterThan(nodeMs - stopTimeoutMs);
  const longestMs = stopTimeoutMs + KILL_AFTER_MS + STOP_MS_MAX + LEFT_BEHIND_MS;
  const secOf = (text: string): number => Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1]);
  expect(1000 * secOf(nodeUnit)).toBeGreaterThan(nodeMs);
  expect(1000 * secOf(unit)).toBeGreaterThan(longestMs);
  for (const file of ['compose.yaml', 'compose.cluster.yaml']) {
    const services = parse(read(file), { merge: true }) as {
      services: Record<string, { stop_grace_period?: string; build?: unknown; restart?: string }>;
    };
    const ours = Object.entries(services.services).filter(([, { build, restart }]) => build !== undefined && restart === 'unless-stopped');
    expect(ours.length).toBeGreaterThan(0);
    for (const [name, { stop_grace_period: grace }] of ours)
      expect(1000 * Number.parseInt(grace ?? '', 10), `${name} of ${file}`).toBeGreaterThan(nodeMs);
  }
});

const hasSystemd = existsSync('/usr/bin/systemd-analyze');
it.runIf(hasSystemd)('systemd reads the units without a word', () => {
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-units-'));
  try {
    // The program lies elsewhere on this machine.
    const files = [
      ['biosignal.service', unit],
      ['biosignal@1.service', nodeUnit],
    ].map(([name = '', text = '']) => {
      writeFileSync(join(folder, name), text.replace('/opt/biosignal/scripts/biosignal.sh', '/bin/sh'));
      return join(folder, name);
    });
    expect(execFileSync('sh', ['-c', `systemd-analyze verify --man=no ${files.join(' ')} 2>&1`], { encoding: 'utf8' })).toBe('');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it('the image holds what runs and what it is built from, and no tools of proof', () => {
  const ignored = new Set(read('.dockerignore').split('\n'));
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory() && !ignored.has(entry.name));
  expect(folders.map(({ name }) => name).filter((name) => !name.startsWith('.'))).toEqual([
    'dashboard',
    'proto',
    'scripts',
    'sdk',
    'sql',
    'src',
    'widgets',
  ]);
});

describe('scripts/with-runtime.sh', () => {
  /** A folder with programs that only say what was called. `ageSec`: how much older the lock file is than what npm left behind. */
  const call = (ageSec: number, stamped: boolean): { output: string; stamped: boolean } => {
    const folder = mkdtempSync(join(tmpdir(), 'biosignal-runtime-'));
    try {
      for (const path of ['scripts', 'bin', 'node_modules/.bin']) mkdirSync(join(folder, path), { recursive: true });
      copyFileSync(join(root, 'scripts/with-runtime.sh'), join(folder, 'scripts/with-runtime.sh'));
      for (const [path, text] of [
        ['bin/npm', 'echo npm "$@" >&2'],
        ['node_modules/.bin/node', 'echo node "$@" >&2'],
      ] as const) {
        writeFileSync(join(folder, path), `#!/bin/sh\n${text}\n`);
        chmodSync(join(folder, path), 0o755);
      }
      const lock = join(folder, 'package-lock.json');
      writeFileSync(lock, '{}');
      writeFileSync(join(folder, 'node_modules/.package-lock.json'), '{}');
      if (stamped) writeFileSync(join(folder, 'node_modules/.installed-lock'), '{"of":"an older release"}');
      const sec = Date.now() / 1000 - ageSec;
      utimesSync(lock, sec, sec);
      const output = execFileSync('sh', ['-c', `sh scripts/with-runtime.sh main.ts start 2>&1`], {
        cwd: folder,
        env: { PATH: `${join(folder, 'bin')}:${process.env['PATH']}` },
        encoding: 'utf8',
      });
      return { output, stamped: existsSync(join(folder, 'node_modules/.installed-lock')) };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };

  it('takes what `npm ci` installed by hand, as a service must that may not write', () => {
    const { output, stamped } = call(60, false);
    expect(output).not.toContain('npm ci');
    expect(output).toContain('main.ts start');
    expect(stamped).toBe(true);
  });

  it('installs when the lock file is newer than what is there, and after an upgrade', () => {
    expect(call(-60, false).output).toMatch(/npm ci[\s\S]*main\.ts start/);
    expect(call(60, true).output).toMatch(/npm ci[\s\S]*main\.ts start/);
  });
});
