/** The audit log: who did what to what, the newest first. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { Page } from '../page.ts';
import { emptyState, tableOf } from '../parts.ts';
import { call } from '../service.ts';
import type { AuditEntry } from '../service.ts';

export class AuditPage extends Page {
  override readonly title = 'Audit log';
  protected override readonly lead =
    'Who did what, from where. Entries are chained by their hashes: none can be changed or taken out unseen.';
  #entries: readonly AuditEntry[] = [];

  protected override async load(): Promise<void> {
    this.#entries = await call<AuditEntry[]>('GET', '/api/v1/audit-log?limit=200');
  }

  protected override body(): TemplateResult {
    if (this.#entries.length === 0)
      return html`<section class="card">${emptyState('Nothing yet', 'Every change and every read of a person is written here.')}</section>`;
    return html`<section class="card">
      ${tableOf<AuditEntry>(
        [
          { name: 'Time', cell: (entry) => this.time(entry.time) },
          { name: 'Who', cell: (entry) => html`${entry.actor_kind} <code>${entry.actor_id.slice(0, 8)}</code>` },
          { name: 'Did', cell: (entry) => entry.action },
          { name: 'To', cell: (entry) => html`${entry.target_kind} <code>${entry.target_id.slice(0, 8)}</code>` },
          { name: 'From', cell: (entry) => entry.ip ?? '–' },
        ],
        this.#entries,
      )}
    </section>`;
  }
}
