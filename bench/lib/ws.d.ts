/** What the bench uses of the package ws, which has no types of its own. */
declare module 'ws' {
  import type { IncomingMessage } from 'node:http';

  export class WebSocketServer {
    readonly clients: Set<unknown>;
    constructor(options: object);
    on(event: 'connection', listen: (socket: never, request: IncomingMessage) => void): void;
  }
}
