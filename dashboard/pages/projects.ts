/** Settings > Projects: project keys, public SDK keys, origins that may use direct mode. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { t } from '../language.ts';
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
  ['samples_days', t('Samples'), t('waveforms as sent by the devices')],
  ['features_days', t('Features'), t('heart rate, HRV and other values, with their aggregates')],
  ['beats_days', t('Beats'), t('R peaks and systolic peaks')],
] as const;
const consents = [
  ['recording', t('Recording'), t('if not given, the service accepts no packets or entries for that person')],
  ['sharing', t('Sharing'), t('if not given, only the person can read their data')],
] as const;

export class ProjectsPage extends Page {
  override readonly title = t('Projects');
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
        <h2>${t('Create a project')}</h2>
        <form
          class="fields"
          @submit=${(event: SubmitEvent) => {
            const { form, text } = formValues(event);
            void this.change(() => call('POST', '/api/v1/projects', { body: { name: text('name') } }).then(() => form.reset()), form);
          }}
        >
          <label>${t('Name')}<input name="name" required maxlength="200" autocomplete="off" /></label>
          <div><button class="primary">${t('Create project')}</button></div>
        </form>
      </section>`;
  }

  #project({ project, sdkKeys, origins, settings }: Shown): TemplateResult {
    return html`<section class="card">
      <h2>${project.name}</h2>
      <dl class="facts">
        <dt>${t('Project key')}</dt>
        <dd>${this.#projectKeys(project)}</dd>
        <dt>${t('Project id')}</dt>
        <dd><code>${project.id}</code></dd>
        <dt>${t('Time zone')}</dt>
        <dd>${project.time_zone}</dd>
        <dt>${t('SDK keys (public)')}</dt>
        <dd>
          <ul>
            ${sdkKeys.map((key) => html`<li class="key-line">${this.#sdkKey(project, key)}</li>`)}
          </ul>
          <button
            type="button"
            @click=${() => void this.change(() => call('POST', '/api/v1/projects/{projectId}/sdk-keys', { params: { projectId: project.id }, body: {} }))}
          >
            ${t('Add an SDK key')}
          </button>
        </dd>
        <dt>${t('Origins for direct mode')}</dt>
        <dd>
          <form
            class="fields"
            @submit=${(event: SubmitEvent) => {
              const { form, text } = formValues(event);
              const wanted = text('origins')
                .split(/\s+/)
                .filter((origin) => origin !== '');
              const put = { params: { projectId: project.id }, body: { origins: wanted }, etag: origins.etag };
              void this.change(
                () => call('PUT', '/api/v1/projects/{projectId}/origins', put),
                form,
                ([, index]) => {
                  const origin = wanted[Number(index)];
                  return origin === undefined ? undefined : t('{origin} is not the origin of a web page.', { origin });
                },
              );
            }}
          >
            <label class="wide"
              ><span class="muted">${t('One per line: scheme, host and port, exactly as a browser sends them')}</span>
              <textarea
                name="origins"
                rows="3"
                spellcheck="false"
                placeholder="https://tools.clinic.example"
                .value=${origins.value.origins.join('\n')}
              ></textarea>
            </label>
            <div><button>${t('Save origins')}</button></div>
          </form>
        </dd>
      </dl>
      ${this.#settings(project, settings)}
    </section>`;
  }

  #lastUsed(at: string | null): TemplateResult {
    return at === null ? html`<small>${t('not used yet')}</small>` : html`<small>${t('used {time}', { time: this.time(at) })}</small>`;
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
                >${this.askButton(t('project key'), {
                  title: t('Rotate the project key?'),
                  text: t('This makes a new key. The old one keeps working for a day.'),
                  word: t('Rotate'),
                  act: () => call('POST', '/api/v1/projects/{projectId}/rotate-key', { params, body: {} }),
                })}</span
              >`
        }
      </div>
      ${
        before === null
          ? nothing
          : html`<div class="key-line">
              <span
                ><code>${before}</code> ${this.#lastUsed(used)}
                <span class="state expires">${t('works until')}</span> ${this.time(until)}</span
              >
              <span class="key-acts"
                >${this.askButton(t('previous project key'), {
                  title: t('Revoke the previous project key?'),
                  text: html`${t('Everything that still uses {key} is refused within a second. This cannot be undone.', { key: html`<code>${before}</code>` })}`,
                  word: t('Revoke'),
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
            ? html`<span class="state ${ended}">${t(ended)}</span>`
            : key.expires_at === null
              ? nothing
              : html`<span class="state expires">${t('works until')}</span> ${this.time(key.expires_at)}`
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
                      title: t('Rotate this SDK key?'),
                      text: t('This makes a new key. The old one keeps working for a day.'),
                      word: t('Rotate'),
                      act: () => call('POST', '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}/rotate', { params, body: {} }),
                    })
              }
              ${this.askButton(key.sdk_key, {
                title: t('Revoke this SDK key?'),
                text: html`${t('Pages that use {key} stop working. This cannot be undone.', { key: html`<code>${key.sdk_key}</code>` })}`,
                word: t('Revoke'),
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
        const { form, text, all } = formValues(event);
        const days = (name: string): number | null => (text(name) === '' ? null : Number(text(name)));
        const body: ProjectSettings = {
          retention: { samples_days: days('samples_days'), features_days: days('features_days'), beats_days: days('beats_days') },
          consent_required: all('consent') as ('recording' | 'sharing')[],
        };
        void this.change(
          () => call('PUT', '/api/v1/projects/{projectId}/settings', { params: { projectId: project.id }, body, etag }),
          form,
        );
      }}
    >
      <h3>${t('Retention')}</h3>
      ${kept.map(
        ([name, title, what]) =>
          html`<label
            >${t('{what}, days', { what: title })} <span class="muted">${what}</span
            ><input
              name=${name}
              type="number"
              min="1"
              max="36500"
              placeholder=${t('service default')}
              .value=${String(settings.retention[name] ?? '')}
          /></label>`,
      )}
      <fieldset>
        <legend>${t('Consent required from every user')}</legend>
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
        <button>${t('Save retention and consent')}</button>
        <p class="muted">${t('Shortening a period deletes older data, starting within ten minutes.')}</p>
      </div>
    </form>`;
  }
}
