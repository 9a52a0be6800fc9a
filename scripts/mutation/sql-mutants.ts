/** Mutants of SQL in a text of the code: half of what storage and queries decide is decided there. */
import type { Edit } from './mutants.ts';

/** What is looked for (lower case, as SQL is written here) and what stands there instead. */
const rules: readonly (readonly [RegExp, string])[] = [
  [/(?<!between \S+) and /g, ' or '],
  [/\bor\b(?! replace)/g, 'and'],
  [/\bis null\b/g, 'is not null'],
  [/\bis not null\b/g, 'is null'],
  [/ <= /g, ' < '],
  [/ >= /g, ' > '],
  [/ < /g, ' <= '],
  [/ > /g, ' >= '],
  [/(?<=\b(?:where|and|or|on|when) [^\s=]+) = /g, ' <> '],
  [/ <> /g, ' = '],
  [/ desc\b/g, ' asc'],
  [/\bdistinct /g, ''],
  [/ for (update|share|no key update)( of \w+)?( skip locked)?/g, ''],
  [/ skip locked/g, ''],
  [/\bnot exists\b/g, 'exists'],
  [/\bleft join\b/g, 'join'],
  [/\bunion all\b/g, 'union'],
  [/\bmin\(/g, 'max('],
  [/\bmax\(/g, 'min('],
  [/\bleast\(/g, 'greatest('],
  [/\bgreatest\(/g, 'least('],
  [/ \+ /g, ' - '],
  [/ - /g, ' + '],
];

/** A condition that says whose a row is. It is left out so that its parameter keeps its type: else the server refuses the statement. */
const whose = /(?<=(?:\b(?:where|and|or|on) |\())(?:\w+\.)?(?:organization|project|xuser|subject|operator)_id = (?!any\b)[$\w.:]+/g;

export function looksLikeSql(text: string): boolean {
  return (
    /\b(select|insert into|update|delete from|where|from|order by|on conflict|values)\b/.test(text) &&
    /\s\S+\s/.test(text) &&
    !/[A-Z][a-z]+ /.test(text)
  );
}

export function sqlEdits(text: string): readonly Edit[] {
  const edits = (operator: string, pattern: RegExp, replacementOf: (found: string) => string): readonly Edit[] =>
    [...text.matchAll(pattern)].map(({ 0: found, index }) => ({
      operator,
      start: index,
      end: index + found.length,
      replacement: replacementOf(found),
    }));
  return [
    ...rules.flatMap(([pattern, replacement]) => edits('sql', pattern, () => replacement)),
    ...edits('whose', whose, (condition) => `(${condition} or true)`),
  ];
}
