/** Which parts of a file a test runs: markers at the start of every body and branch note themselves once per process in a folder. V8's own
 *  coverage would be of the text that vitest makes of a file; this holds in worker threads and services of their own as well. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, walk } from './mutants.ts';
import type { Node } from './mutants.ts';

/** A part of a file. Part 0 is the module itself: what runs when it is loaded. */
export type Part = Readonly<{ start: number; end: number }>;
type Insertion = Readonly<{ at: number; text: string }>;

export const hitsVariable = 'BIO_MUTATION_HITS';

/** The parts of a file, outer ones before inner ones, and its text with markers. @param id names the file in the notes */
export function withMarkers(file: string, source: string, id: number): Readonly<{ parts: readonly Part[]; text: string }> {
  const parts: Part[] = [{ start: 0, end: source.length }];
  const insertions: Insertion[] = [];
  const mark = (part: Part, before: string, after: string): void => {
    insertions.push({ at: part.start, text: before.replace('#', `__part(${parts.length})`) });
    if (after !== '') insertions.push({ at: part.end, text: after });
    parts.push(part);
  };
  const branch = (node: Node | null | undefined): void => {
    if (node && node.type !== 'BlockStatement') mark(node, '{#;', '}');
  };
  walk(parse(file, source), [], (node, parents) => {
    const parent = parents.at(-1);
    if (node.type === 'BlockStatement') mark({ start: node.start + 1, end: node.end }, '#;', '');
    if (node.type === 'IfStatement') {
      branch(node['consequent'] as Node);
      branch(node['alternate'] as Node | null);
    }
    if (node.type === 'SwitchCase') {
      const first = (node['consequent'] as readonly Node[])[0];
      if (first !== undefined) mark({ start: first.start, end: node.end }, '#;', '');
    }
    const isBody = parent?.type === 'ArrowFunctionExpression' && parent['body'] === node && node.type !== 'BlockStatement';
    // The body may stand in brackets of its own, so the brackets go around what follows the arrow.
    if (isBody) mark({ start: source.indexOf('=>', endOfHead(parent)) + 2, end: parent.end }, '(#, ', ')');
    return true;
  });
  const note = `
;__part(0);
function __part(part) {
  const folder = globalThis.process?.env?.${hitsVariable};
  if (!folder || (globalThis.__parts ??= new Set()).has('${id} ' + part)) return;
  globalThis.__parts.add('${id} ' + part);
  process.getBuiltinModule('node:fs').appendFileSync(folder + '/' + process.pid, '${id} ' + part + '\\n');
}
`;
  let text = source + note;
  // From the end; at one place the outer part's marker comes first, and closing ones before opening ones.
  for (const { at, text: marker } of insertions.toSorted((a, b) => b.at - a.at || insertions.indexOf(b) - insertions.indexOf(a)))
    text = text.slice(0, at) + marker + text.slice(at);
  return { parts, text };
}

/** Reads what the markers noted in a folder: `file part`. */
export function readHits(folder: string): ReadonlySet<string> {
  const hits = new Set<string>();
  for (const name of readdirSync(folder))
    for (const line of readFileSync(join(folder, name), 'utf8').split('\n')) if (line !== '') hits.add(line);
  return hits;
}

/** The innermost part that holds a place. */
export function partAt(parts: readonly Part[], at: number): number {
  let found = 0;
  for (let i = 1; i < parts.length; i++) {
    const { start, end } = parts[i]!;
    const best = parts[found]!;
    if (start <= at && at < end && end - start <= best.end - best.start) found = i;
  }
  return found;
}

/** Where the head of an arrow function ends, or a place in it after which the next arrow is its own. */
function endOfHead(arrow: Node): number {
  const type = arrow['returnType'] as Node | null | undefined;
  const last = (arrow['params'] as readonly Node[]).at(-1);
  return type?.end ?? last?.end ?? arrow.start;
}
