/** A client that guesses at one node of a cluster is known at the others. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeOrgKey } from '../../src/key-format.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { isShared, startNode } from './nodes.ts';

let database: TestDatabase;
let nodes: readonly Service[] = [];
const folder = mkdtempSync(join(tmpdir(), 'biosignal-guessing-'));
beforeAll(async () => {
  database = await testDatabase();
  await database.pool.query('select set_partitions($1)', [2]);
  const started = await Promise.all([0, 1].map(() => startNode(database.url, { BIO_BUS_DIR: folder })));
  nodes = started.map(({ service }) => service);
  await until(() => isShared(database, 2), 30_000);
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

const withKey = async ({ baseUrl }: Service): Promise<number> => {
  const answer = await fetch(`${baseUrl}/api/v1/devices`, { headers: { authorization: `Bearer ${makeOrgKey('live').key}` } });
  await answer.arrayBuffer();
  return answer.status;
};
const withPassword = async ({ baseUrl }: Service): Promise<number> => {
  const answer = await fetch(`${baseUrl}/auth/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'nobody@example.com', password: 'a guess of a password' }),
  });
  await answer.arrayBuffer();
  return answer.status;
};

// promise: guesses-everywhere
it.each([
  ['keys', withKey, 100],
  ['passwords', withPassword, 10],
] as const)('who has guessed too many %s at one node is told 429 at the other', async (_, guess, atOnce) => {
  // Together, and the other node is asked meanwhile: a busy machine takes longer for one guess than until the next is allowed.
  const guesses = Array.from({ length: 3 * atOnce }, () => guess(nodes[0]!));
  await Promise.any(
    guesses.map(async (guessed) => {
      if ((await guessed) !== 429) throw new Error('it was let through');
    }),
  );
  // An answer of the other node comes after what it was told before.
  await fetch(`${nodes[1]!.baseUrl}/readyz`).then((answer) => answer.arrayBuffer());
  const there = await Promise.all([0, 1, 2].map(() => guess(nodes[1]!)));
  expect(there).toContain(429);
  const here = await Promise.all(guesses);
  expect(here.filter((status) => status === 401).length).toBeGreaterThanOrEqual(atOnce);
});
