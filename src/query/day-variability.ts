/** Variability and heart rate of a day, from windows of five minutes that do not overlap. Nothing is kept: it is worked out from the stored
 *  values whenever it is asked for, so gaps, late data and restarts leave no trace. */

import { fromSteps, toSteps } from '../signal.ts';

/** Five minutes of good NN intervals. */
export type NnFiveMinutes = Readonly<{ endMs: number; meanMs: number; sdMs: number }>;

export const FIVE_MS = 300_000;
const HOUR_MS = 3_600_000;
/** A day has its variability from so many hours of windows on: Task Force 1996 asks for 18 h of 24. */
export const DAY_HOURS_MIN = 18;
/** Hours of the clock of night and day: fixed narrow times, without evening and morning (O'Brien et al. 2013,
 *  doi:10.1097/HJH.0b013e328363e964). */
export const NIGHT = { fromHour: 1, toHour: 6 } as const;
export const DAYTIME = { fromHour: 9, toHour: 21 } as const;
/** Share of night or day that must be covered for its heart rate. */
export const PART_MIN = 0.5;
/** Windows in a row whose heart rate is the resting one where it is lowest: half an hour. */
export const RESTING_WINDOWS = 6;

/** Steps that answers are rounded to, last, as stored values are: intervals and rates as hrv_sdnn_300s and hr_ecg. */
const MS_STEP = 0.001;
const RATE_STEP = 0.001;
const PERCENT_STEP = 0.01;
const SHARE_STEP = 0.0001;

/** Numbers are whole steps: 0.001 ms, 0.001 /min, 0.01 %, and 0.0001 of coverage. */
export type DayVariability = Readonly<{
  window_count: number;
  coverage: number;
  sdnn_ms: number | null;
  sdann_ms: number | null;
  sdnn_index_ms: number | null;
  night_hr: number | null;
  day_hr: number | null;
  dip_percent: number | null;
  resting_hr: number | null;
}>;

/** Takes the windows of which none overlaps the one before, from the first on.  @param windows ascending */
export function sideBySide(windows: readonly NnFiveMinutes[]): NnFiveMinutes[] {
  const taken: NnFiveMinutes[] = [];
  for (const window of windows) if (window.endMs - (taken.at(-1)?.endMs ?? Number.NEGATIVE_INFINITY) >= FIVE_MS - 1) taken.push(window);
  return taken;
}

/** @param windows side by side, within the day  @param hourOf hour of the clock, with its fraction, at which a time lies */
export function dayVariability(windows: readonly NnFiveMinutes[], dayMs: number, hourOf: (ms: number) => number): DayVariability {
  const covered = windows.length * FIVE_MS;
  const isWhole = covered >= DAY_HOURS_MIN * HOUR_MS;
  const night = partRate(windows, NIGHT, hourOf);
  const day = partRate(windows, DAYTIME, hourOf);
  return {
    window_count: windows.length,
    coverage: rounded(Math.min(1, covered / dayMs), SHARE_STEP),
    sdnn_ms: isWhole ? rounded(pooledDeviation(windows), MS_STEP) : null,
    sdann_ms: isWhole ? rounded(deviation(windows.map(({ meanMs }) => meanMs)), MS_STEP) : null,
    sdnn_index_ms: isWhole ? rounded(mean(windows.map(({ sdMs }) => sdMs)), MS_STEP) : null,
    night_hr: roundedOrNull(night, RATE_STEP),
    day_hr: roundedOrNull(day, RATE_STEP),
    dip_percent: night === null || day === null ? null : rounded(100 * (1 - night / day), PERCENT_STEP),
    resting_hr: roundedOrNull(restingRate(windows), RATE_STEP),
  };
}

const rounded = (value: number, step: number): number => fromSteps(toSteps(value, step), step);
const roundedOrNull = (value: number | null, step: number): number | null => (value === null ? null : rounded(value, step));

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

function deviation(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
}

/** Beats of a window: those of five minutes at its mean. */
const beatsOf = ({ meanMs }: NnFiveMinutes): number => FIVE_MS / meanMs;

/** Standard deviation of all intervals of the windows: what they spread within windows and between them. */
function pooledDeviation(windows: readonly NnFiveMinutes[]): number {
  let beats = 0;
  let sum = 0;
  for (const window of windows) {
    beats += beatsOf(window);
    sum += beatsOf(window) * window.meanMs;
  }
  const middle = sum / beats;
  let squares = 0;
  for (const window of windows) squares += (beatsOf(window) - 1) * window.sdMs ** 2 + beatsOf(window) * (window.meanMs - middle) ** 2;
  return Math.sqrt(squares / (beats - 1));
}

/** Beats a minute of windows. */
const rateOf = (windows: readonly NnFiveMinutes[]): number => (mean(windows.map(beatsOf)) * 60_000) / FIVE_MS;

type Hours = Readonly<{ fromHour: number; toHour: number }>;

function partRate(windows: readonly NnFiveMinutes[], { fromHour, toHour }: Hours, hourOf: (ms: number) => number): number | null {
  const own = windows.filter(({ endMs }) => {
    const hour = hourOf(endMs - FIVE_MS / 2);
    return hour >= fromHour && hour < toHour;
  });
  return own.length * FIVE_MS < PART_MIN * (toHour - fromHour) * HOUR_MS ? null : rateOf(own);
}

/** The lowest heart rate of half an hour without a gap. */
function restingRate(windows: readonly NnFiveMinutes[]): number | null {
  let lowest: number | null = null;
  for (let i = RESTING_WINDOWS; i <= windows.length; i++) {
    const run = windows.slice(i - RESTING_WINDOWS, i);
    if (run.at(-1)!.endMs - run[0]!.endMs > (RESTING_WINDOWS - 1) * FIVE_MS + HOUR_MS / 60) continue;
    const rate = rateOf(run);
    if (lowest === null || rate < lowest) lowest = rate;
  }
  return lowest;
}
