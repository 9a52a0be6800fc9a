/** Groups of a project's people, such as wards: make, rename, delete; put people in and take them out. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ListChoice } from '../list-choice.ts';
import { ProjectPage } from '../page.ts';
import { emptyState, tableOf } from '../parts.ts';
import { call } from '../service.ts';
import type { Group } from '../service.ts';

export class GroupsPage extends ProjectPage {
  override readonly title = 'Groups';
  protected override readonly lead = 'Wards and the like. A person may be in several; lists and rules can be for one group.';
  #groups: readonly Group[] = [];
  readonly #list = new ListChoice<Group>(
    this.listPlace,
    { name: { name: 'Name', by: (group) => group.name }, people: { name: 'Most people first', by: (group) => group.member_count } },
    (group) => [group.name],
  );

  protected override async loadProject(): Promise<void> {
    this.#groups = await call('GET', '/api/v1/projects/{projectId}/groups', { params: { projectId: this.project.id } });
  }

  protected override actions(): TemplateResult {
    const add = html`<button type="button" class="primary" aria-haspopup="dialog" @click=${() => this.#add()}>New group</button>`;
    return html`<div class="row">${super.actions()} ${this.canEdit ? add : nothing}</div>`;
  }

  protected override body(): TemplateResult {
    return html`<section class="card">
      ${this.#list.fields(this.#groups.length, 'Part of a name')}
      ${this.#groups.length === 0 ? emptyState('No groups yet', 'Make one for each ward, study or team.') : this.#table()}
    </section>`;
  }

  #table(): TemplateResult {
    return tableOf<Group>(
      [
        { name: 'Group', cell: (group) => html`<a href="#/users?group=${group.id}"><bdi>${group.name}</bdi></a>` },
        { name: 'People', kind: 'num', cell: (group) => group.member_count },
        {
          name: 'Episodes',
          cell: (group) => html`<a href="#/episodes?group=${group.id}">open episodes<span class="vh"> of ${group.name}</span></a>`,
        },
        { name: 'Actions', kind: 'actions', cell: (group) => (this.canEdit ? this.#rowActions(group) : nothing) },
      ],
      this.#list.of(this.#groups),
    );
  }

  #rowActions(group: Group): TemplateResult {
    const params = { projectId: this.project.id, groupId: group.id };
    const person = html`<label>External id of the person<input name="person" required maxlength="255" autocomplete="off" /></label>`;
    const member = (text: (name: string) => string) => ({ params: { ...params, xuserId: text('person') } });
    return html`${this.askButton(group.name, {
      title: `Add a person to ${group.name}`,
      text: 'Rules for this group hold for the person from then on.',
      word: 'Add',
      fields: person,
      act: (text) => call('PUT', '/api/v1/projects/{projectId}/groups/{groupId}/members/{xuserId}', { ...member(text), body: {} }),
    })}
    ${this.askButton(group.name, {
      title: `Take a person out of ${group.name}`,
      text: 'Open episodes that a rule has for this group end for the person.',
      word: 'Take out',
      fields: person,
      act: (text) => call('DELETE', '/api/v1/projects/{projectId}/groups/{groupId}/members/{xuserId}', member(text)),
    })}
    ${this.askButton(group.name, {
      title: `Rename ${group.name}`,
      text: nothing,
      word: 'Rename',
      fields: html`<label>Name<input name="name" required maxlength="200" autocomplete="off" value=${group.name} /></label>`,
      act: (text) => call('PATCH', '/api/v1/projects/{projectId}/groups/{groupId}', { params, body: { name: text('name') } }),
    })}
    ${this.askButton(group.name, {
      title: `Delete ${group.name}?`,
      text: 'The people in it stay.',
      word: 'Delete',
      danger: true,
      act: () => call('DELETE', '/api/v1/projects/{projectId}/groups/{groupId}', { params }),
    })}`;
  }

  #add(): void {
    this.ask({
      title: 'New group',
      text: `In ${this.project.name}.`,
      word: 'Make it',
      fields: html`<label>Name<input name="name" required maxlength="200" autocomplete="off" /></label>`,
      act: (text) =>
        call('POST', '/api/v1/projects/{projectId}/groups', { params: { projectId: this.project.id }, body: { name: text('name') } }),
    });
  }
}
