/** Finds the next event of a recording, or the one before: episodes and marks, events, ectopic beats, gaps, stretches of bad quality. */
import { maybeBad, maybeGaps, nextStretch } from './recording-jumps.ts';
import type { Envelope, Mark, Quality, RecordingSource } from './recording-source.ts';

export const jumps = ['jumpEpisode', 'jumpMark', 'jumpEvent', 'jumpEctopic', 'jumpGap', 'jumpQuality', 'jumpWorst'] as const;
export type Jump = (typeof jumps)[number];

/** What is found along the time of the recording. */
export type TimedJump = Exclude<Jump, 'jumpWorst'>;

const sourcesOf: Readonly<Record<Exclude<TimedJump, 'jumpEctopic' | 'jumpGap' | 'jumpQuality'>, readonly Mark['source'][]>> = {
  jumpEpisode: ['episode', 'annotation'],
  jumpMark: ['annotation'],
  jumpEvent: ['event'],
};

/** Of the whole recording, as far as it is here; of its first channel.  @param text of the events that are looked for; '': of all */
type Seekable = Readonly<{
  channel: string;
  envelope: Envelope | null;
  quality: Quality | null;
  marks: readonly Mark[];
  text: string;
}>;
type From = Readonly<{ fromMs: number; forward: boolean; signal: AbortSignal }>;

/** What is nearer than this is where one is, ms. */
const HERE_MS = 2;

/** @returns Unix ms; null: there is none in this direction; 'noneHere': in the other there is none either */
export async function findOrNone(source: RecordingSource, of: Seekable, to: TimedJump, from: From): Promise<number | null | 'noneHere'> {
  const found = await findNext(source, of, to, from);
  if (found !== null) return found;
  const forward = !from.forward;
  // One that is here, where the search began, counts.
  const other = await findNext(source, of, to, { ...from, fromMs: from.fromMs + (forward ? -HERE_MS : HERE_MS), forward });
  return other === null ? 'noneHere' : null;
}

/** @returns Unix ms; null: there is none in this direction */
async function findNext(source: RecordingSource, of: Seekable, to: TimedJump, from: From): Promise<number | null> {
  const { fromMs, forward, signal } = from;
  if (to === 'jumpEctopic') return await source.ectopic(fromMs, forward, signal);
  if (to === 'jumpGap' || to === 'jumpQuality') return await findStretch(source, of, to === 'jumpGap', from);
  const sources = sourcesOf[to];
  const marks = of.marks.filter((mark) => sources.includes(mark.source));
  const isOne = to === 'jumpEvent' ? saying(marks, of.text) : () => true;
  const isBeyond = ({ startMs: ms }: Mark): boolean => (forward ? ms > fromMs + 1 : ms < fromMs - 1);
  const known = marks.filter((mark) => isBeyond(mark) && isOne(mark));
  // Of very many events only the first were read: the others come after all of those.
  const unread = async (): Promise<number | null> => (to === 'jumpEvent' ? await source.event(fromMs, forward, isOne, signal) : null);
  return forward ? (known[0]?.startMs ?? (await unread())) : ((await unread()) ?? known.at(-1)?.startMs ?? null);
}

/** Which say just this, such as the beats "V"; where none does, which contain it, in small or capital letters. */
function saying(marks: readonly Mark[], text: string): (mark: Mark) => boolean {
  const part = text.toLowerCase();
  const isSaid = marks.some(({ label }) => label === text);
  return ({ label }) => (isSaid ? label === text : label.toLowerCase().includes(part));
}

/** Texts that are offered: a recording can have one of its own for each event. */
const TEXTS_MAX = 100;
const textsKnown = new WeakMap<readonly Mark[], readonly string[]>();

/** What the events of a recording say, the most frequent first. */
export function textsOf(marks: readonly Mark[]): readonly string[] {
  const known = textsKnown.get(marks);
  if (known !== undefined) return known;
  const counts = new Map<string, number>();
  for (const { source, label } of marks) if (source === 'event') counts.set(label, (counts.get(label) ?? 0) + 1);
  const texts = [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, TEXTS_MAX)
    .map(([label]) => label);
  textsKnown.set(marks, texts);
  return texts;
}

/** Where the next gap, or stretch of bad quality, begins. */
async function findStretch(
  source: RecordingSource,
  { channel, envelope, quality }: Seekable,
  gaps: boolean,
  { fromMs, forward, signal }: From,
): Promise<number | null> {
  // What is not here yet, or could not be read, is read: nobody knows that there are none.
  const whole = gaps ? (envelope ?? (await source.whole([channel], signal))[0]) : (quality ?? (await source.quality(channel, signal)));
  if (!whole) return null;
  const coarse = 'n' in whole ? maybeGaps(whole) : maybeBad(whole);
  const fine = (startMs: number, endMs: number) =>
    gaps ? source.gaps(channel, startMs, endMs, signal) : source.badStretches(channel, startMs, endMs, signal);
  return nextStretch(coarse, fine, fromMs, forward);
}
