/** Holds the table of who may import whom (docs/architecture.md). Reads import lines; a new folder without a row fails. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = normalize(join(import.meta.dirname, '..'));
const everything = ['*'];
const allowed: Readonly<Record<string, readonly string[]>> = {
  'src/signal.ts': [],
  'src/errors.ts': [],
  'src/metrics.ts': [],
  'src/text.ts': [],
  'src/metrics.test.ts': ['src/metrics.ts'],
  'src/text.test.ts': ['src/text.ts'],
  'src/config.ts': ['src/errors.ts'],
  'src/proto': ['src/signal.ts', 'src/errors.ts', 'src/text.ts'],
  'src/formats': ['src/signal.ts', 'src/errors.ts'],
  'src/dsp': ['src/signal.ts'],
  'src/storage': ['src/signal.ts', 'src/errors.ts', 'src/config.ts', 'src/metrics.ts', 'src/text.ts'],
  'src/http': ['src/errors.ts', 'src/config.ts', 'src/metrics.ts', 'src/text.ts'],
  'src/auth': ['src/signal.ts', 'src/errors.ts', 'src/config.ts', 'src/storage', 'src/http'],
  'src/ingest': ['src/signal.ts', 'src/errors.ts', 'src/config.ts', 'src/metrics.ts', 'src/proto', 'src/auth', 'src/http'],
  'src/query': ['src/signal.ts', 'src/errors.ts', 'src/config.ts', 'src/proto', 'src/auth', 'src/storage', 'src/http', 'src/formats'],
  'src/live': ['src/signal.ts', 'src/errors.ts', 'src/config.ts', 'src/metrics.ts', 'src/proto', 'src/auth', 'src/http'],
  'src/records': ['src/signal.ts', 'src/errors.ts', 'src/config.ts', 'src/auth', 'src/storage', 'src/http'],
  'src/pipeline.ts': [
    'src/signal.ts',
    'src/errors.ts',
    'src/config.ts',
    'src/metrics.ts',
    'src/proto',
    'src/ingest',
    'src/dsp',
    'src/storage',
    'src/live',
  ],
  'src/server.ts': everything,
  'src/demo.ts': everything,
  'src/cli': everything,
  // A black box: what any client has, and nothing of the service.
  'src/cli/conform': ['src/cli', 'src/signal.ts', 'src/proto', 'src/formats', 'sdk'],
  widgets: ['widgets', 'sdk', 'src/signal.ts'],
  dashboard: ['dashboard', 'widgets', 'sdk'],
  sdk: ['sdk', 'src/signal.ts', 'src/proto'],
  examples: everything,
  bench: everything,
  test: everything,
  scripts: everything,
};

function typeScriptFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** The unit a file belongs to: the longest key of the table that is the file or a folder above it. */
function unitOf(file: string): string | undefined {
  return Object.keys(allowed)
    .filter((unit) => file === unit || file.startsWith(`${unit}/`))
    .toSorted((a, b) => b.length - a.length)[0];
}

const isTest = (file: string): boolean => /\.(test|bench)\.ts$/.test(file);

describe('who may import whom', () => {
  const files = ['src', 'widgets', 'dashboard', 'sdk', 'bench', 'test', 'scripts', 'examples'].flatMap((folder) =>
    typeScriptFiles(join(root, folder)),
  );

  // promise: imports-held
  it('every file belongs to a unit of the table', () => {
    expect(files.filter((file) => unitOf(file) === undefined)).toEqual([]);
    expect(files.length).toBeGreaterThan(3);
  });

  // promise: imports-held
  it('every import follows the table', () => {
    const broken: string[] = [];
    for (const file of files) {
      const unit = unitOf(file);
      if (unit === undefined || isTest(file)) continue;
      const rules = allowed[unit] ?? [];
      const source = readFileSync(join(root, file), 'utf8');
      for (const match of source.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
        const target = relative(root, normalize(join(root, dirname(file), match[1] ?? '')));
        const targetUnit = unitOf(target);
        const own = targetUnit === unit;
        if (!own && !rules.includes('*') && (targetUnit === undefined || !rules.includes(targetUnit)))
          broken.push(`${file} imports ${target}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it('no barrel, no default drawer', () => {
    const drawers = /(^|\/)(index|utils?|helpers?|lib|common|interfaces|types)\.ts$/;
    // dashboard/index.ts is the script of dashboard/index.html.
    expect(files.filter((file) => drawers.test(file) && file !== 'dashboard/index.ts')).toEqual([]);
  });
});
