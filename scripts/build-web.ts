/** Builds what browsers load: the widget bundle under cdn/v1 and the dashboard. Called by `npm start`, by tests, and from the command line.
 *
 *  cdn/v1/bio-widgets.js, bio-core.js, bio-recording.js, bio-widgets.css      always the newest v1; short cache
 *  cdn/v1/bio-chart.js                                      what moves a chart: fetched by bio-widgets.js when someone comes near one
 *  cdn/v1/<version>-<hash>/...                               the same bytes for ever, with the integrity values of cdn/v1/manifest.json
 *  cdn/v1/lang/de.json, es.json, fr.json, zh.json            texts in languages other than English, fetched by pages that are in them
 *  cdn/v1/custom-elements.json                               every element: attributes, parts, properties, events
 *  dashboard/*.html, *.js, *.css                             pages of this version
 *  dashboard/lang/*.json                                    their texts in other languages, fetched by pages that are in them */
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { build, transformSync } from 'esbuild';
import { de as dashboardDe } from '../dashboard/lang/de.ts';
import { es as dashboardEs } from '../dashboard/lang/es.ts';
import { fr as dashboardFr } from '../dashboard/lang/fr.ts';
import { de } from '../widgets/lang/de.ts';
import { es } from '../widgets/lang/es.ts';
import { fr } from '../widgets/lang/fr.ts';
import { zh } from '../widgets/lang/zh.ts';
import { customElementsManifest, readContracts } from './custom-elements.ts';
import type { BuildOptions, Plugin } from 'esbuild';

/** A style sheet in a template: a constant named ...css; others may be put before it. */
const styleSheetTemplate = /(css = `(?:\$\{\w+\})*)([^`$]+)`/gi;

/** Takes the indentation out of html templates and minifies style sheets; minifiers leave the contents of strings alone. The line break
 *  of html stays, so inline text keeps its gaps. In code it changes nothing. */
const thinTemplates: Plugin = {
  name: 'thin-templates',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/(widgets|dashboard)\/.*\.ts$/ }, async ({ path }) => ({
      loader: 'ts',
      contents: (await readFile(path, 'utf8'))
        .replaceAll(
          styleSheetTemplate,
          (_, start: string, css: string) => `${start}${transformSync(css, { loader: 'css', minify: true }).code.trim()}\``,
        )
        .replaceAll(/\n[ \t]+/g, '\n'),
    }));
  },
};

/** Functions of uPlot that no widget can reach: bars, steps and splines, its own calendar (ours is Intl), logarithmic axes, ranges that it
 *  picks itself (ours are given), its legend. They are emptied, which takes 5 kB (brotli) of 21. A name that is not there any more stops
 *  the build: look again after an update. */
const unusedUplot: readonly (readonly [name: string, body: string, indent?: string])[] = [
  ['bars', ''],
  ['stepped', ''],
  ['splineInterp', ''],
  ['_monotoneCubic', ''],
  ['genTimeStuffs', 'return [[], [], () => () => []];'],
  ['join', ''],
  ['timeAxisVals', 'return () => [];'],
  ['timeAxisStamps', 'return () => [];'],
  ['tzDate', ''],
  ['timeSeriesVal', 'return () => [];'],
  ['clipBandLine', ''],
  ['clipGaps', ''],
  ['fmtDate', "return () => '';"],
  ['_rangeNum', 'return [...arguments];'],
  ['rangeLog', ''],
  ['rangeAsinh', ''],
  ['logAxisSplits', ''],
  ['asinhAxisSplits', ''],
  ['log10AxisValsFilt', ''],
  ['log2AxisValsFilt', ''],
  ['initLegendRow', 'return [];', '\t'],
  ['bandFillClipDirs', 'return [0, 0];'],
  ['delSeries', '', '\t'],
  ['mouseUp', '', '\t'],
  ['mouseDown', '', '\t'],
  ['setSeries', '', '\t'],
  ['autoPadSide', '', '\t'],
  ['setFocus', '', '\t'],
  ['setAlpha', '', '\t'],
  ['addSeries', '', '\t'],
  ['dblClick', '', '\t'],
  ['toggleDOM', '', '\t'],
  ['syncLegend', '', '\t'],
  ['setLegendValues', '', '\t'],
  ['setLegend', '', '\t'],
  ['seriesFillTo', 'return 0;'],
  ['linear', 'return () => null;'], // plot.ts has a path of its own
  ['mouseLeave', 'mouseLeft1 = mouseTop1 = -10; activeIdxs.fill(null); updateCursor(null, true, true);', '\t'],
  // A mouse alone moves its cursor; no other chart does, and nothing is dragged from where it was pressed.
  [
    'cacheMouse',
    'const [e] = arguments; rect == null && syncRect(false); setCursorEvent(e); let x = e.clientX - rect.left, y = e.clientY - rect.top; ' +
      'if (x <= 1 || x >= plotWidCss - 1) x = incrRound(x, plotWidCss); if (y <= 1 || y >= plotHgtCss - 1) y = incrRound(y, plotHgtCss); ' +
      'mouseLeft1 = x; mouseTop1 = y;',
    '\t',
  ],
  ['rect', 'return (p, x, y, w, h) => { p.rect(x, y, w, h); };'], // no round corners
  ['snapLogY', ''],
  ['snapAsinhY', ''],
  ['addBand', '', '\t'],
  ['findGaps', ''],
  ['batch', '', '\t'],
  ['setBand', '', '\t'],
  ['pubSync', '', '\t'],
  ['pub', '', '\t'],
  ['_sync', 'return { plots: [], pub() {}, sub() {}, unsub() {} };'],
  // No bands of its own: a series is stroked and filled within its clips.
  ['fillStroke', 'strokeFill(...[...arguments].slice(1));', '\t'],
  [
    'strokeFill',
    'const [stroke, width, dash, cap, fill, strokePath, fillPath, , bounds, gaps] = arguments; setCtxStyle(stroke, width, dash, cap, fill); ctx.save(); ' +
      'bounds && ctx.clip(bounds); gaps && ctx.clip(gaps); doFill(fill, fillPath); doStroke(stroke, strokePath, width); ctx.restore();',
    '\t',
  ],
];

/** Conditions of uPlot that are the same in every chart of ours: no second arrangement of data, legend, focus by nearness, selection by
 *  dragging, axis that is not linear or of its own calendar, x axis that stands upright, or cursor shared between plots. As constants they
 *  let the minifier drop the code behind them. */
const fixedInUplot: readonly (readonly [condition: RegExp, value: string])[] = [
  [/\bmode == 1\b/g, 'true'],
  [/\bmode == 2\b/g, 'false'],
  [/\b(showLegend|multiValLegend|cursorFocus|cursorOnePt)\b(?! =)/g, 'false'],
  [/\bselect\.show && dragging\b/g, 'false'],
  [/\bxScaleDistr == \d/g, 'false'],
  [/\bsyncKey != null/g, 'false'],
  [/\b(?:(?:w?sc|scale)\.)?distr == +(?:2|3|4|100)\b/g, 'false'],
  [/\bsc\.distr >= 3\b/g, 'false'],
  [/\bisTime\b(?! =)/g, 'false'],
  [/\bscaleX\.ori == 0/g, 'true'],
  [/\bscaleX\.ori == 1/g, 'false'],
  [/\bgetBBox != null/g, 'false'],
  [/\bsx\.ori == 0/g, 'true'],
  [/\baxis\.label != null/g, 'false'],
  [/\bwithProx\b(?! =)/g, 'false'],
  [/\b(days|months)\.map\(slice3\)/g, '[]'],
  [/^genIncrs\(2, .*;$/gm, ''],
];

/** Widgets read frames and write none. Tree shaking cannot see it: the codec keeps one writer for itself. */
const noWriter: Plugin = {
  name: 'no-writer',
  setup: ({ onLoad }) => {
    onLoad({ filter: /src\/proto\/wire-writer\.ts$/ }, () => ({ contents: 'export class WireWriter {}', loader: 'ts' }));
  },
};

/** In the scripts of the CDN the moving parts of charts are a file of their own; the dashboard holds them. */
const chartApart: Plugin = {
  name: 'chart-apart',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/load-moves\.ts$/ }, ({ resolveDir }) => ({ path: join(resolveDir, 'load-moves-cdn.ts') }));
  },
};

const leanUplot: Plugin = {
  name: 'lean-uplot',
  setup: ({ onLoad }) => {
    onLoad({ filter: /uPlot\.esm\.js$/ }, async ({ path }) => {
      let contents = await readFile(path, 'utf8');
      for (const [name, body, indent = ''] of unusedUplot) {
        const start = contents.indexOf(`\n${indent}function ${name}(`);
        const end = contents.indexOf(`\n${indent}}\n`, start);
        if (start < 0 || end < 0) throw new Error(`uPlot has no function ${name}: see unusedUplot in scripts/build-web.ts`);
        contents = `${contents.slice(0, start)}\n${indent}function ${name}() {${body}}\n${contents.slice(end + indent.length + 3)}`;
      }
      for (const [condition, value] of fixedInUplot) {
        if (contents.search(condition) < 0)
          throw new Error(`uPlot asks no more for ${condition.source}: see fixedInUplot in scripts/build-web.ts`);
        contents = contents.replace(condition, value);
      }
      return { loader: 'js', contents };
    });
  },
};

/** What of lit-html no widget can reach: directives (the dashboard has some, and all of lit-html), bindings of elements, in comments and in
 *  text areas, MathML, what its sister packages ask for. It takes 0.5 kB (brotli) of 2.9. A text that is not there any more stops
 *  the build: look again after an update. */
const unusedInLit: readonly (readonly [text: RegExp, instead: string])[] = [
  [/(function \w+\(t,i),s=t,e\)\{if\(i===E\).*?,i\}(?=class)/, '$1){return i}'], // resolveDirective
  [/:6===r\.type&&\(i=new Z\(h,this,t\)\)/, ':0'], // ElementPart
  [/else t\.startsWith\(o\)&&\(d\.push\(\{type:6,index:l\}\),r\.removeAttribute\(t\)\);/, ';'],
  [/if\(y\.test\(r\.tagName\)\)\{.*?\}\}\}(?=else if)/, '}'], // rawTextElement
  [/y\.test\(u\[2\]\)&&\(n=RegExp\("<\/"\+u\[2\],"g"\)\),/, ''],
  [/else\{let t=-1;for\(;-1!==\(t=r\.data.*?\}(?=l\+\+)/, ''], // COMMENT_PART
  [/T=x\(3\),/, ''],
  [/T as mathml,/, ''],
  [/:3===i\?"<math>"/, ''],
  [/:3===i\?"<\/math>"/, ''],
  [/2===i\|\|3===i/, '2===i'],
  [/get parentNode\(\)\{return this\._\$AM\.parentNode\}get _\$AU\(\)\{return this\._\$AM\._\$AU\}/, ''], // what directives ask parts for
  [/get _\$AU\(\)\{return this\._\$AM\?\._\$AU\?\?this\._\$Cv\}/, ''],
  [/get parentNode\(\)\{let t=.*?get endNode\(\)\{return this\._\$AB\}/, ''],
  [/setConnected\(t\)\{.*?\}(?=\}class)/, ''],
  [/get tagName\(\)\{return this\.element\.tagName\}get _\$AU\(\)\{return this\._\$AM\._\$AU\}/, ''],
  [/B\?\.\(S,k\),/, ''],
  [/,B=t\.litHtmlPolyfillSupport/, ''],
  [/\(t\.litHtmlVersions\?\?=\[\]\)\.push\("[\d.]+"\);/, ';'], // for a warning in development
  [/this\._\$AP\?\.\(!1,!0,\w\)/, ''], // of asynchronous directives
  [/this\._\$AN=void 0,/g, ''],
  [/,this\._\$Cv=\w\?\.isConnected\?\?!0/, ''],
  [/s\?\.renderBefore\?\?i/, 'i'],
  [/s\?\.renderBefore\?\?null/, 'null'],
];

const leanLit: Plugin = {
  name: 'lean-lit',
  setup: ({ onLoad, onResolve }) => {
    onResolve({ filter: /^lit-html\/(async-)?directive/ }, ({ path, importer }) => ({
      errors: [{ text: `${importer} imports ${path}, which the lit-html of widgets cannot run: see unusedInLit in scripts/build-web.ts` }],
    }));
    onLoad({ filter: /lit-html\/lit-html\.js$/ }, async ({ path }) => {
      let contents = await readFile(path, 'utf8');
      for (const [text, instead] of unusedInLit) {
        if (contents.search(text) < 0) throw new Error(`lit-html has no ${text.source}: see unusedInLit in scripts/build-web.ts`);
        contents = contents.replace(text, instead);
      }
      return { loader: 'js', contents };
    });
  },
};

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dashboardPages = ['index', 'live', 'report'] as const;

export type WebBuild = Readonly<{
  version: string;
  /** Folder of the immutable copies, e.g. `0.1.0-1f2e3d4c`. */
  immutable: string;
  files: Readonly<Record<string, { integrity: string; bytes: number; brotliBytes: number }>>;
}>;

/** @param outDir receives `cdn/` and `dashboard/`; existing immutable versions in it are kept */
export async function buildWeb(outDir: string): Promise<WebBuild> {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  const common = {
    absWorkingDir: root,
    bundle: true,
    minify: true,
    write: false,
    target: 'es2022',
    legalComments: 'none',
    logLevel: 'silent',
    plugins: [thinTemplates, leanUplot, noWriter],
  } as const satisfies BuildOptions;
  const [widgets, chart, dashboard] = await Promise.all([
    build({
      ...common,
      plugins: [chartApart, leanLit, ...common.plugins],
      format: 'iife',
      entryPoints: ['widgets/bio-widgets.ts', 'widgets/bio-core.ts', 'widgets/bio-recording.ts', 'widgets/bio-widgets.css'],
      outdir: join(outDir, 'cdn', 'v1'),
    }),
    build({
      ...common,
      format: 'esm',
      entryPoints: { 'bio-chart': 'widgets/trend-chart/moves/moves.ts' },
      outdir: join(outDir, 'cdn', 'v1'),
    }),
    build({
      ...common,
      format: 'esm',
      entryPoints: dashboardPages.flatMap((page) => [`dashboard/${page}.ts`, `dashboard/${page}.css`]),
      outdir: join(outDir, 'dashboard'),
    }),
  ]);

  const outputs = [...widgets.outputFiles, ...chart.outputFiles].map((file) => {
    const name = file.path.slice(file.path.lastIndexOf('/') + 1);
    const guarded = name === 'bio-recording.js' ? 'bio-recording' : 'bio-provider';
    const isScript = widgets.outputFiles.includes(file) && name.endsWith('.js');
    return { name, bytes: isScript ? onlyOnce(file.text, guarded) : file.contents };
  });
  const hash = createHash('sha256');
  for (const output of outputs) hash.update(output.name).update(output.bytes);
  const immutable = `${manifest.version}-${hash.digest('hex').slice(0, 8)}`;
  const files: Record<string, { integrity: string; bytes: number; brotliBytes: number }> = {};
  const cdn = join(outDir, 'cdn', 'v1');
  await mkdir(join(cdn, immutable), { recursive: true });
  await mkdir(join(outDir, 'dashboard'), { recursive: true });
  await Promise.all([
    ...outputs.map(async ({ name, bytes }) => {
      const integrity = `sha384-${createHash('sha384').update(bytes).digest('base64')}`;
      files[name] = { integrity, bytes: bytes.length, brotliBytes: brotliCompressSync(bytes).length };
      await writeFile(join(cdn, name), bytes);
      await writeFile(join(cdn, immutable, name), bytes);
    }),
    ...dashboard.outputFiles.map((file) => writeFile(file.path, file.contents)),
    ...dashboardPages.map((page) => copyFile(join(root, 'dashboard', `${page}.html`), join(outDir, 'dashboard', `${page}.html`))),
  ]);
  await writeLanguages(join(cdn, 'lang'), { de, es, fr, zh });
  await writeLanguages(join(outDir, 'dashboard', 'lang'), { de: dashboardDe, es: dashboardEs, fr: dashboardFr });
  await writeFile(join(cdn, 'custom-elements.json'), `${JSON.stringify(customElementsManifest(await readContracts(root)), null, 2)}\n`);
  const result: WebBuild = { version: manifest.version, immutable, files };
  await writeFile(join(cdn, 'manifest.json'), `${JSON.stringify(result, null, 2)}\n`);
  return result;
}

async function writeLanguages(folder: string, languages: Readonly<Record<string, object>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, language] of Object.entries(languages)) await writeFile(join(folder, `${name}.json`), JSON.stringify(language));
}

/** The script may be on a page twice (two tags, two teams): the second copy, which finds its element there, does nothing. Without the
 *  guard lit-html would create its Trusted Types policy a second time, which a strict policy refuses with an exception. */
function onlyOnce(script: string, element: string): Uint8Array {
  const guard = `globalThis.customElements?.get("${element}")||`;
  return new TextEncoder().encode(`${guard}${script.trimEnd().replace(/^"use strict";/, '')}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const startedMs = performance.now();
  const { files, immutable } = await buildWeb(process.argv[2] ?? join(root, 'dist'));
  for (const [name, { bytes, brotliBytes }] of Object.entries(files)) {
    process.stdout.write(`${name.padEnd(16)} ${String(bytes).padStart(7)} bytes, ${String(brotliBytes).padStart(6)} brotli\n`);
  }
  process.stdout.write(`${immutable} in ${Math.round(performance.now() - startedMs)} ms\n`);
}
