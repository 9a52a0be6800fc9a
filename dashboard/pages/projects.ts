/** Settings > Projects: project keys, public SDK keys, origins that may use direct mode. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formValues, Page } from '../page.ts';
import { call, callTagged } from '../service.ts';
import type { Project, ProjectSettings, SdkKey } from '../service.ts';

type Tagged<T> = Readonly<{ value: T; etag: string }>;
type Shown = Readonly<{
  project: Project;
  sdkKeys: readonly SdkKey[];
  origins: Tagged<{ origins: readonly string[] }>;
  settings: Tagged<ProjectSettings>;
}>;

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
  /** What was asked for and waits for a second press: it ends something that is in use. */
  #asking = '';

  protected override async load(): Promise<void> {
    const projects = await call('GET', '/api/v1/projects');
    this.#projects = await Promise.all(
      projects.map(async (project) => {
        const [sdkKeys, origins, settings] = await Promise.all([
          call('GET', '/api/v1/projects/{projectId}/sdk-keys', { params: { projectId: project.id } }),
          callTagged('GET', '/api/v1/projects/{projectId}/origins', { params: { projectId: project.id } }),
          callTagged('GET', '/api/v1/projects/{projectId}/settings', { params: { projectId: project.id } }),
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
            void this.change(() => call('POST', '/api/v1/projects', { body: { name: text('name') } }).then(() => form.reset()));
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
        <dd><code>${project.project_key}</code> ${this.#lastUsed(project.key_last_used_at)} ${this.#projectKey(project)}</dd>
        <dt>Project id</dt>
        <dd><code>${project.id}</code></dd>
        <dt>Time zone</dt>
        <dd>${project.time_zone}</dd>
        <dt>SDK keys (public)</dt>
        <dd>
          <ul>
            ${sdkKeys.map((key) => html`<li><code>${key.sdk_key}</code> ${key.name} ${this.#lastUsed(key.last_used_at)} ${this.#sdkKey(project, key)}</li>`)}
          </ul>
          <button
            type="button"
            @click=${() => void this.change(() => call('POST', '/api/v1/projects/{projectId}/sdk-keys', { params: { projectId: project.id }, body: {} }))}
          >
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
              void this.change(() =>
                call('PUT', '/api/v1/projects/{projectId}/origins', {
                  params: { projectId: project.id },
                  body: { origins: wanted },
                  etag: origins.etag,
                }),
              );
            }}
          >
            <label
              ><span class="muted">One a line: scheme, host and port exactly as a browser sends them</span>
              <textarea
                name="origins"
                rows="3"
                spellcheck="false"
                placeholder="https://tools.clinic.example"
                .value=${origins.value.origins.join('\n')}
              ></textarea>
            </label>
            <div><button>Save origins</button></div>
          </form>
        </dd>
      </dl>
      ${this.#settings(project, settings)}
    </section>`;
  }

  #lastUsed(at: string | null): TemplateResult {
    return at === null ? html`<small>not used yet</small>` : html`<small>used ${this.time(at)}</small>`;
  }

  #projectKey(project: Project): TemplateResult {
    const { id, previous_project_key: before, previous_key_expires_at: until, previous_key_last_used_at: used } = project;
    const params = { projectId: id };
    if (before === null)
      return this.#ask(`rotate ${id}`, 'Rotate', 'project key', 'Make a new key? This one works for another day.', () =>
        call('POST', '/api/v1/projects/{projectId}/rotate-key', { params, body: {} }),
      );
    return html`<div>
      <code>${before}</code> ${this.#lastUsed(used)} <span class="state expires">works until</span> ${this.time(until)}
      ${this.#ask(`end ${id}`, 'Revoke', 'project key before', 'Stop this key now?', () => call('DELETE', '/api/v1/projects/{projectId}/previous-key', { params }))}
    </div>`;
  }

  #sdkKey(project: Project, key: SdkKey): TemplateResult {
    if (key.revoked_at !== null) return html`<span class="state revoked">revoked</span>`;
    if (key.expires_at !== null && Date.parse(key.expires_at) < Date.now()) return html`<span class="state expired">expired</span>`;
    const params = { projectId: project.id, sdkKeyId: key.id };
    return html`${
      key.expires_at === null
        ? this.#ask(`rotate ${key.id}`, 'Rotate', key.sdk_key, 'Make a new key? This one works for another day.', () =>
            call('POST', '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}/rotate', { params, body: {} }),
          )
        : html`<span class="state expires">works until</span> ${this.time(key.expires_at)}`
    }
    ${this.#ask(`revoke ${key.id}`, 'Revoke', key.sdk_key, 'Stop the pages that carry this key now?', () => call('DELETE', '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}', { params }))}`;
  }

  /** A button that asks once more. @param of what it acts on, for who does not see the line */
  #ask(id: string, title: string, of: string, question: string, action: () => Promise<unknown>): TemplateResult {
    const ask = (what: string) => () => {
      this.#asking = what;
      this.context.redraw();
    };
    if (this.#asking !== id) return html`<button type="button" @click=${ask(id)}>${title}<span class="vh"> ${of}</span></button>`;
    return html`<span>${question}</span>
      <button
        type="button"
        class="danger"
        @click=${() => {
          this.#asking = '';
          void this.change(action);
        }}
      >
        ${title}
      </button>
      <button type="button" @click=${ask('')}>Keep</button>`;
  }

  #settings(project: Project, { value: settings, etag }: Tagged<ProjectSettings>): TemplateResult {
    return html`<form
      class="fields settings"
      @submit=${(event: SubmitEvent) => {
        const { text, all } = formValues(event);
        const days = (name: string): number | null => (text(name) === '' ? null : Number(text(name)));
        const body: ProjectSettings = {
          retention: { samples_days: days('samples_days'), features_days: days('features_days'), beats_days: days('beats_days') },
          consent_required: all('consent') as ('recording' | 'sharing')[],
        };
        void this.change(() => call('PUT', '/api/v1/projects/{projectId}/settings', { params: { projectId: project.id }, body, etag }));
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
