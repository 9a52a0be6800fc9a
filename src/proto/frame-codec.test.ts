import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { channelKinds } from '../signal.ts';
import type { LiveFrame } from './frame-codec.ts';
import { decodeFrame, encodeFrame } from './frame-codec.ts';
import { biosignal } from './generated/generated.js';
import { decodeReply, encodeReply } from './reply-codec.ts';
import { WireFault } from './wire-reader.ts';

const samples = fc.float32Array({ maxLength: 40 });
const frame: fc.Arbitrary<LiveFrame> = fc
  .record({
    subject: fc.uuid(),
    seq: fc.maxSafeNat(),
    t0Ns: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
    durationMs: fc.constant(100),
    ecg: samples,
    ppg: samples,
    eda: samples,
    temp: samples,
    channels: fc.array(
      fc.record({
        code: fc.string({ maxLength: 10 }),
        kind: fc.constantFrom(...channelKinds),
        unit: fc.string({ maxLength: 5 }),
        rateNanoHz: fc.maxSafeNat(),
        tOffsetNs: fc.integer({ min: -60_000_000_000, max: 100_000_000 }),
        primary: fc.constant(false),
        samples,
        qmask: fc.constant(null),
        lead: fc.string({ maxLength: 5 }),
        source: fc.nat(100),
      }),
      { maxLength: 4 },
    ),
    features: fc.array(
      fc.record({
        name: fc.string({ maxLength: 20 }),
        tsNs: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
        value: fc.double(),
        qmask: fc.constantFrom(0 as const, 1 as const, 2 as const),
      }),
      { maxLength: 3 },
    ),
    droppedFrames: fc.nat(),
    lagMs: fc.nat(),
    replayed: fc.boolean(),
    incomplete: fc.boolean(),
  })
  .map((f) => ({
    ...f,
    channels: f.channels.map((c) => ({ ...c, qmask: c.samples.length % 3 === 2 ? new Uint8Array(c.samples.length).fill(1) : null })),
  }));

describe('frame codec', () => {
  // promise: codecs-agree
  it('reads what it wrote, and protobufjs reads the same numbers', () => {
    fc.assert(
      fc.property(frame, (f) => {
        const bytes = encodeFrame(f);
        expect(decodeFrame(bytes)).toEqual(f);
        const reference = biosignal.v1.LiveFrame.decode(bytes);
        expect(reference.subject).toBe(f.subject);
        expect(BigInt(reference.seq.toString())).toBe(BigInt(f.seq));
        expect(Float32Array.from(reference.ecg)).toEqual(f.ecg);
        expect(reference.channels.map((c) => Number((c.tOffsetNs ?? 0).toString()))).toEqual(f.channels.map((c) => c.tOffsetNs));
        expect(decodeFrame(biosignal.v1.LiveFrame.encode(reference).finish())).toEqual(f);
      }),
      { numRuns: 200 },
    );
  });

  it('gives a primary channel the samples of its array', () => {
    const ecg = Float32Array.of(1, 2, Number.NaN);
    const channel = {
      code: 'ecg.ii',
      kind: 'ecg',
      unit: 'mV',
      rateNanoHz: 3e10,
      tOffsetNs: 0,
      primary: true,
      lead: 'II',
      source: 0,
    } as const;
    const none = new Float32Array(0);
    const bytes = encodeFrame({
      subject: 's',
      seq: 1,
      t0Ns: 5n,
      durationMs: 100,
      ecg,
      ppg: none,
      eda: none,
      temp: none,
      channels: [{ ...channel, samples: ecg, qmask: Uint8Array.of(0, 0, 2) }],
      features: [],
      droppedFrames: 0,
      lagMs: 0,
      replayed: false,
      incomplete: true,
    });
    const read = decodeFrame(bytes);
    expect(read.channels[0]?.samples).toBe(read.ecg);
    expect(read.channels[0]?.qmask).toEqual(Uint8Array.of(0, 0, 2));
  });

  it('throws WireFault and nothing else on cut or mutated bytes', () => {
    fc.assert(
      fc.property(frame, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 4 }), (f, at, patch) => {
        const bytes = encodeFrame(f);
        bytes.set(patch.subarray(0, Math.min(patch.length, bytes.length)), at % Math.max(1, bytes.length - 4));
        for (const part of [bytes, bytes.subarray(0, at % (bytes.length + 1))]) {
          try {
            decodeFrame(part);
          } catch (error) {
            expect(error).toBeInstanceOf(WireFault);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('reply codec', () => {
  it('reads what it wrote, and protobufjs reads the same', () => {
    const reply = {
      accepted: 3,
      duplicates: 1,
      unverified: 1,
      rejected: [{ index: 70_000, code: 'packet_clock', detail: 'ends 700 s in the future' }],
      highSeq: 2 ** 40,
      serverTimeNs: 1_790_000_000_123_456_789n,
      settled: 12,
      window: 256,
      notices: ['its clock is slow', 'and not kept'],
      nodeUrl: 'https://node-2.example:8080',
    };
    const bytes = encodeReply(reply);
    expect(decodeReply(bytes)).toEqual(reply);
    const reference = biosignal.v1.IngestReply.decode(bytes);
    expect(reference.accepted).toBe(3);
    expect(reference.highSeq.toString()).toBe(String(2 ** 40));
    expect(reference.rejected[0]?.code).toBe('packet_clock');
    expect(reference.notices).toEqual(reply.notices);
    expect(reference.nodeUrl).toBe(reply.nodeUrl);
    expect(() => decodeReply(bytes.subarray(0, 7))).toThrow(WireFault);
  });
});
