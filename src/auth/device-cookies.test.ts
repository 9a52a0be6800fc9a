import { expect, test } from 'vitest';
import { DEVICE_SEC, DeviceCookies } from './device-cookies.ts';

const cookies = new DeviceCookies(Buffer.alloc(32, 1));
const email = 'person@org.example';
const cookie = cookies.issue(email);
const [issued = '', nonce = '', mac = ''] = cookie.split('.');

test('a cookie names the browser to the account that it was issued to, however its address is written', () => {
  expect(cookies.open(email, cookie)).toBe(nonce);
  expect(cookies.open('Person@ORG.example', cookie)).toBe(nonce);
  expect(cookies.issue(email)).not.toBe(cookie);
});

test('a cookie is worthless for other accounts, changed, cut, or under another secret', () => {
  expect(cookies.open('other@org.example', cookie)).toBeNull();
  expect(new DeviceCookies(Buffer.alloc(32, 2)).open(email, cookie)).toBeNull();
  for (const other of [
    '',
    'none',
    `${issued}.${nonce}`,
    `${issued}.${nonce}.${mac.slice(0, -4)}`,
    `${issued}.${nonce}.${mac}AAAA`,
    `${issued}.x${nonce}.${mac}`,
    `${Number(issued) + 1}.${nonce}.${mac}`,
    `${issued}e0.${nonce}.${mac}`,
    ` ${issued}.${nonce}.${mac}`,
  ])
    expect(cookies.open(email, other), other).toBeNull();
});

test('a cookie is valid for half a year', () => {
  const issuedMs = Number(issued) * 1000;
  const at = (ms: number): string | null => {
    const { now } = Date;
    Date.now = () => ms;
    try {
      return cookies.open(email, cookie);
    } finally {
      Date.now = now;
    }
  };
  expect(at(issuedMs + DEVICE_SEC * 1000)).toBe(nonce);
  expect(at(issuedMs + DEVICE_SEC * 1000 + 1000)).toBeNull();
});
