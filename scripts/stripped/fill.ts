/** Keeps every .ts file without its types in .cache/stripped. Node strips types in every process and thread that it starts, and the tests
 *  start hundreds: this saves 0.2 s of CPU for each DSP worker and 0.4 s for each service. */
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = resolve('.cache/stripped');
/** What tests start; their own files are vitest's. */
const sources = '{src,sdk,scripts,faults,histories,accuracy,examples,test/helpers}/**/*.ts';

/** @returns the option of Node that makes use of it */
export function fillStripped(): string {
  mkdirSync(folder, { recursive: true });
  const there = new Set(readdirSync(folder));
  const wanted = new Set(['hook.js']);
  write('hook.js', stripTypeScriptTypes(readFileSync(join(import.meta.dirname, 'hook.ts'), 'utf8')));
  for (const path of globSync(sources).filter((name) => !/\.(test|d)\.ts$/.test(name))) {
    const text = readFileSync(path, 'utf8');
    const name = `${createHash('sha1').update(text).digest('hex')}.js`;
    wanted.add(name);
    if (!there.has(name)) keep(name, text);
  }
  for (const name of there) if (name.endsWith('.js') && !wanted.has(name)) rmSync(join(folder, name), { force: true });
  return `--import=${pathToFileURL(join(folder, 'hook.js')).href}`;
}

function keep(name: string, text: string): void {
  try {
    write(name, stripTypeScriptTypes(text));
  } catch {
    // A file half saved by an editor: Node reports it to the process that loads it.
  }
}

/** Another run may be reading. */
function write(name: string, text: string): void {
  const own = join(folder, `${name}.${process.pid}`);
  writeFileSync(own, text);
  renameSync(own, join(folder, name));
}
