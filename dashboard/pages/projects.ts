/** Settings > Projects: project keys, public SDK keys, origins that may use direct mode. */
import { html, nothing } from 'lit-html';
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
  ['samples_days', 'Samples', 'waveforms as sent by the devices'],
  ['features_days', 'Features', 'heart rate, HRV and other values, with their aggregates'],
  ['beats_days', 'Beats', 'R peaks and systolic peaks'],
] as const;
const consents = [
  ['recording', 'Recording', 'if not given, the service accepts no packets or entries for that person'],
  ['sharing', 'Sharing', 'if not given, only the person can read their data'],
] as const;

export class ProjectsPage extends Page {
  override readonly title = 'Projects';
  #projects: readonly Shown[] = [];

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
        <dd>${this.#projectKeys(project)}</dd>
        <dt>Project id</dt>
        <dd><code>${project.id}</code></dd>
        <dt>Time zone</dt>
        <dd>${project.time_zone}</dd>
        <dt>SDK keys (public)</dt>
        <dd>
          <ul>
            ${sdkKeys.map((key) => html`<li class="key-line">${this.#sdkKey(project, key)}</li>`)}
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
            <label class="wide"
              ><span class="muted">One per line: scheme, host and port, exactly as a browser sends them</span>
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

  #projectKeys(project: Project): TemplateResult {
    const { id, previous_project_key: before, previous_key_expires_at: until, previous_key_last_used_at: used } = project;
    const params = { projectId: id };
    return html`<div class="key-line">
        <span><code>${project.project_key}</code> ${this.#lastUsed(project.key_last_used_at)}</span>
        ${
          before !== null
            ? nothing
            : html`<span class="key-acts"
                >${this.askButton('project key', {
                  title: 'Rotate the project key?',
                  text: 'This makes a new key. The old one keeps working for a day.',
                  word: 'Rotate',
                  act: () => call('POST', '/api/v1/projects/{projectId}/rotate-key', { params, body: {} }),
                })}</span
              >`
        }
      </div>
      ${
        before === null
          ? nothing
          : html`<div class="key-line">
              <span><code>${before}</code> ${this.#lastUsed(used)} <span class="state expires">works until</span> ${this.time(until)}</span>
              <span class="key-acts"
                >${this.askButton('previous project key', {
                  title: 'Revoke the previous project key?',
                  text: html`Everything that still uses <code>${before}</code> is refused within a second. This cannot be undone.`,
                  word: 'Revoke',
                  danger: true,
                  act: () => call('DELETE', '/api/v1/projects/{projectId}/previous-key', { params }),
                })}</span
              >
            </div>`
      }`;
  }

  #sdkKey(project: Project, key: SdkKey): TemplateResult {
    const ended =
      key.revoked_at !== null ? 'revoked' : key.expires_at !== null && Date.parse(key.expires_at) < Date.now() ? 'expired' : null;
    const params = { projectId: project.id, sdkKeyId: key.id };
    return html`<span
        ><code>${key.sdk_key}</code> ${key.name} ${this.#lastUsed(key.last_used_at)}
        ${
          ended !== null
            ? html`<span class="state ${ended}">${ended}</span>`
            : key.expires_at === null
              ? nothing
              : html`<span class="state expires">works until</span> ${this.time(key.expires_at)}`
        }</span
      >
      ${
        ended !== null
          ? nothing
          : html`<span class="key-acts"
              >${
                key.expires_at !== null
                  ? nothing
                  : this.askButton(key.sdk_key, {
                      title: 'Rotate this SDK key?',
                      text: 'This makes a new key. The old one keeps working for a day.',
                      word: 'Rotate',
                      act: () => call('POST', '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}/rotate', { params, body: {} }),
                    })
              }
              ${this.askButton(key.sdk_key, {
                title: 'Revoke this SDK key?',
                text: html`Pages that use <code>${key.sdk_key}</code> stop working. This cannot be undone.`,
                word: 'Revoke',
                danger: true,
                act: () => call('DELETE', '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}', { params }),
              })}</span
            >`
      }`;
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
              placeholder="service default"
              .value=${String(settings.retention[name] ?? '')}
          /></label>`,
      )}
      <fieldset>
        <legend>Consent required from every user</legend>
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
        <p class="muted">Shortening a period deletes older data, starting within ten minutes.</p>
      </div>
    </form>`;
  }
}
