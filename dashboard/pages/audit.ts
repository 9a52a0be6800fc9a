/** The audit log: who did what to what, and who read whose data; the newest first. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { addressOf } from '../../sdk/request.ts';
import { named, t } from '../language.ts';
import { formValues, Page } from '../page.ts';
import type { PageContext } from '../page.ts';
import { chips, emptyState, moreButton, sortField, tableOf } from '../parts.ts';
import { call, callList, callNext } from '../service.ts';
import type { AuditEntry } from '../service.ts';

type Kind = 'acts' | 'reads' | 'all';
const kinds = [
  ['acts', t('Changes')],
  ['reads', t('Reads of personal data')],
  ['all', t('Both')],
] as const;

const sorts = [
  ['newest', t('Newest first')],
  ['oldest', t('Oldest first')],
] as const;
type Sort = (typeof sorts)[number][0];

/** The times that the service takes, in any time zone. Without a bound a browser takes years of six figures. */
const EARLIEST = '1900-01-02T00:00:00';
const LATEST = '2199-12-30T00:00:00';

/** What a filter is set to; '' where it is not. */
type Wanted = Readonly<{ subject: string; actor: string; action: string; since: string; until: string }>;
const EVERYTHING: Wanted = { subject: '', actor: '', action: '', since: '', until: '' };

export class AuditPage extends Page {
  override readonly title = t('Audit log');
  protected override readonly lead = t(
    "Who did what, and who read whose data. Entries are chained by their hashes: 'biosignal audit verify' shows whether any were changed or removed.",
  );
  /** An address may name a person: then the question is who read their data. */
  #wanted = wantedOf(this.context);
  #kind: Kind = kinds.find(([kind]) => kind === this.context.query.get('kind'))?.[0] ?? (this.context.argument === '' ? 'acts' : 'reads');
  #sort: Sort = sorts.find(([value]) => value === this.context.query.get('sort'))?.[0] ?? 'newest';
  #entries: readonly AuditEntry[] = [];
  #next: string | null = null;
  #actors: readonly Readonly<{ id: string; name: string }>[] = [];
  /** Ids of members, keys and projects, to what people call them. */
  #names: ReadonlyMap<string, string> = new Map();

  protected override async load(): Promise<void> {
    const [members, keys, projects] = await Promise.all([
      call('GET', '/api/v1/members'),
      call('GET', '/api/v1/api-keys'),
      call('GET', '/api/v1/projects'),
      this.#find(),
    ]);
    this.#actors = [
      ...members.map((member) => ({ id: member.id, name: member.display_name || member.email })),
      ...keys.map((key) => ({ id: key.id, name: t('key {name}', { name: key.name }) })),
    ];
    this.#names = new Map([
      ...members.map((member) => [member.id, member.display_name || member.email] as const),
      ...[...keys, ...projects].map((item) => [item.id, item.name] as const),
    ]);
  }

  #query() {
    const { subject, actor, action, since, until } = this.#wanted;
    const given = (text: string): string | undefined => (text === '' ? undefined : text);
    return {
      subject_id: given(subject),
      actor_id: given(actor),
      action: given(action),
      kind: this.#kind === 'all' ? undefined : this.#kind, // both
      since: since === '' ? undefined : new Date(since).toISOString(),
      until: until === '' ? undefined : new Date(until).toISOString(),
    };
  }

  /** Looks for what is wanted now, and puts it into the address. */
  #look(): void {
    if (this.context.argument !== '') history.replaceState(null, '', '#/audit'); // the person is a filter like the others now
    this.keep({ ...this.#wanted, kind: this.#kind, sort: this.#sort === 'newest' ? '' : this.#sort });
    this.choose(() => this.#find());
  }

  async #find(): Promise<void> {
    const query = { ...this.#query(), sort: this.#sort, limit: 100 };
    const log = await this.newest(callList('/api/v1/audit-log', { query }));
    this.#entries = log.items;
    this.#next = log.next;
  }

  async #more(): Promise<void> {
    if (this.#next === null) return;
    const { items, next } = await this.newest(callNext('/api/v1/audit-log', this.#next));
    this.#entries = [...this.#entries, ...items];
    this.#next = next;
  }

  protected override actions(): TemplateResult {
    const address = addressOf('/api/v1/audit-log', { query: { ...this.#query(), format: 'csv' } });
    return html`<a class="button" href=${address} download="audit-log.csv">${t('Download CSV')}</a>`;
  }

  protected override body(): TemplateResult {
    return html`<section class="card">
      ${chips<Kind>(t('What is shown'), kinds, this.#kind, (kind) => {
        this.#kind = kind;
        this.#look();
      })}
      ${this.#form()} ${this.chosen(() => this.#found())}
    </section>`;
  }

  #found(): TemplateResult {
    if (this.#entries.length > 0) return html`${this.#table()} ${moreButton(this.#next, () => void this.run(() => this.#more()))}`;
    return emptyState(
      t('No entries found'),
      t('Every change and every read of personal data is logged here; reads appear within ten seconds.'),
    );
  }

  #form(): TemplateResult {
    const { subject, actor, action, since, until } = this.#wanted;
    const submit = (event: SubmitEvent): void => {
      const { text } = formValues(event);
      this.#wanted = { subject: text('subject'), actor: text('actor'), action: text('action'), since: text('since'), until: text('until') };
      this.#look();
    };
    const clear = (event: Event): void => {
      (event.target as HTMLButtonElement).form?.reset(); // what was typed and not looked for
      this.#wanted = EVERYTHING;
      this.#look();
    };
    return html`<form class="fields filters" role="search" @submit=${submit}>
      <label
        >${t('Person')}<input name="subject" type="search" autocomplete="off" placeholder=${t('id or external id')} .value=${subject}
      /></label>
      <label
        >${t('Who')}
        <select name="actor">
          <option value="">${t('Anyone')}</option>
          ${this.#actors.map(({ id, name }) => html`<option value=${id} ?selected=${id === actor}>${name}</option>`)}
        </select></label
      >
      <label>${t('Action')}<input name="action" type="search" autocomplete="off" placeholder="api_key.created" .value=${action} /></label>
      <label>${t('From')}<input name="since" type="datetime-local" step="1" min=${EARLIEST} max=${LATEST} .value=${since} /></label>
      <label>${t('To')}<input name="until" type="datetime-local" step="1" min=${EARLIEST} max=${LATEST} .value=${until} /></label>
      ${sortField(sorts, this.#sort, (sort) => {
        this.#sort = sort;
        this.#look();
      })}
      <div class="row"><button class="primary">${t('Find')}</button> <button type="button" @click=${clear}>${t('Clear')}</button></div>
    </form>`;
  }

  #table(): TemplateResult {
    return tableOf<AuditEntry>(
      [
        { name: t('Time'), cell: (entry) => this.time(entry.time, 'medium') },
        { name: t('Who'), cell: (entry) => this.#name(entry.actor_kind, entry.actor_id) },
        { name: t('Action'), cell: (entry) => this.#deed(entry) },
        { name: t('Person'), cell: (entry) => this.#person(entry.subject_id) },
        { name: t('Target'), cell: (entry) => this.#target(entry) },
        { name: t('Address'), cell: (entry) => entry.ip ?? '–' },
      ],
      this.#entries,
    );
  }

  #deed({ action, detail }: AuditEntry): TemplateResult {
    const { operation, count, seconds } = detail as { operation?: string; count?: number; seconds?: number };
    const times = count !== undefined && count > 1 ? ` × ${count}` : '';
    const what = operation ?? (seconds === undefined ? '' : `${seconds} s`);
    return html`${action} ${what === '' ? nothing : html`<span class="muted">${what}${times}</span>`}`;
  }

  /** A person is found again under Users as long as they are not erased. */
  #person(id: string | null): TemplateResult | string {
    return id === null ? '–' : html`<a class="whole" href="#/users/${id}" title=${id}>${shortId(id)}</a>`;
  }

  #target({ target_kind: kind, target_id: id, subject_id: subject }: AuditEntry): TemplateResult | string {
    return id === subject ? '–' : this.#name(kind, id);
  }

  #name(kind: string, id: string): TemplateResult {
    const name = this.#names.get(id);
    return html`<span class="muted">${named(kind.replaceAll('_', ' '))}</span>
      ${name ?? (id === '' ? nothing : html`<code title=${id}>${shortId(id)}</code>`)}`;
  }
}

/** The filters of the address, which may name the person by itself: audit/<person>. */
function wantedOf({ argument, query }: PageContext): Wanted {
  const given = Object.fromEntries(Object.keys(EVERYTHING).map((name) => [name, query.get(name) ?? ''])) as Wanted;
  // An address may be of anybody's making: what the service would refuse is left out.
  const timeOf = (text: string): string => (text >= EARLIEST && text <= LATEST && !Number.isNaN(Date.parse(text)) ? text : '');
  return { ...given, since: timeOf(given.since), until: timeOf(given.until), subject: query.get('subject') ?? argument };
}

/** The end of a UUID tells apart what was made in the same hour; its beginning may be a time. Anything else is shown whole. */
function shortId(id: string): string {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id) ? `…${id.slice(-8)}` : id;
}
