/** Packets between bytes and values, by hand: no reflection, no allocation per sample, every length and count checked before anything is
 *  allocated for it. The schema is proto/biosignal.proto; a property test holds both codecs to protobufjs' static code.
 *  No node imports: the ingest client runs in browsers too. */
import type { Rejected } from '../errors.ts';
import { rejected } from '../errors.ts';
import type { ChannelConfig, QualityFlag, Samples } from '../signal.ts';
import { channelKinds } from '../signal.ts';
import { refusedCharacter, withoutRefused } from '../text.ts';
import type { TextKind } from '../text.ts';
import { ByteInterner } from './byte-interner.ts';
import { WireWriter } from './wire-writer.ts';

export const SCHEMA_VERSION = 1;

export type Packet = Readonly<{
  schemaVersion: number;
  deviceId: string;
  /** 32 lower-case hexadecimal digits. */
  bootId: string;
  /** Below 2^53. */
  seq: number;
  /** Device clock, ns. */
  t0DeviceNs: bigint;
  /** Unix ns; 0n = unknown. */
  t0UnixNs: bigint;
  /** Unix ns; 0n = unknown. */
  sentUnixNs: bigint;
  /** xuser uuid or external id; '' = as the credential or the device's record says. */
  subject: string;
  firmware: string;
  blocks: readonly Block[];
  measurements: readonly Measurement[];
  events: readonly Event[];
  /** True time at t0DeviceNs, Unix ns, of a recording that states when it was made; undefined: the wall clocks say it, or nobody. */
  recordedUnixNs?: bigint | undefined;
}>;

/** A packet as it came. */
export type DecodedPacket = Packet &
  Readonly<{
    /** 53-bit hash of what the packet says under its identity: t0_device_ns, blocks, measurements and events, as bytes on the wire. Without
     *  the wall clocks and the firmware, which a device may write anew at each try, and without the subject, which a stream has once. Tells
     *  mistakes apart, not forgeries. */
    contentHash: number;
  }>;

export type Block = Readonly<{
  /** Equal bytes on the wire usually give the same object: compare by identity first, never by identity alone. */
  channel: ChannelConfig;
  /** ns after t0DeviceNs, below 2^53. */
  tOffsetNs: number;
  /** length n >= 1; decoded ones may be views on memory shared with other packets: copy what is kept for long. */
  samples: Samples;
  /** length n, or null when all are good. */
  qmask: Uint8Array | null;
}>;

export type Measurement = Readonly<{ code: string; tOffsetNs: number; value: number; unit: string; quality: QualityFlag }>;
export type Event = Readonly<{ code: string; tOffsetNs: number; text: string }>;

/** How encodePacket writes integer samples. Floats are always written as float32. */
export type SampleEncoding = 'deltas' | 'int16' | 'int24';

export type PacketLimits = Readonly<{
  /** One packet, bytes. */
  packetBytesMax: number;
  /** Blocks of one packet; measurements and events each likewise. */
  itemsMax: number;
  /** Samples of all blocks of one packet. */
  samplesMax: number;
}>;

export const defaultPacketLimits: PacketLimits = { packetBytesMax: 256 * 1024, itemsMax: 256, samplesMax: 262_144 };

/** What any setting of any release let in: for packets that were accepted once. As large as BIO_PACKET_BYTES_MAX may be. */
export const widestPacketLimits: PacketLimits = { ...defaultPacketLimits, packetBytesMax: 16 * 1024 * 1024 };

// ---------------------------------------------------------------------------------------------------------------- decoding

// The reader's state lives in module variables, not in an object: one packet is decoded at a time and never across an await.
// A packet is copied to memory of the reader's own first: cheaper than a DataView of its own memory, which has to be made.
let buf: Uint8Array = new Uint8Array(16 * 1024);
let view: DataView = new DataView(buf.buffer); // of the same bytes
let pos = 0;

function startReading(bytes: Uint8Array): void {
  if (bytes.length > buf.length) {
    buf = new Uint8Array(2 * bytes.length);
    view = new DataView(buf.buffer);
  }
  buf.set(bytes);
  pos = 0;
}

/** Thrown and caught inside this file only; one object for all, so that a flood of bad packets captures no stacks. */
const FAULT = { offset: 0, detail: '', code: 'packet_malformed' as 'packet_malformed' | 'packet_invalid' };
function fault(offset: number, detail: string, code: typeof FAULT.code = 'packet_malformed'): never {
  FAULT.offset = offset;
  FAULT.detail = detail;
  FAULT.code = code;
  // eslint-disable-next-line no-throw-literal
  throw FAULT;
}

/** Decodes one packet and checks its form; what the values mean is admission's question.
 *  @param bytes exactly one packet; not kept  @returns Rejected packet_malformed or packet_invalid (text that holds a
 *  control character), both with the byte offset, packet_too_large or packet_schema_version; never throws for bad bytes */
export function decodePacket(bytes: Uint8Array, limits: PacketLimits): DecodedPacket | Rejected {
  if (bytes.length > limits.packetBytesMax) {
    return rejected('packet_too_large', `${bytes.length} bytes, limit ${limits.packetBytesMax}`);
  }
  startReading(bytes);
  try {
    return readPacket(bytes.length, limits);
  } catch (error) {
    if (error !== FAULT) throw error;
    return rejected(FAULT.code, `byte ${FAULT.offset}: ${FAULT.detail}`);
  }
}

/** decodePacket for packets that earlier releases accepted: characters that text must not hold are replaced by a space, and any size
 *  goes. */
export function decodeOldPacket(bytes: Uint8Array): DecodedPacket | Rejected {
  cleaning = true;
  try {
    return decodePacket(bytes, widestPacketLimits);
  } finally {
    cleaning = false;
  }
}

const noMeasurements: readonly Measurement[] = [];
const noEvents: readonly Event[] = [];

function readPacket(end: number, limits: PacketLimits): DecodedPacket | Rejected {
  let schemaVersion = 0;
  let deviceId = '';
  let bootId = '';
  let seq = 0;
  let t0DeviceNs = 0n;
  let t0UnixNs = 0n;
  let sentUnixNs = 0n;
  let subject = '';
  let firmware = '';
  const blocks: Block[] = [];
  let measurements = noMeasurements as Measurement[];
  let events = noEvents as Event[];
  let recordedUnixNs: bigint | undefined;
  let samplesLeft = limits.samplesMax;
  let seen = 0;
  let contentFrom = -1; // begin of consecutive blocks, measurements and events
  startHash();

  while (pos < end) {
    const at = pos;
    const tag = readTag(end);
    const field = tag >>> 3;
    if (field >= 10 && field <= 12) {
      if (contentFrom < 0) contentFrom = at;
    } else if (contentFrom >= 0) {
      hashBytes(contentFrom, at);
      contentFrom = -1;
    }
    if (field < 10 || field === 13) {
      if ((seen & (1 << field)) !== 0) fault(at, `field ${field} given twice`);
      seen |= 1 << field;
    }
    switch (tag) {
      case 0x08:
        schemaVersion = readVarint(end);
        break;
      case 0x12:
        deviceId = readText(end, 64, 'device_id');
        break;
      case 0x1a:
        bootId = readBootId(end);
        break;
      case 0x20:
        seq = readVarint(end);
        break;
      case 0x29:
        t0DeviceNs = readFixed64(end);
        hashTime(pos - 8);
        break;
      case 0x31:
        t0UnixNs = readFixed64(end);
        break;
      case 0x39:
        sentUnixNs = readFixed64(end);
        break;
      case 0x42:
        subject = readText(end, 256, 'subject');
        break;
      case 0x4a:
        firmware = readText(end, 64, 'firmware');
        break;
      case 0x52: {
        if (blocks.length >= limits.itemsMax) fault(at, `more than ${limits.itemsMax} blocks`);
        const block = readBlock(readEnd(end), samplesLeft);
        samplesLeft -= block.samples.length;
        blocks.push(block);
        break;
      }
      case 0x5a:
        if (measurements.length >= limits.itemsMax) fault(at, `more than ${limits.itemsMax} measurements`);
        if (measurements === noMeasurements) measurements = [];
        measurements.push(readMeasurement(readEnd(end)));
        break;
      case 0x62:
        if (events.length >= limits.itemsMax) fault(at, `more than ${limits.itemsMax} events`);
        if (events === noEvents) events = [];
        events.push(readEvent(readEnd(end)));
        break;
      case 0x69:
        recordedUnixNs = BigInt.asIntN(64, readFixed64(end));
        break;
      default:
        skip(tag, end, at, 13);
    }
  }
  if (contentFrom >= 0) hashBytes(contentFrom, end);
  if (schemaVersion !== SCHEMA_VERSION) {
    return rejected('packet_schema_version', `schema_version ${schemaVersion}, supported: ${SCHEMA_VERSION}`);
  }
  if (deviceId === '') fault(end, 'device_id is missing');
  if (bootId === '') fault(end, 'boot_id is missing');
  return {
    schemaVersion,
    deviceId,
    bootId,
    seq,
    t0DeviceNs,
    t0UnixNs,
    sentUnixNs,
    subject,
    firmware,
    blocks,
    measurements,
    events,
    recordedUnixNs,
    contentHash: endHash(),
  };
}

/** Hash of the packet being read. */
let hashLow = 0;
let hashHigh = 0;

function startHash(): void {
  hashLow = 0x2545f491;
  hashHigh = 0x1b873593;
}

function hashTime(at: number): void {
  hashLow = mixed(hashLow ^ view.getInt32(at, true));
  hashHigh = mixed(hashHigh ^ view.getInt32(at + 4, true));
}

/** Enters the bytes [from, to): blocks, measurements and events that follow each other, so that fields before and after them do not shift
 *  them. Two lanes of 32 bits, 16 bytes a step: 36 ns for 250 bytes; four lanes, or one multiplication per word, take half as long
 *  again. */
function hashBytes(from: number, to: number): void {
  const words = view;
  const last = to - 16;
  let low = hashLow ^ (to - from);
  let high = hashHigh;
  let p = from;
  for (; p <= last; p += 16) {
    low = (Math.imul(low ^ words.getInt32(p, true), 0x9e3779b1) + words.getInt32(p + 4, true)) | 0;
    high = (Math.imul(high ^ words.getInt32(p + 8, true), 0xc2b2ae35) + words.getInt32(p + 12, true)) | 0;
    low ^= low >>> 15;
    high ^= high >>> 13;
  }
  for (; p < to - 3; p += 4) low = mixed(low ^ words.getInt32(p, true));
  for (; p < to; p++) high = mixed(high ^ buf[p]!);
  hashLow = mixed(low);
  hashHigh = mixed(high ^ hashLow);
}

function mixed(value: number): number {
  const product = Math.imul(value ^ (value >>> 16), 0x7feb352d);
  return product ^ (product >>> 15);
}

/** @returns an integer below 2^53 */
function endHash(): number {
  const high = mixed(hashHigh ^ hashLow);
  return (mixed(hashLow) >>> 0) * 2_097_152 + (high >>> 11);
}

function readBlock(end: number, samplesMax: number): Block {
  const start = pos;
  let channel: ChannelConfig | null = null;
  let tOffsetNs = 0;
  let samples: Samples | null = null;
  let runsFrom = -1;
  let runsTo = -1;
  let seen = 0;
  while (pos < end) {
    const at = pos;
    const tag = readTag(end);
    const field = tag >>> 3;
    if (field < 8) {
      if ((seen & (1 << field)) !== 0) fault(at, `block field ${field} given twice; packed fields must come in one piece`);
      seen |= 1 << field;
    }
    switch (tag) {
      case 0x0a: {
        const to = readEnd(end);
        channel = cleaning ? readChannel(to) : channels.get(view, pos, to);
        pos = to;
        break;
      }
      case 0x10:
        tOffsetNs = readVarint(end);
        break;
      case 0x1a:
        samples = once(samples, at, readDeltas(readEnd(end), samplesMax));
        break;
      case 0x22:
        samples = once(samples, at, readInt16(readEnd(end), samplesMax));
        break;
      case 0x2a:
        samples = once(samples, at, readInt24(readEnd(end), samplesMax));
        break;
      case 0x32:
        samples = once(samples, at, readFloat32(readEnd(end), samplesMax));
        break;
      case 0x3a:
        runsTo = readEnd(end);
        runsFrom = pos;
        pos = runsTo;
        break;
      default:
        skip(tag, end, at, 7);
    }
  }
  if (channel === null) fault(start, 'block without channel');
  if (samples === null || samples.length === 0) fault(start, 'block without samples');
  const qmask = runsFrom === runsTo ? null : readQmaskRuns(runsFrom, runsTo, samples.length);
  return { channel, tOffsetNs, samples, qmask };
}

/** An empty packed field is as good as an absent one; two with samples are not. */
function once(before: Samples | null, at: number, now: Samples): Samples {
  if (before === null || before.length === 0) return now;
  if (now.length > 0) fault(at, 'block with samples in two encodings');
  return before;
}

/** Sample memory is cut from shared slabs: an Int32Array of more than 64 bytes has memory of its own to be made, a view has not. */
const SLAB_SAMPLES = 16 * 1024; // 64 KiB
const SLAB_SHARE_MAX = SLAB_SAMPLES >> 3; // larger ones get their own memory
let slab = new Int32Array(SLAB_SAMPLES);
let slabBuffer = slab.buffer; // asking an array for its memory is a call into the runtime
let slabUsed = 0;

function takeSamples(n: number): Int32Array {
  if (n > SLAB_SHARE_MAX) return new Int32Array(n);
  if (slabUsed + n > SLAB_SAMPLES) newSlab();
  slabUsed += n;
  return new Int32Array(slabBuffer, (slabUsed - n) * 4, n);
}

function newSlab(): void {
  slab = new Int32Array(SLAB_SAMPLES);
  slabBuffer = slab.buffer;
  slabUsed = 0;
}

function readDeltas(end: number, samplesMax: number): Int32Array {
  const length = end - pos;
  if (length === 0) return NO_SAMPLES;
  if (buf[end - 1]! >= 0x80) fault(end - 1, 'deltas end within a varint');
  // A sample takes at least one byte, so `length` bounds them. Where the slab has that much room they are read without being counted.
  if (length > SLAB_SHARE_MAX || length > samplesMax) {
    let n = 0;
    for (let i = pos; i < end; i++) n += (buf[i]! >>> 7) ^ 1;
    if (n > samplesMax) fault(pos, 'more samples than the limit of one packet');
    const out = new Int32Array(n);
    decodeDeltas(out, 0, end);
    return out;
  }
  if (slabUsed + length > SLAB_SAMPLES) newSlab();
  const from = slabUsed;
  slabUsed = decodeDeltas(slab, from, end);
  return new Int32Array(slabBuffer, from * 4, slabUsed - from);
}

/** The last byte of [pos, end) ends a varint, so reading whole ones stops exactly there. Four deltas of one byte, the usual case, are read
 *  as one word: half the time of byte by byte. @returns index after the last sample */
function decodeDeltas(out: Int32Array, from: number, end: number): number {
  const b = buf;
  const words = view;
  const wordEnd = end - 4;
  let p = pos;
  let k = from;
  let value = 0;
  while (p < end) {
    if (p <= wordEnd) {
      const w = words.getInt32(p, true);
      if ((w & 0x80808080) === 0) {
        value = (value + (((w >>> 1) & 0x3f) ^ -(w & 1))) | 0;
        out[k] = value;
        value = (value + (((w >>> 9) & 0x3f) ^ -((w >>> 8) & 1))) | 0;
        out[k + 1] = value;
        value = (value + (((w >>> 17) & 0x3f) ^ -((w >>> 16) & 1))) | 0;
        out[k + 2] = value;
        value = (value + (((w >>> 25) & 0x3f) ^ -((w >>> 24) & 1))) | 0;
        out[k + 3] = value;
        k += 4;
        p += 4;
        continue;
      }
    }
    let byte = b[p++]!;
    let z = byte;
    if (byte >= 0x80) {
      byte = b[p++]!;
      z = (z & 0x7f) | ((byte & 0x7f) << 7);
      if (byte >= 0x80) {
        byte = b[p++]!;
        z |= (byte & 0x7f) << 14;
        if (byte >= 0x80) {
          byte = b[p++]!;
          z |= (byte & 0x7f) << 21;
          if (byte >= 0x80) {
            byte = b[p++]!;
            if (byte > 0x0f) fault(p - 1, 'a delta is longer than 32 bits');
            z |= byte << 28;
          }
        }
      }
    }
    value = (value + ((z >>> 1) ^ -(z & 1))) | 0;
    out[k++] = value;
  }
  pos = end;
  return k;
}

const NO_SAMPLES = new Int32Array(0);

function readInt16(end: number, samplesMax: number): Int32Array {
  const length = end - pos;
  if (length % 2 !== 0) fault(pos, `int16 of ${length} bytes`);
  const n = length / 2;
  if (n > samplesMax) fault(pos, 'more samples than the limit of one packet');
  const out = takeSamples(n);
  const b = buf;
  for (let i = 0, p = pos; i < n; i++, p += 2) out[i] = ((b[p]! | (b[p + 1]! << 8)) << 16) >> 16;
  pos = end;
  return out;
}

function readInt24(end: number, samplesMax: number): Int32Array {
  const length = end - pos;
  if (length % 3 !== 0) fault(pos, `int24 of ${length} bytes`);
  const n = length / 3;
  if (n > samplesMax) fault(pos, 'more samples than the limit of one packet');
  const out = takeSamples(n);
  const b = buf;
  for (let i = 0, p = pos; i < n; i++, p += 3) out[i] = ((b[p]! | (b[p + 1]! << 8) | (b[p + 2]! << 16)) << 8) >> 8;
  pos = end;
  return out;
}

function readFloat32(end: number, samplesMax: number): Float32Array {
  const length = end - pos;
  if (length % 4 !== 0) fault(pos, `float32 of ${length} bytes`);
  const n = length / 4;
  if (n > samplesMax) fault(pos, 'more samples than the limit of one packet');
  const out = new Float32Array(n);
  new Uint8Array(out.buffer).set(buf.subarray(pos, end)); // the wire and every machine this runs on are little-endian
  pos = end;
  return out;
}

function readQmaskRuns(from: number, to: number, n: number): Uint8Array | null {
  const out = new Uint8Array(n);
  let filled = 0;
  let any = 0;
  pos = from;
  while (pos < to) {
    const at = pos;
    const run = readVarint(to);
    const flag = run % 4;
    const length = (run - flag) / 4;
    if (flag === 3) fault(at, 'quality flag 3');
    if (length === 0 || length > n - filled) fault(at, `quality runs do not add up to ${n} samples`);
    any |= flag;
    if (flag !== 0) out.fill(flag, filled, filled + length);
    filled += length;
  }
  if (filled !== n) fault(to, `quality runs do not add up to ${n} samples`);
  pos = to;
  return any === 0 ? null : out;
}

/** The same few channel messages come again in every packet: each is parsed once and found by its bytes afterwards. */
const channels = new ByteInterner<ChannelConfig>(4096, (start, end) => {
  pos = start;
  return readChannel(end);
});

function readChannel(end: number): ChannelConfig {
  let code = '';
  let kindNumber = 0;
  let rateNanoHz = 0;
  let gain = 0;
  let baseline = 0;
  let unit = '';
  let lead = '';
  let seen = 0;
  while (pos < end) {
    const at = pos;
    const tag = readTag(end);
    const field = tag >>> 3;
    if (field < 8) {
      if ((seen & (1 << field)) !== 0) fault(at, `channel field ${field} given twice`);
      seen |= 1 << field;
    }
    switch (tag) {
      case 0x0a:
        code = readText(end, 32, 'channel code');
        break;
      case 0x10:
        kindNumber = readVarint(end);
        break;
      case 0x18:
        rateNanoHz = readVarint(end);
        break;
      case 0x21:
        gain = readDouble(end);
        break;
      case 0x29:
        baseline = readDouble(end);
        break;
      case 0x32:
        unit = readText(end, 16, 'unit');
        break;
      case 0x3a:
        lead = readText(end, 32, 'lead');
        break;
      default:
        skip(tag, end, at, 7);
    }
  }
  return { code, kind: kindOf(kindNumber, code), rateNanoHz, gain: gain === 0 ? 1 : gain, baseline, unit, lead };
}

/** Enum values are 1 + position in channelKinds; absent or from a newer schema: as the code's first part says. */
function kindOf(kindNumber: number, code: string): ChannelConfig['kind'] {
  const named = channelKinds[kindNumber - 1];
  if (named !== undefined) return named;
  const first = code.split('.', 1)[0];
  return channelKinds.find((kind) => kind === first) ?? 'other';
}

function readMeasurement(end: number): Measurement {
  const start = pos;
  let code = '';
  let tOffsetNs = 0;
  let value = 0;
  let unit = '';
  let quality = 0;
  let seen = 0;
  while (pos < end) {
    const at = pos;
    const tag = readTag(end);
    const field = tag >>> 3;
    if (field < 6) {
      if ((seen & (1 << field)) !== 0) fault(at, `measurement field ${field} given twice`);
      seen |= 1 << field;
    }
    switch (tag) {
      case 0x0a:
        code = readText(end, 32, 'measurement code');
        break;
      case 0x10:
        tOffsetNs = readVarint(end);
        break;
      case 0x19:
        value = readDouble(end);
        break;
      case 0x22:
        unit = readText(end, 16, 'unit');
        break;
      case 0x28:
        quality = readVarint(end);
        if (quality > 2) fault(at, `quality ${quality}`);
        break;
      default:
        skip(tag, end, at, 5);
    }
  }
  if (code === '') fault(start, 'measurement without code');
  return { code, tOffsetNs, value, unit, quality: quality as QualityFlag };
}

function readEvent(end: number): Event {
  const start = pos;
  let code = '';
  let tOffsetNs = 0;
  let text = '';
  let seen = 0;
  while (pos < end) {
    const at = pos;
    const tag = readTag(end);
    const field = tag >>> 3;
    if (field < 4) {
      if ((seen & (1 << field)) !== 0) fault(at, `event field ${field} given twice`);
      seen |= 1 << field;
    }
    switch (tag) {
      case 0x0a:
        code = readText(end, 32, 'event code');
        break;
      case 0x10:
        tOffsetNs = readVarint(end);
        break;
      case 0x1a:
        text = readText(end, 256, 'event text', remarks);
        break;
      default:
        skip(tag, end, at, 3);
    }
  }
  if (code === '') fault(start, 'event without code');
  return { code, tOffsetNs, text };
}

function readTag(end: number): number {
  const first = buf[pos]!;
  if (first < 0x80) {
    if (first < 8) fault(pos, 'field number 0');
    pos++;
    return first;
  }
  const at = pos;
  const tag = readVarint(end);
  if (tag > 0xffff_ffff || tag < 8) fault(at, 'field number out of range');
  return tag;
}

/** @returns an integer below 2^53; larger ones and more than 10 bytes are faults */
function readVarint(end: number): number {
  const b = buf;
  const at = pos;
  let p = at;
  let value = 0;
  let scale = 1;
  for (let i = 0; i < 8; i++) {
    if (p >= end) fault(p, 'ends within a varint');
    const byte = b[p++]!;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) {
      if (value > Number.MAX_SAFE_INTEGER) fault(at, 'integer of 2^53 or more');
      pos = p;
      return value;
    }
    scale *= 128;
  }
  return fault(at, 'integer of 2^53 or more');
}

/** Reads a length and answers where its payload ends. */
function readEnd(end: number): number {
  const at = pos;
  const length = readVarint(end);
  if (length > end - pos) fault(at, `length ${length} with ${end - pos} bytes left`);
  return pos + length;
}

function readFixed64(end: number): bigint {
  if (end - pos < 8) fault(pos, 'ends within a fixed64');
  pos += 8;
  return view.getBigUint64(pos - 8, true);
}

function readDouble(end: number): number {
  if (end - pos < 8) fault(pos, 'ends within a double');
  pos += 8;
  return view.getFloat64(pos - 8, true);
}

/** Device ids, units and the like come again and again: equal bytes give the same string object without decoding. */
const names = new ByteInterner<string>(8192, (start, end) => decodeText(start, end, 'name'));
/** What a device says in words: may have several lines. */
const remarks = new ByteInterner<string>(512, (start, end) => decodeText(start, end, 'text'));
/** The field that is being read, for decodeText, which is called for new bytes only. */
let fieldName = '';
/** decodeOldPacket: nothing of it may come to be known by the bytes. */
let cleaning = false;
const bootIds = new ByteInterner<string>(8192, (start, end) => {
  let hex = '';
  for (let i = start; i < end; i++) hex += buf[i]!.toString(16).padStart(2, '0');
  return hex;
});
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readText(end: number, bytesMax: number, name: string, known = names): string {
  const at = pos;
  const to = readEnd(end);
  if (to - pos > bytesMax) fault(at, `${name} of ${to - pos} bytes, limit ${bytesMax}`);
  fieldName = name;
  const text = to === pos ? '' : cleaning ? decodeText(pos, to, known === names ? 'name' : 'text') : known.get(view, pos, to);
  pos = to;
  return text;
}

function decodeText(start: number, end: number, kind: TextKind): string {
  let text: string;
  try {
    text = utf8.decode(buf.subarray(start, end));
  } catch {
    return fault(start, `${fieldName} is not UTF-8`);
  }
  const refused = refusedCharacter(text, kind);
  if (refused === null) return text;
  if (cleaning) return withoutRefused(text);
  return fault(start, `${fieldName} holds ${refused}`, 'packet_invalid');
}

function readBootId(end: number): string {
  const at = pos;
  const to = readEnd(end);
  if (to - pos !== 16) fault(at, `boot_id of ${to - pos} bytes, need 16`);
  const hex = bootIds.get(view, pos, to);
  pos = to;
  return hex;
}

/** Steps over a field of a newer schema. A known field with another wire type is a fault: nothing would be read from it silently. */
function skip(tag: number, end: number, at: number, fieldMax: number): void {
  const field = tag >>> 3;
  if (field <= fieldMax) fault(at, `field ${field} with wire type ${tag & 7}`);
  switch (tag & 7) {
    case 0: {
      let n = 0;
      while (pos < end && buf[pos]! >= 0x80 && n < 9) {
        pos++;
        n++;
      }
      if (pos >= end) fault(pos, 'ends within a varint');
      if (buf[pos]! >= 0x80) fault(at, 'varint of more than 10 bytes');
      pos++;
      return;
    }
    case 1:
      if (end - pos < 8) fault(pos, 'ends within a fixed64');
      pos += 8;
      return;
    case 2:
      pos = readEnd(end);
      return;
    case 5:
      if (end - pos < 4) fault(pos, 'ends within a fixed32');
      pos += 4;
      return;
    default:
      fault(at, `wire type ${tag & 7}`);
  }
}

// ---------------------------------------------------------------------------------------------------------------- encoding

const writer = new WireWriter(64 * 1024);

/** Encodes one packet. @throws RangeError for values that the schema cannot hold (a programmer's error) */
export function encodePacket(packet: Packet, encoding: SampleEncoding = 'deltas'): Uint8Array<ArrayBuffer> {
  const w = writer;
  w.reset();
  if (packet.schemaVersion !== 0) w.uint(0x08, packet.schemaVersion);
  if (packet.deviceId !== '') w.text(0x12, packet.deviceId);
  w.bytes(0x1a, bytesOfHex(packet.bootId));
  if (packet.seq !== 0) w.uint(0x20, packet.seq);
  if (packet.t0DeviceNs !== 0n) w.fixed64(0x29, packet.t0DeviceNs);
  if (packet.t0UnixNs !== 0n) w.fixed64(0x31, packet.t0UnixNs);
  if (packet.sentUnixNs !== 0n) w.fixed64(0x39, packet.sentUnixNs);
  if (packet.subject !== '') w.text(0x42, packet.subject);
  if (packet.firmware !== '') w.text(0x4a, packet.firmware);
  for (const block of packet.blocks) writeBlock(w, block, encoding);
  for (const item of packet.measurements) {
    const at = w.open(0x5a);
    w.text(0x0a, item.code);
    if (item.tOffsetNs !== 0) w.uint(0x10, item.tOffsetNs);
    if (!Object.is(item.value, 0)) w.double(0x19, item.value);
    if (item.unit !== '') w.text(0x22, item.unit);
    if (item.quality !== 0) w.uint(0x28, item.quality);
    w.close(at);
  }
  for (const item of packet.events) {
    const at = w.open(0x62);
    w.text(0x0a, item.code);
    if (item.tOffsetNs !== 0) w.uint(0x10, item.tOffsetNs);
    if (item.text !== '') w.text(0x1a, item.text);
    w.close(at);
  }
  if (packet.recordedUnixNs !== undefined) w.fixed64(0x69, BigInt.asUintN(64, packet.recordedUnixNs));
  return w.take();
}

function writeBlock(w: WireWriter, block: Block, encoding: SampleEncoding): void {
  const at = w.open(0x52);
  const inner = w.open(0x0a);
  const c = block.channel;
  w.text(0x0a, c.code);
  w.uint(0x10, channelKinds.indexOf(c.kind) + 1);
  w.uint(0x18, c.rateNanoHz);
  w.double(0x21, c.gain);
  if (!Object.is(c.baseline, 0)) w.double(0x29, c.baseline);
  if (c.unit !== '') w.text(0x32, c.unit);
  if (c.lead !== '') w.text(0x3a, c.lead);
  w.close(inner);
  if (block.tOffsetNs !== 0) w.uint(0x10, block.tOffsetNs);
  const samples = block.samples;
  if (samples instanceof Float32Array) w.floats(0x32, samples);
  else if (encoding === 'deltas') w.deltas(0x1a, samples);
  else if (encoding === 'int16') w.int16(0x22, samples);
  else w.int24(0x2a, samples);
  if (block.qmask !== null) w.qmaskRuns(0x3a, block.qmask);
  w.close(at);
}

function bytesOfHex(hex: string): Uint8Array {
  if (!/^[0-9a-f]{32}$/.test(hex)) throw new RangeError(`boot id '${hex}' is not 32 lower-case hexadecimal digits`);
  const out = new Uint8Array(16);
  for (let i = 0; i < 16; i++) out[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return out;
}

// ---------------------------------------------------------------------------------------------------------------- batches

/** Joins encoded packets to a length-delimited batch: varint length, packet, varint length, packet ... */
export function encodeBatch(packets: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const w = new WireWriter(packets.reduce((sum, packet) => sum + packet.length + 5, 0));
  for (const packet of packets) w.delimited(packet);
  return w.take();
}

/** Cuts a length-delimited batch. @returns views on `bytes`, or Rejected packet_malformed with the byte offset, packet_too_large */
export function splitBatch(bytes: Uint8Array, packetBytesMax: number, packetsMax: number): Uint8Array[] | Rejected {
  const out: Uint8Array[] = [];
  const own = buf;
  buf = bytes; // only lengths are read: not worth a copy
  pos = 0;
  try {
    while (pos < bytes.length) {
      const at = pos;
      const to = readEnd(bytes.length);
      if (to - pos > packetBytesMax)
        return rejected('packet_too_large', `byte ${at}: packet of ${to - pos} bytes, limit ${packetBytesMax}`);
      if (out.length >= packetsMax) return rejected('packet_too_large', `byte ${at}: more than ${packetsMax} packets in one batch`);
      out.push(bytes.subarray(pos, to));
      pos = to;
    }
    return out;
  } catch (error) {
    if (error !== FAULT) throw error;
    return rejected('packet_malformed', `byte ${FAULT.offset}: ${FAULT.detail}`);
  } finally {
    buf = own;
  }
}
