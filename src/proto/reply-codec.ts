/** Answers to packets, as protocol buffers: the body of a 202 and the messages of /ingest/stream. No node imports. */
import { WireReader } from './wire-reader.ts';
import { WireWriter } from './wire-writer.ts';

export type Rejection = Readonly<{
  /** Position in the batch, or number of the message on this socket; 0-based. */
  index: number;
  /** A code of the error table. */
  code: string;
  detail: string;
}>;

export type IngestReply = Readonly<{
  accepted: number;
  duplicates: number;
  /** Of the duplicates, those whose content could not be compared any more. */
  unverified: number;
  rejected: readonly Rejection[];
  /** Highest durable sequence number in the stream of the last settled packet; 0 when there is none. */
  highSeq: number;
  /** Unix ns. */
  serverTimeNs: bigint;
  /** Sockets only: messages 0 .. settled-1 need not be sent again. */
  settled: number;
  /** Sockets only: unsettled messages that the service takes. */
  window: number;
  /** Sentences for a person: where a stream that was opened lies in time, when that is not where its packets say. */
  notices: readonly string[];
  /** Sockets only: base URL of the node that stores what this socket sends; '': this one, or the service does not say. */
  nodeUrl: string;
}>;

const writer = new WireWriter(4096);

export function encodeReply(reply: IngestReply): Uint8Array<ArrayBuffer> {
  const w = writer;
  w.reset();
  if (reply.accepted !== 0) w.uint(0x08, reply.accepted);
  if (reply.duplicates !== 0) w.uint(0x10, reply.duplicates);
  for (const item of reply.rejected) {
    const at = w.open(0x1a);
    if (item.index !== 0) w.uint(0x08, item.index);
    w.text(0x12, item.code);
    w.text(0x1a, item.detail);
    w.close(at);
  }
  if (reply.highSeq !== 0) w.uint(0x20, reply.highSeq);
  w.fixed64(0x29, reply.serverTimeNs);
  if (reply.settled !== 0) w.uint(0x30, reply.settled);
  if (reply.window !== 0) w.uint(0x38, reply.window);
  if (reply.unverified !== 0) w.uint(0x40, reply.unverified);
  for (const notice of reply.notices) w.text(0x4a, notice);
  if (reply.nodeUrl !== '') w.text(0x52, reply.nodeUrl);
  return w.take();
}

/** @throws WireFault for bytes that are no reply */
export function decodeReply(bytes: Uint8Array): IngestReply {
  const r = new WireReader(bytes);
  let accepted = 0;
  let duplicates = 0;
  let unverified = 0;
  const rejectedItems: Rejection[] = [];
  let highSeq = 0;
  let serverTimeNs = 0n;
  let settled = 0;
  let window = 0;
  const notices: string[] = [];
  let nodeUrl = '';
  for (let tag = r.tag(); tag !== 0; tag = r.tag()) {
    switch (tag) {
      case 0x08:
        accepted = r.uint();
        break;
      case 0x10:
        duplicates = r.uint();
        break;
      case 0x1a:
        rejectedItems.push(readRejection(r.message()));
        break;
      case 0x20:
        highSeq = r.uint();
        break;
      case 0x29:
        serverTimeNs = r.fixed64();
        break;
      case 0x30:
        settled = r.uint();
        break;
      case 0x38:
        window = r.uint();
        break;
      case 0x40:
        unverified = r.uint();
        break;
      case 0x4a:
        notices.push(r.text());
        break;
      case 0x52:
        nodeUrl = r.text();
        break;
      default:
        r.skip(tag);
    }
  }
  return { accepted, duplicates, unverified, rejected: rejectedItems, highSeq, serverTimeNs, settled, window, notices, nodeUrl };
}

function readRejection(r: WireReader): Rejection {
  let index = 0;
  let code = '';
  let detail = '';
  for (let tag = r.tag(); tag !== 0; tag = r.tag()) {
    if (tag === 0x08) index = r.uint();
    else if (tag === 0x12) code = r.text();
    else if (tag === 0x1a) detail = r.text();
    else r.skip(tag);
  }
  return { index, code, detail };
}
