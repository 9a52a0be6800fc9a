/** The SDK outside of this repository: packed, installed alone, imported by Node, and compiled against by a build that
 *  emits. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
let folder = '';
const run = (command: string, args: readonly string[]): string =>
  execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' });

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'biosignal-sdk-'));
  run(process.execPath, [join(root, 'scripts/build-sdk.ts'), join(folder, 'built')]);
  run('npm', ['pack', join(folder, 'built'), '--silent', '--offline']);
  const installed = join(folder, 'node_modules/biosignal-sdk');
  mkdirSync(installed, { recursive: true });
  run('sh', ['-c', `tar -xzf biosignal-sdk-*.tgz --strip-components=1 -C '${installed}'`]);
  rmSync(join(folder, 'built'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(
    join(folder, 'use.ts'),
    `import { BiosignalClient } from 'biosignal-sdk/client';
     import { IngestClient } from 'biosignal-sdk/ingest-client';
     import { LiveClient } from 'biosignal-sdk/live-client';
     export const client = new BiosignalClient({ baseUrl: 'http://127.0.0.1:9', credential: 'x' });
     export const titles = async (): Promise<string[]> => (await client.call('listEpisodes', {})).map(({ title }) => title);
     // @ts-expect-error: a wrong name does not compile
     export const wrong = () => client.call('listNothing', {});
     console.log([BiosignalClient, IngestClient, LiveClient].map(({ name }) => name).join(' '));
    `,
  );
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// promise: sdk-anywhere
it('compiles with a build that emits, and runs', () => {
  const tsc = join(root, 'node_modules/.bin/tsc');
  const options = ['--outDir', 'out', '--strict', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2024,dom', '--types', ''];
  run(tsc, ['--ignoreConfig', ...options, 'use.ts']);
  expect(run(process.execPath, ['out/use.js']).trim()).toBe('BiosignalClient IngestClient LiveClient');
});
