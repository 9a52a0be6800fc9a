/** Scores against the published bands; every answer that does not fit is named. */
import { describe, expect, it } from 'vitest';
import { scoreResponse, shippedQuestionnaires } from './questionnaires.ts';
import type { ResponseItem } from './questionnaires.ts';

const shipped = (id: string) => shippedQuestionnaires.find(({ resource }) => resource.id === id)!;

/** Answers every question with the option of these points, by question. */
function answers(id: string, points: readonly number[]): ResponseItem[] {
  return shipped(id).resource.item.map(({ linkId, answerOption }, i) => ({
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
    expect(scoreResponse(shipped(id), answers(id, points))).toMatchObject({ scores: [{ value, text }], safety });
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
    const choice = daily.resource.item[1]!.answerOption![0]!;
    const response = (hours: number): ResponseItem[] => [
      { linkId: 'daily.sleep', answer: [{ valueDecimal: hours }] },
      { linkId: 'daily.stress', answer: [choice] },
      { linkId: 'daily.pain', answer: [choice] },
    ];
    expect(scoreResponse(daily, response(7.5))).toEqual({ scores: [], safety: false, code: null });
    expect(scoreResponse(daily, response(25))).toHaveProperty('faults');
    expect(scoreResponse(daily, response(-1))).toHaveProperty('faults');
  });
});
