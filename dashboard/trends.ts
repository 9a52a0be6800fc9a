/** Trends of one person: heart rate and HRV or any other value, computed or measured, steps and sleep, over any range; next to another
 *  person; and the trace behind a point. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ApiError } from '../sdk/fetch-json.ts';
import { locale, named, problemOf, t } from './language.ts';
import { isOfDevice } from './measured.ts';
import { parseDuration } from '../widgets/shared/format.ts';
import { call } from './service.ts';
import type { Biosignal, Stream, Xuser } from './service.ts';
import { inLanguage } from './strips.ts';

type Point = Readonly<{ time: string; stream_id: string | null }>;
type Range = Readonly<{ range: string | null; from: string | null; to: string | null }>;
type Filters = Readonly<Record<string, string>>;

/** Around a point, ms. */
const PEEK_MS = 5000;
const DAY_MS = 864e5;
const durations = /^\d+[smhdw]$/;
/** Abbreviations of what is shown where nothing is chosen, and of what has a bar for each day. */
const usual: readonly string[] = ['HR', 'RMSSD'];
/** Those in the address, of a person who is shown another value unless they are chosen. */
const usualWord = usual.join(',');
const daily: readonly string[] = ['STEPS', 'STEPS-D', 'SLEEP'];

const byName = (list: readonly Biosignal[]): readonly Biosignal[] =>
  list.toSorted((a, b) => named(a.name).localeCompare(named(b.name), locale, { numeric: true }));

export type TrendsPage = Readonly<{
  /** Filters of the address, and how to keep others there. */
  query: URLSearchParams;
  keep: (filters: Filters) => void;
  redraw: () => void;
  time: (iso: string) => TemplateResult;
}>;

export class Trends {
  readonly #page: TrendsPage;
  /** Of the address when the page was opened: what a person chooses later is in the chart already. */
  readonly #from: string | null;
  readonly #to: string | null;
  readonly #range: string;
  #user: Xuser | null = null;
  #zone = '';
  #daily: readonly string[] = [];
  /** What is computed, by name. */
  #computed: readonly Biosignal[] = [];
  /** What was measured of them; the one that was measured last comes first. */
  #measured: readonly Biosignal[] = [];
  /** Whether heart rate or HRV was ever computed; null: it is not known yet. */
  #hasUsual: boolean | null = null;
  /** Abbreviation of the value that was chosen; '': heart rate and HRV; null: nothing was. */
  #value: string | null;
  #other: Xuser | null = null;
  /** Another period of the same person, as the chart has it; '': none. */
  #period = '';
  /** Where recordings of the other are, if there are none in the range that is shown. */
  #elsewhere: readonly Stream[] = [];
  /** Number of the last question for them. */
  #asked = 0;
  /** Number of the last choice of what to compare with. */
  #choice = 0;
  #problem: string | null = null;
  #point: Point | null = null;

  constructor(page: TrendsPage) {
    this.#page = page;
    const { query } = page;
    this.#from = query.get('from');
    this.#to = query.get('to');
    const range = query.get('range') ?? '';
    this.#range = durations.test(range) ? range : '24h';
    const value = query.get('value');
    this.#value = value === usualWord ? '' : value;
  }

  async load(user: Xuser, zone: string): Promise<void> {
    this.#user = user;
    this.#zone = zone;
    const params = { projectId: user.project_id };
    const catalog = await call('GET', '/api/v1/projects/{projectId}/biosignals', { params });
    this.#computed = byName(catalog.filter((item) => item.source_type === 'derived'));
    const wanted = catalog.filter(({ abbreviation }) => [...usual, ...daily].includes(abbreviation));
    const found = await Promise.all(
      wanted.map(async ({ id, abbreviation }) => {
        // However long ago: the chart leads there.
        const query = { biosignal_id: id, subject_id: user.xuser_id, quality_max: 1, limit: 1 };
        const values = await call('GET', '/api/v1/observations', { query });
        return values.length > 0 ? abbreviation : null;
      }),
    );
    this.#daily = found.filter((abbreviation) => abbreviation !== null && daily.includes(abbreviation)) as string[];
    this.#hasUsual = found.some((abbreviation) => abbreviation !== null && usual.includes(abbreviation));
    const other = this.#page.query.get('with');
    if (other !== null) await this.#compare(other);
    this.#page.redraw();
  }

  /** @param measured what the person has values of, the one that was measured last first */
  offer(measured: readonly Biosignal[]): void {
    this.#measured = measured;
    this.#page.redraw();
  }

  /** As in the choice. A person of whom neither was computed is shown what was measured last. */
  get #shown(): string {
    return this.#value ?? (this.#hasUsual === false ? (this.#measured.find((item) => !isOfDevice(item))?.abbreviation ?? '') : '');
  }

  view(): TemplateResult {
    const chosen = [...this.#computed, ...this.#measured].find(({ abbreviation }) => abbreviation === this.#shown);
    return html`<div
      class="trends"
      @bio:range=${(event: CustomEvent<Range>) => this.#keep(event)}
      @bio:compare=${(event: CustomEvent<{ compare: string }>) => this.#compared(event)}
      @bio:point=${(event: CustomEvent<Point>) => this.#show(event.detail)}
    >
      ${this.#choices()}
      <bio-trend-chart
        id="trend"
        biosignals=${chosen?.abbreviation ?? usual.join(',')}
        heading=${chosen === undefined ? t('Heart rate and HRV') : named(chosen.name)}
        range=${this.#range}
        from=${this.#from ?? nothing}
        to=${this.#to ?? nothing}
        compare=${this.#other?.xuser_id ?? (this.#period || nothing)}
        compare-name=${this.#other === null ? nothing : this.#other.display_name || this.#other.external_id}
        tz=${this.#zone === '' ? nothing : this.#zone}
        stale-after="48h"
        link="person"
        tools
        points
      ></bio-trend-chart>
      ${this.#peek()} ${this.#comparison()}
      ${
        this.#daily.length === 0
          ? nothing
          : html`<bio-trend-chart
              biosignals=${this.#daily.join(',')}
              heading=${t('Steps and sleep by the day')}
              range="30d"
              tz=${this.#zone === '' ? nothing : this.#zone}
              tools
            ></bio-trend-chart>`
      }
    </div>`;
  }

  #choices(): TemplateResult {
    const choose = (event: Event): void => {
      this.#value = (event.target as HTMLSelectElement).value;
      this.#page.keep({ value: this.#value === '' && this.#hasUsual === false ? usualWord : this.#value });
      this.#show(null);
    };
    const shown = this.#shown;
    const option = ({ abbreviation, name }: Biosignal): TemplateResult =>
      html`<option value=${abbreviation} ?selected=${shown === abbreviation}>${named(name)}</option>`;
    return html`<div class="row compare">
      <label
        >${t('Value')}
        <select name="value" @change=${choose}>
          <option value="" ?selected=${shown === ''}>${t('Heart rate and HRV')}</option>
          ${this.#computed.map(option)}
          ${
            this.#measured.length === 0
              ? nothing
              : html`<optgroup label=${t('Measurements')}>${byName(this.#measured).map(option)}</optgroup>`
          }
        </select></label
      >
    </div>`;
  }

  /** Only the first chart's range is in the address. */
  #keep({ target, detail }: CustomEvent<Range>): void {
    if ((target as HTMLElement).id !== 'trend') return;
    this.#page.keep({ range: detail.range ?? '', from: detail.from ?? '', to: detail.to ?? '' });
    this.#page.redraw();
    void this.#lookForOther();
  }

  /** What was chosen in the chart itself: another person is not among the choices, unless it is the one who is there already. */
  #compared({ target, detail: { compare } }: CustomEvent<{ compare: string }>): void {
    if ((target as HTMLElement).id !== 'trend' || compare === this.#other?.xuser_id) return;
    this.#endComparison();
    this.#period = compare;
    this.#page.keep({ with: '' });
    this.#page.redraw();
  }

  #endComparison(): void {
    [this.#other, this.#problem, this.#elsewhere, this.#period] = [null, null, [], ''];
    this.#asked++;
    this.#choice++;
  }

  #show(point: Point | null): void {
    this.#point = point;
    this.#page.redraw();
  }

  /** Ten seconds of the recording behind a point. */
  #peek(): TemplateResult | typeof nothing {
    const point = this.#point;
    if (point === null) return nothing;
    const close = html`<button type="button" @click=${() => this.#show(null)}>${t('Close')}</button>`;
    if (point.stream_id === null) {
      return html`<section class="card" role="status">
        <p>${t('No recording is known for this point: the value was entered, or its samples are no longer kept.')} ${close}</p>
      </section>`;
    }
    const atMs = Date.parse(point.time);
    const [since, until] = [atMs - PEEK_MS, atMs + PEEK_MS].map((ms) => encodeURIComponent(new Date(ms).toISOString()));
    const href = inLanguage(`/api/v1/streams/${point.stream_id}/strip?since=${since}&until=${until}`);
    return html`<section class="card" role="status">
      <div class="card-head">
        <h2>${t('Trace at {time}', { time: this.#page.time(point.time) })}</h2>
        <a class="button" href="#/recordings/${point.stream_id}?at=${encodeURIComponent(point.time)}">${t('Open in the recording')}</a>
        ${close}
      </div>
      <figure class="strip">
        <div class="strip-scroll" tabindex="0" role="region" aria-label=${t('Trace')}>
          <img src=${href} alt=${t('Ten seconds of the waveform')} />
        </div>
      </figure>
    </section>`;
  }

  #comparison(): TemplateResult {
    const submit = (event: SubmitEvent): void => {
      event.preventDefault();
      const id = new FormData(event.target as HTMLFormElement).get('with');
      const wanted = typeof id === 'string' ? id.trim() : '';
      this.#page.keep({ with: wanted });
      void this.#compare(wanted).then(() => this.#page.redraw());
    };
    return html`<form class="row compare" @submit=${submit}>
      <label
        >${t('Compare with another person')}
        <input name="with" maxlength="255" autocomplete="off" placeholder=${t('External id')} .value=${this.#other?.external_id ?? ''}
      /></label>
      <button>${t('Compare')}</button>
      ${this.#problem === null ? nothing : html`<p class="muted" role="alert">${this.#problem}</p>`}
      <div class="elsewhere" role="status">${this.#elsewhereOf()}</div>
    </form>`;
  }

  /** The range that is shown, Unix ms. */
  #shownRange(): readonly [fromMs: number, toMs: number] {
    const { query } = this.#page;
    const [from, to] = [query.get('from'), query.get('to')].map((time) => (time === null ? NaN : Date.parse(time))) as [number, number];
    const toMs = Number.isNaN(to) ? Date.now() : to;
    return [Number.isNaN(from) ? toMs - (parseDuration(query.get('range') ?? this.#range) ?? DAY_MS) : from, toMs];
  }

  /** Where the other person was recorded last before the range, and first after it, if not in it. */
  async #lookForOther(): Promise<void> {
    const asked = ++this.#asked;
    const subject = this.#other?.xuser_id;
    if (subject === undefined) return;
    const [since, until] = this.#shownRange().map((ms) => new Date(ms).toISOString()) as [string, string];
    const one = async (query: { until?: string; since?: string; sort: 'newest' | 'oldest' }): Promise<readonly Stream[]> =>
      await call('GET', '/api/v1/streams', { query: { subject_id: subject, limit: 1, ...query } });
    const found = await Promise.all([
      one({ since, until, sort: 'newest' }),
      one({ until: since, sort: 'newest' }),
      one({ since: until, sort: 'oldest' }),
    ]).catch(() => null);
    if (asked !== this.#asked || found === null) return;
    const [within, before, after] = found;
    this.#elsewhere = within.length > 0 ? [] : [...before, ...after];
    this.#page.redraw();
  }

  #elsewhereOf(): TemplateResult | typeof nothing {
    const other = this.#other;
    if (other === null || this.#elsewhere.length === 0) return nothing;
    const recorded = this.#elsewhere.map((stream) => {
      const [from, to] = [stream.recorded_from ?? stream.started_at, stream.last_sample_at ?? stream.started_at];
      // One that has only begun has no times of its own yet.
      const end = new Date(Math.max(Date.parse(to), Date.parse(from) + PEEK_MS)).toISOString();
      const query = new URLSearchParams({ from, to: end, with: this.#user?.external_id ?? '' });
      const times = t('{from} to {to}', { from: this.#page.time(from), to: this.#page.time(to) });
      return html`<li><a href="#/users/${other.xuser_id}?${query.toString()}">${times}</a></li>`;
    });
    return html`<p class="muted">
        ${t('{id} was not recorded in this period. The nearest recordings of {id}:', { id: other.external_id })}
      </p>
      <ul class="plain">
        ${recorded}
      </ul>`;
  }

  /** @param externalId of a person of the same project; '' ends the comparison */
  async #compare(externalId: string): Promise<void> {
    this.#endComparison();
    if (externalId === '') return;
    const mine = this.#choice;
    try {
      const found = await call('GET', '/api/v1/xusers', { query: { external_id: externalId, project_id: this.#user?.project_id } });
      if (mine !== this.#choice) return; // another comparison was chosen meanwhile
      this.#other = found[0] ?? null;
      if (this.#other === null) this.#problem = t('There is no person {id} in this project.', { id: externalId });
      else {
        const recorded = await call('GET', '/api/v1/streams', { query: { subject_id: this.#other.xuser_id, limit: 1 } });
        if (mine !== this.#choice) return;
        if (recorded.length === 0) this.#problem = t('There are no recordings of {id}.', { id: externalId });
        else await this.#lookForOther();
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (mine === this.#choice) this.#problem = problemOf(error);
    }
  }
}
