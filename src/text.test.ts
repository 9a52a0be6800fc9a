import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { fitText, refusedCharacter, withoutRefused } from './text.ts';

test.each([
  ['', null, null],
  ['Zoë 心電図 🫀', null, null],
  ['a\u0000b', 'U+0000', 'U+0000'],
  ['a\u001bb', 'U+001B', 'U+001B'],
  ['a\u007f', 'U+007F', 'U+007F'],
  ['a\u0085b', 'U+0085', 'U+0085'],
  ['two\r\nlines\tand a tab', 'U+000D', null],
  ['sur-\ud800-x', 'U+D800', 'U+D800'],
  ['\udc00\ud800', 'U+DC00', 'U+DC00'],
  ['end \ud83e', 'U+D83E', 'U+D83E'],
  ['no \uffff character', 'U+FFFF', 'U+FFFF'],
  ['nor \ufffe, but \ufffd', 'U+FFFE', 'U+FFFE'],
])('%j', (text, inName, inText) => {
  expect(refusedCharacter(text, 'name')).toBe(inName);
  expect(refusedCharacter(text, 'text')).toBe(inText);
});

test('what is let through is the same text after UTF-8, and PostgreSQL takes it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.constantFrom('name' as const, 'text' as const), (text, kind) => {
      if (refusedCharacter(text, kind) !== null) return;
      expect(Buffer.from(text).toString()).toBe(text);
      expect(text).not.toContain('\u0000');
    }),
  );
});

test('labels of files are cleaned to names', () => {
  expect(withoutRefused('ECG\u0000II\r\n')).toBe('ECG II');
  expect(withoutRefused('ECG\uffffII')).toBe('ECG II');
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => refusedCharacter(withoutRefused(text), 'name') === null));
});

test('labels are cut after a whole character', () => {
  expect(fitText('µV µV µV', 'name', 4)).toBe('µV ');
  expect(fitText('a\u0000b\nc', 'name', 16)).toBe('a b c');
  expect(fitText('two\nlines', 'text', 16)).toBe('two\nlines');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, bytesMax) => {
      const fitted = fitText(text, 'text', bytesMax);
      return Buffer.byteLength(fitted) <= bytesMax && refusedCharacter(fitted, 'text') === null;
    }),
  );
});
