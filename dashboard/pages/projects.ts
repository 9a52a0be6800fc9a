/** Settings > Projects: project keys, public SDK keys, origins that may use direct mode. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formValues, Page } from '../page.ts';
import { call } from '../service.ts';
import type { Project, SdkKey } from '../service.ts';

type Shown = Readonly<{ project: Project; sdkKeys: readonly SdkKey[]; origins: readonly string[] }>;

export class ProjectsPage extends Page {
  override readonly title = 'Projects';
  #projects: readonly Shown[] = [];

  protected override async load(): Promise<void> {
    const projects = await call<Project[]>('GET', '/api/v1/projects');
    this.#projects = await Promise.all(
      projects.map(async (project) => {
        const [sdkKeys, { origins }] = await Promise.all([
          call<SdkKey[]>('GET', `/api/v1/projects/${project.id}/sdk-keys`),
          call<{ origins: string[] }>('GET', `/api/v1/projects/${project.id}/origins`),
        ]);
        return { project, sdkKeys, origins };
      }),
    );
  }

  async #change(action: () => Promise<unknown>): Promise<void> {
    await this.run(async () => {
      await action();
      await this.load();
    });
  }

  protected override body(): TemplateResult {
    return html`${this.#projects.map((shown) => this.#project(shown))}
      <section class="card">
        <h2>Create a project</h2>
        <form
          class="fields"
          @submit=${(event: SubmitEvent) => {
            const { form, text } = formValues(event);
            void this.#change(() => call('POST', '/api/v1/projects', { name: text('name') }).then(() => form.reset()));
          }}
        >
          <label>Name<input name="name" required maxlength="200" autocomplete="off" /></label>
          <div><button class="primary">Create project</button></div>
        </form>
      </section>`;
  }

  #project({ project, sdkKeys, origins }: Shown): TemplateResult {
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
          <button type="button" @click=${() => void this.#change(() => call('POST', `/api/v1/projects/${project.id}/sdk-keys`, {}))}>
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
              void this.#change(() => call('PUT', `/api/v1/projects/${project.id}/origins`, { origins: wanted }));
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
    </section>`;
  }
}
