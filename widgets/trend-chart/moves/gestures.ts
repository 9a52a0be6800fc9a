/** Pointers, wheel and keys on the plots of a chart.
 *
 *  A mouse drag selects a stretch, with Shift it moves; one finger moves sideways (up and down it scrolls the page), two zoom. While
 *  something moves, the plots are drawn from the data that are here; the range is fetched when it has come to rest. */
import type { ChartHost } from '../moves-host.ts';
import type { View } from '../plot.ts';
import { panned, selected, zoomed } from './view.ts';

/** Below this a drag is a click, px. */
const DRAG_PX = 5;
/** The wheel and keys have come to rest, ms. */
const REST_MS = 250;
/** A second click within this is a double click. */
const SECOND_CLICK_MS = 300;
const ZOOM_KEY = 0.5;
const PAN_KEY = 0.25;

export const gesturesCss = `
.plot { touch-action: pan-y; }
.plot .u-over { cursor: crosshair; }
.sel { position: absolute; inset-block: 0; background: var(--_accent); opacity: .18; pointer-events: none; }
`;

type Finger = { x: number; startX: number };

/** @param click a click on a point, or Enter  @returns how to stop */
export function startGestures(host: ChartHost, click: () => void): () => void {
  const { element, root } = host;
  const fingers = new Map<number, Finger>();
  let view: View | null = null;
  let moved = false;
  let selection: HTMLElement[] = [];
  let rest: ReturnType<typeof setTimeout> | undefined;
  let clicked: ReturnType<typeof setTimeout> | undefined;

  /** Of the first plot, whose time axis is that of all: an answer that comes while a pointer is down puts others in their place. */
  const axis = (): HTMLElement => root.querySelector('.u-over')!;
  const shown = (): View | null => axis() && (view ?? host.view());
  const isOff = (event: Event): boolean => !(event.composedPath()[0] as Element).closest('.u-over');
  const places = (): number[] => [...fingers.values()].map(({ x }) => x);
  const shareAt = (x: number): number => {
    const box = axis().getBoundingClientRect();
    return Math.min(1, Math.max(0, (x - box.left) / box.width));
  };
  const timeAt = ({ fromMs, toMs }: View, x: number): number => fromMs + shareAt(x) * (toMs - fromMs);
  const preview = (next: View): void => {
    view = next;
    host.preview(next);
  };
  const commit = (): void => {
    clearTimeout(rest);
    const wanted = view;
    view = null;
    if (wanted !== null) host.show(wanted);
  };
  const commitSoon = (): void => {
    clearTimeout(rest);
    rest = setTimeout(commit, REST_MS);
  };
  const unselect = (): void => {
    for (const box of selection.splice(0)) box.remove();
  };
  const select = (from: number, to: number): void => {
    if (!selection[0]?.isConnected) {
      selection = [...root.querySelectorAll<HTMLElement>('.u-over')].map((plot) => {
        const box = document.createElement('div');
        box.className = 'sel';
        plot.append(box);
        return box;
      });
    }
    const [a, b] = [shareAt(from), shareAt(to)];
    for (const { style } of selection) {
      style.left = `${Math.min(a, b) * 100}%`;
      style.width = `${Math.abs(b - a) * 100}%`;
    }
  };

  const down = (event: PointerEvent): void => {
    if (isOff(event) || event.button !== 0 || shown() === null) return;
    clearTimeout(clicked);
    if (event.isPrimary) fingers.clear(); // others went up where nobody was told
    fingers.set(event.pointerId, { x: event.clientX, startX: event.clientX });
    axis().setPointerCapture(event.pointerId);
    moved = fingers.size > 1;
  };

  const move = (event: PointerEvent): void => {
    const finger = fingers.get(event.pointerId);
    const now = shown();
    if (finger === undefined || now === null) return;
    const before = places();
    const beforeX = finger.x;
    finger.x = event.clientX;
    moved ||= Math.abs(finger.x - finger.startX) >= DRAG_PX;
    if (!moved) return;
    axis().setPointerCapture(event.pointerId);
    if (fingers.size === 2) {
      const after = places();
      const [span, spanNow] = [before, after].map(([a, b]) => Math.max(20, Math.abs(a! - b!))) as [number, number];
      const middle = (after[0]! + after[1]!) / 2;
      const drift = (before[0]! + before[1]!) / 2 - middle;
      preview(zoomed(panned(now, drift / axis().clientWidth, Date.now()), span / spanNow, timeAt(now, middle)));
    } else if (event.pointerType === 'mouse' && !event.shiftKey) select(finger.startX, finger.x);
    else preview(panned(now, (beforeX - finger.x) / axis().clientWidth, Date.now()));
  };

  const up = (event: PointerEvent): void => {
    const finger = fingers.get(event.pointerId);
    fingers.delete(event.pointerId);
    const now = shown();
    if (finger === undefined || now === null || fingers.size > 0) return;
    const wasSelecting = selection.length > 0;
    unselect();
    if (event.type === 'pointercancel') {
      host.preview(host.data()!); // the finger scrolls the page
      view = null;
    } else if (wasSelecting) {
      const stretch = selected(timeAt(now, finger.startX), timeAt(now, finger.x));
      if (stretch !== null) host.show(stretch);
    } else if (moved) commit();
    // A finger reads with its tap; the recording is opened by the button next to what it read.
    else if (event.pointerType === 'mouse') clicked = setTimeout(click, SECOND_CLICK_MS);
  };

  const wheel = (event: WheelEvent): void => {
    const now = shown();
    const focused = root.activeElement?.matches('.stack') === true;
    if (isOff(event) || now === null || !(event.ctrlKey || event.metaKey || focused)) return;
    event.preventDefault();
    const sideways = event.shiftKey ? event.deltaX + event.deltaY : Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : 0;
    const pixels = event.deltaMode === 0 ? 1 : 30;
    if (sideways !== 0) preview(panned(now, (sideways * pixels) / axis().clientWidth, Date.now()));
    else preview(zoomed(now, 1.002 ** Math.max(-500, Math.min(500, event.deltaY * pixels)), timeAt(now, event.clientX)));
    commitSoon();
  };

  const key = (event: KeyboardEvent): void => {
    const range = host.range();
    // Keys may come faster than data.
    const now = view ?? ('fromMs' in range ? range : host.view());
    if (now === null || !(event.composedPath()[0] as Element).matches('.stack') || event.ctrlKey || event.metaKey || event.altKey) return;
    const data = host.data();
    const read = data?.series[0]?.timesMs[host.cursor() ?? -1] ?? (now.fromMs + now.toMs) / 2;
    const way = { ArrowLeft: -PAN_KEY, ArrowRight: PAN_KEY }[event.key];
    if (event.key === '+' || event.key === '=') preview(zoomed(now, ZOOM_KEY, read));
    else if (event.key === '-') preview(zoomed(now, 1 / ZOOM_KEY, read));
    else if (event.shiftKey && way !== undefined) preview(panned(now, way, Date.now()));
    else {
      if (event.key === 'Backspace') host.back();
      else if (event.key === 'Enter') click();
      else return;
      event.preventDefault();
      return;
    }
    event.preventDefault();
    commitSoon();
  };

  const double = (event: MouseEvent): void => {
    if (isOff(event)) return;
    clearTimeout(clicked);
    host.back();
  };

  const listeners = [
    ['pointerdown', down],
    ['pointermove', move],
    ['pointerup', up],
    ['pointercancel', up],
    ['dblclick', double],
    ['wheel', wheel],
    ['keydown', key],
  ] as [string, EventListener][];
  // Not on the shadow root: Chromium sends a wheel over one to its compositor alone, if nothing else listens.
  for (const [name, listener] of listeners) element.addEventListener(name, listener, { passive: false });
  return () => {
    clearTimeout(rest);
    clearTimeout(clicked);
    unselect();
    for (const [name, listener] of listeners) element.removeEventListener(name, listener);
  };
}
