/** Settings > Questionnaires > one: its questions, its rules, and a try-out that stores nothing. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formatNumber } from '../../widgets/shared/format.ts';
import { locale, named, plural, t } from '../language.ts';
import { formValues, Page } from '../page.ts';
import { badge } from '../parts.ts';
import {
  bandsFrom,
  bandText,
  bodyOf,
  draftOf,
  limitsOf,
  optionLines,
  optionsFrom,
  questionsOf,
  withLimits,
} from '../questionnaire-draft.ts';
import type { Draft } from '../questionnaire-draft.ts';
import type { Answer, BodyOf } from '../../sdk/request.ts';
import { call } from '../service.ts';
import type { QuestionnaireItem, QuestionnaireVersion, ScoreRule } from '../service.ts';

const types = [
  ['choice', t('One choice')],
  ['boolean', t('Yes or no')],
  ['integer', t('Whole number')],
  ['decimal', t('Number')],
  ['date', t('Date')],
  ['string', t('Short text')],
  ['text', t('Long text')],
  ['display', t('Text without an answer')],
] as const;
type Verdict = Answer<'tryQuestionnaire'>;

export class QuestionnairePage extends Page {
  #draft: Draft = draftOf(null);
  #current: QuestionnaireVersion | null = null;
  #saved: string | null = null;
  #verdict: Verdict | null = null;
  #json = false;
  /** Questions that began empty stay open while they are written. */
  #fresh = new Set<string>();

  get #ids(): [project: string, code: string] {
    const [project = '', code = ''] = this.context.argument.split('/');
    return [project, code];
  }

  override get title(): string {
    return this.#draft.title || this.#ids[1];
  }

  protected override async load(): Promise<void> {
    const [project, code] = this.#ids;
    const versions = (await call('GET', '/api/v1/projects/{projectId}/questionnaires', {
      params: { projectId: project },
    })) as readonly QuestionnaireVersion[];
    this.#current = versions.find((item) => item.id === code && item.status === 'active') ?? null;
    this.#draft = draftOf(this.#current);
    this.#fresh = new Set(this.#draft.item.filter((item) => (item.text ?? '') === '').map((item) => item.linkId));
  }

  protected override actions(): TemplateResult {
    return html`<a class="back" href="#/settings/questionnaires">${t('All questionnaires')}</a>`;
  }

  #edit(change: (draft: Draft) => void): void {
    change(this.#draft);
    this.#saved = null;
    this.#verdict = null;
    this.context.redraw();
  }

  async #publish(): Promise<void> {
    const [project, code] = this.#ids;
    await this.run(async () => {
      const made = (await call('PUT', '/api/v1/projects/{projectId}/questionnaires/{questionnaireId}', {
        params: { projectId: project, questionnaireId: code },
        body: bodyOf(this.#draft),
        etag: this.#current === null ? '' : `"${this.#current.version}"`,
      })) as QuestionnaireVersion;
      this.#current = made;
      this.#draft = draftOf(made);
      this.#saved = made.version;
    });
  }

  protected override body(): TemplateResult {
    const current = this.#current;
    return html`<p class="row">
        <code>${this.#ids[1]}</code>
        ${
          current === null
            ? badge('off', t('not published yet'))
            : html`<span class="state active">${t('version {version}', { version: current.version })}</span
                >${current.built_in ? badge('off', t('built in; publishing creates your own version')) : nothing}`
        }
      </p>
      <section class="card">
        <div class="card-head">
          <h2>${t('Questions')}</h2>
          <button type="button" aria-pressed=${this.#json ? 'true' : 'false'} @click=${() => this.#toggleJson()}>${t('As JSON')}</button>
        </div>
        ${this.#json ? this.#jsonForm() : this.#form()}
      </section>
      ${this.#rules()} ${this.#tryOut()}
      <section class="card">
        <div class="row">
          <button type="button" class="primary" @click=${() => void this.#publish()}>
            ${t('Publish version {version}', { version: Number(current?.version ?? 0) + 1 })}
          </button>
          <span role="status"
            >${this.#saved === null ? nothing : badge('good', t('version {version} is now in use', { version: this.#saved }))}</span
          >
        </div>
      </section>`;
  }

  #toggleJson(): void {
    this.#json = !this.#json;
    this.context.redraw();
  }

  #jsonForm(): TemplateResult {
    return html`<form
      class="fields"
      @submit=${(event: SubmitEvent) => {
        const { text } = formValues(event);
        void this.run(async () => {
          let item: unknown;
          try {
            item = JSON.parse(text('json'));
          } catch (error) {
            alertOf(event, t('This is not valid JSON: {problem}', { problem: error instanceof Error ? error.message : '' }));
            return;
          }
          this.#edit((draft) => (draft.item = item as QuestionnaireItem[]));
          this.#json = false;
        });
      }}
    >
      <fieldset>
        <label
          >${t('Items of the FHIR R4 resource, with groups, enableWhen and limits')}
          <textarea name="json" rows="18" spellcheck="false" class="code" .value=${JSON.stringify(this.#draft.item, null, 2)}></textarea>
        </label>
        <p class="problem-line" role="alert"></p>
      </fieldset>
      <div><button>${t('Apply')}</button></div>
    </form>`;
  }

  #form(): TemplateResult {
    const draft = this.#draft;
    const value = (event: Event): string => (event.target as HTMLInputElement).value;
    return html`<div class="fields">
        <label
          >${t('Title')}<input
            maxlength="200"
            .value=${draft.title}
            @change=${(event: Event) => this.#edit((to) => (to.title = value(event).trim()))}
        /></label>
        <label
          >${t('Introduction')}<input
            maxlength="2000"
            .value=${draft.description}
            @change=${(event: Event) => this.#edit((to) => (to.description = value(event).trim()))}
        /></label>
      </div>
      <ol class="questions">
        ${draft.item.map((item, i) => this.#question(item, i))}
      </ol>
      <div>
        <button
          type="button"
          @click=${() =>
            this.#edit((to) => {
              const linkId = freshId(to.item);
              this.#fresh.add(linkId);
              to.item.push({ linkId, text: '', type: 'choice', required: true, answerOption: [] });
            })}
        >
          ${t('Add a question')}
        </button>
      </div>`;
  }

  #question(item: QuestionnaireItem, i: number): TemplateResult {
    const set = (change: (item: QuestionnaireItem) => QuestionnaireItem): void =>
      this.#edit((draft) => (draft.item[i] = change(draft.item[i]!)));
    const value = (event: Event): string => (event.target as HTMLInputElement).value;
    const remove = html`<button type="button" @click=${() => this.#edit((draft) => draft.item.splice(i, 1))}>
      ${t('Remove')}<span class="vh"> ${t('question {number}', { number: i + 1 })}</span>
    </button>`;
    if (item.type === 'group') {
      return html`<li class="question">
        <p>
          ${t('Group|of questions')} <code>${item.linkId}</code>: ${item.text ?? ''}
          <span class="muted">${plural(questionsOf([item]).length, '1 question; edit as JSON', '{count} questions; edit as JSON')}</span>
        </p>
        ${remove}
      </li>`;
    }
    const limits = limitsOf(item);
    return html`<li>
      <details class="question-box" ?open=${this.#fresh.has(item.linkId)}>
        <summary>
          <span>${i + 1}. ${item.text || t('New question')}</span>
          <span class="muted"
            >${types.find(([type]) => type === item.type)?.[1]}${item.type === 'choice' ? `, ${item.answerOption?.length ?? 0}` : ''}${item.required === true ? '' : `, ${t('optional')}`}</span
          >
        </summary>
        <div class="question">
          <label class="wide"
            >${t('Question')}<input
              maxlength="1000"
              .value=${item.text ?? ''}
              @change=${(event: Event) => set((to) => ({ ...to, text: value(event) }))}
          /></label>
          <label
            >${t('Answer')}
            <select
              @change=${(event: Event) =>
                set((to) => {
                  const { answerOption: _, ...rest } = to;
                  const type = value(event) as QuestionnaireItem['type'];
                  return type === 'choice' ? { ...rest, type, answerOption: [] } : { ...rest, type };
                })}
            >
              ${types.map(([type, name]) => html`<option value=${type} ?selected=${type === item.type}>${name}</option>`)}
            </select></label
          >
          <label
            >${t('Id in rules')}<input
              maxlength="64"
              spellcheck="false"
              .value=${item.linkId}
              @change=${(event: Event) => {
                if (this.#fresh.has(item.linkId)) this.#fresh.add(value(event).trim());
                set((to) => ({ ...to, linkId: value(event).trim() }));
              }}
          /></label>
          <label class="check"
            ><input
              type="checkbox"
              .checked=${item.required === true}
              @change=${(event: Event) => set((to) => ({ ...to, required: (event.target as HTMLInputElement).checked }))}
            /><span>${t('Required')}</span></label
          >
          ${
            item.type === 'choice'
              ? html`<label class="wide"
                  >${t('Answers')} <span class="muted">${t('One per line; points after =')}</span>
                  <textarea
                    rows=${Math.max(3, item.answerOption?.length ?? 0)}
                    placeholder=${t('Not at all = 0\nSeveral days = 1')}
                    .value=${optionLines(item)}
                    @change=${(event: Event) => set((to) => ({ ...to, answerOption: optionsFrom(value(event), to) ?? [] }))}
                  ></textarea>
                </label>`
              : item.type === 'integer' || item.type === 'decimal'
                ? html`<label
                      >${t('Minimum')}<input
                        type="number"
                        step="any"
                        .value=${limits.min}
                        @change=${(event: Event) => set((to) => withLimits(to, value(event), limits.max))}
                    /></label>
                    <label
                      >${t('Maximum')}<input
                        type="number"
                        step="any"
                        .value=${limits.max}
                        @change=${(event: Event) => set((to) => withLimits(to, limits.min, value(event)))}
                    /></label>`
                : nothing
          }
          ${(item.enableWhen ?? []).length === 0 ? nothing : html`<p class="muted wide">${t('Shown only after certain answers (edit as JSON).')}</p>`}
          <div class="wide">${remove}</div>
        </div>
      </details>
    </li>`;
  }

  #rules(): TemplateResult {
    const { scoring } = this.#draft;
    const value = (event: Event): string => (event.target as HTMLInputElement).value.trim();
    const setScore = (i: number, change: Partial<ScoreRule>): void =>
      this.#edit((draft) => {
        const { code, ...rest } = { ...draft.scoring.scores[i]!, ...change };
        draft.scoring.scores[i] = code === undefined || code === '' ? rest : { ...rest, code };
      });
    return html`<section class="card">
      <h2>${t('Scores')}</h2>
      <p class="muted">
        ${t('{sum} adds the points of all choices; {answer} stands for one answer. Also available: {functions} and {operators}.', {
          sum: html`<code>sum(all)</code>`,
          answer: html`<code>{${questionsOf(this.#draft.item)[0]?.linkId ?? 'q1'}}</code>`,
          functions: html`<code>mean min max count round if(…, …, …) and or not</code>`,
          operators: html`<code>+ − * / = &lt; &gt;</code>`,
        })}
      </p>
      <ul class="questions">
        ${scoring.scores.map(
          (rule, i) =>
            html`<li class="question">
              <label
                >${t('Score')}<input maxlength="100" .value=${rule.name} @change=${(event: Event) => setScore(i, { name: value(event) })}
              /></label>
              <label class="wide"
                >${t('Rule')}<input
                  class="code"
                  spellcheck="false"
                  maxlength="2000"
                  .value=${rule.expression}
                  @change=${(event: Event) => setScore(i, { expression: value(event) })}
              /></label>
              <label
                >${t('Bands')} <span class="muted">${t('lowest score and label')}</span
                ><input
                  placeholder=${t('0 low, 10 high')}
                  .value=${bandText(rule.bands)}
                  @change=${(event: Event) => setScore(i, { bands: bandsFrom(value(event)) })}
              /></label>
              <label
                >${t('Stored as biosignal')} <span class="muted">${t('its code')}</span
                ><input
                  spellcheck="false"
                  maxlength="32"
                  .value=${rule.code ?? ''}
                  @change=${(event: Event) => setScore(i, { code: value(event) })}
              /></label>
              <div class="wide">
                <button type="button" @click=${() => this.#edit((draft) => draft.scoring.scores.splice(i, 1))}>
                  ${t('Remove')}<span class="vh"> ${rule.name}</span>
                </button>
              </div>
            </li>`,
        )}
      </ul>
      <div>
        <button
          type="button"
          @click=${() => this.#edit((draft) => draft.scoring.scores.push({ name: t('Score'), expression: 'sum(all)' }))}
        >
          ${t('Add a score')}
        </button>
      </div>
      <h2>${t('Safety')}</h2>
      <p class="muted">${t('When a rule matches, an episode of kind safety and severity high is opened and webhooks are notified.')}</p>
      <ul class="questions">
        ${scoring.safety.map(
          (rule, i) =>
            html`<li class="question">
              <label class="wide"
                >${t('Episode title')}<input
                  maxlength="200"
                  .value=${rule.title}
                  @change=${(event: Event) => this.#edit((draft) => (draft.scoring.safety[i]!.title = value(event)))}
              /></label>
              <label class="wide"
                >${t('Condition')}<input
                  class="code"
                  spellcheck="false"
                  maxlength="2000"
                  .value=${rule.expression}
                  @change=${(event: Event) => this.#edit((draft) => (draft.scoring.safety[i]!.expression = value(event)))}
              /></label>
              <div class="wide">
                <button type="button" @click=${() => this.#edit((draft) => draft.scoring.safety.splice(i, 1))}>
                  ${t('Remove')}<span class="vh"> ${rule.title}</span>
                </button>
              </div>
            </li>`,
        )}
      </ul>
      <div>
        <button
          type="button"
          @click=${() => this.#edit((draft) => draft.scoring.safety.push({ title: t('An answer needs attention'), expression: '' }))}
        >
          ${t('Add a safety rule')}
        </button>
      </div>
    </section>`;
  }

  #tryOut(): TemplateResult {
    const questions = questionsOf(this.#draft.item).filter((item) => ['choice', 'boolean', 'integer', 'decimal'].includes(item.type));
    const verdict = this.#verdict;
    return html`<section class="card">
      <h2>${t('Try it out')}</h2>
      <form
        class="fields"
        @submit=${(event: SubmitEvent) => {
          const { text } = formValues(event);
          const item = questions.flatMap((question) => answerOf(question, text(question.linkId)));
          void this.run(async () => {
            this.#verdict = null;
            this.#verdict = await call('POST', '/api/v1/projects/{projectId}/questionnaire-trials', {
              params: { projectId: this.#ids[0] },
              body: { ...bodyOf(this.#draft), item },
            });
          });
        }}
      >
        ${questions.map(
          (question) =>
            html`<label
              ><span class="clip">${named(question.text || question.linkId)}</span>
              ${
                question.type === 'choice' || question.type === 'boolean'
                  ? html`<select name=${question.linkId}>
                      <option value="">–</option>
                      ${
                        question.type === 'boolean'
                          ? [html`<option value="true">${t('Yes')}</option>`, html`<option value="false">${t('No')}</option>`]
                          : (question.answerOption ?? []).map(
                              ({ valueCoding }) =>
                                html`<option value=${valueCoding.code}>${named(valueCoding.display ?? valueCoding.code)}</option>`,
                            )
                      }
                    </select>`
                  : html`<input name=${question.linkId} type="number" step="any" />`
              }
            </label>`,
        )}
        <div class="row">
          <button>${t('Score these answers')}</button>
          <span role="status"
            >${
              verdict === null
                ? nothing
                : html`${verdict.scores.map((score) => html`<b>${score.name} ${formatNumber(locale, score.value, 4)}</b> ${named(score.text)} `)}
                  ${verdict.scores.length === 0 ? html`<span class="muted">${t('no score')}</span>` : nothing}
                  ${verdict.safety.map((title) => badge('bad', title))}`
            }</span
          >
        </div>
      </form>
    </section>`;
  }
}

function answerOf(question: QuestionnaireItem, text: string): BodyOf<'tryQuestionnaire'>['item'] {
  if (text === '') return [];
  const answer =
    question.type === 'choice'
      ? { valueCoding: { code: text } }
      : question.type === 'boolean'
        ? { valueBoolean: text === 'true' }
        : question.type === 'integer'
          ? { valueInteger: Number(text) }
          : { valueDecimal: Number(text) };
  return [{ linkId: question.linkId, answer: [answer] }];
}

function freshId(items: readonly QuestionnaireItem[]): string {
  const taken = new Set(questionsOf(items).map((item) => item.linkId));
  let n = items.length + 1;
  while (taken.has(`q${n}`)) n += 1;
  return `q${n}`;
}

function alertOf(event: SubmitEvent, text: string): void {
  const line = (event.target as HTMLElement).querySelector('.problem-line');
  if (line !== null) line.textContent = text;
}
