/** A service and a database that nothing happens to: what it computes of packets that come once and in order is what must come out. */
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { asOldPacket, postClean } from '../faults/lib/clean-run.ts';
import { PrivatePostgres } from '../faults/lib/private-postgres.ts';
import { createOrganization } from '../src/auth/organizations.ts';
import { readConfig } from '../src/config.ts';
import { startService } from '../src/server.ts';
import { openDatabase } from '../src/storage/database/database.ts';
import { derivedRows } from './rows.ts';
import type { Rows } from './rows.ts';
import type { Boot } from './oracle.ts';

const BATCH_PACKETS = 100;

export class Clean {
  readonly #folder: string;
  readonly #postgres: PrivatePostgres;

  private constructor(folder: string, postgres: PrivatePostgres) {
    this.#folder = folder;
    this.#postgres = postgres;
  }

  static async start(): Promise<Clean> {
    const folder = join(tmpdir(), `biosignal-clean-${randomUUID().slice(0, 8)}`);
    return new Clean(folder, await PrivatePostgres.start(folder, { fsync: 'off', synchronous_commit: 'off' }));
  }

  /** Beats and values of what was acknowledged, by device and boot. */
  async rowsOf(boots: readonly Boot[]): Promise<Rows> {
    const quiet = (): void => undefined;
    const errors: string[] = [];
    const service = await startService({
      config: readConfig({
        DATABASE_URL: this.#postgres.url,
        PORT: '0',
        BIO_REQUESTS_PER_SEC_MAX: '100000',
        BIO_KEY_STREAMS_PER_MIN_MAX: '100000',
        BIO_DSP_IDLE_FLUSH_MS: '600000',
        BIO_DSP_TASK_TIMEOUT_MS: '60000',
        BIO_STOP_TIMEOUT_MS: '600000',
      }),
      logger: { debug: quiet, info: quiet, warn: quiet, error: (_, message) => void errors.push(message) },
    });
    try {
      const database = await openDatabase(this.#postgres.url);
      const { apiKey } = await createOrganization(database.pool, 'clean');
      await database.close();
      for (const { sent } of boots) {
        const packets = sent.filter(({ accepted }) => accepted).sort((a, b) => Number(a.packet.t0DeviceNs - b.packet.t0DeviceNs));
        for (let at = 0; at < packets.length; at += BATCH_PACKETS)
          await postClean(
            service.baseUrl,
            apiKey.key,
            packets.slice(at, at + BATCH_PACKETS).map(({ bytes }) => asOldPacket(bytes)),
          );
      }
    } finally {
      await service.stop(); // gives out the last beats
    }
    if (errors.length > 0) throw new Error(`the clean run: ${errors.join('; ')}`);
    const client = new pg.Client({ connectionString: this.#postgres.url });
    await client.connect();
    try {
      return await derivedRows(async (text, values) => (await client.query(text, [...values])).rows, boots);
    } finally {
      await client.end();
    }
  }

  async close(): Promise<void> {
    await this.#postgres.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
