/** Rules of style that neither the compiler nor the linter knows (docs/style.md): words that give a translation away, sentences of the
 *  "before" column of its table, comment lines that are too long, sleeps, casts of requests, and calls that have a better one.
 *  test/repository/tidy.test.ts holds every file to them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

type Rule = Readonly<{
  /** Matches of it are counted, file by file. */
  pattern: RegExp;
  instead: string;
  covers: (path: string) => boolean;
}>;
/** Rule to file to count. */
export type Counts = Record<string, Record<string, number>>;

const isText = (path: string): boolean => /\.(ts|md)$/.test(path);
const isCode = (path: string): boolean => path.endsWith('.ts');
const isIn = (folders: RegExp) => (path: string) => isCode(path) && folders.test(path);
const isService = (path: string): boolean => path.startsWith('src/') && isCode(path) && !/\.test\.ts$|\/testing\//.test(path);

/** The "before" cells of the table in docs/style.md, without the name of an option or a final full stop. */
export const beforeCells: readonly string[] = readFileSync(join(import.meta.dirname, '../docs/style.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| \d+ \|/.test(line))
  .map((line) => line.split(' | ')[1]!.replace(/^`[^`]*`: |\.$/g, ''));

/** Matches any of the sentences, also where a comment breaks its lines. */
function sentencePattern(sentences: readonly string[]): RegExp {
  const gap = String.raw`\s+(?:(?:\*|\/\/) +)?`;
  const words = (text: string): string[] => text.split(' ').map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`(?<!\\w)(?:${sentences.map((sentence) => words(sentence).join(gap)).join('|')})(?!\\w)`, 'gi');
}

export const rules: Readonly<Record<string, Rule>> = {
  beside: { pattern: /(?<!-)\bbeside\b/gi, instead: '"next to" for a place, "besides" for "in addition to"', covers: isText },
  whoever: { pattern: /\bwhoever\b/gi, instead: 'the actor: the caller, the client, the operator', covers: isText },
  // Tests use 'somebody else' and 'somebody-else' as names.
  somebody: {
    pattern: /(?<!['":])\bsomebody\b|\bsomebody\b(?![- ]else['"])/gi,
    instead: 'the actor: another client, a person, an operator; or "someone"',
    covers: isText,
  },
  // Not "dear diary", which people write.
  dear: { pattern: /\bdear(er|est)?\b(?! diary)/gi, instead: '"expensive", or the cost in a number', covers: isText },
  mend: { pattern: /\bmend(s|ed|ing)?\b/gi, instead: '"fix", "repair"', covers: isText },
  'let go': { pattern: /\blet(s|ting)? go\b/gi, instead: '"release", "drop", "forget"', covers: isText },
  'hear of': { pattern: /\bhear(s|d)? of\b/gi, instead: '"is notified of", "learns of", "is called with"', covers: isText },
  'before cell': { pattern: sentencePattern(beforeCells), instead: 'the "after" of the table in docs/style.md', covers: isText },
  'What …': {
    pattern: /^(?:#!.*\n)?(?:\/\*\*|\/\/) (?:What|How|Who) /g,
    instead: 'a noun phrase or a verb: "Table of …", "Decides …"',
    covers: isCode,
  },
  'long comment': {
    pattern: /^(?=.{141})[ \t]*(?:\/\/|\/\*|\*[ /]).*$/gm,
    instead: 'a line break: comments are not formatted, 140 characters fit a screen',
    covers: isCode,
  },
  'bare sleep': {
    pattern: /new Promise(?:<\w+>)?\(\s*\(\w*\)\s*=>\s*(?:void\s+)?setTimeout\(/g,
    instead: 'a promise that the state change resolves; else sleep of node:timers/promises',
    covers: isIn(/^(src|test)\//),
  },
  'cast of a request': {
    pattern: /\b(?:body|query|params|input) as (?:\{|Readonly<)/g,
    instead: 'the type of the schema: Static<typeof Schema>',
    covers: isIn(/^src\/.*-routes\.ts$/),
  },
  'process.exit': {
    pattern: /\bprocess\.exit\(/g,
    instead: 'an error that reaches the starter, or process.exitCode',
    covers: isService,
  },
  'Math.random': { pattern: /\bMath\.random\(/g, instead: 'a random source passed in; randomBytes for secrets', covers: isService },
  'new Date()': { pattern: /\bnew Date\(\)/g, instead: 'a clock passed in, or the time of the database', covers: isService },
  parseInt: {
    pattern: /\bparse(?:Int|Float)\(/g,
    instead: 'Number(), which does not stop at the first wrong character',
    covers: isService,
  },
  'focused test': { pattern: /\b(?:it|test|describe)\.only\(/g, instead: 'all tests', covers: isCode },
};

const folders = ['src', 'sdk', 'widgets', 'dashboard', 'test', 'scripts', 'bench', 'faults', 'histories', 'accuracy', 'examples', 'docs'];
/** Generated, measured, or about the words themselves. */
const excluded =
  /^(src\/proto\/generated\/|sdk\/api-types\.ts|docs\/(measurements|errors)\/|docs\/(errors|promises|features|schema|limits|style)\.md|scripts\/tidy\.ts|test\/repository\/tidy\.test\.ts)/;

/** Texts of the repository by path. */
export function tidyTexts(root: string): ReadonlyMap<string, string> {
  const paths = [
    ...readdirSync(root).filter((name) => /\.(ts|md)$/.test(name) && name !== 'CHANGELOG.md'),
    ...folders.flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => `${folder}/${String(name)}`)),
  ];
  const wanted = paths.filter((path) => isText(path) && !excluded.test(path)).toSorted();
  return new Map(wanted.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

export function countFaults(texts: ReadonlyMap<string, string>): Counts {
  const counts: Counts = {};
  for (const [name, { pattern, covers }] of Object.entries(rules)) {
    for (const [path, text] of texts) {
      const count = covers(path) ? (text.match(pattern) ?? []).length : 0;
      if (count > 0) (counts[name] ??= {})[path] = count;
    }
  }
  return counts;
}

/** Sentences about files that have more than they are allowed. */
export function excessOf(found: Counts, allowed: Counts): string[] {
  return Object.entries(found).flatMap(([name, files]) =>
    Object.entries(files)
      .filter(([path, count]) => count > (allowed[name]?.[path] ?? 0))
      .map(([path, count]) => `${path}: '${name}' ${count} times, allowed ${allowed[name]?.[path] ?? 0}; write ${rules[name]?.instead}`),
  );
}

/** The allow-list without what is not used any more: it shrinks and never grows. */
export function shrunk(found: Counts, allowed: Counts): Counts {
  const lists = Object.entries(allowed).map(([name, files]) => {
    const kept = Object.entries(files).map(([path, count]) => [path, Math.min(count, found[name]?.[path] ?? 0)] as const);
    return [name, Object.fromEntries(kept.filter(([, count]) => count > 0))] as const;
  });
  return Object.fromEntries(lists.filter(([, files]) => Object.keys(files).length > 0));
}
