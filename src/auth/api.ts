/** Every route of src/auth: tokens, keys, sessions. */
import type { Pool } from 'pg';
import type { Route } from '../http/route.ts';
import type { Auth } from './auth.ts';
import { keyRoutes } from './key-routes.ts';
import { publicKeyRoutes } from './public-key-routes.ts';
import { sessionRoutes } from './session-routes.ts';
import type { SessionDeps } from './session-routes.ts';
import { tokenRoutes } from './token-routes.ts';

export type AuthApiDeps = Readonly<{ pool: Pool; auth: Auth }> & Omit<SessionDeps, 'db'>;

export function authApi({ pool, auth, ...sessions }: AuthApiDeps): readonly Route[] {
  return [
    ...tokenRoutes({ db: pool, auth }),
    ...keyRoutes({ pool }),
    ...publicKeyRoutes({ db: pool }),
    ...sessionRoutes({ db: pool, ...sessions }),
  ];
}
