/** Settings > Members: who can sign in, and what they can do. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { t } from '../language.ts';
import { ListChoice, newest } from '../list-choice.ts';
import { formValues, Page } from '../page.ts';
import { tableOf } from '../parts.ts';
import type { BodyOf } from '../../sdk/request.ts';
import { call } from '../service.ts';
import type { ListedMember } from '../service.ts';

const roles = [
  ['viewer', t('can read users, devices and signals')],
  ['analyst', t('can read the same things as a viewer')],
  ['clinician', t('can also review episodes, add and edit users, and record consent')],
  ['admin', t('can also manage keys, settings and members, and export or erase users')],
  ['owner', t('can also manage owners')],
] as const;
const PASSWORD_MIN = 12;

export class MembersPage extends Page {
  override readonly title = t('Members');
  protected override readonly lead = t('Who can sign in here, and what they can do.');
  #members: readonly ListedMember[] = [];

  readonly #list = new ListChoice<ListedMember>(
    this.listPlace,
    {
      email: { name: t('E-mail'), by: (member) => member.email },
      name: { name: t('Name'), by: (member) => member.display_name || null },
      role: { name: t('Role'), by: (member) => roles.findIndex(([role]) => role === member.role) },
      seen: { name: t('Last sign-in'), by: (member) => newest(member.last_login_at) },
    },
    (member) => [member.email, member.display_name, t(member.role), member.disabled ? t('disabled') : null],
  );

  /** An admin makes no owners, and changes none. */
  #mayChange(role: ListedMember['role']): boolean {
    return role !== 'owner' || this.context.member.role === 'owner';
  }

  protected override async load(): Promise<void> {
    this.#members = await call('GET', '/api/v1/members');
  }

  protected override body(): TemplateResult {
    return html`<section class="card">
        ${this.#list.fields(this.#members.length, t('Part of an address, a name or a role'))}
        ${this.#list.table(this.#members, (members) =>
          tableOf<ListedMember>(
            [
              { name: t('E-mail'), cell: (member) => html`<bdi>${member.email}</bdi>` },
              { name: t('Name'), cell: (member) => (member.display_name === '' ? '–' : html`<bdi>${member.display_name}</bdi>`) },
              { name: t('Role'), cell: (member) => this.#role(member) },
              { name: t('Last sign-in'), cell: (member) => this.time(member.last_login_at) },
              { name: t('Actions'), kind: 'actions', cell: (member) => this.#switch(member) },
            ],
            members,
            (member) => member.disabled,
          ),
        )}
      </section>
      <section class="card">
        <h2>${t('Add a member')}</h2>
        <form
          class="fields"
          @submit=${(event: SubmitEvent) => {
            const { form, text } = formValues(event);
            const body: BodyOf<'createMember'> = {
              email: text('email'),
              display_name: text('display_name'),
              role: text('role') as ListedMember['role'],
              password: text('password'),
            };
            void this.change(() => call('POST', '/api/v1/members', { body }).then(() => form.reset()), form);
          }}
        >
          <label>${t('E-mail')}<input name="email" type="email" required autocomplete="off" /></label>
          <label>${t('Name')}<input name="display_name" maxlength="200" autocomplete="off" /></label>
          <label
            >${t('Role')}
            <select name="role">
              ${roles.filter(([role]) => this.#mayChange(role)).map(([role]) => html`<option value=${role}>${t(role)}</option>`)}
            </select></label
          >
          <label
            >${t('First password')}
            <span class="muted">${t('at least {count} characters; do not send it by e-mail', { count: PASSWORD_MIN })}</span
            ><input name="password" type="password" required minlength=${PASSWORD_MIN} autocomplete="new-password"
          /></label>
          <dl class="facts wide">
            ${roles.map(
              ([role, what]) =>
                html`<dt>${t(role)}</dt>
                  <dd>${what}</dd>`,
            )}
          </dl>
          <div><button class="primary">${t('Add member')}</button></div>
        </form>
      </section>`;
  }

  #role(member: ListedMember): TemplateResult | string {
    if (member.id === this.context.member.id || member.disabled || !this.#mayChange(member.role)) return t(member.role);
    return html`<label
      ><span class="vh">${t('Role of {name}', { name: member.email })}</span>
      <select
        @change=${(event: Event) => {
          const { value } = event.target as HTMLSelectElement;
          void this.change(() =>
            call('PATCH', '/api/v1/members/{memberId}', {
              params: { memberId: member.id },
              body: { role: value as ListedMember['role'] },
              etag: member.etag,
            }),
          );
        }}
      >
        ${roles.filter(([role]) => this.#mayChange(role)).map(([role]) => html`<option value=${role} ?selected=${role === member.role}>${t(role)}</option>`)}
      </select></label
    >`;
  }

  #switch(member: ListedMember): TemplateResult {
    if (member.id === this.context.member.id) return html`<span class="muted">${t('you')}</span>`;
    if (!this.#mayChange(member.role)) return html`<span class="muted">${t('owners only')}</span>`;
    return html`<button
      type="button"
      @click=${() => void this.change(() => call('PATCH', '/api/v1/members/{memberId}', { params: { memberId: member.id }, body: { disabled: !member.disabled }, etag: member.etag }))}
    >
      ${member.disabled ? t('Enable') : t('Disable')}<span class="vh"> ${member.email}</span>
    </button>`;
  }
}
