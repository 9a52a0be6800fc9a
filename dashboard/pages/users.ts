/** The users of all projects, the newest first. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formValues, Page } from '../page.ts';
import { emptyState, tableOf } from '../parts.ts';
import { call } from '../service.ts';
import type { Project, Xuser } from '../service.ts';

export class UsersPage extends Page {
  override readonly title = 'Users';
  #users: readonly Xuser[] = [];
  #projects: readonly Project[] = [];
  #wanted = '';

  protected override async load(): Promise<void> {
    const query = new URLSearchParams({ limit: '200', ...(this.#wanted === '' ? {} : { external_id: this.#wanted }) });
    [this.#users, this.#projects] = await Promise.all([
      call<Xuser[]>('GET', `/api/v1/xusers?${query.toString()}`),
      call<Project[]>('GET', '/api/v1/projects'),
    ]);
  }

  protected override body(): TemplateResult {
    return html`<section class="card">
      <form
        class="row"
        role="search"
        @submit=${(event: SubmitEvent) => {
          this.#wanted = formValues(event).text('external');
          void this.run(() => this.load());
        }}
      >
        <label>External id<input name="external" type="search" autocomplete="off" /></label><button>Find</button>
      </form>
      ${
        this.#users.length === 0
          ? emptyState(
              this.#wanted === '' ? 'No users yet' : 'No user with this id',
              'A user is made when your backend asks for a first token, or with a first packet.',
            )
          : tableOf<Xuser>(
              [
                { name: 'External id', cell: (user) => html`<a href="#/users/${user.xuser_id}">${user.external_id}</a>` },
                { name: 'Name', cell: (user) => user.display_name || '–' },
                { name: 'Project', cell: (user) => this.#projects.find((project) => project.id === user.project_id)?.name ?? '' },
                { name: 'Since', cell: (user) => html`${this.time(user.created_at)} ${user.disabled ? '(disabled)' : ''}` },
              ],
              this.#users,
              (user) => user.disabled,
            )
      }
    </section>`;
  }
}
