/** The newest value of each feature that live frames brought, with its age. */
import type { LiveFrame } from '../widgets/shared/live-frame.ts';

/** Oldest age of a replayed frame, ms: the service keeps a minute. */
const REPLAY_MS_MAX = 60_000;

/** @param atMs performance.now() at which the value counts as new */
export type Latest = Readonly<{ value: number; qmask: number; timeMs: number; atMs: number }>;

/** performance.now() at which a frame was new: one that is replayed is at most a minute old, whatever the browser's clock says.
 *  @param endMs its end, Unix ms */
export const arrivedMs = (isReplayed: boolean, endMs: number, nowMs: number): number =>
  isReplayed ? nowMs - Math.min(REPLAY_MS_MAX, Math.max(0, Date.now() - endMs)) : nowMs;

export class LatestValues {
  readonly #values = new Map<string, Latest>();

  /** @param nowMs performance.now() */
  take(frame: LiveFrame, nowMs: number): void {
    const endMs = Number(frame.t0Ns) / 1e6 + frame.durationMs;
    const atMs = arrivedMs(frame.replayed, endMs, nowMs);
    for (const feature of frame.features) {
      const known = this.#values.get(feature.name);
      if (known === undefined || feature.timeMs >= known.timeMs) this.#values.set(feature.name, { ...feature, atMs });
    }
  }

  of(feature: string): Latest | undefined {
    return this.#values.get(feature);
  }
}
