/** A question in a modal dialog before something is done. It stays open while that runs and when it fails, with what was typed, unless the
 *  page may not show what it is about any more. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ref } from 'lit-html/directives/ref.js';
import { ApiError } from '../sdk/fetch-json.ts';
import { clearFieldProblems, failureAtFields } from './field-problem.ts';
import type { FieldWords } from './field-problem.ts';
import { problemOf, t } from './language.ts';
import type { Content } from './parts.ts';

export type Question = Readonly<{
  title: string;
  /** What will happen. */
  text: Content;
  /** On the button that does it. */
  word: string;
  /** It cannot be undone, or stops something that is in use. */
  danger?: boolean;
  /** Further fields of the form. */
  fields?: TemplateResult;
  /** What of its fields is refused. */
  words?: FieldWords;
  /** Another person has changed what it is about: it is read again, and what is sent next is a change of that.  @returns what it is now */
  overtaken?: () => Promise<Content>;
  /** @param text a field's value, trimmed */
  act: (text: (name: string) => string) => Promise<unknown>;
  /** Once it is done and the dialog is gone: where the keyboard goes on, if not where it was. */
  after?: () => void;
}>;

export class Dialog {
  #question: Question | null = null;
  #problem: Content | null = null;
  #busy = false;
  /** The session has ended: what was typed waits, below the cover of the page, for its member to sign in again. */
  #isCovered = false;
  readonly #redraw: () => void;
  readonly #afterFailure: () => void;
  readonly #onFailure: (error: unknown) => void;

  /** @param afterFailure called when the dialog is left after a failure: what the page shows may be out of date
   *  @param onFailure called with each failure, while the dialog stays open */
  constructor(redraw: () => void, afterFailure: () => void, onFailure: (error: unknown) => void) {
    this.#redraw = redraw;
    this.#afterFailure = afterFailure;
    this.#onFailure = onFailure;
  }

  ask(question: Question): void {
    this.#question = question;
    this.#problem = null;
    this.#redraw();
  }

  /** What it is about may not be seen any more: it is gone, with what was typed.  @param about only if it is this question */
  dismiss(about = this.#question): void {
    if (about === null || about !== this.#question) return;
    this.#question = null;
    this.#redraw();
  }

  /** Says nothing of what it is about until the session goes on. */
  cover(isCovered: boolean): void {
    this.#isCovered = isCovered;
    this.#redraw();
  }

  #close(event: Event): void {
    this.#question = null;
    (event.currentTarget as Element).closest('dialog')?.close();
    if (this.#problem !== null) this.#afterFailure();
    this.#redraw();
  }

  async #submit(event: SubmitEvent, question: Question): Promise<void> {
    event.preventDefault();
    if (this.#busy) return;
    const form = event.target as HTMLFormElement;
    const data = new FormData(form);
    const text = (name: string): string => {
      const value = data.get(name);
      return typeof value === 'string' ? value.trim() : '';
    };
    this.#busy = true;
    this.#problem = null;
    clearFieldProblems(form);
    this.#redraw();
    try {
      await question.act(text);
      this.dismiss(question);
      form.closest('dialog')?.close(); // the focus returns to where it was
      question.after?.();
    } catch (error) {
      if (!(error instanceof ApiError)) reportError(error);
      const said = await problemWith(question, form, error);
      if (this.#question === question) this.#problem = said;
      this.#onFailure(error);
    } finally {
      this.#busy = false;
      this.#redraw();
    }
  }

  view(): TemplateResult | typeof nothing {
    const question = this.#question;
    if (question === null) return nothing;
    const { word, danger = false, fields } = question;
    const [title, text] = this.#isCovered ? ['', nothing] : [question.title, question.text];
    return html`<dialog class="ask" aria-labelledby="ask-title" ${ref(open)} @cancel=${(event: Event) => this.#cancel(event)}>
      <form class="asking" @submit=${(event: SubmitEvent) => void this.#submit(event, question)}>
        <h2 id="ask-title">${title}</h2>
        <div class="ask-text">${text}</div>
        ${fields ?? nothing} ${this.#problem === null ? nothing : html`<p class="problem-line" role="alert">${this.#problem}</p>`}
        <div class="row">
          <button class=${danger ? 'danger' : 'primary'} ?disabled=${this.#busy}>${word}</button>
          <button
            type="button"
            ?autofocus=${danger && fields === undefined}
            ?disabled=${this.#busy}
            @click=${(event: Event) => this.#close(event)}
          >
            ${t('Cancel')}
          </button>
        </div>
      </form>
    </dialog>`;
  }

  /** Escape. What runs already is not left. */
  #cancel(event: Event): void {
    event.preventDefault();
    if (!this.#busy) this.#close(event);
  }
}

/** What of a question failed, in words of the page. */
async function problemWith({ overtaken, words }: Question, form: HTMLFormElement, error: unknown): Promise<Content> {
  if (isGone(error)) return goneText();
  if (overtaken === undefined || !(error instanceof ApiError) || error.status !== 412)
    return problemOf(failureAtFields(form, error, words));
  try {
    return html`${t('Another person has changed this meanwhile. Nothing was saved. It is now:')} ${await overtaken()}<br />${t('What you typed is kept: save again to replace that.')}`;
  } catch (failure) {
    return isGone(failure) ? goneText() : problemOf(failure);
  }
}

export const goneText = (): string => t('This is no longer there: another person may have deleted it. Nothing was saved.');

/** Another person has deleted what it was about; it is no field of a form that names something else. */
export const isGone = (error: unknown): boolean => error instanceof ApiError && error.status === 404 && error.errors.length === 0;

/** A dialog can be shown once it is in the page, which it is after the drawing. */
function open(element?: Element): void {
  queueMicrotask(() => {
    if (element instanceof HTMLDialogElement && element.isConnected && !element.open) element.showModal();
  });
}
