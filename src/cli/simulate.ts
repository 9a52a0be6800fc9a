/** `biosignal simulate`: a fleet of simulated devices on simulated people, with the faults of a real network if wanted. */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodePacket } from '../proto/packet-codec.ts';
import type { Command } from './command.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, UsageError } from './command.ts';
import { HttpSender } from './http-sender.ts';
import { LedgerWriter } from './ledger.ts';
import { startProgress } from './progress.ts';
import { activities, rhythms } from './simulator/body.ts';
import { createSimulatedDevice, simulatedChannels } from './simulator/device.ts';
import type { SimulatedChannel, SimulatedDeviceOptions } from './simulator/device.ts';
import { createFaultyPath } from './simulator/faults.ts';
import type { FaultOptions, FaultyPath } from './simulator/faults.ts';
import { createPacketSource } from './simulator/packets.ts';
import type { SimulatedPacket } from './simulator/packets.ts';

type Leaving = Readonly<{ bytes: Uint8Array; seq: number }>;

type SimulatedSender = {
  readonly deviceId: string;
  readonly bootId: string;
  readonly subject: string;
  readonly next: () => SimulatedPacket;
  readonly path: FaultyPath<Leaving>;
};

type Fleet = Readonly<{
  deviceCount: number;
  seed: number;
  devicePrefix: string;
  subjectPrefix: string;
  startUnixNs: bigint;
  packetMs: number;
  skewPpm: number;
  person: Omit<SimulatedDeviceOptions, 'seed'>;
  faults: Omit<FaultOptions, 'seed'>;
}>;

/** Device i of a fleet: all of it follows from the fleet's options, so a fleet can be made again with its truth. */
function createFleetDevice(fleet: Fleet, index: number): SimulatedSender {
  const seed = (fleet.seed * 100_003 + index) >>> 0;
  const name = String(index + 1).padStart(4, '0');
  const deviceId = `${fleet.devicePrefix}${name}`;
  const subject = `${fleet.subjectPrefix}${name}`;
  const bootId = createHash('sha256').update(`${deviceId} ${seed} ${fleet.startUnixNs}`).digest('hex').slice(0, 32);
  // Half of the fleet's clocks run fast, half slow, up to the stated skew.
  const skewPpm = fleet.deviceCount === 1 ? fleet.skewPpm : fleet.skewPpm * ((2 * index) / (fleet.deviceCount - 1) - 1);
  const { startUnixNs, packetMs } = fleet;
  const device = createSimulatedDevice({ ...fleet.person, seed });
  const next = createPacketSource(device, { deviceId, bootId, subject, startUnixNs, packetMs, skewPpm });
  return { deviceId, bootId, subject, next, path: createFaultyPath<Leaving>({ ...fleet.faults, seed }) };
}

export const simulate: Command = {
  name: 'simulate',
  summary: 'Stream simulated devices, with faults if wanted.',
  description: `Each device is one person with ECG, PPG, EDA, skin temperature and acceleration; the same seed gives the same samples.
--truth writes what the signals were made from (beats with their kind, skin responses, breaths), to compare results with.
--ledger records every packet before it is sent and every answer, for 'biosignal verify'.`,
  options: {
    to: { type: 'string', value: 'URL', env: 'BIO_URL', fallback: 'http://127.0.0.1:8080', doc: 'Address of the service.' },
    key: { type: 'string', value: 'KEY', env: 'BIO_KEY', doc: 'Organization key of scope ingest.' },
    devices: { type: 'string', value: 'N', fallback: '1', doc: 'How many devices.' },
    duration: { type: 'string', value: 'SEC', fallback: '60', doc: 'Device time to stream; 0: until Ctrl-C.' },
    speed: { type: 'string', value: 'SPEED', fallback: '1x', doc: '1x, 10x, ... or max.' },
    'packet-ms': { type: 'string', value: 'MS', fallback: '1000', doc: 'Device time of one packet.' },
    seed: { type: 'string', value: 'N', fallback: '1', doc: 'Of people, noise and faults.' },
    start: { type: 'string', value: 'TIME', doc: 'Time of the first sample. Default: now at 1x, else so that it ends now.' },
    'device-prefix': { type: 'string', value: 'ID', fallback: 'sim-', doc: 'Devices are PREFIX0001 ...' },
    'subject-prefix': { type: 'string', value: 'ID', fallback: 'sim-', doc: 'User records (external ids) are PREFIX0001 ...' },
    channels: { type: 'string', value: 'LIST', doc: `Comma-separated, of ${simulatedChannels.join(', ')}. Default: all but resp.` },
    rhythm: { type: 'string', value: 'NAME', fallback: 'sinus', doc: `${rhythms.join(' or ')}.` },
    activity: { type: 'string', value: 'NAME', fallback: 'rest', doc: `${activities.join(', ')}.` },
    hr: { type: 'string', value: 'BPM', doc: 'Mean heart rate at rest, 30 to 180. Default: by seed, 55 to 80.' },
    pvc: { type: 'string', value: 'PERCENT', fallback: '0', doc: 'Ventricular premature beats per 100.' },
    noise: { type: 'string', value: 'X', fallback: '1', doc: '0 clean, 1 usual, 3 poor.' },
    drop: { type: 'string', value: 'PERCENT', fallback: '0', doc: 'Packets never sent.' },
    duplicate: { type: 'string', value: 'PERCENT', fallback: '0', doc: 'Packets sent twice.' },
    reorder: { type: 'string', value: 'PERCENT', fallback: '0', doc: 'Packets held back up to --reorder-sec.' },
    'reorder-sec': { type: 'string', value: 'SEC', fallback: '5', doc: 'See --reorder.' },
    late: { type: 'string', value: 'PERCENT', fallback: '0', doc: 'Packets held back for --late-sec, or to the end of the run.' },
    'late-sec': { type: 'string', value: 'SEC', fallback: '60', doc: 'See --late.' },
    skew: { type: 'string', value: 'PPM', fallback: '0', doc: 'Device clocks run up to this much fast or slow.' },
    connections: { type: 'string', value: 'N', fallback: '4', doc: 'Requests under way at a time.' },
    truth: { type: 'string', value: 'FILE', doc: 'Write the truth there, one JSON object per packet and device.' },
    ledger: { type: 'string', value: 'NAME', doc: 'Write NAME.jsonl and NAME.packets.' },
  },
  examples: [
    'biosignal simulate --devices 100 --duration 600',
    'biosignal simulate --speed max --drop 2 --duplicate 5 --reorder 10 --late 1 --ledger run1 --truth run1.truth.jsonl',
  ],
  run: async ({ console, options, json }) => {
    const deviceCount = options.integer('devices', 1, 100_000);
    const packetMs = options.integer('packet-ms', 10, 60_000);
    const speed = options.text('speed') === 'max' ? Infinity : Number(options.text('speed').replace(/x$/, ''));
    if (!(speed > 0)) throw new UsageError(`--speed must be max or a factor such as 1x`);
    const seconds = options.number('duration', 0, 1e9);
    if (seconds === 0 && speed > 1) throw new UsageError('--duration 0 (endless) needs --speed 1x');
    const nowNs = BigInt(Date.now()) * 1_000_000n;
    const fleet: Fleet = {
      deviceCount,
      seed: options.integer('seed', 0, 4_294_967_295),
      devicePrefix: options.text('device-prefix'),
      subjectPrefix: options.text('subject-prefix'),
      startUnixNs: options.time('start') ?? (speed > 1 ? nowNs - BigInt(Math.ceil(seconds * 1e9)) : nowNs),
      packetMs,
      skewPpm: options.number('skew', -1000, 1000),
      person: {
        ...(options.text('channels') === '' ? {} : { channels: readChannels(options.text('channels')) }),
        ...(options.text('hr') === '' ? {} : { heartRateBpm: options.number('hr', 30, 180) }),
        rhythm: options.oneOf('rhythm', rhythms),
        activity: options.oneOf('activity', activities),
        pvcPercent: options.number('pvc', 0, 40),
        noise: options.number('noise', 0, 10),
      },
      faults: {
        dropPercent: options.number('drop', 0, 100),
        duplicatePercent: options.number('duplicate', 0, 100),
        reorderPercent: options.number('reorder', 0, 100),
        reorderMs: options.number('reorder-sec', 0, 3600) * 1000,
        latePercent: options.number('late', 0, 100),
        lateMs: options.number('late-sec', 0, 1e7) * 1000,
      },
    };
    const credential = options.required('key');
    const ledger = options.text('ledger') === '' ? null : new LedgerWriter(options.text('ledger'));
    const truth = options.text('truth') === '' ? null : createWriteStream(options.text('truth'));
    const devices = Array.from({ length: deviceCount }, (_, i) => createFleetDevice(fleet, i));
    const total = seconds === 0 ? Infinity : Math.ceil((seconds * 1000) / packetMs);
    const progress = startProgress(console, `${deviceCount} device${deviceCount === 1 ? '' : 's'}`, Number.isFinite(total) ? total : 0);

    const keys = new Map<number, { deviceId: string; bootId: string; seq: number }>();
    let tags = 0;
    let firstRejection = '';
    const senders = Array.from(
      { length: Math.min(deviceCount, options.integer('connections', 1, 256)) },
      () =>
        new HttpSender({
          url: options.text('to'),
          credential,
          signal: console.signal,
          onSettled: (tag, code, detail) => {
            const key = keys.get(tag);
            keys.delete(tag);
            if (key === undefined) return;
            ledger?.settled(key, code);
            if (code !== 'accepted' && firstRejection === '') firstRejection = `${key.deviceId} packet ${key.seq}: ${code}: ${detail}`;
          },
        }),
    );
    const send = async (index: number, leaving: readonly Leaving[]): Promise<void> => {
      const { deviceId, bootId } = devices[index]!;
      for (const { bytes, seq } of leaving) {
        const tag = tags++;
        keys.set(tag, { deviceId, bootId, seq });
        ledger?.sent({ deviceId, bootId, seq }, bytes);
        await senders[index % senders.length]!.send(bytes, tag);
      }
    };

    const startedMs = performance.now();
    let samples = 0;
    let made = 0;
    try {
      for (let step = 0; step < total && !console.signal.aborted; step++) {
        for (let i = 0; i < deviceCount; i++) {
          const { deviceId, subject, next, path } = devices[i]!;
          const { packet, span, dueMs } = next();
          if (Number.isFinite(speed)) {
            const waitMs = startedMs + dueMs / speed - performance.now();
            if (waitMs > 1) await sleep(waitMs, undefined, { signal: console.signal });
          }
          if (truth !== null) await writeTruth(truth, fleet.startUnixNs, deviceId, subject, span);
          for (const block of packet.blocks) samples += block.samples.length;
          made++;
          await send(i, path.push({ bytes: encodePacket(packet), seq: packet.seq }, Number(span.t1DeviceNs) / 1e6));
        }
        const sec = (performance.now() - startedMs) / 1000;
        progress.update(step + 1, `${Math.round(made / sec)} packets/s  ${Math.round(samples / sec)} samples/s`);
      }
      if (!console.signal.aborted) {
        for (let i = 0; i < deviceCount; i++) await send(i, devices[i]!.path.drain());
        await Promise.all(senders.map((sender) => sender.flush()));
      }
    } catch (error) {
      if (!console.signal.aborted) throw error;
    } finally {
      progress.end();
      ledger?.close();
      if (truth !== null) await new Promise<void>((resolve) => truth.end(resolve));
    }
    const sum = (pick: (sender: HttpSender) => number): number => senders.reduce((total_, sender) => total_ + pick(sender), 0);
    const faults = devices.reduce(
      (all, { path: { counts } }) => ({
        dropped: all.dropped + counts.dropped,
        duplicated: all.duplicated + counts.duplicated,
        reordered: all.reordered + counts.reordered,
        late: all.late + counts.late,
      }),
      { dropped: 0, duplicated: 0, reordered: 0, late: 0 },
    );
    const result = {
      devices: deviceCount,
      seed: fleet.seed,
      startUnixNs: String(fleet.startUnixNs),
      packets: made,
      samples,
      accepted: sum(({ totals }) => totals.accepted),
      duplicates: sum(({ totals }) => totals.duplicates),
      rejected: sum(({ totals }) => totals.rejected),
      retries: sum(({ totals }) => totals.retries),
      unsettled: keys.size,
      faults,
      firstRejection,
      elapsedSec: (performance.now() - startedMs) / 1000,
    };
    if (json) console.out(JSON.stringify(result, null, 2));
    else {
      const { packets, accepted, duplicates, rejected, retries, elapsedSec } = result;
      console.out(
        `${deviceCount} devices, seed ${fleet.seed}: ${packets} packets, ${samples} samples in ${elapsedSec.toFixed(1)} s; ` +
          `${accepted} accepted, ${duplicates} duplicates, ${rejected} rejected, ${retries} retries`,
      );
      if (Object.values(faults).some((count) => count > 0)) {
        console.out(`faults: ${Object.entries(faults).map(([name, count]) => `${count} ${name}`).join(', ')}`); // prettier-ignore
      }
      if (firstRejection !== '') console.out(`first refusal: ${firstRejection}`);
    }
    if (console.signal.aborted && Number.isFinite(total)) return EXIT_INTERRUPTED;
    return result.rejected > 0 ? EXIT_FAILED : EXIT_OK;
  },
};

function readChannels(text: string): SimulatedChannel[] {
  return text.split(',').map((item) => {
    const found = simulatedChannels.find((code) => code === item.trim());
    if (found === undefined) throw new UsageError(`--channels: no '${item}'; there are ${simulatedChannels.join(', ')}`);
    return found;
  });
}

/** One line per packet that holds an event. Times are device ns; add startUnixNs (and the skew) for wall time. */
async function writeTruth(
  file: WriteStream,
  startUnixNs: bigint,
  device: string,
  subject: string,
  span: SimulatedPacket['span'],
): Promise<void> {
  if (span.beats.length + span.skinResponseSec.length + span.breathSec.length === 0) return;
  const line = JSON.stringify({
    device,
    subject,
    startUnixNs: String(startUnixNs),
    t0DeviceNs: String(span.t0DeviceNs),
    beats: span.beats.map(({ atSec, rrMs, kind, systolicSec }) => ({ atSec, rrMs, kind, systolicSec })),
    skinResponseSec: span.skinResponseSec,
    breathSec: span.breathSec,
    stepHz: span.stepHz,
  });
  if (!file.write(`${line}\n`)) await new Promise<void>((resolve) => file.once('drain', resolve));
}
