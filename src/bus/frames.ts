/** Messages on a socket: their length, type, number and kind, then the body. All numbers big-endian. */

/** 4 bytes of length (of all that follows), 1 of type, 4 of number, 1 of the kind's length. */
const HEAD = 10;
export const frameTypes = ['hello', 'ask', 'answer', 'failure', 'note'] as const;
export type FrameType = (typeof frameTypes)[number];
export type Frame = Readonly<{ type: FrameType; id: number; kind: string; body: Buffer }>;

/** A body from this size on is not copied, bytes: a copy has memory of its own from half of Node's pool on. */
const LARGE_BODY = 4096;

/** @returns the pieces of the frame; a large body is one of them, and belongs to the socket from now on */
export function encodeFrame(type: FrameType, id: number, kind: string, body: Uint8Array): readonly Uint8Array[] {
  const isLarge = body.length >= LARGE_BODY;
  const bodyAt = HEAD + kind.length;
  const head = Buffer.allocUnsafe(bodyAt + (isLarge ? 0 : body.length));
  head.writeUInt32BE(bodyAt + body.length - 4, 0);
  head.writeUInt8(frameTypes.indexOf(type), 4);
  head.writeUInt32BE(id, 5);
  head.writeUInt8(kind.length, 9);
  head.write(kind, HEAD, 'latin1');
  if (isLarge) return [head, body];
  head.set(body, bodyAt);
  return [head];
}

/** Cuts what a socket received into frames. */
export class FrameReader {
  readonly #bytesMax: number;
  #pieces: Buffer[] = [];
  #length = 0;

  /** @param bytesMax of a frame */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** What was received of the next frame, bytes. */
  get partBytes(): number {
    return this.#length;
  }

  /** @returns the frames that are complete; their bodies are views of what was received. @throws when this cannot be a frame */
  push(piece: Buffer): Frame[] {
    this.#pieces.push(piece);
    this.#length += piece.length;
    const frames: Frame[] = [];
    while (this.#length >= HEAD) {
      const head = this.#joined(HEAD);
      const length = head.readUInt32BE(0) + 4;
      const type = frameTypes[head.readUInt8(4)];
      const kindEnd = HEAD + head.readUInt8(9);
      if (type === undefined || length > this.#bytesMax || length < kindEnd) throw new Error('not a message of a node');
      if (this.#length < length) break;
      const bytes = this.#joined(length);
      frames.push({
        type,
        id: bytes.readUInt32BE(5),
        kind: bytes.toString('latin1', HEAD, kindEnd),
        body: bytes.subarray(kindEnd, length),
      });
      this.#pieces[0] = bytes.subarray(length);
      this.#length -= length;
    }
    return frames;
  }

  /** The first piece, of at least this length. */
  #joined(length: number): Buffer {
    if (this.#pieces[0]!.length < length) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0]!;
  }
}
