/** A WebSocket from the process to itself that carries nothing; its cork can be borrowed (see upgradeUncorked in sockets.ts) before any
 *  other socket is open. Its listener is on loopback, behind a random path, and closed as soon as the socket is open. */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import type { Uws, UwsListenSocket, UwsSocket } from './uws.ts';

export type CorkLender = Readonly<{
  cork: (work: () => void) => void;
  close: () => void;
}>;

const OPEN_TIMEOUT_MS = 2000;

/** @returns null where there is no loopback to connect to; that only costs a line on stderr */
export async function openCorkLender(uws: Uws): Promise<CorkLender | null> {
  const app = uws.App();
  const path = `/${randomBytes(16).toString('hex')}`;
  const ready = Promise.withResolvers<UwsSocket<object> | null>();
  let socket: UwsSocket<object> | null = null;
  app.ws<object>(path, {
    maxPayloadLength: 16,
    maxBackpressure: 1024,
    closeOnBackpressureLimit: true,
    idleTimeout: 0, // never
    sendPingsAutomatically: false,
    compression: uws.DISABLED,
    upgrade: (res, req, context) => res.upgrade<object>({}, req.getHeader('sec-websocket-key'), '', '', context),
    open: (ws) => {
      socket = ws;
      ready.resolve(ws);
    },
    message: () => undefined,
    drain: () => undefined,
    close: () => {
      socket = null;
      ready.resolve(null);
    },
  });
  const listening = await new Promise<UwsListenSocket | false>((resolve) => void app.listen('127.0.0.1', 0, 0, resolve));
  if (listening === false) return null;
  const peer = connect(uws.us_socket_local_port(listening), '127.0.0.1');
  peer.on('error', () => ready.resolve(null));
  peer.resume().unref();
  peer.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  const timer = setTimeout(() => ready.resolve(null), OPEN_TIMEOUT_MS);
  const opened = await ready.promise;
  clearTimeout(timer);
  uws.us_listen_socket_close(listening);
  const close = (): void => {
    peer.destroy();
    app.close();
  };
  if (opened === null) {
    close();
    return null;
  }
  return { cork: (work) => (socket === null ? work() : void socket.cork(work)), close };
}
