/** Keeps the last minute of every live channel, so that a page that is paused can be scrolled back even without a connection. */
import type { Segment } from '../widgets/recording/recording-source.ts';
import type { LiveChannel, LiveFrame } from '../widgets/shared/live-frame.ts';

/** As much as the service replays on a new connection, ms. */
const KEPT_MS = 60_000;
/** Frames whose grids meet within so many samples are one stretch. */
const SNAP_SAMPLES = 2;

type Stretch = { t0Ms: number; rateHz: number; samples: (number | null)[]; qmask: number[] };

/** @param segments ascending */
export type HeldLane = Readonly<{ id: string; code: string; kind: string; lead: string; unit: string; segments: readonly Segment[] }>;

export class HeldTraces {
  readonly #channels = new Map<string, { channel: LiveChannel; stretches: Stretch[] }>();
  #endMs = NaN;

  /** Time after the newest sample; NaN before the first. */
  get endMs(): number {
    return this.#endMs;
  }

  take(frame: LiveFrame): void {
    const frameEndMs = Number(frame.t0Ns) / 1e6 + frame.durationMs;
    if (!(frameEndMs <= this.#endMs)) this.#endMs = frameEndMs;
    for (const channel of frame.channels) this.#put(channel, (Number(frame.t0Ns) + channel.offsetNs) / 1e6);
  }

  #put(channel: LiveChannel, t0Ms: number): void {
    const { id, rateHz, samples, qmask } = channel;
    if (rateHz <= 0 || samples.length === 0) return;
    let held = this.#channels.get(id);
    if (held === undefined) this.#channels.set(id, (held = { channel, stretches: [] }));
    const { stretches } = held;
    const newest = stretches.at(-1);
    const endMs = newest === undefined ? -Infinity : endOf(newest);
    const values = Array.from(samples, (value) => (Number.isNaN(value) ? null : value));
    const flags = Array.from(samples, (_, i) => qmask?.[i] ?? 0);
    if (t0Ms < endMs - (SNAP_SAMPLES * 1000) / rateHz) {
      // Replayed from before what is here: a stretch of its own, unless it is here already.
      if (stretches.some((stretch) => t0Ms >= stretch.t0Ms - 1 && t0Ms < endOf(stretch) - 1)) return;
      stretches.push({ t0Ms, rateHz, samples: values, qmask: flags });
      stretches.sort((a, b) => a.t0Ms - b.t0Ms);
    } else if (newest !== undefined && newest.rateHz === rateHz && Math.abs(t0Ms - endMs) <= (SNAP_SAMPLES * 1000) / rateHz) {
      newest.samples.push(...values);
      newest.qmask.push(...flags);
    } else stretches.push({ t0Ms, rateHz, samples: values, qmask: flags });
    this.#trim(stretches);
  }

  #trim(stretches: Stretch[]): void {
    const fromMs = this.#endMs - KEPT_MS;
    while (stretches.length > 0 && endOf(stretches[0]!) <= fromMs) stretches.shift();
    const [oldest] = stretches;
    // Not with each frame: an array that is cut is copied.
    if (oldest === undefined || oldest.t0Ms > fromMs - KEPT_MS / 10) return;
    const gone = Math.floor(((fromMs - oldest.t0Ms) / 1000) * oldest.rateHz);
    oldest.samples.splice(0, gone);
    oldest.qmask.splice(0, gone);
    oldest.t0Ms += (gone * 1000) / oldest.rateHz;
  }

  /** A copy of all that is held: later frames do not change it. */
  lanes(): readonly HeldLane[] {
    return [...this.#channels.values()].map(({ channel: { id, code, kind, lead, unit }, stretches }) => ({
      id,
      code,
      kind,
      lead,
      unit,
      segments: joined(stretches).map((stretch) => ({ ...stretch, channel: code, kind, unit })),
    }));
  }
}

const endOf = ({ t0Ms, rateHz, samples }: Pick<Stretch, 't0Ms' | 'rateHz' | 'samples'>): number => t0Ms + (samples.length * 1000) / rateHz;

/** Copies of stretches; those that meet are one: what is replayed comes in pieces. */
function joined(stretches: readonly Stretch[]): readonly Stretch[] {
  const whole: Stretch[] = [];
  for (const stretch of stretches) {
    const before = whole.at(-1);
    const meets = before?.rateHz === stretch.rateHz && Math.abs(stretch.t0Ms - endOf(before)) <= (SNAP_SAMPLES * 1000) / stretch.rateHz;
    if (meets) {
      before.samples.push(...stretch.samples);
      before.qmask.push(...stretch.qmask);
    } else whole.push({ ...stretch, samples: [...stretch.samples], qmask: [...stretch.qmask] });
  }
  return whole;
}
