/** The parts of compose.cluster.yaml without containers: Caddy with ops/caddy/Caddyfile.cluster before three nodes that talk over a
 *  server of NATS with ops/nats/nats.conf. A node is killed under devices, and nothing is lost. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { NatsBus } from '../../src/bus/nats-bus.ts';
import { cluster } from '../../src/cli/cluster.ts';
import { simulate } from '../../src/cli/simulate.ts';
import { verify } from '../../src/cli/verify.ts';
import { freePort } from '../../faults/lib/free-port.ts';
import { hasNatsServer } from '../../faults/lib/nats-server.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { hasProxy, startProxy } from '../helpers/proxy.ts';
import type { Proxy } from '../helpers/proxy.ts';
import { isShared } from './nodes.ts';

const ops = join(import.meta.dirname, '../../ops');
/** Begins as a number does. */
const PASSWORD = '5e3-secret_of_nats';
const DEVICES = 4;
const SECONDS = 24;
const closing: (() => unknown)[] = [];
let database: TestDatabase;
let nodes: readonly ServiceProcess[];
let natsPort: number;
let front: Proxy;
let key: string;
let work: string;

/** nats.conf as it is, but for the address. */
function startNats(port: number): void {
  const args = ['-c', join(ops, 'nats/nats.conf'), '-a', '127.0.0.1', '-p', String(port), '-m', '0'];
  const child = spawn('nats-server', args, { env: { ...process.env, NATS_PASSWORD: `"${PASSWORD}"` }, stdio: 'ignore' });
  closing.push(() => child.kill('SIGKILL'));
}

/** As the proxy asks. */
async function isReady({ url }: ServiceProcess): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`, { headers: { 'x-forwarded-proto': 'https' } }).catch(() => null);
  await answer?.arrayBuffer();
  return answer?.status === 200;
}

const openBus = (cluster_: string, node: string, password = PASSWORD): Promise<NatsBus> =>
  NatsBus.open({ url: `nats://biosignal:${password}@127.0.0.1:${natsPort}`, ca: '', cluster: cluster_, mayBePlain: false }, node);

describe.skipIf(!hasNatsServer || !hasProxy('caddy'))('three nodes behind a proxy', () => {
  beforeAll(async () => {
    work = mkdtempSync(join(tmpdir(), 'biosignal-cluster-'));
    database = await testDatabase();
    key = (await createOrganization(database.pool, 'Cluster')).apiKey.key;
    const partitions = ['partitions', '6'];
    for (const said of ['people are cut into 6 partitions', 'people are already cut into 6 partitions'])
      expect((await ran(cluster, partitions, { env: { DATABASE_URL: database.url }, cwd: work })).out).toEqual([said]);
    natsPort = await freePort();
    startNats(natsPort);
    await until(
      async () =>
        await openBus('biosignal', 'first')
          .then(async (bus) => (await bus.close(), true))
          .catch(() => false),
      10_000,
    );
    nodes = await Promise.all(
      ['node-1', 'node-2', 'node-3'].map(async (name) => {
        const env = {
          DATABASE_URL: database.url,
          BIO_NATS_URL: `nats://biosignal:${PASSWORD}@127.0.0.1:${natsPort}`,
          BIO_NODE_NAME: name,
          BIO_DSP_WORKERS: '1',
          BIO_DB_CONNECTIONS_MAX: '14',
          BIO_REQUESTS_PER_SEC_MAX: '10000',
          BIO_TRUST_PROXY: '127.0.0.1',
          BIO_SECRET: 'one secret for every node, of forty bytes',
        };
        return new ServiceProcess(await freePort(), { env });
      }),
    );
    const caddyfile = readFileSync(join(ops, 'caddy/Caddyfile.cluster'), 'utf8');
    const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`).join(' ');
    front = await startProxy('caddy', 0, (port) =>
      caddyfile
        .replace('{$BIO_SITE:localhost:8443}', `http://127.0.0.1:${port}`)
        .replace('{$BIO_NODES:node-1:8080 node-2:8080 node-3:8080}', addresses)
        // Its site has no TLS here; what it says itself when it asks for health stays as it is.
        .replace('flush_interval -1', 'flush_interval -1\nheader_up X-Forwarded-Proto https'),
    );
    await until(() => isShared(database, 3), 60_000);
    await until(async () => (await fetch(`${front.baseUrl}/readyz`)).status === 200, 30_000);
  });
  afterAll(async () => {
    await front?.stop();
    await Promise.all((nodes ?? []).map((node) => node.terminate()));
    for (const close of closing) close();
    await database?.close();
    if (work !== undefined) rmSync(work, { recursive: true, force: true });
  });

  test('the user of nats.conf may speak below the name of its cluster, and nowhere else', async () => {
    await expect(openBus('biosignal', 'stranger', 'another')).rejects.toThrow('BIO_NATS_URL');
    const [a, b] = [await openBus('biosignal', 'a'), await openBus('biosignal', 'b')];
    b.handle('echo', (_, body) => body);
    expect((await a.request('b', 'echo', Buffer.from('hello'), 5000)).toString()).toBe('hello');
    await expect(openBus('other', 'c')).rejects.toMatchObject({ code: 'bad_request' });
    for (const bus of [a, b]) await bus.close();
  });

  test('a node is killed under devices of both transports: the proxy tries another, and nothing acknowledged is lost', async () => {
    const run = (transport: string) => {
      const sizes = ['--devices', String(DEVICES), '--duration', String(SECONDS), '--packet-ms', '200', '--channels', 'ecg.ii', '--json'];
      const names = ['--device-prefix', `${transport}-`, '--subject-prefix', `${transport}-`, '--ledger', join(work, transport)];
      return ran(simulate, [...sizes, ...names, '--transport', transport], { env: { BIO_URL: front.baseUrl, BIO_KEY: key }, cwd: work });
    };
    const sending = ['http', 'websocket'].map(run);
    await until(async () => (await database.pool.query('select from stream')).rowCount === 2 * DEVICES, 30_000);
    const unsupervise = nodes[0]!.supervise();
    closing.push(unsupervise);
    await nodes[0]!.kill();
    await until(() => isReady(nodes[0]!), 60_000);
    await until(() => isShared(database, 3), 60_000);
    unsupervise();
    for (const sent of await Promise.all(sending))
      expect(JSON.parse(sent.out.join('')), sent.err.join('\n')).toMatchObject({
        packets: DEVICES * SECONDS * 5,
        rejected: 0,
        unsettled: 0,
      });
    for (const transport of ['http', 'websocket']) {
      const verified = await ran(verify, [join(work, transport), '--json'], { env: { DATABASE_URL: database.url }, cwd: work });
      expect(verified.code, verified.out.join('')).toBe(0);
    }
  });

  // promise: proxy-tries-another
  test('a request finds a node while one after the other is killed and only one of them answers', async () => {
    const statuses = new Set<number>();
    let isAsking = true;
    const asking = (async () => {
      while (isAsking) statuses.add((await fetch(`${front.baseUrl}/healthz`)).status);
    })();
    // At once, so that requests go to a node that the proxy does not know to be gone.
    for (const node of [nodes[1]!, nodes[2]!]) {
      await node.kill();
      const answered = Array.from({ length: 100 }, () => fetch(`${front.baseUrl}/healthz`));
      for (const { status } of await Promise.all(answered)) statuses.add(status);
    }
    isAsking = false;
    await asking;
    expect([...statuses]).toEqual([200]);
    nodes[1]!.start();
    nodes[2]!.start();
    await until(() => isShared(database, 3), 60_000);
  });
});
