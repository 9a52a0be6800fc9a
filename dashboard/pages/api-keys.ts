/** Settings > API keys: create, rotate, revoke. A secret is shown once, and forgotten by the page when it is left. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formValues, Page } from '../page.ts';
import { call } from '../service.ts';
import type { ApiKey, NewApiKey, Project } from '../service.ts';

const scopes = [
  ['read', 'Read', "any user's data in the organization"],
  ['write', 'Write', 'mint user tokens, create users, write records'],
  ['ingest', 'Ingest', 'send packets'],
  ['admin', 'Admin', 'keys, settings, erasure'],
] as const;

export class ApiKeysPage extends Page {
  override readonly title = 'API keys';
  #keys: readonly ApiKey[] = [];
  #projects: readonly Project[] = [];
  #fresh: NewApiKey | null = null;
  #copied = false;
  #asking: { id: string; what: 'rotate' | 'revoke' } | null = null;

  protected override async load(): Promise<void> {
    [this.#keys, this.#projects] = await Promise.all([
      call<ApiKey[]>('GET', '/api/v1/api-keys'),
      call<Project[]>('GET', '/api/v1/projects'),
    ]);
  }

  override leave(): void {
    this.#fresh = null;
  }

  async #create(event: SubmitEvent): Promise<void> {
    const { form, text, all } = formValues(event);
    const days = Number(text('days'));
    const body = {
      name: text('name'),
      scopes: all('scope'),
      env: text('env'),
      project_id: text('project') || null,
      expires_at: days > 0 ? new Date(Date.now() + days * 864e5).toISOString() : null,
    };
    await this.#show(async () => {
      this.#fresh = await call<NewApiKey>('POST', '/api/v1/api-keys', body);
      form.reset();
    });
  }

  async #show(action: () => Promise<void>): Promise<void> {
    this.#copied = false;
    await this.run(async () => {
      await action();
      this.#asking = null;
      await this.load();
    });
  }

  protected override body(): TemplateResult {
    return html`${this.#freshKey()}
      <section class="card">
        <h2>Keys of this organization</h2>
        <p class="muted">Organization keys belong on servers. Browsers get a user token that your backend mints with a Write key.</p>
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Key</th>
                <th scope="col">Scopes</th>
                <th scope="col">Project</th>
                <th scope="col">Last used</th>
                <th scope="col">State</th>
                <th scope="col"><span class="vh">Actions</span></th>
              </tr>
            </thead>
            <tbody>
              ${this.#keys.map((key) => this.#row(key))}
            </tbody>
          </table>
        </div>
      </section>
      ${this.#form()}`;
  }

  #freshKey(): TemplateResult | typeof nothing {
    const fresh = this.#fresh;
    if (fresh === null) return nothing;
    return html`<section class="card fresh" role="alert">
      <h2>New key: ${fresh.name}</h2>
      <p>Copy it now. It is shown this once; only its hash is kept.</p>
      <div class="secret">
        <code>${fresh.key}</code>
        <button
          type="button"
          @click=${() =>
            void this.run(async () => {
              await navigator.clipboard.writeText(fresh.key);
              this.#copied = true;
            })}
        >
          ${this.#copied ? 'Copied' : 'Copy'}
        </button>
        <button
          type="button"
          @click=${() => {
            this.#fresh = null;
            this.context.redraw();
          }}
        >
          I have stored it
        </button>
      </div>
    </section>`;
  }

  #row(key: ApiKey): TemplateResult {
    const expired = key.expires_at !== null && Date.parse(key.expires_at) < Date.now();
    const state = key.revoked_at !== null ? 'revoked' : expired ? 'expired' : key.expires_at !== null ? 'expires' : 'active';
    const project = this.#projects.find((item) => item.id === key.project_id);
    const asking = this.#asking?.id === key.id ? this.#asking.what : null;
    const ask = (what: 'rotate' | 'revoke') => () => {
      this.#asking = { id: key.id, what };
      this.context.redraw();
    };
    return html`<tr class=${state === 'revoked' || state === 'expired' ? 'off' : ''}>
      <td>${key.name}</td>
      <td><code class="hint">${key.hint}</code></td>
      <td>${key.scopes.join(', ')}</td>
      <td>${key.project_id === null ? html`<span class="muted">all</span>` : (project?.name ?? key.project_id)}</td>
      <td>${this.time(key.last_used_at)}</td>
      <td><span class="state ${state}">${state}</span> ${state === 'expires' ? this.time(key.expires_at) : nothing}</td>
      <td class="actions">
        ${
          state === 'revoked' || state === 'expired'
            ? nothing
            : asking === 'revoke'
              ? html`<span>Stop this key now?</span>
                  <button
                    type="button"
                    class="danger"
                    @click=${() => void this.#show(async () => void (await call('DELETE', `/api/v1/api-keys/${key.id}`)))}
                  >
                    Revoke
                  </button>
                  ${this.#keep()}`
              : asking === 'rotate'
                ? html`<form
                    @submit=${(event: SubmitEvent) => {
                      const overlap = Number(formValues(event).text('overlap'));
                      void this.#show(async () => {
                        this.#fresh = await call<NewApiKey>('POST', `/api/v1/api-keys/${key.id}/rotate`, { overlap_sec: overlap });
                      });
                    }}
                  >
                    <label
                      >Old key works for
                      <select name="overlap">
                        <option value="3600">1 hour</option>
                        <option value="86400" selected>1 day</option>
                        <option value="604800">7 days</option>
                        <option value="0">no longer</option>
                      </select></label
                    >
                    <button class="primary">Rotate</button>${this.#keep()}
                  </form>`
                : html`<button type="button" @click=${ask('rotate')}>Rotate<span class="vh"> ${key.name}</span></button>
                    <button type="button" @click=${ask('revoke')}>Revoke<span class="vh"> ${key.name}</span></button>`
        }
      </td>
    </tr>`;
  }

  #keep(): TemplateResult {
    return html`<button
      type="button"
      @click=${() => {
        this.#asking = null;
        this.context.redraw();
      }}
    >
      Keep
    </button>`;
  }

  #form(): TemplateResult {
    return html`<section class="card">
      <h2>Create a key</h2>
      <form class="fields" @submit=${(event: SubmitEvent) => void this.#create(event)}>
        <label>Name<input name="name" required maxlength="100" placeholder="backend of the clinic app" autocomplete="off" /></label>
        <label
          >Project
          <select name="project">
            <option value="">All projects</option>
            ${this.#projects.map((project) => html`<option value=${project.id}>${project.name}</option>`)}
          </select></label
        >
        <label
          >For
          <select name="env">
            <option value="live">live</option>
            <option value="test">test</option>
          </select></label
        >
        <label
          >Expires
          <select name="days">
            <option value="0">never</option>
            <option value="30">in 30 days</option>
            <option value="90">in 90 days</option>
            <option value="365">in a year</option>
          </select></label
        >
        <fieldset>
          <legend>Scopes</legend>
          ${scopes.map(
            ([value, name, what]) =>
              html`<label class="check"
                ><input type="checkbox" name="scope" value=${value} ?checked=${value === 'read'} /><span
                  ><b>${name}</b> <span class="muted">${what}</span></span
                ></label
              >`,
          )}
        </fieldset>
        <div><button class="primary">Create key</button></div>
      </form>
    </section>`;
  }
}
