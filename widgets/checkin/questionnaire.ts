/** The subset of FHIR R4 Questionnaire that bio-checkin shows: choice, boolean, integer, decimal, string, text, date, groups, enableWhen. */

import type { BodyOf } from '../../sdk/request.ts';

export type Coding = Readonly<{ system?: string; code: string; display?: string }>;
export type Answer = Readonly<{
  valueCoding?: Coding;
  valueString?: string;
  valueInteger?: number;
  valueDecimal?: number;
  valueBoolean?: boolean;
  valueDate?: string;
}>;
export type EnableWhen = Readonly<{
  question: string;
  operator: 'exists' | '=' | '!=' | '>' | '<' | '>=' | '<=';
  answerBoolean?: boolean;
  answerInteger?: number;
  answerDecimal?: number;
  answerString?: string;
  answerDate?: string;
  answerCoding?: Coding;
}>;
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
  extension?: readonly Readonly<{ url: string; valueInteger?: number; valueDecimal?: number }>[];
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

/** Items that are to be answered now, in order; groups and what they hold included. */
export function enabledItems(items: readonly Item[], answers: Answers): Item[] {
  return items.filter((item) => isEnabled(item, answers)).flatMap((item) => [item, ...enabledItems(item.item ?? [], answers)]);
}

export function isEnabled(item: Item, answers: Answers): boolean {
  const conditions = item.enableWhen ?? [];
  if (conditions.length === 0) return true;
  const holds = (condition: EnableWhen): boolean => conditionHolds(condition, answers.get(condition.question) ?? []);
  return item.enableBehavior === 'any' ? conditions.some(holds) : conditions.every(holds);
}

function conditionHolds(condition: EnableWhen, given: readonly Answer[]): boolean {
  if (condition.operator === 'exists') return given.length > 0 === (condition.answerBoolean ?? true);
  const wanted =
    condition.answerCoding?.code ??
    condition.answerBoolean ??
    condition.answerInteger ??
    condition.answerDecimal ??
    condition.answerDate ??
    condition.answerString;
  // `!=` holds when no answer equals; the others when one answer does (FHIR R4, Questionnaire.item.enableWhen).
  if (condition.operator === '!=') return given.every((answer) => plain(answer) !== wanted);
  return given.some((answer) => {
    const value = plain(answer);
    if (value === undefined || wanted === undefined) return false;
    if (condition.operator === '=') return value === wanted;
    if (condition.operator === '>') return value > wanted;
    if (condition.operator === '<') return value < wanted;
    if (condition.operator === '>=') return value >= wanted;
    return value <= wanted;
  });
}

function plain(answer: Answer): string | number | boolean | undefined {
  return (
    answer.valueCoding?.code ?? answer.valueBoolean ?? answer.valueInteger ?? answer.valueDecimal ?? answer.valueDate ?? answer.valueString
  );
}

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

const LIMITS = {
  min: 'http://hl7.org/fhir/StructureDefinition/minValue',
  max: 'http://hl7.org/fhir/StructureDefinition/maxValue',
} as const;

export function limitOf(item: Item, end: 'min' | 'max'): number | undefined {
  const extension = item.extension?.find((entry) => entry.url === LIMITS[end]);
  return extension?.valueInteger ?? extension?.valueDecimal;
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
