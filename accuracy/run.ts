/** `npm run accuracy`: scores the signal processing against annotated recordings and prints a report.
 *
 *  npm run accuracy -- [--data DIR] [--only NAME] [--leave-out recording|database] [--json] [--html FILE] [--markdown FILE]
 *  DIR: laid out like ../shared/data (mitdb, em_noise, bidmc, ieee_spc2015, rr …; what is absent is said and skipped); default
 *  BIO_TEST_DATA, else ../shared/data. NAME: part of the file name of a section, e.g. ecg-detection. `--leave-out`: weights that were
 *  fitted on some of the recordings are fitted anew on the others (ecg-quality, ppg-quality; of one database only, so by recording:
 *  ppg-motion-trust), other sections are skipped; without it every figure is of the weights in use. `--markdown docs/accuracy.md` writes
 *  that document, of every section: not together with `--only` or `--leave-out`, nor where recordings are missing. Sections are the files
 *  accuracy/*-section.ts; the last table compares their figures with the goals (accuracy/goals.ts). Exit code 1 when no section found its
 *  recordings. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mistaken, toolOptions } from '../scripts/tool-options.ts';
import { beatMethods } from '../src/dsp/rows/methods.ts';
import { goalSection } from './goals.ts';
import { databaseSection, htmlPage, markdownPage, textTable } from './section.ts';
import type { LeaveOut, Section, SectionModule } from './section.ts';

const { values } = toolOptions({
  options: {
    data: { type: 'string' },
    only: { type: 'string' },
    json: { type: 'boolean' },
    html: { type: 'string' },
    markdown: { type: 'string' },
    'leave-out': { type: 'string' },
  },
});
const leaveOut = leaveOutOf(values['leave-out']);
if (values.markdown !== undefined && (values.only !== undefined || leaveOut !== null))
  mistaken('--markdown writes the whole document: without --only and --leave-out');
const dataDir = values.data ?? process.env['BIO_TEST_DATA'] ?? join(import.meta.dirname, '..', '..', 'shared', 'data');
const folder = import.meta.dirname;
const names = readdirSync(folder)
  .filter((file) => file.endsWith('-section.ts'))
  .map((file) => file.slice(0, -'-section.ts'.length))
  .toSorted();
const files = names.map((name) => `${name}-section.ts`).filter((file) => values.only === undefined || file.includes(values.only));
if (files.length === 0) mistaken(`no section "${values.only}"; there are ${names.join(', ')}`);

const markdownLead = [
  'Written by `npm run accuracy -- --markdown docs/accuracy.md`, from the recordings described in `accuracy/`; do not edit.',
  `Beats by ${Object.values(beatMethods)
    .map(({ feature, version }) => `${feature} version ${version}`)
    .join(' and ')}.`,
  'Every figure is of the values that the service stores (same engine, same segments, weights in use), where a title does not say otherwise. Goals that are missed are listed as missed. What bounds them is in [ECG](dsp/ecg.md#what-bounds-the-goals-that-are-missed), [kinds of beats](dsp/kinds-of-beats.md#accuracy-no-adaptation-to-the-patient) and [pulse](dsp/pulse-and-slow.md#what-bounds-the-goals-that-are-missed). Other programs and papers have a table of their own; their figures were measured elsewhere, and it says so.',
];
/** Sections whose weights --leave-out fits anew. */
const refitted = new Set(['beat-origin', 'rhythm', 'ecg-quality', 'ppg-quality', 'ppg-motion-trust']);
const sections: Section[] = [];
const json: Record<string, unknown> = {};
for (const file of files) {
  const name = file.slice(0, -'-section.ts'.length);
  if (leaveOut !== null && !refitted.has(name)) {
    console.warn(`SKIPPED ${name}: no weights of it are fitted anew; without --leave-out it has the weights in use`);
    continue;
  }
  const module = (await import(join(folder, file))) as SectionModule;
  const started = performance.now();
  const section = await module.run(dataDir, { leaveOut });
  if (section === null) {
    console.warn(
      `SKIPPED ${name}: its recordings are not in ${dataDir}${leaveOut === null ? '' : `, or there is no other ${leaveOut} to fit on`}`,
    );
    continue;
  }
  sections.push(section);
  json[name] = section.json;
  if (values.json !== true) {
    console.log(`\n${section.title}  (${((performance.now() - started) / 1000).toFixed(1)} s)\n\n${textTable(section.rows)}`);
    for (const note of section.notes ?? []) console.log(`  ${note}`);
  }
}
const summaries = [databaseSection(sections), leaveOut === null ? goalSection(json) : null].filter((section) => section !== null);
for (const summary of summaries) {
  json[summary.title] = summary.json;
  if (values.json !== true) console.log(`\n${summary.title}\n\n${textTable(summary.rows)}\n  ${summary.notes!.join('\n  ')}`);
}
if (values.json === true) console.log(JSON.stringify(json));
const all = [...summaries, ...sections];
if (values.html !== undefined) writeFileSync(values.html, htmlPage(all, 'Accuracy report'));
if (values.markdown !== undefined && sections.length === files.length)
  writeFileSync(values.markdown, markdownPage(all, 'Accuracy', markdownLead));
else if (values.markdown !== undefined) console.error(`${values.markdown} is not written: recordings are missing`);
if (sections.length === 0 || (values.markdown !== undefined && sections.length < files.length)) process.exitCode = 1;

function leaveOutOf(text: string | undefined): LeaveOut {
  if (text === undefined) return null;
  if (text === 'recording' || text === 'database') return text;
  return mistaken(`--leave-out is recording or database, not "${text}"`);
}
