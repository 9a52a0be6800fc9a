/** The questionnaires that ship, and how they are scored. Scores are sums of the numbers printed beside the answers; the service computes
 *  them, never the page. Sources: PHQ-9 Kroenke 2001 (doi:10.1046/j.1525-1497.2001.016009606.x), GAD-7 Spitzer 2006
 *  (doi:10.1001/archinte.166.10.1092), WHO-5 Topp 2015 (doi:10.1159/000376585). */

export type Coding = Readonly<{ system: string; code: string; display: string }>;
export type QuestionnaireItem = Readonly<{
  linkId: string;
  prefix?: string;
  text: string;
  type: 'choice' | 'integer' | 'decimal' | 'text';
  required: boolean;
  maxLength?: number;
  answerOption?: readonly Readonly<{ valueCoding: Coding }>[];
  extension?: readonly Readonly<{ url: string; valueInteger: number }>[];
}>;
export type Questionnaire = Readonly<{
  resourceType: 'Questionnaire';
  id: string;
  version: string;
  status: 'active';
  title: string;
  description: string;
  item: readonly QuestionnaireItem[];
}>;
export type Score = Readonly<{ name: string; value: number; text: string }>;

type Scoring = Readonly<{
  name: string;
  /** Code of the biosignal under which the score is an observation; null where the catalog has none. */
  code: string | null;
  /** The total is multiplied by this: WHO-5 is shown as a percentage. */
  factor: number;
  /** Least score of each band, ascending. */
  bands: readonly (readonly [number, string])[];
  /** An answer above 0 to this item is a safety event. */
  safetyItem: string | null;
}>;
export type ShippedQuestionnaire = Readonly<{ resource: Questionnaire; points: ReadonlyMap<string, number>; scoring: Scoring | null }>;

const LOINC = 'http://loinc.org';
const frequency: readonly Coding[] = [
  { system: LOINC, code: 'LA6568-5', display: 'Not at all' },
  { system: LOINC, code: 'LA6569-3', display: 'Several days' },
  { system: LOINC, code: 'LA6570-1', display: 'More than half the days' },
  { system: LOINC, code: 'LA6571-9', display: 'Nearly every day' },
];
const OWN = 'urn:biosignal:answers';
const own = (displays: readonly string[], prefix: string): Coding[] =>
  displays.map((display, i) => ({ system: OWN, code: `${prefix}-${i}`, display }));
const wellBeing = own(
  ['At no time', 'Some of the time', 'Less than half of the time', 'More than half of the time', 'Most of the time', 'All of the time'],
  'who5',
);
const amount = own(['Not at all', 'A little', 'Moderately', 'Quite a bit', 'Extremely'], 'amount');

function scale(
  id: string,
  title: string,
  description: string,
  options: readonly Coding[],
  texts: readonly string[],
  scoring: Scoring,
): ShippedQuestionnaire {
  const item = texts.map((text, i): QuestionnaireItem => ({
    linkId: `${id}.${i + 1}`,
    prefix: `${i + 1}.`,
    text,
    type: 'choice',
    required: true,
    answerOption: options.map((valueCoding) => ({ valueCoding })),
  }));
  return {
    resource: { resourceType: 'Questionnaire', id, version: '1', status: 'active', title, description, item },
    points: new Map(options.map((option, i) => [option.code, i])),
    scoring,
  };
}

const twoWeeks = 'Over the last 2 weeks, how often have you been bothered by any of the following problems?';

const daily: ShippedQuestionnaire = {
  resource: {
    resourceType: 'Questionnaire',
    id: 'daily-checkin',
    version: '1',
    status: 'active',
    title: 'Daily check-in',
    description: 'How are you today?',
    item: [
      { linkId: 'daily.sleep', text: 'Hours of sleep last night', type: 'decimal', required: true, extension: limits(0, 24) },
      {
        linkId: 'daily.stress',
        text: 'How stressed do you feel?',
        type: 'choice',
        required: true,
        answerOption: amount.map((valueCoding) => ({ valueCoding })),
      },
      {
        linkId: 'daily.pain',
        text: 'How much pain do you have?',
        type: 'choice',
        required: true,
        answerOption: amount.map((valueCoding) => ({ valueCoding })),
      },
      { linkId: 'daily.note', text: 'Anything else?', type: 'text', required: false, maxLength: 2000 },
    ],
  },
  points: new Map(),
  scoring: null,
};

function limits(min: number, max: number): { url: string; valueInteger: number }[] {
  const base = 'http://hl7.org/fhir/StructureDefinition/';
  return [
    { url: `${base}minValue`, valueInteger: min },
    { url: `${base}maxValue`, valueInteger: max },
  ];
}

export const shippedQuestionnaires: readonly ShippedQuestionnaire[] = [
  daily,
  scale(
    'phq-9',
    'PHQ-9',
    twoWeeks,
    frequency,
    [
      'Little interest or pleasure in doing things',
      'Feeling down, depressed, or hopeless',
      'Trouble falling or staying asleep, or sleeping too much',
      'Feeling tired or having little energy',
      'Poor appetite or overeating',
      'Feeling bad about yourself, or that you are a failure or have let yourself or your family down',
      'Trouble concentrating on things, such as reading the newspaper or watching television',
      'Moving or speaking so slowly that other people could have noticed? Or the opposite, being so fidgety or restless that you have been moving around a lot more than usual',
      'Thoughts that you would be better off dead or of hurting yourself in some way',
    ],
    {
      name: 'PHQ-9',
      code: 'phq9',
      factor: 1,
      bands: [
        [0, 'minimal'],
        [5, 'mild'],
        [10, 'moderate'],
        [15, 'moderately severe'],
        [20, 'severe'],
      ],
      safetyItem: 'phq-9.9',
    },
  ),
  scale(
    'gad-7',
    'GAD-7',
    twoWeeks,
    frequency,
    [
      'Feeling nervous, anxious, or on edge',
      'Not being able to stop or control worrying',
      'Worrying too much about different things',
      'Trouble relaxing',
      'Being so restless that it is hard to sit still',
      'Becoming easily annoyed or irritable',
      'Feeling afraid, as if something awful might happen',
    ],
    {
      name: 'GAD-7',
      code: 'gad7',
      factor: 1,
      bands: [
        [0, 'minimal'],
        [5, 'mild'],
        [10, 'moderate'],
        [15, 'severe'],
      ],
      safetyItem: null,
    },
  ),
  scale(
    'who-5',
    'WHO-5 well-being index',
    'Over the last two weeks',
    wellBeing,
    [
      'I have felt cheerful and in good spirits',
      'I have felt calm and relaxed',
      'I have felt active and vigorous',
      'I woke up feeling fresh and rested',
      'My daily life has been filled with things that interest me',
    ],
    {
      name: 'WHO-5',
      code: null,
      factor: 4,
      bands: [
        [0, 'poor'],
        [52, 'good'],
      ],
      safetyItem: null,
    },
  ),
];

export type ResponseItem = Readonly<{
  linkId: string;
  text?: string;
  answer?: readonly Readonly<{
    valueCoding?: Readonly<{ code?: string }>;
    valueInteger?: number;
    valueDecimal?: number;
    valueString?: string;
  }>[];
}>;
export type Verdict = Readonly<{ scores: readonly Score[]; safety: boolean; code: string | null }>;
export type AnswerFault = Readonly<{ pointer: string; code: string; detail: string }>;

/** Checks the answers against the questionnaire and scores them.
 *  @returns faults, at least one, when they do not fit; then nothing may be stored */
export function scoreResponse(
  questionnaire: ShippedQuestionnaire,
  items: readonly ResponseItem[],
): Verdict | Readonly<{ faults: readonly AnswerFault[] }> {
  const { resource, points, scoring } = questionnaire;
  const faults: AnswerFault[] = [];
  const given = new Map<string, NonNullable<ResponseItem['answer']>[number]>();
  for (const [i, item] of items.entries()) {
    const question = resource.item.find(({ linkId }) => linkId === item.linkId);
    const answers = item.answer ?? [];
    const fault = (code: string, detail: string): void => void faults.push({ pointer: `/item/${i}`, code, detail });
    if (question === undefined) fault('unknown', `${resource.id} has no question ${item.linkId.slice(0, 64)}`);
    else if (given.has(item.linkId)) fault('repeated', `${item.linkId} is answered twice`);
    else if (answers.length !== 1 || answers[0] === undefined) fault('count', `${item.linkId} takes one answer`);
    else if (!fits(question, answers[0])) fault('value', `the answer to ${item.linkId} is not one that it takes`);
    else given.set(item.linkId, answers[0]);
  }
  for (const { linkId, required } of resource.item) {
    if (required && !items.some((item) => item.linkId === linkId))
      faults.push({ pointer: '/item', code: 'required', detail: `${linkId} is not answered` });
  }
  if (faults.length > 0) return { faults };
  if (scoring === null) return { scores: [], safety: false, code: null };
  const pointsOf = (linkId: string): number => points.get(given.get(linkId)?.valueCoding?.code ?? '') ?? 0;
  const value = resource.item.reduce((sum, { linkId }) => sum + pointsOf(linkId), 0) * scoring.factor;
  const text = scoring.bands.findLast(([least]) => value >= least)?.[1] ?? '';
  return {
    scores: [{ name: scoring.name, value, text }],
    safety: scoring.safetyItem !== null && pointsOf(scoring.safetyItem) > 0,
    code: scoring.code,
  };
}

function fits(question: QuestionnaireItem, answer: NonNullable<ResponseItem['answer']>[number]): boolean {
  switch (question.type) {
    case 'choice':
      return question.answerOption?.some(({ valueCoding }) => valueCoding.code === answer.valueCoding?.code) === true;
    case 'integer':
      return Number.isSafeInteger(answer.valueInteger) && within(question, answer.valueInteger ?? 0);
    case 'decimal': {
      const value = answer.valueDecimal ?? answer.valueInteger;
      return value !== undefined && Number.isFinite(value) && within(question, value);
    }
    case 'text':
      return answer.valueString !== undefined && answer.valueString.length <= (question.maxLength ?? 4000);
    default: {
      const never: never = question.type;
      throw new Error(`type ${String(never)}`);
    }
  }
}

function within(question: QuestionnaireItem, value: number): boolean {
  const limit = (end: 'minValue' | 'maxValue'): number | undefined =>
    question.extension?.find(({ url }) => url.endsWith(end))?.valueInteger;
  return value >= (limit('minValue') ?? -Infinity) && value <= (limit('maxValue') ?? Infinity);
}
