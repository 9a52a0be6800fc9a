/** Vocabulary shared by every unit: ids, time, channels, runs of samples. Types and small pure functions only. Times are bigint nanoseconds
 *  and end in Ns (a number is wrong after 104 days); within a block they are an index and a rate, both number. */

export type Brand<T, Name extends string> = T & { readonly __brand: Name };

/** Internal number of one recording of one device (one boot). The API shows the stream's uuid instead. */
export type StreamId = Brand<number, 'StreamId'>;
/** Position of a channel configuration within its stream, 0-based. A changed gain or rate is a new ChannelNo with the same code. */
export type ChannelNo = Brand<number, 'ChannelNo'>;
/** uuid of a user record (xuser). */
export type SubjectId = Brand<string, 'SubjectId'>;
export type OrgId = Brand<string, 'OrgId'>;
export type ProjectId = Brand<string, 'ProjectId'>;

export const channelKinds = ['ecg', 'ppg', 'eda', 'temp', 'resp', 'acc', 'gyro', 'other'] as const;
export type ChannelKind = (typeof channelKinds)[number];

/** Quality of a value. 0 good, 1 suspect, 2 bad: do not use the number. */
export type QualityFlag = 0 | 1 | 2;
export const GOOD = 0 satisfies QualityFlag;
export const SUSPECT = 1 satisfies QualityFlag;
export const BAD = 2 satisfies QualityFlag;

/** A device's description of one channel. physical = (digital - baseline) / gain. */
export type ChannelConfig = Readonly<{
  /** e.g. `ecg.ii`, `ppg.ir`, `ppg.red`, `acc.x`, `eda`, `temp.skin`; lower case, at most 32 characters. */
  code: string;
  kind: ChannelKind;
  /** Sampling rate in nano-hertz, an integer: 130.1 Hz is 130_100_000_000. */
  rateNanoHz: number;
  /** LSB per unit. */
  gain: number;
  /** ADC value of 0. */
  baseline: number;
  /** UCUM, e.g. `mV`, `uS`, `Cel`. */
  unit: string;
  /** Lead or body location, e.g. `II`, `wrist`; may be empty. */
  lead: string;
}>;

/** SpO2 = offset - slope * R, in percent, where R is the ratio of ratios of red and infrared light. From the device profile. */
export type Spo2Calibration = Readonly<{ offset: number; slope: number }>;

/** Digital samples as the device sent them. Float32Array for the few devices that send physical floats (gain 1, baseline 0). */
export type Samples = Int32Array | Float32Array;

/** Consecutive samples of one channel on the stream's sample grid.
 *  `k0` is the grid index of the first sample: sample k was taken at `gridTimeNs(k)` of the device clock. */
export type SampleRun = Readonly<{
  channelNo: ChannelNo;
  k0: number;
  samples: Samples;
  /** Device-reported quality per sample, or null when all are good. */
  qmask: Uint8Array | null;
}>;

/** Where the time of a stream comes from: `stated` by the recording itself; the `device` clock, which was right; the `age` of its packets
 *  by a clock that was wrong; the `arrival` of its first packet. */
export const timeSources = ['stated', 'device', 'age', 'arrival'] as const;
export type TimeSource = (typeof timeSources)[number];

/** A device's clock compared with ours. For information only: sample times do not depend on it. */
export type ClockFit = Readonly<{
  /** Unix ns minus device ns at device time `atDeviceNs`, of the fastest path seen: a sample's true time is at most this late. */
  offsetNs: bigint;
  atDeviceNs: bigint;
  /** Device clock against ours, parts per million; positive: the device is slow. */
  skewPpm: number;
  /** Scatter of the window minima about the line, ns (1.4826 * median absolute deviation). */
  rmsNs: number;
  /** Window minima that the line was fitted to. */
  pairCount: number;
}>;

const RECORDABLE_FROM_NS = -2_208_988_800_000_000_000n; // 1900-01-01
const RECORDABLE_TO_NS = 7_258_118_400_000_000_000n; // 2200-01-01

/** Can something have been recorded at this time: 1900 to 2199? Archives shift dates that far to anonymise them. */
export function isRecordable(unixNs: bigint): boolean {
  return unixNs >= RECORDABLE_FROM_NS && unixNs < RECORDABLE_TO_NS;
}

const GRID = 1_000_000_000_000_000_000n; // ns per s * nano-hertz per hertz

/** Index of the sample nearest to a device time: round(t * rate / 1e18). A pure function of time and rate, so that a sample has one index
 *  however packets were cut.
 *  @param deviceNs device clock, ns, >= 0  @returns index < 2^53 (exact to 285,000 years at 1 kHz) */
export function gridIndex(deviceNs: bigint, rateNanoHz: number): number {
  return Number((deviceNs * BigInt(rateNanoHz) + GRID / 2n) / GRID);
}

/** Device time of grid sample k in ns, rounded to the nearest ns. */
export function gridTimeNs(k: number, rateNanoHz: number): bigint {
  const rate = BigInt(rateNanoHz);
  return (BigInt(k) * GRID + rate / 2n) / rate;
}

/** Smallest grid index whose sample lies at or after a device time. */
export function gridCeil(deviceNs: bigint, rateNanoHz: number): number {
  const rate = BigInt(rateNanoHz);
  return Number((deviceNs * rate + GRID - 1n) / GRID);
}

/** Number of steps in one unit. It is a whole number, so dividing by it is exact where multiplying by 0.01, which no double equals, is not.
 *  @param step 1 / a whole number */
const stepsPerUnit = (step: number): number => Math.round(1 / step);

/** Limit of a value, steps: four bytes of a row of statistics (sql/000056-derived-minutes.sql). Their sums are bigint. */
export const STEP_COUNT_MAX = 2 ** 31 - 1;

/** The number of steps nearest to a value, never -0. */
export const toSteps = (value: number, step: number): number => Math.round(value * stepsPerUnit(step)) + 0;

/** The value of a number of steps, as the double nearest to it: 7143 steps of 0.01 are 71.43. Exact the other way up to STEP_COUNT_MAX. */
export const fromSteps = (count: number, step: number): number => count / stepsPerUnit(step);

/** A mean has this many digits where nobody knows the step of its values, as of reported ones. */
const MEAN_DIGITS = 12;
/** No sum of decimal numbers has a digit of its own beyond. */
const SUM_DIGITS = 15;

/** A mean as it is answered: rounded last, to the step of its values, as they were; of counts, whose step is 1, to a thousandth. Computed
 *  in whole steps, so that a mean is rounded alike whatever it was summed up from.
 *  @param sum in the unit  @param perUnit steps in one unit; null: values have no step, and a mean of several 12 digits */
export function meanOf(sum: number, n: number, perUnit: number | null): number {
  if (perUnit === null) return n === 1 ? sum : Number((sum / n).toPrecision(MEAN_DIGITS));
  const answered = perUnit === 1 ? 1000 : perUnit;
  return (Math.round((Math.round(sum * perUnit) * (answered / perUnit)) / n) + 0) / answered;
}

/** The sum of sums: whole steps again, where floats that are added up are not.  @param n values behind them  @param perUnit see meanOf */
export function sumOf(sums: readonly number[], n: number, perUnit: number | null): number {
  const sum = sums.reduce((all, one) => all + (perUnit === null ? one : Math.round(one * perUnit)), 0);
  if (perUnit !== null) return sum / perUnit;
  const rounded = Number(sum.toPrecision(SUM_DIGITS));
  return n > 1 && Number.isFinite(rounded) ? rounded : sum;
}

/** A name by which biosignals are told apart: capitals make no difference, nor how an accent is encoded; the accent does. name_key in
 *  sql/000101-own-abbreviations.sql does the same, and by it the database keeps the abbreviations of a project apart. A POST alone is
 *  refused also where only width, blanks or invisible characters differ (keyOf in src/query/biosignal-routes.ts). Widgets look at capitals
 *  alone: their bundle has no room for more. */
export const nameKey = (name: string): string => name.normalize('NFD').toLowerCase();

/** What a lead is called: by its device, else, as a table that was imported has codes only, by its code: `ecg.avr` is aVR, `ecg.mlii` is
 *  MLII, `ecg.ii.1` and `ecg.ii-2` are II 1 and II 2, `acc.x` is x. '': neither says it. */
export function leadName({ code, lead }: Readonly<{ code: string; lead: string }>): string {
  const name = lead || code.replace(/^[^.]*\.?/, '').replace(/[.-](\d+)$/, ' $1');
  return name.replace(/^(m?l?i{1,3}|av[rlf]|mcl\d|m?v\dr?)(?= \d|$)/i, (word) => word.toUpperCase().replace('AV', 'aV'));
}

/** What a channel is called: `ECG II`, `PPG ir`; of no kind that is known by its code. */
export function channelName({ kind, code, lead }: Readonly<{ kind: string; code: string; lead: string }>): string {
  return kind === 'other' ? `${code} ${lead}`.trim() : `${kind.toUpperCase()} ${leadName({ code, lead })}`.trim();
}

/** The names of channels by their codes; of those that have one name, with the code. */
export function channelNames(channels: readonly Readonly<{ kind: string; code: string; lead: string }>[]): ReadonlyMap<string, string> {
  const names = new Map(channels.map((channel) => [channel.code, channelName(channel)]));
  const isOfSeveral = (name: string): boolean => [...names.values()].filter((one) => one === name).length > 1;
  return new Map([...names].map(([code, name]) => [code, isOfSeveral(name) ? `${name} (${code})` : name]));
}
