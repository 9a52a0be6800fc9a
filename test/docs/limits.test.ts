/** docs/limits.md is what the settings and constants say, and no numeric setting is left out of it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { constantOf, limitGroups, limitsDocument } from '../../scripts/limits.ts';
import { settings } from '../../src/config.ts';
import { defaultAdmissionLimits } from '../../src/ingest/admit.ts';

const limits = Object.values(limitGroups).flat();

it('docs/limits.md is up to date: npm run docs', () => {
  expect(readFileSync(join(import.meta.dirname, '../../docs/limits.md'), 'utf8')).toBe(limitsDocument());
});

it('every setting that is a number is in it; a port and a count of threads bound nothing', () => {
  const numeric = Object.entries(settings).filter(
    ([name, { fallback }]) => typeof fallback === 'number' && !['port', 'dspWorkers'].includes(name),
  );
  const listed = new Set<unknown>(limits.map(({ at }) => at));
  expect(numeric.map(([name]) => name).filter((name) => !listed.has(name))).toEqual([]);
});

it('a value is that of the code', () => {
  for (const [name, value] of Object.entries(defaultAdmissionLimits)) expect(constantOf('src/ingest/admit.ts', name)).toBe(value);
});

it('reads sums, products and constants made of others; anything else is an error that names the place', () => {
  const source =
    'const A_MAX = 2 * 1024;\nexport const B_MAX: number = 4 * A_MAX; // four\nconst shift = 1 << 4;\nconst C = { partsMax: 1_000,\n};\nconst D = size();\n  partsMax: number;';
  expect(['A_MAX', 'B_MAX', 'shift'].map((name) => constantOf('a.ts', name, source))).toEqual([2048, 8192, 16]);
  expect(() => constantOf('a.ts', 'GONE', source)).toThrow('a.ts has no constant GONE');
  expect(() => constantOf('a.ts', 'D', source)).toThrow('D is no number: size()');
});
