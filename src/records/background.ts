/** What src/records does by itself: episodes by rule, occurrences of what recurs, and deliveries of webhooks. */
import type { Pool } from 'pg';
import { startEpisodeRules } from './episode-rules.ts';
import type { WebhookNetworks } from './webhook-networks.ts';
import { startOccurrences } from './occurrences.ts';
import { startWebhookDeliverer } from './webhooks.ts';

/** Starts them. Several nodes may: each look is taken by one of them. @returns how to stop */
export function startRecordsWork(
  options: Readonly<{ pool: Pool; networks: WebhookNetworks; onError: (error: unknown) => void }>,
): () => Promise<void> {
  const stops = [startEpisodeRules(options), startOccurrences(options), startWebhookDeliverer(options)];
  return async () => {
    for (const stop of stops) await stop();
  };
}
