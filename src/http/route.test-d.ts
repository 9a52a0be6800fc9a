/** Checks what defineRoute and defineSocket must refuse. Nothing here runs: tsc (`npm run check`) reads it, and an expected error that does
 *  not occur is itself an error. */
import { Type } from 'typebox';
import { defineRoute, defineSocket } from './route.ts';
import { oneOf, orDefault } from './schemas.ts';

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
    void (body satisfies null);
    // @ts-expect-error: it may be absent
    const always: string = query.since;
    // @ts-expect-error: misspelt
    void query.sinc;
    // @ts-expect-error: the path has none of this name
    void params.id;
    return { status: 200, text: [ids, since, limit, always].join() };
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
    return { status: name === '' ? 201 : 202, text: `${name} ${count ?? ''}` };
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

const Part = Type.Object({
  name: Type.String(),
  kind: oneOf(['wheel', 'door']),
  size: Type.Optional(Type.Number()),
  tags: Type.Array(Type.String()),
});
const part = { name: 'left', kind: 'door', tags: ['a'] } as const;
const parts = { ...row, path: '/parts', responses: { 200: { description: 'It.', schema: Part } } } as const;

export const answer = defineRoute({ ...parts, handler: async () => ({ status: 200, json: part }) });
export const absentMember = defineRoute({ ...parts, handler: async () => ({ status: 200, json: { ...part, size: undefined } }) });
export const writtenAlready = defineRoute({
  ...parts,
  handler: async () => ({ status: 200, text: '{}', contentType: 'application/json' }),
});

// @ts-expect-error: kind is missing
export const less = defineRoute({ ...parts, handler: async () => ({ status: 200, json: { name: 'left', tags: [] } }) });

// @ts-expect-error: no such kind
export const otherWord = defineRoute({ ...parts, handler: async () => ({ status: 200, json: { ...part, kind: 'roof' } }) });

// @ts-expect-error: one member of the list is a number
export const otherItem = defineRoute({ ...parts, handler: async () => ({ status: 200, json: { ...part, tags: ['a', 1] } }) });

// @ts-expect-error: no body
export const nothing = defineRoute({ ...parts, handler: async () => ({ status: 200 }) });

// @ts-expect-error: there may be no row
export const maybe = defineRoute({ ...parts, handler: async () => ({ status: 200, json: [part][0] }) });

// @ts-expect-error: nobody knows what it is
export const unknown = defineRoute({ ...parts, handler: async () => ({ status: 200, json: part as unknown }) });

// @ts-expect-error: a row of a query that does not say what its rows are
export const any = defineRoute({ ...parts, handler: async () => ({ status: 200, json: JSON.parse('{}') }) });

export const undeclaredBody = defineRoute({
  ...row,
  path: '/things',
  responses,
  // @ts-expect-error: the response has no schema
  handler: async () => ({ status: 200, json: part }),
});

const either = { 200: { description: 'It.', schema: Part }, 202: { description: 'Later.', schema: Type.Object({ at: Type.String() }) } };

export const eachItsOwn = defineRoute({
  ...row,
  path: '/parts',
  responses: either,
  handler: async ({ caller }) => (caller.kind === 'anonymous' ? { status: 202, json: { at: 'noon' } } : { status: 200, json: part }),
});

export const theOthers = defineRoute({
  ...row,
  path: '/parts',
  responses: either,
  // @ts-expect-error: that is the body of 202
  handler: async () => ({ status: 200, json: { at: 'noon' } }),
});

export const asAskedFor = defineRoute({
  ...row,
  path: '/parts',
  responses: {
    200: { description: 'It.', schema: Part, alternatives: { 'application/x': Type.Object({ x: Type.Number() }), 'text/csv': null } },
  },
  handler: async ({ caller }) =>
    caller.kind === 'anonymous' ? { status: 200, json: { x: 1 }, contentType: 'application/x' } : { status: 200, json: part },
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
