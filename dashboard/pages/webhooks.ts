/** Settings > Webhooks: which events go where, whether they arrived, and sending them again. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { t } from '../language.ts';
import { ListChoice, newest } from '../list-choice.ts';
import { formValues, Page } from '../page.ts';
import { badge, emptyState, projectName, projectSelect, tableOf } from '../parts.ts';
import type { Tone } from '../parts.ts';
import type { Answer, BodyOf } from '../../sdk/request.ts';
import { call } from '../service.ts';
import type { Delivery, Project, Webhook } from '../service.ts';
import { ShownOnce } from '../shown-once.ts';

const events = [
  ['episode.created', t('an episode started, or an answer met a safety rule')],
  ['episode.updated', t('an episode ended, was closed or was reopened')],
  ['episode.acknowledged', t('an episode was acknowledged')],
  ['artifact.created', t('a strip or a document was added to an episode')],
  ['xuser.updated', t('a user was changed or disabled')],
  ['xuser.erased', t('a user and all their data were erased')],
] as const;
type Tested = Answer<'testWebhook'>;
const tones: Readonly<Record<Delivery['status'], Tone>> = { delivered: 'good', pending: 'warn', failed: 'bad' };

export class WebhooksPage extends Page {
  override readonly title = t('Webhooks');
  protected override readonly lead = t('The service sends events to your server: signed, and retried for a day and a half.');
  #hooks: readonly Webhook[] = [];
  #projects: readonly Project[] = [];
  readonly #list = new ListChoice<Webhook>(
    this.listPlace,
    {
      newest: { name: t('Newest first'), by: (hook) => newest(hook.created_at) },
      address: { name: t('Address'), by: (hook) => hook.url },
      off: { name: t('Switched off first'), by: (hook) => newest(hook.gone_at) },
    },
    (hook) => [hook.url, hook.description, hook.gone_at === null ? null : t('switched off'), ...hook.events],
  );
  readonly #fresh = new ShownOnce((action) => this.run(action), this.context.redraw);
  #open: string | null = null;
  #deliveries: readonly Delivery[] = [];
  /** What the newest test found, by webhook. */
  readonly #tested = new Map<string, Tested | null>();

  protected override async load(): Promise<void> {
    const webhookId = this.#open;
    const [hooks, projects, deliveries] = await this.newest(
      Promise.all([
        call('GET', '/api/v1/webhooks'),
        call('GET', '/api/v1/projects'),
        webhookId === null ? [] : call('GET', '/api/v1/webhooks/{webhookId}/deliveries', { params: { webhookId }, query: { limit: 50 } }),
      ]),
    );
    [this.#hooks, this.#projects, this.#deliveries] = [hooks, projects, deliveries];
  }

  protected override left(): void {
    this.#fresh.forget();
  }

  protected override body(): TemplateResult {
    return html`${this.#fresh.view()}
      <section class="card">
        ${this.#list.fields(this.#hooks.length, t('Part of an address, a note or an event'))}
        ${this.#hooks.length === 0 ? emptyState(t('No webhooks yet'), t('Add the address of your server below.')) : this.#list.table(this.#hooks, (hooks) => this.#table(hooks))}
      </section>
      ${this.#log()} ${this.#form()}`;
  }

  #table(hooks: readonly Webhook[]): TemplateResult {
    return tableOf<Webhook>(
      [
        { name: t('Address'), cell: (hook) => html`<code>${hook.url}</code> <span class="muted">${hook.description}</span>` },
        { name: t('Events'), cell: (hook) => (hook.events.includes('*') ? t('all|events') : hook.events.join(', ')) },
        { name: t('Project'), cell: (hook) => projectName(this.#projects, hook.project_id) },
        {
          name: t('Since'),
          cell: (hook) =>
            html`${this.time(hook.created_at)}
            ${
              hook.gone_at === null
                ? nothing
                : html`<div>
                    ${badge('bad', t('switched off'))} <span class="muted">${this.time(hook.gone_at)}: ${hook.gone_reason}</span>
                  </div>`
            }
            ${
              hook.previous_secret_expires_at === null
                ? nothing
                : html`<div class="muted">${t('two secrets sign until {time}', { time: this.time(hook.previous_secret_expires_at) })}</div>`
            }
            ${this.#result(hook.id)}`,
        },
        {
          name: t('Actions'),
          kind: 'actions',
          cell: (hook) =>
            html`<button type="button" aria-expanded=${this.#open === hook.id ? 'true' : 'false'} @click=${() => this.#show(hook.id)}>
                ${t('Deliveries')}<span class="vh"> ${hook.url}</span>
              </button>
              <button type="button" ?disabled=${this.#tested.get(hook.id) === null} @click=${() => void this.#test(hook.id)}>
                ${t('Send a test')}<span class="vh"> ${hook.url}</span>
              </button>
              ${
                hook.gone_at === null
                  ? nothing
                  : html`<button
                      type="button"
                      @click=${() => void this.change(() => call('POST', '/api/v1/webhooks/{webhookId}/resume', { params: { webhookId: hook.id }, body: {} }))}
                    >
                      ${t('Switch on')}<span class="vh"> ${hook.url}</span>
                    </button>`
              }
              ${this.askButton(hook.url, {
                title: t('Make a new secret?'),
                text: html`${t('For a day the old secret of {url} signs too.', { url: html`<code>${hook.url}</code>` })}`,
                word: t('New secret'),
                act: () => this.#rotate(hook),
              })}
              ${this.askButton(hook.url, {
                title: t('Remove this webhook?'),
                text: html`${t('Nothing more is sent to {url}.', { url: html`<code>${hook.url}</code>` })}`,
                word: t('Remove'),
                danger: true,
                act: async () => {
                  if (this.#open === hook.id) this.#open = null;
                  await call('DELETE', '/api/v1/webhooks/{webhookId}', { params: { webhookId: hook.id } });
                },
              })}`,
        },
      ],
      hooks,
    );
  }

  async #test(id: string): Promise<void> {
    this.#tested.set(id, null);
    this.context.redraw();
    const done = await this.act(async () => {
      this.#tested.set(id, await call('POST', '/api/v1/webhooks/{webhookId}/test', { params: { webhookId: id }, body: {} }));
    });
    if (!done) this.#tested.delete(id);
    this.context.redraw();
  }

  #result(id: string): TemplateResult | typeof nothing {
    const tested = this.#tested.get(id);
    if (tested === undefined) return nothing;
    if (tested === null) return html`<div role="status" class="muted">${t('Sending a test …')}</div>`;
    const { delivered, status, duration_ms: ms, error } = tested;
    return html`<div role="status">
      ${delivered ? badge('good', t('test delivered')) : badge('bad', t('test not delivered'))}
      <span class="muted">${delivered ? `HTTP ${status}` : error}, ${ms} ms</span>
    </div>`;
  }

  async #rotate(hook: Webhook): Promise<void> {
    const { secret } = await call('POST', '/api/v1/webhooks/{webhookId}/rotate-secret', { params: { webhookId: hook.id }, body: {} });
    const text = t('Copy it now; it is shown only once. Give it to your server within a day: until then the old secret signs as well.');
    this.#fresh.show({ title: t('New secret of {url}', { url: hook.url }), text, secret });
  }

  #show(id: string): void {
    this.#open = this.#open === id ? null : id;
    this.choose();
  }

  #log(): TemplateResult | typeof nothing {
    const hook = this.#hooks.find(({ id }) => id === this.#open);
    if (hook === undefined) return nothing;
    return html`<section class="card">
      <h2>${t('Deliveries to {url}', { url: hook.url })}</h2>
      ${this.chosen(() =>
        this.#deliveries.length === 0
          ? emptyState(t('No deliveries yet'), t('The next event is sent to this address.'))
          : tableOf<Delivery>(
              [
                { name: t('State'), cell: (item) => badge(tones[item.status], t(item.status)) },
                { name: t('Event'), cell: (item) => item.event },
                { name: t('When'), cell: (item) => this.time(item.created_at) },
                { name: t('Attempts'), kind: 'num', cell: (item) => item.attempts },
                {
                  name: t('Last answer'),
                  cell: (item) =>
                    html`${item.last_status ?? item.last_error ?? '–'}
                    ${item.status === 'pending' && item.attempts > 0 ? html`<span class="muted">${t('again {age}', { age: this.age(item.next_attempt_at) })}</span>` : nothing}`,
                },
                {
                  name: t('Actions'),
                  kind: 'actions',
                  cell: (item) =>
                    html`<button
                      type="button"
                      @click=${() => void this.change(() => call('POST', '/api/v1/webhooks/{webhookId}/deliveries/{deliveryId}/replay', { params: { webhookId: hook.id, deliveryId: item.id }, body: {} }))}
                    >
                      ${t('Send again')}
                    </button>`,
                },
              ],
              this.#deliveries,
            ),
      )}
    </section>`;
  }

  #form(): TemplateResult {
    return html`<section class="card">
      <h2>${t('Add a webhook')}</h2>
      <form
        class="fields"
        @submit=${(event: SubmitEvent) => {
          const { form, text, all } = formValues(event);
          const body: BodyOf<'createWebhook'> = {
            url: text('url'),
            events: all('event') as Webhook['events'][number][],
            project_id: text('project') || null,
            description: text('description'),
          };
          const add = async (): Promise<void> => {
            const { url, secret } = await call('POST', '/api/v1/webhooks', { body });
            const checked = t('Copy it now; it is shown only once. Your server verifies webhook-signature with it (HMAC-SHA-256).');
            this.#fresh.show({ title: t('Secret of {url}', { url }), text: checked, secret });
            form.reset();
          };
          void this.change(add, form, ([field]) => (field === 'events' ? t('Choose at least one event.') : undefined));
        }}
      >
        <label
          >${t('Address')}<input name="url" type="url" required placeholder="https://clinic.example/hooks/biosignal" autocomplete="off"
        /></label>
        ${projectSelect(this.#projects)}
        <label>${t('Note')}<input name="description" maxlength="500" autocomplete="off" /></label>
        <fieldset>
          <legend>${t('Events')}</legend>
          <label class="check"
            ><input type="checkbox" name="event" value="*" checked /><span
              ><b>${t('All events')}</b> <span class="muted">${t('including those added by later versions')}</span></span
            ></label
          >
          ${events.map(
            ([name, what]) =>
              html`<label class="check"
                ><input type="checkbox" name="event" value=${name} /><span><b>${name}</b> <span class="muted">${what}</span></span></label
              >`,
          )}
        </fieldset>
        <div><button class="primary">${t('Add webhook')}</button></div>
      </form>
    </section>`;
  }
}
