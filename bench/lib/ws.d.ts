/** What the bench uses of the package ws, which has no types of its own. */
declare module 'ws' {
  export class WebSocketServer {
    readonly clients: Set<unknown>;
    constructor(options: object);
    on(event: 'connection', listen: (socket: never, request: import('node:http').IncomingMessage) => void): void;
  }
}
