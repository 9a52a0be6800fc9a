/** Writes a reply to uWebSockets.js: one corked write, HEAD, streams with backpressure. */
import { STATUS_CODES } from 'node:http';
import { STREAM_BYTES } from './unsent.ts';
import type { Unsent } from './unsent.ts';
import type { UwsResponse } from './uws.ts';

export type Wire = {
  readonly res: UwsResponse;
  readonly head: boolean;
  /** Set by onAborted; after it `res` must not be touched. */
  aborted: boolean;
  replied: boolean;
  /** Called by onAborted while an answer waits for the peer to read. */
  gone?: (() => void) | undefined;
};

/** Where a long answer waits for its peer, and under whose name. */
export type Place = Readonly<{ unsent: Unsent; caller: string }>;

/** Statuses whose answers have no body. */
function bodiless(status: number): boolean {
  return status === 204 || status === 304;
}

const EMPTY = new Uint8Array(0);
/** Answers from this length on wait here for a slow peer, not in the library, which copies them and says nothing of it. */
const LONG_BYTES = 64 * 1024;
/** Time budget of one stream per turn of the event loop, ms. */
const STREAM_TURN_MS = 5;

/** Writes status, headers and body at once. Does nothing when the peer is gone or was answered.
 *  An answer without a body must not go through `endWithoutBody` with a number: uWebSockets.js 20.51 then waits for that many bytes, so
 *  that the request stays pending and the next one on the connection is cut off. Without an argument it writes no Content-Length and is
 *  done.
 *  @param close ends the connection after the answer; not for statuses without a body, which the library cannot close */
export function writeReply(
  wire: Wire,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | string,
  close: boolean,
  place: Place | null = null,
): void {
  if (wire.aborted || wire.replied) return;
  wire.replied = true;
  const { res } = wire;
  const length = Buffer.byteLength(body);
  if (place !== null && length >= LONG_BYTES && !wire.head && !close && !bodiless(status)) {
    writeLong(wire, status, headers, typeof body === 'string' ? Buffer.from(body) : body, place);
    return;
  }
  const cut = wire.head && close && length > 0 && !bodiless(status);
  res.cork(() => {
    writeHead(res, status, headers);
    if (bodiless(status)) res.endWithoutBody();
    else if (!wire.head || length === 0) res.end(body, close);
    else if (cut) res.writeHeader('connection', 'close').tryEnd(EMPTY, length);
    else res.writeHeader('content-length', String(length)).endWithoutBody();
  });
  // Not at once: what is corked goes out when the callback of the library ends.
  if (cut) setImmediate(() => void (wire.aborted || res.close()));
}

/** Writes what the peer takes at once, and the rest as it reads on. */
function writeLong(wire: Wire, status: number, headers: Readonly<Record<string, string>>, body: Uint8Array, place: Place): void {
  const { res } = wire;
  let done = false;
  res.cork(() => {
    writeHead(res, status, headers);
    [, done] = res.tryEnd(body, body.length);
  });
  if (done || wire.aborted) return;
  const ended = wait(wire, body.length, place);
  if (wire.aborted) return; // it was itself the one too many
  res.onWritable((offset) => {
    let taken = true;
    res.cork(() => void ([taken, done] = res.tryEnd(body.subarray(offset), body.length)));
    if (done) ended();
    return taken;
  });
}

/** Counts an answer that waits for its peer, and closes its connection when it is one too many.  @returns to be called when it goes on */
function wait(wire: Wire, bytes: number, { unsent, caller }: Place): () => void {
  const cut = (): void => void (wire.aborted || wire.res.close());
  const ended = unsent.add(caller, { bytes, cut });
  wire.gone = ended;
  return ended;
}

/** Writes a stream of chunks, waiting while the peer is slow; ends it when the peer goes away. */
export async function writeStream(
  wire: Wire,
  status: number,
  headers: Readonly<Record<string, string>>,
  chunks: AsyncIterable<Uint8Array>,
  place: Place,
): Promise<void> {
  if (wire.aborted || wire.replied || wire.head) await chunks[Symbol.asyncIterator]().return?.(); // releases what it holds
  if (wire.aborted || wire.replied) return;
  wire.replied = true;
  const { res } = wire;
  res.cork(() => {
    writeHead(res, status, headers);
    if (wire.head) res.endWithoutBody();
  });
  if (wire.head) return;
  try {
    let turnMs = performance.now();
    for await (const chunk of chunks) {
      if (wire.aborted) return;
      let flowing = true;
      res.cork(() => void (flowing = res.write(chunk)));
      if (!flowing) await writable(wire, place);
      else if (performance.now() - turnMs < STREAM_TURN_MS) continue;
      else await new Promise((resolve) => setImmediate(resolve)); // chunks that are there at once would keep the event loop
      turnMs = performance.now();
    }
    if (!wire.aborted) res.cork(() => void res.end());
  } catch (error) {
    // The status is already sent, so cutting the connection is the only way left to show that the answer is incomplete.
    if (!wire.aborted) res.close();
    throw error;
  }
}

function writable(wire: Wire, place: Place): Promise<void> {
  return new Promise((resolve) => {
    const ended = wait(wire, STREAM_BYTES, place);
    const done = (): void => {
      ended();
      resolve();
    };
    wire.gone = done;
    if (wire.aborted) done();
    else
      wire.res.onWritable(() => {
        done();
        return true;
      });
  });
}

const statusLines = new Map<number, string>();

function statusLine(status: number): string {
  let line = statusLines.get(status);
  if (line === undefined) statusLines.set(status, (line = `${status} ${STATUS_CODES[status] ?? 'Unknown'}`));
  return line;
}

function writeHead(res: UwsResponse, status: number, headers: Readonly<Record<string, string>>): void {
  res.writeStatus(statusLine(status));
  for (const name in headers) {
    const value = headers[name] ?? '';
    // The one header that may not be joined by a comma: its values come on lines of their own.
    if (name === 'set-cookie') for (const cookie of value.split('\n')) res.writeHeader(name, cookie);
    else res.writeHeader(name, value);
  }
}
