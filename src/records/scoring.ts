/** Scores answers by the rules of a questionnaire. Only the service computes scores, never the page. */
import { Type } from 'typebox';
import { exactly } from '../http/schemas.ts';
import type { Given } from '../../sdk/questionnaire.ts';
import { checkAnswers, flatItems, pointsOfOption } from './questionnaire.ts';
import type { Fault, QuestionnaireItem, QuestionnaireText, ResponseItem } from './questionnaire.ts';
import { parseExpression } from './score-expression.ts';
import type { Answered, Expression } from './score-expression.ts';

export type ScoreRule = Readonly<{
  name: string;
  expression: string;
  /** Code of the biosignal (of the catalog or the project) under which the score becomes an observation; absent: it does not. */
  code?: string;
  /** Label of the scores from each value on; ascending. */
  bands?: readonly Readonly<{ from: number; text: string }>[];
}>;
export type SafetyRule = Readonly<{ title: string; expression: string }>;
export type Scoring = Readonly<{ scores: readonly ScoreRule[]; safety: readonly SafetyRule[] }>;

export type Score = Readonly<{ name: string; value: number; text: string }>;
export type Verdict = Readonly<{
  scores: readonly Score[];
  /** Scores that also become observations. */
  observations: readonly Readonly<{ code: string; value: number }>[];
  /** Titles of the safety rules that apply. */
  safety: readonly string[];
}>;

const ExpressionText = Type.String({ minLength: 1, maxLength: 2000 });
export const ScoringSchema = exactly({
  scores: Type.Array(
    exactly({
      name: Type.String({ minLength: 1, maxLength: 100 }),
      expression: ExpressionText,
      code: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9_.-]{0,31}$' })),
      bands: Type.Optional(Type.Array(exactly({ from: Type.Number(), text: Type.String({ maxLength: 100 }) }), { maxItems: 20 })),
    }),
    { maxItems: 20 },
  ),
  safety: Type.Array(exactly({ title: Type.String({ minLength: 1, maxLength: 200 }), expression: ExpressionText }), { maxItems: 20 }),
});

/** Finds faults in rules: unreadable expressions, unknown questions, bands out of order. */
export function checkScoring(scoring: Scoring, questions: readonly QuestionnaireItem[]): readonly Fault[] {
  const known = new Set(flatItems(questions).map((item) => item.linkId));
  const faults: Fault[] = [];
  const check = (text: string, pointer: string): void => {
    try {
      for (const linkId of parseExpression(text).linkIds) {
        if (!known.has(linkId)) faults.push({ pointer, code: 'unknown', detail: `there is no question ${linkId}` });
      }
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      faults.push({ pointer, code: 'expression', detail: error.message });
    }
  };
  for (const [i, { expression, bands = [] }] of scoring.scores.entries()) {
    check(expression, `/scoring/scores/${i}/expression`);
    if (bands.some(({ from }, at) => at > 0 && from <= bands[at - 1]!.from)) {
      faults.push({ pointer: `/scoring/scores/${i}/bands`, code: 'order', detail: 'bands are to ascend' });
    }
  }
  for (const [i, { expression }] of scoring.safety.entries()) check(expression, `/scoring/safety/${i}/expression`);
  return faults;
}

/** Checks answers against the questions and scores them.
 *  @returns at least one fault when they do not fit; then nothing may be stored */
export function scoreResponse(
  questionnaire: Readonly<{ text: Pick<QuestionnaireText, 'item'>; scoring: Scoring }>,
  items: readonly ResponseItem[],
): Verdict | Readonly<{ faults: readonly Fault[] }> {
  const questions = questionnaire.text.item;
  const { given, faults } = checkAnswers(questions, items, true);
  if (faults.length > 0) return { faults };
  const answered = answeredOf(questions, given);
  const scores: Score[] = [];
  const observations: { code: string; value: number }[] = [];
  for (const rule of questionnaire.scoring.scores) {
    const value = expressionOf(rule.expression).evaluate(answered);
    if (value === null) continue;
    const band = rule.bands?.findLast(({ from }) => value >= from);
    scores.push({ name: rule.name, value, text: band?.text ?? '' });
    if (rule.code !== undefined) observations.push({ code: rule.code, value });
  }
  const safety = questionnaire.scoring.safety.filter((rule) => (expressionOf(rule.expression).evaluate(answered) ?? 0) !== 0);
  return { scores, observations, safety: safety.map((rule) => rule.title) };
}

function answeredOf(questions: readonly QuestionnaireItem[], given: Given): Answered {
  const flat = flatItems(questions);
  const byLink = new Map(flat.map((item) => [item.linkId, item]));
  const points = (linkId: string): number | null => {
    const question = byLink.get(linkId);
    const answers = given.get(linkId) ?? [];
    if (question === undefined || answers.length === 0) return null;
    const each = answers.map((answer) => {
      if (answer.valueCoding !== undefined) {
        const option = question.answerOption?.find(({ valueCoding }) => valueCoding.code === answer.valueCoding?.code);
        return option === undefined ? null : pointsOfOption(option);
      }
      if (answer.valueBoolean !== undefined) return Number(answer.valueBoolean);
      return answer.valueDecimal ?? answer.valueInteger ?? null;
    });
    const known = each.filter((value) => value !== null);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
  };
  const all = flat
    .filter((item) => item.type === 'choice' || item.type === 'boolean')
    .map((item) => points(item.linkId))
    .filter((value) => value !== null);
  return { points, all };
}

const EXPRESSIONS_KEPT = 1000;
const parsed = new Map<string, Expression>();

function expressionOf(text: string): Expression {
  let expression = parsed.get(text);
  if (expression === undefined) {
    if (parsed.size >= EXPRESSIONS_KEPT) parsed.clear();
    parsed.set(text, (expression = parseExpression(text)));
  }
  return expression;
}
