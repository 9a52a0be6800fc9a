import { expect, test } from 'vitest';
import { KeySealer } from './key-sealer.ts';

const secret = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte);
const sealer = new KeySealer(secret(1));

test('opens what it sealed, under the same secret and for the same id', () => {
  for (const pem of ['', 'a', '-----BEGIN PRIVATE KEY-----\näß\n']) {
    const sealed = sealer.seal(pem, 'kid');
    expect(sealer.isSealed(sealed)).toBe(true);
    expect(sealer.open(sealed, 'kid')).toBe(pem);
    expect(new KeySealer(secret(1)).open(sealed, 'kid')).toBe(pem);
    expect(new KeySealer(secret(2)).open(sealed, 'kid')).toBeNull();
    expect(sealer.open(sealed, 'another')).toBeNull();
  }
  expect(sealer.isSealed('-----BEGIN PRIVATE KEY----- sealed.v1.')).toBe(false);
});

test('a sealed text that was changed, cut or lengthened at any byte does not open', () => {
  const sealed = sealer.seal('pem', 'kid');
  const mark = 'sealed.v1.';
  const bytes = Buffer.from(sealed.slice(mark.length), 'base64url');
  const open = (changed: Uint8Array): string | null => sealer.open(mark + Buffer.from(changed).toString('base64url'), 'kid');
  for (let i = 0; i < bytes.length; i++) {
    expect(open(bytes.map((byte, j) => (j === i ? byte ^ 1 : byte)))).toBeNull();
    expect(open(bytes.subarray(0, i))).toBeNull();
  }
  expect(open(Buffer.concat([bytes, Buffer.of(0)]))).toBeNull();
  expect(open(bytes)).toBe('pem');
});

test('the same text is sealed differently each time', () => {
  expect(sealer.seal('pem', 'kid')).not.toBe(sealer.seal('pem', 'kid'));
});

test('a secret of less than 32 bytes is refused', () => {
  expect(() => new KeySealer(secret(1, 31))).toThrow('at least 32');
  expect(() => new KeySealer(secret(1, 33))).not.toThrow();
});
