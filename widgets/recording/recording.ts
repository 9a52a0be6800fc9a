/** One recording to look through: the whole of it, a page of rows, and a strip at paper speed with beats, quality, gaps, marks and
 *  calipers. A script of its own, bio-recording.js; usable alone inside a bio-provider.
 *
 *  @tag bio-recording
 *  @attr {string} stream - id of the stream
 *  @attr {string} at - time in the middle of the strip, ISO 8601. Default: the beginning
 *  @attr {number} speed - paper speed, mm/s: 12.5, 25 or 50. Default 25
 *  @attr {number} gain - mm/mV: 5, 10 or 20. Default 10
 *  @attr {number} row - seconds of a row of the page: 10, 30 or 60. Default 60
 *  @attr {string} channels - codes of the channels of the strip, with commas; the first is that of the page. Default: the first two of
 *    ECG, or of any kind
 *  @attr {boolean} marking - moments, stretches and beats can be picked on the strip, for a page that saves what they are
 *  @attr {string} tz - IANA time zone of the times. Default: that of the provider, else the browser's, not the person's
 *  @attr {string} lang
 *  @attr {string} theme - light or dark
 *  @csspart strip - the strip
 *  @cssprop --bio-strip-height - height of the strip; default 300px
 *  @fires bio:state - {state} whenever the state changes: loading, ready, empty, offline, error or unauthorized
 *  @fires bio:recording-view - {at, speed, gain, row, channels}: what is shown, after each step
 *  @fires bio:recording-pick - {from, to, beat, done}: what was picked on the strip; null: nothing any more */
import { isRefusal } from '../../sdk/retry.ts';
import { BioElement, define, html, nothing } from '../shared/base.ts';
import type { TemplateResult, WidgetState } from '../shared/base.ts';
import { addDays, startOfDay, wallTime } from '../shared/days.ts';
import { unitLabel } from '../shared/format.ts';
import type { Session } from '../shared/session.ts';
import { tokenColor } from '../shared/theme.ts';
import { drawRows, drawStrip, drawWhole, pxPerMs, surfaceOf } from './recording-draw.ts';
import type { Colors, Surface, Tick } from './recording-draw.ts';
import { Retry } from './ask-again.ts';
import { correctBeats, nearestBeat } from './corrected-beats.ts';
import { filtered } from './recording-filter.ts';
import { pickBeat, pickDetail, setEnd, stepBeat } from './recording-pick.ts';
import type { Pick, PickMode } from './recording-pick.ts';
import { LANES_MAX, recordingBar, rowLengths, speeds } from './recording-bar.ts';
import type { BarActs } from './recording-bar.ts';
import { recordingCss } from './recording-css.ts';
import { actionOf } from './recording-keys.ts';
import type { Keyed } from './recording-keys.ts';
import { findOrNone } from './recording-seek.ts';
import type { Jump, TimedJump } from './recording-seek.ts';
import { RecordingWords } from './recording-words.ts';
import { stretchFrom, within, WorstWalk } from './recording-worst.ts';
import type { BadStretch } from './recording-worst.ts';
import { Gains, gains, USUAL_GAIN } from './recording-gains.ts';
import { RecordingOverview } from './recording-overview.ts';
import { StripPointers } from './recording-pointers.ts';
import { pageMs, RecordingPages } from './recording-pages.ts';
import type { Page } from './recording-pages.ts';
import { RecordingSource } from './recording-source.ts';
import type { Beat, Mark, Quality, Segment } from './recording-source.ts';
import { tilesOf } from './strip-tiles.ts';

/** Lanes of a strip that leaves room for others on a screen. */
const STAYS_MAX = 3;
/** What keys move by to place something exactly, ms. */
const FINE_MS = 10;
/** Beats of a recording that goes on are there after so long at the latest; without any, they are still to come. */
const COMPUTED_AFTER_MS = 60_000;
/** A pause of the pointer after which what is shown is told. */
const TOLD_AFTER_MS = 200;
/** Of a recording that goes on: how often to ask how far it has got, ms. */
const REFRESH_MS = 5000;
/** Episodes begin while it goes on, and others mark it: how often they are asked for, ms. */
const MARKS_MS = 30_000;
/** Of one that does not go on it is asked this often whether it may still be seen. */
const LOOK_MS = 30_000;
const DAY_MS = 86_400_000;
/** A recording that is longer is one of days. */
const LONG_MS = 1.2 * DAY_MS;

/** The whole recording and a day of it; the page of rows; the strip. */
const allViews = ['wholes', 'page', 'strip'] as const;
type View = (typeof allViews)[number];

type Span = readonly [fromMs: number, toMs: number];
type Calipers = Readonly<{ fromMs: number; toMs: number; marchOut: boolean }>;

const nextOf = (list: readonly number[], value: number, by: number): number =>
  list[Math.min(list.length - 1, Math.max(0, list.indexOf(value) + by))]!;

export class BioRecording extends BioElement {
  static override styles = recordingCss;
  static observedAttributes = ['stream', 'at', 'speed', 'gain', 'row', 'channels', 'marking', 'tz', 'lang', 'theme'];
  /** Names an episode in the language of the page, where the page can: the service names its own in English. */
  titleOf = (english: string): string => english;
  #session: Session | null = null;
  #source: RecordingSource | null = null;
  #opening: AbortController | null = null;
  #state: WidgetState = 'loading';
  #whole: RecordingOverview | null = null;
  #marks: readonly Mark[] = [];
  #areMarksRead = false;
  #marksAskedMs = 0;
  /** Numbers of the last question for them, and of the one whose answer is shown. */
  #marksQuestion = 0;
  #marksAnswered = 0;
  #pages: RecordingPages | null = null;
  #refreshTimer: ReturnType<typeof setTimeout> | undefined;
  /** The day that is shown of a recording of days; null: not asked for. */
  #day: RecordingOverview | null = null;
  readonly #marksRetry = new Retry();
  /** A part of the page of rows could not be read. */
  #isPageUnread = false;
  #atMs = NaN;
  /** The strip is at the beginning as soon as it has a width. */
  #isAtStart = false;
  #speed = 25;
  readonly #gains = new Gains((channel) => this.#source!.stream.channels.find(({ code }) => code === channel)?.unit ?? 'mV');
  /** Code of the signal whose gain is changed; '': of all. */
  #signal = '';
  #rowSec = 60;
  #channels: readonly string[] = [];
  #isFiltered = false;
  #calipers: Calipers | null = null;
  #isMeasuring = false;
  #jump: Jump = 'jumpEpisode';
  #jumpText = '';
  /** Ends the search for it: they are elsewhere. */
  #looking: AbortController | null = null;
  readonly #worst = new WorstWalk();
  #pickMode: PickMode = 'off';
  #pick: Pick | null = null;
  /** The beat under the pointer. */
  #hovered: Beat | null = null;
  #message = '';
  #queued = 0;
  readonly #toDraw = new Set<View>();
  /** Of the canvases, as they were rendered last. */
  #sizes = '';
  #tellTimer: ReturnType<typeof setTimeout> | undefined;
  /** The day in which a pointer came down. */
  #heldDay: readonly [number, number] = [0, 0];
  /** How, as soon as there is something to focus. */
  #focusWanted: FocusOptions | null = null;

  override connectedCallback(): void {
    super.connectedCallback();
    const again = (): void => this.#draw();
    const sizes = new ResizeObserver(again);
    sizes.observe(this);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', again);
    // At once: a page is printed before the next frame. Paper is light, whatever the screen is.
    const paper = matchMedia('print');
    const onPaper = (): void => {
      for (const view of allViews) this.#toDraw.add(view);
      if (this.#source !== null) this.#drawViews(this.#source);
    };
    paper.addEventListener('change', onPaper);
    this.during(() => {
      paper.removeEventListener('change', onPaper);
      sizes.disconnect();
      scheme.removeEventListener('change', again);
      cancelAnimationFrame(this.#queued);
      this.#queued = 0;
      clearTimeout(this.#tellTimer);
      clearTimeout(this.#readTimer);
      this.#close();
    });
  }

  protected override linked(): void {
    const session = this.link?.session ?? null;
    if (session !== this.#session || this.#source === null) {
      this.#session = session;
      this.#open();
    }
    this.#draw(); // a provider has a language, a theme and a time zone, too
    this.requestUpdate();
  }

  protected override changed(name: string): void {
    if (name === 'marking') {
      this.#pickMode = 'off';
      this.#pick = null;
    } else if (['lang', 'theme', 'tz'].includes(name)) this.#draw();
    else if (this.#source !== null && this.getAttribute('stream') === this.#source.stream.id) this.#readSettings(name);
    else this.#open();
    this.requestUpdate();
  }

  #close(): void {
    this.#opening?.abort();
    clearTimeout(this.#refreshTimer);
    this.#marksRetry.stop();
    this.#isPageUnread = false;
    this.#looking?.abort();
    this.#pages?.close();
    this.#pages = null;
    this.#source?.close();
    this.#source = null;
    this.#whole?.close();
    this.#whole = null;
    this.#worst.restart();
    this.#day?.close();
    this.#day = null;
    [this.#marks, this.#calipers, this.#pick] = [[], null, null];
    [this.#isMeasuring, this.#areMarksRead] = [false, false];
    this.#lacking.clear();
    [this.#beats, this.#shown, this.#read, this.#letters, this.#message] = [[], [], '', '', ''];
  }

  #open(): void {
    this.#close();
    const [session, streamId] = [this.#session, this.getAttribute('stream') ?? ''];
    this.#setState('loading');
    if (session === null || streamId === '' || !this.isConnected) return;
    const opening = new AbortController();
    this.#opening = opening;
    void this.#load(session, streamId, opening.signal).catch((error: unknown) => {
      if (!opening.signal.aborted) this.#fail(error);
    });
  }

  #fail(error: unknown): void {
    const status = (error as { status?: number }).status;
    this.#setState(status === 401 ? 'unauthorized' : status === 404 ? 'empty' : status === 0 ? 'offline' : 'error');
  }

  async #load(session: Session, streamId: string, signal: AbortSignal): Promise<void> {
    const source = await RecordingSource.open(session, streamId, () => this.#draw('strip'), signal);
    if (signal.aborted) return;
    this.#source = source;
    this.#pages = new RecordingPages(source, (layer) => (layer === 'signal' ? this.#draw('page') : this.#draw('page', 'strip')));
    if (source.stream.channels.length === 0) {
      this.#setState('empty');
      return;
    }
    this.#atMs = NaN;
    this.#hovered = null;
    this.#readSettings();
    this.#setState('ready');
    this.#loadMarks(source, signal);
    this.#follow(source, signal);
  }

  /** Until they are here. */
  #loadMarks(source: RecordingSource, signal: AbortSignal): void {
    this.#marksAskedMs = performance.now();
    this.#readMarks(source, signal).then(
      () => {
        this.#marksRetry.stop();
        this.#setLacking('marks', false);
      },
      (error: unknown) => {
        if (signal.aborted || source !== this.#source) return;
        this.#setLacking('marks', true);
        this.#marksRetry.later(error, () => this.#loadMarks(source, signal));
      },
    );
  }

  /** An answer that comes later than one to a later question is left: it may lack what was saved in between. */
  async #readMarks(source: RecordingSource, signal: AbortSignal): Promise<void> {
    const question = ++this.#marksQuestion;
    const marks = await source.marks(signal, this.titleOf);
    if (signal.aborted || source !== this.#source || question < this.#marksAnswered) return;
    [this.#marks, this.#areMarksRead, this.#marksAnswered] = [marks, true, question];
    this.requestUpdate();
    this.#draw();
  }

  /** While it is being recorded, what comes is added at its end; what is shown stays where it is. Who may no longer see the recording,
   *  because its person has withdrawn a consent or was erased, or the session has ended, is shown nothing more of it. */
  #follow(source: RecordingSource, signal: AbortSignal): void {
    this.#refreshTimer = setTimeout(
      () => {
        void source
          .refresh(signal)
          .then((fromMs) => {
            if (fromMs === null || signal.aborted) return;
            this.#pages?.renewAfter(fromMs);
            this.#whole?.load();
            this.#draw();
            if (performance.now() - this.#marksAskedMs > MARKS_MS) this.#loadMarks(source, signal);
            if (this.#day?.day != null && this.#day.day[1] > fromMs) this.#day.load();
            this.requestUpdate();
          })
          .then(
            () => this.#setUpToDate(true),
            (error: unknown) => {
              if (signal.aborted) return;
              if (!isRefusal(error)) return this.#setUpToDate(false);
              this.#close();
              this.#fail(error);
            },
          )
          .finally(() => {
            if (!signal.aborted) this.#follow(source, signal);
          });
      },
      source.goesOn ? REFRESH_MS : LOOK_MS,
    );
  }

  /** The last question for what is new had an answer. */
  #isUpToDate = true;

  /** Views of which something could not be read; and marks. */
  readonly #lacking = new Set<View | 'marks'>();

  #setLacking(what: View | 'marks', isLacking: boolean): void {
    if (isLacking === this.#lacking.has(what)) return;
    if (isLacking) this.#lacking.add(what);
    else this.#lacking.delete(what);
    this.requestUpdate();
  }

  /** All that could not be read: also what was refused, which is not asked for by itself. */
  #askAgain(source: RecordingSource): void {
    source.askAgain();
    this.#pages?.askAgain();
    for (const overview of [this.#whole, this.#day]) if (overview?.isLacking === true) overview.load();
    if (this.#lacking.has('marks')) this.#loadMarks(source, this.#opening!.signal);
    this.#draw();
  }

  #setUpToDate(isUpToDate: boolean): void {
    if (isUpToDate === this.#isUpToDate) return;
    this.#isUpToDate = isUpToDate;
    this.requestUpdate();
  }

  #setState(state: WidgetState): void {
    const isNew = state !== this.#state;
    this.#state = state;
    this.dataset['state'] = state;
    if (isNew) this.emit('bio:state', { state });
    this.requestUpdate();
  }

  /** What the attributes say, within what there is.  @param changed the one that has changed; none: all */
  #readSettings(changed?: string): void {
    const source = this.#source!;
    const among = <T extends number>(name: string, list: readonly T[], fallback: T): T =>
      list.find((one) => one === Number(this.getAttribute(name))) ?? fallback;
    const settings: Readonly<Record<string, () => void>> = {
      speed: () => (this.#speed = among('speed', speeds, 25)),
      gain: () => (this.#gains.all = among('gain', gains, 10)),
      row: () => (this.#rowSec = among('row', rowLengths, 60)),
      channels: () => this.#readChannels(source),
      at: () => this.#readPlace(source),
    };
    for (const [name, read] of Object.entries(settings)) if (changed === undefined || changed === name) read();
    this.#draw();
  }

  #readChannels({ stream: { channels } }: RecordingSource): void {
    const wanted = (this.getAttribute('channels') ?? '').split(',').filter((code) => channels.some((channel) => channel.code === code));
    const ecg = channels.filter(({ kind }) => kind === 'ecg');
    const usual = (ecg.length > 0 ? ecg : channels).slice(0, 2).map(({ code }) => code);
    this.#channels = (wanted.length > 0 ? wanted : usual).slice(0, LANES_MAX);
    if (!this.#channels.includes(this.#signal)) this.#signal = '';
  }

  #readPlace(source: RecordingSource): void {
    const at = Date.parse(this.getAttribute('at') ?? '');
    if (!Number.isNaN(at)) [this.#atMs, this.#isAtStart] = [at, false];
    else if (Number.isNaN(this.#atMs)) [this.#atMs, this.#isAtStart] = [source.startMs + this.#stripMs / 2, true];
    this.#atMs = this.#within(this.#atMs);
  }

  // ------------------------------------------------------------------------------------------------ for a page that saves marks

  /** Reads episodes and annotations again, after a change. */
  async refreshMarks(): Promise<void> {
    const source = this.#source;
    if (source === null) return;
    await this.#readMarks(source, new AbortController().signal);
  }

  /** Shows a moment or a stretch as picked, so that it can be changed. @param from ISO 8601 @param to null: a moment */
  showPick(from: string, to: string | null): void {
    const fromMs = Date.parse(from);
    if (this.#isMeasuring) this.#toggleCalipers();
    this.#pickMode = 'stretch';
    this.#pick = { fromMs, toMs: to === null ? fromMs : Date.parse(to), beat: null };
    this.moveTo(from);
    this.requestUpdate();
  }

  /** Nothing is picked any more. */
  clearPick(): void {
    this.#pick = null;
    this.#message = '';
    this.requestUpdate();
  }

  /** The keyboard goes to the strip, once it is there. */
  override focus(options: FocusOptions = {}): void {
    const views = this.root.querySelector<HTMLElement>('.views');
    this.#focusWanted = views === null ? options : null;
    views?.focus(options);
  }

  /** @param time ISO 8601, to the middle of the strip */
  moveTo(time: string): void {
    this.#moveTo(Date.parse(time));
  }

  get #isMarking(): boolean {
    return this.hasAttribute('marking');
  }

  #setPick(pick: Pick | null, done = false): void {
    this.#pick = pick;
    this.#message = pick === null ? '' : this.#words.picked(pick);
    this.#draw();
    this.requestUpdate();
    this.emit('bio:recording-pick', pick === null ? null : pickDetail(pick, done));
  }

  /** The beat under the pointer, whatever is being picked. */
  #hover(event: PointerEvent): void {
    const beat = nearestBeat(this.#beats, this.#timeAt(event)) ?? null;
    if (beat === this.#hovered) return;
    this.#hovered = beat;
    this.requestUpdate();
  }

  /** By keyboard: the next beat after the one that is picked, or the one in the middle, or the next after the middle. */
  #pickNextBeat(forward: boolean): void {
    if (this.#isMeasuring) this.#toggleCalipers();
    this.#pickMode = 'beat';
    const before = this.#pick !== null && this.#pick.beat !== null ? this.#pick.fromMs : null;
    const near = pickBeat(this.#beats, this.#atMs);
    const isNear = before === null && near.beat !== 'added';
    const next = isNear ? near : stepBeat(this.#beats, before ?? this.#atMs, forward);
    if (next === null) return;
    if (Math.abs(next.fromMs - this.#atMs) > 0.45 * this.#stripMs) this.#moveTo(next.fromMs);
    this.#setPick(next);
  }

  /** `[` and `]`: an end of the calipers, or of the stretch that is picked, comes to the middle of the strip: of what was begun last. */
  #setEnd(end: 'from' | 'to'): void {
    if (this.#calipers !== null) {
      const at = end === 'from' ? { fromMs: this.#atMs } : { toMs: this.#atMs };
      this.#set(() => (this.#calipers = { ...this.#calipers!, ...at }));
    } else if (this.#isMarking) {
      this.#pickMode = 'stretch';
      this.#setPick(setEnd(this.#pick, end, this.#atMs));
    }
  }

  // ------------------------------------------------------------------------------------------------ where one is

  #within(ms: number): number {
    const { startMs, endMs } = this.#source!;
    return Math.min(Math.max(startMs, endMs), Math.max(startMs, ms));
  }

  /** CSS pixels; 0: it is not shown yet. */
  get #stripWidth(): number {
    return this.root.querySelector('.strip')?.getBoundingClientRect().width ?? 0;
  }

  get #stripMs(): number {
    return (this.#stripWidth || 600) / pxPerMs(this.#speed);
  }

  get #page(): Page {
    return this.#pages!.at(this.#atMs, this.#rowSec);
  }

  /** Between the whole and a page lies a day, where there is more than one. */
  get #isOfDays(): boolean {
    const { startMs, endMs } = this.#source!;
    return endMs - startMs > LONG_MS;
  }

  /** The day of the clocks that has the middle of the strip. */
  get #daySpan(): readonly [number, number] {
    const fromMs = startOfDay(this.#atMs, this.#words.timeZone);
    return [fromMs, addDays(fromMs, 1, this.#words.timeZone)];
  }

  #moveDays(days: number): void {
    this.#moveTo(addDays(this.#atMs, days, this.#words.timeZone));
  }

  #moveTo(ms: number): void {
    if (this.#source === null) return;
    this.#looking?.abort();
    this.#isAtStart = false;
    this.#atMs = this.#within(ms);
    if (!this.#pointers.isDown) this.#hovered = null; // another beat is under the pointer now
    this.#forget();
    this.#draw();
    clearTimeout(this.#tellTimer);
    this.#tellTimer = setTimeout(() => this.#tell(), TOLD_AFTER_MS);
  }

  /** What was said is of where one was, or of what was looked for. */
  #forget(): void {
    if (this.#message === '') return;
    this.#message = '';
    this.requestUpdate();
  }

  /** Tells now what a moment later would be told, for a page that is about to be left. */
  tellNow(): void {
    if (this.#tellTimer !== undefined) this.#tell();
  }

  #tell(): void {
    clearTimeout(this.#tellTimer);
    this.#tellTimer = undefined;
    this.requestUpdate();
    this.emit('bio:recording-view', {
      at: new Date(this.#atMs).toISOString(),
      speed: this.#speed,
      gain: this.#gains.all,
      row: this.#rowSec,
      channels: this.#channels.join(),
    });
  }

  #set(change: () => void): void {
    change();
    this.#draw();
    this.#tell();
  }

  // ------------------------------------------------------------------------------------------------ events and ectopic beats

  async #go(forward: boolean, to: Jump = this.#jump): Promise<void> {
    this.#looking?.abort();
    const { signal } = (this.#looking = new AbortController());
    try {
      if (to === 'jumpWorst') return await this.#goWorst(forward, signal);
      const found = await this.#find(forward, to, signal);
      const stretch = to === 'jumpQuality' && typeof found === 'number' ? await this.#stretchAt(found, signal) : null;
      if (signal.aborted) return; // they are elsewhere by now
      if (typeof found === 'number') this.#moveTo(found);
      if (stretch !== null) this.#say(this.#words.stretch(stretch));
      else if (typeof found !== 'number') this.#say(this.#words.say(found ?? 'noMore'));
    } catch {
      if (!signal.aborted) this.#say(this.#words.say('notSought')); // that there are no more is not known
    }
  }

  async #find(forward: boolean, to: TimedJump, signal: AbortSignal): Promise<number | 'noneHere' | 'notJudged' | null> {
    const source = this.#source;
    if (source === null) return null;
    if (to === 'jumpQuality' && !source.isJudged(this.#channels[0]!)) return 'notJudged';
    const marks = this.#areMarksRead ? this.#marks : await source.marks(signal, this.titleOf);
    const shown = {
      channel: this.#channels[0]!,
      envelope: this.#whole?.envelope ?? null,
      quality: this.#whole?.quality ?? null,
      marks,
      text: this.#jumpText,
    };
    return await findOrNone(source, shown, to, { fromMs: this.#atMs, forward, signal });
  }

  async #stretchAt(fromMs: number, signal: AbortSignal): Promise<BadStretch | null> {
    const source = this.#source!;
    const found = await stretchFrom(fromMs, (...part) => source.judged(this.#channels[0]!, ...part, signal));
    return found === null ? null : within(found, source);
  }

  /** To the worst stretch, then to the next worst: not by its time, and said which it is. */
  async #goWorst(forward: boolean, signal: AbortSignal): Promise<void> {
    if (this.#source === null) return;
    // It may not have been read, or not have come yet.
    const whole = this.#overviewOf(this.#source);
    const quality = (whole.quality ??= await this.#source.quality(whole.channel, signal));
    if (quality === null) return this.#say(this.#words.say('notJudged'));
    const found = await this.#worst.step(this.#source, quality, forward, signal);
    if (signal.aborted) return;
    if (found === null) return this.#say(this.#words.say(this.#worst.isEmpty ? 'noneHere' : 'noMore'));
    this.#moveTo(found.stretch.fromMs);
    this.#say(this.#words.worst(found.stretch, found.rank, found.count));
  }

  #say(message: string): void {
    this.#message = message;
    this.requestUpdate();
  }

  // ------------------------------------------------------------------------------------------------ gestures

  #key(event: KeyboardEvent): void {
    if (this.#source === null) return;
    const action = actionOf(event, this.#keyed(this.#source));
    if (action === null) return;
    event.preventDefault();
    action();
  }

  #keyed({ startMs, endMs }: RecordingSource): Keyed {
    const stepsMs = { strip: this.#stripMs, row: this.#rowSec * 1000, page: pageMs(this.#page), fine: FINE_MS } as const;
    return {
      signalCount: this.#channels.length,
      isMarking: this.#isMarking,
      move: (by, times) => this.#moveTo(this.#atMs + times * stepsMs[by]),
      toEnd: (end) => this.#moveTo(end === 'from' ? startMs : endMs),
      moveDays: (days) => this.#moveDays(days),
      more: (by) => this.#set(() => this.#more(by)),
      go: (forward, to) => void this.#go(forward, to),
      toTime: () => this.root.querySelector<HTMLElement>('.goto input[type=datetime-local]')?.focus(),
      calipers: () => this.#set(() => this.#toggleCalipers()),
      setEnd: (end) => this.#setEnd(end),
      chooseSignal: (digit) => this.#set(() => (this.#signal = digit === 0 ? '' : this.#channels[digit - 1]!)),
      mark: (beat) => this.#markMiddle(beat),
      nextBeat: (forward) => this.#pickNextBeat(forward),
      goOn: this.#isMeasuring ? () => this.#pickMeasured() : this.#pick === null ? null : () => this.#setPick(this.#pick, true),
      escape: this.#escape,
    };
  }

  /** `+` and `-`: of the chosen signal its gain; without one the speed. */
  #more(by: number): void {
    if (this.#signal === '') this.#speed = nextOf(speeds, this.#speed, by);
    else this.#gains.set(this.#signal, nextOf(gains, this.#gains.of(this.#signal), by));
  }

  #markMiddle(beat: 'added' | null): void {
    if (this.#isMeasuring) this.#toggleCalipers();
    this.#pickMode = beat === null ? 'stretch' : 'beat';
    this.#setPick({ fromMs: this.#atMs, toMs: this.#atMs, beat });
  }

  /** What is between the calipers is picked. */
  #pickMeasured(): void {
    const { fromMs, toMs } = this.#calipers!;
    this.#toggleCalipers();
    this.#pickMode = 'stretch';
    this.#setPick({ fromMs: Math.min(fromMs, toMs), toMs: Math.max(fromMs, toMs), beat: null }, true);
  }

  /** Ends what was begun last: calipers, what is picked, the choice of a signal; null: there is none. */
  get #escape(): (() => void) | null {
    if (this.#isMeasuring) return () => this.#set(() => this.#toggleCalipers());
    if (this.#pick !== null) return () => this.#setPick(null);
    return this.#signal === '' ? null : () => this.#set(() => (this.#signal = ''));
  }

  #toggleCalipers(): void {
    this.#isMeasuring = !this.#isMeasuring;
    this.#calipers = this.#isMeasuring ? { fromMs: this.#atMs - 400, toMs: this.#atMs + 400, marchOut: false } : null;
  }

  /** Time under a pointer of the strip. */
  #timeAt(event: PointerEvent): number {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    return this.#atMs - this.#stripMs / 2 + (event.clientX - box.left) / pxPerMs(this.#speed);
  }

  readonly #pointers = new StripPointers({
    timeAt: (event) => this.#timeAt(event),
    // Shift measures, whatever else is on.
    does: (event) => (this.#isMeasuring || event.shiftKey ? 'measure' : this.#pickMode === 'stretch' ? 'pick' : 'move'),
    begin: (does, at) => {
      this.#before = { isMeasuring: this.#isMeasuring, calipers: this.#calipers, pick: this.#pick };
      if (does === 'measure') {
        this.#isMeasuring = true;
        this.#calipers = { marchOut: this.#calipers?.marchOut ?? false, fromMs: at, toMs: at };
      } else if (does === 'pick') this.#pick = { fromMs: this.#within(at), toMs: this.#within(at), beat: null };
    },
    takeBack: (does) => {
      if (does === 'move') return;
      const { isMeasuring, calipers, pick } = this.#before!;
      this.#set(() => ([this.#isMeasuring, this.#calipers, this.#pick] = [isMeasuring, calipers, pick]));
    },
    go: (does, at, px) => {
      if (does === 'measure') this.#calipers = { ...this.#calipers!, toMs: at };
      else if (does === 'pick') this.#pick = { ...this.#pick!, toMs: this.#within(at) };
      else this.#moveTo(this.#atMs - px / pxPerMs(this.#speed));
      this.#draw();
    },
    end: (does, at, isStill) => {
      if (does === 'measure') this.#tell();
      else if (does === 'pick' && this.#pick !== null) {
        const { fromMs, toMs } = this.#pick;
        this.#setPick({ fromMs, toMs: isStill ? fromMs : toMs, beat: null });
      } else if (this.#pickMode === 'beat' && isStill) this.#setPick(pickBeat(this.#beats, this.#within(at)));
    },
    hover: (event) => this.#hover(event),
    pinch: (by) => this.#set(() => (this.#speed = nextOf(speeds, this.#speed, by))),
  });
  /** What was measured and picked when a pointer came down. */
  #before: Readonly<{ isMeasuring: boolean; calipers: Calipers | null; pick: Pick | null }> | null = null;

  #wheel(event: WheelEvent): void {
    event.preventDefault();
    if (event.ctrlKey) this.#set(() => (this.#speed = nextOf(speeds, this.#speed, event.deltaY < 0 ? 1 : -1)));
    else this.#moveTo(this.#atMs + (event.deltaX + event.deltaY) / pxPerMs(this.#speed));
  }

  #pickIn(event: PointerEvent, [fromMs, toMs]: readonly [number, number]): void {
    if ((event.buttons & 1) === 0) return;
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    this.#moveTo(Math.min(toMs - 1, Math.max(fromMs, fromMs + ((event.clientX - left) / width) * (toMs - fromMs))));
  }

  /** The frame of the page follows the wheel, from day to day. */
  #wheelDay(event: WheelEvent): void {
    event.preventDefault();
    const [fromMs, toMs] = this.#daySpan;
    const { width } = (event.currentTarget as Element).getBoundingClientRect();
    this.#moveTo(this.#atMs + ((event.deltaX + event.deltaY) * (toMs - fromMs)) / width);
  }

  #pickRow(event: PointerEvent): void {
    if (this.#source === null || event.button !== 0) return;
    const { left, top, width, height } = (event.currentTarget as Element).getBoundingClientRect();
    const { fromMs, rowMs, count } = this.#page;
    const row = Math.min(count - 1, Math.max(0, Math.floor(((event.clientY - top) / height) * count)));
    const along = Math.min(1, Math.max(0, (event.clientX - left - 64) / (width - 64)));
    this.#moveTo(fromMs + (row + along) * rowMs);
  }

  // ------------------------------------------------------------------------------------------------ drawing

  /** @param views to redraw; none: all */
  #draw(...views: readonly View[]): void {
    for (const view of views.length === 0 ? allViews : views) this.#toDraw.add(view);
    if (this.#queued !== 0) return;
    this.#queued = requestAnimationFrame(() => {
      this.#queued = 0;
      if (this.isConnected && this.#source !== null) this.#drawViews(this.#source);
    });
  }

  protected override rendered(): void {
    if (this.#focusWanted !== null) this.focus(this.#focusWanted);
    this.#keepAbove();
    if (this.#source !== null) this.#below = this.#onPaper + this.#measured();
    const sizes = [...this.root.querySelectorAll('canvas')].map(({ offsetWidth, offsetHeight }) => `${offsetWidth} ${offsetHeight}`).join();
    if (sizes !== this.#sizes) this.#draw();
    this.#sizes = sizes;
  }

  /** Width of the viewer, and how high the words below the strip have been at it, px. */
  #wordsBox: readonly [width: number, height: number] = [0, 0];

  /** The strip stays above the words, however many they are. It does not go back when they are fewer: it would move under the pointer
   *  whose beat is told. */
  #keepAbove(): void {
    const height = this.root.querySelector<HTMLElement>('.reading')?.offsetHeight ?? 0;
    const [width, before] = this.#wordsBox;
    this.#wordsBox = [this.offsetWidth, this.offsetWidth === width ? Math.max(before, height) : height];
    this.root.querySelector<HTMLElement>('.views')?.style.setProperty('--_words', `${this.#wordsBox[1]}px`);
  }

  #colors(): Colors {
    const of = (token: string): string => tokenColor(this.root, token);
    return {
      ink: of('--_ink'),
      muted: of('--_muted'),
      surface: of('--_surface'),
      minor: of('--_grid-minor'),
      major: of('--_grid-major'),
      trace: of('--_trace'),
      accent: of('--_accent'),
      suspect: of('--_suspect'),
      bad: of('--_bad'),
      line: of('--_line'),
    };
  }

  #drawViews(source: RecordingSource): void {
    if (this.#isAtStart && this.#stripWidth > 0) {
      this.#isAtStart = false;
      this.#atMs = this.#within(source.startMs + this.#stripMs / 2);
      this.requestUpdate();
    }
    const views = new Set(this.#toDraw);
    this.#toDraw.clear();
    const colors = this.#colors();
    const half = this.#stripMs / 2;
    const strip = [this.#atMs - half, this.#atMs + half] as const;
    const shown = this.#page;
    const qualities = this.#pages!.qualities(shown, this.#channels[0]!);
    if (views.has('wholes')) this.#drawWholes(source, colors, [shown.fromMs, shown.fromMs + pageMs(shown)], strip);
    if (views.has('page')) this.#drawPage(colors, shown, qualities, strip);
    if (views.has('strip')) this.#drawStrip(source, colors, qualities, strip);
  }

  #surface(name: string, colors: Colors): Surface | null {
    const canvas = this.root.querySelector<HTMLCanvasElement>(`canvas.${name}`);
    return canvas === null ? null : surfaceOf(canvas, colors);
  }

  /** The whole recording, and a day of one of days. */
  #drawWholes(source: RecordingSource, colors: Colors, page: Span, strip: Span): void {
    const daySpan = this.#isOfDays ? this.#daySpan : null;
    const draw = (name: string, overview: RecordingOverview, [startMs, endMs]: Span, frame: Span): void => {
      const surface = this.#surface(name, colors);
      if (surface === null) return;
      const { envelope, quality, rate, isUnread } = overview;
      const unread = isUnread ? this.#words.say('notRead') : '';
      const ticks = (fromMs: number, toMs: number, width: number): Tick[] => this.#words.ticks(fromMs, toMs, width);
      drawWhole(surface, { unread, startMs, endMs, envelope, quality, rate, marks: this.#marks, page: frame, strip, ticks });
    };
    draw('whole', this.#overviewOf(source), [source.startMs, source.endMs], daySpan ?? page);
    if (daySpan !== null) draw('day', this.#dayAt(source, daySpan), daySpan, page);
    this.#setLacking(
      'wholes',
      [this.#whole, this.#day].some((overview) => overview?.isLacking === true),
    );
  }

  #drawPage(colors: Colors, shown: Page, qualities: readonly Quality[], strip: Span): void {
    this.root.querySelector<HTMLElement>('.rows')?.style.setProperty('--_rows', String(shown.count));
    const rows = this.#surface('rows', colors);
    if (rows === null) return;
    const envelopes = this.#pages!.envelopes(shown, this.#channels[0]!);
    const absent = this.#pages!.absent(shown, this.#channels[0]!);
    const isUnread = absent.some(({ why }) => why === 'failed');
    if (isUnread !== this.#isPageUnread) {
      this.#isPageUnread = isUnread;
      this.requestUpdate();
    }
    this.#setLacking('page', this.#pages!.isUnread(shown, this.#channels[0]!));
    const words = { loading: this.text('loading'), failed: this.#words.say('notRead') } as const;
    drawRows(rows, {
      ...shown,
      envelopes,
      absent: absent.map(({ fromMs, toMs, why }) => ({ fromMs, toMs, word: words[why] })),
      marks: this.#marks,
      strip,
      qualities,
      time: (ms) => this.#words.clock(ms, false),
      date: (ms) => this.#words.date(ms),
      name: this.#source!.names.get(this.#channels[0]!) ?? this.#channels[0]!,
    });
    this.#pages!.prefetch(this.#channels[0]!);
  }

  #drawStrip(source: RecordingSource, colors: Colors, qualities: readonly Quality[], span: Span): void {
    this.root.querySelector<HTMLElement>('.strip')?.style.setProperty('--_lanes', String(this.#channels.length));
    const paper = this.#surface('strip', colors);
    if (paper === null) return;
    if (!matchMedia('print').matches) this.root.querySelector<HTMLElement>('.strip')!.style.setProperty('--_wide', `${paper.width}px`);
    const rates = this.#channels.map((code) => source.stream.channels.find((channel) => channel.code === code)!.rate_hz);
    const found = tilesOf(source, span, 1000 / Math.min(...rates));
    this.#isUnread = found.absent.some(({ why }) => why === 'failed');
    this.#setLacking('strip', this.#isUnread);
    this.#isWaiting = found.absent.some(({ why }) => why === 'loading');
    const words = { loading: this.text('loading'), failed: this.#words.say('notRead') } as const;
    const absent = found.absent.map(({ fromMs, toMs, why }) => ({ fromMs, toMs, word: words[why] }));
    const segments = found.tiles.flatMap((tile) => tile.segments).map((one) => (this.#isFiltered ? filtered(one) : one));
    this.#beats = found.tiles.flatMap((tile) => tile.beats);
    this.#shown = segments;
    this.#readSoon();
    drawStrip(paper, {
      fromMs: span[0],
      speed: this.#speed,
      gain: this.#gains.all,
      lanes: this.#channels.map((code) => {
        const { kind, unit } = source.stream.channels.find((channel) => channel.code === code)!;
        return {
          channel: code,
          kind,
          label: this.#laneName(code, unit),
          gain: this.#gains.of(code),
          zoom: this.#gains.of(code) / USUAL_GAIN,
          isChosen: code === this.#signal,
          segments: segments.filter(({ channel }) => channel === code),
        };
      }),
      beats: this.#beats,
      corrected: this.#marks.some(({ beat }) => beat !== null) ? correctBeats(this.#beats, this.#marks, span) : null,
      pick: this.#pick,
      hasMiddle: this.#pickMode !== 'off' || this.#calipers !== null,
      words: { computed: this.#words.say('rowComputed'), corrected: this.#words.say('rowCorrected') },
      marks: this.#marks,
      calipers: this.#calipers,
      qualities,
      absent,
      gap: this.#words.say('gap'),
    });
  }

  #laneName(code: string, unit: string): string {
    const name = this.#source!.names.get(code) ?? code;
    return [name, unitLabel(unit), this.#gains.own(code)].filter((word) => word !== '').join(' · ');
  }

  get #laneNames(): readonly string[] {
    const { channels } = this.#source!.stream;
    return this.#channels.map((code) => this.#laneName(code, channels.find((one) => one.code === code)?.unit ?? ''));
  }

  /** Of the first channel of the strip; heart rate is the same of all. */
  #overviewOf(source: RecordingSource): RecordingOverview {
    const [before, channel] = [this.#whole, this.#channels[0]!];
    if (before?.channel === channel) return before;
    before?.close();
    const whole = new RecordingOverview(source, channel, null, () => this.#draw('wholes'));
    whole.rate = before?.rate ?? null;
    return (this.#whole = whole);
  }

  #dayAt(source: RecordingSource, span: Span): RecordingOverview {
    const channel = this.#channels[0]!;
    const before = this.#day?.day?.[0] === span[0] ? this.#day : null;
    if (before?.channel === channel) return before;
    this.#day?.close();
    const day = new RecordingOverview(source, channel, span, () => this.#draw('wholes'));
    day.rate = before?.rate ?? null;
    return (this.#day = day);
  }

  /** The words change once it stands still: a trace that is dragged tells nothing. */
  #readSoon(): void {
    clearTimeout(this.#readTimer);
    this.#readTimer = setTimeout(() => {
      if (this.#source === null) return;
      const [reading, below, letters] = [this.#reading(), this.#onPaper + this.#measured(), this.#words.letters(this.#inStrip)];
      if (reading === this.#read && below === this.#below && letters === this.#letters) return;
      [this.#read, this.#letters] = [reading, letters];
      this.requestUpdate();
    }, TOLD_AFTER_MS);
  }

  #read = '';
  /** What the letters above the beats say. */
  #letters = '';
  /** What is below the strip of it, as it was written last. */
  #below = '';
  /** A part of the strip could not be read. */
  #isUnread = false;
  #isWaiting = false;
  #readTimer: ReturnType<typeof setTimeout> | undefined;
  #beats: readonly Beat[] = [];
  #shown: readonly Segment[] = [];

  // ------------------------------------------------------------------------------------------------ words

  #wordsOf: Readonly<{ key: string; words: RecordingWords }> | null = null;

  get #words(): RecordingWords {
    const key = `${this.locale} ${this.setting('tz')}`;
    if (this.#wordsOf?.key !== key) this.#wordsOf = { key, words: new RecordingWords(this.locale, this.timeZone) };
    return this.#wordsOf.words;
  }

  get #inStrip(): readonly Beat[] {
    return this.#beats.filter(({ timeMs }) => Math.abs(timeMs - this.#atMs) < this.#stripMs / 2);
  }

  /** Where one is, in words: for those who do not see the trace, and for everybody. */
  #reading(): string {
    const [inStrip, source] = [this.#inStrip, this.#source];
    const isAhead = source?.goesOn === true && inStrip.length === 0 && this.#atMs + this.#stripMs / 2 > source.endMs - COMPUTED_AFTER_MS;
    const missing = this.#isUnread
      ? this.#words.say('notRead')
      : this.#isWaiting
        ? this.text('loading')
        : isAhead
          ? this.#words.say('notComputed')
          : null;
    return this.#words.reading(this.#atMs, inStrip, missing);
  }

  get #onPaper(): string {
    return this.#words.onPaper(this.#atMs, this.#laneNames, this.#speed, this.#gains.all, this.#beats);
  }

  #measured(): string {
    const first = this.#shown.filter(({ channel }) => channel === this.#channels[0]);
    return this.#calipers === null ? '' : this.#words.measured(this.#calipers, first);
  }

  /** A time that is being typed is one of its own after each figure: what is not of the recording is left as it is. */
  #goTo({ valueAsNumber: wallMs, validity }: HTMLInputElement): void {
    const isHere = Math.floor(wallTime(this.#atMs, this.#words.timeZone) / 1000) * 1000 === wallMs;
    if (!validity.valid || Number.isNaN(wallMs) || isHere || this.#source === null) return;
    const ms = this.#words.timeOf(wallMs, this.#atMs, this.#source.startMs, this.#source.endMs);
    if (ms !== null) this.#moveTo(ms);
  }

  // ------------------------------------------------------------------------------------------------ the page

  protected override template(): TemplateResult {
    if (this.#state !== 'ready' || this.#source === null) {
      if (this.#state === 'loading') return html`<div class="skeleton" aria-label=${this.text('loading')} role="status"></div>`;
      const words = {
        empty: this.#words.say('noRecording'),
        unauthorized: this.text('unauthorized'),
        offline: this.text('offlineEmpty'),
      } as const;
      return html`<p class="note" role="status">
        ${words[this.#state as keyof typeof words] ?? this.text('error')}
        ${this.#state === 'empty' ? nothing : html`<button type="button" @click=${() => this.#open()}>${this.text('retry')}</button>`}
      </p>`;
    }
    const { stream, startMs, endMs } = this.#source;
    const range = `${this.#words.clock(startMs, true)} – ${this.#words.clock(endMs, true)}`;
    return html`<section aria-label=${this.#words.say('recordingLabel', { device: stream.device_id, range })}>
      ${this.#bar(this.#source)}
      <div class="views" tabindex="0" role="group" aria-label=${this.#hint()} @keydown=${(event: KeyboardEvent) => this.#key(event)}>
        <canvas
          class="whole"
          role="img"
          aria-label=${this.#words.say('wholeRecording')}
          @pointerdown=${(event: PointerEvent) => this.#pickIn(event, [startMs, endMs])}
          @pointermove=${(event: PointerEvent) => this.#pickIn(event, [startMs, endMs])}
        ></canvas>
        ${this.#isOfDays ? this.#dayCanvas() : nothing}
        <canvas
          class="rows"
          role="img"
          aria-label=${this.#pageLabel}
          @pointerdown=${(event: PointerEvent) => this.#pickRow(event)}
        ></canvas>
        <canvas
          class="strip ${this.#channels.length <= STAYS_MAX ? 'stays' : ''}"
          part="strip"
          role="img"
          aria-label=${this.#words.say('stripLabel', {
            seconds: this.#words.number(this.#stripMs / 1000, 1),
            time: this.#words.clock(this.#atMs - this.#stripMs / 2, true),
            speed: this.#speed,
            gain: this.#gains.all,
          })}
          @pointerdown=${(event: PointerEvent) => this.#pointers.down(event)}
          @pointermove=${(event: PointerEvent) => this.#pointers.move(event)}
          @pointerup=${(event: PointerEvent) => this.#pointers.up(event)}
          @pointercancel=${(event: PointerEvent) => this.#pointers.up(event)}
          @pointerleave=${(event: PointerEvent) => {
            if (event.pointerType === 'mouse') this.#hovered = null;
            this.requestUpdate();
          }}
          @wheel=${(event: WheelEvent) => this.#wheel(event)}
        ></canvas>
      </div>
      <p class="on-paper">${this.#onPaper}</p>
      <div class="reading">
        <p class="read" role="status">${this.#read}</p>
        <p class="said" role="status">${this.#message}</p>
        ${this.#lacking.size === 0 ? nothing : this.#unreadNote(this.#source)}
        <p class="measured">${this.#measured()}</p>
        <p class="hovered">${this.#hovered === null ? '' : this.#words.beat(this.#hovered)}</p>
        ${this.#isUpToDate ? nothing : html`<p class="warn" role="status">${this.text('offline')}</p>`}
        ${this.#source.goesOn && this.#isUpToDate ? html`<p>${this.#words.say('goesOn', { time: this.#words.clock(endMs, false) })}</p>` : nothing}
        ${this.#isFiltered ? html`<p class="warn">${this.#words.say('filterOn')}</p>` : nothing}
        ${this.#cuts().map((cut) => html`<p>${cut}</p>`)}
        <p class="muted letters">${this.#letters}</p>
        <p class="muted">${this.#words.say('notDiagnosis')}</p>
      </div>
    </section>`;
  }

  #unreadNote(source: RecordingSource): TemplateResult {
    return html`<p class="unread">
      ${this.#words.say('partUnread')}
      <button type="button" class="quiet" @click=${() => this.#askAgain(source)}>${this.text('retry')}</button>
    </p>`;
  }

  /** Of which marks there are more than are shown. */
  #cuts(): readonly string[] {
    return (['event', 'annotation', 'episode'] as const).flatMap((of) => {
      const ms = this.#source?.cutOf(of) ?? null;
      if (ms === null) return [];
      const count = this.#words.number(this.#marks.filter(({ source }) => source === of).length, 0);
      return this.#words.say(of === 'episode' ? 'cutBefore' : 'cutAfter', { count, time: this.#words.clock(ms, true) });
    });
  }

  get #pageLabel(): string {
    const values = { minutes: this.#words.number(pageMs(this.#page) / 60_000, 0, 1), seconds: this.#rowSec };
    const label = this.#words.say('disclosure', values);
    return this.#isPageUnread ? `${label}: ${this.#words.say('notRead')}` : label;
  }

  #hint(): string {
    const keys = [
      'stripHint',
      ...(this.#channels.length > 1 ? (['signalHint'] as const) : []),
      ...(this.#isOfDays ? (['dayHint'] as const) : []),
      ...(this.#isMarking ? (['markHint'] as const) : []),
    ] as const;
    return keys.map((key) => this.#words.say(key)).join('. ');
  }

  #dayCanvas(): TemplateResult {
    const pick = (event: PointerEvent): void => {
      if (event.type === 'pointerdown') this.#heldDay = this.#daySpan;
      this.#pickIn(event, this.#heldDay);
    };
    return html`<canvas
      class="whole day"
      role="img"
      aria-label=${this.#words.say('wholeDay', { date: this.#words.date(this.#daySpan[0]) })}
      @pointerdown=${pick}
      @pointermove=${pick}
      @wheel=${(event: WheelEvent) => this.#wheelDay(event)}
    ></canvas>`;
  }

  #bar(source: RecordingSource): TemplateResult {
    return recordingBar(
      {
        source,
        words: this.#words,
        atMs: this.#atMs,
        speed: this.#speed,
        gains: this.#gains,
        signal: this.#signal,
        rowSec: this.#rowSec,
        channels: this.#channels,
        jump: this.#jump,
        jumpText: this.#jumpText,
        marks: this.#marks,
        pickMode: this.#isMarking ? this.#pickMode : null,
        isFiltered: this.#isFiltered,
        isMeasuring: this.#isMeasuring,
        marchOut: this.#calipers?.marchOut ?? null,
        isOfDays: this.#isOfDays,
      },
      this.#barActs,
    );
  }

  readonly #barActs: BarActs = {
    speed: (one) => this.#set(() => (this.#speed = one)),
    gain: (one) => this.#set(() => this.#gains.set(this.#signal, one)),
    signal: (code) => this.#set(() => (this.#signal = code)),
    row: (seconds) => this.#set(() => (this.#rowSec = seconds)),
    channels: (codes) =>
      this.#set(() => {
        this.#channels = codes;
        if (!codes.includes(this.#signal)) this.#signal = '';
      }),
    jump: (to) => {
      this.#looking?.abort();
      this.#jump = to;
      this.#worst.restart();
      this.#forget();
      this.requestUpdate(); // events have a field of their own
    },
    jumpText: (text) => {
      this.#looking?.abort();
      this.#jumpText = text;
      this.#forget();
    },
    go: (forward) => void this.#go(forward),
    pick: (mode) => {
      this.#pickMode = mode;
      if (mode === 'off') this.#setPick(null);
      else if (this.#isMeasuring) this.#toggleCalipers();
      this.#set(() => undefined);
    },
    filter: () => this.#set(() => (this.#isFiltered = !this.#isFiltered)),
    measure: () => this.#set(() => this.#toggleCalipers()),
    marchOut: () => this.#set(() => (this.#calipers = this.#calipers && { ...this.#calipers, marchOut: !this.#calipers.marchOut })),
    moveTo: (ms) => this.#moveTo(ms),
    moveDays: (days) => this.#moveDays(days),
    goTo: (input) => this.#goTo(input),
    goneTo: (input) => {
      this.#goTo(input);
      input.value = this.#words.local(this.#atMs);
    },
    leave: () => this.focus(),
  };
}

define('bio-recording', BioRecording);
