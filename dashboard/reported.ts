/** One person's entries and tasks, as their carers read them: answers with scores, mood, tasks and how they keep to those
 *  that recur, goals. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ref } from 'lit-html/directives/ref.js';
import { formatNumber, formatValue, unitLabel } from '../widgets/shared/format.ts';
import { listed, named, t } from './language.ts';
import { badge, emptyState, percent, skeleton } from './parts.ts';
import type { Tone } from './parts.ts';
import { call } from './service.ts';
import type { Adherence, Goal, Mood, QuestionnaireAnswer, QuestionnaireItem, Task } from './service.ts';

const SHOWN = 10;
/** Answers among which one is looked for. */
const ANSWERS_MAX = 1000;
const moods = [t('Very bad'), t('Bad|mood'), t('Neutral|mood'), t('Good|mood'), t('Very good')] as const;
const taskWords: Readonly<Record<Task['status'], readonly [Tone, string]>> = {
  due: ['warn', t('due')],
  done: ['good', t('done')],
  skipped: ['off', t('skipped')],
};
/** The part of FHIR's QuestionnaireResponse that the service takes. */
type AnswerItem = Readonly<{ linkId: string; answer?: readonly Readonly<Record<string, unknown>>[]; item?: readonly AnswerItem[] }>;

export class Reported {
  readonly #locale: string;
  readonly #timeOf: (iso: string) => TemplateResult;
  #loaded = false;
  #answers: readonly QuestionnaireAnswer[] = [];
  #moods: readonly Mood[] = [];
  #tasks: readonly Task[] = [];
  #goals: readonly Goal[] = [];
  #adherence: readonly Adherence[] = [];
  /** The answer that the address asks for. */
  #wanted = '';
  /** Questions of a version, by their id: `phq-9|1`. */
  readonly #questions = new Map<string, ReadonlyMap<string, string>>();

  constructor(locale: string, timeOf: (iso: string) => TemplateResult) {
    this.#locale = locale;
    this.#timeOf = timeOf;
  }

  /** @param answerId that is shown open, however old it is; '' for none */
  async load(subjectId: string, projectId: string, answerId = ''): Promise<void> {
    const query = { subject_id: subjectId };
    const [answers, moodsOf, tasks, goals, { schedules }] = await Promise.all([
      call('GET', '/api/v1/questionnaire-responses', { query: { ...query, limit: SHOWN } }),
      call('GET', '/api/v1/moods', { query: { ...query, limit: SHOWN, order: 'desc' } }),
      call('GET', '/api/v1/tasks', { query }),
      call('GET', '/api/v1/goals', { query }),
      call('GET', '/api/v1/adherence', { query }),
    ]);
    [this.#answers, this.#moods, this.#tasks, this.#goals, this.#adherence] = [answers, moodsOf, tasks, goals, schedules];
    if (answerId !== '' && !this.#answers.some(({ id }) => id === answerId)) {
      const all = await call('GET', '/api/v1/questionnaire-responses', { query: { ...query, limit: ANSWERS_MAX, superseded: true } });
      this.#answers = [...all.filter(({ id }) => id === answerId), ...this.#answers];
    }
    this.#wanted = answerId;
    this.#loaded = true;
    const versions = new Map(this.#answers.map((answer) => [keyOf(answer), answer]));
    await Promise.all(
      [...versions].map(async ([key, { questionnaire, version }]) => {
        if (this.#questions.has(key)) return;
        const resource: { id: string; item?: readonly QuestionnaireItem[] } = await call(
          'GET',
          '/api/v1/questionnaires/{questionnaireId}',
          {
            params: { questionnaireId: questionnaire },
            query: { project_id: projectId, version },
          },
        );
        this.#questions.set(key, questionsOf(resource.item ?? []));
      }),
    );
  }

  view(): TemplateResult {
    if (!this.#loaded) return skeleton();
    const nothingYet = this.#answers.length + this.#moods.length + this.#tasks.length + this.#goals.length + this.#adherence.length === 0;
    if (nothingYet) {
      return html`<section class="card">
        <h2>${t('Reported')}</h2>
        ${emptyState(t('Nothing reported yet'), t('Answers, moods, tasks and goals appear here once the application sends them.'))}
      </section>`;
    }
    return html`<div class="reported">
      <section class="card">
        <h2>${t('Answers')}</h2>
        ${this.#answers.length === 0 ? html`<p class="muted">${t('None yet')}</p>` : this.#answers.map((answer) => this.#answer(answer))}
      </section>
      <section class="card">
        <h2>${t('Tasks')}</h2>
        ${
          this.#tasks.length === 0
            ? html`<p class="muted">${t('None')}</p>`
            : html`<ul class="plain rows">
                ${this.#tasks.map((task) => this.#task(task))}
              </ul>`
        }
        ${this.#adherence.length === 0 ? nothing : this.#adherenceList()}
      </section>
      <section class="card">
        <h2>${t('Goals')}</h2>
        ${this.#goals.length === 0 ? html`<p class="muted">${t('None set')}</p>` : this.#goals.map((goal) => this.#goal(goal))}
        <h2>${t('Mood')}</h2>
        ${
          this.#moods.length === 0
            ? html`<p class="muted">${t('None yet')}</p>`
            : html`<ul class="plain rows">
                ${this.#moods.map(
                  (mood) =>
                    html`<li>
                      <b>${moods[mood.score - 1]}</b> ${this.#time(mood.time)} ${mood.note === null ? nothing : html`<p>${mood.note}</p>`}
                    </li>`,
                )}
              </ul>`
        }
      </section>
    </div>`;
  }

  #time(iso: string): TemplateResult {
    return html`<span class="muted">${this.#timeOf(iso)}</span>`;
  }

  #answer(answer: QuestionnaireAnswer): TemplateResult {
    const questions = this.#questions.get(keyOf(answer)) ?? new Map<string, string>();
    const wanted = answer.id === this.#wanted;
    return html`<details class="answer" ?open=${wanted} ${wanted ? ref(show) : nothing}>
      <summary>
        <b>${answer.scores.length === 0 ? answer.questionnaire : nothing}</b>
        ${answer.scores.map(
          (score) =>
            html`<span
              ><b>${named(score.name)} ${formatNumber(this.#locale, score.value, 4)}</b
              >${score.text === '' ? nothing : html` ${named(score.text)}`}</span
            >`,
        )}
        ${answer.safety ? badge('bad', t('needs attention')) : nothing}
        ${answer.status === 'amended' ? badge('off', t('correction')) : nothing}
        ${answer.superseded_by === null ? nothing : badge('off', t('corrected later'))} ${this.#time(answer.authored)}
      </summary>
      <dl>
        ${answersOf(answer.item as readonly AnswerItem[]).map(
          ([linkId, words]) =>
            html`<dt>${questions.get(linkId) ?? linkId}</dt>
              <dd>${words}</dd>`,
        )}
        ${
          answer.reason === ''
            ? nothing
            : html`<dt>${t('Reason for the correction')}</dt>
                <dd>${answer.reason}</dd>`
        }
      </dl>
    </details>`;
  }

  #task(task: Task): TemplateResult {
    const late = task.status === 'due' && task.due !== null && Date.parse(task.due) < Date.now();
    const [tone, word] = late ? (['bad', t('overdue')] as const) : taskWords[task.status];
    return html`<li>
      ${badge(tone, word)} <b>${task.title}</b> ${task.due === null ? nothing : this.#time(task.due)}
      ${task.description === '' ? nothing : html`<p class="muted">${task.description}</p>`}
    </li>`;
  }

  #adherenceList(): TemplateResult {
    const n = (count: number): string => formatNumber(this.#locale, count);
    return html`<h2>${t('Adherence, last 30 days')}</h2>
      <ul class="plain rows">
        ${this.#adherence.map(
          ({ title, done, skipped, missed, adherence, ended_at: ended }) =>
            html`<li>
              <b>${title}</b> ${adherence === null ? nothing : percent(adherence)} ${ended === null ? nothing : badge('off', t('ended'))}
              <div class="muted">
                ${adherence === null ? t('Nothing was due yet') : t('{done} done, {skipped} skipped, {missed} missed', { done: n(done), skipped: n(skipped), missed: n(missed) })}
              </div>
            </li>`,
        )}
      </ul>`;
  }

  #goal(goal: Goal): TemplateResult {
    const value = goal.value ?? 0;
    const title = goal.title || named(goal.name);
    const unit = unitLabel(goal.unit);
    // As its target was given, and not in fewer digits.
    const show = (number: number): string => formatValue(this.#locale, number, { unit: goal.unit, source_type: 'clinician' });
    return html`<div class="goal">
      <p><b>${title}</b> <span class="muted">${goal.period === 'day' ? t('today') : t('this week')}</span></p>
      <progress max=${goal.target} value=${Math.min(value, goal.target)} aria-label=${title}></progress>
      <p class="muted">
        ${t('{value} of {goal}', {
          value: goal.value === null ? t('no data yet') : show(value),
          goal: `${show(goal.target)} ${unit}`,
        })}
        (${percent(value / goal.target)})
      </p>
    </div>`;
  }
}

/** Once it is in the page. */
function show(element?: Element): void {
  queueMicrotask(() => element?.scrollIntoView({ block: 'center' }));
}

const keyOf = ({ questionnaire, version }: QuestionnaireAnswer): string => `${questionnaire}|${version}`;

function questionsOf(items: readonly QuestionnaireItem[], into = new Map<string, string>()): ReadonlyMap<string, string> {
  for (const item of items) {
    into.set(item.linkId, named(item.text ?? item.linkId));
    questionsOf(item.item ?? [], into);
  }
  return into;
}

/** Every answered question with its answers in words. */
function answersOf(items: readonly AnswerItem[]): [linkId: string, words: string][] {
  return items.flatMap((item): [string, string][] => [
    ...((item.answer ?? []).length === 0 ? [] : [[item.linkId, listed((item.answer ?? []).map(wordsOf))] as [string, string]]),
    ...answersOf(item.item ?? []),
  ]);
}

function wordsOf(answer: Readonly<Record<string, unknown>>): string {
  const coding = answer['valueCoding'] as { display?: string; code?: string } | undefined;
  if (coding !== undefined) return named(coding.display ?? coding.code ?? '');
  if ('valueBoolean' in answer) return answer['valueBoolean'] === true ? t('yes') : t('no');
  const [plain] = Object.entries(answer).filter(([name]) => name.startsWith('value'));
  return plain === undefined ? '' : String(plain[1]);
}
