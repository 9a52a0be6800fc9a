/** Output rows of the DSP engine: beats, feature values and quality per second, all on the stream's device clock. */
import type { ChannelNo, QualityFlag, StreamId } from '../../signal.ts';

export const beatKinds = ['normal', 'ectopic', 'artefact', 'interpolated'] as const;
export type BeatKind = (typeof beatKinds)[number];

/** What is wrong with a beat or with the interval before it; '' when nothing is: then the interval is an NN interval.
 *  The order is the wire code of the worker's packed rows: append only. */
export const beatReasons = [
  '',
  /** Early, usually with a compensating pause after it. */
  'premature',
  /** The interval before it is about twice its neighbours: a beat between was probably not seen. The beat itself is fine. */
  'missed_before',
  /** Its two intervals add up to one of its neighbours', in a doubtful signal or with a shape that could not be compared: it is probably no
   *  beat. */
  'extra',
  /** Moved against its neighbours without changing the rate around it; likewise. */
  'misplaced',
  /** The interval before it does not fit its neighbours in any of these ways, or the beat is one of the heart all the same: seen in a good
   *  signal, of a shape that could be compared. */
  'irregular',
  /** Ends the pause after an ectopic beat. The beat itself is fine. */
  'follows_ectopic',
  /** Ends the interval after an extra or misplaced beat. The beat itself is fine. */
  'follows_artefact',
  /** An interpolated beat: where one was probably not seen in a doubtful signal. */
  'missed',
  /** Ectopic by its shape and its interval: it began in the ventricles. Then the interval before it and the one after it are no NN
   *  intervals. */
  'ventricular',
  /** Likewise: it began early, above the ventricles. */
  'supraventricular',
  /** An interpolated beat: its QRS complex lies in lost samples, and the rhythm around them has room for it. */
  'bridged',
] as const;
export type BeatReason = (typeof beatReasons)[number];

/** One R peak or systolic peak. */
export type BeatRow = Readonly<{
  /** The channel it was found in; of fused leads the first one. */
  channelNo: ChannelNo;
  /** ns of the device clock, a whole number of microseconds. Unique per (channelNo, method). */
  tNs: bigint;
  /** Interval to the previous beat. NaN after a gap (no beat, or missing samples, within 3 s) and for an interpolated beat, which was not
   *  measured; the beat after that one keeps the whole interval to the last beat seen. */
  ibiMs: number;
  kind: BeatKind;
  reason: BeatReason;
  /** Probability that it is ventricular, supraventricular or neither, as its reason says, in hundredths; NaN: it could not be compared with
   *  the usual beat, or is no beat. */
  confidence: number;
  quality: QualityFlag;
  /** Method code of the detector, e.g. `derived:r_peaks_v19`. */
  method: string;
}>;

/** One value of one feature. */
export type FeatureRow = Readonly<{
  feature: string;
  /** The channel it belongs to; -1 for values of the whole stream (heart rate, HRV). */
  channelNo: number;
  /** End of its window, ns of the device clock, a whole multiple of the feature's cadence. */
  tNs: bigint;
  value: number;
  qmask: QualityFlag;
  /** e.g. `derived:hrv_rmssd_60s_v5`. */
  methodCode: string;
}>;

/** Signal quality of one channel in one second of the device clock. Also comes as the features `sqi_ecg`, `sqi_ppg`. */
export type QualityRow = Readonly<{
  channelNo: ChannelNo;
  /** Start of the second, ns of the device clock. */
  tNs: bigint;
  /** 0..1. */
  sqi: number;
  flag: QualityFlag;
}>;

/** What one stream got from one batch. Rows are final: an output with `replaces: null` never repeats or contradicts an earlier row. */
export type FeatureOutput = Readonly<{
  streamId: StreamId;
  beats: readonly BeatRow[];
  features: readonly FeatureRow[];
  quality: readonly QualityRow[];
  /** Recomputed (late data, restart, reprocess): delete this stream's beats and features of current methods with
   *  fromNs <= tNs < toNs, then insert these, in one transaction. All rows of the output lie inside. */
  replaces: Readonly<{ fromNs: bigint; toNs: bigint }> | null;
}>;
