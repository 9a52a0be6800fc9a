/** The open minutes of a stream as the bytes of one row of derived_open. The layout is in docs/wire-format.md: the number of minutes, a
 *  head of 25 bytes for each, then their codecs. Read by open_minutes() in SQL. */
import { Buffer } from 'node:buffer';
import { RowFault } from './database/sql-states.ts';

export type OpenMinute = Readonly<{
  /** From 1970. */
  minute: number;
  methodId: number;
  channelNo: number;
  n: number;
  isBeat: boolean;
  /** What the numbers of a feature are counted from: its minimum, or with n = 1 its value. */
  base: number;
  /** Of beats, see BeatBlock. */
  reasons: string | null;
  codec: Uint8Array;
}>;

const HEAD = 25;
const COUNT = 2;

export function encodeOpenMinutes(minutes: readonly OpenMinute[]): Buffer {
  const texts = minutes.map(({ reasons }) => Buffer.from(reasons ?? ''));
  let at = COUNT + HEAD * minutes.length;
  const out = Buffer.allocUnsafe(at + minutes.reduce((bytes, { codec }, i) => bytes + codec.length + texts[i]!.length, 0));
  out.writeUInt16BE(minutes.length, 0);
  for (const [i, { minute, methodId, channelNo, n, isBeat, base, codec }] of minutes.entries()) {
    const head = COUNT + HEAD * i;
    out.writeUInt32BE(minute, head);
    out.writeUInt16BE(methodId, head + 4);
    out.writeUInt16BE(channelNo + 32_768, head + 6);
    out.writeUInt16BE(n, head + 8);
    out.writeUInt8(isBeat ? 1 : 0, head + 10);
    out.writeUInt32BE(base + 2 ** 31, head + 11);
    out.writeUInt32BE(at, head + 15);
    out.writeUInt32BE(codec.length, head + 19);
    out.writeUInt16BE(texts[i]!.length, head + 23);
    out.set(codec, at);
    out.set(texts[i]!, at + codec.length);
    at += codec.length + texts[i]!.length;
  }
  return out;
}

/** @throws RowFault when the row is damaged */
export function decodeOpenMinutes(data: Uint8Array): OpenMinute[] {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (bytes.length < COUNT || bytes.length < COUNT + HEAD * bytes.readUInt16BE(0))
    throw new RowFault(`open minutes are damaged: ${bytes.length} bytes`);
  return Array.from({ length: bytes.readUInt16BE(0) }, (_, i) => {
    const head = COUNT + HEAD * i;
    const at = bytes.readUInt32BE(head + 15);
    const end = at + bytes.readUInt32BE(head + 19);
    const textEnd = end + bytes.readUInt16BE(head + 23);
    if (textEnd > bytes.length) throw new RowFault(`open minutes are damaged: head ${i}`);
    return {
      minute: bytes.readUInt32BE(head),
      methodId: bytes.readUInt16BE(head + 4),
      channelNo: bytes.readUInt16BE(head + 6) - 32_768,
      n: bytes.readUInt16BE(head + 8),
      isBeat: bytes.readUInt8(head + 10) === 1,
      base: bytes.readUInt32BE(head + 11) - 2 ** 31,
      reasons: textEnd === end ? null : bytes.toString('utf8', end, textEnd),
      codec: bytes.subarray(at, end),
    };
  });
}
