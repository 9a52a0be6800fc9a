/** The ledger of a sending client: every packet before it is sent and every answer after, so that acknowledgements can be checked against
 *  the service later (`biosignal verify`).
 *
 *  A ledger is two files: NAME.packets, the packets one after the other, each after its length as a varint (a batch that can be sent
 *  again), and NAME.jsonl, one line per event:
 *    {"e":"sent","d":device,"b":boot,"s":seq,"o":offset,"n":bytes,"h":sha256 of the packet, "at":ms}
 *    {"e":"done","d":device,"b":boot,"s":seq,"c":"accepted" or the code of the refusal,"at":ms}
 *  A packet that is sent again has no second `sent`. A line that was cut off by a kill is ignored when reading. */
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { encodeBatch } from '../../proto/packet-encode.ts';

const BUFFER_CHARS_MAX = 64 * 1024;
const READ_BYTES = 1024 * 1024;

export type LedgerKey = Readonly<{ deviceId: string; bootId: string; seq: number }>;

export class LedgerWriter {
  readonly #lines: number;
  readonly #packets: number;
  #offset: number;
  #text: string[] = [];
  #chars = 0;

  /** Appends to an existing ledger of that name, else makes one. @param name path without extension */
  constructor(name: string) {
    mkdirSync(dirname(name), { recursive: true });
    this.#lines = openSync(`${name}.jsonl`, 'a', 0o600);
    this.#packets = openSync(`${name}.packets`, 'a', 0o600);
    this.#offset = statSync(`${name}.packets`).size;
  }

  /** Records a packet before it is handed to the network. */
  sent(key: LedgerKey, bytes: Uint8Array): void {
    const framed = encodeBatch([bytes]);
    writeSync(this.#packets, framed);
    const offset = this.#offset + framed.length - bytes.length;
    this.#offset += framed.length;
    const h = createHash('sha256').update(bytes).digest('hex');
    this.#line({ e: 'sent', d: key.deviceId, b: key.bootId, s: key.seq, o: offset, n: bytes.length, h, at: Date.now() });
  }

  /** Records its answer. */
  settled(key: LedgerKey, code: string): void {
    this.#line({ e: 'done', d: key.deviceId, b: key.bootId, s: key.seq, c: code, at: Date.now() });
  }

  /** Hands what is buffered to the system. */
  flush(): void {
    if (this.#chars === 0) return;
    writeSync(this.#lines, this.#text.join(''));
    this.#text = [];
    this.#chars = 0;
  }

  close(): void {
    this.flush();
    closeSync(this.#lines);
    closeSync(this.#packets);
  }

  #line(event: Readonly<Record<string, string | number>>): void {
    const text = `${JSON.stringify(event)}\n`;
    this.#text.push(text);
    this.#chars += text.length;
    if (this.#chars >= BUFFER_CHARS_MAX) this.flush();
  }
}

export type LedgerEntry = Readonly<{
  key: LedgerKey;
  offset: number;
  byteCount: number;
  sha256: string;
  sentMs: number;
  /** `accepted`, the code of a refusal, or null: no answer was seen. The best answer counts: accepted once is a promise. */
  answer: string | null;
}>;

/** A ledger read back: entries by stream, in the order sent. */
export class Ledger {
  readonly streams: ReadonlyMap<string, readonly LedgerEntry[]>;
  readonly #packetsPath: string;

  constructor(name: string) {
    this.#packetsPath = `${name}.packets`;
    const streams = new Map<string, Map<number, LedgerEntry>>();
    for (const line of linesOf(`${name}.jsonl`)) {
      const event = parseLine(line);
      if (event === null) continue;
      const id = `${event.d}\n${event.b}`;
      let stream = streams.get(id);
      if (stream === undefined) streams.set(id, (stream = new Map()));
      const before = stream.get(event.s);
      if (event.e === 'sent' && before === undefined) {
        const key = { deviceId: event.d, bootId: event.b, seq: event.s };
        stream.set(event.s, { key, offset: event.o, byteCount: event.n, sha256: event.h, sentMs: event.at, answer: null });
      } else if (event.e === 'done' && before !== undefined && before.answer !== 'accepted') {
        stream.set(event.s, { ...before, answer: event.c });
      }
    }
    this.streams = new Map([...streams].map(([id, entries]) => [id, [...entries.values()]]));
  }

  /** The bytes of packets, checked against their hashes. @throws Error when the ledger itself is damaged */
  readPackets(entries: readonly LedgerEntry[]): Uint8Array[] {
    const file = openSync(this.#packetsPath, 'r');
    try {
      return entries.map((entry) => {
        const bytes = new Uint8Array(entry.byteCount);
        readSync(file, bytes, 0, entry.byteCount, entry.offset);
        const hash = createHash('sha256').update(bytes).digest('hex');
        if (hash !== entry.sha256) throw new Error(`ledger ${this.#packetsPath}: packet ${entry.key.seq} does not have its hash`);
        return bytes;
      });
    } finally {
      closeSync(file);
    }
  }
}

/** Reads in pieces: half an hour of a hundred devices exceeds the longest string. */
function* linesOf(path: string): Generator<string> {
  const file = openSync(path, 'r');
  try {
    const piece = Buffer.allocUnsafe(READ_BYTES);
    const decoder = new StringDecoder('utf8');
    let rest = '';
    for (let n = readSync(file, piece); n > 0; n = readSync(file, piece)) {
      const lines = (rest + decoder.write(piece.subarray(0, n))).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    yield rest + decoder.end();
  } finally {
    closeSync(file);
  }
}

type SentLine = { e: 'sent'; d: string; b: string; s: number; o: number; n: number; h: string; at: number };
type DoneLine = { e: 'done'; d: string; b: string; s: number; c: string; at: number };

function parseLine(line: string): SentLine | DoneLine | null {
  if (line === '') return null;
  try {
    return JSON.parse(line) as SentLine | DoneLine;
  } catch {
    return null; // the last line of a client that was killed
  }
}
