import { describe, expect, it } from 'vitest';
import { RateLimit } from './rate-limit.ts';

describe('RateLimit', () => {
  it('lets a burst through, then the sustained rate, and says when to come back', () => {
    const limit = new RateLimit('api', 10, 2);
    expect(limit.policy).toBe('"api";q=20;w=2');
    for (let i = 0; i < 20; i++) expect(limit.take('a', 1000)).toMatchObject({ allowed: true, remaining: 19 - i });
    expect(limit.take('a', 1000)).toMatchObject({ allowed: false, remaining: 0, retryAfterSec: 1 });
    expect(limit.take('a', 1099).allowed).toBe(false);
    expect(limit.take('a', 1100).allowed).toBe(true);
    expect(limit.take('a', 1100).allowed).toBe(false);
    expect(limit.take('b', 1100).allowed).toBe(true);
  });
  it('allows exactly the rate over a long time, however requests are spread', () => {
    const limit = new RateLimit('api', 100, 1);
    let allowed = 0;
    for (let ms = 0; ms < 60_000; ms += 3) if (limit.take('a', ms).allowed) allowed += 1;
    expect(allowed).toBeGreaterThanOrEqual(6000);
    expect(allowed).toBeLessThanOrEqual(6101);
  });
  it.each([2, 3])('lets one client through no faster at %s nodes that tell each other late', (count) => {
    const told: { atMs: number; from: number }[] = [];
    let nowMs = 0;
    const nodes = Array.from({ length: count }, (_, from) => new RateLimit('auth', 0.2, 50, () => told.push({ atMs: nowMs + 200, from })));
    let through = 0;
    for (; nowMs < 600_000; nowMs += 100) {
      while (told.length > 0 && told[0]!.atMs <= nowMs) {
        const { from } = told.shift()!;
        for (const [i, node] of nodes.entries()) if (i !== from) node.note('a', nowMs);
      }
      for (const node of nodes) if (node.take('a', nowMs).allowed) through++;
    }
    // A burst of 10 and one in 5 s, besides what came to all of them before they knew of each other.
    expect(through).toBeLessThanOrEqual(10 + 120 + 3 * count);
    for (const node of nodes) expect(node.exhausted('a', nowMs + 200_000)).toBe(false);
  });
  it('counts only what is taken when asked whether it is exhausted', () => {
    const limit = new RateLimit('auth', 1, 2);
    for (let i = 0; i < 100; i++) expect(limit.exhausted('a', 0)).toBe(false);
    limit.take('a', 0);
    limit.take('a', 0);
    expect(limit.exhausted('a', 0)).toBe(true);
    expect(limit.exhausted('a', 1000)).toBe(false);
  });
});
