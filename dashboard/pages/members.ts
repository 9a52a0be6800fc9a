/** Settings > Members: who may sign in, and as what. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formValues, Page } from '../page.ts';
import { call } from '../service.ts';
import type { Member } from '../service.ts';

const roles = ['viewer', 'analyst', 'clinician', 'admin', 'owner'] as const;
const PASSWORD_MIN = 12;

export class MembersPage extends Page {
  override readonly title = 'Members';
  #members: readonly Member[] = [];

  protected override async load(): Promise<void> {
    this.#members = await call<Member[]>('GET', '/api/v1/members');
  }

  async #change(action: () => Promise<unknown>): Promise<void> {
    await this.run(async () => {
      await action();
      await this.load();
    });
  }

  protected override body(): TemplateResult {
    return html`<section class="card">
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">E-mail</th>
                <th scope="col">Name</th>
                <th scope="col">Role</th>
                <th scope="col">Last sign-in</th>
                <th scope="col"><span class="vh">Actions</span></th>
              </tr>
            </thead>
            <tbody>
              ${this.#members.map((member) => this.#row(member))}
            </tbody>
          </table>
        </div>
      </section>
      <section class="card">
        <h2>Add a member</h2>
        <form
          class="fields"
          @submit=${(event: SubmitEvent) => {
            const { form, text } = formValues(event);
            const body = { email: text('email'), display_name: text('name'), role: text('role'), password: text('password') };
            void this.#change(() => call('POST', '/api/v1/members', body).then(() => form.reset()));
          }}
        >
          <label>E-mail<input name="email" type="email" required autocomplete="off" /></label>
          <label>Name<input name="name" maxlength="200" autocomplete="off" /></label>
          <label
            >Role
            <select name="role">
              ${roles.map((role) => html`<option>${role}</option>`)}
            </select></label
          >
          <label
            >First password<input name="password" type="password" required minlength=${PASSWORD_MIN} autocomplete="new-password"
          /></label>
          <div><button class="primary">Add</button></div>
        </form>
      </section>`;
  }

  #row(member: Member): TemplateResult {
    const self = member.id === this.context.member.id;
    return html`<tr class=${member.disabled ? 'off' : ''}>
      <td>${member.email}</td>
      <td>${member.display_name}</td>
      <td>${member.role}</td>
      <td>${this.time(member.last_login_at)}</td>
      <td class="actions">
        ${
          self
            ? html`<span class="muted">you</span>`
            : html`<button
                type="button"
                @click=${() => void this.#change(() => call('PATCH', `/api/v1/members/${member.id}`, { disabled: !member.disabled }))}
              >
                ${member.disabled ? 'Enable' : 'Disable'}<span class="vh"> ${member.email}</span>
              </button>`
        }
      </td>
    </tr>`;
  }
}
