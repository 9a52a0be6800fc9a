/** One recording: #/recordings/<stream>?at=…, reached from a person's page. What is shown is in the address. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { zoneIfTwice } from '../../widgets/shared/zoned-time.ts';
import '../../widgets/provider/provider.ts';
import '../../widgets/recording/recording.ts';
import type { PickDetail } from '../../widgets/recording/recording-pick.ts';
import type { BioRecording } from '../../widgets/recording/recording.ts';
import { named, t } from '../language.ts';
import { Marks } from '../marks.ts';
import { neighboursOf } from '../neighbours.ts';
import type { Neighbours } from '../neighbours.ts';
import { Page } from '../page.ts';
import { call } from '../service.ts';
import type { Stream, Xuser } from '../service.ts';
import { clockZone, zoneOf } from '../time-zone.ts';
import { loadNames } from '../who.ts';

/** A recording was left by key or button for the one before or after it: where the keyboard goes on. */
let walkedBy: 'keys' | 'before' | 'after' | null = null;

type View = Readonly<{ at: string; speed: number; gain: number; row: number; channels: string }>;

export class RecordingPage extends Page {
  override readonly isWide = true;
  #stream: Stream | null = null;
  #user: Xuser | null = null;
  /** Of the person's clocks; '': not known, then the browser's. */
  #zone = '';
  #held: Readonly<{ subjectId: string; projectId: string }> | null = null;
  #neighbours: Neighbours = { before: null, after: null };

  /** What the address said at first: the viewer moves on by itself, and must not be called back. */
  #given = new URLSearchParams(this.context.query);
  readonly #marks = new Marks({
    ask: (question) => this.ask(question),
    change: (action) => this.change(action),
    run: (action) => this.run(action),
    reload: () => this.load(),
    redraw: () => this.context.redraw(),
    time: (iso) => this.time(iso, 'medium'),
    exactTime: (iso) => this.#exactTime(iso, 3),
    locale: this.context.locale,
    canEdit: this.canEdit,
    memberId: this.context.member.id,
    viewer: () => document.querySelector<BioRecording>('bio-recording'),
  });

  protected override get isAboutPerson(): boolean {
    return true;
  }

  protected override async isAsShown(): Promise<boolean> {
    await call('GET', '/api/v1/streams/{streamId}', { params: { streamId: this.context.argument.split('/')[0]! } });
    return true;
  }

  protected override get zone(): string {
    return this.#zone;
  }

  override get title(): string {
    const name = this.#user === null ? '' : this.#user.display_name || this.#user.external_id;
    return this.#stream === null ? t('Recording') : t('Recording of {name}', { name });
  }

  protected override async load(): Promise<void> {
    const [streamId = ''] = this.context.argument.split('/');
    this.#stream = await call('GET', '/api/v1/streams/{streamId}', { params: { streamId } });
    if (this.#stream.recorded_from === null) this.lookSoon(); // it has only just begun
    const [user, projects] = await Promise.all([
      call('GET', '/api/v1/xusers/{xuserId}', { params: { xuserId: this.#stream.subject_id } }),
      call('GET', '/api/v1/projects'),
    ]);
    this.#user = user;
    this.#zone = zoneOf(user, projects);
    await this.#readMarks(this.#stream);
    this.#held ??= { subjectId: this.#user.xuser_id, projectId: this.#user.project_id };
    const stream = this.#stream;
    void this.run(async () => {
      this.#neighbours = await neighboursOf(stream);
      // Drawn in the next frame.
      if (walkedBy !== null) requestAnimationFrame(() => requestAnimationFrame(() => this.#goOnWithKeys()));
    });
  }

  async #readMarks(stream: Stream): Promise<void> {
    await this.#marks.load(stream, this.context.query.get('at'), loadNames(this.context.member, this.canAdmin));
  }

  protected override forget(): void {
    [this.#stream, this.#user, this.#zone, this.#neighbours] = [null, null, '', { before: null, after: null }];
    this.#given = new URLSearchParams(this.context.query);
    this.#marks.forget();
  }

  /** Walking from one recording to the next leaves the keyboard where it was. */
  #goOnWithKeys(): void {
    const [by, viewer] = [walkedBy, document.querySelector<BioRecording>('bio-recording')];
    walkedBy = null;
    const link = by === 'keys' ? null : document.querySelector<HTMLElement>(`.neighbours a.${by}`);
    (link ?? viewer)?.focus();
  }

  /** Its keys work at once, unless the keyboard is elsewhere on the page already. */
  #takeKeys(): void {
    const isFree = document.activeElement === null || document.activeElement === document.body;
    if (isFree && walkedBy === null) document.querySelector<BioRecording>('bio-recording')?.focus({ preventScroll: true });
  }

  /** The address of a neighbour, looked at as this one. From behind one comes to its end, as in a book. */
  #addressOf(stream: Stream, isBefore: boolean): string {
    const kept = new URLSearchParams(
      ['speed', 'gain', 'row', 'channels'].flatMap((name) => {
        const value = this.context.query.get(name);
        return value === null ? [] : [[name, value]];
      }),
    );
    if (isBefore && stream.last_sample_at !== null) kept.set('at', stream.last_sample_at);
    return `#/recordings/${stream.id}${kept.size === 0 ? '' : `?${kept.toString()}`}`;
  }

  /** A viewer that has just moved has not said yet where it is: neither what is opened next nor the way back may be of another place. */
  #hear(): void {
    document.querySelector<BioRecording>('bio-recording')?.tellNow();
  }

  /** The five minutes around what is shown: the viewer moves without a redraw. */
  get #variabilityHere(): string {
    const at = this.context.query.get('at');
    return `#/recordings/${this.#stream!.id}/variability${at === null ? '' : `?at=${encodeURIComponent(at)}`}`;
  }

  #key(event: KeyboardEvent): void {
    const [field] = event.composedPath();
    const isTyping = field instanceof HTMLElement && field.matches('input, select, textarea');
    if (event.key.toLowerCase() === 'v' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      this.#hear();
      location.hash = this.#variabilityHere;
    }
    if (this.canEdit) this.#marks.undoKey(event);
    this.#walk(event);
  }

  #walk(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.key !== '<' && event.key !== '>')) return;
    const isBefore = event.key === '<';
    const stream = isBefore ? this.#neighbours.before : this.#neighbours.after;
    event.preventDefault();
    if (stream === null) return;
    this.#hear();
    walkedBy = 'keys';
    location.hash = this.#addressOf(stream, isBefore);
  }

  #neighbourBar(stream: Stream): TemplateResult {
    const { before, after } = this.#neighbours;
    const link = (other: Stream | null, name: 'before' | 'after', word: string): TemplateResult =>
      other === null
        ? html`<span class="muted ${name}">${name === 'before' ? t('No earlier recording') : t('No later recording')}</span>`
        : html`<a
            class="button ${name}"
            aria-keyshortcuts=${name === 'before' ? '<' : '>'}
            href=${this.#addressOf(other, name === 'before')}
            @click=${() => {
              this.#hear();
              walkedBy = name;
            }}
            >${word}<span class="muted">${other.device_id} · ${this.#exactTime(other.recorded_from!, 0)}</span></a
          >`;
    return html`<div class="neighbours" role="group" aria-label=${t('Recordings of this person')}>
      ${link(before, 'before', t('Previous recording'))}
      <p class="muted">
        ${t('Device {name}', { name: `${stream.device_id} ${stream.firmware}`.trim() })}
        <span class="keys">· ${t('Keys < and >: previous and next recording')}</span>
      </p>
      ${link(after, 'after', t('Next recording'))}
    </div>`;
  }

  #exactTime(iso: string, digits: 0 | 3): TemplateResult {
    const [ms, zone] = [Date.parse(iso), clockZone(this.#zone)];
    const shown = new Intl.DateTimeFormat(this.context.locale, {
      year: 'numeric',
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
      ...(digits === 0 ? {} : ({ second: '2-digit', fractionalSecondDigits: digits } as const)),
      timeZone: zone,
    });
    return html`<time datetime=${iso}>${shown.format(ms)}${zoneIfTwice(this.context.locale, ms, zone)}</time>`;
  }

  protected override actions(): TemplateResult | typeof nothing {
    if (this.#user === null) return nothing;
    const day = this.#stream?.last_sample_at ?? null;
    return html`<div class="row">
      <a
        class="button"
        aria-keyshortcuts="v"
        href=${this.#variabilityHere}
        @click=${(event: MouseEvent) => {
          this.#hear();
          (event.currentTarget as HTMLAnchorElement).href = this.#variabilityHere;
        }}
        >${t('Heart rate variability')}</a
      >
      <a class="button" href="#/users/${this.#user.xuser_id}/recordings${day === null ? '' : `?on=${encodeURIComponent(day)}`}"
        >${t('All recordings')}</a
      >
      <a class="button" href="#/users/${this.#user.xuser_id}">${this.#user.display_name || this.#user.external_id}</a>
      <button type="button" @click=${() => globalThis.print()}>${t('Print')}</button>
    </div>`;
  }

  protected override body(): TemplateResult | typeof nothing {
    if (this.#stream === null || this.#held === null || this.#user === null) return nothing;
    const given = (name: string): string | typeof nothing => this.#given.get(name) ?? nothing;
    return html`<section class="card" @keydown=${(event: KeyboardEvent) => this.#key(event)}>
        ${this.#neighbourBar(this.#stream)}
        <bio-provider .operator=${this.#held}>
          <bio-recording
            stream=${this.#stream.id}
            at=${given('at')}
            speed=${given('speed')}
            gain=${given('gain')}
            row=${given('row')}
            channels=${given('channels')}
            tz=${this.#zone === '' ? nothing : this.#zone}
            ?marking=${this.canEdit}
            .titleOf=${named}
            @bio:state=${({ detail: { state } }: CustomEvent<{ state: string }>) => {
              // What the viewer may not show any more, the rest of the page may not either.
              if (['empty', 'error', 'unauthorized'].includes(state)) void this.lookAgain();
              if (state === 'ready') this.#takeKeys();
            }}
            @bio:recording-pick=${(event: CustomEvent<PickDetail | null>) => this.#marks.picked(event.detail)}
            @bio:recording-marks=${() => void this.run(() => this.#readMarks(this.#stream!), true)}
            @bio:recording-view=${(event: CustomEvent<View>) => {
              const { at, speed, gain, row, channels } = event.detail;
              this.keep({ at, speed: String(speed), gain: String(gain), row: String(row), channels });
              this.#marks.shown(at);
            }}
          ></bio-recording>
        </bio-provider>
      </section>
      ${this.#marks.view()}`;
  }
}
