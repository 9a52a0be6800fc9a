import { describe, expect, it } from 'vitest';
import { Router } from './router.ts';

const router = new Router<string>();
router.add('GET', '/api/v1/streams', 'list');
router.add('GET', '/api/v1/streams/{id}', 'one');
router.add('GET', '/api/v1/streams/{id}/beats', 'beats');
router.add('POST', '/api/v1/streams/{id}', 'change');
router.add('GET', '/', 'root');

describe('Router', () => {
  it('finds literals before parameters, and decodes parameters', () => {
    expect(router.match('GET', '/api/v1/streams').value).toBe('list');
    expect(router.match('GET', '/api/v1/streams/a%20b')).toEqual({ value: 'one', params: { id: 'a b' } });
    expect(router.match('GET', '/api/v1/streams/x/beats')).toEqual({ value: 'beats', params: { id: 'x' } });
    expect(router.match('GET', '/').value).toBe('root');
  });
  it.each(['/api/v1/streams/', '/api/v1', '/api/v1/streams/x/', '/api//v1/streams', '', '/nope'])('knows nothing at %j', (path) => {
    expect(() => router.match('GET', path)).toThrow(/nothing at this path/);
  });
  it.each(['%2e%2e%2f', '%00', '%5c', 'a%0ab'])('refuses the parameter %s', (text) => {
    expect(() => router.match('GET', `/api/v1/streams/${text}`)).toThrow(/forbidden/);
  });
  it('tells a missing method from a missing path, and refuses to be told twice', () => {
    expect(() => router.match('PUT', '/api/v1/streams/x')).toThrow(/GET, POST/);
    expect(router.methods('/api/v1/streams/x')).toEqual(['GET', 'POST']);
    expect(() => router.add('GET', '/api/v1/streams', 'again')).toThrow(/twice/);
  });
  it('is not fooled by names of Object.prototype', () => {
    expect(() => router.match('GET', '/constructor')).toThrow(/nothing/);
    expect(router.match('GET', '/api/v1/streams/__proto__').params['id']).toBe('__proto__');
  });
});
