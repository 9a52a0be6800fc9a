/** Search over people, devices and recordings, by Ctrl-K (Command-K) from every page, with the keyboard alone. A combobox with a list as
 *  WAI-ARIA describes it: focus stays in the field, the arrows choose, Enter opens, Escape closes. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ref } from 'lit-html/directives/ref.js';
import type { Answer } from '../sdk/request.ts';
import { isExactly } from './folded.ts';
import { plural, problemOf, t } from './language.ts';
import { call } from './service.ts';
import { ENDED } from './session-ended.ts';

/** Pause in typing after which the service is asked, ms. */
const PAUSE_MS = 150;

type Hit = Readonly<{ kind: string; name: string; note: string; address: string; isExact: boolean }>;

export class Search {
  readonly #redraw: () => void;
  readonly #drawNow: () => void;
  readonly #locale: string;
  #isOpen = false;
  /** The address at which it was opened. */
  #openedAt = '';
  #words = '';
  /** What the list is of; another while its answer is not there. */
  #answered = '';
  /** Enter came before the answer: it opens the first of it. */
  #opensFirst = false;
  #hits: readonly Hit[] = [];
  #chosen = 0;
  /** What the list is about; shown to screen readers, too. */
  #status = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked = 0;

  constructor(redraw: () => void, drawNow: () => void, locale: string) {
    this.#redraw = redraw;
    this.#drawNow = drawNow;
    this.#locale = locale;
    // The words stay, and are asked for again.
    globalThis.addEventListener(ENDED, () => {
      this.#asked += 1;
      if (this.#isOpen) this.#show([], '');
    });
  }

  /** @returns whether the key opened it */
  key(event: KeyboardEvent): boolean {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return false;
    event.preventDefault();
    this.open();
    return true;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#openedAt = location.hash;
    this.#words = '';
    this.#answered = '';
    this.#show([], '');
    this.#drawNow(); // the next key may come before the next frame, and belongs into the field
  }

  /** Asks again for what was refused. */
  signedInAgain(): void {
    if (this.#isOpen && this.#words !== '') void this.#ask();
  }

  /** Another page is shown. The event that says so may come after the search was opened at the new address. */
  leave(): void {
    if (location.hash !== this.#openedAt) this.close();
  }

  close(): void {
    if (!this.#isOpen) return;
    document.querySelector<HTMLDialogElement>('.search-box')?.close(); // the focus returns to where it was
    clearTimeout(this.#timer);
    this.#asked += 1; // an answer under way is too late
    this.#isOpen = false;
    this.#opensFirst = false;
    this.#redraw();
  }

  #show(hits: readonly Hit[], status: string): void {
    this.#hits = hits;
    this.#chosen = 0;
    this.#status = status;
    this.#redraw();
  }

  #type(event: Event): void {
    this.#words = (event.target as HTMLInputElement).value.trim();
    this.#opensFirst = false;
    clearTimeout(this.#timer);
    this.#asked += 1; // an answer under way is of other words
    if (this.#words === '') {
      this.#answered = '';
      return this.#show([], '');
    }
    this.#timer = setTimeout(() => void this.#ask(), PAUSE_MS);
  }

  async #ask(): Promise<void> {
    this.#asked += 1;
    const mine = this.#asked;
    const words = this.#words;
    let found: Answer<'search'>;
    try {
      found = await call('GET', '/api/v1/search', { query: { q: words } });
    } catch (error) {
      if (mine !== this.#asked) return;
      this.#opensFirst = false;
      this.#show([], problemOf(error));
      return;
    }
    if (mine !== this.#asked) return;
    const day = { year: 'numeric', month: 'short', day: 'numeric' } as const;
    // Results are of several people: the browser's clock, by its name.
    const time = new Intl.DateTimeFormat(this.#locale, { ...day, hour: 'numeric', minute: '2-digit', timeZoneName: 'short' });
    const hits: Hit[] = [
      ...found.people.map((one) => ({
        kind: t('User'),
        name: one.external_id,
        note: one.display_name,
        address: `#/users/${one.xuser_id}`,
        isExact: isExactly([one.external_id, one.display_name], words),
      })),
      ...found.devices.map((one) => ({
        kind: t('Device'),
        name: one.name || one.device_id,
        note: one.external_id === null ? '' : t('with {name}', { name: one.external_id }),
        address: one.xuser_id === null ? '#/devices' : `#/users/${one.xuser_id}`,
        isExact: isExactly([one.device_id, one.name], words),
      })),
      ...found.recordings.map((one) => ({
        kind: t('Recording'),
        name: time.format(Date.parse(one.started_at)),
        note: `${one.external_id}, ${one.device_id}`,
        address: `#/recordings/${one.stream_id}`,
        isExact: false,
      })),
    ];
    this.#answered = words;
    // The device that was typed comes before the people whose names hold it.
    hits.sort((a, b) => Number(b.isExact) - Number(a.isExact));
    const [first] = hits;
    if (this.#opensFirst && first !== undefined) return this.#go(first);
    this.#opensFirst = false;
    this.#show(hits, hits.length === 0 ? t('Nothing found') : plural(hits.length, '1 result', '{count} results'));
  }

  #press(event: KeyboardEvent): void {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && this.#hits.length > 0) {
      event.preventDefault();
      this.#opensFirst = false;
      this.#chosen = (this.#chosen + step + this.#hits.length) % this.#hits.length;
      this.#redraw();
      document.querySelector(`#hit-${this.#chosen}`)?.scrollIntoView({ block: 'nearest' });
    }
    if (event.key === 'Escape') {
      event.preventDefault(); // a browser would clear the field first
      this.close();
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      if (event.repeat || event.isComposing) return;
      const hit = this.#hits[this.#chosen];
      if (this.#words !== this.#answered) this.#enterEarly();
      else if (hit !== undefined) this.#go(hit);
    }
  }

  /** What stands below is of other words: it is not opened. */
  #enterEarly(): void {
    this.#opensFirst = true;
    clearTimeout(this.#timer);
    this.#show([], t('Searching'));
    void this.#ask();
  }

  #go({ address }: Hit): void {
    this.close();
    location.hash = address;
  }

  button(): TemplateResult {
    return html`<button type="button" class="find" aria-haspopup="dialog" aria-keyshortcuts="Control+K Meta+K" @click=${() => this.open()}>
      <svg viewBox="0 0 20 20" aria-hidden="true"><path d="M13 13l5 5M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12z" /></svg
      ><span>${t('Search')}</span>
    </button>`;
  }

  view(): TemplateResult | typeof nothing {
    if (!this.#isOpen) return nothing;
    const cancel = (event: Event): void => {
      event.preventDefault();
      this.close();
    };
    return html`<dialog class="ask search-box" aria-label=${t('Search')} ${ref(showModal)} @cancel=${cancel}>
      <label
        >${t('People, devices, recordings')}
        <input
          type="search"
          role="combobox"
          autocomplete="off"
          aria-autocomplete="list"
          aria-expanded=${this.#hits.length > 0 ? 'true' : 'false'}
          aria-controls="hits"
          aria-activedescendant=${this.#hits.length > 0 ? `hit-${this.#chosen}` : nothing}
          @input=${(event: Event) => this.#type(event)}
          @keydown=${(event: KeyboardEvent) => this.#press(event)}
      /></label>
      <ul id="hits" role="listbox" aria-label=${t('Results')}>
        ${this.#hits.map(
          (hit, i) =>
            html`<li id="hit-${i}" role="option" aria-selected=${i === this.#chosen ? 'true' : 'false'} @click=${() => this.#go(hit)}>
              <span class="muted">${hit.kind}</span> <b><bdi>${hit.name}</bdi></b> <span class="muted"><bdi>${hit.note}</bdi></span>
            </li>`,
        )}
      </ul>
      <p role="status" class="muted">${this.#status}</p>
    </dialog>`;
  }
}

/** A dialog can be shown once it is in the page, which it is after the drawing. */
function showModal(element?: Element): void {
  queueMicrotask(() => {
    if (element instanceof HTMLDialogElement && element.isConnected && !element.open) element.showModal();
  });
}
