/** Draws live channels as a bedside monitor does: a sweep from left to right that overwrites the previous one, at a paper speed on a CSS
 *  screen.
 *
 *  Only the columns between the last frame and this one are drawn (two canvases: a still grid below, the trace above), so a second of eight
 *  channels costs a few thousand line segments whatever the size of the screen. Above three samples to a pixel column
 *  the minimum and maximum are drawn, never a decimated sample: a QRS of 20 ms keeps its height; below that, every sample. What is missing
 *  or bad is a gap; what leaves a box of fixed scale has a bar at its edge; suspect stretches are thin, of another colour, and hatched in
 *  the ribbon below. */
import type { TraceRing } from './trace-ring.ts';

/** 25 mm/s with 96 CSS pixels to the inch. */
const PX_PER_MM = 96 / 25.4;
/** Cleared ahead of the pen, CSS px. */
const ERASE_PX = 14;
/** How far the end of a stroke reaches beyond its sample, CSS px. */
const CAP_PX = 2;
/** Height of the quality ribbon below the trace, CSS px. */
const RIBBON_PX = 7;
/** Height of the mark where a trace is beyond its box, CSS px. */
const BEYOND_PX = 4;
/** The first scale is taken from this much signal; what was drawn before is drawn again. */
const LEARN_S = 1.2;
const DENSE_SAMPLES_PER_PX = 3;

export type TraceColors = Readonly<{ trace: string; suspect: string; bad: string; gridMinor: string; gridMajor: string }>;

export type TraceScale =
  /** Fixed: millimetres per unit, as on paper; the centre follows the signal once a sweep. */
  | Readonly<{ kind: 'fixed'; mmPerUnit: number }>
  /** Fitted to the last sweep; never closer than `spanMin` units from top to bottom, or noise would look like a signal. */
  | Readonly<{ kind: 'fit'; spanMin: number }>;

export class SweepTrace {
  readonly #grid: HTMLCanvasElement;
  readonly #front: HTMLCanvasElement;
  #ring: TraceRing | null = null;
  #colors: TraceColors;
  #scale: TraceScale;
  #dpr = 1;
  #widthPx = 0;
  #heightPx = 0;
  #centre = 0;
  #pxPerUnit = PX_PER_MM * 10;
  #drawnTo: number | null = null;
  /** Time of the last draw, Unix ms. */
  #shownMs: number | null = null;
  #sweep = -1;
  #erasedMs = 0;
  #scaled = false;
  #clipped = false;
  /** The last sweep in which a trace of fixed scale left its box. */
  #beyond = -2;
  #mmPerS = 25;
  readonly #onScale: () => void;

  /** @param onScale called when the scale was chosen anew */
  constructor(grid: HTMLCanvasElement, front: HTMLCanvasElement, scale: TraceScale, colors: TraceColors, onScale: () => void) {
    this.#onScale = onScale;
    this.#grid = grid;
    this.#front = front;
    this.#scale = scale;
    this.#colors = colors;
  }

  /** Seconds from edge to edge. */
  get sweepSeconds(): number {
    return this.#widthPx / (PX_PER_MM * this.#mmPerS);
  }

  /** Something of this sweep or the one before is beyond the box. */
  get isBeyond(): boolean {
    return this.#sweep - this.#beyond < 2;
  }

  /** Units per centimetre of height as drawn now, for the label. */
  get unitsPerCm(): number {
    return (PX_PER_MM * 10) / this.#pxPerUnit;
  }

  setRing(ring: TraceRing | null): void {
    this.#ring = ring;
    if (ring === null) this.#shownMs = null;
    this.#scaled = false;
    this.redraw();
  }

  setColors(colors: TraceColors): void {
    this.#colors = colors;
    this.redraw();
  }

  /** @param mmPerS paper speed */
  setScale(scale: TraceScale, mmPerS: number): void {
    this.#scale = scale;
    this.#mmPerS = mmPerS;
    this.#scaled = false;
    this.redraw();
  }

  /** Fits the canvases to their box; call from a ResizeObserver. */
  resize(widthPx: number, heightPx: number, dpr: number): void {
    if (widthPx === this.#widthPx && heightPx === this.#heightPx && dpr === this.#dpr) return;
    this.#widthPx = widthPx;
    this.#heightPx = heightPx;
    this.#dpr = dpr;
    for (const canvas of [this.#grid, this.#front]) {
      canvas.width = Math.max(1, Math.round(widthPx * dpr));
      canvas.height = Math.max(1, Math.round(heightPx * dpr));
    }
    this.redraw();
  }

  /** Draws anew what is on the screen, with everything that the ring still holds. At once: a page that is printed, or a trace that stands
   *  still, has no next frame. */
  redraw(): void {
    this.#drawnTo = null;
    const context = this.#front.getContext('2d');
    if (context === null) return;
    context.clearRect(0, 0, this.#front.width, this.#front.height);
    this.#drawGrid();
    if (this.#shownMs !== null) this.draw(this.#shownMs);
  }

  /** Draws up to a time. Call once per animation frame.
   *  @param timeMs unix time in ms of the newest sample to show */
  draw(timeMs: number): void {
    const context = this.#front.getContext('2d');
    const ring = this.#ring;
    if (context === null || ring === null || this.#widthPx < 20 || ring.end === 0) return;
    this.#shownMs = timeMs;
    const sweepMs = this.sweepSeconds * 1000;
    const sweep = Math.floor(timeMs / sweepMs);
    const clearMs = timeMs + (ERASE_PX / this.#widthPx) * sweepMs;
    if (clearMs < this.#erasedMs) {
      // The shown time went back: what lies between has to be drawn once more.
      this.#erasedMs = 0;
      this.#drawnTo = null;
    }
    this.#erase(context, clearMs, sweepMs);
    // The rest of the old sweep at the scale it began with.
    if (sweep !== this.#sweep && this.#drawnTo !== null) this.#drawTo(context, ring, sweep * sweepMs, clearMs, sweepMs);
    // A fitted trace that leaves its box is fitted again at once: a signal cut off at the edge would be a lie.
    if (sweep !== this.#sweep || !this.#scaled || this.#clipped) {
      if (this.#clipped) this.#scaled = false;
      this.#clipped = false;
      this.#sweep = sweep;
      this.#rescale(ring, timeMs - sweepMs, timeMs);
    }
    // Without a scale of its own a fitted trace would stand at the edge of its box.
    if (this.#scaled || this.#scale.kind === 'fixed') this.#drawTo(context, ring, timeMs, clearMs, sweepMs);
  }

  #drawTo(context: CanvasRenderingContext2D, ring: TraceRing, timeMs: number, clearMs: number, sweepMs: number): void {
    const to = Math.min(ring.indexAt(timeMs), ring.end);
    // Clear of what is erased already: nothing would ever take away a stroke's end that reaches into it.
    const oldest = Math.max(ring.start, ring.indexAt(clearMs - sweepMs + (CAP_PX / this.#widthPx) * sweepMs));
    const from = Math.max(this.#drawnTo ?? oldest, oldest);
    if (to <= from) return;
    // One sample back, so that this stroke begins where the last one ended; not into the sweep before, which had another scale.
    const joins = from === this.#drawnTo && from !== ring.indexAt(this.#sweep * sweepMs);
    this.#strokeSamples(context, ring, from, to, sweepMs, joins);
    this.#drawnTo = to;
  }

  /** Clears the strip ahead of the pen, from where the last call stopped: after a sleeping tab that may be most of the screen. */
  #erase(context: CanvasRenderingContext2D, toMs: number, sweepMs: number): void {
    const { width, height } = this.#front;
    const fromMs = Math.max(this.#erasedMs, toMs - sweepMs);
    this.#erasedMs = toMs;
    const x0 = ((fromMs % sweepMs) / sweepMs) * width;
    const x1 = x0 + ((toMs - fromMs) / sweepMs) * width;
    context.clearRect(x0, 0, Math.min(x1, width) - x0, height);
    if (x1 > width) context.clearRect(0, 0, x1 - width, height);
  }

  #strokeSamples(context: CanvasRenderingContext2D, ring: TraceRing, from: number, to: number, sweepMs: number, joins: boolean): void {
    const dpr = this.#dpr;
    const width = this.#front.width;
    const bottom = (this.#heightPx - RIBBON_PX - 2) * dpr;
    const middle = bottom / 2;
    const scale = this.#pxPerUnit * dpr;
    const centre = this.#centre;
    const startMs = ring.timeMs(0);
    const msPerSample = 1000 / ring.rateHz;
    const ribbonTop = (this.#heightPx - RIBBON_PX) * dpr;

    context.lineJoin = 'round';
    context.lineCap = 'round';
    const dense = sweepMs / msPerSample > DENSE_SAMPLES_PER_PX * width;
    const fits = this.#scale.kind === 'fit';
    context.save();
    context.beginPath();
    context.rect(0, 0, width, bottom + dpr);
    context.clip();
    let open = false;
    let openFlag = 0;
    let lastX = -1;
    let column = -1;
    let min = 0;
    let max = 0;
    let last = 0;
    const flush = (): void => {
      // The extremes of one pixel column, then its last value, so that the next column joins where the signal is.
      if (column < 0) return;
      if (min !== last) context.lineTo(column, min);
      if (max !== last) context.lineTo(column, max);
      context.lineTo(column, last);
      column = -1;
    };
    const finish = (): void => {
      if (!open) return;
      flush();
      context.stroke();
      open = false;
    };
    for (let i = joins ? from - 1 : from; i < to; i++) {
      const time = startMs + i * msPerSample;
      const x = ((time % sweepMs) / sweepMs) * width;
      const value = ring.value(i);
      const flag = ring.flag(i);
      if (x < lastX) finish();
      if (i >= from && flag > 0) this.#ribbon(context, x, ribbonTop, Math.max(dpr, (msPerSample / sweepMs) * width), flag);
      lastX = x;
      if (Number.isNaN(value)) {
        finish();
        continue;
      }
      if (open && flag !== openFlag) finish();
      const y = middle - (value - centre) * scale;
      if (y < 0 || y > bottom) {
        if (fits) this.#clipped = true;
        else this.#markBeyond(context, x, y < 0 ? 0 : bottom - BEYOND_PX * dpr);
      }
      const pixel = dense ? Math.floor(x) : x;
      if (!open) {
        context.beginPath();
        context.strokeStyle = flag === 1 ? this.#colors.suspect : this.#colors.trace;
        context.lineWidth = (flag === 1 ? 1 : 1.6) * dpr;
        context.moveTo(pixel, y);
        open = true;
        openFlag = flag;
      } else if (!dense) {
        context.lineTo(x, y);
        continue;
      } else if (pixel !== column) flush();
      if (!dense) continue;
      if (column < 0) {
        column = pixel;
        min = y;
        max = y;
      } else {
        if (y < min) min = y;
        if (y > max) max = y;
      }
      last = y;
    }
    finish();
    context.restore();
  }

  /** A bar at the edge for as long as the trace is beyond it: a top that is cut off would look like a plateau. */
  #markBeyond(context: CanvasRenderingContext2D, x: number, y: number): void {
    const wide = 2 * this.#dpr;
    context.fillStyle = this.#colors.suspect;
    context.fillRect(x - wide, y, 2 * wide, BEYOND_PX * this.#dpr);
    if (this.#beyond === this.#sweep) return;
    this.#beyond = this.#sweep;
    this.#onScale();
  }

  /** Suspect: diagonal hatch. Bad: a full bar. Shape first, colour second. */
  #ribbon(context: CanvasRenderingContext2D, x: number, top: number, width: number, flag: number): void {
    const dpr = this.#dpr;
    const height = RIBBON_PX * dpr;
    if (flag >= 2) {
      context.fillStyle = this.#colors.bad;
      context.fillRect(x, top, width + 0.5, height);
      return;
    }
    context.fillStyle = this.#colors.suspect;
    const period = 6 * dpr;
    for (let dx = 0; dx < width; dx++) {
      const phase = (x + dx) % period;
      context.fillRect(x + dx, top + (height * (period - phase)) / period - dpr, 1.2, 2 * dpr);
    }
  }

  /** Once a sweep: centre on the signal, and fit where the scale is free. Within a sweep the scale stands still, or amplitudes would
   *  lie. */
  #rescale(ring: TraceRing, fromMs: number, toMs: number): void {
    const values: number[] = [];
    const end = Math.min(ring.end, ring.indexAt(toMs));
    for (let i = Math.max(ring.start, ring.indexAt(fromMs)); i < end; i++) {
      const value = ring.value(i);
      if (!Number.isNaN(value)) values.push(value);
    }
    const usable = this.#heightPx - RIBBON_PX - 2;
    if (this.#scale.kind === 'fixed') this.#pxPerUnit = this.#scale.mmPerUnit * PX_PER_MM;
    if (values.length < Math.max(4, ring.rateHz * LEARN_S)) return;
    const first = !this.#scaled;
    this.#scaled = true;
    values.sort((a, b) => a - b);
    const low = values[0]!;
    const high = values.at(-1)!;
    if (this.#scale.kind === 'fit') {
      const span = Math.max(high - low, this.#scale.spanMin, Math.abs(high) * 1e-3, 1e-9);
      const wanted = (usable * 0.8) / span;
      // Hysteresis: a scale that changes by less than a quarter is left alone.
      if (first || wanted > this.#pxPerUnit * 1.25 || wanted < this.#pxPerUnit * 0.9) this.#pxPerUnit = wanted;
    }
    const middle = (low + high) / 2;
    if (first || Math.abs(middle - this.#centre) * this.#pxPerUnit > usable * 0.08) this.#centre = middle;
    if (first) this.redraw();
    this.#onScale();
  }

  /** Paper: a thin line per millimetre (40 ms), a stronger one per five (200 ms). */
  #drawGrid(): void {
    const context = this.#grid.getContext('2d');
    if (context === null) return;
    const dpr = this.#dpr;
    const { width, height } = this.#grid;
    context.clearRect(0, 0, width, height);
    if (this.#scale.kind !== 'fixed') return;
    const step = PX_PER_MM * dpr;
    const paint = (every: number, color: string): void => {
      context.strokeStyle = color;
      context.lineWidth = 1;
      context.beginPath();
      for (let x = 0; x <= width; x += step * every) {
        context.moveTo(Math.round(x) + 0.5, 0);
        context.lineTo(Math.round(x) + 0.5, height);
      }
      for (let y = 0; y <= height; y += step * every) {
        context.moveTo(0, Math.round(y) + 0.5);
        context.lineTo(width, Math.round(y) + 0.5);
      }
      context.stroke();
    };
    if (this.#widthPx > 0) {
      paint(1, this.#colors.gridMinor);
      paint(5, this.#colors.gridMajor);
    }
  }
}
