/** The live traces of a page that is paused: the last minute that the page holds, and five minutes that are read from the service. */
import { BioElement, define, html, nothing } from '../widgets/shared/base.ts';
import type { TemplateResult } from '../widgets/shared/base.ts';
import { drawStrip, pxPerMs, surfaceOf } from '../widgets/recording/recording-draw.ts';
import { segmentOf } from '../widgets/recording/recording-source.ts';
import type { Segment } from '../widgets/recording/recording-source.ts';
import type { Session } from '../widgets/shared/session.ts';
import { tokenColor } from '../widgets/shared/theme.ts';
import type { HeldLane } from './held-traces.ts';
import { formatNumber } from '../widgets/shared/format.ts';
import { t } from './language.ts';

const BACK_MS_MAX = 300_000;
/** What is read at a time, ms. */
const PART_MS = 30_000;
const LANE_PX = 150;

export type Pause = Readonly<{
  endMs: number;
  lanes: readonly HeldLane[];
  session: Session;
  subjectId: string;
  /** The dashboard's page of a recording can be opened from here. */
  hasRecordings: boolean;
}>;

type Flowing = readonly Readonly<{ id: string; codes: readonly string[] }>[];

const css = `
canvas { display: block; inline-size: 100%; border: 1px solid var(--_line); border-radius: 6px; cursor: grab; touch-action: pan-y; direction: ltr; }
.row { display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: center; font-size: .875rem; margin-block: 6px; }
.row label { display: flex; flex: 1; gap: 8px; align-items: center; min-inline-size: 260px; }
.row input { flex: 1; min-block-size: 40px; accent-color: var(--_accent); direction: ltr; }
`;

export class BioPausedTraces extends BioElement {
  static override styles = css;
  static observedAttributes = ['gain', 'speed'];
  #pause: Pause | null = null;
  #backMs = 0;
  #streams: Promise<Flowing> | null = null;
  #streamId: string | null = null;
  /** Parts that were read, by their number; null: asked for. One that failed is asked for again at the next step. */
  readonly #parts = new Map<number, readonly Segment[] | null>();
  #hasFailed = false;
  #dragX = NaN;

  override connectedCallback(): void {
    super.connectedCallback();
    const sizes = new ResizeObserver(() => this.#draw());
    sizes.observe(this);
    this.during(() => sizes.disconnect());
  }

  set pause(pause: Pause | null) {
    if (pause === this.#pause) return;
    [this.#pause, this.#backMs, this.#streams, this.#streamId, this.#hasFailed] = [pause, 0, null, null, false];
    this.#parts.clear();
    this.requestUpdate();
    if (pause !== null) void this.#findStreams(pause).catch(() => undefined);
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
    this.#streams ??= pause.session.get('/api/v1/streams', { query: { subject_id: pause.subjectId, limit: 5 } }).then((list) => {
      const flowing = list.filter((stream) => stream.is_flowing);
      this.#streamId = flowing[0]?.id ?? null;
      this.requestUpdate();
      return flowing.map(({ id, channels }) => ({ id, codes: channels.map(({ code }) => code) }));
    });
    this.#streams.catch(() => (this.#streams = null));
    return this.#streams;
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
      if (pause === this.#pause) this.#parts.set(part, segments.map(segmentOf));
      this.#hasFailed = false;
    } catch {
      this.#parts.delete(part);
      this.#hasFailed = true;
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
      if (!this.#parts.has(part)) void this.#read(pause, part);
    drawStrip(surface, {
      fromMs,
      speed: this.#speed,
      gain: Number(this.getAttribute('gain') ?? 10),
      lanes: pause.lanes.map((lane) => {
        const { id: channel, code, unit, kind } = lane;
        return { channel, kind, label: unit === '' ? code : `${code} · ${unit}`, segments: this.#segments(lane, fromMs, toMs) };
      }),
      beats: [],
      corrected: null,
      pick: null,
      hasMiddle: false,
      words: { computed: '', corrected: '' },
      marks: [],
      calipers: null,
      filtered: false,
      gap: this.#hasFailed ? t('not read') : t('no signal'),
    });
  }

  protected override rendered(): void {
    this.#draw();
  }

  #clock(ms: number): string {
    const { timeZone } = this;
    return new Intl.DateTimeFormat(this.locale, { timeStyle: 'medium', ...(timeZone === undefined ? {} : { timeZone }) }).format(ms);
  }

  protected override template(): TemplateResult | typeof nothing {
    const pause = this.#pause;
    if (pause === null) return nothing;
    const toMs = pause.endMs - this.#backMs;
    const back = t('{duration} before the pause', { duration: `${formatNumber(this.locale, this.#backMs / 1000, 3)} s` });
    const at = new Date(toMs - this.#spanMs / 2).toISOString();
    return html`<div class="row">
        <p role="status">${t('Paused at {time}. The numbers go on.', { time: this.#clock(pause.endMs) })}</p>
        <p>${t('Shown: up to {time}, {back}', { time: this.#clock(toMs), back })}</p>
        ${this.#hasFailed ? html`<p role="alert">${t('Older samples could not be read from the service.')}</p>` : nothing}
        ${pause.hasRecordings && this.#streamId !== null ? html`<a href="#/recordings/${this.#streamId}?at=${at}">${t('Open the recording here')}</a>` : nothing}
      </div>
      <div class="row">
        <label
          >${t('Scroll back')}<input
            type="range"
            min=${-BACK_MS_MAX}
            max="0"
            step="500"
            .value=${String(-this.#backMs)}
            aria-valuetext=${back}
            @input=${(event: Event) => this.#scroll(-Number((event.target as HTMLInputElement).value))}
        /></label>
      </div>
      <canvas
        role="img"
        aria-label=${t('Traces up to {time}', { time: this.#clock(toMs) })}
        @pointerdown=${(event: PointerEvent) => {
          (event.currentTarget as Element).setPointerCapture(event.pointerId);
          this.#dragX = event.clientX;
        }}
        @pointermove=${(event: PointerEvent) => {
          if (Number.isNaN(this.#dragX)) return;
          this.#scroll(this.#backMs + (event.clientX - this.#dragX) / pxPerMs(this.#speed));
          this.#dragX = event.clientX;
        }}
        @pointerup=${() => (this.#dragX = NaN)}
        @pointercancel=${() => (this.#dragX = NaN)}
      ></canvas>`;
  }
}

define('bio-paused-traces', BioPausedTraces);
