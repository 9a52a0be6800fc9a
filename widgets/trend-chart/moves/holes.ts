/** Stretches of a chart without any value: where they are, and why, as far as it is known. */
import { medianStep } from '../../shared/buckets.ts';
import type { Series } from '../../shared/data.ts';
import { zonedTime } from '../../shared/zoned-time.ts';
import type { ChartHost } from '../moves-host.ts';
import { byUnit } from '../by-unit.ts';
import type { View } from '../plot.ts';
import type { MoveTextKey } from './strings.ts';
import type { Say } from './words.ts';

/** Newer values may be on their way. */
const COMING_MS = 60_000;
/** Asked for about one hole; longer ones are asked about by parts of it. */
const POINTS = 10;

/** Of the series of one plot, as the ribbon below it shows them; one that stands next to them for comparison does not count. */
export function holesOf(group: readonly Series[], { fromMs, toMs }: View, nowMs: number): View[] {
  const own = group.filter(({ compared }) => !compared);
  const times = (own[0]?.timesMs ?? []).filter((_, i) => own.some(({ values, flags }) => values[i] !== null || flags[i]! > 0));
  const stepMs = Math.min(medianStep(times), ...own.map(({ bucketMs }) => bucketMs || Infinity));
  const ends = [fromMs - stepMs, ...times, Math.min(toMs, nowMs - COMING_MS)];
  return ends.slice(1).flatMap((next, i) => {
    const beginMs = ends[i]! + stepMs;
    return next - beginMs > 0.9 * stepMs ? [{ fromMs: beginMs, toMs: next }] : [];
  });
}

/** Says the reason of the hole under a pointer in the place where values are read.  @returns how to stop */
export function startHoles(host: ChartHost, say: Say): () => void {
  const { root } = host;
  let shown = '';
  /** null: it is being asked for. */
  const reasons = new Map<string, MoveTextKey | null>();

  const holeAt = (event: Event): View | null => {
    const over = (event.composedPath()[0] as Element).closest?.<HTMLElement>('.u-over') ?? null;
    const [data, view] = [host.data(), host.view()];
    if (over === null || data === null || view === null || data.daily || data.empty) return null;
    const box = over.getBoundingClientRect();
    const timeMs = view.fromMs + (((event as PointerEvent).clientX - box.left) / box.width) * (view.toMs - view.fromMs);
    const group = byUnit(data.series)[[...root.querySelectorAll('.u-over')].indexOf(over)] ?? [];
    // By the minute: a hole up to now would be another one at every move, and asked about each time.
    const nowMs = Math.floor(Date.now() / 60_000) * 60_000;
    return holesOf(group, data, nowMs).find(({ fromMs, toMs }) => timeMs >= fromMs && timeMs < toMs) ?? null;
  };

  const told = ({ fromMs, toMs }: View, key: string): string => {
    const style = toMs - fromMs < 600_000 ? 'seconds' : 'full';
    const [from, to] = [fromMs, toMs].map((ms) => zonedTime(host.locale(), ms, host.timeZone(), style, fromMs, toMs)) as [string, string];
    const reason = reasons.get(key) ?? null;
    return `${say('hole', { from, to })}${reason === null ? '' : ` ${say(reason)}`}`;
  };

  const look = (event: Event): void => {
    const hole = event.type === 'pointerleave' ? null : holeAt(event);
    const key = hole === null ? '' : `${hole.fromMs}-${hole.toMs}`;
    if (key === shown) return;
    shown = key;
    host.note(hole === null ? null : told(hole, key));
    if (hole === null || reasons.has(key)) return;
    reasons.set(key, null);
    void reasonOf(host, hole).then((reason) => {
      if (reason === null) return void reasons.delete(key);
      reasons.set(key, reason);
      if (shown === key) host.note(told(hole, key));
    });
  };
  const events = ['pointermove', 'pointerdown', 'pointerleave'] as const;
  for (const name of events) host.element.addEventListener(name, look);
  return () => {
    for (const name of events) host.element.removeEventListener(name, look);
  };
}

/** null: it is not known. */
async function reasonOf(host: ChartHost, { fromMs, toMs }: View): Promise<MoveTextKey | null> {
  const session = host.session();
  if (session === null) return null;
  try {
    const { subjectId } = await session.identity();
    const between = { since: new Date(fromMs).toISOString(), until: new Date(toMs).toISOString() };
    const streams = await session.get('/api/v1/streams', { query: { subject_id: subjectId, ...between, limit: 1 } });
    if (streams.length === 0) return 'holeUnrecorded';
    const request = { series: ['worn_ppg'], toMs, rangeMs: toMs - fromMs, maxPoints: POINTS };
    const [worn] = await host.kit.queryChart(session, request).catch(() => []);
    return worn?.range[2] === 0 ? 'holeNotWorn' : 'holeRecorded';
  } catch {
    return null;
  }
}
