/** Promises of the documents, and the tests that hold them: the marks of both sides, what is wrong with them, and docs/promises.md.
 *  In a document `<!-- promise: ID -->` stands right behind the sentence, `<!-- promise again: ID -->` where another says the same. Above a
 *  test `// promise: ID, ID` says what it holds; `// setting: BIO_X` and `// job: NAME` likewise. In src/ `// job: NAME: what it does`
 *  stands above the timer of a background job. */

export type Sources = Readonly<{
  /** Text by path, of what promises, in the order of the table. */
  documents: Readonly<Record<string, string>>;
  /** Text by path: files of tests. */
  tests: Readonly<Record<string, string>>;
  /** Text by path: what runs in the service. */
  code: Readonly<Record<string, string>>;
  /** Variables of src/config.ts with their meaning. */
  settings: Readonly<Record<string, string>>;
}>;

export type Promised = Readonly<{ id: string; sentence: string; path: string; anchor: string; again: boolean }>;
type Kind = 'promise' | 'setting' | 'job';
export type Held = Readonly<{ kind: Kind; id: string; path: string; line: number; test: string }>;
export type Job = Readonly<{ id: string; what: string; path: string }>;
type Read<T> = Readonly<{ found: readonly T[]; problems: readonly string[] }>;

const ID = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const MARK = /<!--\s*(promise(?: again)?):\s*(.*?)\s*-->/g;
const idsOf = (list: string): string[] => list.split(',').map((id) => id.trim());

/** The anchor of a heading, as GitHub makes it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

type Block = { text: string; anchor: string; fenced: boolean };

/** Paragraphs, items of lists and rows of tables, each as one line. */
function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let anchor = '';
  let fenced = false;
  let fresh = true;
  for (const line of text.split('\n')) {
    const heading = fenced ? null : /^#+ (.+)$/.exec(line);
    if (heading !== null) anchor = anchorOf(heading[1]!.replaceAll(/<!--.*?-->/g, ''));
    const fence = /^\s*```/.test(line);
    if (fence) fenced = !fenced;
    if (fence || line.trim() === '') {
      fresh = true;
      continue;
    }
    const starts = fresh || fenced || /^\s*(?:[-*|]|\d+\.|#+) ?/.test(line);
    if (starts) blocks.push({ text: line.trim(), anchor, fenced });
    else blocks.at(-1)!.text += ` ${line.trim()}`;
    fresh = heading !== null;
  }
  return blocks;
}

const plain = (text: string): string =>
  text
    .replaceAll(/<!--.*?-->/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .replaceAll(/\s+/g, ' ')
    .trim();

const SENTENCE_END = /[.!?]["')`*]*\s+(?=[\p{Lu}`*["'(])|:\s+(?=\p{Lu})/gu;

const CLAUSE_END = /(?:[.!?]["')`*]*|[:;])\s+/gu;

/** The sentence before a mark, or what of it no earlier mark has taken. */
function sentenceBefore(text: string, end: RegExp): string {
  const bare = text.replace(/^(?:[-*]|\d+\.|#+)\s+/, '');
  const ends = [...bare.matchAll(end)].map((match) => match.index + match[0].length);
  const marks = [...bare.matchAll(MARK)].map((match) => match.index + match[0].length);
  // A mark may stand behind the end of its sentence, with a space before it.
  const start = Math.max(0, ...[...ends, ...marks].filter((at) => plain(bare.slice(at)) !== ''));
  return plain(bare.slice(start)).replaceAll(/^[,;:.]\s*|[,;:]$/g, '');
}

/** Of a row of a table also the cells before, which say what it is about. */
function sentenceOf(block: string, at: number): string {
  const before = block.slice(0, at);
  if (!block.startsWith('|')) return sentenceBefore(before, SENTENCE_END);
  const cells = before.slice(1).split(/(?<!\\)\|/);
  const own = sentenceBefore(cells.pop()!.trim(), CLAUSE_END);
  return [...cells.map(plain), own].filter((cell) => cell !== '').join(' · '); // prettier-ignore
}

export function promisesOf(path: string, text: string): Read<Promised> {
  const problems: string[] = [];
  const found = blocksOf(text).flatMap(({ text: block, anchor, fenced }) =>
    [...block.matchAll(MARK)].flatMap((match) => {
      if (fenced) problems.push(`${path}: a mark in a block of code is shown: ${match[0]}`);
      const sentence = sentenceOf(block, match.index);
      return idsOf(match[2]!).flatMap((id): Promised[] => {
        if (!ID.test(id)) problems.push(`${path}: '${id}' is no id: lower case, digits and hyphens`);
        else if (sentence === '') problems.push(`${path}: no sentence before the mark ${id}`);
        else return [{ id, sentence, path, anchor, again: match[1] !== 'promise' }];
        return [];
      });
    }),
  );
  const wrong = [...text.matchAll(/<!--(?=\s*promise)(?:(?!-->)[\s\S])*-->/gi)]
    .map(([mark]) => mark)
    .filter((mark) => mark.search(MARK) < 0);
  return { found, problems: [...problems, ...wrong.map((mark) => `${path}: not a mark: ${mark}`)] };
}

const CALL = /^\s*(?:test|it)\b((?:\.\w+)*)/;
const STRING = String.raw`(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|` + '`((?:[^`\\\\]|\\\\.)*)`)';
const TITLE = new RegExp(String.raw`^\s*(?:test|it)\b(?:\.\w+)*\(\s*${STRING}`);
const TITLE_BEHIND = new RegExp(String.raw`\)\(\s*${STRING}`);

/** The name that a call of `test` or `it` gives, as it is written; null where there is none. */
function titleAt(text: string): string | null {
  const match = /^\s*(?:test|it)(?:\.\w+)*\.(?:each|skipIf|runIf|for)\b/.test(text) ? TITLE_BEHIND.exec(text) : TITLE.exec(text);
  const title = match?.[1] ?? match?.[2] ?? match?.[3];
  return title === undefined ? null : title.replaceAll(/\\(.)/g, '$1');
}

/** What the tests of a file say that they hold: comments straight above them. */
export function heldBy(path: string, text: string): Read<Held> {
  const problems: string[] = [];
  const lines = text.split('\n');
  const found: Held[] = [];
  lines.forEach((line, index) => {
    const mark = /^\s*\/\/ (promise|setting|job): (.+)$/.exec(line);
    if (mark === null) return;
    let below = index + 1;
    while (/^\s*\/\//.test(lines[below] ?? '')) below++;
    const call = CALL.exec(lines[below] ?? '');
    const name = call === null ? null : titleAt(lines.slice(below).join('\n'));
    if (name === null) problems.push(`${path}:${index + 1}: no test below '${line.trim()}'`);
    else if (/\.(?:skip|todo|fails)\b/.test(call![1]!)) problems.push(`${path}:${index + 1}: '${name}' does not run, so it holds nothing`);
    else for (const id of idsOf(mark[2]!)) found.push({ kind: mark[1] as Kind, id, path, line: below + 1, test: name });
  });
  return { found, problems };
}

const NO_JOB = /^\s*\/\/ no job: .+/;

/** Background jobs of a file; a timer that repeats and is neither named nor said to be none (`// no job: WHY`) is a problem. */
export function jobsOf(path: string, text: string): Read<Job> {
  const lines = text.split('\n');
  const jobAt = (index: number): RegExpExecArray | null => /^\s*\/\/ job: ([\w-]+): (.+)$/.exec(lines[index] ?? '');
  const found = lines.flatMap((_line, index) => {
    const mark = jobAt(index);
    return mark === null ? [] : [{ id: mark[1]!, what: mark[2]!, path }];
  });
  const problems = lines.flatMap((line, index) => {
    if (!/\bsetInterval\(|\b\w*atabase\.listen\(/.test(line) || /^\s*(?:\/\/|\*)/.test(line)) return [];
    let above = index - 1;
    while (/^\s*\/\//.test(lines[above] ?? '') && jobAt(above) === null && !NO_JOB.test(lines[above]!)) above--;
    return jobAt(above) === null && !NO_JOB.test(lines[above] ?? '')
      ? [`${path}:${index + 1}: a background job without '// job: NAME: what it does' above it`]
      : [];
  });
  return { found, problems };
}

type Everything = Readonly<{ promises: readonly Promised[]; held: readonly Held[]; jobs: readonly Job[]; problems: readonly string[] }>;

function readAll(sources: Sources): Everything {
  const each = <T>(files: Readonly<Record<string, string>>, read: (path: string, text: string) => Read<T>): Read<T> => {
    const all = Object.entries(files).map(([path, text]) => read(path, text));
    return { found: all.flatMap(({ found }) => found), problems: all.flatMap(({ problems }) => problems) };
  };
  const promises = each(sources.documents, promisesOf);
  const held = each(sources.tests, heldBy);
  const jobs = each(sources.code, jobsOf);
  const problems = [...promises.problems, ...held.problems, ...jobs.problems];
  return { promises: promises.found, held: held.found, jobs: jobs.found, problems };
}

const doubles = (ids: readonly string[]): string[] => [...new Set(ids.filter((id, index) => ids.indexOf(id) < index))];

/** Everything that is wrong with the marks; empty when each promise, setting and job has a test and each test names what exists. */
export function problemsOf(sources: Sources): string[] {
  const { promises, held, jobs, problems } = readAll(sources);
  const made = promises.filter(({ again }) => !again).map(({ id }) => id);
  const known: Record<Kind, readonly string[]> = { promise: made, job: jobs.map(({ id }) => id), setting: Object.keys(sources.settings) };
  const kinds = Object.keys(known) as Kind[];
  const holds = (kind: Kind, id: string): boolean => held.some((row) => row.kind === kind && row.id === id);
  return [
    ...problems,
    ...doubles(made).map((id) => `promise ${id} is made twice: write 'promise again' where it is repeated`),
    ...doubles(known.job).map((id) => `two jobs are called ${id}`),
    ...promises.filter(({ id, again }) => again && !made.includes(id)).map(({ id, path }) => `${path}: repeats the unknown promise ${id}`),
    ...kinds.flatMap((kind) => [...new Set(known[kind])].filter((id) => !holds(kind, id)).map((id) => `${kind} ${id}: no test holds it`)),
    ...held.filter(({ kind, id }) => !known[kind].includes(id)).map(({ kind, id, path, line }) => `${path}:${line}: unknown ${kind} ${id}`),
  ];
}

const cell = (text: string): string =>
  text
    .replaceAll(/(?<!\\)\|/g, '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll('\n', ' ');
const fromDocs = (path: string): string => (path.startsWith('docs/') ? path.slice('docs/'.length) : `../${path}`);

/** docs/promises.md */
export function promisesDocument(sources: Sources): string {
  const { promises, held, jobs } = readAll(sources);
  const testsOf = (kind: Kind, id: string): string =>
    held
      .filter((row) => row.kind === kind && row.id === id)
      .map(
        ({ path, test }) =>
          `[${path
            .split('/')
            .at(-1)!
            .replace(/\.test\.ts$/, '')}](${fromDocs(path)}): ${cell(test)}`,
      )
      .join('<br>');
  const place = ({ path, anchor }: Promised): string => fromDocs(path) + (anchor === '' ? '' : `#${anchor}`);
  const chapter = (path: string): string[] => {
    const here = promises.filter((row) => row.path === path && !row.again);
    const rows = here.map((row) => {
      const again = promises.filter((other) => other.again && other.id === row.id);
      const also = again.map((other) => `[${other.path.split('/').at(-1)!}](${place(other)})`);
      return `| ${cell(row.sentence)}${also.length > 0 ? ` (also: ${also.join(', ')})` : ''} [\`${row.id}\`](${place(row)}) | ${testsOf('promise', row.id)} |`;
    });
    return here.length === 0 ? [] : [`## ${path}`, '', '| promise | held by |', '|---|---|', ...rows, ''];
  };
  return [
    '# What is promised, and what holds it',
    '',
    'Written by `npm run docs`. A sentence that promises behaviour has a mark behind it in its document, which a reader does not see; the tests',
    'below fail when it is broken, and name it in a comment above them: `grep -rn "promise: packets-once" docs test src`. `test/proof/promises.test.ts`',
    'fails for a promise, setting or background job without a test, for a test that names one that does not exist, and when this page is stale.',
    '',
    'Do the tests fail? `npm run promises-planted` breaks promises of every document in a copy of the checkout, one at a time (the list is',
    '[scripts/planted/promises.ts](../scripts/planted/promises.ts)), runs the tests that hold each, and prints a row for it: what was broken,',
    'and what the test asserts of it; one that never ends, or breaks on the way, has not seen it. With ids behind `--` it breaks those only. A',
    'test of a new promise gets a row there, or is broken once by hand.',
    '',
    ...Object.keys(sources.documents).flatMap(chapter),
    '## Settings',
    '',
    '| setting | held by |',
    '|---|---|',
    ...Object.keys(sources.settings).map((env) => `| \`${env}\` | ${testsOf('setting', env)} |`),
    '',
    '## Background jobs',
    '',
    '| job | what it does | in | held by |',
    '|---|---|---|---|',
    ...jobs.map(({ id, what, path }) => `| \`${id}\` | ${cell(what)} | \`${path}\` | ${testsOf('job', id)} |`),
  ].join('\n') + '\n'; // prettier-ignore
}
