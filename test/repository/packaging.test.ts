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
import { readCompose } from '../../scripts/containers/compose.ts';
import { settings } from '../../src/config.ts';

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
    expect(networks).toEqual([['x_outside'], ['--internal', '--subnet', '172.31.241.0/24', 'x_inside']]);
    expect(volumes).toEqual(['x_database', 'x_certificates']);
    const { args = [] } = found.find(({ name }) => name === 'biosignal') ?? {};
    expect(args).toEqual(expect.arrayContaining(['--read-only', '--cap-drop', 'ALL', 'BIO_SECRET=s', 'BIO_TRUST_PROXY=172.31.241.10']));
    expect(() => readCompose(path, 'x', { ...secrets, BIO_SECRET: '' })).toThrow('BIO_SECRET: set it in .env');
  });

  it('sets only settings that exist', () => {
    const set = [...(services.get('biosignal') ?? '').matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name = '']) => name);
    expect(set.length).toBeGreaterThan(4);
    expect(set.filter((name) => !known.has(name))).toEqual([]);
  });
});

it('the image and the unit set only settings that exist, and run what exists', () => {
  const image = read('Dockerfile');
  const unit = read('ops/systemd/biosignal.service');
  const set = [...image.matchAll(/\b(BIO_\w+|PORT|DATABASE_URL)=/g), ...unit.matchAll(/^Environment=(\w+)=/gm)].map(
    ([, name = '']) => name,
  );
  expect(set.filter((name) => !known.has(name))).toEqual([]);
  expect(image).toMatch(/^USER \d+:\d+$/m);
  expect(image).toContain('ENTRYPOINT ["/app/scripts/biosignal.sh"]');
  expect(unit).toContain('ExecStart=/opt/biosignal/scripts/biosignal.sh start');
  expect(read('package.json')).toContain('"biosignal": "./scripts/biosignal.sh"');
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
