import { expect, test } from 'vitest';
import { PipelineError } from '../../errors.ts';
import { failureOf, isRetryable, RowFault, sqlStateOf } from './sql-states.ts';

test('a connection that ends, by whatever code, is a reason to try again', () => {
  for (const code of ['08006', '08P01', '08007', '57P01', '57P05', 'EMFILE', 'ECONNRESET']) {
    const error = Object.assign(new Error(code), { code });
    expect([code, failureOf(error), isRetryable(error)]).toEqual([code, 'try_again', true]);
  }
});

const failed = (code: unknown, more: object = {}): Error => Object.assign(new Error('failed'), { code, ...more });

test.each([
  ['22001', 'bad_row'], // by its class
  ['22023', 'ours'], // though its class is not
  ['22P04', 'ours'],
  ['23502', 'bad_row'],
  ['23505', 'duplicate'],
  ['25006', 'try_again'],
  ['25001', 'ours'],
  ['40001', 'try_again'],
  ['40P01', 'try_again'],
  ['42P01', 'ours'],
  ['44000', 'bad_row'],
  ['53100', 'try_again'],
  ['53400', 'bad_row'],
  ['54000', 'bad_row'],
  ['55P03', 'try_again'],
  ['57014', 'try_again'],
  ['58030', 'try_again'],
  ['BS001', 'ours'],
  ['P0001', 'bad_row'],
  ['ZZZZZ', 'ours'],
] as const)('SQLSTATE %s: %s', (code, wanted) => {
  expect(failureOf(failed(code))).toBe(wanted);
  expect(isRetryable(failed(code))).toBe(wanted === 'try_again');
  expect(sqlStateOf(failed(code))).toBe(code);
});

test('a check violation is of the row where it is of a constraint, of a missing partition where it is of none', () => {
  expect(failureOf(failed('23514', { constraint: 'value_check' }))).toBe('bad_row');
  expect(failureOf(failed('23514'))).toBe('missing_partition');
});

test('a row that cannot be written is its own fault, a service that is away is not', () => {
  expect(failureOf(new RowFault('no'))).toBe('bad_row');
  expect(failureOf(new PipelineError('unavailable', 'no'))).toBe('try_again');
  expect(failureOf(new PipelineError('bad_request', 'no'))).toBe('ours');
});

test('errors of the network and of the client are reasons to try again, whatever else is not', () => {
  for (const code of ['ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENFILE'])
    expect(failureOf(failed(code)), code).toBe('try_again');
  const ofClient = [
    'Connection terminated unexpectedly',
    'Client has encountered a connection error and is not queryable',
    'timeout expired',
    'Client was closed and is not queryable',
    'the connection is not queryable',
  ];
  for (const message of ofClient) expect(failureOf(new Error(message)), message).toBe('try_again');
  for (const message of ['The Connection terminated', 'no Client has encountered a connection error'])
    expect(failureOf(new Error(message)), message).toBe('ours');
  for (const error of [null, undefined, 'timeout expired', { code: '40001x' }, failed('EACCES'), failed(40_001), failed('ab001')])
    expect(failureOf(error)).toBe('ours');
  expect(isRetryable({ code: '40001' })).toBe(false); // no error
});

test('a SQLSTATE has five characters of digits and capitals', () => {
  for (const code of ['40001', '40P01']) expect(sqlStateOf({ code })).toBe(code);
  for (const code of ['4000', '400011', ' 40001', '4000a', 40_001, undefined]) expect(sqlStateOf({ code })).toBeNull();
  expect(sqlStateOf(null)).toBeNull();
  expect(sqlStateOf(undefined)).toBeNull();
});
