/** Requests to a receiver on loopback, under one signal that lives as long as the service. */
import { getEventListeners } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { sendMessage } from './webhook-request.ts';
import { WebhookNetworks } from './webhook-networks.ts';

/** Number of listeners of a signal, and of signals that depend on it, which the runtime does not expose. */
function heldBy(signal: AbortSignal): number {
  const key = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals');
  const dependent = key === undefined ? undefined : (signal as unknown as Record<symbol, Set<unknown> | undefined>)[key];
  return getEventListeners(signal, 'abort').length + (dependent?.size ?? 0);
}

test('a signal that lives on keeps nothing of a request that has ended, and ends one under way', async () => {
  let hold = false;
  const server = createServer((_, response) => void (hold || response.writeHead(204).end()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const networks = new WebhookNetworks(['127.0.0.0/8']);
  const cut = new AbortController();
  const send = () => sendMessage({ id: 'm', url, secrets: [Buffer.from('secret')], body: '{}' }, networks, cut.signal);
  for (let i = 0; i < 20; i++) expect(await send()).toEqual({ status: 204, error: null });
  await expect.poll(() => heldBy(cut.signal)).toBe(0);
  hold = true;
  const underWay = send();
  await expect.poll(() => heldBy(cut.signal)).toBe(1);
  cut.abort(new Error('the service stopped'));
  expect(await underWay).toEqual({ status: null, error: 'the service stopped' });
  expect(await send()).toEqual({ status: null, error: 'the service stopped' });
  server.closeAllConnections();
  server.close();
});
