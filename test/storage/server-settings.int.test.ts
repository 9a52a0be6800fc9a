/** The whole service on a server whose administrator has set what is unusual, and with an address that sets something. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import { openRoles } from '../../src/storage/database/roles.ts';
import { openDatabase } from '../../src/storage/database/database.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { batch, packets } from '../helpers/raw-device.ts';

const quiet = (): void => undefined;
const silent = { debug: quiet, info: quiet, warn: quiet, error: quiet };
let database: TestDatabase;
afterEach(() => database?.close());

/** Sets defaults of every later connection. */
async function defaults(settings: Readonly<Record<string, string>>): Promise<void> {
  const name = new URL(database.url).pathname.slice(1);
  for (const [setting, value] of Object.entries(settings)) await database.pool.query(`alter database ${name} set ${setting} = ${value}`);
}

/** Settings that change what a server reads or writes. */
const odd = {
  array_nulls: 'off',
  backslash_quote: 'off',
  bytea_output: 'escape',
  datestyle: `'German, DMY'`,
  default_transaction_deferrable: 'on',
  default_transaction_isolation: `'serializable'`,
  extra_float_digits: '0',
  idle_in_transaction_session_timeout: `'60s'`,
  intervalstyle: 'sql_standard',
  lc_time: `'C'`,
  row_security: 'off',
  standard_conforming_strings: 'off',
  timezone: `'Asia/Kolkata'`,
  transform_null_equals: 'on',
  xmloption: 'document',
};

// promise: server-settings, person-export
it("a server's unusual settings change nothing: packets become values, which are read as anywhere", async () => {
  database = await testDatabase();
  await defaults(odd);
  const faults: string[] = [];
  const note = (fields: object, message: string): void => void faults.push(`${message} ${String((fields as { err?: Error }).err)}`);
  const service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_DSP_IDLE_FLUSH_MS: '500' }),
    logger: { ...silent, warn: note, error: note },
  });
  try {
    const org = await createOrganization(database.pool, 'Test');
    const ask = async (path: string, init: RequestInit = {}) => {
      const headers = { authorization: `Bearer ${org.apiKey.key}`, ...(init.headers as Record<string, string>) };
      const answer = await fetch(service.baseUrl + path, { ...init, headers });
      return { status: answer.status, text: await answer.text() };
    };
    const day = packets({ channels: 2, fs: 250, ms: 1000, count: 40 });
    const type = { 'content-type': 'application/x-protobuf; encoding=delimited' };
    const sent = await ask('/ingest/raw-packet', { method: 'POST', headers: type, body: Buffer.from(batch(day)) });
    expect(sent.status, sent.text).toBe(202);
    const count = async (): Promise<number> => {
      const { rows } = await database.pool.query<{ n: number }>('select count(*)::int as n from feature');
      return rows[0]!.n;
    };
    await until(async () => (await count()) > 50, 60_000);
    const users = await ask('/api/v1/xusers');
    const [{ xuser_id: id, created_at: created }] = JSON.parse(users.text) as [{ xuser_id: string; created_at: string }];
    expect(Math.abs(Date.parse(created) - Date.now())).toBeLessThan(300_000);
    const whole = await ask(`/api/v1/xusers/${id}/export`);
    expect(whole.text.trimEnd().split('\n').at(-1)).toBe('{"table":"end"}');
    // those that are acknowledged and not stored yet among them
    const samples = [...whole.text.matchAll(/^\{"table":"samples",.*"samples":\[([^\]]*)\]/gm)].map((line) => line[1]!.split(',').length);
    expect(samples.reduce((sum, n) => sum + n, 0)).toBe(2 * 250 * 40);
    expect((await ask('/api/v1/audit-log')).text).toContain('xuser.exported');
    await sleep(100);
    expect(faults).toEqual([]);
  } finally {
    await service.stop();
  }
});

describe('options in the address of the database', () => {
  // promise: server-settings
  it('are taken, and leave each part its role', async () => {
    database = await testDatabase();
    const address = `${database.url}?options=${encodeURIComponent('-c work_mem=8MB -c timezone=Asia/Kolkata -c role=none')}&application_name=mine`;
    const owner = await openDatabase(address);
    const roles = await openRoles(owner);
    try {
      const { rows } = await roles.api.pool.query(
        `select current_user as who, current_setting('search_path') as path, current_setting('timezone') as zone, current_setting('work_mem') as memory,
           current_setting('application_name') as name`,
      );
      expect(rows).toEqual([{ who: 'biosignal_api', path: 'api,public', zone: 'UTC', memory: '8MB', name: 'biosignal api' }]);
      const ingest = await roles.ingest.pool.query('select current_user as who');
      expect(ingest.rows).toEqual([{ who: 'biosignal_ingest' }]);
    } finally {
      await roles.close();
      await owner.close();
    }
  });
});

describe('a start says in a sentence why the database takes no changes', () => {
  // promise: start-fails
  it.each([
    ['read-only, as a standby is', { default_transaction_read_only: 'on' }, 'it is a standby, or default_transaction_read_only is on'],
    ['without a schema', { search_path: 'nowhere' }, 'it must contain public'],
  ])('%s', async (_what, settings, sentence) => {
    database = await testDatabase();
    await defaults(settings);
    const config = readConfig({ DATABASE_URL: database.url, PORT: '0' });
    await expect(startService({ config, logger: silent })).rejects.toThrow(sentence);
  });
});
