/** Settings > Questionnaires: the questionnaires of a project, their versions and scoring rules. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formValues, ProjectPage } from '../page.ts';
import { badge, tableOf } from '../parts.ts';
import { call } from '../service.ts';
import type { QuestionnaireVersion } from '../service.ts';

export class QuestionnairesPage extends ProjectPage {
  override readonly title = 'Questionnaires';
  protected override readonly lead =
    'Every change creates a new version; answers stay linked to the version they answered. The service computes the scores.';
  #versions: readonly QuestionnaireVersion[] = [];

  protected override async loadProject(): Promise<void> {
    this.#versions = (await call('GET', '/api/v1/projects/{projectId}/questionnaires', {
      params: { projectId: this.project.id },
    })) as readonly QuestionnaireVersion[];
  }

  protected override body(): TemplateResult {
    const asked = this.#versions.filter(
      (item, i, all) => item.status === 'active' && all.findIndex((other) => other.id === item.id && other.status === 'active') === i,
    );
    const old = this.#versions.filter((item) => !asked.includes(item));
    return html`<section class="card">
        <h2>Active</h2>
        ${tableOf<QuestionnaireVersion>(
          [
            {
              name: 'Title',
              cell: (item) => html`<a href="#/settings/questionnaires/${this.project.id}/${item.id}">${item.resource.title}</a>`,
            },
            { name: 'URL name', cell: (item) => html`<code>${item.id}</code>` },
            { name: 'Version', kind: 'num', cell: (item) => item.version },
            { name: 'Questions', kind: 'num', cell: (item) => item.resource.item.length },
            {
              name: 'Scores',
              cell: (item) => item.scoring.scores.map((rule) => rule.name).join(', ') || html`<span class="muted">none</span>`,
            },
            {
              name: 'Safety',
              cell: (item) =>
                item.scoring.safety.length > 0
                  ? badge('warn', `${item.scoring.safety.length} rule${item.scoring.safety.length > 1 ? 's' : ''}`)
                  : '–',
            },
            { name: 'From', cell: (item) => (item.built_in ? html`<span class="muted">built in</span>` : this.time(item.created_at)) },
            {
              name: 'Actions',
              kind: 'actions',
              cell: (item) =>
                item.built_in
                  ? ''
                  : this.askButton(item.resource.title, {
                      title: `Retire ${item.resource.title}?`,
                      text: 'It will not be asked again. Existing answers are kept.',
                      word: 'Retire',
                      danger: true,
                      act: () =>
                        call('DELETE', '/api/v1/projects/{projectId}/questionnaires/{questionnaireId}', {
                          params: { projectId: this.project.id, questionnaireId: item.id },
                          etag: `"${item.version}"`,
                        }),
                    }),
            },
          ],
          asked,
        )}
      </section>
      <section class="card">
        <h2>New questionnaire</h2>
        <form
          class="row"
          @submit=${(event: SubmitEvent) => {
            location.hash = `#/settings/questionnaires/${this.project.id}/${formValues(event).text('code')}`;
          }}
        >
          <label>URL name<input name="code" required pattern="[a-z][a-z0-9\\-]{0,62}" placeholder="pain-diary" autocomplete="off" /></label>
          <button class="primary">Create</button>
        </form>
      </section>
      ${
        old.length === 0
          ? ''
          : html`<section class="card">
              <h2>Earlier versions</h2>
              ${tableOf<QuestionnaireVersion>(
                [
                  { name: 'Title', cell: (item) => item.resource.title },
                  { name: 'URL name', cell: (item) => html`<code>${item.id}</code>` },
                  { name: 'Version', kind: 'num', cell: (item) => item.version },
                  { name: 'State', cell: (item) => (item.status === 'active' ? "replaced by the project's own version" : 'retired') },
                  {
                    name: 'From',
                    cell: (item) => (item.built_in ? html`<span class="muted">built in</span>` : this.time(item.created_at)),
                  },
                ],
                old,
                () => true,
              )}
            </section>`
      }`;
  }
}
