/** A TCP proxy with the manners of a bad network: between the service and its database, or between devices and two services. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** pass: as it is. refuse: connections are reset, new ones too. hole: nothing is answered and nothing is closed (a cable pulled out). */
export type ProxyMode = 'pass' | 'refuse' | 'hole';

type Pair = { near: Socket; far: Socket; port: number };

export class TcpProxy {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #mode: ProxyMode = 'pass';
  /** Of every chunk, each way, ms. */
  #delayMs = 0;
  /** Where new connections go, each to one of them by chance. */
  #targets: readonly number[];

  private constructor(targetPort: number) {
    this.#targets = [targetPort];
    this.#server = createServer({ noDelay: true, allowHalfOpen: false }, (near) => this.#accept(near));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get connectionCount(): number {
    return this.#pairs.size;
  }

  set mode(mode: ProxyMode) {
    this.#mode = mode;
    // What was in a hole is lost with its connection: TCP would have given up on it.
    for (const pair of this.#pairs) {
      if (mode === 'hole') stall(pair);
      else reset(pair);
    }
  }

  set targetPort(port: number) {
    this.#targets = [port];
  }

  /** A balancer's: connections to those that are no longer named end. */
  set targets(ports: readonly number[]) {
    this.#targets = ports;
    for (const pair of this.#pairs) if (!ports.includes(pair.port)) reset(pair);
  }

  set delayMs(ms: number) {
    this.#delayMs = ms;
  }

  async close(): Promise<void> {
    for (const pair of this.#pairs) reset(pair);
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(near: Socket): void {
    near.on('error', () => undefined);
    const port = this.#targets[Math.floor(Math.random() * this.#targets.length)];
    if (this.#mode === 'refuse' || port === undefined) {
      near.resetAndDestroy();
      return;
    }
    const far = connect({ host: '127.0.0.1', port, noDelay: true });
    far.on('error', () => undefined);
    const pair = { near, far, port };
    this.#pairs.add(pair);
    const gone = (): void => {
      if (this.#mode === 'hole') return; // neither side notices
      this.#pairs.delete(pair);
      reset(pair);
    };
    near.on('close', gone);
    far.on('close', gone);
    this.#pipe(near, far);
    this.#pipe(far, near);
    if (this.#mode === 'hole') stall(pair);
  }

  #pipe(from: Socket, to: Socket): void {
    from.on('data', (chunk: Buffer) => {
      const write = (): void => {
        if (!to.destroyed) to.write(chunk);
      };
      if (this.#delayMs > 0) setTimeout(write, this.#delayMs);
      else write();
    });
  }
}

function stall({ near, far }: Pair): void {
  near.pause();
  far.pause();
}

function reset({ near, far }: Pair): void {
  near.resetAndDestroy();
  far.resetAndDestroy();
}
