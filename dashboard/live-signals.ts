/** Tells of the live signals of a person whether they can be trusted now, for the values that are made of their last seconds: such a value
 *  would stay on the screen for as long after its electrode came off. */
import type { LiveFrame } from '../widgets/shared/live-frame.ts';
import { traceQuality } from '../widgets/shared/trace-quality.ts';
import { TraceRing } from '../widgets/shared/trace-ring.ts';
import type { LiveValue } from './live-values.ts';

/** A little more than traceQuality looks at. */
const KEPT_SEC = 3;
/** A channel that has not come for so long has ended, or its device is silent, ms. */
const ENDED_MS = 2000;

type Channel = Readonly<{ kind: string; code: string }>;
type Kind = 'ecg' | 'ppg';

const LIGHTS: ReadonlySet<string> = new Set(['ppg.red', 'ppg.ir']);

/** Does a device that sends these channels send what the value is made from? */
export function isMadeOf({ feature, source }: Pick<LiveValue, 'feature' | 'source'>, channels: readonly Channel[]): boolean {
  if (feature === 'spo2') return [...LIGHTS].every((light) => channels.some(({ code }) => code === light));
  return channels.some(({ kind }) => kind === source);
}

export class LiveSignals {
  readonly #channels = new Map<string, { kind: Kind; code: string; ring: TraceRing; endMs: number }>();
  #endMs = 0;

  take({ t0Ns, durationMs, channels }: LiveFrame): void {
    const endMs = Number(t0Ns) / 1e6 + durationMs;
    this.#endMs = Math.max(this.#endMs, endMs);
    for (const { id, code, kind, rateHz, offsetNs, samples, qmask } of channels) {
      if ((kind !== 'ecg' && kind !== 'ppg') || rateHz <= 0) continue;
      let channel = this.#channels.get(id);
      if (channel?.ring.rateHz !== rateHz) this.#channels.set(id, (channel = { kind, code, ring: new TraceRing(rateHz, KEPT_SEC), endMs }));
      channel.ring.put(t0Ns + BigInt(Math.round(offsetNs)), samples, qmask);
      channel.endMs = Math.max(channel.endMs, endMs);
    }
  }

  /** Flag of a value, or 2 where every signal that it is of is unusable: of several leads, one that is off leaves the rate, but saturation
   *  needs both of its lights. */
  flagOf({ feature, source, isOfNow }: Pick<LiveValue, 'feature' | 'source' | 'isOfNow'>, flag: number): number {
    if (!isOfNow) return flag;
    const now = [...this.#channels.values()].filter((channel) => channel.kind === source && channel.endMs > this.#endMs - ENDED_MS);
    const isUnusable = ({ ring }: Readonly<{ ring: TraceRing }>): boolean => traceQuality(ring, this.#endMs) === 2;
    if (feature === 'spo2' && now.some((channel) => LIGHTS.has(channel.code) && isUnusable(channel))) return 2;
    return now.length > 0 && now.every(isUnusable) ? 2 : flag;
  }
}
