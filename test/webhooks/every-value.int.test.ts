// A rule for each value that is computed, from the packets of a device to the request that a webhook receives.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createSimulatedDevice, simulatedChannels } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { featureMethods } from '../../src/dsp/rows/methods.ts';
import { applyRules } from '../../src/records/episode-rules.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';

const PACKET_MS = 10_000;
const SECONDS = 700;
/** Below and above every number. */
const BOUND = 1e9;

type Episode = Readonly<{ id: string; kind: string; title: string; summary: Readonly<{ feature: string; extreme: number }> }>;

it('opens an episode of each value, and tells of it', { timeout: 300_000 }, async () => {
  const run = await runService({ BIO_WEBHOOK_NETWORKS: '127.0.0.0/8' });
  onTestFinished(() => run.close());
  const told = new Map<string, number>();
  const receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { data } = JSON.parse(body) as { data: { kind: string } };
      told.set(data.kind, (told.get(data.kind) ?? 0) + 1);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void receiver.close());
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  expect((await run.send('POST', '/api/v1/webhooks', { body: { url, events: ['episode.created'] } })).status).toBe(201);

  // Below and above by turns: both have to cope with every value.
  for (const [i, { feature }] of featureMethods.entries()) {
    const isAbove = i % 2 === 0;
    const body = {
      name: `Rule of ${feature}`,
      kind: feature,
      feature,
      comparison: isAbove ? 'above' : 'below',
      threshold: isAbove ? -BOUND : BOUND,
      sustain_sec: 0,
      quality_max: 1,
      severity: 'low',
    };
    const made = await run.send('POST', `/api/v1/projects/${run.org.projectId}/rules`, { body });
    expect([feature, made.status, made.status === 201 ? '' : made.text]).toEqual([feature, 201, '']);
  }

  // Breathing is computed from beats where no channel has it.
  const people = [['ada', simulatedChannels.filter((code) => code !== 'resp')] as const, ['eve', ['resp', 'ecg.ii'] as const] as const];
  const startUnixNs = BigInt(Date.now() - SECONDS * 1000) * 1_000_000n;
  for (const [i, [name, channels]] of people.entries()) {
    const { xuser_token: as } = await run.token(name);
    const device = createSimulatedDevice({ seed: 40 + i, channels: [...channels] });
    const next = createPacketSource(device, {
      deviceId: `device-${name}`,
      bootId: `${i}`.repeat(32),
      subject: '',
      startUnixNs,
      packetMs: PACKET_MS,
    });
    for (let sent = 0; sent < SECONDS; sent += PACKET_MS / 1000) {
      const { packet } = next();
      const answer = await run.ingest({ ...packet, sentUnixNs: 0n }, as);
      expect(answer.status, answer.text).toBe(202);
    }
  }
  const all = featureMethods.map(({ feature }) => feature).toSorted();
  const missing = (): string[] => all.filter((feature) => !told.has(feature));
  await until(async () => {
    await applyRules(run.database.pool, []);
    return missing().length === 0;
  }, 120_000).catch(() => undefined);
  expect(missing()).toEqual([]);

  const listed = people.map(([name]) => run.send<Episode[]>('GET', `/api/v1/episodes?subject_id=${name}&limit=200`));
  const episodes = (await Promise.all(listed)).flatMap(({ body }) => body);
  expect([...new Set(episodes.map(({ kind }) => kind))].toSorted()).toEqual(all);
  for (const { kind, title, summary } of episodes) {
    expect([title, summary.feature]).toEqual([`Rule of ${kind}`, kind]);
    expect([kind, Number.isFinite(summary.extreme)]).toEqual([kind, true]);
  }
  expect(run.faults).toEqual([]);
});
