/** The audit log: who did what to what, the newest first. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { Page } from '../page.ts';
import { emptyState, moreButton, tableOf } from '../parts.ts';
import { call, callList, callNext } from '../service.ts';
import type { AuditEntry } from '../service.ts';

export class AuditPage extends Page {
  override readonly title = 'Audit log';
  protected override readonly lead =
    'Who did what, from where. Entries are chained by their hashes: none can be changed or taken out unseen.';
  #entries: readonly AuditEntry[] = [];
  #next: string | null = null;
  /** Ids of members, keys and projects, to what people call them. */
  #names: ReadonlyMap<string, string> = new Map();

  protected override async load(): Promise<void> {
    const [log, members, keys, projects] = await Promise.all([
      callList('/api/v1/audit-log', { query: { limit: 100 } }),
      call('GET', '/api/v1/members'),
      call('GET', '/api/v1/api-keys'),
      call('GET', '/api/v1/projects'),
    ]);
    this.#entries = log.items;
    this.#next = log.next;
    this.#names = new Map([
      ...members.map((member) => [member.id, member.display_name || member.email] as const),
      ...[...keys, ...projects].map((item) => [item.id, item.name] as const),
    ]);
  }

  async #more(): Promise<void> {
    if (this.#next === null) return;
    const { items, next } = await callNext('/api/v1/audit-log', this.#next);
    this.#entries = [...this.#entries, ...items];
    this.#next = next;
  }

  protected override body(): TemplateResult {
    if (this.#entries.length === 0)
      return html`<section class="card">${emptyState('Nothing yet', 'Every change and every read of a person is written here.')}</section>`;
    return html`<section class="card">
      ${tableOf<AuditEntry>(
        [
          { name: 'Time', cell: (entry) => this.time(entry.time) },
          { name: 'Who', cell: (entry) => this.#name(entry.actor_kind, entry.actor_id) },
          { name: 'Did', cell: (entry) => entry.action },
          { name: 'To', cell: (entry) => this.#target(entry) },
          { name: 'From', cell: (entry) => entry.ip ?? '–' },
        ],
        this.#entries,
      )}
      ${moreButton(this.#next, () => void this.run(() => this.#more()))}
    </section>`;
  }

  #target(entry: AuditEntry): TemplateResult {
    // A person is found again under Users as long as they are not erased.
    if (entry.target_kind === 'xuser') return html`user <a href="#/users/${entry.target_id}">${shortId(entry.target_id)}</a>`;
    return this.#name(entry.target_kind, entry.target_id);
  }

  #name(kind: string, id: string): TemplateResult {
    const name = this.#names.get(id);
    return html`<span class="muted">${kind.replaceAll('_', ' ')}</span>
      ${name ?? (id === '' ? nothing : html`<code title=${id}>${shortId(id)}</code>`)}`;
  }
}

/** The end of a UUID tells apart what was made in the same hour; its beginning may be a time. Anything else is shown whole. */
function shortId(id: string): string {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id) ? `…${id.slice(-8)}` : id;
}
