/** Rows of the catalog for the features that are computed: without one, a value is in no observation, no FHIR and no tile. */
import { expect, test } from 'vitest';
import { catalogRows as rows } from '../../../test/helpers/catalog-rows.ts';
import type { CatalogRow } from '../../../test/helpers/catalog-rows.ts';
import { featureMethods } from '../rows/methods.ts';

const rowsOf = (wanted: string): CatalogRow[] => rows.filter(({ feature }) => feature === wanted);

// promise: catalog-whole
test('every feature is there once, in its unit, as a calculation', () => {
  expect(featureMethods.filter(({ feature }) => rowsOf(feature).length !== 1).map(({ feature }) => feature)).toEqual([]);
  for (const { feature, unit } of featureMethods) expect(rowsOf(feature), feature).toMatchObject([{ unit, role: 'calculation' }]);
  expect(rows.filter(({ feature }) => feature !== null)).toHaveLength(featureMethods.length);
});

test('no two rows have one name or one abbreviation', () => {
  for (const key of ['name', 'abbreviation'] as const) {
    const all = rows.map((row) => row[key].toLowerCase());
    expect(all.filter((text, i) => all.indexOf(text) !== i)).toEqual([]);
  }
});

/** Code and long common name of LOINC, and the features that have it. */
const coded: readonly (readonly [code: string, name: string, features: readonly string[]])[] = [
  ['8867-4', 'Heart rate', ['hr_ecg', 'hr_ppg', 'hr_ppg_motion']],
  ['80404-7', 'R-R interval.standard deviation (Heart rate variability)', ['hrv_sdnn_300s']],
  ['9279-1', 'Respiratory rate', ['resp_rate', 'resp_rate_ppg', 'resp_rate_ecg']],
  ['61008-9', 'Body surface temperature', ['temp_mean']],
  ['55423-8', 'Number of steps in unspecified time Pedometer', ['steps']],
  ['8625-6', 'P-R Interval', ['pr_60s']],
  ['8633-0', 'QRS duration', ['qrs_60s']],
  ['8634-8', 'Q-T interval', ['qt_60s']],
  ['76635-2', 'Q-T interval corrected based on Bazett formula', ['qtc_bazett_60s']],
  ['76634-5', 'Q-T interval corrected based on Fridericia formula', ['qtc_fridericia_60s']],
  ['61006-3', 'Perfusion index Tissue by Pulse oximetry', ['perfusion_index']],
];

test.each(coded)('LOINC %s, %s, is the code of %j alone', (code, _, features) => {
  expect(rows.filter((row) => row.loinc_code === code && row.feature !== null).map(({ feature }) => feature)).toEqual(features);
});

test('no feature has another code', () => {
  const codes = coded.map(([code]) => code);
  expect(rows.filter(({ feature, loinc_code: code }) => feature !== null && code !== '' && !codes.includes(code))).toEqual([]);
});
