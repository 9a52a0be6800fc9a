/** When SDK keys and project keys were last used, written in batches: a request costs an entry of a set. */
import type { Db } from './api-keys.ts';

/** Keys remembered between two writes; what comes above it is noted with its next use. */
const NOTED_MAX = 10_000;

export class PublicKeyUse {
  readonly #noted = new Set<string>();

  /** @param key of a request that was answered; one that does not exist is not written */
  note(key: string): void {
    if (this.#noted.size < NOTED_MAX) this.#noted.add(key);
  }

  /** Writes what was noted since the last time, in one statement. */
  async flush(db: Db): Promise<void> {
    if (this.#noted.size === 0) return;
    const keys = [...this.#noted];
    this.#noted.clear();
    await db.query(
      `insert into public_key_use (key, project_id, last_used_at)
       select key, project_id, now() from (
         select sdk_key as key, project_id from sdk_key where sdk_key = any($1)
         union select project_key, id from project where project_key = any($1)
         union select previous_project_key, id from project where previous_project_key = any($1)
       ) used
       on conflict (key) do update set last_used_at = excluded.last_used_at`,
      [keys],
    );
  }
}
