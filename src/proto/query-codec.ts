/** Answers of queries as protocol buffers (proto/query.proto). */
import { WireWriter } from './wire-writer.ts';

export type FeatureColumns = Readonly<{
  name: string;
  methodCode: string;
  cadenceHz: number;
  /** Unix ns. */
  tsNs: BigInt64Array;
  values: Float64Array;
  qmask: Uint8Array;
}>;

export type SegmentMessage = Readonly<{
  code: string;
  kind: string;
  unit: string;
  lead: string;
  rateNanoHz: number;
  t0Ns: bigint;
  gain: number;
  baseline: number;
  samples: Int32Array | Float32Array;
  /** null: all good. */
  qmask: Uint8Array | null;
}>;

export type OverviewMessage = Readonly<{
  code: string;
  kind: string;
  unit: string;
  lead: string;
  rateNanoHz: number;
  t0Ns: bigint;
  stepMs: number;
  /** Physical units; NaN: no sample that is not bad. */
  min: Float64Array;
  max: Float64Array;
  n: Uint32Array;
  suspectN: Uint32Array;
  badN: Uint32Array;
}>;

/** @returns a FeatureSeriesList; columns are copied as they lie in memory (little-endian on both sides) */
export function encodeFeatureSeries(list: readonly FeatureColumns[]): Uint8Array<ArrayBuffer> {
  const w = new WireWriter(1024 + list.reduce((bytes, { qmask }) => bytes + 17 * qmask.length, 0));
  for (const { name, tsNs, values, cadenceHz, qmask, methodCode } of list) {
    const at = w.open(0x0a);
    w.text(0x0a, name);
    w.bytes(0x12, new Uint8Array(tsNs.buffer, tsNs.byteOffset, tsNs.byteLength));
    w.bytes(0x1a, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    w.double(0x21, cadenceHz);
    w.bytes(0x2a, qmask); // flags are below 128: a varint each
    w.text(0x32, methodCode);
    w.close(at);
  }
  return w.take();
}

/** @returns a SampleSegmentList */
export function encodeSegments(list: readonly SegmentMessage[]): Uint8Array<ArrayBuffer> {
  const w = new WireWriter(1024 + list.reduce((bytes, { samples }) => bytes + 3 * samples.length, 0));
  for (const { code, kind, unit, lead, rateNanoHz, t0Ns, gain, baseline, samples, qmask } of list) {
    const at = w.open(0x0a);
    w.text(0x0a, code);
    w.text(0x12, kind);
    w.text(0x1a, unit);
    w.text(0x22, lead);
    w.uint(0x28, rateNanoHz);
    w.fixed64(0x31, BigInt.asUintN(64, t0Ns)); // before 1970: two's complement
    w.double(0x39, gain);
    w.double(0x41, baseline);
    if (samples instanceof Float32Array) w.floats(0x52, samples);
    else w.deltas(0x4a, samples);
    if (qmask !== null) w.qmaskRuns(0x5a, qmask);
    w.close(at);
  }
  return w.take();
}

/** @returns a ChannelOverviewList; columns are copied as they lie in memory (little-endian on both sides) */
export function encodeOverviews(list: readonly OverviewMessage[]): Uint8Array<ArrayBuffer> {
  const w = new WireWriter(1024 + list.reduce((bytes, { n }) => bytes + 28 * n.length, 0));
  const column = (tag: number, values: Float64Array | Uint32Array): void =>
    w.bytes(tag, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  for (const { code, kind, unit, lead, rateNanoHz, t0Ns, stepMs, min, max, n, suspectN, badN } of list) {
    const at = w.open(0x0a);
    w.text(0x0a, code);
    w.text(0x12, kind);
    w.text(0x1a, unit);
    w.text(0x22, lead);
    w.uint(0x28, rateNanoHz);
    w.fixed64(0x31, BigInt.asUintN(64, t0Ns)); // before 1970: two's complement
    w.uint(0x38, stepMs);
    column(0x42, min);
    column(0x4a, max);
    column(0x52, n);
    column(0x5a, suspectN);
    column(0x62, badN);
    w.close(at);
  }
  return w.take();
}
