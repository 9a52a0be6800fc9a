/** Groups of a project's people, such as wards: make, rename, delete; put people in and take them out. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ApiError } from '../../sdk/fetch-json.ts';
import type { Question } from '../dialog.ts';
import { listed, t } from '../language.ts';
import { ListChoice } from '../list-choice.ts';
import { ProjectPage } from '../page.ts';
import { emptyState, tableOf } from '../parts.ts';
import { call } from '../service.ts';
import type { Group } from '../service.ts';

export class GroupsPage extends ProjectPage {
  override readonly title = t('Groups');
  protected override readonly lead = t('Wards and the like. A person may be in several; lists and rules can be for one group.');
  #groups: readonly Group[] = [];
  readonly #list = new ListChoice<Group>(
    this.listPlace,
    { name: { name: t('Name'), by: (group) => group.name }, people: { name: t('Most people first'), by: (group) => group.member_count } },
    (group) => [group.name],
  );

  protected override async loadProject(): Promise<void> {
    this.#groups = await this.newest(call('GET', '/api/v1/projects/{projectId}/groups', { params: { projectId: this.project.id } }));
  }

  protected override actions(): TemplateResult {
    const add = html`<button type="button" class="primary" aria-haspopup="dialog" @click=${() => this.#add()}>${t('New group')}</button>`;
    return html`<div class="row">${super.actions()} ${this.canEdit ? add : nothing}</div>`;
  }

  protected override projectBody(): TemplateResult {
    return html`<section class="card">
      ${this.#list.fields(this.#groups.length, t('Part of a name'))}
      ${this.#groups.length === 0 ? emptyState(t('No groups yet'), t('Make one for each ward, study or team.')) : this.#list.table(this.#groups, (groups) => this.#table(groups))}
    </section>`;
  }

  #table(groups: readonly Group[]): TemplateResult {
    return tableOf<Group>(
      [
        { name: t('Group'), cell: (group) => html`<a href="#/users?group=${group.id}"><bdi>${group.name}</bdi></a>` },
        { name: t('People'), kind: 'num', cell: (group) => group.member_count },
        {
          name: t('Episodes'),
          cell: (group) => html`<a href="#/episodes?group=${group.id}">${t('open episodes')}<span class="vh"> ${group.name}</span></a>`,
        },
        { name: t('Actions'), kind: 'actions', cell: (group) => (this.canEdit ? this.#rowActions(group) : nothing) },
      ],
      groups,
    );
  }

  #rowActions(group: Group): TemplateResult {
    const params = { projectId: this.project.id, groupId: group.id };
    const person = html`<label
      >${t('External id of the person')}<input name="person" required maxlength="255" autocomplete="off"
    /></label>`;
    const people = html`<label
      >${t('External ids, one a line')}<textarea name="people" rows="5" required autocomplete="off" spellcheck="false"></textarea>
    </label>`;
    const member = (text: (name: string) => string) => ({ params: { ...params, xuserId: text('person') } });
    return html`${this.askButton(group.name, {
      title: t('Add people to {group}', { group: group.name }),
      text: t('Rules for this group hold for them from then on.'),
      word: t('Add'),
      fields: people,
      act: (text) => this.#put(group, text('people')),
    })}
    ${this.askButton(group.name, {
      title: t('Take a person out of {group}', { group: group.name }),
      text: t('Open episodes that a rule has for this group end for the person.'),
      word: t('Take out'),
      fields: person,
      act: (text) =>
        call('DELETE', '/api/v1/projects/{projectId}/groups/{groupId}/members/{xuserId}', member(text)).catch((error: unknown) =>
          this.#orUnknown(error, group, text('person')),
        ),
    })}
    ${this.askButton(group.name, {
      title: t('Rename {name}', { name: group.name }),
      text: nothing,
      word: t('Rename'),
      fields: html`<label>${t('Name')}<input name="name" required maxlength="200" autocomplete="off" value=${group.name} /></label>`,
      act: this.#renaming(group),
    })}
    ${this.askButton(group.name, {
      title: t('Delete {name}?', { name: group.name }),
      text: t('The people in it stay.'),
      word: t('Delete'),
      danger: true,
      act: () => call('DELETE', '/api/v1/projects/{projectId}/groups/{groupId}', { params }),
    })}`;
  }

  /** Another person may have renamed it: that is said first. */
  #renaming({ id, name: known }: Group): Question['act'] {
    return async (text) => {
      const [projectId, to] = [this.project.id, text('name')];
      const groups = await call('GET', '/api/v1/projects/{projectId}/groups', { params: { projectId } });
      const { name } = groups.find((group) => group.id === id) ?? { name: known };
      if (name !== known && name !== to) {
        known = name;
        const detail = t('Another person has renamed it to {name} meanwhile. Nothing was saved; save again to replace that.', { name });
        throw new ApiError(-1, { code: 'precondition_failed', detail });
      }
      await call('PATCH', '/api/v1/projects/{projectId}/groups/{groupId}', { params: { projectId, groupId: id }, body: { name: to } });
    };
  }

  /** Of a group that is there it is the person who is not. */
  async #orUnknown(error: unknown, { id }: Group, person: string): Promise<never> {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    await this.loadChanged();
    if (this.#groups.every((group) => group.id !== id)) throw error;
    throw new ApiError(-1, { code: error.code, detail: t('Not known in this project: {people}.', { people: person }) });
  }

  /** One after the other. Who is not known is left in the field and named; everybody else is in the group.
   *  @throws ApiError some are not known; or something failed: then the rest is in the field as well */
  async #put(group: Group, list: string): Promise<void> {
    const ids = [...new Set(list.split('\n').map((id) => id.trim()))].filter((id) => id !== '');
    const field = document.querySelector<HTMLTextAreaElement>('dialog[open] textarea[name=people]');
    const unknown: string[] = [];
    let refusal: unknown = null;
    for (const [i, xuserId] of ids.entries()) {
      if (field !== null) field.value = [...unknown, ...ids.slice(i)].join('\n');
      const params = { projectId: this.project.id, groupId: group.id, xuserId };
      try {
        await call('PUT', '/api/v1/projects/{projectId}/groups/{groupId}/members/{xuserId}', { params, body: {} });
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
        refusal = error;
        unknown.push(xuserId);
      }
    }
    if (unknown.length === 0) return;
    if (field !== null) field.value = unknown.join('\n');
    await this.loadChanged(); // the row has those who are in it, also below the dialog that stays open
    if (this.#groups.every(({ id }) => id !== group.id)) throw refusal; // it is the group that is not there
    const people = listed(unknown);
    const detail =
      unknown.length === ids.length
        ? t('Not known in this project: {people}.', { people })
        : t('Not known in this project: {people}. Everybody else is in the group.', { people });
    throw new ApiError(-1, { code: 'not_found', detail });
  }

  #add(): void {
    this.ask({
      title: t('New group'),
      text: t('In {project}.', { project: this.project.name }),
      word: t('Make it'),
      fields: html`<label>${t('Name')}<input name="name" required maxlength="200" autocomplete="off" /></label>`,
      act: (text) =>
        call('POST', '/api/v1/projects/{projectId}/groups', { params: { projectId: this.project.id }, body: { name: text('name') } }),
    });
  }
}
