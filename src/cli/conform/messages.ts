/** The service's messages as protobufjs reads them, by code that was generated from proto/: an independent check of our codec's output. */
import { biosignal } from '../../proto/generated/generated.js';

const { IngestReply, SampleSegmentList } = biosignal.v1;

export type Reply = Readonly<{
  accepted: number;
  duplicates: number;
  rejected: readonly Readonly<{ code: string }>[];
  highSeq: number;
  settled: number;
  window: number;
}>;

/** @throws Error for bytes that are no reply */
export function readReply(bytes: Uint8Array): Reply {
  const { accepted, duplicates, rejected, highSeq, settled, window } = IngestReply.decode(bytes);
  const codes = rejected.map(({ code }) => ({ code: code ?? '' }));
  return { accepted, duplicates, rejected: codes, highSeq: highSeq.toNumber(), settled: settled.toNumber(), window };
}

export type Segment = Readonly<{ t0Ns: bigint; samplesDelta: readonly number[] }>;

/** @throws Error for bytes that are no list of segments */
export function readSegments(bytes: Uint8Array): readonly Segment[] {
  return SampleSegmentList.decode(bytes).segments.map(({ t0Ns, samplesDelta }) => ({
    t0Ns: BigInt(String(t0Ns ?? 0)),
    samplesDelta: samplesDelta ?? [],
  }));
}
