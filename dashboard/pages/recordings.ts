/** All recordings of a person: #/users/<id>/recordings?from=…&to=…, a row for each day of their clocks. A click opens the viewer there. */
import { html, nothing, svg } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import { ApiError } from '../../sdk/fetch-json.ts';
import { formatNumber } from '../../widgets/shared/format.ts';
import { zoneIfTwice } from '../../widgets/shared/zoned-time.ts';
import { plural, t } from '../language.ts';
import { Page } from '../page.ts';
import { chips, duration, emptyState, tableOf } from '../parts.ts';
import {
  barsIn,
  cellsOf,
  cellsWithin,
  coverOf,
  dateAt,
  daysOf,
  linesOf,
  midnight,
  receivedOf,
  shifted,
  stepOf,
  ticksOf,
} from '../recording-days.ts';
import type { Bar, Cell, Day, Received, Recorded } from '../recording-days.ts';
import { call, callList, callNext } from '../service.ts';
import type { Stream, Xuser } from '../service.ts';
import { clockZone, zoneOf } from '../time-zone.ts';

type Listed = Recorded & Readonly<{ stream: Stream }>;
type Choice = '1' | '7' | '30';

/** Days that are shown at once, at most: a row each. */
const DAYS_MAX = 92;
/** Recordings of a range that are read, at most: of thousands a row shows nothing any more. */
const PAGES_MAX = 5;
const PAGE = 1000;
/** Recordings whose samples are asked for, the longest ones; of others the values say what was received. */
const RECEIVED_MAX = 60;
const AT_ONCE = 4;
const BUCKETS_MAX = 5000;
/** Of heart rate: a minute of a day, an hour of a month. */
const POINTS_MAX = 1500;
/** Height of what is above the bars of a day, and of a bar. */
const BARS_PX = 80;
const LANE_PX = 26;
const EMPTY_PX = 40;
/** A bar can be hit so far around its middle, and is marked where it is shorter than this share of a day. */
const HIT_PX = 24;
const SHORT_SHARE = 0.012;
/** Days with more recordings than this have no lanes of their own for names. */
const NAMED_MAX = 12;
const NAME_GAP_PX = 6;
const DIAMOND_PX = 10;
const RIBBON_Y = 63;
const RIBBON_PX = 12;
const flags = ['good', 'suspect', 'bad'] as const;
const dates = /^\d{4}-\d{2}-\d{2}$/;
/** Nothing was recorded before. */
const FIRST_DATE = '1970-01-01';
const LAST_DATE = '2199-12-30';
/** One of an address may be of anybody's making, and one that is typed is another after each figure, such as of the year 2. */
const isDate = (text: string): boolean =>
  dates.test(text) &&
  text >= FIRST_DATE &&
  text <= LAST_DATE &&
  !Number.isNaN(Date.parse(text)) &&
  dateAt(Date.parse(text), 'UTC') === text;

export class RecordingsPage extends Page {
  override readonly isWide = true;
  protected override readonly refreshMs = 60_000;
  #user: Xuser | null = null;
  #zone = '';
  #from = '';
  #to = '';
  /** What they were when the field of one of them was entered. */
  #held = { from: '', to: '' };
  #recordings: readonly Listed[] = [];
  #cells: readonly Cell[] = [];
  #received: readonly Received[] = [];
  /** Width of the picture of a day, as it was drawn last, px. */
  #lanePx = 700;
  readonly #sizes = new ResizeObserver(() => {
    const px = document.querySelector('.day-lane')?.getBoundingClientRect().width ?? this.#lanePx;
    if (Math.abs(px - this.#lanePx) < 1) return;
    this.#lanePx = px;
    this.context.redraw();
  });
  /** There are more than are read. */
  #isCut = false;
  /** The nearest outside of the range. */
  #earlier: Stream | null = null;
  #later: Stream | null = null;

  protected override get isAboutPerson(): boolean {
    return true;
  }

  protected override async isAsShown(): Promise<boolean> {
    await call('GET', '/api/v1/streams', { query: { subject_id: this.#user!.xuser_id, limit: 1 } });
    return true;
  }

  protected override forget(): void {
    [this.#user, this.#zone, this.#recordings, this.#cells, this.#received] = [null, '', [], [], []];
    [this.#earlier, this.#later] = [null, null];
  }

  protected override get zone(): string {
    return this.#zone;
  }

  override get title(): string {
    const name = this.#user === null ? '' : this.#user.display_name || this.#user.external_id;
    return name === '' ? t('Recordings') : t('Recordings of {name}', { name });
  }

  protected override left(): void {
    this.#sizes.disconnect();
  }

  protected override async load(): Promise<void> {
    this.#sizes.observe(document.body); // it is as high as its days
    if (this.#user === null) await this.#loadPerson();
    await this.#loadRange();
  }

  async #loadPerson(): Promise<void> {
    const [xuserId = ''] = this.context.argument.split('/');
    const [user, projects] = await Promise.all([
      call('GET', '/api/v1/xusers/{xuserId}', { params: { xuserId } }),
      call('GET', '/api/v1/projects'),
    ]);
    this.#user = user;
    this.#zone = clockZone(zoneOf(user, projects)) === undefined ? 'UTC' : zoneOf(user, projects);
    const { query } = this.context;
    const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
    if (isDate(from) && isDate(to)) this.#choose(from, to);
    else {
      const last = dateAt(await this.#lastMs(user), this.#zone);
      this.#choose(shifted(last, -6), last);
    }
  }

  /** Of the days that are shown when nobody chose them: the time that the address names, or the newest sample. */
  async #lastMs(user: Xuser): Promise<number> {
    const named = Date.parse(this.context.query.get('on') ?? '');
    if (named >= Date.parse(FIRST_DATE) && named <= Date.parse(LAST_DATE)) return named;
    const [newest] = await call('GET', '/api/v1/streams', { query: { subject_id: user.xuser_id, limit: 1 } });
    return newest === undefined ? Date.now() : Date.parse(newest.last_sample_at ?? newest.started_at);
  }

  /** @param from @param to dates; at most so many days from the first */
  #choose(from: string, to: string): void {
    const [first, last] = from <= to ? [from, to] : [to, from];
    const most = shifted(first, DAYS_MAX - 1);
    [this.#from, this.#to] = [first, last > most ? most : last];
  }

  #show(from: string, to: string): void {
    this.#choose(from, to);
    this.keep({ from: this.#from, to: this.#to, on: '' });
    this.choose(() => this.#loadRange());
  }

  get #count(): number {
    return Math.round((Date.parse(this.#to) - Date.parse(this.#from)) / 864e5) + 1;
  }

  async #loadRange(): Promise<void> {
    const [from, to] = [this.#from, this.#to];
    const subject = this.#user!.xuser_id;
    const [since, until] = [midnight(from, this.#zone), midnight(shifted(to, 1), this.#zone)].map((ms) => new Date(ms).toISOString()) as [
      string,
      string,
    ];
    const one = async (query: { until?: string; since?: string; sort: 'newest' | 'oldest' }): Promise<Stream | null> =>
      (await call('GET', '/api/v1/streams', { query: { subject_id: subject, limit: 1, ...query } }))[0] ?? null;
    const asked = Promise.all([
      streamsBetween(subject, since, until),
      call('POST', '/api/v1/charts/query', {
        body: {
          subject_id: subject,
          series: [{ feature: 'hr_ecg' }, { feature: 'hr_ppg' }],
          range: { from: since, to: until },
          max_points: POINTS_MAX,
          resolution: '1m',
          tz: this.#zone,
          detail: true,
        },
      }),
      one({ until: since, sort: 'newest' }),
      one({ since: until, sort: 'oldest' }),
    ]).then(async ([found, chart, ...nearest]) => {
      const recordings = found.streams.flatMap(recordedOf);
      const received = await receivedBetween(recordings, Date.parse(since), Date.parse(until), stepOf(chart.resolution));
      return { recordings, received, isCut: found.isCut, cells: cellsOf(chart), nearest };
    });
    const found = await this.newest(asked);
    [this.#recordings, this.#received, this.#isCut, this.#cells] = [found.recordings, found.received, found.isCut, found.cells];
    [this.#earlier, this.#later] = found.nearest;
  }

  // ------------------------------------------------------------------------------------------------ what is shown

  protected override actions(): TemplateResult | typeof nothing {
    const user = this.#user;
    return user === null ? nothing : html`<a class="button" href="#/users/${user.xuser_id}">${user.display_name || user.external_id}</a>`;
  }

  protected override body(): TemplateResult {
    return html`<section class="card">${this.#fields()} ${this.chosen(() => this.#found())}</section>`;
  }

  #found(): TemplateResult {
    return html`${this.#isCut ? html`<p class="attention">${t('There are more recordings than are shown: choose fewer days.')}</p>` : nothing}
    ${this.#recordings.length === 0 ? this.#nothingHere() : html`${this.#days(daysOf(this.#from, this.#to, this.#zone))} ${this.#list()}`}`;
  }

  #fields(): TemplateResult {
    const count = this.#count;
    const move = (by: number): void => this.#show(shifted(this.#from, by), shifted(this.#to, by));
    const field = (word: string, value: string, set: (date: string) => void): TemplateResult =>
      html`<label
        >${word}<input
          type="date"
          required
          max=${LAST_DATE}
          .value=${live(value)}
          @change=${(event: Event) => {
            const { value: date } = event.target as HTMLInputElement;
            if (isDate(date)) set(date);
          }}
          @focus=${() => void (this.#held = { from: this.#from, to: this.#to })}
      /></label>`;
    const choices = [
      ['1', t('1 day')],
      ['7', t('7 days')],
      ['30', t('30 days')],
    ] as const satisfies readonly (readonly [Choice, string])[];
    return html`<div class="row days-fields">
      <button type="button" @click=${() => move(-count)}>${count === 1 ? t('Previous day') : t('Previous {count} days', { count })}</button>
      ${field(t('First day'), this.#from, (date) => this.#show(date, date > this.#held.to ? date : this.#held.to))}
      ${field(t('Last day'), this.#to, (date) => this.#show(date < this.#held.from ? date : this.#held.from, date))}
      <button type="button" @click=${() => move(count)}>${count === 1 ? t('Next day') : t('Next {count} days', { count })}</button>
      ${chips(t('Days'), choices, String(count) as Choice, (choice) => this.#show(shifted(this.#to, 1 - Number(choice)), this.#to))}
    </div>`;
  }

  /** Between recordings that lie far apart one need not search. */
  #nothingHere(): TemplateResult {
    const jump = (stream: Stream | null, word: string, end: 'first' | 'last'): TemplateResult | typeof nothing => {
      if (stream === null) return nothing;
      const date = dateAt(Date.parse((end === 'last' ? stream.last_sample_at : stream.recorded_from) ?? stream.started_at), this.#zone);
      const go = (): void => {
        const by = this.#count - 1;
        if (end === 'last') this.#show(shifted(date, -by), date);
        else this.#show(date, shifted(date, by));
      };
      return html`<button type="button" @click=${go}>${word}</button>`;
    };
    return html`${emptyState(t('Nothing was recorded on these days'), t('A recording starts with the first packet of a device.'))}
      <div class="row centred">
        ${jump(this.#earlier, t('Earlier recordings'), 'last')} ${jump(this.#later, t('Later recordings'), 'first')}
      </div>`;
  }

  #days(days: readonly Day[]): TemplateResult {
    const rates = this.#cells.flatMap(({ rate }) => rate ?? []);
    const low = Math.floor(Math.min(50, ...rates) / 10) * 10;
    const high = Math.ceil(Math.max(100, ...rates) / 10) * 10;
    return html`<p class="muted">
        ${t('Line: heart rate, {low} to {high} /min. Ribbon: its height is how much was received, its look the quality. Bars: recordings.', { low, high })}
      </p>
      <ul class="key" aria-label=${t('Key')}>
        ${([t('good'), t('suspect'), t('unusable')] as const).map(
          (word, i) =>
            html`<li>
              <svg class="day-ribbon" viewBox="0 0 14 14" aria-hidden="true">
                ${i === 0 ? linesOfRibbon : nothing}${filled(i as Cell['flag'], { x: 0, y: 0, width: 14, height: 14 })}</svg
              >${word}
            </li>`,
        )}
        <li>
          <svg class="day-ribbon" viewBox="0 0 14 14" aria-hidden="true"><rect class="received" x="1" y="1" width="12" height="12" /></svg
          >${t('received, not computed')}
        </li>
      </ul>
      <ol class="plain days">
        ${days.map((day) => this.#day(day, low, high))}
      </ol>`;
  }

  #day(day: Day, low: number, high: number): TemplateResult {
    const bars = this.#barsOf(day);
    const cells = this.#cells.filter(({ fromMs, toMs }) => fromMs < day.endMs && toMs > day.startMs);
    const lanes = Math.max(0, ...bars.map(({ lane }) => lane + 1));
    const hours = (day.endMs - day.startMs) / 36e5;
    const at = (ms: number): string => `${(100 * (ms - day.startMs)) / (day.endMs - day.startMs)}%`;
    const name = new Intl.DateTimeFormat(this.context.locale, { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' });
    return html`<li>
      <div class="day-name">
        <h2><time datetime=${day.date}>${name.format(Date.parse(day.date))}</time></h2>
        <p class="muted">${summaryOf(bars, cells)} ${hours === 24 ? nothing : html`<b>${t('A day of {hours} hours', { hours })}</b>`}</p>
      </div>
      <svg
        class="day-lane"
        height=${lanes === 0 ? EMPTY_PX : BARS_PX + lanes * LANE_PX}
        role="group"
        aria-label=${t('Recordings')}
        @click=${(event: PointerEvent) => this.#openUnder(event, day)}
      >
        ${ticksOf(day, this.#zone).map(
          ({ hour, timeMs }) =>
            svg`<line class="tick" x1=${at(timeMs)} x2=${at(timeMs)} y1="0" y2="100%" /><text x=${at(timeMs)} dx="3" y="11">${hour}</text>`,
        )}
        <svg class="day-rate" width="100%" height="60" viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
          ${linesOf(day, cells, low, high).map((points) => svg`<polyline points=${points} />`)}
        </svg>
        <svg class="day-ribbon" width="100%" y=${RIBBON_Y} height=${RIBBON_PX} aria-hidden="true">
          ${this.#received.map((one) => (one.fromMs < day.endMs && one.toMs > day.startMs ? receivedIn(one, day, at) : nothing))}
          ${cellsWithin(cells, bars).map((cell) => ribbonOf(cell, at, day.startMs))}
        </svg>
        ${bars.map((bar) => this.#bar(day, bar, at))}
      </svg>
    </li>`;
  }

  /** With their names next to those that are too short for them; of very many, a name that is too long is left out. */
  #barsOf(day: Day): Bar<Listed>[] {
    const bars = barsIn(day, this.#recordings);
    if (bars.length > NAMED_MAX) return bars;
    const msPerPx = (day.endMs - day.startMs) / this.#lanePx;
    return barsIn(day, this.#recordings, ({ stream }) => (nameWidth(stream.device_id) + NAME_GAP_PX + DIAMOND_PX) * msPerPx);
  }

  /** A link to its beginning for the keyboard; where a pointer clicks is the picture's. A short one keeps its length, and has a diamond
   *  and room around it, so that it is found and hit. */
  #bar(day: Day, { of, fromMs, toMs, lane, name }: Bar<Listed>, at: (ms: number) => string): TemplateResult {
    const [from, to] = [this.#clock(fromMs), this.#clock(toMs)];
    const words = t('{device}, {from} to {to}', { device: of.stream.device_id, from, to });
    const width = at(day.startMs + toMs - fromMs);
    const y = BARS_PX + lane * LANE_PX;
    // At the ends of the day within it.
    const share = (fromMs + toMs - 2 * day.startMs) / 2 / (day.endMs - day.startMs);
    const device = of.stream.device_id;
    const isIn =
      name === 'in' && (toMs - fromMs) * (this.#lanePx / (day.endMs - day.startMs)) >= nameWidth(device) + NAME_GAP_PX + DIAMOND_PX;
    // Next to a bar it begins behind the diamond of a short one.
    const [edge, anchor, gap] = (
      {
        in: [fromMs, 'start', NAME_GAP_PX],
        after: [toMs, 'start', DIAMOND_PX],
        before: [fromMs, 'end', -DIAMOND_PX],
      } as const
    )[name];
    const isShort = (toMs - fromMs) / (day.endMs - day.startMs) < SHORT_SHARE;
    return svg`<a class="bar" href=${addressOf(of, fromMs)} aria-label=${words} data-id=${of.id}>
      <title>${words}</title>
      <svg x=${`${100 * share}%`} y=${y} class="about"><rect x=${-HIT_PX * share} width=${HIT_PX} height=${LANE_PX - 2} />
        ${isShort ? svg`<path transform="translate(0 ${LANE_PX / 2 - 1})" d="M0-7 6 0 0 7-6 0z" />` : nothing}</svg>
      <svg x=${at(fromMs)} y=${y} width=${width} height=${LANE_PX - 2}><rect width="100%" height="100%" /></svg>
      ${name === 'in' && !isIn ? nothing : svg`<text x=${at(edge)} dx=${gap} y=${y + 16} text-anchor=${anchor}>${device}</text>`}
      <rect class="edge" x=${at(fromMs)} y=${y} width=${width} height=${LANE_PX - 2} />
    </a>`;
  }

  /** The recording that was on at the time under the pointer: the one whose bar was hit, else the first; next to all of them, the nearest
   *  within reach. By keyboard there is no place. */
  #openUnder(event: PointerEvent, { startMs, endMs }: Day): void {
    if (event.detail === 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    const ms = startMs + ((event.clientX - left) / width) * (endMs - startMs);
    const hit = (event.target as Element).closest<SVGElement>('.bar > :not(.about)')?.parentElement?.dataset['id'];
    const reachMs = ((HIT_PX / width) * (endMs - startMs)) / (event.pointerType === 'touch' ? 1 : 2);
    const offMs = ({ fromMs, toMs }: Listed): number => Math.max(fromMs - ms, ms - toMs, 0);
    const [nearest] = this.#recordings.filter((one) => offMs(one) <= reachMs).toSorted((a, b) => offMs(a) - offMs(b));
    const of = this.#recordings.find(({ id }) => id === hit) ?? nearest;
    if (of !== undefined) location.hash = addressOf(of, Math.min(of.toMs, Math.max(of.fromMs, ms)));
  }

  /** The same in words, with what is between. */
  #list(): TemplateResult {
    const { locale } = this.context;
    let reachedMs = NaN;
    const rows = this.#recordings.map((one) => {
      const pauseMs = one.fromMs - reachedMs;
      reachedMs = Number.isNaN(reachedMs) ? one.toMs : Math.max(reachedMs, one.toMs);
      return { ...one, pauseMs };
    });
    return html`<details>
      <summary>${t('As a list ({count})', { count: formatNumber(locale, rows.length) })}</summary>
      ${tableOf<(typeof rows)[number]>(
        [
          { name: t('Recorded from'), cell: (row) => html`<a href=${addressOf(row, row.fromMs)}>${this.#dateAndTime(row.fromMs)}</a>` },
          { name: t('To'), cell: (row) => this.#dateAndTime(row.toMs) },
          { name: t('Duration'), kind: 'num', cell: (row) => duration(row.toMs - row.fromMs) },
          { name: t('Nothing recorded before'), kind: 'num', cell: (row) => (row.pauseMs > 0 ? duration(row.pauseMs) : '–') },
          { name: t('Device'), cell: (row) => row.stream.device_id },
        ],
        rows,
      )}
    </details>`;
  }

  #clock(ms: number): string {
    const { locale } = this.context;
    const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: this.#zone });
    return clock.format(ms) + zoneIfTwice(locale, ms, this.#zone);
  }

  #dateAndTime(ms: number): TemplateResult {
    const shown = new Intl.DateTimeFormat(this.context.locale, {
      dateStyle: 'medium',
      timeStyle: 'short',
      hourCycle: 'h23',
      timeZone: this.#zone,
    });
    return html`<time datetime=${new Date(ms).toISOString()}>${shown.format(ms)}${zoneIfTwice(this.context.locale, ms, this.#zone)}</time>`;
  }
}

const pen = document.createElement('canvas').getContext('2d')!;

/** Of a name below a day, px. */
function nameWidth(text: string): number {
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

const addressOf = ({ id }: Recorded, ms: number): string => `#/recordings/${id}?at=${encodeURIComponent(new Date(ms).toISOString())}`;

/** None of one that has only begun: its times are not saved yet. */
function recordedOf(stream: Stream): readonly Listed[] {
  const { id, recorded_from: from, last_sample_at: to } = stream;
  return from === null || to === null || stream.channels.length === 0
    ? []
    : [{ id, fromMs: Date.parse(from), toMs: Date.parse(to), stream }];
}

async function streamsBetween(subject: string, since: string, until: string): Promise<{ streams: readonly Stream[]; isCut: boolean }> {
  let page = await callList('/api/v1/streams', { query: { subject_id: subject, since, until, sort: 'oldest', limit: PAGE } });
  const streams = [...page.items];
  for (let pages = 1; page.next !== null && pages < PAGES_MAX; pages++) {
    page = await callNext('/api/v1/streams', page.next);
    streams.push(...page.items);
  }
  return { streams, isCut: page.next !== null };
}

/** How much of a day was recorded, in words. */
function summaryOf(bars: readonly Bar<Listed>[], cells: readonly Cell[]): string {
  if (bars.length === 0) return t('nothing recorded');
  const { recordedMs, gapsMs } = coverOf(bars);
  const rates = cells.flatMap(({ rate }) => (rate === null ? [] : [Math.round(rate)]));
  const [low, high] = [Math.min(...rates), Math.max(...rates)];
  const rate = low === high ? t('mean heart rate {rate} /min', { rate: low }) : t('mean heart rate {low} to {high} /min', { low, high });
  return [
    plural(bars.length, '{time} in 1 recording', '{time} in {count} recordings', { time: duration(recordedMs) }),
    ...(gapsMs.length === 0
      ? []
      : [plural(gapsMs.length, '1 gap, {time}', '{count} gaps, {time}', { time: duration(gapsMs.reduce((sum, ms) => sum + ms, 0)) })]),
    ...(rates.length === 0 ? [] : [rate]),
  ].join(' · ');
}

/** @param startMs of the day */
function ribbonOf({ fromMs, toMs, covered, flag }: Cell, at: (ms: number) => string, startMs: number): TemplateResult {
  const height = Math.max(1, RIBBON_PX * covered);
  const y = (RIBBON_PX - height).toFixed(1);
  return filled(flag, { x: at(fromMs), y, width: at(startMs + toMs - fromMs), height: height.toFixed(1) });
}

/** Below the values: what is seen of it has none. */
function receivedIn({ fromMs, toMs, share }: Received, { startMs, endMs }: Day, at: (ms: number) => string): TemplateResult {
  const [from, to] = [Math.max(fromMs, startMs), Math.min(toMs, endMs)];
  const height = Math.max(1, RIBBON_PX * share);
  const y = (RIBBON_PX - height).toFixed(1);
  return svg`<rect class="received" x=${at(from)} y=${y} width=${at(startMs + to - from)} height=${height.toFixed(1)} />`;
}

/** The coarsest step of an overview, ms. */
const HOUR_MS = 36e5;

/** What was received of recordings in a range, by their samples. Of one that is too much to read, the values say it.
 *  @param stepMs as fine as the values */
async function receivedBetween(recordings: readonly Listed[], sinceMs: number, untilMs: number, stepMs: number): Promise<Received[]> {
  const within = recordings
    .map(({ stream, id, fromMs, toMs }) => ({ stream, id, fromMs: Math.max(fromMs, sinceMs), toMs: Math.min(toMs, untilMs) }))
    .filter(({ fromMs, toMs }) => toMs > fromMs)
    .toSorted((a, b) => b.toMs - b.fromMs - (a.toMs - a.fromMs))
    .slice(0, RECEIVED_MAX);
  const received: Received[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < within.length) {
      const one = within[next++]!;
      const { channels } = one.stream;
      const code = (channels.find(({ kind }) => kind === 'ecg') ?? channels.find(({ kind }) => kind === 'ppg') ?? channels[0]!).code;
      const overviews = await call('GET', '/api/v1/streams/{streamId}/overview', {
        params: { streamId: one.id },
        query: {
          since: new Date(one.fromMs).toISOString(),
          until: new Date(one.toMs).toISOString(),
          channels: [code],
          // A bucket more at each end.
          buckets: Math.min(BUCKETS_MAX, Math.ceil((one.toMs - one.fromMs) / Math.min(HOUR_MS, stepMs)) + 2),
          resolution: '1s',
        },
      }).catch((error: unknown) => {
        if (error instanceof ApiError && error.code === 'range_too_large') return [];
        throw error;
      });
      for (const overview of overviews) received.push(...receivedOf(overview, one));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return received;
}

type Place = Readonly<Record<'x' | 'y' | 'width' | 'height', string | number>>;

function filled(flag: Cell['flag'], { x, y, width, height }: Place): TemplateResult {
  const look = flags[flag];
  return svg`<rect class=${look} x=${x} y=${y} width=${width} height=${height} />${
    flag === 0 ? nothing : svg`<rect fill="url(#lines-${look})" x=${x} y=${y} width=${width} height=${height} />`
  }`;
}

/** Slanted lines on what is suspect, crossed ones on what is unusable: told apart without colour. */
const linesOfRibbon = svg`<defs>
  <pattern id="lines-suspect" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M-1 1 1-1M0 6 6 0M5 7l2-2" /></pattern>
  <pattern id="lines-bad" width="5" height="5" patternUnits="userSpaceOnUse"><path d="M0 5 5 0M0 0l5 5" /></pattern>
</defs>`;
