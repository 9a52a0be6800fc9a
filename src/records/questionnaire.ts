/** The subset of FHIR R4 Questionnaire that this service stores, asks and checks: choice, boolean, integer, decimal, date, string, text,
 *  display and group, enableWhen, limits, points of answers (docs/questionnaires.md). Anything else in a resource is refused, so that
 *  nothing is silently left out when it is asked. */
import { Type } from 'typebox';
import type { TUnsafe } from 'typebox';
import { enabledItems, enableOperators, limitOf, MAX_VALUE, MIN_VALUE, ORDINAL_VALUE } from '../../sdk/questionnaire.ts';
import type { AnswerValue, Coding, EnableWhen, Extension, Given } from '../../sdk/questionnaire.ts';
import { exactly, oneOf } from '../http/schemas.ts';

export const itemTypes = ['choice', 'boolean', 'integer', 'decimal', 'date', 'string', 'text', 'display', 'group'] as const;
const ITEMS_MAX = 200;
const DEPTH_MAX = 3;
const ANSWER_TEXT_MAX = 4000;

export type AnswerOption = Readonly<{ valueCoding: Coding; extension?: readonly Extension[] }>;
export type QuestionnaireItem = Readonly<{
  linkId: string;
  prefix?: string;
  text?: string;
  type: (typeof itemTypes)[number];
  required?: boolean;
  repeats?: boolean;
  maxLength?: number;
  enableWhen?: readonly EnableWhen[];
  enableBehavior?: 'all' | 'any';
  answerOption?: readonly AnswerOption[];
  extension?: readonly Extension[];
  item?: readonly QuestionnaireItem[];
}>;
/** The part that a project writes; id, version and status are set by the service. */
export type QuestionnaireText = Readonly<{ title: string; description?: string; item: readonly QuestionnaireItem[] }>;
export type Questionnaire = QuestionnaireText &
  Readonly<{ resourceType: 'Questionnaire'; id: string; version: string; status: 'active' | 'retired' }>;

export type Answer = AnswerValue & Readonly<{ item?: readonly ResponseItem[] }>;
export type ResponseItem = Readonly<{ linkId: string; text?: string; answer?: readonly Answer[]; item?: readonly ResponseItem[] }>;
export type Fault = Readonly<{ pointer: string; code: string; detail: string }>;

const Text = (max: number) => Type.Optional(Type.String({ maxLength: max }));
const LinkId = Type.String({ minLength: 1, maxLength: 64, pattern: '^[^{}]+$' });
const CodingSchema = exactly({ system: Text(200), code: Type.String({ minLength: 1, maxLength: 64 }), display: Text(500) });
const ExtensionSchema = exactly({
  url: Type.String({ maxLength: 200 }),
  valueInteger: Type.Optional(Type.Integer()),
  valueDecimal: Type.Optional(Type.Number()),
});
const itemMembers = {
  linkId: LinkId,
  prefix: Text(32),
  text: Text(1000),
  type: oneOf(itemTypes),
  required: Type.Optional(Type.Boolean()),
  repeats: Type.Optional(Type.Boolean()),
  maxLength: Type.Optional(Type.Integer({ minimum: 1, maximum: ANSWER_TEXT_MAX })),
  enableWhen: Type.Optional(
    Type.Array(
      exactly({
        question: LinkId,
        operator: oneOf(enableOperators),
        answerBoolean: Type.Optional(Type.Boolean()),
        answerInteger: Type.Optional(Type.Integer()),
        answerDecimal: Type.Optional(Type.Number()),
        answerString: Text(ANSWER_TEXT_MAX),
        answerDate: Text(10),
        answerCoding: Type.Optional(CodingSchema),
      }),
      { maxItems: 16 },
    ),
  ),
  enableBehavior: Type.Optional(oneOf(['all', 'any'])),
  answerOption: Type.Optional(
    Type.Array(exactly({ valueCoding: CodingSchema, extension: Type.Optional(Type.Array(ExtensionSchema, { maxItems: 4 })) }), {
      maxItems: 100,
    }),
  ),
  extension: Type.Optional(Type.Array(ExtensionSchema, { maxItems: 8 })),
};
/** Schema of items, nested up to DEPTH_MAX deep. */
function itemSchema(depth: number): TUnsafe<QuestionnaireItem> {
  if (depth === 0) return Type.Unsafe(exactly(itemMembers));
  return Type.Unsafe(exactly({ ...itemMembers, item: Type.Optional(Type.Array(itemSchema(depth - 1), { maxItems: ITEMS_MAX })) }));
}
const answerMembers = {
  valueCoding: Type.Optional(exactly({ system: Text(200), code: Type.String({ maxLength: 64 }), display: Text(500) })),
  valueBoolean: Type.Optional(Type.Boolean()),
  valueInteger: Type.Optional(Type.Integer()),
  valueDecimal: Type.Optional(Type.Number()),
  valueDate: Text(10),
  valueString: Text(ANSWER_TEXT_MAX),
  extension: Type.Optional(
    Type.Array(ExtensionSchema, { maxItems: 4, description: 'Ignored: the service knows the points of its options.' }),
  ),
};
/** Schema of answers, nested like the questions: below a group, or below the answer that they belong to. */
function responseItemSchema(depth: number): TUnsafe<ResponseItem> {
  const members = { linkId: Type.String({ minLength: 1, maxLength: 64 }), text: Text(1000) };
  if (depth === 0)
    return Type.Unsafe(exactly({ ...members, answer: Type.Optional(Type.Array(exactly(answerMembers), { maxItems: 100 })) }));
  const item = Type.Optional(Type.Array(responseItemSchema(depth - 1), { maxItems: ITEMS_MAX }));
  return Type.Unsafe(
    exactly({ ...members, item, answer: Type.Optional(Type.Array(exactly({ ...answerMembers, item }), { maxItems: 100 })) }),
  );
}
export const ResponseItemsSchema = Type.Array(responseItemSchema(DEPTH_MAX), { maxItems: ITEMS_MAX });
export const QuestionnaireTextSchema = exactly({
  title: Type.String({ minLength: 1, maxLength: 200 }),
  description: Text(2000),
  item: Type.Array(itemSchema(DEPTH_MAX), { minItems: 1, maxItems: ITEMS_MAX }),
});

/** Every item in order, groups and their contents included. */
export function flatItems(items: readonly QuestionnaireItem[]): QuestionnaireItem[] {
  return items.flatMap((item) => [item, ...flatItems(item.item ?? [])]);
}

/** Points of an option, as FHIR's ordinalValue; null where it has none. */
export function pointsOfOption(option: AnswerOption): number | null {
  const extension = option.extension?.find(({ url }) => url === ORDINAL_VALUE);
  return extension?.valueDecimal ?? extension?.valueInteger ?? null;
}

/** Checks what a schema cannot express. */
export function checkQuestionnaire(text: QuestionnaireText): readonly Fault[] {
  const faults: Fault[] = [];
  const seen = new Map<string, QuestionnaireItem>();
  const visit = (items: readonly QuestionnaireItem[], pointer: string): void => {
    for (const [i, item] of items.entries()) {
      const at = `${pointer}/${i}`;
      const fault = (code: string, detail: string): void => void faults.push({ pointer: at, code, detail });
      if (seen.has(item.linkId)) fault('repeated', `linkId ${item.linkId} is used twice`);
      if (seen.size >= ITEMS_MAX) return fault('count', `there are more than ${ITEMS_MAX} items`);
      for (const { question } of item.enableWhen ?? []) {
        if (!seen.has(question)) fault('enable_when', `enableWhen names ${question}, which is no question before this one`);
      }
      seen.set(item.linkId, item);
      if (item.type === 'choice' && (item.answerOption ?? []).length === 0) fault('options', 'a choice needs answerOption');
      const codes = (item.answerOption ?? []).map(({ valueCoding }) => valueCoding.code);
      if (new Set(codes).size < codes.length) fault('options', 'two options have the same code');
      if (item.type === 'group' && (item.item ?? []).length === 0) fault('group', 'a group needs items');
      if (item.type !== 'group' && (item.text ?? '') === '') fault('text', 'needs a text');
      visit(item.item ?? [], `${at}/item`);
    }
  };
  visit(text.item, '/item');
  return faults;
}

/** Answers of a response by linkId, at any depth. `at` is where each was. */
export function answersOf(items: readonly ResponseItem[]): readonly Readonly<{ linkId: string; answers: readonly Answer[]; at: string }>[] {
  const found: { linkId: string; answers: readonly Answer[]; at: string }[] = [];
  const visit = (list: readonly ResponseItem[], pointer: string): void => {
    for (const [i, item] of list.entries()) {
      const at = `${pointer}/${i}`;
      found.push({ linkId: item.linkId, answers: item.answer ?? [], at });
      visit(item.item ?? [], `${at}/item`);
      for (const [j, answer] of (item.answer ?? []).entries()) visit(answer.item ?? [], `${at}/answer/${j}/item`);
    }
  };
  visit(items, '/item');
  return found;
}

/** Checks answers against the questions.  @param complete required questions must be answered */
export function checkAnswers(
  questions: readonly QuestionnaireItem[],
  items: readonly ResponseItem[],
  complete: boolean,
): Readonly<{ given: Given; faults: readonly Fault[] }> {
  const faults: Fault[] = [];
  const given = new Map<string, readonly Answer[]>();
  /** Questions with an answer, valid or not. */
  const named = new Set<string>();
  const byLink = new Map(flatItems(questions).map((item) => [item.linkId, item]));
  for (const { linkId, answers, at } of answersOf(items)) {
    const question = byLink.get(linkId);
    named.add(linkId);
    const fault = (code: string, detail: string): void => void faults.push({ pointer: at, code, detail });
    if (question === undefined) fault('unknown', `there is no question ${linkId.slice(0, 64)}`);
    else if (question.type === 'group' || question.type === 'display') {
      if (answers.length > 0) fault('count', `${linkId} takes no answer`);
    } else if (given.has(linkId)) fault('repeated', `${linkId} is answered twice`);
    else if (answers.length === 0 || (answers.length > 1 && question.repeats !== true)) fault('count', `${linkId} takes one answer`);
    else if (!answers.every((answer) => fits(question, answer))) fault('value', `the answer to ${linkId} is not one that it takes`);
    else given.set(linkId, answers);
  }
  const enabled = enabledItems(questions, given);
  const asked = new Set(enabled.map((item) => item.linkId));
  for (const linkId of given.keys()) {
    if (!asked.has(linkId)) faults.push({ pointer: '/item', code: 'disabled', detail: `${linkId} is not asked after these answers` });
  }
  for (const { linkId, required, type } of complete ? enabled : []) {
    if (required !== true || type === 'group' || type === 'display' || named.has(linkId)) continue;
    faults.push({ pointer: '/item', code: 'required', detail: `${linkId} is not answered` });
  }
  return { given, faults };
}

function fits(question: QuestionnaireItem, answer: Answer): boolean {
  switch (question.type) {
    case 'choice':
      return question.answerOption?.some(({ valueCoding }) => valueCoding.code === answer.valueCoding?.code) === true;
    case 'boolean':
      return answer.valueBoolean !== undefined;
    case 'integer':
      return Number.isSafeInteger(answer.valueInteger) && within(question, answer.valueInteger ?? 0);
    case 'decimal': {
      const value = answer.valueDecimal ?? answer.valueInteger;
      return value !== undefined && Number.isFinite(value) && within(question, value);
    }
    case 'date':
      return /^\d{4}-\d{2}-\d{2}$/.test(answer.valueDate ?? '') && !Number.isNaN(Date.parse(`${answer.valueDate}T00:00:00Z`));
    case 'string':
    case 'text':
      return answer.valueString !== undefined && answer.valueString.length <= (question.maxLength ?? ANSWER_TEXT_MAX);
    case 'display':
    case 'group':
      return false;
    default: {
      const never: never = question.type;
      throw new Error(`type ${String(never)}`);
    }
  }
}

function within(question: QuestionnaireItem, value: number): boolean {
  return value >= (limitOf(question, MIN_VALUE) ?? -Infinity) && value <= (limitOf(question, MAX_VALUE) ?? Infinity);
}
