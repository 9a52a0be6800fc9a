/** The sentences that all widgets share, and the languages that ship. English is in the script; another language is fetched from the
 *  service when a page asks for it. What is not there falls back to English as a whole: text, numbers and dates of a widget are in one
 *  language. */
import { fetchJson } from '../../sdk/fetch-json.ts';

const shared = {
  good: 'Good',
  suspect: 'Suspect',
  bad: 'Unusable',
  loading: 'Loading',
  empty: 'No data in this period',
  stale: 'Last data {age}; shown values may be out of date',
  offline: 'No connection. Showing what was last received',
  offlineEmpty: 'No connection. Nothing has been received yet',
  error: 'This could not be loaded',
  unauthorized: 'Your session has ended. Please sign in again',
  noProvider: 'Waiting for the page to connect',
  retry: 'Try again',
  reference: 'Reference {id}',
  details: 'Details',
  source: 'Source',
  method: 'Method',
  measured: 'Measured',
  quality: 'Quality',
  value: 'Value',
  minimum: 'Min',
  maximum: 'Max',
  mean: 'Mean',
  goodShare: '{percent} of values are good',
  referenceName: 'Reference',
  heartRate: 'Heart rate',
  progress: '{value} of {goal}',
  progressLabel: 'Progress',
  metrics: 'Health metrics',
  steps: 'Steps',
  sleep: 'Sleep',
  stress: 'Stress',
  hoursMinutes: '{hours} h {minutes} min',
} as const;

export type TextKey = keyof typeof shared;
/** `texts` by key; `phrases` by the English text that the service sends: names of the catalog, questionnaires that ship. */
export type Language = Readonly<{ texts: Readonly<Record<string, string>>; phrases: Readonly<Record<string, string>> }>;

const LANGUAGES: readonly string[] = ['en', 'de', 'es', 'fr', 'zh'];
const FETCH_TIMEOUT_MS = 5000;
/** A language that could not be fetched is tried again after this time. */
const RETRY_MS = 30_000;

const loaded = new Map<string, Language>([['en', { texts: {}, phrases: {} }]]);
const loading = new Map<string, Promise<void>>();

const languageOf = (locale: string): string => locale.split('-')[0]!;

/** A BCP 47 tag that Intl accepts, of a language that ships: from an attribute, the page or the browser. Where a page says the language
 *  only (`en`), the browser's region decides how dates are written (`en-GB`). */
export function localeOf(wanted: string | null): string {
  const own = globalThis.navigator?.languages ?? [];
  for (const tag of [wanted, globalThis.document?.documentElement.lang, own[0]]) {
    if (tag === null || tag === undefined || tag === '') continue;
    try {
      const known = Intl.getCanonicalLocales(tag)[0]!;
      const locale = LANGUAGES.includes(languageOf(known)) ? known : 'en';
      return own.find((item) => item.startsWith(`${locale}-`)) ?? locale;
    } catch {
      continue; // an invalid tag in the page must not break the widget
    }
  }
  return 'en';
}

/** The locale itself once its language is here, else English. */
export function spokenLocale(locale: string): string {
  return loaded.has(languageOf(locale)) ? locale : localeOf('en');
}

/** Fetches the language of a locale from the service. Settles at the latest after five seconds; null when it is here.
 *  @param baseUrl address of the service */
export function awaitLanguage(locale: string, baseUrl: string): Promise<void> | null {
  const language = languageOf(locale);
  if (loaded.has(language)) return null;
  let known = loading.get(language);
  if (known === undefined) {
    const address = new URL(`/cdn/v1/lang/${language}.json`, baseUrl);
    known = fetchJson(address, { credentials: 'omit', signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) })
      .then((answer) => answer.json())
      .then((answer: Language) => void loaded.set(language, answer))
      .catch(() => void setTimeout(() => loading.delete(language), RETRY_MS));
    loading.set(language, known);
  }
  return known;
}

/** @param values replace `{name}` in the sentence */
export function sentenceOf<Key extends string>(
  texts: Readonly<Record<Key, string>>,
  locale: string,
  key: Key,
  values: Readonly<Record<string, string | number>> = {},
): string {
  const sentence = loaded.get(languageOf(locale))?.texts[key] ?? texts[key];
  // What is written from right to left stands apart in a sentence that is not.
  return sentence.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? '').replace(/^.*[\u0590-\u08ff].*$/, '\u2068$&\u2069'));
}

export function textFor(locale: string, key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  return sentenceOf(shared, locale, key, values);
}

/** A text of the service in the language of a locale; undefined where it has no translation. */
export function translated(locale: string, english: string): string | undefined {
  const phrases = loaded.get(languageOf(locale))?.phrases ?? {};
  return Object.hasOwn(phrases, english) ? phrases[english] : undefined; // a name may be "constructor"
}
