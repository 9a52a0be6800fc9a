/** The language of the dashboard. English stands in the source, where it is read. Another language is a file (lang/de.ts, built into
 *  lang/de.json) that a page fetches before it draws anything: English sentence to translation. A sentence without a German translation
 *  does not compile, nor does one that has a German translation and no French or Spanish one. */
import type { TemplateResult } from 'lit-html';
import { ApiError, fetchJson } from '../sdk/fetch-json.ts';
import { awaitLanguage, localeOf, translated } from '../widgets/shared/strings.ts';
import type { de } from './lang/de.ts';

export const languages = { en: 'English', de: 'Deutsch', fr: 'Français', es: 'Español' } as const;
export type LanguageName = keyof typeof languages;

/** A sentence; or its forms, where it counts (Intl.PluralRules). */
export type Translation = string | Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>;
/** An English sentence of the source. What follows a bar tells apart what other languages tell apart, and is not shown: `Open|verb`. */
export type Phrase = keyof typeof de;
export type Translations = Readonly<Record<Phrase, Translation>>;

type Names<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
/** A sentence that is whole as it stands. */
export type PlainPhrase = { [Text in Phrase]: [Names<Text>] extends [never] ? Text : never }[Phrase];
type Values<Text extends string, Value> = [Names<Text>] extends [never] ? [] : [values: Readonly<Record<Names<Text>, Value>>];
type Counted<Text extends string> = [Exclude<Names<Text>, 'count'>] extends [never]
  ? []
  : [values: Readonly<Record<Exclude<Names<Text>, 'count'>, string | number>>];
/** A piece of markup in a sentence. */
type Piece = string | number | TemplateResult | symbol | readonly (string | TemplateResult)[];

const FETCH_TIMEOUT_MS = 5000;
const KEPT_AS = 'bio-language';

/** Asked for by the address (`?lang=de`), chosen in the menu, or the first of the browser's that ships. */
function wantedLanguage(): LanguageName {
  if (globalThis.document === undefined) return 'en';
  const asked = [new URLSearchParams(location.search).get('lang'), keptLanguage(), ...navigator.languages];
  const names = asked.map((tag) => tag?.split('-')[0]?.toLowerCase() ?? '');
  return (names.find((name) => Object.hasOwn(languages, name)) as LanguageName | undefined) ?? 'en';
}

function keptLanguage(): string | null {
  try {
    return localStorage.getItem(KEPT_AS);
  } catch {
    return null; // the browser keeps nothing for this page
  }
}

/** Keeps a choice in this browser and shows the page in it. The address counts more than what is kept, so its language goes; where the
 *  browser keeps nothing, the choice is put there. */
export function chooseLanguage(name: LanguageName): void {
  const address = new URL(location.href);
  try {
    localStorage.setItem(KEPT_AS, name);
    address.searchParams.delete('lang');
  } catch {
    address.searchParams.set('lang', name);
  }
  if (address.search === location.search) location.reload();
  else location.replace(address);
}

let texts: Readonly<Partial<Record<Phrase, Translation>>> = {};

async function load(name: LanguageName): Promise<LanguageName> {
  if (name === 'en') return name;
  try {
    const [answer] = await Promise.all([
      fetchJson(`/dashboard/lang/${name}.json`, { credentials: 'omit', signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) }),
      awaitLanguage(name, location.origin),
    ]);
    texts = (await answer.json()) as Translations;
    return name;
  } catch {
    return 'en'; // a page in English is better than none
  }
}

/** Constants of modules that import this one are made of translated sentences, so they wait for it here. */
export const language: LanguageName = await load(wantedLanguage());
if (globalThis.document !== undefined) document.documentElement.lang = language;
/** With the browser's region, for dates and numbers. */
export const locale = localeOf(language);
const plurals = new Intl.PluralRules(locale);
const numbers = new Intl.NumberFormat(locale);
const joined = new Intl.ListFormat(locale, { type: 'conjunction', style: 'narrow' });

/** A sentence in the language of the page. @param values replace `{name}` */
export function t<Text extends Phrase>(text: Text, ...values: Values<Text, string | number>): string;
export function t<Text extends Phrase>(text: Text, ...values: Values<Text, Piece>): readonly (string | TemplateResult)[];
export function t(text: Phrase, values: Readonly<Record<string, Piece>> = {}): string | readonly (string | TemplateResult)[] {
  const translation = texts[text] ?? text.split('|')[0]!;
  return filled(typeof translation === 'string' ? translation : translation.other, values);
}

/** The same for a sentence with a `{count}`. It is translated under its form for many. @param one English form for 1 */
export function plural<Text extends Phrase>(count: number, one: string, other: Text, ...values: Counted<Text>): string {
  const translation: Translation = texts[other] ?? { one, other };
  const form = typeof translation === 'string' ? translation : (translation[plurals.select(count)] ?? translation.other);
  return filled(form, { ...values[0], count: numbers.format(count) }) as string;
}

function filled(sentence: string, values: Readonly<Record<string, Piece>>): string | readonly (string | TemplateResult)[] {
  const parts = sentence.split(/\{(\w+)\}/).map((part, i) => (i % 2 === 0 ? part : (values[part] ?? '')));
  if (parts.every((part) => typeof part === 'string' || typeof part === 'number')) {
    // What is written from right to left stands apart in a sentence that is not.
    return parts.map((part, i) => (i % 2 === 1 && /[\u0590-\u08ff]/.test(String(part)) ? `\u2068${part}\u2069` : part)).join('');
  }
  return parts as (string | TemplateResult)[];
}

/** A text that the service sends in English, such as a name of the catalog. */
export function named(english: string): string {
  const own = texts[english as Phrase];
  return translated(locale, english) ?? (typeof own === 'string' ? own : english);
}

/** "a, b, c", with the "and" of the language where it has one there. */
export const listed = (items: Iterable<string>): string => joined.format(items);

/** A failure in the language of the page: by its code, with what the service says about this request. Failures of the page itself have no
 *  status of HTTP, and are said in the language already. */
export function problemOf(error: unknown): string {
  if (!(error instanceof ApiError)) return t('Something went wrong on this page. Reload it and try again.');
  // What the service says of it is for programs.
  if (language === 'en' && error.code === 'credential_missing') return t('Your session has ended');
  if (language === 'en' || error.status <= 0) return error.message;
  const said = texts[`error ${error.code}` as Phrase];
  if (said === undefined) return error.message;
  // Of a session there is nothing to add: it is over, or was not meant for this.
  return error.status === 401 ? (said as string) : `${said as string} (${error.message})`;
}
