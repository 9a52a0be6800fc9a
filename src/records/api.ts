/** Every route of src/records that clinicians and applications use. */
import type { Db } from '../auth/api-keys.ts';
import type { Cursors } from '../http/cursor.ts';
import type { Route } from '../http/route.ts';
import { episodeRoutes } from './episode-routes.ts';

export function recordsApi(deps: Readonly<{ db: Db; cursors: Cursors }>): readonly Route[] {
  return [...episodeRoutes(deps)];
}
