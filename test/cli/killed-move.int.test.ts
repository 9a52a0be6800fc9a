/** `biosignal org move` that is killed: nothing is erased that is not in the other database, and the command is given again. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { org } from '../../src/cli/organizations.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

let a: TestDatabase;
let b: TestDatabase;
let work: string;

beforeAll(async () => {
  [a, b] = await Promise.all([testDatabase(), testDatabase()]);
  work = mkdtempSync(join(tmpdir(), 'biosignal-move-'));
});
afterAll(async () => {
  await a?.close();
  await b?.close();
  rmSync(work, { recursive: true, force: true });
});

const environment = (): Record<string, string> => ({ DATABASE_URL: a.url, BIO_MOVE_TO: b.url });
const run = (...args: string[]) => ran(org, args, { env: environment(), cwd: work });

async function person(orgId: string, projectId: string): Promise<void> {
  await a.pool.query('insert into xuser (organization_id, project_id, external_id) values ($1, $2, $3)', [orgId, projectId, 'ann']);
}
const peopleOf = async (database: TestDatabase, orgId: string): Promise<number> =>
  (await database.pool.query('select from xuser where organization_id = $1', [orgId])).rows.length;
const isMoving = async (orgId: string): Promise<boolean> =>
  (await a.pool.query('select from organization where id = $1 and moving_at is not null', [orgId])).rows.length > 0;

it.each([
  ['before anything is copied', (orgId: string) => isMoving(orgId)],
  ['while the other database reads it', (_: string, folder: string) => Promise.resolve(existsSync(join(folder, 'manifest.json')))],
])('killed %s: nothing is erased that is not there, and it is given again', async (name, isThen) => {
  const { orgId, projectId } = await createOrganization(a.pool, name);
  await person(orgId, projectId);
  const folder = join(work, orgId);
  const command = ['--disable-warning=ExperimentalWarning', 'src/cli/main.ts', 'org', 'move', orgId, '--folder', folder];
  const killed = spawn(process.execPath, command, { env: { ...process.env, ...environment() }, stdio: 'ignore' });
  const gone = once(killed, 'exit');
  await until(() => isThen(orgId, folder), 30_000);
  if (name.startsWith('before')) {
    const second = await run('move', orgId, '--folder', join(work, `${orgId} second`));
    expect([second.code, second.err.join()]).toEqual([1, expect.stringContaining('another command is moving')]);
    expect((await run('move', orgId, '--back')).code).not.toBe(0);
  }
  killed.kill('SIGKILL');
  await gone;

  const removed = await run('remove', orgId, '--yes');
  expect((await peopleOf(a, orgId)) + (await peopleOf(b, orgId)), removed.err.join()).toBeGreaterThan(0);
  if ((await peopleOf(a, orgId)) === 0) return; // the other database had everything when the command was killed
  expect(removed.err.join()).toContain('does not have the organization');
  let again = await run('move', orgId, '--folder', join(work, `${orgId} again`));
  // The server may need a moment to see that the killed command has gone.
  for (; again.err.join().includes('another command'); again = await run('move', orgId, '--folder', join(work, `${orgId} again`)));
  expect(again.code, again.err.join()).toBe(0);
  expect(await peopleOf(b, orgId)).toBe(1);
  expect((await run('remove', orgId, '--yes')).code).toBe(0);
  expect(await peopleOf(a, orgId)).toBe(0);
});

it('is not removed without the other database, nor when that is the same one', async () => {
  const { orgId, projectId } = await createOrganization(a.pool, 'Same');
  await person(orgId, projectId);
  await a.pool.query('update organization set moving_at = now() where id = $1', [orgId]);
  for (const to of ['', a.url])
    expect((await ran(org, ['remove', orgId, '--yes'], { env: { DATABASE_URL: a.url, BIO_MOVE_TO: to }, cwd: work })).code).not.toBe(0);
  expect(await peopleOf(a, orgId)).toBe(1);
  expect((await run('move', orgId, '--back')).code).toBe(0);
  expect(await isMoving(orgId)).toBe(false);
});
