/** The claims that a page reads of its token. */
import { expect, it } from 'vitest';
import { readClaims } from './session.ts';

const tokenOf = (claims: object): string => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;

it('reads the person, the project and the lifetime, in any script', () => {
  expect(readClaims(tokenOf({ sub: 'Jürgen 健康 ??>', proj: 'p', iat: 1000, exp: 4600 }))).toEqual({
    sub: 'Jürgen 健康 ??>',
    proj: 'p',
    expMs: 4_600_000,
    lifetimeMs: 3_600_000,
  });
});

it.each([
  ['no token', ''],
  ['one part', 'abc'],
  ['not base64', 'x.%%%.y'],
  ['not JSON', `x.${btoa('{')}.y`],
  ['no person', tokenOf({ exp: 4600 })],
  ['no end', tokenOf({ sub: 's' })],
  ['an end that is no number', tokenOf({ sub: 's', exp: '4600' })],
])('reads nothing of %s', (_, token) => {
  expect(readClaims(token)).toBeNull();
});
