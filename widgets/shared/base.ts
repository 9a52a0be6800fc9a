/** Base of every widget: a shadow root, one render per task however much changed, and a place below a bio-provider.
 *  What connectedCallback takes, disconnectedCallback gives back; a widget that moves in the page starts over with its last data. */
import { html, nothing, render } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ElementBase } from './html-element.ts';
import { awaitLanguage, localeOf, spokenLocale, textFor, translated } from './strings.ts';
import type { TextKey } from './strings.ts';
import { styleSheet, themeSheet } from './theme.ts';
import type { Session } from './session.ts';

/** What a provider offers to the widgets inside it. */
export type ProviderLink = Readonly<{
  session: Session | null;
  /** Why there is no session: attributes are missing, or the service does not know the user. */
  problem: 'none' | 'unauthorized';
  element: HTMLElement;
}>;
export type Connect = (onChange: (link: ProviderLink) => void) => () => void;

export const CONNECT = 'bio:connect';
export const PROVIDER_READY = 'bio:provider-ready';

export type WidgetState = 'loading' | 'ready' | 'empty' | 'stale' | 'offline' | 'error' | 'unauthorized';

export abstract class BioElement extends ElementBase {
  static styles = '';
  readonly root: ShadowRoot;
  protected link: ProviderLink | null = null;
  #queued = false;
  /** Its language is here, or could not be had. */
  #speaks = false;
  #stops: (() => void)[] = [];

  constructor() {
    super();
    this.root = this.attachShadow({ mode: 'open', delegatesFocus: false });
    const own = (this.constructor as typeof BioElement).styles;
    this.root.adoptedStyleSheets = own === '' ? [themeSheet()] : [themeSheet(), styleSheet(own)];
  }

  connectedCallback(): void {
    this.#join();
    if (this.link === null) {
      const onReady = (): void => {
        if (this.link === null) this.#join();
      };
      document.addEventListener(PROVIDER_READY, onReady);
      this.during(() => document.removeEventListener(PROVIDER_READY, onReady));
    }
    this.requestUpdate();
  }

  disconnectedCallback(): void {
    for (const stop of this.#stops.splice(0)) stop();
    this.link = null;
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (before !== after && this.isConnected) this.changed(name);
  }

  /** An attribute changed. */
  protected changed(_name: string): void {
    this.requestUpdate();
  }

  /** The session came, went or was replaced. */
  protected linked(): void {
    this.requestUpdate();
  }

  /** Registers how to stop something that was started; called when the element leaves the page. */
  protected during(stop: () => void): void {
    this.#stops.push(stop);
  }

  protected requestUpdate(): void {
    if (this.#queued) return;
    this.#queued = true;
    queueMicrotask(() => {
      this.#queued = false;
      if (!this.isConnected) return;
      // The first picture waits for its language: texts that change under the reader's eyes are worse.
      const language = this.language();
      if (language !== null && !this.#speaks) {
        void language.then(() => {
          this.#speaks = true;
          this.requestUpdate();
        });
        return;
      }
      render(this.template() ?? nothing, this.root, { host: this });
      this.rendered();
    });
  }

  protected abstract template(): TemplateResult | typeof nothing;

  /** After each render: canvases, focus. */
  protected rendered(): void {}

  /** A setting of this widget, else of its provider. */
  protected setting(name: string): string | null {
    return this.getAttribute(name) ?? this.link?.element.getAttribute(name) ?? null;
  }

  get #wantedLocale(): string {
    return localeOf(this.setting('lang') ?? this.closest('[lang]')?.getAttribute('lang') ?? null);
  }

  get locale(): string {
    return spokenLocale(this.#wantedLocale);
  }

  /** Settles when the widget's language is here or cannot be had; null when there is nothing to wait for. */
  protected language(): Promise<void> | null {
    const session = this.link?.session;
    return session ? awaitLanguage(this.#wantedLocale, session.baseUrl) : null;
  }

  /** A name of the service's catalog as the page's language has it. */
  protected named(name: string): string {
    // A number stays with its unit: no line ends in "60" and the next begins with "s".
    return (translated(this.locale, name) ?? name).replace(/(\d) /g, '$1\u00a0');
  }

  /** IANA time zone; undefined means the browser's. Offsets and abbreviations are none to the service either. */
  get timeZone(): string | undefined {
    const zone = this.setting('tz')!;
    if (/^[+-]|^.ET$/.test(zone)) return undefined;
    try {
      return Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
    } catch {
      return undefined;
    }
  }

  protected text(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
    return textFor(this.locale, key, values);
  }

  /** Composed, so that a page hears it through any number of shadow roots. Never carries a credential. */
  protected emit(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, detail }));
  }

  #join(): void {
    const offer = new CustomEvent<{ accept: (connect: Connect) => void }>(CONNECT, {
      bubbles: true,
      composed: true,
      detail: {
        accept: (connect) => {
          this.during(
            connect((link) => {
              this.link = link;
              this.linked();
            }),
          );
        },
      },
    });
    this.dispatchEvent(offer);
  }
}

/** Defines an element once: the script may be on a page twice, and may be imported where there is no DOM. */
export function define(tag: string, element: CustomElementConstructor): void {
  if (globalThis.customElements === undefined || customElements.get(tag) !== undefined) return;
  customElements.define(tag, element);
}

export { html, nothing };
export type { TemplateResult };
