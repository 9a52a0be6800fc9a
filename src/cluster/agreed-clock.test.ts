import { expect, test } from 'vitest';
import { aheadOfAgreed } from './agreed-clock.ts';

test.each([
  ['all agree', { database: 3, nodes: [-5, 8] }, 0, 0],
  ['this one is behind', { database: -600_000, nodes: [-600_010, -600_020] }, 0, -600_000],
  ['this one is behind, one other node', { database: -600_000, nodes: [-600_010] }, 0, -600_000],
  ['another is behind', { database: 0, nodes: [600_000, 4] }, 0, 0],
  ['another is behind, the only one', { database: 0, nodes: [600_000] }, 0, 0],
  ['the database is behind', { database: 600_000, nodes: [2, -1] }, 0, 0],
  ['the database is behind, one other node', { database: 600_000, nodes: [2] }, 0, 0],
  ['a second is left alone', { database: 900, nodes: [910, 905] }, 0, 0],
  ['noise is not followed', { database: -600_000, nodes: [-600_100] }, -600_080, -600_080],
  ['nobody can say who is right', { database: 600_000, nodes: [] }, 0, 0],
  ['what was found stays while the others are gone', { database: -599_900, nodes: [] }, -600_000, -600_000],
  ['it was set right while the others are gone', { database: 20, nodes: [] }, -600_000, 0],
])('%s', (_, offsets, before, ahead) => {
  expect(aheadOfAgreed(offsets, before)).toBe(ahead);
});
