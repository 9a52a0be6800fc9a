/** The second line of defence for REST: a handler's database connection sees only the caller's organization. */
import type { Pool } from 'pg';
import type { Route } from '../http/route.ts';
import type { Database } from '../storage/database/database.ts';
import { organizationPool } from '../storage/database/organization-pool.ts';

type Handler = Route['handler'];

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
    handler: (request) => {
      const { caller } = request;
      const handler = caller.kind === 'anonymous' ? route.handler : handlersOf(caller.orgId).get(route.operationId)!;
      return handler(request);
    },
  }));
}
