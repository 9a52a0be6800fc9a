/** The answers that a check-in sends: what is asked and answered, nested as the questions are. */
import { expect, it } from 'vitest';
import { missing, optionLabel, responseItems, textsOf } from './questionnaire.ts';
import type { Answers, Item } from './questionnaire.ts';
import { es } from '../lang/es.ts';
import { fr } from '../lang/fr.ts';
import { shippedQuestionnaires } from '../../src/records/shipped-questionnaires.ts';

const items: Item[] = [
  { linkId: 'intro', type: 'display', text: 'Read this' },
  { linkId: 'pain', type: 'choice', text: 'Any pain?', required: true, answerOption: [{ valueCoding: { code: 'no', display: 'No' } }] },
  { linkId: 'note', type: 'text', text: 'Anything else?' },
  {
    linkId: 'where',
    type: 'group',
    text: 'Where?',
    enableWhen: [{ question: 'pain', operator: '=', answerCoding: { code: 'yes' } }],
    item: [{ linkId: 'place', type: 'string', text: 'Place', required: true }],
  },
];
const yes: Answers = new Map([['pain', [{ valueCoding: { code: 'yes' } }]]]);

it('misses the required questions that are asked, and no others', () => {
  expect(missing(items, new Map()).map(({ linkId }) => linkId)).toEqual(['pain']);
  expect(missing(items, yes).map(({ linkId }) => linkId)).toEqual(['place']);
});

it('sends groups with their answers, without texts for display', () => {
  const answers: Answers = new Map([...yes, ['place', [{ valueString: 'Knee' }]]]);
  expect(responseItems(items, answers)).toEqual([
    { linkId: 'pain', text: 'Any pain?', answer: [{ valueCoding: { code: 'yes' } }] },
    { linkId: 'where', text: 'Where?', item: [{ linkId: 'place', text: 'Place', answer: [{ valueString: 'Knee' }] }] },
  ]);
});

it('leaves out what was answered and is hidden again', () => {
  const answers: Answers = new Map([
    ['pain', [{ valueCoding: { code: 'no' } }]],
    ['place', [{ valueString: 'Knee' }]],
  ]);
  expect(responseItems(items, answers).map(({ linkId }) => linkId)).toEqual(['pain']);
});

it('lists every text that a person reads', () => {
  expect(textsOf(items)).toEqual(['Read this', 'Any pain?', 'No', 'Anything else?', 'Where?', 'Place']);
  expect([{ valueInteger: 3 }, { valueString: 'x' }, { valueCoding: { code: 'c' } }].map(optionLabel)).toEqual(['3', 'x', 'c']);
});

it.each([
  ['fr', fr, 'Traduction non officielle'],
  ['es', es, 'Traducción no oficial'],
])('PHQ-9, GAD-7 and WHO-5 say below their title that their translation is unofficial: %s', (_, { phrases }, mark) => {
  const published = shippedQuestionnaires.filter(({ code }) => code !== 'daily-checkin');
  expect(published.map(({ code }) => code)).toEqual(['phq-9', 'gad-7', 'who-5']);
  for (const { text } of published) expect(phrases[text.description!]).toContain(mark);
});
