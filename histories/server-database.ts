/** A database of a server that others use, too, in the place of a PostgreSQL of one's own: what would hit the whole server hits the
 *  connections of this database. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { StagePostgres } from './stage.ts';

export class ServerDatabase implements StagePostgres {
  readonly url: string;
  readonly port: number;
  readonly #server: string;
  readonly #name: string;

  private constructor(server: string, name: string) {
    const url = new URL(server);
    url.pathname = `/${name}`;
    this.url = url.href;
    this.port = Number(url.port);
    this.#server = server;
    this.#name = name;
  }

  /** @param server address of a server on this machine, of a login that may create databases */
  static async create(server: string): Promise<ServerDatabase> {
    const made = new ServerDatabase(server, `histories_${randomUUID().slice(0, 8)}`);
    await made.#tell(`create database ${made.#name}`);
    return made;
  }

  async kill(): Promise<void> {
    await this.#tell(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${this.#name}' and backend_type = 'client backend'`,
    );
  }

  async restart(): Promise<void> {}

  pause(): void {}

  async stop(): Promise<void> {
    await this.#tell(`drop database ${this.#name} with (force)`);
  }

  async #tell(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.#server });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  }
}
