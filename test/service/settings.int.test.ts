/** Settings and background jobs whose effect no other test sees from outside: services with many settings at once, each looked at by what a
 *  device, a viewer or a request notices. docs/promises.md names the tests of the others. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { freePort } from '../../faults/lib/free-port.ts';
import { ServiceProcess } from '../../faults/lib/service.ts';
import { runCommand } from '../../src/cli/command.ts';
import { config } from '../../src/cli/config.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { emptyDatabase, until } from '../helpers/database.ts';
import { batch, delimited, keyFor, open, packets, post } from '../helpers/raw-device.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const MiB = String(1024 * 1024);
let folder: string;
let many: RunningService;
let narrow: RunningService;
let threadsOfNarrow = 0;

const threads = (): number => readdirSync('/proc/self/task').length;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bio-settings-'));
  many = await runService({
    BIO_HOST: '127.0.0.2',
    BIO_PUBLIC_URL: 'https://bio.test',
    BIO_METRICS_TOKEN: 'for-prometheus',
    BIO_DATA_DIR: folder,
    BIO_RETENTION_PERIOD_SEC: '1',
    BIO_DSP_QUEUE_BYTES_MAX: MiB,
    BIO_DSP_IDLE_FLUSH_MS: '300',
    BIO_PACKET_LOG_QUEUE_BYTES_MAX: MiB,
    BIO_PACKET_LOG_LINGER_MS: '200',
    BIO_PACKET_LOG_CALM_LINGER_MS: '200',
    BIO_BLOCK_QUEUE_BYTES_MAX: MiB,
    BIO_FRAME_DEADLINE_MS: '1500',
    BIO_VIEWER_QUEUE_BYTES_MAX: '4096',
    BIO_VIEWER_SLOW_SEC_MAX: '1',
    BIO_LARGE_READS_AT_ONCE_MAX: '2',
    BIO_WEBHOOK_NETWORKS: '127.0.0.0/8',
  });
  const before = threads();
  narrow = await runService({
    BIO_DSP_WORKERS: '4',
    BIO_PACKET_BYTES_MAX: '2048',
    BIO_BATCH_BYTES_MAX: '4096',
    BIO_BODY_TIMEOUT_MS: '300',
    BIO_REQUESTS_PER_SEC_MAX: '5',
    BIO_DEVICE_PACKETS_PER_SEC_MAX: '2',
  });
  threadsOfNarrow = threads() - before;
});
afterAll(async () => {
  await many?.close();
  await narrow?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Nobody else writes the table, or reads it, until this is disposed of. */
async function hold(table: string, mode: string): Promise<AsyncDisposable> {
  const client = await many.database.connect();
  await client.query(`begin; lock table ${table} in ${mode} mode`);
  return { [Symbol.asyncDispose]: () => client.end() };
}

describe('the place of a service', () => {
  // promise: server-kinds, no-embedded-server
  // setting: BIO_DATA_DIR, DATABASE_URL
  it('is a plain database where the server has nothing else, and no second server is started', async () => {
    const { rows } = await many.database.pool.query(`select from pg_extension where extname = 'timescaledb'`);
    if (rows.length === 0) expect(many.service.database.kind).toBe('postgres');
    else expect(many.service.database.kind).toMatch(/^timescale|^apache/);
    expect(existsSync(join(folder, 'postgres'))).toBe(false);
  });

  // setting: BIO_HOST
  it('listens on its address and no other', async () => {
    expect(many.service.baseUrl).toContain('//127.0.0.2:');
    expect((await fetch(`${many.service.baseUrl}/healthz`)).status).toBe(200);
    await expect(fetch(`http://127.0.0.1:${many.service.port}/healthz`)).rejects.toThrow();
  });

  // setting: BIO_PUBLIC_URL
  it('issues tokens under its public address, and answers for that name', async () => {
    const { xuser_token: token } = await many.token('issued');
    expect(JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())).toMatchObject({ iss: 'https://bio.test' });
    const ask = (host: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(many.service.port, '127.0.0.2', () =>
          socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
        );
        let text = '';
        socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
        socket.on('close', () => resolve(text.slice(9, 12)));
      });
    expect([await ask('bio.test'), await ask('other.test')]).toEqual(['200', '400']);
  });

  // promise: metrics-guarded
  // setting: BIO_METRICS_TOKEN
  it('gives metrics to a caller with their token', async () => {
    expect((await many.send('GET', '/metrics', { as: 'for-prometheus' })).status).toBe(200);
    expect((await many.send('GET', '/metrics', { as: 'for-nobody' })).status).toBe(401);
    expect((await narrow.send('GET', '/metrics', { as: 'for-prometheus' })).status).toBe(401);
  });

  // setting: BIO_DSP_WORKERS
  it('has as many threads as set', () => {
    expect(threadsOfNarrow).toBeGreaterThanOrEqual(4);
  });
});

describe('pace', () => {
  // setting: BIO_PACKET_LOG_LINGER_MS
  it('a group commit waits for company when a request waits for it', async () => {
    const [first, ...rest] = packets({ channels: 1, fs: 10, ms: 100, count: 4 });
    await post(many, encodePacket(first!));
    for (const packet of rest) {
      const startedMs = performance.now();
      expect((await post(many, encodePacket(packet))).status).toBe(202);
      expect(performance.now() - startedMs).toBeGreaterThan(150); // 10 without the setting
    }
  });

  // setting: BIO_PACKET_LOG_CALM_LINGER_MS
  it('and longer when only sockets do', async () => {
    const { socket } = await open(many, '/ingest/stream');
    const [first, second] = packets({ channels: 1, fs: 10, ms: 100, count: 2 });
    const logged = async (): Promise<number> =>
      (await many.database.pool.query<{ n: number }>('select sum(packet_count)::int as n from packet_log')).rows[0]!.n;
    socket.send(encodePacket(first!));
    const before = await logged();
    await expect.poll(logged).toBeGreaterThan(before);
    const startedMs = performance.now();
    socket.send(encodePacket(second!));
    await expect.poll(logged, { interval: 5 }).toBe(before + 2);
    expect(performance.now() - startedMs).toBeGreaterThan(150); // 40 without the setting
    socket.close();
  });

  // setting: BIO_DSP_IDLE_FLUSH_MS
  it('a silent stream counts as ended after the set time', async () => {
    const all = packets({ channels: 1, fs: 250, ms: 1000, count: 12 });
    for (const packet of all) expect((await many.ingest(packet)).status).toBe(202);
    const judged = `select from feature f join method m on m.id = f.method_id join stream s on s.id = f.stream_id join device d on d.id = s.device_id
      where d.external_id = $1 and m.name = 'sqi_ecg' and f.ts_ns >= $2`;
    const endNs = all.at(-1)!.t0UnixNs;
    await expect // 20 s without the setting
      .poll(async () => (await many.database.pool.query(judged, [all[0]!.deviceId, endNs.toString()])).rowCount, { timeout: 15_000 })
      .toBeGreaterThan(0);
  });

  // promise: frame-deadline
  // setting: BIO_FRAME_DEADLINE_MS
  it('a live frame waits for a channel as long as set', async () => {
    const viewer = await open(many, '/ws?subject=set');
    await until(() => viewer.texts.some(({ type }) => type === 'ready'));
    const all = packets({ channels: 2, fs: 250, ms: 100, count: 40 });
    for (const packet of all.slice(0, 20)) void post(many, encodePacket(packet));
    await until(() => viewer.frames.length >= 20);
    const startedMs = performance.now();
    // From here on one of the two is silent.
    for (const packet of all.slice(20)) void post(many, encodePacket({ ...packet, blocks: packet.blocks.slice(0, 1) }));
    await until(() => viewer.frames.some(({ incomplete }) => incomplete));
    expect(performance.now() - startedMs).toBeGreaterThan(1200); // 250 without the setting
    viewer.socket.close();
  });

  /** A viewer that reads nothing, of 100 ms frames of 24 kB: more of them than the buffers of both sockets hold. */
  async function flooded(running: RunningService): Promise<Awaited<ReturnType<typeof open>>> {
    await running.token('set');
    const viewer = await open(running, '/ws?subject=set');
    await until(() => viewer.texts.some(({ type }) => type === 'ready'));
    viewer.socket.pause();
    const all = packets({ channels: 60, fs: 1000, ms: 100, count: 400 }, {}, 'other');
    for (let at = 0; at < all.length; at += 20) {
      const bytes = batch(all.slice(at, at + 20));
      await until(async () => !(await post(running, bytes, delimited)).text.includes('"busy"'));
    }
    return viewer;
  }

  // promise: slow-closed
  // setting: BIO_VIEWER_SLOW_SEC_MAX
  it('a viewer that stays above its bound is closed when it has been there long enough', async () => {
    const viewer = await flooded(many);
    const viewers = async (): Promise<string> => (await many.send('GET', '/metrics', { as: 'for-prometheus' })).text;
    await expect.poll(viewers, { timeout: 20_000 }).toMatch(/^bio_viewers 0$/m); // 30 s without the setting
    viewer.socket.resume();
    await until(() => viewer.code() !== 0);
    expect(viewer.code()).toBe(4014);
  });

  // setting: BIO_VIEWER_QUEUE_BYTES_MAX
  it('a viewer with more room than that misses nothing', async () => {
    const roomy = await runService({ BIO_VIEWER_QUEUE_BYTES_MAX: '67108864' });
    try {
      const viewer = await flooded(roomy);
      viewer.socket.resume();
      await until(() => viewer.frames.length >= 390, 20_000);
      expect(viewer.frames.reduce((sum, { droppedFrames }) => sum + droppedFrames, 0)).toBe(0);
      viewer.socket.close();
    } finally {
      await roomy.close();
    }
  });

  // setting: BIO_LARGE_READS_AT_ONCE_MAX
  it('reads as many large charts at once as set', async () => {
    const weekMs = 7 * 86_400_000;
    const tokens = await Promise.all(['ada', 'ben'].map(async (name) => (await many.token(name)).xuser_token));
    for (const [i, name] of ['ada', 'ben'].entries()) {
      const [packet] = ecgPacket({ channels: 1, fs: 250, ms: 1000, count: 1, deviceId: `week-${name}` });
      const startNs = BigInt(Date.now() - weekMs) * 1_000_000n;
      for (const [seq, atNs] of [0n, BigInt(weekMs - 10_000) * 1_000_000n].entries())
        expect(
          (await many.ingest({ ...packet!, seq, subject: '', t0DeviceNs: atNs, t0UnixNs: startNs + atNs, sentUnixNs: 0n }, tokens[i]!))
            .status,
        ).toBe(202);
    }
    const series = ['hr_ecg', 'sqi_ecg', 'resp_rate_ecg'].map((feature) => ({ feature }));
    const body = { series, range: { duration: 'P6D' }, resolution: '1m', max_points: 10_000 };
    const waiting = `select from pg_locks join pg_stat_activity using (pid) where not granted and relation = 'feature_block'::regclass
      and application_name like 'biosignal api%' and pg_stat_activity.datname = current_database()`;
    const held = await hold('feature_block', 'access exclusive');
    const charts = tokens.map((as) => many.send('POST', '/api/v1/charts/query', { as, body }));
    await until(async () => (await many.database.pool.query(waiting)).rowCount === 2);
    await held[Symbol.asyncDispose]();
    for (const { status, text } of await Promise.all(charts)) expect(status, text).toBe(200);
  });
});

describe('limits', () => {
  // promise: limit-packet, limit-batch
  // setting: BIO_PACKET_BYTES_MAX, BIO_BATCH_BYTES_MAX
  it('limits packets and batches', async () => {
    const as = await keyFor(narrow);
    const [large] = packets({ channels: 1, fs: 1000, ms: 2000, count: 1 });
    expect(await post(narrow, encodePacket(large!), {}, as)).toMatchObject({ status: 413, code: 'packet_too_large' });
    const small = packets({ channels: 1, fs: 250, ms: 1000, count: 12 });
    expect(batch(small).length).toBeGreaterThan(4096);
    expect(await post(narrow, batch(small), delimited, as)).toMatchObject({ status: 413, code: 'payload_too_large' });
    const within = await post(narrow, encodeBatch([encodePacket(large!)]), delimited, as);
    expect(within.text).toContain('packet_too_large');
  });

  // promise: device-limit
  // setting: BIO_DEVICE_PACKETS_PER_SEC_MAX
  it('limits what one device sends', async () => {
    const as = await keyFor(narrow);
    const answers = await Promise.all(
      packets({ channels: 1, fs: 100, ms: 100, count: 40 }).map((one) => post(narrow, encodePacket(one), {}, as)),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(answers.length - refused.length).toBeGreaterThan(0);
    expect(Number(refused[0]!.retryAfter)).toBeGreaterThan(0);
  });

  // promise: rate-headers
  // setting: BIO_REQUESTS_PER_SEC_MAX
  it('limits the requests of one credential, and says when to come again', async () => {
    const [as, other] = [await keyFor(narrow), await keyFor(narrow)];
    const ask = (key: string): Promise<Response> =>
      fetch(`${narrow.service.baseUrl}/api/v1/xusers`, { headers: { authorization: `Bearer ${key}` } });
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask(as)));
    const refused = answers.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answers.some(({ status, headers }) => status === 200 && headers.get('ratelimit') !== null)).toBe(true);
    expect((await ask(other)).status).toBe(200);
  });

  // setting: BIO_BODY_TIMEOUT_MS
  it('ends a body at its time limit', async () => {
    const socket = connect(narrow.service.port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const head = `POST /ingest/raw-packet HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${narrow.org.apiKey.key}\r\n`;
    socket.write(`${head}Content-Type: application/x-protobuf\r\nContent-Length: 100\r\n\r\nx`);
    await until(() => text.startsWith('HTTP/1.1 408'), 5000); // 10 s without the setting
    socket.destroy();
  });

  // promise: queues-bounded
  // setting: BIO_PACKET_LOG_QUEUE_BYTES_MAX, BIO_BLOCK_QUEUE_BYTES_MAX
  it.each([
    ['packets that are not durable yet', 'packet_log'],
    ['samples that are not in their table yet', 'sample_block'],
  ])('answers busy, and keeps nothing, when %s fill their queue', async (_what, table) => {
    const plan = { channels: 1, fs: 1000, ms: 60_000, count: 16 };
    const noise = packets(plan, {}, 'other').map((packet) => {
      const samples = Int32Array.from(packet.blocks[0]!.samples, (_, i) => (i * 7919) % 60_000);
      return encodePacket({ ...packet, t0UnixNs: packet.t0UnixNs, blocks: [{ ...packet.blocks[0]!, samples }] });
    });
    const taken: Promise<unknown>[] = [];
    {
      await using _held = await hold(table, 'exclusive');
      let busy: Awaited<ReturnType<typeof post>> | undefined;
      for (const body of noise) {
        const sent = post(many, body).then((answer) => (answer.code === 'busy' ? (busy = answer) : answer));
        taken.push(sent);
        await Promise.race([sent, sleep(50)]);
        if (busy !== undefined) break;
      }
      expect(busy, table).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) as string });
      expect(taken.length).toBeGreaterThan(4);
    }
    await Promise.all(taken);
    await expect.poll(() => post(many, noise[taken.length - 1]!), { timeout: 20_000 }).toMatchObject({ status: 202 });
  });

  // setting: BIO_DSP_QUEUE_BYTES_MAX
  // job: every-second
  it("answers busy while the workers' queue is above its limit", async () => {
    let code: string | undefined;
    for (let round = 0; round < 5 && code !== 'busy'; round++) {
      const all = packets({ channels: 2, fs: 1000, ms: 30_000, count: 14 });
      expect((await post(many, batch(all.slice(0, 13)), delimited)).status).toBe(202);
      ({ code } = await post(many, encodePacket(all[13]!)));
    }
    expect(code).toBe('busy');
    await expect
      .poll(async () => (await post(many, encodePacket(packets({ channels: 1, fs: 10, ms: 100, count: 1 })[0]!))).status, {
        timeout: 30_000,
      })
      .toBe(202);
  });
});

describe('a process of its own', () => {
  // setting: BIO_LOG_LEVEL, BIO_DSP_TASK_TIMEOUT_MS
  it('logs from the set level, and replaces a worker that exceeds its time', async () => {
    const { url, drop } = await emptyDatabase();
    const env = { DATABASE_URL: url, BIO_LOG_LEVEL: 'info', BIO_DSP_TASK_TIMEOUT_MS: '100', BIO_DEMO: '1' };
    const service = new ServiceProcess(await freePort(), { env });
    try {
      await service.untilReady(60_000);
      // The service is ready before all of its log has come through the pipe.
      await expect.poll(() => service.log, { timeout: 10_000 }).toMatch(/org_live_[0-9A-Za-z]+/);
      const key = /org_live_[0-9A-Za-z]+/.exec(service.log)![0];
      expect(service.log).toMatch(/"level":30,/);
      const all = packets({ channels: 6, fs: 1000, ms: 10_000, count: 30 }, { subject: 'demo-patient' });
      const headers = { ...delimited, authorization: `Bearer ${key}` };
      for (let at = 0; at < all.length; at += 10)
        await fetch(`${service.url}/ingest/raw-packet`, { method: 'POST', headers, body: Buffer.from(batch(all.slice(at, at + 10))) });
      await expect.poll(async () => (await fetch(`${service.url}/readyz`)).text(), { timeout: 30_000 }).toMatch(/[1-9]\d* worker crashes/);
    } finally {
      await service.kill();
      await drop();
    }
  });

  // setting: BIO_TLS_CERT, BIO_TLS_KEY
  it.skipIf(spawnSync('openssl', ['version']).status !== 0)('speaks TLS with the certificate that it is given', async () => {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const args =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost';
    execFileSync('openssl', [...args.split(' '), '-keyout', key, '-out', cert], { stdio: 'ignore' });
    const secure = await runService({ BIO_TLS_CERT: cert, BIO_TLS_KEY: key });
    try {
      const status = await new Promise((resolve, reject) => {
        const asked = get({ host: 'localhost', port: secure.service.port, path: '/healthz', ca: readFileSync(cert) }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        });
        asked.on('error', reject);
      });
      expect(status).toBe(200);
    } finally {
      await secure.close();
    }
  });

  // promise: config-check
  it('names wrong values and unknown settings before it starts', async () => {
    const run = async (env: Record<string, string>) => {
      let said = '';
      const tell = (line: string): void => void (said += `${line}\n`);
      const signal = new AbortController().signal;
      return {
        code: await runCommand(config, ['check'], { out: tell, err: tell, progress: null, env, cwd: folder, signal }),
        said: () => said,
      };
    };
    const wrong = await run({ BIO_PACKET_BYTES_MAX: 'much' });
    expect([wrong.code, wrong.said()]).toEqual([1, expect.stringMatching(/BIO_PACKET_BYTES_MAX must be an integer from 1024 to 16777216/)]);
    const unknown = await run({ BIO_PACKET_BYTES: '1' });
    expect([unknown.code, unknown.said()]).toEqual([0, expect.stringContaining('BIO_PACKET_BYTES is not a setting')]);
  });
});
