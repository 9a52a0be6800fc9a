/** A widget that shows something fetched, in one of seven states.
 *
 *  `loading` nothing yet. `ready` data. `empty` the answer holds none. `stale` data, but older than the widget allows. `offline` no answer:
 *  what was last received stays, marked. `error` the service failed: the same, with a button; where it refused, data of a person is taken
 *  off the screen. `unauthorized` the session has ended: likewise. The state is reflected as the attribute `data-state` and announced
 *  politely when it changes. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ApiError } from '../../sdk/fetch-json.ts';
import { BioElement } from './base.ts';
import type { WidgetState } from './base.ts';
import { formatAge, parseDuration } from './format.ts';
import { pageFault } from './session.ts';
import type { Session } from './session.ts';

const REFRESH_MIN_MS = 2000;
/** A page that has given no token by then is said to have forgotten it. */
const PAGE_MS = 10_000;
const WARNINGS_MAX = 100;

const warned = new Set<string>();

/** For the author of the page: what is wrong, once. */
function warnOnce(message: string): void {
  if (warned.has(message) || warned.size >= WARNINGS_MAX) return;
  warned.add(message);
  console.warn(message);
}

export abstract class DataWidget<T> extends BioElement {
  protected data: T | null = null;
  #state: WidgetState = 'loading';
  #error: ApiError | null = null;
  #session: Session | null = null;
  #loading: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #loadedAtMs = 0;

  /** Fetches; null means that there is nothing to show. */
  protected abstract load(session: Session, signal: AbortSignal): Promise<T | null>;
  /** The body of the card when there is data. */
  protected abstract content(data: T): TemplateResult | typeof nothing;
  /** Heading of the card and name of its region. */
  protected abstract heading(): string;
  /** Stands in while loading; about the size of the content, so that nothing jumps. */
  protected placeholder(): TemplateResult {
    return html`<div class="skeleton"></div>
      <div class="skeleton"></div>`;
  }
  /** Said when there is nothing. */
  protected emptyText(): string | TemplateResult {
    return this.text('empty');
  }
  /** Whether data are those of a period without any: its content is shown, so that it can be left. */
  protected isEmpty(_data: T): boolean {
    return false;
  }
  /** Time of the newest value when that is too old to stand for now, else null. */
  protected staleSince(_data: T, _nowMs: number): number | null {
    return null;
  }
  /** Fetch again this often; the attribute `refresh` decides, `0` means never. */
  protected refreshMs(): number {
    const wanted = this.getAttribute('refresh');
    if (wanted === '0' || wanted === 'off') return 0;
    return Math.max(REFRESH_MIN_MS, parseDuration(wanted ?? '') ?? 60_000);
  }

  /** A duration from an attribute, ms.
   *  @throws ApiError when it is none: another one in its place would be a lie */
  protected duration(name: string, fallback: string, given = this.getAttribute(name) ?? fallback): number {
    const ms = parseDuration(given);
    if (ms === null) throw pageFault(`${name}="${given}" is not a duration; write 15m, 24h, 7d or PT1H`);
    return ms;
  }

  get state(): WidgetState {
    return this.#state;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const wake = (): void => {
      if (document.visibilityState === 'visible' && Date.now() - this.#loadedAtMs > this.refreshMs()) this.reload();
    };
    const online = (): void => this.reload();
    const waiting = setTimeout(() => {
      if (this.#session !== null || this.#state !== 'loading') return;
      warnOnce(this.link === null ? `${this.localName} must be in a bio-provider` : 'bio-provider has no xuser-token');
      this.#enter('error');
    }, PAGE_MS);
    document.addEventListener('visibilitychange', wake);
    globalThis.addEventListener('online', online);
    this.during(() => {
      document.removeEventListener('visibilitychange', wake);
      globalThis.removeEventListener('online', online);
      clearTimeout(waiting);
      clearTimeout(this.#timer);
      this.#loading?.abort();
      this.#loading = null;
    });
  }

  protected override linked(): void {
    const session = this.link?.session ?? null;
    const replaced = session !== this.#session;
    if (replaced) {
      this.#session = session;
      this.data = null;
      this.#loadedAtMs = 0;
      this.reset();
    }
    if (this.link?.problem === 'unauthorized') {
      this.#loading?.abort();
      clearTimeout(this.#timer);
      this.data = null;
      this.#enter('unauthorized');
    } else if (session === null) this.#enter('loading');
    else if (replaced || this.#loading === null || this.#state === 'unauthorized') this.reload(); // or it was moved in the page
    else this.requestUpdate();
  }

  /** Forget what belongs to the former user. */
  protected reset(): void {}

  protected override changed(_name: string): void {
    this.reload();
    this.requestUpdate();
  }

  /** Fetches now. What is on the screen stays until the answer is there. */
  reload(): void {
    const session = this.#session;
    clearTimeout(this.#timer);
    if (session === null || !this.isConnected || this.link?.problem === 'unauthorized') return;
    this.#loading?.abort();
    const loading = new AbortController();
    this.#loading = loading;
    if (this.data === null) this.#enter('loading');
    void this.#fetch(session, loading.signal);
  }

  async #fetch(session: Session, signal: AbortSignal): Promise<void> {
    let state: WidgetState;
    try {
      await this.language();
      const data = await this.load(session, signal);
      if (signal.aborted) return;
      this.data = data;
      this.#error = null;
      this.#loadedAtMs = Date.now();
      state = data === null || this.isEmpty(data) ? 'empty' : this.staleSince(data, Date.now()) === null ? 'ready' : 'stale';
    } catch (error) {
      // A credential that is refused ends the session, and so this request, before it is here: it is still said.
      if (signal.aborted && !(error instanceof ApiError)) return;
      this.#error = error instanceof ApiError ? error : pageFault('The answer could not be read.');
      if (this.#error.status !== 0)
        warnOnce(`${this.localName}: ${this.#error.message}${this.#error.status < 0 ? '' : ` (${this.#error.code})`}`);
      if (signal.aborted) return;
      state = this.#error.status === 401 ? 'unauthorized' : this.#error.status === 0 ? 'offline' : 'error';
      if (this.#error.status === 403 || this.#error.status === 404 || state === 'unauthorized') this.data = null;
    }
    this.#enter(state);
    const every = this.refreshMs();
    if (every === 0 || state === 'unauthorized') return;
    this.#timer = setTimeout(
      () => {
        if (document.visibilityState === 'visible') this.reload();
      },
      Math.max(every, (this.#error?.retryAfterSec ?? 0) * 1000),
    );
  }

  #enter(state: WidgetState): void {
    const changed = state !== this.#state;
    this.#state = state;
    if (this.dataset['state'] !== state) this.dataset['state'] = state;
    if (changed) this.emit('bio:state', { state });
    this.requestUpdate();
  }

  protected override template(): TemplateResult {
    const busy = this.#state === 'loading';
    return html`<section class="card" part="card" lang=${this.locale} aria-label=${this.heading()} aria-busy=${busy ? 'true' : 'false'}>
      <div class="head" part="head">
        <h2 class="title" part="title">${this.heading()}</h2>
        ${this.headEnd()}
      </div>
      <div role="status">${this.note()}</div>
      ${
        this.data !== null
          ? this.content(this.data)
          : busy
            ? html`<div class="stack" aria-hidden="true">${this.placeholder()}</div>`
            : nothing
      }
    </section>`;
  }

  /** At the end of the heading's line. */
  protected headEnd(): TemplateResult | typeof nothing {
    return nothing;
  }

  /** The sentence of the state. */
  protected note(): TemplateResult | typeof nothing {
    const retry = html`<button type="button" part="button" @click=${() => this.reload()}>${this.text('retry')}</button>`;
    switch (this.#state) {
      case 'loading':
        return html`<span class="vh">${this.text(this.#session === null ? 'noProvider' : 'loading')}</span>`;
      case 'ready':
        return nothing;
      case 'empty':
        return html`<p class="muted" part="note">${this.emptyText()}</p>`;
      case 'stale': {
        const since = this.data === null ? null : this.staleSince(this.data, Date.now());
        return html`<p class="note warn" part="note">
          ${this.text('stale', { age: since === null ? '' : formatAge(this.locale, since, Date.now()) })}
        </p>`;
      }
      case 'offline':
        return html`<p class="note warn" part="note">
          <span>${this.text(this.data === null ? 'offlineEmpty' : 'offline')}</span>${retry}
        </p>`;
      case 'error':
        return html`<div class="note err" part="note">
          <span
            >${this.text(this.#session === null ? 'noProvider' : 'error')}${
              this.#error?.requestId ? html` <span class="muted">${this.text('reference', { id: this.#error.requestId })}</span>` : nothing
            }</span
          >${retry}
        </div>`;
      case 'unauthorized':
        return html`<p class="note err" part="note">${this.text('unauthorized')}</p>`;
    }
  }
}
