/** One user: live monitor, trends, what they reported, recordings. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { BioProvider } from '../../widgets/provider/provider.ts';
import { formatNumber } from '../../widgets/shared/format.ts';
import { LiveMonitor } from '../monitor.ts';
import { Page } from '../page.ts';
import { duration, emptyState, tableOf } from '../parts.ts';
import { Reported } from '../reported.ts';
import { call } from '../service.ts';
import type { Stream, Xuser } from '../service.ts';

export class UserPage extends Page {
  #user: Xuser | null = null;
  #streams: readonly Stream[] = [];
  #monitor: LiveMonitor | null = null;
  readonly #reported = new Reported(this.context.locale);

  override get title(): string {
    return this.#user === null ? 'User' : this.#user.display_name || this.#user.external_id;
  }

  protected override async load(): Promise<void> {
    const id = this.context.argument;
    [this.#user, this.#streams] = await Promise.all([
      call('GET', '/api/v1/xusers/{xuserId}', { params: { xuserId: id } }),
      call('GET', '/api/v1/streams', { query: { subject_id: id, limit: 20 } }),
    ]);
    // The trace does not wait for it.
    const { project_id: projectId } = this.#user;
    void this.run(() => this.#reported.load(id, projectId));
    if (!this.#streams.some(isLive)) return;
    this.#monitor = new LiveMonitor(this.context.locale, this.context.redraw);
    // The provider is drawn first; its session exists a task later.
    this.context.redraw();
    setTimeout(() => {
      const session = document.querySelector<BioProvider>('#subject')?.session ?? null;
      if (session !== null) this.#monitor?.start(session, id);
    }, 100);
  }

  protected override left(): void {
    this.#monitor?.stop();
  }

  protected override body(): TemplateResult | typeof nothing {
    const user = this.#user;
    if (user === null) return nothing;
    return html`<bio-provider id="subject" .operator=${this.#subject(user)}>
        ${
          this.#monitor === null
            ? html`<p class="muted">No device of this user is sending now.</p>
                <bio-trend-chart biosignals="HR,RMSSD" heading="Heart rate and HRV" range="24h" stale-after="48h"></bio-trend-chart>`
            : html`<div class="row status">${this.#monitor.status()}</div>
                ${this.#monitor.view()}`
        }
      </bio-provider>
      ${this.#reported.view()}
      <section class="card">
        <h2>Recordings</h2>
        ${this.#streams.length === 0 ? emptyState('None yet', 'A recording begins with the first packet of a device.') : this.#table()}
      </section>`;
  }

  /** The same object as long as it is the same user, so that a redraw does not look like a change. */
  #held: Readonly<{ subjectId: string; projectId: string }> | null = null;
  #subject(user: Xuser): Readonly<{ subjectId: string; projectId: string }> {
    return (this.#held ??= { subjectId: user.xuser_id, projectId: user.project_id });
  }

  protected override actions(): TemplateResult | typeof nothing {
    if (!this.canAdmin || this.#user === null) return nothing;
    return html`<a class="button" href="#/audit/${this.#user.xuser_id}">Who has seen this person's data</a>`;
  }

  #table(): TemplateResult {
    const { locale } = this.context;
    return tableOf<Stream>(
      [
        { name: 'Device', cell: (stream) => html`${stream.device_id} <span class="muted">${stream.firmware}</span>` },
        { name: 'Recorded from', cell: (stream) => this.time(stream.recorded_from) },
        { name: 'To', cell: (stream) => this.time(stream.last_sample_at) },
        { name: 'Duration', kind: 'num', cell: (stream) => length(stream) },
        { name: 'Received', cell: (stream) => this.time(stream.started_at) },
        {
          name: 'Channels',
          cell: (stream) => stream.channels.map((channel) => `${channel.code} ${formatNumber(locale, channel.rate_hz, 4)} Hz`).join(', '),
        },
        {
          name: 'Clock skew',
          kind: 'num',
          cell: (stream) => (stream.clock.skew_ppm === null ? '–' : `${formatNumber(locale, stream.clock.skew_ppm, 2)} ppm`),
        },
        {
          name: 'State',
          cell: (stream) => html`<span class="state ${isLive(stream) ? 'active' : ''}">${isLive(stream) ? 'live' : 'ended'}</span>`,
        },
      ],
      this.#streams,
    );
  }
}

/** An import is sent now, and was recorded then. */
const isLive = (stream: Stream): boolean => stream.is_flowing && stream.time_source !== 'stated';

function length({ recorded_from: from, last_sample_at: to }: Stream): string {
  return from === null || to === null ? '–' : duration(Date.parse(to) - Date.parse(from));
}
