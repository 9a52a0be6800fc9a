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
 *  @fires bio:recording-marks - others have marked it, or changed what is marked, while it is open: null. Looked for every 30 s
 *  @fires bio:recording-pick - {from, to, beat, done}: what was picked on the strip; null: nothing any more */
import { BioElement, define, html, nothing } from '../shared/base.ts';
import type { TemplateResult, WidgetState } from '../shared/base.ts';
import { addDays, startOfDay, wallTime } from '../shared/days.ts';
import type { Session } from '../shared/session.ts';
import { nearestBeat } from './corrected-beats.ts';
import { Retry } from '../shared/ask-again.ts';
import { JumpSearch } from './jump-search.ts';
import { OpenRecording } from './open-recording.ts';
import type { View } from './open-recording.ts';
import { recordingBar } from './recording-bar.ts';
import type { BarActs } from './recording-bar.ts';
import { RecordingCanvases } from './recording-canvases.ts';
import { recordingCss } from './recording-css.ts';
import { pxPerMs } from './recording-draw.ts';
import { actionOf } from './recording-keys.ts';
import type { Keyed } from './recording-keys.ts';
import { pageMs } from './recording-pages.ts';
import type { Page } from './recording-pages.ts';
import { pickBeat, pickDetail, setEnd } from './recording-pick.ts';
import type { Pick, PickMode } from './recording-pick.ts';
import { boxOf, StripPointers, timeAlong, timeInRows } from './recording-pointers.ts';
import type { Jump } from './recording-seek.ts';
import type { Beat, RecordingSource } from './recording-source.ts';
import { RecordingSettings } from './recording-settings.ts';
import { drawViews, laneName } from './recording-views.ts';
import type { StripContents } from './recording-views.ts';
import { RecordingWords } from './recording-words.ts';
import { StripSelection } from './strip-selection.ts';

/** Lanes of a strip that leaves room for others on a screen. */
const STAYS_MAX = 3;
/** What keys move by to place something exactly, ms. */
const FINE_MS = 10;
/** Beats of a recording that goes on are there after so long at the latest; without any, they are still to come. */
const COMPUTED_AFTER_MS = 60_000;
/** A pause of the pointer after which what is shown is told. */
const TOLD_AFTER_MS = 200;
const DAY_MS = 86_400_000;
/** A recording that is longer is one of days. */
const LONG_MS = 1.2 * DAY_MS;

const EMPTY: StripContents = { segments: [], beats: [], isWaiting: false };

export class BioRecording extends BioElement {
  static override styles = recordingCss;
  static observedAttributes = ['stream', 'at', 'speed', 'gain', 'row', 'channels', 'marking', 'tz', 'lang', 'theme'];
  /** Names an episode in the language of the page, where the page can: the service names its own in English. */
  titleOf = (english: string): string => english;
  #session: Session | null = null;
  #opening: AbortController | null = null;
  readonly #openRetry = new Retry();
  #recording: OpenRecording | null = null;
  #state: WidgetState = 'loading';
  readonly #canvases = new RecordingCanvases(this.root, (views) => {
    if (this.isConnected && this.#recording !== null) this.#drawViews(this.#recording, views);
  });
  #atMs = NaN;
  /** The strip is at the beginning as soon as it has a width. */
  #isAtStart = false;
  readonly #settings = new RecordingSettings((channel) => this.#source!.channelOf(channel)?.unit ?? 'mV');
  readonly #search = new JumpSearch();
  readonly #selection = new StripSelection();
  #strip = EMPTY;
  /** The beat under the pointer. */
  #hovered: Beat | null = null;
  #message = '';
  #tellTimer: ReturnType<typeof setTimeout> | undefined;
  /** The day in which a pointer came down. */
  #heldDay: readonly [number, number] = [0, 0];
  /** How, as soon as there is something to focus. */
  #focusWanted: FocusOptions | null = null;

  override connectedCallback(): void {
    super.connectedCallback();
    this.during(this.#canvases.watch());
    this.during(() => {
      clearTimeout(this.#readTimer);
      this.#openRetry.stop();
      this.#close();
    });
  }

  protected override linked(): void {
    const session = this.link?.session ?? null;
    if (session !== this.#session || this.#source === null) {
      this.#session = session;
      this.#open();
    }
    this.#canvases.draw(); // a provider has a language, a theme and a time zone, too
    this.requestUpdate();
  }

  protected override changed(name: string): void {
    if (name === 'marking') {
      this.#selection.pickBy('off');
      this.#selection.pick = null;
    } else if (['lang', 'theme', 'tz'].includes(name)) this.#canvases.draw();
    else if (this.#recording !== null && this.getAttribute('stream') === this.#recording.source.stream.id)
      this.#readSettings(this.#recording, name);
    else this.#open();
    this.requestUpdate();
  }

  get #source(): RecordingSource | null {
    return this.#recording?.source ?? null;
  }

  #close(): void {
    this.#opening?.abort();
    clearTimeout(this.#tellTimer);
    this.#tellTimer = undefined; // where one was is in no other recording
    this.#recording = null;
    this.#search.restart();
    this.#selection.restart();
    [this.#strip, this.#read, this.#letters, this.#message] = [EMPTY, '', '', ''];
  }

  /** @param isRetry the note that it could not be opened stays until it is */
  #open(isRetry = false): void {
    if (!isRetry) this.#openRetry.stop();
    this.#close();
    const [session, streamId] = [this.#session, this.getAttribute('stream') ?? ''];
    if (!isRetry) this.#setState('loading');
    if (session === null || streamId === '' || !this.isConnected) return;
    const opening = new AbortController();
    this.#opening = opening;
    void this.#load(session, streamId, opening.signal).catch((error: unknown) => {
      if (opening.signal.aborted) return;
      this.#fail(error);
      this.#openRetry.later(error, () => this.#open(true));
    });
  }

  #fail(error: unknown): void {
    const status = (error as { status?: number }).status;
    this.#setState(status === 401 ? 'unauthorized' : status === 404 ? 'empty' : status === 0 ? 'offline' : 'error');
  }

  async #load(session: Session, streamId: string, signal: AbortSignal): Promise<void> {
    const viewer = {
      draw: (...views: readonly View[]) => this.#canvases.draw(...views),
      marked: () => this.emit('bio:recording-marks', null),
      update: () => this.requestUpdate(),
      refuse: (error: unknown) => {
        this.#close();
        this.#fail(error);
      },
      titleOf: (english: string) => this.titleOf(english),
    };
    const recording = await OpenRecording.open(session, streamId, viewer, signal);
    if (recording === null) return;
    if (recording.source.stream.channels.length === 0) return this.#setState('empty');
    this.#recording = recording;
    this.#atMs = NaN;
    this.#hovered = null;
    this.#readSettings(recording);
    this.#setState('ready');
    recording.loadMarks();
    recording.follow();
  }

  #setState(state: WidgetState): void {
    const isNew = state !== this.#state;
    this.#state = state;
    this.dataset['state'] = state;
    if (isNew) this.emit('bio:state', { state });
    this.requestUpdate();
  }

  /** What the attributes say.  @param changed the one that has changed; none: all */
  #readSettings({ source }: OpenRecording, changed?: string): void {
    this.#settings.read(this, source.stream, changed);
    if (changed === undefined || changed === 'at') this.#readPlace(source);
    this.#canvases.draw();
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
    await this.#recording?.readMarks(new AbortController().signal);
  }

  /** Shows a moment or a stretch as picked, so that it can be changed. @param from ISO 8601 @param to null: a moment */
  showPick(from: string, to: string | null): void {
    const fromMs = Date.parse(from);
    if (Number.isNaN(fromMs)) return;
    this.#selection.pickBy('stretch');
    this.#selection.pick = { fromMs, toMs: to === null ? fromMs : Date.parse(to), beat: null };
    this.moveTo(from);
    this.requestUpdate();
  }

  /** Nothing is picked any more. */
  clearPick(): void {
    this.#selection.pick = null;
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
    this.#selection.pick = pick;
    this.#message = pick === null ? '' : this.#words.picked(pick);
    this.#canvases.draw();
    this.requestUpdate();
    this.emit('bio:recording-pick', pick === null ? null : pickDetail(pick, done));
  }

  /** The beat under the pointer, whatever is being picked. */
  #hover(event: PointerEvent): void {
    const beat = nearestBeat(this.#strip.beats, this.#timeAt(event)) ?? null;
    if (beat === this.#hovered) return;
    this.#hovered = beat;
    this.requestUpdate();
  }

  #pickAs(mode: PickMode, pick: Pick, done = false): void {
    this.#selection.pickBy(mode);
    this.#setPick(pick, done);
  }

  /** By keyboard: the next beat after the one that is picked, or the one in the middle, or the next after the middle. */
  #pickNextBeat(forward: boolean): void {
    this.#selection.pickBy('beat');
    const next = this.#selection.nextBeat(this.#strip.beats, this.#atMs, forward);
    if (next === null) return;
    if (Math.abs(next.fromMs - this.#atMs) > 0.45 * this.#stripMs) this.#moveTo(next.fromMs);
    this.#setPick(next);
  }

  /** `[` and `]`: an end of the calipers, or of the stretch that is picked, comes to the middle of the strip: of what was begun last. */
  #setEnd(end: 'from' | 'to'): void {
    if (this.#selection.isMeasuring) this.#set(() => this.#selection.setCaliper(end, this.#atMs));
    else if (this.#isMarking) this.#pickAs('stretch', setEnd(this.#selection.pick, end, this.#atMs));
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
    return (this.#stripWidth || 600) / pxPerMs(this.#settings.speed);
  }

  get #stripSpan(): readonly [fromMs: number, toMs: number] {
    const half = this.#stripMs / 2;
    return [this.#atMs - half, this.#atMs + half];
  }

  get #page(): Page {
    return this.#recording!.pages.at(this.#atMs, this.#settings.rowSec);
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
    if (this.#source === null || Number.isNaN(ms)) return;
    this.#search.stop();
    this.#isAtStart = false;
    this.#atMs = this.#within(ms);
    if (!this.#pointers.isDown) this.#hovered = null; // another beat is under the pointer now
    this.#forget();
    this.#canvases.draw();
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
      speed: this.#settings.speed,
      gain: this.#settings.gains.all,
      row: this.#settings.rowSec,
      channels: this.#settings.channels.join(),
    });
  }

  #set(change: () => void): void {
    change();
    this.#canvases.draw();
    this.#tell();
  }

  // ------------------------------------------------------------------------------------------------ events and ectopic beats

  async #go(forward: boolean, to: Jump = this.#search.jump): Promise<void> {
    const recording = this.#recording;
    if (recording === null) return;
    const found = await this.#search.find(forward, to, { recording, channel: this.#settings.channels[0]!, atMs: this.#atMs });
    if (found === null) return;
    if (found.atMs !== null) this.#moveTo(found.atMs);
    if (found.say !== null) this.#say(found.say(this.#words));
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
    const stepsMs = { strip: this.#stripMs, row: this.#settings.rowSec * 1000, page: pageMs(this.#page), fine: FINE_MS } as const;
    return {
      signalCount: this.#settings.channels.length,
      isMarking: this.#isMarking,
      move: (by, times) => this.#moveTo(this.#atMs + times * stepsMs[by]),
      toEnd: (end) => this.#moveTo(end === 'from' ? startMs : endMs),
      moveDays: (days) => this.#moveDays(days),
      more: (by) => this.#set(() => this.#settings.more(by)),
      go: (forward, to) => void this.#go(forward, to),
      toTime: () => this.root.querySelector<HTMLElement>('.goto input[type=datetime-local]')?.focus(),
      calipers: () => this.#toggleCalipers(),
      setEnd: (end) => this.#setEnd(end),
      chooseSignal: (digit) => this.#set(() => this.#settings.choose(digit)),
      mark: (beat) => this.#markMiddle(beat),
      nextBeat: (forward) => this.#pickNextBeat(forward),
      goOn: this.#goOn,
      escape: this.#escape,
    };
  }

  #markMiddle(beat: 'added' | null): void {
    this.#pickAs(beat === null ? 'stretch' : 'beat', { fromMs: this.#atMs, toMs: this.#atMs, beat });
  }

  /** What is between the calipers, or picked, is what was meant; null: nothing is. */
  get #goOn(): (() => void) | null {
    const { measured, pick } = this.#selection;
    if (measured !== null) return () => this.#pickAs('stretch', measured, true);
    return pick === null ? null : () => this.#setPick(pick, true);
  }

  /** Ends what was begun last: calipers, what is picked, the choice of a signal; null: there is none. */
  get #escape(): (() => void) | null {
    if (this.#selection.isMeasuring) return () => this.#toggleCalipers();
    if (this.#selection.pick !== null) return () => this.#setPick(null);
    return this.#settings.signal === '' ? null : () => this.#set(() => this.#settings.choose(0));
  }

  #toggleCalipers(): void {
    this.#set(() => this.#selection.toggleCalipers(this.#atMs));
  }

  /** Time under a pointer of the strip. */
  #timeAt(event: PointerEvent): number {
    return this.#stripSpan[0] + (event.clientX - boxOf(event).left) / pxPerMs(this.#settings.speed);
  }

  readonly #pointers = new StripPointers({
    timeAt: (event) => this.#timeAt(event),
    does: (event) => this.#selection.does(event),
    begin: (does, at) => this.#selection.begin(does, does === 'pick' ? this.#within(at) : at),
    takeBack: (does) => {
      if (does !== 'move') this.#set(() => this.#selection.takeBack());
    },
    go: (does, at, px) => {
      if (does === 'move') this.#moveTo(this.#atMs - px / pxPerMs(this.#settings.speed));
      else this.#selection.drag(does, does === 'pick' ? this.#within(at) : at);
      this.#canvases.draw();
    },
    end: (does, at, isStill) => {
      const { mode, pick } = this.#selection;
      if (does === 'measure') this.#tell();
      else if (does === 'pick' && pick !== null) this.#setPick({ ...pick, toMs: isStill ? pick.fromMs : pick.toMs, beat: null });
      else if (mode === 'beat' && isStill) this.#setPick(pickBeat(this.#strip.beats, this.#within(at)));
    },
    hover: (event) => this.#hover(event),
    pinch: (by) => this.#set(() => this.#settings.changeSpeed(by)),
  });

  #wheel(event: WheelEvent): void {
    event.preventDefault();
    if (event.ctrlKey) this.#set(() => this.#settings.changeSpeed(event.deltaY < 0 ? 1 : -1));
    else this.#moveTo(this.#atMs + (event.deltaX + event.deltaY) / pxPerMs(this.#settings.speed));
  }

  #pickIn(event: PointerEvent, span: readonly [number, number]): void {
    if ((event.buttons & 1) === 1) this.#moveTo(timeAlong(event, span));
  }

  /** The frame of the page follows the wheel, from day to day. */
  #wheelDay(event: WheelEvent): void {
    event.preventDefault();
    const [fromMs, toMs] = this.#daySpan;
    this.#moveTo(this.#atMs + ((event.deltaX + event.deltaY) * (toMs - fromMs)) / boxOf(event).width);
  }

  // ------------------------------------------------------------------------------------------------ drawing

  protected override rendered(): void {
    if (this.#focusWanted !== null) this.focus(this.#focusWanted);
    if (this.#source !== null) this.#below = this.#onPaper + this.#measured();
    this.#canvases.rendered();
  }

  #drawViews(recording: OpenRecording, views: ReadonlySet<View>): void {
    if (this.#isAtStart && this.#stripWidth > 0) {
      this.#isAtStart = false;
      this.#atMs = this.#within(recording.source.startMs + this.#stripMs / 2);
      this.requestUpdate();
    }
    const contents = drawViews(this.root, views, {
      recording,
      words: this.#words,
      loading: this.text('loading'),
      page: this.#page,
      day: this.#isOfDays ? this.#daySpan : null,
      strip: this.#stripSpan,
      settings: this.#settings,
      selection: this.#selection,
    });
    if (contents === null) return;
    this.#strip = contents;
    this.#readSoon();
  }

  /** The words change once it stands still: a trace that is dragged tells nothing. */
  #readSoon(): void {
    clearTimeout(this.#readTimer);
    this.#readTimer = setTimeout(() => {
      if (this.#recording === null) return;
      const [reading, below, letters] = [
        this.#reading(this.#recording),
        this.#onPaper + this.#measured(),
        this.#words.letters(this.#inStrip),
      ];
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
  #readTimer: ReturnType<typeof setTimeout> | undefined;

  // ------------------------------------------------------------------------------------------------ words

  #wordsOf: Readonly<{ key: string; words: RecordingWords }> | null = null;

  get #words(): RecordingWords {
    const key = `${this.locale} ${this.setting('tz')}`;
    if (this.#wordsOf?.key !== key) this.#wordsOf = { key, words: new RecordingWords(this.locale, this.timeZone) };
    return this.#wordsOf.words;
  }

  get #inStrip(): readonly Beat[] {
    return this.#strip.beats.filter(({ timeMs }) => Math.abs(timeMs - this.#atMs) < this.#stripMs / 2);
  }

  /** Where one is, in words: for those who do not see the trace, and for everybody. */
  #reading({ source, lacking }: OpenRecording): string {
    const inStrip = this.#inStrip;
    const isAhead = source.goesOn && inStrip.length === 0 && this.#stripSpan[1] > source.endMs - COMPUTED_AFTER_MS;
    const missing = lacking.has('strip')
      ? this.#words.say('notRead')
      : this.#strip.isWaiting
        ? this.text('loading')
        : isAhead
          ? this.#words.say('notComputed')
          : null;
    return this.#words.reading(this.#atMs, inStrip, missing);
  }

  get #onPaper(): string {
    const { channels, gains, speed } = this.#settings;
    const names = channels.map((code) => laneName(this.#source!, gains, code));
    return this.#words.onPaper(this.#atMs, names, speed, gains.all, this.#strip.beats);
  }

  #measured(): string {
    const { calipers } = this.#selection;
    const code = this.#settings.channels[0] ?? '';
    const first = this.#strip.segments.filter(({ channel }) => channel === code);
    return calipers === null ? '' : this.#words.measured(calipers, first, this.#source?.names.get(code) ?? code);
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
    if (this.#state !== 'ready' || this.#recording === null) return this.#closedNote();
    const { source, marks, lacking, isUpToDate } = this.#recording;
    const { stream, startMs, endMs } = source;
    const range = `${this.#words.clock(startMs, true)} – ${this.#words.clock(endMs, true)}`;
    return html`<section aria-label=${this.#words.say('recordingLabel', { device: stream.device_id, range })}>
      ${this.#bar(this.#recording)}
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
          @pointerdown=${(event: PointerEvent) => event.button === 0 && this.#moveTo(timeInRows(event, this.#page))}
        ></canvas>
        <canvas
          class="strip ${this.#settings.channels.length <= STAYS_MAX ? 'stays' : ''}"
          part="strip"
          role="img"
          aria-label=${this.#words.say('stripLabel', {
            seconds: this.#words.number(this.#stripMs / 1000, 1),
            time: this.#words.clock(this.#stripSpan[0], true),
            speed: this.#settings.speed,
            gain: this.#settings.gains.all,
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
        ${lacking.size === 0 ? nothing : this.#unreadNote()}
        <p class="measured">${this.#measured()}</p>
        <p class="hovered">${this.#hovered === null ? '' : this.#words.beat(this.#hovered)}</p>
        ${isUpToDate ? nothing : html`<p class="warn" role="status">${this.text('offline')}</p>`}
        ${source.goesOn && isUpToDate ? html`<p>${this.#words.say('goesOn', { time: this.#words.clock(endMs, false) })}</p>` : nothing}
        ${this.#settings.isFiltered ? html`<p class="warn">${this.#words.say('filterOn')}</p>` : nothing}
        ${this.#words.cuts(source, marks).map((cut) => html`<p>${cut}</p>`)}
        <p class="muted letters">${this.#letters}</p>
        <p class="muted">${this.#words.say('notDiagnosis')}</p>
      </div>
    </section>`;
  }

  /** In place of a recording. */
  #closedNote(): TemplateResult {
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

  #unreadNote(): TemplateResult {
    return html`<p class="unread">
      ${this.#words.say('partUnread')}
      <button type="button" class="quiet" @click=${() => this.#recording!.askAgain()}>${this.text('retry')}</button>
    </p>`;
  }

  get #pageLabel(): string {
    const values = { minutes: this.#words.number(pageMs(this.#page) / 60_000, 0, 1), seconds: this.#settings.rowSec };
    const label = this.#words.say('disclosure', values);
    return this.#recording!.lacking.has('rows') ? `${label}: ${this.#words.say('notRead')}` : label;
  }

  #hint(): string {
    const keys = [
      'stripHint',
      ...(this.#settings.channels.length > 1 ? (['signalHint'] as const) : []),
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

  #bar(recording: OpenRecording): TemplateResult {
    return recordingBar(
      {
        recording,
        words: this.#words,
        atMs: this.#atMs,
        settings: this.#settings,
        search: this.#search,
        selection: this.#selection,
        isMarking: this.#isMarking,
        isOfDays: this.#isOfDays,
      },
      this.#barActs,
    );
  }

  readonly #barActs: BarActs = {
    set: (change) => this.#set(change),
    jump: (to) => {
      this.#search.choose(to);
      this.#forget();
      this.requestUpdate(); // events have a field of their own
    },
    jumpText: (text) => {
      this.#search.chooseText(text);
      this.#forget();
    },
    go: (forward) => void this.#go(forward),
    pick: (mode) => {
      this.#selection.pickBy(mode);
      if (mode === 'off') this.#setPick(null);
      this.#set(() => undefined);
    },
    measure: () => this.#toggleCalipers(),
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
