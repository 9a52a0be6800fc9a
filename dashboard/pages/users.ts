/** The users of all projects, and who of them is sending. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { groupField, loadGroups } from '../group-filter.ts';
import { t } from '../language.ts';
import { Page } from '../page.ts';
import { badge, emptyState, moreButton, sortField, tableOf } from '../parts.ts';
import { call, callList, callNext } from '../service.ts';
import type { Group, ListedUser, Project } from '../service.ts';

const PAGE = 100;
const sorts = [
  ['newest', t('Newest first')],
  ['external_id', t('External id')],
  ['name', t('Name')],
] as const;
type Sort = (typeof sorts)[number][0];

export class UsersPage extends Page {
  override readonly title = t('Users');
  protected override readonly lead = t('Open a user for the live monitor, trends and recordings.');
  #users: readonly ListedUser[] = [];
  #next: string | null = null;
  #projects: readonly Project[] = [];
  #search = this.context.query.get('search') ?? '';
  #project = this.context.query.get('project') ?? '';
  #groups: readonly Group[] = [];
  #group = this.context.query.get('group') ?? '';
  #sort: Sort = sorts.find(([value]) => value === this.context.query.get('sort'))?.[0] ?? 'newest';

  protected override async load(): Promise<void> {
    const given = (text: string): string | undefined => (text === '' ? undefined : text);
    const query = {
      limit: PAGE,
      search: given(this.#search),
      project_id: given(this.#project),
      group_id: given(this.#group),
      sort: this.#sort,
    };
    const [users, projects, groups] = await this.newest(
      Promise.all([callList('/api/v1/xusers', { query }), call('GET', '/api/v1/projects'), loadGroups()]),
    );
    this.#groups = groups;
    this.#users = users.items;
    this.#next = users.next;
    this.#projects = projects;
  }

  async #more(): Promise<void> {
    if (this.#next === null) return;
    const { items, next } = await this.newest(callNext('/api/v1/xusers', this.#next));
    this.#users = [...this.#users, ...items];
    this.#next = next;
  }

  #find(event: Event): void {
    event.preventDefault();
    const { form } = event.currentTarget as HTMLSelectElement;
    const data = new FormData(form ?? (event.currentTarget as HTMLFormElement));
    const text = (name: string): string => (data.get(name) as string | null)?.trim() ?? '';
    this.#search = text('search');
    this.#project = text('project');
    this.#group = text('group');
    this.keep({ search: this.#search, project: this.#project, group: this.#group });
    this.choose();
  }

  #sortBy(sort: Sort): void {
    this.#sort = sort;
    this.keep({ sort: sort === 'newest' ? '' : sort });
    this.choose();
  }

  protected override actions(): TemplateResult | typeof nothing {
    if (!this.canEdit || this.#projects.length === 0) return nothing;
    return html`<button type="button" class="primary" aria-haspopup="dialog" @click=${() => this.#add()}>${t('Add user')}</button>`;
  }

  #add(): void {
    this.dialog.ask({
      title: t('Add a user'),
      text: t('Your application can also create users: when it first requests a token for them, or with the first packet of a device.'),
      word: t('Add user'),
      fields: html`<label
          >${t('External id')} <span class="muted">${t('the id your application uses for this person')}</span
          ><input name="external_id" required maxlength="255" autocomplete="off"
        /></label>
        <label
          >${t('Name')} <span class="muted">${t('optional')}</span><input name="display_name" maxlength="200" autocomplete="off"
        /></label>
        <label
          >${t('Project')}
          <select name="project_key">
            ${this.#projects.map((project) => html`<option value=${project.project_key} ?selected=${project.id === this.#project}>${project.name}</option>`)}
          </select></label
        >`,
      act: async (text) => {
        const name = text('display_name');
        const body = { external_id: text('external_id'), project_key: text('project_key'), ...(name === '' ? {} : { display_name: name }) };
        const { xuser_id: id } = await call('POST', '/api/v1/xusers', { body });
        location.hash = `#/users/${id}`;
      },
    });
  }

  protected override body(): TemplateResult {
    const filtered = this.#search !== '' || this.#project !== '' || this.#group !== '';
    return html`<section class="card">
      <form class="row filters" role="search" @submit=${(event: SubmitEvent) => this.#find(event)}>
        <label class="wide"
          >${t('Search')}<input
            name="search"
            type="search"
            autocomplete="off"
            placeholder=${t('Part of an id or name')}
            .value=${this.#search}
        /></label>
        ${
          this.#projects.length < 2
            ? nothing
            : html`<label
                >${t('Project')}
                <select name="project" @change=${(event: Event) => this.#find(event)}>
                  <option value="">${t('All projects')}</option>
                  ${this.#projects.map(({ id, name }) => html`<option value=${id} ?selected=${id === this.#project}>${name}</option>`)}
                </select></label
              >`
        }
        ${groupField(this.#groups, this.#group, (event) => this.#find(event))} ${sortField(sorts, this.#sort, (sort) => this.#sortBy(sort))}
        <button>${t('Find')}</button>
      </form>
      ${this.chosen(() => this.#found(filtered))}
    </section>`;
  }

  #found(filtered: boolean): TemplateResult {
    if (this.#users.length > 0) return html`${this.#table()} ${moreButton(this.#next, () => void this.run(() => this.#more()))}`;
    if (filtered) return emptyState(t('No users found'), t('No external id or name contains this text. Try a shorter part of it.'));
    return emptyState(
      t('No users yet'),
      t('A user is created when your backend requests their first token, or with the first packet of their device.'),
    );
  }

  #table(): TemplateResult {
    return tableOf<ListedUser>(
      [
        { name: t('External id'), cell: (user) => html`<a href="#/users/${user.xuser_id}"><bdi>${user.external_id}</bdi></a>` },
        { name: t('Name'), cell: (user) => (user.display_name === '' ? '–' : html`<bdi>${user.display_name}</bdi>`) },
        {
          name: t('Now'),
          cell: (user) => (user.is_flowing ? badge('good', t('live')) : html`<span class="muted">–</span>`),
        },
        { name: t('Project'), cell: (user) => this.#projects.find((project) => project.id === user.project_id)?.name ?? '' },
        { name: t('Created'), cell: (user) => html`${this.time(user.created_at)} ${user.disabled ? `(${t('disabled')})` : ''}` },
      ],
      this.#users,
      (user) => user.disabled,
    );
  }
}
