/** Encoding of batches between threads: numbers in shared buffers, because cloning thousands of small objects costs more than the DSP. */
import type { ChannelConfig, ChannelNo, QualityFlag, Samples, Spo2Calibration, StreamId } from '../../signal.ts';
import type { BeatRow, FeatureOutput, FeatureRow, QualityRow } from '../rows/feature-rows.ts';
import { beatKinds, beatReasons } from '../rows/feature-rows.ts';
import { beatMethods, featureMethods } from '../rows/methods.ts';
import { readVerdict, rowCode, rowWidth } from '../rows/row-buffer.ts';

// ---- to the worker

/** Things a worker does to an engine besides taking samples. */
export type Control =
  | Readonly<{
      op: 'open';
      handle: number;
      channels: readonly ChannelConfig[];
      spo2: Spo2Calibration | null;
      fromUs: number;
      toUs: number;
      gated: boolean;
    }>
  /** Gated: give out what is final before a time up to which every channel has been fed. */
  | Readonly<{ op: 'give'; handle: number; endUs: number }>
  | Readonly<{ op: 'flush'; handle: number }>
  | Readonly<{ op: 'close'; handle: number }>;

/** What runBatch() of worker.ts takes. `records`: rows of `recordWidth` numbers; `payload`: the samples they point into. */
export type BatchTask = Readonly<{ recordCount: number; records: Float64Array; payload: SharedArrayBuffer; controls: readonly Control[] }>;

/** op, handle, channelNo, k0, n, byte offset of the samples (then of the mask, when there is one). A control: op, position in controls. */
export const recordWidth = 6;
export const recordOp = { int32: 0, float32: 1, pass: 2, control: 3, masked: 4 } as const;

/** Collects records in shared memory, which the worker reads in place and which outlives it when it dies. */
export class Batch {
  records = new Float64Array(new SharedArrayBuffer(recordWidth * 8 * 256));
  payload = new SharedArrayBuffer(1 << 16);
  #bytes = new Uint8Array(this.payload);
  recordCount = 0;
  payloadBytes = 0;
  runCount = 0;
  sampleCount = 0;
  controls: Control[] = [];
  /** When the first record came, ms. */
  sinceMs = 0;
  /** Called when the worker is done with it. */
  readonly done: ((failed: unknown) => void)[] = [];

  run(handle: number, channelNo: ChannelNo, k0: number, samples: Samples, qmask: Uint8Array | null): void {
    const n = samples.length;
    const bytes = 4 * n + (qmask === null ? 0 : n + 3);
    this.#reserve(bytes);
    const offset = this.payloadBytes;
    const kind = samples instanceof Int32Array ? recordOp.int32 : recordOp.float32;
    this.#record(qmask === null ? kind : kind + recordOp.masked, handle, channelNo, k0, n, offset);
    this.#bytes.set(new Uint8Array(samples.buffer, samples.byteOffset, 4 * n), offset);
    if (qmask !== null) this.#bytes.set(qmask, offset + 4 * n);
    this.payloadBytes = (offset + bytes) & ~3;
    this.runCount++;
    this.sampleCount += n;
  }

  pass(handle: number, channelNo: ChannelNo, k: number): void {
    this.#record(recordOp.pass, handle, channelNo, k, 0, 0);
  }

  control(control: Control): void {
    this.#record(recordOp.control, control.handle, this.controls.length, 0, 0, 0);
    this.controls.push(control);
  }

  /** Empties it for the next use; the buffers stay. */
  clear(): void {
    this.recordCount = this.payloadBytes = this.runCount = this.sampleCount = 0;
    this.controls = [];
    this.done.length = 0;
  }

  task(): BatchTask {
    return { recordCount: this.recordCount, records: this.records, payload: this.payload, controls: this.controls };
  }

  #record(op: number, handle: number, a: number, b: number, n: number, offset: number): void {
    const at = this.recordCount * recordWidth;
    if (at + recordWidth > this.records.length) {
      const grown = new Float64Array(new SharedArrayBuffer(this.records.byteLength * 2));
      grown.set(this.records);
      this.records = grown;
    }
    const r = this.records;
    r[at] = op;
    r[at + 1] = handle;
    r[at + 2] = a;
    r[at + 3] = b;
    r[at + 4] = n;
    r[at + 5] = offset;
    this.recordCount++;
  }

  #reserve(bytes: number): void {
    const need = this.payloadBytes + bytes;
    if (need <= this.payload.byteLength) return;
    this.payload = new SharedArrayBuffer(Math.max(need, 2 * this.payload.byteLength));
    const grown = new Uint8Array(this.payload);
    grown.set(this.#bytes.subarray(0, this.payloadBytes));
    this.#bytes = grown;
  }
}

// ---- from the worker

/** An engine that could not be made. */
export type Refusal = Readonly<{ handle: number; reason: string }>;

/** Rows (see readOutputs); an object only where an engine was refused. */
export type BatchAnswer = Float64Array | Readonly<{ rows: Float64Array; refused: readonly Refusal[] }>;

/** Before each engine's rows: handle, rows that follow, final µs, replaced from µs, to µs (-1: nothing), 0. */
export const headWidth = 6;

export type EngineOutput = Readonly<{
  handle: number;
  finalUs: number;
  /** Latest time of a row, µs; -Infinity without rows. */
  newestUs: number;
  beats: BeatRow[];
  features: FeatureRow[];
  quality: QualityRow[];
  replaces: { fromUs: number; toUs: number } | null;
}>;

/** Reads what a batch gave: one output per engine that it touched. */
export function readOutputs(packed: Float64Array): EngineOutput[] {
  const outputs: EngineOutput[] = [];
  for (let at = 0; at < packed.length;) {
    const rowCount = packed[at + 1]!;
    const output = {
      handle: packed[at]!,
      finalUs: packed[at + 2]!,
      newestUs: Number.NEGATIVE_INFINITY,
      beats: [] as BeatRow[],
      features: [] as FeatureRow[],
      quality: [] as QualityRow[],
      replaces: packed[at + 3]! < 0 ? null : { fromUs: packed[at + 3]!, toUs: packed[at + 4]! },
    };
    at += headWidth;
    for (let i = 0; i < rowCount; i++, at += rowWidth) {
      readRow(packed, at, output);
      output.newestUs = Math.max(output.newestUs, packed[at + 2]!);
    }
    outputs.push(output);
  }
  return outputs;
}

function readRow(packed: Float64Array, at: number, output: { beats: BeatRow[]; features: FeatureRow[]; quality: QualityRow[] }): void {
  const code = packed[at]!;
  const channelNo = packed[at + 1]! as ChannelNo;
  const tNs = BigInt(packed[at + 2]!) * 1000n;
  if (code >= rowCode.feature) {
    const method = featureMethods[code - rowCode.feature]!;
    output.features.push({
      feature: method.feature,
      channelNo,
      tNs,
      value: packed[at + 3]!,
      qmask: packed[at + 4]! as QualityFlag,
      methodCode: method.code,
    });
  } else if (code === rowCode.quality) {
    output.quality.push({ channelNo, tNs, sqi: packed[at + 3]!, flag: packed[at + 4]! as QualityFlag });
  } else {
    const { kind, reason, confidence } = readVerdict(packed[at + 4]!);
    output.beats.push({
      channelNo,
      tNs,
      ibiMs: packed[at + 3]!,
      kind: beatKinds[kind]!,
      reason: beatReasons[reason]!,
      confidence,
      quality: packed[at + 5]! as QualityFlag,
      method: (code === rowCode.ecgBeat ? beatMethods.ecg : beatMethods.ppg).code,
    });
  }
}

/** An engine's output as the pool's users see it. */
export function toFeatureOutput(streamId: StreamId, output: EngineOutput): FeatureOutput {
  const { beats, features, quality, replaces } = output;
  return {
    streamId,
    beats,
    features,
    quality,
    replaces: replaces === null ? null : { fromNs: BigInt(replaces.fromUs) * 1000n, toNs: BigInt(replaces.toUs) * 1000n },
  };
}
