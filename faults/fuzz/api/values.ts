/** Values for a schema of the API's description: ones that fit, and ones at the ends of what there is. */
import type { Schema } from '../description.ts';

const times = [
  '0000-01-01T00:00:00Z',
  '1900-01-01T00:00:00+14:00',
  '2199-12-31T23:59:59.999999999-14:00',
  '9999-12-31T23:59:59-14:00',
  '2020-12-31T23:59:60Z',
  '2020-01-01T00:00:00+23:59',
  '2020-01-01T00:00:00Z[Europe/Paris]',
  `2020-01-01T00:00:00.${'1'.repeat(3000)}Z`,
];
const texts = ['', 'infinity', "'; -- %_\\", '../__proto__', '\u{1F600}'.repeat(70), 'x'.repeat(5000)];
const integers = [-(2 ** 63), -1, 0, 32_768, 2_147_483_648, Number.MAX_SAFE_INTEGER, 1e308];
const numbers = [-1e308, 5e-324, 0, 1e308];
const nested = (open: string, close: string, depth: number): unknown => JSON.parse(open.repeat(depth) + close.repeat(depth));
const shapes: readonly unknown[] = [null, [], {}, nested('[', ']', 2000), Array.from({ length: 2000 }, (_, i) => i)];

export function extremes(schema: Schema): readonly unknown[] {
  if (schema.anyOf !== undefined) return [...schema.anyOf.flatMap(extremes), null];
  switch (schema.type) {
    case 'string':
      return schema.format === 'date-time' || schema.format === 'date' ? [...times, '0000-01-01', '2199-12-31'] : [...texts, times[0]];
    case 'integer':
      return integers;
    case 'number':
      return numbers;
    case 'boolean':
      return [true, 'x'];
    case 'array':
      return [
        [],
        ...(schema.items === undefined ? [] : extremes(schema.items).map((item) => [item])),
        [[[]]],
        Array.from({ length: 3000 }, () => 'x'),
      ];
    default:
      return shapes;
  }
}

/** A value that fits, as far as the schema says so. @param known values that exist, by the name of a parameter or field */
export function sample(schema: Schema, name: string, known: Readonly<Record<string, unknown>>): unknown {
  if (Object.hasOwn(known, name)) return known[name];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined) return sample(schema.anyOf[0]!, name, known);
  switch (schema.type) {
    case 'string':
      if (schema.format === 'uuid') return '00000000-0000-4000-8000-000000000000';
      if (schema.format === 'date-time') return '2026-01-05T08:00:00Z';
      if (schema.format === 'date') return '2026-01-05';
      if (/url|origin/.test(name)) return 'https://example.org';
      return 'P1D'.padEnd(schema.minLength ?? 0, 'a');
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return false;
    case 'array':
      return Array.from({ length: Math.max(1, schema.minItems ?? 1) }, () => sample(schema.items ?? {}, name, known));
    default:
      return Object.fromEntries((schema.required ?? []).map((key) => [key, sample(schema.properties?.[key] ?? {}, key, known)]));
  }
}

/** Bodies with one field extreme each, at any depth of the schema. */
export function* bodiesOf(schema: Schema, name: string, known: Readonly<Record<string, unknown>>): Iterable<unknown> {
  if (schema.anyOf !== undefined) {
    for (const one of schema.anyOf) yield* bodiesOf(one, name, known);
    return;
  }
  const whole = sample(schema, name, known);
  if (schema.type === 'array' && schema.items !== undefined) for (const item of bodiesOf(schema.items, name, known)) yield [item];
  for (const [key, member] of Object.entries(schema.properties ?? {}))
    for (const value of bodiesOf(member, key, known)) yield { ...(whole as object), [key]: value };
  yield* extremes(schema);
}
