/** `npm run docs`: writes the documents that are tables of the code: docs/errors.md and its pages, docs/features.md, docs/schema.md,
 *  docs/limits.md, .env.example, and docs/promises.md; and lowers the allow-list of the tidy test. test/docs/docs.test.ts and
 *  test/proof/promises.test.ts hold them to what this makes. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { envExample } from '../src/cli/config.ts';
import type { MethodParameter } from '../src/dsp/catalog/method-parameters.ts';
import { correctionParameters, methodDetails } from '../src/dsp/catalog/method-parameters.ts';
import { beatMethods, featureMethods } from '../src/dsp/rows/methods.ts';
import { errorTable } from '../src/errors.ts';
import type { ErrorCode } from '../src/errors.ts';
import { settings } from '../src/config.ts';
import { STEP_COUNT_MAX } from '../src/signal.ts';
import { errorAdvice } from '../src/http/error-advice.ts';
import { limitsDocument } from './limits.ts';
import { promisesDocument } from './promises.ts';
import type { Sources } from './promises.ts';
import { schemaDocument } from './schema-document.ts';
import { countFaults, shrunk, tidyTexts } from './tidy.ts';
import type { Counts } from './tidy.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] => [
  `| ${head.join(' | ')} |`,
  `|${head.map(() => '---').join('|')}|`,
  ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
];

/** docs/errors.md: the codes at a glance, each with a link to its page. */
export function errorsDocument(): string {
  const rows = Object.entries(errorTable).map(([code, { status, close, retry, title, inBand }]) => [
    `[\`${code}\`](errors/${code}.md)`,
    inBand ? '' : String(status),
    inBand ? '' : String(close),
    retry ? 'yes' : 'no',
    title,
  ]);
  return [
    '# Error codes',
    '',
    'Written by `npm run docs` from `src/errors.ts` and `src/http/error-advice.ts`. A running service shows the same at `/api-docs/errors`, without a connection to anywhere.',
    '',
    'Every refusal of the API is `application/problem+json` (RFC 9457) with one of these as `code`, a sentence about this request as `detail`, the',
    'fields at fault in `errors` (JSON pointers), a `request_id` that is in the log, and `type`, the address of the explanation. A socket that one',
    'of them ends closes with the code next to it: 4000 to 4499 reconnect, 4500 to 4999 do not; after `consent_missing` a viewer may ask again',
    'after a while. A code without either is told in a message of a socket that stays open. In a reply to a batch of packets the same codes stand per packet.',
    '',
    ...table(['code', 'HTTP', 'close', 'send again?', 'meaning'], rows),
  ].join('\n').trimEnd() + '\n'; // prettier-ignore
}

/** In docs/errors: a page per code. */
export function errorPages(): Record<string, string> {
  const pages = (Object.keys(errorTable) as ErrorCode[]).map((code) => {
    const { status, close, retry, title, inBand } = errorTable[code];
    const { when, act } = errorAdvice[code];
    const doNot = code === 'consent_missing' ? 'do not reconnect at once; a viewer may after a while' : 'do not reconnect';
    const socket = `a socket that ends for this reason closes with ${close}: ${close < 4500 ? 'reconnect' : doNot}`;
    const sent = inBand ? 'Told in a message of a socket, which stays open.' : `HTTP ${status}; ${socket}.`;
    const lines = [
      `# ${code}`,
      '',
      title,
      '',
      `${sent} ${retry ? 'The same may be sent again later.' : 'The same request will fail again.'}`,
      '',
      `**When.** ${when}`,
      '',
      `**What to do.** ${act}`,
      '',
      '[All codes](../errors.md)',
    ];
    return [`docs/errors/${code}.md`, `${lines.join('\n')}\n`];
  });
  return Object.fromEntries(pages) as Record<string, string>;
}

const parameterTable = (parameters: readonly MethodParameter[]): string[] =>
  table(
    ['parameter', 'value', 'meaning'],
    parameters.map(({ name, value, unit, meaning }) => [
      `\`${name}\``,
      unit === '1' ? String(value) : `${value} ${unit}`,
      meaning.replaceAll('|', '\\|'),
    ]),
  );

/** docs/features.md: what each value is, from the table that the engine computes by. */
export function featuresDocument(): string {
  const seconds = (value: number): string => (value === 0 ? 'per event' : `${value} s`);
  const rows = featureMethods.map(({ feature, title, unit, step, source, windowSec, cadenceSec, code }) => [
    `\`${feature}\``,
    title,
    unit,
    String(step),
    source,
    seconds(windowSec),
    seconds(cadenceSec),
    `\`${code}\``,
  ]);
  const notes = [...Object.values(beatMethods), ...featureMethods].flatMap((method) => {
    const { code, title, coverageMin, paper, notes } = method;
    const covered = coverageMin > 0 ? ` At least ${Math.round(100 * coverageMin)} % of the window must be covered.` : '';
    const { parameters, limits } = methodDetails(method);
    const own = parameters.filter((parameter) => !correctionParameters.includes(parameter));
    return [
      `## ${code}`,
      '',
      `${title}. ${paper}.`,
      '',
      `${notes}${covered}`.trim(),
      '',
      ...(own.length < parameters.length ? ['Intervals are corrected as said at the end of this page.', ''] : []),
      ...(own.length > 0 ? [...parameterTable(own), ''] : []),
      ...limits.map((limit) => `- ${limit}`),
      '',
    ];
  });
  return [
    '# Features and their methods',
    '',
    'Written by `npm run docs` from `src/dsp/rows/methods.ts`; `GET /api/v1/methods` lists what a service has. A value stands at the end of its window.',
    'Another way of computing gets another version; values of the old one stay.',
    '',
    `Values are rounded to whole steps, after their flags are decided: 71.428 /min is 71428 steps of 0.001. A value of more than ${STEP_COUNT_MAX.toLocaleString('en')} steps is left out. Intervals between beats are whole steps of ${beatMethods.ecg.step} ms.`,
    '',
    ...table(['feature', 'what', 'unit (UCUM)', 'step', 'from', 'window', 'every', 'method'], rows),
    '',
    ...notes,
    '## Correction of intervals',
    '',
    'Of every `hrv_` and `prv_` feature.',
    '',
    ...parameterTable(correctionParameters),
  ].join('\n').trimEnd() + '\n'; // prettier-ignore
}

const root = fileURLToPath(new URL('..', import.meta.url));

/** Documents that promise; the others are tables, measurements, decisions, or for contributors. */
const promising = ['README', 'SECURITY', ...['operator', 'integrator', 'device-engineer', 'analyst', 'clinician', 'getting-started', 'architecture', 'wire-format'].map((name) => `docs/${name}`)]; // prettier-ignore

/** What docs/promises.md is made of. */
export function promiseSources(): Sources {
  const texts = (folders: readonly string[], wanted: (path: string) => boolean): Record<string, string> => {
    const paths = folders.flatMap((folder) =>
      readdirSync(`${root}${folder}`, { recursive: true }).map((name) => `${folder}/${String(name)}`),
    );
    return Object.fromEntries(paths.filter(wanted).toSorted().map((path) => [path, readFileSync(root + path, 'utf8')])); // prettier-ignore
  };
  return {
    documents: Object.fromEntries(promising.map((name) => [`${name}.md`, readFileSync(`${root}${name}.md`, 'utf8')])),
    tests: texts(['sdk', 'src', 'test', 'widgets'], (path) => path.endsWith('.test.ts')),
    code: texts(['src'], (path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && path !== 'src/proto/generated/generated.d.ts'),
    settings: Object.fromEntries(Object.values(settings).map(({ env, doc }) => [env, doc])),
  };
}

const TIDY_ALLOWED = 'test/repository/tidy-allowed.json';

/** The allow-list of test/repository/tidy.test.ts, lowered to what is left. */
function tidyAllowed(): string {
  const allowed = JSON.parse(readFileSync(root + TIDY_ALLOWED, 'utf8')) as Counts;
  return `${JSON.stringify(shrunk(countFaults(tidyTexts(root)), allowed), null, 2)}\n`;
}

if (import.meta.main) {
  const files = {
    'docs/errors.md': errorsDocument(),
    ...errorPages(),
    'docs/features.md': featuresDocument(),
    'docs/promises.md': promisesDocument(promiseSources()),
    'docs/schema.md': schemaDocument(),
    'docs/limits.md': limitsDocument(),
    '.env.example': `${envExample()}\n`,
    [TIDY_ALLOWED]: tidyAllowed(),
  };
  mkdirSync(`${root}docs/errors`, { recursive: true });
  for (const [path, text] of Object.entries(files)) writeFileSync(`${root}${path}`, text);
  console.log(`wrote ${Object.keys(files).join(', ')}`);
}
