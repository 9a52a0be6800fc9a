/** A person who is erased while an export of them is read. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Packet } from '../../src/proto/packet.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService();
});
afterAll(() => running.close());

/** More than sockets hold while nobody reads: 60 packets of ten seconds of eight channels. */
const wide = (subject: string): Packet[] => {
  const startNs = BigInt(Date.now() - 900_000) * 1_000_000n;
  const samples = Int32Array.from({ length: 5000 }, (_, i) => 1_000_000 + 997 * (i % 731));
  return Array.from({ length: 60 }, (_, seq) => {
    const t0DeviceNs = BigInt(seq) * 10_000_000_000n;
    return {
      schemaVersion: 1,
      deviceId: 'wide',
      bootId: 'ab'.repeat(16),
      seq,
      t0DeviceNs,
      t0UnixNs: startNs + t0DeviceNs,
      sentUnixNs: 0n,
      subject,
      firmware: '',
      blocks: Array.from({ length: 8 }, (_one, i) => ({
        channel: { code: `acc.${i}`, kind: 'acc', rateNanoHz: 500e9, gain: 1000, baseline: 0, unit: 'g', lead: '' },
        tOffsetNs: 0,
        samples,
        qmask: null,
      })),
      measurements: [],
      events: [],
    };
  });
};

it('is not told of as a person without samples: the export breaks off without its last line', async () => {
  const { xuser_id: id } = await running.token('leaver');
  for (const packet of wide(id)) {
    const sent = await running.ingest(packet);
    expect(sent.status, sent.text).toBe(202);
  }
  const response = await fetch(`${running.service.baseUrl}/api/v1/xusers/${id}/export`, {
    headers: { authorization: `Bearer ${running.org.apiKey.key}` },
  });
  const reader = response.body!.getReader();
  let text = '';
  const decoder = new TextDecoder();
  while (!text.includes('{"table":"samples"')) text += decoder.decode((await reader.read()).value, { stream: true });
  const erased = await running.send('POST', `/api/v1/xusers/${id}/erase`, { body: { confirm_external_id: 'leaver' } });
  expect(erased.status, erased.text).toBe(200);
  const rest = async (): Promise<'whole' | 'broken'> => {
    for (;;) {
      const part = await reader.read().catch(() => null);
      if (part === null) return 'broken';
      if (part.done) return 'whole';
      text += decoder.decode(part.value, { stream: true });
    }
  };
  const end = await rest();
  const held = text.split('\n').filter((line) => line.startsWith('{"table":"samples"')).length;
  expect({ end, held, last: text.trimEnd().slice(-20) }, 'it was read to the end before').not.toMatchObject({ held: 480 });
  expect(end).toBe('broken');
  expect(text).not.toContain('{"table":"end"');
});
