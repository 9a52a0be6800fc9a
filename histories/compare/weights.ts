/** Weights that were told by the API: each once, as JSON and as FHIR, which say the same. */
import type { Oracle, Person } from '../oracle.ts';
import { readerOf } from './recordings.ts';

export type Observation = Readonly<{ id: string; value: number; unit: string; effective_time: string }>;
export type Bundle = Readonly<{ resourceType: string; type: string; entry?: readonly Readonly<{ resource: Resource }>[] }>;
type Resource = Readonly<{
  resourceType: string;
  id: string;
  status: string;
  subject: Readonly<{ reference: string }>;
  effectiveDateTime: string;
  valueQuantity: Readonly<{ value: number; code: string }>;
}>;

/** Body weight, in the catalog of every project. */
export const WEIGHT = 67;

export async function compareWeights(oracle: Oracle): Promise<void> {
  for (const person of await oracle.people()) await compareWeightsOf(oracle, person);
}

async function compareWeightsOf(oracle: Oracle, person: Person): Promise<void> {
  const { as, subject } = readerOf(oracle, person);
  const path = `/api/v1/observations?${subject}biosignal_id=${WEIGHT}&order=asc&limit=1000`;
  const said = await oracle.must<Observation[]>(200, 'GET', path, { as });
  const bundle = await oracle.must<Bundle>(200, 'GET', path, { as, headers: { accept: 'application/fhir+json' } });
  if (said === null || bundle === null) return;
  const lines = (list: readonly Readonly<{ atMs: number; kg: number; unit: string }>[]): string =>
    list
      .toSorted((a, b) => a.atMs - b.atMs)
      .map(({ atMs, kg, unit }) => `${atMs} ${kg.toPrecision(9)} ${unit}`)
      .join('; ');
  const wanted = lines(person.weights.map(({ time, kg }) => ({ atMs: Date.parse(time), kg, unit: 'kg' })));
  const found = lines(said.map(({ effective_time, value, unit }) => ({ atMs: Date.parse(effective_time), kg: value, unit })));
  oracle.expect('observations', found === wanted, () => `weights of ${person.externalId}: ${found} instead of ${wanted}`);
  compareFhir(oracle, `weights of ${person.externalId}`, person, said, bundle);
}

/** The same observations, good ones, in two forms. */
export function compareFhir(oracle: Oracle, what: string, person: Person, said: readonly Observation[], bundle: Bundle): void {
  const resources = (bundle.entry ?? []).map(({ resource }) => resource);
  const fhir = resources.map(
    ({ resourceType, id, status, subject: { reference }, effectiveDateTime, valueQuantity: { value, code } }) =>
      `${resourceType} ${id} ${status} ${reference} ${Date.parse(effectiveDateTime)} ${value} ${code}`,
  );
  const same = said.map(
    ({ id, effective_time, value, unit }) =>
      `Observation ${id} final Patient/${person.xuserId} ${Date.parse(effective_time)} ${value} ${unit}`,
  );
  oracle.expect(
    'observations',
    bundle.resourceType === 'Bundle' && bundle.type === 'searchset' && fhir.join('; ') === same.join('; '),
    () => `${what} as FHIR: ${fhir.join('; ')} instead of ${same.join('; ')}`,
  );
}
