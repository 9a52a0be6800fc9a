/** Samples as an Apache Arrow IPC stream: one record batch per stretch. Loaded on first use. */
import {
  Dictionary,
  Field,
  Float64,
  Int32,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  TimestampNanosecond,
  Uint8,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { gridTimeNs } from '../signal.ts';
import type { SampleSegment } from './samples.ts';

/** @param raw digital values as the device sent them, instead of physical ones
 *  @returns a stream of ts_ns (timestamp, ns, UTC), channel (dictionary of utf8), value (float64; NaN is missing), quality (uint8: 0, 1,
 *  2) */
export function encodeArrow(segments: readonly SampleSegment[], raw: boolean): Uint8Array {
  const channels = [...new Set(segments.map((segment) => segment.code))];
  const names = vectorFromArray(channels, new Utf8());
  const channelType = new Dictionary(new Utf8(), new Int32(), 1);
  const fields = [
    new Field('ts_ns', new TimestampNanosecond('UTC')),
    new Field('channel', channelType),
    new Field('value', new Float64()),
    new Field('quality', new Uint8()),
  ];
  const schema = new Schema(fields);
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, schema);
  for (const segment of segments) {
    const { samples, gain, baseline, qmask, code, k0, rateNanoHz } = segment;
    const length = samples.length;
    const times = new BigInt64Array(length);
    const values = new Float64Array(length);
    const epochNs = segment.t0Ns - gridTimeNs(k0, rateNanoHz);
    for (let i = 0; i < length; i++) {
      times[i] = epochNs + gridTimeNs(k0 + i, rateNanoHz);
      values[i] = raw ? samples[i]! : (samples[i]! - baseline) / gain;
    }
    const children = [
      makeData({ type: new TimestampNanosecond('UTC'), length, data: times }),
      makeData({ type: channelType, length, data: new Int32Array(length).fill(channels.indexOf(code)), dictionary: names }),
      makeData({ type: new Float64(), length, data: values }),
      makeData({ type: new Uint8(), length, data: qmask ?? new Uint8Array(length) }),
    ];
    writer.write(new RecordBatch(schema, makeData({ type: new Struct(fields), length, children })));
  }
  writer.finish();
  return writer.toUint8Array(true);
}
