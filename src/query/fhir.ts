/** Observations as FHIR R4: a searchset Bundle of Observation resources. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { ObservationRow } from './observations.ts';

/** Code system for values that have no LOINC code. */
export const BIO_SYSTEM = 'urn:biosignal:code';
const LOINC = 'http://loinc.org';
const UCUM = 'http://unitsofmeasure.org';
const CATEGORY = 'http://terminology.hl7.org/CodeSystem/observation-category';

export const FHIR_TYPE = 'application/fhir+json';
export const BundleSchema = Type.Object(
  {
    resourceType: Type.Literal('Bundle'),
    type: Type.Literal('searchset'),
    link: Type.Array(Type.Object({ relation: Type.String(), url: Type.String() })),
    entry: Type.Optional(Type.Array(Type.Unknown())),
  },
  { description: 'A FHIR R4 Bundle of Observation resources.' },
);

type Bundle = Readonly<Static<typeof BundleSchema>>;

const categories = new Map([
  ...['8867-4', '9279-1', '59408-5', '8310-5', '29463-7', '8480-6', '8462-4'].map((code) => [code, 'vital-signs'] as const),
  ['2339-0', 'laboratory'],
  ...['55423-8', '93832-4'].map((code) => [code, 'activity'] as const),
]);

/** What the vital signs profile of R4 asks for besides a code that says how it was measured: saturation, by pulse oximetry. The
 *  observation's own code stays the first, as readers of one expect. */
const vitalCodes: Readonly<Record<string, readonly string[]>> = { '59408-5': ['2708-6'] };

/** The category of the value; null where the service cannot know it: R4 asks for none, and a wrong one hides the value from who searches
 *  by category. What is computed from signals comes from electrodiagnostics, which are a procedure. */
function categoryOf({ loinc_code: loinc, signal_type: type, source_type: source }: ObservationRow): string | null {
  const known = categories.get(loinc);
  if (known !== undefined) return known;
  if (source === 'self_report' || (source === 'clinician' && type === 'score')) return 'survey';
  return source === 'derived' ? 'procedure' : null;
}

/** Writes one Observation. The flag is a component, so that no reader takes a suspect number for a good one. */
export function fhirObservation(row: ObservationRow, subjectId: string): object {
  const bucket = row.effective_end === undefined ? 'minute' : row.id.endsWith('.P1D') ? 'day' : 'hour';
  const own = { system: BIO_SYSTEM, code: row.abbreviation, display: row.name };
  const codes = row.loinc_code === '' ? [] : [row.loinc_code, ...(vitalCodes[row.loinc_code] ?? [])];
  const category = categoryOf(row);
  const components: object[] = [{ code: concept('quality-flag', 'Quality: 0 good, 1 suspect, 2 bad'), valueInteger: row.qmask }];
  if (row.value_n !== null) components.push({ code: concept('value-count', `Values in the ${bucket}`), valueInteger: row.value_n });
  if (row.good_n !== null) components.push({ code: concept('good-value-count', `Good values in the ${bucket}`), valueInteger: row.good_n });
  if (row.expected_n !== null)
    components.push({ code: concept('expected-value-count', `Values in a whole ${bucket}`), valueInteger: row.expected_n });
  return {
    resourceType: 'Observation',
    id: row.id,
    status: row.qmask === 0 ? 'final' : 'preliminary',
    ...(category === null ? {} : { category: [{ coding: [{ system: CATEGORY, code: category }] }] }),
    code: { coding: [...codes.map((code) => ({ system: LOINC, code })), own], text: row.name },
    subject: { reference: `Patient/${subjectId}` },
    ...(row.effective_end === undefined
      ? { effectiveDateTime: row.effective_time }
      : { effectivePeriod: { start: row.effective_time, end: row.effective_end } }),
    valueQuantity: { value: row.value, unit: row.unit, system: UCUM, code: row.unit },
    method: { coding: [{ system: BIO_SYSTEM, code: row.method_code }] },
    ...(row.device_id === ''
      ? {}
      : { device: { identifier: { system: `${BIO_SYSTEM}:device`, value: row.device_id }, display: row.device_id } }),
    component: components,
  };
}

function concept(code: string, display: string): object {
  return { coding: [{ system: BIO_SYSTEM, code, display }], text: display };
}

/** What is written of an annotation. */
export type MarkedRow = Readonly<{
  id: string;
  version: number;
  subject_id: string;
  stream_id: string;
  kind: string;
  starts_at: string;
  ends_at: string | null;
  beat: string | null;
  text: string;
  made_by: string;
  made_by_name: string | null;
  made_at: string;
}>;

/** Writes what a person marked on a recording as an Observation: its kind is the code, its text the value. */
export function fhirAnnotation(row: MarkedRow): object {
  const said = row.beat === null ? row.text : `${row.beat}${row.text === '' ? '' : `: ${row.text}`}`;
  return {
    resourceType: 'Observation',
    id: row.id,
    meta: { versionId: String(row.version), lastUpdated: row.made_at },
    status: row.version === 1 ? 'final' : 'amended',
    category: [{ coding: [{ system: CATEGORY, code: 'exam' }] }],
    code: concept(`annotation-${row.kind}`, `Annotation: ${row.kind}`),
    subject: { reference: `Patient/${row.subject_id}` },
    ...(row.ends_at === null ? { effectiveDateTime: row.starts_at } : { effectivePeriod: { start: row.starts_at, end: row.ends_at } }),
    issued: row.made_at,
    performer: [{ identifier: { system: `${BIO_SYSTEM}:author`, value: row.made_by }, display: row.made_by_name ?? row.made_by }],
    ...(said === '' ? {} : { valueString: said }),
    focus: [{ identifier: { system: `${BIO_SYSTEM}:stream`, value: row.stream_id } }],
  };
}

/** Writes a searchset Bundle. Its addresses are absolute, as R4 asks of fullUrl; references in a resource are relative to that.
 *  @param base without a slash at its end  @param self and next begin with a slash; next is null on the last page */
export function fhirBundle(rows: readonly ObservationRow[], subjectId: string, base: string, self: string, next: string | null): Bundle {
  const entry = rows.map((row) => ({
    fullUrl: `${base}/fhir/Observation/${row.id}`,
    resource: fhirObservation(row, subjectId),
    search: { mode: 'match' },
  }));
  return {
    resourceType: 'Bundle',
    type: 'searchset',
    link: [{ relation: 'self', url: `${base}${self}` }, ...(next === null ? [] : [{ relation: 'next', url: `${base}${next}` }])],
    // An empty array is not valid FHIR.
    ...(entry.length === 0 ? {} : { entry }),
  };
}
