/** A device sends in real time while two people watch. Each frame once, in order, without a gap; each sample once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeFrame } from '../../src/proto/frame-codec.ts';
import { deliver } from '../deliver.ts';
import type { Boot, Oracle } from '../oracle.ts';
import type { Recorder } from '../recorder.ts';

/** What one connection was sent. */
type Watched = {
  readonly seqs: number[];
  readonly complaints: string[];
  /** Of the ECG, numbers, not NaN. */
  sampleCount: number;
  droppedCount: number;
  isReady: boolean;
  isClosed: boolean;
  /** What it asked for is no longer held. */
  isTooLate: boolean;
  readonly close: () => void;
};

const READY_MS_MAX = 20_000;
const QUIET_MS = 1500;
const TICK_MS = 50;
const FRAME_NS = 100_000_000n;

export async function watchLive(oracle: Oracle, recorder: Recorder, boot: Boot, sec: number): Promise<void> {
  const { person } = boot;
  const before = oracle.stage.isDisturbed ? -1 : oracle.stage.disturbanceCount;
  const credentials = oracle.isMissing(person, 'sharing') || oracle.isConsentSettling ? [person.token] : [person.token, oracle.key];
  const watched = credentials.map((credential) => watch(oracle, person.xuserId, credential));
  for (let ms = 0; ms < READY_MS_MAX && !watched.every(({ isReady, isClosed }) => isReady || isClosed); ms += TICK_MS) await sleep(TICK_MS);
  recorder.record(sec); // what would have been recorded meanwhile
  recorder.kept.splice(0);
  for (const endMs = performance.now() + sec * 1000; performance.now() < endMs; await sleep(TICK_MS)) {
    recorder.record(sec);
    const packets = recorder.kept.splice(0).map((packet) => recorder.stamp(packet));
    if (packets.length > 0) await deliver(oracle, boot, packets);
  }
  await untilQuiet(watched);
  const isDisturbed = oracle.stage.isDisturbed || oracle.stage.disturbanceCount !== before;
  const sentCount = boot.sent
    .filter(({ accepted }) => accepted)
    .reduce(
      (sum, { packet }) =>
        sum + packet.blocks.reduce((own, { channel, samples }) => own + (channel.code === 'ecg.ii' ? samples.length : 0), 0),
      0,
    );
  if (!isDisturbed && !oracle.isMissing(person, 'sharing')) await watchAgain(oracle, boot, watched[0]!);
  for (const one of watched) {
    one.close();
    for (const text of one.complaints) oracle.complain('live', `${boot.deviceId}: ${text}`);
    oracle.expect('live', one.sampleCount <= sentCount, () => `${boot.deviceId}: ${one.sampleCount} samples were shown of ${sentCount}`);
    if (isDisturbed || one.droppedCount > 0 || oracle.required.length > 0) continue;
    oracle.expect('live', one.isReady && !one.isClosed, () => `${boot.deviceId}: a viewer was ${one.isReady ? 'cut off' : 'not let in'}`);
    oracle.expect('live', one.sampleCount === sentCount, () => `${boot.deviceId}: ${one.sampleCount} samples of ${sentCount} were shown`);
    const gap = one.seqs.findIndex((seq, i) => i > 0 && seq !== one.seqs[i - 1]! + 1);
    oracle.expect('live', gap < 0, () => `${boot.deviceId}: frame ${one.seqs[gap]} came after ${one.seqs[gap - 1]}`);
  }
}

/** A viewer whose connection was cut reconnects: it receives the missed frames, each once. */
async function watchAgain(oracle: Oracle, { person, deviceId }: Boot, before: Watched): Promise<void> {
  const missed = before.seqs.slice(Math.ceil(before.seqs.length / 2));
  const after = (missed[0] ?? 0) - 1;
  if (missed.length === 0 || before.droppedCount > 0 || before.isClosed) return;
  const again = watch(oracle, person.xuserId, person.token, `&after=${after}`);
  await untilQuiet([again]);
  again.close();
  if (again.isTooLate || again.isClosed || !again.isReady || oracle.stage.isDisturbed) return;
  const got = again.seqs.slice(0, missed.length);
  for (const text of again.complaints) oracle.complain('live', `${deviceId} after ${after}: ${text}`);
  oracle.expect(
    'live',
    got.join() === missed.join(),
    () => `${deviceId}: frames after ${after} are ${got.join()} instead of ${missed.join()}`,
  );
}

async function untilQuiet(watched: readonly Watched[]): Promise<void> {
  const count = (): number => watched.reduce((sum, { sampleCount }) => sum + sampleCount, 0);
  for (let last = -1; last !== count(); await sleep(QUIET_MS)) last = count();
}

function watch(oracle: Oracle, subject: string, credential: string, more = ''): Watched {
  const address = `${oracle.stage.url.replace('http', 'ws')}/ws?subject=${encodeURIComponent(subject)}${more}`;
  const socket = new WebSocket(address, ['bio.v1', `bio.bearer.${Buffer.from(credential).toString('base64url')}`]);
  socket.binaryType = 'arraybuffer';
  const watched: Watched = {
    seqs: [],
    complaints: [],
    sampleCount: 0,
    droppedCount: 0,
    isReady: false,
    isClosed: false,
    isTooLate: false,
    close: () => socket.close(),
  };
  const ended = (): void => void (watched.isClosed = true);
  socket.addEventListener('close', ended);
  socket.addEventListener('error', ended);
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') {
      const { type, status } = JSON.parse(data) as { type: string; status?: string };
      watched.isReady ||= type === 'ready';
      watched.isTooLate ||= type === 'replay' && status !== 'ok';
    } else if (data instanceof ArrayBuffer) take(watched, new Uint8Array(data), subject);
  });
  return watched;
}

function take(watched: Watched, bytes: Uint8Array, subject: string): void {
  const frame = decodeFrame(bytes);
  const last = watched.seqs.at(-1) ?? -1;
  if (frame.seq <= last) watched.complaints.push(`frame ${frame.seq} came after ${last}`);
  if (BigInt(frame.seq) !== frame.t0Ns / FRAME_NS) watched.complaints.push(`frame ${frame.seq} begins at ${frame.t0Ns}`);
  if (frame.subject !== subject) watched.complaints.push(`a frame of ${frame.subject}`);
  watched.seqs.push(frame.seq);
  watched.droppedCount += frame.droppedFrames;
  for (const { code, samples } of frame.channels) {
    if (code === 'ecg.ii') watched.sampleCount += samples.reduce((sum, value) => sum + (Number.isNaN(value) ? 0 : 1), 0);
  }
}
