/** Checks scores against the published bands, and that every answer that does not fit is named. */
import { describe, expect, it } from 'vitest';
import { checkQuestionnaire } from './questionnaire.ts';
import type { QuestionnaireItem, ResponseItem } from './questionnaire.ts';
import { checkScoring, scoreResponse } from './scoring.ts';
import type { Scoring } from './scoring.ts';
import { shippedQuestionnaires } from './shipped-questionnaires.ts';

const shipped = (id: string) => shippedQuestionnaires.find(({ code }) => code === id)!;

/** Answers every question with the option of these points, by question. */
function answers(id: string, points: readonly number[]): ResponseItem[] {
  return shipped(id).text.item.map(({ linkId, answerOption }, i) => ({
    linkId,
    answer: [{ valueCoding: { code: answerOption![points[i]!]!.valueCoding.code } }],
  }));
}

describe('scoreResponse', () => {
  it.each([
    ['phq-9', [0, 0, 0, 0, 0, 0, 0, 0, 0], 0, 'minimal', false],
    ['phq-9', [1, 1, 1, 1, 0, 0, 0, 0, 0], 4, 'minimal', false],
    ['phq-9', [1, 1, 1, 1, 1, 0, 0, 0, 0], 5, 'mild', false],
    ['phq-9', [2, 2, 2, 2, 1, 1, 0, 0, 0], 10, 'moderate', false],
    ['phq-9', [3, 3, 3, 3, 3, 0, 0, 0, 0], 15, 'moderately severe', false],
    ['phq-9', [3, 3, 3, 3, 3, 3, 3, 3, 3], 27, 'severe', true],
    ['phq-9', [0, 0, 0, 0, 0, 0, 0, 0, 1], 1, 'minimal', true],
    ['gad-7', [2, 2, 2, 2, 1, 1, 0], 10, 'moderate', false],
    ['gad-7', [3, 3, 3, 3, 3, 3, 3], 21, 'severe', false],
    ['who-5', [5, 5, 5, 5, 5], 100, 'good', false],
    ['who-5', [3, 3, 3, 3, 0], 48, 'poor', false],
  ] as const)('%s %j is %d, %s', (id, points, value, text, safety) => {
    expect(scoreResponse(shipped(id), answers(id, points))).toMatchObject({
      scores: [{ value, text }],
      safety: safety ? ['PHQ-9: an answer needs attention'] : [],
    });
  });

  it('names each answer that does not fit, and scores nothing', () => {
    const good = answers('gad-7', [0, 0, 0, 0, 0, 0, 0]);
    const faultsOf = (items: readonly ResponseItem[]): string[] => {
      const verdict = scoreResponse(shipped('gad-7'), items);
      return 'faults' in verdict ? verdict.faults.map((fault) => fault.code) : [];
    };
    expect(faultsOf(good.slice(1))).toEqual(['required']);
    expect(faultsOf([...good, good[0]!])).toEqual(['repeated']);
    expect(faultsOf([...good, { linkId: 'phq-9.9', answer: [{ valueInteger: 1 }] }])).toEqual(['unknown']);
    expect(faultsOf(good.map((item, i) => (i === 0 ? { ...item, answer: [{ valueCoding: { code: 'LA6572-7' } }] } : item)))).toEqual([
      'value',
    ]);
    expect(faultsOf(good.map((item, i) => (i === 0 ? { ...item, answer: [...item.answer!, ...item.answer!] } : item)))).toEqual(['count']);
  });

  it('keeps numbers of the daily check-in within their limits', () => {
    const daily = shipped('daily-checkin');
    const choice = daily.text.item[1]!.answerOption![0]!;
    const response = (hours: number): ResponseItem[] => [
      { linkId: 'daily.sleep', answer: [{ valueDecimal: hours }] },
      { linkId: 'daily.stress', answer: [choice] },
      { linkId: 'daily.pain', answer: [choice] },
    ];
    expect(scoreResponse(daily, response(7.5))).toMatchObject({ observations: [{ code: 'sleep_duration', value: 7.5 }], safety: [] });
    expect(scoreResponse(daily, response(25))).toHaveProperty('faults');
    expect(scoreResponse(daily, response(-1))).toHaveProperty('faults');
  });
});

describe('a questionnaire of a project', () => {
  const ordinal = 'http://hl7.org/fhir/StructureDefinition/ordinalValue';
  const option = (code: string, points: number) => ({ valueCoding: { code }, extension: [{ url: ordinal, valueDecimal: points }] });
  const item: readonly QuestionnaireItem[] = [
    {
      linkId: 'pain',
      text: 'Pain?',
      type: 'choice',
      required: true,
      answerOption: [option('no', 0), option('some', 2), option('much', 4)],
    },
    {
      linkId: 'more',
      type: 'group',
      enableWhen: [{ question: 'pain', operator: '!=', answerCoding: { code: 'no' } }],
      item: [
        { linkId: 'days', text: 'For how many days?', type: 'integer', required: true },
        { linkId: 'since', text: 'Since when?', type: 'date' },
        { linkId: 'help', text: 'Do you want a call?', type: 'boolean' },
      ],
    },
  ];
  const scoring: Scoring = {
    scores: [
      {
        name: 'Burden',
        expression: 'sum({pain}, {days})',
        bands: [
          { from: 0, text: 'low' },
          { from: 5, text: 'high' },
        ],
      },
      { name: 'Per day', expression: '{pain} / {days}' },
    ],
    safety: [{ title: 'Wants a call', expression: '{help} and {pain} >= 4' }],
  };
  const score = (items: readonly ResponseItem[]) => scoreResponse({ text: { item }, scoring }, items);
  const pain = (code: string): ResponseItem => ({ linkId: 'pain', answer: [{ valueCoding: { code } }] });
  const more = (days: number, help: boolean): ResponseItem => ({
    linkId: 'more',
    item: [
      { linkId: 'days', answer: [{ valueInteger: days }] },
      { linkId: 'help', answer: [{ valueBoolean: help }] },
      { linkId: 'since', answer: [{ valueDate: '2026-03-01' }] },
    ],
  });

  it('is sound', () => {
    expect(checkQuestionnaire({ title: 'Pain', item })).toEqual([]);
    expect(checkScoring(scoring, item)).toEqual([]);
  });

  it('scores what was asked, and leaves out a score that cannot be said', () => {
    expect(score([pain('no')])).toEqual({ scores: [{ name: 'Burden', value: 0, text: 'low' }], observations: [], safety: [] });
    expect(score([pain('much'), more(2, true)])).toEqual({
      scores: [
        { name: 'Burden', value: 6, text: 'high' },
        { name: 'Per day', value: 2, text: '' },
      ],
      observations: [],
      safety: ['Wants a call'],
    });
  });

  it('requires what is asked after these answers, and refuses what is not', () => {
    expect(score([pain('some')])).toMatchObject({ faults: [{ code: 'required', detail: 'days is not answered' }] });
    expect(score([pain('no'), more(2, false)])).toMatchObject({
      faults: [{ code: 'disabled' }, { code: 'disabled' }, { code: 'disabled' }],
    });
  });

  it('names what is wrong with a questionnaire and with its rules', () => {
    const codes = (items: readonly QuestionnaireItem[]): string[] =>
      checkQuestionnaire({ title: 'x', item: items }).map((fault) => fault.code);
    expect(codes([...item, item[0]!])).toEqual(['repeated']);
    expect(codes([{ linkId: 'a', text: 'a', type: 'choice' }])).toEqual(['options']);
    expect(codes([{ linkId: 'a', type: 'group' }])).toEqual(['group']);
    expect(codes([{ linkId: 'a', type: 'text', enableWhen: [{ question: 'z', operator: 'exists' }] }])).toEqual(['enable_when', 'text']);
    expect(checkScoring({ scores: [{ name: 'x', expression: 'sum({pain}, {gone}' }], safety: [] }, item)).toMatchObject([
      { pointer: '/scoring/scores/0/expression', detail: '")" is missing, at character 19' },
    ]);
    expect(checkScoring({ scores: [], safety: [{ title: 'x', expression: '{gone} > 0' }] }, item)).toMatchObject([
      { pointer: '/scoring/safety/0/expression', detail: 'there is no question gone' },
    ]);
    const bands = [
      { from: 5, text: 'a' },
      { from: 5, text: 'b' },
    ];
    expect(checkScoring({ scores: [{ name: 'x', expression: '1', bands }], safety: [] }, item)).toMatchObject([{ code: 'order' }]);
  });
});
