/** The field that narrows a list to a group: of which page, the address says (`group`). */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { t } from './language.ts';
import { call } from './service.ts';
import type { Group } from './service.ts';

/** Groups of every project that the member sees. */
export async function loadGroups(): Promise<readonly Group[]> {
  const projects = await call('GET', '/api/v1/projects');
  const lists = await Promise.all(
    projects.map(({ id }) => call('GET', '/api/v1/projects/{projectId}/groups', { params: { projectId: id } })),
  );
  return lists.flat();
}

/** @param chosen id of a group; '' for everybody */
export function groupField(groups: readonly Group[], chosen: string, choose: (event: Event) => void): TemplateResult | typeof nothing {
  if (groups.length === 0) return nothing;
  return html`<label
    >${t('Group')}
    <select name="group" @change=${choose}>
      <option value="">${t('Everybody')}</option>
      ${groups.map(({ id, name }) => html`<option value=${id} ?selected=${id === chosen}>${name}</option>`)}
    </select></label
  >`;
}
