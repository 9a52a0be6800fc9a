/** Observations by the time at which they were recorded: around a recording all of its minutes, before and after it none. */
import type { Oracle, Person } from '../oracle.ts';
import { bucketsOf, isMean, MINUTE_MS, newestMethods, shownOf, valuesOf } from './aggregates.ts';
import type { Value } from './aggregates.ts';
import { readerOf } from './recordings.ts';

const FEATURES_MAX = 3;
const HOUR_MS = 60 * MINUTE_MS;

export async function compareWindows(oracle: Oracle): Promise<void> {
  const values = await valuesOf(
    oracle,
    oracle.standing.map(({ bootId }) => bootId),
  );
  const signals = await oracle.stage.sql<{ id: number; feature: string }>(
    "select id, feature from biosignal where feature is not null and unit <> '{steps}' and project_id is null order by id",
  );
  for (const person of await oracle.people()) {
    if (oracle.boots.some((boot) => boot.person === person && oracle.isExpired(boot))) continue;
    const boots = new Set(oracle.standing.filter((boot) => boot.person === person).map(({ bootId }) => bootId));
    const own = values.filter(({ boot }) => boots.has(boot));
    const shown = newestMethods(own).flatMap(({ feature, method }) => {
      const signal = signals.find((one) => one.feature === feature);
      return signal === undefined ? [] : [{ ...signal, values: own.filter((value) => value.method === method) }];
    });
    for (const { id, feature, values: its } of shown.slice(0, FEATURES_MAX)) await compareSignal(oracle, person, id, feature, its);
  }
}

async function compareSignal(
  oracle: Oracle,
  person: Person,
  biosignalId: number,
  feature: string,
  values: readonly Value[],
): Promise<void> {
  const minutes = [...bucketsOf(values, MINUTE_MS, ({ stream, method, channel }) => `${stream} ${method} ${channel}`)].flatMap(
    ([key, bucket]) => {
      const shown = shownOf(bucket);
      return shown === null ? [] : [{ ms: Number(key.split(' ')[3]), value: shown.mean, perUnit: bucket.perUnit }];
    },
  );
  if (minutes.length === 0) return;
  const { as, subject } = readerOf(oracle, person);
  // Recordings lie apart: one window around each, and around all.
  const starts = minutes.map(({ ms }) => ms).sort((a, b) => a - b);
  const clusters = starts.filter((ms, i) => i === 0 || ms - starts[i - 1]! > 6 * HOUR_MS);
  const windows: (readonly [from: number | null, to: number | null])[] = [
    [null, null],
    [null, starts[0]!],
    [starts.at(-1)! + MINUTE_MS, null],
    [starts[Math.floor(starts.length / 2)]!, null],
    ...clusters.map((ms) => [ms - HOUR_MS, ms + 6 * HOUR_MS] as const),
    ...clusters.map((ms) => [ms, ms + MINUTE_MS] as const),
  ];
  for (const [from, to] of windows) {
    const wanted = minutes.filter(({ ms }) => (from === null || ms >= from) && (to === null || ms < to));
    const bounds = `${from === null ? '' : `&since=${new Date(from).toISOString()}`}${to === null ? '' : `&until=${new Date(to).toISOString()}`}`;
    const found = await oracle.must<{ value: number; effective_time: string }[]>(
      200,
      'GET',
      `/api/v1/observations?${subject}biosignal_id=${biosignalId}&quality_max=1&order=asc&limit=1000${bounds}`,
      { as },
    );
    if (found === null) return;
    const got = found.map(({ value, effective_time }) => ({ ms: Date.parse(effective_time), value }));
    oracle.expect(
      'observations',
      areSame(got, wanted),
      () => `${feature} of ${person.externalId}${bounds}: ${textOf(got)} instead of ${textOf(wanted)}`,
    );
  }
}

type Minute = Readonly<{ ms: number; value: number }>;

const inOrder = <T extends Minute>(minutes: readonly T[]): T[] => minutes.toSorted((a, b) => a.ms - b.ms || a.value - b.value);

/** Of the same minutes, and their means apart by no more than they are rounded. */
function areSame(got: readonly Minute[], wanted: readonly (Minute & Readonly<{ perUnit: number }>)[]): boolean {
  const sought = inOrder(wanted);
  return (
    got.length === sought.length &&
    inOrder(got).every(({ ms, value }, i) => ms === sought[i]!.ms && isMean(value, sought[i]!.value, sought[i]!.perUnit))
  );
}

function textOf(minutes: readonly Minute[]): string {
  const all = inOrder(minutes).map(({ ms, value }) => `${ms} ${value}`);
  return `${all.length} minutes (${all.join().slice(0, 200)})`;
}
