/** The tables of what machines and nodes carry are what `npm run sizing` computes from the costs that docs/sizing.md states. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { machinesTable, measured, nodesTable } from '../../scripts/sizing.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');

it('docs/sizing.md and docs/operator.md have the tables of npm run sizing', () => {
  expect(read('sizing.md')).toContain(machinesTable());
  expect(read('operator.md')).toContain(nodesTable());
});

it('docs/sizing.md states the costs that the tables are computed from', () => {
  const text = read('sizing.md');
  const stated = [`${measured.mainUs} µs a packet`, `${measured.aloneUs} µs a packet`, '132 and 100 µs a packet', '**838**', '| 1,976 |'];
  expect(stated.filter((words) => !text.includes(words))).toEqual([]);
});

it('packets that cost twice as much are half as many devices', () => {
  expect(nodesTable({ ...measured, aloneUs: 2 * measured.aloneUs })).toContain('| 1 | 440 |');
});
