import { expect, it } from 'vitest';
import { pickMediaType } from './accept.ts';

const offered = ['application/json', 'text/csv', 'application/x-protobuf'] as const;

it.each([
  ['', 'application/json'],
  ['*/*', 'application/json'],
  ['text/csv', 'text/csv'],
  ['text/*', 'text/csv'],
  ['application/x-protobuf, application/json;q=0.5', 'application/x-protobuf'],
  ['application/json;q=0.1, text/csv;q=0.2', 'text/csv'],
  ['*/*;q=0.1, application/json;q=0', 'text/csv'],
  ['TEXT/CSV; charset=utf-8', 'text/csv'],
])('picks from "%s" %s', (accept, type) => {
  expect(pickMediaType(accept, offered)).toBe(type);
});

it('says what can be produced when nothing is acceptable', () => {
  expect(() => pickMediaType('image/png, application/json;q=0', ['application/json'])).toThrow('Can be produced: application/json.');
});
