/** `npm run accuracy`: scores the signal processing against annotated recordings and prints a report.
 *
 *  npm run accuracy -- [--data DIR] [--only NAME] [--json] [--html FILE]
 *  DIR: laid out like ../shared/data (mitdb, em_noise, bidmc, ieee_spc2015, rr …; what is absent is said and skipped); default
 *  BIO_TEST_DATA, else ../shared/data. NAME: part of the file name of a section, e.g. ecg-detection.
 *  Sections are the files scripts/accuracy/*-section.ts; the last table puts their figures beside the goals (scripts/accuracy/goals.ts). Exit code 1 when no section found its recordings. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { goalSection } from './accuracy/goals.ts';
import { htmlPage, textTable } from './accuracy/section.ts';
import type { Section, SectionModule } from './accuracy/section.ts';

const { values } = parseArgs({
  options: { data: { type: 'string' }, only: { type: 'string' }, json: { type: 'boolean' }, html: { type: 'string' } },
});
const dataDir = values.data ?? process.env['BIO_TEST_DATA'] ?? join(import.meta.dirname, '..', '..', 'shared', 'data');
const folder = join(import.meta.dirname, 'accuracy');
const files = readdirSync(folder)
  .filter((file) => file.endsWith('-section.ts') && (values.only === undefined || file.includes(values.only)))
  .toSorted();

const sections: Section[] = [];
const json: Record<string, unknown> = {};
for (const file of files) {
  const name = file.slice(0, -'-section.ts'.length);
  const module = (await import(join(folder, file))) as SectionModule;
  const started = performance.now();
  const section = await module.run(dataDir);
  if (section === null) {
    console.warn(`SKIPPED ${name}: its recordings are not in ${dataDir}`);
    continue;
  }
  sections.push(section);
  json[name] = section.json;
  if (values.json !== true) {
    console.log(`\n${section.title}  (${((performance.now() - started) / 1000).toFixed(1)} s)\n\n${textTable(section.rows)}`);
    for (const note of section.notes ?? []) console.log(`  ${note}`);
  }
}
const goals = goalSection(json);
if (goals !== null) {
  sections.push(goals);
  json['goals'] = goals.json;
  if (values.json !== true) console.log(`\n${goals.title}\n\n${textTable(goals.rows)}\n  ${goals.notes!.join('\n  ')}`);
}
if (values.json === true) console.log(JSON.stringify(json));
if (values.html !== undefined) writeFileSync(values.html, htmlPage(sections, 'Accuracy report'));
if (sections.length === 0) process.exitCode = 1;
