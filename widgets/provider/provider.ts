/** Wraps every widget: says where the service is and for whom the widgets act. Shows nothing itself.
 *
 *  Token mode (`sdk-key`, `xuser-token`) is for pages that people visit. Direct mode (`api-key`, `project-key`, `xuser-id`) puts a key into the
 *  page and is for internal tools; it is chosen only when no token is given. A token that is replaced by one for the same user and project is
 *  taken over silently: nothing is fetched again, the live socket stays open. Any other change of credentials starts over with empty widgets.
 *
 *  @tag bio-provider
 *  @attr {string} base-url - address of the service; default: the page's own origin
 *  @attr {string} sdk-key - token mode: public identifier of the project
 *  @attr {string} xuser-token - token mode: the user token; set it again before it expires
 *  @attr {string} api-key - direct mode: organization key; visible in the page
 *  @attr {string} project-key - direct mode
 *  @attr {string} xuser-id - direct mode: the application's own id of the user
 *  @attr {string} lang - for all widgets inside
 *  @attr {string} tz - IANA time zone for all widgets inside
 *  @attr {string} units - metric or us
 *  @attr {string} theme - light or dark; default: as the page
 *  @prop {string} xuserToken - the token, without an attribute that others could read (write only)
 *  @prop {object} operator - {subjectId, projectId}: for the service's own dashboard, where a cookie says who asks (write only)
 *  @fires bio:token:expiring - on the document, 5 minutes before the token expires, once for each token */
import { CONNECT, PROVIDER_READY, define } from '../shared/base.ts';
import type { Connect, ProviderLink } from '../shared/base.ts';
import { ElementBase } from '../shared/html-element.ts';
import { Session } from '../shared/session.ts';
import type { Credentials } from '../shared/session.ts';

const WARN_BEFORE_MS = 5 * 60_000;
/** Timers do not run while a machine sleeps: the wall clock is read this often, and when the page is shown again. */
const CHECK_EVERY_MS = 10_000;

export class BioProvider extends ElementBase {
  static observedAttributes = ['base-url', 'sdk-key', 'xuser-token', 'api-key', 'project-key', 'xuser-id', 'lang', 'tz', 'units', 'theme'];
  #session: Session | null = null;
  #unsubscribe: (() => void) | null = null;
  #widgets = new Set<(link: ProviderLink) => void>();
  #token: string | null = null;
  #operator: Readonly<{ subjectId: string; projectId: string }> | null = null;
  #signature = '';
  #queued = false;
  #warned = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.addEventListener(CONNECT, (event) => {
      event.stopPropagation();
      const { accept } = (event as CustomEvent<{ accept: (connect: Connect) => void }>).detail;
      accept((onChange) => {
        this.#widgets.add(onChange);
        onChange(this.#link());
        return () => this.#widgets.delete(onChange);
      });
    });
  }

  /** Write only: a token that scripts of the page cannot read back. */
  set xuserToken(token: string) {
    this.#token = token === '' ? null : token;
    this.#queue();
  }

  set operator(subject: Readonly<{ subjectId: string; projectId: string }> | null) {
    if (subject === this.#operator) return;
    this.#operator = subject;
    this.#queue();
  }

  /** For code that is part of the page's own application, e.g. the dashboard. */
  get session(): Session | null {
    return this.#session;
  }

  connectedCallback(): void {
    document.addEventListener('visibilitychange', this.#check);
    globalThis.addEventListener('pageshow', this.#check);
    globalThis.addEventListener('focus', this.#check);
    this.#apply();
    document.dispatchEvent(new CustomEvent(PROVIDER_READY));
  }

  disconnectedCallback(): void {
    document.removeEventListener('visibilitychange', this.#check);
    globalThis.removeEventListener('pageshow', this.#check);
    globalThis.removeEventListener('focus', this.#check);
    clearTimeout(this.#timer);
    this.#end();
    this.#signature = '';
  }

  attributeChangedCallback(_name: string, before: string | null, after: string | null): void {
    if (before !== after && this.isConnected) this.#queue();
  }

  /** Attributes are set one by one; act on all of them together. */
  #queue(): void {
    if (this.#queued) return;
    this.#queued = true;
    queueMicrotask(() => {
      this.#queued = false;
      if (this.isConnected) this.#apply();
    });
  }

  #apply(): void {
    const attribute = (name: string): string => this.getAttribute(name)?.trim() ?? '';
    const baseUrl = serviceOrigin(attribute('base-url'));
    const token = this.#token ?? attribute('xuser-token');
    const credentials = credentialsOf(attribute, token, this.#operator);
    // Everything but the token: when this changes, it is another session.
    const signature = JSON.stringify([baseUrl, credentials === null ? null : { ...credentials, token: '' }]);
    const same = this.#session !== null && signature === this.#signature;
    if (same && credentials?.mode !== 'token') {
      // nothing of the credentials changed
    } else if (same && this.#session?.renew(token) === true) {
      this.#arm();
    } else {
      this.#end();
      this.#signature = signature;
      if (credentials !== null) {
        this.#session = new Session(baseUrl, credentials);
        this.#unsubscribe = this.#session.subscribe(() => this.#publish());
        this.#arm();
      }
    }
    this.#publish();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#unsubscribe?.();
    this.#session?.close();
    this.#session = null;
  }

  #arm(): void {
    this.#warned = false;
    this.#check();
  }

  /** Warns once for each token; marks the session ended when the token is past its time. */
  #check = (): void => {
    clearTimeout(this.#timer);
    const session = this.#session;
    const expiresAtMs = session?.expiresAtMs ?? null;
    if (session === null || expiresAtMs === null) return;
    const lifetimeMs = session.lifetimeMs ?? Infinity;
    // A token that lives five minutes or less is announced at half its life; at once would make the page renew without end.
    const warnAtMs = expiresAtMs - (lifetimeMs > WARN_BEFORE_MS ? WARN_BEFORE_MS : lifetimeMs / 2);
    const nowMs = Date.now();
    if (nowMs >= warnAtMs && !this.#warned) {
      this.#warned = true;
      document.dispatchEvent(new CustomEvent('bio:token:expiring'));
    }
    if (nowMs >= expiresAtMs) {
      session.expire();
      return;
    }
    const next = this.#warned ? expiresAtMs : warnAtMs;
    this.#timer = setTimeout(this.#check, Math.min(CHECK_EVERY_MS, Math.max(50, next - nowMs)));
  };

  #link(): ProviderLink {
    return { session: this.#session, problem: this.#session?.state === 'unauthorized' ? 'unauthorized' : 'none', element: this };
  }

  #publish(): void {
    const link = this.#link();
    for (const onChange of this.#widgets) onChange(link);
  }
}

function credentialsOf(
  attribute: (name: string) => string,
  token: string,
  operator: Readonly<{ subjectId: string; projectId: string }> | null,
): Credentials | null {
  if (operator !== null) return { mode: 'operator', subjectId: operator.subjectId, projectId: operator.projectId };
  if (token !== '') return { mode: 'token', sdkKey: attribute('sdk-key'), token };
  const apiKey = attribute('api-key');
  if (apiKey === '') return null;
  return { mode: 'direct', apiKey, projectKey: attribute('project-key'), externalId: attribute('xuser-id') };
}

/** Only http and https addresses; anything else is as good as none. */
function serviceOrigin(text: string): string {
  try {
    const url = new URL(text === '' ? '/' : text, document.baseURI);
    if (url.protocol === 'http:' || url.protocol === 'https:') return url.href;
  } catch {
    // fall through to the page's own origin
  }
  return location.origin;
}

define('bio-provider', BioProvider);
