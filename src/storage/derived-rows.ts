/** Rows of feature_block and beat_block as COPY fields. */
import type { CopyBuffer } from './copy-binary.ts';
import type { BeatBlock, FeatureBlock } from './derived-block.ts';

/** Which minute of which series. */
export type MinuteKey = Readonly<{
  streamId: number;
  methodId: number;
  channelNo: number;
  /** From 1970. */
  minute: number;
}>;

export const featureBlockColumns =
  'time, sum, good_sum, suspect_sum, stream_id, min, max, first, last, good_min, good_max, good_first, good_last, suspect_min, suspect_max, ' +
  'method_id, channel_no, n, value_n, good_n, suspect_n, codec';
export const beatBlockColumns = 'time, stream_id, method_id, channel_no, n, reasons, codec';

const MINUTE_US = 60_000_000;

export function putFeatureBlock(rows: CopyBuffer, { streamId, methodId, channelNo, minute }: MinuteKey, block: FeatureBlock): void {
  rows.row(22);
  rows.timestamptz(minute * MINUTE_US);
  for (const sum of [block.sum, block.goodSum, block.suspectSum]) {
    if (sum === null) rows.null();
    else rows.int8(BigInt(sum));
  }
  rows.int4(streamId);
  putInt4(rows, block.min);
  putInt4(rows, block.max);
  putInt4(rows, block.first);
  putInt4(rows, block.last);
  putInt4(rows, block.goodMin);
  putInt4(rows, block.goodMax);
  putInt4(rows, block.goodFirst);
  putInt4(rows, block.goodLast);
  putInt4(rows, block.suspectMin);
  putInt4(rows, block.suspectMax);
  rows.int2(methodId);
  rows.int2(channelNo);
  rows.int2(block.n);
  for (const count of [block.valueN, block.goodN, block.suspectN]) {
    if (count === null) rows.null();
    else rows.int2(count);
  }
  rows.bytea(block.codec);
}

export function putBeatBlock(rows: CopyBuffer, { streamId, methodId, channelNo, minute }: MinuteKey, block: BeatBlock): void {
  rows.row(7);
  rows.timestamptz(minute * MINUTE_US);
  rows.int4(streamId);
  rows.int2(methodId);
  rows.int2(channelNo);
  rows.int2(block.n);
  if (block.reasons === null) rows.null();
  else rows.text(block.reasons);
  rows.bytea(block.codec);
}

function putInt4(rows: CopyBuffer, value: number | null): void {
  if (value === null) rows.null();
  else rows.int4(value);
}
