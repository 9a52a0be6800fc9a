/** The choice of the page's language. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { chooseLanguage, language, languages, t } from './language.ts';
import type { LanguageName } from './language.ts';

/** Each language by its own name, for those who do not read the one that is shown. */
export function languageMenu(): TemplateResult {
  return html`<label class="language"
    ><span class="vh">${t('Language')}</span
    ><select @change=${(event: Event) => chooseLanguage((event.target as HTMLSelectElement).value as LanguageName)}>
      ${Object.entries(languages).map(([tag, name]) => html`<option value=${tag} lang=${tag} ?selected=${tag === language}>${name}</option>`)}
    </select></label
  >`;
}
