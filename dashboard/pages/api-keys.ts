/** Settings > API keys: create, rotate, revoke. A secret is shown once, and forgotten by the page when it is left. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formValues, Page } from '../page.ts';
import { tableOf } from '../parts.ts';
import type { BodyOf } from '../../sdk/request.ts';
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
    [this.#keys, this.#projects] = await Promise.all([call('GET', '/api/v1/api-keys'), call('GET', '/api/v1/projects')]);
  }

  protected override left(): void {
    this.#fresh = null;
  }

  async #create(event: SubmitEvent): Promise<void> {
    const { form, text, all } = formValues(event);
    const days = Number(text('days'));
    const body: BodyOf<'createApiKey'> = {
      name: text('name'),
      scopes: all('scope') as ApiKey['scopes'][number][],
      env: text('env') as ApiKey['env'],
      project_id: text('project') || null,
      expires_at: days > 0 ? new Date(Date.now() + days * 864e5).toISOString() : null,
    };
    await this.#show(async () => {
      this.#fresh = await call('POST', '/api/v1/api-keys', { body });
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
        ${tableOf<ApiKey>(
          [
            { name: 'Name', cell: (key) => key.name },
            { name: 'Key', cell: (key) => html`<code class="hint">${key.hint}</code>` },
            { name: 'Scopes', cell: (key) => key.scopes.join(', ') },
            {
              name: 'Project',
              cell: (key) =>
                key.project_id === null
                  ? html`<span class="muted">all</span>`
                  : (this.#projects.find((item) => item.id === key.project_id)?.name ?? key.project_id),
            },
            { name: 'Last used', cell: (key) => this.time(key.last_used_at) },
            {
              name: 'State',
              cell: (key) => {
                const state = stateOf(key);
                return html`<span class="state ${state}">${state}</span> ${state === 'expires' ? this.time(key.expires_at) : nothing}`;
              },
            },
            { name: 'Actions', kind: 'actions', cell: (key) => this.#actions(key) },
          ],
          this.#keys,
          (key) => ['revoked', 'expired'].includes(stateOf(key)),
        )}
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

  #actions(key: ApiKey): TemplateResult | typeof nothing {
    if (['revoked', 'expired'].includes(stateOf(key))) return nothing;
    const asking = this.#asking?.id === key.id ? this.#asking.what : null;
    const ask = (what: 'rotate' | 'revoke') => () => {
      this.#asking = { id: key.id, what };
      this.context.redraw();
    };
    if (asking === 'revoke') {
      return html`<span>Stop this key now?</span>
        <button
          type="button"
          class="danger"
          @click=${() => void this.#show(async () => void (await call('DELETE', '/api/v1/api-keys/{keyId}', { params: { keyId: key.id } })))}
        >
          Revoke
        </button>
        ${this.#keep()}`;
    }
    if (asking === null) {
      return html`<button type="button" @click=${ask('rotate')}>Rotate<span class="vh"> ${key.name}</span></button>
        <button type="button" @click=${ask('revoke')}>Revoke<span class="vh"> ${key.name}</span></button>`;
    }
    return html`<form
      @submit=${(event: SubmitEvent) => {
        const overlap = Number(formValues(event).text('overlap'));
        void this.#show(async () => {
          this.#fresh = await call('POST', '/api/v1/api-keys/{keyId}/rotate', {
            params: { keyId: key.id },
            body: { overlap_sec: overlap },
          });
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
    </form>`;
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

function stateOf(key: ApiKey): 'revoked' | 'expired' | 'expires' | 'active' {
  if (key.revoked_at !== null) return 'revoked';
  if (key.expires_at === null) return 'active';
  return Date.parse(key.expires_at) < Date.now() ? 'expired' : 'expires';
}
