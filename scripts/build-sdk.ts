/** `npm run sdk [FOLDER]`: the SDK as a package of its own, JavaScript with types and without dependencies, for `npm pack` and for builds
 *  that emit. Default: dist/sdk. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, copyFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = join(import.meta.dirname, '..');
const folder = resolve(process.argv[2] ?? join(root, 'dist/sdk'));
const clients = ['client', 'ingest-client', 'live-client', 'request'] as const;

rmSync(folder, { recursive: true, force: true });
const options = [
  '--declaration',
  '--rewriteRelativeImportExtensions',
  '--strict',
  '--exactOptionalPropertyTypes',
  '--noUncheckedIndexedAccess',
];
const place = ['--outDir', folder, '--rootDir', root, '--target', 'es2022', '--module', 'nodenext', '--types', 'node', '--skipLibCheck'];
const lib = ['--lib', 'es2024,dom,dom.iterable,esnext.disposable'];
execFileSync(
  join(root, 'node_modules/.bin/tsc'),
  ['--ignoreConfig', ...options, ...place, ...lib, ...clients.map((name) => join(root, `sdk/${name}.ts`))],
  { stdio: 'inherit', cwd: root }, // types are looked for from there
);
// The compiler leaves these as they are; compilers before 5.0 refuse them.
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.d.ts'))) {
  const path = join(folder, name);
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"));
}
const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string; license: string };
const exported = Object.fromEntries(clients.map((name) => [`./${name}`, { types: `./sdk/${name}.d.ts`, default: `./sdk/${name}.js` }]));
const described = { name: 'biosignal-sdk', version, license, type: 'module', engines: { node: '>=22' }, exports: exported };
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(described, null, 2)}\n`);
copyFileSync(join(root, 'sdk/README.md'), join(folder, 'README.md'));
console.log(folder);
