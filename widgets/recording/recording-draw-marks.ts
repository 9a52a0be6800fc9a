/** Draws beats on the strip, as computed and as corrected, and what is picked on it. */
import type { CorrectedBeat } from './corrected-beats.ts';
import type { Surface } from './recording-draw.ts';
import type { Beat, Mark } from './recording-source.ts';

const letters: Readonly<Record<string, string>> = { normal: '', ectopic: 'E', artefact: '×', interpolated: '○' };

/** S or V where its class is known; E: early, of unknown origin. */
export const letterOf = ({ aami, kind }: Readonly<{ aami: string | null; kind: string }>): string =>
  aami === 'S' || aami === 'V' ? aami : (letters[kind] ?? '');

/** Where it has none: Q where its kind could not be determined, so that what has no letter is normal. With a question mark where an ectopic
 *  beat is suspect. */
export function stripLetterOf(beat: Readonly<{ aami: string | null; kind: string; qmask: number }>): string {
  const letter = letterOf(beat);
  return letter === '' ? (beat.aami === 'Q' ? 'Q' : '') : beat.kind === 'ectopic' && beat.qmask > 0 ? `${letter}${DOUBT}` : letter;
}

export const DOUBT = '?';

/** A mark above each beat and the interval to the one before, in ms. */
export function beatsIn({ context, width, colors }: Surface, beats: readonly Beat[], xOf: (ms: number) => number): void {
  context.textAlign = 'center';
  for (const beat of beats) {
    const x = xOf(beat.timeMs);
    if (x < -40 || x > width + 40) continue;
    context.fillStyle = context.strokeStyle = beat.qmask === 0 ? colors.ink : colors.muted;
    context.beginPath();
    context.moveTo(x, 16);
    context.lineTo(x, 22);
    context.stroke();
    const letter = stripLetterOf(beat);
    if (letter !== '') letterIn(context, colors, letter, x, 13);
    if (beat.intervalMs !== null && beat.intervalMs * (xOf(1) - xOf(0)) > 30) {
      context.fillStyle = colors.muted;
      context.fillText(String(Math.round(beat.intervalMs)), xOf(beat.timeMs - beat.intervalMs / 2), 24);
    }
  }
}

/** In front of a QRS complex that is as tall as its strip. */
function letterIn(context: CanvasRenderingContext2D, colors: Surface['colors'], letter: string, x: number, y: number): void {
  const wide = LETTER_PX + (letter.length - 1) * DOUBT_PX;
  context.fillStyle = colors.surface;
  context.fillRect(x - wide / 2, y - 11, wide, 13);
  context.fillStyle = letter === 'Q' || letter.endsWith(DOUBT) ? colors.muted : colors.bad;
  context.fillText(letter, x, y);
}

const LETTER_PX = 12;
const DOUBT_PX = 7;
const CORRECTED_Y = 30;

/** A second row below that of the computed beats: what people say, in a box of its own; struck out where there is no beat. */
export function correctedIn({ context, width, colors }: Surface, beats: readonly CorrectedBeat[], xOf: (ms: number) => number): void {
  context.textAlign = 'center';
  for (const { timeMs, intervalMs, kind, aami, said, qmask } of beats) {
    const x = xOf(timeMs);
    if (x < -40 || x > width + 40) continue;
    if (intervalMs !== null && intervalMs * (xOf(1) - xOf(0)) > 30) {
      context.fillStyle = colors.muted;
      context.fillText(String(Math.round(intervalMs)), xOf(timeMs - intervalMs / 2), CORRECTED_Y + 24);
    }
    if (said === null) {
      context.fillStyle = context.strokeStyle = qmask === 0 ? colors.ink : colors.muted;
      tick(context, x);
      const letter = stripLetterOf({ aami, kind, qmask });
      if (letter !== '') letterIn(context, colors, letter, x, CORRECTED_Y + 13);
      continue;
    }
    context.fillStyle = colors.accent;
    context.fillRect(x - 8, CORRECTED_Y + 1, 16, 15);
    context.fillStyle = colors.surface;
    context.fillText(said === 'none' ? '✕' : said, x, CORRECTED_Y + 13);
    context.strokeStyle = colors.accent;
    if (said !== 'none') tick(context, x);
  }
}

/** Names the rows of beats, at the first place where no letter is hidden. */
export function rowWordsIn(
  { context, width, colors }: Surface,
  words: Readonly<{ computed: string; corrected: string }>,
  beats: readonly Beat[],
  corrected: readonly CorrectedBeat[],
  xOf: (ms: number) => number,
): void {
  context.textAlign = 'left';
  const computedMs = beats.filter((beat) => stripLetterOf(beat) !== '').map(({ timeMs }) => timeMs);
  const saidMs = corrected.filter((beat) => beat.said !== null || stripLetterOf(beat) !== '').map(({ timeMs }) => timeMs);
  for (const [word, y, taken] of [
    [words.computed, 13, computedMs],
    [words.corrected, CORRECTED_Y + 13, saidMs],
  ] as const) {
    const wide = context.measureText(word).width + 8;
    const x = freeFrom(taken.map(xOf), wide, width);
    context.fillStyle = colors.surface;
    context.fillRect(x, y - 12, wide, 16);
    context.fillStyle = colors.ink;
    context.fillText(word, x + 4, y);
  }
}

/** The leftmost place of so many px between letters; where there is none, the left edge. */
export function freeFrom(letters: readonly number[], wide: number, width: number): number {
  let x = 0;
  for (const at of letters.toSorted((a, b) => a - b)) if (at + LETTER_PX > x && at - LETTER_PX < x + wide) x = at + LETTER_PX;
  return x + wide > width ? 0 : x;
}

function tick(context: CanvasRenderingContext2D, x: number): void {
  context.lineWidth = 1.25;
  context.beginPath();
  context.moveTo(x, CORRECTED_Y + 16);
  context.lineTo(x, CORRECTED_Y + 22);
  context.stroke();
}

/** Above the lower edge, so that episodes and marks are in front; words only where there is room for them. */
export function eventsIn({ context, width, height, colors }: Surface, marks: readonly Mark[], xOf: (ms: number) => number): void {
  context.textAlign = 'left';
  context.fillStyle = colors.muted;
  let free = -Infinity;
  for (const { source, startMs, label } of marks) {
    const x = xOf(startMs);
    if (source !== 'event' || x < 0 || x > width) continue;
    context.fillRect(x, height - 32, 1, 12);
    if (x < free) continue;
    context.fillText(label, x + 3, height - 22);
    free = x + 9 + context.measureText(label).width;
  }
}

/** The picked moment or stretch; and the middle of the strip, where the keyboard marks. */
export function pickIn(
  { context, width, height, colors }: Surface,
  pick: Readonly<{ fromMs: number; toMs: number }> | null,
  hasMiddle: boolean,
  xOf: (ms: number) => number,
): void {
  if (hasMiddle) {
    context.strokeStyle = colors.muted;
    context.lineWidth = 1;
    context.setLineDash([2, 4]);
    context.beginPath();
    context.moveTo(width / 2, 0);
    context.lineTo(width / 2, height);
    context.stroke();
    context.setLineDash([]);
  }
  if (pick === null) return;
  const [from, to] = [xOf(Math.min(pick.fromMs, pick.toMs)), xOf(Math.max(pick.fromMs, pick.toMs))];
  context.fillStyle = context.strokeStyle = colors.accent;
  context.globalAlpha = 0.18;
  context.fillRect(from, 0, to - from, height);
  context.globalAlpha = 1;
  context.lineWidth = 2;
  context.beginPath();
  for (const x of [from, to]) {
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  context.stroke();
}
