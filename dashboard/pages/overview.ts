/** The first page: what sends now and how fast, what needs attention, how the service is. All of it from what other pages ask for, too. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formatNumber } from '../../widgets/shared/format.ts';
import { named, t } from '../language.ts';
import { Page } from '../page.ts';
import { badge, emptyState, figure, percent, personLink, tableOf } from '../parts.ts';
import type { Answer } from '../../sdk/request.ts';
import { call } from '../service.ts';
import { detailInWords } from '../service-details.ts';
import type { Device, EpisodeLine, QualityOfUser } from '../service.ts';
import { whose } from './devices.ts';
import { severityBadge } from './episodes.ts';
import { shareOf, signalName } from './quality.ts';

const SHOWN = 5;
const DEVICES_MAX = 1000;
/** Counts of packets are saved every two seconds. */
const REFRESH_MS = 10_000;
/** Hours that the quality is of. */
const HOURS = 24;

type Readiness = Readonly<{ status: string; parts: readonly Readonly<{ name: string; ok: boolean; detail?: string }>[] }>;

export class OverviewPage extends Page {
  override readonly title = t('Overview');
  protected override readonly lead = t('What is happening now. Updates every ten seconds.');
  protected override readonly refreshMs = REFRESH_MS;
  #sending: readonly Device[] = [];
  #worst: readonly QualityOfUser[] = [];
  #episodes: readonly EpisodeLine[] = [];
  #counts: Answer<'getFleetCounts'> | null = null;
  #service: Readiness | null = null;
  #packetsPerSec: number | null = null;
  #before: Readonly<{ atMs: number; packets: ReadonlyMap<string, number> }> | null = null;

  protected override async load(): Promise<void> {
    [this.#sending, this.#worst, this.#episodes, this.#counts, this.#service] = await Promise.all([
      call('GET', '/api/v1/devices', { query: { limit: DEVICES_MAX, flowing: true } }),
      call('GET', '/api/v1/signal-quality', { query: { hours: HOURS, limit: SHOWN } }),
      call('GET', '/api/v1/fleet/episodes', { query: { limit: SHOWN, status: 'open' } }),
      call('GET', '/api/v1/fleet/counts'),
      // Not ready is an answer, too.
      fetch('/readyz').then(
        (response) => response.json() as Promise<Readiness>,
        () => null,
      ),
    ]);
    this.#measure();
    this.context.recount(this.#counts); // the section and this page say the same
  }

  /** Packets stored since the last look, of recordings that both looks saw. */
  #measure(): void {
    const now = { atMs: performance.now(), packets: new Map(this.#sending.map(({ stream_id: id, packets }) => [id ?? '', packets])) };
    const before = this.#before;
    this.#before = now;
    if (before === null) return;
    let stored = 0;
    for (const [id, packets] of now.packets) stored += Math.max(0, packets - (before.packets.get(id) ?? packets));
    this.#packetsPerSec = (1000 * stored) / (now.atMs - before.atMs);
  }

  protected override body(): TemplateResult {
    const sending = this.#sending;
    const { episodes_open: open = 0, episodes_open_high: high = 0, devices = 0 } = this.#counts ?? {};
    const many = sending.length === DEVICES_MAX ? '+' : '';
    const number = (count: number): string => formatNumber(this.context.locale, count);
    const rate =
      this.#packetsPerSec === null
        ? html`<span class="muted">${t('measuring')}</span>`
        : formatNumber(this.context.locale, this.#packetsPerSec, 2);
    return html`<dl class="figures">
        ${figure(t('Sending now'), html`<a href="#/devices?show=sending">${number(sending.length)}${many}</a>`, sending.length > 0 ? 'good' : null)}
        ${figure(t('Devices'), html`<a href="#/devices">${number(devices)}</a>`)} ${figure(t('Packets per second'), rate)}
        ${figure(
          t('Open episodes'),
          html`<a href="#/episodes">${number(open)}</a
            >${high === 0 ? nothing : html` <span class="aside">${t('{count} high', { count: number(high) })}</span>`}`,
          open > 0 ? 'warn' : null,
        )}
      </dl>
      <div class="columns">
        <section class="card">
          <h2>${t('Open episodes')}</h2>
          ${this.#episodes.length === 0 ? emptyState(t('No open episodes'), t('New ones appear here.')) : this.#episodeTable()}
        </section>
        <section class="card">
          <h2>${t('Worst signals of the last {count} hours', { count: HOURS })}</h2>
          ${this.#worst.length === 0 ? emptyState(t('No signals in this period'), t('Users appear here once a device has sent ECG or PPG.')) : this.#qualityTable()}
        </section>
        <section class="card">
          <h2>${t('Sending now')}</h2>
          ${sending.length === 0 ? emptyState(t('No device is sending'), t('Devices appear here while they send.')) : this.#sendingTable(sending)}
        </section>
        <section class="card">
          <h2>${t('Service')}</h2>
          ${this.#parts()}
        </section>
      </div>`;
  }

  #episodeTable(): TemplateResult {
    return tableOf<EpisodeLine>(
      [
        { name: t('Episode'), cell: (episode) => html`<a href="#/episodes/${episode.id}">${named(episode.title || episode.kind)}</a>` },
        { name: t('Severity'), cell: severityBadge },
        { name: t('User'), cell: personLink },
        { name: t('Started'), cell: (episode) => this.age(episode.started_at) },
      ],
      this.#episodes,
    );
  }

  #qualityTable(): TemplateResult {
    return tableOf<QualityOfUser>(
      [
        { name: t('User'), cell: personLink },
        { name: t('Signal'), cell: (user) => signalName(user.feature) },
        { name: t('Good'), kind: 'num', cell: (user) => percent(shareOf(user, 'good')) },
      ],
      this.#worst,
    );
  }

  #sendingTable(sending: readonly Device[]): TemplateResult {
    return html`${tableOf<Device>(
      [
        { name: t('Device'), cell: (device) => device.name || device.device_id },
        { name: t('User'), cell: whose },
        { name: t('Channels'), cell: (device) => device.channels.join(', ') },
      ],
      sending.slice(0, SHOWN),
    )}
    ${sending.length > SHOWN ? html`<p><a href="#/devices?show=sending">${t('All {count}', { count: sending.length })}</a></p>` : nothing}`;
  }

  #parts(): TemplateResult {
    if (this.#service === null) return html`<p class="muted">${t('The state of the service is unknown.')}</p>`;
    return html`<ul class="plain rows">
      ${this.#service.parts.map(
        ({ name, ok, detail = '' }) => html`<li>${badge(ok ? 'good' : 'bad', named(name.replaceAll('_', ' ')))} ${said(detail)}</li>`,
      )}
    </ul>`;
  }
}

/** What the page has no words for stays as the service says it. */
function said(detail: string): TemplateResult {
  const words = detailInWords(detail);
  return words === null ? html`<span class="muted" lang="en">${detail}</span>` : html`<span class="muted">${words}</span>`;
}
