/** Every route of src/webhooks. */
import type { Pool } from 'pg';
import type { Route } from '../http/route.ts';
import { webhookCareRoutes } from './webhook-care-routes.ts';
import { WebhookNetworks } from './webhook-networks.ts';
import { webhookRoutes } from './webhook-routes.ts';

/** @param deps networks: which addresses webhooks may call; default: the public internet */
export function webhooksApi(deps: Readonly<{ db: Pool; networks?: WebhookNetworks }>): readonly Route[] {
  return [...webhookCareRoutes({ db: deps.db, networks: deps.networks ?? new WebhookNetworks() }), ...webhookRoutes(deps)];
}
