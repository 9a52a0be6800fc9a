/** Arithmetic of views: zoom, pan, and the step to the period before or after. */
import { addDays } from '../../shared/days.ts';
import type { View } from '../plot.ts';

const DAY_MS = 864e5;
const SPAN_MIN_MS = 10_000;
/** The service refuses more than 3660 days. */
const SPAN_MAX_MS = 3650 * DAY_MS;

/** @param factor below 1: less is shown  @param aroundMs stays where it is */
export function zoomed({ fromMs, toMs }: View, factor: number, aroundMs: number): View {
  const span = Math.min(SPAN_MAX_MS, Math.max(SPAN_MIN_MS, (toMs - fromMs) * factor));
  const from = aroundMs - ((aroundMs - fromMs) / (toMs - fromMs)) * span;
  return { fromMs: from, toMs: from + span };
}

/** @param shareOfSpan 0.25: a quarter of the view later */
export function panned({ fromMs, toMs }: View, shareOfSpan: number, nowMs: number): View {
  const wanted = (toMs - fromMs) * shareOfSpan;
  // There are no values of the future. A view that ends in it already (a whole day, today) may move back from there.
  const by = wanted > 0 ? Math.min(wanted, Math.max(0, nowMs - toMs)) : wanted;
  return { fromMs: fromMs + by, toMs: toMs + by };
}

/** A stretch that was dragged over, either way; null when it is too short to be meant. */
export function selected(aMs: number, bMs: number): View | null {
  const [fromMs, toMs] = aMs < bMs ? [aMs, bMs] : [bMs, aMs];
  return toMs - fromMs < SPAN_MIN_MS ? null : { fromMs, toMs };
}

/** The period of the same length before (-1) or after (1), next to this one: by the clock where it is of whole days, which have 23 to 25
 *  hours. */
export function stepped({ fromMs, toMs }: View, direction: 1 | -1, timeZone: string | undefined): View {
  const days = Math.round((toMs - fromMs) / DAY_MS);
  const whole = days > 0 && (addDays(fromMs, days, timeZone) === toMs || Math.abs(toMs - fromMs - days * DAY_MS) < 60_000);
  const step = (ms: number): number => (whole ? addDays(ms, direction * days, timeZone) : ms + direction * (toMs - fromMs));
  return direction < 0 ? { fromMs: step(fromMs), toMs: fromMs } : { fromMs: toMs, toMs: step(toMs) };
}
