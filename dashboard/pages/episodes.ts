/** Episodes of all users: stretches to be reviewed by a person, and one of them with its strips and notes. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { groupField, loadGroups } from '../group-filter.ts';
import { named, t } from '../language.ts';
import { namedWithCount, valueText } from '../method-name.ts';
import { Page } from '../page.ts';
import { badge, chips, emptyState, lasted, moreButton, personLink, sortField, tableOf } from '../parts.ts';
import type { Tone } from '../parts.ts';
import { call, callList, callNext, callTagged } from '../service.ts';
import type { EpisodeDetail, EpisodeLine, Group, MethodOfValue, Rule, Xuser } from '../service.ts';
import { stripsOf } from '../strips.ts';
import type { StripPicture } from '../strips.ts';
import { zoneOf } from '../time-zone.ts';
import { loadNames } from '../who.ts';
import type { NameOf } from '../who.ts';

const PAGE = 200;
const LIMIT_MAX = 1000;
const sorts = [
  ['newest', t('Newest first')],
  ['oldest', t('Oldest first')],
  ['severity', t('Most severe first')],
] as const;
const filters = ['open', 'closed', 'cancelled', 'all'] as const;
type Filter = (typeof filters)[number];
type Status = EpisodeDetail['status'];
type Artifact = EpisodeDetail['artifacts'][number];
const tones: Readonly<Record<EpisodeLine['severity'], Tone>> = { high: 'bad', medium: 'warn', low: 'warn', none: 'off' };
const words: Readonly<Record<Status, string>> = { open: t('open'), closed: t('reviewed'), cancelled: t('dismissed') };
/** A severity says how bad it is; a status, only whether it was reviewed, so it has no colour of its own. */
export const severityBadge = (episode: Pick<EpisodeLine, 'severity'>): TemplateResult =>
  badge(tones[episode.severity], severityName(episode.severity));
export const severityName = (severity: EpisodeLine['severity']): string => (severity === 'none' ? t('none|severity') : t(severity));
const statusPill = ({ status, is_reviewed: isReviewed }: Pick<EpisodeLine, 'status' | 'is_reviewed'>): TemplateResult =>
  html`<span class="state ${status === 'open' ? 'waiting' : ''}">${status === 'closed' && !isReviewed ? t('ended') : words[status]}</span>`;
const seenBy = (episode: EpisodeLine): TemplateResult | typeof nothing =>
  episode.acknowledged_at === null
    ? nothing
    : html`<span class="muted">${t('seen by {who}', { who: episode.acknowledged_by_name ?? t('a program') })}</span>`;

function length(startedAt: string, endedAt: string | null): string {
  return endedAt === null ? t('Ongoing') : lasted(Date.parse(endedAt) - Date.parse(startedAt));
}

export class EpisodesPage extends Page {
  override readonly title = t('Episodes');
  protected override readonly lead = t(
    'Found by rules, raised by safety answers, or entered by hand. Not a diagnosis: each is for a person to review.',
  );
  protected override readonly refreshMs = 15_000;
  #episodes: readonly EpisodeLine[] = [];
  #groups: readonly Group[] = [];
  #group = this.context.query.get('group') ?? '';
  #filter: Filter = filters.find((name) => name === this.context.query.get('show')) ?? 'open';
  #sort: (typeof sorts)[number][0] = sorts.find(([value]) => value === this.context.query.get('sort'))?.[0] ?? 'newest';
  #next: string | null = null;

  protected override async load(): Promise<void> {
    const status = this.#filter === 'all' ? undefined : this.#filter;
    const group = this.#group === '' ? undefined : this.#group;
    // What was asked for besides the first page stays.
    const limit = Math.min(LIMIT_MAX, Math.max(PAGE, this.#episodes.length));
    const [{ items, next }, groups] = await this.newest(
      Promise.all([callList('/api/v1/fleet/episodes', { query: { limit, status, group_id: group, sort: this.#sort } }), loadGroups()]),
    );
    this.#episodes = items;
    this.#next = next;
    this.#groups = groups;
  }

  async #more(): Promise<void> {
    if (this.#next === null) return;
    const { items, next } = await this.newest(callNext('/api/v1/fleet/episodes', this.#next));
    this.#episodes = [...this.#episodes, ...items];
    this.#next = next;
  }

  #again(): void {
    this.#episodes = [];
    this.choose();
  }

  protected override actions(): TemplateResult {
    const choose = (event: Event): void => {
      this.#group = (event.target as HTMLSelectElement).value;
      this.keep({ group: this.#group });
      this.#again();
    };
    const sort = sortField(sorts, this.#sort, (choice) => {
      this.#sort = choice;
      this.keep({ sort: choice === 'newest' ? '' : choice });
      this.#again();
    });
    const which = chips(
      t('Which episodes'),
      [
        ['open', t('Open')],
        ['closed', t('Ended')],
        ['cancelled', t('Dismissed')],
        ['all', t('All')],
      ],
      this.#filter,
      (choice) => {
        this.#filter = choice;
        this.keep({ show: choice === 'open' ? '' : choice });
        this.#again();
      },
    );
    return html`<div class="row">${groupField(this.#groups, this.#group, choose)} ${sort} ${which}</div>`;
  }

  protected override body(): TemplateResult | typeof nothing {
    return this.chosen(() => this.#found());
  }

  #found(): TemplateResult {
    if (this.#episodes.length === 0) {
      return html`<section class="card">
        ${this.#filter === 'open' ? emptyState(t('No open episodes'), t('New ones appear here automatically.')) : emptyState(t('No episodes'), t('None match this filter.'))}
      </section>`;
    }
    return html`<section class="card">
      ${tableOf<EpisodeLine>(
        [
          { name: t('Severity'), cell: severityBadge },
          { name: t('Episode'), cell: (episode) => html`<a href="#/episodes/${episode.id}">${named(episode.title || episode.kind)}</a>` },
          { name: t('User'), cell: personLink },
          { name: t('Started'), cell: (episode) => this.time(episode.started_at) },
          { name: t('Duration'), cell: (episode) => length(episode.started_at, episode.ended_at) },
          { name: t('Status'), cell: (episode) => html`${statusPill(episode)} ${seenBy(episode)}` },
          { name: t('Strips'), kind: 'num', cell: (episode) => episode.artifact_count },
        ],
        this.#episodes,
        (episode) => episode.status !== 'open',
      )}
      ${moreButton(this.#next, () => void this.run(() => this.#more()))}
    </section>`;
  }
}

export class EpisodePage extends Page {
  #episode: EpisodeDetail | null = null;
  #etag = '';
  #user: Xuser | null = null;
  #zone = '';
  #nameOf: NameOf = (by) => by;
  #methods: readonly MethodOfValue[] = [];
  /** Of the person's project: one of them may have raised it. */
  /** null: they could not be read. */
  #rules: readonly Rule[] | null = [];

  protected override get zone(): string {
    return this.#zone;
  }

  override get title(): string {
    return this.#episode === null ? t('Episode') : named(this.#episode.title || this.#episode.kind);
  }

  protected override get isAboutPerson(): boolean {
    return true;
  }

  protected override async isAsShown(): Promise<boolean> {
    await call('GET', '/api/v1/episodes/{id}', { params: { id: this.context.argument } });
    return true;
  }

  protected override forget(): void {
    [this.#episode, this.#user, this.#zone] = [null, null, ''];
  }

  protected override async load(): Promise<void> {
    const names = loadNames(this.context.member, this.canAdmin);
    const { value: episode, etag } = await callTagged('GET', '/api/v1/episodes/{id}', { params: { id: this.context.argument } });
    this.#episode = episode;
    this.#etag = etag;
    const [user, projects, methods] = await Promise.all([
      call('GET', '/api/v1/xusers/{xuserId}', { params: { xuserId: episode.subject_id } }),
      call('GET', '/api/v1/projects'),
      call('GET', '/api/v1/methods'),
    ]);
    [this.#user, this.#zone, this.#methods] = [user, zoneOf(user, projects), methods];
    this.#rules = idOfRule(episode.created_by) === null ? [] : await loadRules(user.project_id);
    this.#nameOf = await names;
  }

  protected override actions(): TemplateResult {
    return html`<a class="back" href="#/episodes">${t('All episodes')}</a>`;
  }

  protected override body(): TemplateResult | typeof nothing {
    const episode = this.#episode;
    if (episode === null) return nothing;
    const strips = stripsOf(episode.artifacts);
    const notes = episode.artifacts.filter(isNote);
    const others = episode.artifacts.filter((artifact) => !isNote(artifact) && strips.every((strip) => strip.artifact !== artifact));
    return html`<section class="card">
        <dl class="facts">
          <dt>${t('Severity')}</dt>
          <dd>${severityBadge(episode)} ${statusPill(episode)}</dd>
          <dt>${t('User')}</dt>
          <dd><a href="#/users/${episode.subject_id}">${this.#user?.external_id ?? episode.subject_id}</a></dd>
          <dt>${t('Started')}</dt>
          <dd>${this.time(episode.started_at)}</dd>
          <dt>${t('Duration')}</dt>
          <dd>${length(episode.started_at, episode.ended_at)}</dd>
          <dt>${t('Raised by')}</dt>
          <dd>${this.#origin(episode)}</dd>
          ${this.#acknowledgement(episode)} ${Object.entries(episode.summary).map(([name, value]) => this.#fact(episode, name, value))}
        </dl>
        ${this.#closing(episode)}
      </section>
      ${
        notes.length === 0
          ? nothing
          : html`<section class="card">
              <h2>${t('Notes')}</h2>
              <ul class="plain rows">
                ${notes.map((note) => this.#note(note))}
              </ul>
            </section>`
      }
      ${
        strips.length === 0 && episode.stream_id === null
          ? nothing
          : html`<section class="card">
              <h2>${t('Strips')}</h2>
              ${
                strips.length === 0
                  ? emptyState(t('No strip yet'), t('A strip of the waveform is drawn shortly after the episode ends.'))
                  : strips.map((strip) => this.#strip(strip))
              }
            </section>`
      }
      ${
        others.length === 0
          ? nothing
          : html`<section class="card">
              <h2>${t('Attachments')}</h2>
              <ul class="plain">
                ${others.map((item) => html`<li><a href=${item.href}>${item.title || item.kind}</a> <span class="muted">${item.kind}</span></li>`)}
              </ul>
            </section>`
      }`;
  }

  #strip({ artifact: strip, address, title }: StripPicture): TemplateResult {
    return html`<figure class="strip">
      <div class="strip-scroll" tabindex="0" role="region" aria-label=${title || t('Strip')}>
        <img src=${address} alt=${title || t('Strip of the waveform')} />
      </div>
      <figcaption>
        ${title} ${strip.channel_code === null ? nothing : html`<code>${strip.channel_code}</code>`}
        ${strip.starts_at === null ? nothing : this.time(strip.starts_at)}
      </figcaption>
    </figure>`;
  }

  #origin({ created_by: by, title }: EpisodeDetail): TemplateResult | string | readonly (string | TemplateResult)[] {
    const ruleId = idOfRule(by);
    if (ruleId !== null) {
      if (this.#rules === null) return t('the rule {name}', { name: title });
      const rule = this.#rules.find(({ id }) => id === ruleId);
      if (rule === undefined) return t('the rule {name}, which is no longer there', { name: title });
      const place = new URLSearchParams({ project: rule.project_id, search: rule.name }).toString();
      return t('the rule {name}', { name: html`<a href="#/rules?${place}"><bdi>${rule.name}</bdi></a>` });
    }
    const [kind = '', ...rest] = by.split(':');
    return ['operator', 'key', 'user'].includes(kind) ? this.#nameOf(by) : html`${kind} <code>${rest.join(':')}</code>`;
  }

  /** One line of the summary; what names an answer leads to it. */
  #fact(episode: EpisodeDetail, name: string, value: unknown): TemplateResult | typeof nothing {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (name === 'rule' && text === episode.title) return nothing;
    const ofRule = this.#factOfRule(episode, name, value);
    if (ofRule !== null) return ofRule;
    const answer = { response_id: [t('Answer'), t('Show the answer')], corrected_by: [t('Correction'), t('Show the corrected answer')] }[
      name
    ];
    if (answer === undefined) {
      return fact(capitalized(named(name.replaceAll('_', ' '))), text);
    }
    return html`<dt>${answer[0]}</dt>
      <dd><a href="#/users/${episode.subject_id}/answers/${text}">${answer[1]}</a></dd>`;
  }

  /** What a rule has written: the value by its name and unit, as on the page of rules; null: it is not of a rule. */
  #factOfRule({ summary }: EpisodeDetail, name: string, value: unknown): TemplateResult | typeof nothing | null {
    const { feature } = summary;
    const method = this.#methods.find((candidate) => candidate.name === feature && candidate.current);
    if (method === undefined) return null;
    switch (name) {
      case 'feature':
        return fact(t('Value'), namedWithCount(method));
      case 'extreme':
        return fact(t('Furthest'), valueText(method, Number(value)));
      case 'duration_sec': // above, from its times
        return nothing;
      case 'ended_by':
        return fact(t('Ended by'), value === 'rule' ? t('Rule') : t('a change of the rule'));
      case 'reopened':
        return fact(t('Reopened'), t('Yes'));
      default:
        return null;
    }
  }

  #note({ title, content, created_by: by, created_at: at }: Artifact): TemplateResult {
    const { text = '' } = (content ?? {}) as { text?: string };
    return html`<li>
      <b>${noteTitle(title)}</b> ${t('by {who}, {time}', { who: this.#nameOf(by), time: this.time(at) })}
      ${text === '' ? nothing : html`<p>${text}</p>`}
    </li>`;
  }

  #closing(episode: EpisodeDetail): TemplateResult | typeof nothing {
    if (!this.canEdit) return nothing;
    const button = (status: Status, of: Change, style = ''): TemplateResult =>
      html`<button type="button" class=${style} aria-haspopup="dialog" @click=${() => this.#ask(episode, status, of)}>${of.word}</button>`;
    if (episode.status === 'closed' && !episode.is_reviewed) {
      const text = t('Everyone who can see the episode also sees your name and note.');
      const done = button('closed', { ...changes.closed, text }, 'primary');
      return html`<div class="row">${done} ${button('cancelled', changes.cancelled)} ${button('open', changes.open)}</div>`;
    }
    if (episode.status !== 'open') return html`<div>${button('open', changes.open)}</div>`;
    const seen =
      episode.acknowledged_at === null
        ? html`<button type="button" aria-haspopup="dialog" @click=${() => this.#acknowledge(episode)}>${t('Acknowledge')}</button>`
        : nothing;
    return html`<div class="row">${button('closed', changes.closed, 'primary')} ${seen} ${button('cancelled', changes.cancelled)}</div>`;
  }

  /** Who has seen it: it says nothing about whether it is done. */
  #acknowledgement({
    acknowledged_at: at,
    acknowledged_by: by,
    acknowledged_by_name: name,
    acknowledgement_note: note,
  }: EpisodeDetail): TemplateResult | typeof nothing {
    if (at === null) return nothing;
    return html`<dt>${t('Acknowledged')}</dt>
      <dd>
        ${t('by {who}, {time}', { who: name ?? (by === null ? t('a program') : this.#nameOf(by)), time: this.time(at) })}
        ${note ? html`<p>${note}</p>` : nothing}
      </dd>`;
  }

  /** As it is now, for a dialog about it.  @param take gets its etag */
  async #asChanged(take: (etag: string) => void): Promise<TemplateResult> {
    await this.loadChanged();
    take(this.#etag);
    const { acknowledged_at: at, acknowledged_by_name: who } = this.#episode!;
    return html`${statusPill(this.#episode!)}
    ${at === null ? nothing : t('by {who}, {time}', { who: who ?? t('a program'), time: this.time(at) })}`;
  }

  #acknowledge({ id }: EpisodeDetail): void {
    let etag = this.#etag;
    this.ask({
      overtaken: () => this.#asChanged((now) => (etag = now)),
      title: t('Acknowledge?'),
      text: t('This records that you have seen the episode. It stays open. Everyone who can see it also sees your name and note.'),
      word: t('Acknowledge'),
      fields: noteField,
      act: async (field) => {
        await call('POST', '/api/v1/episodes/{id}/acknowledgement', { params: { id }, body: { note: field('note') }, etag });
      },
    });
  }

  #ask(episode: EpisodeDetail, status: Status, { word, text, title }: Change): void {
    const params = { id: episode.id };
    let etag = this.#etag;
    this.ask({
      overtaken: () => this.#asChanged((now) => (etag = now)),
      title: t('{what}?', { what: word }),
      text,
      word,
      fields: noteField,
      act: async (field) => {
        await call('PATCH', '/api/v1/episodes/{id}', { params, body: { status }, etag });
        this.context.recount();
        // Who did it, when and why, for the next who looks.
        await call('POST', '/api/v1/episodes/{id}/artifacts', { params, body: { kind: 'note', title, content: { text: field('note') } } });
      },
    });
  }
}

/** The rule of a project that has raised an episode; null: something else has. */
function idOfRule(by: string): string | null {
  return /^rule:([0-9a-f]{8}-[0-9a-f-]{27})$/.exec(by)?.[1] ?? null;
}

/** Without them its rule has no name: the episode is shown all the same. */
function loadRules(projectId: string): Promise<readonly Rule[] | null> {
  return call('GET', '/api/v1/projects/{projectId}/rules', { params: { projectId } }).catch(() => null);
}

const NOTE_MAX = 1000;
const noteField = html`<label
  >${t('Note')} <span class="muted">${t('optional')}</span><textarea name="note" rows="3" maxlength=${NOTE_MAX}></textarea>
</label>`;
type Change = Readonly<{ word: string; title: string; done: string; text: string }>;
const changes = {
  closed: {
    word: t('Mark as reviewed'),
    title: 'Reviewed',
    done: t('Reviewed'),
    text: t('The episode leaves the list of open episodes. Everyone who can see it also sees your name and note.'),
  },
  cancelled: {
    word: t('Dismiss as false'),
    title: 'Dismissed as false',
    done: t('Dismissed as false'),
    text: t('Use this when there was no episode, for example because of noise. Everyone who can see it also sees your name and note.'),
  },
  open: { word: t('Reopen'), title: 'Reopened', done: t('Reopened'), text: t('The episode returns to the list of open episodes.') },
} as const satisfies Record<Status, Change>;

const fact = (name: string, value: string): TemplateResult =>
  html`<dt>${name}</dt>
    <dd>${value}</dd>`;
const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
/** Titles of notes that the dashboard writes are stored in English. */
function noteTitle(title: string): string {
  const own = Object.values(changes).find((change) => change.title === title);
  return own?.done ?? (title || t('Note'));
}
const isNote = ({ kind, media_type: type }: Artifact): boolean => kind === 'note' && type === 'application/json';
