/** The search for the next of what one jumps to in a recording: one at a time, until one is elsewhere. */
import type { OpenRecording } from './open-recording.ts';
import { findOrNone } from './recording-seek.ts';
import type { Jump, TimedJump } from './recording-seek.ts';
import type { RecordingWords } from './recording-words.ts';
import { stretchFrom, within, WorstWalk } from './recording-worst.ts';
import type { BadStretch } from './recording-worst.ts';

/** Where one is. */
type Here = Readonly<{ recording: OpenRecording; channel: string; atMs: number }>;

/** @param atMs where it is; null: nowhere
 *  @param say of it, or of why it is nowhere; null: nothing has to be said */
type Found = Readonly<{ atMs: number | null; say: ((words: RecordingWords) => string) | null }>;

const nowhere = (key: 'noMore' | 'noneHere' | 'notJudged' | 'notSought'): Found => ({ atMs: null, say: (words) => words.say(key) });

export class JumpSearch {
  jump: Jump = 'jumpEpisode';
  /** Of the events that are looked for; '': of all. */
  text = '';
  #looking: AbortController | null = null;
  readonly #worst = new WorstWalk();

  choose(jump: Jump): void {
    this.stop();
    this.jump = jump;
    this.#worst.restart();
  }

  chooseText(text: string): void {
    this.stop();
    this.text = text;
  }

  /** They are elsewhere. */
  stop(): void {
    this.#looking?.abort();
  }

  /** Another recording: its worst comes first again. */
  restart(): void {
    this.stop();
    this.#worst.restart();
  }

  /** @returns null: it was stopped */
  async find(forward: boolean, jump: Jump, here: Here): Promise<Found | null> {
    this.stop();
    const { signal } = (this.#looking = new AbortController());
    try {
      const found = await (jump === 'jumpWorst' ? this.#findWorst(forward, here, signal) : this.#findTimed(forward, jump, here, signal));
      return signal.aborted ? null : found;
    } catch {
      return signal.aborted ? null : nowhere('notSought'); // that there are no more is not known
    }
  }

  async #findTimed(forward: boolean, jump: TimedJump, here: Here, signal: AbortSignal): Promise<Found> {
    const { recording, channel, atMs: fromMs } = here;
    const { source, overviews } = recording;
    if (jump === 'jumpQuality' && !source.isJudged(channel)) return nowhere('notJudged');
    const marks = await recording.knownMarks(signal);
    const shown = {
      channel,
      envelope: overviews.whole?.envelope ?? null,
      quality: overviews.whole?.quality ?? null,
      marks,
      text: this.text,
    };
    const atMs = await findOrNone(source, shown, jump, { fromMs, forward, signal });
    if (typeof atMs !== 'number') return nowhere(atMs ?? 'noMore');
    const stretch = jump === 'jumpQuality' ? await stretchAt(atMs, here, signal) : null;
    return { atMs, say: stretch && ((words) => words.stretch(stretch)) };
  }

  /** The worst stretch, then the next worst: not by its time, and said which it is. */
  async #findWorst(forward: boolean, { recording, channel }: Here, signal: AbortSignal): Promise<Found> {
    // It may not have been read, or not have come yet.
    const whole = recording.overviews.of(channel, null);
    const quality = (whole.quality ??= await recording.source.quality(channel, signal));
    if (quality === null) return nowhere('notJudged');
    const found = await this.#worst.step(recording.source, quality, forward, signal);
    if (found === null) return nowhere(this.#worst.isEmpty ? 'noneHere' : 'noMore');
    return { atMs: found.stretch.fromMs, say: (words) => words.worst(found.stretch, found.rank, found.count) };
  }
}

async function stretchAt(fromMs: number, { recording: { source }, channel }: Here, signal: AbortSignal): Promise<BadStretch | null> {
  const found = await stretchFrom(fromMs, (...part) => source.judged(channel, ...part, signal));
  return found === null ? null : within(found, source);
}
