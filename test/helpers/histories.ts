/** Random histories of the whole service as tests: what happened is held against an oracle and against a clean service. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Clean } from '../../histories/clean.ts';
import { generate } from '../../histories/generate.ts';
import { play } from '../../histories/play.ts';
import { Stage } from '../../histories/stage.ts';
import { beatMethods, featureMethods } from '../../src/dsp/rows/methods.ts';

const LENGTH = 18;
/** Its devices send 330 s at a time, of hearts that fibrillate now and then and of wrists that move; the service is killed, packets are
 *  late and have odd lengths, a minute is missing. */
export const EVERY_VALUE = 230;
/** No device of it has their channels. */
const WITHOUT_CHANNEL = ['eda_tonic', 'resp_rate', 'scr_rate', 'temp_mean'];

/** A test for each seed and number of nodes. @param mayBeEmpty seeds of histories in which perhaps nothing is recorded */
export function playHistories(histories: readonly (readonly [seed: number, nodes: number])[], mayBeEmpty: readonly number[] = []): void {
  const stages = new Map<number, Stage>();
  let clean: Clean;
  beforeAll(async () => {
    clean = await Clean.start();
  });
  afterAll(async () => {
    for (const stage of stages.values()) await stage.close();
    await clean?.close();
  });

  for (const [seed, nodes] of histories)
    test(`a history of ${LENGTH} commands, seed ${seed}, nodes: ${nodes}`, async () => {
      const stage = stages.get(nodes) ?? (await Stage.start({ nodes }));
      stages.set(nodes, stage);
      const { complaints, rows } = await play(generate(seed, [], LENGTH), stage, clean);
      expect(complaints.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([]);
      if (!mayBeEmpty.includes(seed)) expect(rows.size).toBeGreaterThan(0);
      if (seed !== EVERY_VALUE) return;
      const methods = [...Object.values(beatMethods), ...featureMethods].map(({ feature }) => feature);
      expect(methods.filter((name) => !rows.has(name)).toSorted()).toEqual(WITHOUT_CHANNEL);
    });
}
