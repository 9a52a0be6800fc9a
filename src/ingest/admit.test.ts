import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRejected } from '../errors.ts';
import type { Block, DecodedPacket } from '../proto/packet.ts';
import type { ChannelConfig } from '../signal.ts';
import { gridIndex } from '../signal.ts';
import { admitPacket, defaultAdmissionLimits, gridIndexOf } from './admit.ts';
import { Commit } from './commit.ts';
import { Session } from './session.ts';
import type { Admitted, StreamRecord } from './sink.ts';

const SEC = 1_000_000_000n;
const NOW = 1_790_000_000n * SEC;
const ecg: ChannelConfig = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: 250e9, gain: 200, baseline: 0, unit: 'mV', lead: 'II' };
const limits = defaultAdmissionLimits;

function session(epochNs = NOW - 5000n * SEC): Session {
  const record = {
    streamId: 1,
    orgId: 'o',
    projectId: 'p',
    subjectId: 's',
    epochNs,
    channels: [],
    seqRanges: [],
  } as unknown as StreamRecord;
  return new Session('key', 'device', '00'.repeat(16), '', record);
}

function block(over: Partial<Block> = {}, config: Partial<ChannelConfig> = {}): Block {
  return { channel: { ...ecg, ...config }, tOffsetNs: 0, samples: new Int32Array(25), qmask: null, ...over };
}

/** Its hash tells only its start apart. */
function packet(over: Partial<DecodedPacket> = {}): DecodedPacket {
  return {
    contentHash: Number((over.t0DeviceNs ?? 0n) / SEC),
    schemaVersion: 1,
    deviceId: 'device',
    bootId: '00'.repeat(16),
    seq: 0,
    t0DeviceNs: 10n * SEC,
    t0UnixNs: 0n,
    sentUnixNs: 0n,
    subject: '',
    firmware: '',
    blocks: [block()],
    measurements: [],
    events: [],
    ...over,
  };
}

function admitted(p: DecodedPacket, s: Session): Admitted {
  const result = admitPacket(p, s, limits, NOW);
  if (isRejected(result) || result.kind !== 'admitted') throw new Error(JSON.stringify(result));
  return result;
}

const code = (p: DecodedPacket, s: Session, over: Partial<typeof limits> = {}): string => {
  const result = admitPacket(p, s, { ...limits, ...over }, NOW);
  return isRejected(result) ? result.code : result.kind;
};

describe('admitPacket', () => {
  // promise: grid
  it('puts the same sample on the same grid index however its packets were cut', () => {
    const s = session();
    const at = (k: number): bigint => (BigInt(k) * SEC) / 250n;
    for (const k of [0, 1, 25, 1_000_003]) {
      const whole = admitted(packet({ t0DeviceNs: at(k) }), s);
      expect(whole.runs[0]?.k0).toBe(k);
      const offset = admitted(packet({ t0DeviceNs: 0n, blocks: [block({ tOffsetNs: Number(at(k)) })] }), s);
      expect(offset.runs[0]?.k0).toBe(k);
    }
  });

  // promise: rates-exact
  it('computes grid indices in plain numbers exactly as signal.ts does in bigint', () => {
    fc.assert(
      fc.property(
        fc.maxSafeNat(),
        fc.constantFrom(1e9, 4e9, 32e9, 125e9, 250e9, 360e9, 1000e9, 1e15, 130_100_000_000, 99_999_999),
        (ns, rate) => {
          expect(gridIndexOf(ns, rate)).toBe(gridIndex(BigInt(ns), rate));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('changes nothing by itself; apply enters the packet and revert takes it out', () => {
    const s = session();
    const first = admitted(packet(), s);
    expect(first.newChannels).toEqual([ecg]);
    expect(s.channels).toEqual([]);
    s.apply(first);
    expect(s.channels).toEqual([ecg]);
    expect(code(packet(), s)).toBe('duplicate');
    s.revert(first);
    expect(s.channels).toEqual([]);
    expect(code(packet(), s)).toBe('admitted');
  });

  // promise: channel-numbers
  it('numbers channels by configuration: the same values are the same channel, another gain is another one', () => {
    const s = session();
    s.apply(admitted(packet({ blocks: [block(), block({}, { code: 'ppg' }), block()] }), s));
    expect(s.channels.map((c) => c.code)).toEqual(['ecg.ii', 'ppg']);
    const next = admitted(packet({ seq: 1, blocks: [block({}, { gain: 100 }), block({}, { code: 'ppg' })] }), s);
    expect(next.runs.map((run) => run.channelNo)).toEqual([2, 1]);
    expect(next.newChannels).toHaveLength(1);
  });

  it('tells a repeated packet from a reused number', () => {
    const s = session();
    s.apply(admitted(packet(), s));
    expect(code(packet(), s)).toBe('duplicate');
    expect(code(packet({ t0DeviceNs: 11n * SEC }), s)).toBe('packet_conflict');
    expect(code(packet({ contentHash: 7 }), s)).toBe('packet_conflict');
    expect(code(packet({ subject: 'other' }), s)).toBe('packet_conflict');
  });

  it('asks for older numbers, and says when nobody knows', () => {
    const s = session();
    for (const seq of [0, 1, 64, 70]) s.apply(admitted(packet({ seq, contentHash: seq }), s));
    const repeat = (seq: number, contentHash = seq): unknown => {
      const result = admitPacket(packet({ seq, contentHash }), s, limits, NOW);
      return isRejected(result) ? result.code : result.kind === 'duplicate' ? result.content : result.kind;
    };
    expect([repeat(0), repeat(64), repeat(70)]).toEqual(['unknown', 'same', 'same']);
    const hashes = new Float64Array(256).fill(NaN);
    hashes[0] = 0;
    s.recalled = { firstSeq: 0, hashes };
    expect([repeat(0), repeat(0, 5), repeat(1)]).toEqual(['same', 'packet_conflict', 'unverified']);
    s.apply(admitted(packet({ seq: 3, contentHash: 33 }), s)); // late, within what was recalled
    expect([repeat(3, 33), repeat(3)]).toEqual(['same', 'packet_conflict']);
    s.recalled = { firstSeq: 256, hashes };
    expect(repeat(3, 33)).toBe('unknown');
  });

  it('takes a repeat for a repeat after an older packet came late', () => {
    const s = session();
    const at = (seq: number): DecodedPacket => packet({ seq, t0DeviceNs: BigInt(seq) * SEC });
    s.apply(admitted(at(70), s));
    s.apply(admitted(at(6), s)); // 64 behind: the same place in the table of recent hashes
    expect(code(at(70), s)).toBe('duplicate');
  });

  // setting: BIO_REORDER_WINDOW_MS
  it('marks packets behind the reorder window as backfill', () => {
    const s = session();
    s.apply(admitted(packet({ seq: 5, t0DeviceNs: 100n * SEC }), s));
    expect(admitted(packet({ seq: 4, t0DeviceNs: 95n * SEC }), s).backfill).toBe(false);
    expect(admitted(packet({ seq: 3, t0DeviceNs: 80n * SEC }), s).backfill).toBe(true);
  });

  // promise: rates-exact, subject-fixed, limit-block, limit-channels, limit-ranges, limit-times
  it('refuses what is out of range, each with its code', () => {
    const s = session();
    expect(code(packet({ subject: 'other' }), s)).toBe('packet_invalid');
    expect(code(packet({ t0DeviceNs: 1n << 63n }), s)).toBe('packet_invalid');
    expect(code(packet({ t0DeviceNs: 6000n * SEC }), s)).toBe('packet_clock');
    // The block ends 0.1 s after its start, on a stream that began 5,000 s ago: 600 s ahead at most.
    expect(code(packet({ t0DeviceNs: 5599n * SEC }), s)).toBe('admitted');
    expect(code(packet({ t0DeviceNs: 5600n * SEC }), s)).toBe('packet_clock');
    const millennium = 946_684_800n * SEC;
    expect(code(packet({ t0DeviceNs: 0n }), session(millennium))).toBe('admitted');
    expect(code(packet({ t0DeviceNs: 0n }), session(millennium - 1n))).toBe('packet_clock');
    for (const bad of [{ code: 'ECG II' }, { code: '' }, { rateNanoHz: 0 }, { gain: Number.NaN }, { baseline: Infinity }]) {
      expect(code(packet({ blocks: [block({}, bad)] }), s)).toBe('packet_invalid');
    }
    expect(code(packet({ blocks: [block({ samples: new Int32Array(1_000_000) })] }), s)).toBe('packet_invalid');
    expect(code(packet({ blocks: [block({ tOffsetNs: 2 ** 52 })] }), s)).toBe('packet_invalid');
    expect(code(packet({ measurements: [{ code: 'hr', tOffsetNs: 0, value: Number.NaN, unit: '', quality: 0 }] }), s)).toBe(
      'packet_invalid',
    );
    const one = (rateNanoHz: number): string => code(packet({ blocks: [block({ samples: new Int32Array(1) }, { rateNanoHz })] }), s);
    expect([999_999, 1e6, 1e15, 1e15 + 1].map(one)).toEqual(['packet_invalid', 'admitted', 'admitted', 'packet_invalid']);
    const many = Array.from({ length: 65 }, (_, i) => block({}, { code: `c${i}` }));
    expect(code(packet({ blocks: many }), s)).toBe('channel_limit');
    s.apply(admitted(packet({ seq: 10 }), s));
    s.apply(admitted(packet({ seq: 20 }), s));
    expect(code(packet({ seq: 30 }), s, { seqRangesMax: 2 })).toBe('packet_invalid');
    expect(code(packet({ seq: 21 }), s, { seqRangesMax: 2 })).toBe('admitted');
  });

  it('forgets a packet that did not become durable', async () => {
    const s = session();
    const first = admitted(packet(), s);
    s.apply(first);
    const commit = new Commit(Promise.reject(new Error('database away')));
    commit.add(s, 0);

    expect(code(packet(), s)).toBe('duplicate');
    await new Promise((resolve) => setImmediate(resolve));
    expect(code(packet(), s)).toBe('admitted');
    expect(s.unsettledCount).toBe(0);
  });
});

it('knows a packet again after a newer one was lost, whatever had its place in memory', () => {
  const s = session();
  const take = (seq: number): DecodedPacket => {
    const p = packet({ seq, t0DeviceNs: BigInt(seq) * SEC });
    s.apply(admitted(p, s));
    s.unsettledCount++;
    return p;
  };
  for (let seq = 0; seq < 100; seq++) take(seq);
  take(200);
  const late = take(110);
  s.lost(200); // now 110 is the newest, and was too old for the memory when it came
  expect(admitPacket(late, s, limits, NOW)).toMatchObject({ kind: 'duplicate', content: 'unknown' });
  expect(admitPacket(packet({ seq: 99, t0DeviceNs: 99n * SEC }), s, limits, NOW)).toMatchObject({ kind: 'duplicate', content: 'same' });
});
