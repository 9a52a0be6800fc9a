/** Reads a request body with a bound in bytes and a deadline, and gives the loop back between chunks of a fast sender. */
import { promisify } from 'node:util';
import { gunzip, gunzipSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import { PipelineError } from '../errors.ts';
import type { UwsResponse } from './uws.ts';

const EMPTY = new Uint8Array(0);
/** Budget of one peer per turn, bytes. */
const TURN_BYTES = 1024 * 1024;
/** The library drops a connection 10 s after it began to wait, unless 160 KiB came; going on after a pause begins anew, ms. */
const PATIENCE_MS = 4000;

export type BodyLimits = Readonly<{ bytesMax: number; timeoutMs: number }>;

/** Collects the body. The caller sets `onAborted`, which calls `aborted`.
 *  A declared length larger than the limit is refused before the first byte. */
export function readBody(
  res: UwsResponse,
  declared: number | 'chunked',
  limits: BodyLimits,
  aborted: { readonly now: boolean; listen: (visit: () => void) => void },
): Promise<Uint8Array> {
  if (declared === 0) return Promise.resolve(EMPTY);
  const { bytesMax, timeoutMs } = limits;
  return new Promise((resolve, reject) => {
    const tooLarge = (): PipelineError => new PipelineError('payload_too_large', `The body is larger than ${bytesMax} bytes.`);
    if (declared !== 'chunked' && declared > bytesMax) {
      reject(tooLarge());
      return;
    }
    let parts: Uint8Array[] = [];
    let size = 0;
    let turnBytes = 0;
    let settled = false;
    const settle = (): void => {
      settled = true;
      parts = [];
      awaited.delete(wait);
    };
    const wait: Wait = {
      deadlineMs: performance.now() + timeoutMs,
      patientUntilMs: performance.now() + PATIENCE_MS,
      renew: () => {
        if (aborted.now) return;
        res.pause();
        res.resume();
      },
      expire: () => {
        const got = size;
        settle();
        reject(new PipelineError('request_timeout', `The body did not arrive within ${timeoutMs} ms (${got} bytes did).`));
      },
    };
    expect(wait);
    aborted.listen(() => {
      if (settled) return;
      settle();
      reject(new PipelineError('bad_request', 'The peer went away.'));
    });
    res.onData((chunk, isLast) => {
      if (settled) return;
      if (aborted.now) {
        settle(); // answered early: uWS reads the rest for us
        return;
      }
      size += chunk.byteLength;
      if (size > bytesMax) {
        settle();
        reject(tooLarge());
        return;
      }
      if (isLast && parts.length === 0) {
        const whole = copy(chunk);
        settle();
        resolve(whole);
        return;
      }
      parts.push(copy(chunk));
      if (isLast) {
        const whole = Buffer.concat(parts, size);
        settle();
        resolve(new Uint8Array(whole.buffer, whole.byteOffset, whole.byteLength));
        return;
      }
      turnBytes += chunk.byteLength;
      if (turnBytes > TURN_BYTES) {
        turnBytes = 0;
        res.pause();
        setImmediate(() => {
          if (!aborted.now && !settled) res.resume();
        });
      }
    });
  });
}

/** Copies a chunk, because uWS reuses its buffer after onData. Pooled: an ArrayBuffer per request would burden the collector. */
function copy(chunk: ArrayBuffer): Uint8Array {
  const pooled = Buffer.allocUnsafe(chunk.byteLength);
  pooled.set(new Uint8Array(chunk));
  return new Uint8Array(pooled.buffer, pooled.byteOffset, pooled.byteLength);
}

type Wait = Readonly<{ deadlineMs: number; expire: () => void; renew: () => void }> & { patientUntilMs: number };

/** Bodies still arriving. One timer for all: most come with their headers, and a timer each costs more than copying them. */
const awaited = new Set<Wait>();
const SWEEP_MS = 50;
let sweep: NodeJS.Timeout | null = null;

function expect(wait: Wait): void {
  awaited.add(wait);
  // job: late-bodies: ends requests whose body does not arrive in time
  sweep ??= setInterval(() => {
    const nowMs = performance.now();
    for (const item of awaited) {
      if (item.deadlineMs <= nowMs) item.expire();
      else if (item.patientUntilMs <= nowMs) {
        item.patientUntilMs = nowMs + PATIENCE_MS;
        item.renew();
      }
    }
    if (awaited.size > 0 || sweep === null) return;
    clearInterval(sweep);
    sweep = null;
  }, SWEEP_MS);
}

const gunzipLater = promisify(gunzip);
const unzstdLater = promisify(zstdDecompress);
/** Compressed bytes below which the hand-over to the thread pool costs more than the work. */
const SYNC_BYTES = 4096;

/** Decodes a Content-Encoding with the limit counted after decompression.
 *  @throws PipelineError payload_too_large, unsupported_media_type, bad_request (corrupt) */
export async function decodeBody(bytes: Uint8Array, encoding: string, bytesMax: number): Promise<Uint8Array> {
  const options = { maxOutputLength: bytesMax };
  try {
    switch (encoding.toLowerCase()) {
      case '':
      case 'identity':
        return bytes;
      case 'gzip':
        return bytes.length < SYNC_BYTES ? gunzipSync(bytes, options) : await gunzipLater(bytes, options);
      case 'zstd':
        return bytes.length < SYNC_BYTES ? zstdDecompressSync(bytes, options) : await unzstdLater(bytes, options);
      default:
        throw new PipelineError('unsupported_media_type', `Content-Encoding must be gzip, zstd or identity, not ${encoding.slice(0, 32)}.`);
    }
  } catch (error) {
    if (error instanceof PipelineError) throw error;
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
      throw new PipelineError('payload_too_large', `The body is larger than ${bytesMax} bytes after decompression.`, { cause: error });
    }
    throw new PipelineError('bad_request', `The body is not valid ${encoding.slice(0, 32)}.`, { cause: error });
  }
}
