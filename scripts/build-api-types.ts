/** `npm run api-types`: writes sdk/api-types.ts, the types of every operation, from the route table. Types only: nothing of it is in a
 *  bundle. With `--check` (a step of `npm run check`) it writes nothing and fails when the file is not what the table says. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { TSchema } from 'typebox';
import type { Route } from '../src/http/route.ts';
import { allRoutes } from '../test/helpers/all-routes.ts';

/** The words of JSON Schema that the table uses and that say something about the type. */
type Schema = Readonly<{
  type?: string | readonly string[];
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  patternProperties?: Readonly<Record<string, Schema>>;
  additionalProperties?: boolean | Schema;
}>;

/** Words that would change a type and that are not translated here: better no file than a wrong one. */
const untranslated = ['allOf', 'oneOf', 'not', '$ref', 'prefixItems', 'if', 'dependentRequired'];

const objectOf = (members: readonly string[]): string => (members.length === 0 ? '{}' : `{ ${members.join('; ')} }`);
const nameOf = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`);
const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'` : JSON.stringify(value);

/** @returns the TypeScript type of the JSON values that the schema accepts; lists are read-only */
export function typeOf(schema: Schema): string {
  const unknownWord = untranslated.find((word) => word in schema);
  if (unknownWord !== undefined)
    throw new Error(`The word ${unknownWord} of JSON Schema has no translation in scripts/build-api-types.ts.`);
  if ('const' in schema) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(' | ');
  if (Array.isArray(schema.type)) return schema.type.map((type: string) => typeOf({ ...schema, type })).join(' | ');
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'number':
    case 'integer':
      return 'number';
    case 'array': {
      const item = typeOf(schema.items ?? {});
      return item.includes(' | ') && !item.startsWith('{')
        ? `readonly (${item})[]`
        : `readonly ${/^\{.*\} [|&] /.test(item) ? `(${item})` : item}[]`;
    }
    case 'object':
      return objectType(schema);
    case undefined:
      return 'unknown';
    default:
      throw new Error(`The type ${String(schema.type)} has no translation in scripts/build-api-types.ts.`);
  }
}

function objectType(schema: Schema): string {
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, value]) => `${nameOf(name)}${(schema.required ?? []).includes(name) ? '' : '?'}: ${typeOf(value)}`,
  );
  const [pattern] = Object.values(schema.patternProperties ?? {});
  const rest = pattern ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : null);
  if (rest !== null && members.length === 0) return `Readonly<Record<string, ${typeOf(rest)}>>`;
  if (members.length === 0 && schema.additionalProperties !== false) return 'Readonly<Record<string, unknown>>';
  return objectOf(members);
}

/** What a successful call answers as JSON; `null` for no body; `unknown` for anything that is not JSON. */
function answerOf(route: Route): string {
  const types = Object.entries(route.responses).map(([status, { schema, contentType }]) => {
    if (status === '204') return 'null';
    return schema === undefined || (contentType ?? 'application/json') !== 'application/json' ? 'unknown' : typeOf(schema as Schema);
  });
  return [...new Set(types)].join(' | ');
}

/** Parameters of the address are written as strings; `undefined` leaves one out. */
function queryOf(query: Readonly<Record<string, TSchema>>): string {
  return objectOf(
    Object.entries(query).map(([name, schema]) => {
      const optional = '~optional' in schema;
      return `${nameOf(name)}${optional ? '?' : ''}: ${typeOf(schema as Schema)}${optional ? ' | undefined' : ''}`;
    }),
  );
}

function operation(route: Route): string[] {
  const params = Object.keys(route.params ?? {}).map((name) => `${nameOf(name)}: string`);
  return [
    `  /** ${route.summary} */`,
    `  ${route.operationId}: {`,
    `    method: '${route.method}';`,
    `    path: '${route.path}';`,
    `    params: ${objectOf(params)};`,
    `    query: ${queryOf(route.query ?? {})};`,
    `    body: ${route.body === undefined ? 'undefined' : route.body === 'binary' ? 'Uint8Array' : typeOf(route.body as Schema)};`,
    `    answer: ${answerOf(route)};`,
    '  };',
  ];
}

/** The whole file. */
export function apiTypes(routes: readonly Route[]): string {
  const listed = routes.filter((route) => /^\/(api\/v1|auth)\//.test(route.path));
  return [
    '/** Written by `npm run api-types` from the route table; `npm run check` fails when it is not up to date. Types only. */',
    'export type Operations = {',
    ...listed.flatMap(operation),
    '};',
    '',
  ].join('\n'); // prettier-ignore
}

if (import.meta.main) {
  const file = fileURLToPath(new URL('../sdk/api-types.ts', import.meta.url));
  const text = apiTypes(allRoutes());
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error('sdk/api-types.ts is not what the route table says: run `npm run api-types`.');
    process.exitCode = 1;
  }
}
