/** `biosignal replay`: recordings of any known layout, streamed into a service as a device would have sent them. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodePacket } from '../proto/packet-encode.ts';
import type { Command, Console } from './command.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, UsageError } from './command.ts';
import { openSender, transports } from './client/packet-sender.ts';
import type { Transport } from './client/packet-sender.ts';
import { packetAt, packetCount } from './client/packetize.ts';
import { placeOf, startProgress } from './progress.ts';
import { listRecordings, openRecording } from './client/recording.ts';
import type { Recording } from './client/recording.ts';
import { StateFile } from './client/state-file.ts';
import type { ReplayState } from './client/state-file.ts';

export type ReplayOptions = Readonly<{
  url: string;
  credential: string;
  /** With the transport `http`: see SenderOptions. */
  projectKey?: string;
  /** Default `http`. */
  transport?: Transport;
  subject: string;
  deviceId: string;
  packetMs: number;
  /** Device time per wall time; Infinity: as fast as the service takes it. */
  speed: number;
  /** Unix ns of the recording's first sample, or null: chosen so that it ends now (faster than 1x) or starts now. */
  startUnixNs: bigint | null;
  /** Where an earlier call stopped, to continue from. */
  resume: ReplayState | null;
  /** Seconds of the recording, Infinity for all. */
  durationSec: number;
  /** Label of the progress line. Default: the recording's name. */
  label?: string;
  /** See PacketizeOptions. */
  stated?: boolean;
  withEvents?: boolean;
}>;

export type ReplayResult = Readonly<{
  recording: string;
  deviceId: string;
  subject: string;
  bootId: string;
  startUnixNs: string;
  channels: readonly string[];
  packets: number;
  samples: number;
  accepted: number;
  duplicates: number;
  rejected: number;
  firstRejection: string;
  elapsedSec: number;
  done: boolean;
}>;

/** Streams one recording.
 *  @param onState called whenever more packets are durable, with the state to resume from */
export async function replayRecording(
  recording: Recording,
  options: ReplayOptions,
  console: Console,
  onState: (state: ReplayState) => void = () => undefined,
): Promise<ReplayResult> {
  const { packetMs, speed, deviceId, subject } = options;
  const limited = { ...recording, durationSec: Math.min(recording.durationSec, options.durationSec) };
  const total = packetCount(limited, packetMs);
  const nowNs = BigInt(Date.now()) * 1_000_000n;
  const lengthNs = BigInt(Math.ceil(limited.durationSec * 1e9));
  const state: ReplayState = options.resume ?? {
    bootId: randomBytes(16).toString('hex'),
    startUnixNs: String(options.startUnixNs ?? (speed > 1 ? nowNs - lengthNs : nowNs)),
    packetMs,
    nextSeq: 0,
  };
  const packetOptions = {
    deviceId,
    bootId: state.bootId,
    subject,
    packetMs,
    startUnixNs: BigInt(state.startUnixNs),
    stated: options.stated === true,
    withEvents: options.withEvents === true,
  };

  let firstRejection = '';
  let packets = 0;
  let samples = 0;
  const progress = startProgress(console, options.label ?? recording.name, total);
  /** Sent and not settled, in the order sent; an interrupted replay resumes at the first. */
  const unsettled = new Set<number>();
  const sender = openSender(options.transport ?? 'http', {
    url: options.url,
    credential: options.credential,
    ...(options.projectKey === undefined ? {} : { projectKey: options.projectKey }),
    signal: console.signal,
    onSettled: (seq, code, detail) => {
      if (code !== 'accepted' && firstRejection === '') firstRejection = `packet ${seq}: ${code}: ${detail}`;
      unsettled.delete(seq);
      const [oldest] = unsettled;
      state.nextSeq = oldest ?? Math.max(state.nextSeq, seq + 1);
      onState(state);
    },
    onNotice: (notice) => console.err(notice),
    onWait: (reason, waitMs) => progress.update(state.nextSeq, `waiting ${Math.round(waitMs)} ms: ${reason}`),
  });

  const startedMs = performance.now();
  const firstSeq = state.nextSeq;
  try {
    for (let seq = firstSeq; seq < total && !console.signal.aborted; seq++) {
      if (Number.isFinite(speed)) {
        const dueMs = startedMs + ((seq + 1 - firstSeq) * packetMs) / speed; // a packet can leave when its last sample was taken
        const waitMs = dueMs - performance.now();
        if (waitMs > 1) await sleep(waitMs, undefined, { signal: console.signal });
      }
      const packet = packetAt(limited, seq, packetOptions);
      if (packet === null) continue;
      unsettled.add(seq);
      await sender.send(encodePacket(packet), seq);
      packets++;
      for (const block of packet.blocks) samples += block.samples.length;
      const sec = (performance.now() - startedMs) / 1000;
      const ahead = ((seq + 1 - firstSeq) * packetMs) / 1000 / Math.max(sec, 1e-3);
      progress.update(seq + 1, `${Math.round(packets / sec)} packets/s  ${Math.round(samples / sec)} samples/s  ${ahead.toFixed(1)}x`);
    }
    if (!console.signal.aborted) await sender.flush();
  } catch (error) {
    if (!console.signal.aborted) throw error;
  } finally {
    progress.end();
    sender.close();
  }
  const { accepted, duplicates, rejected } = sender.totals;
  return {
    recording: recording.name,
    deviceId,
    subject,
    bootId: state.bootId,
    startUnixNs: state.startUnixNs,
    channels: recording.channels.map(({ config }) => config.code),
    packets,
    samples,
    accepted,
    duplicates,
    rejected,
    firstRejection,
    elapsedSec: (performance.now() - startedMs) / 1000,
    done: !console.signal.aborted,
  };
}

export const replay: Command = {
  name: 'replay',
  summary: 'Stream recordings into a service as if a device sent them.',
  positionals: 'RECORDING...',
  description: `RECORDING is a WFDB header (101.hea), EDF(+), CSV, a BIDMC or IEEE SPC table (.csv.gz), an Empatica E4 folder, or a folder of any of
these but CSV, searched with its subfolders.
Each recording is one boot of one device. Nothing is lost if the service is busy or restarts: unacknowledged packets are sent again.
With --state, an interrupted replay resumes where it stopped, with the same boot.`,
  options: {
    to: { type: 'string', value: 'URL', env: 'BIO_URL', fallback: 'http://127.0.0.1:8080', doc: 'Address of the service.' },
    key: { type: 'string', value: 'KEY', env: 'BIO_KEY', doc: 'Organization key of scope ingest, or a user token.' },
    subject: { type: 'string', value: 'ID', doc: "External id or uuid of the user record. Default: the recording's name." },
    device: { type: 'string', value: 'ID', doc: 'Device id. Default: replay-NAME; with several recordings NAME is appended.' },
    'packet-ms': { type: 'string', value: 'MS', fallback: '1000', doc: 'Device time of one packet, 10 to 60000 ms.' },
    speed: { type: 'string', value: 'SPEED', fallback: '1x', doc: '1x, 10x, ... or max.' },
    start: {
      type: 'string',
      value: 'TIME',
      doc: 'Time of the first sample. Default: now at 1x, otherwise such that the recording ends now.',
    },
    duration: { type: 'string', value: 'SEC', fallback: 'all', doc: 'Replay only this many seconds.' },
    state: { type: 'string', value: 'FILE', doc: 'Record progress in this file and resume from it.' },
    transport: { type: 'string', value: 'NAME', fallback: 'http', doc: 'http: batches; websocket: /ingest/stream.' },
  },
  examples: [
    'biosignal replay data/mitdb/101.hea --speed max --subject patient-7',
    'biosignal replay data/mitdb --speed max --packet-ms 1000 --state replay.json',
  ],
  run: async ({ console, options, positionals, json }) => {
    if (positionals.length === 0) throw new UsageError('name at least one recording');
    const paths = (await Promise.all(positionals.map((path) => listRecordings(path)))).flat();
    const packetMs = options.integer('packet-ms', 10, 60_000);
    const speed = readSpeed(options.text('speed'));
    const transport = options.oneOf('transport', transports);
    const durationSec = options.text('duration') === 'all' ? Infinity : options.number('duration', 0.001, 1e9);
    const credential = options.required('key');
    const states = await StateFile.open(options.text('state'));
    const results: ReplayResult[] = [];
    const startedMs = performance.now();
    for (const [index, path] of paths.entries()) {
      if (console.signal.aborted) break;
      const recording = await openRecording(path);
      const device = options.text('device');
      const result = await replayRecording(
        recording,
        {
          url: options.text('to'),
          credential,
          transport,
          subject: options.text('subject') || recording.name,
          deviceId: device === '' ? `replay-${recording.name}` : paths.length > 1 ? `${device}-${recording.name}` : device,
          packetMs,
          speed,
          startUnixNs: options.time('start'),
          resume: states.get(path, packetMs),
          durationSec,
          label: `${placeOf(index, index, paths.length, performance.now() - startedMs)}${recording.name}`,
        },
        console,
        (state) => states.set(path, state),
      );
      if (result.done) await states.save();
      results.push(result);
      if (!json) for (const line of describeResult(result)) console.out(line);
    }
    await states.save();
    if (json) console.out(JSON.stringify(results, null, 2));
    if (console.signal.aborted) return EXIT_INTERRUPTED;
    return results.some((result) => result.rejected > 0) ? EXIT_FAILED : EXIT_OK;
  },
};

function describeResult(result: ReplayResult): string[] {
  const rate = (count: number): string => Math.round(count / Math.max(result.elapsedSec, 1e-3)).toLocaleString('en');
  const head =
    `${result.recording}: device ${result.deviceId}, subject ${result.subject}, ${result.channels.join(' ')}: ` +
    `${result.packets} packets in ${result.elapsedSec.toFixed(1)} s (${rate(result.packets)} packets/s, ${rate(result.samples)} samples/s); ` +
    `${result.accepted} accepted, ${result.duplicates} duplicates, ${result.rejected} rejected${result.done ? '' : '; interrupted'}`;
  return result.firstRejection === '' ? [head] : [head, `  first: ${result.firstRejection}`];
}

function readSpeed(text: string): number {
  if (text === 'max') return Infinity;
  const value = Number(text.replace(/x$/, ''));
  if (!(value > 0 && value <= 1e6)) throw new UsageError(`--speed must be max or a factor such as 1x, not '${text}'`);
  return value;
}
