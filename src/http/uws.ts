/** Loads uWebSockets.js and declares the part we use. The package is a third-party rebuild (upstream is not on npm), so the binary's
 *  SHA-256 is compared with the one that was reviewed before it is loaded: a changed binary is refused. Types are ours, because the package
 *  has none. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** SHA-256 of `uws.node` by package. v20.51.0, `uws_linux_x64_127.node` of the upstream tag. */
const reviewed: Readonly<Record<string, string>> = {
  '@uwsjs/linux-x64-22': 'f687e7c3666b5cca9d355184bbf07bb0550f5ba0d3ffd453248ccfec552dde6c',
};

/** Bytes of the address and all headers of a request. */
export const HEADER_BYTES_MAX = 16_384;
/** What the library reads of a request line and headers, bytes. It answers more by itself, with a page that names it; up to here the answer
 *  is ours. It reads the variable once, when it is loaded; its own default is 4096. */
const READ_BYTES_MAX = 2 * HEADER_BYTES_MAX;

export type UwsRequest = Readonly<{
  getUrl: () => string;
  getQuery: () => string | undefined;
  getMethod: () => string;
  getCaseSensitiveMethod: () => string;
  getHeader: (lowerCaseName: string) => string;
  forEach: (visit: (name: string, value: string) => void) => void;
}>;

export type UwsResponse = Readonly<{
  cork: (write: () => void) => UwsResponse;
  writeStatus: (status: string) => UwsResponse;
  writeHeader: (name: string, value: string) => UwsResponse;
  write: (chunk: Uint8Array | string) => boolean;
  end: (body?: Uint8Array | string, closeConnection?: boolean) => UwsResponse;
  /** The library also accepts a length, but then never ends the response: see writeReply. */
  endWithoutBody: () => UwsResponse;
  tryEnd: (chunk: Uint8Array, totalBytes: number) => [ok: boolean, done: boolean];
  onData: (visit: (chunk: ArrayBuffer, isLast: boolean) => void) => UwsResponse;
  onAborted: (visit: () => void) => UwsResponse;
  onWritable: (visit: (offset: number) => boolean) => UwsResponse;
  getWriteOffset: () => number;
  getRemoteAddressAsText: () => ArrayBuffer;
  pause: () => void;
  resume: () => void;
  close: () => void;
  upgrade: <Data>(data: Data, key: string, protocol: string, extensions: string, context: UwsUpgradeContext) => void;
}>;

export type UwsUpgradeContext = Readonly<{ __brand: 'UwsUpgradeContext' }>;

/** `send` answers 1 = sent, 0 = buffered, 2 = dropped. */
export type UwsSocket<Data> = Readonly<{
  getUserData: () => Data;
  send: (message: Uint8Array | string, isBinary: boolean, compress: boolean) => 0 | 1 | 2;
  getBufferedAmount: () => number;
  end: (code: number, reason: string) => void;
  close: () => void;
  cork: (write: () => void) => unknown;
  subscribe: (topic: string) => boolean;
  unsubscribe: (topic: string) => boolean;
}>;

export type UwsBehaviour<Data> = Readonly<{
  maxPayloadLength: number;
  maxBackpressure: number;
  closeOnBackpressureLimit: boolean;
  idleTimeout: number;
  sendPingsAutomatically: boolean;
  compression: number;
  upgrade: (res: UwsResponse, req: UwsRequest, context: UwsUpgradeContext) => void;
  open: (ws: UwsSocket<Data>) => void;
  message: (ws: UwsSocket<Data>, message: ArrayBuffer, isBinary: boolean) => void;
  drain: (ws: UwsSocket<Data>) => void;
  close: (ws: UwsSocket<Data>, code: number, message: ArrayBuffer) => void;
}>;

export type UwsListenSocket = Readonly<{ __brand: 'UwsListenSocket' }>;

export type UwsApp = Readonly<{
  any: (pattern: string, handler: (res: UwsResponse, req: UwsRequest) => void) => UwsApp;
  ws: <Data>(pattern: string, behaviour: UwsBehaviour<Data>) => UwsApp;
  listen: (host: string, port: number, options: number, done: (token: UwsListenSocket | false) => void) => UwsApp;
  publish: (topic: string, message: Uint8Array | string, isBinary: boolean, compress: boolean) => boolean;
  numSubscribers: (topic: string) => number;
  close: () => UwsApp;
}>;

export type Uws = Readonly<{
  App: () => UwsApp;
  SSLApp: (options: Readonly<{ key_file_name: string; cert_file_name: string }>) => UwsApp;
  /** 'silent': answers do not name the library. */
  _cfg: (key: 'silent') => void;
  us_listen_socket_close: (token: UwsListenSocket) => void;
  us_socket_local_port: (token: UwsListenSocket) => number;
  DISABLED: number;
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}>;

let loaded: Uws | null = null;

/** Loads the reviewed binary for this system, once.
 *  @throws Error naming the package to add when there is none for this system, or when its binary is not the reviewed one */
export function loadUws(): Uws {
  if (loaded !== null) return loaded;
  const packageName = `@uwsjs/${process.platform}-${process.arch}-${process.versions.node.split('.')[0] ?? ''}`;
  const expected = reviewed[packageName];
  if (expected === undefined) {
    throw new Error(
      `no reviewed uWebSockets.js build for Node ${process.versions.node} on ${process.platform}-${process.arch}: ` +
        `add the package ${packageName} and the SHA-256 of its uws.node to src/http/uws.ts`,
    );
  }
  const require = createRequire(import.meta.url);
  let binary: string;
  try {
    binary = require.resolve(`${packageName}/uws.node`);
  } catch (cause) {
    throw new Error(`the package ${packageName} is not installed: npm ci`, { cause });
  }
  const found = createHash('sha256').update(readFileSync(binary)).digest('hex');
  if (found !== expected) throw new Error(`${packageName}/uws.node has SHA-256 ${found}, reviewed was ${expected}: refused`);
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(READ_BYTES_MAX);
  loaded = require(packageName) as Uws;
  return loaded;
}
