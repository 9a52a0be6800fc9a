/** Page for an address that leads nowhere. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { t } from '../language.ts';
import { Page } from '../page.ts';
import { emptyState } from '../parts.ts';

export class NotFoundPage extends Page {
  override readonly title = t('Page not found');

  protected override async load(): Promise<void> {}

  protected override body(): TemplateResult {
    const { role } = this.context.member;
    return html`<section class="card">
      ${emptyState(
        t('There is no page at this address'),
        html`${t('It may be mistyped, or not be open to your role ({role}).', { role: t(role) })}
          <a href="#/overview">${t('Go to the overview')}</a>`,
      )}
    </section>`;
  }
}
