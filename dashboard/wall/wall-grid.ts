/** The tiles of a wall in a grid that fits its room without scrolling, and the loop that draws their traces. */
import { render } from 'lit-html';
import type { LiveFrame } from '../../widgets/shared/live-frame.ts';
import type { TraceColors } from '../../widgets/shared/sweep-trace.ts';
import { fitGrid } from './fit-grid.ts';
import type { Link, WallTile } from './wall-tile.ts';
import type { WallValue } from './wall-values.ts';

/** Values and words are drawn this often, ms; traces with every animation frame. */
const WORDS_MS = 500;
const PX_PER_MM = 96 / 25.4;
/** Paper speeds, mm/s: the fastest at which a trace shows so many seconds. */
const SPEEDS = [25, 12.5, 6.25] as const;
const SWEEP_S_MIN = 3;

const dark: TraceColors = { trace: '#46e08c', suspect: '#f0b449', bad: '#ff9186', gridMinor: '#16222a', gridMajor: '#21333d' };
const paper: TraceColors = { trace: '#14181d', suspect: '#8a5200', bad: '#b3261e', gridMinor: '#f3f4f6', gridMajor: '#d9dde2' };
const forced: TraceColors = { trace: 'CanvasText', suspect: 'CanvasText', bad: 'CanvasText', gridMinor: 'Canvas', gridMajor: 'GrayText' };

export type Shown = Readonly<{ link: Link; second: WallValue; locale: string }>;

export class WallGrid {
  readonly element = document.createElement('ul');
  readonly #forced = matchMedia('(forced-colors: active)');
  readonly #print = matchMedia('print');
  #tiles: readonly WallTile[] = [];
  #shown: Shown;
  #mmPerS: number = SPEEDS[0];
  #wordsMs = 0;
  #frameRequest = 0;
  /** Time of the first frame of anybody; null: nothing has come. */
  #beginNs: bigint | null = null;
  readonly #room = new ResizeObserver(() => this.#fit());
  readonly #recolor = (): void => {
    for (const tile of this.#tiles) tile.setColors(this.colors);
  };

  constructor(shown: Shown) {
    this.#shown = shown;
    this.element.className = 'wall-grid';
  }

  get mmPerS(): number {
    return this.#mmPerS;
  }

  get colors(): TraceColors {
    return this.#forced.matches ? forced : this.#print.matches ? paper : dark;
  }

  /** Gives a tile its frame. */
  take(tile: WallTile, frame: LiveFrame, nowMs: number): void {
    this.#beginNs ??= frame.t0Ns;
    tile.take(frame, nowMs, this.#mmPerS, this.#beginNs);
  }

  /** Other people are shown: their traces begin at the left edge again. */
  restart(): void {
    this.#beginNs = null;
  }

  /** Begins to draw. @returns how to stop */
  start(): () => void {
    const loop = (nowMs: number): void => {
      this.#frameRequest = requestAnimationFrame(loop);
      for (const tile of this.#tiles) tile.draw(nowMs, this.#shown.link);
      if (nowMs - this.#wordsMs >= WORDS_MS) this.words();
    };
    this.#frameRequest = requestAnimationFrame(loop);
    this.#room.observe(this.element);
    for (const query of [this.#forced, this.#print]) query.addEventListener('change', this.#recolor);
    return () => {
      cancelAnimationFrame(this.#frameRequest);
      this.#room.disconnect();
      for (const query of [this.#forced, this.#print]) query.removeEventListener('change', this.#recolor);
    };
  }

  show(tiles: readonly WallTile[], shown: Shown): void {
    const isNew = tiles.length !== this.#tiles.length || tiles.some((tile, i) => tile !== this.#tiles[i]);
    this.#tiles = tiles;
    this.#shown = shown;
    this.words();
    if (isNew) this.#fit();
  }

  words(): void {
    const nowMs = performance.now();
    this.#wordsMs = nowMs;
    const { link, second, locale } = this.#shown;
    render(
      this.#tiles.map((tile) => tile.view(nowMs, link, second, locale)),
      this.element,
    );
  }

  #fit(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (this.#tiles.length === 0 || width === 0) return;
    const { columns, rows } = fitGrid(this.#tiles.length, width, height);
    // By the object model: the page's policy allows no style attributes.
    this.element.style.gridTemplate = `repeat(${rows}, minmax(0, 1fr)) / repeat(${columns}, minmax(0, 1fr))`;
    const sizes = this.#tiles.map(({ box }) => [box.clientWidth, box.clientHeight] as const);
    const narrowest = Math.min(...sizes.map(([wide]) => wide));
    this.#mmPerS = SPEEDS.find((speed) => narrowest / (PX_PER_MM * speed) >= SWEEP_S_MIN) ?? SPEEDS.at(-1)!;
    for (const [i, tile] of this.#tiles.entries()) tile.resize(...sizes[i]!, this.#mmPerS);
  }
}
