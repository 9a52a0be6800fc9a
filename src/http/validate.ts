/** Checks requests against the route's schemas; each schema is compiled once, when it is first asked or when the service has time for it
 *  (Preparing): a start does not wait for 200 of them. */
import { Compile } from 'typebox/schema'; // loads a third of the files that typebox/compile does
import type { TSchema } from 'typebox';
import { PipelineError } from '../errors.ts';
import type { FieldError } from '../errors.ts';
import { DATE_RULE, isTime, microsecondsOf, registerTimeFormats, TIME_RULE } from './times.ts';
import { refusedCharacter } from '../text.ts';

const ERRORS_MAX = 20;
/** Nesting of arrays and objects in a body. Checks, PostgreSQL and writing it again recurse; the deepest of ours has 12. */
export const JSON_DEPTH_MAX = 64;

registerTimeFormats();
const formatRules: Readonly<Record<string, string>> = { 'date-time': TIME_RULE, date: DATE_RULE };

export type Check = (value: unknown) => readonly FieldError[];

/** Work done ahead of the first request that would wait for it, a few milliseconds at a time, so that nothing else waits. */
export class Preparing {
  readonly #pieces: (() => void)[] = [];
  #timer: NodeJS.Timeout | null = null;

  add(piece: () => void): void {
    this.#pieces.push(piece);
  }

  /** @param afterMs until the first piece  @param everyMs between two */
  begin(afterMs: number, everyMs: number): void {
    this.#timer = setTimeout(() => {
      const piece = this.#pieces.shift();
      if (piece === undefined) return;
      piece();
      this.begin(everyMs, everyMs);
    }, afterMs).unref();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}

/** Compiles a schema at its first use, or in `preparing`. The check answers what is wrong, an empty list when nothing is. */
export function compileCheck(schema: TSchema, prefix = '', preparing: Preparing | null = null): Check {
  let validator: ReturnType<typeof Compile> | null = null;
  const compiled = (): ReturnType<typeof Compile> => (validator ??= Compile(schema));
  preparing?.add(compiled);
  return (value) => {
    const check = compiled();
    if (check.Check(value)) return [];
    const found: FieldError[] = [];
    for (const error of check.Errors(value)[1]) {
      if (error.keyword === 'boolean' || found.length >= ERRORS_MAX) continue;
      const extra = error.keyword === 'additionalProperties' ? namesOf(error.params) : '';
      const rule = error.keyword === 'format' ? formatRules[error.params.format] : undefined;
      found.push({ pointer: `${prefix}${error.instancePath}`, code: error.keyword, detail: rule ?? `${error.message}${extra}` });
    }
    return found;
  };
}

function namesOf(params: unknown): string {
  if (typeof params !== 'object' || params === null || !('additionalProperties' in params)) return '';
  const names = params.additionalProperties;
  return Array.isArray(names) ? `: ${names.map(String).join(', ').slice(0, 200)}` : '';
}

/** Reads a query string into the types of its schemas.
 *  A repeated parameter is refused unless its schema is an array (then repeats and commas both separate); an unknown one is refused,
 *  so that a misspelt filter never silently widens a query, and no token can hide in an address. */
export type QueryReader = (text: string) => Readonly<Record<string, unknown>>;

export function compileQuery(schemas: Readonly<Record<string, TSchema>>, preparing: Preparing | null = null): QueryReader {
  const rows = Object.entries(schemas).map(([name, schema]) => ({
    name,
    schema: schema as SchemaShape,
    required: !('~optional' in schema),
    check: compileCheck(schema, `/query/${name}`, preparing),
  }));
  const known = new Set(rows.map((row) => row.name));
  const plain = rows.every(({ required, schema }) => !required && schema.default === undefined);
  return (text) => {
    if (plain && text === '') return NONE;
    const errors: FieldError[] = [];
    const given = new URLSearchParams(text);
    for (const name of new Set(given.keys())) {
      if (!known.has(name)) errors.push({ pointer: `/query/${name.slice(0, 64)}`, code: 'unknown', detail: 'no such parameter' });
    }
    const query: Record<string, unknown> = {};
    for (const { name, schema, required, check } of rows) {
      const values = given.getAll(name);
      if (values.length === 0) {
        if (schema.default !== undefined) query[name] = schema.default;
        else if (required) errors.push({ pointer: `/query/${name}`, code: 'required', detail: 'is required' });
        continue;
      }
      const refused = values.map((value) => refusedIn(value, text)).find((character) => character !== null);
      if (refused !== undefined) {
        errors.push({ pointer: `/query/${name}`, code: 'characters', detail: `holds ${refused}` });
        continue;
      }
      if (schema.type !== 'array' && values.length > 1) {
        errors.push({ pointer: `/query/${name}`, code: 'repeated', detail: 'was given more than once' });
        continue;
      }
      const value =
        schema.type === 'array'
          ? values.flatMap((item) => item.split(',')).map((item) => coerce(item, schema.items))
          : coerce(values[0] ?? '', schema);
      const wrong = check(value);
      // In an address a + is a space: what was meant is plain.
      if (wrong.length > 0 && schema.format === 'date-time' && values[0]?.includes(' '))
        errors.push(
          ...wrong.map((error) => ({ ...error, detail: `${error.detail}; a + in an address reads as a space, write it as %2B` })),
        );
      else if (wrong.length > 0) errors.push(...wrong);
      else query[name] = value;
    }
    const { since, until } = query;
    // One that ends where it begins is a moment: whether that is a range is for each route to say.
    if (isTimeText(since) && isTimeText(until) && microsecondsOf(until) < microsecondsOf(since))
      errors.push({ pointer: '/query/until', code: 'order', detail: 'lies before since' });
    if (errors.length > 0) throw invalid(errors);
    return query;
  };
}

/** Of a parameter that its schema, a date-time, has let pass. */
const isTimeText = (value: unknown): value is string => typeof value === 'string' && isTime(value);

const NONE: Readonly<Record<string, unknown>> = Object.freeze({});

/** The fault of a query value, in words; null when there is none. URLSearchParams turns bytes that are no UTF-8 into U+FFFD, which would
 *  make two names one.  @param raw the query as received */
function refusedIn(value: string, raw: string): string | null {
  const refused = refusedCharacter(value, 'name');
  if (refused !== null || !value.includes('\ufffd')) return refused;
  try {
    decodeURIComponent(raw.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
    return null;
  } catch {
    return 'an escape that is not UTF-8';
  }
}

type SchemaShape = Readonly<{ type?: string; format?: string; default?: unknown; items?: SchemaShape }>;

function coerce(text: string, schema: SchemaShape | undefined): unknown {
  switch (schema?.type) {
    case 'integer':
      return /^[+-]?\d{1,16}$/.test(text) ? Number(text) : text;
    case 'number':
      return text !== '' && /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    default:
      return text;
  }
}

/** Reads a JSON body.
 *  @throws PipelineError bad_request when it is not UTF-8 JSON or nested too deep, validation_failed when it does not fit */
export function readJson(bytes: Uint8Array, check: Check): unknown {
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(bytes);
    if (depthOf(text) > JSON_DEPTH_MAX) throw new PipelineError('bad_request', `The body is nested deeper than ${JSON_DEPTH_MAX} levels.`);
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof PipelineError) throw error;
    const why = error instanceof SyntaxError ? error.message : 'it is not UTF-8';
    throw new PipelineError('bad_request', `The body is not JSON: ${why.slice(0, 200)}.`, { cause: error });
  }
  // Most bodies have no escape, and without one JSON allows few of them.
  if (text.includes('\\u') || CONTROLS.test(text)) {
    const refused = refusedText(value);
    if (refused !== null) throw invalid([refused]);
  }
  const errors = check(value);
  if (errors.length > 0) throw invalid(errors);
  return value;
}

/** Control characters, and what is no character, that JSON allows unescaped. */
const CONTROLS = /[\u007f-\u009f\ufffe\uffff]/;

/** The first text, or name of a member, with a character that no text may hold: refused here once instead of in every statement. Not
 *  recursive: a body may be nested as deep as it is long. */
function refusedText(body: unknown): FieldError | null {
  const waiting: (readonly [pointer: string, value: unknown])[] = [['', body]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [pointer, value] = next;
    if (typeof value === 'string') {
      const character = refusedCharacter(value, 'text');
      if (character !== null) return { pointer, code: 'characters', detail: `holds ${character}` };
    }
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      const character = refusedCharacter(name, 'name');
      if (character !== null) return { pointer, code: 'characters', detail: `has a member whose name holds ${character}` };
      waiting.push([`${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, member]);
    }
  }
  return null;
}

/** How deep arrays and objects of a JSON text lie in one another; of another text, a number. */
function depthOf(text: string): number {
  if (text.length <= 2 * JSON_DEPTH_MAX) return 0;
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === BRACKET || code === BRACE) deepest = Math.max(deepest, ++depth);
    else if (code === BRACKET + 2 || code === BRACE + 2) depth--;
  }
  return deepest;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `{`; what closes them comes two later. */
const BRACKET = 0x5b;
const BRACE = 0x7b;

const utf8 = new TextDecoder('utf-8', { fatal: true });

function invalid(errors: readonly FieldError[]): PipelineError {
  const first = errors[0];
  const rest = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return new PipelineError('validation_failed', `${first?.pointer || 'body'}: ${first?.detail ?? 'is wrong'}${rest}`, {
    errors: errors.slice(0, ERRORS_MAX),
  });
}
