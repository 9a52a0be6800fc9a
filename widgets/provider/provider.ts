/** Wraps every widget: says where the service is and for whom the widgets act. Shows nothing itself.
 *
 *  Token mode (`sdk-key`, `xuser-token`) is for pages that people visit. Direct mode (`api-key`, `project-key`, `xuser-id`) puts a key into
 *  the page and is for internal tools; it is chosen only when no token is given. A token that is replaced by one for the same user and
 *  project is taken over silently: nothing is fetched again, the live socket stays open. Any other change of credentials starts over with
 *  empty widgets.
 *
 *  @tag bio-provider
 *  @attr {string} base-url - address of the service; default: the page's own origin
 *  @attr {string} sdk-key - token mode: public identifier of the project
 *  @attr {string} xuser-token - token mode: the user token; set it again before it expires
 *  @attr {string} api-key - direct mode: organization key; visible in the page
 *  @attr {string} project-key - direct mode
 *  @attr {string} xuser-id - direct mode: the application's own id of the user
 *  @attr {string} lang - for all widgets inside
 *  @attr {string} tz - IANA time zone for all widgets inside; default: the browser's
 *  @attr {string} units - metric or us
 *  @attr {string} theme - light or dark; default: as the page
 *  @prop {string} xuserToken - the token, without an attribute that others could read (write only)
 *  @prop {object} operator - {subjectId, projectId}: for the service's own dashboard, where a cookie says who asks (write only)
 *  @fires bio:token:expiring - on the document, 5 minutes before the token expires or when the service refuses it, once for each token */
import { CONNECT, PROVIDER_READY, define } from '../shared/base.ts';
import type { Connect, ProviderLink } from '../shared/base.ts';
import { ElementBase } from '../shared/html-element.ts';
import { Session } from '../shared/session.ts';
import type { Credentials } from '../shared/session.ts';

const WARN_BEFORE_MS = 5 * 60_000;
/** The page is not asked for tokens faster than this, ms: each try in a row waits twice as long as the one before. */
const PAUSE_MIN_MS = 1000;
const PAUSE_MAX_MS = 60_000;
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
  #announcedMs = -Infinity;
  #pauseMs = PAUSE_MIN_MS;
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
      this.#check();
    } else {
      this.#end();
      this.#signature = signature;
      if (credentials !== null) {
        this.#session = new Session(baseUrl, credentials);
        this.#unsubscribe = this.#session.subscribe(() => {
          this.#publish();
          this.#check();
        });
        this.#check();
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

  /** Announces the end of each token once, also when the service refuses it earlier; marks the session ended when its lifetime is over. */
  #check = (): void => {
    clearTimeout(this.#timer);
    const session = this.#session;
    const lifetimeMs = session?.lifetimeMs ?? null;
    if (session === null || lifetimeMs === null) return;
    const refused = session.state === 'unauthorized';
    const { leftMs } = session;
    if (leftMs <= 0 && !refused) {
      session.expire(); // comes back here
      return;
    }
    // A token that lives five minutes or less is announced at half its life; at once would make the page renew without end.
    const noticeMs = lifetimeMs > WARN_BEFORE_MS ? WARN_BEFORE_MS : lifetimeMs / 2;
    let nextMs = refused ? 0 : session.leastLeftMs - noticeMs;
    if (session.announced) nextMs = Infinity;
    else if (nextMs <= 0) nextMs = this.#announce(session);
    if (!refused) nextMs = Math.min(nextMs, leftMs);
    if (nextMs < Infinity) this.#timer = setTimeout(this.#check, Math.min(CHECK_EVERY_MS, Math.max(50, nextMs)));
  };

  /** @returns ms to wait when the last announcement is too near, else Infinity: it has been made */
  #announce(session: Session): number {
    const sinceMs = performance.now() - this.#announcedMs;
    if (sinceMs < this.#pauseMs) return this.#pauseMs - sinceMs;
    this.#pauseMs = sinceMs > 10 * PAUSE_MAX_MS ? PAUSE_MIN_MS : Math.min(PAUSE_MAX_MS, this.#pauseMs * 2);
    this.#announcedMs = performance.now();
    session.announced = true;
    document.dispatchEvent(new CustomEvent('bio:token:expiring'));
    return Infinity;
  }

  #link(): ProviderLink {
    return { session: this.#session, problem: this.#session?.state === 'unauthorized' ? 'unauthorized' : 'none', element: this };
  }

  #publish(): void {
    const link = this.#link();
    for (const onChange of this.#widgets) onChange(link);
  }
}

export function credentialsOf(
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
