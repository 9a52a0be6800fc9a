import { expect, it } from 'vitest';
import { JournalCipher } from './journal-cipher.ts';

const cipher = new JournalCipher(new Uint8Array(32).fill(7));

it('opens what it sealed', () => {
  for (const text of ['', 'a', 'Ein Tag am See. 今天很好 🙂', 'x'.repeat(20_000)]) {
    expect(cipher.open(cipher.seal(text, 'ada', 'e1'), 'ada', 'e1')).toBe(text);
  }
});

it('seals the same text differently each time, and shows nothing of it', () => {
  const sealed = [cipher.seal('secret words', 'ada', 'e1'), cipher.seal('secret words', 'ada', 'e1')];
  expect(sealed[0]!.equals(sealed[1]!)).toBe(false);
  expect(sealed.some((bytes) => bytes.includes('secret'))).toBe(false);
});

// promise: sealed
it('does not open for another user, another entry, another service, or after a change of any byte', () => {
  const sealed = cipher.seal('text', 'ada', 'e1');
  expect(() => cipher.open(sealed, 'bob', 'e1')).toThrow();
  expect(() => cipher.open(sealed, 'ada', 'e2')).toThrow();
  expect(() => new JournalCipher(new Uint8Array(32).fill(8)).open(sealed, 'ada', 'e1')).toThrow();
  for (let i = 0; i < sealed.length; i++) {
    const changed = Buffer.from(sealed);
    changed[i]! ^= 1;
    expect(() => cipher.open(changed, 'ada', 'e1')).toThrow();
  }
});
