/** The subset of FHIR R4 Questionnaire that bio-checkin shows: choice, boolean, integer, decimal, string, text, date, groups,
 *  enableWhen. */

import { enabledItems, isEnabled } from '../../sdk/questionnaire.ts';
import type { AnswerValue, Coding, EnableWhen, Extension } from '../../sdk/questionnaire.ts';
import type { BodyOf } from '../../sdk/request.ts';

export type Answer = AnswerValue & Readonly<{ valueCoding?: Coding }>;
export type Item = Readonly<{
  linkId: string;
  text?: string;
  prefix?: string;
  type: string;
  required?: boolean;
  repeats?: boolean;
  maxLength?: number;
  enableWhen?: readonly EnableWhen[];
  enableBehavior?: 'all' | 'any';
  answerOption?: readonly Answer[];
  item?: readonly Item[];
  extension?: readonly Extension[];
}>;
export type Questionnaire = Readonly<{
  id: string;
  url?: string;
  version?: string;
  title?: string;
  description?: string;
  item?: readonly Item[];
}>;

type ResponseItem = BodyOf<'createQuestionnaireResponse'>['item'][number];
export type Answers = ReadonlyMap<string, readonly Answer[]>;

/** Required items without an answer. */
export function missing(items: readonly Item[], answers: Answers): Item[] {
  return enabledItems(items, answers).filter(
    (item) => item.required === true && item.type !== 'group' && item.type !== 'display' && (answers.get(item.linkId) ?? []).length === 0,
  );
}

/** The items of a QuestionnaireResponse: only what is enabled and answered. What was answered and then hidden is left out. */
export function responseItems(items: readonly Item[], answers: Answers): ResponseItem[] {
  return items
    .filter((item) => isEnabled(item, answers) && item.type !== 'display')
    .flatMap((item): ResponseItem[] => {
      const answer = answers.get(item.linkId) ?? [];
      const inner = responseItems(item.item ?? [], answers);
      if (answer.length === 0 && inner.length === 0) return [];
      const head = { linkId: item.linkId, ...(item.text === undefined ? {} : { text: item.text }) };
      if (item.type === 'group') return [{ ...head, item: inner }];
      if (answer.length === 0) return [];
      const nested = inner.length === 0 ? {} : { item: inner };
      return [{ ...head, answer: answer.map((value, i) => (i === 0 ? { ...value, ...nested } : value)) }];
    });
}

/** Every text of these items that a person reads. */
export function textsOf(items: readonly Item[]): string[] {
  return items.flatMap((item) => [
    ...(item.text ? [item.text] : []),
    ...(item.answerOption ?? []).map(optionLabel),
    ...textsOf(item.item ?? []),
  ]);
}

export function optionLabel(option: Answer): string {
  return (
    option.valueCoding?.display ?? option.valueCoding?.code ?? option.valueString ?? String(option.valueInteger ?? option.valueDate ?? '')
  );
}
