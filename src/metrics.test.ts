import { expect, it } from 'vitest';
import { createMetrics } from './metrics.ts';

it('counts packets and frames through tallies, each once however often they are read', async () => {
  const metrics = createMetrics();
  const accepted = metrics.packets.tally({ outcome: 'accepted' });
  const again = metrics.packets.tally({ outcome: 'accepted' });
  accepted.inc();
  again.inc(2);
  expect(await metrics.registry.metrics()).toContain('bio_packets_total{outcome="accepted"} 3');
  accepted.inc();
  expect(await metrics.registry.metrics()).toContain('bio_packets_total{outcome="accepted"} 4');
  expect(await metrics.registry.metrics()).toContain('bio_packets_total{outcome="accepted"} 4');
});

it('shows every queue before it was looked at', async () => {
  const text = await createMetrics().registry.metrics();
  for (const queue of ['packet_log', 'blocks', 'dsp', 'rows']) expect(text).toContain(`bio_queue_bytes{queue="${queue}"} 0`);
});
