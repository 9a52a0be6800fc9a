/** Background work of src/records: episodes by rule, occurrences of recurring tasks, webhook deliveries. */
import type { Pool } from 'pg';
import { startEpisodeRules } from './episode-rules.ts';
import type { WebhookNetworks } from './webhook-networks.ts';
import { startOccurrences } from './occurrences.ts';
import { startWebhookDeliverer } from './webhooks.ts';

/** Starts the jobs. Several nodes may run them: each round is taken by one node.  @returns how to stop */
export function startRecordsWork(
  options: Readonly<{ pool: Pool; networks: WebhookNetworks; onError: (error: unknown) => void }>,
): () => Promise<void> {
  const stops = [startEpisodeRules(options), startOccurrences(options), startWebhookDeliverer(options)];
  return async () => {
    for (const stop of stops) await stop();
  };
}
