/** Packs a minute of one derived series: the values of a feature, or beats. The layout is in docs/wire-format.md.
 *
 *  Everything is an array of n numbers of one width, highest bit first, so that the i-th is found without those before it: PostgreSQL reads
 *  them by set-based SQL (sql/000057-derived-reading.sql), ten times faster than by a loop. Times are what is left of a straight line, in
 *  the largest power of ten of nanoseconds that divides their differences: a regular cadence takes no bits. */
import { rejected, type Rejected } from '../errors.ts';
import { STEP_COUNT_MAX } from '../signal.ts';

/** A minute of values, ascending in time. Parallel arrays. */
export type FeaturePoints = Readonly<{
  /** ns after the start of the minute, 0 to MINUTE_NS - 1. */
  ns: readonly number[];
  /** Whole steps of the method; NaN: could not be computed. */
  steps: readonly number[];
  /** 0 good, 1 suspect, 2 bad. */
  flags: readonly number[];
}>;

/** A minute of beats, ascending in time. Parallel arrays. */
export type BeatPoints = Readonly<{
  ns: readonly number[];
  /** To the beat before, whole microseconds; NaN after a gap. */
  intervalUs: readonly number[];
  /** 0 normal, 1 ectopic, 2 artefact, 3 interpolated. */
  kinds: readonly number[];
  flags: readonly number[];
  /** Why it is not normal; '' when it is. */
  reasons: readonly string[];
  /** How sure its kind is, whole hundredths, 0 to 100; NaN: unknown. */
  confidences: readonly number[];
}>;

/** Columns of feature_block, as they are stored: null where another column says it. */
export type FeatureBlock = Readonly<{
  n: number;
  /** null: all n have a value. */
  valueN: number | null;
  /** Both null: all values are good. */
  goodN: number | null;
  suspectN: number | null;
  sum: number | null;
  /** Those of the good and of the suspect values: null where there are none, and where all are such. */
  goodSum: number | null;
  suspectSum: number | null;
  /** null with n = 1: the sum is the value. */
  min: number | null;
  max: number | null;
  first: number | null;
  last: number | null;
  goodMin: number | null;
  goodMax: number | null;
  goodFirst: number | null;
  goodLast: number | null;
  suspectMin: number | null;
  suspectMax: number | null;
  codec: Uint8Array;
}>;

export type BeatBlock = Readonly<{
  n: number;
  /** Those other than '', as the codec counts them from 1, with REASON_SEPARATOR between; null: none. */
  reasons: string | null;
  codec: Uint8Array;
}>;

export const MINUTE_NS = 60_000_000_000;
/** Points of a row (int2). */
export const POINTS_MAX = 32_767;
/** In no reason. */
const REASON_SEPARATOR = '\u0001';
const INTERVAL_US_MAX = 2 ** 32 - 1;

/** High nibble of the first byte; the low one is the power of ten. */
const FEATURE = 0xd0;
const BEAT = 0xe0;
/** Beats of which at least one has a confidence. */
const SURE_BEAT = 0xf0;
/** Of a confidence as it is written: one more than what it lacks, so that sure beats take few bits; 0: unknown. */
const CONFIDENCE_MAX = 100;
const EXPONENT_MAX = 9;
const NO_VALUE = 4;
/** Of a beat's code: no interval, that to the last beat before it in the row that was seen, or one that is written. */
const interval = { none: 0, before: 1, written: 2 } as const;
const INTERPOLATED = 3;
const HEAD = 7;
const LINE = 6;
const BASE_SHIFT = 2 ** 47;

// ---------------------------------------------------------------------------------------------------------------- encoding

/** @throws RangeError when a value or their number is beyond what a row holds */
export function encodeFeatures({ ns, steps, flags }: FeaturePoints): FeatureBlock {
  const n = checkedCount(ns);
  const all = statisticsOf(steps, flags, () => true);
  const good = statisticsOf(steps, flags, (flag) => flag === 0);
  const suspect = statisticsOf(steps, flags, (flag) => flag === 1);
  const isGood = good.n === all.n;
  const isSuspect = suspect.n === all.n;
  return {
    n,
    valueN: all.n === n ? null : all.n,
    goodN: isGood ? null : good.n,
    suspectN: isGood ? null : suspect.n,
    sum: all.sum,
    goodSum: isGood ? null : good.sum,
    suspectSum: isSuspect ? null : suspect.sum,
    min: n === 1 ? null : all.min,
    max: n === 1 ? null : all.max,
    first: n === 1 ? null : all.first,
    last: n === 1 ? null : all.last,
    goodMin: isGood ? null : good.min,
    goodMax: isGood ? null : good.max,
    goodFirst: isGood ? null : good.first,
    goodLast: isGood ? null : good.last,
    suspectMin: isSuspect ? null : suspect.min,
    suspectMax: isSuspect ? null : suspect.max,
    codec: packFeatures(ns, steps, flags, all.min ?? 0, all.max ?? 0),
  };
}

/** A minute that is not complete: what its numbers are counted from, and the codec, without statistics. @throws RangeError likewise */
export function packOpenFeatures({ ns, steps, flags }: FeaturePoints): Readonly<{ base: number; codec: Uint8Array }> {
  checkedCount(ns);
  let min = Infinity;
  let max = -Infinity;
  for (const value of steps) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
  if (min > max) min = max = 0;
  return { base: min, codec: packFeatures(ns, steps, flags, min, max) };
}

type Statistics = { n: number; sum: number | null; min: number | null; max: number | null; first: number | null; last: number | null };

function statisticsOf(steps: readonly number[], flags: readonly number[], counts: (flag: number) => boolean): Statistics {
  const found: Statistics = { n: 0, sum: null, min: null, max: null, first: null, last: null };
  for (let i = 0; i < steps.length; i++) {
    const value = steps[i]!;
    if (value !== value || !counts(flags[i]!)) continue;
    if (!(Math.abs(value) <= STEP_COUNT_MAX)) throw new RangeError(`a value of ${value} steps, at most ${STEP_COUNT_MAX} can be stored`);
    found.n += 1;
    found.sum = (found.sum ?? 0) + value;
    if (found.min === null || value < found.min) found.min = value;
    if (found.max === null || value > found.max) found.max = value;
    found.first ??= value;
    found.last = value;
  }
  return found;
}

function packFeatures(ns: readonly number[], steps: readonly number[], flags: readonly number[], min: number, max: number): Uint8Array {
  const codes = steps.map((value, i) => (value === value ? flags[i]! : flags[i]! | NO_VALUE));
  const n = ns.length;
  if (n === 1) {
    const out = new Uint8Array(HEAD + 1);
    out[0] = FEATURE;
    putBase(out, ns[0]!);
    out[HEAD] = codes[0]!;
    return out;
  }
  const line = lineOf(ns);
  const known = [...new Set(codes)];
  const valueWidth = widthOf(max - min);
  const codeWidth = widthOf(known.length - 1);
  let at = HEAD + LINE + 2 + known.length;
  const out = new Uint8Array(at + bytesOf(n, line.width) + bytesOf(n, valueWidth) + bytesOf(n, codeWidth));
  putLine(out, FEATURE, line);
  out[HEAD + LINE] = valueWidth;
  out[HEAD + LINE + 1] = known.length;
  out.set(known, HEAD + LINE + 2);
  at = putNumbers(out, at, n, line.width, (i) => line.rest[i]!);
  at = putNumbers(out, at, n, valueWidth, (i) => (steps[i] === steps[i] ? steps[i]! - min : 0));
  putNumbers(out, at, n, codeWidth, (i) => known.indexOf(codes[i]!));
  return out;
}

/** @throws RangeError when an interval or their number is beyond what a row holds */
export function encodeBeats({ ns, intervalUs, kinds, flags, reasons, confidences }: BeatPoints): BeatBlock {
  const n = checkedCount(ns);
  const doubts = confidences.map(doubtOf);
  const doubtWidth = widthOf(doubts.reduce((a, b) => Math.max(a, b), 0));
  const version = doubtWidth === 0 ? BEAT : SURE_BEAT;
  const named = [...new Set(reasons)].filter((reason) => reason !== '');
  const written: number[] = [];
  let seenNs: number | null = null;
  const codes = ns.map((t, i) => {
    const us = intervalUs[i]!;
    let how: number = interval.none;
    if (us === us) {
      if (!(us >= 0 && us <= INTERVAL_US_MAX)) throw new RangeError(`an interval of ${us} us, 0 to ${INTERVAL_US_MAX} can be stored`);
      how = seenNs !== null && t - seenNs === us * 1000 ? interval.before : interval.written;
      if (how === interval.written) written.push(us);
    }
    if (kinds[i] !== INTERPOLATED) seenNs = t;
    return (kinds[i]! | (flags[i]! << 2) | (how << 4)) * 256 + named.indexOf(reasons[i]!) + 1;
  });
  const line = lineOf(ns);
  const known = [...new Set(codes)];
  const codeWidth = widthOf(known.length - 1);
  const codesFrom = codesOfBeats(version);
  let at = codesFrom + 2 * known.length;
  const out = new Uint8Array(at + bytesOf(n, line.width) + bytesOf(n, codeWidth) + bytesOf(n, doubtWidth) + 4 * written.length);
  putLine(out, version, line);
  out[HEAD + LINE] = known.length;
  if (version === SURE_BEAT) out[HEAD + LINE + 1] = doubtWidth;
  for (const [i, code] of known.entries()) out.set([code >> 8, code & 255], codesFrom + 2 * i);
  at = putNumbers(out, at, n, line.width, (i) => line.rest[i]!);
  at = putNumbers(out, at, n, codeWidth, (i) => known.indexOf(codes[i]!));
  at = putNumbers(out, at, n, doubtWidth, (i) => doubts[i]!);
  putNumbers(out, at, written.length, 32, (i) => written[i]!);
  return { n, reasons: named.length === 0 ? null : named.join(REASON_SEPARATOR), codec: out };
}

/** Where the codes of beats begin. */
const codesOfBeats = (version: number): number => HEAD + LINE + (version === SURE_BEAT ? 2 : 1);

function doubtOf(confidence: number): number {
  if (Number.isNaN(confidence)) return 0;
  if (!(Number.isInteger(confidence) && confidence >= 0 && confidence <= CONFIDENCE_MAX))
    throw new RangeError(`a confidence of ${confidence} hundredths, 0 to ${CONFIDENCE_MAX} can be stored`);
  return CONFIDENCE_MAX + 1 - confidence;
}

function checkedCount(ns: readonly number[]): number {
  if (ns.length === 0 || ns.length > POINTS_MAX) throw new RangeError(`${ns.length} values in a minute, 1 to ${POINTS_MAX} can be stored`);
  return ns.length;
}

/** t = baseNs + 10^exponent * (i * step + rest) */
type Line = Readonly<{ baseNs: number; exponent: number; step: number; rest: readonly number[]; width: number }>;

function lineOf(ns: readonly number[]): Line {
  const first = ns[0]!;
  let exponent = EXPONENT_MAX;
  for (const t of ns) while (exponent > 0 && (t - first) % 10 ** exponent !== 0) exponent--;
  const unit = 10 ** exponent;
  const step = ns.length === 1 ? 0 : Math.round((ns.at(-1)! - first) / unit / (ns.length - 1));
  const off = ns.map((t, i) => Math.round((t - first) / unit) - i * step);
  const least = off.reduce((a, b) => Math.min(a, b), 0);
  const most = off.reduce((a, b) => Math.max(a, b), 0);
  return { baseNs: first + least * unit, exponent, step, rest: off.map((x) => x - least), width: widthOf(most - least) };
}

function putLine(out: Uint8Array, kind: number, { baseNs, exponent, step, width }: Line): void {
  out[0] = kind | exponent;
  putBase(out, baseNs);
  putBits(out, 8 * HEAD, step, 40);
  out[HEAD + LINE - 1] = width;
}

/** ns from the start of the minute; the line may begin before it. */
function putBase(out: Uint8Array, baseNs: number): void {
  putBits(out, 8, baseNs + BASE_SHIFT, 48);
}

function putNumbers(out: Uint8Array, at: number, n: number, width: number, valueOf: (i: number) => number): number {
  if (width > 0) for (let i = 0; i < n; i++) putBits(out, 8 * at + i * width, valueOf(i), width);
  return at + bytesOf(n, width);
}

const bytesOf = (n: number, width: number): number => Math.ceil((n * width) / 8);
const widthOf = (most: number): number => (most === 0 ? 0 : Math.floor(Math.log2(most)) + 1);

function putBits(out: Uint8Array, bit: number, value: number, width: number): void {
  if (width <= 24) {
    // Four bytes from the one that holds the first bit; beyond the end of the array nothing is written.
    const word = value << (32 - width - (bit & 7));
    const at = bit >> 3;
    out[at]! |= word >>> 24;
    out[at + 1]! |= (word >>> 16) & 255;
    out[at + 2]! |= (word >>> 8) & 255;
    out[at + 3]! |= word & 255;
    return;
  }
  for (let left = width; left > 0;) {
    const room = 8 - (bit & 7);
    const take = room < left ? room : left;
    left -= take;
    const part = Math.floor(value / 2 ** left) % (1 << take);
    out[bit >> 3]! |= part << (room - take);
    bit += take;
  }
}

// ---------------------------------------------------------------------------------------------------------------- decoding

/** The values of a row. Every byte must be there and none may be left over; anything else is Rejected, never a wrong value. */
export function decodeFeatures({ n, min, sum, codec }: Pick<FeatureBlock, 'n' | 'min' | 'sum' | 'codec'>): FeaturePoints | Rejected {
  if (n === 1) return decodeOne(codec, sum);
  const line = getLine(codec, FEATURE, n);
  if (typeof line === 'string') return damaged(line);
  const valueWidth = codec[HEAD + LINE];
  const known = codec[HEAD + LINE + 1];
  if (valueWidth === undefined || known === undefined || known === 0 || valueWidth > 32) return damaged('head of its values');
  const codeWidth = widthOf(known - 1);
  const timesAt = HEAD + LINE + 2 + known;
  const valuesAt = timesAt + bytesOf(n, line.width);
  const codesAt = valuesAt + bytesOf(n, valueWidth);
  if (codec.length !== codesAt + bytesOf(n, codeWidth)) return damaged(`${codec.length} bytes`);
  const ns = getTimes(codec, timesAt, n, line);
  if (ns === null) return damaged('times');
  const steps: number[] = [];
  const flags: number[] = [];
  for (let i = 0; i < n; i++) {
    const index = getBits(codec, 8 * codesAt + i * codeWidth, codeWidth);
    const code = index < known ? codec[HEAD + LINE + 2 + index]! : 3;
    if ((code & 3) === 3 || code > (NO_VALUE | 2)) return damaged('quality');
    flags.push(code & 3);
    steps.push(code >= NO_VALUE ? NaN : (min ?? NaN) + getBits(codec, 8 * valuesAt + i * valueWidth, valueWidth));
  }
  return { ns, steps, flags };
}

function decodeOne(codec: Uint8Array, sum: number | null): FeaturePoints | Rejected {
  const code = codec[HEAD];
  if (codec.length !== HEAD + 1 || codec[0] !== FEATURE || code === undefined) return damaged('a single value');
  if ((code & 3) === 3 || code > (NO_VALUE | 2) || code >= NO_VALUE !== (sum === null)) return damaged('quality');
  const ns = getBits(codec, 8, 48) - BASE_SHIFT;
  return ns >= 0 && ns < MINUTE_NS ? { ns: [ns], steps: [sum ?? NaN], flags: [code & 3] } : damaged('times');
}

export function decodeBeats({ n, reasons, codec }: BeatBlock): BeatPoints | Rejected {
  const named = reasons?.split(REASON_SEPARATOR);
  const version = codec.length > 0 && (codec[0]! & 0xf0) === SURE_BEAT ? SURE_BEAT : BEAT;
  const line = getLine(codec, version, n);
  if (typeof line === 'string') return damaged(line);
  const known = codec[HEAD + LINE];
  const doubtWidth = version === SURE_BEAT ? codec[HEAD + LINE + 1] : 0;
  if (known === undefined || known === 0 || doubtWidth === undefined || doubtWidth > 7) return damaged('head of its kinds');
  const codeWidth = widthOf(known - 1);
  const codesFrom = codesOfBeats(version);
  const timesAt = codesFrom + 2 * known;
  const codesAt = timesAt + bytesOf(n, line.width);
  const doubtsAt = codesAt + bytesOf(n, codeWidth);
  let writtenAt = doubtsAt + bytesOf(n, doubtWidth);
  if (codec.length < writtenAt) return damaged(`${codec.length} bytes`);
  const ns = getTimes(codec, timesAt, n, line);
  if (ns === null) return damaged('times');
  const found = {
    ns,
    intervalUs: [] as number[],
    kinds: [] as number[],
    flags: [] as number[],
    reasons: [] as string[],
    confidences: [] as number[],
  };
  let seenNs = NaN;
  for (let i = 0; i < n; i++) {
    const index = getBits(codec, 8 * codesAt + i * codeWidth, codeWidth);
    if (index >= known) return damaged('kinds');
    const code = codec[codesFrom + 2 * index]!;
    const reason = codec[codesFrom + 1 + 2 * index]!;
    const doubt = getBits(codec, 8 * doubtsAt + i * doubtWidth, doubtWidth);
    if (doubt > CONFIDENCE_MAX + 1) return damaged('confidence');
    found.confidences.push(doubt === 0 ? NaN : CONFIDENCE_MAX + 1 - doubt);
    const text = reason === 0 ? '' : named?.[reason - 1];
    const how = code >> 4;
    if (text === undefined || ((code >> 2) & 3) === 3 || how > interval.written) return damaged('kinds');
    if (how === interval.written && writtenAt + 4 > codec.length) return damaged('intervals');
    found.intervalUs.push(
      how === interval.none ? NaN : how === interval.before ? (ns[i]! - seenNs) / 1000 : getBits(codec, 8 * writtenAt, 32),
    );
    if (how === interval.written) writtenAt += 4;
    found.kinds.push(code & 3);
    found.flags.push((code >> 2) & 3);
    found.reasons.push(text);
    if ((code & 3) !== INTERPOLATED) seenNs = ns[i]!;
  }
  return writtenAt === codec.length ? found : damaged(`${codec.length} bytes`);
}

function getLine(codec: Uint8Array, kind: number, n: number): Line | string {
  if (n < 1 || n > POINTS_MAX) return `${n} values`;
  if (codec.length < HEAD + LINE) return `${codec.length} bytes`;
  const exponent = codec[0]! & 15;
  if ((codec[0]! & 0xf0) !== kind || exponent > EXPONENT_MAX) return `unknown version ${codec[0]}`;
  const width = codec[HEAD + LINE - 1]!;
  if (width > 40) return 'times';
  return { baseNs: getBits(codec, 8, 48) - BASE_SHIFT, exponent, step: getBits(codec, 8 * HEAD, 40), rest: [], width };
}

/** null when they do not ascend within the minute. */
function getTimes(codec: Uint8Array, at: number, n: number, { baseNs, exponent, step, width }: Line): number[] | null {
  const unit = 10 ** exponent;
  const ns: number[] = [];
  let before = -1;
  for (let i = 0; i < n; i++) {
    const t = baseNs + unit * (i * step + getBits(codec, 8 * at + i * width, width));
    if (!(t > before && t < MINUTE_NS)) return null;
    ns.push((before = t));
  }
  return ns;
}

function getBits(bytes: Uint8Array, bit: number, width: number): number {
  if (width === 0) return 0;
  if (width <= 24) {
    // Four bytes from the one that holds the first bit; beyond the end of the array there are zeros, of which no bit is taken.
    const at = bit >> 3;
    const word = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
    return (word << (bit & 7)) >>> (32 - width);
  }
  let value = 0;
  for (let left = width; left > 0;) {
    const room = 8 - (bit & 7);
    const take = room < left ? room : left;
    value = value * (1 << take) + ((bytes[bit >> 3]! >> (room - take)) & ((1 << take) - 1));
    bit += take;
    left -= take;
  }
  return value;
}

function damaged(what: string): Rejected {
  return rejected('internal', `derived block is damaged: ${what}`);
}
