/** Notes when SDK keys and project keys were last used, and writes it in batches: a request costs one entry in a map. */
import type { Db } from '../storage/database/database.ts';

/** Keys noted between two writes; any more are noted at their next use. */
const NOTED_MAX = 10_000;

export class PublicKeyUse {
  /** By key: performance.now() of its last use. */
  readonly #noted = new Map<string, number>();

  /** @param key from an answered request; a key that does not exist is not written */
  note(key: string): void {
    if (this.#noted.size < NOTED_MAX || this.#noted.has(key)) this.#noted.set(key, performance.now());
  }

  /** Writes everything noted since the last flush, in one statement. */
  async flush(db: Db): Promise<void> {
    if (this.#noted.size === 0) return;
    const noted = [...this.#noted];
    const nowMs = performance.now();
    // SQL: kysely has no unnest of several arrays.
    await db.query(
      `with noted as (select * from unnest($1::text[], $2::float8[]) as noted (key, age))
       insert into public_key_use (key, project_id, last_used_at)
       select key, project_id, now() - make_interval(secs => age) from (
         select sdk_key as key, project_id from sdk_key
         union all select project_key, id from project
         union all select previous_project_key, id from project
       ) known join noted using (key)
       on conflict (key) do update set last_used_at = greatest(public_key_use.last_used_at, excluded.last_used_at)`,
      [noted.map(([key]) => key), noted.map(([, usedMs]) => (nowMs - usedMs) / 1000)],
    );
    for (const [key, usedMs] of noted) if (this.#noted.get(key) === usedMs) this.#noted.delete(key); // not what was used again meanwhile
  }
}
