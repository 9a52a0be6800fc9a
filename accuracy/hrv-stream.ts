/** Runs a recording through the stream engine as the service does, without threads, and gives its values by feature. */
import { readOutputs, headWidth } from '../src/dsp/pool/wire.ts';
import type { BeatRow, FeatureRow } from '../src/dsp/rows/feature-rows.ts';
import { beatMethods } from '../src/dsp/rows/methods.ts';
import { StreamEngine } from '../src/dsp/engine/engine.ts';
import { KernelStock } from '../src/dsp/engine/runner.ts';
import type { ChannelConfig, QualityFlag, Spo2Calibration } from '../src/signal.ts';
import { RowBuffer, rowWidth } from '../src/dsp/rows/row-buffer.ts';

export type PhysicalChannel = Readonly<{ code: string; kind: ChannelConfig['kind']; fs: number; unit: string; samples: Float64Array }>;

export type StreamRows = Readonly<{ beats: readonly BeatRow[]; features: ReadonlyMap<string, readonly FeatureRow[]> }>;

/** Told of each value as it is computed, while `scratch` of src/dsp/hrv/values.ts still holds its window. `method`: position in
 *  `featureMethods`. */
export type Watch = (method: number, tUs: number) => void;

class WatchedEngine extends StreamEngine {
  watch: Watch | null = null;

  override value(method: number, channelNo: number, tUs: number, value: number, flag: QualityFlag): void {
    this.watch?.(method, tUs);
    super.value(method, channelNo, tUs, value, flag);
  }
}

/** @param channels start together at device time 0  @param spo2 null: the textbook line */
export function streamRows(
  channels: readonly PhysicalChannel[],
  spo2: Spo2Calibration | null = null,
  watch: Watch | null = null,
): StreamRows {
  const rows = new RowBuffer();
  const configs = channels.map(({ code, kind, fs, unit }): ChannelConfig => ({
    code,
    kind,
    rateNanoHz: Math.round(fs * 1e9),
    gain: 1,
    baseline: 0,
    unit,
    lead: '',
  }));
  const engine = new WatchedEngine(configs, 0, new KernelStock(), rows, spo2);
  engine.watch = watch;
  const seconds = Math.ceil(Math.max(...channels.map(({ samples, fs }) => samples.length / fs)));
  const floats = channels.map(({ samples }) => Float32Array.from(samples));
  for (let sec = 0; sec < seconds; sec++) {
    channels.forEach(({ fs, samples }, no) => {
      const [from, to] = [Math.ceil(sec * fs), Math.min(samples.length, Math.ceil((sec + 1) * fs))];
      if (to > from) engine.run(no, from, floats[no]!.subarray(from, to), null);
    });
    engine.settle();
  }
  engine.flush();
  const packed = new Float64Array(headWidth + rows.count * rowWidth);
  packed[1] = rows.count;
  packed[3] = -1;
  packed.set(rows.rows.subarray(0, rows.count * rowWidth), headWidth);
  const [output] = readOutputs(packed);
  const features = new Map<string, FeatureRow[]>();
  for (const row of output!.features) {
    const list = features.get(row.feature);
    if (list === undefined) features.set(row.feature, [row]);
    else list.push(row);
  }
  return { beats: output!.beats, features };
}

/** Beats that the engine stores for the channels' ECG or pulse, s; not those it put where it thinks one was missed.
 *  @param withBridged those in lost samples, too */
export function beatSeconds({ beats }: StreamRows, source: 'ecg' | 'ppg', withBridged = false): Float64Array {
  const { code } = beatMethods[source];
  const own = beats.filter(
    ({ method, kind, reason }) => method === code && (kind !== 'interpolated' || (withBridged && reason === 'bridged')),
  );
  return Float64Array.from(own, ({ tNs }) => Number(tNs) / 1e9).sort();
}
