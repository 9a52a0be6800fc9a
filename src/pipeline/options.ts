/** Options of the pipeline. server.ts provides them, since the pipeline may not import the folders behind them. */
import type { Config } from '../config.ts';
import type { Rejected } from '../errors.ts';
import type { Conflict } from '../ingest/ingest.ts';
import type { PacketSink, StreamRequest } from '../ingest/sink.ts';
import type { LiveSocketOptions } from '../live/live-socket.ts';
import type { Metrics } from '../metrics.ts';
import type { SubjectId } from '../signal.ts';
import type { Database } from '../storage/database/database.ts';
import type { LogOwner } from '../storage/log-ownership.ts';

export type PipelineLogger = Readonly<{ info: Say; warn: Say; error: Say }>;
type Say = (fields: object, message: string) => void;

export type PipelineOptions = Readonly<{
  config: Config;
  /** Connects as the ingest role: writes log, streams and samples. */
  database: Database;
  /** Connects as the worker role: writes beats, features, measurements and events. */
  derived: Database;
  /** Ownership of the packet log, or of some of its partitions. */
  ownership: LogOwner;
  metrics: Metrics;
  logger: PipelineLogger;
  resolveSubject: LiveSocketOptions['resolveSubject'];
  /** Whether each subject may be recorded: the person has consented, or the project requires no consent. */
  mayRecord: (subjectIds: readonly SubjectId[]) => Promise<readonly boolean[]>;
  /** Called when packets are refused because their sequence numbers are taken; at most once per stream and minute. */
  onConflict?: (conflict: Conflict) => void;
  watched?: LiveSocketOptions['watched'];
  fetchFrames?: LiveSocketOptions['fetchFrames'];
  reachesFrames?: LiveSocketOptions['reachesFrames'];
  /** Where packets go first, on one of several nodes. Default: to this node. @param subjectOf whom a stream would record */
  route?: (local: PacketSink, subjectOf: (request: StreamRequest) => Promise<Readonly<{ subjectId: SubjectId }> | Rejected>) => PacketSink;
}>;

/** Functions of the server, available once it listens. */
export type PipelineHost = Readonly<{
  publish: (topic: string, bytes: Uint8Array, isBinary: boolean) => void;
  ticks: Readonly<{ every: (periodMs: number, run: () => void) => () => void }>;
}>;
