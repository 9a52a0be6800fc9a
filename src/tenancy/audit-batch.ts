/** Batches the audit entries that are too many to write one by one: reads, failed sign-ins, minted tokens.
 *
 *  An event is written within FLUSH_MS. Its repeats are counted, and become one entry with a count at the end of the window, so a page that
 *  polls every few seconds does not make a hundred entries. A killed process loses at most the events of FLUSH_MS, and counts of repeats.
 *
 *  Rows that the database cannot take for now are tried again with the next flush, up to ROWS_MAX. Times are stored relative to now, so an
 *  entry written late still has the right time. */
import { failureOf } from '../storage/database/sql-states.ts';
import type { Db } from '../storage/database/database.ts';

const FLUSH_MS = 10_000;
/** Events counted at the same time; above it, windows without repeats are dropped, which only makes entries more frequent. */
const TALLIES_MAX = 20_000;
/** Rows that wait while the database is unavailable, about 10 MB; above it the oldest are lost, and the loss is reported. */
const ROWS_MAX = 20_000;
const ROWS_PER_INSERT = 1000;

/** An event without its time. */
export type BatchEntry = Readonly<{
  orgId: string | null;
  actorKind: string;
  actorId: string;
  action: string;
  targetKind: string;
  targetId: string;
  subjectId: string | null;
  projectId: string | null;
  ip: string | null;
  /** Id of the first request, where several make one entry. */
  requestId: string;
  detail: Readonly<Record<string, string | number>>;
}>;

type Tally = { entry: BatchEntry; readonly windowMs: number; count: number; firstMs: number; lastMs: number; dueMs: number };
/** `sinceMs`: the first of several events, null for a single one. Times of performance.now(). */
type Row = Readonly<{ entry: BatchEntry; detail: object; atMs: number; sinceMs: number | null }>;

export class AuditBatch {
  readonly #db: Db;
  readonly #onError: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #tallies = new Map<string, Tally>();
  #rows: Row[] = [];
  #flushing: Promise<void> = Promise.resolve();

  constructor(db: Db, onError: (error: unknown) => void) {
    this.#db = db;
    this.#onError = onError;
    // job: audit-flush: writes the reads and refusals that wait for the audit log, every 10 s
    this.#timer = setInterval(() => void this.flush().catch(onError), FLUSH_MS);
    this.#timer.unref();
  }

  /** Counts an event.  @param key the same for repeats  @param entryOf called for the first event of an entry  @param windowMs repeats
   *  within this time are one entry */
  count(key: string, entryOf: () => BatchEntry, windowMs: number): void {
    const nowMs = performance.now();
    const tally = this.#tallies.get(key);
    if (tally !== undefined) {
      if (tally.count === 0) {
        tally.entry = entryOf();
        tally.firstMs = nowMs;
      }
      tally.count += 1;
      tally.lastMs = nowMs;
      return;
    }
    if (this.#tallies.size >= TALLIES_MAX) this.#forget();
    this.#tallies.set(key, { entry: entryOf(), windowMs, count: 1, firstMs: nowMs, lastMs: nowMs, dueMs: 0 });
  }

  /** Adds an entry that has no repeats.  @param atMs time of the event, from performance.now() */
  add(entry: BatchEntry, atMs: number): void {
    this.#keep([{ entry, detail: entry.detail, atMs, sinceMs: null }]);
  }

  /** Writes what is due, once an earlier flush has finished. Rejects when the database fails; nothing is lost then. */
  flush(): Promise<void> {
    this.#take(performance.now());
    return this.#write();
  }

  /** Writes everything. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#take(Infinity);
    await this.#write().catch(() => this.#write()); // a connection that was lost is replaced
  }

  #take(nowMs: number): void {
    const due: Row[] = [];
    for (const [key, tally] of this.#tallies) {
      if (tally.dueMs > nowMs) continue;
      if (tally.count === 0) this.#tallies.delete(key);
      else {
        due.push(rowOf(tally));
        tally.count = 0;
        tally.dueMs = nowMs + tally.windowMs;
      }
    }
    this.#keep(due);
  }

  #keep(rows: readonly Row[]): void {
    this.#rows.push(...rows);
    const lost = this.#rows.length - ROWS_MAX;
    if (lost <= 0) return;
    this.#rows.splice(0, lost);
    this.#onError(new Error(`${lost} entries of the audit log are lost: the database takes none`));
  }

  /** Makes room: drops windows without repeats. When every window has something to write, writes those into rows first. */
  #forget(): void {
    for (const [key, { count }] of this.#tallies) if (count === 0) this.#tallies.delete(key);
    if (this.#tallies.size < TALLIES_MAX) return;
    this.#keep([...this.#tallies.values()].map(rowOf));
    this.#tallies.clear();
    this.#write().catch(this.#onError);
  }

  #write(): Promise<void> {
    this.#flushing = this.#flushing.catch(() => undefined).then(() => this.#writeRows());
    return this.#flushing;
  }

  async #writeRows(): Promise<void> {
    // All nodes take organizations in the same order, because each row locks its organization's chain.
    const rows = this.#rows.toSorted((a, b) => ((a.entry.orgId ?? '') < (b.entry.orgId ?? '') ? -1 : 1));
    this.#rows = [];
    for (let from = 0; from < rows.length; from += ROWS_PER_INSERT) {
      const some = rows.slice(from, from + ROWS_PER_INSERT);
      try {
        await this.#insert(some);
      } catch (error) {
        if (isRefusal(error)) await this.#oneByOne(some);
        else {
          this.#keep(rows.slice(from));
          throw error;
        }
      }
    }
  }

  /** Writes rows singly, so that one the database will never take does not hold up the others. */
  async #oneByOne(rows: readonly Row[]): Promise<void> {
    for (const [i, row] of rows.entries()) {
      try {
        await this.#insert([row]);
      } catch (error) {
        this.#onError(error);
        if (isRefusal(error)) continue;
        this.#keep(rows.slice(i));
        return;
      }
    }
  }

  async #insert(rows: readonly Row[]): Promise<void> {
    const nowMs = performance.now();
    const age = (ms: number | null): number | null => (ms === null ? null : Math.max(0, nowMs - ms) / 1000);
    // SQL: kysely has no unnest of several arrays, and 1000 rows as values would be 13,000 parameters.
    await this.#db.query(
      `insert into audit_log (time, organization_id, actor_kind, actor_id, action, target_kind, target_id, subject_id, project_id, ip, request_id, detail)
       select now() - make_interval(secs => age), o, k, a, act, tk, t, s, p, i::inet, r,
         case when since is null then d else d || jsonb_build_object('since', to_json(now() - make_interval(secs => since))) end
       from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::uuid[], $9::text[], $10::text[],
         $11::jsonb[], $12::float8[], $13::float8[]) as entry (o, k, a, act, tk, t, s, p, i, r, d, age, since)`,
      [
        rows.map(({ entry }) => entry.orgId),
        rows.map(({ entry }) => entry.actorKind),
        rows.map(({ entry }) => entry.actorId),
        rows.map(({ entry }) => entry.action),
        rows.map(({ entry }) => entry.targetKind),
        rows.map(({ entry }) => entry.targetId),
        rows.map(({ entry }) => entry.subjectId),
        rows.map(({ entry }) => entry.projectId),
        rows.map(({ entry }) => entry.ip),
        rows.map(({ entry }) => entry.requestId),
        rows.map(({ detail }) => JSON.stringify(detail)),
        rows.map(({ atMs }) => age(atMs)),
        rows.map(({ sinceMs }) => age(sinceMs)),
      ],
    );
  }
}

function rowOf({ entry, count, firstMs, lastMs }: Tally): Row {
  return { entry, detail: { ...entry.detail, count }, atMs: lastMs, sinceMs: count === 1 ? null : firstMs };
}

/** Is one of the rows at fault, rather than the connection or the server? */
function isRefusal(error: unknown): boolean {
  const failure = failureOf(error);
  return failure === 'bad_row' || failure === 'duplicate';
}
