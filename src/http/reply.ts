/** Writes a reply to uWebSockets.js: one corked write, HEAD, streams with backpressure. */
import { STATUS_CODES } from 'node:http';
import type { UwsResponse } from './uws.ts';

export type Wire = {
  readonly res: UwsResponse;
  readonly head: boolean;
  /** Set by onAborted; after it `res` must not be touched. */
  aborted: boolean;
  replied: boolean;
};

/** Statuses whose answers have no body. */
function bodiless(status: number): boolean {
  return status === 204 || status === 304;
}

const EMPTY = new Uint8Array(0);
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
): void {
  if (wire.aborted || wire.replied) return;
  wire.replied = true;
  const { res } = wire;
  const length = Buffer.byteLength(body);
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

/** Writes a stream of chunks, waiting while the peer is slow; ends it when the peer goes away. */
export async function writeStream(
  wire: Wire,
  status: number,
  headers: Readonly<Record<string, string>>,
  chunks: AsyncIterable<Uint8Array>,
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
      if (!flowing) await writable(wire);
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

function writable(wire: Wire): Promise<void> {
  return new Promise((resolve) => {
    // no job: it ends with the answer that it belongs to
    const poll = setInterval(() => wire.aborted && done(), 250);
    const done = (): void => {
      clearInterval(poll);
      resolve();
    };
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
