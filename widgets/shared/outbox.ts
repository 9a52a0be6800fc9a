/** Keeps the entries of a person until the service has them: exactly once, through lost connections, closed tabs and reloads.
 *
 *  Every entry carries its own Idempotency-Key from the start, so sending it twice is harmless. Entries lie in IndexedDB under the user
 *  they belong to; only a session of that user sends them. Where there is no IndexedDB (private windows) they live as long as the page. A
 *  refusal that repeating cannot fix (400, 404, 422 …) is kept as `failed` and shown, never dropped silently.
 *
 *  What lies there is plain text: a key next to it would be read by whatever reads it (SECURITY.md). So it does not lie there long: a day
 *  once another person uses the service on this device, a month otherwise. */
import { ApiError } from '../../sdk/fetch-json.ts';
import type { Session } from './session.ts';

export type Entry = Readonly<{ id: string; owner: string; kind: string; path: string; body: unknown; createdMs: number; failed: boolean }>;

const DATABASE = 'bio-outbox';
const STORE = 'entries';
const AGAIN_MS = 15_000;
/** How long an entry waits, and how long one of another user of this device. */
const LIFE_DAYS = 30;
const LIFE_DAYS_OF_OTHERS = 1;
const DAY_MS = 86_400_000;

const memory = new Map<string, Entry>();
let database: Promise<IDBDatabase | null> | null = null;

function open(): Promise<IDBDatabase | null> {
  database ??= new Promise((resolve) => {
    try {
      const request = indexedDB.open(DATABASE, 1);
      request.addEventListener('upgradeneeded', () => request.result.createObjectStore(STORE, { keyPath: 'id' }));
      request.addEventListener('success', () => resolve(request.result));
      request.addEventListener('error', () => resolve(null));
    } catch {
      resolve(null);
    }
  });
  return database;
}

async function run<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | null> {
  const db = await open();
  if (db === null) return null;
  return new Promise((resolve, reject) => {
    const transaction = db.transaction(STORE, mode, { durability: 'strict' });
    const request = work(transaction.objectStore(STORE));
    transaction.addEventListener('complete', () => resolve(request.result));
    transaction.addEventListener('error', () => reject(transaction.error ?? new Error('outbox')));
    transaction.addEventListener('abort', () => reject(transaction.error ?? new Error('outbox')));
  });
}

async function put(entry: Entry): Promise<void> {
  if ((await open()) === null) memory.set(entry.id, entry);
  else await run('readwrite', (store) => store.put(entry));
}

async function remove(id: string): Promise<void> {
  memory.delete(id);
  await run('readwrite', (store) => store.delete(id));
}

/** Those of a user, the oldest first. What has lain here too long is removed, whosever it is. */
async function entriesOf(owner: string): Promise<Entry[]> {
  const stored = (await run('readonly', (store) => store.getAll() as IDBRequest<Entry[]>)) ?? [...memory.values()];
  for (const entry of stored) {
    const days = entry.owner === owner ? LIFE_DAYS : LIFE_DAYS_OF_OTHERS;
    if (Date.now() - entry.createdMs > days * DAY_MS) await remove(entry.id);
  }
  return stored.filter((entry) => entry.owner === owner).toSorted((a, b) => a.createdMs - b.createdMs);
}

export class Outbox {
  readonly #session: Session;
  readonly #kind: string;
  readonly #onChange: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;
  /** Entries of this kind that the service does not have yet. */
  waiting: readonly Entry[] = [];

  /** @param kind which widget's entries to count, e.g. `mood`  @param onChange called when `waiting` changed or an entry was accepted */
  constructor(session: Session, kind: string, onChange: () => void) {
    this.#session = session;
    this.#kind = kind;
    this.#onChange = onChange;
    globalThis.addEventListener('online', this.#flushNow);
    void this.flush();
  }

  /** Keeps the entry, then tries to send it. Settles when it is safe on this device.
   *  @returns the service's answer when it took the entry at once, else null */
  async add(address: string, body: unknown): Promise<unknown> {
    const entry: Entry = {
      id: crypto.randomUUID(),
      owner: await this.#owner(),
      kind: this.#kind,
      path: address,
      body,
      createdMs: Date.now(),
      failed: false,
    };
    await put(entry);
    return this.#sendAll(entry.id);
  }

  flush = (): Promise<unknown> => this.#sendAll(null);
  readonly #flushNow = (): void => void this.flush();

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    globalThis.removeEventListener('online', this.#flushNow);
  }

  async #owner(): Promise<string> {
    const { subjectId } = await this.#session.identity();
    return `${new URL(this.#session.baseUrl).origin} ${subjectId}`;
  }

  /** In order, one at a time, and by one tab at a time: an amendment must not overtake what it amends. */
  async #sendAll(wanted: string | null): Promise<unknown> {
    let answer: unknown = null;
    clearTimeout(this.#timer);
    try {
      const owner = await this.#owner();
      await exclusively(async () => {
        for (const entry of await entriesOf(owner)) {
          if (entry.failed || this.#closed) continue;
          const outcome = await this.#send(entry);
          if (outcome === 'later') break;
          if (entry.id === wanted) answer = outcome.answer;
        }
      });
      this.waiting = (await entriesOf(owner)).filter((entry) => entry.kind === this.#kind);
    } catch {
      // No identity or no storage now; the next round tries again.
    }
    if (this.#closed) return answer;
    if (this.waiting.some((entry) => !entry.failed)) this.#timer = setTimeout(this.#flushNow, AGAIN_MS);
    this.#onChange();
    return answer;
  }

  async #send(entry: Entry): Promise<'later' | { answer: unknown }> {
    try {
      const answer = await this.#session.send(entry.path, entry.body, { idempotencyKey: entry.id });
      await remove(entry.id);
      return { answer };
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 0;
      if (status < 400 || status === 401 || status === 408 || status === 429 || status >= 500) return 'later';
      await put({ ...entry, failed: true });
      return { answer: null };
    }
  }
}

async function exclusively(work: () => Promise<void>): Promise<void> {
  const locks = globalThis.navigator.locks as LockManager | undefined;
  if (locks === undefined) await work();
  else await locks.request('bio-outbox', work);
}
