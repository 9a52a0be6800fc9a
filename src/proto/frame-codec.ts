/** Live frames between bytes and values. No node imports: browsers decode with this file. */
import type { ChannelKind, QualityFlag } from '../signal.ts';
import { channelKinds } from '../signal.ts';
import { WireFault, WireReader } from './wire-reader.ts';
import { WireWriter } from './wire-writer.ts';

/** 100 ms of one subject. */
export type LiveFrame = Readonly<{
  subject: string;
  /** Strictly increasing per subject; frames that the service had no samples for have no number in use. */
  seq: number;
  /** Start of the window on the corrected device clock, Unix ns. */
  t0Ns: bigint;
  durationMs: number;
  /** Primary channel of each kind, physical units; NaN marks a missing sample. */
  ecg: Float32Array;
  ppg: Float32Array;
  eda: Float32Array;
  temp: Float32Array;
  channels: readonly LiveChannel[];
  features: readonly LiveFeature[];
  /** Frames left out for this viewer just before this one. */
  droppedFrames: number;
  /** Age of the window's end when it was sent, ms; 0 where it was not measured. */
  lagMs: number;
  replayed: boolean;
  incomplete: boolean;
}>;

export type LiveChannel = Readonly<{
  code: string;
  kind: ChannelKind;
  unit: string;
  rateNanoHz: number;
  /** First sample relative to t0Ns, ns. Negative: samples that came after their own frame had left. */
  tOffsetNs: number;
  primary: boolean;
  /** Physical units; NaN marks a missing sample. Of a primary channel: the same array as frame.ecg, ppg, eda or temp. */
  samples: Float32Array;
  /** One flag per sample, or null when all are good. */
  qmask: Uint8Array | null;
  lead: string;
  /** Tells several devices of one subject apart. */
  source: number;
}>;

export type LiveFeature = Readonly<{ name: string; tsNs: bigint; value: number; qmask: QualityFlag }>;

/** What is told to one viewer only. A message's fields may come in any order, so these are appended to bytes that all viewers share. */
export type FrameSuffix = Readonly<{ droppedFrames: number; lagMs: number; replayed: boolean }>;

const NONE = new Float32Array(0);
const SAMPLES_MAX = 1_000_000;

/** @throws WireFault for bytes that are no frame */
export function decodeFrame(bytes: Uint8Array): LiveFrame {
  const r = new WireReader(bytes);
  let subject = '';
  let seq = 0;
  let t0Ns = 0n;
  let durationMs = 0;
  let ecg = NONE;
  let ppg = NONE;
  let eda = NONE;
  let temp = NONE;
  const raw: RawChannel[] = [];
  const features: LiveFeature[] = [];
  let droppedFrames = 0;
  let lagMs = 0;
  let replayed = false;
  let incomplete = false;
  for (let tag = r.tag(); tag !== 0; tag = r.tag()) {
    switch (tag) {
      case 0x0a:
        subject = r.text();
        break;
      case 0x10:
        seq = r.uint();
        break;
      case 0x19:
        t0Ns = r.fixed64();
        break;
      case 0x20:
        durationMs = r.uint();
        break;
      case 0x2a:
        ecg = r.floats();
        break;
      case 0x32:
        ppg = r.floats();
        break;
      case 0x3a:
        eda = r.floats();
        break;
      case 0x42:
        temp = r.floats();
        break;
      case 0x4a:
        raw.push(readChannel(r.message()));
        break;
      case 0x52:
        features.push(readFeature(r.message()));
        break;
      case 0x58:
        droppedFrames = r.uint();
        break;
      case 0x60:
        lagMs = r.uint();
        break;
      case 0x68:
        replayed = r.uint() !== 0;
        break;
      case 0x70:
        incomplete = r.uint() !== 0;
        break;
      default:
        r.skip(tag);
    }
  }
  const primaries: Partial<Record<ChannelKind, Float32Array>> = { ecg, ppg, eda, temp };
  const channels = raw.map(({ runs, ...channel }): LiveChannel => {
    const samples = channel.primary ? (primaries[channel.kind] ?? NONE) : channel.samples;
    return { ...channel, samples, qmask: expandRuns(runs, samples.length) };
  });
  return {
    subject,
    seq,
    t0Ns,
    durationMs,
    ecg,
    ppg,
    eda,
    temp,
    channels,
    features,
    droppedFrames,
    lagMs,
    replayed,
    incomplete,
  };
}

type RawChannel = Omit<LiveChannel, 'qmask'> & Readonly<{ runs: WireReader | null }>;

function readChannel(r: WireReader): RawChannel {
  let code = '';
  let kindNumber = 0;
  let unit = '';
  let rateNanoHz = 0;
  let tOffsetNs = 0;
  let primary = false;
  let samples = NONE;
  let runs: WireReader | null = null;
  let lead = '';
  let source = 0;
  for (let tag = r.tag(); tag !== 0; tag = r.tag()) {
    switch (tag) {
      case 0x0a:
        code = r.text();
        break;
      case 0x10:
        kindNumber = r.uint();
        break;
      case 0x1a:
        unit = r.text();
        break;
      case 0x20:
        rateNanoHz = r.uint();
        break;
      case 0x28: {
        const sint = r.uint();
        tOffsetNs = sint % 2 === 0 ? sint / 2 : -(sint + 1) / 2;
        break;
      }
      case 0x30:
        primary = r.uint() !== 0;
        break;
      case 0x3a:
        samples = r.floats();
        break;
      case 0x42:
        runs = r.message();
        break;
      case 0x4a:
        lead = r.text();
        break;
      case 0x50:
        source = r.uint();
        break;
      default:
        r.skip(tag);
    }
  }
  const kind = channelKinds[kindNumber - 1] ?? 'other';
  return { code, kind, unit, rateNanoHz, tOffsetNs, primary, samples, runs, lead, source };
}

function expandRuns(runs: WireReader | null, n: number): Uint8Array | null {
  if (runs === null || runs.pos === runs.end) return null;
  if (n > SAMPLES_MAX) throw new WireFault(runs.pos, `${n} samples`);
  const out = new Uint8Array(n);
  let filled = 0;
  while (runs.pos < runs.end) {
    const at = runs.pos;
    const run = runs.uint();
    const length = Math.floor(run / 4);
    if (length > n - filled) throw new WireFault(at, `quality runs do not add up to ${n} samples`);
    out.fill(run % 4, filled, filled + length);
    filled += length;
  }
  if (filled !== n) throw new WireFault(runs.end, `quality runs do not add up to ${n} samples`);
  return out;
}

function readFeature(r: WireReader): LiveFeature {
  let name = '';
  let tsNs = 0n;
  let value = 0;
  let flag = 0;
  for (let tag = r.tag(); tag !== 0; tag = r.tag()) {
    if (tag === 0x0a) name = r.text();
    else if (tag === 0x11) tsNs = r.fixed64();
    else if (tag === 0x19) value = r.double();
    else if (tag === 0x20) flag = r.uint();
    else r.skip(tag);
  }
  return { name, tsNs, value, qmask: (flag > 2 ? 2 : flag) as QualityFlag };
}

const writer = new WireWriter(16 * 1024);

/** Encodes a whole frame. The service writes frames piece by piece (src/live/window-encoder.ts); this is for tests and other producers. */
export function encodeFrame(frame: LiveFrame): Uint8Array<ArrayBuffer> {
  const w = writer;
  w.reset();
  w.text(0x0a, frame.subject);
  w.uint(0x10, frame.seq);
  w.fixed64(0x19, frame.t0Ns);
  w.uint(0x20, frame.durationMs);
  if (frame.ecg.length > 0) w.floats(0x2a, frame.ecg);
  if (frame.ppg.length > 0) w.floats(0x32, frame.ppg);
  if (frame.eda.length > 0) w.floats(0x3a, frame.eda);
  if (frame.temp.length > 0) w.floats(0x42, frame.temp);
  for (const channel of frame.channels) {
    const at = w.open(0x4a);
    writeChannelHead(w, channel);
    if (channel.tOffsetNs !== 0) writeOffset(w, channel.tOffsetNs);
    if (!channel.primary && channel.samples.length > 0) w.floats(0x3a, channel.samples);
    if (channel.qmask !== null && channel.qmask.length > 0) w.qmaskRuns(0x42, channel.qmask);
    w.close(at);
  }
  for (const feature of frame.features) writeFeature(w, feature);
  if (frame.incomplete) w.uint(0x70, 1);
  writeSuffix(w, frame);
  return w.take();
}

/** The part of a LiveChannel that does not change from frame to frame. */
export function writeChannelHead(
  w: WireWriter,
  channel: Pick<LiveChannel, 'code' | 'kind' | 'unit' | 'rateNanoHz' | 'primary' | 'lead' | 'source'>,
): void {
  w.text(0x0a, channel.code);
  w.uint(0x10, channelKinds.indexOf(channel.kind) + 1);
  if (channel.unit !== '') w.text(0x1a, channel.unit);
  w.uint(0x20, channel.rateNanoHz);
  if (channel.primary) w.uint(0x30, 1);
  if (channel.lead !== '') w.text(0x4a, channel.lead);
  if (channel.source !== 0) w.uint(0x50, channel.source);
}

/** sint64: zigzag. */
export function writeOffset(w: WireWriter, tOffsetNs: number): void {
  w.uint(0x28, zigzag(tOffsetNs));
}

/** A signed number as the unsigned one that a sint64 field holds. */
export function zigzag(value: number): number {
  return value >= 0 ? 2 * value : -2 * value - 1;
}

export function writeFeature(w: WireWriter, feature: LiveFeature): void {
  const at = w.open(0x52);
  w.text(0x0a, feature.name);
  w.fixed64(0x11, feature.tsNs);
  w.double(0x19, feature.value);
  if (feature.qmask !== 0) w.uint(0x20, feature.qmask);
  w.close(at);
}

export function writeSuffix(w: WireWriter, suffix: FrameSuffix): void {
  if (suffix.droppedFrames !== 0) w.uint(0x58, suffix.droppedFrames);
  if (suffix.lagMs !== 0) w.uint(0x60, suffix.lagMs);
  if (suffix.replayed) w.uint(0x68, 1);
}
