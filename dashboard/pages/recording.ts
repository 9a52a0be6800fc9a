/** One recording: #/recordings/<stream>?at=…, reached from a person's page. What is shown is in the address. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import '../../widgets/provider/provider.ts';
import '../../widgets/recording/recording.ts';
import type { PickDetail } from '../../widgets/recording/recording-pick.ts';
import type { BioRecording } from '../../widgets/recording/recording.ts';
import { t } from '../language.ts';
import { Marks } from '../marks.ts';
import { Page } from '../page.ts';
import { call } from '../service.ts';
import type { Stream, Xuser } from '../service.ts';
import { loadNames } from '../who.ts';

type View = Readonly<{ at: string; speed: number; gain: number; row: number; channels: string }>;

export class RecordingPage extends Page {
  #stream: Stream | null = null;
  #user: Xuser | null = null;
  /** Of the person's clocks; '': not known, then the browser's. */
  #zone = '';
  #held: Readonly<{ subjectId: string; projectId: string }> | null = null;

  /** What the address said at first: the viewer moves on by itself, and must not be called back. */
  readonly #given = new URLSearchParams(this.context.query);
  readonly #marks = new Marks({
    ask: (question) => this.ask(question),
    change: (action) => this.change(action),
    run: (action) => this.run(action),
    redraw: () => this.context.redraw(),
    time: (iso) => this.#exactTime(iso),
    locale: this.context.locale,
    canEdit: this.canEdit,
    viewer: () => document.querySelector<BioRecording>('bio-recording'),
  });

  override get title(): string {
    const name = this.#user === null ? '' : this.#user.display_name || this.#user.external_id;
    return this.#stream === null ? t('Recording') : t('Recording of {name}', { name });
  }

  protected override async load(): Promise<void> {
    const [streamId = ''] = this.context.argument.split('/');
    this.#stream = await call('GET', '/api/v1/streams/{streamId}', { params: { streamId } });
    const [user, projects] = await Promise.all([
      call('GET', '/api/v1/xusers/{xuserId}', { params: { xuserId: this.#stream.subject_id } }),
      call('GET', '/api/v1/projects'),
    ]);
    this.#user = user;
    this.#zone = user.time_zone ?? projects.find(({ id }) => id === user.project_id)?.time_zone ?? '';
    await this.#marks.load(this.#stream, this.context.query.get('at'), loadNames(this.context.member, this.canAdmin));
    this.#held ??= { subjectId: this.#user.xuser_id, projectId: this.#user.project_id };
  }

  #exactTime(iso: string): TemplateResult {
    const shown = new Intl.DateTimeFormat(this.context.locale, {
      year: 'numeric',
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
      fractionalSecondDigits: 1,
      ...(this.#zone === '' ? {} : { timeZone: this.#zone }),
    });
    return html`<time datetime=${iso}>${shown.format(Date.parse(iso))}</time>`;
  }

  protected override actions(): TemplateResult | typeof nothing {
    if (this.#user === null) return nothing;
    return html`<div class="row">
      <a class="button" href="#/users/${this.#user.xuser_id}">${this.#user.display_name || this.#user.external_id}</a>
      <button type="button" @click=${() => globalThis.print()}>${t('Print')}</button>
    </div>`;
  }

  protected override body(): TemplateResult | typeof nothing {
    if (this.#stream === null || this.#held === null) return nothing;
    const given = (name: string): string | typeof nothing => this.#given.get(name) ?? nothing;
    return html`<section class="card">
        <p class="muted">${t('Device {name}', { name: `${this.#stream.device_id} ${this.#stream.firmware}`.trim() })}</p>
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
            @bio:recording-pick=${(event: CustomEvent<PickDetail | null>) => this.#marks.picked(event.detail)}
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
