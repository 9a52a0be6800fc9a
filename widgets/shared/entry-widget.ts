/** A widget in which a person enters something: a form that always works, and below it what was entered before, the unsent first. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { addressOf } from '../../sdk/request.ts';
import type { Answer, AnyRequest, OperationAt, PathOf, RequestArguments } from '../../sdk/request.ts';
import { DataWidget } from './data-widget.ts';
import { entryTexts } from './entry-strings.ts';
import type { EntryTextKey } from './entry-strings.ts';
import { Outbox } from './outbox.ts';
import { sentenceOf } from './strings.ts';

export abstract class EntryWidget<T> extends DataWidget<T> {
  /** Names this widget's entries in the outbox. */
  protected abstract readonly kind: string;
  /** What was saved shows by itself: the sentence is for those who hear it, and nothing moves under a finger. */
  protected readonly quiet: boolean = false;
  #outbox: Outbox | null = null;
  #said: 'saved' | 'savedOffline' | null = null;

  /** A sentence of this family of widgets. */
  protected say(key: EntryTextKey, values: Readonly<Record<string, string | number>> = {}): string {
    return sentenceOf(entryTexts, this.locale, key, values);
  }

  protected abstract form(): TemplateResult | typeof nothing;

  protected override linked(): void {
    super.linked();
    const session = this.link?.session ?? null;
    if (session === null || this.#outbox !== null) return;
    let waitingBefore = 0;
    this.#outbox = new Outbox(session, this.kind, () => {
      const waiting = this.#outbox?.waiting.length ?? 0;
      if (waiting < waitingBefore) this.reload();
      waitingBefore = waiting;
      this.requestUpdate();
    });
    this.during(() => this.#closeOutbox());
  }

  /** What was typed is the former person's, too. */
  protected override reset(): void {
    this.#closeOutbox();
    this.#said = null;
    this.root.querySelector('form')?.reset();
  }

  #closeOutbox(): void {
    this.#outbox?.close();
    this.#outbox = null;
  }

  /** Keeps an entry on this device and sends it as soon as it can be sent.
   *  @returns the service's answer, or null when the entry waits */
  protected async keep<P extends PathOf<'POST'>>(
    path: P,
    ...args: RequestArguments<OperationAt<'POST', P>>
  ): Promise<Answer<OperationAt<'POST', P>> | null>;
  protected async keep(path: string, request: AnyRequest = {}): Promise<unknown> {
    const answer = (await this.#outbox?.add(addressOf(path, request), request.body)) ?? null;
    this.#said = answer === null ? 'savedOffline' : 'saved';
    if (answer !== null) this.reload();
    this.requestUpdate();
    return answer;
  }

  /** Bodies that the service does not have yet, newest first. */
  protected unsent<B>(): (B & { id: string })[] {
    const entries = this.#outbox?.waiting ?? [];
    return entries.map((entry) => ({ ...(entry.body as B), id: entry.id })).toReversed();
  }

  protected override template(): TemplateResult {
    const signedIn = this.link?.session !== null && this.link?.session !== undefined && this.state !== 'unauthorized';
    const waiting = this.#outbox?.waiting ?? [];
    const failed = waiting.filter((entry) => entry.failed).length;
    return html`<section
      class="card"
      part="card"
      lang=${this.locale}
      aria-label=${this.heading()}
      aria-busy=${this.state === 'loading' ? 'true' : 'false'}
    >
      <div class="head" part="head">
        <h2 class="title" part="title">${this.heading()}</h2>
        ${this.headEnd()}
      </div>
      ${signedIn && !this.hasAttribute('readonly') ? this.form() : nothing}
      <div role="status" class="said">
        ${
          this.#said === null || !signedIn
            ? nothing
            : html`<p class=${this.#said !== 'saved' ? 'note warn' : this.quiet ? 'vh' : 'note'} part="note">${this.say(this.#said)}</p>`
        }
        ${waiting.length - failed > 0 && signedIn ? html`<p class="muted">${this.say('waiting', { count: waiting.length - failed })}</p>` : nothing}
        ${failed > 0 && signedIn ? html`<p class="note err" part="note">${this.say('notSent', { count: failed })}</p>` : nothing}
      </div>
      <div role="status">${this.note()}</div>
      ${this.data !== null ? this.content(this.data) : this.state === 'loading' ? html`<div class="stack" aria-hidden="true">${this.placeholder()}</div>` : nothing}
    </section>`;
  }
}
