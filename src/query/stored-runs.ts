/** Unpacks stored rows of samples that SQL has put end to end; a damaged one is a gap. */
import { isRejected } from '../errors.ts';
import { decodeBlock } from '../storage/block-codec.ts';
import type { BlockRun, SampleRoom } from '../storage/block-codec.ts';
import type { DamagedSamples, OnDamaged } from './damaged-minutes.ts';

export type StoredRows = Readonly<{
  /** Of each row. */
  lengths: readonly number[];
  /** Base64. */
  codecs: string;
  /** Start of each row, Unix us, where it was read. */
  us?: readonly number[];
}>;

/** @param of whose rows they are  @param onDamaged absent: a damaged row fails the request
 *  @throws Error when there is no onDamaged and a row is damaged */
export function storedRuns(
  { lengths, codecs, us }: StoredRows,
  of: Pick<DamagedSamples, 'streamId' | 'channelNo'>,
  onDamaged: OnDamaged | undefined,
  room: SampleRoom | null = null,
): BlockRun[] {
  const bytes = Buffer.from(codecs, 'base64');
  const runs: BlockRun[] = [];
  let at = 0;
  for (const [i, length] of lengths.entries()) {
    const decoded = decodeBlock(bytes.subarray(at, (at += length)), room);
    if (!isRejected(decoded)) {
      for (const run of decoded) runs.push(run);
      continue;
    }
    if (onDamaged === undefined) throw new Error(`a row of channel ${of.channelNo} of stream ${of.streamId}: ${decoded.detail}`);
    onDamaged({ kind: 'samples', ...of, timeUs: us?.[i] ?? null, reason: decoded.detail });
  }
  return runs;
}
