/** Writes the current window of a FrameClock as a LiveFrame: once per subject and channel selection, nothing allocated per sample. */
import type { LiveFeature } from '../proto/frame-codec.ts';
import { writeChannelHead, writeFeature, writeOffset, zigzag } from '../proto/frame-codec.ts';
import { WireWriter } from '../proto/wire-writer.ts';
import type { ChannelKind, SampleRun } from '../signal.ts';
import type { ClockChannel, FrameClock } from './frame-clock.ts';
import { WINDOW_MS } from './frame-clock.ts';

const writer = new WireWriter(64 * 1024);
const headWriter = new WireWriter(256);
let floats = new Float32Array(4096);
let flags = new Uint8Array(4096);

/** Tags of the named arrays. */
const arrayTag: Partial<Record<ChannelKind, number>> = { ecg: 0x2a, ppg: 0x32, eda: 0x3a, temp: 0x42 };

/** Encodes the window.  @param selects channels to include; null = all  @returns the writer's memory, valid until the next call */
export function encodeWindow(
  clock: FrameClock,
  subject: string,
  incomplete: boolean,
  features: readonly LiveFeature[],
  selects: ((code: string, kind: ChannelKind) => boolean) | null,
): Uint8Array<ArrayBuffer> {
  const w = writer;
  w.reset();
  w.text(0x0a, subject);
  w.uint(0x10, clock.window);
  w.fixed64(0x19, clock.t0Ns());
  w.uint(0x20, WINDOW_MS);
  for (const channel of clock.channels) {
    if (selects !== null && !selects(channel.config.code, channel.config.kind)) continue;
    writeChannel(w, clock, channel);
  }
  for (const feature of features) writeFeature(w, feature);
  if (incomplete) w.uint(0x70, 1);
  return w.view();
}

function writeChannel(w: WireWriter, clock: FrameClock, channel: ClockChannel): void {
  const from = Math.max(channel.kFrom, channel.kFirst);
  if (channel.late.length === 0 && writeWhole(w, clock, channel, from)) return;
  const n = Math.max(0, channel.kTo - from);
  const filled = n === 0 ? 0 : fill(channel, from, channel.kTo);
  const has = filled !== EMPTY && n > 0;
  // A primary channel's samples go into the array of its kind; its entry describes them.
  if (has && channel.primary) w.floats(arrayTag[channel.config.kind]!, floats.subarray(0, n));
  const at = w.open(0x4a);
  w.raw((channel.head ??= headOf(channel)));
  if (has) {
    const offset = offsetNs(clock, channel, from);
    if (offset !== 0) writeOffset(w, offset);
    if (!channel.primary) w.floats(0x3a, floats.subarray(0, n));
    if (filled === FLAGGED) w.qmaskRuns(0x42, flags.subarray(0, n));
  }
  w.close(at);
  for (const piece of channel.late) writeLate(w, clock, channel, piece.run, piece.from, piece.to);
}

/** The usual case: the window lies within one run of good whole numbers, and begins with its first sample.  @returns whether it applied */
function writeWhole(w: WireWriter, clock: FrameClock, channel: ClockChannel, from: number): boolean {
  const pending = channel.runs[0];
  const to = channel.kTo;
  if (pending === undefined || from >= to) return false;
  const { run, end } = pending;
  if (run.k0 > from || end < to || run.qmask !== null || !(run.samples instanceof Int32Array)) return false;
  const next = channel.runs[1];
  if (next !== undefined && next.run.k0 < to) return false; // sent twice, perhaps with other values: the later one counts
  const { config } = channel;
  const head = (channel.head ??= headOf(channel));
  const offset = offsetNs(clock, channel, from);
  const bytes = 4 * (to - from);
  const arrayBytes = channel.primary ? 0 : 1 + varintBytes(bytes) + bytes;
  if (channel.primary) w.physicalFloats(arrayTag[config.kind]!, run.samples, from - run.k0, to - run.k0, config.baseline, 1 / config.gain);
  w.head(0x4a, head, arrayBytes + (offset === 0 ? 0 : 1 + varintBytes(zigzag(offset))));
  if (offset !== 0) writeOffset(w, offset);
  if (!channel.primary) w.physicalFloats(0x3a, run.samples, from - run.k0, to - run.k0, config.baseline, 1 / config.gain);
  return true;
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}

/** Writes late samples: another entry of the channel, never primary, with a negative offset. */
function writeLate(w: WireWriter, clock: FrameClock, channel: ClockChannel, run: SampleRun, from: number, to: number): void {
  const n = to - from;
  grow(n);
  const flagged = copy(channel, run, from, to, from);
  const at = w.open(0x4a);
  writeChannelHead(w, { ...channel.config, primary: false, source: channel.stream.source });
  writeOffset(w, offsetNs(clock, channel, from));
  w.floats(0x3a, floats.subarray(0, n));
  if (flagged) w.qmaskRuns(0x42, flags.subarray(0, n));
  w.close(at);
}

function headOf(channel: ClockChannel): Uint8Array {
  headWriter.reset();
  writeChannelHead(headWriter, { ...channel.config, primary: channel.primary, source: channel.stream.source });
  return headWriter.take();
}

/** Time of sample k after the window's start, ns. Whole seconds are subtracted first: k / rate alone loses nanoseconds after weeks. */
function offsetNs(clock: FrameClock, channel: ClockChannel, k: number): number {
  const { stream, config } = channel;
  const startNs = (clock.window - stream.epochWindow) * 1e8 + (clock.phaseNs - stream.epochRestNs);
  const fs = config.rateNanoHz / 1e9;
  const sec = Math.floor(k / fs);
  return Math.round(sec * 1e9 - startNs + ((k - sec * fs) / fs) * 1e9);
}

const EMPTY = 0;
const GOOD = 1;
const FLAGGED = 2;

/** Fills the scratch arrays with physical values and flags of [from, to); missing samples are NaN and bad. */
function fill(channel: ClockChannel, from: number, to: number): typeof EMPTY | typeof GOOD | typeof FLAGGED {
  const runs = channel.runs;
  if (runs.length === 0 || runs[0]!.run.k0 >= to) return EMPTY;
  const n = to - from;
  grow(n);
  let flagged = false;
  if (channel.covered() < to) {
    floats.fill(Number.NaN, 0, n);
    flags.fill(2, 0, n);
    flagged = true;
  } else flags.fill(0, 0, n);
  let any = false;
  for (let i = 0; i < runs.length; i++) {
    const { run, end } = runs[i]!;
    if (run.k0 >= to) break;
    if (end <= from) continue;
    any = true;
    if (copy(channel, run, Math.max(from, run.k0), Math.min(to, end), from)) flagged = true;
  }
  if (!any) return EMPTY;
  return flagged ? FLAGGED : GOOD;
}

/** @returns whether any flag is not good */
function copy(channel: ClockChannel, run: SampleRun, from: number, to: number, origin: number): boolean {
  const { samples, qmask, k0 } = run;
  const { baseline } = channel.config;
  const scale = 1 / channel.config.gain;
  const out = floats;
  const mask = flags;
  const shift = k0 - origin;
  let flagged = false;
  if (samples instanceof Int32Array) {
    for (let i = from - k0, end = to - k0; i < end; i++) out[i + shift] = (samples[i]! - baseline) * scale;
  } else {
    for (let i = from - k0, end = to - k0; i < end; i++) out[i + shift] = (samples[i]! - baseline) * scale;
  }
  if (qmask !== null) {
    for (let i = from - k0, end = to - k0; i < end; i++) {
      mask[i + shift] = qmask[i]!;
      if (qmask[i] !== 0) flagged = true;
    }
  } else mask.fill(0, from - origin, to - origin);
  if (!(samples instanceof Int32Array)) {
    for (let i = from - origin, end = to - origin; i < end; i++) {
      if (out[i] === out[i]) continue; // NaN: the device had no sample
      mask[i] = 2;
      flagged = true;
    }
  }
  return flagged;
}

function grow(n: number): void {
  if (n <= floats.length) return;
  floats = new Float32Array(2 * n);
  flags = new Uint8Array(2 * n);
}
