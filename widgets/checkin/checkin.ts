/** A questionnaire for the person themselves, e.g. a daily check-in, PHQ-9, GAD-7. The service scores. Works without a connection once
 *  loaded.
 *
 *  @tag bio-checkin
 *  @attr {string} questionnaire - id of a questionnaire of the project. Default `daily-checkin`
 *  @attr {string} heading - default: the questionnaire's title
 *  @attr {boolean} show-score - shows the score that the service computed; many questionnaires are better without
 *  @attr {string} help - telephone number or sentence to show when an answer raises a safety event; default: a general sentence
 *  @attr {string} lang
 *  @attr {string} tz
 *  @attr {string} theme
 *  @prop {string} state - loading, ready, empty, stale, offline, error or unauthorized (read only)
 *  @csspart card
 *  @csspart head
 *  @csspart title
 *  @csspart question
 *  @csspart note
 *  @csspart button
 *  @fires bio:state - {state} whenever the state changes
 *  @fires bio:checkin - {questionnaire, sent} when the answers are safe on this device */
import { define, html, nothing } from '../shared/base.ts';
import type { TemplateResult } from '../shared/base.ts';
import { EntryWidget } from '../shared/entry-widget.ts';
import { fieldCss } from '../shared/field-css.ts';
import { formatNumber } from '../shared/format.ts';
import type { Session } from '../shared/session.ts';
import { translated } from '../shared/strings.ts';
import { isEnabled, limitOf, MAX_VALUE, MIN_VALUE } from '../../sdk/questionnaire.ts';
import { missing, optionLabel, responseItems, textsOf } from './questionnaire.ts';
import type { Answer, Item, Questionnaire } from './questionnaire.ts';

const css = `${fieldCss}
form, .q-list { display: grid; gap: 16px; }
fieldset.group { border-block-start: 2px solid var(--_line); padding-block-start: 12px; }
.question { display: grid; gap: 6px; }
.question legend, .question .label { font-weight: 600; overflow-wrap: anywhere; margin-block-end: 6px; padding: 0; }
.options { display: grid; gap: 6px; }
.options label { display: flex; gap: 10px; align-items: center; min-block-size: 44px; padding: 6px 12px; border: 1px solid var(--_line); border-radius: 8px; cursor: pointer; overflow-wrap: anywhere; }
.options label:has(:checked) { border-color: var(--_accent); box-shadow: inset 0 0 0 1px var(--_accent); }
.options input { inline-size: 20px; block-size: 20px; accent-color: var(--_accent); flex: none; }
.missing { color: var(--_bad); font-size: .875rem; }
.result { display: grid; gap: 10px; justify-items: start; margin-block-end: 10px; }
.result .err { font-size: 1rem; font-weight: 600; }
`;

type Result = Readonly<{ scores: readonly Readonly<{ name: string; value: number; text?: string }>[]; safety: boolean; sent: boolean }>;

export class BioCheckin extends EntryWidget<Questionnaire> {
  static override styles = css;
  static observedAttributes = ['questionnaire', 'heading', 'show-score', 'help', 'lang', 'tz', 'theme'];
  protected override readonly kind = 'checkin';
  protected override readonly quiet = true;
  #answers = new Map<string, readonly Answer[]>();
  #missing = new Set<string>();
  #result: Result | null = null;
  #sending = false;

  protected override heading(): string {
    return this.getAttribute('heading') ?? this.#say(this.data?.title) ?? this.say('checkin');
  }

  /** A questionnaire that changes while it is being filled in would be worse than an old one. */
  protected override refreshMs(): number {
    return 0;
  }

  protected override async load(session: Session, signal: AbortSignal): Promise<Questionnaire | null> {
    const questionnaireId = this.getAttribute('questionnaire') ?? 'daily-checkin';
    // A FHIR resource, of which the API says the kind only.
    const answer: Questionnaire = await session.get('/api/v1/questionnaires/{questionnaireId}', { params: { questionnaireId }, signal });
    return (answer.item ?? []).length === 0 ? null : answer;
  }

  protected override reset(): void {
    super.reset();
    this.#answers.clear();
    this.#missing.clear();
    this.#result = null;
  }

  protected override form(): TemplateResult | typeof nothing {
    const questionnaire = this.data;
    if (questionnaire === null) return nothing;
    if (this.#result !== null) return this.#showResult(this.#result);
    return html`<form novalidate @submit=${(event: SubmitEvent) => void this.#submit(event, questionnaire)}>
      ${questionnaire.description === undefined ? nothing : html`<p class="muted">${this.#say(questionnaire.description)}</p>`}
      <div class="q-list">${this.#items(questionnaire.item ?? [])}</div>
      <div class="row"><button class="primary" part="button" ?disabled=${this.#sending}>${this.say('send')}</button></div>
    </form>`;
  }

  #items(items: readonly Item[]): TemplateResult[] {
    return items.filter((item) => isEnabled(item, this.#answers)).map((item) => this.#item(item));
  }

  #item(item: Item): TemplateResult {
    const text = `${item.prefix === undefined ? '' : `${item.prefix} `}${this.#say(item.text) ?? ''}`;
    if (item.type === 'display') return html`<p>${text}</p>`;
    if (item.type === 'group') {
      return html`<fieldset class="group">
        ${text === '' ? nothing : html`<legend class="title">${text}</legend>`}
        <div class="q-list">${this.#items(item.item ?? [])}</div>
      </fieldset>`;
    }
    const lacks = this.#missing.has(item.linkId);
    const hint = lacks ? html`<p class="missing" id=${`m-${item.linkId}`}>▲ ${this.say('required')}</p>` : nothing;
    const nested = (item.item ?? []).length === 0 ? nothing : this.#items(item.item ?? []);
    const options = this.#options(item);
    if (options !== null) {
      return html`<fieldset
          class="question"
          part="question"
          data-link=${item.linkId}
          role=${item.repeats === true ? 'group' : 'radiogroup'}
          aria-required=${item.repeats === true ? nothing : item.required === true ? 'true' : 'false'}
          aria-invalid=${item.repeats === true ? nothing : lacks ? 'true' : 'false'}
          aria-describedby=${lacks ? `m-${item.linkId}` : nothing}
        >
          <legend>${text}${item.required === true ? html` <span aria-hidden="true">*</span>` : nothing}</legend>
          ${hint}
          <div class="options">
            ${options.map(
              (option) =>
                html`<label>
                  <input
                    type=${item.repeats === true ? 'checkbox' : 'radio'}
                    name=${item.linkId}
                    .checked=${this.#has(item.linkId, option.answer)}
                    @change=${(event: Event) => this.#choose(item, option.answer, (event.target as HTMLInputElement).checked)}
                  />
                  <span>${option.label}</span>
                </label>`,
            )}
          </div>
        </fieldset>
        ${nested}`;
    }
    const id = `q-${item.linkId}`;
    const onInput = (event: Event): void => this.#type(item, (event.target as HTMLInputElement).value);
    const common = {
      required: item.required === true ? 'true' : 'false',
      invalid: lacks ? 'true' : 'false',
      by: lacks ? `m-${item.linkId}` : nothing,
    };
    return html`<div class="question" part="question" data-link=${item.linkId}>
        <label class="label" for=${id}>${text}${item.required === true ? html` <span aria-hidden="true">*</span>` : nothing}</label>
        ${hint}
        ${
          item.type === 'text'
            ? html`<textarea
                id=${id}
                rows="3"
                maxlength=${item.maxLength ?? 4000}
                aria-required=${common.required}
                aria-invalid=${common.invalid}
                aria-describedby=${common.by}
                @input=${onInput}
              ></textarea>`
            : html`<input
                id=${id}
                type=${item.type === 'integer' || item.type === 'decimal' ? 'number' : item.type === 'date' ? 'date' : 'text'}
                step=${item.type === 'decimal' ? 'any' : nothing}
                min=${limitOf(item, MIN_VALUE) ?? nothing}
                max=${limitOf(item, MAX_VALUE) ?? nothing}
                maxlength=${item.maxLength ?? nothing}
                aria-required=${common.required}
                aria-invalid=${common.invalid}
                aria-describedby=${common.by}
                @input=${onInput}
              />`
        }
      </div>
      ${nested}`;
  }

  #options(item: Item): { label: string; answer: Answer }[] | null {
    if (item.type === 'boolean') {
      return [true, false].map((valueBoolean) => ({ label: this.say(valueBoolean ? 'yes' : 'no'), answer: { valueBoolean } }));
    }
    if (item.type !== 'choice') return null;
    return (item.answerOption ?? []).map((option) => ({ label: this.#say(optionLabel(option)), answer: option }));
  }

  /** A text of a questionnaire that ships, in the page's language; of any other as it was written: half a translation would be a new
   *  instrument. What is sent keeps the words of the questionnaire. */
  #say<T extends string | undefined>(text: T): T {
    const { locale } = this;
    const all = textsOf(this.data?.item ?? []).every((item) => translated(locale, item) !== undefined);
    return text !== undefined && all ? ((translated(locale, text) ?? text) as T) : text;
  }

  #has(linkId: string, answer: Answer): boolean {
    const key = JSON.stringify(answer);
    return (this.#answers.get(linkId) ?? []).some((given) => JSON.stringify(given) === key);
  }

  #choose(item: Item, answer: Answer, on: boolean): void {
    const key = JSON.stringify(answer);
    const others = item.repeats === true ? (this.#answers.get(item.linkId) ?? []).filter((given) => JSON.stringify(given) !== key) : [];
    this.#set(item, on ? [...others, answer] : others);
  }

  #type(item: Item, text: string): void {
    const trimmed = text.trim();
    const number = Number(trimmed);
    const inRange = number >= (limitOf(item, MIN_VALUE) ?? -Infinity) && number <= (limitOf(item, MAX_VALUE) ?? Infinity);
    let answer: Answer | null = null;
    if (trimmed === '') answer = null;
    else if (item.type === 'integer') answer = Number.isSafeInteger(number) && inRange ? { valueInteger: number } : null;
    else if (item.type === 'decimal') answer = Number.isFinite(number) && inRange ? { valueDecimal: number } : null;
    else if (item.type === 'date') answer = { valueDate: trimmed };
    else answer = { valueString: trimmed };
    this.#set(item, answer === null ? [] : [answer]);
  }

  #set(item: Item, answers: readonly Answer[]): void {
    if (answers.length === 0) this.#answers.delete(item.linkId);
    else this.#answers.set(item.linkId, answers);
    if (answers.length > 0) this.#missing.delete(item.linkId);
    this.requestUpdate();
  }

  async #submit(event: SubmitEvent, questionnaire: Questionnaire): Promise<void> {
    event.preventDefault();
    const items = questionnaire.item ?? [];
    const lacking = missing(items, this.#answers);
    this.#missing = new Set(lacking.map((item) => item.linkId));
    if (lacking.length > 0) {
      this.requestUpdate();
      await Promise.resolve();
      const first = this.root.querySelector<HTMLElement>(`[data-link="${CSS.escape(lacking[0]!.linkId)}"]`);
      first?.querySelector<HTMLElement>('input, textarea')?.focus();
      return;
    }
    this.#sending = true;
    this.requestUpdate();
    const answer = await this.keep('/api/v1/questionnaire-responses', {
      body: {
        resourceType: 'QuestionnaireResponse',
        questionnaire: questionnaire.id,
        ...(questionnaire.version === undefined ? {} : { version: questionnaire.version }),
        status: 'completed',
        authored: new Date().toISOString(),
        item: responseItems(items, this.#answers),
      },
    });
    this.#sending = false;
    this.#result = { scores: answer?.scores ?? [], safety: answer?.safety === true, sent: answer !== null };
    this.#answers.clear();
    this.emit('bio:checkin', { questionnaire: questionnaire.id, sent: answer !== null });
    this.requestUpdate();
  }

  #showResult(result: Result): TemplateResult {
    return html`<div class="result" role="status">
      ${result.safety ? html`<p class="note err" role="alert">${this.getAttribute('help') ?? this.say('checkinSafety')}</p>` : nothing}
      ${result.sent ? html`<p>${this.say('checkinDone')}</p>` : nothing}
      ${
        this.hasAttribute('show-score')
          ? result.scores.map(
              (score) =>
                html`<p>
                  ${this.#say(score.name)}:
                  ${this.say('score', { score: formatNumber(this.locale, score.value, 4) })}${score.text ? `, ${this.#say(score.text)}` : ''}
                </p>`,
            )
          : nothing
      }
      <button
        type="button"
        part="button"
        @click=${() => {
          this.#result = null;
          this.requestUpdate();
        }}
      >
        ${this.say('startOver')}
      </button>
    </div>`;
  }

  protected override content(): typeof nothing {
    return nothing;
  }
}

define('bio-checkin', BioCheckin);
