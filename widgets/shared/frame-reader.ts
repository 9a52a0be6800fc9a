/** Reads a LiveFrame of proto/biosignal.proto: the few field kinds that it uses, 1 kB of code instead of a protobuf runtime.
 *  Unknown fields are skipped, so that a newer service does not blind an older page. */
import type { LiveChannel, LiveFeature, LiveFrame } from './live-feed.ts';

const kinds = ['other', 'ecg', 'ppg', 'eda', 'temp', 'resp', 'acc', 'gyro', 'other'] as const;

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  at = 0;
  readonly end: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.length;
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.#bytes[this.at++];
      if (byte === undefined) throw new RangeError('frame ends within a number');
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  }

  fixed64(): bigint {
    this.at += 8;
    return this.#view.getBigUint64(this.at - 8, true);
  }

  double(): number {
    this.at += 8;
    return this.#view.getFloat64(this.at - 8, true);
  }

  bytes(): Uint8Array {
    const length = this.varint();
    if (this.at + length > this.end) throw new RangeError('frame ends within a field');
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }

  skip(wire: number): void {
    if (wire === 0) this.varint();
    else if (wire === 1) this.at += 8;
    else if (wire === 2) this.bytes();
    else if (wire === 5) this.at += 4;
    else throw new RangeError(`wire type ${wire}`);
  }
}

const utf8 = new TextDecoder();

function floats(bytes: Uint8Array): Float32Array {
  const out = new Float32Array(bytes.length >> 2);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < out.length; i++) out[i] = view.getFloat32(i * 4, true);
  return out;
}

/** Runs of `length * 4 + flag` to one flag per sample; null when there are none. */
function flags(bytes: Uint8Array, count: number): Uint8Array | null {
  if (bytes.length === 0) return null;
  const out = new Uint8Array(count);
  const reader = new Reader(bytes);
  let at = 0;
  while (reader.at < reader.end) {
    const run = reader.varint();
    const length = Math.floor(run / 4);
    out.fill(run % 4, at, Math.min(count, at + length));
    at += length;
  }
  return out;
}

type OpenChannel = {
  code: string;
  kind: string;
  unit: string;
  lead: string;
  rateHz: number;
  offsetNs: number;
  primary: boolean;
  samples: Float32Array;
  runs: Uint8Array;
  source: number;
};

function readChannel(bytes: Uint8Array): OpenChannel {
  const reader = new Reader(bytes);
  const channel: OpenChannel = {
    code: '',
    kind: 'other',
    unit: '',
    lead: '',
    rateHz: 0,
    offsetNs: 0,
    primary: false,
    samples: new Float32Array(0),
    runs: new Uint8Array(0),
    source: 0,
  };
  while (reader.at < reader.end) {
    const tag = reader.varint();
    if (tag === 10) channel.code = utf8.decode(reader.bytes());
    else if (tag === 16) channel.kind = kinds[reader.varint()] ?? 'other';
    else if (tag === 26) channel.unit = utf8.decode(reader.bytes());
    else if (tag === 32) channel.rateHz = reader.varint() / 1e9;
    else if (tag === 40) channel.offsetNs = reader.varint();
    else if (tag === 48) channel.primary = reader.varint() !== 0;
    else if (tag === 58) channel.samples = floats(reader.bytes());
    else if (tag === 66) channel.runs = reader.bytes();
    else if (tag === 74) channel.lead = utf8.decode(reader.bytes());
    else if (tag === 80) channel.source = reader.varint();
    else reader.skip(tag & 7);
  }
  return channel;
}

function readFeature(bytes: Uint8Array): LiveFeature {
  const reader = new Reader(bytes);
  let name = '';
  let tsNs = 0n;
  let value = 0;
  let qmask = 0;
  while (reader.at < reader.end) {
    const tag = reader.varint();
    if (tag === 10) name = utf8.decode(reader.bytes());
    else if (tag === 17) tsNs = reader.fixed64();
    else if (tag === 25) value = reader.double();
    else if (tag === 32) qmask = reader.varint();
    else reader.skip(tag & 7);
  }
  return { name, timeMs: Number(tsNs) / 1e6, value, qmask };
}

/** @throws RangeError when the bytes end early or are not a LiveFrame */
export function decodeLiveFrame(bytes: Uint8Array): LiveFrame {
  const reader = new Reader(bytes);
  let seq = 0;
  let t0Ns = 0n;
  let durationMs = 100;
  let droppedFrames = 0;
  let lagMs = 0;
  let replayed = false;
  const primary: Record<string, Float32Array> = {};
  const open: OpenChannel[] = [];
  const features: LiveFeature[] = [];
  while (reader.at < reader.end) {
    const tag = reader.varint();
    const field = tag >>> 3;
    if (tag === 16) seq = reader.varint();
    else if (tag === 25) t0Ns = reader.fixed64();
    else if (tag === 32) durationMs = reader.varint();
    else if (field >= 5 && field <= 8 && (tag & 7) === 2) primary[kinds[field - 4]!] = floats(reader.bytes());
    else if (tag === 74) open.push(readChannel(reader.bytes()));
    else if (tag === 82) features.push(readFeature(reader.bytes()));
    else if (tag === 88) droppedFrames = reader.varint();
    else if (tag === 96) lagMs = reader.varint();
    else if (tag === 104) replayed = reader.varint() !== 0;
    else reader.skip(tag & 7);
  }
  const channels = open.map((channel): LiveChannel => {
    const samples = channel.primary ? (primary[channel.kind] ?? channel.samples) : channel.samples;
    const { code, kind, unit, lead, rateHz, offsetNs, source } = channel;
    return {
      id: source === 0 ? code : `${code}@${source}`,
      code,
      kind,
      unit,
      lead,
      rateHz,
      offsetNs,
      samples,
      qmask: flags(channel.runs, samples.length),
    };
  });
  return { seq, t0Ns, durationMs, channels, features, droppedFrames, lagMs, replayed };
}
