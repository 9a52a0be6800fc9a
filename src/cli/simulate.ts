/** `biosignal simulate`: a fleet of simulated devices on simulated people, with the faults of a real network if wanted. */
import { resolve } from 'node:path';
import type { Command, Options } from './command.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, UsageError } from './command.ts';
import { LedgerWriter } from './client/ledger.ts';
import { transports } from './client/packet-sender.ts';
import { FORCE_OPTION } from './export/whole-files.ts';
import { activities, rhythms } from './simulator/body.ts';
import { simulatedChannels } from './simulator/device.ts';
import type { SimulatedChannel } from './simulator/device.ts';
import type { Fleet } from './simulator/fleet.ts';
import { streamFleet } from './simulator/stream-fleet.ts';
import type { FleetResult } from './simulator/stream-fleet.ts';
import { TruthFile } from './simulator/truth-file.ts';

export const simulate: Command = {
  name: 'simulate',
  summary: 'Stream simulated devices, optionally with faults.',
  description: `Each device is one person with ECG, PPG, EDA, skin temperature and acceleration; the same seed gives the same samples.
--truth writes what the signals were made from (beats with their kind, rhythm, skin responses, breaths, steps, losses of contact);
'biosignal agreement --truth FILE' compares the service's beats and values with it.
--ledger records every packet before it is sent, and every answer, for 'biosignal verify'.`,
  options: {
    to: { type: 'string', value: 'URL', env: 'BIO_URL', fallback: 'http://127.0.0.1:8080', doc: 'Address of the service.' },
    key: { type: 'string', value: 'KEY', env: 'BIO_KEY', doc: 'Organization key of scope ingest.' },
    devices: { type: 'string', value: 'N', fallback: '1', doc: 'How many devices.' },
    duration: { type: 'string', value: 'SEC', fallback: '60', doc: 'Device time to stream; 0: until Ctrl-C.' },
    speed: { type: 'string', value: 'SPEED', fallback: '1x', doc: '1x, 10x, ... or max.' },
    'packet-ms': { type: 'string', value: 'MS', fallback: '1000', doc: 'Device time of one packet.' },
    seed: { type: 'string', value: 'N', fallback: '1', doc: 'Seed for people, noise and faults.' },
    start: { type: 'string', value: 'TIME', doc: 'Time of the first sample. Default: now at 1x, otherwise such that the stream ends now.' },
    'device-prefix': { type: 'string', value: 'ID', fallback: 'sim-', doc: 'Devices are named PREFIX0001 ...' },
    'subject-prefix': { type: 'string', value: 'ID', fallback: 'sim-', doc: 'User records (external ids) are named PREFIX0001 ...' },
    subject: { type: 'string', value: 'ID', doc: 'User record of a single device, by external id or uuid, instead of the prefix.' },
    channels: {
      type: 'string',
      value: 'LIST',
      doc: `Comma-separated list of ${simulatedChannels.join(', ')}. Default: all but ppg.red and resp.`,
    },
    rhythm: { type: 'string', value: 'NAME', fallback: 'sinus', doc: `${rhythms.join(', ')}.` },
    activity: { type: 'string', value: 'NAME', fallback: 'rest', doc: `${activities.join(', ')}.` },
    hr: { type: 'string', value: 'BPM', doc: 'Mean heart rate at rest, 30 to 180. Default: by seed, 55 to 80.' },
    pvc: { type: 'string', value: 'PERCENT', fallback: '0', doc: 'Ventricular premature beats per 100.' },
    noise: { type: 'string', value: 'X', fallback: '1', doc: '0 clean, 1 usual, 3 poor.' },
    'contact-loss': {
      type: 'string',
      value: 'N',
      fallback: '0',
      doc: 'Times per hour that the ECG or the PPG loses contact for 3 to 30 s.',
    },
    drop: { type: 'string', value: 'PERCENT', fallback: '0', doc: 'Share of packets never sent.' },
    duplicate: { type: 'string', value: 'PERCENT', fallback: '0', doc: 'Share of packets sent twice.' },
    reorder: { type: 'string', value: 'PERCENT', fallback: '0', doc: 'Share of packets held back for up to --reorder-sec.' },
    'reorder-sec': { type: 'string', value: 'SEC', fallback: '5', doc: 'See --reorder.' },
    late: { type: 'string', value: 'PERCENT', fallback: '0', doc: 'Share of packets held back for --late-sec, or to the end of the run.' },
    'late-sec': { type: 'string', value: 'SEC', fallback: '60', doc: 'See --late.' },
    skew: { type: 'string', value: 'PPM', fallback: '0', doc: 'Device clocks run fast or slow by up to this much.' },
    connections: { type: 'string', value: 'N', fallback: '4', doc: 'Concurrent requests or sockets.' },
    transport: { type: 'string', value: 'NAME', fallback: 'http', doc: 'http: batches; websocket: /ingest/stream.' },
    truth: { type: 'string', value: 'FILE', doc: 'Write the truth to this file, one JSON object per packet and device.' },
    force: FORCE_OPTION,
    ledger: { type: 'string', value: 'NAME', doc: 'Write NAME.jsonl and NAME.packets, or append to them.' },
  },
  examples: [
    'biosignal simulate --devices 100 --duration 600',
    'biosignal simulate --speed max --drop 2 --duplicate 5 --reorder 10 --late 1 --ledger run1 --truth run1.truth.jsonl',
  ],
  run: async ({ console, options, json }) => {
    const speed = options.text('speed') === 'max' ? Infinity : Number(options.text('speed').replace(/x$/, ''));
    if (!(speed > 0)) throw new UsageError(`--speed must be max or a factor such as 1x`);
    const seconds = options.number('duration', 0, 1e9);
    if (seconds === 0 && speed > 1) throw new UsageError('--duration 0 (endless) needs --speed 1x');
    const fleet = readFleet(options, speed, seconds);
    const credential = options.required('key');
    const packetCount = seconds === 0 ? Infinity : Math.ceil((seconds * 1000) / fleet.packetMs);
    const [url, transport] = [options.text('to'), options.oneOf('transport', transports)];
    const connections = options.integer('connections', 1, 256);
    const truthPath = options.text('truth');
    const truth = truthPath === '' ? null : new TruthFile(resolve(console.cwd, truthPath), fleet.startUnixNs, options.flag('force'));
    const result = await streamFleet(
      fleet,
      {
        url,
        credential,
        transport,
        connections,
        speed,
        packetCount,
        ledger: options.text('ledger') === '' ? null : new LedgerWriter(options.text('ledger')),
        truth,
      },
      console,
    );
    const { deviceCount, seed } = fleet;
    if (json) console.out(JSON.stringify({ devices: deviceCount, seed, startUnixNs: String(fleet.startUnixNs), ...result }, null, 2));
    else for (const line of describe(fleet, result)) console.out(line);
    if (console.signal.aborted && Number.isFinite(packetCount)) return EXIT_INTERRUPTED;
    return result.rejected > 0 ? EXIT_FAILED : EXIT_OK;
  },
};

function readFleet(options: Options, speed: number, seconds: number): Fleet {
  const nowNs = BigInt(Date.now()) * 1_000_000n;
  const subject = options.text('subject');
  const deviceCount = options.integer('devices', 1, 100_000);
  if (subject !== '' && deviceCount > 1) throw new UsageError('--subject is for one device; use --subject-prefix for several');
  return {
    deviceCount,
    ...(subject === '' ? {} : { subject }),
    seed: options.integer('seed', 0, 4_294_967_295),
    devicePrefix: options.text('device-prefix'),
    subjectPrefix: options.text('subject-prefix'),
    startUnixNs: options.time('start') ?? (speed > 1 ? nowNs - BigInt(Math.ceil(seconds * 1e9)) : nowNs),
    packetMs: options.integer('packet-ms', 10, 60_000),
    skewPpm: options.number('skew', -1000, 1000),
    person: {
      ...(options.text('channels') === '' ? {} : { channels: readChannels(options.text('channels')) }),
      ...(options.text('hr') === '' ? {} : { heartRateBpm: options.number('hr', 30, 180) }),
      rhythm: options.oneOf('rhythm', rhythms),
      activity: options.oneOf('activity', activities),
      pvcPercent: options.number('pvc', 0, 40),
      noise: options.number('noise', 0, 10),
      contactLossPerHour: options.number('contact-loss', 0, 120),
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
}

function readChannels(text: string): SimulatedChannel[] {
  return text.split(',').map((item) => {
    const found = simulatedChannels.find((code) => code === item.trim());
    if (found === undefined) throw new UsageError(`--channels: no '${item}'; there are ${simulatedChannels.join(', ')}`);
    return found;
  });
}

function describe(fleet: Fleet, result: FleetResult): string[] {
  const { packets, samples, accepted, duplicates, rejected, retries, elapsedSec, faults, firstRejection } = result;
  const lines = [
    `${fleet.deviceCount} device${fleet.deviceCount === 1 ? '' : 's'}, seed ${fleet.seed}: ${packets} packets, ${samples} samples in ${elapsedSec.toFixed(1)} s; ` +
      `${accepted} accepted, ${duplicates} duplicates, ${rejected} rejected, ${retries} retries`,
  ];
  const told = Object.entries(faults).map(([name, count]) => `${count} ${name}`);
  if (Object.values(faults).some((count) => count > 0)) lines.push(`faults: ${told.join(', ')}`);
  if (firstRejection !== '') lines.push(`first refusal: ${firstRejection}`);
  return lines;
}
