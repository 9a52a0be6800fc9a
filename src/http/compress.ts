/** gzip and brotli for JSON and text answers. */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const gzipLater = promisify(gzip);
const brotliLater = promisify(brotliCompress);

/** Bytes below which an answer is sent uncompressed: headers and a thread hand-over would cost more than they save. */
export const COMPRESS_BYTES_MIN = 2048;

export type Coding = 'br' | 'gzip';

/** Picks the coding from Accept-Encoding; null when the client takes neither. q=0 refuses. */
export function pickCoding(acceptEncoding: string): Coding | null {
  if (acceptEncoding === '') return null;
  let gzipTaken = false;
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name, ...parameters] = part.split(';').map((item) => item.trim());
    if (parameters.some((item) => /^q=0(\.0*)?$/.test(item))) continue;
    if (name === 'br') return 'br';
    if (name === 'gzip') gzipTaken = true;
  }
  return gzipTaken ? 'gzip' : null;
}

/** Compresses on the thread pool. Brotli at quality 4: about gzip's time, a tenth fewer bytes. */
export function compress(bytes: Uint8Array, coding: Coding): Promise<Uint8Array> {
  if (coding === 'gzip') return gzipLater(bytes, { level: 5 });
  return brotliLater(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  });
}
