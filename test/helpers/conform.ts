/** `biosignal conform` as a user runs it, in a process of its own, and what it has left in the database. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { RunningService } from './running-service.ts';

export type Summary = Readonly<{
  passed: number;
  failed: number;
  skipped: number;
  left: readonly string[];
  cut: string;
  earlier: string;
  checks: readonly { group: string; name: string; got: string; result: string }[];
}>;
type Ended = Readonly<{ code: number | null; out: string; err: string }>;

const main = join(import.meta.dirname, '../../src/cli/main.ts');
export const RUN_MS_MAX = 600_000;

/** @param begun called with the process when it runs */
export function conform(
  running: RunningService,
  args: readonly string[],
  begun: (stop: (signal?: NodeJS.Signals) => void) => void = () => undefined,
): Promise<Ended> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, 'conform', ...args], {
    env: { ...process.env, BIO_KEY: running.org.apiKey.key },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  begun((signal = 'SIGINT') => child.kill(signal));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })));
}

export const rowsOf = async (running: RunningService, sql: string): Promise<number> => {
  const { rows } = await running.database.pool.query<{ count: string }>(sql);
  return Number(rows[0]?.count);
};

/** Tables that hold something of a person or a device, and keys that still work. */
export async function whatIsLeft(running: RunningService): Promise<Record<string, number>> {
  const left: Record<string, number> = {};
  for (const table of [
    'xuser',
    'device',
    'stream',
    'measurement',
    'episode',
    'mood',
    'journal_entry',
    'task',
    'goal',
    'consent',
    'sample_block',
  ])
    left[table] = await rowsOf(running, `select count(*) from ${table}`);
  left['api_key'] = await rowsOf(running, `select count(*) from api_key where name like 'conform-%' and revoked_at is null`);
  left['sdk_key'] = await rowsOf(running, `select count(*) from sdk_key where name like 'conform-%' and revoked_at is null`);
  left['webhook'] = await rowsOf(running, 'select count(*) from webhook where disabled_at is null');
  left['allowed_origin'] = await rowsOf(running, 'select count(*) from allowed_origin');
  left['settings'] = await rowsOf(running, `select count(*) from project where consent_required <> '{}'`);
  return Object.fromEntries(Object.entries(left).filter(([, count]) => count > 0));
}
