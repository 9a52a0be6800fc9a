import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExpression } from './score-expression.ts';

const given: Readonly<Record<string, number>> = { a: 2, b: 3, 'x.1': 0 };
const answers = { points: (linkId: string) => given[linkId] ?? null, all: [2, 3, 0] };
const value = (text: string): number | null => parseExpression(text).evaluate(answers);

describe('score expressions', () => {
  it.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['8 / 2 / 2', 2],
    ['5 - 3 - 1', 1],
    ['-{a} + 5', 3],
    ['sum(all) * 4', 20],
    ['mean(all, {b})', 2],
    ['max({a}, {b}) - min({a}, {b})', 1],
    ['count({a}, {none}, {b})', 2],
    ['round(10 / 3, 2)', 3.33],
    ['round(2.5)', 3],
    ['abs({a} - {b})', 1],
    ['if({a} >= 2 and not ({b} = 0), 10, 20)', 10],
    ['{a} < {b} or 1 / 0', 1],
    ['{x.1} != 0', 0],
    ['default({none}, 7)', 7],
    ['answered({none}) + answered({a})', 1],
  ])('%s is %d', (text, expected) => {
    expect(value(text)).toBe(expected);
  });

  it.each(['{none} + 1', '{none} > 1', '1 / 0', 'sum({none})', 'mean({none}, {none})', 'round({none})', 'all * 2'])(
    '%s cannot be said',
    (text) => {
      expect(value(text)).toBeNull();
    },
  );

  it('takes a missing condition as one that does not hold', () => {
    expect(value('if({none} > 1, 1, 2)')).toBe(2);
    expect(value('not {none}')).toBe(1);
  });

  it('names the questions that it uses', () => {
    expect([...parseExpression('sum({a}, {b}) + {a}').linkIds]).toEqual(['a', 'b']);
  });

  it.each([
    ['', 'it ends too early, at character 1'],
    ['1 +', 'it ends too early, at character 4'],
    ['1 2', '"2" was not expected, at character 3'],
    ['(1', '")" is missing, at character 3'],
    ['constructor(1)', 'there is no function "constructor", at character 1'],
    ['if(1, 2)', 'if takes 3 arguments, not 2, at character 1'],
    ['1 + $x', '"$x" cannot be read, at character 4'],
    ['process.exit()', '".exit()" cannot be read, at character 8'],
  ])('refuses "%s": %s', (text, message) => {
    expect(() => parseExpression(text)).toThrow(message);
  });

  it('refuses what is too long, too deep or has too many parts', () => {
    expect(() => parseExpression('1'.repeat(2001))).toThrow('longer than 2000');
    expect(() => parseExpression(`${'('.repeat(40)}1${')'.repeat(40)}`)).toThrow('more than 32 deep');
    expect(() => parseExpression(Array.from({ length: 300 }, () => '1').join('+'))).toThrow('more than 400 parts');
  });

  it('answers any text with a number, null or a SyntaxError', () => {
    const word = fc.constantFrom(
      '1',
      '2.5',
      '{a}',
      '{none}',
      'all',
      'sum',
      'if',
      'not',
      'and',
      'or',
      '+',
      '-',
      '*',
      '/',
      '(',
      ')',
      ',',
      '<=',
      '=',
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 30 }), (words) => {
        try {
          const found = value(words.join(' '));
          expect(found === null || Number.isFinite(found)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
        }
      }),
    );
  });
});
