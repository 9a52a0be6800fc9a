/** Types of the package ws, which has none of its own, as far as the bench uses it. */
declare module 'ws' {
  import type { IncomingMessage } from 'node:http';

  export class WebSocketServer {
    readonly clients: Set<unknown>;
    constructor(options: object);
    on(event: 'connection', listen: (socket: never, request: IncomingMessage) => void): void;
  }
}
