/** A port for a process that is started, killed and started again under one address. */
import { createServer } from 'node:net';

/** A port of loopback on which nobody listens. It lies below those that Linux gives to connections (32768 to 60999): there, while nobody
 *  listens on it, any connection of a neighbour may take it. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 12_000 + Math.floor(Math.random() * 20_000);
    if (await isFree(port)) return port;
  }
  throw new Error('no free port between 12000 and 32000');
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  const listens = await new Promise<boolean>((done) => {
    probe.once('error', () => done(false)).listen(port, '127.0.0.1', () => done(true));
  });
  if (listens) await new Promise((done) => probe.close(done));
  return listens;
}
