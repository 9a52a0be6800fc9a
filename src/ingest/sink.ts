/** What ingest asks of the rest of the service. The pipeline implements it; ingest knows neither storage nor DSP nor live. */
import type { Rejected } from '../errors.ts';
import type { Caller } from '../caller.ts';
import type { Event, Measurement } from '../proto/packet.ts';
import type { ChannelConfig, ClockFit, OrgId, ProjectId, SampleRun, StreamId, SubjectId, TimeSource } from '../signal.ts';
import type { SeqRange } from './seq-set.ts';
import type { Session } from './session.ts';

/** The first packet of a boot that this process sees. */
export type StreamRequest = Readonly<{
  caller: Caller;
  deviceId: string;
  /** 32 hexadecimal digits. */
  bootId: string;
  /** xuser uuid or external id as the device wrote it; '' = as the credential or the device's record says. */
  subject: string;
  firmware: string;
  /** What `epochNs` shall be if the stream does not exist yet: Unix ns of device time 0. */
  epochNs: bigint;
  /** How epochNs is known. */
  timeSource: TimeSource;
  /** Device time of the end of the first packet. */
  endDeviceNs: bigint;
  /** Unix ns. */
  receivedNs: bigint;
}>;

/** A stream as the database has it (existing or just created), with everything that is durable, packet_log included. */
export type StreamRecord = Readonly<{
  streamId: StreamId;
  orgId: OrgId;
  projectId: ProjectId;
  subjectId: SubjectId;
  /** Fixed when the stream was created. time = epochNs + device time. */
  epochNs: bigint;
  /** How it was known then; null: of an earlier release. */
  timeSource: TimeSource | null;
  /** What retention will delete of a recording that begins like this one; empty: nothing soon. */
  expiring: readonly Readonly<{ what: string; days: number }>[];
  /** By ChannelNo. */
  channels: readonly ChannelConfig[];
  /** Sequence numbers that are durable. */
  seqRanges: readonly SeqRange[];
}>;

/** A packet that may be stored: samples on the stream's grid. */
export type Admitted = Readonly<{
  kind: 'admitted';
  seq: number;
  /** Of the packet, see DecodedPacket. */
  contentHash: number;
  /** In the order of the packet's blocks. `samples` may be views on memory shared with other packets: copy what is kept for long. */
  runs: readonly SampleRun[];
  /** Channel configurations first seen in this packet; their ChannelNo are the last of `session.channels`, in this order. */
  newChannels: readonly ChannelConfig[];
  measurements: readonly Measurement[];
  events: readonly Event[];
  /** Device clock, ns: start of the packet, and end of its newest sample or the latest of its measurements and events. */
  t0DeviceNs: bigint;
  endDeviceNs: bigint;
  /** Unix ns when it was received. */
  receivedNs: bigint;
  /** Not the newest of the stream: older than the reorder window. */
  backfill: boolean;
}>;

export interface PacketSink {
  /** Finds or creates the stream of (organization, device, boot) and settles whom it records.
   *  Called once per session, never concurrently for one (organization, device, boot).
   *  Rejected with not_found when the caller may not write for that subject; rejects with PipelineError when the database is away. */
  openStream(request: StreamRequest): Promise<StreamRecord | Rejected>;

  /** Takes a packet. The promise resolves when it is durable; it may be the same promise for every packet of one group commit.
   *  When it rejects, nothing of that packet was kept and ingest forgets its sequence number.
   *  'busy': a queue is full, nothing was kept.
   *  @throws PipelineError unavailable when the database is away: nothing was kept
   *  @param bytes the packet as received; valid only during the call: copy what is kept */
  accept(session: Session, admitted: Admitted, bytes: Uint8Array): Promise<void> | 'busy';

  /** Hashes of the durable packets firstSeq .. firstSeq + count - 1 of a stream; NaN where none is known: no such packet, or longer ago than they
   *  are kept. Rejects with PipelineError unavailable when the database is away. */
  packetHashes(streamId: StreamId, firstSeq: number, count: number): Promise<Float64Array>;

  /** How the clock of a stream runs, about once a minute. */
  noteClock(streamId: StreamId, fit: ClockFit): void;

  /** A request waits until what was taken is durable: the group commit need not wait for more company. */
  hurry(): void;

  /** The session was idle and is dropped from memory; afterwards openStream must find all that is durable. */
  closeStream(session: Session): Promise<void>;
}
