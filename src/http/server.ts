/** The HTTP and WebSocket server: the thin layer on uWebSockets.js. A request is an Incoming, a socket lives in sockets.ts. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import type { PipelineError } from '../errors.ts';
import type { OriginAllowed } from './cors.ts';
import { hostRule } from './host.ts';
import { compileRow, Incoming } from './incoming.ts';
import type { Row } from './incoming.ts';
import type { Logger } from './logger.ts';
import { onlyPeerOf } from './peer.ts';
import { RateLimit } from './rate-limit.ts';
import type { Authenticate, AuthRequest, Reply, Route, SocketRoute } from './route.ts';
import { Router } from './router.ts';
import { CredentialGate } from './credential-gate.ts';
import type { GateOptions } from './credential-gate.ts';
import { openCorkLender } from './cork-lender.ts';
import { attachSockets } from './sockets.ts';
import type { StaticMount } from './static-files.ts';
import { Ticks } from './ticks.ts';
import { isTimeZone } from './time-zone.ts';
import { loadUws } from './uws.ts';
import type { UwsListenSocket } from './uws.ts';
import { Unsent } from './unsent.ts';
import { Preparing } from './validate.ts';
import type { Caller } from '../caller.ts';

/** Burst, in seconds of the sustained rate. */
const BURST_SEC = 4;
/** Delay after the start until unused schemas are compiled, and interval between two, ms. */
const PREPARE_AFTER_MS = 5000;
const PREPARE_EVERY_MS = 20;

export type HttpConfig = Pick<
  Config,
  | 'host'
  | 'port'
  | 'publicUrl'
  | 'tlsCert'
  | 'tlsKey'
  | 'trustProxy'
  | 'bodyTimeoutMs'
  | 'stopTimeoutMs'
  | 'requestsPerSecMax'
  | 'devicePacketsPerSecMax'
  | 'unsentAnswerBytesMax'
> &
  Partial<Pick<Config, 'sharePort'>>;

/** Runs `work` once per (caller, route, key): a repeat gets the first answer, another body gets idempotency_mismatch. */
export type Idempotency = (
  entry: Readonly<{ caller: Caller; route: string; key: string; fingerprint: string }>,
  work: () => Promise<Reply>,
) => Promise<Reply>;

/** Facts about each answered request. `route` is null for static files, preflights and unknown paths. */
export type Exchange = Readonly<{
  route: Route | null;
  method: string;
  status: number;
  durationMs: number;
  caller: Caller;
  reply: Reply;
  path: string;
  /** '' when the request was refused before it was known. */
  remoteAddress: string;
  requestId: string;
}>;

export type HttpOptions = Readonly<{
  config: HttpConfig;
  routes: readonly Route[];
  sockets?: readonly SocketRoute[];
  statics?: readonly StaticMount[];
  authenticate: Authenticate;
  /** Says whether this process verified the credential before. Absent: never. */
  isVerified?: (request: AuthRequest) => boolean;
  originAllowed?: OriginAllowed;
  idempotency?: Idempotency;
  logger: Logger;
  /** Failed credentials that one address may send per second, and 20 times as many at once. Default 5. */
  authFailuresPerSec?: number;
  tries?: GateOptions['tries'];
  /** Called for every refused credential. */
  onRefused?: GateOptions['onRefused'];
  ticks?: Ticks;
  /** Refuses requests for a path before they are routed; null lets them pass, the default. */
  refuse?: (path: string) => PipelineError | null;
  /** Metrics, audit and the contract check of the tests listen here. */
  observe?: (exchange: Exchange) => void;
}>;

export type HttpServer = Readonly<{
  port: number;
  /** Sends one message to every subscriber of a topic, encoded once. */
  publish: (topic: string, bytes: Uint8Array, isBinary: boolean) => void;
  subscriberCount: (topic: string) => number;
  /** Callers of the sockets that are open now. */
  callers: () => readonly Caller[];
  /** Closes sockets whose caller matches: revoked keys, deleted users. */
  closeSockets: (match: (caller: Caller) => boolean, code: 'credential_invalid' | 'shutting_down' | 'unavailable') => void;
  ticks: Ticks;
  /** Takes no new connection, tells sockets to reconnect, lets requests in flight end, then closes; at most stopTimeoutMs. */
  stop: () => Promise<void>;
}>;

/** No option of uSockets: the port is shared (SO_REUSEPORT). */
const SHARED = 0;

/** Listens. @throws Error naming PORT when the port is in use */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const { config } = options;
  const tls = config.tlsCert !== '';
  const uws = loadUws();
  const app = tls ? uws.SSLApp({ cert_file_name: config.tlsCert, key_file_name: config.tlsKey }) : uws.App();
  uws._cfg('silent'); // no header that names the library and its version
  const ticks = options.ticks ?? new Ticks();
  const checkHost = hostRule(config);
  const peerRules = { tls, trustProxy: config.trustProxy, onlyPeer: onlyPeerOf(config.host, config.trustProxy) };
  const router = new Router<Row>();
  const preparing = new Preparing();
  preparing.add(() => isTimeZone('UTC'));
  for (const route of options.routes) router.add(route.method, route.path, compileRow(route, preparing));
  const limits = {
    api: new RateLimit('api', config.requestsPerSecMax, BURST_SEC),
    ingest: new RateLimit('ingest', config.devicePacketsPerSecMax, BURST_SEC),
  };
  const gate = new CredentialGate(options);
  const originAllowed = options.originAllowed ?? (() => false);
  const unsent = new Unsent(config.unsentAnswerBytesMax, cutNotes(options.logger));
  const socketPaths = new Set((options.sockets ?? []).map((route) => route.path));
  let inFlight = 0;
  let stopping = false;

  const shared = { options, router, socketPaths, peerRules, checkHost, limits, gate, originAllowed, unsent, isStopping: () => stopping };
  const ended = (): void => void (inFlight -= 1);
  app.any('/*', (res, req) => {
    const startedMs = performance.now();
    ticks.runDue(startedMs);
    inFlight += 1;
    void new Incoming(shared, res, req, startedMs).answer(req, ended);
  });

  const lender = (options.sockets ?? []).length === 0 ? null : await openCorkLender(uws);
  const sockets = attachSockets(
    app,
    uws,
    { ...options, gate, originAllowed, ticks, peerRules, checkHost, isStopping: () => stopping },
    lender,
  );
  const listening = await new Promise<UwsListenSocket | false>((resolve) => {
    // Exclusive: without it a second service would share the port (SO_REUSEPORT) and take every other connection.
    app.listen(config.host, config.port, config.sharePort === true ? SHARED : uws.LIBUS_LISTEN_EXCLUSIVE_PORT, resolve);
  });
  if (listening === false) {
    lender?.close();
    throw new Error(`cannot listen on ${config.host}:${config.port}: the port is in use or not allowed. Set PORT to another one.`);
  }
  const port = uws.us_socket_local_port(listening);
  preparing.begin(PREPARE_AFTER_MS, PREPARE_EVERY_MS);

  return {
    port,
    publish: (topic, bytes, isBinary) => void app.publish(topic, bytes, isBinary, false),
    subscriberCount: (topic) => app.numSubscribers(topic),
    callers: sockets.callers,
    closeSockets: sockets.closeMatching,
    ticks,
    stop: async () => {
      if (stopping) return;
      stopping = true;
      preparing.stop();
      uws.us_listen_socket_close(listening);
      sockets.closeMatching(() => true, 'shutting_down');
      const deadlineMs = performance.now() + config.stopTimeoutMs;
      const busy = (): boolean => inFlight > 0 || sockets.count() > 0;
      while (busy() && performance.now() < deadlineMs) await sleep(10);
      sockets.stop();
      ticks.stop();
      lender?.close();
      app.close();
    },
  };
}

/** A line of the log about answers that were cut off, at most one in this time, ms. */
const CUT_NOTED_MS = 60_000;

function cutNotes(logger: Logger): (heldBytes: number) => void {
  let [count, notedMs] = [0, -Infinity];
  return (heldBytes) => {
    count += 1;
    const nowMs = performance.now();
    if (nowMs - notedMs < CUT_NOTED_MS) return;
    logger.warn({ answers: count, heldBytes }, 'answers were cut off: their peers read too slowly (BIO_UNSENT_ANSWER_BYTES_MAX)');
    [count, notedMs] = [0, nowMs];
  };
}
