import { expect, test } from 'vitest';
import { failureOf, isRetryable } from './sql-states.ts';

test('a connection that ends, by whatever code, is a reason to try again', () => {
  for (const code of ['08006', '08P01', '08007', '57P01', '57P05', 'EMFILE', 'ECONNRESET']) {
    const error = Object.assign(new Error(code), { code });
    expect([code, failureOf(error), isRetryable(error)]).toEqual([code, 'try_again', true]);
  }
});
