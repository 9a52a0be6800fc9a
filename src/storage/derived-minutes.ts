/** Minutes of derived series in memory: points that are added to them, ranges that are taken out, and what they are as rows. */
import { isRejected } from '../errors.ts';
import { STEP_COUNT_MAX } from '../signal.ts';
import { decodeBeats, decodeFeatures, encodeBeats, encodeFeatures, MINUTE_NS, packOpenFeatures } from './derived-block.ts';
import type { BeatBlock, FeatureBlock, FeaturePoints } from './derived-block.ts';
import { RowFault } from './database/sql-states.ts';
import { decodeOpenMinutes, encodeOpenMinutes, type OpenMinute } from './open-minutes.ts';

export type SeriesKind = 'beat' | 'feature';

/** A value, or a beat. Of a value `steps`, of a beat the rest. */
export type Point = Readonly<{
  /** After the start of its minute. */
  ns: number;
  flag: number;
  /** NaN: could not be computed. */
  steps: number;
  intervalUs: number;
  kind: number;
  reason: string;
  /** Whole hundredths, 0 to 100; NaN: unknown. */
  confidence: number;
}>;

/** What a value has in the columns of beats. */
export const aFeature = { intervalUs: NaN, kind: 0, reason: '', confidence: NaN } as const;

export type Minute = {
  readonly kind: SeriesKind;
  readonly methodId: number;
  readonly channelNo: number;
  /** From 1970. */
  readonly minute: number;
  /** Ascending; replaced, never changed: an attempt to store may fail. */
  points: readonly Point[];
  /** Has it a row in feature_block or beat_block? Then it is written there again. */
  inBlock: boolean;
  changed: boolean;
};

/** What is known of a stream's open minutes. */
export type OpenStream = Readonly<{
  /** Of its row of derived_open, as it was last written or read; 0: it has none. */
  version: number;
  minutes: readonly Minute[];
  /** When it was last written to, ms of performance.now(). */
  touchedMs: number;
}>;

export const minuteKey = (kind: SeriesKind, methodId: number, channelNo: number, minute: number): string =>
  `${kind === 'beat' ? 'b' : 'f'}${methodId}:${channelNo}:${minute}`;

export const keyOf = ({ kind, methodId, channelNo, minute }: Minute): string => minuteKey(kind, methodId, channelNo, minute);

/** The minute of a time, and how far into it it is. @param tsNs Unix ns */
export function placeOf(tsNs: bigint): { minute: number; ns: number } {
  const width = BigInt(MINUTE_NS);
  const minute = tsNs >= 0n ? tsNs / width : -((-tsNs + width - 1n) / width);
  return { minute: Number(minute), ns: Number(tsNs - minute * width) };
}

const FLAG_MAX = 2;
const KIND_MAX = 3;
const INT2_MAX = 32_767;

/** @throws RowFault when a row could not hold it */
export function checkPoint(point: Point, channelNo: number): Point {
  const { flag, steps, intervalUs, kind, reason, confidence } = point;
  if (!Number.isInteger(flag) || flag < 0 || flag > FLAG_MAX)
    throw new RowFault(`a quality flag of ${flag}, 0 to ${FLAG_MAX} can be stored`);
  if (!(Number.isNaN(steps) || Math.abs(steps) <= STEP_COUNT_MAX))
    throw new RowFault(`a value of ${steps} steps, at most ${STEP_COUNT_MAX} can be stored`);
  if (!(Number.isNaN(intervalUs) || (intervalUs >= 0 && intervalUs < 2 ** 32)))
    throw new RowFault(`an interval of ${intervalUs / 1000} ms`);
  if (!(kind >= 0 && kind <= KIND_MAX)) throw new RowFault('a beat of an unknown kind');
  if (!(Number.isNaN(confidence) || (confidence >= 0 && confidence <= 100))) throw new RowFault(`a confidence of ${confidence / 100}`);
  // eslint-disable-next-line no-control-regex
  if (/[\u0000\u0001]/.test(reason)) throw new RowFault('a reason with a control character');
  if (!Number.isInteger(channelNo) || channelNo < -1 || channelNo > INT2_MAX) throw new RowFault(`channel ${channelNo}`);
  return point;
}

/** The newest point of a time wins, as if each had been written after the other. @param added in the order in which they came */
export function withPoints(points: readonly Point[], added: readonly Point[]): readonly Point[] {
  let isAppended = true;
  let last = points.at(-1)?.ns ?? -1;
  for (const { ns } of added) {
    if (ns <= last) isAppended = false;
    last = ns;
  }
  if (isAppended) return [...points, ...added];
  const byTime = new Map<number, Point>();
  for (const point of points) byTime.set(point.ns, point);
  for (const point of added) byTime.set(point.ns, point);
  return [...byTime.values()].sort((a, b) => a.ns - b.ns);
}

// ---------------------------------------------------------------------------------------------------------------- rows

export function featureBlockOf(points: readonly Point[]): FeatureBlock {
  return orRowFault(() => encodeFeatures(arraysOf(points)));
}

function arraysOf(points: readonly Point[]): FeaturePoints {
  return { ns: points.map(({ ns }) => ns), steps: points.map(({ steps }) => steps), flags: points.map(({ flag }) => flag) };
}

export function beatBlockOf(points: readonly Point[]): BeatBlock {
  const arrays = {
    ns: points.map(({ ns }) => ns),
    intervalUs: points.map(({ intervalUs }) => intervalUs),
    kinds: points.map(({ kind }) => kind),
    flags: points.map(({ flag }) => flag),
    reasons: points.map(({ reason }) => reason),
    confidences: points.map(({ confidence }) => confidence),
  };
  return orRowFault(() => encodeBeats(arrays));
}

function orRowFault<T>(encode: () => T): T {
  try {
    return encode();
  } catch (error) {
    throw new RowFault(`it could not be encoded: ${(error as Error).message}`, { cause: error });
  }
}

/** @throws RowFault when the row is damaged: it stays as it is, and what came for it is set aside */
export function pointsOfFeatures(row: Pick<FeatureBlock, 'n' | 'min' | 'sum' | 'codec'>): Point[] {
  const decoded = decodeFeatures(row);
  if (isRejected(decoded)) throw new RowFault(`the stored row that it belongs to is damaged: ${decoded.detail}`);
  return decoded.ns.map((ns, i) => ({ ...aFeature, ns, flag: decoded.flags[i]!, steps: decoded.steps[i]! }));
}

/** @throws RowFault likewise */
export function pointsOfBeats(row: BeatBlock): Point[] {
  const decoded = decodeBeats(row);
  if (isRejected(decoded)) throw new RowFault(`the stored row that it belongs to is damaged: ${decoded.detail}`);
  return decoded.ns.map((ns, i) => ({
    ns,
    flag: decoded.flags[i]!,
    steps: NaN,
    intervalUs: decoded.intervalUs[i]!,
    kind: decoded.kinds[i]!,
    reason: decoded.reasons[i]!,
    confidence: decoded.confidences[i]!,
  }));
}

/** Packed points by their array, which is replaced when it changes: most series have no new point in a second. */
const packedPoints = new WeakMap<readonly Point[], OpenMinute>();

/** The row of derived_open. */
export function openRowOf(minutes: readonly Minute[]): Uint8Array {
  return encodeOpenMinutes(
    minutes.map((minute) => {
      const known = packedPoints.get(minute.points) ?? packOpen(minute);
      packedPoints.set(minute.points, known);
      return known;
    }),
  );
}

function packOpen({ kind, methodId, channelNo, minute, points }: Minute): OpenMinute {
  const head = { minute, methodId, channelNo, n: points.length, isBeat: kind === 'beat' };
  if (kind === 'beat') {
    const { reasons, codec } = beatBlockOf(points);
    return { ...head, base: 0, reasons, codec };
  }
  const { base, codec } = orRowFault(() => packOpenFeatures(arraysOf(points)));
  return { ...head, base, reasons: null, codec };
}

export function minutesOfOpenRow(data: Uint8Array): Minute[] {
  return decodeOpenMinutes(data).map(({ minute, methodId, channelNo, n, isBeat, base, reasons, codec }) => {
    // A single value without a value has no sum: its flag says so, and its base is 0.
    const single = n === 1 && (codec[7]! & 4) !== 0 ? null : base;
    const points = isBeat ? pointsOfBeats({ n, reasons, codec }) : pointsOfFeatures({ n, min: n === 1 ? null : base, sum: single, codec });
    return { kind: isBeat ? 'beat' : 'feature', methodId, channelNo, minute, points, inBlock: false, changed: false };
  });
}
