import { describe, expect, it } from 'vitest';
import { hostRule, requestedAddress } from './host.ts';

const passes = (rule: ReturnType<typeof hostRule>, host: string): boolean => {
  try {
    rule(host);
    return true;
  } catch {
    return false;
  }
};

describe('the Host header of a loopback service', () => {
  const rule = hostRule({ host: '127.0.0.1', publicUrl: 'https://bio.example.org', trustProxy: ['127.0.0.1'] });
  // promise: loopback-names
  it.each([
    'localhost',
    'localhost:8080',
    'LOCALHOST.:8080',
    'app.localhost',
    '127.0.0.1',
    '127.1.2.3:1',
    '[::1]:8080',
    'bio.example.org',
    'bio.example.org:443',
  ])('may be %s', (host) => expect(passes(rule, host)).toBe(true));
  // promise: loopback-names
  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'bio.example.org.evil',
    '',
    ':80',
    '127.0.0.1@evil',
    '10.0.0.1',
    'a b',
  ])('may not be %s', (host) => expect(passes(rule, host)).toBe(false));

  it('is named in the refusal, shortened and without what could break it', () => {
    const refusal = (host: string): RegExp =>
      new RegExp(`^This service does not answer for the host '${host}'; set BIO_PUBLIC_URL to the address that clients use\\.$`);
    expect(() => rule('evil.example:80')).toThrow(refusal('evil\\.example:80'));
    expect(() => rule("a'\r\n<b>")).toThrow(refusal('a\\?\\?\\?\\?b\\?'));
    expect(() => rule('x'.repeat(5000))).toThrow(refusal('x{100}…'));
  });

  it('is not looked at elsewhere, nor behind a proxy whose names are not known', () => {
    expect(passes(hostRule({ host: '0.0.0.0', publicUrl: '', trustProxy: [] }), 'any.example')).toBe(true);
    expect(passes(hostRule({ host: '127.0.0.1', publicUrl: '', trustProxy: ['127.0.0.1'] }), 'any.example')).toBe(true);
    expect(passes(hostRule({ host: '::1', publicUrl: '', trustProxy: [] }), 'any.example')).toBe(false);
  });
});

describe('the address by which a request came', () => {
  it.each([
    ['bio.example', true, 'https://bio.example'],
    ['Bio.Example:8443', true, 'https://bio.example:8443'],
    ['127.0.0.1:8080', false, 'http://127.0.0.1:8080'],
    ['[::1]:8080', false, 'http://[::1]:8080'],
    ['my_service:8080', false, 'http://my_service:8080'],
    ['bio.example.', true, 'https://bio.example.'],
    ['bio.example:', true, 'https://bio.example'],
    ['bio.example:443', true, 'https://bio.example'],
  ])('is of %s', (host, secure, address) => expect(requestedAddress(host, secure)).toBe(address));

  it.each([
    '',
    ':80',
    'a b',
    'a/b',
    'a@b',
    'a:99999',
    'a:b',
    '[::1',
    '1.2.3.4.5',
    'a#b',
    'a?b',
    'a\r\nb',
    'x'.repeat(260),
    '.',
    '..',
    '..:80',
    'a..b',
    '.a',
    'a..',
    '-',
    '-a',
    'a-.b',
    `${'x'.repeat(64)}.b`,
  ])('is none of %j', (host) => expect(() => requestedAddress(host, true)).toThrow(/neither a name nor an address/));
});
