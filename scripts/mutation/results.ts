/** Outcome of each mutant, one file of results per source file in .cache/mutation, and the survivors that were accepted. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutant } from './mutants.ts';

const folder = '.cache/mutation/results';
const acceptedFile = 'scripts/mutation/accepted.json';

/** `uncovered`: no test that was tried runs the line, a survivor too. */
export type Status = 'killed' | 'timeout' | 'survived' | 'uncovered';
export type Result = Pick<Mutant, 'operator' | 'line' | 'text'> & Readonly<{ key: string; status: Status; by: string }>;
export type FileResult = Readonly<{
  file: string;
  /** Of the file and of the tests that were tried. */
  textHash: string;
  testsHash: string;
  /** Tests that fail on the file as it is, or do not reach it: left out. */
  red: readonly string[];
  complete: boolean;
  results: readonly Result[];
}>;
/** A survivor that stays, by its file, operator and text, so that a moved line does not matter. */
export type Accepted = Readonly<{ file: string; operator: string; text: string; reason: string }>;

export function hashOf(...texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text).update('\0');
  return hash.digest('hex').slice(0, 16);
}

export function readResult(file: string): FileResult | null {
  return existsSync(pathOf(file)) ? (JSON.parse(readFileSync(pathOf(file), 'utf8')) as FileResult) : null;
}

export function writeResult(result: FileResult): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(pathOf(result.file), JSON.stringify(result, null, 1));
}

export function readAccepted(): readonly Accepted[] {
  return JSON.parse(readFileSync(acceptedFile, 'utf8')) as readonly Accepted[];
}

export type Summary = Readonly<{
  total: number;
  found: number;
  accepted: readonly Result[];
  fresh: readonly Result[];
  /** Accepted ones that survive no longer, or are no mutants any more. */
  stale: readonly Accepted[];
}>;

/** Takes the accepted survivors off. Mutants with the same text in one file are one to it. */
export function summarize({ file, results, complete }: FileResult, accepted: readonly Accepted[]): Summary {
  const own = accepted.filter((one) => one.file === file);
  const survivors = results.filter(({ status }) => status === 'survived' || status === 'uncovered');
  const matches = (result: Result, one: Accepted): boolean => one.operator === result.operator && one.text === result.text;
  return {
    total: results.length,
    found: results.length - survivors.length,
    accepted: survivors.filter((result) => own.some((one) => matches(result, one))),
    fresh: survivors.filter((result) => !own.some((one) => matches(result, one))),
    stale: complete ? own.filter((one) => !survivors.some((result) => matches(result, one))) : [],
  };
}

function pathOf(file: string): string {
  return join(folder, `${file.replaceAll('/', '_')}.json`);
}
