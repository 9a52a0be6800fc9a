import { describe, expect, it } from 'vitest';
import { pickCoding } from './compress.ts';

describe('pickCoding', () => {
  it.each([
    ['', null],
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['gzip;q=0', null],
    ['identity', null],
    ['GZIP;q=0.5', 'gzip'],
  ] as const)('%j gives %s', (accept, coding) => {
    expect(pickCoding(accept)).toBe(coding);
  });
});
