/** The npm package of the widgets as an application gets it: packed, installed next to its dependencies, imported without a DOM, bundled,
 *  typed. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildPackage, PACKAGE_NAME } from '../../scripts/build-package.ts';
import { chromiumPath, launchChromium } from '../helpers/chromium.ts';
import { widgetTags } from '../helpers/widget-answers.ts';

const root = join(import.meta.dirname, '../..');
let app: string;
let packed: string[];

beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), 'bio-package-'));
  const made = join(app, 'made');
  await buildPackage(made);
  const answer = execFileSync('npm', ['pack', '--json', '--pack-destination', app], {
    cwd: made,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ filename, files }] = JSON.parse(answer) as [{ filename: string; files: { path: string }[] }];
  packed = files.map((file) => file.path);
  const installed = join(app, 'node_modules', PACKAGE_NAME);
  await mkdir(installed, { recursive: true });
  execFileSync('tar', ['xzf', join(app, filename), '-C', installed, '--strip-components=1']);
  for (const name of ['lit-html', 'uplot']) await symlink(join(root, 'node_modules', name), join(app, 'node_modules', name));
  await writeFile(join(app, 'package.json'), '{"type":"module","private":true}');
});
afterAll(() => rm(app, { recursive: true, force: true }));

it('holds modules, types, the stylesheet, the manifest and the licence, and nothing else', () => {
  expect(packed.filter((name) => !/^shared-\w+\.js$/.test(name)).toSorted()).toEqual([
    'LICENSE',
    'README.md',
    'bio-core.d.ts',
    'bio-core.js',
    'bio-widgets.css',
    'bio-widgets.d.ts',
    'bio-widgets.js',
    'custom-elements.json',
    'package.json',
  ]);
});

it('is imported in Node, where there is no DOM', () => {
  const script = `const all = await import('${PACKAGE_NAME}'); const core = await import('${PACKAGE_NAME}/core');
    console.log(JSON.stringify([Object.keys(all).length, Object.keys(core).sort(), all.BioProvider === core.BioProvider]))`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: app, encoding: 'utf8' });
  expect(JSON.parse(output)).toEqual([11, ['BioHealthMetrics', 'BioProgressRing', 'BioProvider', 'BioTrendCard'], true]);
});

it('tells TypeScript what the elements are', async () => {
  await writeFile(
    join(app, 'app.ts'),
    `import { BioProvider } from '${PACKAGE_NAME}';
const provider: BioProvider | null = document.querySelector('bio-provider');
const state: 'ready' | string = document.createElement('bio-mood').state;
document.addEventListener('bio:token:expiring', (event) => event.detail);
// @ts-expect-error: the state is not for pages to set
document.createElement('bio-mood').state = 'ready';
export { provider, state };
`,
  );
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom,dom.iterable', '--types', ''];
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...flags, 'app.ts'], { cwd: app, encoding: 'utf8' });
});

it('has one entry in custom-elements.json for every widget', async () => {
  const manifest = JSON.parse(await readFile(join(app, 'node_modules', PACKAGE_NAME, 'custom-elements.json'), 'utf8')) as {
    modules: { declarations: { tagName: string; attributes: unknown[]; events: unknown[] }[] }[];
  };
  const tags = manifest.modules.flatMap((module) => module.declarations.map((item) => item.tagName));
  expect(tags).toEqual(expect.arrayContaining(['bio-provider', ...widgetTags]));
});

it.skipIf(chromiumPath === null)('is bundled by an application and defines its elements in a browser', async () => {
  await writeFile(join(app, 'main.js'), `import '${PACKAGE_NAME}'; globalThis.ready = true;`);
  const { outputFiles } = await build({
    absWorkingDir: app,
    entryPoints: ['main.js'],
    bundle: true,
    write: false,
    format: 'iife',
    logLevel: 'silent',
  });
  const browser = await launchChromium();
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.setContent('<bio-provider><bio-mood></bio-mood></bio-provider>');
  await page.addScriptTag({ content: outputFiles[0]!.text });
  const tags = ['bio-provider', ...widgetTags];
  expect(await page.evaluate((names) => names.filter((name) => customElements.get(name) === undefined), tags)).toEqual([]);
  expect(errors).toEqual([]);
  await browser.close();
});
