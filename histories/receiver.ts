/** Receiver of webhooks: keeps every request, and refuses the first one, which must be sent again. */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One attempt of a delivery. */
export type Attempt = Readonly<{ headers: IncomingHttpHeaders; body: string; isRefused: boolean; atMs: number }>;

export class Receiver {
  /** base64; null until the webhook is registered. */
  secret: string | null = null;
  readonly attempts: Attempt[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => void chunks.push(chunk));
      request.on('end', () => {
        const isRefused = this.attempts.length === 0;
        this.attempts.push({ headers: request.headers, body: Buffer.concat(chunks).toString(), isRefused, atMs: performance.now() });
        response.writeHead(isRefused ? 500 : 204).end();
      });
    });
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/told`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
