/** Turns rows that were set aside back into the input of their writers. */
import type { ChannelConfig, ChannelNo, StreamId, SubjectId } from '../signal.ts';
import type { BlockWriter } from './block-writer.ts';
import type { DerivedBeat, DerivedFeature } from './derived-steps.ts';
import type { DerivedWriter } from './derived-writer.ts';
import type { ReportedEvent, ReportedMeasurement } from './reported-rows.ts';
import { runsOf } from './sample-rows.ts';
import type { LetterToReplay } from './set-aside.ts';

export type RowWriters = Readonly<{ blocks: BlockWriter; rows: DerivedWriter }>;
export type RowStream = Readonly<{ streamId: StreamId; subjectId: SubjectId; epochNs: bigint; channels: readonly ChannelConfig[] }>;

/** Content as JSON: bigints are digits, NaN is null. */
type Written<T> = { [K in keyof T]: T[K] extends bigint ? string : T[K] extends number ? T[K] | null : T[K] };

/** Writes the rows of a letter again; rows that are refused again are set aside again.
 *  @param position of the log that must be kept until they are stored */
export async function replayRows(letter: LetterToReplay, stream: RowStream, { blocks, rows }: RowWriters, position: number): Promise<void> {
  const { streamId, subjectId, epochNs } = stream;
  switch (letter.kind) {
    case 'samples': {
      const { channelNo } = letter.content as { channelNo: ChannelNo };
      const rates = stream.channels.map((channel) => channel.rateNanoHz);
      blocks.push(streamId, epochNs, rates, runsOf(letter.bytes!).map((run) => ({ ...run, channelNo })), position); // prettier-ignore
      return await blocks.flush();
    }
    case 'derived': {
      const { beats, features } = letter.content as { beats: Written<DerivedBeat>[]; features: Written<DerivedFeature>[] };
      void rows.add(
        {
          streamId,
          // letters of earlier releases have no confidence
          beats: beats.map(
            (beat) => ({ ...beat, tNs: BigInt(beat.tNs), ibiMs: beat.ibiMs ?? NaN, confidence: beat.confidence ?? NaN }) as DerivedBeat,
          ),
          features: features.map((feature) => ({ ...feature, tNs: BigInt(feature.tNs), value: feature.value ?? NaN }) as DerivedFeature),
          replaces: null,
        },
        epochNs,
      );
      return await rows.flush();
    }
    case 'measurement': {
      const row = letter.content as Written<ReportedMeasurement>;
      void rows.addReported([{ ...row, streamId, subjectId, tsNs: BigInt(row.tsNs) } as ReportedMeasurement], [], letter.logPosition);
      return await rows.flush();
    }
    case 'event': {
      const row = letter.content as Written<ReportedEvent>;
      void rows.addReported([], [{ ...row, streamId, tsNs: BigInt(row.tsNs) } as ReportedEvent], letter.logPosition);
      return await rows.flush();
    }
    default:
      throw new RangeError(`a letter of kind ${letter.kind} has no rows`);
  }
}
