/** Settings > API keys: create, rotate, revoke. A secret is shown once, and forgotten by the page when it is left. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { t } from '../language.ts';
import { ListChoice, newest } from '../list-choice.ts';
import { formValues, Page } from '../page.ts';
import { projectName, projectSelect, tableOf } from '../parts.ts';
import type { BodyOf } from '../../sdk/request.ts';
import { call } from '../service.ts';
import type { ApiKey, NewApiKey, Project } from '../service.ts';
import { ShownOnce } from '../shown-once.ts';

const scopes = [
  ['read', t('Read'), t("any user's data in the organization")],
  ['write', t('Write'), t('issue user tokens, create users, write records')],
  ['ingest', t('Ingest'), t('send packets')],
  ['admin', t('Admin'), t('keys, settings, erasure')],
] as const;

export class ApiKeysPage extends Page {
  override readonly title = t('API keys');
  #keys: readonly ApiKey[] = [];
  #projects: readonly Project[] = [];
  readonly #list = new ListChoice<ApiKey>(
    this.listPlace,
    {
      newest: { name: t('Newest first'), by: (key) => newest(key.created_at) },
      name: { name: t('Name'), by: (key) => key.name },
      used: { name: t('Last used'), by: (key) => newest(key.last_used_at) },
      state: { name: t('State'), by: stateOf },
    },
    (key) => [key.name, key.hint, t(stateOf(key)), ...key.scopes.map((scope) => t(scope))],
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
    const create = async (): Promise<void> => {
      this.#show(await call('POST', '/api/v1/api-keys', { body }));
      form.reset();
    };
    await this.change(create, form, ([field]) => (field === 'scopes' ? t('Choose at least one scope.') : undefined));
  }

  #show({ name, key }: NewApiKey): void {
    this.#fresh.show({
      title: t('New key: {name}', { name }),
      text: t('Copy it now; it is shown only once. The service stores only its hash.'),
      secret: key,
    });
  }

  protected override body(): TemplateResult {
    return html`${this.#fresh.view()}
      <section class="card">
        <h2>${t('Keys of this organization')}</h2>
        <p class="muted">
          ${t('Use organization keys on servers only. Browsers get a user token, which your backend requests with a Write key.')}
        </p>
        ${this.#list.fields(this.#keys.length, t('Part of a name, a scope or a state'))}
        ${this.#list.table(this.#keys, (keys) =>
          tableOf<ApiKey>(
            [
              { name: t('Name'), cell: (key) => html`<bdi>${key.name}</bdi>` },
              { name: t('Key'), cell: (key) => html`<code class="hint">${key.hint}</code>` },
              { name: t('Scopes'), cell: (key) => key.scopes.map((scope) => t(scope)).join(', ') },
              {
                name: t('Project'),
                cell: (key) => projectName(this.#projects, key.project_id),
              },
              { name: t('Last used'), cell: (key) => this.time(key.last_used_at) },
              {
                name: t('State'),
                cell: (key) => {
                  const state = stateOf(key);
                  return html`<span class="state ${state}">${t(state)}</span> ${state === 'expires' ? this.time(key.expires_at) : nothing}`;
                },
              },
              { name: t('Actions'), kind: 'actions', cell: (key) => this.#actions(key) },
            ],
            keys,
            (key) => ['revoked', 'expired'].includes(stateOf(key)),
          ),
        )}
      </section>
      ${this.#form()}`;
  }

  #actions(key: ApiKey): TemplateResult | typeof nothing {
    if (['revoked', 'expired'].includes(stateOf(key))) return nothing;
    const params = { keyId: key.id };
    return html`${this.askButton(key.name, {
      title: t('Rotate {name}?', { name: key.name }),
      text: t('This makes a new key with the same scopes. Choose how long the old one keeps working.'),
      word: t('Rotate'),
      fields: html`<label
        >${t('Old key works for')}
        <select name="overlap">
          <option value="3600">${t('1 hour')}</option>
          <option value="86400" selected>${t('1 day')}</option>
          <option value="604800">${t('7 days')}</option>
          <option value="0">${t('no longer')}</option>
        </select></label
      >`,
      act: async (text) =>
        this.#show(await call('POST', '/api/v1/api-keys/{keyId}/rotate', { params, body: { overlap_sec: Number(text('overlap')) } })),
    })}
    ${this.askButton(key.name, {
      title: t('Revoke {name}?', { name: key.name }),
      text: html`${t('Everything that uses {key} is refused within a second. This cannot be undone.', { key: html`<code>${key.hint}</code>` })}`,
      word: t('Revoke'),
      danger: true,
      act: () => call('DELETE', '/api/v1/api-keys/{keyId}', { params }),
    })}`;
  }

  #form(): TemplateResult {
    return html`<section class="card">
      <h2>${t('Create a key')}</h2>
      <form class="fields" @submit=${(event: SubmitEvent) => void this.#create(event)}>
        <label
          >${t('Name')}<input name="name" required maxlength="100" placeholder=${t('backend of the clinic app')} autocomplete="off"
        /></label>
        ${projectSelect(this.#projects)}
        <label
          >${t('Environment')}
          <select name="env">
            <option value="live">${t('live|environment')}</option>
            <option value="test">${t('test|environment')}</option>
          </select></label
        >
        <label
          >${t('Expires')}
          <select name="days">
            <option value="0">${t('never')}</option>
            <option value="30">${t('in 30 days')}</option>
            <option value="90">${t('in 90 days')}</option>
            <option value="365">${t('in a year')}</option>
          </select></label
        >
        <fieldset>
          <legend>${t('Scopes')}</legend>
          ${scopes.map(
            ([value, name, what]) =>
              html`<label class="check"
                ><input type="checkbox" name="scope" value=${value} ?checked=${value === 'read'} /><span
                  ><b>${name}</b> <span class="muted">${what}</span></span
                ></label
              >`,
          )}
        </fieldset>
        <div><button class="primary">${t('Create key')}</button></div>
      </form>
    </section>`;
  }
}

function stateOf(key: ApiKey): 'revoked' | 'expired' | 'expires' | 'active' {
  if (key.revoked_at !== null) return 'revoked';
  if (key.expires_at === null) return 'active';
  return Date.parse(key.expires_at) < Date.now() ? 'expired' : 'expires';
}
