/** The built-in questionnaires. Points are the numbers printed next to the answers. Sources: PHQ-9 Kroenke 2001
 *  (doi:10.1046/j.1525-1497.2001.016009606.x), GAD-7 Spitzer 2006 (doi:10.1001/archinte.166.10.1092), WHO-5 Topp 2015
 *  (doi:10.1159/000376585). */
import { MAX_VALUE, MIN_VALUE, ORDINAL_VALUE } from '../../sdk/questionnaire.ts';
import type { Coding } from '../../sdk/questionnaire.ts';
import type { AnswerOption, QuestionnaireItem, QuestionnaireText } from './questionnaire.ts';
import type { Scoring } from './scoring.ts';

export type ShippedQuestionnaire = Readonly<{ code: string; version: number; text: QuestionnaireText; scoring: Scoring }>;

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

const optionsOf = (codings: readonly Coding[]): AnswerOption[] =>
  codings.map((valueCoding, i) => ({ valueCoding, extension: [{ url: ORDINAL_VALUE, valueDecimal: i }] }));

function scale(
  code: string,
  title: string,
  description: string,
  options: readonly Coding[],
  texts: readonly string[],
  scoring: Scoring,
): ShippedQuestionnaire {
  const item = texts.map((text, i): QuestionnaireItem => ({
    linkId: `${code}.${i + 1}`,
    prefix: `${i + 1}.`,
    text,
    type: 'choice',
    required: true,
    answerOption: optionsOf(options),
  }));
  return { code, version: 1, text: { title, description, item }, scoring };
}

const twoWeeks = 'Over the last 2 weeks, how often have you been bothered by any of the following problems?';

const daily: ShippedQuestionnaire = {
  code: 'daily-checkin',
  version: 1,
  text: {
    title: 'Daily check-in',
    description: 'How are you today?',
    item: [
      {
        linkId: 'daily.sleep',
        text: 'Hours of sleep last night',
        type: 'decimal',
        required: true,
        extension: [
          { url: MIN_VALUE, valueInteger: 0 },
          { url: MAX_VALUE, valueInteger: 24 },
        ],
      },
      { linkId: 'daily.stress', text: 'How stressed do you feel?', type: 'choice', required: true, answerOption: optionsOf(amount) },
      { linkId: 'daily.pain', text: 'How much pain do you have?', type: 'choice', required: true, answerOption: optionsOf(amount) },
      { linkId: 'daily.note', text: 'Anything else?', type: 'text', required: false, maxLength: 2000 },
    ],
  },
  scoring: { scores: [{ name: 'Sleep', expression: '{daily.sleep}', code: 'sleep_duration' }], safety: [] },
};

const bands = (...pairs: readonly (readonly [number, string])[]): { from: number; text: string }[] =>
  pairs.map(([from, text]) => ({ from, text }));

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
      scores: [
        {
          name: 'PHQ-9',
          expression: 'sum(all)',
          code: 'phq9',
          bands: bands([0, 'minimal'], [5, 'mild'], [10, 'moderate'], [15, 'moderately severe'], [20, 'severe']),
        },
      ],
      safety: [{ title: 'PHQ-9: an answer needs attention', expression: '{phq-9.9} > 0' }],
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
      scores: [
        {
          name: 'GAD-7',
          expression: 'sum(all)',
          code: 'gad7',
          bands: bands([0, 'minimal'], [5, 'mild'], [10, 'moderate'], [15, 'severe']),
        },
      ],
      safety: [],
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
      scores: [{ name: 'WHO-5', expression: 'sum(all) * 4', code: 'who5', bands: bands([0, 'poor'], [52, 'good']) }],
      safety: [],
    },
  ),
];
