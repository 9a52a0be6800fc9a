/** Schemas that several routes share. */
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { errorTable } from '../errors.ts';

export const Uuid = Type.String({ format: 'uuid' });
/** A name or a title: one line. What no text may hold is refused before schemas are asked (validate.ts). */
export const OneLine = (lengthMax: number, options: object = {}) =>
  Type.String({ maxLength: lengthMax, pattern: '^[^\\t\\n\\r]*$', ...options });
/** RFC 3339, the profile of ISO 8601 that names a moment, with an offset or Z; in requests from 1900 to 2199 (times.ts). */
export const Timestamp = Type.String({ format: 'date-time' });
export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
/** One of a list of words. */
export const oneOf = <const T extends readonly string[]>(words: T, options: object = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...words], ...options });
/** An object with exactly these members. */
export const exactly = <T extends Record<string, TSchema>>(properties: T, options: object = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options });

/** Integer digits that may exceed 2^53: written from bigint, so a client that needs every digit parses them as such. */
export const NanosInteger = Type.Integer({ description: 'Nanoseconds since the Unix epoch; exceeds 2^53, so parse it as a big integer.' });
export const QualityMask = Type.Integer({ minimum: 0, maximum: 2, description: '0 good, 1 suspect, 2 bad: do not use the number.' });

export const ProblemSchema = exactly({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String(),
  instance: Type.String(),
  code: oneOf(Object.keys(errorTable)),
  errors: Type.Array(exactly({ pointer: Type.String(), code: Type.String(), detail: Type.String() })),
  request_id: Type.String(),
});

/** A query parameter that may be left out because it has a default: a handler always has it. Not for bodies: they get no defaults. */
export function orDefault<T extends TSchema>(schema: T): T {
  if (!('default' in schema)) throw new Error('A query parameter without a default may be absent: Type.Optional says so.');
  return Type.Optional(schema);
}

/** Narrows an answer about many people to one project. */
export const ProjectQuery = Type.Optional(
  Type.String({ minLength: 1, maxLength: 64, description: 'Id or key. Absent: every project of the caller.' }),
);

/** Narrows an answer about many people to a group. */
export const GroupQuery = Type.Optional(Type.String({ format: 'uuid', description: 'Only people who are in this group.' }));

/** Query parameters of lists. */
export const LimitQuery = (fallback: number, max: number) =>
  orDefault(Type.Integer({ minimum: 1, maximum: max, default: fallback, description: `Items per page, at most ${max}.` }));
export const CursorQuery = Type.Optional(
  Type.String({ maxLength: 512, description: 'Opaque position from a Link header with rel="next"; valid for the same query only.' }),
);
