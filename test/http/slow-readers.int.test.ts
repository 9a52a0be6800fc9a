/** Peers that ask for long answers and read them slowly, or never: what they leave unread is bounded, and others are served. On the whole
 *  service. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../helpers/database.ts';
import { batch, delimited, keyFor, packets, post } from '../helpers/raw-device.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

const MiB = 1024 * 1024;
let running: RunningService;
/** A million samples as JSON, most of them, and less than half of them, because rows of CSV are five times as long. */
let [path, most, fewer] = ['', '', ''];
beforeAll(async () => {
  running = await runService({ BIO_UNSENT_ANSWER_BYTES_MAX: String(16 * MiB) });
  const noise = packets({ channels: 1, fs: 10_000, ms: 5000, count: 20 }, {}, 'other').map((packet) => {
    const samples = Int32Array.from(packet.blocks[0]!.samples, (_, i) => (i * 7919) % 20_000);
    return { ...packet, blocks: [{ ...packet.blocks[0]!, samples }] };
  });
  for (const packet of noise) expect((await post(running, batch([packet]), delimited)).status).toBe(202);
  const { rows } = await running.database.pool.query<{ uuid: string }>('select uuid from stream');
  const pathUntil = (end: string): string => `/api/v1/streams/${rows[0]!.uuid}/samples?since=2000-01-01T00:00:00Z&until=${end}`;
  path = pathUntil('2100-01-01T00:00:00Z');
  let text = '';
  await until(async () => (text = (await running.send('GET', path)).text).length > 6_000_000);
  const startNs = BigInt(/"t0_ns":"?(\d+)/.exec(text)![1]!);
  most = pathUntil(new Date(Number(startNs / 1_000_000n) + 85_000).toISOString());
  fewer = pathUntil(new Date(Number(startNs / 1_000_000n) + 40_000).toISOString());
});
afterAll(() => running?.close());

type Reader = Readonly<{
  bytes: () => number;
  answer: () => Buffer;
  ended: () => boolean;
  read: (bytes: number) => void;
  readAll: () => void;
}>;

/** Asks, and reads no more than it is told to. */
async function ask(as: string, accept: string, from = path): Promise<Reader> {
  const socket = connect(running.service.port, '127.0.0.1');
  const parts: Buffer[] = [];
  let ended = false;
  let wanted = 0;
  socket.on('error', () => undefined);
  socket.on('close', () => (ended = true));
  socket.on('data', (part: Buffer) => {
    parts.push(part);
    wanted -= part.length;
    if (wanted <= 0) socket.pause();
  });
  await once(socket, 'connect');
  socket.write(`GET ${from} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${as}\r\nAccept: ${accept}\r\nConnection: close\r\n\r\n`);
  await once(socket, 'data');
  const read = (bytes: number): void => {
    wanted = bytes;
    socket.resume();
  };
  const length = (): number => parts.reduce((sum, part) => sum + part.length, 0);
  return { bytes: length, answer: () => Buffer.concat(parts), ended: () => ended, read, readAll: () => read(Infinity) };
}

const bodyOf = (answer: Buffer): Buffer => answer.subarray(answer.indexOf('\r\n\r\n') + 4);

describe.each([
  ['whole', 'application/json', (answer: Buffer) => answer.subarray(-1).toString() === ']'],
  ['in pieces', 'text/csv', (answer: Buffer) => answer.subarray(-5).toString() === '0\r\n\r\n'],
])('answers that are written %s', (_how, accept, isWhole) => {
  // promise: unsent-answers-bounded
  // setting: BIO_UNSENT_ANSWER_BYTES_MAX
  it('and left unread are bounded: those of who holds most are cut off, and another reads on, as slowly as it likes', async () => {
    const from = accept === 'text/csv' ? fewer : path;
    const patient = await ask(await keyFor(running), accept, from);
    const goesOn = setInterval(() => patient.read(50_000), 250); // the library closes what does not move for ten seconds
    const greedy = await keyFor(running);
    const readers: Reader[] = [];
    for (let i = 0; i < 8; i++) {
      readers.push(await ask(greedy, accept, from));
      await sleep(500);
    }
    clearInterval(goesOn);
    for (const reader of [patient, ...readers]) reader.readAll();
    const over = (reader: Reader): boolean => reader.ended() || isWhole(reader.answer());
    await until(() => [patient, ...readers].every(over), 30_000);
    expect(isWhole(patient.answer())).toBe(true);
    expect(readers.filter((reader) => isWhole(reader.answer())).length, 'whole').toBeLessThanOrEqual(3);
    expect(running.faults.filter((line) => line.includes('cut off'))).not.toEqual([]);
  });
});

it('a new answer is cut off itself where its caller holds most, without a fault', async () => {
  const [before, readers] = [running.faults.length, [] as Reader[]];
  for (let i = 0; i < 3; i++) readers.push(await ask(await keyFor(running), 'application/json', most));
  const last = await ask(await keyFor(running), 'application/json');
  for (const reader of [...readers, last]) reader.readAll();
  await until(() => [...readers, last].every((reader) => reader.ended()), 30_000);
  expect([...readers, last].map((reader) => bodyOf(reader.answer()).subarray(-1).toString() === ']')).toEqual([true, true, true, false]);
  expect(running.faults.slice(before).filter((line) => !line.includes('cut off'))).toEqual([]);
});

it('a long answer that is read with pauses is the same to the byte', async () => {
  const as = running.org.apiKey.key;
  const reader = await ask(as, 'application/json');
  for (let i = 0; i < 20; i++) {
    reader.read(100_000);
    await sleep(20);
  }
  reader.readAll();
  await until(() => reader.ended());
  const { text } = await running.send('GET', path, { headers: { accept: 'application/json', 'accept-encoding': 'identity' } });
  expect(bodyOf(reader.answer()).equals(Buffer.from(text))).toBe(true);
});
