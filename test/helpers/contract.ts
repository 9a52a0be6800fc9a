/** Holds every answer of every test against the route table: an undocumented status, code, media type or member fails the test. */
import { compileCheck } from '../../src/http/validate.ts';
import { writeJson } from '../../src/http/json.ts';
import { errorsOf } from '../../src/http/openapi.ts';
import type { ErrorCode } from '../../src/errors.ts';
import type { Route } from '../../src/http/route.ts';
import { ProblemSchema } from '../../src/http/schemas.ts';
import type { Exchange } from '../../src/http/server.ts';
import type { TSchema } from 'typebox';

const checks = new WeakMap<object, ReturnType<typeof compileCheck>>();
const checkOf = (schema: TSchema): ReturnType<typeof compileCheck> => {
  let check = checks.get(schema);
  if (check === undefined) checks.set(schema, (check = compileCheck(schema)));
  return check;
};

/** What is wrong with an answer; an empty list when nothing is. */
export function contractBreaches(exchange: Exchange): readonly string[] {
  const { route, status, reply, method } = exchange;
  const where = `${method} ${route?.path ?? '(no route)'} ${status}`;
  const type = (reply.contentType ?? (reply.json === undefined ? '' : 'application/json')).split(';')[0] ?? '';
  const value: unknown =
    type.endsWith('json') && reply.stream === undefined
      ? JSON.parse(reply.text ?? (reply.bytes === undefined ? writeJson(reply.json) : Buffer.from(reply.bytes).toString()))
      : undefined;
  if (type === 'application/problem+json') {
    const breaches = checkOf(ProblemSchema)(value).map((error) => `${where}: problem${error.pointer} ${error.detail}`);
    const { code } = value as { code: ErrorCode };
    if (route !== null && !errorsOf(route).includes(code)) breaches.push(`${where}: the code ${code} is not documented`);
    return breaches;
  }
  if (route === null) return [];
  return successBreaches(route, status, type, value, where);
}

function successBreaches(route: Route, status: number, type: string, value: unknown, where: string): readonly string[] {
  const spec = route.responses[status];
  if (spec === undefined) return [`${where}: the status is not documented`];
  const main = (spec.contentType ?? (spec.schema === undefined ? '' : 'application/json')).split(';')[0] ?? '';
  if (main === '*/*') return [];
  const schema = type === main ? spec.schema : spec.alternatives?.[type];
  if (type !== main && schema === undefined) return [`${where}: the media type ${type} is not documented`];
  if (schema === undefined || schema === null) return [];
  return checkOf(schema)(value).map((error) => `${where}: ${error.pointer} ${error.detail}`);
}
