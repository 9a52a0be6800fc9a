/** Settings > Projects: project keys, public SDK keys, origins that may use direct mode. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formValues, Page } from '../page.ts';
import { call } from '../service.ts';
import type { Project, ProjectSettings, SdkKey } from '../service.ts';

type Shown = Readonly<{ project: Project; sdkKeys: readonly SdkKey[]; origins: readonly string[]; settings: ProjectSettings }>;

const kept = [
  ['samples_days', 'Samples', 'waveforms as the devices sent them'],
  ['features_days', 'Features', 'heart rate, HRV and the rest, with their aggregates'],
  ['beats_days', 'Beats', 'R peaks and systolic peaks'],
] as const;
const consents = [
  ['recording', 'Recording', 'without it the service takes no packets and no entries of a person'],
  ['sharing', 'Sharing', 'without it only the person reads their data: no key, no operator'],
] as const;

export class ProjectsPage extends Page {
  override readonly title = 'Projects';
  #projects: readonly Shown[] = [];

  protected override async load(): Promise<void> {
    const projects = await call<Project[]>('GET', '/api/v1/projects');
    this.#projects = await Promise.all(
      projects.map(async (project) => {
        const [sdkKeys, { origins }, settings] = await Promise.all([
          call<SdkKey[]>('GET', `/api/v1/projects/${project.id}/sdk-keys`),
          call<{ origins: string[] }>('GET', `/api/v1/projects/${project.id}/origins`),
          call<ProjectSettings>('GET', `/api/v1/projects/${project.id}/settings`),
        ]);
        return { project, sdkKeys, origins, settings };
      }),
    );
  }

  protected override body(): TemplateResult {
    return html`${this.#projects.map((shown) => this.#project(shown))}
      <section class="card">
        <h2>Create a project</h2>
        <form
          class="fields"
          @submit=${(event: SubmitEvent) => {
            const { form, text } = formValues(event);
            void this.change(() => call('POST', '/api/v1/projects', { name: text('name') }).then(() => form.reset()));
          }}
        >
          <label>Name<input name="name" required maxlength="200" autocomplete="off" /></label>
          <div><button class="primary">Create project</button></div>
        </form>
      </section>`;
  }

  #project({ project, sdkKeys, origins, settings }: Shown): TemplateResult {
    return html`<section class="card">
      <h2>${project.name}</h2>
      <dl class="facts">
        <dt>Project key</dt>
        <dd><code>${project.project_key}</code></dd>
        <dt>Project id</dt>
        <dd><code>${project.id}</code></dd>
        <dt>Time zone</dt>
        <dd>${project.time_zone}</dd>
        <dt>SDK keys (public)</dt>
        <dd>
          <ul>
            ${sdkKeys.map((key) => html`<li><code>${key.sdk_key}</code> ${key.name} ${key.revoked_at === null ? '' : '(revoked)'}</li>`)}
          </ul>
          <button type="button" @click=${() => void this.change(() => call('POST', `/api/v1/projects/${project.id}/sdk-keys`, {}))}>
            Add an SDK key
          </button>
        </dd>
        <dt>Origins for direct mode</dt>
        <dd>
          <form
            class="fields"
            @submit=${(event: SubmitEvent) => {
              const wanted = formValues(event)
                .text('origins')
                .split(/\s+/)
                .filter((origin) => origin !== '');
              void this.change(() => call('PUT', `/api/v1/projects/${project.id}/origins`, { origins: wanted }));
            }}
          >
            <label
              ><span class="muted">One a line: scheme, host and port exactly as a browser sends them</span>
              <textarea
                name="origins"
                rows="3"
                spellcheck="false"
                placeholder="https://tools.clinic.example"
                .value=${origins.join('\n')}
              ></textarea>
            </label>
            <div><button>Save origins</button></div>
          </form>
        </dd>
      </dl>
      ${this.#settings(project, settings)}
    </section>`;
  }

  #settings(project: Project, settings: ProjectSettings): TemplateResult {
    return html`<form
      class="fields settings"
      @submit=${(event: SubmitEvent) => {
        const { text, all } = formValues(event);
        const days = (name: string): number | null => (text(name) === '' ? null : Number(text(name)));
        const body = {
          retention: { samples_days: days('samples_days'), features_days: days('features_days'), beats_days: days('beats_days') },
          consent_required: all('consent'),
        };
        void this.change(() => call('PUT', `/api/v1/projects/${project.id}/settings`, body));
      }}
    >
      <h3>Retention</h3>
      ${kept.map(
        ([name, title, what]) =>
          html`<label
            >${title}, days <span class="muted">${what}</span
            ><input
              name=${name}
              type="number"
              min="1"
              max="36500"
              placeholder="as long as the service keeps them"
              .value=${String(settings.retention[name] ?? '')}
          /></label>`,
      )}
      <fieldset>
        <legend>Consent that is asked of every person</legend>
        ${consents.map(
          ([value, title, what]) =>
            html`<label class="check"
              ><input type="checkbox" name="consent" value=${value} ?checked=${settings.consent_required.includes(value)} /><span
                ><b>${title}</b> <span class="muted">${what}</span></span
              ></label
            >`,
        )}
      </fieldset>
      <div>
        <button>Save retention and consent</button>
        <p class="muted">A shorter time deletes what is older, from within ten minutes.</p>
      </div>
    </form>`;
  }
}
