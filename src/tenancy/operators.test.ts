import { scryptSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { hashPassword, passwordMatches } from './operators.ts';

// promise: key-hash
test('passwords are kept as scrypt of N 2^17, r 8, p 1 with a salt of 16 bytes', async () => {
  const stored = await hashPassword('correct horse battery');
  const [, salt = '', hash = ''] = /^scrypt\$131072\$8\$1\$([\w-]{22})\$([\w-]{43})$/.exec(stored) ?? [];
  const cost = { N: 131_072, r: 8, p: 1, maxmem: 2 ** 28 };
  expect(scryptSync('correct horse battery', Buffer.from(salt, 'base64url'), 32, cost).toString('base64url')).toBe(hash);
  expect(await passwordMatches('correct horse', stored)).toBe(false);
});
