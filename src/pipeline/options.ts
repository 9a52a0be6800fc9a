/** What the pipeline is given by server.ts, which knows what the pipeline may not import. */
import type { Config } from '../config.ts';
import type { Conflict } from '../ingest/ingest.ts';
import type { LiveSocketOptions } from '../live/live-socket.ts';
import type { Metrics } from '../metrics.ts';
import type { SubjectId } from '../signal.ts';
import type { Database } from '../storage/database/database.ts';
import type { Ownership } from '../storage/log-ownership.ts';

export type PipelineLogger = Readonly<{ info: Say; warn: Say; error: Say }>;
type Say = (fields: object, message: string) => void;

export type PipelineOptions = Readonly<{
  config: Config;
  /** Acts as the ingest role: the log, streams, samples. */
  database: Database;
  /** Acts as the worker role: what is derived and reported. */
  derived: Database;
  /** Of the packet log. */
  ownership: Ownership;
  metrics: Metrics;
  logger: PipelineLogger;
  resolveSubject: LiveSocketOptions['resolveSubject'];
  /** Has each of these people consented to recording, as far as their project asks for it? */
  mayRecord: (subjectIds: readonly SubjectId[]) => Promise<readonly boolean[]>;
  /** Called when packets were refused because others have their numbers, at most once per stream and minute. */
  onConflict?: (conflict: Conflict) => void;
  watched?: LiveSocketOptions['watched'];
}>;

/** What the server gives once it listens. */
export type PipelineHost = Readonly<{
  publish: (topic: string, bytes: Uint8Array, isBinary: boolean) => void;
  ticks: Readonly<{ every: (periodMs: number, run: () => void) => () => void }>;
}>;
