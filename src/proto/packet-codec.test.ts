/** Both directions against protobufjs' static code, every truncation, and mutated bytes. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRejected } from '../errors.ts';
import type { ChannelConfig } from '../signal.ts';
import { channelKinds } from '../signal.ts';
import { refusedCharacter } from '../text.ts';
import { biosignal } from './generated/generated.js';
import type { Block, DecodedPacket, Packet } from './packet.ts';
import { defaultPacketLimits } from './packet.ts';
import { decodePacket, splitBatch } from './packet-decode.ts';
import { encodeBatch, encodePacket } from './packet-encode.ts';
import { WireWriter } from './wire-writer.ts';

const Reference = biosignal.v1.Packet;
const limits = defaultPacketLimits;

const text = (bytesMax: number): fc.Arbitrary<string> =>
  fc
    .string({ unit: 'grapheme', maxLength: bytesMax / 4 })
    .filter((s) => new TextEncoder().encode(s).length <= bytesMax && refusedCharacter(s, 'name') === null);
const offset = fc.maxSafeNat();
const channel: fc.Arbitrary<ChannelConfig> = fc.record({
  code: text(32),
  kind: fc.constantFrom(...channelKinds),
  rateNanoHz: fc.maxSafeNat(),
  gain: fc.double({ noNaN: true }).filter((x) => x !== 0),
  baseline: fc.double({ noNaN: true }),
  unit: text(16),
  lead: text(32),
});
const block: fc.Arbitrary<Block> = fc
  .record({
    channel,
    tOffsetNs: offset,
    samples: fc.oneof(
      fc.int32Array({ minLength: 1, maxLength: 60 }),
      fc.int32Array({ minLength: 1, maxLength: 60, min: -300, max: 300 }),
      fc.float32Array({ minLength: 1, maxLength: 60 }),
    ),
    flags: fc.option(fc.uint8Array({ minLength: 60, maxLength: 60, max: 2 }), { nil: null }),
  })
  .map(({ flags, ...rest }) => {
    const qmask = flags === null ? null : flags.slice(0, rest.samples.length);
    return { ...rest, qmask: qmask === null || qmask.every((flag) => flag === 0) ? null : qmask };
  });
const packet: fc.Arbitrary<Packet> = fc.record({
  schemaVersion: fc.constant(1),
  deviceId: text(64).filter((s) => s !== ''),
  bootId: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((b) => Buffer.from(b).toString('hex')),
  seq: fc.maxSafeNat(),
  t0DeviceNs: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
  t0UnixNs: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
  sentUnixNs: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
  subject: text(256),
  firmware: text(64),
  blocks: fc.array(block, { maxLength: 6 }),
  measurements: fc.array(
    fc.record({
      code: text(32).filter((s) => s !== ''),
      tOffsetNs: offset,
      value: fc.double(),
      unit: text(16),
      quality: fc.constantFrom(0, 1, 2),
    }),
    { maxLength: 3 },
  ),
  events: fc.array(fc.record({ code: text(32).filter((s) => s !== ''), tOffsetNs: offset, text: text(256) }), { maxLength: 3 }),
  recordedUnixNs: fc.option(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), { nil: undefined }),
});

const long = (value: { toString(): string }): bigint => BigInt(value.toString());

/** What protobufjs read, in our words. */
function fromReference(p: biosignal.v1.Packet): Packet {
  return {
    schemaVersion: p.schemaVersion,
    deviceId: p.deviceId,
    bootId: Buffer.from(p.bootId).toString('hex'),
    seq: Number(long(p.seq)),
    t0DeviceNs: long(p.t0DeviceNs),
    t0UnixNs: long(p.t0UnixNs),
    sentUnixNs: long(p.sentUnixNs),
    recordedUnixNs: p.recordedUnixNs === null || p.recordedUnixNs === undefined ? undefined : long(p.recordedUnixNs),
    subject: p.subject,
    firmware: p.firmware,
    blocks: p.blocks.map((b) => {
      const c = b.channel!;
      const deltas = b.deltas ?? [];
      let sum = 0;
      const ints = Int32Array.from(deltas, (delta) => (sum = (sum + delta) | 0));
      const samples = (b.float32?.length ?? 0) > 0 ? Float32Array.from(b.float32!) : ints;
      const qmask = new Uint8Array(samples.length);
      let at = 0;
      for (const run of b.qmaskRuns ?? []) {
        qmask.fill(run % 4, at, at + (run >>> 2));
        at += run >>> 2;
      }
      return {
        channel: {
          code: c.code ?? '',
          kind: channelKinds[(c.kind ?? 0) - 1] ?? 'other',
          rateNanoHz: Number(long(c.rateNanoHz ?? 0)),
          gain: c.gain ?? 0,
          baseline: c.baseline ?? 0,
          unit: c.unit ?? '',
          lead: c.lead ?? '',
        },
        tOffsetNs: Number(long(b.tOffsetNs ?? 0)),
        samples,
        qmask: qmask.every((flag) => flag === 0) ? null : qmask,
      };
    }),
    measurements: p.measurements.map((m) => ({
      code: m.code ?? '',
      tOffsetNs: Number(long(m.tOffsetNs ?? 0)),
      value: m.value ?? 0,
      unit: m.unit ?? '',
      quality: (m.quality ?? 0) as 0 | 1 | 2,
    })),
    events: p.events.map((e) => ({ code: e.code ?? '', tOffsetNs: Number(long(e.tOffsetNs ?? 0)), text: e.text ?? '' })),
  };
}

/** A packet of the usual size, for the byte-wise tests. */
function usualPacket(): Packet {
  const one = (code: string, kind: ChannelConfig['kind']): Block => ({
    channel: { code, kind, rateNanoHz: 250_000_000_000, gain: 200, baseline: -3, unit: 'mV', lead: 'II' },
    tOffsetNs: 1_000,
    samples: Int32Array.from({ length: 25 }, (_, i) => Math.round(300 * Math.sin(i))),
    qmask: Uint8Array.from({ length: 25 }, (_, i) => (i > 20 ? 2 : 0)),
  });
  return {
    schemaVersion: 1,
    deviceId: 'strap-7',
    bootId: '00112233445566778899aabbccddeeff',
    seq: 300,
    t0DeviceNs: 12_345_678_901n,
    t0UnixNs: 1_790_000_000_000_000_000n,
    sentUnixNs: 1_790_000_000_100_000_000n,
    subject: 'Müller',
    firmware: '1.2.3',
    blocks: [one('ecg.ii', 'ecg'), { ...one('temp', 'temp'), samples: Float32Array.from({ length: 25 }, (_, i) => i / 3) }],
    measurements: [{ code: 'steps', tOffsetNs: 5, value: 12, unit: '1', quality: 1 }],
    events: [{ code: 'button', tOffsetNs: 7, text: 'pressed' }],
  };
}

function decoded(bytes: Uint8Array): Packet {
  const { contentHash, ...packet } = received(bytes);
  expect(Number.isSafeInteger(contentHash)).toBe(true);
  return packet;
}

function received(bytes: Uint8Array): DecodedPacket {
  const result = decodePacket(bytes, limits);
  if (isRejected(result)) throw new Error(result.detail);
  return result;
}

describe('generated code', () => {
  // promise: codecs-agree
  it('is of the schema as it is; otherwise run: npm run proto', () => {
    const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
    const schema = createHash('sha256').update(read('../../proto/biosignal.proto')).update(read('../../proto/query.proto')).digest('hex');
    expect(read('./generated/generated.js').split('\n')[1]).toBe(`// schema sha256 ${schema}`);
  });
});

describe('packet codec', () => {
  // promise: codecs-agree
  it('reads what it wrote, and protobufjs reads the same', () => {
    fc.assert(
      fc.property(packet, (p) => {
        const bytes = encodePacket(p);
        expect(decoded(bytes)).toEqual(p);
        expect(fromReference(Reference.decode(bytes))).toEqual(p);
      }),
      { numRuns: 300 },
    );
  });

  // promise: codecs-agree
  it('reads what protobufjs wrote', () => {
    fc.assert(
      fc.property(packet, (p) => {
        const bytes = Reference.encode(Reference.decode(encodePacket(p))).finish();
        expect(decoded(bytes)).toEqual(p);
      }),
      { numRuns: 200 },
    );
  });

  it('writes int16 and int24 where asked, and refuses samples that do not fit', () => {
    const p = usualPacket();
    const ints: Packet = { ...p, blocks: [{ ...p.blocks[0]!, samples: Int32Array.of(-32_768, -1, 0, 1, 32_767), qmask: null }] };
    expect(decoded(encodePacket(ints, 'int16'))).toEqual(ints);
    const wide: Packet = { ...p, blocks: [{ ...p.blocks[0]!, samples: Int32Array.of(-8_388_608, -1, 0, 8_388_607), qmask: null }] };
    expect(decoded(encodePacket(wide, 'int24'))).toEqual(wide);
    expect(() => encodePacket(wide, 'int16')).toThrow(RangeError);
  });

  // promise: bad-data-is-a-value, refused-says-where, strict-decoder
  it('answers Rejected with an offset for every truncation that cuts something off, and never throws', () => {
    const bytes = encodePacket(usualPacket());
    const whole: number[] = [];
    for (let length = 0; length < bytes.length; length++) {
      const result = decodePacket(bytes.subarray(0, length), limits);
      if (!isRejected(result)) {
        // Cut between two fields: a shorter packet that is whole.
        expect(() => Reference.decode(bytes.subarray(0, length))).not.toThrow();
        whole.push(length);
      } else if (result.code === 'packet_malformed') expect(result.detail).toMatch(/^byte \d+: /);
      else expect(result.code).toBe('packet_schema_version');
    }
    expect(whole.length).toBeLessThan(12);
  });

  // promise: bad-data-is-a-value, strict-decoder
  it('never throws on mutated bytes, and reads what it accepts as protobufjs does', () => {
    const seed = Number(process.env['BIO_FUZZ_SEED'] ?? 20_261_121);
    const rounds = Number(process.env['BIO_FUZZ_ROUNDS'] ?? 30_000);
    let state = seed >>> 0;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const bases = [encodePacket(usualPacket()), encodePacket({ ...usualPacket(), blocks: usualPacket().blocks.slice(0, 1) }, 'int16')];
    let acceptedCount = 0;
    for (let round = 0; round < rounds; round++) {
      const bytes = bases[round % bases.length]!.slice();
      for (let i = random(4); i >= 0; i--) {
        const at = random(bytes.length);
        if (random(3) === 0) bytes.copyWithin(at, random(bytes.length), random(bytes.length));
        else bytes[at] = random(4) === 0 ? 0xff : random(256);
      }
      const result = decodePacket(bytes, limits);
      if (isRejected(result)) continue;
      acceptedCount++;
      if (acceptedCount % 16 !== 0) continue; // the reference is slow
      expect(() => Reference.decode(bytes), `seed ${seed} round ${round}`).not.toThrow();
      const expected = Reference.decode(bytes);
      expect(result.seq, `seed ${seed} round ${round}`).toBe(Number(long(expected.seq)));
      expect(result.blocks.length).toBe(expected.blocks.length);
    }
    expect(acceptedCount).toBeGreaterThan(rounds / 100);
  });

  // promise: same-packet
  it('gives other content another hash, and leaves out what a device may write anew at each try', () => {
    const usual = usualPacket();
    const hashOf = (packet: Packet): number => received(encodePacket(packet)).contentHash;
    const hash = hashOf(usual);
    for (const same of [
      { sentUnixNs: 0n },
      { sentUnixNs: 7n, t0UnixNs: 0n },
      { firmware: '' },
      { recordedUnixNs: -1n },
      { t0UnixNs: 9n, firmware: 'longer than before' },
    ]) {
      expect(hashOf({ ...usual, ...same })).toBe(hash);
    }
    const seen = new Set([hash]);
    const other = (over: Partial<Packet>): void => {
      const changed = hashOf({ ...usual, ...over });
      expect(
        seen.has(changed),
        JSON.stringify(over, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
      ).toBe(false);
      seen.add(changed);
    };
    const [first, second] = usual.blocks as [Block, Block];
    for (let i = 0; i < 25; i++) {
      const samples = Int32Array.from(first.samples, (value, k) => (k === i ? value ^ (1 << i) : value));
      other({ blocks: [{ ...first, samples }, second] });
    }
    other({ t0DeviceNs: usual.t0DeviceNs + 1n });
    other({ blocks: [first] });
    other({ blocks: [second, first] });
    other({ blocks: [] });
    other({ measurements: [] });
    other({ events: [] });
    other({ events: [], measurements: [] });
    other({ blocks: [{ ...first, qmask: null }, second] });
    other({ blocks: [{ ...first, tOffsetNs: 1 }, second] });
  });

  it('spreads hashes of packets that hardly differ', () => {
    const usual = usualPacket();
    const low = new Set<number>();
    const all = new Set<number>();
    for (let n = 0; n < 20_000; n++) {
      const { contentHash } = received(encodePacket({ ...usual, t0DeviceNs: BigInt(n) * 100_000_000n, blocks: [] }));
      all.add(contentHash);
      low.add(contentHash % 65_536);
    }
    expect(all.size).toBe(20_000);
    expect(low.size).toBeGreaterThan(17_000); // of 65,536 places 17,230 when they are drawn
    expect(low.size).toBeLessThan(17_460);
  });

  // promise: lengths-checked, quality-runs, strict-decoder, limit-packet, limit-parts, limit-samples
  it('checks counts before it allocates', () => {
    const w = new WireWriter(64);
    w.raw(encodePacket({ ...usualPacket(), blocks: [], measurements: [], events: [] }));
    const head = w.take();
    const channelBytes = [0x0a, 3, 0x0a, 1, 0x65];
    const withBlock = (...fields: number[]): Uint8Array =>
      Uint8Array.from([...head, 0x52, channelBytes.length + fields.length, ...channelBytes, ...fields]);
    expect(decodePacket(withBlock(0x1a, 2, 2, 2), limits)).toMatchObject({ blocks: [{ samples: Int32Array.of(1, 2) }] });
    // A quality run of 2^30 samples over two.
    expect(decodePacket(withBlock(0x1a, 2, 2, 2, 0x3a, 5, 0x80, 0x80, 0x80, 0x80, 0x10), limits)).toMatchObject({
      code: 'packet_malformed',
    });
    // Runs of one, of two and of three samples (flag 1) over two.
    const runs = (...bytes: number[]): Uint8Array => withBlock(0x1a, 2, 2, 2, 0x3a, bytes.length, ...bytes);
    expect(decodePacket(runs(9), limits)).toMatchObject({ blocks: [{ qmask: Uint8Array.of(1, 1) }] });
    for (const wrong of [runs(5), runs(13), runs(5, 5, 5), runs(9, 1)]) {
      expect(decodePacket(wrong, limits)).toMatchObject({
        code: 'packet_malformed',
        detail: expect.stringContaining('do not add up') as string,
      });
    }
    expect(decodePacket(withBlock(0x1a, 2, 2, 2), { ...limits, samplesMax: 1 })).toMatchObject({ code: 'packet_malformed' });
    expect(decodePacket(withBlock(0x1a, 2, 2, 2), { ...limits, packetBytesMax: 8 })).toMatchObject({ code: 'packet_too_large' });
    // Samples in two encodings, none, an unpacked delta, a delta of 33 bits, a known field with another wire type.
    expect(decodePacket(withBlock(0x1a, 1, 2, 0x22, 2, 0, 0), limits)).toMatchObject({ code: 'packet_malformed' });
    expect(decodePacket(withBlock(), limits)).toMatchObject({ code: 'packet_malformed' });
    expect(decodePacket(withBlock(0x18, 2), limits)).toMatchObject({ code: 'packet_malformed' });
    expect(decodePacket(withBlock(0x1a, 5, 0xff, 0xff, 0xff, 0xff, 0x1f), limits)).toMatchObject({ code: 'packet_malformed' });
    expect(decodePacket(withBlock(0x1a, 1, 2, 0x15, 0, 0, 0, 0), limits)).toMatchObject({ code: 'packet_malformed' });
    const empties = new Uint8Array(limits.packetBytesMax);
    empties.set(head);
    for (let i = head.length; i + 1 < empties.length; i += 2) empties[i] = 0x62; // events of no bytes
    expect(decodePacket(empties, limits)).toMatchObject({ code: 'packet_malformed' });
  });

  // promise: strict-decoder
  it('refuses what other decoders make something of: a field twice, pieces, text that is not UTF-8, integers of 2^53, groups', () => {
    const whole = encodePacket({ ...usualPacket(), blocks: [], measurements: [], events: [] });
    const and = (...bytes: number[]): Uint8Array => Uint8Array.from([...whole, ...bytes]);
    const channel = [0x0a, 3, 0x0a, 1, 0x65];
    const blockOf = (...fields: number[]): number[] => [0x52, channel.length + fields.length, ...channel, ...fields];
    const again = Buffer.from(whole).indexOf(usualPacket().deviceId) - 2; // its tag
    expect(decodePacket(and(...blockOf(0x1a, 2, 2, 2)), limits)).toMatchObject({ blocks: [{ samples: Int32Array.of(1, 2) }] });
    const wrong: Record<string, Uint8Array> = {
      'device_id twice': and(whole[again]!, 1, 0x61),
      'deltas in two pieces': and(...blockOf(0x1a, 1, 2, 0x1a, 1, 2)),
      'text that is not UTF-8': and(0x62, 4, 0x0a, 2, 0xc3, 0x28),
      'an offset of 2^53': and(...blockOf(0x1a, 1, 2, 0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10)),
      'a group': and(0xa3, 0x06),
    };
    for (const [what, bytes] of Object.entries(wrong)) {
      expect([what, decodePacket(bytes, limits)]).toMatchObject([what, { code: 'packet_malformed', detail: expect.stringMatching(/^byte \d+: /) as string }]); // prettier-ignore
    }
  });

  // promise: newer-fields, strict-decoder
  it('steps over fields of a newer schema', () => {
    const p = usualPacket();
    const extra = Uint8Array.from([0xa0, 0x06, 1, 0xa1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8, 0xa2, 0x06, 1, 9, 0xa5, 0x06, 1, 2, 3, 4]);
    expect(decoded(Buffer.concat([encodePacket(p), extra]))).toEqual(p);
    expect(decodePacket(Buffer.concat([encodePacket(p), Uint8Array.of(0xa3, 0x06)]), limits)).toMatchObject({ code: 'packet_malformed' });
    expect(decodePacket(encodePacket({ ...p, schemaVersion: 2 }), limits)).toMatchObject({ code: 'packet_schema_version' });
  });

  it('derives an unspecified kind from the code', () => {
    const bytes = Reference.encode({
      schemaVersion: 1,
      deviceId: 'd',
      bootId: new Uint8Array(16),
      blocks: [
        { channel: { code: 'ppg.ir', kind: 0 }, deltas: [1] },
        { channel: { code: 'lactate', kind: 99 }, deltas: [1] },
      ],
    } as unknown as biosignal.v1.Packet).finish();
    expect(decoded(bytes).blocks.map((b) => b.channel.kind)).toEqual(['ppg', 'other']);
  });

  it('cuts a batch into the packets that were joined', () => {
    const one = encodePacket(usualPacket());
    const batch = encodeBatch([one, one, one]);
    expect(splitBatch(batch, 10_000, 10)).toEqual([one, one, one]);
    expect(splitBatch(batch.subarray(0, batch.length - 1), 10_000, 10)).toMatchObject({ code: 'packet_malformed' });
    expect(splitBatch(batch, one.length - 1, 10)).toMatchObject({ code: 'packet_too_large' });
    expect(splitBatch(batch, 10_000, 2)).toMatchObject({ code: 'packet_too_large' });
  });
});
