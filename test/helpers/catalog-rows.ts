/** The catalog of biosignals as the migrations leave it, without a database. */
import { readFileSync } from 'node:fs';

export type CatalogRow = Readonly<{
  name: string;
  abbreviation: string;
  unit: string;
  feature: string | null;
  loinc_code: string;
  role: string;
}>;

export const catalogRows = readFileSync('sql/schema.snapshot.sql', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('{"id": ') && line.includes('"abbreviation": '))
  .map((line) => JSON.parse(line) as CatalogRow);
