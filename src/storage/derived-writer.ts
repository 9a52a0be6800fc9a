/** Queues and stores everything that is not samples: beats and features that the service derives, as minutes (derived-store.ts),
 *  measurements and events that devices report (reported-rows.ts).
 *
 *  Rows are written in the order in which they were added, many in one transaction, so no reader sees a range empty that is replaced.
 *  Complete minutes go by COPY; if the table already has one of them (23505: a replay) the batch is written again through temporary
 *  tables, joined with what is there. Writing twice has the effect of writing once.
 *
 *  A row that the database cannot store is set aside and the others are stored. A replacement with such a row is written in pieces, so a
 *  reader may briefly see its range half done.
 *
 *  Modes: `open` takes rows and stores them one batch at a time; rows that arrive meanwhile form the next batch. `closed`: everything is
 *  stored, and adding rows is an error. `abandoned`, for good: takes rows only to forget them, and ends the current batch without storing
 *  it. Promises for rows of later batches never resolve, and no checkpoint is saved any more. */
import assert from 'node:assert/strict';
import type pg from 'pg';
import type { StreamId } from '../signal.ts';
import { PipelineError } from '../errors.ts';
import type { Database } from './database/database.ts';
import { halveSteps, lettersOfSteps, rangesApart } from './derived-steps.ts';
import type { DerivedRows, Step } from './derived-steps.ts';
import { DerivedStore, StaleStreams } from './derived-store.ts';
import { beginHeld, withoutErased } from './erased-streams.ts';
import { LetterBox } from './letter-box.ts';
import {
  ensureReportedPartitions,
  halveReported,
  lettersOfReported,
  NOTHING_REPORTED,
  reportedCount,
  writeReported,
} from './reported-rows.ts';
import type { Logged, ReportedEvent, ReportedMeasurement, ReportedRows } from './reported-rows.ts';
import { Partitions } from './schema/partitions.ts';
import { reasonOf } from './set-aside.ts';
import type { Letter } from './set-aside.ts';
import { storeOrSetAside } from './store-or-set-aside.ts';
import { WriterConnection } from './database/writer-connection.ts';

/** Rows that are written together. */
type Batch = Readonly<{ steps: readonly Step[]; reported: ReportedRows }>;

export type DerivedWriterOptions = Readonly<{
  /** Codes of the methods that this release computes: replacing a range deletes their rows and leaves those of other versions alone. */
  currentMethods: readonly string[];
  /** Cadence of features by name, Hz, for the catalog of methods. */
  cadences?: Readonly<Record<string, number>>;
  /** Steps of values by method code, for the catalog; those of beats are of their intervals, ms. Default: thousandths. */
  valueSteps?: Readonly<Record<string, number>>;
  /** Units of features by name, UCUM: of those that no biosignal of the catalog shows. */
  units?: Readonly<Record<string, string>>;
  /** Limit of rows not yet stored, bytes; above it `full` is true. Default 32 MiB. */
  queueBytesMax?: number;
  /** A batch starts this long after its first row, ms. Default 200. */
  lingerMs?: number;
  /** A stream that nothing came of for so long has its open minutes stored as rows, ms. Default 90,000. */
  idleMs?: number;
  /** Called with what is being retried: once, until something is stored again. */
  onFault?: (message: string, cause: unknown) => void;
  /** Called with what was set aside. */
  onSetAside?: (letters: readonly Letter[]) => void;
}>;

const IDLE_MS = 90_000;
/** Times that a batch is begun again because another process wrote to the same streams. */
const STALE_ATTEMPTS_MAX = 10;
/** Approximate memory per queued row, bytes. */
const ROW_BYTES = 100;

export class DerivedWriter {
  readonly #queueBytesMax: number;
  readonly #lingerMs: number;
  readonly #onFault: (message: string, cause: unknown) => void;
  readonly #letters: LetterBox;
  readonly #connection: WriterConnection;
  readonly #partitions: Partitions;
  readonly #minutes: DerivedStore;
  readonly #idleTimer: NodeJS.Timeout;
  #steps: Step[] = [];
  #measurements: Logged<ReportedMeasurement>[] = [];
  #events: Logged<ReportedEvent>[] = [];
  #reportedDone: (() => void)[] = [];
  #queueBytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #mode: 'open' | 'closed' | 'abandoned' = 'open';

  constructor(database: Database, options: DerivedWriterOptions) {
    this.#queueBytesMax = options.queueBytesMax ?? 32 * 1024 * 1024;
    this.#lingerMs = options.lingerMs ?? 200;
    this.#onFault = options.onFault ?? (() => {});
    this.#partitions = new Partitions(database);
    const { currentMethods, cadences = {}, valueSteps = {}, units = {} } = options;
    this.#minutes = new DerivedStore(this.#partitions, { currentMethods, cadences, valueSteps, units, onFault: this.#onFault });
    this.#connection = new WriterConnection(database, {
      onRetry: (error) => this.#onFault(`derived rows: ${error.message}: it is tried again`, error),
    });
    this.#letters = new LetterBox(this.#connection, {
      label: 'derived rows',
      onFault: options.onFault,
      onSetAside: options.onSetAside,
      isStopped: () => this.#mode !== 'open',
    });
    const idleMs = options.idleMs ?? IDLE_MS;
    // job: derived-minutes: stores minutes of streams that nothing was written to for a while
    this.#idleTimer = setInterval(() => this.#complete(performance.now() - idleMs), idleMs / 4).unref();
  }

  /** Not yet stored, bytes. */
  get queueBytes(): number {
    return this.#queueBytes;
  }

  get full(): boolean {
    return this.#queueBytes > this.#queueBytesMax;
  }

  /** Adds rows of one stream. @returns when they are stored; never rejects */
  add(rows: DerivedRows, epochNs: bigint): Promise<void> {
    if (rows.beats.length === 0 && rows.features.length === 0 && rows.replaces === null) return Promise.resolve();
    return new Promise((done) => {
      this.#steps.push({ epochNs, rows, completes: false, done });
      this.#queued(rows.beats.length + rows.features.length);
    });
  }

  /** Adds the measurements and events of a packet. @param logPosition of the packet  @returns when they are stored; never rejects */
  addReported(
    measurements: readonly ReportedMeasurement[],
    events: readonly ReportedEvent[],
    logPosition: number | null = null,
  ): Promise<void> {
    if (measurements.length === 0 && events.length === 0) return Promise.resolve();
    return new Promise((done) => {
      for (const row of measurements) this.#measurements.push({ ...row, logPosition });
      for (const row of events) this.#events.push({ ...row, logPosition });
      this.#reportedDone.push(done);
      this.#queued(measurements.length + events.length);
    });
  }

  async flush(): Promise<void> {
    while (this.#steps.length > 0 || this.#reportedDone.length > 0 || this.#writing !== null) {
      this.#startWriting();
      await this.#writing;
    }
  }

  async close(): Promise<void> {
    await this.flush();
    this.#complete(Infinity);
    await this.flush();
    await this.#end('closed');
  }

  /** Stores everything, and the open minutes of some streams as if they were over: another writer goes on with them. */
  async leave(isLeft: (streamId: StreamId) => boolean): Promise<void> {
    await this.flush();
    const left = this.#minutes.untouched(Infinity).filter(isLeft);
    for (const streamId of left) this.#completeStream(streamId);
    await this.flush();
    this.#minutes.forget(left);
  }

  /** Ends without storing: the next owner of the log has the packets and recomputes the rows. */
  async abandon(): Promise<void> {
    this.#steps = [];
    this.#measurements = [];
    this.#events = [];
    this.#reportedDone = [];
    await this.#end('abandoned');
  }

  /** What is open of streams that nothing was written to since is over, unless a step of theirs waits: a database that is unavailable for
   *  hours would collect one for each stream and call.  @param beforeMs of performance.now() */
  #complete(beforeMs: number): void {
    const waiting = new Set(this.#steps.map(({ rows }) => rows.streamId));
    for (const streamId of this.#minutes.untouched(beforeMs)) {
      if (!waiting.has(streamId)) this.#completeStream(streamId);
    }
    if (this.#steps.length > 0) this.#queued(0);
  }

  #completeStream(streamId: StreamId): void {
    this.#steps.push({ epochNs: 0n, rows: { streamId, beats: [], features: [], replaces: null }, completes: true, done: () => {} });
  }

  async #end(mode: 'closed' | 'abandoned'): Promise<void> {
    assert(this.#steps.length === 0 && this.#reportedDone.length === 0, 'the writer of derived rows was ended with rows that wait');
    if (this.#mode === 'open') this.#mode = mode;
    if (this.#timer !== null) clearTimeout(this.#timer);
    clearInterval(this.#idleTimer);
    await this.#connection.close();
  }

  #queued(rowCount: number): void {
    assert(this.#mode !== 'closed', 'derived rows came after their writer was closed');
    this.#queueBytes += rowCount * ROW_BYTES;
    if (this.#writing === null && this.#mode === 'open') this.#timer ??= setTimeout(() => this.#startWriting(), this.#lingerMs);
  }

  #startWriting(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#writing !== null || (this.#steps.length === 0 && this.#reportedDone.length === 0)) return;
    const steps = this.#steps;
    const reported = { measurements: this.#measurements, events: this.#events };
    const done = [...steps.map((step) => step.done), ...this.#reportedDone];
    const bytes = this.#queueBytes;
    this.#steps = [];
    this.#measurements = [];
    this.#events = [];
    this.#reportedDone = [];
    this.#writing = this.#store({ steps, reported }).finally(() => {
      assert(this.#queueBytes >= bytes, 'more derived rows were stored than were taken');
      this.#queueBytes -= bytes;
      this.#writing = null;
      for (const resolve of done) resolve();
      if (this.#steps.length > 0 || this.#reportedDone.length > 0) this.#queued(0);
    });
  }

  #store(batch: Batch): Promise<void> {
    return storeOrSetAside(batch, false, {
      write: (part, careful) => this.#write(part, careful),
      halve,
      apart,
      setAside: (part, why) => this.#letters.put(lettersOf(part, why)),
      forgetPartitions: () => this.#partitions.forget(),
      isStopped: () => this.#mode !== 'open',
      onFault: (error) => this.#letters.fault(error),
    });
  }

  async #write({ steps, reported }: Batch, careful: boolean): Promise<void> {
    await this.#connection.run(async (client) => {
      await ensureReportedPartitions(this.#partitions, client, reported);
      const committed = await this.#beginWithSteps(client, steps, careful);
      await writeReported(client, {
        measurements: await withoutErased(client, reported.measurements, ({ streamId }) => streamId),
        events: await withoutErased(client, reported.events, ({ streamId }) => streamId),
      });
      await client.query('commit');
      committed?.();
    });
    this.#letters.stored();
  }

  /** @returns to be called after the commit */
  async #beginWithSteps(client: pg.Client, steps: readonly Step[], careful: boolean): Promise<(() => void) | null> {
    for (let attempt = 1; ; attempt++) {
      await this.#minutes.prepare(client, steps);
      await beginHeld(client);
      try {
        const kept = await withoutErased(client, steps, ({ rows }) => rows.streamId);
        if (kept.length < steps.length) this.#minutes.forget(steps.filter((step) => !kept.includes(step)).map(({ rows }) => rows.streamId));
        return kept.length === 0 ? null : await this.#minutes.write(client, kept, careful);
      } catch (error) {
        if (!(error instanceof StaleStreams)) throw error;
        await client.query('rollback');
        this.#minutes.forget(error.streamIds);
        if (attempt === STALE_ATTEMPTS_MAX) throw new PipelineError('unavailable', error.message, { cause: error });
      }
    }
  }
}

function halve({ steps, reported }: Batch): readonly [Batch, Batch] | null {
  if (steps.length > 0 && reportedCount(reported) > 0)
    return [
      { steps, reported: NOTHING_REPORTED },
      { steps: [], reported },
    ];
  const halves = halveSteps(steps);
  if (halves !== null)
    return [
      { steps: halves[0], reported },
      { steps: halves[1], reported },
    ];
  const reportedHalves = halveReported(reported);
  return reportedHalves === null
    ? null
    : [
        { steps, reported: reportedHalves[0] },
        { steps, reported: reportedHalves[1] },
      ];
}

/** See rangesApart. */
function apart({ steps, reported }: Batch): readonly [Batch | null, Batch] {
  const [ranges, rows] = rangesApart(steps);
  return [ranges === null ? null : { steps: ranges, reported: NOTHING_REPORTED }, { steps: rows, reported }];
}

function lettersOf({ steps, reported }: Batch, why: unknown): Letter[] {
  const reason = reasonOf(why);
  return [...lettersOfSteps(steps, reason), ...lettersOfReported(reported, reason)];
}
