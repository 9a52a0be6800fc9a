/** Connections of writers to a database that is cut off at the worst moment. */
import { afterEach, expect, test } from 'vitest';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { openDatabase } from '../../src/storage/database/database.ts';
import type { Database } from '../../src/storage/database/database.ts';
import { WriterConnection } from '../../src/storage/database/writer-connection.ts';
import { Fence } from '../../src/storage/fence.ts';
import { testDatabase } from '../helpers/database.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

test.each([
  ['a writer', (database: Database) => database],
  ['a writer that names what it holds', (database: Database) => new Fence(() => undefined).fenced(database)],
])('%s gives up a connection that goes silent as soon as it is there, and does its work on another', async (_, of) => {
  const { url, close } = await testDatabase();
  closing.push(close);
  const address = new URL(url);
  const proxy = await TcpProxy.start(Number(address.port));
  closing.push(() => proxy.close());
  address.port = String(proxy.port);
  const proxied = await openDatabase(address.href);
  closing.push(() => proxied.close());
  let isCut = true;
  const connect: Database['connect'] = async () => {
    const client = await proxied.connect();
    if (isCut) proxy.mode = 'hole';
    return client;
  };
  const retried: string[] = [];
  const connection = new WriterConnection(of({ ...proxied, connect }), {
    retryForMs: 60_000,
    statementTimeoutMs: 1000,
    answerTimeoutMs: 1000,
    onRetry: ({ message }) => {
      retried.push(message);
      isCut = false;
      proxy.mode = 'pass';
    },
  });
  closing.push(() => connection.close());
  const { rows } = await connection.run((client) => client.query<{ one: number }>('select 1 as one'));
  expect(rows).toEqual([{ one: 1 }]);
  expect(retried[0]).toMatch(/^timeout expired: a connection to the database was not ready/);
});
