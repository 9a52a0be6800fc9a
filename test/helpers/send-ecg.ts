/** An ECG of the simulator, sent to a running service as an import does: at the time of its recording, whenever that was. */
import { expect } from 'vitest';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import type { RunningService } from './running-service.ts';

/** Sends 80 seconds (a segment of the signal chain and more) in packets of ten, by a device and user of that external id. @returns the
 *  user's id */
export async function sendEcg(running: RunningService, projectKey: string, externalId: string, startMs: number): Promise<string> {
  const token = await running.send<{ xuser_token: string; xuser_id: string }>('POST', '/api/v1/sdk/token', {
    body: { external_id: externalId, project_key: projectKey },
  });
  expect(token.status, token.text).toBe(200);
  const bootId = Buffer.from(`${externalId} ${startMs}`.padEnd(16, '.')).toString('hex').slice(-32);
  const next = createPacketSource(createSimulatedDevice({ seed: 9, channels: ['ecg.ii'] }), {
    deviceId: externalId,
    bootId,
    subject: '',
    startUnixNs: BigInt(startMs) * 1_000_000n,
    packetMs: 10_000,
  });
  for (let i = 0; i < 8; i++) {
    const { packet } = next();
    const sent = await running.ingest({ ...packet, sentUnixNs: 0n }, token.body.xuser_token);
    expect(sent, sent.text).toMatchObject({ status: 202, body: { rejected: [] } });
  }
  return token.body.xuser_id;
}
