/** Every name of the catalog, which has every computed value, is there in every language that ships. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { de } from '../lang/de.ts';
import { es } from '../lang/es.ts';
import { fr } from '../lang/fr.ts';
import { zh } from '../lang/zh.ts';

type Row = Readonly<{ name: string; signal_type: string }>;

const rows = readFileSync('sql/schema.snapshot.sql', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('{"id": ') && line.includes('"abbreviation": '))
  .map((line) => JSON.parse(line) as Row);

it.each([
  ['German', de],
  ['Spanish', es],
  ['French', fr],
  ['Chinese', zh],
])('in %s', (_, { phrases }) => {
  expect(rows.length).toBeGreaterThan(60);
  // a questionnaire is asked and named in the languages it was published in
  const shown = rows.filter(({ signal_type }) => signal_type !== 'score');
  expect(shown.map(({ name }) => name).filter((name) => !Object.hasOwn(phrases, name))).toEqual([]);
});
