/** Episodes of all users: stretches that somebody should look at, and one of them with its strips. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { Page } from '../page.ts';
import { badge, chips, duration, emptyState, tableOf } from '../parts.ts';
import type { Tone } from '../parts.ts';
import { call, callTagged } from '../service.ts';
import type { EpisodeDetail, EpisodeLine, Xuser } from '../service.ts';

type Filter = 'open' | 'closed' | 'all';
const tones: Readonly<Record<EpisodeLine['severity'], Tone>> = { high: 'bad', medium: 'warn', low: 'warn', none: 'off' };
const severityBadge = (episode: Pick<EpisodeLine, 'severity'>): TemplateResult => badge(tones[episode.severity], episode.severity);

function length(startedAt: string, endedAt: string | null): string {
  return endedAt === null ? 'going on' : duration(Date.parse(endedAt) - Date.parse(startedAt));
}

export class EpisodesPage extends Page {
  override readonly title = 'Episodes';
  protected override readonly lead = 'Found by rules, by safety answers, or entered. Not a diagnosis: something for somebody to look at.';
  protected override readonly refreshMs = 15_000;
  #episodes: readonly EpisodeLine[] = [];
  #filter: Filter = 'open';

  protected override async load(): Promise<void> {
    this.#episodes = await call('GET', '/api/v1/fleet/episodes', {
      query: { limit: 200, status: this.#filter === 'all' ? undefined : this.#filter },
    });
  }

  protected override actions(): TemplateResult {
    return chips(
      'Which episodes',
      [
        ['open', 'Open'],
        ['closed', 'Closed'],
        ['all', 'All'],
      ],
      this.#filter,
      (choice) => {
        this.#filter = choice;
        void this.run(() => this.load());
      },
    );
  }

  protected override body(): TemplateResult {
    if (this.#episodes.length === 0) {
      return html`<section class="card">
        ${this.#filter === 'open' ? emptyState('Nothing is open', 'New episodes appear here by themselves.') : emptyState('No episodes', 'None of this kind has been kept.')}
      </section>`;
    }
    return html`<section class="card">
      ${tableOf<EpisodeLine>(
        [
          { name: 'Severity', cell: severityBadge },
          { name: 'What', cell: (episode) => html`<a href="#/episodes/${episode.id}">${episode.title || episode.kind}</a>` },
          { name: 'User', cell: (episode) => html`<a href="#/users/${episode.xuser_id}">${episode.external_id}</a>` },
          { name: 'Began', cell: (episode) => this.time(episode.started_at) },
          { name: 'Lasted', cell: (episode) => length(episode.started_at, episode.ended_at) },
          {
            name: 'State',
            cell: (episode) => html`<span class="state ${episode.status === 'open' ? 'active' : ''}">${episode.status}</span>`,
          },
          { name: 'Strips', kind: 'num', cell: (episode) => episode.artifact_count },
        ],
        this.#episodes,
        (episode) => episode.status !== 'open',
      )}
    </section>`;
  }
}

export class EpisodePage extends Page {
  #episode: EpisodeDetail | null = null;
  #etag = '';
  #user: Xuser | null = null;

  override get title(): string {
    return this.#episode === null ? 'Episode' : this.#episode.title || this.#episode.kind;
  }

  protected override async load(): Promise<void> {
    const { value: episode, etag } = await callTagged('GET', '/api/v1/episodes/{id}', { params: { id: this.context.argument } });
    this.#episode = episode;
    this.#etag = etag;
    this.#user = await call('GET', '/api/v1/xusers/{xuserId}', { params: { xuserId: episode.subject_id } });
  }

  protected override actions(): TemplateResult {
    return html`<a class="back" href="#/episodes">All episodes</a>`;
  }

  protected override body(): TemplateResult | typeof nothing {
    const episode = this.#episode;
    if (episode === null) return nothing;
    const strips = episode.artifacts.filter((artifact) => artifact.media_type === 'image/svg+xml');
    const others = episode.artifacts.filter((artifact) => artifact.media_type !== 'image/svg+xml');
    return html`<section class="card">
        <dl class="facts">
          <dt>Severity</dt>
          <dd>${severityBadge(episode)} <span class="state ${episode.status === 'open' ? 'active' : ''}">${episode.status}</span></dd>
          <dt>User</dt>
          <dd><a href="#/users/${episode.subject_id}">${this.#user?.external_id ?? episode.subject_id}</a></dd>
          <dt>Began</dt>
          <dd>${this.time(episode.started_at)}</dd>
          <dt>Lasted</dt>
          <dd>${length(episode.started_at, episode.ended_at)}</dd>
          <dt>Found by</dt>
          <dd><code>${episode.created_by}</code></dd>
          ${Object.entries(episode.summary).map(
            ([name, value]) =>
              html`<dt>${name.replaceAll('_', ' ')}</dt>
                <dd>${typeof value === 'string' ? value : JSON.stringify(value)}</dd>`,
          )}
        </dl>
        ${this.#closing(episode)}
      </section>
      <section class="card">
        <h2>Strips</h2>
        ${
          strips.length === 0
            ? emptyState(
                'No strip yet',
                'A strip of the waveform is drawn a little after the end of an episode that a signal was found in.',
              )
            : strips.map(
                (strip) =>
                  html`<figure class="strip">
                    <div class="strip-scroll" tabindex="0" role="region" aria-label=${strip.title || 'Strip'}>
                      <img src=${strip.href} alt=${strip.title || 'Strip of the waveform'} />
                    </div>
                    <figcaption>
                      ${strip.title} ${strip.channel_code === null ? nothing : html`<code>${strip.channel_code}</code>`}
                      ${strip.starts_at === null ? nothing : this.time(strip.starts_at)}
                    </figcaption>
                  </figure>`,
              )
        }
      </section>
      ${
        others.length === 0
          ? nothing
          : html`<section class="card">
              <h2>Also kept</h2>
              <ul class="plain">
                ${others.map((item) => html`<li><a href=${item.href}>${item.title || item.kind}</a> <span class="muted">${item.kind}</span></li>`)}
              </ul>
            </section>`
      }`;
  }

  #closing(episode: EpisodeDetail): TemplateResult | typeof nothing {
    if (this.context.member.role === 'viewer' || this.context.member.role === 'analyst') return nothing;
    const set = (status: EpisodeDetail['status']) => () =>
      void this.change(() => call('PATCH', '/api/v1/episodes/{id}', { params: { id: episode.id }, body: { status }, etag: this.#etag }));
    if (episode.status !== 'open') return html`<div><button type="button" @click=${set('open')}>Open again</button></div>`;
    return html`<div class="row">
      <button type="button" class="primary" @click=${set('closed')}>Looked at: close</button>
      <button type="button" @click=${set('cancelled')}>Was none: cancel</button>
    </div>`;
  }
}
