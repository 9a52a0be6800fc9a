/** Reads packets from bytes, by hand: no reflection, no allocation per sample, every length and count is checked before anything is
 *  allocated for it. The schema is proto/biosignal.proto; a property test compares this reader with protobufjs' static code.
 *  No node imports. */
import type { Rejected } from '../errors.ts';
import { rejected } from '../errors.ts';
import type { ChannelConfig, QualityFlag, Samples } from '../signal.ts';
import { channelKinds } from '../signal.ts';
import { refusedCharacter, withoutRefused } from '../text.ts';
import type { TextKind } from '../text.ts';
import { ByteInterner } from './byte-interner.ts';
import { endHash, hashBytes, hashTime, startHash } from './content-hash.ts';
import { SCHEMA_VERSION, widestPacketLimits } from './packet.ts';
import type { Block, DecodedPacket, Event, Measurement, PacketLimits } from './packet.ts';
import { fault, FAULT } from './packet-fault.ts';
import { readDeltas, readFloat32, readInt16, readInt24 } from './packet-samples.ts';

// The reader's state is in module variables, not in an object: one packet is decoded at a time and never across an await. That is why the
// whole reader is one file. A packet is first copied to the reader's own memory, which costs less than making a DataView of the packet's.
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

/** Decodes one packet and checks its form; admit.ts checks what the values mean.
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

/** Like decodePacket, for packets that earlier releases accepted: characters that text must not contain are replaced by a space, and any
 *  size is allowed. */
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
      hashBytes(buf, view, contentFrom, at);
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
        hashTime(view, pos - 8);
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
  if (contentFrom >= 0) hashBytes(buf, view, contentFrom, end);
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
      case 0x1a: {
        const to = readEnd(end);
        samples = once(samples, at, readDeltas(buf, view, pos, to, samplesMax));
        pos = to;
        break;
      }
      case 0x22: {
        const to = readEnd(end);
        samples = once(samples, at, readInt16(buf, pos, to, samplesMax));
        pos = to;
        break;
      }
      case 0x2a: {
        const to = readEnd(end);
        samples = once(samples, at, readInt24(buf, pos, to, samplesMax));
        pos = to;
        break;
      }
      case 0x32: {
        const to = readEnd(end);
        samples = once(samples, at, readFloat32(buf, pos, to, samplesMax));
        pos = to;
        break;
      }
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

/** The same few channel messages are in every packet: each is parsed once and found by its bytes afterwards. */
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

/** Enum values are 1 + position in channelKinds. If absent or from a newer schema, the first part of the code decides. */
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

/** Reads a length. @returns where its payload ends */
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

/** Device ids, units and the like repeat: equal bytes give the same string object without decoding. */
const names = new ByteInterner<string>(8192, (start, end) => decodeText(start, end, 'name'));
/** Free text of a device; may have several lines. */
const remarks = new ByteInterner<string>(512, (start, end) => decodeText(start, end, 'text'));
/** Name of the current field, for decodeText, which is called for new bytes only. */
let fieldName = '';
/** Set by decodeOldPacket: none of its texts may enter the interners. */
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

/** Steps over a field of a newer schema. A known field with another wire type is a fault: it would be ignored silently. */
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

/** Splits a length-delimited batch. @returns views on `bytes`, or Rejected: packet_malformed with the byte offset, or packet_too_large */
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
