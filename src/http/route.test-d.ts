/** Checks what defineRoute and defineSocket must refuse. Nothing here runs: tsc (`npm run check`) reads it, and an expected error that does
 *  not occur is itself an error. */
import { Type } from 'typebox';
import { defineRoute, defineSocket } from './route.ts';
import { orDefault } from './schemas.ts';

const row = { method: 'GET', operationId: 'x', tag: 'x', summary: 'x', access: { key: 'read' } } as const;
const responses = { 200: { description: 'It.' } };
const Id = Type.String();

export const read = defineRoute({
  ...row,
  path: '/things/{thingId}/parts/{partId}',
  params: { thingId: Id, partId: Id },
  query: { since: Type.Optional(Type.String()), limit: orDefault(Type.Integer({ default: 10 })) },
  responses,
  handler: async ({ params, query, body }) => {
    const ids: readonly string[] = [params.thingId, params.partId];
    const since: string | undefined = query.since;
    const limit: number = query.limit;
    const none: null = body;
    // @ts-expect-error: it may be absent
    const always: string = query.since;
    // @ts-expect-error: misspelt
    void query.sinc;
    // @ts-expect-error: the path has none of this name
    void params.id;
    return { status: 200, json: { ids, since, limit, none, always } };
  },
});

export const misspelt = defineRoute({
  ...row,
  path: '/things/{thingId}',
  // @ts-expect-error: the path calls it thingId
  params: { id: Id },
  responses,
  handler: async () => ({ status: 200 }),
});

// @ts-expect-error: thingId has no schema
export const undeclared = defineRoute({ ...row, path: '/things/{thingId}', responses, handler: async () => ({ status: 200 }) });

export const write = defineRoute({
  ...row,
  method: 'POST',
  path: '/things',
  body: Type.Object({ name: Type.String(), count: Type.Optional(Type.Integer()) }),
  responses: { 201: { description: 'Made.' }, 202: { description: 'Later.' } },
  handler: async ({ body, query, params }) => {
    const name: string = body.name;
    // @ts-expect-error: it is a number
    const count: string | undefined = body.count;
    // @ts-expect-error: misspelt
    void body.nane;
    // @ts-expect-error: there is no query
    void query.limit;
    // @ts-expect-error: there are no parameters
    void params.id;
    return { status: name === '' ? 201 : 202, json: count };
  },
});

export const otherStatus = defineRoute({
  ...row,
  path: '/things',
  responses,
  // @ts-expect-error: 204 is not declared
  handler: async () => ({ status: 204 }),
});

export const oneOfTwoStatuses = defineRoute({
  ...row,
  path: '/things',
  responses,
  // @ts-expect-error: 404 is not declared
  handler: async ({ caller }) => ({ status: caller.kind === 'anonymous' ? 404 : 200 }),
});

export const bytes = defineRoute({
  ...row,
  method: 'POST',
  path: '/things/raw',
  body: 'binary',
  responses,
  handler: async ({ body }) => {
    // @ts-expect-error: bytes have no name
    void body.name;
    return { status: 200, bytes: body.subarray(1) };
  },
});

export const feed = defineSocket({
  path: '/feed',
  operationId: 'feed',
  tag: 'x',
  summary: 'x',
  access: { key: 'read' },
  query: { after: Type.Optional(Type.Integer()) },
  protocol: 'bio.v1',
  messageBytesMax: 1,
  backpressureBytesMax: 1,
  open: ({ query }) => {
    const after: number | undefined = query.after;
    // @ts-expect-error: misspelt
    void query.afer;
    return { closed: () => void after };
  },
});
