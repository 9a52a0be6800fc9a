/** Draws the three views of a recording on canvases: the whole of it, a page of rows, and the strip on paper. */
import { beatsIn, correctedIn, eventsIn, pickIn, rowWordsIn } from './recording-draw-marks.ts';
import { DOT_PX, DOTTED_PX, slowIn, slowSamples } from './recording-draw-slow.ts';
import type { CorrectedBeat } from './corrected-beats.ts';
import type { Beat, Envelope, Mark, Quality, Rate, Segment } from './recording-source.ts';

/** CSS pixels of a millimetre, as CSS defines it; a screen is rarely so exact. */
export const PX_PER_MM = 96 / 25.4;

export type Colors = Readonly<{
  ink: string;
  muted: string;
  surface: string;
  minor: string;
  major: string;
  trace: string;
  accent: string;
  suspect: string;
  bad: string;
  line: string;
}>;

export type Surface = Readonly<{ context: CanvasRenderingContext2D; width: number; height: number; colors: Colors }>;

/** Sizes a canvas to its box, sharp on every screen. @returns null while it has no size */
export function surfaceOf(canvas: HTMLCanvasElement, colors: Colors): Surface | null {
  const { width, height } = canvas.getBoundingClientRect();
  if (width < 1 || height < 1) return null;
  const ratio = globalThis.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const context = canvas.getContext('2d')!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = fontOf(12);
  return { context, width, height, colors };
}

const fontOf = (px: number): string => `${px}px system-ui, sans-serif`;

type Scale = Readonly<{ low: number; high: number }>;

/** About so long a heart beats once at least: extremes of this long are those of a signal, ms. */
const BEAT_MS = 2000;

/** Range of a signal without its outermost hundredths and without what is far from most of it: a loose electrode for some minutes of a page
 *  must not make the rest of it flat. */
export function rangeOf(envelopes: readonly (Pick<Envelope, 'min' | 'max' | 'stepMs'> & Readonly<{ kind?: string }>)[]): Scale {
  const lows: number[] = [];
  const highs: number[] = [];
  for (const { min, max, stepMs } of envelopes) {
    const size = Math.max(1, Math.round(BEAT_MS / stepMs));
    for (let i = 0; i < min.length; i += size) {
      const group = (list: readonly (number | null)[]): number[] => list.slice(i, i + size).filter((value) => value !== null);
      const [least, greatest] = [Math.min(...group(min)), Math.max(...group(max))];
      if (greatest < least) continue;
      lows.push(least);
      highs.push(greatest);
    }
  }
  const [low, high] = [quantile(lows, 0.5), quantile(highs, 0.5)];
  // What does not beat, such as a temperature, goes far from where it mostly is: most of it is then nothing to go by.
  const isBeating = envelopes.every(({ kind = 'ecg' }) => kind === 'ecg' || kind === 'ppg');
  const near = isBeating ? Math.max(1e-9, high - low) : Infinity;
  const at = [
    quantile(
      lows.filter((value) => value > low - near),
      0.02,
    ),
    quantile(
      highs.filter((value) => value < high + near),
      0.98,
    ),
  ] as const;
  return at[1] > at[0] ? { low: at[0], high: at[1] } : { low: at[0] - 1, high: at[0] + 1 };
}

function quantile(values: readonly number[], share: number): number {
  return quantileOf(Float64Array.from(values).sort(), share);
}

function quantileOf(sorted: Float64Array, share: number): number {
  return sorted[Math.round(share * (sorted.length - 1))] ?? 0;
}

/** The envelope of a stretch in a box; a trace where buckets have few samples.
 *  @returns nothing is drawn where there are no samples */
function envelopeIn(
  { context, colors }: Surface,
  envelope: Envelope,
  box: Readonly<{ x: number; y: number; width: number; height: number; fromMs: number; toMs: number }>,
  { low, high }: Scale,
): void {
  const { x, y, width, height, fromMs, toMs } = box;
  const at = (value: number): number => y + height - ((Math.min(high, Math.max(low, value)) - low) / (high - low)) * height;
  const perMs = width / (toMs - fromMs);
  const first = Math.max(0, Math.floor((fromMs - envelope.t0Ms) / envelope.stepMs));
  const end = Math.min(envelope.n.length, Math.ceil((toMs - envelope.t0Ms) / envelope.stepMs));
  context.strokeStyle = context.fillStyle = colors.trace;
  context.lineWidth = 1;
  context.beginPath();
  const wide = envelope.stepMs * perMs;
  let before: number | null = null;
  let run: (readonly [x: number, top: number, bottom: number])[] = [];
  for (let i = first; i < end; i++) {
    const [min, max] = [envelope.min[i], envelope.max[i]];
    if (min == null || max == null) {
      before = null;
      bandIn(context, run);
      run = [];
      continue;
    }
    const px = x + (envelope.t0Ms + (i + 0.5) * envelope.stepMs - fromMs) * perMs;
    const [top, bottom] = [at(max), at(min)];
    if (before === null) context.moveTo(px, top);
    else context.lineTo(px, Math.abs(before - top) < Math.abs(before - bottom) ? top : bottom);
    context.moveTo(px, top);
    context.lineTo(px, Math.max(bottom, top + 0.5));
    if (wide > SLOPED_PX) run.push([px, top, bottom]);
    else if (wide > 1 && bottom - top > 1) context.fillRect(px - wide / 2, top, wide + 0.5, bottom - top); // no stripes between wide buckets
    before = bottom;
  }
  context.stroke();
  bandIn(context, run);
}

/** Buckets wider than this are joined by slopes: a slow signal is no staircase. */
const SLOPED_PX = 3;

/** From the greatest to the least value, from bucket to bucket. */
function bandIn(context: CanvasRenderingContext2D, run: readonly (readonly [x: number, top: number, bottom: number])[]): void {
  if (run.length < 2) return;
  context.beginPath();
  for (const [x, top] of run) context.lineTo(x, top);
  for (const [x, , bottom] of run.toReversed()) context.lineTo(x, bottom);
  context.fill();
}

const CELL_PX = 4;
const patterns = new Map<string, CanvasPattern>();

/** What a ribbon is filled with: plain where it is good, slanted lines where suspect, crossed ones where bad. So looks differ, not only
 *  colours. */
function fillOf({ context, colors }: Surface, flag: number): string | CanvasPattern {
  if (flag === 0) return colors.muted;
  const color = flag === 2 ? colors.bad : colors.suspect;
  const ratio = globalThis.devicePixelRatio || 1;
  const key = `${flag} ${color} ${ratio}`;
  const known = patterns.get(key);
  if (known !== undefined) return known;
  const cell = new OffscreenCanvas(Math.round(CELL_PX * ratio), Math.round(CELL_PX * ratio));
  const ink = cell.getContext('2d')!;
  const size = cell.width;
  ink.strokeStyle = color;
  ink.lineWidth = size / 3;
  for (const shift of [-size, 0, size]) {
    ink.moveTo(shift, size);
    ink.lineTo(shift + size, 0);
    if (flag === 2) {
      ink.moveTo(shift, 0);
      ink.lineTo(shift + size, size);
    }
  }
  ink.stroke();
  const pattern = context.createPattern(cell, 'repeat')!;
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  patterns.set(key, pattern);
  return pattern;
}

const fillsOf = (surface: Surface): readonly (string | CanvasPattern)[] => [0, 1, 2].map((flag) => fillOf(surface, flag));

/** Quality and coverage of a stretch as a ribbon: height says how much is there, its filling how far to trust it, as the device flagged it.
 *  Over it, as high as much of a bucket is not good, how the service judges it. */
function ribbon(
  surface: Surface,
  envelope: Envelope,
  judged: readonly Quality[],
  box: Readonly<{ x: number; y: number; width: number; height: number; fromMs: number; toMs: number }>,
): void {
  const { context, colors } = surface;
  const fills = fillsOf(surface);
  const due = Math.max(1, (envelope.rateHz * envelope.stepMs) / 1000);
  const perMs = box.width / (box.toMs - box.fromMs);
  const first = Math.max(0, Math.floor((box.fromMs - envelope.t0Ms) / envelope.stepMs) - 1);
  const end = Math.min(envelope.n.length, Math.ceil((box.toMs - envelope.t0Ms) / envelope.stepMs) + 1);
  const lookOf = (i: number): readonly [flag: number, there: number] => {
    const n = envelope.n[i]!;
    const [bad, suspect] = [envelope.bad[i]! / Math.max(1, n), envelope.suspect[i]! / Math.max(1, n)];
    // To a twentieth of its height, so that buckets with a sample more or less are one rectangle.
    return [bad > 0.5 ? 2 : bad + suspect > 0.5 ? 1 : 0, Math.ceil(20 * Math.min(1, n / due)) / 20];
  };
  for (let i = first, next = i; i < end; i = next) {
    const [flag, there] = lookOf(i);
    for (next = i + 1; next < end; next++) if (lookOf(next)[0] !== flag || lookOf(next)[1] !== there) break;
    const px = box.x + (envelope.t0Ms + i * envelope.stepMs - box.fromMs) * perMs;
    const wide = Math.max(1, (next - i) * envelope.stepMs * perMs);
    if (px + wide < box.x || px > box.x + box.width) continue;
    context.fillStyle = fills[flag]!;
    const from = Math.floor(Math.max(box.x, px));
    context.fillRect(from, box.y + box.height * (1 - there), Math.ceil(Math.min(box.x + box.width, px + wide)) - from, box.height * there);
  }
  for (const { timesMs, stepMs, flags, goodShares, endMs = Infinity } of judged) {
    if (timesMs.length === 0 || timesMs[0]! > box.toMs || timesMs.at(-1)! + stepMs < box.fromMs) continue; // of another row or page
    for (const [i, flag] of flags.entries()) {
      const high = box.height * (1 - goodShares[i]!);
      const from = box.x + (timesMs[i]! - box.fromMs) * perMs;
      const to = box.x + (Math.min(endMs, timesMs[i]! + stepMs) - box.fromMs) * perMs;
      if (high < 0.5 || to <= from || to < box.x || from > box.x + box.width) continue;
      const left = Math.floor(Math.max(box.x, from));
      const place = [left, box.y + box.height - high, Math.max(1, Math.ceil(Math.min(box.x + box.width, to)) - left), high] as const;
      for (const fill of [colors.surface, fills[flag === 2 ? 2 : 1]!]) {
        context.fillStyle = fill;
        context.fillRect(...place);
      }
    }
  }
}

export type Tick = Readonly<{ ms: number; text: string }>;

/** The whole recording: signal, coverage and quality, heart rate, marks, and where the page and the strip are. */
export function drawWhole(
  surface: Surface,
  whole: Readonly<{
    startMs: number;
    endMs: number;
    envelope: Envelope | null;
    quality: Quality | null;
    rate: Rate | null;
    marks: readonly Mark[];
    page: readonly [number, number];
    strip: readonly [number, number];
    ticks: (fromMs: number, toMs: number, width: number) => readonly Tick[];
    /** Stands where the signal would be, which could not be read; '': it could, or is on its way. */
    unread: string;
  }>,
): void {
  const { context, width, height, colors } = surface;
  const { startMs, endMs, envelope, quality, rate, marks, page, strip } = whole;
  const spanMs = Math.max(1, endMs - startMs);
  const xOf = (ms: number): number => ((ms - startMs) / spanMs) * width;
  const box = { x: 0, width, fromMs: startMs, toMs: endMs };
  const [signal, rhythm] = [height * 0.34, height * 0.38];
  let writtenTo = -Infinity;
  for (const { ms, text } of whole.ticks(startMs, endMs, width)) {
    context.fillStyle = colors.line;
    context.fillRect(Math.round(xOf(ms)), 0, 1, height - 16);
    const half = context.measureText(text).width / 2;
    const x = Math.min(width - half, Math.max(half, xOf(ms)));
    if (x - half < writtenTo + 8) continue;
    writtenTo = x + half;
    context.fillStyle = colors.muted;
    context.textAlign = 'center';
    context.fillText(text, x, height - 4);
  }
  if (envelope !== null) {
    envelopeIn(surface, envelope, { ...box, y: 14, height: signal - 16 }, rangeOf([envelope]));
    ribbon(surface, envelope, quality === null ? [] : [quality], { ...box, y: signal + 2, height: 8 });
  }
  if (envelope === null && whole.unread !== '') gapIn(context, colors, 0, width, 14 + signal / 2, whole.unread);
  if (rate !== null) rateIn(surface, rate, { ...box, y: signal + 14, height: rhythm - 6 });
  const markY = height - 26;
  for (const mark of marks) {
    if (mark.source === 'event') {
      context.fillStyle = colors.muted;
      context.fillRect(xOf(mark.startMs), markY - 4, 1, 3);
      continue;
    }
    context.fillStyle = mark.source === 'episode' ? colors.accent : colors.suspect;
    const wide = Math.max(3, xOf(mark.endMs) - xOf(mark.startMs));
    if (mark.source === 'episode') context.fillRect(xOf(mark.startMs), markY, wide, 8);
    else {
      context.beginPath(); // a flag: shapes differ, not only colours
      context.moveTo(xOf(mark.startMs), markY);
      context.lineTo(xOf(mark.startMs) + 8, markY + 4);
      context.lineTo(xOf(mark.startMs), markY + 8);
      context.fill();
    }
  }
  frame(surface, xOf(page[0]), xOf(page[1]), colors.muted);
  frame(surface, xOf(strip[0]), xOf(strip[1]), colors.accent);
  // Above them: a recording opens with both at its left edge.
  if (rate !== null) rateScaleIn(surface, rate, signal + 14, rhythm - 6);
}

function frame({ context, height, width }: Surface, from: number, to: number, color: string): void {
  context.strokeStyle = color;
  context.lineWidth = 2;
  const left = Math.max(1, Math.min(width - 5, from));
  context.strokeRect(left, 1, Math.max(4, Math.min(width - 1, to) - left), height - 20);
}

function rateIn(
  { context, colors }: Surface,
  rate: Rate,
  box: Readonly<{ x: number; y: number; width: number; height: number; fromMs: number; toMs: number }>,
): void {
  const scale = rateScale(rate);
  if (scale === null) return;
  const { low, high } = scale;
  const xOf = (ms: number): number => box.x + ((ms - box.fromMs) / (box.toMs - box.fromMs)) * box.width;
  const yOf = (value: number): number => box.y + box.height - ((value - low) / (high - low)) * (box.height - 4);
  context.lineWidth = 1.5;
  context.strokeStyle = colors.accent;
  context.beginPath();
  let isOpen = false;
  for (const [i, value] of rate.values.entries()) {
    const usable = value !== null && rate.flags[i]! < 2;
    if (usable) {
      if (isOpen) context.lineTo(xOf(rate.timesMs[i]!), yOf(value));
      else context.moveTo(xOf(rate.timesMs[i]!), yOf(value));
    }
    isOpen = usable;
  }
  context.stroke();
}

function rateScale({ values, flags }: Rate): Scale | null {
  const shown = values.filter((value, i) => value !== null && flags[i]! < 2) as number[];
  if (shown.length === 0) return null;
  return { low: Math.min(...shown), high: Math.max(...shown, Math.min(...shown) + 20) };
}

function rateScaleIn(surface: Surface, rate: Rate, y: number, height: number): void {
  const scale = rateScale(rate);
  if (scale === null) return;
  labelIn(surface, `${Math.round(scale.high)} /min`, 6, y + 10);
  labelIn(surface, `${Math.round(scale.low)}`, 6, y + height);
}

/** From one line of words in front of a row to the next, at most. */
const LINE_PX = 14;

/** Rows of a page, each so many seconds, with the strip's place in it. */
export function drawRows(
  surface: Surface,
  rows: Readonly<{
    fromMs: number;
    rowMs: number;
    count: number;
    /** Parts of the page that are there. */
    envelopes: readonly Envelope[];
    /** Parts that are not, and why: said in each of their rows. */
    absent: readonly Readonly<{ fromMs: number; toMs: number; word: string }>[];
    marks: readonly Mark[];
    /** Of the page, where it is judged. */
    qualities: readonly Quality[];
    strip: readonly [number, number];
    time: (ms: number) => string;
    /** Stands below the first time, and where it changes. */
    date: (ms: number) => string;
    name: string;
  }>,
): void {
  const { context, width, height, colors } = surface;
  const { fromMs, rowMs, count, envelopes, strip } = rows;
  const left = 64;
  const tall = height / count;
  const scale = rangeOf(envelopes);
  const slowly = slowSamples(envelopes.filter(({ isSampled }) => isSampled === true));
  let date = '';
  for (let row = 0; row < count; row++) {
    const rowFromMs = fromMs + row * rowMs;
    const box = { x: left, y: row * tall + 2, width: width - left, height: tall - 4, fromMs: rowFromMs, toMs: rowFromMs + rowMs };
    const xOf = (ms: number): number => left + ((ms - rowFromMs) / rowMs) * box.width;
    context.fillStyle = colors.muted;
    context.textAlign = 'left';
    const isNewDate = rows.date(rowFromMs) !== date && tall > 30;
    // In front of the first row: over its beginning the name would hide what is marked there.
    const lines = [...(row === 0 ? [rows.name] : []), rows.time(rowFromMs), ...(isNewDate ? [(date = rows.date(rowFromMs))] : [])];
    const linePx = Math.min(LINE_PX, tall / (lines.length + 0.2));
    const lineY = box.y + tall / 2 + 2 - ((lines.length - 1) * linePx) / 2;
    context.font = fontOf(Math.min(12, Math.floor(linePx - 0.5)));
    for (const [i, line] of lines.entries()) {
      context.fillStyle = line === rows.name ? colors.ink : colors.muted;
      context.fillText(line, 2, lineY + i * linePx, left - 4);
    }
    context.font = fontOf(12);
    const [a, b] = [Math.max(strip[0], rowFromMs), Math.min(strip[1], rowFromMs + rowMs)];
    if (b > a) {
      context.fillStyle = colors.minor;
      context.fillRect(xOf(a), box.y, xOf(b) - xOf(a), box.height);
    }
    for (const mark of rows.marks) {
      if (mark.endMs < rowFromMs || mark.startMs >= rowFromMs + rowMs) continue;
      if (mark.source === 'event') {
        context.fillStyle = colors.muted;
        context.fillRect(xOf(mark.startMs), box.y, 1, 3);
        continue;
      }
      context.fillStyle = mark.source === 'episode' ? colors.accent : colors.suspect;
      context.fillRect(
        Math.max(left, xOf(mark.startMs)),
        box.y,
        Math.max(3, xOf(Math.min(mark.endMs, rowFromMs + rowMs)) - Math.max(left, xOf(mark.startMs))),
        3,
      );
    }
    if (slowly.length > 0) slowIn(surface, slowly, { ...box, height: box.height - 5 }, scale, fillsOf(surface), 5);
    for (const envelope of envelopes) {
      if (envelope.isSampled === true) continue;
      if (envelope.t0Ms >= rowFromMs + rowMs || envelope.t0Ms + envelope.n.length * envelope.stepMs <= rowFromMs) continue;
      envelopeIn(surface, envelope, box, scale);
      ribbon(surface, envelope, rows.qualities, { ...box, y: box.y + box.height - 5, height: 5 });
    }
    for (const { fromMs: partFromMs, toMs: partToMs, word } of rows.absent) {
      const [from, to] = [Math.max(partFromMs, rowFromMs), Math.min(partToMs, rowFromMs + rowMs)];
      if (to > from) gapIn(context, colors, xOf(from), xOf(to), box.y + box.height / 2 + 4, word);
    }
    context.strokeStyle = colors.line;
    context.lineWidth = 1;
    context.strokeRect(left, box.y, box.width, box.height);
  }
}

export type Strip = Readonly<{
  fromMs: number;
  /** mm/s and mm/mV of the paper. */
  speed: number;
  gain: number;
  lanes: readonly Readonly<{
    channel: string;
    label: string;
    kind: string;
    segments: readonly Segment[];
    /** mm/mV of its own; of other signals, how many times as high as they fit. */
    gain?: number;
    zoom?: number;
    /** Its gain is what is changed now. */
    isChosen?: boolean;
  }>[];
  beats: readonly Beat[];
  /** As people corrected them; null: nobody has corrected a beat of the recording. */
  corrected: readonly CorrectedBeat[] | null;
  /** What is picked, and whether a line shows the middle. */
  pick: Readonly<{ fromMs: number; toMs: number }> | null;
  hasMiddle: boolean;
  words: Readonly<{ computed: string; corrected: string }>;
  marks: readonly Mark[];
  calipers: Readonly<{ fromMs: number; toMs: number; marchOut: boolean }> | null;
  /** Seconds of the first channel that are not good. */
  qualities: readonly Quality[];
  /** What is not here, and why. */
  absent: readonly Readonly<{ fromMs: number; toMs: number; word: string }>[];
  gap: string;
}>;

export const pxPerMs = (speed: number): number => (speed * PX_PER_MM) / 1000;

/** The strip, on paper of 1 and 5 mm. */
export function drawStrip(surface: Surface, strip: Strip): void {
  const { context, width, height, colors } = surface;
  paper(surface);
  const perMs = pxPerMs(strip.speed);
  const xOf = (ms: number): number => (ms - strip.fromMs) * perMs;
  const top = strip.corrected === null ? 30 : 60;
  const tall = (height - top) / Math.max(1, strip.lanes.length);
  for (const [i, lane] of strip.lanes.entries()) {
    const middle = top + tall * (i + 0.5);
    laneIn(surface, lane, { middle, tall, xOf, strip });
    const y = top + tall * (i + 1) - 8;
    labelIn(surface, lane.label, 6, y);
    context.fillStyle = colors.accent;
    if (lane.isChosen === true) context.fillRect(0, y - 11, 3, 15);
  }
  beatsIn(surface, strip.beats, xOf);
  if (strip.corrected !== null) {
    correctedIn(surface, strip.corrected, xOf);
    rowWordsIn(surface, strip.words, strip.beats, strip.corrected, xOf);
  }
  pickIn(surface, strip.pick, strip.hasMiddle, xOf);
  eventsIn(surface, strip.marks, xOf);
  context.textAlign = 'left';
  const behindLabel = 12 + context.measureText(strip.lanes.at(-1)?.label ?? '').width; // on the same line
  for (const mark of strip.marks) {
    if (mark.beat !== null || mark.source === 'event') continue; // it is among the beats, or above
    const [from, to] = [xOf(mark.startMs), xOf(mark.endMs)];
    if (to < 0 || from > width) continue;
    context.fillStyle = mark.source === 'episode' ? colors.accent : colors.suspect;
    context.fillRect(from, height - 4, Math.max(3, to - from), 4);
    context.fillText(mark.label, Math.max(behindLabel, from + 2), height - 8);
  }
  if (strip.calipers !== null) calipersIn(surface, strip.calipers, xOf);
}

function labelIn({ context, colors }: Surface, text: string, x: number, y: number): void {
  context.textAlign = 'left';
  context.fillStyle = colors.surface;
  context.fillRect(x - 3, y - 11, context.measureText(text).width + 6, 15);
  context.fillStyle = colors.ink;
  context.fillText(text, x, y);
}

function paper({ context, width, height, colors }: Surface): void {
  for (const [step, color] of [
    [PX_PER_MM, colors.minor],
    [5 * PX_PER_MM, colors.major],
  ] as const) {
    context.strokeStyle = color;
    context.lineWidth = 1;
    context.beginPath();
    for (let x = 0; x <= width; x += step) {
      context.moveTo(x, 0);
      context.lineTo(x, height);
    }
    for (let y = 0; y <= height; y += step) {
      context.moveTo(0, y);
      context.lineTo(width, y);
    }
    context.stroke();
  }
}

/** How far down the line of a lane is drawn, so that a signal that fits is not cut off at the lane's edge: whole squares of the paper, for
 *  the line must not follow each beat. @param up @param down how far the signal reaches from its line, px */
export function shiftOf(up: number, down: number, tall: number): number {
  const [over, under] = [up - tall / 2, down - tall / 2];
  if (over <= 0 === under <= 0) return 0;
  const room = Math.min(0.4 * tall, -Math.min(over, under));
  const shift = Math.min(room, 5 * PX_PER_MM * Math.ceil(Math.max(over, under) / (5 * PX_PER_MM)));
  return over > 0 ? shift : -shift;
}

type Place = Readonly<{ middle: number; tall: number; xOf: (ms: number) => number; strip: Strip }>;

function laneIn({ context, width, colors }: Surface, lane: Strip['lanes'][number], { middle: at, tall, xOf, strip }: Place): void {
  const visible = lane.segments.filter(
    // The next sample beyond an edge is on the screen by the line that leads to it.
    ({ t0Ms, rateHz, samples }) => xOf(t0Ms - 1000 / rateHz) < width && xOf(t0Ms + (samples.length * 1000) / rateHz) > 0,
  );
  const values = Float64Array.from(visible.flatMap((segment) => shownSamples(segment, xOf, width))).sort();
  const center = quantileOf(values, 0.5);
  // ECG has the paper's scale; other signals are fitted to their lane.
  const isMillivolts = visible[0]?.unit === 'mV';
  const spread = Math.max(1e-9, quantileOf(values, 0.99) - center, center - quantileOf(values, 0.01));
  const perUnit = isMillivolts ? (lane.gain ?? strip.gain) * PX_PER_MM : ((lane.zoom ?? 1) * 0.42 * tall) / spread;
  const [low, high] = [values[0] ?? center, values.at(-1) ?? center];
  const middle = at + shiftOf((high - center) * perUnit, (center - low) * perUnit, tall);
  const gap = (from: number, to: number): void => gapsIn(context, colors, [from, to], middle, xOf, strip);
  if (lane.channel === strip.lanes[0]?.channel) judgedIn(context, colors, strip.qualities, xOf, middle, tall, width);
  let endX = 0;
  /** The last sample that was drawn, and when the next one is due. */
  let last: Readonly<{ x: number; y: number; nextMs: number }> | null = null;
  for (const segment of visible) {
    const startX = xOf(segment.t0Ms);
    const everyPx = xOf(1000 / segment.rateHz) - xOf(0);
    const dots: (readonly [x: number, y: number])[] = [];
    if (startX - endX > 4) gap(endX, startX);
    hatch(context, colors, segment, xOf, middle, tall);
    context.strokeStyle = colors.trace;
    context.lineWidth = 1.25;
    context.beginPath();
    // Segments are as long as what was asked for at once: a line goes on over their edges.
    let isOpen = last !== null && Math.abs(segment.t0Ms - last.nextMs) < 500 / segment.rateHz;
    if (isOpen) context.moveTo(last!.x, last!.y);
    last = null;
    const first = Math.max(0, Math.floor(((0 - startX) / (xOf(1) - xOf(0)) / 1000) * segment.rateHz) - 1);
    for (let k = first; k < segment.samples.length; k++) {
      const x = xOf(segment.t0Ms + (k * 1000) / segment.rateHz);
      const value = segment.samples[k];
      if (value == null || segment.qmask?.[k] === 2) isOpen = false;
      else {
        const y = middle - (value - center) * perUnit;
        if (isOpen) context.lineTo(x, y);
        else context.moveTo(x, y);
        isOpen = true;
        if (everyPx > DOTTED_PX) dots.push([x, y]);
        if (k === segment.samples.length - 1) last = { x, y, nextMs: segment.t0Ms + ((k + 1) * 1000) / segment.rateHz };
      }
      if (x > width) break;
    }
    context.stroke();
    context.fillStyle = colors.trace;
    for (const [x, y] of dots) context.fillRect(x - DOT_PX / 2, y - DOT_PX / 2, DOT_PX, DOT_PX);
    endX = xOf(segment.t0Ms + (segment.samples.length * 1000) / segment.rateHz);
  }
  if (width - endX > 4) gap(Math.max(0, endX), width);
}

function shownSamples(segment: Segment, xOf: (ms: number) => number, width: number): number[] {
  const found: number[] = [];
  const everyPx = xOf(1000 / segment.rateHz) - xOf(0);
  for (const [k, value] of segment.samples.entries()) {
    const x = xOf(segment.t0Ms + (k * 1000) / segment.rateHz);
    if (x >= -everyPx && x <= width + everyPx && value !== null && segment.qmask?.[k] !== 2) found.push(value);
  }
  return found;
}

/** A stretch without samples: none were recorded, or they are not here yet. */
function gapsIn(
  context: CanvasRenderingContext2D,
  colors: Colors,
  [from, to]: readonly [number, number],
  middle: number,
  xOf: (ms: number) => number,
  { absent, gap }: Strip,
): void {
  let doneX = from;
  for (const { fromMs, toMs, word } of absent) {
    const [left, right] = [Math.max(doneX, xOf(fromMs)), Math.min(to, xOf(toMs))];
    if (right <= left) continue;
    if (left > doneX) gapIn(context, colors, doneX, left, middle, gap);
    gapIn(context, colors, left, right, middle, word);
    doneX = right;
  }
  if (to > doneX) gapIn(context, colors, doneX, to, middle, gap);
}

/** Slanted lines behind the seconds that the service does not trust. */
function judgedIn(
  context: CanvasRenderingContext2D,
  colors: Colors,
  qualities: readonly Quality[],
  xOf: (ms: number) => number,
  middle: number,
  tall: number,
  width: number,
): void {
  for (const { timesMs, stepMs, flags, endMs = Infinity } of qualities) {
    for (const [i, flag] of flags.entries()) {
      const [from, to] = [xOf(timesMs[i]!), xOf(Math.min(endMs, timesMs[i]! + stepMs))];
      if (flag === 0 || to < 0 || from > width) continue;
      slants(context, flag === 2 ? colors.bad : colors.suspect, [from, to], flag, middle, tall);
    }
  }
}

function gapIn(context: CanvasRenderingContext2D, colors: Colors, from: number, to: number, middle: number, word: string): void {
  context.strokeStyle = colors.muted;
  context.lineWidth = 1;
  context.setLineDash([3, 5]);
  context.beginPath();
  context.moveTo(from, middle);
  context.lineTo(to, middle);
  context.stroke();
  context.setLineDash([]);
  if (to - from < 60) return;
  context.fillStyle = colors.muted;
  context.textAlign = 'center';
  context.fillText(word, (from + to) / 2, middle - 4);
}

/** Slanted lines behind what is suspect; what is bad is not drawn at all. */
function hatch(
  context: CanvasRenderingContext2D,
  colors: Colors,
  { t0Ms, rateHz, qmask }: Segment,
  xOf: (ms: number) => number,
  middle: number,
  tall: number,
): void {
  if (qmask === null) return;
  for (let k = 0; k < qmask.length; k++) {
    const flag = qmask[k]!;
    if (flag === 0) continue;
    let end = k;
    while (end < qmask.length && qmask[end] === flag) end++;
    const [from, to] = [xOf(t0Ms + (k * 1000) / rateHz), xOf(t0Ms + (end * 1000) / rateHz)];
    slants(context, flag === 2 ? colors.bad : colors.suspect, [from, to], flag, middle, tall);
    k = end;
  }
}

const SLANT_PX = 8;

function slants(
  context: CanvasRenderingContext2D,
  color: string,
  [from, to]: readonly [number, number],
  flag: number,
  middle: number,
  tall: number,
): void {
  if (to <= from) return;
  context.save();
  context.beginPath();
  context.rect(from, middle - tall * 0.4, to - from, tall * 0.8); // slanted lines lean over its end
  context.clip();
  context.strokeStyle = color;
  context.globalAlpha = 0.5;
  context.lineWidth = 1;
  context.beginPath();
  for (let x = from - SLANT_PX; x < to; x += flag === 2 ? 5 : 10) {
    context.moveTo(x, middle + tall * 0.4);
    context.lineTo(x + SLANT_PX, middle - tall * 0.4);
  }
  context.stroke();
  context.restore();
}

function calipersIn(
  { context, width, height, colors }: Surface,
  { fromMs, toMs, marchOut }: NonNullable<Strip['calipers']>,
  xOf: (ms: number) => number,
): void {
  const [from, to] = [xOf(fromMs), xOf(toMs)];
  const step = Math.abs(to - from);
  context.strokeStyle = colors.accent;
  context.lineWidth = 1.5;
  context.beginPath();
  const lines = [from, to];
  // All over the strip, also where what is measured is beyond one of its edges.
  if (marchOut && step > 6) for (let x = from - Math.floor(from / step) * step; x < width; x += step) lines.push(x);
  for (const x of lines) {
    context.moveTo(x, 26);
    context.lineTo(x, height);
  }
  context.moveTo(from, 40);
  context.lineTo(to, 40);
  context.stroke();
}
