/** Decides which questions of a FHIR R4 Questionnaire to ask, given the answers so far. The widgets ask by it and the service checks
 *  answers by it, so that neither refuses what the other accepts. Imports nothing: it runs in pages and in the service. */

export const MIN_VALUE = 'http://hl7.org/fhir/StructureDefinition/minValue';
export const MAX_VALUE = 'http://hl7.org/fhir/StructureDefinition/maxValue';
/** Points of an answer option. */
export const ORDINAL_VALUE = 'http://hl7.org/fhir/StructureDefinition/ordinalValue';

export const enableOperators = ['exists', '=', '!=', '>', '<', '>=', '<='] as const;

export type Coding = Readonly<{ system?: string; code: string; display?: string }>;
export type Extension = Readonly<{ url: string; valueInteger?: number; valueDecimal?: number }>;
export type EnableWhen = Readonly<{
  question: string;
  operator: (typeof enableOperators)[number];
  answerBoolean?: boolean;
  answerInteger?: number;
  answerDecimal?: number;
  answerString?: string;
  answerDate?: string;
  answerCoding?: Coding;
}>;
export type AnswerValue = Readonly<{
  valueCoding?: Readonly<{ code?: string }>;
  valueBoolean?: boolean;
  valueInteger?: number;
  valueDecimal?: number;
  valueDate?: string;
  valueString?: string;
}>;
/** Answers by linkId. */
export type Given = ReadonlyMap<string, readonly AnswerValue[]>;

type Conditional = Readonly<{ enableWhen?: readonly EnableWhen[]; enableBehavior?: 'all' | 'any' }>;

/** Lists the items to answer now, in order, including groups and their items. */
export function enabledItems<Item extends Conditional & Readonly<{ item?: readonly Item[] }>>(
  items: readonly Item[],
  given: Given,
): Item[] {
  return items.filter((item) => isEnabled(item, given)).flatMap((item) => [item, ...enabledItems(item.item ?? [], given)]);
}

export function isEnabled(item: Conditional, given: Given): boolean {
  const conditions = item.enableWhen ?? [];
  if (conditions.length === 0) return true;
  const holds = (condition: EnableWhen): boolean => conditionHolds(condition, given.get(condition.question) ?? []);
  return item.enableBehavior === 'any' ? conditions.some(holds) : conditions.every(holds);
}

function conditionHolds(condition: EnableWhen, answers: readonly AnswerValue[]): boolean {
  if (condition.operator === 'exists') return answers.length > 0 === (condition.answerBoolean ?? true);
  const wanted =
    condition.answerCoding?.code ??
    condition.answerBoolean ??
    condition.answerInteger ??
    condition.answerDecimal ??
    condition.answerDate ??
    condition.answerString;
  // `!=` holds when no answer equals; the others when one answer does (FHIR R4, Questionnaire.item.enableWhen).
  if (condition.operator === '!=') return answers.every((answer) => plain(answer) !== wanted);
  return answers.some((answer) => {
    const value = plain(answer);
    if (value === undefined || wanted === undefined) return false;
    if (condition.operator === '=') return value === wanted;
    if (condition.operator === '>') return value > wanted;
    if (condition.operator === '<') return value < wanted;
    return condition.operator === '>=' ? value >= wanted : value <= wanted;
  });
}

function plain(answer: AnswerValue): string | number | boolean | undefined {
  return (
    answer.valueCoding?.code ?? answer.valueBoolean ?? answer.valueInteger ?? answer.valueDecimal ?? answer.valueDate ?? answer.valueString
  );
}

/** Reads the limit of a numeric question; undefined if it has none. @param url MIN_VALUE or MAX_VALUE */
export function limitOf(item: Readonly<{ extension?: readonly Extension[] }>, url: string): number | undefined {
  const extension = item.extension?.find((entry) => entry.url === url);
  return extension?.valueInteger ?? extension?.valueDecimal;
}
