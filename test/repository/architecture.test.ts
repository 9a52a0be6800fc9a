/** Holds the table of who may import whom (docs/architecture.md). Reads import lines; a new folder without a row fails. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = normalize(join(import.meta.dirname, '../..'));
const everything = ['*'];
const ground = [
  'src/signal.ts',
  'src/errors.ts',
  'src/text.ts',
  'src/spellings.ts',
  'src/caller.ts',
  'src/key-format.ts',
  'src/metrics.ts',
  'src/config.ts',
  'src/unix-clock.ts',
  'src/units',
];
const database = 'src/storage/database';
const dsp = (...rooms: readonly string[]): string[] => ['src/signal.ts', ...rooms.map((room) => `src/dsp/${room}`)];
const allowed: Readonly<Record<string, readonly string[]>> = {
  'src/signal.ts': [],
  'src/errors.ts': [],
  'src/metrics.ts': [],
  'src/text.ts': [],
  'src/spellings.ts': [],
  'src/caller.ts': [],
  'src/key-format.ts': [],
  'src/unix-clock.ts': [],
  'src/units': [],
  'src/metrics.test.ts': ['src/metrics.ts'],
  'src/text.test.ts': ['src/text.ts'],
  'src/key-format.test.ts': ['src/key-format.ts'],
  'src/signal.test.ts': ['src/signal.ts'],
  'src/config.ts': ['src/errors.ts'],
  'src/proto': ['src/signal.ts', 'src/errors.ts', 'src/text.ts'],
  'src/formats': ['src/signal.ts', 'src/errors.ts'],
  'src/dsp/kernels': dsp(),
  'src/dsp/rows': dsp(),
  'src/dsp/hrv': dsp('kernels', 'rows'),
  'src/dsp/ecg': dsp('kernels'),
  'src/dsp/ppg': dsp('kernels'),
  'src/dsp/slow': dsp('kernels'),
  'src/dsp/engine': dsp('kernels', 'rows', 'hrv', 'ecg', 'ppg', 'slow'),
  'src/dsp/pool': dsp('kernels', 'rows', 'engine'),
  'src/dsp/catalog': dsp('kernels', 'rows', 'hrv', 'ecg', 'ppg', 'slow', 'engine'),
  'src/dsp/testing': dsp('kernels', 'rows', 'engine', 'pool'),
  'src/cluster': [],
  'src/bus': [...ground, 'src/cluster'],
  'src/forward': [...ground, 'src/proto', 'src/cluster', 'src/bus', 'src/http', 'src/ingest', 'src/live'],
  'src/storage/database': ground,
  'src/storage/schema': [...ground, database],
  'src/storage': [...ground, 'src/cluster', database, 'src/storage/schema'],
  'src/http': ground,
  'src/tenancy': [...ground, 'src/storage', database, 'src/http'],
  'src/auth': [...ground, database, 'src/http', 'src/tenancy'],
  'src/ingest': [...ground, 'src/proto', 'src/http'],
  'src/live': [...ground, 'src/proto', 'src/http'],
  'src/query': [...ground, 'src/proto', 'src/formats', ...dsp('hrv', 'ecg', 'engine'), 'src/storage', database, 'src/http', 'src/tenancy'],
  // Asks and checks questionnaires alike in pages and in the service.
  'sdk/questionnaire.ts': [],
  'src/records': [...ground, 'src/storage', database, 'src/http', 'src/tenancy', 'src/auth', 'sdk/questionnaire.ts'],
  'src/webhooks': [...ground, database, 'src/http', 'src/tenancy', 'src/auth'],
  'src/pipeline': [
    ...ground,
    'src/proto',
    'src/ingest',
    'src/dsp/pool',
    'src/dsp/rows',
    'src/dsp/kernels',
    'src/cluster',
    'src/storage',
    database,
    'src/live',
  ],
  'src/server.ts': everything,
  'src/start': everything,
  'src/demo.ts': everything,
  'src/cli': everything,
  // A black box: what any client has, and nothing of the service.
  'src/cli/conform': ['src/cli', 'src/cli/client', 'src/signal.ts', 'src/proto', 'src/formats', 'sdk'],
  'src/cli/client': everything,
  widgets: ['widgets', 'sdk', 'sdk/questionnaire.ts', 'src/signal.ts'],
  dashboard: ['dashboard', 'widgets', 'sdk', 'sdk/questionnaire.ts', 'src/signal.ts', 'src/spellings.ts'],
  sdk: ['sdk', 'sdk/questionnaire.ts', 'src/signal.ts', 'src/proto'],
  accuracy: everything,
  examples: everything,
  bench: everything,
  faults: everything,
  histories: everything,
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
  const files = ['src', 'widgets', 'dashboard', 'sdk', 'accuracy', 'bench', 'faults', 'histories', 'test', 'scripts', 'examples'].flatMap(
    (folder) => typeScriptFiles(join(root, folder)),
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

  // promise: imports-held
  it('the table has no circle: nothing imports what stands above it', () => {
    const above = (unit: string, seen: readonly string[]): string[] =>
      (allowed[unit] ?? [])
        .filter((next) => next !== unit && next !== '*')
        .flatMap((next) => (seen.includes(next) ? [[...seen, next].join(' > ')] : above(next, [...seen, next])));
    expect(Object.keys(allowed).flatMap((unit) => above(unit, [unit]))).toEqual([]);
  });

  it('no barrel, no default drawer', () => {
    const drawers = /(^|\/)(index|utils?|helpers?|lib|common|interfaces|types)\.ts$/;
    // dashboard/index.ts is the script of dashboard/index.html.
    expect(files.filter((file) => drawers.test(file) && file !== 'dashboard/index.ts')).toEqual([]);
  });
});
