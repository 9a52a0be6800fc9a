/** Settings > Questionnaires: the questionnaires of a project, their versions and scoring rules. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { listed, named, plural, t } from '../language.ts';
import { formValues, ProjectPage } from '../page.ts';
import { badge, tableOf } from '../parts.ts';
import { call } from '../service.ts';
import type { QuestionnaireVersion } from '../service.ts';

export class QuestionnairesPage extends ProjectPage {
  override readonly title = t('Questionnaires');
  protected override readonly lead = t(
    'Every change creates a new version; answers stay linked to the version they answered. The service computes the scores.',
  );
  #versions: readonly QuestionnaireVersion[] = [];

  protected override async loadProject(): Promise<void> {
    this.#versions = (await this.newest(
      call('GET', '/api/v1/projects/{projectId}/questionnaires', { params: { projectId: this.project.id } }),
    )) as readonly QuestionnaireVersion[];
  }

  protected override projectBody(): TemplateResult {
    const asked = this.#versions.filter(
      (item, i, all) => item.status === 'active' && all.findIndex((other) => other.id === item.id && other.status === 'active') === i,
    );
    const old = this.#versions.filter((item) => !asked.includes(item));
    return html`<section class="card">
        <h2>${t('Active')}</h2>
        ${tableOf<QuestionnaireVersion>(
          [
            {
              name: t('Title'),
              cell: (item) => html`<a href="#/settings/questionnaires/${this.project.id}/${item.id}">${named(item.resource.title)}</a>`,
            },
            { name: t('URL name'), cell: (item) => html`<code>${item.id}</code>` },
            { name: t('Version'), kind: 'num', cell: (item) => item.version },
            { name: t('Questions'), kind: 'num', cell: (item) => item.resource.item.length },
            {
              name: t('Scores'),
              cell: (item) => listed(item.scoring.scores.map((rule) => named(rule.name))) || html`<span class="muted">${t('none')}</span>`,
            },
            {
              name: t('Safety'),
              cell: (item) =>
                item.scoring.safety.length > 0 ? badge('warn', plural(item.scoring.safety.length, '1 rule', '{count} rules')) : '–',
            },
            {
              name: t('From|since'),
              cell: (item) => (item.built_in ? html`<span class="muted">${t('built in')}</span>` : this.time(item.created_at)),
            },
            {
              name: t('Actions'),
              kind: 'actions',
              cell: (item) =>
                item.built_in
                  ? ''
                  : this.askButton(item.resource.title, {
                      title: t('Retire {name}?', { name: item.resource.title }),
                      text: t('It will not be asked again. Existing answers are kept.'),
                      word: t('Retire'),
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
        <h2>${t('New questionnaire')}</h2>
        <form
          class="row"
          @submit=${(event: SubmitEvent) => {
            location.hash = `#/settings/questionnaires/${this.project.id}/${formValues(event).text('code')}`;
          }}
        >
          <label
            >${t('URL name')}<input name="code" required pattern="[a-z][a-z0-9\\-]{0,62}" placeholder="pain-diary" autocomplete="off"
          /></label>
          <button class="primary">${t('Create')}</button>
        </form>
      </section>
      ${
        old.length === 0
          ? ''
          : html`<section class="card">
              <h2>${t('Earlier versions')}</h2>
              ${tableOf<QuestionnaireVersion>(
                [
                  { name: t('Title'), cell: (item) => named(item.resource.title) },
                  { name: t('URL name'), cell: (item) => html`<code>${item.id}</code>` },
                  { name: t('Version'), kind: 'num', cell: (item) => item.version },
                  {
                    name: t('State'),
                    cell: (item) => (item.status === 'active' ? t("replaced by the project's own version") : t('retired')),
                  },
                  {
                    name: t('From|since'),
                    cell: (item) => (item.built_in ? html`<span class="muted">${t('built in')}</span>` : this.time(item.created_at)),
                  },
                ],
                old,
                () => true,
              )}
            </section>`
      }`;
  }
}
