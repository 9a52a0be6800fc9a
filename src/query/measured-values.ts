/** Checks measurements before they are stored: in the unit of the biosignal, or one that converts to it; not in the future; and physically
 *  possible. A possible but implausible value is stored with the flag suspect. Ranges and conversions come from the catalog
 *  (sql/000004-catalog.sql). */
import { sql } from 'kysely';
import { build, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { PipelineError } from '../errors.ts';
import type { FieldError } from '../errors.ts';
import { isAhead } from '../http/times.ts';
import { takenAs, timesTen } from '../units/powers-of-ten.ts';
import { isUcum, ucumFor } from '../units/ucum.ts';
import type { BiosignalRow } from './observations.ts';

const SUSPECT = 1;
/** Converted values are rounded to this many digits: 98.6 [degF] is 37 Cel. */
const DIGITS = 12;

export type MeasurementInput = Readonly<{
  biosignal_id: number;
  value: number;
  unit?: string;
  time: string;
  quality?: number;
  method_code?: string;
}>;
/** A value in the biosignal's unit. given: the value as sent, if in another unit. */
export type MeasuredValue = MeasurementInput &
  Readonly<{ unit: string; quality: number; implausible: boolean; given: Readonly<{ value: number; unit: string }> | null }>;

type Range = readonly [min: number | null, max: number | null];
type Rules = Readonly<{
  unit: string;
  possible: Range;
  plausible: Range;
  conversions: ReadonlyMap<string, readonly [factor: number, shift: number]>;
}>;

/** @param biosignals one for every id in the inputs  @throws PipelineError validation_failed: nothing may be stored */
export async function measuredValues(
  db: Db,
  inputs: readonly MeasurementInput[],
  biosignals: ReadonlyMap<number, BiosignalRow>,
): Promise<readonly MeasuredValue[]> {
  const rules = new Map<number, Rules>();
  for (const [id, { unit }] of biosignals) rules.set(id, await rulesOf(db, id, unit));
  const errors: FieldError[] = [];
  const values = inputs.map((input, i) => measuredValue(input, rules.get(input.biosignal_id)!, `/measurements/${i}`, errors));
  const [first] = errors;
  if (first !== undefined)
    throw new PipelineError('validation_failed', `${first.pointer}: ${first.detail}`, { errors: errors.slice(0, 20) });
  return values;
}

function measuredValue(input: MeasurementInput, rules: Rules, at: string, errors: FieldError[]): MeasuredValue {
  const { unit = rules.unit } = input;
  const conversion = conversionOf(unit, rules);
  if (conversion === undefined) {
    const known = [rules.unit, ...rules.conversions.keys()].join(', ');
    const written = isUcum(unit) ? null : ucumFor(unit);
    const advice = written === null ? '' : `; in UCUM it would be ${written.unit}${written.isIfCounted ? ', if it is a count' : ''}`;
    const detail = `${unit} does not convert to the biosignal's unit; it takes ${known}, and these with other prefixes${advice}`;
    errors.push({ pointer: `${at}/unit`, code: 'unit', detail });
  }
  if (isAhead(input.time)) {
    errors.push({ pointer: `${at}/time`, code: 'future', detail: 'lies in the future; nothing was measured then yet' });
  }
  const [factor, shift, power] = conversion ?? [1, 0, 0];
  const same = factor === 1 && shift === 0;
  const given = timesTen(input.value, power);
  const value = same ? given : Number((given * factor + shift).toPrecision(DIGITS));
  if (conversion !== undefined && !(Number.isFinite(value) && within(value, rules.possible))) {
    const detail = `${Number.isFinite(value) ? value : 'More than a number holds of'} ${rules.unit} is not possible; it takes ${textOf(rules.possible)} ${rules.unit}`;
    errors.push({ pointer: `${at}/value`, code: 'range', detail });
  }
  const implausible = !within(value, rules.plausible);
  return {
    ...input,
    value,
    unit: rules.unit,
    quality: Math.max(input.quality ?? 0, implausible ? SUSPECT : 0),
    implausible,
    given: unit === rules.unit ? null : { value: input.value, unit },
  };
}

/** How a value is converted: times a power of ten, times a factor, and shifted. */
function conversionOf(given: string, { unit, conversions }: Rules): readonly [factor: number, shift: number, power: number] | undefined {
  const taken = takenAs(given, [unit, ...conversions.keys()]);
  if (taken === null) return undefined;
  return [...(taken.unit === unit ? ([1, 0] as const) : conversions.get(taken.unit)!), taken.power];
}

function within(value: number, [min, max]: Range): boolean {
  return (min === null || value >= min) && (max === null || value <= max);
}

function textOf([min, max]: Range): string {
  return `${min ?? 'any'} to ${max ?? 'any'}`;
}

async function rulesOf(db: Db, biosignalId: number, unit: string): Promise<Rules> {
  const { rows } = await run(
    db,
    build
      .selectFrom('biosignal as b')
      .leftJoin('unit_conversion as c', (join) =>
        join.onRef('c.unit', '=', 'b.unit').on(({ or, eb, ref }) => or([eb('c.code', '=', ''), eb('c.code', '=', ref('b.code'))])),
      )
      .select(['b.possible_min', 'b.possible_max', 'b.plausible_min', 'b.plausible_max', 'c.given', 'c.factor', 'c.shift'])
      .where('b.id', '=', biosignalId)
      .orderBy(sql`octet_length(c.given), c.given collate "C", octet_length(c.code)`), // a biosignal's own conversion after the general one
  );
  const { possible_min = null, possible_max = null, plausible_min = null, plausible_max = null } = rows[0] ?? {};
  const conversions = rows.flatMap(({ given, factor, shift }) =>
    given === null || factor === null || shift === null ? [] : [[given, [factor, shift]] as const],
  );
  return { unit, possible: [possible_min, possible_max], plausible: [plausible_min, plausible_max], conversions: new Map(conversions) };
}
