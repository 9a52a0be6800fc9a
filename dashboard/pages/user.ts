/** One user: live monitor, trends, what they reported, recordings, and what is held of the person. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { BioProvider } from '../../widgets/provider/provider.ts';
import { ApiError } from '../../sdk/fetch-json.ts';
import { channelNames } from '../../src/signal.ts';
import { isLive } from '../../widgets/recording/recording-source.ts';
import { formatNumber } from '../../widgets/shared/format.ts';
import { t } from '../language.ts';
import { filtersOf } from '../live-view.ts';
import { fieldsOf } from '../marks.ts';
import { recentOf } from '../live-streams.ts';
import { LiveMonitor } from '../monitor.ts';
import { Measured } from '../measured.ts';
import type { Question } from '../dialog.ts';
import { Page } from '../page.ts';
import type { MarkedStretch } from '../paused-traces.ts';
import { duration, emptyState, moreButton, sortField, tableOf } from '../parts.ts';
import { Person, receiptView } from '../person.ts';
import type { Receipt } from '../person.ts';
import { Reported } from '../reported.ts';
import { call, callList, callNext } from '../service.ts';
import type { MarkBody, Stream, Xuser } from '../service.ts';
import { Trends } from '../trends.ts';
import { loadNames } from '../who.ts';

/** Recordings that are listed at first, and at most when the page is loaded again. */
const STREAMS = 20;
const STREAMS_MAX = 1000;
const sorts = [
  ['newest', t('Newest first')],
  ['oldest', t('Oldest first')],
] as const;
type Sort = (typeof sorts)[number][0];

export class UserPage extends Page {
  readonly #person = new Person({
    ask: (question) => this.ask(question),
    time: (iso) => this.time(iso),
    locale: this.context.locale,
    canEdit: this.canEdit,
    canAdmin: this.canAdmin,
    erase: (work, externalId) => this.#erase(work, externalId),
  });
  /** The person is gone. */
  #erased: Readonly<{ receipt: Receipt; externalId: string }> | null = null;
  /** What is refused meanwhile is so because of it. */
  #isErasing = false;
  #streams: readonly Stream[] = [];
  #nextStreams: string | null = null;
  /** Order and device of the recordings that are listed; '' is every device. */
  #sort: Sort = sorts.find(([value]) => value === this.context.query.get('sort'))?.[0] ?? 'newest';
  #device = this.context.query.get('device') ?? '';
  /** Whether a device of theirs sends, whichever recordings are listed. */
  #isSending = false;
  #monitor: LiveMonitor | null = null;
  /** The question about a mark on its traces. */
  #marking: Question | null = null;
  readonly #reported = new Reported(this.context.locale, (iso) => this.time(iso));
  readonly #measured = new Measured(this.context.locale, (iso) => this.time(iso));
  readonly #trends = new Trends({
    query: this.context.query,
    keep: (filters) => this.keep(filters),
    redraw: this.context.redraw,
    time: (iso) => this.time(iso),
  });

  protected override get isAboutPerson(): boolean {
    return true;
  }

  protected override get zone(): string {
    return this.#person.timeZone;
  }

  override get title(): string {
    const { user } = this.#person;
    return user === null ? t('User') : user.display_name || user.external_id;
  }

  /** An address may go on with an answer that is to be seen: <user>/answers/<id>. */
  get #ids(): [user: string, answer: string] {
    const [user = '', , answer = ''] = this.context.argument.split('/');
    return [user, answer];
  }

  /** A person who is being erased is refused by the feed first. */
  protected override async isAsShown(): Promise<boolean> {
    if (this.#isGoing) return true;
    const recent = await call('GET', '/api/v1/streams', { query: recentOf(this.#ids[0]) }).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 403) return null;
      throw error;
    });
    if ((recent === null) !== this.#person.isUnshared || this.#monitor?.isRefused === true) return false;
    return this.#monitor !== null || recent?.some(isLive) !== true;
  }

  get #isGoing(): boolean {
    return this.#isErasing || this.#erased !== null;
  }

  /** The receipt is shown, whatever was asked for before it was here. */
  async #erase(work: Promise<Receipt>, externalId: string): Promise<void> {
    this.#isErasing = true;
    try {
      this.#erased = { receipt: await work, externalId };
      this.#monitor?.stop();
    } finally {
      this.#isErasing = false;
      void this.lookAgain();
    }
  }

  protected override async load(): Promise<void> {
    if (this.#isGoing) return;
    try {
      await this.#load();
    } catch (error) {
      if (!this.#isGoing) throw error;
    }
  }

  async #load(): Promise<void> {
    const [id, answer] = this.#ids;
    await this.#person.load(id, loadNames(this.context.member, this.canAdmin));
    const { user, isUnshared } = this.#person;
    // What was asked for besides the first page stays.
    const limit = Math.min(STREAMS_MAX, Math.max(STREAMS, this.#streams.length));
    if (isUnshared) [this.#streams, this.#nextStreams] = [[], null];
    else await this.unlessOvertaken(this.#loadStreams(id, limit));
    if (this.isLeft || this.#isGoing) return;
    if (isUnshared || user === null) {
      this.#monitor?.stop();
      this.#monitor = null;
      if (this.#marking !== null) this.dialog.dismiss(this.#marking);
      return;
    }
    // The trace does not wait for it.
    void this.run(() => this.#reported.load(id, user.project_id, answer));
    void this.run(async () => {
      await this.#measured.load(id, user.project_id);
      this.#trends.offer(this.#measured.biosignals);
    });
    void this.run(() => this.#trends.load(user, this.#person.timeZone));
    if (this.#monitor !== null || !this.#isSending) return;
    const monitor = new LiveMonitor(
      this.context.locale,
      this.context.redraw,
      this.context.query,
      (view) => this.keep(filtersOf(view)),
      { mark: this.canEdit ? (stretch) => this.#mark(stretch) : null },
      () => void this.lookAgain(),
    );
    this.#monitor = monitor;
    // The provider is drawn first; its session exists a task later. By then it may be another person's.
    this.context.redraw();
    setTimeout(() => {
      if (this.isLeft || this.#monitor !== monitor) return;
      const session = document.querySelector<BioProvider>('#subject')?.session ?? null;
      if (session !== null) monitor.start(session, id);
    }, 100);
  }

  #mark({ streamOf, channels, fromMs, toMs, done }: MarkedStretch): void {
    this.#marking = {
      title: t('Mark'),
      text: t('Everyone who can see this recording also sees the mark, your name and when you made it.'),
      word: t('Save'),
      fields: fieldsOf(null, channels),
      act: async (field) => {
        const place = { starts_at: new Date(fromMs).toISOString(), ends_at: toMs === null ? null : new Date(toMs).toISOString() };
        const channel = field('channel') || null;
        const what = { kind: field('kind') as MarkBody['kind'], channel, text: field('text') };
        await call('POST', '/api/v1/annotations', { body: { stream_id: streamOf(channel), ...place, ...what } });
        done();
      },
    };
    this.dialog.ask(this.#marking);
  }

  protected override forget(): void {
    this.#monitor?.stop();
    [this.#monitor, this.#streams, this.#nextStreams] = [null, [], null];
    this.#person.forget();
  }

  protected override left(): void {
    this.#monitor?.stop();
  }

  protected override body(): TemplateResult | typeof nothing {
    const { user, isUnshared } = this.#person;
    if (this.#erased !== null) {
      const { receipt, externalId } = this.#erased;
      return html`${receiptView(receipt, externalId, this.context.locale, (iso) => this.time(iso))}
        <p><a class="back" href="#/users">${t('All users')}</a></p>`;
    }
    if (user === null) return nothing;
    if (isUnshared) {
      return html`<section class="card">
          ${emptyState(t('This person has not consented to sharing'), t('The project requires it, so only the person can read their data.'))}
        </section>
        ${this.#person.view()}`;
    }
    return html`<bio-provider id="subject" tz=${this.zone} .operator=${this.#subject(user)}>
        ${
          this.#monitor === null
            ? html`<p class="muted">${t('No device of this user is sending right now.')}</p>`
            : html`<div class="row status">${this.#monitor.status()}</div>
                ${this.#monitor.view()}
                <p class="notice">${t('No alarms. Not a medical device.')}</p>`
        }
        ${this.#trends.view()}
      </bio-provider>
      ${this.#measured.view()} ${this.#reported.view()}
      <section class="card">
        <div class="card-head">
          <h2>${t('Recordings')}</h2>
          <a class="button" href="#/users/${user.xuser_id}/recordings">${t('All recordings')}</a>
        </div>
        ${this.#streamFields()} ${this.chosen(() => this.#streamsFound())}
      </section>
      ${this.#person.view()}`;
  }

  #streamsFound(): TemplateResult {
    if (this.#streams.length > 0)
      return html`${this.#table()} ${moreButton(this.#nextStreams, () => void this.run(() => this.#moreStreams()))}`;
    if (this.#device === '') return emptyState(t('No recordings yet'), t('A recording starts with the first packet of a device.'));
    return emptyState(t('No recordings found'), t('No recording of this person is by a device of this id.'));
  }

  async #loadStreams(id: string, limit: number): Promise<void> {
    const device = this.#device === '' ? undefined : this.#device;
    const [{ items, next }, recent] = await this.newest(
      Promise.all([
        callList('/api/v1/streams', { query: { subject_id: id, sort: this.#sort, device_id: device, limit } }),
        call('GET', '/api/v1/streams', { query: recentOf(id) }),
      ]),
    );
    [this.#streams, this.#nextStreams] = [items, next];
    this.#isSending = recent.some(isLive);
  }

  #chooseStreams(sort: Sort, device: string): void {
    [this.#sort, this.#device] = [sort, device];
    this.keep({ sort: sort === 'newest' ? '' : sort, device });
    this.choose(() => this.#loadStreams(this.#ids[0], STREAMS));
  }

  /** Above the recordings, where there is more than one. */
  #streamFields(): TemplateResult | typeof nothing {
    if (this.#streams.length < 2 && this.#device === '') return nothing;
    const find = (event: Event): void => {
      event.preventDefault();
      const field = (event.target as Element).closest('form')!.elements.namedItem('device') as HTMLInputElement;
      this.#chooseStreams(this.#sort, field.value.trim());
    };
    return html`<form class="row filters" role="search" aria-label=${t('Recordings')} @submit=${find}>
      <label class="wide"
        >${t('Device')}<input
          name="device"
          type="search"
          autocomplete="off"
          placeholder=${t('Whole id of a device')}
          .value=${this.#device}
          @change=${find}
      /></label>
      ${sortField(sorts, this.#sort, (sort) => this.#chooseStreams(sort, this.#device))}
    </form>`;
  }

  async #moreStreams(): Promise<void> {
    if (this.#nextStreams === null) return;
    const { items, next } = await this.newest(callNext('/api/v1/streams', this.#nextStreams));
    this.#streams = [...this.#streams, ...items];
    this.#nextStreams = next;
  }

  /** The same object as long as it is the same user, so that a redraw does not look like a change. */
  #held: Readonly<{ subjectId: string; projectId: string }> | null = null;
  #subject(user: Xuser): Readonly<{ subjectId: string; projectId: string }> {
    return (this.#held ??= { subjectId: user.xuser_id, projectId: user.project_id });
  }

  protected override actions(): TemplateResult | typeof nothing {
    const { user, isUnshared } = this.#person;
    if (user === null) return nothing;
    return html`<div class="row">
      ${isUnshared ? nothing : html`<a class="button" href=${this.#reportOf(user)}>${t('Report')}</a>`}
      ${this.canAdmin ? html`<a class="button" href="#/audit/${user.xuser_id}">${t("Who has seen this person's data")}</a>` : nothing}
    </div>`;
  }

  /** The report of the range that the trends show. */
  #reportOf({ xuser_id: id }: Xuser): string {
    const range = new URLSearchParams([...this.context.query].filter(([name]) => name === 'from' || name === 'to'));
    return `#/users/${id}/report${range.size === 0 ? '' : `?${range.toString()}`}`;
  }

  #table(): TemplateResult {
    const { locale } = this.context;
    return tableOf<Stream>(
      [
        {
          name: t('Device'),
          cell: (stream) => html`${stream.device_id} <span class="muted">${stream.firmware}</span>`,
        },
        {
          name: t('View'),
          cell: (stream) =>
            stream.channels.length === 0
              ? '–'
              : html`<a href="#/recordings/${stream.id}"
                  >${t('Open|a recording')}<span class="vh">
                    ${t('the recording of {device} from {time}', { device: stream.device_id, time: stream.recorded_from ?? stream.started_at })}</span
                  ></a
                >`,
        },
        { name: t('Recorded from'), cell: (stream) => this.time(stream.recorded_from) },
        { name: t('To'), cell: (stream) => this.time(stream.last_sample_at) },
        { name: t('Duration'), kind: 'num', cell: (stream) => length(stream) },
        { name: t('Received'), cell: (stream) => this.time(stream.started_at) },
        {
          name: t('Channels'),
          cell: ({ channels }) => {
            const names = channelNames(channels);
            return channels.map(({ code, rate_hz: rate }) => `${names.get(code)} ${formatNumber(locale, rate, 4)} Hz`).join(', ');
          },
        },
        {
          name: t('Clock skew'),
          kind: 'num',
          cell: (stream) => (stream.clock.skew_ppm === null ? '–' : `${formatNumber(locale, stream.clock.skew_ppm, 2)} ppm`),
        },
        {
          name: t('State'),
          cell: (stream) => html`<span class="state ${isLive(stream) ? 'active' : ''}">${isLive(stream) ? t('live') : t('ended')}</span>`,
        },
      ],
      this.#streams,
    );
  }
}

function length({ recorded_from: from, last_sample_at: to }: Stream): string {
  return from === null || to === null ? '–' : duration(Date.parse(to) - Date.parse(from));
}
