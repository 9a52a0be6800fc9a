/** Settings > API keys: create, rotate, revoke. A secret is shown once, and forgotten by the page when it is left. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ListChoice, newest } from '../list-choice.ts';
import { formValues, Page } from '../page.ts';
import { projectName, projectSelect, tableOf } from '../parts.ts';
import type { BodyOf } from '../../sdk/request.ts';
import { call } from '../service.ts';
import type { ApiKey, NewApiKey, Project } from '../service.ts';
import { ShownOnce } from '../shown-once.ts';

const scopes = [
  ['read', 'Read', "any user's data in the organization"],
  ['write', 'Write', 'issue user tokens, create users, write records'],
  ['ingest', 'Ingest', 'send packets'],
  ['admin', 'Admin', 'keys, settings, erasure'],
] as const;

export class ApiKeysPage extends Page {
  override readonly title = 'API keys';
  #keys: readonly ApiKey[] = [];
  #projects: readonly Project[] = [];
  readonly #list = new ListChoice<ApiKey>(
    this.listPlace,
    {
      newest: { name: 'Newest first', by: (key) => newest(key.created_at) },
      name: { name: 'Name', by: (key) => key.name },
      used: { name: 'Last used', by: (key) => newest(key.last_used_at) },
      state: { name: 'State', by: stateOf },
    },
    (key) => [key.name, key.hint, stateOf(key), ...key.scopes],
  );
  readonly #fresh = new ShownOnce((action) => this.run(action), this.context.redraw);

  protected override async load(): Promise<void> {
    [this.#keys, this.#projects] = await Promise.all([call('GET', '/api/v1/api-keys'), call('GET', '/api/v1/projects')]);
  }

  protected override left(): void {
    this.#fresh.forget();
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
    await this.change(async () => {
      this.#show(await call('POST', '/api/v1/api-keys', { body }));
      form.reset();
    });
  }

  #show({ name, key }: NewApiKey): void {
    this.#fresh.show({
      title: `New key: ${name}`,
      text: 'Copy it now; it is shown only once. The service stores only its hash.',
      secret: key,
    });
  }

  protected override body(): TemplateResult {
    return html`${this.#fresh.view()}
      <section class="card">
        <h2>Keys of this organization</h2>
        <p class="muted">Use organization keys on servers only. Browsers get a user token, which your backend requests with a Write key.</p>
        ${this.#list.fields(this.#keys.length, 'Part of a name, a scope or a state')}
        ${tableOf<ApiKey>(
          [
            { name: 'Name', cell: (key) => html`<bdi>${key.name}</bdi>` },
            { name: 'Key', cell: (key) => html`<code class="hint">${key.hint}</code>` },
            { name: 'Scopes', cell: (key) => key.scopes.join(', ') },
            {
              name: 'Project',
              cell: (key) => projectName(this.#projects, key.project_id),
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
          this.#list.of(this.#keys),
          (key) => ['revoked', 'expired'].includes(stateOf(key)),
        )}
      </section>
      ${this.#form()}`;
  }

  #actions(key: ApiKey): TemplateResult | typeof nothing {
    if (['revoked', 'expired'].includes(stateOf(key))) return nothing;
    const params = { keyId: key.id };
    return html`${this.askButton(key.name, {
      title: `Rotate ${key.name}?`,
      text: 'This makes a new key with the same scopes. Choose how long the old one keeps working.',
      word: 'Rotate',
      fields: html`<label
        >Old key works for
        <select name="overlap">
          <option value="3600">1 hour</option>
          <option value="86400" selected>1 day</option>
          <option value="604800">7 days</option>
          <option value="0">no longer</option>
        </select></label
      >`,
      act: async (text) =>
        this.#show(await call('POST', '/api/v1/api-keys/{keyId}/rotate', { params, body: { overlap_sec: Number(text('overlap')) } })),
    })}
    ${this.askButton(key.name, {
      title: `Revoke ${key.name}?`,
      text: html`Everything that uses <code>${key.hint}</code> is refused within a second. This cannot be undone.`,
      word: 'Revoke',
      danger: true,
      act: () => call('DELETE', '/api/v1/api-keys/{keyId}', { params }),
    })}`;
  }

  #form(): TemplateResult {
    return html`<section class="card">
      <h2>Create a key</h2>
      <form class="fields" @submit=${(event: SubmitEvent) => void this.#create(event)}>
        <label>Name<input name="name" required maxlength="100" placeholder="backend of the clinic app" autocomplete="off" /></label>
        ${projectSelect(this.#projects)}
        <label
          >Environment
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
