/** The audit log: who did what to what, the newest first. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { Page } from '../page.ts';
import { call } from '../service.ts';
import type { AuditEntry } from '../service.ts';

export class AuditPage extends Page {
  override readonly title = 'Audit log';
  #entries: readonly AuditEntry[] = [];

  protected override async load(): Promise<void> {
    this.#entries = await call<AuditEntry[]>('GET', '/api/v1/audit-log?limit=200');
  }

  protected override body(): TemplateResult {
    return html`<section class="card">
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Who</th>
              <th scope="col">Did</th>
              <th scope="col">To</th>
              <th scope="col">From</th>
            </tr>
          </thead>
          <tbody>
            ${this.#entries.map(
              (entry) =>
                html`<tr>
                  <td>${this.time(entry.time)}</td>
                  <td>${entry.actor_kind} <code>${entry.actor_id.slice(0, 8)}</code></td>
                  <td>${entry.action}</td>
                  <td>${entry.target_kind} <code>${entry.target_id.slice(0, 8)}</code></td>
                  <td>${entry.ip ?? ''}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </section>`;
  }
}
