import { describe, expect, it } from 'vitest';
import { normalAddress, onlyPeerOf, peerOf } from './peer.ts';

const plain = { tls: false, trustProxy: [] };
const proxied = { tls: false, trustProxy: ['10.0.0.1'] };
const headers = (proto: string, forwardedFor: string): Map<string, string> =>
  new Map([
    ['x-forwarded-proto', proto],
    ['x-forwarded-for', forwardedFor],
  ]);

describe('onlyPeerOf', () => {
  it('knows the peer of a service on loopback without asking, unless another loopback address is a proxy', () => {
    expect(onlyPeerOf('127.0.0.1', [])).toBe('127.0.0.1');
    expect(onlyPeerOf('::1', ['10.0.0.1', '::1'])).toBe('::1');
    expect(onlyPeerOf('127.0.0.1', ['127.0.0.1', '127.0.0.2'])).toBeNull();
    for (const host of ['0.0.0.0', '::', 'localhost', '10.0.0.5']) expect(onlyPeerOf(host, [])).toBeNull();
  });
});

describe('peerOf', () => {
  // promise: plain-http
  it('serves plain HTTP on loopback only', () => {
    expect(peerOf('127.0.0.1', new Map(), plain)).toEqual({ address: '127.0.0.1', secure: false });
    expect(() => peerOf('192.168.0.7', new Map(), plain)).toThrow(/loopback/);
    expect(peerOf('192.168.0.7', new Map(), { tls: true, trustProxy: [] })).toEqual({ address: '192.168.0.7', secure: true });
  });
  // promise: proxy-https
  it('believes X-Forwarded-* of listed proxies, and of nobody else', () => {
    expect(peerOf('10.0.0.1', headers('https', '203.0.113.9'), proxied)).toEqual({ address: '203.0.113.9', secure: true });
    expect(() => peerOf('10.0.0.1', headers('http', '203.0.113.9'), proxied)).toThrow(/plain HTTP/);
    expect(() => peerOf('10.0.0.2', headers('https', '203.0.113.9'), proxied)).toThrow(/loopback/);
    expect(peerOf('127.0.0.1', headers('https', '1.2.3.4'), plain)).toEqual({ address: '127.0.0.1', secure: false });
  });
  it('takes the last address that is not a proxy: what stands before it may be made up', () => {
    expect(peerOf('10.0.0.1', headers('https', '6.6.6.6, 203.0.113.9, 10.0.0.1'), proxied).address).toBe('203.0.113.9');
  });
});

describe('normalAddress', () => {
  it('writes addresses in the usual form', () => {
    expect(normalAddress('0000:0000:0000:0000:0000:0000:0000:0001')).toBe('::1');
    expect(normalAddress('0000:0000:0000:0000:0000:ffff:7f00:0001')).toBe('127.0.0.1');
    expect(normalAddress('10.1.2.3')).toBe('10.1.2.3');
  });
});
