/** `npm run changelog [-- VERSION]`: joins changes/*.md into CHANGELOG.md. Without a version it only shows the lines. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const kinds = ['added', 'changed', 'deprecated', 'removed', 'fixed', 'security'] as const;
export type Change = Readonly<{ kind: (typeof kinds)[number]; text: string }>;

/** Reads one fragment. @throws RangeError naming the file and what is wrong with it */
export function parseChange(name: string, content: string): Change {
  const match = /^([a-z]+): (\S.*\S)\n?$/.exec(content);
  const kind = kinds.find((item) => item === match?.[1]);
  if (match === null || kind === undefined)
    throw new RangeError(`changes/${name}: one line 'KIND: sentence', KIND one of ${kinds.join(', ')}`);
  if (!/^[A-Z`].*[.!]$/.test(match[2]!)) throw new RangeError(`changes/${name}: a sentence with a capital and a full stop`);
  return { kind, text: match[2]! };
}

/** Lines of a changelog, by kind. */
export function changeLines(changes: readonly Change[]): string[] {
  return kinds.flatMap((kind) =>
    changes.filter((change) => change.kind === kind).map(({ text }) => `- ${kind[0]!.toUpperCase()}${kind.slice(1)}: ${text}`),
  );
}

/** Puts the lines below the section "(unreleased)" and dates it, or above the newest version if there is none.
 *  @throws RangeError when there is no section at all */
export function withRelease(changelog: string, lines: readonly string[], version: string, date: string): string {
  const sections = changelog.split(/^(?=## )/m);
  const title = `## ${version} (${date})`;
  const open = sections.findIndex((section) => /^## .*\(unreleased\)\n/.test(section));
  if (open >= 0) {
    const [, ...rest] = sections[open]!.trimEnd().split('\n');
    sections[open] = `${[title, ...rest, ...lines].join('\n')}\n${open === sections.length - 1 ? '' : '\n'}`;
    return sections.join('');
  }
  const newest = sections.findIndex((section) => /^## \d/.test(section));
  if (newest < 0) throw new RangeError('CHANGELOG.md has no section of a version');
  return sections.toSpliced(newest, 0, `${title}\n\n${lines.join('\n')}\n\n`).join('');
}

export const changesFolder = join(import.meta.dirname, '../changes');
export const changeFiles = (): string[] =>
  readdirSync(changesFolder)
    .filter((name) => name !== 'README.md')
    .toSorted();

if (import.meta.main) {
  const names = changeFiles();
  const lines = changeLines(names.map((name) => parseChange(name, readFileSync(join(changesFolder, name), 'utf8'))));
  const [version] = process.argv.slice(2);
  console.log(lines.join('\n'));
  if (version !== undefined) {
    if (!/^\d+\.\d+\.\d+$/.test(version)) throw new RangeError(`'${version}' is not a version such as 0.2.0`);
    const path = join(import.meta.dirname, '../CHANGELOG.md');
    writeFileSync(path, withRelease(readFileSync(path, 'utf8'), lines, version, new Date().toISOString().slice(0, 10)));
    for (const name of names) rmSync(join(changesFolder, name));
  }
}
