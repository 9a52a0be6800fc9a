/** `npm run docs`: writes the documents that are tables of the code: docs/errors.md, docs/features.md, .env.example.
 *  test/docs.test.ts holds them to what this makes. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { envExample } from '../src/cli/config.ts';
import { beatMethods, featureMethods } from '../src/dsp/methods.ts';
import { errorTable } from '../src/errors.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] => [
  `| ${head.join(' | ')} |`,
  `|${head.map(() => '---').join('|')}|`,
  ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
];

/** docs/errors.md: one section per code, so that each has an address. */
export function errorsDocument(): string {
  const sections = Object.entries(errorTable).flatMap(([code, { status, close, retry, title }]) => [
    `## ${code}`,
    '',
    `${title} ${retry ? 'Nothing was kept: send the same again later.' : 'The same request will fail again.'}`,
    '',
    `HTTP ${status}; WebSocket close code ${close}${close < 4500 ? ', reconnect' : ', do not reconnect'}.`,
    '',
  ]);
  return [
    '# Error codes',
    '',
    'Written by `npm run docs` from `src/errors.ts`. A running service shows the same at `/api-docs/errors`, without a connection to anywhere.',
    '',
    'Every refusal of the API is `application/problem+json` (RFC 9457) with one of these as `code`, a sentence about this request as `detail`, the',
    'fields at fault in `errors` (JSON pointers) and a `request_id` that is in the log. Sockets close with the code beside it.',
    '',
    ...sections,
  ].join('\n').trimEnd() + '\n'; // prettier-ignore
}

/** docs/features.md: what each value is, from the table that the engine computes by. */
export function featuresDocument(): string {
  const seconds = (value: number): string => (value === 0 ? 'per event' : `${value} s`);
  const rows = featureMethods.map(({ feature, title, unit, source, windowSec, cadenceSec, code }) => [
    `\`${feature}\``,
    title,
    unit,
    source,
    seconds(windowSec),
    seconds(cadenceSec),
    `\`${code}\``,
  ]);
  const notes = [...Object.values(beatMethods), ...featureMethods].flatMap(({ code, title, coverageMin, paper, notes: text }) => [
    `## ${code}`,
    '',
    `${title}. ${paper}.`,
    '',
    `${text} At least ${Math.round(100 * coverageMin)} % of the window must be covered.`,
    '',
  ]);
  return [
    '# Features and their methods',
    '',
    'Written by `npm run docs` from `src/dsp/methods.ts`; `GET /api/v1/methods` lists what a service has. A value stands at the end of its window.',
    'Another way of computing gets another version; values of the old one stay.',
    '',
    ...table(['feature', 'what', 'unit (UCUM)', 'from', 'window', 'every', 'method'], rows),
    '',
    ...notes,
  ].join('\n').trimEnd() + '\n'; // prettier-ignore
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const files = {
    'docs/errors.md': errorsDocument(),
    'docs/features.md': featuresDocument(),
    '.env.example': `${envExample()}\n`,
  };
  for (const [path, text] of Object.entries(files)) writeFileSync(`${root}${path}`, text);
  console.log(`wrote ${Object.keys(files).join(', ')}`);
}
