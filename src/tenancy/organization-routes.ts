/** The second line of defence for REST: a handler's database connection sees only the caller's organization. */
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import type { Route } from '../http/route.ts';
import type { Database } from '../storage/database/database.ts';
import { organizationPool } from '../storage/database/organization-pool.ts';
import { sqlStateOf } from '../storage/database/sql-states.ts';

type Handler = Route['handler'];

const FOREIGN_KEY = '23503';
const DEADLOCK = '40P01';
/** Organizations whose handlers are cached; making them again takes a millisecond. */
const ORGANIZATIONS_MAX = 256;

/** @param build makes the routes for a database; called once per organization, and its routes see only that organization
 *  @param owner for callers without a credential (public routes)  @param api acts as the api role */
export function routesByOrganization(build: (db: Pool) => readonly Route[], owner: Pool, api: Database): readonly Route[] {
  const kept = new Map<string, ReadonlyMap<string, Handler>>();
  const handlersOf = (organizationId: string): ReadonlyMap<string, Handler> => {
    let handlers = kept.get(organizationId);
    if (handlers === undefined) {
      const oldest = kept.keys().next();
      if (kept.size >= ORGANIZATIONS_MAX && oldest.done === false) kept.delete(oldest.value);
      handlers = new Map(build(organizationPool(api, organizationId)).map((route) => [route.operationId, route.handler]));
      kept.set(organizationId, handlers);
    }
    return handlers;
  };
  return build(owner).map((route) => ({
    ...route,
    handler: async (request) => {
      const { caller } = request;
      const handler = caller.kind === 'anonymous' ? route.handler : handlersOf(caller.orgId).get(route.operationId)!;
      try {
        return await handler(request);
      } catch (error) {
        throw refusalOf(error) ?? error;
      }
    },
  }));
}

/** @returns for what others, an erasure above all, have done to the request meanwhile: what to answer; null: it was something else */
function refusalOf(error: unknown): PipelineError | null {
  const state = sqlStateOf(error);
  const { constraint = '' } = (error ?? {}) as { constraint?: string };
  if (state === FOREIGN_KEY && /_(xuser|stream|episode)_id_fkey$/.test(constraint))
    return new PipelineError('not_found', 'What the request is about was erased meanwhile.', { cause: error });
  if (state === DEADLOCK)
    return new PipelineError('unavailable', 'Another change was in the way; nothing was kept, send it again.', {
      cause: error,
      retryAfterSec: 1,
    });
  return null;
}
