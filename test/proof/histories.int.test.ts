/** The short form of `npm run histories`: random histories of the whole service, held against an oracle; fixed ones, one of them over three
 *  nodes, and a new one each time. What fails can be played again: `npm run histories -- --seed SEED --length LENGTH --count 1`, with
 *  `--nodes 3`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Clean } from '../../histories/clean.ts';
import { generate } from '../../histories/generate.ts';
import { play } from '../../histories/play.ts';
import { shrink } from '../../histories/shrink.ts';
import { Stage } from '../../histories/stage.ts';
import { beatMethods, featureMethods } from '../../src/dsp/rows/methods.ts';

const LENGTH = 18;
const fresh = Number(process.env['BIO_HISTORY_SEED'] ?? Math.floor(Math.random() * 1e6));
const stages = new Map<number, Stage>();
let clean: Clean;

beforeAll(async () => {
  clean = await Clean.start();
});
afterAll(async () => {
  for (const stage of stages.values()) await stage.close();
  await clean?.close();
});

/** Its devices send 330 s at a time, of hearts that fibrillate now and then and of wrists that move; the service is killed, packets are
 *  late and have odd lengths, a minute is missing. */
const EVERY_VALUE = 230;
/** No device of it has their channels. */
const WITHOUT_CHANNEL = ['eda_tonic', 'resp_rate', 'scr_rate', 'temp_mean'];

for (const [seed, nodes] of [
  [EVERY_VALUE, 1],
  [fresh, 1],
  [14, 3],
] as const)
  test(`a history of ${LENGTH} commands, seed ${seed}, nodes: ${nodes}`, async () => {
    const stage = stages.get(nodes) ?? (await Stage.start({ nodes }));
    stages.set(nodes, stage);
    const { complaints, rows } = await play(generate(seed, [], LENGTH), stage, clean);
    expect(complaints).toEqual([]);
    if (seed !== fresh) expect(rows.size).toBeGreaterThan(0); // there are histories in which nothing is recorded
    if (seed !== EVERY_VALUE) return;
    const methods = [...Object.values(beatMethods), ...featureMethods].map(({ feature }) => feature);
    expect(methods.filter((name) => !rows.has(name)).toSorted()).toEqual(WITHOUT_CHANNEL);
  });

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
