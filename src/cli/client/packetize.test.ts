import { expect, test } from 'vitest';
import { defaultPacketLimits } from '../../proto/packet.ts';
import { decodePacket } from '../../proto/packet-decode.ts';
import { encodePacket } from '../../proto/packet-encode.ts';
import { isRejected } from '../../errors.ts';
import { gridIndex } from '../../signal.ts';
import { packetAt, packetCount } from './packetize.ts';
import type { Recording } from './recording.ts';
import { MISSING, kindOfName, uniqueCode } from './recording.ts';

const options = { deviceId: 'd', bootId: '00'.repeat(16), subject: 's', startUnixNs: 1_700_000_000_000_000_000n };

function recordingOf(rateHz: number, samples: Int32Array, startSec = 0): Recording {
  const config = {
    code: 'ecg',
    kind: 'ecg',
    rateNanoHz: Math.round(rateHz * 1e9),
    gain: 200,
    baseline: 0,
    unit: 'mV',
    lead: 'II',
  } as const;
  const durationSec = startSec + samples.length / rateHz;
  return {
    name: 'r',
    path: 'r',
    channels: [{ config, startSec, samples }],
    durationSec,
    startUnixNs: null,
    annotationPath: null,
    events: [],
  };
}

/** What a service puts together from the packets: grid index -> value. */
function gather(recording: Recording, packetMs: number): Map<number, number> {
  const seen = new Map<number, number>();
  for (let seq = 0; seq < packetCount(recording, packetMs); seq++) {
    const packet = packetAt(recording, seq, { ...options, packetMs });
    if (packet === null) continue;
    const decoded = decodePacket(encodePacket(packet), defaultPacketLimits);
    if (isRejected(decoded)) throw new Error(decoded.detail);
    for (const block of decoded.blocks) {
      const k0 = gridIndex(decoded.t0DeviceNs + BigInt(block.tOffsetNs), block.channel.rateNanoHz);
      block.samples.forEach((value, i) => {
        expect(seen.has(k0 + i)).toBe(false);
        seen.set(k0 + i, value);
      });
    }
  }
  return seen;
}

test.each([360, 125, 130.1, 64, 4, 1000 / 3])('every sample arrives once on its grid index, at %d Hz and any packet length', (rateHz) => {
  const samples = Int32Array.from({ length: Math.round(rateHz * 7.3) }, (_, i) => i * 3 - 400);
  for (const packetMs of [10, 100, 333, 1000, 60_000]) {
    const seen = gather(recordingOf(rateHz, samples), packetMs);
    expect(seen.size).toBe(samples.length);
    samples.forEach((value, i) => expect(seen.get(i)).toBe(value));
  }
});

test('missing samples are gaps, not zeros', () => {
  const samples = Int32Array.from({ length: 500 }, (_, i) => (i >= 100 && i < 260 ? MISSING : i));
  const seen = gather(recordingOf(100, samples), 1000);
  expect(seen.size).toBe(340);
  expect(seen.has(99)).toBe(true);
  expect(seen.has(100)).toBe(false);
  expect(seen.get(260)).toBe(260);
});

test('a channel that starts later keeps its time', () => {
  const seen = gather(recordingOf(4, Int32Array.of(7, 8, 9), 10), 1000);
  expect([...seen]).toEqual([
    [40, 7],
    [41, 8],
    [42, 9],
  ]);
});

test('names signals as recorders do', () => {
  expect(kindOfName('MLII', 'mV')).toBe('ecg');
  expect(kindOfName('V1', 'mV')).toBe('ecg');
  for (const lead of ['ML5', 'MCL1', 'CM4', 'V1-V2', 'V4-V5', 'vx', 'ES', 'aVR', 'mod.V1', 'D3'])
    expect(kindOfName(lead, 'mV'), lead).toBe('ecg');
  for (const other of ['Fpz-Cz', 'EOG', 'EMG', 'ABP', 'V1-Cz', 'Fp1-A1', 'ART']) expect(kindOfName(other, 'uV'), other).toBe('other');
  expect(kindOfName('PLETH', 'NU')).toBe('ppg');
  expect(kindOfName('RESP', 'pm')).toBe('resp');
  expect(kindOfName('EEG Fpz-Cz', 'uV')).toBe('other');
  const taken = new Set<string>();
  expect(uniqueCode('ecg', 'MLII', taken)).toBe('ecg.ii');
  expect(uniqueCode('ecg', 'II', taken)).toBe('ecg.ii-2');
  expect(uniqueCode('ecg', 'V1', taken)).toBe('ecg.v1');
  expect(uniqueCode('ppg', 'PLETH', taken)).toBe('ppg.pleth');
  expect(uniqueCode('ecg', 'ECG', taken)).toBe('ecg');
  // A code of our own stays as it is.
  for (const code of ['other.fpz-cz', 'acc.x', 'ppg.green', 'temp.skin']) expect(uniqueCode(kindOfName(code, ''), code, taken)).toBe(code);
});

test('notes of a file from elsewhere are cleaned and cut to what a packet takes', () => {
  const recording = { ...recordingOf(10, new Int32Array(10)), events: [{ atSec: 0.2, text: `a\u0000b ${'é'.repeat(200)}` }] };
  const packet = packetAt(recording, 0, { ...options, packetMs: 1000, withEvents: true })!;
  const decoded = decodePacket(encodePacket(packet), defaultPacketLimits);
  if (isRejected(decoded)) throw new Error(decoded.detail);
  expect(decoded.events[0]!.text).toBe(`a b ${'é'.repeat(126)}`);
});
