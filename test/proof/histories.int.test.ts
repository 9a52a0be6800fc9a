/** The short form of `npm run histories`: a history of the whole service over three nodes. What fails can be played again:
 *  `npm run histories -- --seed SEED --length LENGTH --count 1 --nodes 3`. More of them: more-histories.int.test.ts. */
import { expect, test } from 'vitest';
import { generate } from '../../histories/generate.ts';
import { shrink } from '../../histories/shrink.ts';
import { EVERY_VALUE, playHistories } from '../helpers/histories.ts';

playHistories([[EVERY_VALUE, 3]]);

test('the same seed is the same history', () => {
  expect(generate(7)).toEqual(generate(7));
  expect(generate(7)).not.toEqual(generate(8));
  const once = generate(7);
  expect(JSON.parse(JSON.stringify(once))).toEqual(once);
});

test('a failing history is cut down to what fails', async () => {
  const fails = (names: readonly string[]): boolean => names.includes('killService') && names.indexOf('mood') >= 0;
  const history = {
    seed: 1,
    commands: [...generate(3, ['devices'], 20).commands, ...generate(3, ['killService'], 1).commands, ...generate(3, ['mood'], 1).commands],
  };
  const shortest = await shrink(history, async ({ commands }) => fails(commands.map((command) => command.do)), 100);
  expect(shortest.commands.map((command) => command.do)).toEqual(['killService', 'mood']);
});
