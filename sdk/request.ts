/** Types of requests and answers, derived from the operations of api-types.ts, and the address of a request with its parameters. */
import type { Operations } from './api-types.ts';

export type Operation = keyof Operations;
export type Method = Operations[Operation]['method'];

/** The paths, with their `{parameters}`, that a method has. */
export type PathOf<M extends Method> = { [O in Operation]: Operations[O]['method'] extends M ? Operations[O]['path'] : never }[Operation];
/** The operation of a method and a path. */
export type OperationAt<M extends Method, P extends string> = {
  [O in Operation]: Operations[O] extends { method: M; path: P } ? O : never;
}[Operation];

/** A part of a request: left out or empty when there is nothing to say, optional when nothing of it is needed. */
type Part<Name extends string, T> = [keyof T] extends [never]
  ? { [N in Name]?: Readonly<Record<string, never>> }
  : Partial<T> extends T
    ? { [N in Name]?: T }
    : { [N in Name]: T };

/** `params` for the path, `query` and `body`, as the operation takes them. */
export type RequestOf<O extends Operation> = Readonly<
  Part<'params', Operations[O]['params']> & Part<'query', Operations[O]['query']> & Part<'body', Operations[O]['body']>
>;
/** The JSON that the operation answers; `null` where the answer has no body, `unknown` where it is no JSON. */
export type Answer<O extends Operation> = Operations[O]['answer'];
export type BodyOf<O extends Operation> = Operations[O]['body'];
export type QueryOf<O extends Operation> = Operations[O]['query'];
/** The last argument of a call: may be left out where an operation needs nothing. */
export type RequestArguments<O extends Operation, More = unknown> =
  Partial<RequestOf<O>> extends RequestOf<O> ? [request?: RequestOf<O> & More] : [request: RequestOf<O> & More];

/** A request as the code below the types sees it. Lists in the query are joined by commas; `undefined` leaves a name out. */
export type AnyRequest = Readonly<{
  params?: Readonly<Record<string, string>> | undefined;
  query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>> | undefined;
  body?: unknown;
}>;

/** The path with its parameters filled in, and the query. */
export function addressOf(path: string, { params, query }: AnyRequest = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(name, String(value));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params?.[name] ?? ''));
  return `${filled}?${search.toString()}`.replace(/\?$/, '');
}
