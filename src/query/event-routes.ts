/** GET /api/v1/streams/{streamId}/events: what a device, or an imported file, says of moments of a recording. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import type { Cursors } from '../http/cursor.ts';
import { page, pageStart } from '../http/page.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { CursorQuery, exactly, LimitQuery, Timestamp, Uuid } from '../http/schemas.ts';
import { build, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { ownStream } from '../tenancy/record-ownership.ts';
import { timestampAt } from './time-bounds.ts';

const EventSchema = exactly({
  id: Uuid,
  at: Timestamp,
  code: Type.String({ description: 'As the device has it; annotation: of a file that was imported.' }),
  text: Type.String(),
});

type Deps = Readonly<{ db: Db; cursors: Cursors }>;

const listEvents = ({ db, cursors }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/streams/{streamId}/events',
    operationId: 'listEvents',
    tag: 'Streams',
    summary: 'List what the device, or an imported file, says of moments',
    description:
      'Events in [since, until), by their time: buttons, changes of a device, and the annotations of imported files (WFDB .atr, EDF+). ' +
      'Those of some codes are episodes, too.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { streamId: Uuid },
    query: {
      since: Type.Optional(Timestamp),
      until: Type.Optional(Timestamp),
      code: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      limit: LimitQuery(1000, 10_000),
      cursor: CursorQuery,
    },
    responses: { 200: { description: 'Events.', schema: Type.Array(EventSchema), headers: ['Link'] } },
    errors: ['not_found', 'cursor_invalid'],
    handler: async ({ caller, params, query }) => {
      const stream = await ownStream(db, caller, params.streamId);
      const { since = null, until = null, code = null } = query;
      const path = `/api/v1/streams/${stream.uuid}/events`;
      const list = { cursors, path, scope: ['events', stream.uuid, since ?? '', until ?? '', code ?? ''].join(' '), query };
      const after = pageStart(list);
      let found = build
        .selectFrom('device_event as e')
        .select(['e.id', 'e.ts_ns', 'e.code', 'e.content', sql<string>`e.time::text`.as('key')])
        .where('e.stream_id', '=', stream.id);
      if (since !== null) found = found.where(sql<boolean>`e.time >= ${since}::timestamptz`);
      if (until !== null) found = found.where(sql<boolean>`e.time < ${until}::timestamptz`);
      if (code !== null) found = found.where('e.code', '=', code);
      if (after !== null) found = found.where(sql<boolean>`(e.time, e.id) > (${String(after[0])}::timestamptz, ${String(after[1])}::uuid)`);
      const { rows } = await run(
        db,
        found
          .orderBy('e.time')
          .orderBy('e.id')
          .limit(query.limit + 1),
      );
      const { items, headers } = page(list, rows, (last) => [last.key, last.id]);
      const json = items.map(({ id, ts_ns: ns, code: what, content: text }) => ({ id, at: timestampAt(ns), code: what, text }));
      return { status: 200, json, headers };
    },
  });

export const eventRoutes = (deps: Deps): readonly Route[] => [listEvents(deps)];
