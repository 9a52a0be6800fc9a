/** Documents: every `biosignal` command line in them parses with the options that the command has, and relative links lead somewhere. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { describe, expect, test } from 'vitest';
import { commands } from '../src/cli/commands.ts';

const root = join(import.meta.dirname, '..');
const documents = [
  'README.md',
  'examples/device/README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].filter((path) => existsSync(join(root, path)));

/** Words of a shell line: quotes are taken off, nothing is expanded. */
function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
}

function commandLines(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const match = /^(?:\s{4,}|\$ )(?:scripts\/biosignal\.sh|biosignal) (.+?)(?:\s+#.*)?$/.exec(line);
    return match === null ? [] : match[1]!.split(/\s+&&\s+(?:scripts\/biosignal\.sh |biosignal )?/);
  });
}

describe.each(documents)('%s', (path) => {
  const text = readFileSync(join(root, path), 'utf8');

  test('its command lines are ones that the binary takes', async () => {
    for (const line of commandLines(text)) {
      const [name = '', ...args] = words(line.replace(/ > \S+$/, ''));
      if (name.startsWith('-')) continue;
      const entry = commands[name];
      expect(entry, `${path}: biosignal ${line}`).toBeDefined();
      const command = await entry!.load();
      const options = Object.fromEntries(Object.entries(command.options).map(([option, spec]) => [option, { type: spec.type }]));
      const all = { ...options, json: { type: 'boolean' as const }, help: { type: 'boolean' as const } };
      expect(() => parseArgs({ args, options: all, allowPositionals: true, strict: true }), `${path}: biosignal ${line}`).not.toThrow();
    }
  });

  test('its relative links lead to files', () => {
    for (const [, target = ''] of text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      expect(existsSync(join(root, dirname(path), target)), `${path}: ${target}`).toBe(true);
    }
  });
});

describe.each(Object.keys(commands))('biosignal %s', (name) => {
  test('is called what the table says, and its examples are valid', async () => {
    const command = await commands[name]!.load();
    expect(command.name).toBe(name);
    expect(command.summary).toBe(commands[name]!.summary);
    const options = Object.fromEntries(Object.entries(command.options).map(([option, spec]) => [option, { type: spec.type }]));
    for (const example of command.examples ?? []) {
      for (const part of example.split(' && ')) {
        const [, of = '', ...args] = words(part.replace(/ > \S+$/, ''));
        expect(Object.keys(commands)).toContain(of);
        if (of !== name) continue;
        expect(
          () => parseArgs({ args, options: { ...options, json: { type: 'boolean' } }, allowPositionals: true }),
          example,
        ).not.toThrow();
      }
    }
  });
});
