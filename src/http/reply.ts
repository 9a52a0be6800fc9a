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

/** Writes status, headers and body at once. Does nothing when the peer is gone or was answered. */
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
  res.cork(() => {
    writeHead(res, status, headers);
    if (wire.head) res.endWithoutBody(Buffer.byteLength(body), close);
    else if (bodiless(status)) res.endWithoutBody(undefined, close);
    else res.end(body, close);
  });
}

/** Writes a stream of chunks, waiting while the peer is slow; ends it when the peer goes away. */
export async function writeStream(
  wire: Wire,
  status: number,
  headers: Readonly<Record<string, string>>,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  if (wire.aborted || wire.replied) return;
  wire.replied = true;
  const { res } = wire;
  res.cork(() => {
    writeHead(res, status, headers);
  });
  if (wire.head) {
    res.cork(() => void res.endWithoutBody());
    return;
  }
  try {
    for await (const chunk of chunks) {
      if (wire.aborted) return;
      let flowing = true;
      res.cork(() => void (flowing = res.write(chunk)));
      if (!flowing) await writable(wire);
    }
    if (!wire.aborted) res.cork(() => void res.end());
  } catch (error) {
    // The status is sent already: cutting the connection is the only way left to say that the answer is not whole.
    if (!wire.aborted) res.close();
    throw error;
  }
}

function writable(wire: Wire): Promise<void> {
  return new Promise((resolve) => {
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
