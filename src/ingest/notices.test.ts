import { expect, it } from 'vitest';
import type { Packet } from '../proto/packet.ts';
import { noticesOf } from './notices.ts';
import type { StreamRecord } from './sink.ts';

const SEC = 1_000_000_000n;
const NOW = 1_790_000_000n * SEC;
const packet = { deviceId: 'd', bootId: '0'.repeat(32), t0DeviceNs: 5n * SEC, t0UnixNs: 0n, sentUnixNs: 0n } as Packet;
const record = (epochNs: bigint, expiring: StreamRecord['expiring'] = []): StreamRecord => ({ epochNs, expiring }) as StreamRecord;

it('says where a recording is stored when it now states another time', () => {
  const placement = { epochNs: 1000n * SEC, timeSource: 'stated' } as const;
  expect(noticesOf(packet, placement, record(NOW - 5n * SEC), NOW)).toEqual([
    expect.stringContaining('is stored already, from 2026-09-21T14:13:20Z on and not from 1970-01-01T00:16:45Z; to move it, erase it'),
  ]);
  expect(noticesOf(packet, placement, record(1000n * SEC), NOW)).toEqual([]);
});

it('says nothing about a device whose stream goes on', () => {
  expect(noticesOf({ ...packet, t0UnixNs: 1n }, { epochNs: NOW, timeSource: 'arrival' }, record(NOW - SEC), NOW)).toEqual([]);
});

// promise: retention-notice
it('says what retention will delete, and nothing about what is recent enough', () => {
  const expiring = [
    { what: 'samples', days: 30 },
    { what: 'beats', days: 90 },
  ];
  const epochNs = NOW - 40n * 86_400n * SEC;
  expect(noticesOf(packet, { epochNs, timeSource: 'stated' }, record(epochNs, expiring), NOW)).toEqual([
    expect.stringMatching(/samples are kept 30 days: those before 2026-08-22T\d\d:\d\d:\d\dZ will be deleted$/),
  ]);
});
