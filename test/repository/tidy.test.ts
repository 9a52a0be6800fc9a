/** Holds files to the rules of docs/style.md. What was there before the rules is in tidy-allowed.json, by file; the list only shrinks. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { beforeCells, countFaults, excessOf, rules, shrunk, tidyTexts } from '../../scripts/tidy.ts';
import type { Counts } from '../../scripts/tidy.ts';

const root = join(import.meta.dirname, '../..');
const allowed = JSON.parse(readFileSync(join(import.meta.dirname, 'tidy-allowed.json'), 'utf8')) as Counts;
const found = countFaults(tidyTexts(root));

it('no file has more of it than it had', () => {
  expect(excessOf(found, allowed)).toEqual([]);
});

it('the list of what is left over allows nothing that is gone: `npm run docs` lowers it', () => {
  expect(allowed).toEqual(shrunk(found, allowed));
});

describe('every rule finds its fault', () => {
  const planted: Readonly<Record<string, readonly [path: string, text: string]>> = {
    beside: ['docs/a.md', 'A key lies beside it.'],
    whoever: ['src/a.ts', '// Whoever asks waits.'],
    somebody: ['widgets/a.ts', "const text = 'Somebody else changed it';"],
    dear: ['src/a.ts', '// the dearest part'],
    mend: ['docs/a.md', 'A patch mends.'],
    'let go': ['src/a.ts', '// what it lets go'],
    'hear of': ['src/a.ts', '/** Every node hears of it. */'],
    'before cell': ['src/a.ts', '/** Says who\n *  calls: the gate. */'],
    'What …': ['src/a.ts', '/** What a page is. */\nconst x = 1;'],
    'long comment': ['src/a.ts', `const x = 1;\n  // ${'word '.repeat(30)}`],
    'bare sleep': ['test/a.test.ts', 'await new Promise((resolve) => setTimeout(resolve, 10));'],
    'cast of a request': ['src/http/a-routes.ts', 'const input = body as { id: string };'],
    'process.exit': ['src/a.ts', 'process.exit(1);'],
    'Math.random': ['src/a.ts', 'const delayMs = Math.random() * 10;'],
    'new Date()': ['src/a.ts', 'const now = new Date();'],
    parseInt: ['src/a.ts', 'const n = parseInt(text);'],
    'focused test': ['test/a.test.ts', "it.only('works', () => {});"],
  };

  it.each(Object.keys(rules))('%s', (name) => {
    const [path, text] = planted[name]!;
    expect(countFaults(new Map([[path, text]]))).toEqual({ [name]: { [path]: 1 } });
  });

  it('each "before" of the table in docs/style.md', () => {
    expect(beforeCells.length).toBeGreaterThan(20);
    for (const cell of beforeCells) expect(countFaults(new Map([['docs/a.md', `- ${cell}!`]]))['before cell']).toEqual({ 'docs/a.md': 1 });
  });

  it('what is meant is left alone', () => {
    const good = new Map([
      [
        'src/a.ts',
        "/** Closes the socket. */\n// Besides, `process.exitCode` is set.\nconst at = new Date(ms);\nconst s = 'x'.repeat(200);",
      ],
      ['src/a-routes.ts', 'const input: Static<typeof Body> = body;'],
      ['test/a.test.ts', "const other = 'somebody else'; const text = 'dear diary';"],
    ]);
    expect(countFaults(good)).toEqual({});
  });

  it('names the file, the count and what to write instead', () => {
    expect(excessOf({ dear: { 'src/a.ts': 2 } }, { dear: { 'src/a.ts': 1 } })).toEqual([
      `src/a.ts: 'dear' 2 times, allowed 1; write "expensive", or the cost in a number`,
    ]);
  });

  it('the list shrinks and never grows', () => {
    expect(shrunk({ dear: { 'src/a.ts': 1, 'src/new.ts': 4 } }, { dear: { 'src/a.ts': 2 }, mend: { 'src/b.ts': 1 } })).toEqual({
      dear: { 'src/a.ts': 1 },
    });
  });
});
