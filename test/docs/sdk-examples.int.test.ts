/** The TypeScript in the documents of the SDK compiles with the settings of this repository, and runs against a service with a recording of
 *  the person and the minute that it names. What the reader has, such as a key, stands before it. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

const root = join(import.meta.dirname, '../..');
const blocksOf = (path: string): [string, string][] =>
  [...readFileSync(join(root, path), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, text = ''], i) => [`${path}, ${i + 1}`, text]);
const blocks = [...blocksOf('sdk/README.md'), ...blocksOf('docs/integrator.md')];

let running: RunningService;
let folder: string;
let streamId: string;

beforeAll(async () => {
  running = await runService();
  mkdirSync(join(root, '.cache'), { recursive: true });
  folder = mkdtempSync(join(root, '.cache', 'sdk-examples-'));
  const startUnixNs = BigInt(Date.parse('2026-03-01T08:00:00Z')) * 1_000_000n;
  const device = createSimulatedDevice({ seed: 8, channels: ['ecg.ii'], heartRateBpm: 70 });
  const next = createPacketSource(device, { deviceId: 'patch', bootId: 'a'.repeat(32), subject: 'patient-7', startUnixNs, packetMs: 1000 });
  const packets = Array.from({ length: 90 }, () => next().packet);
  const stated = packets.map((packet) => encodePacket({ ...packet, recordedUnixNs: startUnixNs + packet.t0DeviceNs }));
  const sent = await fetch(`${running.service.baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${running.org.apiKey.key}`, 'content-type': 'application/x-protobuf; encoding=delimited' },
    body: encodeBatch(stated),
  });
  expect(sent.status, await sent.text()).toBe(202);
  await until(async () => (await running.database.pool.query(`select from feature limit 1`)).rowCount === 1);
  streamId = (await running.send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=patient-7')).body[0]!.id;
});
afterAll(async () => {
  await running?.close();
  rmSync(folder, { recursive: true, force: true });
});

const run = promisify(execFile);
const outputOf = (command: Promise<{ stdout: string }>): Promise<string> =>
  command.then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }: { stdout: string; stderr: string }) => expect.unreachable(stdout + stderr),
  );

// promise: documents-run
test.each(blocks)('%s compiles and runs', async (name, text) => {
  const given = `
import type { LiveFrame } from '../../sdk/live-client.ts';
import type { Packet } from '../../sdk/ingest-client.ts';
const key = process.env['BIO_KEY'] ?? '';
const streamId = '${streamId}';
const draw = (channels: LiveFrame['channels'], features: LiveFrame['features']): void => console.log(channels.length, features.length);
const show = (state: string): void => console.log(state);
const startUnixNs = BigInt(Date.now()) * 1_000_000n;
const { createSimulatedDevice } = await import('../../src/cli/simulator/device.ts');
const { createPacketSource } = await import('../../src/cli/simulator/packets.ts');
const device = createSimulatedDevice({ seed: 9, channels: ['ecg.ii'], heartRateBpm: 70 });
const of = { deviceId: 'band', bootId: 'b'.repeat(32), subject: 'patient-7', startUnixNs, packetMs: 1000 };
const packet: Packet = createPacketSource(device, of)().packet;
export { key, streamId, draw, show, packet };
`;
  const code = text
    .replaceAll('https://bio.example', running.service.baseUrl)
    .replaceAll('proj_...', running.org.projectKey)
    .replaceAll(/'\.\/(?:sdk\/)?(?=[a-z-]+\.ts')/g, "'../../sdk/");
  const file = `${name.replaceAll(/\W+/g, '-')}.ts`;
  writeFileSync(join(folder, file), `${given}\n${code}`);
  const settings = { extends: '../../tsconfig.json', files: [file], include: [], exclude: [] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  await outputOf(run(join(root, 'node_modules/.bin/tsc'), ['--noEmit', '-p', folder]));
  const env = { ...process.env, BIO_KEY: running.org.apiKey.key };
  const output = await outputOf(run(process.execPath, [join(folder, file)], { env, timeout: 60_000 }));
  if (text.includes('getSamples')) expect(output).toContain(`\n${Date.parse('2026-03-01T08:00:00Z')}000000,ecg.ii,`);
});
