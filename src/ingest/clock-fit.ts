/** Fits a device's clock to ours: offset, skew and scatter, from the times in its packets and their times of arrival.
 *  Stored as information only; sample times are epochNs + device time and do not depend on it. */
import type { ClockFit, TimeSource } from '../signal.ts';

/** Window minima kept: 64 windows of 1 s at first, of 2 s once they are full, and so on. */
const WINDOWS_MAX = 64;
const FIRST_WINDOW_NS = 1_000_000_000;
/** Fewer windows give no line. A shorter time gives one dominated by the network: 10 ms of jitter in 5 minutes are 33 ppm. */
const WINDOWS_MIN = 8;
const SPAN_NS_MIN = 300_000_000_000;
/** A greater skew is not a clock but stored data, sent faster than they were recorded. */
const SKEW_PPM_MAX = 10_000;

const slopes = new Float64Array((WINDOWS_MAX * (WINDOWS_MAX - 1)) / 2);

/** Collects (device time, receive time) pairs of one boot in constant memory.
 *  Network delays are only ever positive, so the pair with the least delay is kept of each window. The line is the median of slopes
 *  (Theil 1950, Sen 1968): congestion may spoil a third of the windows without moving it. */
export class ClockFitter {
  readonly #x = new Float64Array(WINDOWS_MAX); // device ns since the first pair, ascending
  readonly #y = new Float64Array(WINDOWS_MAX); // (unix - device) ns, relative to the first pair's
  #count = 0;
  #windowNs = FIRST_WINDOW_NS;
  #windowIndex = -1;
  #firstDeviceNs = 0n;
  #firstOffsetNs = 0n;
  #started = false;

  /** @param deviceNs device time of the packet's end  @param receivedNs Unix ns of its arrival */
  add(deviceNs: bigint, receivedNs: bigint): void {
    const offsetNs = receivedNs - deviceNs;
    if (!this.#started) {
      this.#started = true;
      this.#firstDeviceNs = deviceNs;
      this.#firstOffsetNs = offsetNs;
    }
    const x = Number(deviceNs - this.#firstDeviceNs);
    const y = Number(offsetNs - this.#firstOffsetNs);
    let window = Math.floor(x / this.#windowNs);
    if (window < this.#windowIndex) return; // late, so its delay is not the minimum
    // When packets are further apart than a window, it takes several rounds until two windows merge.
    while (this.#count === WINDOWS_MAX && window > this.#windowIndex) {
      this.#halve();
      window = Math.floor(x / this.#windowNs);
    }
    const last = this.#count - 1;
    if (window === this.#windowIndex) {
      if (y < this.#y[last]!) {
        this.#x[last] = x;
        this.#y[last] = y;
      }
      return;
    }
    this.#windowIndex = window;
    this.#x[this.#count] = x;
    this.#y[this.#count] = y;
    this.#count++;
  }

  /** Takes 0.1 ms. @returns null when too little was seen, or the pairs do not come from a running clock */
  fit(): ClockFit | null {
    const n = this.#count;
    if (n < WINDOWS_MIN || this.#x[n - 1]! - this.#x[0]! < SPAN_NS_MIN) return null;
    let slopeCount = 0;
    for (let i = 0; i < n; i++) {
      for (let j = i + 1; j < n; j++) {
        slopes[slopeCount++] = (this.#y[j]! - this.#y[i]!) / (this.#x[j]! - this.#x[i]!);
      }
    }
    const slope = median(slopes.subarray(0, slopeCount));
    if (Math.abs(slope * 1e6) > SKEW_PPM_MAX) return null;
    const residuals = Float64Array.from({ length: n }, (_, i) => this.#y[i]! - slope * this.#x[i]!);
    const intercept = median(residuals);
    const scatter = 1.4826 * median(residuals.map((r) => Math.abs(r - intercept)));
    const atX = this.#x[n - 1]!;
    return {
      offsetNs: this.#firstOffsetNs + BigInt(Math.round(intercept + slope * atX)),
      atDeviceNs: this.#firstDeviceNs + BigInt(atX),
      skewPpm: slope * 1e6,
      rmsNs: scatter,
      pairCount: n,
    };
  }

  /** Doubles the length of windows; of two that merge, keeps the smaller delay. */
  #halve(): void {
    this.#windowNs *= 2;
    let kept = 0;
    let index = -1;
    for (let i = 0; i < this.#count; i++) {
      const window = Math.floor(this.#x[i]! / this.#windowNs);
      if (window === index) {
        if (this.#y[i]! >= this.#y[kept - 1]!) continue;
        kept--;
      }
      this.#x[kept] = this.#x[i]!;
      this.#y[kept] = this.#y[i]!;
      kept++;
      index = window;
    }
    this.#count = kept;
    this.#windowIndex = index;
  }
}

/** Sorts the values in place. */
function median(values: Float64Array): number {
  values.sort();
  const middle = values.length >> 1;
  return values.length % 2 === 1 ? values[middle]! : (values[middle - 1]! + values[middle]!) / 2;
}

/** Unix time of device time 0, and how it is known. */
export type Placement = Readonly<{ epochNs: bigint; timeSource: TimeSource }>;

const WALL_CLOCK_MIN_NS = 1_420_070_400_000_000_000n; // 2015-01-01: an earlier clock was never set
const SYNCED_NS = 2_000_000_000n; // a clock this close to ours is synchronised
const AGE_MAX_NS = 10n * 365n * 86_400_000_000_000n;

/** Decides the Unix time of device time 0 when a stream is opened. Once stored it never changes.
 *  A time stated by the recording is taken as it is, and so is a synchronised wall clock. A wrong wall clock still tells the packet's age.
 *  Without one, the packet is taken to end on arrival.
 *  @param endDeviceNs device time of the end of the packet's newest sample */
export function placeInTime(packet: Clocks, endDeviceNs: bigint, receivedNs: bigint): Placement {
  const { t0DeviceNs, t0UnixNs, sentUnixNs, recordedUnixNs } = packet;
  if (recordedUnixNs !== undefined) return { epochNs: recordedUnixNs - t0DeviceNs, timeSource: 'stated' };
  if (t0UnixNs > 0n && sentUnixNs >= t0UnixNs) {
    const off = receivedNs - sentUnixNs;
    if (off > -SYNCED_NS && off < SYNCED_NS) return { epochNs: t0UnixNs - t0DeviceNs, timeSource: 'device' };
    const age = sentUnixNs - t0UnixNs;
    if (age <= AGE_MAX_NS) return { epochNs: receivedNs - age - t0DeviceNs, timeSource: 'age' };
  } else if (t0UnixNs >= WALL_CLOCK_MIN_NS && t0UnixNs <= receivedNs + SYNCED_NS) {
    return { epochNs: t0UnixNs - t0DeviceNs, timeSource: 'device' };
  }
  return { epochNs: receivedNs - endDeviceNs, timeSource: 'arrival' };
}

type Clocks = Readonly<{ t0DeviceNs: bigint; t0UnixNs: bigint; sentUnixNs: bigint; recordedUnixNs?: bigint | undefined }>;
