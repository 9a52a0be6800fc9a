/** Reads minutes that SQL has put one after the other as they are stored (packed_minute and packed_beats of
 *  sql/000057-derived-reading.sql): they are unpacked here, by the codec that packed them. */
import type { Buffer } from 'node:buffer';
import { isRejected, type Rejected } from '../errors.ts';
import { decodeBeats, decodeFeatures, type BeatPoints, type FeaturePoints } from '../storage/derived-block.ts';
import type { DamagedMinute, OnDamaged } from './damaged-minutes.ts';

const HEAD = 20;
const TWO_32 = 2 ** 32;

type Packed = Readonly<{
  /** From 1970. */
  minute: number;
  n: number;
  /** Of a feature: what its numbers are counted from. Of beats: the bytes of `reasons`. */
  base: number;
  codec: Buffer;
  reasons: string | null;
}>;

/** Eight bytes as a number; whole up to 2^53. */
export const int8At = (bytes: Buffer, at: number): number => bytes.readInt32BE(at) * TWO_32 + bytes.readUInt32BE(at + 4);

function packedMinutes(bytes: Buffer, of: 'feature' | 'beat'): Packed[] {
  const found: Packed[] = [];
  for (let at = 0; at < bytes.length;) {
    const base = int8At(bytes, at + 12);
    const codecEnd = at + HEAD + bytes.readInt32BE(at + 8);
    const end = of === 'beat' ? codecEnd + base : codecEnd;
    found.push({
      minute: bytes.readInt32BE(at),
      n: bytes.readInt32BE(at + 4),
      base,
      codec: bytes.subarray(at + HEAD, codecEnd),
      reasons: end === codecEnd ? null : bytes.toString('utf8', codecEnd, end),
    });
    at = end;
  }
  return found;
}

export type FeatureMinute = Readonly<{ minute: number; points: FeaturePoints }>;
export type BeatMinute = Readonly<{ minute: number; points: BeatPoints }>;

/** In order of time, one after the other as they are asked for.
 *  @param onDamaged called with a damaged minute, which comes without values
 *  @throws Error without it: nobody would know what is missing */
export function* featureMinutes(bytes: Buffer, streamId: number, onDamaged?: OnDamaged): Generator<FeatureMinute> {
  for (const { minute, n, base, codec } of inOrder(packedMinutes(bytes, 'feature'))) {
    // A single value without a value has no sum: its flag says so.
    const sum = n === 1 && (codec[7]! & 4) !== 0 ? null : base;
    const points = decodeFeatures({ n, min: base, sum, codec });
    if (isRejected(points)) tell({ kind: 'feature', streamId, minute }, points, onDamaged);
    yield { minute, points: isRejected(points) ? NO_VALUES : points };
  }
}

/** Likewise. */
export function* beatMinutes(bytes: Buffer, streamId: number, onDamaged?: OnDamaged): Generator<BeatMinute> {
  for (const { minute, n, codec, reasons } of inOrder(packedMinutes(bytes, 'beat'))) {
    const points = decodeBeats({ n, reasons, codec });
    if (isRejected(points)) tell({ kind: 'beat', streamId, minute }, points, onDamaged);
    yield { minute, points: isRejected(points) ? NO_BEATS : points };
  }
}

const NO_VALUES: FeaturePoints = { ns: [], steps: [], flags: [] };
const NO_BEATS: BeatPoints = { ns: [], intervalUs: [], kinds: [], flags: [], reasons: [], confidences: [] };

function tell(damaged: Omit<DamagedMinute, 'reason'>, { detail: reason }: Rejected, onDamaged: OnDamaged | undefined): void {
  if (onDamaged === undefined) throw new Error(`minute ${damaged.minute} of a ${damaged.kind} of stream ${damaged.streamId}: ${reason}`);
  onDamaged({ ...damaged, reason });
}

/** A minute that is not over comes after those that are, but may be an older one. */
function inOrder(minutes: Packed[]): Packed[] {
  return minutes.sort((a, b) => a.minute - b.minute);
}
