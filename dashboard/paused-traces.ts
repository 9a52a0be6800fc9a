/** The live traces of a page that is paused: the last minute that the page holds, and five minutes that are read from the service; with
 *  their beats, calipers, and marks where the page may make them. */
import { BioElement, define, html, nothing } from '../widgets/shared/base.ts';
import type { TemplateResult } from '../widgets/shared/base.ts';
import { unitLabel } from '../widgets/shared/format.ts';
import { channelNames } from '../src/signal.ts';
import { Failed } from '../widgets/shared/ask-again.ts';
import { drawStrip, pxPerMs, surfaceOf } from '../widgets/recording/recording-draw.ts';
import { beatsOf, segmentOf } from '../widgets/recording/recording-source.ts';
import type { Beat, Mark, Segment } from '../widgets/recording/recording-source.ts';
import type { Session } from '../widgets/shared/session.ts';
import { gridCss, tokenColor } from '../widgets/shared/theme.ts';
import type { HeldLane } from './held-traces.ts';
import { t } from './language.ts';
import { liveStreams } from './live-streams.ts';

const BACK_MS_MAX = 300_000;
/** What is read at a time, ms. */
const PART_MS = 30_000;
/** Beats of the newest samples are judged after the pause; they are asked for again so often until so long after it, ms. */
const BEATS_AGAIN_MS = 3000;
const BEATS_WITHIN_MS = 60_000;
/** A page may be held for hours: what cannot be read is asked for so often, within 45 s, and then when the member says so. */
const TRIES_MAX = 5;
const LANE_PX = 150;
/** Steps of the keyboard, ms. */
const STEP_MS = 500;
const FINE_MS = 10;
/** Ends of calipers that the keyboard sets, on both sides of the middle, ms. */
const CALIPERS_MS = 400;

export type MarkedStretch = Readonly<{
  /** Id of the recording that has a channel; of all channels: that of the topmost trace. */
  streamOf: (channel: string | null) => string;
  /** Names of the channels that are shown, by code. */
  channels: ReadonlyMap<string, string>;
  fromMs: number;
  /** null: a moment. */
  toMs: number | null;
  /** Call it once the mark is saved. */
  done: () => void;
}>;
export type Recordings = Readonly<{
  /** Asks what the mark is and saves it; null: the member may not make one. */
  mark: ((stretch: MarkedStretch) => void) | null;
}>;

export type Pause = Readonly<{
  endMs: number;
  lanes: readonly HeldLane[];
  session: Session;
  subjectId: string;
  /** null: no page of a recording can be opened from here. */
  recordings: Recordings | null;
}>;

type Flowing = readonly Readonly<{ id: string; codes: readonly string[] }>[];

const css = `${gridCss}
canvas { display: block; inline-size: 100%; border: 1px solid var(--_line); border-radius: 6px; cursor: grab; touch-action: pan-y; direction: ltr; }
.row { display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: center; font-size: .875rem; margin-block: 6px; }
.row .wide { display: flex; flex: 1; gap: 8px; align-items: center; min-inline-size: 260px; }
.row input[type='range'] { flex: 1; min-block-size: 40px; accent-color: var(--_accent); direction: ltr; }
`;

export class BioPausedTraces extends BioElement {
  static override styles = css;
  static observedAttributes = ['gain', 'speed'];
  #pause: Pause | null = null;
  #backMs = 0;
  #streams: Promise<Flowing> | null = null;
  /** What they were when they were last read. */
  #found: Flowing = [];
  /** Parts that were read, by their number; null: asked for. */
  readonly #parts = new Map<number, readonly Segment[] | null>();
  /** Parts that could not be read: each drawing asks for what is missing, and a failure draws. */
  #failed = new Failed(TRIES_MAX);
  /** As of samples. */
  readonly #beats = new Map<number, readonly Beat[] | null>();
  #failedBeats = new Failed(TRIES_MAX);
  /** performance.now() of the pause. */
  #pausedMs = 0;
  #dragX = NaN;
  #calipers: Readonly<{ fromMs: number; toMs: number }> | null = null;
  #calipersBefore: Readonly<{ fromMs: number; toMs: number }> | null = null;
  /** The pointer is at the second end. */
  #isMeasuring = false;
  #marks: readonly Mark[] = [];

  override connectedCallback(): void {
    super.connectedCallback();
    const sizes = new ResizeObserver(() => this.#draw());
    sizes.observe(this);
    this.during(() => sizes.disconnect());
  }

  set pause(pause: Pause | null) {
    if (pause === this.#pause) return;
    [this.#pause, this.#backMs, this.#streams, this.#found] = [pause, 0, null, []];
    this.#parts.clear();
    this.#beats.clear();
    [this.#failed, this.#failedBeats] = [new Failed(TRIES_MAX), new Failed(TRIES_MAX)];
    this.#pausedMs = performance.now();
    [this.#calipers, this.#isMeasuring, this.#marks] = [null, false, []];
    this.requestUpdate();
    if (pause !== null)
      void this.#findStreams(pause).then(
        () => this.#readMarks(pause),
        () => undefined,
      );
  }

  get #speed(): number {
    return Number(this.getAttribute('speed') ?? 25);
  }

  get #spanMs(): number {
    return (this.root.querySelector('canvas')?.getBoundingClientRect().width ?? 600) / pxPerMs(this.#speed);
  }

  #scroll(backMs: number): void {
    this.#backMs = Math.min(BACK_MS_MAX, Math.max(0, backMs));
    this.requestUpdate();
  }

  #findStreams(pause: Pause): Promise<Flowing> {
    this.#streams ??= liveStreams(pause.session, pause.subjectId).then((list) => {
      const found = list.map(({ id, channels }) => ({ id, codes: channels.map(({ code }) => code) }));
      if (pause === this.#pause) this.#found = found;
      this.requestUpdate();
      return found;
    });
    this.#streams.catch(() => (this.#streams = null));
    return this.#streams;
  }

  /** Id of the recording that has a channel; null, and where none has it: that of the topmost trace. */
  #streamOf(channel: string | null): string | null {
    const of = (code = ''): string | undefined => this.#found.find(({ codes }) => codes.includes(code))?.id;
    return of(channel ?? undefined) ?? of(this.#pause?.lanes[0]?.code) ?? this.#found[0]?.id ?? null;
  }

  /** Marks that others made, and those made here; without them the traces are still shown. */
  async #readMarks(pause: Pause): Promise<void> {
    if (pause.recordings === null) return;
    const since = new Date(pause.endMs - BACK_MS_MAX).toISOString();
    const lists = await Promise.all(
      this.#found.map(({ id }) =>
        pause.session.get('/api/v1/annotations', { query: { stream_id: id, since, limit: 100 } }).catch(() => []),
      ),
    );
    if (pause !== this.#pause) return;
    const marks = lists.flat().map(({ id, starts_at: start, ends_at: end, kind, text, beat, channel, made_at: made }): Mark => ({
      id,
      startMs: Date.parse(start),
      endMs: Date.parse(end ?? start),
      label: text || kind,
      source: 'annotation',
      beat,
      channel,
      madeMs: Date.parse(made),
    }));
    this.#marks = marks.toSorted((a, b) => a.startMs - b.startMs);
    this.requestUpdate();
  }

  get #middleMs(): number {
    return this.#pause!.endMs - this.#backMs - this.#spanMs / 2;
  }

  #timeAt({ clientX, currentTarget }: PointerEvent): number {
    const { left } = (currentTarget as Element).getBoundingClientRect();
    return this.#pause!.endMs - this.#backMs - this.#spanMs + (clientX - left) / pxPerMs(this.#speed);
  }

  #toggleCalipers(): void {
    const middle = this.#middleMs;
    this.#calipers = this.#calipers === null ? { fromMs: middle - CALIPERS_MS, toMs: middle + CALIPERS_MS } : null;
    this.requestUpdate();
  }

  #setEnd(end: 'fromMs' | 'toMs'): void {
    if (this.#calipers === null) return;
    this.#calipers = { ...this.#calipers, [end]: this.#middleMs };
    this.requestUpdate();
  }

  #press(event: KeyboardEvent): void {
    const does: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => this.#scroll(this.#backMs + STEP_MS),
      ArrowRight: () => this.#scroll(this.#backMs - STEP_MS),
      ',': () => this.#scroll(this.#backMs + FINE_MS),
      '.': () => this.#scroll(this.#backMs - FINE_MS),
      c: () => this.#toggleCalipers(),
      '[': () => this.#setEnd('fromMs'),
      ']': () => this.#setEnd('toMs'),
    };
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : (does[event.key] ?? does[event.key.toLowerCase()]);
    if (act === undefined) return;
    event.preventDefault();
    act();
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0) return; // a menu opens, whose pointer never goes up here
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    this.#calipersBefore = this.#calipers;
    this.#isMeasuring = this.#calipers !== null || event.shiftKey;
    const at = this.#timeAt(event);
    if (this.#isMeasuring) this.#calipers = { fromMs: at, toMs: at };
    else this.#dragX = event.clientX;
    this.requestUpdate();
  }

  #move(event: PointerEvent): void {
    if (this.#isMeasuring && this.#calipers !== null) {
      this.#calipers = { ...this.#calipers, toMs: this.#timeAt(event) };
      this.requestUpdate();
    } else if (!Number.isNaN(this.#dragX)) {
      this.#scroll(this.#backMs + (event.clientX - this.#dragX) / pxPerMs(this.#speed));
      this.#dragX = event.clientX;
    }
  }

  /** A finger that scrolls the page has measured nothing. */
  #takeBack(): void {
    if (this.#isMeasuring) this.#calipers = this.#calipersBefore;
    this.#up();
    this.requestUpdate();
  }

  #up(): void {
    [this.#isMeasuring, this.#dragX] = [false, NaN];
  }

  /** Time between the calipers, the rate that it would be, and the difference in the topmost trace, which it names. */
  #measured(): string {
    if (this.#calipers === null || this.#pause === null) return '';
    const { fromMs, toMs } = this.#calipers;
    const [lane] = this.#pause.lanes;
    const valueAt = (at: number): number | null => {
      const all = lane === undefined ? [] : this.#segments(lane, Math.min(fromMs, toMs), Math.max(fromMs, toMs) + 1);
      const segment = all.find(({ t0Ms, rateHz, samples }) => at >= t0Ms && at < t0Ms + (samples.length * 1000) / rateHz);
      return segment?.samples[Math.floor(((at - segment.t0Ms) / 1000) * segment.rateHz)] ?? null;
    };
    const ms = Math.abs(toMs - fromMs);
    const [from, to] = [valueAt(fromMs), valueAt(toMs)];
    const number = new Intl.NumberFormat(this.locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    const name = lane === undefined ? '' : (channelNames(this.#pause.lanes).get(lane.code) ?? lane.code);
    const difference = from === null || to === null ? '–' : `${name} ${number.format(to - from)} ${unitLabel(lane?.unit ?? '')}`;
    return `${Math.round(ms)} ms = ${ms < 1 ? '–' : Math.round(60_000 / ms)} /min, ${difference}`;
  }

  /** The stretch between the calipers, or the moment in the middle. */
  #mark(pause: Pause): void {
    const ofTopmost = this.#streamOf(null);
    if (ofTopmost === null) return;
    const ends = this.#calipers === null ? [this.#middleMs] : [this.#calipers.fromMs, this.#calipers.toMs].toSorted((a, b) => a - b);
    pause.recordings?.mark?.({
      streamOf: (channel) => this.#streamOf(channel) ?? ofTopmost,
      channels: channelNames(pause.lanes),
      fromMs: ends[0]!,
      toMs: ends[1] ?? null,
      done: () => void this.#readMarks(pause),
    });
  }

  async #read(pause: Pause, part: number): Promise<void> {
    this.#parts.set(part, null);
    const [since, until] = [part, part + 1].map((one) => new Date(one * PART_MS).toISOString()) as [string, string];
    try {
      const streams = await this.#findStreams(pause);
      const isOfOne = (code: string): boolean => streams.filter(({ codes }) => codes.includes(code)).length === 1;
      const answers = await Promise.all(
        streams.map(({ id }) =>
          pause.session.get('/api/v1/streams/{streamId}/samples', { params: { streamId: id }, query: { since, until } }),
        ),
      );
      // Of two devices with a channel of one name it is not known here which lane is whose.
      const segments = answers.flat().filter(({ channel }) => isOfOne(channel));
      if (pause !== this.#pause) return;
      this.#parts.set(part, segments.map(segmentOf));
      this.#failed.delete(part);
    } catch (error) {
      if (pause !== this.#pause) return;
      this.#parts.delete(part);
      this.#failed.add(part, error, () => pause === this.#pause && this.isConnected && this.#draw());
    }
    this.requestUpdate();
  }

  /** Of the recording that has the topmost trace of a heart. */
  async #readBeats(pause: Pause, part: number): Promise<void> {
    if (!this.#beats.has(part)) this.#beats.set(part, null);
    const [since, until] = [part, part + 1].map((one) => new Date(one * PART_MS).toISOString()) as [string, string];
    try {
      await this.#findStreams(pause);
      const lane = ['ecg', 'ppg'].flatMap((kind) => pause.lanes.find((one) => one.kind === kind) ?? [])[0];
      const having = lane === undefined ? [] : this.#found.filter(({ codes }) => codes.includes(lane.code));
      // of two recordings with a channel of one name it is not known whose the lane is
      const streamId = having.length === 1 ? having[0]!.id : null;
      const query = { since, until, ts_unit: 'ms' } as const;
      const found = streamId === null ? [] : await pause.session.get('/api/v1/streams/{streamId}/beats', { params: { streamId }, query });
      if (pause !== this.#pause) return;
      this.#beats.set(part, beatsOf(found));
      this.#failedBeats.delete(part);
      const mayCome = (part + 1) * PART_MS > pause.endMs - BEATS_WITHIN_MS && performance.now() - this.#pausedMs < BEATS_WITHIN_MS;
      if (mayCome) setTimeout(() => pause === this.#pause && this.isConnected && void this.#readBeats(pause, part), BEATS_AGAIN_MS);
    } catch (error) {
      if (pause !== this.#pause) return;
      this.#beats.delete(part);
      this.#failedBeats.add(part, error, () => pause === this.#pause && this.isConnected && this.#draw());
    }
    this.requestUpdate();
  }

  /** Held samples of a lane, and those read from before them. */
  #segments({ code, segments }: HeldLane, fromMs: number, toMs: number): readonly Segment[] {
    const heldMs = segments[0]?.t0Ms ?? this.#pause!.endMs;
    const older: Segment[] = [];
    for (let part = Math.floor(fromMs / PART_MS); part * PART_MS < Math.min(toMs, heldMs); part++) {
      for (const segment of this.#parts.get(part) ?? []) {
        const count = Math.min(segment.samples.length, Math.ceil(((heldMs - segment.t0Ms) / 1000) * segment.rateHz));
        if (segment.channel === code && count > 0) older.push({ ...segment, samples: segment.samples.slice(0, count) });
      }
    }
    return [...older, ...segments];
  }

  /** Something of what is shown could not be read; also while it is asked for again: an alert that comes and goes is read out each time. */
  #misses(failed: Failed): boolean {
    const toMs = this.#pause!.endMs - this.#backMs;
    for (let part = Math.floor((toMs - this.#spanMs) / PART_MS); part * PART_MS < toMs; part++) if (failed.has(part)) return true;
    return false;
  }

  #missed(failed: Failed, words: string): TemplateResult | typeof nothing {
    if (!this.#misses(failed)) return nothing;
    const again = (): void => {
      failed.clear();
      this.requestUpdate();
    };
    return html`<p role="alert">${words}</p>
      <button type="button" @click=${again}>${t('Try again')}</button>`;
  }

  #draw(): void {
    const [pause, canvas] = [this.#pause, this.root.querySelector('canvas')];
    if (pause === null || canvas === null) return;
    const of = (token: string): string => tokenColor(this.root, token);
    const colors = {
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
    canvas.style.blockSize = `${30 + LANE_PX * Math.max(1, pause.lanes.length)}px`;
    const surface = surfaceOf(canvas, colors);
    if (surface === null) return;
    const toMs = pause.endMs - this.#backMs;
    const fromMs = toMs - this.#spanMs;
    const heldMs = Math.max(...pause.lanes.map(({ segments }) => segments[0]?.t0Ms ?? pause.endMs));
    for (let part = Math.floor(fromMs / PART_MS); part * PART_MS < Math.min(toMs, heldMs); part++)
      if (!this.#parts.has(part) && this.#failed.mayAsk(part)) void this.#read(pause, part);
    const beats: Beat[] = [];
    for (let part = Math.floor(fromMs / PART_MS); part * PART_MS < toMs; part++) {
      if (!this.#beats.has(part) && this.#failedBeats.mayAsk(part)) void this.#readBeats(pause, part);
      beats.push(...(this.#beats.get(part) ?? []));
    }
    const names = channelNames(pause.lanes);
    drawStrip(surface, {
      fromMs,
      speed: this.#speed,
      gain: Number(this.getAttribute('gain') ?? 10),
      lanes: pause.lanes.map((lane) => {
        const { id: channel, code, unit, kind } = lane;
        return {
          channel,
          kind,
          label: [names.get(code) ?? code, unitLabel(unit)].filter((word) => word !== '').join(' · '),
          segments: this.#segments(lane, fromMs, toMs),
        };
      }),
      beats: beats.filter(({ timeMs }) => timeMs < pause.endMs),
      corrected: null,
      pick: null,
      hasMiddle: this.#calipers !== null || (pause.recordings?.mark ?? null) !== null,
      words: { computed: '', corrected: '' },
      marks: this.#marks,
      calipers: this.#calipers === null ? null : { ...this.#calipers, marchOut: false },
      qualities: [],
      absent: [],
      gap: this.#misses(this.#failed) ? t('not read') : t('no signal'),
    });
  }

  protected override rendered(): void {
    this.#draw();
  }

  /** What the strip shows of marks, for those who do not see it. */
  #marksInWords(): string {
    const toMs = this.#pause!.endMs - this.#backMs;
    const shown = this.#marks.filter(({ startMs, endMs, beat }) => beat === null && endMs >= toMs - this.#spanMs && startMs <= toMs);
    return shown.length === 0
      ? ''
      : t('Marks: {list}', { list: shown.map(({ label, startMs }) => `${this.#clock(startMs)} ${label}`).join('; ') });
  }

  #clock(ms: number, timeZoneName?: 'short'): string {
    const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
    return new Intl.DateTimeFormat(this.locale, { ...clock, timeZoneName, timeZone: this.timeZone }).format(ms);
  }

  protected override template(): TemplateResult | typeof nothing {
    const pause = this.#pause;
    if (pause === null) return nothing;
    const toMs = pause.endMs - this.#backMs;
    const seconds = new Intl.NumberFormat(this.locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(this.#backMs / 1000);
    const back = t('{duration} before the pause', { duration: `${seconds} s` });
    const at = new Date(toMs - this.#spanMs / 2).toISOString();
    const streamId = this.#streamOf(null);
    return html`<div class="row">
        <p role="status">${t('Paused at {time}. The numbers go on.', { time: this.#clock(pause.endMs, 'short') })}</p>
        <p>${t('Shown: up to {time}, {back}', { time: this.#clock(toMs), back })}</p>
        ${this.#missed(this.#failed, t('Older samples could not be read from the service.'))}
        ${this.#missed(this.#failedBeats, t('Beats could not be read from the service.'))}
        ${pause.recordings !== null && streamId !== null ? html`<a href="#/recordings/${streamId}?at=${at}">${t('Open the recording here')}</a>` : nothing}
      </div>
      <div class="row">
        <label class="wide"
          >${t('Scroll back')}<input
            type="range"
            min=${-BACK_MS_MAX}
            max="0"
            step=${STEP_MS}
            .value=${String(-this.#backMs)}
            aria-valuetext=${back}
            @input=${(event: Event) => this.#scroll(-Number((event.target as HTMLInputElement).value))}
        /></label>
        <label><input type="checkbox" .checked=${this.#calipers !== null} @change=${() => this.#toggleCalipers()} />${t('Calipers')}</label>
        <output aria-live="polite">${this.#measured()}</output>
        ${
          (pause.recordings?.mark ?? null) === null
            ? nothing
            : html`<button type="button" ?disabled=${streamId === null} @click=${() => this.#mark(pause)}>
                ${this.#calipers === null ? t('Mark the middle') : t('Mark between the calipers')}
              </button>`
        }
      </div>
      <div
        class="strip"
        tabindex="0"
        role="group"
        aria-label=${t('Traces, by keyboard: arrows scroll, comma and full stop by 10 ms, C sets calipers, square brackets their ends')}
        @keydown=${(event: KeyboardEvent) => this.#press(event)}
      >
        <canvas
          role="img"
          aria-label=${t('Traces up to {time}', { time: this.#clock(toMs) })}
          @pointerdown=${(event: PointerEvent) => this.#down(event)}
          @pointermove=${(event: PointerEvent) => this.#move(event)}
          @pointerup=${() => this.#up()}
          @pointercancel=${() => this.#takeBack()}
        ></canvas>
      </div>
      ${this.#marks.length === 0 ? nothing : html`<p class="muted">${this.#marksInWords()}</p>`}`;
  }
}

define('bio-paused-traces', BioPausedTraces);
