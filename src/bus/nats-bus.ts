/** The bus of nodes on several machines: core NATS, nothing stored. A node listens on `<cluster>.<node>.*`, one subject for each kind; a
 *  question is a request of NATS. Loaded only where BIO_NATS_URL names a server. */
import { readFileSync } from 'node:fs';
import { AuthorizationError, connect, headers, NoRespondersError, PermissionViolationError, TimeoutError } from '@nats-io/transport-node';
import type { Msg, MsgHdrs, NatsConnection, Payload, Subscription } from '@nats-io/transport-node';
import type { NodeId } from '../cluster/cluster-view.ts';
import { isLoopbackHost } from '../config.ts';
import { PipelineError } from '../errors.ts';
import { MESSAGE_BYTES_MAX, refuseLarge } from './bus.ts';
import type { Answer, Bus } from './bus.ts';
import { decodeFailure, encodeFailure, noAnswer } from './failures.ts';

/** What may be on its way to the server, bytes. */
const QUEUE_BYTES_MAX = 32 * 1024 * 1024;
/** So much may be on its way before the server is asked what has arrived, bytes: it answers each time. */
const ASK_FROM_BYTES = QUEUE_BYTES_MAX / 16;
/** Subjects and headers of a message, in addition to its body, bytes. */
const HEAD_BYTES_MAX = 4096;
/** A server that says nothing is given up after two of these, ms. */
const PING_MS = 2000;
const AGAIN_MS = 500;
const CONNECT_MS = 5000;
/** A server that is there and cannot be used is tried again after this, ms: its configuration may be loaded anew. */
const UNFIT_AGAIN_MS = 2000;
const AWAY = 'the message server is away';
const STOPPING = 'this node is stopping';
const REFUSED = 'the message server refuses the user or the password of BIO_NATS_URL';
/** Kind of the question that a node asks itself, by way of the server. */
const ITSELF = 'itself';
/** Attempts to connect, for each server of the address, none of which is refused: then there is none that refuses any more. */
const DIALS_UNREFUSED = 4;
const FROM = 'from';
const FAILED = 'failed';

export type NatsOptions = Readonly<{
  /** `tls://user:password@host:4222`, several with commas: servers of one cluster of NATS. */
  url: string;
  /** Path of the certificates that may have signed the server's (PEM); '': those of the system. */
  ca: string;
  /** Prefix of every subject. */
  cluster: string;
  /** Plain text to hosts that are not this machine. */
  mayBePlain: boolean;
  onState?: (state: 'open' | 'away', why: string) => void;
  /** Called with what made this node fail to answer. */
  onFault?: (cause: unknown) => void;
}>;

type Kept = { readonly reject: (why: Error) => void };

export class NatsBus implements Bus {
  readonly node: NodeId;
  readonly #nats: NatsConnection;
  readonly #prefix: string;
  readonly #serverCount: number;
  #subscription: Subscription;
  readonly #handlers = new Map<string, Answer>();
  readonly #questions = new Set<Kept>();
  readonly #onState: (state: 'open' | 'away', why: string) => void;
  readonly #onFault: (cause: unknown) => void;
  #state: 'open' | 'away' = 'open';
  #why = '';
  #connected = true;
  /** Attempts to connect since the last that was refused. */
  #dials = 0;
  /** Of #comeBack: a later one ends those before it. */
  #turn = 0;
  #sentBytes = 0;
  #arrivedBytes = 0;
  #asking = false;
  /** It is being looked into what the user may do. */
  #checking = true;

  private constructor(nats: NatsConnection, node: NodeId, { url, cluster, onState, onFault }: NatsOptions) {
    this.#nats = nats;
    this.node = node;
    this.#prefix = cluster;
    this.#serverCount = url.split(',').length;
    this.#onState = onState ?? (() => undefined);
    this.#onFault = onFault ?? (() => undefined);
    this.#subscription = this.#subscribe();
    this.handle(ITSELF, () => new Uint8Array(0));
    void this.#watch();
  }

  /** @throws PipelineError unavailable: no server answers; bad_request: the address, a server that takes only smaller messages, or a user
   *  who may not talk under the name of the cluster */
  static async open(options: NatsOptions, node: NodeId): Promise<NatsBus> {
    const nats = await connect({
      ...serversOf(options),
      name: node,
      timeout: CONNECT_MS,
      pingInterval: PING_MS,
      maxPingOut: 2,
      maxReconnectAttempts: -1,
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: AGAIN_MS,
      inboxPrefix: `${options.cluster}.inbox`,
      noAsyncTraces: true,
    }).catch((error: unknown) => {
      const why = (error as Error).message;
      if (error instanceof AuthorizationError) throw new PipelineError('bad_request', `${REFUSED} (${why})`);
      throw new PipelineError('unavailable', `BIO_NATS_URL: ${why}`);
    });
    const bus = new NatsBus(nats, node, options);
    // Its subscription is at the server before another node can know of it.
    await nats.flush();
    const unfit = await bus.#whyUnfit();
    bus.#checking = false;
    if (unfit === '') return bus;
    await bus.close();
    throw new PipelineError('bad_request', unfit);
  }

  get state(): 'open' | 'away' {
    return this.#state;
  }

  get why(): string {
    return this.#why;
  }

  handle(kind: string, answer: Answer): void {
    this.#handlers.set(kind, answer);
  }

  async request(to: NodeId, kind: string, body: Uint8Array, timeoutMs: number): Promise<Buffer> {
    if (body.length > MESSAGE_BYTES_MAX) throw new PipelineError('internal', `a question of ${body.length} bytes is too large for a node`);
    this.#refuseFull();
    this.#count(body.length);
    const lost = Promise.withResolvers<never>();
    const kept: Kept = lost;
    this.#questions.add(kept);
    try {
      const answered = this.#nats.request(this.#subject(to, kind), body, { timeout: timeoutMs, headers: this.#from() });
      const answer = await Promise.race([answered, lost.promise]);
      const bytes = bufferOf(answer.data);
      if (answer.headers?.has(FAILED) === true) throw decodeFailure(bytes);
      return bytes;
    } catch (error) {
      throw asRefusal(error, timeoutMs);
    } finally {
      this.#questions.delete(kept);
    }
  }

  send(to: NodeId, kind: string, body: Uint8Array): void {
    if (this.#state === 'away' || this.#isFull()) return;
    this.#count(body.length);
    this.#told(() => this.#nats.publish(this.#subject(to, kind), body, { headers: this.#from() }));
  }

  async close(): Promise<void> {
    this.#why = STOPPING;
    this.#refuse(STOPPING);
    await this.#nats.close();
  }

  /** The library throws what it cannot send: a server's bound that was lowered, a connection that it has given up. */
  #told(send: () => unknown): void {
    try {
      send();
    } catch (error) {
      this.#onFault(error);
    }
  }

  #subject(to: NodeId, kind: string): string {
    return `${this.#prefix}.${to}.${kind}`;
  }

  #from(): MsgHdrs {
    const head = headers();
    head.set(FROM, this.node);
    return head;
  }

  #take(message: Msg): void {
    const reply = (body: Payload, head?: MsgHdrs): void => {
      if (message.reply === undefined || !this.#connected || this.#isFull()) return;
      this.#count(body.length);
      this.#told(() => message.respond(body, head === undefined ? {} : { headers: head }));
    };
    const fail = (error: unknown): void => {
      const head = headers();
      head.set(FAILED, '1');
      reply(encodeFailure(error, this.#onFault), head);
    };
    const kind = message.subject.slice(message.subject.lastIndexOf('.') + 1);
    const handler = this.#handlers.get(kind);
    if (handler === undefined) return fail(noAnswer(`it does not know '${kind}'`));
    try {
      const answer = handler(message.headers?.get(FROM) ?? '', bufferOf(message.data));
      if (answer instanceof Promise) answer.then((body) => reply(refuseLarge(body))).catch(fail);
      else reply(refuseLarge(answer));
    } catch (error) {
      fail(error);
    }
  }

  /** Until the connection is closed. */
  async #watch(): Promise<void> {
    for await (const status of this.#nats.status()) {
      const { type } = status;
      if (type === 'disconnect' || type === 'staleConnection') {
        if (this.#connected) this.#leave(AWAY); // the library says it after a refusal, too
        this.#connected = false;
      } else if (type === 'reconnect') {
        this.#connected = true;
        this.#arrivedBytes = this.#sentBytes; // the library has dropped what it had not sent
        void this.#comeBack();
      } else if (type === 'reconnecting') {
        if (++this.#dials > DIALS_UNREFUSED * this.#serverCount) this.#stayAway(AWAY);
      } else if (type === 'error' && status.error instanceof AuthorizationError) {
        this.#dials = 0;
        this.#stayAway(REFUSED);
      } else if (type === 'error' && status.error instanceof PermissionViolationError) void this.#checkRights();
    }
    this.#connected = false;
    if (this.#why !== STOPPING) this.#leave('the connection to the message server was given up');
  }

  #subscribe(): Subscription {
    return this.#nats.subscribe(`${this.#prefix}.${this.node}.*`, {
      callback: (error, message) => {
        if (error === null) this.#take(message);
      },
    });
  }

  /** Open once the server has this node's subscription again: until then others are told that the node is not there. A server may have
   *  another configuration than before, or be another one of its cluster. */
  async #comeBack(): Promise<void> {
    const turn = ++this.#turn;
    const isThere = await this.#nats.flush().then(
      () => true,
      () => false, // away again, or closed
    );
    const isOver = (): boolean => !isThere || !this.#connected || turn !== this.#turn || this.#nats.isClosed();
    if (isOver()) return;
    const unfit = await this.#whyUnfit();
    if (isOver() || this.#state === 'open') return;
    if (unfit !== '') {
      this.#stayAway(unfit);
      setTimeout(() => {
        if (!isOver()) void this.#comeBack();
      }, UNFIT_AGAIN_MS).unref();
      return;
    }
    this.#state = 'open';
    this.#why = '';
    this.#onState('open', '');
    this.#hearAgain();
  }

  /** Something was refused for want of a right: the server's configuration was loaded anew under a connection that stays, and the server
   *  forgets what the user may not hear. Or it was an answer to an address where this node may not publish. */
  async #checkRights(): Promise<void> {
    if (this.#checking || this.#state === 'away') return; // #comeBack asks until it is fit
    this.#checking = true;
    const unfit = await this.#whyUnfit();
    this.#checking = false;
    if (!this.#connected || this.#nats.isClosed()) return;
    if (unfit === '') return this.#hearAgain();
    this.#leave(unfit);
    void this.#comeBack();
  }

  /** For a right that was taken meanwhile, and whose loss nobody looked into. */
  #hearAgain(): void {
    if (this.#subscription.isClosed()) void this.#checkRights();
  }

  /** Why the server cannot be used although it is there; '': it can. Rights are refused later than their message: the node asks itself. */
  async #whyUnfit(): Promise<string> {
    const largest = this.#nats.info?.max_payload ?? 0;
    const wanted = MESSAGE_BYTES_MAX + HEAD_BYTES_MAX;
    if (largest < wanted)
      return `the NATS server takes messages of ${largest} bytes: set max_payload: ${Math.ceil(wanted / 1024 / 1024)}MB in its configuration`;
    if (this.#subscription.isClosed()) this.#subscription = this.#subscribe(); // the library forgets one that was refused
    const question = { timeout: CONNECT_MS, headers: this.#from() };
    return await this.#nats.request(this.#subject(this.node, ITSELF), new Uint8Array(0), question).then(
      () => '',
      () =>
        `BIO_NATS_URL: what this node sends to itself does not arrive: its user must be allowed to publish and to subscribe to '${this.#prefix}.>'`,
    );
  }

  /** Tells why the bus is away, when that is known better or has changed. */
  #stayAway(why: string): void {
    if (this.#state === 'open' || this.#why === why) return;
    this.#why = why;
    this.#onState('away', why);
  }

  #leave(why: string): void {
    if (this.#state === 'away') return this.#stayAway(why);
    this.#refuse(why);
    this.#why = why;
    this.#onState('away', why);
  }

  /** Refuses what waits: its answer will not come, or may have been lost. */
  #refuse(why: string): void {
    this.#state = 'away';
    for (const { reject } of this.#questions) reject(noAnswer(why));
  }

  #refuseFull(): void {
    if (this.#state === 'away') throw noAnswer(this.#why);
    if (this.#isFull()) throw noAnswer('too much waits for the message server');
  }

  #isFull(): boolean {
    return this.#sentBytes - this.#arrivedBytes > QUEUE_BYTES_MAX;
  }

  /** The library holds without a bound what its socket does not take: so the server is asked what has arrived. */
  #count(bytes: number): void {
    this.#sentBytes += bytes;
    if (this.#asking || this.#sentBytes - this.#arrivedBytes < ASK_FROM_BYTES) return;
    this.#asking = true;
    const until = this.#sentBytes;
    setImmediate(() => {
      this.#nats.flush().then(
        () => this.#arrived(until),
        () => this.#arrived(0),
      );
    });
  }

  #arrived(until: number): void {
    this.#asking = false;
    this.#arrivedBytes = Math.max(this.#arrivedBytes, until);
    if (this.#state === 'open') this.#count(0);
  }
}

/** @throws PipelineError bad_request */
function serversOf({ url, ca, mayBePlain }: NatsOptions): Parameters<typeof connect>[0] {
  const servers = url.split(',').map((each) => {
    if (!URL.canParse(each.trim())) throw new PipelineError('bad_request', 'BIO_NATS_URL: tls://user:password@host:4222');
    return new URL(each.trim());
  });
  const first = servers[0]!;
  const isTls = first.protocol === 'tls:';
  for (const { protocol, hostname } of servers) {
    if (protocol !== first.protocol || (!isTls && protocol !== 'nats:'))
      throw new PipelineError('bad_request', 'BIO_NATS_URL: every server begins with tls://, or every one with nats://');
    if (!isTls && !mayBePlain && !isLoopbackHost(hostname))
      throw new PipelineError('bad_request', 'BIO_NATS_URL: samples would travel in plain text: use tls://, or set BIO_NATS_PLAIN=1');
  }
  return {
    servers: servers.map(({ host }) => host),
    tls: isTls ? (ca === '' ? {} : { ca: certificatesOf(ca) }) : null,
    ...(first.username !== '' && { user: plain(first.username), pass: plain(first.password) }),
  };
}

/** @throws PipelineError bad_request */
function plain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new PipelineError('bad_request', 'BIO_NATS_URL: a % of its user or password is written %25');
  }
}

/** @throws PipelineError bad_request */
function certificatesOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new PipelineError('bad_request', `BIO_NATS_CA: ${(error as Error).message}`);
  }
}

function asRefusal(error: unknown, timeoutMs: number): PipelineError {
  if (error instanceof PipelineError) return error;
  if (error instanceof NoRespondersError || (error as Error).cause instanceof NoRespondersError) return noAnswer('it is not there');
  if (error instanceof TimeoutError) return noAnswer(`no answer within ${timeoutMs} ms`);
  return noAnswer((error as Error).message);
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
