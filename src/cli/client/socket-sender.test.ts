/** Tests the sender when nothing answers; test/cli/simulate.int.test.ts tests it against a real service. */
import { expect, test } from 'vitest';
import { openSender } from './packet-sender.ts';

test('gives up when nothing gets through for the time that was given', async () => {
  const waits: string[] = [];
  const sender = openSender('websocket', {
    url: 'http://127.0.0.1:9', // discard: nothing listens
    credential: 'k',
    signal: new AbortController().signal,
    giveUpMs: 200,
    onWait: (reason) => waits.push(reason),
  });
  await sender.send(new Uint8Array(10), 0);
  await expect(sender.flush()).rejects.toMatchObject({ code: 'unavailable' });
  expect(waits.length).toBeGreaterThan(0);
});

test('Ctrl-C ends a wait; what was not settled is not told', async () => {
  const abort = new AbortController();
  const settled: number[] = [];
  const sender = openSender('websocket', {
    url: 'http://127.0.0.1:9',
    credential: 'k',
    signal: abort.signal,
    onSettled: (tag) => settled.push(tag),
  });
  await sender.send(new Uint8Array(10), 0);
  const flushed = sender.flush();
  abort.abort();
  await expect(flushed).rejects.toThrow();
  await expect(sender.send(new Uint8Array(10), 1)).rejects.toThrow();
  expect(settled).toEqual([]);
});
