/** A session that ends while a page is open: the page is covered, and goes on with what was typed once its member has signed in again. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ref } from 'lit-html/directives/ref.js';
import { ApiError } from '../sdk/fetch-json.ts';
import { problemOf, t } from './language.ts';
import { call } from './service.ts';
import { ENDED } from './session-ended.ts';
import type { Member } from './service.ts';

export class SignInAgain {
  readonly #redraw: () => void;
  readonly #done: () => void;
  #isNeeded = false;
  #isAsking = false;
  #problem: string | null = null;

  /** @param done called once the member has signed in again */
  constructor(redraw: () => void, done: () => void) {
    this.#redraw = redraw;
    this.#done = done;
    globalThis.addEventListener(ENDED, () => {
      this.#isNeeded = true;
      redraw();
    });
  }

  async #submit(event: SubmitEvent, member: Member): Promise<void> {
    event.preventDefault();
    if (this.#isAsking) return;
    const password = new FormData(event.target as HTMLFormElement).get('password') as string;
    this.#isAsking = true;
    try {
      await call('POST', '/auth/session', { body: { email: member.email, password } });
      this.#isNeeded = false;
      this.#problem = null;
      (event.target as Element).closest('dialog')?.close(); // the focus returns to where it was
      this.#done();
    } catch (error) {
      this.#problem = error instanceof ApiError ? problemOf(error) : t('Signing in failed.');
    } finally {
      this.#isAsking = false;
      this.#redraw();
    }
  }

  /** @param member who was signed in: anybody else begins anew */
  view(member: Member): TemplateResult | typeof nothing {
    if (!this.#isNeeded) return nothing;
    return html`<dialog
      class="ask again"
      aria-labelledby="again-title"
      ${ref(showModal)}
      @cancel=${(event: Event) => event.preventDefault()}
    >
      <form class="asking" @submit=${(event: SubmitEvent) => void this.#submit(event, member)}>
        <h2 id="again-title">${t('Your session has ended')}</h2>
        <p>${t('Sign in again to go on where you were. What you typed is kept; what was not saved has to be saved again.')}</p>
        ${this.#problem === null ? nothing : html`<p class="problem-line" role="alert">${this.#problem}</p>`}
        <label>${t('E-mail')}<input type="email" autocomplete="username" readonly .value=${member.email} /></label>
        <label>${t('Password')}<input name="password" type="password" required autofocus autocomplete="current-password" /></label>
        <div class="row">
          <button class="primary" ?disabled=${this.#isAsking}>${t('Sign in')}</button>
          <button type="button" @click=${() => location.reload()}>${t('Leave this page')}</button>
        </div>
      </form>
    </dialog>`;
  }
}

/** Above every other dialog. */
function showModal(element?: Element): void {
  queueMicrotask(() => {
    if (element instanceof HTMLDialogElement && element.isConnected && !element.open) element.showModal();
  });
}
