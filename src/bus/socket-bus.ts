/** The bus of the nodes of one machine: each listens on a Unix socket in a folder that they share, `<node>.sock`, and keeps one connection
 *  to each node that it asks. The folder's rights decide who may talk to them. */
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import type { NodeId } from '../cluster/cluster-view.ts';
import { PipelineError } from '../errors.ts';
import { MESSAGE_BYTES_MAX, refuseLarge } from './bus.ts';
import type { Answer, Bus } from './bus.ts';
import { decodeFailure, encodeFailure, noAnswer } from './failures.ts';
import { encodeFrame, FrameReader } from './frames.ts';
import type { Frame } from './frames.ts';

/** What may wait for one node, of questions and of answers, bytes. */
const QUEUE_BYTES_MAX = 32 * 1024 * 1024;
/** Read at once from a node that answers, bytes. */
const READ_BYTES = 64 * 1024;
const FRAME_BYTES_MAX = MESSAGE_BYTES_MAX + 1024;
/** Connections of others to a node; each node has one. More are closed at once, so that a process that opens them takes no open files. */
const CONNECTIONS_MAX = 256;
/** How often a node looks whether its socket is still in the folder: those who clean temporary folders do not ask, ms. */
const LOOK_MS = 2000;
/** Parts of messages that the others have sent, all together, bytes, and the time that a message may take to come, ms. Those who exceed it
 *  are dropped, and ask again. */
const PARTS_BYTES_MAX = 64 * 1024 * 1024;
const PART_MS = 10_000;
/** Name of the socket of a node: its id, a uuid. */
const SOCKET_OF_NODE = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.sock$/;
/** A connection that has not said who it is by then is closed, ms. */
const HELLO_MS = 10_000;
/** Path of a Unix socket, bytes. A longer one would be cut without a word, and nodes would share it. */
const PATH_BYTES_MAX = process.platform === 'darwin' ? 103 : 107;

/** What has come of a message, of one connection. */
type Part = { bytes: number; sinceMs: number };

type Question = { resolve: (answer: Buffer) => void; reject: (error: Error) => void; timer: NodeJS.Timeout };

export class SocketBus implements Bus {
  readonly node: NodeId;
  readonly #folder: string;
  #server: Server;
  #timer: NodeJS.Timeout | undefined;
  readonly #handlers = new Map<string, Answer>();
  readonly #peers = new Map<NodeId, Peer>();
  readonly #sockets = new Map<Socket, Part>();
  #partsBytes = 0;
  readonly #onFault: (cause: unknown) => void;
  #closed = false;

  private constructor(folder: string, node: NodeId, onFault: (cause: unknown) => void) {
    this.#folder = folder;
    this.node = node;
    this.#onFault = onFault;
    this.#server = this.#newServer();
  }

  /** @param folder is made where it is absent, for its owner only  @param onFault called with what made this node fail to answer
   *  @throws PipelineError bad_request: the folder's path is too long, others may enter it, or nobody can listen there */
  static async open(folder: string, node: NodeId, onFault: (cause: unknown) => void = () => undefined): Promise<SocketBus> {
    const tooLong = Buffer.byteLength(join(folder, `${node}.sock`)) - PATH_BYTES_MAX;
    if (tooLong > 0) throw refusal(`the path of ${folder} is ${tooLong} bytes too long for sockets: set it to a shorter one`);
    const bus = new SocketBus(folder, node, onFault);
    try {
      await bus.#listen();
      await removeDead(folder);
    } catch (error) {
      bus.#server.close();
      throw error instanceof PipelineError ? error : refusal((error as Error).message);
    }
    // job: socket: listens again where the socket of this node was deleted, and drops who sends messages in parts
    bus.#timer = setInterval(() => {
      bus.#dropSlow();
      void bus.#listenAgain();
    }, LOOK_MS).unref();
    return bus;
  }

  get state(): 'open' | 'away' {
    return this.#closed ? 'away' : 'open';
  }

  get why(): string {
    return this.#closed ? 'this node is stopping' : '';
  }

  handle(kind: string, answer: Answer): void {
    this.#handlers.set(kind, answer);
  }

  async request(to: NodeId, kind: string, body: Uint8Array, timeoutMs: number): Promise<Buffer> {
    if (body.length > MESSAGE_BYTES_MAX) throw new PipelineError('internal', `a question of ${body.length} bytes is too large for a node`);
    return await this.#peer(to).ask(kind, body, timeoutMs);
  }

  send(to: NodeId, kind: string, body: Uint8Array): void {
    if (!this.#closed) this.#peer(to).tell(kind, body);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    for (const peer of this.#peers.values()) peer.end(noAnswer('this one is stopping'));
    for (const socket of this.#sockets.keys()) socket.destroy();
    await new Promise<void>((done) => this.#server.close(() => done()));
    rmSync(this.#pathOf(this.node), { force: true });
  }

  #newServer(): Server {
    const server = createServer((socket) => this.#serve(socket));
    server.maxConnections = CONNECTIONS_MAX;
    return server;
  }

  async #listen(): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    refuseOpen(this.#folder);
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#pathOf(this.node), resolve);
    });
    this.#server.on('error', this.#onFault);
  }

  /** Connections that are open go on: they need no name. */
  async #listenAgain(): Promise<void> {
    const isGone = await lstat(this.#pathOf(this.node)).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
    );
    if (!isGone || this.#closed) return;
    const before = this.#server;
    this.#server = this.#newServer();
    before.close();
    await this.#listen().catch(this.#onFault);
  }

  #pathOf(node: NodeId): string {
    return join(this.#folder, `${node}.sock`);
  }

  #peer(to: NodeId): Peer {
    if (this.#closed) throw noAnswer('this one is stopping');
    const known = this.#peers.get(to);
    if (known !== undefined) return known;
    const peer = new Peer(this.#pathOf(to), this.node, () => {
      if (this.#peers.get(to) === peer) this.#peers.delete(to);
    });
    this.#peers.set(to, peer);
    return peer;
  }

  /** Answers another node. */
  #serve(socket: Socket): void {
    const part: Part = { bytes: 0, sinceMs: Infinity };
    this.#sockets.set(socket, part);
    const reader = new FrameReader(FRAME_BYTES_MAX);
    let from: NodeId = '';
    const silent = setTimeout(() => socket.destroy(), HELLO_MS).unref();
    socket.on('close', () => {
      clearTimeout(silent);
      this.#sockets.delete(socket);
      this.#partsBytes -= part.bytes;
    });
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes) => {
      try {
        for (const frame of reader.push(bytes)) {
          if (frame.type !== 'hello') this.#answer(socket, from, frame);
          else {
            from = frame.kind;
            clearTimeout(silent);
          }
          part.sinceMs = Infinity;
        }
        this.#notePart(part, reader.partBytes);
      } catch {
        socket.destroy(); // not a node, or not of this release
      }
    });
  }

  /** @throws Error: parts of messages take too much memory, and this one is to be dropped */
  #notePart(part: Part, bytes: number): void {
    this.#partsBytes += bytes - part.bytes;
    part.bytes = bytes;
    if (bytes === 0) part.sinceMs = Infinity;
    else if (part.sinceMs === Infinity) part.sinceMs = performance.now();
    if (this.#partsBytes > PARTS_BYTES_MAX) throw new Error('parts of messages take too much memory');
  }

  #dropSlow(): void {
    const nowMs = performance.now();
    for (const [socket, { sinceMs }] of this.#sockets) if (nowMs - sinceMs > PART_MS) socket.destroy();
  }

  #answer(socket: Socket, from: NodeId, { type, id, kind, body }: Frame): void {
    const reply = (how: 'answer' | 'failure', bytes: Uint8Array): void => {
      if (type !== 'ask' || socket.destroyed) return;
      if (socket.writableLength > QUEUE_BYTES_MAX) socket.destroy(); // it asks and does not read
      else writeSoon(socket, encodeFrame(how, id, '', bytes));
    };
    const handler = this.#handlers.get(kind);
    if (handler === undefined) return reply('failure', encodeFailure(noAnswer(`it does not know '${kind}'`), this.#onFault));
    const fail = (error: unknown): void => reply('failure', encodeFailure(error, this.#onFault));
    try {
      const answer = handler(from, body);
      if (answer instanceof Promise) answer.then((bytes) => reply('answer', refuseLarge(bytes))).catch(fail);
      else reply('answer', refuseLarge(answer));
    } catch (error) {
      fail(error);
    }
  }
}

/** A connection to another node. It ends with its first fault, and with it everything that waits. */
class Peer {
  readonly #socket: Socket;
  readonly #onEnd: () => void;
  readonly #questions = new Map<number, Question>();
  #asked = 0;

  constructor(path: string, self: NodeId, onEnd: () => void) {
    this.#onEnd = onEnd;
    const reader = new FrameReader(FRAME_BYTES_MAX);
    const take = (length: number, memory: Uint8Array): boolean => {
      try {
        for (const frame of reader.push(Buffer.from(memory.subarray(0, length)))) this.#settle(frame);
      } catch {
        this.end(noAnswer('it sent what is no message'));
      }
      return true;
    };
    // Answers are short. Without memory of its own each read would take 64 kB, which the garbage collector counts.
    this.#socket = connect({ path, onread: { buffer: Buffer.alloc(READ_BYTES), callback: take } });
    this.#socket.unref();
    for (const piece of encodeFrame('hello', 0, self, Buffer.alloc(0))) this.#socket.write(piece);
    this.#socket.on('error', () => this.end(noAnswer('it is not there')));
    this.#socket.on('close', () => this.end(noAnswer('it has gone')));
  }

  ask(kind: string, body: Uint8Array, timeoutMs: number): Promise<Buffer> {
    if (this.#isFull()) return Promise.reject(noAnswer('too much waits for it'));
    const id = (this.#asked = (this.#asked + 1) >>> 0);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#questions.delete(id);
        reject(noAnswer(`no answer within ${timeoutMs} ms`));
      }, timeoutMs);
      this.#questions.set(id, { resolve, reject, timer });
      writeSoon(this.#socket, encodeFrame('ask', id, kind, body));
    });
  }

  tell(kind: string, body: Uint8Array): void {
    if (!this.#isFull()) writeSoon(this.#socket, encodeFrame('note', 0, kind, body));
  }

  end(why: Error): void {
    this.#socket.destroy();
    this.#onEnd();
    for (const { reject, timer } of this.#questions.values()) {
      clearTimeout(timer);
      reject(why);
    }
    this.#questions.clear();
  }

  #isFull(): boolean {
    return this.#socket.writableLength > QUEUE_BYTES_MAX;
  }

  #settle({ type, id, body }: Frame): void {
    const question = this.#questions.get(id);
    if (question === undefined) return; // it came too late
    this.#questions.delete(id);
    clearTimeout(question.timer);
    if (type === 'failure') question.reject(decodeFailure(body));
    else question.resolve(body);
  }
}

/** A process that enters can ask and send as a node: packets of any device among them.
 *  @throws PipelineError bad_request: the folder is another user's, or others may enter it */
function refuseOpen(folder: string): void {
  const { uid, mode } = statSync(folder);
  const self = process.getuid?.() ?? uid;
  if (uid !== self) throw refusal(`${folder} belongs to the user ${uid}, this process to ${self}`);
  const rights = (mode & 0o777).toString(8);
  if ((mode & 0o077) !== 0)
    throw refusal(`others may enter ${folder} (mode ${rights}), and could send packets as any device: chmod 700 it`);
}

/** Removes the sockets of nodes that were killed: nobody listens there. Nobody listens on a file either, so what has another name stays. */
async function removeDead(folder: string): Promise<void> {
  const names = readdirSync(folder).filter((name) => SOCKET_OF_NODE.test(name));
  await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      if (await isDead(path)) rmSync(path, { force: true });
    }),
  );
}

async function isDead(path: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(false)).once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
    socket.once('connect', () => socket.destroy());
  });
}

const refusal = (why: string): PipelineError => new PipelineError('bad_request', `BIO_BUS_DIR: ${why}`);

/** Writes of one turn of the loop go to the system together: a commit answers all the messages whose packets it holds. */
function writeSoon(socket: Socket, frame: readonly Uint8Array[]): void {
  if (socket.writableCorked === 0) {
    socket.cork();
    setImmediate(() => socket.uncork());
  }
  for (const piece of frame) socket.write(piece);
}
