/** Interface through which ingest uses the rest of the service. The pipeline implements it; ingest knows neither storage, DSP nor live. */
import type { Rejected } from '../errors.ts';
import type { Caller } from '../caller.ts';
import type { Event, Measurement } from '../proto/packet.ts';
import type { ChannelConfig, ClockFit, OrgId, ProjectId, SampleRun, StreamId, SubjectId, TimeSource } from '../signal.ts';
import type { SeqRange } from './seq-set.ts';
import type { Session } from './session.ts';

/** Request to open a stream, made from the first packet of a boot that this process sees. */
export type StreamRequest = Readonly<{
  caller: Caller;
  deviceId: string;
  /** 32 hexadecimal digits. */
  bootId: string;
  /** The user's id or external id as the device wrote it; '': taken from the credential or the device's record. */
  subject: string;
  firmware: string;
  /** Unix ns of device time 0, used if the stream does not exist yet. */
  epochNs: bigint;
  /** How epochNs is known. */
  timeSource: TimeSource;
  /** Device time of the end of the first packet. */
  endDeviceNs: bigint;
  /** Unix ns. */
  receivedNs: bigint;
}>;

/** What names a stream: at most one has it. */
export type StreamName = Readonly<{ orgId: string; deviceId: string; bootId: string }>;

/** A stream as stored (existing or just created), including everything durable in packet_log. */
export type StreamRecord = Readonly<{
  streamId: StreamId;
  orgId: OrgId;
  projectId: ProjectId;
  subjectId: SubjectId;
  /** Fixed when the stream was created. time = epochNs + device time. */
  epochNs: bigint;
  /** How it was known then; null: created by an earlier release. */
  timeSource: TimeSource | null;
  /** Kinds of data of this recording that retention will delete, and after how many days; empty: nothing soon. */
  expiring: readonly Readonly<{ what: string; days: number }>[];
  /** By ChannelNo. */
  channels: readonly ChannelConfig[];
  /** Sequence numbers that are durable. */
  seqRanges: readonly SeqRange[];
  /** The node that stores it; '': this one. */
  node: string;
}>;

/** A packet that may be stored, its samples on the stream's grid. */
export type Admitted = Readonly<{
  kind: 'admitted';
  seq: number;
  /** Hash of the packet, see DecodedPacket. */
  contentHash: number;
  /** In the order of the packet's blocks. `samples` may be views of memory shared with other packets: copy what you keep for long. */
  runs: readonly SampleRun[];
  /** Channel configurations first seen in this packet; their ChannelNo are the last of `session.channels`, in this order. */
  newChannels: readonly ChannelConfig[];
  measurements: readonly Measurement[];
  events: readonly Event[];
  /** Device clock, ns: start of the packet, and end of its newest sample, measurement or event. */
  t0DeviceNs: bigint;
  endDeviceNs: bigint;
  /** Unix ns when it was received. */
  receivedNs: bigint;
  /** Not the newest of the stream: older than the reorder window. */
  backfill: boolean;
}>;

/** What only the owner of the streams knew of packets taken, by stream. */
export type OwnersWord = Readonly<{
  /** Why a packet was not kept, by number. */
  refused: ReadonlyMap<StreamId, ReadonlyMap<number, Rejected>>;
  /** Numbers that were durable before. */
  repeats: ReadonlyMap<StreamId, ReadonlySet<number>>;
  /** The highest number that is durable. */
  highs: ReadonlyMap<StreamId, number>;
}>;

export interface PacketSink {
  /** Finds or creates the stream of (organization, device, boot) and decides whom it records.
   *  Called once per session, never concurrently for one (organization, device, boot).
   *  Rejected with not_found when the caller may not write for that subject; throws PipelineError when the database is unavailable.
   *  @param onward called when another node is asked, which may hang: nothing of the stream is opened here */
  openStream(request: StreamRequest, onward?: () => void): Promise<StreamRecord | Rejected>;

  /** Whether a stream of (organization, device, boot) exists. Rejects with PipelineError when the database is unavailable. */
  isRecorded(stream: StreamName): Promise<boolean>;

  /** Takes a packet. The promise resolves when it is durable; it may be the same promise for every packet of one group commit. It may
   *  resolve with what the owner on another node says of them. When it rejects, or says that the packet is refused, nothing of that packet
   *  was kept and ingest forgets its sequence number. 'busy': a queue is full, nothing was kept. 'closed': nothing was kept, and the
   *  session is over.
   *  @throws PipelineError unavailable when the database is unavailable: nothing was kept
   *  @param bytes the packet as received; valid only during the call, so copy what you keep */
  accept(session: Session, admitted: Admitted, bytes: Uint8Array): Promise<void | OwnersWord> | 'busy' | 'closed';

  /** Hashes of the durable packets firstSeq .. firstSeq + count - 1 of a stream; NaN where there is none, or it is no longer kept.
   *  Rejects with PipelineError unavailable when the database is unavailable. */
  packetHashes(streamId: StreamId, firstSeq: number, count: number): Promise<Float64Array>;

  /** Base URL of another node that stores a stream, where its device may connect itself; '': this node does, or the other has none. */
  nodeUrlOf(streamId: StreamId): string;

  /** Saves the clock fit of a stream; called about once a minute. */
  noteClock(streamId: StreamId, fit: ClockFit): void;

  /** Asks for an early group commit, because a request is waiting for packets to become durable.
   *  @param durable the promise of these packets, from accept */
  hurry(durable: Promise<void | OwnersWord>): void;

  /** Closes the stream of an idle session, which is dropped from memory; afterwards openStream must find everything durable. */
  closeStream(session: Session): Promise<void>;
}
