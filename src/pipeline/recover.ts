/** Recovery of partitions that were taken, before their first new packet: replays acknowledged packets that are not in the tables yet, and
 *  retries what an operator asked to have retried (`biosignal set-aside`). At a start, or while packets of other partitions come.
 *
 *  A packet that cannot be stored is set aside: none keeps the service from starting. Recovery does not wait for values: they are computed
 *  from stored samples while new packets arrive, and the checkpoint stays before them until they are stored. */
import { isRejected } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import { admitPacket } from '../ingest/admit.ts';
import type { AdmissionLimits } from '../ingest/admit.ts';
import { Session } from '../ingest/session.ts';
import { widestPacketLimits } from '../proto/packet.ts';
import type { DecodedPacket } from '../proto/packet.ts';
import { decodeOldPacket, decodePacket } from '../proto/packet-decode.ts';
import type { StreamId } from '../signal.ts';
import { failureOf } from '../storage/database/sql-states.ts';
import type { Write } from '../storage/database/transaction.ts';
import { replayRows } from '../storage/letter-replay.ts';
import type { Damage, LogEntry } from '../storage/log-batch.ts';
import { unfinishedStreams } from '../storage/resume-point.ts';
import type { ResumePoint } from '../storage/resume-point.ts';
import { forgetLetter, keepLetter, lettersToReplay, reasonOf } from '../storage/set-aside.ts';
import type { Letter, LetterToReplay } from '../storage/set-aside.ts';
import type { LogRange } from '../storage/packet-log.ts';
import type { FoundStream } from '../storage/stream-registry.ts';
import type { Faults, Refusal } from './faults.ts';
import type { PipelineOptions } from './options.ts';
import type { Taken } from './pipeline.ts';
import type { Stores } from './stores.ts';
import type { StreamLife } from './stream-life.ts';
import { LOOK_AHEAD_NS, widened } from './stream-table.ts';
import type { OpenStream, Span, StreamTable } from './stream-table.ts';

/** Streams that ended at most this long before the newest packet are searched for values that were never computed. */
const UNFINISHED_HOURS = 1;
const STREAM_ID_MAX = 2_147_483_647;

/** A logged packet. `refused`: why today's decoder refuses it, in which case its text was cleaned; null: it is valid today. */
type OldPacket = Readonly<{ packet: DecodedPacket; refused: Rejected | null }>;
type LoggedPacket = LogEntry & Readonly<{ position: number; packet: OldPacket }>;

export type RecoveryParts = Readonly<{
  options: Pick<PipelineOptions, 'database' | 'derived' | 'metrics' | 'logger'>;
  stores: Stores;
  write: Write;
  streams: StreamTable;
  life: StreamLife;
  faults: Faults;
  limits: AdmissionLimits;
  /** What was taken. */
  range: LogRange;
  /** Passes packets on as after their commit. */
  hand: (taken: readonly Taken[], position: number) => void;
  /** @throws when the start was abandoned */
  mustGoOn: () => void;
}>;

export class Recovery {
  readonly #parts: RecoveryParts;
  readonly #stores: Stores;
  /** Streams looked up so far; null: no such stream. */
  readonly #found = new Map<StreamId, FoundStream | null>();
  readonly #resumePoints = new Map<StreamId, Promise<ResumePoint | null>>();
  readonly #sessions = new Map<StreamId, Session>();

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
    this.#stores = parts.stores;
  }

  /** @returns packets replayed */
  async run(): Promise<number> {
    const { options, streams, mustGoOn } = this.#parts;
    const count = await this.#replayLog();
    for await (const letter of lettersToReplay(options.database.pool)) if (await this.#isOurs(letter)) await this.#replayLetter(letter);
    const unfinished = await unfinishedStreams(options.derived, UNFINISHED_HOURS, mustGoOn);
    await this.#lookUp(unfinished);
    for (const streamId of unfinished) {
      const found = await this.#findStream(streamId);
      if (found !== null && this.#owns(found)) await this.#meet(found);
    }
    for (const stream of streams.values()) this.#startReadingBack(stream);
    return count;
  }

  #owns({ subjectId }: FoundStream): boolean {
    return this.#parts.range.partitions.includes(this.#parts.streams.partitionOf(subjectId));
  }

  /** Whether the stream of a letter is in these partitions. One without a stream is everybody's: it is told again that it cannot be
   *  stored. */
  async #isOurs({ streamId }: LetterToReplay): Promise<boolean> {
    const stream = streamId === null ? null : await this.#findStream(streamId);
    return stream === null || this.#owns(stream);
  }

  // ------------------------------------------------------------------------------------------------ the log

  /** @returns packets replayed */
  async #replayLog(): Promise<number> {
    const { faults, mustGoOn, range } = this.#parts;
    const { log, blocks, rows } = this.#stores;
    let count = 0;
    const entries = log.recover<OldPacket>(
      (entry) => this.#readEntry(entry),
      (damage, at) => this.#setAsideDamage(damage, at),
      (streamIds) => this.#lookUp(streamIds),
      range,
    );
    for await (const entry of entries) {
      mustGoOn();
      const { refused } = entry.packet;
      const refusal = refused === null ? await this.#replay(entry) : { reason: `${refused.code}: ${refused.detail}`, sqlState: null };
      if (refusal === null) count += 1;
      else await faults.setAside([letterOf(entry, entry.position, refusal)]);
      if (blocks.full) await blocks.flush();
      if (rows.full) await rows.flush();
    }
    return count;
  }

  /** Decodes the packet of an entry under the widest limits. @returns null when it is not the packet that the entry's head names */
  #readEntry({ bytes, seq, streamId }: LogEntry): OldPacket | null | Promise<OldPacket | null> {
    const strict = decodePacket(bytes, widestPacketLimits);
    const packet = isRejected(strict) ? decodeOldPacket(bytes) : strict;
    if (isRejected(packet) || packet.seq !== seq) return null;
    const old = { packet, refused: isRejected(strict) ? strict : null };
    const check = (stream: FoundStream | null): OldPacket | null =>
      stream === null || (stream.deviceId === packet.deviceId && stream.bootId === packet.bootId) ? old : null;
    const stream = this.#found.get(streamId);
    return stream === undefined ? this.#findStream(streamId).then(check) : check(stream);
  }

  /** Passes a logged packet on. @returns why it cannot be stored, or null */
  async #replay({ streamId, receivedNs, position, packet: { packet } }: LoggedPacket): Promise<Refusal | null> {
    const { life, limits, hand } = this.#parts;
    const found = await this.#findStream(streamId);
    if (found === null) return null; // erased meanwhile
    let session = this.#sessions.get(streamId);
    if (session === undefined) {
      session = new Session('', packet.deviceId, packet.bootId, packet.subject, { ...found, seqRanges: [], expiring: [], node: '' });
      this.#sessions.set(streamId, session);
    }
    const stream = await this.#meet(found);
    // One session may have named the subject by uuid and the next by external id; the stream's subject was fixed when it was opened.
    const named = { ...packet, subject: session.subjectText };
    let admitted = admitPacket(named, session, limits, receivedNs);
    if (isRejected(admitted) && admitted.code === 'packet_conflict') {
      // The first packet was refused although it reached the log (its commit timed out); the later one is the one acknowledged.
      session.seqs.delete(packet.seq);
      admitted = admitPacket(named, session, limits, receivedNs);
    }
    if (isRejected(admitted)) return { reason: `${admitted.code}: ${admitted.detail}`, sqlState: null };
    if (admitted.kind === 'duplicate') return null;
    try {
      await this.#stores.registry.addChannels(streamId, session.channels.length, admitted.newChannels);
    } catch (error) {
      if (failureOf(error) !== 'bad_row') throw error;
      return reasonOf(error);
    }
    session.apply(admitted);
    if (session.channels.length > stream.channels.length) {
      life.addChannels(stream, session.channels);
      stream.savedCount = session.channels.length;
    }
    hand([{ stream, admitted }], position);
    // Rows from computedNs on are computed again anyway. Rows shortly before it depend on these samples, too: they look ahead.
    const { computedNs } = stream;
    if (admitted.runs.length > 0 && computedNs > 0n && admitted.t0DeviceNs < computedNs + LOOK_AHEAD_NS)
      this.#markLate(stream, { fromNs: admitted.t0DeviceNs, toNs: admitted.endDeviceNs });
    return null;
  }

  async #setAsideDamage({ bytes, at, entry }: Damage, position: number): Promise<void> {
    const refusal = { reason: `no packet can be read at byte ${at} of the batch`, sqlState: null };
    // If the packet itself can be decoded, its head is what is damaged, so the stream is unknown.
    const stream = entry === null || !isRejected(decodeOldPacket(entry.bytes)) ? null : await this.#findStream(entry.streamId);
    const letter =
      entry === null || stream === null
        ? { ...refusal, kind: 'log' as const, streamId: null, logPosition: position, content: { at }, bytes }
        : letterOf(entry, position, refusal);
    await this.#parts.faults.setAside([letter]);
  }

  // ------------------------------------------------------------------------------------------------ letters (rows and packets set aside)

  /** Retries a letter and waits: it is deleted only once its rows are in the tables. */
  async #replayLetter(letter: LetterToReplay): Promise<void> {
    const { write, mustGoOn, options } = this.#parts;
    const refusal = await this.#tryLetter(letter);
    await this.#stores.blocks.flush();
    await this.#stores.rows.flush();
    mustGoOn(); // the flush of an abandoned writer resolves, too
    await write((client) => (refusal === null ? forgetLetter(client, letter.id) : keepLetter(client, letter.id, refusal)));
    options.logger.info({ id: letter.id.toString(), kind: letter.kind, refused: refusal?.reason ?? null }, 'set aside: tried again');
  }

  async #tryLetter(letter: LetterToReplay): Promise<Refusal | null> {
    const { kind, streamId, bytes } = letter;
    const stream = streamId === null ? null : await this.#findStream(streamId);
    if (stream === null) return { reason: 'whose it is is not known: it cannot be stored', sqlState: null };
    const { log, blocks, rows } = this.#stores;
    const position = log.durablePosition;
    try {
      if (kind !== 'packet') {
        await replayRows(letter, stream, { blocks, rows }, position);
        return null;
      }
      const { seq, receivedNs } = letter.content as { seq: number; receivedNs: string };
      const entry = { streamId: stream.streamId, seq, receivedNs: BigInt(receivedNs), bytes: bytes! };
      const packet = await this.#readEntry(entry);
      if (packet === null) return { reason: 'no packet of this stream can be read from its bytes', sqlState: null };
      return await this.#replay({ ...entry, position, packet });
    } catch (error) {
      if (failureOf(error) === 'try_again') throw error;
      return reasonOf(error);
    }
  }

  // ------------------------------------------------------------------------------------------------ streams

  /** Looks up many streams with a few statements. */
  async #lookUp(streamIds: readonly StreamId[]): Promise<void> {
    const asked = streamIds.filter((streamId) => streamId <= STREAM_ID_MAX && !this.#found.has(streamId));
    const found = await this.#stores.registry.findStreams(asked);
    for (const streamId of asked) this.#found.set(streamId, found.get(streamId) ?? null);
    await Promise.all([...found.values()].map((stream) => this.#resumePoint(stream)));
  }

  async #findStream(streamId: StreamId): Promise<FoundStream | null> {
    let stream = this.#found.get(streamId);
    if (stream === undefined) {
      // an id out of range comes from a damaged head
      stream = streamId > STREAM_ID_MAX ? null : await this.#stores.registry.findStream(streamId);
      this.#found.set(streamId, stream);
    }
    return stream;
  }

  #resumePoint(found: FoundStream): Promise<ResumePoint | null> {
    let resume = this.#resumePoints.get(found.streamId);
    if (resume === undefined) {
      resume = this.#parts.life.resumePoint(found);
      this.#resumePoints.set(found.streamId, resume);
    }
    return resume;
  }

  /** Opens a stream for the replay; the feature pool learns of it afterwards. */
  async #meet(found: FoundStream): Promise<OpenStream> {
    const { streams } = this.#parts;
    const known = streams.get(found.streamId);
    if (known !== undefined) return known;
    const resume = await this.#resumePoint(found);
    const stream = streams.enter(found, resume);
    stream.readBack = { channels: resume === null ? null : found.channels, span: resume, late: null };
    return stream;
  }

  #markLate(stream: OpenStream, late: Span): void {
    if (stream.readBack === null) this.#stores.pool.markLate(stream.id, late.fromNs, late.toNs);
    else stream.readBack.late = widened(stream.readBack.late, late);
  }

  /** Passes a replayed stream to the feature pool, which reads its samples back in its turn. */
  #startReadingBack(stream: OpenStream): void {
    const { pool } = this.#stores;
    const { id, readBack, spo2 } = stream;
    if (readBack === null) return;
    stream.readBack = null;
    const { channels, span, late } = readBack;
    pool.openStream(id, channels ?? stream.channels, span ?? undefined, spo2);
    // channels that came with replayed packets affect earlier values, too
    pool.openStream(id, stream.channels, undefined, spo2);
    if (span !== null) this.#parts.options.metrics.recomputes.inc({ reason: 'resume' });
    if (late !== null) pool.markLate(id, late.fromNs, late.toNs);
  }
}

function letterOf({ streamId, seq, receivedNs, bytes }: LogEntry, position: number, refusal: Refusal): Letter {
  return { ...refusal, kind: 'packet', streamId, logPosition: position, content: { seq, receivedNs }, bytes };
}
