/** Three nodes of one database, each with its own way to PostgreSQL and to the message server, so that one of them can be cut off; devices
 *  and viewers come through a balancer that asks each whether it is ready. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { cutIntoPartitions } from '../../src/cli/partitions.ts';
import { decodeFrame } from '../../src/proto/frame-codec.ts';
import { openDatabase } from '../../src/storage/database/database.ts';
import { upgrade } from '../../src/storage/upgrade.ts';
import { freePort } from './free-port.ts';
import { startNats } from './nats-server.ts';
import type { NatsServer } from './nats-server.ts';
import { ServiceProcess } from './service.ts';
import { TcpProxy } from './tcp-proxy.ts';

const NODES = 3;
const PARTITIONS = 24;
/** How often the balancer asks a node, and how long it waits for an answer, ms. */
const CHECK_MS = 300;
const CHECK_WAIT_MS = 1000;
const SETTLE_MS = 120_000;

export type Node = Readonly<{ name: string; service: ServiceProcess; database: TcpProxy; messages: TcpProxy }>;

export class Nodes {
  readonly nats: NatsServer;
  readonly all: readonly Node[];
  readonly front: TcpProxy;
  /** Nodes are started again when they end; how to stop that. */
  readonly #supervised = new Map<Node, () => void>();
  /** Nodes that are stopped on purpose, and not started again. */
  readonly #resting = new Set<Node>();
  #isBalancing = true;
  #balancing: Promise<void>;

  readonly #url: string;

  private constructor(url: string, nats: NatsServer, all: readonly Node[], front: TcpProxy) {
    this.#url = url;
    this.nats = nats;
    this.all = all;
    this.front = front;
    this.#balancing = this.#balance();
    for (const node of all) this.#supervise(node);
  }

  /** @param url of the database, past every proxy  @param env of each node */
  static async start(url: string, postgresPort: number, env: Readonly<Record<string, string>>): Promise<Nodes> {
    await upgrade(url);
    const database = await openDatabase(url);
    await cutIntoPartitions(database, PARTITIONS);
    await database.close();
    const nats = await startNats();
    const all = await Promise.all(Array.from({ length: NODES }, (_, i) => startNode(i + 1, url, postgresPort, nats.port, env)));
    const front = await TcpProxy.start(all[0]!.service.port);
    const nodes = new Nodes(url, nats, all, front);
    await nodes.untilShared();
    return nodes;
  }

  /** Every living node has partitions, and every partition a node. */
  async untilShared(): Promise<void> {
    const wanted = this.all
      .filter((node) => !this.#resting.has(node))
      .map(({ name }) => name)
      .join();
    for (const deadline = performance.now() + SETTLE_MS; ; await sleep(100)) {
      const ready = await Promise.all(this.all.map(async (node) => this.#resting.has(node) || (await isReady(node))));
      const owners = await this.owners().catch(() => []);
      const named = [...new Set(owners)].toSorted();
      if (ready.every(Boolean) && named.join() === wanted && Math.max(...shares(owners)) <= Math.ceil(owners.length / named.length)) return;
      if (performance.now() > deadline) {
        const without = this.all.filter(({ name }) => !named.includes(name));
        throw new Error(
          `the nodes do not settle, partitions are of ${owners.join()}:\n${this.log(without.length === 0 ? this.all : without)}`,
        );
      }
    }
  }

  /** The node is ready, and every partition has one: others may have none. */
  async untilServed(node: Node): Promise<void> {
    for (const deadline = performance.now() + SETTLE_MS; ; await sleep(100)) {
      const owners = await this.owners().catch(() => ['']);
      if (owners.includes(node.name) && !owners.includes('') && (await isReady(node))) return;
      if (performance.now() > deadline) throw new Error(`partitions are of ${owners.join()}:\n${this.log()}`);
    }
  }

  /** Name of the node of each partition; '': none. */
  async owners(): Promise<readonly string[]> {
    const client = new pg.Client({ connectionString: this.#url, application_name: 'faults', statement_timeout: 10_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ name: string }>(
        `select coalesce(n.name, '') as name from packet_log_checkpoint c left join cluster_node n on n.id = c.owner order by c.partition`,
      );
      return rows.map(({ name }) => name);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** The node that has most of the partitions: what happens to it concerns devices. */
  async largest(): Promise<Node> {
    const owners = await this.owners();
    const count = ({ name }: Node): number => owners.filter((owner) => owner === name).length;
    return this.all.toSorted((a, b) => count(b) - count(a))[0]!;
  }

  /** Stops a node for good, in order. @returns exit code */
  async rest(node: Node): Promise<number> {
    this.#resting.add(node);
    this.#supervised.get(node)?.();
    return await node.service.terminate();
  }

  /** Kills a node for good. */
  async lose(node: Node): Promise<void> {
    this.#resting.add(node);
    this.#supervised.get(node)?.();
    await node.service.kill();
  }

  isAwake(node: Node): boolean {
    return !this.#resting.has(node);
  }

  wake(node: Node): void {
    this.#resting.delete(node);
    node.service.start();
    this.#supervise(node);
  }

  log(of: readonly Node[] = this.all): string {
    return of.map(({ name, service }) => `${name}: ${service.log.slice(-1500)}`).join('\n');
  }

  async close(): Promise<void> {
    this.#isBalancing = false;
    for (const stop of this.#supervised.values()) stop();
    await this.#balancing;
    await Promise.all(
      this.all.map(async ({ service }) => {
        if (service.running) await Promise.race([service.terminate(), sleep(15_000)]);
        if (service.running) await service.kill();
      }),
    );
    await this.front.close();
    for (const { database, messages } of this.all) await Promise.all([database.close(), messages.close()]);
    await this.nats.close();
  }

  #supervise(node: Node): void {
    this.#supervised.set(node, node.service.supervise());
  }

  async #balance(): Promise<void> {
    let before = '';
    while (this.#isBalancing) {
      const ready = await Promise.all(this.all.map(async (node) => ((await isReady(node)) ? [node.service.port] : [])));
      const ports = ready.flat();
      if (ports.join() !== before) this.front.targets = ports;
      before = ports.join();
      await sleep(CHECK_MS);
    }
  }
}

async function startNode(
  number: number,
  url: string,
  postgresPort: number,
  natsPort: number,
  env: Readonly<Record<string, string>>,
): Promise<Node> {
  const database = await TcpProxy.start(postgresPort);
  const messages = await TcpProxy.start(natsPort);
  const name = `n${number}`;
  const service = new ServiceProcess(await freePort(), {
    env: {
      BIO_DB_CONNECTIONS_MAX: '14',
      ...env,
      DATABASE_URL: url.replace(`:${postgresPort}/`, `:${database.port}/`),
      BIO_NATS_URL: `nats://127.0.0.1:${messages.port}`,
      BIO_NODE_NAME: name,
      BIO_DSP_WORKERS: '1',
    },
  });
  await service.untilReady();
  return { name, service, database, messages };
}

const shares = (owners: readonly string[]): readonly number[] =>
  [...Map.groupBy(owners, (name) => name).values()].map(({ length }) => length);

async function isReady({ service }: Node): Promise<boolean> {
  const answer = await fetch(`${service.url}/readyz`, { signal: AbortSignal.timeout(CHECK_WAIT_MS) }).catch(() => null);
  await answer?.arrayBuffer().catch(() => undefined);
  return answer?.status === 200;
}

/** A viewer who comes back whenever the connection ends, and asks for what was missed. */
export class Viewer {
  readonly complaints: string[] = [];
  frameCount = 0;
  #newest = 0;
  #socket: WebSocket | null = null;
  #closed = false;

  constructor(url: string, subject: string, key: string) {
    this.#connect(url, subject, key);
  }

  close(): void {
    this.#closed = true;
    this.#socket?.close();
  }

  #connect(url: string, subject: string, key: string): void {
    if (this.#closed) return;
    const after = this.#newest === 0 ? '' : `&after=${this.#newest}`;
    const protocols = ['bio.v1', `bio.bearer.${Buffer.from(key).toString('base64url')}`];
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws?subject=${subject}${after}`, protocols);
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data !== 'string') this.#take(decodeFrame(new Uint8Array(data)).seq);
    });
    const again = (): void => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      setTimeout(() => this.#connect(url, subject, key), 200).unref();
    };
    socket.addEventListener('close', again);
    socket.addEventListener('error', again);
  }

  #take(seq: number): void {
    if (seq <= this.#newest) this.complaints.push(`a viewer was sent frame ${seq} after ${this.#newest}`);
    this.#newest = Math.max(this.#newest, seq);
    this.frameCount++;
  }
}
