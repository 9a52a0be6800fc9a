/** Draws the samples of a slow signal, such as a temperature once a minute, on the rows of a page: lines between those that are one
 *  sampling interval apart, over the edges of rows, and what each of them covers. */
import type { Surface } from './recording-draw.ts';
import type { Envelope } from './recording-source.ts';

/** `value`: null where it is bad. */
export type SlowSample = Readonly<{ timeMs: number; value: number | null; everyMs: number; flag: 0 | 1 | 2 }>;
type Known = SlowSample & Readonly<{ value: number }>;
type Box = Readonly<{ x: number; y: number; width: number; height: number; fromMs: number; toMs: number }>;

/** Farther apart than this, px, samples are dots as well: what lies between them was not measured. */
export const DOTTED_PX = 12;
export const DOT_PX = 3;

/** By their time, each once; none where nothing was measured. @param envelopes whose buckets are samples */
export function slowSamples(envelopes: readonly Envelope[]): readonly SlowSample[] {
  const samples = new Map<number, SlowSample>();
  for (const { t0Ms, stepMs, min, suspect, bad } of envelopes)
    for (const [i, value] of min.entries()) {
      if (value === null && bad[i] !== 1) continue;
      const timeMs = t0Ms + i * stepMs;
      samples.set(Math.round(timeMs), { timeMs, value, everyMs: stepMs, flag: bad[i] === 1 ? 2 : suspect[i] === 1 ? 1 : 0 });
    }
  return [...samples.values()].toSorted((a, b) => a.timeMs - b.timeMs);
}

/** Lines in a box, which go on over its edges, where the samples are on other rows.
 *  @param fills of the ribbon below them, by flag  @param coverPx its height; it covers one interval from each sample on */
export function slowIn(
  { context, colors }: Surface,
  samples: readonly SlowSample[],
  box: Box,
  { low, high }: Readonly<{ low: number; high: number }>,
  fills: readonly (string | CanvasPattern)[],
  coverPx: number,
): void {
  const { x, y, width, height, fromMs, toMs } = box;
  const xOf = (ms: number): number => x + ((ms - fromMs) / (toMs - fromMs)) * width;
  const yOf = (value: number): number => y + height - 2 - ((Math.min(high, Math.max(low, value)) - low) / (high - low)) * (height - 4);
  const near = samples.filter(({ timeMs, everyMs }) => timeMs > fromMs - 2 * everyMs && timeMs < toMs + 2 * everyMs);
  const known = near.filter((one): one is Known => one.value !== null);
  context.save();
  context.beginPath();
  context.rect(x, y, width, height + coverPx);
  context.clip();
  context.strokeStyle = context.fillStyle = colors.trace;
  context.lineWidth = 1;
  context.beginPath();
  for (const [i, { timeMs, value }] of known.entries()) {
    if (i > 0 && follows(known[i - 1]!, timeMs)) context.lineTo(xOf(timeMs), yOf(value));
    else context.moveTo(xOf(timeMs), yOf(value));
  }
  context.stroke();
  for (const [i, { timeMs, value }] of known.entries()) {
    const isAlone = [known[i - 1], known[i + 1]].every(
      (one) => one === undefined || xOf(Math.abs(one.timeMs - timeMs)) - xOf(0) > DOTTED_PX,
    );
    if (isAlone) context.fillRect(xOf(timeMs) - DOT_PX / 2, yOf(value) - DOT_PX / 2, DOT_PX, DOT_PX);
  }
  for (const { timeMs, everyMs, flag } of near) {
    const left = Math.floor(xOf(timeMs));
    context.fillStyle = fills[flag]!;
    context.fillRect(left, y + height, Math.ceil(xOf(timeMs + everyMs)) - left, coverPx);
  }
  context.restore();
}

/** Is a sample the next one after another? */
const follows = ({ timeMs, everyMs }: SlowSample, nextMs: number): boolean => nextMs - timeMs < 1.5 * everyMs;
