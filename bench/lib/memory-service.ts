/** The service without a database: real sockets, real admission, real frames; "durable" is a timer. For tests of ingest and live, and for
 *  benches that ask what the network side alone costs. */
import type { Config } from '../../src/config.ts';
import { readConfig } from '../../src/config.ts';
import type { Rejected } from '../../src/errors.ts';
import { PipelineError, rejected } from '../../src/errors.ts';
import type { Caller } from '../../src/caller.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { startHttp } from '../../src/http/server.ts';
import { IngestSockets } from '../../src/ingest/ingest-socket.ts';
import { Ingest } from '../../src/ingest/ingest.ts';
import { postRawPacket } from '../../src/ingest/post-raw-packet.ts';
import type { Session } from '../../src/ingest/session.ts';
import type { Admitted, PacketSink, StreamName, StreamRecord, StreamRequest } from '../../src/ingest/sink.ts';
import { Hub } from '../../src/live/hub.ts';
import { liveSocketRoute } from '../../src/live/live-socket.ts';
import type { LiveSocketOptions } from '../../src/live/live-socket.ts';
import type { Metrics } from '../../src/metrics.ts';
import type { OrgId, ProjectId, StreamId, SubjectId } from '../../src/signal.ts';

/** The one organization key of this service; `user:<subject>:<expires at, ms>` are its user tokens. */
export const KEY = 'org_test_key';

export class MemorySink implements PacketSink {
  readonly hub: Hub;
  /** Durable packets by session key; kept for tests, not for benches. */
  readonly stored = new Map<string, Set<number>>();
  readonly #hashes = new Map<StreamId, Map<number, number>>();
  readonly #records = new Map<string, StreamRecord>();
  readonly #commitMs: number;
  readonly #ledger: boolean;
  #batch: { promise: Promise<void>; done: (error: Error | null) => void } | null = null;
  /** Set by tests. */
  mode: 'normal' | 'busy' | 'failing' = 'normal';
  openDelayMs = 0;
  packetCount = 0;
  sampleCount = 0;
  #streamId = 0;

  constructor(hub: Hub, commitMs: number, ledger: boolean) {
    this.hub = hub;
    this.#ledger = ledger;
    this.#commitMs = commitMs;
  }

  async openStream(request: StreamRequest): Promise<StreamRecord | Rejected> {
    if (this.openDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.openDelayMs));
    const subjectId = (request.subject === '' ? `subject-${request.deviceId}` : request.subject) as SubjectId;
    if (request.caller.kind === 'user' && request.caller.subjectId !== subjectId) return rejected('not_found', 'no such subject');
    const key = `${request.deviceId}/${request.bootId}`;
    const known = this.#records.get(key);
    const record: StreamRecord = {
      streamId: known?.streamId ?? (++this.#streamId as StreamId),
      orgId: 'o1' as OrgId,
      projectId: 'p1' as ProjectId,
      subjectId: known?.subjectId ?? subjectId,
      epochNs: known?.epochNs ?? request.epochNs,
      timeSource: known?.timeSource ?? request.timeSource,
      expiring: [],
      channels: known?.channels ?? [],
      seqRanges: [...(this.stored.get(key) ?? [])].sort((a, b) => a - b).map((seq) => [seq, seq] as const),
      node: '',
    };
    this.#records.set(key, record);
    return record;
  }

  async isRecorded({ deviceId, bootId }: StreamName): Promise<boolean> {
    return await Promise.resolve(this.#records.has(`${deviceId}/${bootId}`));
  }

  nodeUrlOf(): string {
    return '';
  }

  noteClock(): void {}

  accept(session: Session, admitted: Admitted): Promise<void> | 'busy' {
    if (this.mode === 'busy') return 'busy';
    this.hub.push(session, admitted.runs);
    this.packetCount++;
    for (const run of admitted.runs) this.sampleCount += run.samples.length;
    const batch = (this.#batch ??= this.#newBatch());
    if (!this.#ledger) return batch.promise;
    const key = `${session.deviceId}/${session.bootId}`;
    void batch.promise.then(
      () => {
        const seqs = this.stored.get(key) ?? new Set();
        this.stored.set(key, seqs);
        const hashes = this.#hashes.get(session.streamId) ?? new Map<number, number>();
        this.#hashes.set(session.streamId, hashes.set(admitted.seq, admitted.contentHash));
        return seqs.add(admitted.seq);
      },
      () => undefined,
    );
    return batch.promise;
  }

  #newBatch(): { promise: Promise<void>; done: (error: Error | null) => void } {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined);
    const done = (error: Error | null): void => (error === null ? resolve() : reject(error));
    setTimeout(() => {
      this.#batch = null;
      done(this.mode === 'failing' ? new PipelineError('unavailable', 'the database is away') : null);
    }, this.#commitMs);
    return { promise, done };
  }

  async packetHashes(streamId: StreamId, firstSeq: number, count: number): Promise<Float64Array> {
    await Promise.resolve();
    return Float64Array.from({ length: count }, (_, i) => this.#hashes.get(streamId)?.get(firstSeq + i) ?? NaN);
  }

  hurry(): void {}

  async closeStream(): Promise<void> {
    await Promise.resolve();
  }
}

export type MemoryService = Readonly<{
  port: number;
  baseUrl: string;
  http: HttpServer;
  hub: Hub;
  sink: MemorySink;
  ingest: Ingest;
  sockets: IngestSockets;
  stop: () => Promise<void>;
}>;

export async function startMemoryService(
  options: {
    port?: number;
    commitMs?: number;
    ledger?: boolean;
    config?: Partial<Config>;
    metrics?: Metrics;
    /** Another answer to who may be seen, and frames of another node. */
    live?: Partial<Pick<LiveSocketOptions, 'resolveSubject' | 'fetchFrames'>>;
  } = {},
): Promise<MemoryService> {
  const config: Config = { ...readConfig({}), port: options.port ?? 0, devicePacketsPerSecMax: 20_000, ...options.config };
  let http: HttpServer | null = null;
  const hub = new Hub(config, (topic, bytes) => http?.publish(topic, bytes, true), options.metrics ?? null);
  const sink = new MemorySink(hub, options.commitMs ?? 10, options.ledger ?? true);
  const ingest = new Ingest(sink, config, options.metrics ?? null);
  const sockets = new IngestSockets(ingest);
  const live = liveSocketRoute({
    hub,
    viewerQueueBytesMax: config.viewerQueueBytesMax,
    socketsMax: { user: config.userLiveSocketsMax, key: config.keyLiveSocketsMax },
    resolveSubject: async (caller, subject) => {
      await Promise.resolve();
      if (subject === 'nobody' || (caller.kind === 'user' && caller.subjectId !== subject)) return null;
      return subject as SubjectId;
    },
    ...options.live,
  });
  http = await startHttp({
    config,
    routes: [postRawPacket(ingest)],
    sockets: [sockets.route(), live],
    authenticate: ({ bearer }) => callerOf(bearer),
    logger: quiet,
  });
  const started = http;
  const stops = [started.ticks.every(10, () => hub.tick(performance.now())), started.ticks.every(1000, () => ingest.sweep())];
  return {
    port: started.port,
    baseUrl: `http://127.0.0.1:${started.port}`,
    http: started,
    hub,
    sink,
    ingest,
    sockets,
    stop: async () => {
      await sockets.drain(performance.now() + 2000);
      for (const stop of stops) stop();
      await started.stop();
    },
  };
}

function callerOf(bearer: string | null): Caller {
  if (bearer === null) return { kind: 'anonymous' };
  if (bearer === KEY) return { kind: 'key', keyId: 'k1', orgId: 'o1', scopes: ['ingest', 'read'], projectId: null, subjectId: null };
  const [kind, subjectId, expires] = bearer.split(':');
  if (kind !== 'user' || subjectId === undefined) throw new PipelineError('credential_invalid', 'unknown');
  return { kind: 'user', orgId: 'o1', projectId: 'p1', subjectId, jti: 'j', expiresAtMs: Number(expires ?? Date.now() + 3_600_000) };
}

const noop = (): void => undefined;
const quiet = { debug: noop, info: noop, warn: noop, error: noop };
