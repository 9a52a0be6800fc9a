/** What every page of the dashboard is: it loads, it draws, it can fail, it can be left. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ServiceError } from '../widgets/shared/session.ts';
import type { Member } from './service.ts';

export type PageContext = Readonly<{
  redraw: () => void;
  locale: string;
  member: Member;
  /** The rest of the address after the page's own part. */
  argument: string;
}>;

export abstract class Page {
  protected readonly context: PageContext;
  #problem: string | null = null;
  #busy = true;

  constructor(context: PageContext) {
    this.context = context;
  }

  /** Called once the page exists; a constructor could not see the fields of its subclass. */
  start(): void {
    void this.run(() => this.load());
  }

  abstract readonly title: string;
  protected abstract load(): Promise<void>;
  protected abstract body(): TemplateResult | typeof nothing;
  /** The page is left: stop what was started. */
  leave(): void {}

  /** Runs an action, shows its failure on the page, draws afterwards. @returns whether it went well */
  protected async run(action: () => Promise<void>): Promise<boolean> {
    this.#problem = null;
    try {
      await action();
      return true;
    } catch (error) {
      if (!(error instanceof ServiceError)) reportError(error);
      else if (error.status === 401) location.reload();
      this.#problem = error instanceof ServiceError ? error.message : 'Something went wrong on this page.';
      return false;
    } finally {
      this.#busy = false;
      this.context.redraw();
    }
  }

  view(): TemplateResult {
    return html`<div class="page-head"><h1>${this.title}</h1></div>
      <div role="status">${this.#busy ? html`<p class="muted">Loading</p>` : nothing}</div>
      ${this.#problem === null ? nothing : html`<p class="problem" role="alert">${this.#problem}</p>`} ${this.#busy ? nothing : this.body()}`;
  }

  protected time(iso: string | null): TemplateResult {
    if (iso === null) return html`<span class="muted">never</span>`;
    return html`<time datetime=${iso}
      >${new Intl.DateTimeFormat(this.context.locale, { dateStyle: 'medium', timeStyle: 'short' }).format(Date.parse(iso))}</time
    >`;
  }
}

/** Values of a form, trimmed. */
export function formValues(event: SubmitEvent): { form: HTMLFormElement; text: (name: string) => string; all: (name: string) => string[] } {
  event.preventDefault();
  const form = event.target as HTMLFormElement;
  const data = new FormData(form);
  const plain = (value: FormDataEntryValue | null): string => (typeof value === 'string' ? value.trim() : '');
  return { form, text: (name) => plain(data.get(name)), all: (name) => data.getAll(name).map(plain) };
}
