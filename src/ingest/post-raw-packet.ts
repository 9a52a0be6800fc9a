/** POST /ingest/raw-packet: one packet or a length-delimited batch; answered when everything accepted is durable. */
import { Type } from 'typebox';
import type { ErrorCode, Rejected } from '../errors.ts';
import { errorTable, isRejected, knownError, PipelineError, rejected } from '../errors.ts';
import { decodeBody } from '../http/body.ts';
import { defineRoute } from '../http/route.ts';
import type { RequestContext, Route, WrittenReply } from '../http/route.ts';
import type { DecodedPacket } from '../proto/packet.ts';
import { splitBatch } from '../proto/packet-decode.ts';
import type { IngestReply, Rejection } from '../proto/reply-codec.ts';
import { encodeReply } from '../proto/reply-codec.ts';
import { checkAlone } from './admit.ts';
import { Commit } from './commit.ts';
import type { Ingest, Sender } from './ingest.ts';
import { unixNowNs } from './ingest.ts';
import type { Session } from './session.ts';

const TYPES = ['application/x-protobuf', 'application/protobuf'];
/** Maximum number of packets in a batch. */
const BATCH_PACKETS_MAX = 16_384;
/** Packets of a batch whose streams are opened together: as many as one statement takes. After each such stretch a batch looks whether
 *  its client is still there. */
const STRETCH_PACKETS = 256;
/** Time after which a long batch yields the event loop, ms. */
const TURN_MS = 5;
/** Time that a batch waits in all for a database or nodes that turn out to be away, ms: beyond it, packets that need them are refused. */
const AWAY_MS_MAX = 10_000;
const RETRY_AFTER_SEC = 1;

const replySchema = Type.Object({
  accepted: Type.Integer({ description: 'Packets that this request made durable.' }),
  duplicates: Type.Integer({ description: 'Packets that were durable before.' }),
  unverified: Type.Integer({
    description: 'Of the duplicates, those that were stored so long ago that their content could not be compared any more.',
  }),
  rejected: Type.Array(
    Type.Object({
      index: Type.Integer({ description: 'Position in the batch, 0-based.' }),
      code: Type.String(),
      detail: Type.String(),
    }),
    { description: 'Packets that were not kept. Send again those whose code may be retried.' },
  ),
  high_seq: Type.Integer({ description: 'Highest durable sequence number in the stream of the last packet.' }),
  server_time_ns: Type.Integer({ description: 'Unix ns.' }),
  notices: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Sentences for a person, with the first packet of a boot: the clock of the device was not believed, or retention will delete what it sends.',
    }),
  ),
});

export function postRawPacket(ingest: Ingest): Route {
  return defineRoute({
    method: 'POST',
    path: '/ingest/raw-packet',
    operationId: 'postRawPacket',
    tag: 'ingest',
    summary: 'Send packets of a device',
    description:
      'The body is one Packet of proto/biosignal.proto, or, with `Content-Type: application/x-protobuf; encoding=delimited`, packets with ' +
      'a varint length before each. `Content-Encoding: gzip` and `zstd` are understood. The answer comes after the packets are durable: ' +
      'JSON, or an IngestReply with `Accept: application/x-protobuf`. A packet sent again is counted in `duplicates` and stored once.',
    access: { key: 'ingest', userToken: 'own' },
    limit: 'ingest',
    body: 'binary',
    bodyTypes: TYPES,
    bodyBytesMax: ingest.config.batchBytesMax,
    responses: { 202: { description: 'Durable, or listed in `rejected`.', schema: replySchema } },
    errors: [
      'not_acceptable',
      ...(['packet_malformed', 'packet_too_large', 'packet_schema_version', 'packet_invalid', 'packet_clock'] as const),
      ...(['packet_conflict', 'channel_limit', 'not_found', 'busy', 'unavailable', 'unsupported_media_type'] as const),
    ],
    handler: (request) => handle(ingest, request),
  });
}

async function handle(ingest: Ingest, request: RequestContext<object, object, Uint8Array>): Promise<WrittenReply<202>> {
  const receivedMs = performance.now();
  const raw = request.body;
  const delimited = isDelimited(request.header('content-type'));
  const bytesMax = delimited ? ingest.config.batchBytesMax : ingest.config.packetBytesMax;
  const encoding = request.header('content-encoding');
  const body = encoding === '' ? raw : await decodeBody(raw, encoding, bytesMax);
  const asProtobuf = acceptsProtobuf(request.header('accept'));
  const reply = delimited ? await takeBatch(ingest, request, body) : await takeOne(ingest, request, body);
  ingest.observeAck((performance.now() - receivedMs) / 1000);
  if (asProtobuf) return { status: 202, bytes: encodeReply(reply), contentType: 'application/x-protobuf' };
  return { status: 202, text: writeIngestReply(reply), contentType: 'application/json' };
}

/** Hot path, so built by hand: JSON.stringify calls back for its bigint. */
function writeIngestReply(reply: IngestReply): string {
  const { accepted, duplicates, unverified, rejected: rejections, highSeq, serverTimeNs, notices } = reply;
  const listed = rejections.length === 0 ? '[]' : JSON.stringify(rejections);
  const counts = `"accepted":${accepted},"duplicates":${duplicates},"unverified":${unverified}`;
  const told = notices.length === 0 ? '' : `,"notices":${JSON.stringify(notices)}`;
  return `{${counts},"rejected":${listed},"high_seq":${highSeq},"server_time_ns":${serverTimeNs}${told}}`;
}

function isDelimited(contentType: string): boolean {
  if (!contentType.includes(';')) return false;
  for (const parameter of contentType.split(';').slice(1)) {
    const [name, value] = parameter.split('=').map((part) => part.trim().toLowerCase());
    if (name !== 'encoding') continue;
    if (value === 'delimited' || value === '"delimited"') return true;
    throw new PipelineError('unsupported_media_type', `Content-Type encoding must be delimited, not ${value?.slice(0, 32) ?? 'empty'}.`);
  }
  return false;
}

function acceptsProtobuf(accept: string): boolean {
  if (accept === '' || accept === '*/*') return false;
  const types = accept
    .toLowerCase()
    .split(',')
    .map((item) => item.split(';')[0]!.trim());
  if (types.includes('application/json') || types.includes('*/*')) return false;
  if (types.some((type) => TYPES.includes(type))) return true;
  if (types.includes('application/*')) return false;
  throw new PipelineError('not_acceptable', 'The reply is application/json or application/x-protobuf.');
}

/** Takes one packet; its rejection decides the status of the answer. */
async function takeOne(ingest: Ingest, sender: Sender, body: Uint8Array): Promise<IngestReply> {
  const receivedNs = unixNowNs();
  const packet = ingest.decode(body);
  if (isRejected(packet)) throw failure(packet);
  const found = ingest.find(sender.caller, packet, receivedNs);
  const session = found instanceof Promise ? await found : found;
  if (isRejected(session)) {
    ingest.countRejected(session);
    throw failure(session);
  }
  const offered = ingest.offer(session, packet, body, receivedNs, sender);
  if (offered === 'recall') {
    await ingest.recall(session, packet.seq);
    return await takeOne(ingest, sender, body);
  }
  if (offered === 'busy') throw failure(rejected('busy', 'The queues are full.'));
  if (isRejected(offered)) throw failure(offered);
  const accepted = offered instanceof Commit;
  const commit = accepted ? offered : offered.commit;
  if (commit !== null) await settle(ingest, commit);
  const refusal = commit?.refusalOf(session, packet.seq) ?? null;
  if (refusal !== null) throw failure(refusal);
  const notices = session.takeNotices();
  if (accepted && !offered.isRepeat(session, packet.seq))
    return replyOf({ accepted: 1, duplicates: 0, unverified: 0 }, [], session.durableHigh, notices);
  const unverified = !accepted && offered.unverified ? 1 : 0;
  return replyOf({ accepted: 0, duplicates: 1, unverified }, [], session.durableHigh, notices);
}

type BatchRequest = Sender & Pick<RequestContext, 'signal'>;

/** Lets others have the event loop during a long batch. */
class Turns {
  #startMs = performance.now();

  isOver(): boolean {
    return performance.now() - this.#startMs > TURN_MS;
  }

  async next(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#startMs = performance.now();
  }
}

/** Why the rest of a batch is not taken; null: it is. */
function whyEnded(ingest: Ingest, { signal }: BatchRequest): Rejected | null {
  if (ingest.stopping) return rejected('busy', 'The service is stopping.');
  return signal.aborted ? rejected('busy', 'The request was given up.') : null;
}

/** Why streams were not opened, by openingOf. */
type Refusals = ReadonlyMap<string, Rejected>;
type Stretch = Readonly<{ packets: readonly (DecodedPacket | Rejected)[]; refusals: Refusals }>;

/** What was away in a batch, its database or nodes of its people: no stream waits for them twice, and all together not for long. */
class Away {
  /** By openingOf. */
  readonly #refusals = new Map<string, Rejected>();
  #waitedMs = 0;

  refusalOf(packet: DecodedPacket): Rejected | undefined {
    return this.#refusals.size === 0 ? undefined : this.#refusals.get(openingOf(packet));
  }

  /** Why nothing more is waited for; null: it is. */
  whyEnough(): Rejected | null {
    return this.#waitedMs < AWAY_MS_MAX
      ? null
      : rejected('unavailable', 'Its batch has waited long enough for what is away. Send it again.');
  }

  /** @returns what was asked for a packet, or why it is refused */
  async waitFor<T extends object>(packet: DecodedPacket, asked: Promise<T>): Promise<T | Rejected> {
    const sinceMs = performance.now();
    return await asked.catch((error: unknown) => {
      const refusal = refusalBy(error);
      this.#waitedMs += performance.now() - sinceMs;
      this.#refusals.set(openingOf(packet), refusal);
      return refusal;
    });
  }
}

/** What decides whether the stream of a sound packet may be opened: one opening answers for all packets that are alike in it. */
function openingOf({ deviceId, bootId, subject, firmware, recordedUnixNs }: DecodedPacket): string {
  return JSON.stringify([deviceId, bootId, subject, firmware, recordedUnixNs === undefined]);
}

function refusalOf({ refusals }: Stretch, away: Away, packet: DecodedPacket): Rejected | undefined {
  return (refusals.size === 0 ? undefined : refusals.get(openingOf(packet))) ?? away.refusalOf(packet);
}

/** Decodes consecutive packets of a batch and opens those of their streams that are not open yet, all at once. */
async function openStretch(
  ingest: Ingest,
  sender: Sender,
  parts: readonly Uint8Array[],
  receivedNs: bigint,
  turns: Turns,
  away: Away,
): Promise<Stretch> {
  const packets: (DecodedPacket | Rejected)[] = [];
  const openings = new Map<string, Readonly<{ first: DecodedPacket; opened: Promise<Session | Rejected> }>>();
  let known: DecodedPacket | null = null;
  for (const bytes of parts) {
    if (turns.isOver()) await turns.next();
    const packet = ingest.decode(bytes);
    packets.push(packet);
    // Most batches are of one device.
    if (isRejected(packet) || (packet.deviceId === known?.deviceId && packet.bootId === known.bootId)) continue;
    const stream = `${packet.bootId}/${packet.deviceId}`;
    if (openings.has(stream) || checkAlone(packet, ingest.admissionLimits) !== null || away.refusalOf(packet) !== undefined) continue;
    if (away.whyEnough() !== null && !ingest.sessions.isOpen(sender.caller, packet)) continue;
    const found = ingest.find(sender.caller, packet, receivedNs);
    if (!(found instanceof Promise)) {
      known = packet;
      continue;
    }
    found.catch(() => undefined); // awaited below, perhaps turns later
    openings.set(stream, { first: packet, opened: found });
  }
  const refusals = new Map<string, Rejected>();
  for (const { first, opened } of openings.values()) {
    const session = await away.waitFor(first, opened);
    // Its time is about the packet itself: another one of the same boot may begin the stream.
    if (isRejected(session) && session.code !== 'packet_clock') refusals.set(openingOf(first), session);
  }
  return { packets, refusals };
}

/** Of one packet, as another's may be kept. */
function refusalBy(error: unknown): Rejected {
  const { code, message } = knownError(error);
  if (code === 'internal' || !errorTable[code].retry) throw error;
  return rejected(code, message);
}

/** Takes a batch: a framing error rejects all of it, packets are accepted or rejected individually. */
async function takeBatch(ingest: Ingest, request: BatchRequest, body: Uint8Array): Promise<IngestReply> {
  const receivedNs = unixNowNs();
  const parts = splitBatch(body, ingest.packetLimits.packetBytesMax, BATCH_PACKETS_MAX);
  if (isRejected(parts)) throw failure(parts);
  const rejections: Rejection[] = [];
  const waits = new Map<Commit, number[]>();
  const taken: Readonly<{ session: Session; seq: number }>[] = [];
  let accepted = 0;
  let duplicates = 0;
  let unverified = 0;
  let last: Session | null = null;
  const notices: string[] = [];
  const turns = new Turns();
  let stretch: Stretch = { packets: [], refusals: new Map() };
  const away = new Away();
  for (let index = 0; index < parts.length; index++) {
    if (index % STRETCH_PACKETS === 0) {
      const ended = index === 0 ? null : whyEnded(ingest, request);
      if (ended !== null) {
        for (let left = index; left < parts.length; left++) rejections.push({ index: left, code: ended.code, detail: ended.detail });
        break;
      }
      stretch = await openStretch(ingest, request, parts.slice(index, index + STRETCH_PACKETS), receivedNs, turns, away);
    }
    if (turns.isOver()) await turns.next();
    const packet = stretch.packets[index % STRETCH_PACKETS]!;
    const refused = isRejected(packet) ? undefined : refusalOf(stretch, away, packet);
    if (refused !== undefined) ingest.countRejected(refused);
    const offered = isRejected(packet) ? packet : (refused ?? (await offerOne(ingest, request, packet, parts[index]!, receivedNs, away)));
    if (isRejected(offered)) {
      rejections.push({ index, code: offered.code, detail: offered.detail });
      continue;
    }
    last = offered.session;
    taken[index] = offered;
    if (last.notices.length > 0) notices.push(...last.takeNotices());
    if (offered.accepted) accepted++;
    else duplicates++;
    if (offered.unverified) unverified++;
    if (offered.commit === null) continue;
    const waiting = waits.get(offered.commit);
    // Negative: an accepted packet; otherwise a duplicate of one that is not durable yet.
    const entry = offered.accepted ? -1 - index : index;
    if (waiting === undefined) waits.set(offered.commit, [entry]);
    else waiting.push(entry);
  }
  let failed: PipelineError | null = null;
  for (const [commit, entries] of waits) {
    try {
      await settle(ingest, commit);
      for (const entry of entries) {
        const index = entry < 0 ? -1 - entry : entry;
        const { session, seq } = taken[index]!;
        const refusal = commit.refusalOf(session, seq);
        const isRepeat = refusal === null && entry < 0 && commit.isRepeat(session, seq);
        if (refusal === null && !isRepeat) continue;
        if (entry < 0) accepted--;
        else duplicates--;
        if (isRepeat) duplicates++;
        if (refusal !== null) rejections.push({ index, code: refusal.code, detail: refusal.detail });
      }
    } catch (error) {
      if (!(error instanceof PipelineError)) throw error;
      failed = error;
      for (const entry of entries) {
        const index = entry < 0 ? -1 - entry : entry;
        if (entry < 0) accepted--;
        else duplicates--;
        rejections.push({ index, code: error.code, detail: error.message });
      }
    }
  }
  // Nothing was kept and everything may be retried: say so in the status, for clients that check nothing else.
  if (accepted + duplicates === 0 && rejections.length > 0) {
    if (failed !== null) throw failed;
    const first = rejections[0]!;
    if (rejections.every((item) => errorTable[item.code as ErrorCode].retry))
      throw failure(rejected(first.code as ErrorCode, first.detail));
  }
  rejections.sort((a, b) => a.index - b.index);
  return replyOf({ accepted, duplicates, unverified }, rejections, last?.durableHigh ?? 0, notices);
}

type OfferedPacket = Readonly<{ session: Session; seq: number; accepted: boolean; unverified: boolean; commit: Commit | null }>;

async function offerOne(
  ingest: Ingest,
  sender: Sender,
  packet: DecodedPacket,
  bytes: Uint8Array,
  receivedNs: bigint,
  away: Away,
): Promise<OfferedPacket | Rejected> {
  const enough = away.whyEnough();
  if (enough !== null && !ingest.sessions.isOpen(sender.caller, packet)) return enough;
  const found = ingest.find(sender.caller, packet, receivedNs);
  const session = found instanceof Promise ? await away.waitFor(packet, found) : found;
  if (isRejected(session)) {
    ingest.countRejected(session);
    return session;
  }
  const offered = ingest.offer(session, packet, bytes, receivedNs, sender);
  if (offered === 'recall') {
    if (enough !== null) return enough;
    const recalled = await away.waitFor(
      packet,
      ingest.recall(session, packet.seq).then(() => session),
    );
    if (isRejected(recalled)) return recalled;
    return await offerOne(ingest, sender, packet, bytes, receivedNs, away);
  }
  if (offered === 'busy') return rejected('busy', 'The queues are full.');
  if (isRejected(offered)) return offered;
  if (offered instanceof Commit) return { session, seq: packet.seq, accepted: true, unverified: false, commit: offered };
  return { session, seq: packet.seq, accepted: false, unverified: offered.unverified, commit: offered.commit };
}

async function settle(ingest: Ingest, commit: Commit): Promise<void> {
  ingest.hurry(commit);
  try {
    await commit.durable;
  } catch (error) {
    if (error instanceof PipelineError) throw error;
    throw new PipelineError('unavailable', 'The packets could not be stored.', { cause: error, retryAfterSec: RETRY_AFTER_SEC });
  }
}

type Counts = Pick<IngestReply, 'accepted' | 'duplicates' | 'unverified'>;

function replyOf(counts: Counts, rejections: readonly Rejection[], highSeq: number, notices: readonly string[]): IngestReply {
  const { accepted, duplicates, unverified } = counts;
  return {
    accepted,
    duplicates,
    unverified,
    rejected: rejections,
    highSeq,
    serverTimeNs: unixNowNs(),
    settled: 0,
    window: 0,
    notices,
    nodeUrl: '',
  };
}

function failure(why: Rejected): PipelineError {
  const { code, detail } = why;
  return new PipelineError(code, detail, errorTable[code].retry ? { retryAfterSec: RETRY_AFTER_SEC } : {});
}
