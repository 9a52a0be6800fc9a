/** Raw bytes on a connection: requests that no HTTP client sends, and the answer unparsed. */
import { connect as connectPlain } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from './client.ts';

export type RawAnswer = Readonly<{
  /** Everything received, one character per byte. */
  text: string;
  /** Statuses of the answers in it, in order. */
  statuses: readonly number[];
  /** The peer ended the connection. */
  closed: boolean;
}>;

export type RawOptions = Readonly<{
  /** Done after this many answers and then `quietMs` of silence; otherwise when the peer ends the connection. */
  answers?: number;
  quietMs?: number;
  timeoutMs?: number;
  /** Pieces are sent with a pause between them. */
  pauseMs?: number;
  /** Each piece is a request, sent once the previous one is answered. */
  inTurn?: boolean;
}>;

const TIMEOUT_MS = 4000;
const OPEN_MS_MAX = 10_000;
const QUIET_MS = 120;
/** Silence after which an answer counts as complete. */
const TURN_QUIET_MS = 25;
const TEXT_MAX = 4 * 1024 * 1024;
/** Not only at the start of a line: an answer directly follows the previous body. */
const statusLine = /HTTP\/1\.[01] (\d{3}) /g;

export class Raw {
  readonly host: string;
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
    this.host = client.base.host;
  }

  /** Opens a connection, writes the pieces, and reads. */
  async exchange(pieces: readonly (string | Uint8Array)[], options: RawOptions = {}): Promise<RawAnswer> {
    const { answers = Infinity, quietMs = QUIET_MS, timeoutMs = TIMEOUT_MS, pauseMs = 0, inTurn = false } = options;
    await this.#client.spend(pieces.reduce((sum, piece) => sum + piece.length, 0));
    const socket = await this.#open();
    let text = '';
    let closed = false;
    let lastMs = performance.now();
    socket.on('data', (chunk: Buffer) => {
      if (text.length < TEXT_MAX) text += chunk.toString('latin1');
      lastMs = performance.now();
    });
    socket.on('error', () => undefined); // a reset is an end
    socket.on('close', () => void (closed = true));
    const endMs = performance.now() + timeoutMs;
    const quiet = (): boolean => performance.now() - lastMs > (inTurn ? TURN_QUIET_MS : quietMs);
    for (const [i, piece] of pieces.entries()) {
      if (i > 0 && pauseMs > 0) await sleep(pauseMs);
      while (inTurn && !closed && performance.now() < endMs && (statusesOf(text).length < i || !quiet())) await sleep(5);
      if (!closed) socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
    }
    lastMs = performance.now();
    while (!closed && performance.now() < endMs && !this.#client.signal.aborted) {
      if (statusesOf(text).length >= answers && quiet()) break;
      await sleep(10);
    }
    socket.destroy();
    return { text, statuses: statusesOf(text), closed };
  }

  #open(): Promise<Socket> {
    const { hostname, port, protocol } = this.#client.base;
    const host = hostname.replace(/^\[|\]$/g, '');
    return new Promise((resolve, reject) => {
      let isOpen = false;
      const opened = (): void => {
        isOpen = true;
        resolve(socket);
      };
      const socket: Socket =
        protocol === 'https:'
          ? connectTls({ host, port: Number(port || 443), servername: host, ALPNProtocols: ['http/1.1'] }, opened)
          : connectPlain({ host, port: Number(port || 80) }, opened);
      socket.once('error', reject);
      const end = AbortSignal.any([this.#client.signal, AbortSignal.timeout(OPEN_MS_MAX)]);
      end.addEventListener('abort', () => {
        if (!isOpen) socket.destroy(new Error('the connection was not opened'));
      });
    });
  }
}

function statusesOf(text: string): number[] {
  return [...text.matchAll(statusLine)].map((match) => Number(match[1]));
}
