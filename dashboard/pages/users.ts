/** The users of all projects, the newest first, and who of them is sending. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formValues, Page } from '../page.ts';
import { badge, emptyState, moreButton, tableOf } from '../parts.ts';
import { call, callList, callNext } from '../service.ts';
import type { Project, Xuser } from '../service.ts';

const PAGE = 100;

export class UsersPage extends Page {
  override readonly title = 'Users';
  protected override readonly lead = 'Open a user for the live monitor, trends and recordings.';
  #users: readonly Xuser[] = [];
  #next: string | null = null;
  #projects: readonly Project[] = [];
  #sending: ReadonlySet<string> = new Set();
  #wanted = '';

  protected override async load(): Promise<void> {
    const query = { limit: PAGE, external_id: this.#wanted === '' ? undefined : this.#wanted };
    const [users, projects, devices] = await Promise.all([
      callList('/api/v1/xusers', { query }),
      call('GET', '/api/v1/projects'),
      call('GET', '/api/v1/devices', { query: { limit: 1000 } }),
    ]);
    this.#users = users.items;
    this.#next = users.next;
    this.#projects = projects;
    this.#sending = new Set(devices.filter((device) => device.is_flowing).map((device) => device.xuser_id ?? ''));
  }

  async #more(): Promise<void> {
    if (this.#next === null) return;
    const { items, next } = await callNext('/api/v1/xusers', this.#next);
    this.#users = [...this.#users, ...items];
    this.#next = next;
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
        <label>External id<input name="external" type="search" autocomplete="off" placeholder="the whole id" /></label><button>Find</button>
      </form>
      ${
        this.#users.length === 0
          ? emptyState(
              this.#wanted === '' ? 'No users yet' : 'No user with this id',
              'A user is made when your backend asks for a first token, or with a first packet.',
            )
          : this.#table()
      }
      ${moreButton(this.#next, () => void this.run(() => this.#more()))}
    </section>`;
  }

  #table(): TemplateResult {
    return tableOf<Xuser>(
      [
        { name: 'External id', cell: (user) => html`<a href="#/users/${user.xuser_id}">${user.external_id}</a>` },
        { name: 'Name', cell: (user) => user.display_name || '–' },
        {
          name: 'Now',
          cell: (user) => (this.#sending.has(user.xuser_id) ? badge('good', 'live') : html`<span class="muted">–</span>`),
        },
        { name: 'Project', cell: (user) => this.#projects.find((project) => project.id === user.project_id)?.name ?? '' },
        { name: 'Since', cell: (user) => html`${this.time(user.created_at)} ${user.disabled ? '(disabled)' : ''}` },
      ],
      this.#users,
      (user) => user.disabled,
    );
  }
}
