/** The newest value of each feature that live frames brought, with its age. */
import type { LiveFrame } from '../widgets/shared/live-frame.ts';

/** Oldest age of a replayed frame, ms: the service keeps a minute. */
const REPLAY_MS_MAX = 60_000;

/** @param atMs performance.now() at which the value counts as new */
export type Latest = Readonly<{ value: number; qmask: number; timeMs: number; atMs: number }>;

export class LatestValues {
  readonly #values = new Map<string, Latest>();

  /** @param nowMs performance.now() */
  take(frame: LiveFrame, nowMs: number): void {
    const endMs = Number(frame.t0Ns) / 1e6 + frame.durationMs;
    // A replayed frame is at most a minute old, whatever this clock says.
    const atMs = frame.replayed ? nowMs - Math.min(REPLAY_MS_MAX, Math.max(0, Date.now() - endMs)) : nowMs;
    for (const feature of frame.features) {
      const known = this.#values.get(feature.name);
      if (known === undefined || feature.timeMs >= known.timeMs) this.#values.set(feature.name, { ...feature, atMs });
    }
  }

  of(feature: string): Latest | undefined {
    return this.#values.get(feature);
  }
}
