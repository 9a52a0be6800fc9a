/** Promises of every transport between nodes: the same questions over Unix sockets and over a real server of NATS. */
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Bus } from '../../src/bus/bus.ts';
import { MESSAGE_BYTES_MAX } from '../../src/bus/bus.ts';
import { encodeFrame } from '../../src/bus/frames.ts';
import { NatsBus } from '../../src/bus/nats-bus.ts';
import { SocketBus } from '../../src/bus/socket-bus.ts';
import { PipelineError } from '../../src/errors.ts';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { until } from '../helpers/database.ts';
import { hasNatsServer, startNats } from '../../faults/lib/nats-server.ts';
import type { NatsServer } from '../../faults/lib/nats-server.ts';

const text = (body: Uint8Array): string => Buffer.from(body).toString();
const bytes = (body: string): Uint8Array => Buffer.from(body);
const folder = mkdtempSync(join(tmpdir(), 'biosignal-bus-'));
/** Of the nodes that answer. */
const faults: unknown[] = [];
let nats: NatsServer | null = null;
beforeAll(async () => {
  nats = hasNatsServer ? await startNats() : null;
});
afterAll(async () => {
  await nats?.close();
  rmSync(folder, { recursive: true });
});

const overNats = (node: string, port = nats!.port): Promise<NatsBus> =>
  NatsBus.open(
    { url: `nats://127.0.0.1:${port}`, ca: '', cluster: 'ward', mayBePlain: false, onFault: (cause) => void faults.push(cause) },
    node,
  );
const transports: readonly [string, boolean, (node: string) => Promise<Bus>][] = [
  ['Unix sockets', true, (node) => SocketBus.open(folder, node, (cause) => void faults.push(cause))],
  ['NATS', hasNatsServer, overNats],
];

describe.each(transports)('nodes that talk over %s', (_, runs, open) => {
  const buses: Bus[] = [];
  afterEach(async () => {
    for (const bus of buses.splice(0)) await bus.close();
  });
  async function pair(): Promise<[Bus, Bus]> {
    buses.push(await open('node-a'), await open('node-b'));
    return [buses[0]!, buses[1]!];
  }

  test.runIf(runs)('a question gets its own answer, however many wait, and the node that asked is named', async () => {
    const [a, b] = await pair();
    b.handle('echo', async (from, body) => {
      await sleep(Math.random() * 20); // answers come in another order than questions
      return bytes(`${from} ${text(body)}`);
    });
    const asked = Array.from({ length: 200 }, (__, i) => a.request('node-b', 'echo', bytes(String(i)), 5000));
    expect((await Promise.all(asked)).map(text)).toEqual(Array.from({ length: 200 }, (__, i) => `node-a ${i}`));
  });

  test.runIf(runs)('notes and questions of one node arrive in the order in which they were sent', async () => {
    const [a, b] = await pair();
    const seen: number[] = [];
    const take = (__: string, body: Buffer): Uint8Array => {
      seen.push(Number(text(body)));
      return new Uint8Array(0);
    };
    b.handle('note', take);
    b.handle('ask', take);
    const asked: Promise<unknown>[] = [];
    for (let i = 0; i < 500; i++) {
      if (i % 5 === 0) asked.push(a.request('node-b', 'ask', bytes(String(i)), 5000));
      else a.send('node-b', 'note', bytes(String(i)));
    }
    await Promise.all(asked);
    await until(() => seen.length === 500);
    expect(seen).toEqual(Array.from({ length: 500 }, (__, i) => i));
  });

  test.runIf(runs)('what the other node throws arrives with its code, sentence and time to wait', async () => {
    const [a, b] = await pair();
    b.handle('refuse', () => {
      throw new PipelineError('busy', 'too much at once', { retryAfterSec: 7 });
    });
    b.handle('fail', () => Promise.reject(new TypeError('secret detail')));
    b.handle('read', () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })));
    await expect(a.request('node-b', 'refuse', bytes(''), 5000)).rejects.toMatchObject({
      code: 'busy',
      message: 'too much at once',
      retryAfterSec: 7,
    });
    const failure = await a.request('node-b', 'fail', bytes(''), 5000).catch((error: unknown) => error as PipelineError);
    expect(failure).toMatchObject({ code: 'internal' });
    expect((failure as Error).message).not.toContain('secret');
    expect(faults.splice(0)).toEqual([new TypeError('secret detail')]);
    // as a request to that node itself would be answered
    await expect(a.request('node-b', 'read', bytes(''), 5000)).rejects.toMatchObject({ code: 'unavailable', retryAfterSec: 1 });
    expect(faults).toEqual([]);
  });

  test.runIf(runs)('a node that is not there, says nothing, does not know the question or has gone is unavailable', async () => {
    const [a, b] = await pair();
    b.handle('never', () => new Promise<never>(() => undefined));
    const unavailable = (message: RegExp): unknown =>
      expect.objectContaining({ code: 'unavailable', message: expect.stringMatching(message) });
    await expect(a.request('node-c', 'echo', bytes(''), 5000)).rejects.toEqual(unavailable(/not there|has gone/));
    await expect(a.request('node-b', 'never', bytes(''), 100)).rejects.toEqual(unavailable(/no answer within 100 ms/));
    await expect(a.request('node-b', 'unknown', bytes(''), 5000)).rejects.toEqual(unavailable(/does not know 'unknown'/));
    const waits = a.request('node-b', 'never', bytes(''), 2000);
    const gone = expect(waits).rejects.toEqual(unavailable(/not there|has gone|no answer/));
    await b.close();
    await gone;
    await expect(a.request('node-b', 'never', bytes(''), 5000)).rejects.toEqual(unavailable(/not there|has gone/));
    await a.close();
    expect(a.state).toBe('away');
    await expect(a.request('node-b', 'never', bytes(''), 5000)).rejects.toEqual(unavailable(/./));
  });

  test.runIf(runs)('the largest message arrives whole, a larger one is refused before it is sent', async () => {
    const [a, b] = await pair();
    b.handle('echo', (__, body) => body);
    const large = Buffer.alloc(MESSAGE_BYTES_MAX, 'abc');
    expect((await a.request('node-b', 'echo', large, 20_000)).equals(large)).toBe(true);
    await expect(a.request('node-b', 'echo', Buffer.alloc(MESSAGE_BYTES_MAX + 1), 5000)).rejects.toMatchObject({ code: 'internal' });
  });

  test.runIf(runs)('what waits for a node that takes nothing is bounded: the rest is refused at once', async () => {
    const [a, b] = await pair();
    b.handle('never', () => new Promise<never>(() => undefined));
    const megabyte = Buffer.alloc(1024 * 1024);
    const refused: string[] = [];
    // All in one turn of the loop, so that nothing has left this process.
    const asked = Array.from({ length: 100 }, () =>
      a.request('node-b', 'never', megabyte, 500).catch((error: unknown) => refused.push((error as Error).message)),
    );
    await Promise.all(asked);
    expect(refused.filter((why) => why.includes('too much waits')).length).toBeGreaterThan(50);
    expect(refused.filter((why) => why.includes('no answer')).length).toBeGreaterThan(20);
  });
});

describe('Unix sockets of nodes', () => {
  const shared = mkdtempSync(join(tmpdir(), 'biosignal-sockets-'));
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });
  const open = async (node: string): Promise<Bus> => {
    const bus = await SocketBus.open(shared, node);
    closing.push(() => bus.close());
    return bus;
  };

  test('a failure that cannot be read ends its question, at once', async () => {
    for (const [i, body] of ['{nonsense', 'null', '7', '{"code":5,"message":{}}', '{"code":"toString"}', ''].entries()) {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.on('data', () => {
          for (const piece of encodeFrame('failure', 1, '', bytes(body))) socket.write(piece);
        });
      }).listen(join(shared, `damaged-${i}.sock`));
      closing.push(() => server.close());
      await once(server, 'listening');
      const a = await open(`node-${i}`);
      await expect(a.request(`damaged-${i}`, 'echo', bytes(''), 60_000)).rejects.toMatchObject({ code: 'unavailable' });
    }
  });

  // setting: BIO_BUS_DIR
  test('a folder that cannot have them is refused with its name and the reason', async () => {
    const long = join(shared, 'long'.repeat(25));
    await expect(SocketBus.open(long, 'node-a')).rejects.toThrow(/^BIO_BUS_DIR: the path of .* is \d+ bytes too long for sockets/);
    const file = join(shared, 'file');
    writeFileSync(file, '');
    await expect(SocketBus.open(file, 'node-a')).rejects.toThrow(/^BIO_BUS_DIR: /);
  });

  // promise: bus-folder
  test("a folder that others may enter, or that is another user's, is refused; sockets of nodes that were killed are removed", async () => {
    const open2 = join(shared, 'folder');
    mkdirSync(open2, { mode: 0o755 });
    await expect(SocketBus.open(open2, 'node-a')).rejects.toThrow(
      /^BIO_BUS_DIR: others may enter .*folder \(mode 755\), and could send packets as any device: chmod 700 it$/,
    );
    // Of root where the tests are not root's, and the other way round.
    if (process.getuid!() === 0) {
      chmodSync(open2, 0o700);
      chownSync(open2, 65534, 65534);
      await expect(SocketBus.open(open2, 'node-a')).rejects.toThrow(/^BIO_BUS_DIR: .*folder belongs to the user 65534, this process to 0/);
      chownSync(open2, 0, 0);
    }
    chmodSync(open2, 0o700);
    const killed = join(open2, '00000000-dead-4000-8000-000000000000.sock');
    const code = `require('node:net').createServer().listen(${JSON.stringify(killed)}, () => process.kill(process.pid, 'SIGKILL'))`;
    expect(() => execFileSync(process.execPath, ['-e', code], { stdio: 'ignore' })).toThrow();
    for (const theirs of ['note.txt', 'program.sock']) writeFileSync(join(open2, theirs), 'of a person, or of another program');
    expect(existsSync(killed)).toBe(true);
    const a = await SocketBus.open(open2, 'node-a');
    const b = await SocketBus.open(open2, 'node-b');
    closing.push(() => Promise.all([a.close(), b.close()]));
    expect(readdirSync(open2).toSorted()).toEqual(['node-a.sock', 'node-b.sock', 'note.txt', 'program.sock']);
    chmodSync(open2, 0o500); // one that is in use goes on
    a.handle('echo', (__, body) => body);
    expect(text(await b.request('node-a', 'echo', bytes('still'), 5000))).toBe('still');
    chmodSync(open2, 0o700);
  });

  test('those who send parts of messages take no memory without a bound', async () => {
    const [a, b] = [await open('node-a'), await open('node-b')];
    b.handle('echo', (__, body) => body);
    const part = Buffer.concat(encodeFrame('ask', 1, 'echo', new Uint8Array(MESSAGE_BYTES_MAX))).subarray(0, MESSAGE_BYTES_MAX - 1);
    const hello = Buffer.concat(encodeFrame('hello', 0, 'greedy', bytes('')));
    let ended = 0;
    let sentBytes = 0;
    for (let n = 0; n < 20; n++) {
      const socket = connect(join(shared, 'node-b.sock'));
      closing.push(() => socket.destroy());
      socket.on('error', () => undefined).on('close', () => void (ended += 1));
      socket.write(hello);
      socket.write(part, () => void (sentBytes += part.length));
    }
    await until(() => ended >= 12, 30_000);
    expect(text(await a.request('node-b', 'echo', bytes('meanwhile'), 5000))).toBe('meanwhile');
    expect(ended).toBeLessThan(20);
    expect(sentBytes).toBeLessThan(20 * part.length);
    await until(() => ended === 20, 30_000); // those who did not end their message
    const whole = new Uint8Array(MESSAGE_BYTES_MAX);
    expect((await a.request('node-b', 'echo', whole, 20_000)).length).toBe(whole.length);
  });

  // job: socket
  test('that are deleted with their folder are there again within seconds; what was open goes on', async () => {
    const [a, b] = [await open('node-a'), await open('node-b')];
    for (const bus of [a, b]) bus.handle('echo', (__, body) => body);
    expect(text(await a.request('node-b', 'echo', bytes('before'), 5000))).toBe('before');
    rmSync(shared, { recursive: true });
    expect(text(await a.request('node-b', 'echo', bytes('open'), 5000))).toBe('open');
    const asked = (): Promise<boolean> =>
      b.request('node-a', 'echo', bytes('new'), 5000).then(
        () => true,
        () => false,
      );
    expect(await asked()).toBe(false);
    await until(asked, 20_000);
    expect(statSync(shared).mode & 0o777).toBe(0o700);
    await until(async () => existsSync(join(shared, 'node-b.sock')), 20_000);
    const c = await open('node-c');
    expect(text(await c.request('node-b', 'echo', bytes('anew'), 5000))).toBe('anew');
    await Promise.all([a.close(), b.close()]);
    expect(readdirSync(shared).filter((name) => /node-[ab].sock/.test(name))).toEqual([]);
  });

  test('one who asks and does not read is dropped: what waits for it is bounded', async () => {
    const [a, b] = [await open('node-a'), await open('node-b')];
    let answered = 0;
    const megabyte = Buffer.alloc(1024 * 1024);
    b.handle('large', () => {
      answered += 1;
      return megabyte;
    });
    const greedy = connect(join(shared, 'node-b.sock'));
    closing.push(() => greedy.destroy());
    greedy.on('error', () => undefined).pause();
    const questions = Array.from({ length: 400 }, (__, i) => encodeFrame('ask', i, 'large', bytes('')));
    greedy.write(Buffer.concat([...encodeFrame('hello', 0, 'greedy', bytes('')), ...questions.flat()]));
    await until(() => answered > 0 && greedy.bytesWritten > 0, 20_000);
    expect((await a.request('node-b', 'large', bytes(''), 20_000)).length).toBe(megabyte.length);
    let readBytes = 0;
    greedy.on('data', (piece: Buffer) => void (readBytes += piece.length)).resume();
    await once(greedy, 'close');
    expect(readBytes).toBeLessThan(64 * megabyte.length);
  });

  test('those who connect and say nothing take neither open files without a bound nor the place of a node', async () => {
    const [a, b] = [await open('node-a'), await open('node-b')];
    b.handle('echo', (__, body) => body);
    expect(text(await a.request('node-b', 'echo', bytes('before'), 5000))).toBe('before');
    const silent = new Set<Socket>();
    let ended = 0;
    closing.push(() => silent.forEach((socket) => socket.destroy()));
    for (let n = 0; n < 600; n++) {
      const socket = connect(join(shared, 'node-b.sock'));
      silent.add(socket.on('error', () => undefined).on('close', () => void (ended += 1)));
      await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
    }
    await until(() => ended > 300, 20_000);
    expect(text(await a.request('node-b', 'echo', bytes('meanwhile'), 5000))).toBe('meanwhile');
    await until(() => ended === 600, 30_000);
    const c = await open('node-c');
    expect(text(await c.request('node-b', 'echo', bytes('after'), 5000))).toBe('after');
  });
});

describe.runIf(hasNatsServer)('a server of NATS', () => {
  // setting: BIO_NATS_URL
  test('that is killed refuses what waits at once, and nodes find each other again when it is back', async () => {
    const server = await startNats();
    const [a, b] = [await overNats('node-a', server.port), await overNats('node-b', server.port)];
    b.handle('never', () => new Promise<never>(() => undefined));
    b.handle('echo', (__, body) => body);
    const waits = expect(a.request('node-b', 'never', bytes(''), 60_000)).rejects.toMatchObject({ code: 'unavailable' });
    await server.kill();
    await waits;
    expect(a.state).toBe('away');
    await expect(a.request('node-b', 'echo', bytes(''), 60_000)).rejects.toMatchObject({ code: 'unavailable' });
    await server.start();
    await until(() => a.state === 'open' && b.state === 'open', 10_000);
    expect(text(await a.request('node-b', 'echo', bytes('again'), 5000))).toBe('again');
    await Promise.all([a.close(), b.close()]);
    await server.close();
  });

  test('that is killed while all that may wait for it does is used again when it is back', async () => {
    const server = await startNats();
    const a = await overNats('node-a', server.port);
    const large = new Uint8Array(1 << 20);
    for (let n = 0; n < 40; n++) a.send('node-b', 'never', large);
    await expect(a.request('node-b', 'never', bytes(''), 60_000)).rejects.toThrow('too much waits');
    await server.kill();
    await until(() => a.state === 'away');
    await server.start();
    await until(() => a.state === 'open', 20_000);
    await a.close();
    await server.close();
  });

  test('that comes back with another configuration is used only if it can be, and why not is said', async () => {
    const rights = (password: string, prefix: string): string =>
      `authorization { users: [{ user: ward, password: ${password}, permissions: { publish: "${prefix}.>", subscribe: "${prefix}.>" } }] }`;
    const server = await startNats(rights('right', 'ward'));
    const said: string[] = [];
    const onState = (state: string, why: string): void => void said.push(`${state}: ${why}`);
    const url = `nats://ward:right@127.0.0.1:${server.port}`;
    const a = await NatsBus.open({ url, ca: '', cluster: 'ward', mayBePlain: false, onState }, 'node-a');
    for (const [lines, maxPayload, why] of [
      [rights('wrong', 'ward'), '9MB', /^the message server refuses the user or the password of BIO_NATS_URL$/],
      [rights('right', 'ward'), '4KB', /^the NATS server takes messages of 4096 bytes: set max_payload: 9MB in its configuration$/],
      [rights('right', 'clinic'), '9MB', /must be allowed to publish and to subscribe to 'ward\.>'/],
    ] as const) {
      await server.kill();
      await until(() => a.why === 'the message server is away', 20_000); // whatever was said of it before
      server.configure(lines, maxPayload);
      await server.start();
      await until(() => why.test(a.why), 20_000);
      expect(a.state).toBe('away');
      expect(said.at(-1)).toBe(`away: ${a.why}`);
      await expect(a.request('node-a', 'itself', bytes(''), 60_000)).rejects.toMatchObject({ message: `another node: ${a.why}` });
    }
    await server.kill();
    server.configure(rights('right', 'ward'));
    await server.start();
    await until(() => a.state === 'open', 20_000);
    expect([a.why, said.at(-1)]).toEqual(['', 'open: ']);
    expect(text(await a.request('node-a', 'itself', bytes(''), 5000))).toBe('');
    await a.close();
    await server.close();
  });

  test('that swallows everything is noticed within seconds, and left for one that answers', async () => {
    const proxy = await TcpProxy.start(nats!.port);
    const [a, b] = [await overNats('node-a', proxy.port), await overNats('node-b')];
    b.handle('echo', (__, body) => body);
    proxy.mode = 'hole';
    await until(() => a.state === 'away', 15_000);
    proxy.mode = 'pass';
    await until(() => a.state === 'open', 15_000);
    expect(text(await a.request('node-b', 'echo', bytes('again'), 5000))).toBe('again');
    await Promise.all([a.close(), b.close()]);
    await proxy.close();
  });

  // setting: BIO_NATS_CA, BIO_NATS_PLAIN, BIO_CLUSTER
  test('is spoken to with TLS and a user; wrong ones, plain text to other machines and small messages are refused with a reason', async () => {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-days', '1', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'], { stdio: 'ignore' }); // prettier-ignore
    writeFileSync(join(folder, 'note'), '');
    const server = await startNats(
      `tls { cert_file: "${cert}", key_file: "${key}" }
       authorization { users: [{ user: ward, password: "p@ss", permissions: { publish: "ward.>", subscribe: "ward.>", allow_responses: true } }] }`,
    );
    const small = await startNats('', '1MB');
    const open = (url: string, ca = cert, mayBePlain = false): Promise<NatsBus> =>
      NatsBus.open({ url, ca, cluster: 'ward', mayBePlain }, `node-${url.length}-${ca.length}`);
    const right = `tls://ward:p%40ss@localhost:${server.port}`;
    const [a, b] = [await open(right), await NatsBus.open({ url: right, ca: cert, cluster: 'ward', mayBePlain: false }, 'node-b')];
    b.handle('echo', (__, body) => body);
    expect(text(await a.request('node-b', 'echo', bytes('sealed'), 5000))).toBe('sealed');
    await Promise.all([a.close(), b.close()]);
    // what this user may say is of one cluster
    await expect(NatsBus.open({ url: right, ca: cert, cluster: 'clinic', mayBePlain: false }, 'node-a')).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringMatching(/must be allowed to publish and to subscribe to 'clinic\.>'/),
    });

    for (const [url, ca, why] of [
      [`tls://ward:wrong@localhost:${server.port}`, cert, /Authorization/i],
      [right, '', /certificate/i],
      [right, join(folder, 'absent.pem'), /^BIO_NATS_CA: .*absent\.pem/],
      [`tls://ward:p%w@localhost:${server.port}`, cert, /^BIO_NATS_URL: a % of its user or password is written %25$/],
      [`nats://127.0.0.1:${small.port}`, '', /takes messages of 1048576 bytes: set max_payload: 9MB/],
      ['nats://nats.example:4222', '', /plain text: use tls:\/\/, or set BIO_NATS_PLAIN=1/],
      ['http://nats.example:4222', '', /begins with tls:/],
      ['nats-1:4222', '', /BIO_NATS_URL: /],
      [`nats://127.0.0.1:1`, '', /BIO_NATS_URL: /],
    ] as const)
      await expect(open(url, ca)).rejects.toMatchObject({ message: expect.stringMatching(why) });
    await Promise.all([server.close(), small.close()]);
  });
});
