/** Builds the npm package of the widgets into a folder that `npm pack` takes: ES modules, types, stylesheet, custom-elements.json.
 *
 *      node scripts/build-package.ts [folder]     default dist/npm
 *
 *  lit-html and uPlot stay imports, so that an application has them once and Node finds their builds without a DOM. */
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { customElementsManifest, readContracts } from './custom-elements.ts';
import type { ElementContract } from './custom-elements.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
export const PACKAGE_NAME = 'biosignal-widgets';
/** What bio-core.js holds, see widgets/bio-core.ts. */
const core: readonly string[] = ['bio-provider', 'bio-health-metrics', 'bio-progress-ring', 'bio-trend-card'];

/** @returns the names of the files that were made */
export async function buildPackage(folder: string): Promise<readonly string[]> {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    version: string;
    license: string;
    dependencies: Record<string, string>;
  };
  const contracts = await readContracts(root);
  const entries = { 'bio-widgets': contracts, 'bio-core': contracts.filter(({ tagName }) => core.includes(tagName)) };
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const modules = Object.entries(entries).map(([name, elements]) => ({
    name,
    source: elements.map(({ className, path }) => `export { ${className} } from './${path}';`).join('\n'),
  }));
  const built = await build({
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    legalComments: 'none',
    logLevel: 'silent',
    external: ['lit-html', 'uplot'],
    entryPoints: Object.fromEntries(modules.map(({ name }) => [name, `entry:${name}`])),
    chunkNames: 'shared-[hash]',
    outdir: folder,
    plugins: [
      {
        name: 'entries',
        setup: ({ onResolve, onLoad }) => {
          onResolve({ filter: /^entry:/ }, ({ path }) => ({ path: path.slice(6), namespace: 'entry' }));
          onLoad({ filter: /.*/, namespace: 'entry' }, ({ path }) => ({
            contents: modules.find(({ name }) => name === path)?.source ?? '',
            resolveDir: root,
            loader: 'ts',
          }));
        },
      },
    ],
  });
  const files = new Map(built.outputFiles.map((file) => [file.path.slice(folder.length + 1), file.text]));
  for (const [name, elements] of Object.entries(entries)) files.set(`${name}.d.ts`, typesOf(elements));
  files.set('custom-elements.json', `${JSON.stringify(customElementsManifest(contracts), null, 2)}\n`);
  const description = {
    name: PACKAGE_NAME,
    version: manifest.version,
    description: 'Custom elements that show and collect one person’s health data, for a biosignal service.',
    license: manifest.license,
    type: 'module',
    sideEffects: ['./*.js'],
    main: './bio-widgets.js',
    types: './bio-widgets.d.ts',
    exports: {
      '.': { types: './bio-widgets.d.ts', default: './bio-widgets.js' },
      './core': { types: './bio-core.d.ts', default: './bio-core.js' },
      './bio-widgets.css': './bio-widgets.css',
      './custom-elements.json': './custom-elements.json',
      './package.json': './package.json',
    },
    customElements: './custom-elements.json',
    dependencies: { 'lit-html': manifest.dependencies['lit-html'], uplot: manifest.dependencies['uplot'] },
  };
  files.set('package.json', `${JSON.stringify(description, null, 2)}\n`);
  await Promise.all([...files].map(([name, text]) => writeFile(join(folder, name), text)));
  for (const [from, to] of [
    ['widgets/bio-widgets.css', 'bio-widgets.css'],
    ['widgets/README.md', 'README.md'],
    ['LICENSE', 'LICENSE'],
  ] as const) {
    await copyFile(join(root, from), join(folder, to));
    files.set(to, '');
  }
  return [...files.keys()].toSorted();
}

/** Types from the contracts: what a page may set and hear. */
function typesOf(contracts: readonly ElementContract[]): string {
  const classes = contracts.map(({ className, tagName, description, attributes, members, events }) => {
    const notes = [
      description,
      ...attributes.map((item) => `attribute ${item.name}: ${item.description}`),
      ...events.map((item) => `event ${item.name}: ${item.description}`),
    ];
    const lines = members.map((item) => {
      const readonly = item.description.includes('read only') ? 'readonly ' : '';
      const type = item.name === 'state' ? 'WidgetState' : item.type?.text === 'object' ? 'unknown' : (item.type?.text ?? 'unknown');
      return `  /** ${item.description} */\n  ${readonly}${item.name}: ${type};`;
    });
    return `/** \`<${tagName}>\`\n${notes.map((line) => ` *  ${line.replaceAll('*/', '*\\/')}`).join('\n')} */\nexport declare class ${className} extends HTMLElement {\n${lines.join('\n')}\n}`;
  });
  const map = contracts.map(({ className, tagName }) => `    '${tagName}': ${className};`).join('\n');
  return `export type WidgetState = 'loading' | 'ready' | 'empty' | 'stale' | 'offline' | 'error' | 'unauthorized';\n\n${classes.join('\n\n')}\n\ndeclare global {\n  interface HTMLElementTagNameMap {\n${map}\n  }\n  interface DocumentEventMap {\n    'bio:token:expiring': CustomEvent;\n  }\n}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? join(root, 'dist', 'npm');
  for (const name of await buildPackage(folder)) process.stdout.write(`${name}\n`);
}
