/** Makes the native partitions that rows need, before they are written. On TimescaleDB chunks come by themselves: does nothing. */
import type pg from 'pg';
import type { Database, Db } from '../database/database.ts';

/** 2001-01-01, where date_bin of sql/000008-partitions.sql starts, in Unix µs. */
const ORIGIN_US = 978_307_200_000_000;

/** Tells every connection again which partitions a table has. On plain PostgreSQL only. */
export async function announcePartitions(db: Db, relation: string): Promise<void> {
  await db.query('select announce_partitions($1)', [relation]);
}

export class Partitions {
  readonly #enabled: boolean;
  readonly #stepUs = new Map<string, number>();
  /** `relation:bin` of the partitions known to exist; they are dropped only by retention, where nothing is written any more. */
  readonly #known = new Set<string>();
  /** Relations of which a partition was missing after all. */
  readonly #doubted = new Set<string>();

  constructor(database: Pick<Database, 'kind'>) {
    this.#enabled = database.kind === 'postgres';
  }

  /** @param times Unix µs; any order. Outside of a transaction: attaching a partition should not wait for our commit. */
  async ensure(client: Pick<pg.ClientBase, 'query'>, relation: string, times: Iterable<number>): Promise<void> {
    if (!this.#enabled) return;
    const step = await this.#step(client, relation);
    let before = NaN;
    for (const us of times) {
      const bin = Math.floor((us - ORIGIN_US) / step);
      if (bin === before) continue;
      before = bin;
      const key = `${relation}:${bin}`;
      if (this.#known.has(key)) continue;
      const at = (ORIGIN_US + bin * step) / 1e6;
      await client.query('select ensure_partitions($1, to_timestamp($2), to_timestamp($2))', [relation, at]);
      this.#known.add(key);
    }
    if (this.#doubted.has(relation)) {
      await announcePartitions(client, relation);
      this.#doubted.delete(relation);
    }
  }

  /** A partition was missing after all (23514): retention dropped it, or the connection does not know it. Look again. */
  forget(): void {
    for (const relation of this.#stepUs.keys()) this.#doubted.add(relation);
    this.#known.clear();
  }

  async #step(client: Pick<pg.ClientBase, 'query'>, relation: string): Promise<number> {
    const known = this.#stepUs.get(relation);
    if (known !== undefined) return known;
    const { rows } = await client.query<{ us: number }>(
      'select (extract(epoch from step) * 1e6)::float8 as us from partition_rule where relation = $1',
      [relation],
    );
    const us = rows[0]!.us;
    this.#stepUs.set(relation, us);
    return us;
  }
}
