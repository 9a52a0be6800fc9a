/** Words of the viewer of a recording: times, picks, measures, and where one is. */
import { atWallTime, wallTime } from '../shared/days.ts';
import { unitLabel } from '../shared/format.ts';
import { sentenceOf, textFor } from '../shared/strings.ts';
import { zoneIfTwice } from '../shared/zoned-time.ts';
import { tickTexts, timeSplits, timeSteps } from '../trend-chart/ticks.ts';
import type { Tick } from './recording-draw.ts';
import type { Pick } from './recording-pick.ts';
import type { Beat, Mark, RecordingSource, Segment } from './recording-source.ts';
import { DOUBT, stripLetterOf } from './recording-draw-marks.ts';
import { recordingTexts } from './recording-strings.ts';
import type { RecordingTextKey } from './recording-strings.ts';
import type { BadStretch } from './recording-worst.ts';
import { INTERVALS_MIN, readStrip } from './strip-reading.ts';

const letterTexts = {
  S: 'letterS',
  V: 'letterV',
  Q: 'letterQ',
  E: 'letterE',
  '×': 'letterArtefact',
  '○': 'letterInterpolated',
  [DOUBT]: 'letterDoubt',
} as const satisfies Readonly<Record<string, RecordingTextKey>>;

const HOUR_MS = 36e5;
const DAY_MS = 864e5;
/** Between two times below the whole recording, at least. */
const TICK_PX = 60;
/** A heart rate of fewer intervals says of how many it is. */
const INTERVALS_FEW = 8;

export class RecordingWords {
  readonly #locale: string;
  /** Of all times; undefined: the browser's. */
  readonly timeZone: string | undefined;
  /** Cached: creating one takes longer than formatting a hundred times. */
  readonly #formats = new Map<string, Intl.DateTimeFormat>();

  constructor(locale: string, timeZone: string | undefined) {
    [this.#locale, this.timeZone] = [locale, timeZone];
  }

  #format(name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
    const known = this.#formats.get(name) ?? new Intl.DateTimeFormat(this.#locale, { ...options, timeZone: this.timeZone });
    this.#formats.set(name, known);
    return known;
  }

  say(key: RecordingTextKey, values: Readonly<Record<string, string | number>> = {}): string {
    return sentenceOf(recordingTexts, this.#locale, key, values);
  }

  clock(ms: number, withDate: boolean, digits?: 3): string {
    const date = withDate ? ({ year: 'numeric', month: 'short', day: 'numeric', timeZoneName: 'short' } as const) : {};
    const clock = this.#format(`clock ${withDate} ${digits}`, {
      ...date,
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      ...(digits && { fractionalSecondDigits: digits }),
      hourCycle: 'h23',
    }).format(ms);
    return withDate ? clock : clock + zoneIfTwice(this.#locale, ms, this.timeZone);
  }

  /** As an input of a time has it, by the clocks of the page. */
  local(ms: number): string {
    return new Date(Math.floor(wallTime(ms, this.timeZone) / 1000) * 1000).toISOString().slice(0, 19);
  }

  /** First and last time that an input may have: where the clocks are put back, the last is not that of the end. */
  localEnds(startMs: number, endMs: number): readonly [string, string] {
    const isPutBack = wallTime(endMs, this.timeZone) - wallTime(startMs, this.timeZone) < endMs - startMs - 1;
    return isPutBack ? [this.local(startMs - HOUR_MS), this.local(endMs + HOUR_MS)] : [this.local(startMs), this.local(endMs)];
  }

  /** When the clocks of the page show this: of two such times the one in the recording, or the nearer to where one is.
   *  @returns null: at no time of the recording */
  timeOf(wallMs: number, nearMs: number, startMs: number, endMs: number): number | null {
    const both = [-DAY_MS, DAY_MS].map((ms) => wallMs + (wallMs + ms - wallTime(wallMs + ms, this.timeZone)));
    const shown = [...both.filter((ms) => wallTime(ms, this.timeZone) === wallMs), atWallTime(wallMs, this.timeZone)];
    const within = shown.filter((ms) => ms > startMs - 1000 && ms <= endMs);
    return within.length === 0 ? null : within.reduce((best, ms) => (Math.abs(ms - nearMs) < Math.abs(best - nearMs) ? ms : best));
  }

  date(ms: number): string {
    return this.#format('date', { month: 'short', day: 'numeric' }).format(ms);
  }

  /** Below the whole recording and a day: whole times of the clock, a midnight by its date. */
  ticks(fromMs: number, toMs: number, width: number): Tick[] {
    const steps = timeSteps.filter((step) => (step * 1000 * width) / (toMs - fromMs) >= TICK_PX);
    const step = steps[0] ?? timeSteps.at(-1)!;
    const splits = timeSplits(fromMs / 1000, toMs / 1000, step, this.timeZone);
    const texts = tickTexts(splits, step, toMs - fromMs, this.#locale, this.timeZone, 'h23');
    return splits.map((sec, i) => ({ ms: sec * 1000, text: texts[i]! }));
  }

  number(value: number, digits: number, digitsMax = digits): string {
    return new Intl.NumberFormat(this.#locale, { minimumFractionDigits: digits, maximumFractionDigits: digitsMax }).format(value);
  }

  #percent(share: number): string {
    return new Intl.NumberFormat(this.#locale, { style: 'percent' }).format(share);
  }

  picked(pick: Pick): string {
    const [from, to] = [Math.min(pick.fromMs, pick.toMs), Math.max(pick.fromMs, pick.toMs)];
    const values = { from: this.clock(from, false, 3), to: this.clock(to, false, 3) };
    if (pick.beat === 'added') return this.say('pickedNoBeat', values);
    if (pick.beat !== null) return this.#pickedBeat(pick.beat, values);
    return this.say(to > from ? 'pickedStretch' : 'pickedMoment', values);
  }

  #pickedBeat({ aami, confidence }: Beat, values: Readonly<{ from: string }>): string {
    if (aami === null) return this.say('pickedBeat', values);
    if (confidence === null || aami === 'Q') return this.say('pickedKind', { ...values, kind: aami });
    return this.say('pickedSure', { ...values, kind: aami, sure: this.#percent(confidence) });
  }

  beat({ timeMs, aami, confidence }: Beat): string {
    const kind = aami === null ? '' : aami === 'Q' ? `, ${this.say('letterQ')}` : `, ${aami} (AAMI)`;
    const sure = confidence === null || aami === null || aami === 'Q' ? '' : `, ${this.#percent(confidence)}`;
    return `${this.say('markBeat')} ${this.clock(timeMs, false, 3)}${kind}${sure}`;
  }

  /** What the letters above beats mean: as many of them as are shown. */
  letters(beats: readonly Beat[]): string {
    const shown = new Set(beats.flatMap((beat) => [...stripLetterOf(beat)]));
    return Object.entries(letterTexts)
      .filter(([letter]) => shown.has(letter))
      .map(([, key]) => this.say(key))
      .join(' · ');
  }

  /** @param beats of the strip  @param missing said in place of their quality */
  reading(atMs: number, beats: readonly Beat[], missing: string | null): string {
    const { bpm, intervals, flag, count, total } = readStrip(beats);
    const word = flag === null ? this.say('noValue') : textFor(this.#locale, (['good', 'suspect', 'bad'] as const)[flag]);
    const quality = missing ?? (count === total ? word : this.say('ofBeats', { quality: word, count, total }));
    const isFew = flag !== null && flag < 2 && intervals < (bpm === null ? INTERVALS_MIN : INTERVALS_FEW);
    const rate = bpm === null ? '–' : `${bpm} /min`;
    const hr = isFew ? this.say('ofIntervals', { hr: rate, count: intervals }) : rate;
    return this.say('atTime', { time: this.clock(atMs, true), hr, quality });
  }

  /** Below the strip on paper, where its ends may be cut off: what it shows, at which scale and when. */
  onPaper(atMs: number, lanes: readonly string[], speed: number, gain: number, beats: readonly Beat[]): string {
    const methods = [...new Set(beats.map(({ method }) => method ?? '').filter((method) => method !== ''))];
    const strip = this.say('stripPaper', { channels: lanes.join(', '), speed, gain, time: this.clock(atMs, true) });
    return [strip, ...methods.map((method) => this.say('beatsBy', { method }))].join('; ');
  }

  /** @param rank 1 is the worst */
  worst(stretch: BadStretch, rank: number, count: number): string {
    return this.say('worstOf', { rank, count, ...this.#stretch(stretch) });
  }

  stretch(stretch: BadStretch): string {
    return this.say('stretchOf', this.#stretch(stretch));
  }

  #stretch({ fromMs, toMs, badMs }: BadStretch): Readonly<Record<'seconds' | 'time' | 'quality', string>> {
    return {
      seconds: this.number(Math.max(1000, toMs - fromMs) / 1000, 0),
      time: this.clock(fromMs, false),
      quality: textFor(this.#locale, badMs > 0 ? 'bad' : 'suspect'),
    };
  }

  /** Of which marks there are more than are shown. */
  cuts(source: RecordingSource, marks: readonly Mark[]): readonly string[] {
    return (['event', 'annotation', 'episode'] as const).flatMap((of) => {
      const ms = source.cutOf(of);
      if (ms === null) return [];
      const count = this.number(marks.filter((mark) => mark.source === of).length, 0);
      return this.say(of === 'episode' ? 'cutBefore' : 'cutAfter', { count, time: this.clock(ms, true) });
    });
  }

  /** @param segments of the channel that is measured  @param name of it: the strip may have others */
  measured({ fromMs, toMs }: Readonly<{ fromMs: number; toMs: number }>, segments: readonly Segment[], name: string): string {
    const ms = Math.abs(toMs - fromMs);
    const valueAt = (at: number): number | null => {
      const segment = segments.find(({ t0Ms, rateHz, samples }) => at >= t0Ms && at < t0Ms + (samples.length * 1000) / rateHz);
      return segment?.samples[Math.round(((at - segment.t0Ms) / 1000) * segment.rateHz)] ?? null;
    };
    const [from, to] = [valueAt(fromMs), valueAt(toMs)];
    const mv = from === null || to === null ? '–' : `${name} ${this.number(to - from, 2)} ${unitLabel(segments[0]?.unit ?? '')}`;
    return this.say('caliperReading', { ms: Math.round(ms), bpm: ms < 1 ? '–' : Math.round(60_000 / ms), mv });
  }
}
