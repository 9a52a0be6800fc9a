/** Pointers on the views of a recording. On the whole and the rows one says where to go. On the strip one moves it, measures or picks;
 *  two change its speed, and what the first had begun is taken back. */
import type { Page } from './recording-pages.ts';

/** What a pointer does from where it came down until it goes up. */
export type Does = 'move' | 'measure' | 'pick';

/** A pointer that moves less than this has not moved. */
const STILL_PX = 6;
/** Two fingers that have moved apart or together by so much take a step. */
const STEP_RATIO = 1.4;

/** What the strip does; `at` is a time, Unix ms. */
export type PointerTarget = Readonly<{
  /** Time under a pointer. */
  timeAt: (event: PointerEvent) => number;
  /** What the next pointer does. */
  does: (event: PointerEvent) => Does;
  begin: (does: Does, at: number) => void;
  /** A second pointer came down, or the finger scrolls the page: the first meant something else. */
  takeBack: (does: Does) => void;
  /** @param px to the right since it was last told */
  go: (does: Does, at: number, px: number) => void;
  /** @param isStill it has not moved */
  end: (does: Does, at: number, isStill: boolean) => void;
  hover: (event: PointerEvent) => void;
  /** @param by 1: faster, -1: slower */
  pinch: (by: 1 | -1) => void;
}>;

export class StripPointers {
  readonly #target: PointerTarget;
  readonly #places = new Map<number, Readonly<{ x: number; y: number }>>();
  #begun: Readonly<{ x: number; does: Does }> | null = null;
  #apartPx = 0;

  constructor(target: PointerTarget) {
    this.#target = target;
  }

  get isDown(): boolean {
    return this.#begun !== null;
  }

  down(event: PointerEvent): void {
    if (event.button !== 0) return; // a menu opens, whose pointer never goes up here
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    if (event.isPrimary) this.#places.clear(); // others went up where nobody was told
    this.#places.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.#places.size > 1) {
      this.#apartPx = this.#apart();
      if (this.#begun !== null) this.#target.takeBack(this.#begun.does);
      this.#begun = null;
      return;
    }
    const does = this.#target.does(event);
    this.#begun = { x: event.clientX, does };
    this.#target.begin(does, this.#target.timeAt(event));
  }

  move(event: PointerEvent): void {
    const before = this.#places.get(event.pointerId);
    if (before === undefined) {
      this.#target.hover(event);
      return;
    }
    if (event.buttons === 0) return this.#lose(event);
    this.#places.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.#places.size === 2) {
      const ratio = this.#apart() / Math.max(1, this.#apartPx);
      if (ratio < STEP_RATIO && ratio > 1 / STEP_RATIO) return;
      this.#apartPx = this.#apart();
      this.#target.pinch(ratio > 1 ? 1 : -1);
    } else if (this.#begun !== null) this.#target.go(this.#begun.does, this.#target.timeAt(event), event.clientX - before.x);
  }

  up(event: PointerEvent): void {
    this.#places.delete(event.pointerId);
    const begun = this.#begun;
    this.#begun = null;
    if (begun === null) return;
    if (event.type === 'pointercancel') return this.#target.takeBack(begun.does);
    const isStill = Math.abs(event.clientX - begun.x) < STILL_PX;
    this.#target.end(begun.does, this.#target.timeAt(event), isStill);
    if (isStill) this.#target.hover(event); // a finger hovers over nothing
  }

  /** It went up where nobody was told. */
  #lose(event: PointerEvent): void {
    this.#places.delete(event.pointerId);
    if (this.#begun !== null) this.#target.takeBack(this.#begun.does);
    this.#begun = null;
    this.#target.hover(event);
  }

  #apart(): number {
    const [a, b] = [...this.#places.values()];
    return a === undefined || b === undefined ? 0 : Math.hypot(a.x - b.x, a.y - b.y);
  }
}

/** Of the view under a pointer. */
export const boxOf = (event: MouseEvent): DOMRect => (event.currentTarget as Element).getBoundingClientRect();

/** Time under a pointer of a view that shows a span. */
export function timeAlong(event: PointerEvent, [fromMs, toMs]: readonly [number, number]): number {
  const { left, width } = boxOf(event);
  return Math.min(toMs - 1, Math.max(fromMs, fromMs + ((event.clientX - left) / width) * (toMs - fromMs)));
}

/** Time under a pointer of the rows of a page. */
export function timeInRows(event: PointerEvent, { fromMs, rowMs, count }: Page): number {
  const { left, top, width, height } = boxOf(event);
  const row = Math.min(count - 1, Math.max(0, Math.floor(((event.clientY - top) / height) * count)));
  const along = Math.min(1, Math.max(0, (event.clientX - left - 64) / (width - 64)));
  return fromMs + (row + along) * rowMs;
}
