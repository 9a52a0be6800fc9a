/** The script /cdn/v1/bio-chart.js: what moves a chart. It holds neither lit-html nor uPlot: the chart hands over what it has. */
import type { TemplateResult } from 'lit-html';
import { styleSheet } from '../../shared/theme.ts';
import type { Series } from '../../shared/data.ts';
import type { ChartHost, Moves } from '../moves-host.ts';
import { alignedTo, comparisonOf } from './compare.ts';
import { Controls, controlsCss } from './controls.ts';
import { gesturesCss, startGestures } from './gestures.ts';
import { startHoles } from './holes.ts';
import { wordsOf } from './words.ts';

const CURSOR = 'bio:cursor';
type Cursor = CustomEvent<{ link: string; from: HTMLElement; timeMs: number | null }>;

export function startMoves(host: ChartHost): Moves {
  const { element, root } = host;
  const sheet = styleSheet(gesturesCss + controlsCss);
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  const say = wordsOf(host);
  const point = (): void => void firePoint(host);
  const controls = new Controls(host, say, point);
  const stopGestures = startGestures(host, point);
  const stopHoles = startHoles(host, say);

  /** A cursor that follows another chart's is not told on. */
  let following = false;
  const follow = (event: Event): void => {
    const { link, from, timeMs } = (event as Cursor).detail;
    if (from === element || link !== element.getAttribute('link')) return;
    following = true;
    host.read(rowAt(host.data()?.series[0], timeMs));
    following = false;
  };
  document.addEventListener(CURSOR, follow);

  return {
    tools: (): TemplateResult => controls.view(),
    newest: () => controls.newest(),
    compared: async (session, request, signal) => {
      const wanted = element.getAttribute('compare');
      const comparison = comparisonOf(wanted, request.rangeMs, host.timeZone());
      if (comparison === null) return () => [];
      const { toMs: endMs = Date.now(), rangeMs } = request;
      const [first, last] = [comparison.shift(endMs - rangeMs), comparison.shift(endMs)];
      // Where the clocks are put back in the range, its end may be of an earlier time of the day than its beginning.
      const [fromMs, toMs] = [Math.min(first, last - rangeMs), Math.max(last, first + rangeMs)];
      const subject = comparison.subjectId === null ? {} : { subjectId: comparison.subjectId };
      const others = await host.kit.queryChart(session, { ...request, rangeMs: toMs - fromMs, toMs, ...subject }, signal);
      const suffix = controls.nameOf(wanted!);
      return (own) =>
        others.flatMap((other, i) => {
          const name = say('comparedWith', { name: own[i]?.name ?? '', with: suffix });
          return own[i] === undefined ? [] : [alignedTo(own[i], other, comparison.shift, name)];
        });
    },
    cursorMoved: (timeMs) => {
      const link = element.getAttribute('link');
      if (link !== null && !following) document.dispatchEvent(new CustomEvent(CURSOR, { detail: { link, from: element, timeMs } }));
    },
    stop: () => {
      stopGestures();
      stopHoles();
      document.removeEventListener(CURSOR, follow);
      root.adoptedStyleSheets = root.adoptedStyleSheets.filter((item) => item !== sheet);
    },
  };
}

/** The row nearest to a time; null where none is near. */
export function rowAt(series: Pick<Series, 'timesMs' | 'stepMs'> | undefined, timeMs: number | null): number | null {
  if (series === undefined || timeMs === null) return null;
  const { timesMs, stepMs } = series;
  let best: number | null = null;
  for (const [i, time] of timesMs.entries())
    if (Math.abs(time - timeMs) <= stepMs && (best === null || Math.abs(time - timeMs) < Math.abs(timesMs[best]! - timeMs))) best = i;
  return best;
}

/** Tells the page of the point that is read, and the recording that it comes from. */
async function firePoint(host: ChartHost): Promise<void> {
  const [data, row, session] = [host.data(), host.cursor(), host.session()];
  if (!host.element.hasAttribute('points') || data === null || row === null || session === null) return;
  const item = data.series.find(({ values }) => (values[row] ?? null) !== null) ?? data.series[0]!;
  const timeMs = item.timesMs[row]!;
  const since = new Date(timeMs).toISOString();
  const { subjectId } = await session.identity();
  const query = { subject_id: subjectId, since, until: new Date(timeMs + item.stepMs).toISOString(), limit: 10 };
  const streams = await session.get('/api/v1/streams', { query }).catch(() => []);
  // Of several that ran at once, one with the signal of the value, else one that has a waveform to look at.
  const codes = String(item.method_codes).replace('hrv', 'ecg').replace('prv', 'ppg');
  const stream =
    streams.find(({ channels }) => channels.some(({ kind }) => codes.includes(kind))) ??
    streams.find(({ channels }) => channels.length > 0) ??
    streams[0];
  const time = new Date(Math.max(timeMs, Date.parse(stream?.recorded_from ?? since))).toISOString();
  host.fire('bio:point', { time, biosignal: item.key, value: item.values[row] ?? null, stream_id: stream?.id ?? null });
}
