/** Turns the times at which frames arrive into a steady time to show.
 *
 *  Frames come in steps of 100 ms with jitter; a trace that jumped with them would be unreadable. So the shown time runs with the browser's
 *  own clock, behind the newest sample by one frame plus the jitter seen in the last seconds, and is only slewed towards that target. */

const FRAME_MS = 100;
const JITTER_MAX_MS = 1500;
const WINDOW_MS = 5000;
/** Larger steps (a reconnect, a changed device clock) are jumped, smaller ones slewed at 5 % so that the eye does not see them. */
const JUMP_MS = 1000;
const SLEW = 0.05;

export class PlayClock {
  #lags: { atMs: number; lagMs: number }[] = [];
  #targetMs: number | null = null;
  #delayMs: number | null = null;
  #lastMs = 0;

  /** A frame whose last sample was taken at `endMs` (unix) arrived at `nowMs` (performance.now()). */
  observe(endMs: number, nowMs: number): void {
    this.#lags.push({ atMs: nowMs, lagMs: nowMs - endMs });
    while (this.#lags.length > 0 && this.#lags[0]!.atMs < nowMs - WINDOW_MS) this.#lags.shift();
    let min = Infinity;
    let max = -Infinity;
    for (const { lagMs } of this.#lags) {
      min = Math.min(min, lagMs);
      max = Math.max(max, lagMs);
    }
    this.#targetMs = min + FRAME_MS + Math.min(max - min, JITTER_MAX_MS);
    if (this.#delayMs === null || Math.abs(this.#delayMs - this.#targetMs) > JUMP_MS) this.#delayMs = this.#targetMs;
  }

  /** Unix time in ms of the sample to show now; null before the first frame. */
  timeMs(nowMs: number): number | null {
    if (this.#delayMs === null || this.#targetMs === null) return null;
    const step = Math.min(200, Math.max(0, nowMs - this.#lastMs)) * SLEW;
    this.#lastMs = nowMs;
    const error = this.#targetMs - this.#delayMs;
    this.#delayMs += Math.sign(error) * Math.min(Math.abs(error), step);
    return nowMs - this.#delayMs;
  }

  /** Forget the past: after a reconnect or a change of subject. */
  reset(): void {
    this.#lags = [];
    this.#targetMs = null;
    this.#delayMs = null;
  }
}
