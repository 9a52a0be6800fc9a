/** Conditions of questions, as FHIR R4 defines enableWhen. */
import { describe, expect, it } from 'vitest';
import { enabledItems, isEnabled, limitOf, MAX_VALUE, MIN_VALUE } from './questionnaire.ts';
import type { AnswerValue, EnableWhen } from './questionnaire.ts';

const asked = (condition: EnableWhen, ...answers: AnswerValue[]): boolean =>
  isEnabled({ enableWhen: [condition] }, new Map(answers.length === 0 ? [] : [[condition.question, answers]]));

describe('a condition', () => {
  it.each<[EnableWhen, AnswerValue[], boolean]>([
    [{ question: 'q', operator: 'exists' }, [], false],
    [{ question: 'q', operator: 'exists', answerBoolean: false }, [], true],
    [{ question: 'q', operator: 'exists', answerBoolean: true }, [{ valueString: '' }], true],
    [{ question: 'q', operator: '=', answerCoding: { code: 'no' } }, [{ valueCoding: { code: 'no' } }], true],
    [{ question: 'q', operator: '=', answerBoolean: false }, [{ valueBoolean: false }], true],
    [{ question: 'q', operator: '=', answerInteger: 3 }, [], false],
    [{ question: 'q', operator: '=', answerInteger: 3 }, [{ valueInteger: 2 }, { valueInteger: 3 }], true],
    [{ question: 'q', operator: '!=', answerInteger: 3 }, [{ valueInteger: 2 }, { valueInteger: 3 }], false],
    [{ question: 'q', operator: '!=', answerInteger: 3 }, [], true],
    [{ question: 'q', operator: '>', answerInteger: 3 }, [{ valueDecimal: 3.5 }], true],
    [{ question: 'q', operator: '>', answerInteger: 3 }, [{ valueInteger: 3 }], false],
    [{ question: 'q', operator: '>=', answerInteger: 3 }, [{ valueInteger: 3 }], true],
    [{ question: 'q', operator: '<', answerDate: '2026-01-02' }, [{ valueDate: '2026-01-01' }], true],
    [{ question: 'q', operator: '<=', answerDecimal: 0 }, [{ valueInteger: 1 }], false],
    [{ question: 'q', operator: '<', answerInteger: 3 }, [{}], false],
  ])('%o of %o: %s', (condition, answers, expected) => {
    expect(asked(condition, ...answers)).toBe(expected);
  });

  it('counts with all others, or with any where the item says so', () => {
    const enableWhen: EnableWhen[] = [
      { question: 'a', operator: 'exists' },
      { question: 'b', operator: 'exists' },
    ];
    const given = new Map([['a', [{ valueInteger: 1 }]]]);
    expect([isEnabled({ enableWhen }, given), isEnabled({ enableWhen, enableBehavior: 'any' }, given)]).toEqual([false, true]);
  });
});

it('what a hidden group holds is not asked', () => {
  const hidden = { linkId: 'group', enableWhen: [{ question: 'a', operator: 'exists' } as const], item: [{ linkId: 'inner' }] };
  const items: { linkId: string; enableWhen?: EnableWhen[]; item?: { linkId: string }[] }[] = [{ linkId: 'a' }, hidden];
  expect(enabledItems(items, new Map()).map(({ linkId }) => linkId)).toEqual(['a']);
  expect(enabledItems(items, new Map([['a', [{ valueInteger: 1 }]]])).map(({ linkId }) => linkId)).toEqual(['a', 'group', 'inner']);
});

it('reads limits of either number type', () => {
  const extension = [
    { url: MIN_VALUE, valueInteger: 0 },
    { url: MAX_VALUE, valueDecimal: 9.5 },
  ];
  expect([limitOf({ extension }, MIN_VALUE), limitOf({ extension }, MAX_VALUE), limitOf({}, MIN_VALUE)]).toEqual([0, 9.5, undefined]);
});
